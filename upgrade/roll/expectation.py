"""What is expected of a step: the outcomes that a forecast gives, or nothing but the rules of the releases."""

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
    """The new owner of each task that moves; empty: nobody."""
    unowned_s: float = 0.0
    """How long a task has no owner, at most."""
    violations: tuple[str, ...] = ()
    """What goes wrong."""


@frozen(kw_only=True)
class Expectation:
    """The outcomes of which one has to come about."""

    outcomes: tuple[ExpectedOutcome, ...] = ()
    why_none: str = ""
    """Why there is no forecast, if there is none: then the rules of the releases are all that is expected."""
    assumed: tuple[str, ...] = ()

    @property
    def violations(self) -> tuple[str, ...]:
        """What goes wrong in some outcome."""
        return tuple(dict.fromkeys(text for outcome in self.outcomes for text in outcome.violations))


NO_FORECAST = Expectation()
