"""A cluster as a value: its nodes and the levels they support, its controller, the finalized levels and their epoch.

``update_features`` and ``registration`` are its transitions: each takes a cluster and returns another with the events.
A transition is one event of the controller's single thread (KIP-584: "only one inflight" request), so the order of
transitions is the order of events.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.cluster.features.catalog import FeatureCatalog
from streams_assignor.upgrade.cluster.features.dialects import KAFKA_4, Dialect, MinimumLevel, ValidatedNodes
from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
from streams_assignor.upgrade.errors import FeatureError

SupportedRanges = Mapping[str, tuple[int, int]]
"""The lowest and the highest level of each feature that a node supports."""

NOT_SUPPORTED: Final = (0, 0)
"""The range of a feature that a node does not have. Java: ``QuorumFeatures.DISABLED``."""


@frozen
class FeatureNode:
    """A broker or a controller. A node that stopped may still be registered."""

    id: int
    supports: SupportedRanges
    live: bool = True

    def range_of(self, feature: str) -> tuple[int, int]:
        """Return the range of a feature."""
        return self.supports.get(feature, NOT_SUPPORTED)

    def supports_level(self, feature: str, level: int) -> bool:
        """Whether the node supports this level."""
        low, high = self.range_of(feature)
        return low <= level <= high


class EventType(enum.Enum):
    """The kinds of events."""

    ARRIVED = "a broker has started and requests its registration"
    REGISTERED = "the controller has registered the node"
    REFUSED = "the controller does not register the broker"
    SKIPPED = "the controller ignores the registration of a broker"
    BLOCKED = "the controller sends the broker no UpdateMetadataRequest"
    DEPRECATED = "the controller raised the finalized minimum level of a feature"
    EXITED = "a node stopped because of a finalized level, with an exit code that is not 0"
    UNREGISTERED = "a broker is no longer registered"
    RESIGNED = "the active controller resigned"
    LOGGED = "a node logged a level that it does not support, and continued"
    FINALIZED = "a level was written"
    NOTIFIED = "brokers start to observe the new levels"
    RENEGOTIATED = "a broker negotiates versions with its peers again, and closes the connections of its clients"


@frozen
class ClusterEvent:
    """One event: its type, its node (None: the cluster) and its text."""

    type: EventType
    node: int | None = None
    text: str = ""


@frozen
class ClusterTransition:
    """The cluster after a transition, and the events."""

    cluster: FeatureCluster
    events: tuple[ClusterEvent, ...] = ()

    @property
    def event_types(self) -> tuple[EventType, ...]:
        """The types of the events."""
        return tuple(event.type for event in self.events)


@frozen(kw_only=True)
class FeatureCluster:
    """The part of a cluster that features depend on. With ZooKeeper there are no controllers: a broker is active."""

    dialect: Dialect = KAFKA_4
    catalog: FeatureCatalog = NEWEST_CATALOG
    brokers: Mapping[int, FeatureNode] = field(factory=dict)
    """The registered brokers."""
    registering: Mapping[int, FeatureNode] = field(factory=dict)
    """Brokers that have started and are not registered yet."""
    controllers: Mapping[int, FeatureNode] = field(factory=dict)
    """The voters that the active controller has seen."""
    voter_ids: frozenset[int] = field(factory=frozenset, converter=frozenset)
    """The ids of all voters."""
    active: int | None = None
    """The id of the active controller."""
    finalized: Mapping[str, int] = field(factory=dict)
    """The finalized levels, without features at level 0."""
    minimum: Mapping[str, int] = field(factory=dict)
    """The finalized minimum levels of KIP-584; a deleted feature keeps a raised one: lower levels stay deprecated."""
    epoch: int = 0
    """Rises with every change of the levels."""
    offset: int = 0
    """The end of the metadata log, which grows without such changes, too."""
    enabled: bool = True
    """False while the feature system is disabled (``feature_znode``)."""
    not_downgradable: frozenset[tuple[str, int]] = frozenset()
    """Features and levels that the rules of the controller never lower."""

    def __attrs_post_init__(self) -> None:
        """Refuse an invalid cluster of this dialect with ``FeatureError``, and complete its minimum levels."""
        if self.in_zookeeper == bool(self.voter_ids) or not self.controllers.keys() <= self.voter_ids:
            raise FeatureError(f"expected the ids of all controllers, or none with ZooKeeper, got {self.voter_ids}")
        for node in self.nodes():
            check_ranges(node.supports, self.dialect, f"node {node.id}")
        for feature, level in self.finalized.items():
            if not feature or level < 1 or level not in self.dialect.levels:
                raise FeatureError(
                    f"expected a named feature at a level of 1 to {self.dialect.levels[-1]}, got {feature!r} at {level}"
                )
        object.__setattr__(self, "minimum", self._all_minimum_levels())

    def _all_minimum_levels(self) -> dict[str, int]:
        """Return the minimum of each finalized feature; of one without, the lowest level that all brokers support.

        The level itself would deprecate all levels below it. KIP-778 and Kafka 4.x have no minimum levels.
        """
        if self.dialect.minimum is not MinimumLevel.KEPT:
            return {}
        lowest = {name: min(self.highest_min_supported(name), level) for name, level in self.finalized.items()}
        return {**lowest, **self.minimum}

    def nodes(self) -> Iterator[FeatureNode]:
        """Yield all nodes."""
        for group in (self.brokers, self.registering, self.controllers):
            yield from group.values()

    def level_of(self, feature: str) -> int:
        """Return the finalized level; 0 if there is none."""
        return self.finalized.get(feature, 0)

    @property
    def active_controller(self) -> FeatureNode:
        """The active controller; ``FeatureError`` if there is none."""
        nodes = self.brokers if self.in_zookeeper else self.controllers
        if self.active is None or self.active not in nodes:
            raise FeatureError(f"expected an active controller among {sorted(nodes)}, got {self.active}")
        return nodes[self.active]

    def write_levels(self, levels: Mapping[str, int]) -> FeatureCluster:
        """Return the cluster with these levels (0 deletes), after one write with one new epoch.

        KIP-584: "Upon successful write, ZK should automatically increment the version of the node by 1." In KRaft the
        epoch is an offset of the metadata log, which has one record per level.
        """
        finalized = {name: level for name, level in sorted({**self.finalized, **levels}.items()) if level > 0}
        minimum = self._minimum_with(finalized)
        if self.in_zookeeper:
            return evolve(self, finalized=finalized, minimum=minimum, epoch=self.epoch + 1)
        end = max(self.offset, self.epoch) + len(levels)
        return evolve(self, finalized=finalized, minimum=minimum, epoch=end, offset=end)

    def _minimum_with(self, finalized: Mapping[str, int]) -> dict[str, int]:
        lowest = {name: low for name, low in self.minimum.items() if low > 1}
        for name in finalized:
            has_minimum = name in self.finalized and name in self.minimum
            lowest[name] = (
                self.minimum[name] if has_minimum else max(lowest.get(name, 1), self.highest_min_supported(name))
            )
        return lowest

    @property
    def in_zookeeper(self) -> bool:
        """Whether levels are in a ZooKeeper node instead of a log, and a broker is the controller."""
        return self.dialect.asked is ValidatedNodes.LIVE_BROKERS

    def highest_min_supported(self, feature: str) -> int:
        """Return the highest of the lowest levels of all brokers; lower levels are unsupported by some broker."""
        return max((node.range_of(feature)[0] for node in self.brokers.values() if feature in node.supports), default=1)


def range_text(low: int, high: int) -> str:
    """Return a range as Kafka prints it: a single level without a dash. Java: ``VersionRange.toString``."""
    return f"{low}-{high}" if low < high else f"{low}"


def unsupported_levels(node: FeatureNode, finalized: Mapping[str, int]) -> dict[str, int]:
    """Return the finalized levels that a node does not support (KIP-584)."""
    return {feature: level for feature, level in finalized.items() if not node.supports_level(feature, level)}


def check_ranges(ranges: SupportedRanges, dialect: Dialect, where: str) -> None:
    """Refuse ranges without a name, below the lowest level of the dialect, or with low above high; ``FeatureError``."""
    for feature, (low, high) in ranges.items():
        if not feature or not dialect.lowest_level <= low <= high or high not in dialect.levels:
            raise FeatureError(
                f"{where}: expected a named feature with {dialect.lowest_level} <= lowest level <= highest level "
                f"<= {dialect.levels[-1]} ({dialect.name}), got {feature!r} with {low} to {high}"
            )


# -- deprecation in KIP-584: a release that drops a level raises the finalized minimum level; KIP-778 ended it ---------


def deprecated_levels(cluster: FeatureCluster, feature: str) -> range:
    """Return the levels of a feature that may no longer be used: up to one below its minimum."""
    return range(1, cluster.minimum.get(feature, 1))


def raise_minimum_levels(cluster: FeatureCluster, wanted: Mapping[str, int] | None = None) -> ClusterTransition:
    """Raise the minimum levels of finalized features, and persist them in one write; never above the level.

    Args:
        cluster: The cluster.
        wanted: The minimum levels in the code of a release; None: the lowest levels that all brokers support.
    """
    if cluster.dialect.minimum is not MinimumLevel.KEPT:
        return ClusterTransition(cluster)
    raised = {
        feature: min(lowest, level)
        for feature, level in cluster.finalized.items()
        for lowest in [cluster.highest_min_supported(feature) if wanted is None else wanted.get(feature, 1)]
        if min(lowest, level) > cluster.minimum.get(feature, 1)
    }
    if not raised:
        return ClusterTransition(cluster)
    events = tuple(
        ClusterEvent(EventType.DEPRECATED, cluster.active, f"{feature} {low}") for feature, low in raised.items()
    )
    return ClusterTransition(evolve(cluster, minimum={**cluster.minimum, **raised}, epoch=cluster.epoch + 1), events)
