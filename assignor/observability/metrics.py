"""Metrics of a member: a table of them, and the samples that its events yield.

Independent of metrics libraries: ``MetricsObserver`` passes samples to a function, which takes a dozen lines for any
library (``prometheus`` and ``opentelemetry`` of this package have two). Attributes have few values: reasons, kinds,
names of exceptions; never a task, a topic or a member id.

Names and units follow OpenTelemetry's conventions (dots, no unit in the name, UCUM). ``jmx_name`` names Kafka's
metric of the same meaning, if there is one.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.observability.events import (
    AssignmentComputed,
    AssignmentReceived,
    Event,
    JoinSent,
    MemberClosed,
    MemberFailed,
    RejoinRequested,
    TasksChanged,
)
from streams_assignor.rebalance_listener import TaskChanges


class InstrumentKind(enum.Enum):
    """How the samples of a metric are aggregated: summed up, last value, or distribution."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@frozen
class Metric:
    """One metric, as a row of the table of metrics."""

    name: str
    kind: InstrumentKind
    unit: str
    description: str
    attributes: tuple[str, ...] = ()
    jmx_name: str = ""
    bucket_bounds: tuple[float, ...] = ()
    """The upper bounds of the buckets; only histograms have some."""


_FAST_BUCKETS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
_SLOW_BUCKETS: Final = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0)

REBALANCES: Final = Metric(
    "kafka.streams.rebalances",
    InstrumentKind.COUNTER,
    "{rebalance}",
    "Assignments that this member received, by the reason why it joined",
    ("reason",),
    "rebalance-total",
)
JOINS: Final = Metric(
    "kafka.streams.joins",
    InstrumentKind.COUNTER,
    "{join}",
    "Subscriptions sent with JoinGroup; more than rebalances if a join is restarted",
    ("reason",),
    "join-total",
)
FOLLOW_UPS: Final = Metric(
    "kafka.streams.follow_ups",
    InstrumentKind.COUNTER,
    "{rebalance}",
    "Rebalances that this member requested",
    ("reason",),
)
UNASSIGNED: Final = Metric(
    "kafka.streams.unassigned.duration",
    InstrumentKind.HISTOGRAM,
    "s",
    "Time from revoking or losing the last active task until the next one is assigned",
    ("reason",),
    bucket_bounds=_SLOW_BUCKETS,
)
TASKS: Final = Metric(
    "kafka.streams.task.count",
    InstrumentKind.GAUGE,
    "{task}",
    "Tasks of this member; with standbys configured, a warm-up counts as a standby",
    ("type",),
)
TASKS_MOVED: Final = Metric(
    "kafka.streams.task.moved",
    InstrumentKind.COUNTER,
    "{task}",
    "Tasks assigned or removed, by the kind of change",
    ("change",),
    "task-created-total, task-closed-total",
)
USED_VERSION: Final = Metric(
    "kafka.streams.version.used", InstrumentKind.GAUGE, "{version}", "Metadata version that this member sends"
)
SUPPORTED: Final = Metric(
    "kafka.streams.version.supported",
    InstrumentKind.GAUGE,
    "{version}",
    "Highest metadata version that this member supports",
)
GROUP_VERSION: Final = Metric(
    "kafka.streams.version.group",
    InstrumentKind.GAUGE,
    "{version}",
    "Metadata version of the assignment",
)
GROUP_SUPPORTED_VERSION: Final = Metric(
    "kafka.streams.version.group_supported",
    InstrumentKind.GAUGE,
    "{version}",
    "Highest metadata version that all members support, as the leader encodes it",
)
FAILURES: Final = Metric(
    "kafka.streams.failures",
    InstrumentKind.COUNTER,
    "{member}",
    "Members that failed, by Kafka's name of the exception",
    ("error.type",),
    "failed-stream-threads",
)
ASSIGNMENT_DURATION: Final = Metric(
    "kafka.streams.assignment.duration",
    InstrumentKind.HISTOGRAM,
    "s",
    "Time that this member, as the leader, took to compute an assignment",
    bucket_bounds=_FAST_BUCKETS,
)
SUBSCRIPTION_SIZE: Final = Metric(
    "kafka.streams.subscription.size", InstrumentKind.GAUGE, "By", "Bytes of this member's subscription"
)
GROUP_METADATA_SIZE: Final = Metric(
    "kafka.streams.group.metadata.size",
    InstrumentKind.GAUGE,
    "By",
    "Bytes of all subscriptions and assignments, which the broker keeps in one record; 0 on a follower",
)
LARGEST_MEMBER_METADATA: Final = Metric(
    "kafka.streams.group.metadata.largest",
    InstrumentKind.GAUGE,
    "By",
    "Bytes of the subscription and assignment of the member with most; 0 on a follower",
)

METRICS: Final = (
    REBALANCES,
    JOINS,
    FOLLOW_UPS,
    UNASSIGNED,
    TASKS,
    TASKS_MOVED,
    USED_VERSION,
    SUPPORTED,
    GROUP_VERSION,
    GROUP_SUPPORTED_VERSION,
    FAILURES,
    ASSIGNMENT_DURATION,
    SUBSCRIPTION_SIZE,
    GROUP_METADATA_SIZE,
    LARGEST_MEMBER_METADATA,
)

_NO_ATTRIBUTES: Final[Mapping[str, str]] = MappingProxyType({})


@frozen
class Sample:
    """One value of one metric."""

    metric: Metric
    value: float
    attributes: Mapping[str, str] = field(default=_NO_ATTRIBUTES)


Record = Callable[[Metric, float, Mapping[str, str]], None]


class MetricsObserver:
    """An observer of one member that passes samples to `record`; `clock` returns seconds."""

    def __init__(self, record: Record, clock: Callable[[], float] = time.monotonic) -> None:
        self._record = record
        self._clock = clock
        self._state = MetricsState()

    def __call__(self, event: Event) -> None:
        """Record the samples of an event."""
        now = self._clock()
        before, self._state = self._state, self._state.after(event, now)
        for sample in samples(before, self._state, event, now):
            self._record(sample.metric, sample.value, sample.attributes)


@frozen
class MetricsState:
    """The state of a member between two events."""

    active: int = 0
    """Number of active tasks."""

    standbys: int = 0
    """Number of standby tasks and warm-ups."""

    standbys_are_warmups: bool = False

    unassigned_since: float | None = None
    """When it had its last active task, in seconds of the clock; None while it has one or needs none."""

    reason: str = ""
    """Why it has none: ``revoked`` or ``lost``."""

    def after(self, event: Event, now: float) -> MetricsState:
        """Return the state after an event."""
        match event:
            case AssignmentReceived() if event.is_stable and not event.active:
                return evolve(
                    self, standbys_are_warmups=event.standbys_are_warmups, unassigned_since=None
                )  # a stable assignment without tasks is no loss
            case AssignmentReceived():
                return evolve(self, standbys_are_warmups=event.standbys_are_warmups)
            case TasksChanged(changes=changes):
                return self._tasks_changed(changes, now)
        return self

    def _tasks_changed(self, changes: TaskChanges, now: float) -> MetricsState:
        active = self.active + len(changes.assigned) - len(changes.revoked) - len(changes.lost)
        standbys = self.standbys + len(changes.standby_added) - len(changes.standby_removed)
        moved = evolve(self, active=active, standbys=standbys)
        if active:
            return evolve(moved, unassigned_since=None)
        if self.active:
            return evolve(moved, unassigned_since=now, reason="lost" if changes.lost else "revoked")
        return moved


def samples(before: MetricsState, after: MetricsState, event: Event, now: float) -> Iterator[Sample]:
    """Yield the samples of an event that changed the state from `before` to `after` at time `now`."""
    match event:
        case JoinSent():
            yield Sample(JOINS, 1, {"reason": event.reason.name.lower()})
            yield Sample(USED_VERSION, event.used_version)
            yield Sample(SUPPORTED, event.supported_version)
            yield Sample(SUBSCRIPTION_SIZE, event.subscription_size)
        case AssignmentComputed():
            yield Sample(ASSIGNMENT_DURATION, event.seconds)
            yield Sample(GROUP_METADATA_SIZE, event.total_bytes)
            yield Sample(LARGEST_MEMBER_METADATA, event.largest_member_bytes)
        case AssignmentReceived():
            yield Sample(REBALANCES, 1, {"reason": event.reason.name.lower()})
            yield Sample(GROUP_VERSION, event.group_version)
            yield Sample(GROUP_SUPPORTED_VERSION, event.group_supported_version)
            if not event.is_leader:
                yield from _not_leader_samples()
        case TasksChanged():
            yield from _task_samples(before, after, event.changes, now)
        case RejoinRequested():
            if event.at_ms is None:  # else a second event follows at that time
                yield Sample(FOLLOW_UPS, 1, {"reason": event.reason.name.lower()})
        case MemberFailed():
            yield Sample(FAILURES, 1, {"error.type": event.exception_name})
        case MemberClosed():
            yield from _not_leader_samples()


def _task_samples(before: MetricsState, after: MetricsState, changes: TaskChanges, now: float) -> Iterator[Sample]:
    for change, tasks in changes.by_kind().items():
        yield Sample(TASKS_MOVED, len(tasks), {"change": change})
    held = {"active": after.active, "standby": 0, "warm_up": 0, _standby_type(after): after.standbys}
    for kind, number in held.items():
        yield Sample(TASKS, number, {"type": kind})
    if before.unassigned_since is not None and after.active:
        yield Sample(UNASSIGNED, now - before.unassigned_since, {"reason": before.reason})


def _standby_type(state: MetricsState) -> str:
    return "warm_up" if state.standbys_are_warmups else "standby"


def _not_leader_samples() -> Iterator[Sample]:
    yield Sample(GROUP_METADATA_SIZE, 0)
    yield Sample(LARGEST_MEMBER_METADATA, 0)
