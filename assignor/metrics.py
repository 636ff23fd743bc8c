"""What to count and measure of a member: a table of metrics, and the numbers that its events give for them.

Knows no metrics library: ``Measuring`` is an observer that hands numbers to a function, which a dozen lines make of any
library (``docs/guide/operating.md`` has OpenTelemetry and Prometheus). Attributes have few values: reasons, kinds,
names of exceptions; never a task, a topic or a member id.

Names and units follow OpenTelemetry's conventions (dots, no unit in the name, UCUM); where Kafka has a metric of the
same meaning, ``kafka`` is its name in JMX.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from attrs import evolve, field, frozen

from assignor.observing import Assigned, Died, Event, JoinSent, Led, Moved, Rejoining
from assignor.task_listener import Changes


class Kind(enum.Enum):
    """What becomes of the numbers of a metric: they are summed up, the last one counts, or all are distributed."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@frozen
class Metric:
    """A row of the table; `bounds` are those of a histogram's buckets."""

    name: str
    kind: Kind
    unit: str
    meaning: str
    attributes: tuple[str, ...] = ()
    kafka: str = ""
    bounds: tuple[float, ...] = ()


_QUICK: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
_SLOW: Final = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0)

REBALANCES: Final = Metric(
    "kafka.streams.rebalances",
    Kind.COUNTER,
    "{rebalance}",
    "Answers of a leader that this member has taken, by the reason why it joined",
    ("reason",),
    "rebalance-total",
)
JOINS: Final = Metric(
    "kafka.streams.joins",
    Kind.COUNTER,
    "{join}",
    "Subscriptions sent with JoinGroup; more than rebalances where joins are begun anew",
    ("reason",),
    "join-total",
)
FOLLOW_UPS: Final = Metric(
    "kafka.streams.follow_ups",
    Kind.COUNTER,
    "{rebalance}",
    "Rebalances that this member has asked for",
    ("reason",),
)
UNASSIGNED: Final = Metric(
    "kafka.streams.unassigned.duration",
    Kind.HISTOGRAM,
    "s",
    "Time from giving up or losing the last active task until it has one again",
    ("reason",),
    bounds=_SLOW,
)
TASKS: Final = Metric(
    "kafka.streams.task.count",
    Kind.GAUGE,
    "{task}",
    "Tasks that this member has; a warm-up counts as a standby where standbys are configured",
    ("type",),
)
TASKS_MOVED: Final = Metric(
    "kafka.streams.task.moved",
    Kind.COUNTER,
    "{task}",
    "Tasks that have come or gone, by what the task listener is told",
    ("change",),
    "task-created-total, task-closed-total",
)
USED: Final = Metric("kafka.streams.version.used", Kind.GAUGE, "{version}", "Metadata version that this member sends")
LATEST: Final = Metric(
    "kafka.streams.version.supported", Kind.GAUGE, "{version}", "Newest metadata version that this member could send"
)
GROUP: Final = Metric(
    "kafka.streams.version.group", Kind.GAUGE, "{version}", "Metadata version in which the leader has answered"
)
GROUP_SUPPORTED: Final = Metric(
    "kafka.streams.version.group_supported",
    Kind.GAUGE,
    "{version}",
    "Newest metadata version that the group could use, as the leader says",
)
DEATHS: Final = Metric(
    "kafka.streams.deaths",
    Kind.COUNTER,
    "{member}",
    "Members that have ended of an exception, by Kafka's name of it",
    ("error.type",),
    "failed-stream-threads",
)
ASSIGNING: Final = Metric(
    "kafka.streams.assignment.duration",
    Kind.HISTOGRAM,
    "s",
    "Time that this member took, as the leader, to answer the group",
    bounds=_QUICK,
)
SUBSCRIPTION: Final = Metric("kafka.streams.subscription.size", Kind.GAUGE, "By", "Bytes that this member has sent")
GROUP_SIZE: Final = Metric(
    "kafka.streams.group.metadata.size",
    Kind.GAUGE,
    "By",
    "Bytes that all members have sent and are sent, which the broker keeps in one record; 0 if this one does not lead",
)
LARGEST: Final = Metric(
    "kafka.streams.group.metadata.largest",
    Kind.GAUGE,
    "By",
    "Bytes that the member with most has sent and is sent; 0 if this one does not lead",
)

METRICS: Final = (
    REBALANCES,
    JOINS,
    FOLLOW_UPS,
    UNASSIGNED,
    TASKS,
    TASKS_MOVED,
    USED,
    LATEST,
    GROUP,
    GROUP_SUPPORTED,
    DEATHS,
    ASSIGNING,
    SUBSCRIPTION,
    GROUP_SIZE,
    LARGEST,
)

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


@frozen
class Sample:
    """One number for one metric."""

    metric: Metric
    value: float
    attributes: Mapping[str, str] = field(default=_NONE)


Record = Callable[[Metric, float, Mapping[str, str]], None]


class Measuring:
    """An observer of one member that hands on what its events say in numbers; `clock` is in seconds."""

    def __init__(self, record: Record, clock: Callable[[], float] = time.monotonic) -> None:
        self._record = record
        self._clock = clock
        self._known = Known()

    def __call__(self, event: Event) -> None:
        """Take in an event."""
        now = self._clock()
        before, self._known = self._known, self._known.after(event, now)
        for sample in samples(before, self._known, event, now):
            self._record(sample.metric, sample.value, sample.attributes)


@frozen
class Known:
    """What has to be remembered of a member: how many tasks it has, and since when it has none any more, and why."""

    active: int = 0
    copies: int = 0
    warming: bool = False
    unassigned_since: float | None = None
    reason: str = ""

    def after(self, event: Event, now: float) -> Known:
        """Return what is known after an event."""
        match event:
            case Assigned() if event.settled and not event.active:
                return evolve(self, warming=event.warming, unassigned_since=None)  # it is not needed, so it misses none
            case Assigned():
                return evolve(self, warming=event.warming)
            case Moved(changes=changes):
                return self._moved(changes, now)
        return self

    def _moved(self, changes: Changes, now: float) -> Known:
        active = self.active + len(changes.assigned) - len(changes.revoked) - len(changes.lost)
        copies = self.copies + len(changes.standby_added) - len(changes.standby_removed)
        moved = evolve(self, active=active, copies=copies)
        if active:
            return evolve(moved, unassigned_since=None)
        if self.active:
            return evolve(moved, unassigned_since=now, reason="lost" if changes.lost else "revoked")
        return moved


def samples(before: Known, known: Known, event: Event, now: float) -> Iterator[Sample]:
    """Say what an event is in numbers, which has made of `before` what is `known` now."""
    match event:
        case JoinSent():
            yield Sample(JOINS, 1, {"reason": event.cause.name.lower()})
            yield Sample(USED, event.used)
            yield Sample(LATEST, event.latest)
            yield Sample(SUBSCRIPTION, event.size)
        case Led():
            yield Sample(ASSIGNING, event.seconds)
            yield Sample(GROUP_SIZE, event.total_bytes)
            yield Sample(LARGEST, event.largest_bytes)
        case Assigned():
            yield Sample(REBALANCES, 1, {"reason": event.cause.name.lower()})
            yield Sample(GROUP, event.version)
            yield Sample(GROUP_SUPPORTED, event.supported)
            if not event.leads:
                yield from _leads_no_more()
        case Moved():
            yield from _moves(before, known, event.changes, now)
        case Rejoining():
            if event.at_ms is None:  # else it is put off, and told again when the time has come
                yield Sample(FOLLOW_UPS, 1, {"reason": event.cause.name.lower()})
        case Died():
            yield Sample(DEATHS, 1, {"error.type": event.kafka})
        case _:
            yield from _leads_no_more()


def _moves(before: Known, known: Known, changes: Changes, now: float) -> Iterator[Sample]:
    for change, tasks in changes.named().items():
        yield Sample(TASKS_MOVED, len(tasks), {"change": change})
    held = {"active": known.active, "standby": 0, "warm_up": 0, _copies(known): known.copies}
    for kind, number in held.items():
        yield Sample(TASKS, number, {"type": kind})
    if before.unassigned_since is not None and known.active:
        yield Sample(UNASSIGNED, now - before.unassigned_since, {"reason": before.reason})


def _copies(known: Known) -> str:
    return "warm_up" if known.warming else "standby"


def _leads_no_more() -> Iterator[Sample]:
    yield Sample(GROUP_SIZE, 0)
    yield Sample(LARGEST, 0)
