"""Hazards of a change to the streams protocol, beside its requirements: rows like those of upgrades.

They stand here and not in ``upgrade.hazards.HAZARDS``, because the change concerns them and no pair of releases.
"""

from __future__ import annotations

from typing import Final

from streams_assignor.upgrade.hazards import (
    CLIENT_SUPPLIER,
    STANDBYS,
    STATIC_AFTERWARDS,
    STORES,
    TOPOLOGY_UPDATES,
    Ask,
    Brokers,
    Hazard,
    HazardSubject,
    ReleaseRange,
    Severity,
)
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.streams_protocol._facts import STATIC_MEMBERSHIP, Protocol

_BEFORE_4_4: Final = ReleaseRange(before=STATIC_MEMBERSHIP)
_SINCE_4_4: Final = ReleaseRange(STATIC_MEMBERSHIP)
_LEAVES: Final = (
    "a member that is closed leaves the group, so each restart moves its tasks at once; a classic member stays until "
    "its session has timed out"
)

TO_STREAMS: Final = (
    Hazard(
        name="protocol-left-out",
        about=HazardSubject.BROKERS,
        severity=Severity.STOPS,
        applies_to="brokers whose group.coordinator.rebalance.protocols lacks streams, which it has by default",
        when=Ask("whether group.coordinator.rebalance.protocols is set on a broker, and lacks streams"),
        symptom="every member fails: UnsupportedVersionException",
        remedy="remove the configuration (deprecated from 4.3 on) or add streams to it on all brokers (they restart)",
        source="GroupCoordinatorConfig, KIP-848, KIP-1237",
        seen=("4.2.2", "4.3.1", "4.4.0"),
    ),
    TOPOLOGY_UPDATES,
    Hazard(
        name="brokers-before-streams-groups",
        about=HazardSubject.BROKERS,
        severity=Severity.STOPS,
        applies_to="brokers that go back to a release before 4.2 later",
        when=Ask("whether a broker may go back to a release before 4.2"),
        symptom="they have no streams groups for production",
        remedy="change the group back first (plan --to-protocol classic)",
        source="KIP-1071, upgrade guide of 4.2",
    ),
    Hazard(
        name="internal-topics-by-brokers",
        about=HazardSubject.BROKERS,
        severity=Severity.STOPS,
        applies_to="a cluster with authorization",
        when=Ask(
            "whether the principal of the members may describe all topics of the topology, and create its internal ones"
        ),
        symptom="brokers look for the topics and create the internal ones; the group stays NotReady without them",
        remedy="grant READ on the group, DESCRIBE on its topics and CREATE on its internal ones",
        source="KIP-1071",
    ),
    Hazard(
        name="dynamic-members-leave",
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.WAITS,
        targets=_BEFORE_4_4,
        applies_to="stores",
        when=STORES,
        symptom=_LEAVES,
        remedy="set streams.num.standby.replicas, so that a member with a standby task takes over",
        source="KIP-1071",
        seen=("4.2.2", "4.3.1"),
    ),
    Hazard(
        name="dynamic-members-leave-4.4",
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.WAITS,
        targets=_SINCE_4_4,
        applies_to="stores, and members that are not static",
        when=STORES & ~STATIC_AFTERWARDS,
        symptom=_LEAVES,
        remedy="static members with brokers of 4.4, CloseOptions of REMAIN_IN_GROUP, or streams.num.standby.replicas",
        source="KIP-1284, upgrade guide of 4.4",
        seen=("4.4.0",),
    ),
    Hazard(
        name="standbys-of-4.3",
        about=HazardSubject.BROKERS,
        severity=Severity.WAITS,
        applies_to="standby tasks, and brokers of 4.3",
        when=STANDBYS & Brokers((4, 3), (4, 4)),
        symptom="standby tasks move to processes that have more tasks than others",
        remedy="upgrade the brokers to 4.4",
        source="KAFKA-20899",
    ),
    Hazard(
        name="main-consumer-of-supplier",
        about=HazardSubject.CODE,
        severity=Severity.CHANGES,
        applies_to="a KafkaClientSupplier of your own",
        when=CLIENT_SUPPLIER,
        symptom="its getConsumer is not called, so what it wraps the main consumer in is gone (tracing, metrics)",
        remedy="look for another way, such as interceptor.classes",
        source="KIP-1071, KafkaStreams of 4.2 to 4.4",
    ),
    Hazard(
        name="tools-of-consumer-groups",
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.CHANGES,
        applies_to="monitoring and scripts that describe the group",
        when=Ask(
            "which tools describe the group: lag exporters, kafka-consumer-groups, "
            "kafka-streams-application-reset, your own"
        ),
        symptom="the group is of type streams: tools that describe consumer groups do not show it",
        remedy="use kafka-streams-groups, describeStreamsGroups, or streams-assignor group",
        source="KIP-1071",
    ),
    Hazard(
        name="rebalance-metrics",
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.CHANGES,
        applies_to="dashboards and alerts with metrics of rebalances",
        when=Ask("which metrics of consumer-coordinator-metrics you watch"),
        symptom="members have the metrics tasks-revoked-latency, tasks-assigned-latency and tasks-lost-latency instead",
        remedy="change dashboards and alerts",
        source="KIP-1216, upgrade guide of 4.2",
    ),
)
"""Of a change to the streams protocol."""


def hazards_of_change(protocol: Protocol, target: Release) -> tuple[Hazard, ...]:
    """Return the rows of a change to ``protocol`` with members of ``target``; the way back has none."""
    return tuple(row for row in TO_STREAMS if protocol is Protocol.STREAMS and target in row.targets)
