"""The use of Kafka by the code of an application, as far as a condition of a hazard depends on it.

The references of its class files decide: a call of ``KTable#suppress``, a class that implements
``RocksDBConfigSetter``. Whether a line ever runs is not known, and neither is a class that only a configuration names.
"""

from __future__ import annotations

import enum
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import field, frozen

from streams_assignor.upgrade.application.api_diff import full_text, java_name
from streams_assignor.upgrade.application.archive import ApplicationClass
from streams_assignor.upgrade.application.class_file import ABSTRACT, INTERFACE, ClassFile, Reference, ReferenceKind
from streams_assignor.upgrade.application.code import Code
from streams_assignor.upgrade.application.linkage import Find, Referrer


class CodeFact(enum.Enum):
    """Something that an application uses of Kafka. The values are for machines."""

    STREAMS_DSL = "streams-dsl"
    """``StreamsBuilder``, or ``KStreamBuilder`` before 1.0."""
    FOREIGN_KEY_JOINS = "foreign-key-joins"
    REPARTITIONED_TABLES = "repartitioned-tables"
    """``KTable#groupBy``: its repartition topic has old and new values (KIP-904)."""
    SUPPRESS = "suppress"
    TABLE_FILTERS = "table-filters"
    STREAM_JOINS = "stream-joins"
    """Of two streams."""
    STREAM_OUTER_JOINS = "stream-outer-joins"
    """Left and outer joins of two streams."""
    TABLE_JOINS = "table-joins"
    """Of two tables, with their own keys."""
    STREAM_TABLE_JOINS = "stream-table-joins"
    AGGREGATIONS = "aggregations"
    WINDOWS = "windows"
    SLIDING_WINDOWS = "sliding-windows"
    SESSION_WINDOWS = "session-windows"
    EMIT_ON_WINDOW_CLOSE = "emit-on-window-close"
    WINDOWS_WITH_GRACE = "windows-with-grace"
    """Windows made by methods that name a grace period, or none (KIP-633)."""
    TABLES = "tables"
    """``StreamsBuilder#table``."""
    GLOBAL_TABLES = "global-tables"
    """Global tables and global stores."""
    REPARTITION_TOPICS = "repartition-topics"
    """Operators that make one, or may: ``repartition``, ``groupBy``, and a changed key before a join or a grouping."""
    PATTERN_SOURCES = "pattern-sources"
    """Sources whose topics a pattern names."""
    NAMED_TOPOLOGIES = "named-topologies"
    """Classes of Kafka's that no documentation names."""
    THROUGH = "through"
    TOPOLOGY_CONFIG = "topology-config"
    """A ``StreamsBuilder`` with a ``TopologyConfig``: it reads default.dsl.store (KIP-591)."""
    STORES = "stores"
    """Operators with a store, or stores of the Processor API."""
    IN_MEMORY_STORES = "in-memory-stores"
    LOGGED_STORES = "logged-stores"
    """Stores with a configuration of their changelog."""
    STORE_TYPES = "store-types"
    """The types of stores, for queries and processors."""
    RANGE_SCANS = "range-scans"
    """Iterators of stores."""
    OLD_PROCESSORS = "old-processors"
    """The Processor API before KIP-478."""
    PROCESSORS = "processors"
    TRANSFORM_VALUES = "transform-values"
    PROCESS_VALUES = "process-values"
    """``KStream#processValues`` (KIP-820)."""
    PUNCTUATORS = "punctuators"
    CONNECTED_STORES = "connected-stores"
    """``ConnectedStoreProvider#stores``: the application gives its processors store builders (KIP-401)."""
    QUERIES = "queries"
    THREADS_CHANGED = "threads-changed"
    CLEAN_UP = "clean-up"
    LEAVE_ON_CLOSE = "leave-on-close"
    """``CloseOptions``, of ``KafkaStreams`` (KIP-812) or a class of its own (KIP-1153): whether a member leaves."""
    BUILD_WITH_PROPERTIES = "build-with-properties"
    """``StreamsBuilder#build(Properties)``: topology.optimization is read there."""
    BUILD_WITHOUT_PROPERTIES = "build-without-properties"
    NEW_UNCAUGHT_EXCEPTION_HANDLER = "new-uncaught-exception-handler"
    """``StreamsUncaughtExceptionHandler`` (KIP-671)."""
    OLD_UNCAUGHT_EXCEPTION_HANDLER = "old-uncaught-exception-handler"
    STATE_LISTENER = "state-listener"
    RESTORE_LISTENER = "restore-listener"
    ROCKSDB_CONFIG_SETTER = "rocksdb-config-setter"
    PRODUCTION_EXCEPTION_HANDLER = "production-exception-handler"
    DESERIALIZATION_EXCEPTION_HANDLER = "deserialization-exception-handler"
    PROCESSING_EXCEPTION_HANDLER = "processing-exception-handler"
    TASK_ASSIGNOR = "task-assignor"
    PARTITION_ASSIGNOR = "partition-assignor"
    """Of a consumer, not of Streams."""
    PARTITION_GROUPER = "partition-grouper"
    TIMESTAMP_EXTRACTOR = "timestamp-extractor"
    STREAM_PARTITIONER = "stream-partitioner"
    STATE_STORE = "state-store"
    """A store of one's own."""
    CLIENT_SUPPLIER = "client-supplier"
    INTERCEPTOR = "interceptor"
    METRICS_REPORTER = "metrics-reporter"
    BYTE_BUFFER_SERIALIZER = "byte-buffer-serializer"
    SCALA = "scala"
    """kafka-streams-scala."""
    TOPOLOGY_TEST_DRIVER = "topology-test-driver"
    KAFKA_TESTS = "kafka-tests"
    """Classes of Kafka's own tests, in artifacts of the classifier ``test``."""
    PRODUCER = "producer"
    """``KafkaProducer``, beside those of Streams."""
    CONSUMER = "consumer"
    ADMIN = "admin"


_STREAMS: Final = "org/apache/kafka/streams/"
_DSL: Final = f"{_STREAMS}(?:scala/)?"
_KSTREAM: Final = f"{_DSL}kstream/KStream#"
_KTABLE: Final = f"{_DSL}kstream/KTable#"
_BUILDER: Final = f"{_DSL}StreamsBuilder#|{_STREAMS}kstream/KStreamBuilder#"
_JOINED_STREAM: Final = rf"\(L{_DSL}kstream/KStream;"
_JOINED_TABLE: Final = rf"\(L{_DSL}kstream/KTable;"
_FOREIGN_KEY: Final = r"(?:Ljava/util/function/(?:Bi)?Function;|Lscala/Function1;)"
_GROUPED: Final = (
    r"kstream/(?:KGrouped(?:Stream|Table)|CogroupedKStream|(?:Time|Session)Windowed(?:Cogrouped)?KStream)#"
)
_STORE_TYPE: Final = r"(?:ReadOnly|Timestamped)?(?:KeyValue|Window|Session)Store"
_REFERENCES: Final[Mapping[CodeFact, str]] = {
    CodeFact.STREAMS_DSL: f"(?:{_BUILDER}).*",
    CodeFact.FOREIGN_KEY_JOINS: rf"{_KTABLE}(?:j|leftJ)oin{_JOINED_TABLE}{_FOREIGN_KEY}.*",
    CodeFact.REPARTITIONED_TABLES: rf"{_KTABLE}groupBy\(.*",
    CodeFact.SUPPRESS: rf"{_KTABLE}suppress\(.*",
    CodeFact.TABLE_FILTERS: rf"{_KTABLE}filter(?:Not)?\(.*",
    CodeFact.STREAM_JOINS: rf"{_KSTREAM}(?:j|leftJ|outerJ)oin{_JOINED_STREAM}.*",
    CodeFact.STREAM_OUTER_JOINS: rf"{_KSTREAM}(?:leftJ|outerJ)oin{_JOINED_STREAM}.*",
    CodeFact.TABLE_JOINS: rf"{_KTABLE}(?:j|leftJ|outerJ)oin{_JOINED_TABLE}(?!{_FOREIGN_KEY}).*",
    CodeFact.STREAM_TABLE_JOINS: rf"{_KSTREAM}(?:j|leftJ)oin\(L{_DSL}kstream/(?:Global)?KTable;.*",
    CodeFact.AGGREGATIONS: rf"{_DSL}{_GROUPED}(?:aggregate|count|reduce)\(.*",
    CodeFact.WINDOWS: rf"{_DSL}{_GROUPED}windowedBy\(.*",
    CodeFact.SLIDING_WINDOWS: f"{_STREAMS}kstream/SlidingWindows#.*",
    CodeFact.SESSION_WINDOWS: f"{_STREAMS}kstream/SessionWindows#.*",
    CodeFact.WINDOWS_WITH_GRACE: rf"{_STREAMS}kstream/\w+Windows#of\w+(?:AndGrace|WithNoGrace)\(.*",
    CodeFact.EMIT_ON_WINDOW_CLOSE: rf"{_STREAMS}kstream/EmitStrategy#onWindowClose\(.*",
    CodeFact.TABLES: rf"(?:{_BUILDER})table\(.*",
    CodeFact.GLOBAL_TABLES: rf"(?:{_BUILDER}|{_STREAMS}Topology#)(?:globalTable|addGlobalStore)\(.*",
    CodeFact.REPARTITION_TOPICS: rf"{_KSTREAM}(?:repartition|groupBy|selectKey|map|flatMap|(?:flatT|t)ransform"
    rf"|process)\(.*|{_KTABLE}(?:groupBy\(|(?:j|leftJ)oin{_JOINED_TABLE}{_FOREIGN_KEY}).*",
    CodeFact.PATTERN_SOURCES: rf"(?:{_BUILDER})stream\(Ljava/util/regex/Pattern;.*|"
    rf"{_STREAMS}Topology#addSource\(.*Ljava/util/regex/Pattern;\).*",
    CodeFact.NAMED_TOPOLOGIES: f"{_STREAMS}processor/internals/namedtopology/.*",
    CodeFact.THROUGH: rf"{_DSL}kstream/K(?:Stream|Table)#through\(.*",
    CodeFact.TOPOLOGY_CONFIG: rf"{_STREAMS}StreamsBuilder#<init>\(L{_STREAMS}TopologyConfig;.*",
    CodeFact.STORES: rf"{_STREAMS}state/Stores#.*|(?:{_BUILDER})(?:table|globalTable|addStateStore|addGlobalStore)\(.*|"
    rf"{_STREAMS}Topology#add(?:StateStore|GlobalStore)\(.*|{_DSL}{_GROUPED}(?:aggregate|count|reduce)\(.*|"
    rf"{_KSTREAM}(?:(?:j|leftJ|outerJ)oin{_JOINED_STREAM}|toTable\().*|{_KTABLE}suppress\(.*",
    CodeFact.IN_MEMORY_STORES: rf"{_STREAMS}(?:state/(?:Stores#(?:inMemory\w*|lruMap)\(.*|BuiltInDslStoreSuppliers\$"
    r"InMemory.*)|kstream/Materialized\$StoreType#IN_MEMORY.*)",
    CodeFact.LOGGED_STORES: rf"{_STREAMS}(?:kstream|state)/\w+#withLoggingEnabled\(.*",
    CodeFact.STORE_TYPES: rf"{_STREAMS}state/{_STORE_TYPE}#.*",
    CodeFact.RANGE_SCANS: rf"{_STREAMS}state/{_STORE_TYPE}#(?:range|reverseRange|all|reverseAll|prefixScan|"
    r"(?:f|backwardF)etch(?:All)?|(?:f|backwardF)indSessions)\(.*",
    CodeFact.OLD_PROCESSORS: rf"{_STREAMS}processor/(?:AbstractProcessor|Processor|ProcessorSupplier)#.*",
    CodeFact.PROCESSORS: rf"{_KSTREAM}(?:process|processValues|(?:flatT|t)ransform(?:Values)?)\(.*|"
    rf"{_KTABLE}transformValues\(.*|{_STREAMS}Topology#addProcessor\(.*",
    CodeFact.TRANSFORM_VALUES: rf"{_KSTREAM}(?:flatT|t)ransformValues\(.*",
    CodeFact.PROCESS_VALUES: rf"{_KSTREAM}processValues\(.*",
    CodeFact.PUNCTUATORS: rf"{_STREAMS}processor/(?:api/)?(?:\w*Context)#schedule\(.*",
    CodeFact.QUERIES: rf"{_STREAMS}KafkaStreams#(?:store|query)\(.*",
    CodeFact.THREADS_CHANGED: rf"{_STREAMS}KafkaStreams#(?:add|remove)StreamThread\(.*",
    CodeFact.CLEAN_UP: rf"{_STREAMS}KafkaStreams#cleanUp\(.*",
    CodeFact.LEAVE_ON_CLOSE: rf"{_STREAMS}(?:KafkaStreams\$CloseOptions#leaveGroup|CloseOptions#\w*[gG]roup\w*)\(.*",
    CodeFact.BUILD_WITH_PROPERTIES: rf"(?:{_BUILDER})build\(Ljava/util/Properties;\).*",
    CodeFact.BUILD_WITHOUT_PROPERTIES: rf"(?:{_BUILDER})build\(\).*",
    CodeFact.NEW_UNCAUGHT_EXCEPTION_HANDLER: rf"{_STREAMS}KafkaStreams#setUncaughtExceptionHandler\(L{_STREAMS}.*",
    CodeFact.OLD_UNCAUGHT_EXCEPTION_HANDLER: rf"{_STREAMS}KafkaStreams#setUncaughtExceptionHandler\(Ljava/.*",
    CodeFact.STATE_LISTENER: rf"{_STREAMS}KafkaStreams#setStateListener\(.*",
    CodeFact.RESTORE_LISTENER: rf"{_STREAMS}KafkaStreams#setGlobalStateRestoreListener\(.*",
    CodeFact.BYTE_BUFFER_SERIALIZER: r"org/apache/kafka/common/serialization/(?:ByteBufferSerializer#.*|"
    r"Serdes(?:\$ByteBufferSerde)?#(?:ByteBuffer|<init>)\(.*)",
    CodeFact.SCALA: f"{_STREAMS}scala/.*",
    CodeFact.TOPOLOGY_TEST_DRIVER: f"{_STREAMS}TopologyTestDriver#.*",
    CodeFact.KAFKA_TESTS: f"org/apache/kafka/test/.*|{_STREAMS}integration/utils/.*",
    CodeFact.PRODUCER: r"org/apache/kafka/clients/producer/KafkaProducer#<init>\(.*",
    CodeFact.CONSUMER: r"org/apache/kafka/clients/consumer/KafkaConsumer#<init>\(.*",
    CodeFact.ADMIN: r"org/apache/kafka/clients/admin/(?:Kafka)?Admin(?:Client)?#(?:<init>|create)\(.*",
}
"""Patterns of ``OWNER#NAMEDESCRIPTOR``, of a class ``OWNER#``."""
_TYPES: Final[Mapping[str, CodeFact]] = {
    f"{_STREAMS}state/RocksDBConfigSetter": CodeFact.ROCKSDB_CONFIG_SETTER,
    f"{_STREAMS}errors/ProductionExceptionHandler": CodeFact.PRODUCTION_EXCEPTION_HANDLER,
    f"{_STREAMS}errors/DeserializationExceptionHandler": CodeFact.DESERIALIZATION_EXCEPTION_HANDLER,
    f"{_STREAMS}errors/ProcessingExceptionHandler": CodeFact.PROCESSING_EXCEPTION_HANDLER,
    f"{_STREAMS}processor/assignment/TaskAssignor": CodeFact.TASK_ASSIGNOR,
    f"{_STREAMS}processor/internals/assignment/TaskAssignor": CodeFact.TASK_ASSIGNOR,
    f"{_STREAMS}processor/internals/StreamsPartitionAssignor": CodeFact.TASK_ASSIGNOR,
    "org/apache/kafka/clients/consumer/ConsumerPartitionAssignor": CodeFact.PARTITION_ASSIGNOR,
    "org/apache/kafka/clients/consumer/internals/PartitionAssignor": CodeFact.PARTITION_ASSIGNOR,
    f"{_STREAMS}processor/PartitionGrouper": CodeFact.PARTITION_GROUPER,
    f"{_STREAMS}processor/TimestampExtractor": CodeFact.TIMESTAMP_EXTRACTOR,
    f"{_STREAMS}processor/StreamPartitioner": CodeFact.STREAM_PARTITIONER,
    f"{_STREAMS}processor/StateStore": CodeFact.STATE_STORE,
    f"{_STREAMS}processor/Processor": CodeFact.OLD_PROCESSORS,
    f"{_STREAMS}KafkaClientSupplier": CodeFact.CLIENT_SUPPLIER,
    f"{_STREAMS}KafkaStreams$StateListener": CodeFact.STATE_LISTENER,
    f"{_STREAMS}errors/StreamsUncaughtExceptionHandler": CodeFact.NEW_UNCAUGHT_EXCEPTION_HANDLER,
    f"{_STREAMS}processor/Punctuator": CodeFact.PUNCTUATORS,
    "org/apache/kafka/clients/consumer/ConsumerInterceptor": CodeFact.INTERCEPTOR,
    "org/apache/kafka/clients/producer/ProducerInterceptor": CodeFact.INTERCEPTOR,
    "org/apache/kafka/common/metrics/MetricsReporter": CodeFact.METRICS_REPORTER,
}
"""The evidence of a class or lambda that implements a type."""
_PATTERNS: Final = {fact: re.compile(pattern) for fact, pattern in _REFERENCES.items()}
_STORES_METHOD: Final = ("stores", "()Ljava/util/Set;")
_STORE_PROVIDER: Final = f"{_STREAMS}processor/ConnectedStoreProvider"
_ROOT: Final = "org/apache/kafka/"


@frozen(order=True)
class Evidence:
    """A class of the application, and what it uses."""

    referrer: Referrer = field(
        order=lambda referrer: (not referrer.library.is_own, str(referrer.library), referrer.name)
    )
    text: str
    """``calls ...``, ``refers to ...`` or ``implements ...``, with names as in Java's sources."""

    def __str__(self) -> str:
        return f"{self.referrer.library} {java_name(self.referrer.name)} {self.text}"

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**self.referrer.as_json(), "text": self.text}


@frozen
class CodeUses:
    """The evidence of the code of an application."""

    found: Mapping[CodeFact, tuple[Evidence, ...]] = field(hash=False)
    """Its own classes first."""
    sees_libraries: bool = True
    """Whether the libraries are in the files: if not, one of them may use what no class here uses."""

    def uses(self, fact: CodeFact) -> bool | None:
        """Whether the application uses something; None if the files do not decide.

        A class of the application decides. A library that can do something does not show that the application asks for
        it: a framework calls each operator that it wraps.
        """
        if any(use.referrer.library.is_own for use in self.found.get(fact, ())):
            return True
        return False if self.sees_libraries and fact not in self.found else None


def decisive_references(
    classes: Iterable[ApplicationClass], code: Code, find: Find, *, sees_libraries: bool = True
) -> CodeUses:
    """Return what classes use of Kafka.

    Args:
        classes: Those that name one of Kafka's, or extend one that does.
        code: The classes of the release that they were compiled against.
        find: Returns the other classes of the application.
        sees_libraries: Whether its libraries are among the files.
    """
    uses: defaultdict[CodeFact, set[Evidence]] = defaultdict(set)
    facts_of: dict[Reference, tuple[CodeFact, ...]] = {}
    for application_class in classes:
        referrer = Referrer(application_class.file.name, application_class.library)
        for reference in application_class.file.references:
            if not reference.owner.startswith(_ROOT):
                continue
            if reference not in facts_of:
                facts_of[reference] = tuple(_facts(reference))
            for fact in facts_of[reference]:
                uses[fact].add(Evidence(referrer, _text(reference)))
        for fact, text in _implemented(application_class.file, code, find):
            uses[fact].add(Evidence(referrer, text))
    return CodeUses({fact: tuple(sorted(evidence)) for fact, evidence in uses.items()}, sees_libraries)


def _facts(reference: Reference) -> Iterator[CodeFact]:
    if reference.kind is ReferenceKind.LAMBDA:
        if reference.owner in _TYPES:
            yield _TYPES[reference.owner]
        return
    text = f"{reference.owner}#{reference.name}{reference.descriptor}"
    for fact, pattern in _PATTERNS.items():
        if pattern.fullmatch(text):
            yield fact


def _text(reference: Reference) -> str:
    if reference.kind is ReferenceKind.LAMBDA:
        return f"implements {java_name(reference.owner)}"
    return f"refers to {full_text(reference.owner, reference.name, reference.descriptor)}"


def _implemented(class_file: ClassFile, code: Code, find: Find) -> Iterator[tuple[CodeFact, str]]:
    """Yield what a class shows by its supertypes."""
    if class_file.flags & (ABSTRACT | INTERFACE):
        return
    types = tuple(_supertypes(class_file, code, find))
    facts = {_TYPES[name]: name for name in types if name in _TYPES}
    if CodeFact.TASK_ASSIGNOR in facts:
        facts.pop(CodeFact.PARTITION_ASSIGNOR, None)
    for fact, name in facts.items():
        yield fact, f"implements {java_name(name)}"
    if _STORE_PROVIDER in types and _STORES_METHOD in {
        (member.name, member.descriptor) for member in class_file.members
    }:
        yield CodeFact.CONNECTED_STORES, f"implements {java_name(_STORE_PROVIDER)}#stores()"


def _supertypes(class_file: ClassFile, code: Code, find: Find) -> Iterator[str]:
    """Yield all supertypes that the files and the tables know."""
    waiting, seen = [class_file.superclass, *class_file.interfaces], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or not name:
            continue
        seen.add(name)
        yield name
        if own := find(name):
            waiting += [own.superclass, *own.interfaces]
        elif kafka_class := code.get(name):
            waiting += kafka_class.supertypes
