"""The two ZooKeeper nodes of KIP-584: ``/features`` with the finalized levels, and a broker's node with its ranges.

``/features`` also has the status of the feature system. Only the controller writes it, and sets the status when it
starts (``STATUS_TRANSITIONS``).
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeGuard

from attrs import evolve, field, frozen

from streams_assignor.upgrade.cluster.features.cluster import FeatureCluster, SupportedRanges, check_ranges
from streams_assignor.upgrade.cluster.features.dialects import KIP_584, Dialect, MinimumLevel
from streams_assignor.upgrade.errors import FeatureError
from streams_assignor.upgrade.input_values import InvalidInput, parse_json

SCHEMA_VERSION: Final = 0
_MINIMUM, _MAXIMUM = "min_version_level", "max_version_level"
BROKER_VERSION: Final = 5
"""The version of a broker's node with features."""


class FeatureZNodeStatus(enum.IntEnum):
    """The status of the feature system."""

    DISABLED = 0
    ENABLED = 1


class StartupContents(enum.Enum):
    """The contents of the node after the start of a controller."""

    ALL = "every feature that it supports, at the highest level"
    NONE = "no feature"
    KEPT = "unchanged"


STATUS_TRANSITIONS: Final[
    Mapping[tuple[FeatureZNodeStatus | None, bool], tuple[FeatureZNodeStatus, StartupContents]]
] = MappingProxyType(
    {
        # the node is     IBP >= migration   becomes          with
        (None, True): (FeatureZNodeStatus.ENABLED, StartupContents.ALL),  # a new cluster
        (None, False): (FeatureZNodeStatus.DISABLED, StartupContents.NONE),  # new binaries on an older cluster
        (FeatureZNodeStatus.DISABLED, True): (
            FeatureZNodeStatus.ENABLED,
            StartupContents.NONE,
        ),  # and then its second roll: the user finalizes later; what a disabled node has "is not relevant"
        (FeatureZNodeStatus.ENABLED, False): (
            FeatureZNodeStatus.DISABLED,
            StartupContents.NONE,
        ),  # the cluster goes back
        (FeatureZNodeStatus.ENABLED, True): (FeatureZNodeStatus.ENABLED, StartupContents.KEPT),
        (FeatureZNodeStatus.DISABLED, False): (FeatureZNodeStatus.DISABLED, StartupContents.KEPT),
    }
)
"""KIP-584, Feature ZK node status: by the status of the node (None: absent), and whether the controller's IBP is at
least the migration version."""


@frozen
class FeatureZNode:
    """``/features``: its status, minimum and maximum level by feature, and its ZooKeeper version (the epoch)."""

    status: FeatureZNodeStatus
    features: SupportedRanges = field(factory=dict, hash=False)
    version: int = 0
    deprecated: Mapping[str, int] = field(factory=dict, hash=False)
    """The minimum levels of deleted features, so that no failover of the controller resets them.

    KIP-584 does not say where they are kept. Here they are entries with a minimum and without a maximum.
    """

    def as_json(self, dialect: Dialect = KIP_584) -> str:
        """Return the contents; without the minimum in KIP-778."""
        keys = (_MINIMUM, _MAXIMUM)[0 if dialect.minimum is MinimumLevel.KEPT else 1 :]
        features = {name: dict(zip(keys, levels[-len(keys) :], strict=True)) for name, levels in self.features.items()}
        if dialect.minimum is MinimumLevel.KEPT:
            features |= {name: {_MINIMUM: low} for name, low in self.deprecated.items()}
        return json.dumps({"version": SCHEMA_VERSION, "status": int(self.status), "features": features})

    @classmethod
    def from_json(cls, text: str, version: int = 0) -> FeatureZNode:
        """Parse the contents; without a minimum no level is deprecated. ``FeatureError`` for invalid contents."""
        fields = _object(text, "/features")
        if fields.get("version") != SCHEMA_VERSION:
            raise FeatureError(f"/features: expected version {SCHEMA_VERSION}, got {fields.get('version')!r}")
        if fields.get("status") not in tuple(FeatureZNodeStatus):
            raise FeatureError(f"/features: expected status 0 (disabled) or 1 (enabled), got {fields.get('status')!r}")
        levels = fields.get("features")
        deprecated: dict[str, int] = {}
        if _is_object(levels):
            deprecated = {name: range_[_MINIMUM] for name, range_ in levels.items() if _has_only_minimum(range_)}
            levels = {name: range_ for name, range_ in levels.items() if name not in deprecated}
        if _is_object(levels):
            levels = {
                name: {_MINIMUM: 1, **range_} if _is_object(range_) else range_ for name, range_ in levels.items()
            }
        features = _ranges(levels, "/features", _MINIMUM, _MAXIMUM)
        check_ranges({name: (low, low) for name, low in deprecated.items()}, KIP_584, "/features")
        return cls(FeatureZNodeStatus(fields["status"]), features, version, deprecated)

    def apply_to(self, cluster: FeatureCluster) -> FeatureCluster:
        """Return the cluster with the levels of this node, as after a restart; if it is disabled, without levels."""
        on = self.status is FeatureZNodeStatus.ENABLED
        features = self.features if on else {}
        deprecated = self.deprecated if on else {}
        return evolve(
            cluster,
            finalized={name: high for name, (_, high) in features.items()},
            minimum={**{name: low for name, (low, _) in features.items()}, **deprecated},
            epoch=self.version,
            enabled=on,
        )

    @classmethod
    def of_cluster(cls, cluster: FeatureCluster) -> FeatureZNode:
        """Return the node that the controller of a cluster has written."""
        features = {name: (cluster.minimum.get(name, 1), level) for name, level in cluster.finalized.items()}
        deprecated = {name: low for name, low in cluster.minimum.items() if name not in cluster.finalized}
        return cls(FeatureZNodeStatus(cluster.enabled), features, cluster.epoch, deprecated)


def on_controller_startup(
    node: FeatureZNode | None, *, features_active: bool, supports: SupportedRanges
) -> FeatureZNode:
    """Return the node after the start of a controller; it is written, with a new version, only if it changes.

    Args:
        node: The node before; None if it is absent.
        features_active: The controller's inter.broker.protocol.version is at least the migration version.
        supports: The levels that the controller supports.
    """
    status, contents = STATUS_TRANSITIONS[node.status if node else None, features_active]
    if node is None:
        return FeatureZNode(status, supports if contents is StartupContents.ALL else {})
    if contents is StartupContents.NONE:
        return FeatureZNode(status, {}, node.version + 1)
    return node if status is node.status else evolve(node, status=status, version=node.version + 1)


def broker_znode_to_json(broker: Mapping[str, Any], supports: SupportedRanges) -> str:
    """Return the node of a broker: its other keys, the new version, and its features."""
    check_ranges(supports, KIP_584, "broker node")
    features = {name: {"min_version": low, "max_version": high} for name, (low, high) in supports.items()}
    return json.dumps({**broker, "version": BROKER_VERSION, "features": features})


def broker_znode_from_json(text: str) -> SupportedRanges:
    """Parse the ranges in the node of a broker; empty for an older version."""
    fields = _object(text, "broker node")
    return _ranges(fields.get("features", {}), "broker node", "min_version", "max_version")


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _has_only_minimum(levels: object) -> bool:
    return _is_object(levels) and set(levels) == {_MINIMUM} and type(levels[_MINIMUM]) is int


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except InvalidInput as error:
        raise FeatureError(f"{where}: {error}") from None
    if not isinstance(value, dict):
        raise FeatureError(f"{where}: expected a JSON object, got {type(value).__name__}")
    return value


def _ranges(features: object, where: str, low: str, high: str) -> SupportedRanges:
    if not isinstance(features, dict) or not all(isinstance(levels, dict) for levels in features.values()):
        raise FeatureError(f"{where}: expected features as an object of objects, got {features!r}")
    ranges = {name: (levels.get(low), levels.get(high)) for name, levels in features.items()}
    for name, levels in ranges.items():
        if not all(type(level) is int for level in levels):
            raise FeatureError(f"{where}: expected numbers {low} and {high} of {name!r}, got {features[name]!r}")
    check_ranges(ranges, KIP_584, where)
    return ranges
