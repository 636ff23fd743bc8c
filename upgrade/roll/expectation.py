"""The expectation of a step: the outcomes of a forecast, or the rules of the releases alone."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen


@frozen(kw_only=True)
class ExpectedOutcome:
    """One way in which a step may end."""

    versions: tuple[int, ...] = ()
    """The versions that members send afterwards, ascending."""
    rebalances: int = 0
    moved: Mapping[str, str] = field(factory=dict, hash=False)
    """The new owner of each task that has another one afterwards; empty: nobody."""
    moves: int = 0
    """How often a task gets another process, all rebalances together: one that moves and returns has moved twice."""
    after_session: bool = False
    """Whether the instances are back only after the sessions of their members have timed out."""
    unowned_s: float = 0.0
    """How long a task has no owner, at most."""
    violations: tuple[str, ...] = ()
    """The failure."""


@frozen(kw_only=True)
class Expectation:
    """The outcomes of which one has to come about."""

    outcomes: tuple[ExpectedOutcome, ...] = ()
    why_none: str = ""
    """Why there is no forecast, if there is none: then the rules of the releases are all that is expected."""
    assumed: tuple[str, ...] = ()

    @property
    def violations(self) -> tuple[str, ...]:
        """The failure in some outcome."""
        return tuple(dict.fromkeys(text for outcome in self.outcomes for text in outcome.violations))


NO_FORECAST = Expectation()


@frozen(kw_only=True)
class CountedRebalances:
    """The rebalances of a step that looks have shown; a broker shows the last generation only."""

    rebalances: int
    moves: int
    """How often a task has got another instance than the one that had it last."""
    are_counted: bool
    """Whether there were no other rebalances."""
    are_seen: bool
    """Whether looks have shown each of them, so that there were no other moves."""

    def fits(self, outcome: ExpectedOutcome) -> bool:
        """Whether this may be an outcome."""
        return _fits(self.rebalances, outcome.rebalances, is_exact=self.are_counted) and _fits(
            self.moves, outcome.moves, is_exact=self.are_seen
        )


def _fits(number: int, expected: int, *, is_exact: bool) -> bool:
    return number == expected if is_exact else number <= expected
