"""Groups without members whose lag grows: records come, and nobody reads them. It takes two looks."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import define, evolve, field

from streams_assignor.codec import TopicPartition
from streams_assignor.groups._group import InspectedGroup
from streams_assignor.groups.check import Finding, FindingSeverity
from streams_assignor.groups.described_group import EMPTY
from streams_assignor.groups.offsets._summary import lag_summary, unknown_lag

_Ends = Mapping[TopicPartition, int]


@define(eq=False)
class UnreadRecordsDetector:
    """Finds that the lag of an empty group grows, and that this is not known. Other groups have their members."""

    _first_ends: dict[str, _Ends] = field(factory=dict)
    """Group => the end offsets at the first look since it is empty, of partitions that it has committed."""
    _since: dict[str, float] = field(factory=dict)
    """Group => when that was, while it is not known whether they grow."""

    def update(self, group: InspectedGroup, now: float) -> InspectedGroup:
        """Note a look at ``now`` (seconds of any steady clock); return the group with what is found."""
        name, summary = group.described.name, lag_summary(group)
        if summary is None or group.described.state != EMPTY:
            self._first_ends.pop(name, None)
            self._since.pop(name, None)
            return group
        ends = {lag.partition: lag.end for lag in summary.partitions if lag.end is not None}
        first = self._first_ends.get(name, {})
        # A topic that was made anew begins with less.
        first = {**first, **{partition: min(end, first.get(partition, end)) for partition, end in ends.items()}}
        self._first_ends[name] = first
        grows = any(end > first[partition] for partition, end in ends.items())
        if grows or not summary.partitions:
            self._since.pop(name, None)
        else:
            self._since.setdefault(name, now)
        found = (*([Finding(FindingSeverity.PROBLEM, "no-members")] if grows else []), *unknown_lag(summary))
        return evolve(group, findings=(*found, *group.findings)) if found else group

    def forget_others(self, names: Collection[str]) -> None:
        """Forget the groups that are not named."""
        self._first_ends = {name: ends for name, ends in self._first_ends.items() if name in names}
        self._since = {name: since for name, since in self._since.items() if name in names}

    def is_undecided(self, now: float, enough_seconds: float) -> bool:
        """Whether some group is empty, and was not seen long enough to say that its lag does not grow."""
        return any(now - since < enough_seconds for since in self._since.values())
