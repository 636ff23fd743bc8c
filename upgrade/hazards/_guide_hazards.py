"""More rows: what Kafka's guides announce. They were read, not run, unless a row says otherwise."""

from __future__ import annotations

import re
from typing import Any, Final

from streams_assignor.upgrade.config_types import EndPointFormat
from streams_assignor.upgrade.hazards._application import BORROWED_LIBRARY, MISSING_LIBRARY
from streams_assignor.upgrade.hazards._conditions import (
    EVERYWHERE,
    MAIN_CONSUMER,
    PRODUCER,
    AnyOf,
    Ask,
    Brokers,
    Condition,
    HasLibrary,
    Lacks,
    Sets,
    Uses,
)
from streams_assignor.upgrade.hazards._hazard import Hazard, HazardSubject, ReleaseRange, Severity
from streams_assignor.upgrade.hazards._remedy import YOURS, Remedy, RemedyKind, edit, edit_first, edit_on
from streams_assignor.upgrade.hazards._usual_conditions import (
    BUILT_WITH_PROPERTIES,
    EXACTLY_ONCE,
    EXACTLY_ONCE_V2,
    FOREIGN_KEY_JOINS,
    HAS_NO_INPUT,
    IDEMPOTENCE_IS_OFF,
    JOINS,
    NAMED_MEMBERS,
    ON_DISK,
    OPTIMIZED,
    OUTER_JOINS,
    REPARTITION_TOPICS,
    SASL,
    SCALA,
    SEVERAL_INPUTS,
    STATIC_MEMBERS,
    STORES,
    STREAM_JOINS,
    STREAMS_PROTOCOL,
    TABLES,
    TLS,
    is_no_end_point_since,
    may_use,
    number_setting,
    setting,
)

Number = tuple[int, ...]


def _since(release: Number, *backports: Number, first: Number = (), until: Number = ()) -> dict[str, Any]:
    """Return the ranges of an upgrade from the releases before a change to those that have it."""
    return {
        "origins": ReleaseRange(first, release, backports),
        "targets": ReleaseRange(release, until, backports),
    }


def _back(release: Number) -> dict[str, Any]:
    """Return the ranges of the way back from the releases that have a change."""
    return {"origins": ReleaseRange(release), "targets": ReleaseRange(before=release)}


_STRICT_ADDRESSES: Final = _since((3, 8), (3, 9, 1))
"""Addresses are read strictly from 3.8 on; 3.9.1 and 3.9.2 went back to the reader of 3.7."""
_ACLS: Final = "whether your brokers have ACLs"
_MACHINES: Final = "on which system and processor your members run"
_STATE_LISTENER: Final = Uses("state-listener", "KafkaStreams#setStateListener")
_STREAM_TABLE_JOINS: Final = Uses("stream-table-joins", "joins with tables")
_BORROWS: Final = Uses(MISSING_LIBRARY, "a library that the new release does not bring", own_only=True) | (
    Uses(BORROWED_LIBRARY, "a library that the new release does not bring", own_only=True)
    & Ask("whether your build names this library as a dependency of its own")
)
_PRODUCTION_HANDLER: Final = (
    Uses("production-exception-handler", "ProductionExceptionHandler")
    | setting("default.production.exception.handler")
    | setting("production.exception.handler")
)
_OWN_TIMEOUTS: Final = (
    setting("retries")
    | setting("default.api.timeout.ms", prefixes=EVERYWHERE)
    | setting("request.timeout.ms", prefixes=EVERYWHERE)
    | setting("max.block.ms", prefixes=PRODUCER)
)
_MAPPED_VALUES: Final = Uses("transform-values", "KStream#transformValues") | Uses(
    "process-values", "KStream#processValues"
)
_MANY_IN_FLIGHT: Final = number_setting(
    "max.in.flight.requests.per.connection", lambda value: value > 5, "above 5", PRODUCER
)
_ONE_MIB: Final = 1 << 20
_NEVER: Final = str((1 << 31) - 1)
"""The largest number of milliseconds of Java: no limit."""
_SMALL_SEGMENTS: Final = number_setting("topic.segment.bytes", lambda value: value < _ONE_MIB, "below 1 MiB")
_JAAS: Final = "sasl.jaas.config"


def _has_blanks(value: str) -> bool:
    return re.search(r"[^,\s]\s+[^,\s]", value) is not None


def _lacks_an_element(value: str) -> bool:
    return "," in value and not all(part.strip() for part in value.split(","))


def _is_empty(value: str) -> bool:
    return not value


def _lacks_jmx(value: str) -> bool:
    return bool(value) and "JmxReporter" not in value


_LISTS: Final = AnyOf(
    (
        Sets("bootstrap.servers", prefixes=EVERYWHERE, fits=_is_empty, what="to nothing"),
        *(
            Sets(key, prefixes=EVERYWHERE, fits=_lacks_an_element, what="with an empty element")
            for key in (
                *("bootstrap.servers", "interceptor.classes", "metric.reporters", "rack.aware.assignment.tags"),
                *("sasl.oauthbearer.expected.audience", "ssl.cipher.suites", "ssl.enabled.protocols"),
            )
        ),
    )
)


def _login_module(name: str) -> Condition:
    """Return the condition that a login module is used: of the settings, or of a file that only Java knows."""
    in_file = Ask("the login modules in the file that java.security.auth.login.config names")
    named = Sets(_JAAS, prefixes=EVERYWHERE, fits=lambda value: name in value, what=f"with {name}")
    return SASL & (named | (~setting(_JAAS, prefixes=EVERYWHERE) & in_file))


_COMPILE: Final = "compile against the new release, without warnings of the old one, before members are bounced"
_LINK_ERRORS: Final = (
    "NoSuchMethodError, NoClassDefFoundError or AbstractMethodError if it is not compiled again, else errors of the "
    "compiler"
)

_CODE: Final = (
    Hazard(
        name="code-of-0.10.0",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        **_since((0, 10, 1)),
        applies_to="code for 0.10.0: aggregateByKey, named windows, tables without a name of their store",
        when=Lacks((0, 10, 1), (0, 10, 2)),
        is_certain=True,
        symptom=_LINK_ERRORS,
        remedy=_COMPILE,
        remedies=(Remedy(RemedyKind.CODE),),
        source="upgrade guide of 0.10.1",
    ),
    Hazard(
        name="code-of-0.10.1",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        **_since((0, 10, 2)),
        applies_to="code for 0.10.1: TimestampExtractor, StreamsMetrics",
        when=Lacks((0, 10, 2), (0, 11)),
        is_certain=True,
        symptom=_LINK_ERRORS,
        remedy=_COMPILE,
        remedies=(Remedy(RemedyKind.CODE),),
        source="KIP-93, KIP-114, upgrade guide of 0.10.2",
    ),
    Hazard(
        name="join-results-of-0.10.2",
        about=HazardSubject.CODE,
        severity=Severity.LOSES,
        **_since((0, 10, 2)),
        applies_to="joins",
        when=JOINS,
        symptom="results are others than before, and records with null keys are dropped instead of failing the member",
        remedy="compare the results of both releases for your joins",
        source="KIP-77, upgrade guide of 0.10.2",
    ),
    Hazard(
        name="state-listener-after-start",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        **_since((1, 0)),
        applies_to="KafkaStreams#setStateListener after start()",
        when=_STATE_LISTENER & Ask("whether it is set after start()"),
        symptom="members do not start: IllegalStateException",
        remedy="set the listener before start()",
        source="upgrade guide of 1.0",
    ),
    Hazard(
        name="classes-removed-in-2.0",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        **_since((2, 0)),
        applies_to="code that calls what was deprecated before 1.0: KStreamBuilder, TopologyBuilder, "
        "StateStoreSupplier, punctuate",
        when=Lacks((2, 0), (2, 1)),
        is_certain=True,
        symptom=_LINK_ERRORS,
        remedy=_COMPILE,
        remedies=(Remedy(RemedyKind.CODE),),
        source="upgrade guide of 2.0",
    ),
    Hazard(
        name="interfaces-of-2.0",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        **_since((2, 0)),
        applies_to="your own window stores or StreamPartitioner",
        when=Lacks((2, 0), (2, 1), unimplemented=True),
        is_certain=True,
        symptom="AbstractMethodError or errors of the compiler: their interfaces have further methods or parameters",
        remedy=_COMPILE,
        remedies=(Remedy(RemedyKind.CODE),),
        source="KIP-205, KIP-261, KIP-303, upgrade guide of 2.0",
    ),
    Hazard(
        name="state-listener-of-2.2",
        about=HazardSubject.CODE,
        severity=Severity.CHANGES,
        **_since((2, 2)),
        applies_to="a StateListener that waits for RUNNING",
        when=_STATE_LISTENER & Ask("what it does when a member is RUNNING"),
        symptom="a member that starts is REBALANCING first, no longer RUNNING before it has tasks",
        remedy="wait for RUNNING after REBALANCING",
        source="upgrade guide of 2.2",
    ),
    Hazard(
        name="store-casts-of-2.3",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        **_since((2, 3)),
        applies_to="code that casts stores of the DSL, or reads their changelogs or TopologyTestDriver#getStateStore",
        when=may_use("store-types", "types of stores", "whether you cast stores of the DSL")
        | may_use("topology-test-driver", "TopologyTestDriver", "whether your tests get stores"),
        symptom="ClassCastException: org.apache.kafka.streams.state.ValueAndTimestamp",
        remedy="read them as timestamped stores (TimestampedKeyValueStore)",
        source="KIP-258, upgrade guide of 2.3",
    ),
    Hazard(
        name="state-listener-of-2.4",
        about=HazardSubject.CODE,
        severity=Severity.CHANGES,
        **_since((2, 4)),
        applies_to="a StateListener that takes REBALANCING as the begin of every rebalance",
        when=_STATE_LISTENER & Ask("what it does when a member is REBALANCING"),
        symptom="a member stays RUNNING while it keeps its tasks",
        remedy="do not stop queries or traffic because of REBALANCING alone",
        source="KIP-429, upgrade guide of 2.4",
    ),
    Hazard(
        name="scala-2.11",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        **_since((2, 5)),
        applies_to="kafka-streams-scala with Scala 2.11",
        when=SCALA & HasLibrary(("scala-library",), before=(2, 12)),
        symptom="there is no such artifact",
        remedy="change to Scala 2.12 before the release",
        source="KIP-531, upgrade guide of 2.5",
    ),
    Hazard(
        name="dead-thread-ends-member",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        **_since((2, 8)),
        applies_to="no StreamsUncaughtExceptionHandler of its own",
        when=~Uses("new-uncaught-exception-handler", "StreamsUncaughtExceptionHandler"),
        symptom="an exception in one thread closes the whole member and leaves it in ERROR; before, the other threads "
        "went on",
        remedy="set a StreamsUncaughtExceptionHandler (REPLACE_THREAD for errors that pass)",
        source="KIP-671, KIP-696, upgrade guide of 2.8",
    ),
    Hazard(
        name="classes-removed-in-3.0",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        **_since((3, 0)),
        applies_to="code that needs what is gone or another since 3.0, such as Serialized, PartitionGrouper, "
        "UsePreviousTimeOnInvalidTimestamp, windows and close() with long, KafkaStreams#store by name",
        when=Lacks((3, 0), (3, 1)),
        is_certain=True,
        symptom=_LINK_ERRORS,
        remedy=_COMPILE,
        remedies=(Remedy(RemedyKind.CODE),),
        source="upgrade guide of 3.0",
    ),
    Hazard(
        name="dependencies-of-3.0",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        **_since((3, 0)),
        applies_to="code that takes connect-json, or others of Kafka's dependencies, from those of kafka-streams",
        when=_BORROWS,
        symptom="NoClassDefFoundError, or errors of the compiler",
        remedy="declare them as dependencies of your own",
        source="KAFKA-5146, upgrade guide of 3.0",
    ),
    Hazard(
        name="rocksdb-config-setter-of-3.0",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        **_since((3, 0)),
        applies_to="your own RocksDBConfigSetter without close(), or code that calls what RocksDB 6 lacks",
        when=Lacks((3, 0), (4, 0), rocksdb=True),
        symptom="AbstractMethodError or errors of the compiler: close() has no default any more, and RocksDB's own "
        "interfaces changed",
        remedy="implement close(); compile against the RocksDB of the new release",
        remedies=(Remedy(RemedyKind.CODE),),
        source="upgrade guide of 3.0",
    ),
    Hazard(
        name="windows-with-grace",
        about=HazardSubject.CODE,
        severity=Severity.LOSES,
        **_since((3, 0)),
        applies_to="windows and joins whose code changes to methods with or without grace (ofSizeAndGrace)",
        when=Uses("windows-with-grace", "windows with or without grace")
        & (Uses("windows", "windows") | Uses("stream-joins", "joins of streams")),
        symptom="without grace() it was 24 h: records that came late before are dropped; results of left and outer "
        "joins without a partner come when the window and its grace have passed (3.1), not at once, and there is one "
        "more changelog (OUTERSHARED)",
        remedy="name the grace period that you had; compare the results of joins before the bounce",
        source="KIP-633, KAFKA-10847, upgrade guide of 3.0",
    ),
    Hazard(
        name="null-keys-in-joins",
        about=HazardSubject.CODE,
        severity=Severity.LOSES,
        **_since((3, 7)),
        applies_to="left joins of streams, outer joins, left foreign-key joins, and inputs with null keys",
        when=(OUTER_JOINS | _STREAM_TABLE_JOINS | FOREIGN_KEY_JOINS) & Ask("whether records have null keys"),
        symptom="records that were dropped before have results: the ValueJoiner gets null for the other side",
        remedy="filter null keys (or null foreign keys) before the join",
        source="KIP-962, upgrade guide of 3.7",
    ),
    Hazard(
        name="scala-2.12",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        **_since((4, 0)),
        applies_to="kafka-streams-scala with Scala 2.12",
        when=SCALA & HasLibrary(("scala-library",), before=(2, 13)),
        symptom="there is no such artifact",
        remedy="change to Scala 2.13 before the release",
        source="KIP-751, upgrade guide of 4.0",
    ),
    Hazard(
        name="rocksdb-config-setter-of-4.0",
        about=HazardSubject.CODE,
        severity=Severity.STOPS,
        **_since((4, 0)),
        applies_to="code that calls what RocksDB 9 lacks, such as your own RocksDBConfigSetter",
        when=Lacks((4, 0), (5, 0), rocksdb=True),
        symptom="NoSuchMethodError or errors of the compiler: AccessHint, setLogger(Logger) and the compressed block "
        "cache are gone from RocksDB",
        remedy="compile against the RocksDB of the new release",
        remedies=(Remedy(RemedyKind.CODE),),
        source="upgrade guide of 4.0",
    ),
    Hazard(
        name="production-handler-gets-timeouts",
        about=HazardSubject.CODE,
        severity=Severity.LOSES,
        **_since((4, 0)),
        applies_to="your own ProductionExceptionHandler that continues after any exception",
        when=_PRODUCTION_HANDLER & Ask("whether it continues after a TimeoutException"),
        symptom="it is asked about a TimeoutException too, and the record is lost; before, sending was tried again",
        remedy="return RETRY for a RetriableException",
        source="KIP-1065, upgrade guide of 4.0",
    ),
    Hazard(
        name="process-values-rewritten",
        about=HazardSubject.TASK_IDS,
        severity=Severity.LOSES,
        origins=ReleaseRange(before=(4, 0)),
        targets=ReleaseRange((3, 3)),
        applies_to="transformValues() rewritten as processValues(), with merged repartition topics",
        when=_MAPPED_VALUES & OPTIMIZED & BUILT_WITH_PROPERTIES & REPARTITION_TOPICS,
        symptom="a repartition topic can move before it, so that records of the wrong type are read, and the topology "
        "is another one",
        remedy="take 4.0.1, 4.1.1, 4.2 or later and set __enable.process.processValue.fix__; compare the "
        "Topology#describe() texts (--topologies)",
        source="KAFKA-19668, upgrade guide of 3.3",
    ),
)

_TOPOLOGY: Final = (
    Hazard(
        name="table-changelogs-of-1.0",
        about=HazardSubject.CHANGELOGS,
        severity=Severity.LOSES,
        **_since((1, 0)),
        applies_to="KStreamBuilder#table rewritten as StreamsBuilder#table, without topology.optimization=all",
        when=TABLES & ~OPTIMIZED & Ask("whether the code of the old release calls KStreamBuilder#table"),
        symptom="the table has a changelog of its own, which is empty: a store that 2.0 or later restores from it "
        "lacks all rows that were read before",
        remedy="set topology.optimization=all from 2.0 on, and pass it to StreamsBuilder#build",
        source="KIP-295, upgrade guide of 2.0",
    ),
    Hazard(
        name="table-changelogs-of-2.0",
        about=HazardSubject.CHANGELOGS,
        severity=Severity.LOSES,
        origins=ReleaseRange((1, 0), (2, 0)),
        targets=ReleaseRange((2, 0)),
        applies_to="StreamsBuilder#table, and topology.optimization=all set with the new release",
        when=TABLES & OPTIMIZED,
        symptom="the changelog that 1.0 and 1.1 wrote is not used any more: the source topic has to be complete",
        remedy="leave topology.optimization as it is (none)",
        remedies=(edit("topology.optimization"),),
        source="KIP-295, upgrade guide of 2.0",
    ),
    Hazard(
        name="repartition-topics-merged",
        about=HazardSubject.TASK_IDS,
        severity=Severity.LOSES,
        origins=ReleaseRange((2, 0), (2, 1)),
        targets=ReleaseRange((2, 1)),
        applies_to="topology.optimization=all passed to StreamsBuilder#build",
        when=OPTIMIZED & BUILT_WITH_PROPERTIES & REPARTITION_TOPICS,
        symptom="repartition topics are merged: tasks and topics are others, and records in the old topics are left",
        remedy="compare the texts (--topologies); if they differ, process the old topics first and stop the group "
        "(--offline)",
        source="KIP-312, upgrade guide of 2.1",
    ),
    Hazard(
        name="tables-without-store",
        about=HazardSubject.CHANGELOGS,
        severity=Severity.CHANGES,
        **_since((2, 2)),
        applies_to="tables read from topics whose store has no name and is read by no operator",
        when=TABLES & Ask("--topologies (whether a store is gone)"),
        symptom="they have no store any more: it cannot be queried, and its changelog is left",
        remedy="name the store (Materialized.as) if you query it; delete the changelog when the way back is closed",
        source="KAFKA-6036",
        seen=("2.1.1", "2.2.2"),
    ),
    Hazard(
        name="optimization-needs-build",
        about=HazardSubject.CHANGELOGS,
        severity=Severity.LOSES,
        origins=ReleaseRange((2, 0), (2, 3)),
        targets=ReleaseRange((2, 3)),
        applies_to="topology.optimization=all, and StreamsBuilder#build without the properties",
        when=OPTIMIZED & Uses("build-without-properties", "StreamsBuilder#build()"),
        symptom="nothing is optimized any more: tables have new changelogs, which are empty",
        remedy="pass the properties to StreamsBuilder#build",
        source="upgrade guide of 2.3",
    ),
    Hazard(
        name="topology-without-sources",
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.STOPS,
        **_since((2, 6), (2, 5, 1)),
        applies_to="topologies without source topics and without global tables",
        when=HAS_NO_INPUT,
        is_certain=True,
        symptom='members do not start: TopologyException "Topology has no stream threads and no global threads, must '
        'subscribe to at least one source topic or global table"',
        remedy="start no member whose topology is empty",
        remedies=(Remedy(RemedyKind.CODE),),
        source="KAFKA-9127",
    ),
    Hazard(
        name="self-joins-optimized",
        about=HazardSubject.TASK_IDS,
        severity=Severity.WAITS,
        **_since((3, 4)),
        applies_to="a stream joined with itself, and topology.optimization=all",
        when=OPTIMIZED & STREAM_JOINS & Ask("whether a stream is joined with itself"),
        symptom="the join has one store instead of two: members of both releases have different topologies, and the "
        "changelog of the other store is left",
        remedy="compare the texts (--topologies); list the optimizations that you had instead of all",
        source="KIP-862, upgrade guide of 3.4",
        seen=("3.2.3", "3.4.1"),
    ),
)

_SETTINGS: Final = (
    Hazard(
        name="internal-topics-by-brokers",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((0, 10, 2)),
        applies_to="brokers with ACLs",
        when=Ask(_ACLS),
        symptom="members cannot create internal topics: brokers do it for them now, not ZooKeeper",
        remedy="let the application's principal create and describe topics",
        source="KIP-4, upgrade guide of 0.10.2",
    ),
    Hazard(
        name="purge-needs-delete",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.WAITS,
        **_since((1, 1)),
        applies_to="brokers with ACLs, and repartition topics",
        when=REPARTITION_TOPICS & Ask(_ACLS),
        symptom="members delete what they have read; without the right to, these topics grow without end (new ones "
        "have no retention from 2.0 on)",
        remedy="let the application's principal delete records of internal topics",
        source="KIP-204, KIP-284, upgrade guide of 2.0",
    ),
    Hazard(
        name="names-removed-in-2.0",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.LOSES,
        **_since((2, 0)),
        applies_to="key.serde, value.serde, timestamp.extractor or zookeeper.connect",
        when=setting("key.serde")
        | setting("value.serde")
        | setting("timestamp.extractor")
        | setting("zookeeper.connect"),
        symptom="the release has no such configuration and ignores it: the default serde or extractor is used",
        remedy="set default.key.serde, default.value.serde and default.timestamp.extractor (known since 0.11)",
        source="upgrade guide of 2.0",
    ),
    Hazard(
        name="tls-host-names",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((2, 0)),
        applies_to="TLS, and certificates of brokers that lack their host names",
        when=TLS
        & ~setting("ssl.endpoint.identification.algorithm", prefixes=EVERYWHERE)
        & Ask("whether the certificates of brokers have their host names"),
        symptom="members cannot connect: SslAuthenticationException, because host names are verified",
        remedy="correct the certificates, or set ssl.endpoint.identification.algorithm to an empty text",
        source="KIP-294, upgrade guide of 2.0",
    ),
    Hazard(
        name="zstd-unknown",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_back((2, 1)),
        applies_to="topics with records compressed by Zstandard",
        when=setting("compression.type", "zstd", prefixes=PRODUCER)
        | Ask("whether other producers or brokers compress with Zstandard"),
        symptom="members cannot read them: UnsupportedCompressionTypeException",
        remedy="do not use compression.type=zstd before the way back is closed",
        source="KIP-110, upgrade guide of 2.1",
    ),
    Hazard(
        name="max-poll-interval-5-min",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((2, 3), first=(0, 10, 2, 1)),
        applies_to="no max.poll.interval.ms of its own",
        when=~setting("max.poll.interval.ms", prefixes=MAIN_CONSUMER),
        symptom="the default is 5 min instead of none: a thread that processes or restores longer between two polls "
        "leaves the group, which can rebalance again and again",
        remedy="set max.poll.interval.ms, or fewer max.poll.records",
        remedies=(edit("max.poll.interval.ms", _NEVER),),
        source="KIP-442, upgrade guide of 2.3",
    ),
    Hazard(
        name="static-members-of-2.3",
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.WAITS,
        **_since((2, 3)),
        applies_to="group.instance.id, which releases before 2.3 ignore",
        when=NAMED_MEMBERS,
        symptom="members become static: the tasks of one that is closed wait until its session ends, and two members "
        "of one name fence each other (FencedInstanceIdException)",
        remedy="give each member a name of its own and a session.timeout.ms for a restart, or remove it",
        source="KIP-345",
        seen=("2.2.2", "2.3.1"),
    ),
    Hazard(
        name="brokers-before-2.3",
        about=HazardSubject.BROKERS,
        severity=Severity.STOPS,
        **_since((2, 3)),
        applies_to="brokers before 2.3, and group.instance.id",
        when=NAMED_MEMBERS & Brokers(before=(2, 3)),
        is_certain=True,
        symptom="members cannot join: UnsupportedVersionException, as these brokers know no static members",
        remedy="remove group.instance.id, or upgrade the brokers first",
        remedies=(edit("group.instance.id"),),
        source="KIP-345",
    ),
    Hazard(
        name="tls-1.0",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((2, 5)),
        applies_to="TLS, and brokers that speak only TLSv1 or TLSv1.1",
        when=TLS & ~setting("ssl.enabled.protocols", prefixes=EVERYWHERE) & Ask("whether your brokers speak TLSv1.2"),
        symptom="members cannot connect: SSLHandshakeException",
        remedy="enable TLSv1.2 on the brokers, or set ssl.enabled.protocols",
        source="KIP-553, upgrade guide of 2.5",
    ),
    Hazard(
        name="warmup-replicas",
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.WAITS,
        **_since((2, 6)),
        applies_to="stateful tasks",
        when=STORES,
        symptom="tasks move later: another member restores up to max.warmup.replicas (2) at a time first, and a "
        "probing rebalance every 10 min moves what is ready",
        remedy="expect more stores on disk and rebalances after the bounce; set acceptable.recovery.lag, "
        "max.warmup.replicas and probing.rebalance.interval.ms",
        source="KIP-441, upgrade guide of 2.6",
    ),
    Hazard(
        name="exactly-once-beta-unknown",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_back((2, 6)),
        applies_to="processing.guarantee=exactly_once_beta or exactly_once_v2",
        when=EXACTLY_ONCE_V2,
        is_certain=True,
        symptom="members do not start: ConfigException",
        remedy="bounce 2.6 to 3.9 with exactly_once before this release",
        remedies=(edit_on((2, 6), (4, 0), "processing.guarantee", "exactly_once"),),
        source="KIP-447, upgrade guide of 2.6",
    ),
    Hazard(
        name="exactly-once-switched-too-early",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.LOSES,
        **_since((2, 6)),
        applies_to="processing.guarantee changed from exactly_once to exactly_once_beta or exactly_once_v2 in the same "
        "bounce",
        when=EXACTLY_ONCE_V2 & Ask("whether the group has exactly_once now"),
        symptom="members of the older release do not fence the producers of the new one: results can be duplicated",
        remedy="keep exactly_once in this bounce, and change it in a second one, with brokers of 2.5 or later; before "
        "4.0 or later, which refuse exactly_once, do both on 3.9",
        source="KIP-447, upgrade guide of 2.6",
        mixed_only=True,
    ),
    Hazard(
        name="transaction-timeout-10-s",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((2, 6)),
        applies_to="exactly-once processing, and no transaction.timeout.ms of its own",
        when=EXACTLY_ONCE & ~setting("transaction.timeout.ms", prefixes=PRODUCER),
        symptom="the default is 10 s instead of 60 s: if a commit takes longer, the broker ends the transaction and "
        "fences the producer (ProducerFencedException, InvalidProducerEpochException), and tasks migrate",
        remedy="set transaction.timeout.ms for pauses that are longer (producer.transaction.timeout.ms)",
        remedies=(edit("producer.transaction.timeout.ms", "60000"),),
        source="KAFKA-9809",
        seen=("2.4.1", "2.8.2"),
    ),
    Hazard(
        name="task-timeout-5-min",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.CHANGES,
        **_since((2, 8)),
        applies_to="retries or timeouts of your own",
        when=_OWN_TIMEOUTS & ~setting("task.timeout.ms"),
        symptom="a TimeoutException of a client fails a task after task.timeout.ms (5 min); retries is ignored by "
        "Streams",
        remedy="set task.timeout.ms",
        source="KIP-572, upgrade guide of 2.8",
    ),
    Hazard(
        name="state-dir-of-2.8",
        about=HazardSubject.STORES,
        severity=Severity.WAITS,
        **_since((2, 8)),
        applies_to="no state.dir of its own, and java.io.tmpdir is not /tmp",
        when=~setting("state.dir") & ON_DISK & Ask("whether java.io.tmpdir is another directory than /tmp"),
        symptom="the default is kafka-streams below java.io.tmpdir instead of /tmp/kafka-streams: stores are restored",
        remedy="set state.dir before the bounce",
        source="KAFKA-10604",
        seen=("2.4.1", "2.8.2"),
    ),
    Hazard(
        name="default-serdes-removed",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((3, 0)),
        applies_to="operators without serdes, and no default.key.serde or default.value.serde",
        when=~(setting("default.key.serde") & setting("default.value.serde")) & Ask("whether each operator has serdes"),
        symptom='members do not start: ConfigException "Please specify a key serde or set one through '
        'StreamsConfig#DEFAULT_KEY_SERDE_CLASS_CONFIG"; before, the default was ByteArraySerde',
        remedy="set both, to ByteArraySerde for the behaviour before",
        source="KIP-741, upgrade guide of 3.0",
        seen=("2.8.2", "3.0.2"),
    ),
    Hazard(
        name="replication-factor-of-brokers",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.CHANGES,
        **_since((3, 0)),
        applies_to="no replication.factor of its own",
        when=~setting("replication.factor") & (STORES | REPARTITION_TOPICS),
        symptom="new internal topics have default.replication.factor of the brokers instead of 1",
        remedy="set replication.factor",
        source="KIP-733, upgrade guide of 3.0",
        seen=("2.8.2", "3.0.2"),
    ),
    Hazard(
        name="tasks-wait-for-inputs",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.WAITS,
        **_since((3, 0)),
        applies_to="tasks with several input partitions (joins, merges), and no max.task.idle.ms of its own",
        when=SEVERAL_INPUTS & ~setting("max.task.idle.ms"),
        symptom="a task waits for records that the broker has and that are not fetched yet: a slow partition stops "
        "the others of its task",
        remedy="set max.task.idle.ms=-1 for the behaviour before",
        source="KIP-695, upgrade guide of 3.0",
    ),
    Hazard(
        name="dns-lookup-default",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((3, 0)),
        applies_to="client.dns.lookup=default",
        when=setting("client.dns.lookup", "default", prefixes=EVERYWHERE),
        is_certain=True,
        symptom="members do not start: ConfigException",
        remedy="remove it; use_all_dns_ips is the default since 2.6",
        remedies=(edit("client.dns.lookup"),),
        source="KIP-602, upgrade guide of 3.0",
        seen=("2.8.2", "3.0.2"),
    ),
    Hazard(
        name="idempotent-producers",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((3, 2), (3, 0, 1), (3, 1, 1)),
        applies_to="brokers before 2.8 with ACLs, or of another make (Redpanda, Pulsar, Event Hubs)",
        when=~IDEMPOTENCE_IS_OFF & Brokers(before=(2, 8)) & Ask(f"{_ACLS}, or are of another make"),
        symptom="members cannot write: ClusterAuthorizationException, or what such a broker answers, because producers "
        "are idempotent by default",
        remedy="grant IDEMPOTENT_WRITE, or set producer.enable.idempotence=false",
        source="KIP-679, KAFKA-13598, upgrade guide of 3.0",
    ),
    Hazard(
        name="login-module-refused",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((3, 4)),
        applies_to="sasl.jaas.config with JndiLoginModule",
        when=_login_module("JndiLoginModule"),
        is_certain=True,
        symptom="members do not start: IllegalArgumentException, because the module is disabled",
        remedy="take another module, or set the system property org.apache.kafka.disallowed.login.modules",
        remedies=(edit("sasl.jaas.config", YOURS),),
        source="upgrade guide of 3.4",
    ),
    Hazard(
        name="ldap-login-module-refused",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((3, 9, 1)),
        applies_to="sasl.jaas.config with LdapLoginModule",
        when=_login_module("LdapLoginModule"),
        is_certain=True,
        symptom="members do not start: IllegalArgumentException, because the module is disabled",
        remedy="take another module, or set the system property org.apache.kafka.disallowed.login.modules",
        remedies=(edit("sasl.jaas.config", YOURS),),
        source="CVE-2025-27818",
    ),
    Hazard(
        name="internal-task-assignor-class",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((3, 8)),
        applies_to="internal.task.assignor.class, which is no public configuration",
        when=setting("internal.task.assignor.class"),
        symptom="members do not start if it names a class of before, such as StickyTaskAssignor: "
        "ClassNotFoundException",
        remedy="set task.assignor.class in the same bounce: StickyTaskAssignor is in "
        "org.apache.kafka.streams.processor.assignment.assignors",
        remedies=(edit("internal.task.assignor.class"),),
        source="KIP-924, upgrade guide of 3.8",
        seen=("3.4.1", "3.9.2"),
    ),
    Hazard(
        name="application-server-without-host",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_STRICT_ADDRESSES,
        applies_to="application.server with other text before the host than SCHEME://, such as user@host:80",
        when=Sets(
            "application.server",
            fits=is_no_end_point_since(EndPointFormat.ANY_PREFIX, EndPointFormat.SCHEME),
            what="to what is not host:port",
        ),
        is_certain=True,
        symptom='members do not start: ConfigException "Error parsing host address"; and a leader of the new release '
        "fails on a member of the older one, which accepts the value",
        remedy="set host:port while the old release runs",
        remedies=(edit_first("application.server", YOURS),),
        source="KAFKA-16824",
        seen=("3.9.2", "4.3.1"),
    ),
    Hazard(
        name="bootstrap-servers-with-blanks",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_STRICT_ADDRESSES,
        applies_to="bootstrap.servers with blanks instead of commas",
        when=Sets("bootstrap.servers", prefixes=EVERYWHERE, fits=_has_blanks, what="with blanks instead of commas"),
        is_certain=True,
        symptom="members do not start: ConfigException; before, the last server was used",
        remedy="write host1:port1,host2:port2",
        remedies=(edit("bootstrap.servers", YOURS),),
        source="KAFKA-16824, KAFKA-18674, upgrade guide of 4.0",
        seen=("3.9.2", "4.0.2"),
    ),
    Hazard(
        name="oauth-urls-refused",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((4, 0)),
        applies_to="SASL/OAUTHBEARER with URLs of token or JWKS endpoints",
        when=setting("sasl.oauthbearer.token.endpoint.url", prefixes=EVERYWHERE)
        | setting("sasl.oauthbearer.jwks.endpoint.url", prefixes=EVERYWHERE),
        symptom="members do not start: ConfigException, because no URL is allowed by default",
        remedy="set the system property org.apache.kafka.sasl.oauthbearer.allowed.urls",
        source="upgrade guide of 4.0",
    ),
    Hazard(
        name="reporters-without-jmx",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.CHANGES,
        **_since((4, 0)),
        applies_to="metric.reporters without JmxReporter",
        when=Sets("metric.reporters", prefixes=EVERYWHERE, fits=_lacks_jmx, what="without JmxReporter")
        & ~setting("auto.include.jmx.reporter", "false", prefixes=EVERYWHERE),
        symptom="the JMX reporter is no longer added to the list: Kafka's metrics are gone from JMX",
        remedy="add org.apache.kafka.common.metrics.JmxReporter to metric.reporters",
        source="KIP-830, upgrade guide of 4.0",
        seen=("3.9.2", "4.0.2"),
    ),
    Hazard(
        name="in-flight-requests-refused",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((4, 0)),
        applies_to="producer.max.in.flight.requests.per.connection above 5",
        when=_MANY_IN_FLIGHT & ~IDEMPOTENCE_IS_OFF & ~EXACTLY_ONCE,  # with which no release starts
        is_certain=True,
        symptom="members do not start: ConfigException; before, idempotence was turned off",
        remedy="set at most 5, or producer.enable.idempotence=false",
        remedies=(edit("producer.max.in.flight.requests.per.connection", "5"),),
        source="upgrade guide of 4.0",
        seen=("3.9.2", "4.0.2"),
    ),
    Hazard(
        name="list-values-checked",
        about=HazardSubject.CONFIGURATION,
        severity=Severity.STOPS,
        **_since((4, 2)),
        applies_to="lists in the configuration that are null, or empty where one value is needed",
        when=_LISTS,
        is_certain=True,
        symptom="members do not start: ConfigException; duplicates are ignored with a warning",
        remedy="remove such a configuration while the old release runs",
        source="KIP-1161, upgrade guide of 4.2",
    ),
    Hazard(
        name="closing-leaves-group",
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.WAITS,
        **_since((3, 3)),
        applies_to="static members, and code that closes with CloseOptions, new in 3.3",
        when=STATIC_MEMBERS & may_use("leave-on-close", "CloseOptions", "whether closing leaves the group"),
        symptom="a member that is closed leaves the group: its tasks move at each restart",
        remedy="close without leaving the group when a member is restarted",
        source="KIP-812, upgrade guide of 3.3",
    ),
    Hazard(
        name="streams-members-leave",
        about=HazardSubject.MEMBERSHIP,
        severity=Severity.CHANGES,
        origins=ReleaseRange((4, 1), (4, 4)),
        targets=ReleaseRange((4, 4)),
        applies_to="group.protocol=streams, and dynamic members",
        when=STREAMS_PROTOCOL & ~STATIC_MEMBERS,
        symptom="a member that is closed leaves the group, so its tasks move at once",
        remedy="close with CloseOptions of REMAIN_IN_GROUP if a restart shall keep them",
        source="KIP-1284, upgrade guide of 4.4",
    ),
)

_PEERS: Final = (
    Hazard(
        name="brokers-before-0.10.1",
        about=HazardSubject.BROKERS,
        severity=Severity.STOPS,
        **_since((0, 10, 1), until=(2, 2, 1)),
        applies_to="brokers of 0.10.0; from 1.0 on also a message format before 0.10",
        when=Brokers(before=(0, 10, 1)) | Ask("which message format your topics have"),
        symptom="members cannot connect, or cannot write their records",
        remedy="upgrade the brokers first",
        source="upgrade guide of 1.0",
    ),
    Hazard(
        name="small-segments",
        about=HazardSubject.BROKERS,
        severity=Severity.STOPS,
        **_since((4, 0)),
        applies_to="brokers of 4.0 or later, and topic.segment.bytes (or that of a store) below 1 MiB",
        when=(_SMALL_SEGMENTS | may_use("logged-stores", "withLoggingEnabled", "whether a store sets segment.bytes"))
        & Brokers(since=(4, 0)),
        symptom="new internal topics cannot be created: InvalidConfigurationException",
        remedy="set at least 1048576",
        source="KIP-1030, upgrade guide of 4.0",
    ),
    Hazard(
        name="timestamps-in-the-future",
        about=HazardSubject.BROKERS,
        severity=Severity.STOPS,
        **_since((4, 0)),
        applies_to="brokers of 4.0 or later, and records with timestamps more than one hour ahead",
        when=Brokers(since=(4, 0)) & Ask("whether records are ahead of the clock"),
        symptom="they are refused: InvalidTimestampException",
        remedy="set message.timestamp.after.max.ms of the topics",
        source="KIP-1030, upgrade guide of 4.0",
    ),
    Hazard(
        name="native-library-of-3.0",
        about=HazardSubject.JAVA,
        severity=Severity.STOPS,
        **_since((3, 0)),
        applies_to="stores on disk (RocksDB) on Alpine Linux",
        when=ON_DISK & Ask(_MACHINES),
        symptom="the release has a library for musl, which needs libstdc++: UnsatisfiedLinkError if it is missing",
        remedy="install libstdc++ (and do not add glibc any more)",
        source="KAFKA-8897",
    ),
    *(
        Hazard(
            name=f"native-library-before-{'.'.join(map(str, release))}",
            about=HazardSubject.JAVA,
            severity=Severity.STOPS,
            **_back(release),
            applies_to=f"stores on disk (RocksDB) on {machines}",
            when=ON_DISK & Ask(_MACHINES),
            symptom="the release has no library for it: UnsatisfiedLinkError",
            remedy=f"stay on {'.'.join(map(str, release))} or later on such machines",
            source=source,
        )
        for release, machines, source in (
            ((2, 6), "aarch64 with Linux", "KAFKA-9225"),
            ((3, 0), "Alpine Linux", "KAFKA-8897"),
            ((3, 2), "s390x or Apple silicon", "KAFKA-13599, KAFKA-13776"),
        )
    ),
)

GUIDE_HAZARDS: Final = (*_CODE, *_TOPOLOGY, *_SETTINGS, *_PEERS)
