"""The settings of members that the streams protocol takes from brokers, or ignores (KIP-1071).

A configuration of a group on the brokers replaces a setting of classic members, or the setting has no effect. Members
and plans read these rows. Java: ``GroupConfig`` and ``GroupCoordinatorConfig`` of kafka-group-coordinator,
``StreamsConfig`` of kafka-streams. ``tests/upgrade/streams_protocol/test_facts_java.py`` compares the rows with the
jars.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import evolve, frozen

from streams_assignor.upgrade.config_keys import TAG_PREFIX

EARLY_ACCESS: Final = (4, 1)
"""The first releases of clients and brokers that have the protocol; not for production."""

AVAILABLE: Final = (4, 2)
"""The first releases in which it is generally available."""

KEEPS_TOPOLOGY: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("4.1.0", "4.1.1", "4.1.2", "4.2.0", "4.2.1", "4.2.2", "4.3.0", "4.3.1"), True),
    "4.4.0": True,
}
"""Whether brokers of a release refuse another topology of a streams group (KAFKA-20170), as ``GroupMetadataManager``
says; of a release without a row it is not known. ``tests/lab/releases`` reads the class of a new one."""

KEPT_BY: Final = f"brokers up to {[name for name, keeps in KEEPS_TOPOLOGY.items() if keeps][-1]}; later ones: not known"
"""Which brokers refuse it, for people."""


@frozen
class GroupConfiguration:
    """A configuration of a streams group, or of a group of consumers, on the brokers."""

    name: str
    default: int
    """Unless the brokers have another one."""
    broker_name: str
    """The configuration of brokers with the default of all groups."""
    since: tuple[int, ...] = EARLY_ACCESS
    replaces: str | None = None
    """The setting of classic members that the configuration replaces."""
    minimum: int = 0
    minimum_name: str | None = None
    """The configuration of brokers that sets the minimum; None: it is fixed."""
    maximum: int | None = None
    maximum_name: str | None = None
    if_lost: str = ""
    """The consequence if the setting of the members is not carried over."""
    is_internal: bool = False
    """Brokers accept it, and it is in no documentation: in 4.4.0 nothing reads these but the answer of a heartbeat."""

    def within(self, limits: Mapping[str, int]) -> GroupConfiguration:
        """Return the row with the limits of certain brokers, given by the names of their configurations."""
        return evolve(
            self,
            minimum=limits.get(self.minimum_name or "", self.minimum),
            maximum=limits.get(self.maximum_name or "", self.maximum),
        )

    def nearest(self, value: int) -> int:
        """Return the accepted value next to one, by the limits of the row: the defaults of brokers, unless `within`."""
        raised = max(value, self.minimum)
        return raised if self.maximum is None else min(raised, self.maximum)


GROUP_CONFIGURATIONS: Final = (
    GroupConfiguration(
        "streams.num.standby.replicas",
        0,
        "group.streams.num.standby.replicas",
        replaces="num.standby.replicas",
        maximum=2,
        maximum_name="group.streams.max.standby.replicas",
        if_lost="the group has no standby tasks, so a task that moves restores its stores from the changelogs",
    ),
    GroupConfiguration(
        "streams.session.timeout.ms",
        45_000,
        "group.streams.session.timeout.ms",
        replaces="session.timeout.ms",
        minimum=45_000,
        minimum_name="group.streams.min.session.timeout.ms",
        maximum=60_000,
        maximum_name="group.streams.max.session.timeout.ms",
        if_lost="tasks of a member that fails move after the session timeout of the brokers",
    ),
    GroupConfiguration(
        "streams.heartbeat.interval.ms",
        5_000,
        "group.streams.heartbeat.interval.ms",
        replaces="heartbeat.interval.ms",
        minimum=5_000,
        minimum_name="group.streams.min.heartbeat.interval.ms",
        maximum=15_000,
        maximum_name="group.streams.max.heartbeat.interval.ms",
        if_lost="members send heartbeats, and so notice an assignment, in the interval of the brokers",
    ),
    GroupConfiguration(
        "streams.initial.rebalance.delay.ms", 3_000, "group.streams.initial.rebalance.delay.ms", since=AVAILABLE
    ),
    GroupConfiguration(
        "streams.assignment.interval.ms",
        1_000,
        "group.streams.assignment.interval.ms",
        since=(4, 3),
        minimum_name="group.streams.min.assignment.interval.ms",
        maximum=15_000,
        maximum_name="group.streams.max.assignment.interval.ms",
    ),
    GroupConfiguration(
        "streams.num.warmup.replicas",
        2,
        "group.streams.num.warmup.replicas",
        since=(4, 4),
        maximum=20,
        maximum_name="group.streams.max.warmup.replicas",
        is_internal=True,
    ),
    GroupConfiguration(
        "streams.acceptable.recovery.lag",
        10_000,
        "group.streams.acceptable.recovery.lag",
        since=(4, 4),
        is_internal=True,
    ),
    GroupConfiguration(
        "streams.task.offset.interval.ms",
        60_000,
        "group.streams.task.offset.interval.ms",
        since=(4, 4),
        minimum=15_000,
        minimum_name="group.streams.min.task.offset.interval.ms",
        is_internal=True,
    ),
)
"""The configurations with a number, in the order of the printed command."""


OTHER_CONFIGURATIONS: Final[Mapping[str, str]] = {
    "streams.assignor.name": "an assignor that group.streams.assignors of the brokers names (KIP-1357): Kafka's own is "
    "sticky",
    "streams.rack.aware.assignment.tags": "the tags for an assignor that uses them; the sticky one of 4.4.0 does not",
    "streams.assignor.offload.enable": "internal: which thread of the broker runs the assignor",
}
"""The configurations without a number, and what they are."""

REPLACED_SETTINGS: Final[Mapping[str, GroupConfiguration]] = {
    configuration.replaces: configuration for configuration in GROUP_CONFIGURATIONS if configuration.replaces
}
"""The configurations that replace a setting of classic members, by that setting."""

CONSUMER_SETTINGS: Final[Mapping[str, GroupConfiguration]] = {
    name: GroupConfiguration(
        f"consumer.{name}",
        default,
        f"group.consumer.{name}",
        since=(4, 0),
        replaces=name,
        minimum=default,
        minimum_name=f"group.consumer.min.{name}",
        maximum=maximum,
        maximum_name=f"group.consumer.max.{name}",
        if_lost=if_lost,
    )
    for name, default, maximum, if_lost in (
        ("session.timeout.ms", 45_000, 60_000, "partitions of a member that fails move after that of the brokers"),
        ("heartbeat.interval.ms", 5_000, 15_000, "members notice an assignment in the interval of the brokers"),
    )
}
"""The same of groups with the consumer protocol (KIP-848)."""


MIGRATION_POLICY: Final = "group.consumer.migration.policy"
"""The configuration of brokers that says whether members change to the consumer protocol, and back, one by one."""


@frozen
class IgnoredSetting:
    """A setting of classic members that the streams protocol ignores, and that no configuration of a group replaces."""

    name: str
    """A dot at the end: all names that begin so."""
    consequence: str

    def concerns(self, name: str) -> bool:
        """Whether a setting is this one."""
        return name.startswith(self.name) if self.name.endswith(".") else name == self.name


_NO_WARM_UPS: Final = (
    "there are no warm-up tasks, with brokers of 4.4.0 neither: a task moves at once and restores its stores on the "
    "new member"
)
_NO_RACKS: Final = (
    "the sticky assignor of the brokers uses neither racks nor tags; from 4.4 on another one can, which has "
    "streams.rack.aware.assignment.tags"
)
_OWN_ASSIGNOR: Final = (
    "the brokers assign; from 4.4 on streams.assignor.name takes another assignor that is installed on them (KIP-1357)"
)
IGNORED_SETTINGS: Final = (
    IgnoredSetting("max.warmup.replicas", _NO_WARM_UPS),
    IgnoredSetting("acceptable.recovery.lag", _NO_WARM_UPS),
    IgnoredSetting("probing.rebalance.interval.ms", _NO_WARM_UPS),
    IgnoredSetting("rack.aware.assignment.", _NO_RACKS),
    IgnoredSetting(TAG_PREFIX, _NO_RACKS),
    IgnoredSetting("task.assignor.class", _OWN_ASSIGNOR),
    IgnoredSetting("internal.task.assignor.class", _OWN_ASSIGNOR),
    IgnoredSetting("partition.assignment.strategy", "the members have no assignor"),
)
"""Settings that members accept and that have no effect with ``group.protocol=streams``.

``tests/upgrade/streams_protocol/test_settings_java.py`` derives them: nothing but the classic protocol reads them.
"""
