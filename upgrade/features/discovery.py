"""How a change becomes known: each broker answers from its own copy of what is finalised, some later than others.

"The metadata we serve to the client during discovery, will be eventually consistent" (KIP-584). Which answer a client
then believes is ``rpc.NewestFeatures``.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from upgrade.features.cluster import Cluster, Event, Node, What
from upgrade.features.levels import METADATA
from upgrade.features.rpc import Described, Listener

NO_EPOCH = -1
"""What stands for "finalised features are unavailable" on the wire, and is not sent at all."""


@frozen
class Copy:
    """What one broker last heard: the levels, and an epoch as this kind of listener counts it."""

    epoch: int
    finalized: Mapping[str, int] = field(hash=False)


@frozen
class Copies:
    """The copies of all brokers that have heard anything."""

    of: Mapping[int, Copy] = field(factory=dict, hash=False)

    def hear(self, cluster: Cluster, broker: int) -> tuple[Copies, tuple[Event, ...]]:
        """Let a broker catch up: a watch of the ZooKeeper node fires, or it has replicated the log to its end.

        KIP-778: with a new metadata.version it asks its peers anew, and "by closing the broker side of the connection,
        clients would be forced to reconnect". A broker's epoch in KRaft is the end of the log, which grows by itself.
        """
        before = self.of.get(broker)
        epoch = cluster.epoch if cluster.in_zookeeper else max(cluster.offset, cluster.epoch)
        after = evolve(self, of={**self.of, broker: Copy(epoch, dict(cluster.finalized))})
        changed = before is not None and before.finalized.get(METADATA) != cluster.finalized.get(METADATA)
        return after, (Event(What.RENEGOTIATED, broker),) if changed and not cluster.in_zookeeper else ()

    def answer(self, node: Node) -> Described:
        """Return what a broker answers to ApiVersions; without a copy there is no epoch."""
        copy = self.of.get(node.id)
        supported = {name: node.supports[name] for name in sorted(node.supports)}
        if copy is None:
            return Described(Listener.BROKER, None, supported, {})
        return Described(Listener.BROKER, copy.epoch, supported, copy.finalized)


def controller_answer(cluster: Cluster) -> Described:
    """Return what the active controller answers: always the latest, at the epoch of the last change."""
    return Described(Listener.CONTROLLER, cluster.epoch, cluster.local.supports, cluster.finalized)


def grow(cluster: Cluster, records: int) -> Cluster:
    """Let the metadata log grow by records that have nothing to do with features (about two a second in Kafka)."""
    return evolve(cluster, offset=max(cluster.offset, cluster.epoch) + records)


def tagged_fields(answer: Described, cluster: Cluster) -> dict[int, object]:
    """Return the tagged fields of ApiVersionsResponse v3 that carry an answer, by tag; those with nothing are left out.

    Supported: (name, lowest, highest). Finalised: (name, level, minimum), the level first as on the wire.
    """
    supported, epoch, finalized = cluster.dialect.tags
    fields = {
        supported: [(name, *found) for name, found in answer.supported.items()],
        epoch: NO_EPOCH if answer.epoch is None else answer.epoch,
        # Without KIP-584's minimum, Kafka sends the level there as well.
        finalized: [(name, level, cluster.minimum.get(name, level)) for name, level in answer.finalized.items()],
    }
    return {tag: value for tag, value in fields.items() if value not in ([], NO_EPOCH)}
