"""The live part of ``plan --group``: a group and its brokers are described, and nothing changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import click
from attrs import evolve

from streams_assignor.cli.params import silence_client_logs
from streams_assignor.groups import (
    LOOKUP_TIMEOUT_SECONDS,
    DescribedGroup,
    InspectedGroup,
    InspectedMember,
    NoSuchGroup,
    inspect_group,
)
from streams_assignor.groups.broker_assigned import BrokerAssignment
from streams_assignor.groups.described_group import WITHOUT_METADATA
from streams_assignor.groups.standbys import StandbyKind
from streams_assignor.upgrade.application.live_group import LiveBroker, LiveGroup, LiveMember
from streams_assignor.upgrade.cluster.client.errors import ClusterError
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.hazards import ApplicationTopology
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.streams_protocol.preflight import line_of

if TYPE_CHECKING:
    from streams_assignor.upgrade.cluster.client.command_config import CommandConfig
    from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata
    from streams_assignor.upgrade.streams_protocol import Facts

_MINIMUM: Final = ".min."
"""In the name of a lower limit."""
_MAX_DIGITS: Final = 10  # int() raises its own error for thousands of digits


def read_group(name: str, servers: str, config: CommandConfig, assume: Release | None) -> LiveGroup:
    """Describe a group and its brokers; ``ClickException`` if it does not exist or no broker answers."""
    from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup

    silence_client_logs()
    seconds = config.timeout_seconds or LOOKUP_TIMEOUT_SECONDS
    try:
        described = GroupLookup(servers, config.settings, seconds).group(name)
    except ClusterError as error:
        raise click.ClickException(str(error)) from None
    brokers, why = read_brokers(servers, config, seconds)
    return live_group(described, brokers, why, assume)


def read_migration(
    name: str, servers: str, config: CommandConfig
) -> tuple[Mapping[int, FeatureMetadata], LiveGroup | None, Mapping[int, Mapping[str, str]]]:
    """Describe all brokers, a group, None if it does not exist, and what each broker says of configurations of groups.

    ``ClickException`` if no broker answers.
    """
    from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
    from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient

    silence_client_logs()
    seconds = config.timeout_seconds or LOOKUP_TIMEOUT_SECONDS
    try:
        brokers = FeatureClient(servers, settings=config.settings, timeout_seconds=seconds).describe_nodes()
        lookup = GroupLookup(servers, config.settings, seconds)
        configurations = lookup.group_settings()
        try:
            return brokers, live_group(lookup.group(name), brokers), configurations
        except NoSuchGroup:
            return brokers, None, configurations
    except ClusterError as error:
        raise click.ClickException(str(error)) from None


def with_limits(facts: Facts, brokers: Iterable[int], configurations: Mapping[int, Mapping[str, str]]) -> Facts:
    """Return facts with the limits among the configurations of brokers, and which of them each broker told.

    Limits are those that are numbers: where they differ, the closest.
    """
    limits: dict[str, int] = {}
    told = {
        broker: {name: int(value) for name, value in configurations.get(broker, {}).items() if _is_number(value)}
        for broker in {*brokers, *configurations}
    }
    for name, value in (pair for shown in told.values() for pair in shown.items()):
        closest = max if _MINIMUM in name else min
        limits[name] = closest(value, limits.get(name, value))
    return evolve(facts, limits=limits, told={broker: frozenset(shown) for broker, shown in told.items()})


def _is_number(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS


def _is_classic(assignment: BrokerAssignment | None) -> bool:
    """Whether a member is classic in a group that is being migrated to KIP-848."""
    return bool(assignment and assignment.is_classic)


def read_brokers(servers: str, config: CommandConfig, seconds: float) -> tuple[Mapping[int, FeatureMetadata], str]:
    """Return the features of all brokers, or why they are not known."""
    from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient

    try:
        return FeatureClient(servers, settings=config.settings, timeout_seconds=seconds).describe_nodes(), ""
    except ClusterError as error:
        return {}, str(error)


def live_group(
    described: DescribedGroup, brokers: Mapping[int, FeatureMetadata], why: str = "", assume: Release | None = None
) -> LiveGroup:
    """Return what a plan looks at."""
    group = inspect_group(described, assume=assume)
    topology = described.broker.topology if described.broker else None
    kinds = Counter(group.standby_kinds.values())
    warm_ups = kinds.pop(StandbyKind.WARM_UP, 0) + sum(len(member.assignment.warm_ups) for member in group.members)
    standbys = Counter(
        task
        for member in group.members
        for task in member.assignment.standbys
        if group.standby_kinds[task] is not StandbyKind.WARM_UP
    )
    return LiveGroup(
        name=described.name,
        type=described.type,
        state=described.state,
        members=tuple(_member(group, member) for member in group.members) or _undecoded(described),
        tasks=len({task for member in group.members for task in member.assignment.active}),
        standbys=max(standbys.values(), default=0),
        processes=len({member.subscription.process_id for member in group.members} - {None}),
        partitions=described.partition_counts,
        missing_topics=tuple(sorted(described.missing_topics)),
        brokers=live_brokers(brokers),
        unknown_brokers=why,
        topology=_described_topology(described),
        subtopologies={subtopology.name: subtopology.input_topics for subtopology in topology.subtopologies}
        if topology
        else None,
        protocol=described.protocol,
        protocol_type=described.protocol_type,
        standby_tasks=kinds.total(),
        warm_ups=warm_ups,
        classic=tuple(member.name for member in group.members if _is_classic(member.described.broker_assignment)),
        userdata=tuple(member.name for member in group.members if member.assignment.has_unread_userdata),
        error=described.error,
    )


def _described_topology(described: DescribedGroup) -> ApplicationTopology | None:
    """Return the description that the broker has, unless a member has another topology."""
    broker = described.broker
    if broker is None or broker.topology is None or broker.topology_description is None:
        return None
    epochs = {member.broker_assignment.topology_epoch for member in described.members if member.broker_assignment}
    if epochs - {broker.topology.epoch}:
        return None
    return ApplicationTopology(f"the topology of group {described.name}", broker.topology_description)


def _member(group: InspectedGroup, member: InspectedMember) -> LiveMember:
    instance = member.described.group_instance_id
    return LiveMember(
        member.label, group.possible_releases(member), group.releases_of(member) or _why(group, member), instance
    )


def _why(group: InspectedGroup, member: InspectedMember) -> str:
    """Say why the release of a member cannot be told."""
    if group.described.state in WITHOUT_METADATA:
        return f"while the group is {group.described.state}, its broker shows no metadata"
    if not group.has_tasks:
        return "it does not run Kafka Streams"
    return member.subscription.problem or "its metadata is that of no known release"


def _undecoded(described: DescribedGroup) -> tuple[LiveMember, ...]:
    """Return the members of a group of another protocol."""
    kind = described.protocol_type or described.type
    why = described.error or f"a group of type {kind} does not run Kafka Streams"
    return tuple(
        LiveMember(member.client_id or member.member_id, (), why, member.group_instance_id)
        for member in described.members
    )


def live_brokers(brokers: Mapping[int, FeatureMetadata]) -> tuple[LiveBroker, ...]:
    """Return the brokers as a plan looks at them, by number."""
    return tuple(_broker(number, broker) for number, broker in sorted(brokers.items()))


def _broker(number: int, features: FeatureMetadata) -> LiveBroker:
    line = line_of(features) if METADATA_VERSION in features.supported else None
    return LiveBroker(number, line, None if features.epoch is None else dict(features.finalized))
