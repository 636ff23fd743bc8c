"""Foreign-key joins and repartitioned tables, found in the text of Kafka's ``Topology#describe()``.

Kafka's suffixes identify both, whatever names the application gives: the subscriptions of a foreign-key join are in
a topic ``...-subscription-registration[-NUMBER]-topic``. The sink of a repartition topic comes after a filter of null
keys if a stream is repartitioned, and directly after the selecting node if a table is. A text that fits neither is
taken as a table, because this costs a bounce and not data.
"""

from __future__ import annotations

import re
from typing import Final

from upgrade.topology_description import DescribedNode, parse_topology_description
from upgrade.verdict.conditions import TopologyFacts, TopologyFeature

_SUBSCRIPTIONS: Final = re.compile(r"subscription-registration(-\d+)?-topic$", re.IGNORECASE)
_REPARTITION: Final = "-repartition"
_NULL_KEY_FILTER: Final = re.compile(r"filter", re.IGNORECASE)


def facts_of_topology(text: str, name: str = "the text") -> TopologyFacts:
    """Return which features a topology has and which it lacks; none stays unknown.

    Raises:
        UpgradeError: The text is no topology.
    """
    sinks = [node for node in parse_topology_description(text, name) if node.kind == "Sink"]
    tests = {
        TopologyFeature.FOREIGN_KEY_JOINS: _writes_subscriptions,
        TopologyFeature.REPARTITIONED_TABLES: _repartitions_a_table,
    }
    found = frozenset(feature for feature, test in tests.items() if any(map(test, sinks)))
    return TopologyFacts(frozenset(TopologyFeature) - found, found)


def _writes_subscriptions(sink: DescribedNode) -> bool:
    return any(map(_SUBSCRIPTIONS.search, sink.topics))


def _repartitions_a_table(sink: DescribedNode) -> bool:
    is_repartition = any(topic.endswith(_REPARTITION) for topic in sink.topics)
    return is_repartition and not all(map(_NULL_KEY_FILTER.search, sink.predecessors))
