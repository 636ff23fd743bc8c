"""Deprecation, as KIP-584 has it: a release that drops a level raises the finalised minimum level. KIP-778 ended it.

"Using these contents, the controller should be able to track the highest supported feature minimum version exported by
any broker in the cluster." Whether clients still use what goes is for the operator to find out first.
"""

from __future__ import annotations

from attrs import evolve

from upgrade.features.cluster import Cluster
from upgrade.features.dialects import Minimum


def deprecated(cluster: Cluster, feature: str) -> range:
    """Return the levels of a finalised feature that may no longer be used: up to one below its minimum."""
    return range(1, cluster.minimum.get(feature, 1))


def deprecate(cluster: Cluster) -> Cluster:
    """Raise the minimum levels to what the brokers still support; unchanged, with its epoch, if nothing rises."""
    if cluster.dialect.minimum is not Minimum.KEPT:
        return cluster
    raised = {
        feature: max(minimum, min(cluster.highest_minimum(feature), cluster.level_of(feature)))
        for feature, minimum in cluster.minimum.items()
    }
    return cluster if raised == cluster.minimum else evolve(cluster, minimum=raised, epoch=cluster.epoch + 1)
