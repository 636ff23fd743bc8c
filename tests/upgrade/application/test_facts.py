"""The facts that decide conditions of hazards, as the references of class files show it."""

import pytest

from streams_assignor.upgrade.application.archive import ApplicationClass
from streams_assignor.upgrade.application.class_file import ABSTRACT, INTERFACE, read_class
from streams_assignor.upgrade.application.code import code_of
from streams_assignor.upgrade.application.facts import _PATTERNS, _TYPES, CodeFact, decisive_references
from streams_assignor.upgrade.application.libraries import Library
from streams_assignor.upgrade.releases import RELEASES
from tests.upgrade.application.class_bytes import INVOKESTATIC, ClassBytes

STREAMS = "org/apache/kafka/streams/"
KSTREAM, KTABLE = STREAMS + "kstream/KStream", STREAMS + "kstream/KTable"
OWN, SPRING = Library("orders", is_own=True), Library("spring-kafka", "2.7.14")
CODE = code_of(RELEASES["2.8.2"])


def facts(*written, library=OWN, others=(), **settings):
    files = {each.name: each for each in (read_class(other.bytes()) for other in others)}
    classes = [ApplicationClass(read_class(each.bytes(), with_references=True), library) for each in written]
    return decisive_references(classes, CODE, files.get, **settings)


def called(owner, name, descriptor="()V"):
    return {each.value for each in facts(ClassBytes("A").calls(owner, name, descriptor)).found}


@pytest.mark.parametrize(
    ("owner", "name", "descriptor", "expected"),
    [
        (
            KTABLE,
            "join",
            f"(L{KTABLE};Ljava/util/function/Function;)L{KTABLE};",
            "foreign-key-joins repartition-topics",
        ),
        (
            STREAMS + "scala/kstream/KTable",
            "leftJoin",
            f"(L{STREAMS}scala/kstream/KTable;Lscala/Function1;)V",
            "foreign-key-joins repartition-topics scala",
        ),
        (KTABLE, "join", f"(L{KTABLE};L{STREAMS}kstream/ValueJoiner;)L{KTABLE};", "table-joins"),
        (KTABLE, "groupBy", f"(L{STREAMS}kstream/KeyValueMapper;)V", "repartitioned-tables repartition-topics"),
        (KSTREAM, "groupBy", f"(L{STREAMS}kstream/KeyValueMapper;)V", "repartition-topics"),
        (KSTREAM, "leftJoin", f"(L{KSTREAM};)V", "stream-joins stream-outer-joins stores"),
        (KSTREAM, "join", f"(L{KTABLE};)V", "stream-table-joins"),
        (KTABLE, "suppress", f"(L{STREAMS}kstream/Suppressed;)V", "suppress stores"),
        (STREAMS + "StreamsBuilder", "build", "()V", "streams-dsl build-without-properties"),
        (STREAMS + "StreamsBuilder", "build", "(Ljava/util/Properties;)V", "streams-dsl build-with-properties"),
        (STREAMS + "kstream/KStreamBuilder", "table", "()V", "streams-dsl tables stores"),
        (STREAMS + "Topology", "addProcessor", "()V", "processors"),
        (
            STREAMS + "KafkaStreams",
            "setUncaughtExceptionHandler",
            "(Ljava/lang/Thread$UncaughtExceptionHandler;)V",
            "old-uncaught-exception-handler",
        ),
        (STREAMS + "StreamsBuilder", "stream", "(Ljava/util/regex/Pattern;)V", "streams-dsl pattern-sources"),
        (STREAMS + "StreamsBuilder", "stream", "(Ljava/lang/String;)V", "streams-dsl"),
        (STREAMS + "Topology", "addSource", "(Ljava/lang/String;Ljava/util/regex/Pattern;)V", "pattern-sources"),
        (STREAMS + "processor/internals/namedtopology/NamedTopology", "name", "()V", "named-topologies"),
        (STREAMS + "StreamsBuilder", "<init>", f"(L{STREAMS}TopologyConfig;)V", "streams-dsl topology-config"),
        (STREAMS + "KafkaStreams$CloseOptions", "leaveGroup", "(Z)V", "leave-on-close"),
        (STREAMS + "CloseOptions", "withGroupMembershipOperation", "()V", "leave-on-close"),
        ("org/apache/kafka/test/InternalMockProcessorContext", "<init>", "()V", "kafka-tests"),
        ("java/util/Map", "suppress", "()V", ""),
    ],
)
def test_a_call_shows_what_an_application_uses(owner, name, descriptor, expected):
    assert {*expected.split()} == called(owner, name, descriptor)


@pytest.mark.unmeasured
def test_every_pattern_is_of_something_that_a_release_has():
    releases = [code_of(RELEASES[name]) for name in ("0.11.0.3", "2.8.2", "4.4.0")]
    texts = {
        f"{name}#{''.join(member)}" for code in releases for name, known in code.items() for member in known.members
    }
    unknown = {fact for fact, pattern in _PATTERNS.items() if not any(map(pattern.fullmatch, texts))}

    assert {CodeFact.SCALA, CodeFact.TOPOLOGY_TEST_DRIVER, CodeFact.KAFKA_TESTS} == unknown  # of other artifacts
    assert all(any(name in code for code in releases) for name in _TYPES)
    assert {*CodeFact} == {*_PATTERNS, *_TYPES.values(), CodeFact.CONNECTED_STORES}


def test_a_class_that_implements_a_type_of_kafka_shows_it():
    setter = STREAMS + "state/RocksDBConfigSetter"
    direct, base = ClassBytes("A", interfaces=[setter]), ClassBytes("Base", interfaces=[setter], flags=ABSTRACT)
    inherited = ClassBytes("B", "Base")
    found = facts(direct, inherited, base, ClassBytes("I", interfaces=[setter], flags=INTERFACE), others=[base])

    (fact,) = found.found
    assert CodeFact.ROCKSDB_CONFIG_SETTER is fact
    assert ["A", "B"] == [each.referrer.name for each in found.found[fact]]
    assert "your class A implements org.apache.kafka.streams.state.RocksDBConfigSetter" == str(found.found[fact][0])


def test_a_class_that_extends_one_of_kafka_has_its_types():
    found = facts(ClassBytes("A", STREAMS + "errors/LogAndContinueExceptionHandler"))

    assert [CodeFact.DESERIALIZATION_EXCEPTION_HANDLER] == [*found.found]


def test_an_assignor_of_streams_is_none_of_a_plain_consumer():
    assert [CodeFact.TASK_ASSIGNOR] == [*facts(ClassBytes("A", _internal("StreamsPartitionAssignor"))).found]
    assignor = "org/apache/kafka/clients/consumer/ConsumerPartitionAssignor"
    assert [CodeFact.PARTITION_ASSIGNOR] == [*facts(ClassBytes("A", interfaces=[assignor])).found]


def _internal(name):
    return f"{STREAMS}processor/internals/{name}"


def test_a_lambda_shows_the_type_that_it_implements():
    extractor = STREAMS + "processor/TimestampExtractor"
    found = facts(
        ClassBytes("A").lambda_of(extractor, "extract", "()J").lambda_of(STREAMS + "kstream/Predicate", "test", "()Z")
    )

    ((fact, (evidence,)),) = found.found.items()
    assert CodeFact.TIMESTAMP_EXTRACTOR is fact
    assert {
        "class": "A",
        "library": None,
        "version": None,
        "text": "implements org.apache.kafka.streams.processor.TimestampExtractor",
    } == evidence.as_json()


def test_a_supplier_that_gives_its_stores_shows_connected_stores():
    provider = STREAMS + "processor/ProcessorSupplier"
    with_stores = ClassBytes("A", interfaces=[provider]).method("stores", "()Ljava/util/Set;", code=b"\xb1")

    assert CodeFact.CONNECTED_STORES in facts(with_stores).found
    assert CodeFact.CONNECTED_STORES not in facts(ClassBytes("A", interfaces=[provider])).found


def test_a_library_does_not_show_what_the_application_asks_for():
    """spring-kafka calls setUncaughtExceptionHandler(StreamsUncaughtExceptionHandler) if it was given a handler."""
    written = ClassBytes("A").calls(KTABLE, "suppress").makes(KTABLE)
    own, other, nothing = facts(written), facts(written, library=SPRING), facts()

    assert (True, None, False) == tuple(each.uses(CodeFact.SUPPRESS) for each in (own, other, nothing))
    assert facts(sees_libraries=False).uses(CodeFact.SUPPRESS) is None


def test_evidence_names_class_and_member():
    written = ClassBytes("b/B").calls(STREAMS + "kstream/SlidingWindows", "<init>", opcode=INVOKESTATIC)
    classes = ClassBytes("A").makes(STREAMS + "scala/StreamsBuilder")
    found = facts(written, classes, library=SPRING).found

    assert [
        "library spring-kafka 2.7.14 b.B refers to org.apache.kafka.streams.kstream.SlidingWindows#SlidingWindows()"
    ] == [str(each) for each in found[CodeFact.SLIDING_WINDOWS]]
    assert "refers to org.apache.kafka.streams.scala.StreamsBuilder" == found[CodeFact.SCALA][0].text


def test_supertypes_that_go_in_a_circle_end():
    circle = [ClassBytes("A", "B"), ClassBytes("B", "A", ["Unseen"])]

    assert {} == facts(*circle, others=circle).found
