"""The two ZooKeeper nodes of KIP-584: what is finalised (``/features``) and what a broker supports (its own node).

``/features`` also says whether the feature system is switched on. The controller sees to that when it starts, and is
the only one that writes the node; ``ON_START`` is the whole rule.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from attrs import evolve, field, frozen

from upgrade.errors import FeatureError
from upgrade.features.cluster import Cluster, Ranges, check_ranges
from upgrade.features.dialects import KIP_584, Dialect, Minimum

SCHEMA_VERSION: Final = 0
BROKER_VERSION: Final = 5
"""The version of a broker's node that has features: one more than before."""


class Status(enum.IntEnum):
    """Whether the feature system is on."""

    DISABLED = 0
    ENABLED = 1


class Contents(enum.Enum):
    """What a starting controller leaves in the node."""

    ALL = "every feature that it supports, at the highest level"
    NONE = "no feature"
    KEPT = "what is there"


ON_START: Final[Mapping[tuple[Status | None, bool], tuple[Status, Contents]]] = MappingProxyType(
    {
        # the node is     IBP >= migration   becomes          with
        (None, True): (Status.ENABLED, Contents.ALL),  # a new cluster
        (None, False): (Status.DISABLED, Contents.NONE),  # new binaries on an older cluster
        (Status.DISABLED, True): (Status.ENABLED, Contents.KEPT),  # and then its second roll: the user finalises later
        (Status.ENABLED, False): (Status.DISABLED, Contents.NONE),  # the cluster goes back
        (Status.ENABLED, True): (Status.ENABLED, Contents.KEPT),
        (Status.DISABLED, False): (Status.DISABLED, Contents.KEPT),
    }
)
"""KIP-584, Feature ZK node status, by the node (none: absent) and whether the controller's IBP is new enough."""


@frozen
class FeaturesNode:
    """``/features``: its status, minimum and maximum level by feature, and ZooKeeper's version of it: the epoch."""

    status: Status
    features: Ranges = field(factory=dict, hash=False)
    version: int = 0

    def as_json(self, dialect: Dialect = KIP_584) -> str:
        """Write the contents. KIP-778 leaves the minimum out."""
        keys = ("min_version_level", "max_version_level")[0 if dialect.minimum is Minimum.KEPT else 1 :]
        features = {name: dict(zip(keys, levels[-len(keys) :], strict=True)) for name, levels in self.features.items()}
        return json.dumps({"version": SCHEMA_VERSION, "status": int(self.status), "features": features})

    @classmethod
    def read(cls, text: str, version: int = 0) -> FeaturesNode:
        """Read the contents; a minimum that is not there is the level itself. ``FeatureError`` for what cannot be."""
        found = _object(text, "/features")
        if found.get("version") != SCHEMA_VERSION:
            raise FeatureError(f"/features: expected version {SCHEMA_VERSION}, got {found.get('version')!r}")
        if found.get("status") not in tuple(Status):
            raise FeatureError(f"/features: expected status 0 (disabled) or 1 (enabled), got {found.get('status')!r}")
        features = _ranges(found.get("features"), "/features", "min_version_level", "max_version_level")
        return cls(Status(found["status"]), features, version)

    def in_force(self, cluster: Cluster) -> Cluster:
        """Return the cluster as this node says it is, as after a restart; switched off, nothing is finalised."""
        on = self.status is Status.ENABLED
        features = self.features if on else {}
        return evolve(
            cluster,
            finalized={name: high for name, (_, high) in features.items()},
            minimum={name: low for name, (low, _) in features.items()},
            epoch=self.version,
            enabled=on,
        )

    @classmethod
    def of(cls, cluster: Cluster) -> FeaturesNode:
        """Return the node that a cluster's controller has written."""
        features = {name: (cluster.minimum.get(name, level), level) for name, level in cluster.finalized.items()}
        return cls(Status(cluster.enabled), features, cluster.epoch)


def controller_starts(node: FeaturesNode | None, *, new_enough: bool, supports: Ranges) -> FeaturesNode:
    """Return the node as a starting controller leaves it; written, and so one version on, only if something changes.

    ``new_enough`` is whether its inter.broker.protocol.version is at least the migration version.
    """
    status, contents = ON_START[node.status if node else None, new_enough]
    kept = node.features if node else {}
    features = {Contents.ALL: supports, Contents.NONE: {}, Contents.KEPT: kept}[contents]
    if node is None:
        return FeaturesNode(status, features)
    if (status, features) == (node.status, node.features):
        return node
    return FeaturesNode(status, features, node.version + 1)


def advertise(broker: Mapping[str, Any], supports: Ranges) -> str:
    """Write a broker's node: the keys that it has anyway, the bumped version, and its features."""
    check_ranges(supports, KIP_584, "broker node")
    features = {name: {"min_version": low, "max_version": high} for name, (low, high) in supports.items()}
    return json.dumps({**broker, "version": BROKER_VERSION, "features": features})


def advertised(text: str) -> Ranges:
    """Read what a broker's node says it supports; nothing if it is of an older version."""
    found = _object(text, "broker node")
    return _ranges(found.get("features", {}), "broker node", "min_version", "max_version")


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FeatureError(f"{where}: expected JSON, got something else ({error})") from None
    if not isinstance(found, dict):
        raise FeatureError(f"{where}: expected a JSON object, got {type(found).__name__}")
    return found


def _ranges(found: object, where: str, low: str, high: str) -> Ranges:
    if not isinstance(found, dict) or not all(isinstance(levels, dict) for levels in found.values()):
        raise FeatureError(f"{where}: expected features as an object of objects, got {found!r}")
    ranges = {name: (levels.get(low, levels.get(high)), levels.get(high)) for name, levels in found.items()}
    for name, levels in ranges.items():
        if not all(type(level) is int for level in levels):
            raise FeatureError(f"{where}: expected numbers {low} and {high} of {name!r}, got {found[name]!r}")
    check_ranges(ranges, KIP_584, where)
    return ranges
