"""The verdict of a plan: one rule for plans, the guide and the matrix of a sweep."""

# mypy: implicit-reexport
from streams_assignor.upgrade.verdict._topology_features import facts_of_topology, features_of_nodes
from streams_assignor.upgrade.verdict.conditions import (
    UNKNOWN_TOPOLOGY,
    TopologyFacts,
    TopologyFeature,
    Verdict,
    features_named,
    topology_conditions,
)
from streams_assignor.upgrade.verdict.guidance import NO_GUIDANCE, Guidance, advised_hop, guidance
