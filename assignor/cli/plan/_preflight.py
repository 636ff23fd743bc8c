"""The live part of ``plan --to-protocol``: a group and the features of its brokers, read through kafka-python."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from streams_assignor.groups import LOOKUP_TIMEOUT_SECONDS, DescribedGroup, NoSuchGroup, inspect_group
from streams_assignor.groups.standbys import StandbyKind
from streams_assignor.upgrade.cluster.client.errors import ClusterError
from streams_assignor.upgrade.streams_protocol.preflight import MigratingGroup

if TYPE_CHECKING:
    from streams_assignor.upgrade.cluster.client.command_config import CommandConfig
    from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata


def observe(
    name: str, servers: str, config: CommandConfig
) -> tuple[Mapping[int, FeatureMetadata], MigratingGroup | None]:
    """Return the features of all brokers and the group, None if it does not exist; ``ClickException`` if none answers.

    Both are only described: nothing changes.
    """
    from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
    from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient

    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # errors arrive as exceptions
    seconds = config.timeout_seconds or LOOKUP_TIMEOUT_SECONDS
    try:
        brokers = FeatureClient(servers, settings=config.settings, timeout_seconds=seconds).describe_nodes()
        try:
            return brokers, observed_group(GroupLookup(servers, config.settings, seconds).group(name))
        except NoSuchGroup:
            return brokers, None
    except ClusterError as error:
        raise click.ClickException(str(error)) from None


def observed_group(described: DescribedGroup) -> MigratingGroup:
    """Return what a plan looks at."""
    group = inspect_group(described)
    kinds = list(group.standby_kinds.values())
    marked = sum(len(member.assignment.warm_ups) for member in group.members)
    return MigratingGroup(
        type=described.type,
        state=described.state,
        protocol=described.protocol,
        members=len(described.members),
        static=tuple(sorted(member.group_instance_id for member in described.members if member.group_instance_id)),
        standbys=sum(kind is not StandbyKind.WARM_UP for kind in kinds),
        warm_ups=marked + sum(kind is StandbyKind.WARM_UP for kind in kinds),
        error=described.error,
    )
