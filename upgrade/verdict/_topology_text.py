"""Reads the text of Kafka's ``Topology#describe()``: does the topology have foreign-key joins, or repartitioned tables?

Kafka's suffixes identify both, whatever names the application gives: the subscriptions of a foreign-key join are in
a topic ``...-subscription-registration[-NUMBER]-topic``. The sink of a repartition topic comes after a filter of null
keys if a stream is repartitioned, and directly after the selecting node if a table is. A text that fits neither is
taken as a table, because this costs a bounce and not data.
"""

from __future__ import annotations

import re
from typing import Final

from upgrade.errors import UpgradeError, quote_input
from upgrade.verdict.conditions import TopologyFacts, TopologyFeature

_NODE: Final = re.compile(r"^\s*(Source|Processor|Sink): (\S+)")
_TOPIC_OF_SINK: Final = re.compile(r"^\s*Sink: \S+ \(topic: ([^)]*)\)")
_PREDECESSORS: Final = re.compile(r"^\s*<-- (.*)$")
_SUBSCRIPTIONS: Final = re.compile(r"subscription-registration(-\d+)?-topic$", re.IGNORECASE)
_REPARTITION: Final = "-repartition"
_NULL_KEY_FILTER: Final = re.compile(r"filter", re.IGNORECASE)


def facts_of_topology(text: str) -> TopologyFacts:
    """Return which features a topology has and which it lacks; none stays unknown.

    Raises:
        UpgradeError: The text is no topology.
    """
    lines = text.splitlines()
    if not any(map(_NODE.match, lines)):
        first = next((line for line in lines if line.strip()), "")
        raise UpgradeError(
            "expected the text of Topology#describe(), with lines such as 'Source: KSTREAM-SOURCE-0000000000 "
            f"(topics: [orders])'; got {quote_input(first.strip())}"
        )
    found = set()
    for topic, predecessors in _sinks(lines):
        if _SUBSCRIPTIONS.search(topic):
            found.add(TopologyFeature.FOREIGN_KEY_JOINS)
        if topic.endswith(_REPARTITION) and not all(map(_NULL_KEY_FILTER.search, predecessors)):
            found.add(TopologyFeature.REPARTITIONED_TABLES)
    return TopologyFacts(frozenset(TopologyFeature) - found, frozenset(found))


def _sinks(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Return the topic and the preceding nodes of each sink."""
    found: list[tuple[str, list[str]]] = []
    in_sink = False
    for line in lines:
        if _NODE.match(line):
            sink = _TOPIC_OF_SINK.match(line)
            in_sink = sink is not None
            if sink:
                found.append((sink[1].strip(), []))
        elif in_sink and (before := _PREDECESSORS.match(line)):
            found[-1][1].extend(each.strip() for each in before[1].split(","))
    return found
