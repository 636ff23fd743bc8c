"""Table of known bugs: the violated property, the affected and the fixed releases; a search finds the schedules.

Pairs of releases are written as in ``ReleasePairs``. Fixed pairs have to be free of the bug: releases with a fix, the
documented upgrade path, or unaffected pairs if there is no fix. Ranges of releases come from
``upgrade.release_behaviour`` where one of its columns decides.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from itertools import groupby, product
from typing import Final

from attrs import frozen

from streams_assignor.errors import PARTITION_COUNT_MISMATCH
from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.spark_sim.model.violations import (
    CAUGHT_UP_OWNER,
    EVERY_MEMBER_ASSIGNED,
    NO_MEMBER_FAILS,
    NO_UNREQUESTED_STANDBY,
    READABLE_VERSION,
    REBALANCE_REQUEST_HONORED,
    REBALANCING_TERMINATES,
    SHUTDOWN_COMPLETES,
    SINGLE_OWNER,
    TASK_PARTITIONS_MATCH,
)
from streams_assignor.spark_sim.regressions._extra_properties import ASSIGNED_PARTITIONS_RECORDED, UPGRADE_COMPLETED
from streams_assignor.upgrade.plans import KAFKA_8649_RULE_SET, Plan, Upgrade
from streams_assignor.upgrade.release_behaviour import (
    BOTH,
    COOPERATIVE,
    CURRENT,
    EAGER,
    InterimStandby,
    MemberTasksMethod,
    ReleaseBehaviour,
)
from streams_assignor.upgrade.releases import RELEASES, Release, release_named


class SearchMethod(enum.Enum):
    """How a bug is searched for."""

    EXHAUSTIVE = "every schedule, on packed states"
    COARSE_BFS = "every coarse schedule of a few steps, with real members"
    TERMINAL_STATES = "every end of every schedule, on packed states"


@frozen
class ReleasePairs:
    """All pairs of two sets of releases, written as ``2.0.0..2.2.1 2.3.0``: those from 2.0.0 to 2.2.1, and 2.3.0."""

    origins: str
    targets: str
    upgrade_from: str | None = None
    """``upgrade.from`` in the first of two rolling bounces; None for one bounce."""
    never_removed: bool = False
    """Whether the second bounce, which removes ``upgrade.from``, does not happen."""
    initial_upgrade_from: str | None = None
    """``upgrade.from`` of the group before the upgrade."""

    def pairs(self) -> Iterator[tuple[Release, Release]]:
        """Yield each pair of an origin and a target."""
        yield from product(_releases(self.origins), _releases(self.targets))

    def upgrade(self, origin: Release, target: Release) -> Upgrade:
        """Return the upgrade of a pair."""
        plan = Plan.TWO_BOUNCES if self.upgrade_from else Plan.ONE_BOUNCE
        return Upgrade(origin, target, plan, self.upgrade_from, (origin.name, target.name))

    def instance_sequence(self, origin: Release, target: Release) -> tuple[Instance, ...]:
        """Return the release and configuration of a member before and after each bounce."""
        rounds = self.upgrade(origin, target).rounds[: 1 if self.never_removed else None]
        return Instance(origin, self.initial_upgrade_from), *map(Instance.of, rounds)

    def __str__(self) -> str:
        before = f",upgrade.from={self.initial_upgrade_from}" if self.initial_upgrade_from else ""
        value = (
            f" with upgrade.from={self.upgrade_from}{', never removed' if self.never_removed else ''}"
            if self.upgrade_from
            else ""
        )
        return f"{self.origins}{before} to {self.targets}{value}"


def _releases(text: str) -> Iterator[Release]:
    for word in text.split():
        first, dots, last = word.partition("..")
        if dots:
            low, high = release_named(first).number, release_named(last).number
            yield from (
                release for release in RELEASES.values() if release.is_released and low <= release.number <= high
            )
        else:
            yield release_named(first)


@frozen
class RegressionBug:
    """One bug, or one way in which it shows."""

    name: str
    issue: str
    description: str
    method: SearchMethod
    violated_property: str
    affected: tuple[ReleasePairs, ...]
    fixed: tuple[ReleasePairs, ...]
    error_code: str = ""
    """The code of the failure (``FatalError.code``); "" for any violation of the property."""
    workload: str = ""
    """The workload in which the bug shows, as in a scenario; "" for the default."""
    members: int = 2


def _releases_with(behaves: Callable[[ReleaseBehaviour], bool]) -> str:
    """Return the releases of Kafka whose row of ``upgrade.release_behaviour`` has certain columns.

    >>> _releases_with(lambda row: row.fails_on_missing_lag)
    '2.6.0..3.0.2'
    """
    released = [release for release in RELEASES.values() if release.is_released]
    runs = ([*group] for has, group in groupby(released, lambda release: behaves(release.behaviour)) if has)
    return " ".join(run[0].name + (f"..{run[-1].name}" if len(run) > 1 else "") for run in runs)


def _versions(first: int, last: int = CURRENT.supported_version) -> str:
    """Return the releases that support a metadata version of a range, and no newer one."""
    return _releases_with(lambda row: first <= row.supported_version <= last)


_KAFKA_6054: Final = _releases_with(lambda row: row.rule_set == "g1")
_KAFKA_6054_FIXED: Final = _releases_with(lambda row: row.rule_set == "g1f")
_KAFKA_8649: Final = _releases_with(lambda row: row.rule_set == KAFKA_8649_RULE_SET and row.supported_version > 3)
_KAFKA_8649_FIXED: Final = _releases_with(lambda row: row.rule_set == "g3")
_BEFORE_2_0: Final = _versions(2, 2)
_2_0: Final = _versions(3, 3)
_EAGER: Final = _releases_with(lambda row: row.rebalance_protocols == EAGER and row.supported_version >= 3)
_EAGER_AND_COOPERATIVE: Final = _releases_with(lambda row: row.rebalance_protocols == BOTH)
_PROBEABLE_AND_EAGER: Final = _releases_with(
    lambda row: row.supported_version >= 3 and row.rebalance_protocols != COOPERATIVE
)
_COOPERATIVE: Final = _releases_with(lambda row: row.rebalance_protocols == COOPERATIVE)
_BEFORE_KIP_441: Final = _releases_with(lambda row: row.member_tasks is MemberTasksMethod.STICKY_OR_ROUND_ROBIN)
_KIP_441: Final = _releases_with(lambda row: row.member_tasks is MemberTasksMethod.STICKY_BY_LAG)
_KIP_708: Final = _releases_with(lambda row: row.client_tags)
_KIP_708_AND_EAGER: Final = _releases_with(lambda row: row.client_tags and row.rebalance_protocols == BOTH)
_FAILS_ON_MISSING_LAG: Final = _releases_with(lambda row: row.fails_on_missing_lag)
_STANDBY_IF_STATEFUL: Final = _releases_with(lambda row: row.interim_standby is InterimStandby.IF_STATEFUL)

BUGS: Final = (
    RegressionBug(
        "B1",
        "KAFKA-6054",
        "members send version 2 to leaders, and leaders answer version 2 to members, that support only version 1",
        SearchMethod.EXHAUSTIVE,
        READABLE_VERSION,
        (
            ReleasePairs(_versions(1, 1), _KAFKA_6054),
            ReleasePairs(_versions(1, 1), f"{_KAFKA_6054_FIXED} {_EAGER}"),
        ),
        (ReleasePairs(_versions(1, 1), _KAFKA_6054_FIXED, "0.10.0"),),
    ),
    RegressionBug(
        "B2",
        "by design",
        "without upgrade.from, or with a wrong value, a leader before 2.0 receives a version that it cannot read",
        SearchMethod.EXHAUSTIVE,
        READABLE_VERSION,
        (ReleasePairs(_BEFORE_2_0, _PROBEABLE_AND_EAGER), ReleasePairs(_BEFORE_2_0, _EAGER_AND_COOPERATIVE, "2.0")),
        (ReleasePairs(_BEFORE_2_0, _PROBEABLE_AND_EAGER, "1.1"),),
    ),
    RegressionBug(
        "B3",
        "KAFKA-8649",
        "a leader makes members use a version that they do not support",
        SearchMethod.EXHAUSTIVE,
        NO_MEMBER_FAILS,
        (ReleasePairs(_2_0, _KAFKA_8649),),
        (ReleasePairs(_2_0, _KAFKA_8649_FIXED), ReleasePairs(_2_0, _EAGER_AND_COOPERATIVE, "2.0")),
        error_code="IllegalArgumentException",
    ),
    RegressionBug(
        "B3b",
        "KAFKA-8649 (#7413, #7423)",
        "newer members rejoin without end while the group has an older member",
        SearchMethod.EXHAUSTIVE,
        REBALANCING_TERMINATES,
        (ReleasePairs("kip-268", _KAFKA_8649),),
        (ReleasePairs("kip-268", _KAFKA_8649_FIXED),),
    ),
    RegressionBug(
        "B4",
        "KAFKA-8649, downgrade",
        "a leader makes downgraded members use a version that they no longer support",
        SearchMethod.EXHAUSTIVE,
        NO_MEMBER_FAILS,
        (ReleasePairs(_KAFKA_8649, _2_0),),
        (ReleasePairs(f"{_KAFKA_8649_FIXED} {_EAGER_AND_COOPERATIVE}", _2_0),),
        error_code="IllegalArgumentException",
    ),
    RegressionBug(
        "B5",
        "with KAFKA-8649",
        "during version probing, each thread of a process is assigned all previous tasks of the process",
        SearchMethod.COARSE_BFS,
        SINGLE_OWNER,
        (ReleasePairs(_2_0, _KAFKA_8649), ReleasePairs(_KAFKA_8649, _BEFORE_KIP_441, "2.3")),
        (ReleasePairs(_KAFKA_8649_FIXED, _BEFORE_KIP_441, "2.3"),),
        workload="threads=2",
    ),
    RegressionBug(
        "B6",
        "with KAFKA-8649",
        "during version probing, an assignment lists a task with several partitions only once",
        SearchMethod.COARSE_BFS,
        NO_MEMBER_FAILS,
        (ReleasePairs(_2_0, _KAFKA_8649), ReleasePairs(_KAFKA_8649, _BEFORE_KIP_441, "2.3")),
        (ReleasePairs(_KAFKA_8649_FIXED, _BEFORE_KIP_441, "2.3"),),
        error_code=PARTITION_COUNT_MISMATCH,
        workload="topology=join",
    ),
    RegressionBug(
        "B6, silent",
        "with KAFKA-8649",
        "during version probing, tasks of two subtopologies and their partitions are in different orders",
        SearchMethod.COARSE_BFS,
        TASK_PARTITIONS_MATCH,
        (ReleasePairs(_2_0, _KAFKA_8649), ReleasePairs(_KAFKA_8649, _BEFORE_KIP_441, "2.3")),
        (ReleasePairs(_KAFKA_8649_FIXED, _BEFORE_KIP_441, "2.3"),),
        workload="topology=two",
    ),
    RegressionBug(
        "B7",
        "hotfix #7436 (what if)",
        "members with upgrade.from reject an assignment of the version that they sent",
        SearchMethod.EXHAUSTIVE,
        NO_MEMBER_FAILS,
        (ReleasePairs(_BEFORE_2_0, "what-if-7436", "1.1"),),
        (ReleasePairs(_BEFORE_2_0, _versions(5, 5), "1.1"),),
    ),
    RegressionBug(
        "B8",
        "KAFKA-9053 (what if)",
        "a leader announces its own version as the one that all members support, as in KAFKA-8649",
        SearchMethod.EXHAUSTIVE,
        NO_MEMBER_FAILS,
        (ReleasePairs(_EAGER, "what-if-9053", "2.3"),),
        (ReleasePairs(_EAGER, _versions(5, 5), "2.3"),),
    ),
    RegressionBug(
        "B9",
        "KAFKA-8972 (what if)",
        "cooperative members do not record the partitions that they receive during version probing",
        SearchMethod.COARSE_BFS,
        ASSIGNED_PARTITIONS_RECORDED,
        (ReleasePairs(_versions(5, 5), "what-if-8972"),),
        (ReleasePairs(_versions(5, 5), _versions(6, 6)),),
    ),
    RegressionBug(
        "B11",
        "KAFKA-10455",
        "a follower that rejoins with an unchanged subscription causes no rebalance",
        SearchMethod.COARSE_BFS,
        REBALANCE_REQUEST_HONORED,
        (ReleasePairs("2.6.0", "2.6.1..2.6.3"),),
        (ReleasePairs("2.6.1..2.6.2", "2.6.3"), ReleasePairs("2.7.0..2.7.1", "2.7.2")),
        workload="threads=2 lag",
    ),
    RegressionBug(
        "B12",
        "KAFKA-13439, KAFKA-18839",
        "an eager leader assigns partitions that cooperative members still own to other members",
        SearchMethod.EXHAUSTIVE,
        SINGLE_OWNER,
        (
            ReleasePairs(_EAGER, _EAGER_AND_COOPERATIVE),
            ReleasePairs(_EAGER, _COOPERATIVE),
            ReleasePairs(_EAGER_AND_COOPERATIVE, _EAGER),
            ReleasePairs(_COOPERATIVE, _EAGER),
        ),
        (ReleasePairs(_EAGER, _EAGER_AND_COOPERATIVE, "2.3"), ReleasePairs(_EAGER_AND_COOPERATIVE, _EAGER, "2.3")),
    ),
    RegressionBug(
        "B13",
        "by design",
        "upgrade.from is never removed: the group stays eager, with values up to 1.1 also at version 2",
        SearchMethod.TERMINAL_STATES,
        UPGRADE_COMPLETED,
        (
            ReleasePairs(_EAGER, _EAGER_AND_COOPERATIVE, "2.3", never_removed=True),
            ReleasePairs(_BEFORE_2_0, _EAGER_AND_COOPERATIVE, "1.1", never_removed=True),
        ),
        (ReleasePairs(_EAGER, _EAGER_AND_COOPERATIVE, "2.3"), ReleasePairs(_BEFORE_2_0, _EAGER_AND_COOPERATIVE, "1.1")),
    ),
    RegressionBug(
        "B14",
        "hotfix #14103",
        "upgrade.from=3.4 is accepted, then the member fails at start",
        SearchMethod.EXHAUSTIVE,
        NO_MEMBER_FAILS,
        (ReleasePairs("3.4.0..3.4.1", "3.5.0..3.5.1", "3.4"),),
        (ReleasePairs("3.4.0..3.4.1", "3.5.2 3.6.0..3.6.2", "3.4"),),
        error_code="ConfigException",
    ),
    RegressionBug(
        "B15",
        "KAFKA-16139",
        "upgrade.from=3.5 is rejected",
        SearchMethod.EXHAUSTIVE,
        NO_MEMBER_FAILS,
        (ReleasePairs("3.5.0..3.5.2", "3.6.0..3.6.1", "3.5"),),
        (ReleasePairs("3.5.0..3.5.2", "3.6.2 3.7.0..3.7.2", "3.5"),),
        error_code="ConfigException",
    ),
    RegressionBug(
        "B17",
        "unsupported",
        "a member sends version 1 or 2 while another member is newer than the leader",
        SearchMethod.COARSE_BFS,
        NO_MEMBER_FAILS,
        (
            ReleasePairs("2.4.0..2.6.3", _KIP_708_AND_EAGER, initial_upgrade_from="1.1"),
            ReleasePairs("2.7.0..3.1.2", _KIP_708_AND_EAGER, initial_upgrade_from="1.1"),
        ),
        (
            ReleasePairs("3.2.0..3.9.1", "3.9.2", initial_upgrade_from="1.1"),
            ReleasePairs(_versions(5, 10), _KIP_708_AND_EAGER),
        ),
    ),
    RegressionBug(
        "B19",
        "#14149",
        "withholding a task creates a standby although none is configured",
        SearchMethod.COARSE_BFS,
        NO_UNREQUESTED_STANDBY,
        (ReleasePairs(_STANDBY_IF_STATEFUL, "3.5.2"),),
        (ReleasePairs("3.5.2", "3.6.0..3.6.2"), ReleasePairs(_versions(5, 5), _versions(6, 6))),
        # Of two members that keep their process ids, one that returns gets what it had: since 3.2 no task moves.
        members=3,
    ),
    RegressionBug(
        "L1",
        "no issue known",
        "the leader encodes errors in its own version, which older members cannot read",
        SearchMethod.COARSE_BFS,
        READABLE_VERSION,
        (ReleasePairs(_versions(5, 10), _KIP_708), ReleasePairs(_versions(4, 4), _versions(5, 9), "2.3")),
        (ReleasePairs("3.2.0..4.3.0", "4.3.1"),),
    ),
    RegressionBug(
        "L2",
        "no issue known",
        "a member's request to shut down the application is not encoded below version 9",
        SearchMethod.COARSE_BFS,
        SHUTDOWN_COMPLETES,
        (ReleasePairs(_versions(5, 8), _versions(9)),),
        (ReleasePairs("3.2.0..4.3.0", "4.3.1"),),
    ),
    RegressionBug(
        "L3",
        "no issue known",
        "newer members receive no assignment while a topic is missing",
        SearchMethod.COARSE_BFS,
        EVERY_MEMBER_ASSIGNED,
        (ReleasePairs(_versions(4, 4), _versions(5, 9), "2.3"),),
        (ReleasePairs(_versions(5, 10), _KIP_708),),
    ),
    RegressionBug(
        "L4",
        "no issue known",
        "the leader treats a copy with unknown offset sum as the most caught-up one",
        SearchMethod.COARSE_BFS,
        CAUGHT_UP_OWNER,
        (ReleasePairs(_BEFORE_KIP_441, _KIP_708),),
        (ReleasePairs(_KIP_441, _KIP_708),),
        workload="lag",
    ),
    RegressionBug(
        "L5",
        "no issue known",
        "because of L4, the group rebalances without end",
        SearchMethod.COARSE_BFS,
        REBALANCING_TERMINATES,
        (ReleasePairs(_KIP_708, _BEFORE_KIP_441),),
        (ReleasePairs(_KIP_441, _BEFORE_KIP_441),),
        workload="lag",
        members=3,
    ),
    RegressionBug(
        "L6",
        "no issue known",
        "threads of 2.4 and 2.5 are assigned tasks of other threads, and tasks move back and forth without end",
        SearchMethod.COARSE_BFS,
        REBALANCING_TERMINATES,
        (ReleasePairs(_BEFORE_KIP_441, _versions(7)),),
        (ReleasePairs(_KIP_441, _KIP_708),),
        workload="threads=2",
        members=3,
    ),
    RegressionBug(
        "L7",
        "no issue known",
        "a leader looks up the lag of a stateless task, which members up to 2.3 report",
        SearchMethod.COARSE_BFS,
        NO_MEMBER_FAILS,
        (ReleasePairs(_EAGER, _FAILS_ON_MISSING_LAG, "2.3"),),
        (ReleasePairs(_EAGER, "3.1.0..3.9.2", "2.3"),),
        workload="topology=chained",
    ),
)
"""In the order of their names: B for bugs of Kafka's history, L for latent bugs found by reading and exploring."""
