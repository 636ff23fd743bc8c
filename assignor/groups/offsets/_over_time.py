"""States that a single look at groups cannot show: how lags move, and how long an upgrade has not moved."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from typing import Final

from attrs import define, field, frozen

from streams_assignor.codec import TopicPartition
from streams_assignor.groups._group import InspectedGroup
from streams_assignor.groups.described_group import WITHOUT_METADATA
from streams_assignor.groups.offsets._summary import lag_summary
from streams_assignor.groups.upgrade_status import Stage

LOOKS: Final = 10
"""How many looks a state of a lag is about."""
COMMIT_SECONDS: Final = 30.0
"""The default of ``commit.interval.ms``: a shorter time without a commit shows nothing, whatever was seen before."""
_Position = tuple[int, int]
"""The committed offset and the end."""


class LagState(Enum):
    """How the lag of a partition moves from the first to the last of some looks."""

    KEEPS_UP = "keeps-up"
    """It was nothing at one of them, or it falls and rises."""
    GROWS = "grows"
    """Records are committed, and the lag was never less than before."""
    STALLED = "stalled"
    """There is a lag, and nothing was committed for longer than between the last commits that looks have shown.

    A longer commit interval and members that have stopped look alike before.
    """
    DRAINS = "drains"
    """It became less, and never more than before."""
    UNKNOWN = "unknown"
    """It is not known at each of them, or they are too few, or nothing shows how long a commit takes to come."""


def lag_state(positions: Sequence[_Position | None], *, is_stalled: bool) -> LagState:
    """Return how a lag moves, by its committed offset and end at each look; None where one is not known.

    ``is_stalled``: earlier commits show that one is missing.

    >>> lag_state([(look, 2 * look + 1) for look in range(LOOKS)], is_stalled=False)
    <LagState.GROWS: 'grows'>
    """
    known = [position for position in positions if position is not None]
    if len(known) < LOOKS:
        return LagState.UNKNOWN
    lags = [max(0, end - committed) for committed, end in known]
    if min(lags) == 0:
        return LagState.KEEPS_UP
    if len({committed for committed, _ in known}) == 1:
        return LagState.STALLED if is_stalled else LagState.UNKNOWN
    steps = [after - before for before, after in pairwise(lags)]
    if min(steps) >= 0:
        return LagState.GROWS
    return LagState.DRAINS if max(steps) <= 0 else LagState.KEEPS_UP


@define(eq=False)
class _PartitionOverTime:
    """The last looks at a partition."""

    positions: deque[_Position | None] = field(factory=lambda: deque(maxlen=LOOKS))
    _last: tuple[int, float] | None = None
    """The committed offset that was seen last, and when."""
    _commit_after: float | None = None
    """The look before the one that showed the last commit."""
    _waits_since: float = 0.0
    """Since when records wait, and nothing is committed."""
    _intervals: deque[float] = field(factory=lambda: deque(maxlen=LOOKS))
    """The times between the last commits, at the most; without records they last longer."""

    def update(self, position: _Position | None, now: float) -> None:
        self.positions.append(position)
        if position is None:
            return
        committed, end = position
        before, looked = self._last or (committed, now)
        if committed != before:
            if self._commit_after is not None:
                self._intervals.append(now - self._commit_after)
            self._commit_after = looked
        if committed != before or self._last is None or end <= committed:
            self._waits_since = now
        self._last = committed, now

    def state(self, now: float) -> LagState:
        waits = now - self._waits_since
        is_stalled = bool(self._intervals) and waits > max(COMMIT_SECONDS, *self._intervals)
        return lag_state(self.positions, is_stalled=is_stalled)


@frozen
class OverTime:
    """A group over some looks."""

    partitions: Mapping[LagState, int]
    """How many of its partitions are in each state; none if its offsets are not read."""
    upgrade_idle_s: float | None
    """For how long an upgrade that has begun has not moved; None if none is known to be under way."""
    looks_at_members: int = 0
    """How many of the looks, one after the other up to now, showed its members."""


@define(eq=False)
class GroupsOverTime:
    """Remembers the last looks at groups; a group that is not looked at any more is forgotten."""

    _partitions: dict[str, dict[TopicPartition, _PartitionOverTime]] = field(factory=dict)
    _upgrades: dict[str, tuple[object, float]] = field(factory=dict)
    """Group => what its members send and support, and since when."""
    _looks: dict[str, int] = field(factory=dict)
    """Group => how many looks showed its members."""

    def update(self, groups: Iterable[InspectedGroup], now: float) -> dict[str, OverTime]:
        """Note a look at all groups at ``now`` (seconds of any steady clock); return each by its name."""
        seen = {group.described.name: group for group in groups}
        self._partitions = {name: self._looked_at(group, now) for name, group in seen.items()}
        self._upgrades = {name: upgrade for name, upgrade in self._upgrades.items() if name in seen}
        self._looks = {
            name: 0 if group.described.hides_members else self._looks.get(name, 0) + 1 for name, group in seen.items()
        }
        return {
            name: OverTime(
                Counter(partition.state(now) for partition in self._partitions[name].values()),
                self._idle(name, group, now),
                self._looks[name],
            )
            for name, group in seen.items()
        }

    def _looked_at(self, group: InspectedGroup, now: float) -> dict[TopicPartition, _PartitionOverTime]:
        before = self._partitions.get(group.described.name, {})
        after = {}
        summary = lag_summary(group)
        for lag in summary.partitions if summary else ():
            after[lag.partition] = before.get(lag.partition) or _PartitionOverTime()
            is_known = lag.committed is not None and lag.end is not None
            after[lag.partition].update((lag.committed or 0, lag.end or 0) if is_known else None, now)
        return after

    def _idle(self, name: str, group: InspectedGroup, now: float) -> float | None:
        if group.described.state not in WITHOUT_METADATA:  # else the versions are hidden, and what was seen counts
            if not group.is_streams or group.upgrade_status.stage in {Stage.DONE, Stage.UNKNOWN}:
                self._upgrades.pop(name, None)
                return None
            sent = Counter(
                (member.subscription.used_version, member.subscription.supported_version) for member in group.members
            )
            if self._upgrades.get(name, (None, now))[0] != sent:
                self._upgrades[name] = (sent, now)
        return round(now - self._upgrades[name][1], 1) if name in self._upgrades else None
