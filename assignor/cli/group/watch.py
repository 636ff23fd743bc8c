"""Repeated looks at groups: which problems count, what is news, and waiting for a state.

A problem that ends by itself while a group works counts only if it lasts ``CONFIRM_SECONDS``.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from attrs import field, frozen

from streams_assignor.groups import (
    TRANSIENT,
    Finding,
    InspectedGroup,
    InspectedMember,
    change_text,
    find_changes,
    finding_text,
    is_hidden,
    place_of,
)
from streams_assignor.groups.described_group import WITHOUT_METADATA
from streams_assignor.upgrade.cluster.client.errors import ApiError, ClusterError

CONFIRM_SECONDS: Final = 10.0
"""How long a transient problem has to last until it counts: above the usual heartbeat interval of 3 s."""

_MAX_DEPARTED: Final = 100
_T = TypeVar("_T")
_ANSWERS_AGAIN: Final = "the brokers answer again"
_HINTS: Final = {
    "GROUP_AUTHORIZATION_FAILED": " (describing a group needs DESCRIBE on it)",
    "CLUSTER_AUTHORIZATION_FAILED": " (listing groups needs DESCRIBE on the cluster)",
}


@frozen(kw_only=True)
class Look:
    """The result of one look at the cluster."""

    groups: tuple[InspectedGroup, ...] = ()

    failures: tuple[str, ...] = ()
    """One line for each part of the cluster whose groups may be missing."""

    error: ClusterError | None = field(default=None, eq=False)
    """Why the look has no groups; None if it has."""

    is_undecided: bool = False
    """Whether later looks may show a problem that this one cannot show."""

    @property
    def is_complete(self) -> bool:
        """Whether every group was found and described."""
        return self.error is None and not self.failures and not any(group.described.error for group in self.groups)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The names of the groups that rebalance, whose metadata no broker shows meanwhile."""
        return tuple(group.described.name for group in self.groups if group.described.state in WITHOUT_METADATA)


def error_text(error: ClusterError) -> str:
    """Render an error in one line."""
    if isinstance(error, ApiError):
        return f"{error.name}: {error.message}{_HINTS.get(error.name, '')}"
    return str(error)


# -- problems --------------------------------------------------------------------------------------------------------


class ProblemClock:
    """Decides which problems count: transient ones only after they have lasted for some time."""

    def __init__(self, confirm_seconds: float | None = None) -> None:
        self._confirm_seconds = CONFIRM_SECONDS if confirm_seconds is None else confirm_seconds
        self._since: Mapping[tuple[str, str], float] = {}
        self.lasting: Mapping[tuple[str, str], Finding] = {}
        """The problems that count, by group and text."""

    @property
    def is_undecided(self) -> bool:
        """Whether some problem does not count yet."""
        return len(self._since) > len(self.lasting)

    def update(self, groups: Sequence[InspectedGroup]) -> None:
        """Note the problems of a look."""
        now = time.monotonic()
        problems = {
            (group.described.name, finding_text(problem)): problem for group in groups for problem in group.problems
        }
        self._since = {key: self._since.get(key, now) for key in problems}
        self.lasting = {
            key: problem for key, problem in problems.items() if self._counts(problem, now - self._since[key])
        }

    def _counts(self, problem: Finding, lasted: float) -> bool:
        return problem.code not in TRANSIENT or lasted >= self._confirm_seconds


# -- news ------------------------------------------------------------------------------------------------------------


class ChangeTracker:
    """Turns looks into lines of news; with ``several`` groups each line begins with the name of its group."""

    def __init__(self, several: bool) -> None:
        self.groups: Sequence[InspectedGroup] = ()
        self._several = several
        self._last_settled: dict[str, InspectedGroup] = {}  # each group at its last refresh that hid nothing
        self._departed: dict[str, deque[InspectedMember]] = {}  # members of each group that have left
        self._failures: tuple[str, ...] = ()
        self._problems: set[tuple[str, str]] = set()
        self._last_error = ""

    def update(self, look: Look, problems: Mapping[tuple[str, str], Finding]) -> list[str]:
        """Return the news of a look, whose lasting problems are given."""
        if look.error:
            before, self._last_error = self._last_error, error_text(look.error)
            return [self._last_error] if before != self._last_error else []
        back = [_ANSWERS_AGAIN] if self._last_error else []
        self._last_error = ""
        previous = {group.described.name: group for group in self.groups}
        news = [
            self._named(group.described.name, text)
            for group in look.groups
            for text in self._changes(previous.get(group.described.name), group)
        ]
        self._remember(look.groups)
        gone = previous.keys() - {group.described.name for group in look.groups}
        return [
            *back,
            *news,
            *(f"{name}: gone" for name in sorted(gone)),
            *self._problem_news(look, set(problems)),
            *self._failure_news(look.failures),
        ]

    def _changes(self, before: InspectedGroup | None, after: InspectedGroup) -> list[str]:
        name = after.described.name
        changes = find_changes(before, after, self._last_settled.get(name), self._departed.get(name, ()))
        return list(map(change_text, changes))

    def _remember(self, groups: Sequence[InspectedGroup]) -> None:
        """Keep what the next looks are compared with."""
        self.groups = groups
        for group in groups:
            name = group.described.name
            if is_hidden(group):
                continue
            if before := self._last_settled.get(name):
                there = {member.described.member_id for member in group.members}
                places = {place_of(member.described) for member in group.members}
                kept = [*self._departed.get(name, ()), *before.members]
                self._departed[name] = deque(
                    (
                        member
                        for member in kept
                        if member.described.member_id not in there and place_of(member.described) not in places
                    ),
                    maxlen=_MAX_DEPARTED,
                )
            self._last_settled[name] = group

    def _problem_news(self, look: Look, now: set[tuple[str, str]]) -> Iterator[str]:
        """Report problems that begin and end; while metadata is hidden, none ends."""
        hidden = {group.described.name for group in look.groups if group.described.state in WITHOUT_METADATA}
        kept = {(name, text) for name, text in self._problems if name in hidden}
        yield from (self._named(name, f"problem: {text}") for name, text in sorted(now - self._problems))
        yield from (self._named(name, f"solved: {text}") for name, text in sorted(self._problems - now - kept))
        self._problems = now | kept

    def _failure_news(self, failures: tuple[str, ...]) -> Iterator[str]:
        yield from (f"problem: {failure}" for failure in failures if failure not in self._failures)
        yield from (f"solved: {failure}" for failure in self._failures if failure not in failures)
        self._failures = failures

    def _named(self, group: str, text: str) -> str:
        return f"{group}: {text}" if self._several else text


# -- repetition ------------------------------------------------------------------------------------------------------


def looks(look: Callable[[], _T], interval: float) -> Iterator[_T]:
    """Look again and again; a look begins ``interval`` seconds after the one before, or when that has ended."""
    while True:
        started = time.monotonic()
        yield look()
        time.sleep(max(0.0, interval - (time.monotonic() - started)))


def look_until_decided(look: Callable[[], Look], interval: float) -> tuple[Look, ProblemClock]:
    """Look until every problem counts or has ended, and no group hides any; at most about ``CONFIRM_SECONDS``."""
    clock, begun = ProblemClock(), time.monotonic()
    for current in looks(look, interval):
        clock.update(current.groups)
        is_open = (current.is_undecided or current.hidden) and time.monotonic() - begun < CONFIRM_SECONDS
        if clock.lasting or not (clock.is_undecided or is_open):
            return current, clock
    raise AssertionError("looks do not end")
