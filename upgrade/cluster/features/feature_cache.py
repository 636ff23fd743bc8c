"""The finalized levels that each broker has observed: brokers answer ApiVersions from their own copies.

"The metadata we serve to the client during discovery, will be eventually consistent" (KIP-584). A client selects among
the answers with ``rpc.NewestFeatures``.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import ClusterEvent, EventType, FeatureCluster, FeatureNode
from streams_assignor.upgrade.cluster.features.dialects import MinimumLevel
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, Listener

NO_EPOCH = -1
"""Finalized features are unavailable; this epoch is never sent."""


@frozen
class FinalizedFeatureCache:
    """The levels that one broker last observed, and their epoch as brokers count it."""

    epoch: int
    finalized: Mapping[str, int] = field(hash=False)


@frozen
class FinalizedFeatureCaches:
    """The copies of all brokers that have observed any levels."""

    by_broker: Mapping[int, FinalizedFeatureCache] = field(factory=dict, hash=False)

    def catch_up(self, cluster: FeatureCluster, broker: int) -> tuple[FinalizedFeatureCaches, tuple[ClusterEvent, ...]]:
        """Update the copy of a broker: a watch of the ZooKeeper node fires, or it has replicated the log to its end.

        KIP-778: with a new metadata.version it negotiates with its peers again, and "by closing the broker side of the
        connection, clients would be forced to reconnect". The epoch of a broker in KRaft mode is the end of the log,
        which grows by itself.
        """
        before = self.by_broker.get(broker)
        epoch = cluster.epoch if cluster.in_zookeeper else max(cluster.offset, cluster.epoch)
        after = evolve(
            self, by_broker={**self.by_broker, broker: FinalizedFeatureCache(epoch, dict(cluster.finalized))}
        )
        changed = before is not None and before.finalized.get(METADATA_VERSION) != cluster.finalized.get(
            METADATA_VERSION
        )
        return after, (ClusterEvent(EventType.RENEGOTIATED, broker),) if changed and not cluster.in_zookeeper else ()

    def api_versions_response(self, node: FeatureNode) -> FeatureMetadata:
        """Return the answer of a broker to ApiVersions; without a copy there is no epoch."""
        copy = self.by_broker.get(node.id)
        supported = {name: node.supports[name] for name in sorted(node.supports)}
        if copy is None:
            return FeatureMetadata(Listener.BROKER, None, supported, {})
        return FeatureMetadata(Listener.BROKER, copy.epoch, supported, copy.finalized)


def controller_api_versions(cluster: FeatureCluster) -> FeatureMetadata:
    """Return the answer of the active controller: the current levels, at the epoch of the last change."""
    return FeatureMetadata(Listener.CONTROLLER, cluster.epoch, cluster.active_controller.supports, cluster.finalized)


def append_unrelated_records(cluster: FeatureCluster, records: int) -> FeatureCluster:
    """Append records that are not about features to the metadata log (in Kafka about two a second)."""
    return evolve(cluster, offset=max(cluster.offset, cluster.epoch) + records)


def tagged_fields(answer: FeatureMetadata, cluster: FeatureCluster) -> dict[int, object]:
    """Return the tagged fields of ApiVersionsResponse v3 for an answer, by tag, without empty fields.

    Supported: (name, lowest, highest). Finalized: (name, level, minimum), the level first as on the wire.
    """
    supported, epoch, finalized = cluster.dialect.tags
    kept = cluster.dialect.minimum is MinimumLevel.KEPT
    fields = {
        supported: [(name, *range_) for name, range_ in answer.supported.items()],
        epoch: NO_EPOCH if answer.epoch is None else answer.epoch,
        # Without minimum levels, Kafka sends the level there, too.
        finalized: [
            (name, level, cluster.minimum.get(name, 1) if kept else level) for name, level in answer.finalized.items()
        ],
    }
    return {tag: value for tag, value in fields.items() if value not in ([], NO_EPOCH)}
