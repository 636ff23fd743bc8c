"""Restarts, as several looks at a group show them: whether members are back, and which join again and again.

A stable group does not show it. A member of Kafka Streams that stops does not leave its group
(``internal.leave.group.on.close``), and one that fails cannot. The coordinator counts either until its session times
out, and the group stays ``Stable``. The sign of life of a member is a join: it has a member id that was
not there before, or a rebalance has begun and completed, which removes members that do not rejoin. (Static members
stay, and may get a new member id without a rebalance.) Without that, a member that is still there after a session
timeout lives.

A description contains neither generations nor times, so members are compared with those of an earlier description.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.formats.text import count, format_seconds, join_names
from streams_assignor.groups._group import InspectedGroup
from streams_assignor.groups.check import Finding, FindingSeverity
from streams_assignor.groups.described_group import REBALANCING, STABLE, DescribedGroupMember
from streams_assignor.groups.member import InspectedMember
from streams_assignor.groups.member_names import matches, place_of
from streams_assignor.upgrade.input_values import InvalidInput, parse_number
from streams_assignor.upgrade.roll.group_observation import LOOP_JOINS, CountedMembers

DEFAULT_SESSION_TIMEOUT_SECONDS: Final = 45.0
"""Kafka's default of ``session.timeout.ms`` since 3.0; 10 s before."""

_SESSION_TIMEOUT_KEY: Final = ".session.timeout.ms"
_SHOWN_NAMES: Final = 3
_LOOP_SECONDS: Final = 600.0


@frozen(kw_only=True)
class ExpectedMembers:
    """Which members a group has to have."""

    number: int | None = None
    """Exactly so many."""

    restarted: tuple[str, ...] = ()
    """The restarted ones, as ``matches`` takes them; each has to be back. Empty: unknown."""

    before: tuple[DescribedGroupMember, ...] | None = None
    """The members before the restart: as many have to be there, and the restarted ones have to be others."""

    session_timeout_seconds: float | None = None
    """After so long a member that failed is not counted any more; None: as configured in the group, or the default."""

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known of the members."""
        return self.number is None and self.before is None and not self.restarted


@frozen(kw_only=True)
class Restart:
    """How far a restart is."""

    missing: tuple[str, ...] = ()
    """One text for each thing that is to come, as far as a stable group shows it."""

    refusal: str = ""
    """Why waiting longer does not show whether the expected members are there; empty if it may."""

    assumed: str = ""
    """The assumptions that are not known; empty if there are none."""


class RestartTracker:
    """Follows a restart from look to look, by a clock that the caller reads."""

    def __init__(self, expected: ExpectedMembers) -> None:
        self._expected = expected
        self._first: _Roster | None = None  # the first look that was not in a rebalance
        self._rebalanced = False  # whether a rebalance has begun since
        self._counted = CountedMembers()

    def update(self, group: InspectedGroup | None, now: float) -> Restart:
        """Note a look at ``now`` (seconds of any steady clock); None if the group could not be described.

        A rebalance that is under way at the first look shows nothing: a member may have failed after it has joined.
        """
        if group is None or group.described.state in REBALANCING:
            self._rebalanced |= group is not None and self._first is not None
            self._counted = self._counted.unsettled()
            return Restart()
        raw = group.described
        # Static members come back without a rebalance.
        places = frozenset(member.group_instance_id or member.member_id for member in raw.members)
        self._rebalanced |= self._first is not None and places != self._counted.members
        self._first = self._first or _Roster(raw.members)
        self._counted = self._counted.after(places, raw.coordinator, now, was_away=raw.coordinator_was_away)
        return self._judge(group, self._first, now - self._counted.since)

    def _judge(self, group: InspectedGroup, first: _Roster, waited: float) -> Restart:
        """Judge a look. A member that failed before the first one is not counted for longer than its session."""
        session = self._expected.session_timeout_seconds or configured_session_seconds(group)
        limit = session or DEFAULT_SESSION_TIMEOUT_SECONDS
        silent = self._silent(group, first)
        waiting = silent if waited < limit else ()
        missing = (*self._wrong_number(group), *self._not_back(group, waiting), *_no_sign_of_life(waiting, limit))
        if not missing and not self._is_number_known(group, first):
            return Restart(refusal=_REFUSAL.format(count(len(group.members), "member")))
        return Restart(
            missing=missing, assumed=_ASSUMED.format(format_seconds(limit)) if silent and not session else ""
        )

    def _silent(self, group: InspectedGroup, first: _Roster) -> tuple[InspectedMember, ...]:
        """Return the members that matter and have not joined, as far as is known."""
        expected = self._expected
        if expected.restarted and expected.before is not None:
            return ()  # whether they are back follows from their member ids, and the others have not been restarted
        return tuple(
            member
            for member in group.members
            if member.described.member_id in first.ids
            and not (self._rebalanced and member.described.group_instance_id is None)
            and (not expected.restarted or any(matches(name, member.described) for name in expected.restarted))
        )

    def _wrong_number(self, group: InspectedGroup) -> Sequence[str]:
        actual, expected = len(group.members), self._expected.number
        if expected is not None:
            return () if actual == expected else (f"it has {count(actual, 'member')} instead of {expected}",)
        expected = len(self._reference.ids) if self._reference else 0
        return () if actual >= expected else (f"it has {count(actual, 'member')} instead of {expected}",)

    @property
    def _reference(self) -> _Roster | None:
        """The members before the restart: those that were remembered, else those of the first look."""
        return self._first if self._expected.before is None else _Roster(self._expected.before)

    def _not_back(self, group: InspectedGroup, silent: Sequence[InspectedMember]) -> Sequence[str]:
        """Name the restarted members that have not joined again."""
        before = None if self._expected.before is None else _Roster(self._expected.before)
        if not self._expected.restarted:
            is_new = before is None or not before.ids >= {member.described.member_id for member in group.members}
            return () if is_new else ("no member has joined since the remembered state",)
        return [
            f"{name} has not joined again"
            for name in self._expected.restarted
            if not _is_back(name, group, self._reference, [] if before else silent, replaced=before is not None)
        ]

    def _is_number_known(self, group: InspectedGroup, first: _Roster) -> bool:
        """Whether it is known how many members there have to be.

        The members of the first look are all if one of them was replaced since; then it was made before the restart.
        """
        if self._expected.number is not None or self._expected.before is not None:
            return True
        ids = {member.described.member_id for member in group.members}
        return bool(first.ids - ids and ids - first.ids)


class CrashLoopDetector:
    """Finds members that join again and again."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}  # the place of each member id of the last look
        self._joined = defaultdict[str, deque[float]](deque)  # by place, the times of new member ids
        self._left = defaultdict[str, deque[float]](deque)
        self._usual: Mapping[str, int] = {}  # members by place, when the group was stable

    def update(self, group: InspectedGroup, now: float) -> InspectedGroup:
        """Note a look at ``now`` (seconds of any steady clock); return the group with what is found."""
        places = {member.described.member_id: place_of(member.described) for member in group.members}
        if self._known:  # else all are new
            self._note(self._joined, places, self._known, now)
        self._note(self._left, self._known, places, now)
        self._known = places
        if group.described.state == STABLE:
            self._usual = Counter(places.values())
        loops = sorted({*places.values()} & {place for place in self._joined if self._is_loop(place)})
        findings = [self._finding(group, place) for place in loops]
        return evolve(group, findings=(*findings, *group.findings)) if findings else group

    def _note(self, times: dict[str, deque[float]], new: Mapping[str, str], old: Mapping[str, str], now: float) -> None:
        for member_id in new.keys() - old.keys():
            times[new[member_id]].append(now)
        for place in list(times):
            while times[place] and times[place][0] <= now - _LOOP_SECONDS:
                times[place].popleft()
            if not times[place]:
                del times[place]

    def _is_loop(self, place: str) -> bool:
        """Whether members have come and gone; one that only comes is one more at the same place."""
        replaced = min(len(self._joined[place]), len(self._left.get(place, ())))
        return replaced >= LOOP_JOINS * self._usual.get(place, 1)

    def _finding(self, group: InspectedGroup, place: str) -> Finding:
        names = tuple(member.name for member in group.members if place_of(member.described) == place)
        parameters = {"place": place, "joins": LOOP_JOINS, "minutes": round(_LOOP_SECONDS / 60)}
        return Finding(FindingSeverity.PROBLEM, "crash-loop", parameters, names)


@frozen
class _Roster:
    """The members of a description."""

    members: tuple[DescribedGroupMember, ...]
    ids: frozenset[str] = field(init=False)

    @ids.default
    def _member_ids(self) -> frozenset[str]:
        return frozenset(member.member_id for member in self.members)


def configured_session_seconds(group: InspectedGroup) -> float | None:
    """Return the session timeout of a group whose broker assigns, if the user may describe its settings."""
    configs = (group.described.broker.configs if group.described.broker else None) or {}
    text = next((value for key, value in configs.items() if key.endswith(_SESSION_TIMEOUT_KEY)), "")
    try:
        return parse_number(text) / 1000
    except InvalidInput:
        return None


def _is_back(
    name: str,
    group: InspectedGroup,
    reference: _Roster | None,
    silent: Sequence[InspectedMember],
    *,
    replaced: bool,
) -> bool:
    """Whether as many members as before are there, none of them silent, and all of them others if it is known."""
    members = [member for member in group.members if matches(name, member.described)]
    before = [member for member in reference.members if matches(name, member)] if reference else []
    ids = {member.described.member_id for member in members}
    is_same = reference is not None and bool(ids & reference.ids)
    is_silent = bool(ids & {member.described.member_id for member in silent})
    return len(members) >= max(1, len(before)) and not (replaced and is_same) and not is_silent


def _no_sign_of_life(silent: Sequence[InspectedMember], session: float) -> Sequence[str]:
    if not silent:
        return ()
    names = join_names((member.label for member in silent), limit=_SHOWN_NAMES)
    return (f"no sign of life yet from {names}: a member that failed is counted up to {format_seconds(session)}",)


_REFUSAL: Final = (
    "it has {}, and it is not known how many there have to be, or whether one is still to come: give --members, or "
    "--since with the state before the restart"
)
_ASSUMED: Final = (
    "assumed that no member has a session.timeout.ms above {}: members that failed would not be counted any more "
    "(--session-timeout says another one)"
)
