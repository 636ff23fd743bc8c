"""Findings in the history of a group: the checks of ``group`` over time, and patterns of rebalances.

A state that lasts is a finding; one that a rebalance ends is not. ``LASTING_MS`` has the least duration by code.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from attrs import define, field

from streams_assignor.groups import DEFAULT_MAX_MESSAGE_BYTES, FindingSeverity, finding_text
from streams_assignor.groups.checks import CHECKS, FINDINGS, FindingKind, run_checks
from streams_assignor.groups.history._causes import Cause, GenerationChange
from streams_assignor.groups.history._generation import Generation
from streams_assignor.groups.history.tables import Row, valid_text

_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 60 * _MINUTE_MS
_DAY_MS: Final = 24 * _HOUR_MS

_PROBLEM, _NOTICE = FindingSeverity.PROBLEM, FindingSeverity.NOTICE

OF_HISTORY: Final[Mapping[str, FindingKind]] = {
    # -- states
    "idle-members": FindingKind(
        _NOTICE, "{idle} of {members} members have no task: {names}".format, lasting_ms=_HOUR_MS
    ),
    "imbalance": FindingKind(
        _NOTICE, "{name} has {number} of {tasks} tasks; the mean is {mean:.1f}".format, lasting_ms=_HOUR_MS
    ),
    "mixed-releases": FindingKind(
        _NOTICE,
        "members support metadata versions {versions}: they run different releases".format,
        lasting_ms=_DAY_MS,
    ),
    # -- patterns
    "rebalance-storm": FindingKind(
        _PROBLEM, "{number} rebalances within ten minutes; the most frequent cause is {cause} ({most})".format
    ),
    "endless-probing": FindingKind(
        _PROBLEM, "{number} rebalances in a row because members rejoin after each assignment ({cause})".format
    ),
    "endless-warm-up": FindingKind(
        _PROBLEM, "warm-up tasks have not caught up after {number} probing rebalances in a row".format
    ),
    "slow-reconciliation": FindingKind(
        _NOTICE,
        "all members had come to their target assignment after {seconds:,.0f} s; the last one was {name}".format,
    ),
    "flapping": FindingKind(_PROBLEM, "{name} timed out {number} times within a day".format),
    "offset-moved-back": FindingKind(_NOTICE, "the committed offset of {partition} went back {number} times".format),
}
"""The findings that ``groups`` does not have, by code; its own ones are ``checks.FINDINGS``."""

LASTING_MS: Final[Mapping[str, int]] = {
    code: kind.lasting_ms for code, kind in sorted({**FINDINGS, **OF_HISTORY}.items()) if kind.lasting_ms is not None
}
"""The least duration of a lasting state, by code."""
_BRIEF: Final = frozenset(code for code, duration in LASTING_MS.items() if duration < _HOUR_MS)
"""The states for which it matters within a minute when they end."""
_NOT_LASTING: Final = CHECKS.keys() - LASTING_MS.keys()
"""The checks of ``group`` that are no findings of an audit, by code."""

CHECK_INTERVAL_MS: Final = _MINUTE_MS
"""Of generations within a minute one is checked: no state that lasts less is a finding, except a large record.
Every generation is checked that may have a large record, or end a state that counts after minutes."""
SLOW_MS: Final = _MINUTE_MS
"""So long a broker waits for a member to come to its target assignment: several heartbeats, if it has little to
revoke."""
STORM_REBALANCES: Final = 20
"""So many rebalances within ten minutes, and at least four for each member, are a storm."""
STORM_MS: Final = 10 * _MINUTE_MS
_STORM_PER_MEMBER: Final = 4
ENDLESS_ROUNDS: Final = 10
"""So many rebalances of one kind in a row never come to an end."""
FLAPPING_TIMEOUTS: Final = 3
"""A client that timed out so often within a day."""
_ENDLESS: Final[Mapping[str, str]] = {
    "version-probing": "endless-probing",
    "follow-up": "endless-probing",
    "probing-rebalance": "endless-warm-up",
}
"""The finding, by the cause of so many rebalances in a row."""
_IMBALANCE_FACTOR: Final = 2.0
_SHOWN_NAMES: Final = 5
_MOST_CLIENTS: Final = 50
"""Clients whose timeouts are remembered at most: a process that starts may have a new client id each time."""
_MOST_RECENT: Final = 4096
"""Rebalances that are remembered at most; time may stand still in damaged records."""


class _Open(NamedTuple):
    since: int
    generation: int
    severity: FindingSeverity
    text: str
    members: tuple[str, ...]


class _Found(NamedTuple):
    """A finding, not yet in words; the parameters are those of its message."""

    code: str
    parameters: Mapping[str, object]
    members: tuple[str, ...] = ()

    @property
    def severity(self) -> FindingSeverity:
        return OF_HISTORY[self.code].severity

    @property
    def text(self) -> str:
        return OF_HISTORY[self.code].text(**self.parameters)


@define
class GroupFindings:
    """Finds what needs attention while generations pass; a row is complete when its state ends."""

    group: str
    _open: dict[str, _Open] = field(factory=dict)
    _unchecked: Generation | None = None
    _checked: int = -CHECK_INTERVAL_MS
    _recent: deque[tuple[int, str]] = field(factory=lambda: deque(maxlen=_MOST_RECENT))
    _storm: bool = False
    _in_a_row: tuple[str, int] = ("", 0)
    """The cause of the last generations, and how many have it."""
    _timeouts: dict[tuple[str, str], tuple[int, ...]] = field(factory=dict)
    """The last ones of each client."""

    def advance(self, change: GenerationChange, cause: Cause) -> Iterator[Row]:
        """Yield what ends with a generation, and what its cause adds up to."""
        after = change.after
        yield from self._storms(after, cause)
        yield from self._rounds(after, cause)
        yield from self._flapping(change, cause)
        yield from self._slow(after)
        if self._unchecked is not None:
            yield from self._check(self._unchecked, after.time)
        self._unchecked = after

    def _check(self, generation: Generation, until: int, *, is_last: bool = False) -> Iterator[Row]:
        """Compare a generation with the open states, unless it was short, small and just after the last check."""
        short = until - generation.time < CHECK_INTERVAL_MS and generation.time - self._checked < CHECK_INTERVAL_MS
        may_end = bool(self._open) if is_last else not _BRIEF.isdisjoint(self._open)
        if short and not may_end and not _may_be_large(generation):
            return
        self._checked = generation.time
        current = self._states(generation)
        for code in [code for code in self._open if code not in current]:
            yield from self._ended(code, generation.time, until=generation.time)
        for code, state in current.items():
            self._open.setdefault(code, state)

    def close(self, time: int) -> Iterator[Row]:
        """Yield the states that last until the last record."""
        if self._unchecked is not None:
            yield from self._check(self._unchecked, time, is_last=True)
        for code in list(self._open):
            yield from self._ended(code, time, until=None)

    def moved_back(self, after: Generation | None, commits: Row) -> Row:
        """Return the finding about a committed offset that went back, from a row of ``commits``."""
        finding = _Found(
            "offset-moved-back",
            {"partition": f"{commits['topic']}-{commits['partition']}", "number": commits["moved_back"]},
        )
        time = commits["first_time"]
        return self._pattern(finding, after.number if after else 0, time, time)

    def _ended(self, code: str, time: int, until: int | None) -> Iterator[Row]:
        state = self._open.pop(code)
        # Formats 0 and 1 may lack timestamps; then no duration is known.
        lasted = time - state.since if state.since >= 0 else 0
        if lasted >= LASTING_MS[code]:
            yield self._row(code, state, until)

    def _pattern(self, finding: _Found, generation: int, since: int, until: int) -> Row:
        return self._row(finding.code, _Open(since, generation, finding.severity, finding.text, finding.members), until)

    def _row(self, code: str, state: _Open, until: int | None) -> Row:
        return {
            "group": self.group,
            "code": code,
            "severity": state.severity.value,
            "text": state.text,
            "members": list(state.members),
            "generation": state.generation,
            "from_time": state.since,
            "until_time": until,
        }

    def _states(self, after: Generation) -> dict[str, _Open]:
        open_findings: dict[str, _Open] = {}
        view = after.view
        for finding in run_checks(view, _NOT_LASTING) if view else ():
            text = valid_text(finding_text(finding))
            open_findings.setdefault(
                finding.code, _Open(after.time, after.number, finding.severity, text, finding.members)
            )
        for imbalance in _balance(after):
            open_findings[imbalance.code] = _Open(
                after.time, after.number, imbalance.severity, imbalance.text, imbalance.members
            )
        return open_findings

    def _storms(self, after: Generation, cause: Cause) -> Iterator[Row]:
        if after.time < 0:
            return
        recent = self._recent
        recent.append((after.time, cause.code))
        while recent[0][0] < after.time - STORM_MS:
            recent.popleft()
        least = min(max(STORM_REBALANCES, _STORM_PER_MEMBER * len(after.members)), _MOST_RECENT)
        if len(recent) < least:
            self._storm = False
        elif not self._storm:
            self._storm = True
            (cause_code, most), *_ = Counter(code for _, code in recent).most_common(1)
            finding = _Found("rebalance-storm", {"number": len(recent), "cause": cause_code, "most": most})
            yield self._pattern(finding, after.number, recent[0][0], after.time)

    def _rounds(self, after: Generation, cause: Cause) -> Iterator[Row]:
        code, rounds = self._in_a_row
        self._in_a_row = (cause.code, rounds + 1 if cause.code == code else 1)
        if self._in_a_row[1] != ENDLESS_ROUNDS:
            return
        if (endless := _ENDLESS.get(cause.code)) is not None:
            finding = _Found(endless, {"number": ENDLESS_ROUNDS, "cause": cause.code})
            yield self._pattern(finding, after.number, after.time, after.time)

    def _slow(self, after: Generation) -> Iterator[Row]:
        progress, duration = after.progress, after.duration_ms
        if progress is not None and progress.complete_time is not None and duration is not None and duration >= SLOW_MS:
            members = tuple(filter(None, [progress.last_member]))
            finding = _Found("slow-reconciliation", {"seconds": duration / 1000, "name": progress.last_member}, members)
            yield self._pattern(finding, after.number, after.time, progress.complete_time)

    def _flapping(self, change: GenerationChange, cause: Cause) -> Iterator[Row]:
        if cause.code != "member-timed-out" or change.after.time < 0:
            return
        now, timeouts = change.after.time, self._timeouts
        for member in change.gone:
            times = (*timeouts.pop(member.identity, ()), now)[-FLAPPING_TIMEOUTS:]
            if len(times) == FLAPPING_TIMEOUTS and now - times[0] <= _DAY_MS:
                finding = _Found("flapping", {"name": member.name, "number": FLAPPING_TIMEOUTS}, (member.name,))
                yield self._pattern(finding, change.after.number, times[0], now)
            else:
                timeouts[member.identity] = times
                if len(timeouts) > _MOST_CLIENTS:
                    del timeouts[next(iter(timeouts))]  # the one whose last timeout is longest ago


def _may_be_large(generation: Generation) -> bool:
    """Whether the record has a quarter of the limit: the check is at half of it, and is exact."""
    return generation.record_bytes > DEFAULT_MAX_MESSAGE_BYTES // 4


def _balance(after: Generation) -> Iterator[_Found]:
    """Yield idle members, unequal shares and mixed releases."""
    members = list(after.members.values())
    counts = [len(member.active) for member in members]
    if not any(counts):
        return
    idle = tuple(sorted([member.name for member in members if not member.active and not member.standby]))
    if idle:
        names = ", ".join(idle[:_SHOWN_NAMES])
        yield _Found("idle-members", {"idle": len(idle), "members": len(members), "names": names}, idle)
    mean, number = sum(counts) / len(counts), max(counts)
    if not idle and number > _IMBALANCE_FACTOR * mean and number - mean >= 2:
        name = members[counts.index(number)].name
        yield _Found("imbalance", {"name": name, "number": number, "tasks": sum(counts), "mean": mean}, (name,))
    supported = after.supported_versions
    if len(supported) > 1:
        yield _Found("mixed-releases", {"versions": ", ".join(map(str, supported))})
