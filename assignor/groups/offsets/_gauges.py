"""A group as metrics: one gauge for each number that a dashboard or an alert needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from streams_assignor.formats.openmetrics import Gauge
from streams_assignor.groups._group import InspectedGroup
from streams_assignor.groups.described_group import STREAMS
from streams_assignor.groups.offsets._lag import PartitionLag, StateLag, TaskLag
from streams_assignor.groups.offsets._over_time import LagState, OverTime
from streams_assignor.groups.offsets._summary import lag_summary
from streams_assignor.upgrade.roll.group_observation import LOOP_JOINS

_PREFIX: Final = "streams_assignor_group_"
_HELP: Final[Mapping[str, str]] = {
    "info": "Type, state and assignor of a group.",
    "members": "Members.",
    "problems": "Problems, as in the table.",
    "notices": "Notices, as in the table.",
    "lag": "Offsets behind the committed ones, of all partitions of which it is known.",
    "unknown_lags": "Partitions with an unknown lag.",
    "lag_states": "Partitions by how their lag moves, over the last looks of --serve.",
    "restart_loops": "Places at which members join again and again, after looks that can show it.",
    "upgrade_idle_seconds": "For how long an upgrade that has begun has not moved.",
    "partition_committed_offset": "Committed offset.",
    "partition_end_offset": "End offset.",
    "partition_lag": "Offsets behind the committed one.",
    "task_lag": "Offsets behind the committed ones, of all partitions of an active task.",
    "state_restored_offset": "Restored offsets of a standby or warm-up replica; in a classic group, when its member "
    "joined last.",
    "state_end_offset": "End offsets of its changelogs.",
    "state_lag": "What is not restored, in a streams group: members of a classic group do not say it while they run.",
}
_Sample = tuple[str, Mapping[str, str], float | None]


def group_gauges(groups: Iterable[InspectedGroup], over_time: Mapping[str, OverTime] | None = None) -> list[Gauge]:
    """Return the metrics of groups, with those of ``GroupsOverTime`` if it is given; what is unknown is left out."""
    gauges = {name: Gauge(f"{_PREFIX}{name}", text, []) for name, text in _HELP.items()}
    for group in groups:
        name = {"group": group.described.name}
        over = (over_time or {}).get(group.described.name)
        for gauge, labels, value in (*_samples(group), *(_of_looks(group, over) if over else ())):
            if value is not None:
                gauges[gauge].samples.append(({**name, **labels}, value))
    return list(gauges.values())


def _samples(group: InspectedGroup) -> Iterator[_Sample]:
    raw = group.described
    yield "info", {"type": raw.type, "state": raw.state, "protocol": raw.protocol}, 1
    if not raw.hides_members:
        yield "members", {}, len(group.members)
    yield "problems", {}, len(group.problems)
    yield "notices", {}, len(group.findings) - len(group.problems)
    if lags := lag_summary(group):
        yield "lag", {}, lags.total
        yield "unknown_lags", {}, lags.unknown
        for partition in lags.partitions:
            yield from _of_partition(partition)
        for task in lags.tasks:
            yield "task_lag", _place(task), task.lag
        for state in lags.state:
            yield "state_restored_offset", _place(state), state.restored
            yield "state_end_offset", _place(state), state.end
            if raw.type == STREAMS:
                yield "state_lag", _place(state), state.lag


def _of_looks(group: InspectedGroup, over: OverTime) -> Iterator[_Sample]:
    for state in LagState if group.offsets else ():
        yield "lag_states", {"state": state.value}, over.partitions.get(state, 0)
    loops = sum(finding.code == "crash-loop" for finding in group.findings)
    yield "restart_loops", {}, loops if loops or over.looks_at_members > LOOP_JOINS else None
    yield "upgrade_idle_seconds", {}, over.upgrade_idle_s


def _of_partition(lag: PartitionLag) -> Iterator[_Sample]:
    labels = {"topic": lag.partition.topic, "partition": str(lag.partition.partition)}
    yield "partition_committed_offset", labels, lag.committed
    yield "partition_end_offset", labels, lag.end
    yield "partition_lag", labels, lag.lag


def _place(lag: TaskLag | StateLag) -> dict[str, str]:
    return {"task": str(lag.task), "member": lag.member.name}
