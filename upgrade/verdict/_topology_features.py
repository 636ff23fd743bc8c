"""The features on which a verdict depends, found in the text of Kafka's ``Topology#describe()``.

Kafka's suffixes identify both, whatever names the application gives: the subscriptions of a foreign-key join are in
a topic ``...-subscription-registration[-NUMBER]-topic``. The sink of a repartition topic comes after a filter of null
keys if a stream is repartitioned, and directly after the selecting node if a table is. A text that fits neither is
taken as a table, because this costs a bounce and not data. A subtopology with a store counts as stateful, because the
text does not show whether the store has a changelog. A pattern of topics counts as several.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from streams_assignor.upgrade.topology_description import DescribedNode, parse_topology_description
from streams_assignor.upgrade.verdict.conditions import TopologyFacts, TopologyFeature

_SUBSCRIPTIONS: Final = re.compile(r"subscription-registration(-\d+)?-topic$", re.IGNORECASE)
_REPARTITION: Final = "-repartition"
_NULL_KEY_FILTER: Final = re.compile(r"KSTREAM-FILTER-[0-9]{10}")
_NULL_KEY_FILTER_SUFFIX: Final = "-filter"
_TOPIC: Final = re.compile(r"[\w.-]+", re.ASCII)


def facts_of_topology(text: str, name: str = "the text") -> TopologyFacts:
    """Return which features a topology has and which it lacks; only the threads of a process stay unknown.

    Raises:
        UpgradeError: The text is no topology.
    """
    return features_of_nodes(parse_topology_description(text, name))


def features_of_nodes(nodes: Sequence[DescribedNode]) -> TopologyFacts:
    """Return which features a topology has and which it lacks."""
    sinks = [node for node in nodes if node.kind == "Sink"]
    has = {
        TopologyFeature.FOREIGN_KEY_JOINS: any(map(_writes_subscriptions, sinks)),
        TopologyFeature.REPARTITIONED_TABLES: any(map(_repartitions_a_table, sinks)),
        TopologyFeature.STATELESS_SUBTOPOLOGIES: _mixes_stateless_and_stateful(nodes),
        TopologyFeature.SECOND_SOURCE_TOPIC: _reads_several_topics(nodes),
    }
    return TopologyFacts(
        frozenset(feature for feature, is_present in has.items() if not is_present),
        frozenset(feature for feature, is_present in has.items() if is_present),
    )


def _mixes_stateless_and_stateful(nodes: Iterable[DescribedNode]) -> bool:
    """Whether some subtopologies have stores and others have none."""
    with_tasks = [node for node in nodes if node.subtopology is not None]
    stateful = {node.subtopology for node in with_tasks if node.stores}
    return bool(stateful) and stateful != {node.subtopology for node in with_tasks}


def _reads_several_topics(nodes: Iterable[DescribedNode]) -> bool:
    """Whether the tasks read several topics, repartition topics included."""
    sources = [node for node in nodes if node.kind == "Source" and node.subtopology is not None]
    topics = {topic for node in sources for topic in node.topics}
    return len(topics) > 1 or not all(map(_TOPIC.fullmatch, topics))


def _writes_subscriptions(sink: DescribedNode) -> bool:
    return any(map(_SUBSCRIPTIONS.search, sink.topics))


def _repartitions_a_table(sink: DescribedNode) -> bool:
    """Whether a sink writes to a repartition topic without Kafka's filter of null keys before it.

    Kafka names the filter by a number, or after the topic. Other names that have the word are the user's.
    """
    topics = [topic for topic in sink.topics if topic.endswith(_REPARTITION)]
    named = {topic + _NULL_KEY_FILTER_SUFFIX for topic in topics}
    return bool(topics) and not all(
        predecessor in named or _NULL_KEY_FILTER.fullmatch(predecessor) for predecessor in sink.predecessors or ("",)
    )
