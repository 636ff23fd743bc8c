"""The words with which tables write conditions; ``usual_conditions`` has the conditions that need a search."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final

from streams_assignor.upgrade.config_types import EndPointFormat
from streams_assignor.upgrade.hazards._application import BORROWED_LIBRARY, MISSING_LIBRARY, version_number
from streams_assignor.upgrade.hazards.conditions import (
    EVERYWHERE,
    MAIN_CONSUMER,
    PRODUCER,
    STREAMS,
    Always,
    AnyOf,
    Ask,
    Brokers,
    Condition,
    HasLibrary,
    Lacks,
    Observes,
    RunsOnJavaBefore,
    Sets,
    Uses,
)
from streams_assignor.upgrade.hazards.usual_conditions import (
    BUILT_WITH_PROPERTIES,
    CACHE_IS_OFF,
    EXACTLY_ONCE,
    EXACTLY_ONCE_V2,
    FOREIGN_KEY_JOINS,
    GLOBAL_TABLES,
    HAS_NO_INPUT,
    IDEMPOTENCE_IS_OFF,
    JOINS,
    ON_DISK,
    OPTIMIZED,
    OUTER_JOINS,
    PATTERN_SOURCES,
    PUNCTUATORS,
    REPARTITION_TOPICS,
    SASL,
    SCALA,
    SEVERAL_INPUTS,
    SEVERAL_THREADS,
    SOURCE_TOPICS_MISSING,
    SOURCES,
    STANDBYS,
    STATIC_MEMBERS,
    STORES,
    STREAM_JOINS,
    STREAMS_PROTOCOL,
    SUPPRESS,
    TABLES,
    TLS,
    WINDOWED_STORES,
    is_no_end_point_since,
    number_setting,
    setting,
)

_ONE_MIB: Final = 1 << 20


def _is_of_windows(value: str) -> bool:
    return re.match(r"[A-Za-z]:", value) is not None


def _has_blanks(value: str) -> bool:
    return re.search(r"[^,\s]\s+[^,\s]", value) is not None


def _lacks_an_element(value: str) -> bool:
    return "," in value and not all(part.strip() for part in value.split(","))


def _lacks_jmx(value: str) -> bool:
    return bool(value) and "JmxReporter" not in value


def _login_module(name: str) -> Condition:
    return Sets("sasl.jaas.config", prefixes=EVERYWHERE, fits=lambda value: name in value, what=f"with {name}")


_LISTS: Final = AnyOf(
    (
        Sets("bootstrap.servers", prefixes=EVERYWHERE, fits=lambda value: not value, what="to nothing"),
        *(
            Sets(key, prefixes=EVERYWHERE, fits=_lacks_an_element, what="with an empty element")
            for key in (
                *("bootstrap.servers", "interceptor.classes", "metric.reporters", "rack.aware.assignment.tags"),
                *("sasl.oauthbearer.expected.audience", "ssl.cipher.suites", "ssl.enabled.protocols"),
            )
        ),
    )
)

_BYTE_BUFFER_SERDE: Final = "org.apache.kafka.common.serialization.Serdes$ByteBufferSerde"
_EXTRACTOR: Final = Uses("timestamp-extractor", "TimestampExtractor") | setting("default.timestamp.extractor")
_DESERIALIZATION: Final = (
    setting("default.deserialization.exception.handler")
    | setting("deserialization.exception.handler")
    | Uses("deserialization-exception-handler", "DeserializationExceptionHandler")
)

_CONDITIONS: Final[Mapping[str, Condition]] = {
    "brokers of 3.0 to 3.3.1": Brokers((3, 0), (3, 3, 2)),
    "brokers in tests": Observes(
        r"spring-kafka-test|(?:scalatest-)?embedded-kafka.*|kafka-junit.*|kafka-test-common.*|mockedstreams_.*",
        "whether tests start a broker",
        with_agents=False,
    )
    | Uses("kafka-tests", "classes of Kafka's own tests"),
    "built with properties": BUILT_WITH_PROPERTIES,
    "cache is off": CACHE_IS_OFF,
    "every member": Always("every member"),
    "commit interval above 10 s": number_setting("commit.interval.ms", lambda value: value > 10_000, "above 10 s"),
    "exactly once": EXACTLY_ONCE,
    "exactly once v2": EXACTLY_ONCE_V2,
    "foreign key joins": FOREIGN_KEY_JOINS,
    "frameworks": Observes(
        "spring-cloud-stream-binder-kafka-streams|micronaut-kafka-streams",
        "which framework starts Kafka Streams",
        with_agents=False,
    ),
    "global tables": GLOBAL_TABLES,
    "handler of uncaught exceptions": Uses("new-uncaught-exception-handler", "StreamsUncaughtExceptionHandler"),
    "handlers of exceptions": _DESERIALIZATION
    | setting("processing.exception.handler")
    | Uses("processing-exception-handler", "ProcessingExceptionHandler"),
    "idempotent producers": EXACTLY_ONCE | ~IDEMPOTENCE_IS_OFF,
    "Java before 17": RunsOnJavaBefore(17),
    "Kerberos": SASL
    & (setting("sasl.mechanism", "GSSAPI", prefixes=EVERYWHERE) | ~setting("sasl.mechanism", prefixes=EVERYWHERE)),
    "metadata of tasks": Observes(
        "micronaut-kafka-streams",
        "whether anything writes KafkaStreams#metadataForLocalThreads as JSON",
        with_agents=False,
    ),
    "metrics libraries": Observes(
        r"micrometer-(?:core|registry-.*)", "which metrics your dashboards and alerts have, and what takes them"
    ),
    "no permissions": Sets("state.dir", fits=_is_of_windows, what="to a path of Windows")
    | Ask("which file system has your state.dir"),
    "on disk": ON_DISK,
    "optimized": OPTIMIZED,
    "outer joins": OUTER_JOINS,
    "pattern sources": PATTERN_SOURCES,
    "processors": Uses("processors", "processors and transformers"),
    "punctuators": PUNCTUATORS,
    "repartition topics": REPARTITION_TOPICS,
    "replaced threads": Uses("threads-changed", "KafkaStreams#addStreamThread")
    | (Uses("new-uncaught-exception-handler", "StreamsUncaughtExceptionHandler") & Ask("whether it replaces threads")),
    "scala": SCALA,
    "schema registry": Observes(
        r"kafka-streams-(?:avro|protobuf|json-schema)-serde|kafka-(?:avro|protobuf|json-schema)-serializer|"
        r"apicurio-registry-.*serdes?.*|.*avro4k.*serializer.*",
        "whether serdes use a schema registry",
        with_agents=False,
    )
    | setting("schema.registry.url", prefixes=EVERYWHERE),
    "security.protocol in small letters": Sets(
        "security.protocol", prefixes=EVERYWHERE, fits=lambda value: value != value.upper(), what="in small letters"
    ),
    "several inputs": SEVERAL_INPUTS,
    "several threads": SEVERAL_THREADS,
    "skipped records": _DESERIALIZATION | _EXTRACTOR,
    "source topics are missing": SOURCE_TOPICS_MISSING,
    "sources": SOURCES,
    "standbys": STANDBYS,
    "static members": STATIC_MEMBERS,
    "stores": STORES,
    "stores or global tables": STORES | GLOBAL_TABLES,
    "streams protocol": STREAMS_PROTOCOL,
    "suppress": SUPPRESS,
    "tables": TABLES,
    "timestamp extractor": _EXTRACTOR,
    "tracing": Observes(
        "(?:brave|opentelemetry|opentracing|spring-cloud-sleuth|dd-trace|elastic-apm|newrelic|pinpoint)-.*",
        "whether an agent or a library traces members",
    ),
    "windowed stores": WINDOWED_STORES,
    "ByteBufferSerializer": Uses("byte-buffer-serializer", "ByteBufferSerializer")
    | setting("default.key.serde", _BYTE_BUFFER_SERDE)
    | setting("default.value.serde", _BYTE_BUFFER_SERDE),
    "EmitStrategy#onWindowClose": Uses("emit-on-window-close", "EmitStrategy#onWindowClose"),
    "KTable#filter": Uses("table-filters", "KTable#filter"),
    "KafkaProducer": Uses("producer", "KafkaProducer"),
    "KafkaStreams#store": Uses("queries", "KafkaStreams#store"),
    "KStream#processValues": Uses("process-values", "KStream#processValues"),
    "SessionWindows": Uses("session-windows", "SessionWindows"),
    "Stores#inMemory...": Uses("in-memory-stores", "Stores#inMemory..."),
    "joins of streams": Uses("stream-joins", "joins of streams"),
    "joins with tables": Uses("stream-table-joins", "joins with tables"),
    "range scans of stores": Uses("range-scans", "range scans of stores"),
    "windows": Uses("windows", "windows"),
    "CloseOptions": Uses("leave-on-close", "CloseOptions"),
    "JndiLoginModule": _login_module("JndiLoginModule"),
    "KStream#transformValues": Uses("transform-values", "KStream#transformValues"),
    "LdapLoginModule": _login_module("LdapLoginModule"),
    "ProductionExceptionHandler": Uses("production-exception-handler", "ProductionExceptionHandler"),
    "SASL": SASL,
    "StreamsBuilder#build()": Uses("build-without-properties", "StreamsBuilder#build()"),
    "TLS": TLS,
    "TopologyTestDriver": Uses("topology-test-driver", "TopologyTestDriver"),
    "application.server without host": Sets(
        "application.server",
        fits=is_no_end_point_since(EndPointFormat.ANY_PREFIX, EndPointFormat.SCHEME),
        what="to what is not host:port",
    ),
    "bootstrap.servers with blanks": Sets(
        "bootstrap.servers", prefixes=EVERYWHERE, fits=_has_blanks, what="with blanks instead of commas"
    ),
    "borrowed library": Uses(BORROWED_LIBRARY, "a library that the new release does not bring", own_only=True),
    "joins": JOINS,
    "lists with empty elements": _LISTS,
    "metric.reporters without JmxReporter": Sets(
        "metric.reporters", prefixes=EVERYWHERE, fits=_lacks_jmx, what="without JmxReporter"
    ),
    "missing library": Uses(MISSING_LIBRARY, "a library that the new release does not bring", own_only=True),
    "more than 5 requests in flight": number_setting(
        "max.in.flight.requests.per.connection", lambda value: value > 5, "above 5", PRODUCER
    ),
    "no input": HAS_NO_INPUT,
    "state listener": Uses("state-listener", "KafkaStreams#setStateListener"),
    "stream joins": STREAM_JOINS,
    "topic.segment.bytes below 1 MiB": number_setting(
        "topic.segment.bytes", lambda value: value < _ONE_MIB, "below 1 MiB"
    ),
    "types of stores": Uses("store-types", "types of stores"),
    "windows with or without grace": Uses("windows-with-grace", "windows with or without grace"),
    "withLoggingEnabled": Uses("logged-stores", "withLoggingEnabled"),
}
"""Whole conditions by their words."""
_CLIENTS: Final = {"": STREAMS, "producer": PRODUCER, "consumer": MAIN_CONSUMER, "*": EVERYWHERE}


def _sets(client: str | None, every: str | None, key: str, value: str | None) -> Condition:
    return setting(key, *([value] if value else []), prefixes=_CLIENTS[client or every or ""])


def _lacks(what: str | None, since: str, before: str) -> Condition:
    of = {"rocksdb": what == "rocksdb", "unimplemented": what == "methods"}
    return Lacks(version_number(since), version_number(before), **of)


_FORMS: Final[Mapping[str, Callable[..., Condition]]] = {
    r"sets (?:(producer|consumer)\.|(?:(\*) ))?([^=]+)(?:=(.+))?": _sets,
    r"lacks (?:(rocksdb|methods) )?([\d.]+) to ([\d.]+)": _lacks,
    r"brokers before ([\d.]+)": lambda before: Brokers(before=version_number(before)),
    r"brokers since ([\d.]+)": lambda since: Brokers(since=version_number(since)),
    r"library (\S+) before ([\d.]+)": lambda name, before: HasLibrary((name,), before=version_number(before)),
}
"""Conditions of keys with the client that reads them (``*``: any), of releases and of libraries."""
_QUESTIONS: Final = ("whether", "which", "what", "how", "to how many", "on which", "the login modules", "--topologies")


def condition_of(text: str) -> Condition:
    """Return the condition of a text of the tables: ``|`` binds less than ``&``, and brackets are around a whole part.

    Questions begin as questions do.

    >>> str(condition_of("~whether it rains"))
    "NotThat(part=Ask(what='whether it rains'))"
    >>> print(condition_of("~(sets a=b | sets * c)").part.parts[0])
    Sets(key='a', values=('b',), prefixes=('',), fits=None, what='')
    """
    for separator, combine in ((" | ", operator.or_), (" & ", operator.and_)):
        if (parts := _split(text, separator))[1:]:
            return reduce(combine, map(condition_of, parts))
    if text.startswith("~"):
        return ~condition_of(text[1:])
    if text.startswith("("):
        return condition_of(text[1:-1])
    return Ask(text) if text.startswith(_QUESTIONS) else _of_words(text)


def _split(text: str, separator: str) -> list[str]:
    """Split a text where no bracket is open."""
    parts = [""]
    for part in text.split(separator):
        is_open = parts[-1].count("(") > parts[-1].count(")")
        parts = [*parts[:-1], f"{parts[-1]}{separator}{part}"] if is_open else [*parts, part]
    return parts[1:]


def _of_words(words: str) -> Condition:
    matches = ((re.fullmatch(form, words), of) for form, of in _FORMS.items())
    return next((of(*match.groups()) for match, of in matches if match), None) or _CONDITIONS[words]
