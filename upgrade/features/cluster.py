"""A cluster as a value: its nodes with what each supports, its controller, and what is finalised at which epoch.

Nothing here judges: ``update``, ``protection`` and ``deprecation`` do, and each of their steps takes a cluster and
gives back another with what happened. A step is one turn of the controller's single event thread (KIP-584: "only one
inflight" request), so the order of steps is the order of events.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve, field, frozen

from upgrade.errors import FeatureError
from upgrade.features.dialects import KAFKA_4, Asked, Dialect, Minimum
from upgrade.features.levels import INT16, NEWEST, Catalog

Ranges = Mapping[str, tuple[int, int]]
"""What a node supports: the lowest and the highest level of each feature."""

NOT_SUPPORTED: Final = (0, 0)
"""The range of a feature that a node does not have. Java: ``QuorumFeatures.DISABLED``."""


@frozen
class Node:
    """A broker or a controller: what it supports, and whether it runs. One that stopped may still be registered."""

    id: int
    supports: Ranges
    live: bool = True

    def range_of(self, feature: str) -> tuple[int, int]:
        """Return the range of a feature."""
        return self.supports.get(feature, NOT_SUPPORTED)

    def has(self, feature: str, level: int) -> bool:
        """Whether the node supports this level."""
        low, high = self.range_of(feature)
        return low <= level <= high


class What(enum.Enum):
    """What can happen in a step."""

    ARRIVED = "a broker is up and asks to be registered"
    REGISTERED = "the controller knows the node"
    REFUSED = "the controller does not register the broker"
    SKIPPED = "the controller passes over the registration of a broker"
    EXITED = "a node stopped because of what is finalised, with an exit code that is not 0"
    UNREGISTERED = "a broker is no longer registered"
    RESIGNED = "the active controller gave up its office"
    LOGGED = "a node met a level that it lacks and went on"
    FINALIZED = "a level was written"
    NOTIFIED = "brokers begin to hear of the new levels"
    RENEGOTIATED = "a broker asks its peers anew what they speak, and closes its clients' connections so that they do"


@frozen
class Event:
    """Something that happened, to whom (none: to the cluster), and the words for it."""

    what: What
    node: int | None = None
    text: str = ""


@frozen
class Outcome:
    """A cluster after a step, and what happened in it."""

    cluster: Cluster
    events: tuple[Event, ...] = ()

    @property
    def happened(self) -> tuple[What, ...]:
        """What happened, without the words."""
        return tuple(event.what for event in self.events)


@frozen(kw_only=True)
class Cluster:
    """All of a cluster that features depend on.

    ``brokers`` are those that the controller knows; ``arriving`` are up but not registered. ``controllers`` are the
    voters the active one knows of, ``quorum`` the ids there should be (in the ZooKeeper era both are empty: a broker is
    the controller). ``finalized`` has no feature at level 0. ``minimum`` is KIP-584's second number per feature.
    ``epoch`` rises with every change of the levels; ``offset`` is the end of the metadata log, which grows anyway.
    ``impossible`` are (feature, level) that the controller's own rules never lower. ``enabled`` is false while the
    feature system is switched off (``zk_node``).
    """

    dialect: Dialect = KAFKA_4
    catalog: Catalog = NEWEST
    brokers: Mapping[int, Node] = field(factory=dict)
    arriving: Mapping[int, Node] = field(factory=dict)
    controllers: Mapping[int, Node] = field(factory=dict)
    quorum: frozenset[int] = field(factory=frozenset, converter=frozenset)
    active: int | None = None
    finalized: Mapping[str, int] = field(factory=dict)
    minimum: Mapping[str, int] = field(factory=dict)
    epoch: int = 0
    offset: int = 0
    enabled: bool = True
    impossible: frozenset[tuple[str, int]] = frozenset()

    def __attrs_post_init__(self) -> None:
        """Refuse what no cluster of this dialect can have."""
        if self.in_zookeeper == bool(self.quorum) or not self.controllers.keys() <= self.quorum:
            raise FeatureError(f"expected the ids of all controllers, or none in the ZooKeeper era, got {self.quorum}")
        for node in self.nodes():
            check_ranges(node.supports, self.dialect, f"node {node.id}")
        for feature, level in self.finalized.items():
            if not feature or level < 1 or level not in INT16:
                raise FeatureError(
                    f"expected a named feature at a level of 1 to {INT16[-1]}, got {feature!r} at {level}"
                )

    def nodes(self) -> Iterator[Node]:
        """Yield all nodes."""
        for group in (self.brokers, self.arriving, self.controllers):
            yield from group.values()

    def level_of(self, feature: str) -> int:
        """Return the finalised level; 0 if there is none."""
        return self.finalized.get(feature, 0)

    @property
    def local(self) -> Node:
        """The active controller; ``FeatureError`` if there is none."""
        nodes = self.brokers if self.in_zookeeper else self.controllers
        if self.active is None or self.active not in nodes:
            raise FeatureError(f"expected an active controller among {sorted(nodes)}, got {self.active}")
        return nodes[self.active]

    def write(self, levels: Mapping[str, int]) -> Cluster:
        """Return the cluster with its features at these levels (0: deleted), after one write with one new epoch.

        KIP-584: "Upon successful write, ZK should automatically increment the version of the node by 1." In KRaft the
        epoch is an offset of the metadata log, which has one record per level.
        """
        finalized = {name: level for name, level in sorted({**self.finalized, **levels}.items()) if level > 0}
        kept = self.dialect.minimum is Minimum.KEPT
        minimum = {name: self.minimum.get(name, self.highest_minimum(name)) for name in finalized} if kept else {}
        if self.in_zookeeper:
            return evolve(self, finalized=finalized, minimum=minimum, epoch=self.epoch + 1)
        end = max(self.offset, self.epoch) + len(levels)
        return evolve(self, finalized=finalized, minimum=minimum, epoch=end, offset=end)

    @property
    def in_zookeeper(self) -> bool:
        """Whether a broker is the controller, and levels are in a ZooKeeper node instead of a log."""
        return self.dialect.asked is Asked.LIVE_BROKERS

    def highest_minimum(self, feature: str) -> int:
        """Return the highest lowest level that any broker supports: what is below it can no longer be spoken."""
        return max((node.range_of(feature)[0] for node in self.brokers.values() if feature in node.supports), default=1)


def range_text(low: int, high: int) -> str:
    """Write a range as Kafka does, a single level without a dash. Java: ``VersionRange.toString``."""
    return f"{low}-{high}" if low < high else f"{low}"


def lacks(node: Node, finalized: Mapping[str, int]) -> dict[str, int]:
    """Return the finalised levels that a node does not support; features only it has do not matter (KIP-584)."""
    return {feature: level for feature, level in finalized.items() if not node.has(feature, level)}


def check_ranges(ranges: Ranges, dialect: Dialect, where: str) -> None:
    """Refuse ranges without a name, below the dialect's lowest level, or upside down; ``FeatureError``."""
    for feature, (low, high) in ranges.items():
        if not feature or not dialect.lowest_level <= low <= high or high not in INT16:
            raise FeatureError(
                f"{where}: expected a named feature with {dialect.lowest_level} <= lowest level <= highest level "
                f"<= {INT16[-1]} ({dialect.name}), got {feature!r} with {low} to {high}"
            )
