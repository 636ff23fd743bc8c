"""How the releases of Kafka Streams behave: the only table in which one release differs from another.

A row states what changed with a release; all other columns stay as they were before. Data only: the rules of version
probing (``probing.rules``) and the task assignors are named here and implemented elsewhere. The bytes that single
releases write are in ``codec.quirks``.
Java: ``StreamsPartitionAssignor``, ``StreamsConfig`` and ``HighAvailabilityTaskAssignor`` of the releases named.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal

from attrs import evolve, frozen

from streams_assignor.codec.quirks import VERSION_2_TAIL
from streams_assignor.upgrade.config_types import EndPointFormat
from streams_assignor.upgrade.upgrade_from import EAGER_LINES, EAGER_VALUES_REMOVED_IN, PINNED_VERSIONS

RebalanceProtocol = Literal["eager", "cooperative"]
TaskAssignorName = Literal["cost-based", "sticky", "high-availability"]
EAGER: Final[tuple[RebalanceProtocol, ...]] = ("eager",)
BOTH: Final[tuple[RebalanceProtocol, ...]] = ("eager", "cooperative")
COOPERATIVE: Final[tuple[RebalanceProtocol, ...]] = ("cooperative",)


class ReportedTasks(enum.Enum):
    """Which of its previous tasks a member reports in a subscription without offset sums (up to version 6)."""

    ALL = "all"
    ALL_UNLESS_COOPERATIVE = "all; none in the cooperative protocol, where the owned partitions imply them"
    STATEFUL = "stateful tasks; none in the eager protocol, where they are suspended by then"


class MemberTasksMethod(enum.Enum):
    """How the tasks of a process are divided among its members: functions of ``protocol.member_tasks``."""

    ROUND_ROBIN = "round_robin"
    STICKY_OR_ROUND_ROBIN = "sticky_or_round_robin"
    STICKY_BY_LAG = "sticky_by_lag"
    BALANCED_BY_LAG = "balanced_by_lag"


class InterimStandby(enum.Enum):
    """When a member gets a standby of an active task that is withheld until its owner has revoked it."""

    NEVER = "never"
    IF_STATEFUL = "if the task is stateful"
    IF_STANDBY = "if the process has been a standby of the task"


@frozen(kw_only=True, cache_hash=True)
class ReleaseBehaviour:
    """One row: everything in which releases of Kafka differ."""

    since: tuple[int, ...]
    """The first release with all of this."""
    supported_version: int
    """``LATEST_SUPPORTED_VERSION``, the newest metadata version."""
    rule_set: str
    """The name of a row of ``probing.rules.BY_NAME`` (upgrade and probing do not import each other)."""
    upgrade_from: tuple[str, ...] = ()
    """The accepted values of ``upgrade.from``; empty: there is no such configuration, and a value is ignored."""
    rebalance_protocols: tuple[RebalanceProtocol, ...] = EAGER
    """The protocols that a member can offer."""
    keeps_process_id: bool = False
    """A process with persistent state stores keeps its process id in its state directory, so that a restarted one is
    known to the leader (KAFKA-10716)."""
    leaves_on_close: bool = True
    """A closed member sends LeaveGroup. If not, its session times out, unless it is back before that."""
    task_assignor: TaskAssignorName = "cost-based"
    """The default task assignor."""
    consumer_protocol_version: int = 0
    """The version of the consumer protocol that the consumer writes; owned partitions came with 1 (KIP-429)."""
    reported_tasks: ReportedTasks = ReportedTasks.ALL
    stateless_standbys: bool = True
    """Stateless tasks have standbys too."""
    lag_based: bool = False
    """Stateful tasks are balanced by lag (KIP-441) instead of staying where they were."""
    member_tasks: MemberTasksMethod = MemberTasksMethod.ROUND_ROBIN
    fails_on_missing_lag: bool = False
    """A leader looks up the lag of every reported task, and fails if there is none because the task is stateless."""
    interim_standby: InterimStandby = InterimStandby.NEVER
    client_tags: bool = False
    """The high-availability assignor places standbys by client tags (KIP-708)."""
    least_lag_fallback: bool = False
    """If no process has caught up, a task may stay with the process that has the least lag."""
    iterator_order: bool = False
    """Tasks move in the order of the array inside Java's priority queue (its iterator), not in order of priority."""
    rack_strategies: tuple[str, ...] = ()
    """The values of ``rack.aware.assignment.strategy`` besides ``none``."""
    encodes_missing_topics: bool = False
    """A missing source topic is answered with an error code. If not, the subtopologies that need it get no tasks."""
    end_point_format: EndPointFormat = EndPointFormat.ANY_PREFIX
    """The values of ``application.server`` that a member accepts."""
    copartition_exception: str = "TopologyBuilderException"
    """The Java exception for co-partitioned topics that differ in partitions."""

    @property
    def cooperative(self) -> bool:
        """Whether members may keep partitions while they rejoin, and leaders respect that (KIP-429)."""
        return self.consumer_protocol_version > 0

    @property
    def version_1_tail(self) -> bool:
        """Whether version 1 is written with the last field of version 2 behind it."""
        return VERSION_2_TAIL.since <= self.since < VERSION_2_TAIL.until

    @property
    def task_columns(self) -> tuple[object, ...]:
        """The columns that decide about tasks: equal for releases that differ in versions and configuration only."""
        return (
            self.consumer_protocol_version,
            self.reported_tasks,
            self.stateless_standbys,
            self.lag_based,
            self.member_tasks,
            self.fails_on_missing_lag,
            self.interim_standby,
        )


_OLDEST: Final = ReleaseBehaviour(since=(0, 10), supported_version=1, rule_set="g0")

# ``accepts``: values of upgrade.from that are new; ``rejects``: values that are gone.
_CHANGES: Final[tuple[tuple[tuple[int, ...], Mapping[str, Any]], ...]] = (
    ((0, 10, 1), {"supported_version": 2, "rule_set": "g1"}),
    # StreamsConfig sets internal.leave.group.on.close to false (KAFKA-4881); 4.2 and later say REMAIN_IN_GROUP instead.
    ((0, 10, 2, 2), {"leaves_on_close": False}),
    ((0, 11), {"task_assignor": "sticky"}),
    # KIP-268
    (
        (2, 0),
        {
            "supported_version": 3,
            "rule_set": "g2",
            "copartition_exception": "TopologyException",
            "accepts": tuple(PINNED_VERSIONS),
        },
    ),
    ((2, 1), {"supported_version": 4, "encodes_missing_topics": True}),
    # KIP-429
    (
        (2, 4),
        {
            "supported_version": 5,
            "rule_set": "g4a",
            "rebalance_protocols": BOTH,
            "consumer_protocol_version": 1,
            "reported_tasks": ReportedTasks.ALL_UNLESS_COOPERATIVE,
            "member_tasks": MemberTasksMethod.STICKY_OR_ROUND_ROBIN,
            "accepts": EAGER_LINES,
        },
    ),
    ((2, 5), {"supported_version": 6}),
    # KIP-441
    (
        (2, 6),
        {
            "supported_version": 7,
            "rule_set": "g4b",
            "task_assignor": "high-availability",
            "reported_tasks": ReportedTasks.STATEFUL,
            "stateless_standbys": False,
            "lag_based": True,
            "member_tasks": MemberTasksMethod.STICKY_BY_LAG,
            "fails_on_missing_lag": True,
            "interim_standby": InterimStandby.IF_STATEFUL,
            "iterator_order": True,
        },
    ),
    ((2, 6, 1), {"supported_version": 8}),
    ((2, 6, 2), {"keeps_process_id": True}),
    ((2, 7), {"rule_set": "g4c", "keeps_process_id": False}),
    ((2, 7, 1), {"keeps_process_id": True}),
    ((2, 8), {"supported_version": 9}),
    ((3, 0), {"supported_version": 10}),
    ((3, 1), {"fails_on_missing_lag": False}),
    # KIP-708
    (
        (3, 2),
        {
            "supported_version": 11,
            "member_tasks": MemberTasksMethod.BALANCED_BY_LAG,
            "client_tags": True,
            "least_lag_fallback": True,
        },
    ),
    ((3, 3), {"iterator_order": False, "accepts": ("2.4", "2.5", "2.6", "2.7", "2.8", "3.0", "3.1", "3.2")}),
    ((3, 4), {"consumer_protocol_version": 3, "accepts": ("3.3",)}),
    ((3, 5), {"accepts": ("3.4",)}),
    ((3, 5, 2), {"interim_standby": InterimStandby.IF_STANDBY}),
    # KIP-925
    ((3, 6), {"rack_strategies": ("min_traffic",)}),
    ((3, 6, 2), {"accepts": ("3.5",)}),  # KAFKA-16139: missing in 3.6.0 and 3.6.1
    ((3, 7), {"rack_strategies": ("min_traffic", "balance_subtopology"), "accepts": ("3.6",)}),
    # KAFKA-16824; 3.9.1 and 3.9.2 went back to the reader of 3.7.
    ((3, 8), {"rule_set": "today", "end_point_format": EndPointFormat.SCHEME, "accepts": ("3.7",)}),
    ((3, 9), {"accepts": ("3.8",)}),
    ((3, 9, 1), {"end_point_format": EndPointFormat.ANY_PREFIX}),
    # KAFKA-18839
    (
        (4, 0),
        {"rebalance_protocols": COOPERATIVE, "end_point_format": EndPointFormat.SCHEME, "accepts": ("3.9",)},
    ),
    ((4, 1), {"accepts": ("4.0",)}),
    (EAGER_VALUES_REMOVED_IN, {"accepts": ("4.1",), "rejects": (*PINNED_VERSIONS, *EAGER_LINES)}),
    ((4, 3), {"accepts": ("4.2",)}),
    ((4, 4), {"accepts": ("4.3",), "end_point_format": EndPointFormat.SCHEME_AND_NAMED_HOST}),
)

_KAFKA_6054_FIX: Final = {"rule_set": "g1f", "upgrade_from": ("0.10.0",)}
_KAFKA_8649_FIX: Final = {"rule_set": "g3"}
_BACKPORTS: Final[Mapping[tuple[int, ...], Mapping[str, Any]]] = {
    (0, 10, 1, 2): _KAFKA_6054_FIX,
    (0, 10, 2, 2): _KAFKA_6054_FIX,
    (0, 11, 0, 3): _KAFKA_6054_FIX,
    (1, 0, 2): _KAFKA_6054_FIX,
    (1, 1, 1): _KAFKA_6054_FIX,
    (2, 2, 2): _KAFKA_8649_FIX,
    (2, 3, 1): _KAFKA_8649_FIX,
}
"""Fixes that only the last release of a line has: the first release of the next line is without it."""


def _rows() -> Iterator[ReleaseBehaviour]:
    yield (row := _OLDEST)
    for since, changes in _CHANGES:
        columns = {name: value for name, value in changes.items() if name not in {"accepts", "rejects"}}
        values = (*row.upgrade_from, *changes.get("accepts", ()))
        accepted = tuple(value for value in values if value not in changes.get("rejects", ()))
        yield (row := evolve(row, since=since, upgrade_from=accepted, **columns))


BEHAVIOURS: Final = tuple(_rows())
"""All rows, oldest first."""
CURRENT: Final = BEHAVIOURS[-1]

UPGRADE_FROM: Final = tuple(dict.fromkeys(value for row in BEHAVIOURS for value in row.upgrade_from))
"""Every value of ``upgrade.from`` that some release accepts, oldest first."""


@cache
def behaviour_of(number: tuple[int, ...]) -> ReleaseBehaviour:
    """Return the row of a release.

    >>> behaviour_of((2, 5, 1)).since
    (2, 5)
    """
    row = next(row for row in reversed(BEHAVIOURS) if row.since <= number)
    return evolve(row, since=number, **_BACKPORTS[number]) if number in _BACKPORTS else row
