"""A node of the cluster as a process: its release, the supported levels, and the contents of its disk."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache

from attrs import frozen

from streams_assignor.spark_sim.brokers.scenario import node_id
from streams_assignor.upgrade.cluster.brokers.protocol_versions import BrokerRelease
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import SupportedRanges
from streams_assignor.upgrade.cluster.features.dialects import Dialect
from streams_assignor.upgrade.cluster.features.levels_of_releases import catalog_of


class Role(Enum):
    """The roles of a node. In KIP-584 all nodes are brokers, and one of them is the active controller."""

    BOTH = "broker and controller"
    BROKER = "broker"
    CONTROLLER = "controller"


@frozen
class NodeState:
    """The state of one node."""

    name: str
    role: Role
    release: BrokerRelease
    running: bool = False
    should_run: bool = True
    """False after the operator has stopped it."""
    crashed: bool = False
    original: bool = True
    """Whether it is in the head of the scenario; others join later."""
    stale: bool = False
    """Whether it receives no metadata updates."""
    loaded_entries: int = 0
    """The number of entries of the metadata log that it has loaded."""
    snapshot_entries: int = 0
    """The number of entries in its last snapshot."""

    @property
    def id(self) -> int:
        """The node id."""
        return node_id(self.name)

    @property
    def is_controller(self) -> bool:
        """Whether the node is a controller."""
        return self.role is not Role.BROKER

    @property
    def is_broker(self) -> bool:
        """Whether the node is a broker."""
        return self.role is not Role.CONTROLLER

    def replay_start(self, dialect: Dialect) -> int:
        """Return the entry from which the node replays the log when it starts.

        A node that writes a snapshot with every change of the level (KIP-778) continues where it was. Others replay the
        entries since their last regular snapshot.
        """
        return self.loaded_entries if dialect.snapshot else self.snapshot_entries


@lru_cache
def supported_ranges(release: BrokerRelease, dialect: Dialect) -> SupportedRanges:
    """Return the ranges that a release advertises, without features that have only level 0.

    >>> from streams_assignor.upgrade.cluster.brokers.protocol_versions import broker_release
    >>> from streams_assignor.upgrade.cluster.features.dialects import KAFKA_4
    >>> supported_ranges(broker_release("4.0.0"), KAFKA_4)["metadata.version"]
    (7, 25)
    """
    supported = dict(catalog_of(release.line).supported_ranges())
    lowest, _ = supported.pop(METADATA_VERSION)
    others = {feature: (dialect.lowest_level, highest) for feature, (_, highest) in supported.items()}
    return {METADATA_VERSION: (lowest, newest_level(release)), **others}


def newest_level(release: BrokerRelease) -> int:
    """Return the highest metadata.version of a release."""
    assert release.newest.level is not None, f"{release} has no levels; this should never happen"
    return release.newest.level


ClusterNodes = Mapping[str, NodeState]
