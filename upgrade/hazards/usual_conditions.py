"""Conditions that several hazards share: stores, topics, guarantees, peers.

Names of nodes and topics are those of ``InternalStreamsBuilder``, ``KStreamImpl`` and ``KTableImpl``, with the suffixes
that they add to names of the application.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from streams_assignor.upgrade.config_types import EndPointFormat, parse_end_point
from streams_assignor.upgrade.errors import ConfigException
from streams_assignor.upgrade.hazards.conditions import (
    EVERYWHERE,
    MAIN_CONSUMER,
    PRODUCER,
    Ask,
    Condition,
    InGroup,
    InTopology,
    Nodes,
    Presumed,
    Sets,
    Uses,
)
from streams_assignor.upgrade.topology_description import DescribedNode
from streams_assignor.upgrade.verdict import TopologyFeature, features_of_nodes

_GENERATED: Final = re.compile(r"[A-Z][A-Z-]+-\d{10}")
_SUPPRESS: Final = re.compile(r"KTABLE-SUPPRESS-\d{10}")
_TABLE_SOURCE: Final = re.compile(r"KTABLE-SOURCE-\d{10}|.*-table-source")
_STREAM_JOIN: Final = re.compile(r"KSTREAM-WINDOWED-\d{10}|.*-(this|other)-windowed")
_OUTER_JOIN: Final = re.compile(r"KSTREAM-OUTER(THIS|OTHER)-\d{10}|.*-outer-(this|other)-join")
_REPARTITION: Final = "-repartition"


def setting(key: str, *values: str, prefixes: tuple[str, ...] = ("",)) -> Sets:
    """Return the condition that a key is set, or is set to one of some values."""
    return Sets(key, values, prefixes)


def number_setting(key: str, fits: Callable[[float], bool], what: str, prefixes: tuple[str, ...] = ("",)) -> Sets:
    """Return the condition that a number fits; what is no number does not."""

    def is_fit(value: str) -> bool:
        return re.fullmatch(r"[+-]?\d{1,20}", value) is not None and fits(int(value))

    return Sets(key, prefixes=prefixes, fits=is_fit, what=what)


def is_no_end_point_since(before: EndPointFormat, now: EndPointFormat) -> Callable[[str], bool]:
    """Return whether a value of ``application.server`` was accepted and is refused; what never ran is no change."""

    def is_refused(value: str) -> bool:
        return _accepts(before, value) and not _accepts(now, value)

    return is_refused


def may_use(fact: str, words: str, decided_by: str) -> Condition:
    """Return the condition that the code refers to something that does not decide alone."""
    return Uses(fact, words) & Ask(decided_by)


def _accepts(form: EndPointFormat, value: str) -> bool:
    try:
        parse_end_point(value, form)
    except ConfigException:
        return False
    return True


def _first(nodes: Iterator[str]) -> str:
    return next(nodes, "")


def _with_tasks(nodes: Nodes) -> Iterator[DescribedNode]:
    return (node for node in nodes if node.subtopology is not None)


def _source(nodes: Nodes) -> str:
    return _first(f"source {node.name}" for node in _with_tasks(nodes) if node.kind == "Source")


def _store(nodes: Nodes) -> str:
    return _first(f"store {store}" for node in _with_tasks(nodes) for store in node.stores)


def _repartition_topic(nodes: Nodes) -> str:
    topics = (topic for node in nodes if node.kind == "Sink" for topic in node.topics)
    return _first(f"topic {topic}" for topic in topics if topic.endswith(_REPARTITION))


def _pattern(nodes: Nodes) -> str:
    return _first(f"source {node.name} with a pattern of topics" for node in nodes if node.has_pattern)


def _several_inputs(nodes: Nodes) -> str:
    topics_by_subtopology: dict[int | None, list[str]] = {}
    for node in _with_tasks(nodes):
        if node.kind == "Source":
            topics_by_subtopology.setdefault(node.subtopology, []).extend(
                [*node.topics, *(["more"] if node.has_pattern else [])]
            )
    return _first(
        f"sub-topology {number} with {', '.join(topics[:2])}"
        for number, topics in topics_by_subtopology.items()
        if topics[1:]
    )


def _global_store(nodes: Nodes) -> str:
    return _first(f"global store {store}" for node in nodes if node.subtopology is None for store in node.stores)


def _named(pattern: re.Pattern[str], kind: str = "Processor") -> Callable[[Nodes], str]:
    """Return a search for nodes whose names Kafka gives, or ends."""

    def find(nodes: Nodes) -> str:
        return _first(node.name for node in _with_tasks(nodes) if node.kind == kind and pattern.fullmatch(node.name))

    return find


def _suppressing(nodes: Nodes) -> str | None:
    """Return the node of ``suppress``; None if a node with a name of the application may be one."""
    name = _named(_SUPPRESS)(nodes)
    hidden = any(node.stores and not _GENERATED.fullmatch(node.name) for node in nodes if node.kind == "Processor")
    return name or (None if hidden else "")


def _sink_with(feature: TopologyFeature) -> Callable[[Nodes], str]:
    """Return a search for a sink that shows a feature alone."""

    def find(nodes: Nodes) -> str:
        sinks = (node for node in nodes if node.kind == "Sink" and feature in features_of_nodes((node,)).present)
        return _first(f"{feature.words}: sink {sink.name}" for sink in sinks)

    return find


def _feature(feature: TopologyFeature) -> Callable[[Nodes], str]:
    def find(nodes: Nodes) -> str:
        return feature.words if feature in features_of_nodes(nodes).present else ""

    return find


def _is_positive(value: float) -> bool:
    return value > 0


def _is_zero(value: float) -> bool:
    return value == 0


def _names_optimizations(value: str) -> bool:
    return value not in {"none", ""}


def _is_tls(value: str) -> bool:
    return value.upper() in {"SSL", "SASL_SSL"}


def _is_sasl(value: str) -> bool:
    return value.upper().startswith("SASL")


def _is_streams(value: str) -> bool:
    return value.lower() == "streams"


def _is_in_memory(value: str) -> bool:
    return "in_memory" in value.lower() or "InMemory" in value


_GUARANTEE: Final = "processing.guarantee"
EXACTLY_ONCE: Final = setting(_GUARANTEE, "exactly_once", "exactly_once_beta", "exactly_once_v2")
EXACTLY_ONCE_V2: Final = setting(_GUARANTEE, "exactly_once_beta", "exactly_once_v2")
OPTIMIZED: Final = Sets("topology.optimization", fits=_names_optimizations, what="to other than none")
BUILT_WITH_PROPERTIES: Final = Uses("build-with-properties", "StreamsBuilder#build(Properties)")
CACHE_IS_OFF: Final = number_setting("statestore.cache.max.bytes", _is_zero, "to 0") | number_setting(
    "cache.max.bytes.buffering", _is_zero, "to 0"
)
STANDBYS: Final = InGroup("standbys", lambda group: group.has_standbys).or_else(
    number_setting("num.standby.replicas", _is_positive, "above 0")
)
_IN_GROUP: Final = InGroup("static members", lambda group: group.has_static_members)
SOURCE_TOPICS_MISSING: Final = InGroup("source topics that do not exist", lambda group: group.lacks_topics).or_else(
    Ask("whether each source topic exists before members start")
)
NAMED_MEMBERS: Final = setting("group.instance.id", prefixes=MAIN_CONSUMER)
STATIC_MEMBERS: Final = _IN_GROUP.or_else(NAMED_MEMBERS)
STATIC_AFTERWARDS: Final = (_IN_GROUP | NAMED_MEMBERS).or_else(STATIC_MEMBERS)
"""The same of members that all start again: what the settings say counts, whatever the group has now."""
SEVERAL_THREADS: Final = number_setting("num.stream.threads", lambda value: value > 1, "above 1") | Uses(
    "threads-changed", "KafkaStreams#addStreamThread"
)
SCALA: Final = Uses("scala", "kafka-streams-scala")
STREAMS_PROTOCOL: Final = InGroup("streams protocol", lambda group: group.is_streams_group).or_else(
    Sets("group.protocol", fits=_is_streams, what="to streams")
)
TLS: Final = Sets("security.protocol", prefixes=EVERYWHERE, fits=_is_tls, what="to TLS")
SASL: Final = Sets("security.protocol", prefixes=EVERYWHERE, fits=_is_sasl, what="to SASL")
IDEMPOTENCE_IS_OFF: Final = setting("enable.idempotence", "false", prefixes=PRODUCER)

_STORES_OF_CODE: Final = (
    Uses("aggregations", "aggregations")
    | Uses("stream-joins", "joins of streams")
    | may_use("stores", "stores", "--topology (stores)")
)
STORES: Final = InTopology("stores", _store).or_else(_STORES_OF_CODE)
_IN_MEMORY: Final = (
    (
        Sets("default.dsl.store", fits=_is_in_memory, what="to stores in memory")
        & Uses("topology-config", "StreamsBuilder(TopologyConfig), which reads it")
    )
    | Sets("dsl.store.suppliers.class", fits=_is_in_memory, what="to stores in memory")
    | Uses("in-memory-stores", "Stores#inMemory...")
)
REPARTITION_TOPICS: Final = InTopology("repartition topics", _repartition_topic).or_else(
    may_use("repartition-topics", "operators that repartition", "--topology (repartition topics)")
)
SEVERAL_INPUTS: Final = InTopology("sub-topologies with several topics", _several_inputs)
PATTERN_SOURCES: Final = InTopology("pattern of source topics", _pattern).or_else(
    Uses("pattern-sources", "sources with a pattern of topics")
)
NAMED_TOPOLOGIES: Final = Uses("named-topologies", "named topologies")
CLIENT_SUPPLIER: Final = Uses("client-supplier", "KafkaClientSupplier")
_GLOBAL_STORES: Final = InTopology("global tables", _global_store)
GLOBAL_TABLES: Final = _GLOBAL_STORES.or_else(Uses("global-tables", "global tables"))
SOURCES: Final = InTopology("source topics", _source)
HAS_NO_INPUT: Final = ~(SOURCES | _GLOBAL_STORES)
ON_DISK: Final = (STORES | GLOBAL_TABLES) & (
    Presumed(~_IN_MEMORY, "no file says that stores are in memory") | Ask("whether all of your stores are in memory")
)
"""Stores are in RocksDB unless the files say otherwise."""
TABLES: Final = InTopology("tables that are read from topics", _named(_TABLE_SOURCE)).or_else(
    Uses("tables", "StreamsBuilder#table")
)
SUPPRESS: Final = InTopology("suppress()", _suppressing).or_else(Uses("suppress", "KTable#suppress"))
STREAM_JOINS: Final = InTopology("joins of streams", _named(_STREAM_JOIN)).or_else(
    Uses("stream-joins", "joins of streams")
)
OUTER_JOINS: Final = InTopology("left or outer joins of streams", _named(_OUTER_JOIN)).or_else(
    Uses("stream-outer-joins", "left or outer joins of streams")
)
FOREIGN_KEY_JOINS: Final = InTopology("foreign-key joins", _sink_with(TopologyFeature.FOREIGN_KEY_JOINS)).or_else(
    Uses("foreign-key-joins", "foreign-key joins")
)
REPARTITIONED_TABLES: Final = InTopology(
    "repartitioned tables", _sink_with(TopologyFeature.REPARTITIONED_TABLES)
).or_else(Uses("repartitioned-tables", "KTable#groupBy"))
STATELESS_SUBTOPOLOGIES: Final = InTopology(
    "stateless subtopologies beside stateful ones", _feature(TopologyFeature.STATELESS_SUBTOPOLOGIES)
)
SECOND_SOURCE_TOPIC: Final = InTopology("second source topic", _feature(TopologyFeature.SECOND_SOURCE_TOPIC))
WINDOWED_STORES: Final = Uses("windows", "windows") | STREAM_JOINS
PUNCTUATORS: Final = Uses("punctuators", "ProcessorContext#schedule")
JOINS: Final = STREAM_JOINS | Uses("table-joins", "joins of tables") | Uses("stream-table-joins", "joins with tables")
