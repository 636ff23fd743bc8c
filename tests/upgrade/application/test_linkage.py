"""References of an application, resolved like the JVM does it, on classes that are written here."""

import pytest

from streams_assignor.upgrade.application.archive import ApplicationClass
from streams_assignor.upgrade.application.class_file import (
    ABSTRACT,
    FINAL,
    INTERFACE,
    PRIVATE,
    PROTECTED,
    PUBLIC,
    STATIC,
    THROWS,
    read_class,
)
from streams_assignor.upgrade.application.code import KafkaClass, code_of
from streams_assignor.upgrade.application.libraries import Library
from streams_assignor.upgrade.application.linkage import check_references
from streams_assignor.upgrade.releases import RELEASES
from tests.upgrade.application.class_bytes import GETFIELD, INVOKEINTERFACE, INVOKESTATIC, ClassBytes

STREAMS = "org/apache/kafka/streams/"
GONE = STREAMS + "processor/PartitionGrouper"
KAFKA_STREAMS = STREAMS + "KafkaStreams"
TOPOLOGY = STREAMS + "Topology"
OWN = Library("orders", "1.0", is_own=True)
OTHER = Library("spring-kafka", "2.7.14")
OBJECT = KafkaClass(
    "java/lang/Object", "java", PUBLIC, "", (), {("toString", "()S"): PUBLIC, ("<init>", "()V"): PUBLIC}
)


def of_kafka(name, superclass="java/lang/Object", interfaces=(), flags=PUBLIC, **members):
    found = {(member.replace("init", "<init>"), "()V"): each for member, each in members.items()}
    return KafkaClass(name, "kafka-streams", flags, superclass, tuple(interfaces), found)


def interface(name, *interfaces, **members):
    return of_kafka(name, "", interfaces, PUBLIC | INTERFACE | ABSTRACT, **members)


def code(*classes):
    return {each.name: each for each in (*classes, OBJECT)}


def report(written, new, old=None, others=(), library=OWN):
    files = {each.name: each for each in (read_class(other.bytes()) for other in (*written, *others))}
    classes = [ApplicationClass(read_class(each.bytes(), with_references=True), library) for each in written]
    return check_references(classes, new if old is None else old, new, files.get)


def problems(written, *new, others=()):
    found = report([written], code(*new), others=others).problems
    return {(each.error, each.text.removeprefix("org.apache.kafka.streams.")) for each in found}


def test_what_is_still_there_is_no_problem():
    written = ClassBytes("A").calls(KAFKA_STREAMS, "close").calls(KAFKA_STREAMS, "toString", "()S").makes(TOPOLOGY)
    written.calls(KAFKA_STREAMS, "of", opcode=INVOKESTATIC).calls("java/lang/Thread", "x")

    assert set() == problems(written, of_kafka(KAFKA_STREAMS, close=PUBLIC, of=PUBLIC | STATIC), of_kafka(TOPOLOGY))


@pytest.mark.parametrize(
    ("written", "new", "error", "text"),
    [
        (ClassBytes("A").makes(GONE), [], "NoClassDefFoundError", "processor.PartitionGrouper"),
        (ClassBytes("A").calls(GONE, "x").makes(GONE), [], "NoClassDefFoundError", "processor.PartitionGrouper"),
        (
            ClassBytes("A").calls(KAFKA_STREAMS, "close"),
            [of_kafka(KAFKA_STREAMS)],
            "NoSuchMethodError",
            "KafkaStreams#close()",
        ),
        (
            ClassBytes("A").calls(KAFKA_STREAMS, "<init>"),
            [of_kafka(KAFKA_STREAMS, TOPOLOGY), of_kafka(TOPOLOGY, init=PUBLIC)],
            "NoSuchMethodError",
            "KafkaStreams#KafkaStreams()",
        ),
        (
            ClassBytes("A").calls(KAFKA_STREAMS, "f", "I", GETFIELD, 9),
            [of_kafka(KAFKA_STREAMS)],
            "NoSuchFieldError",
            "KafkaStreams#f",
        ),
        (
            ClassBytes("A").calls(KAFKA_STREAMS, "of", opcode=INVOKESTATIC),
            [of_kafka(KAFKA_STREAMS, of=PUBLIC)],
            "IncompatibleClassChangeError",
            "KafkaStreams#of()",
        ),
        (
            ClassBytes("A").calls(KAFKA_STREAMS, "of"),
            [of_kafka(KAFKA_STREAMS, of=PUBLIC | STATIC)],
            "IncompatibleClassChangeError",
            "KafkaStreams#of()",
        ),
        (
            ClassBytes("A").calls(KAFKA_STREAMS, "run"),
            [interface(KAFKA_STREAMS, run=PUBLIC)],
            "IncompatibleClassChangeError",
            "KafkaStreams#run()",
        ),
        (
            ClassBytes("A").calls(KAFKA_STREAMS, "run", opcode=INVOKEINTERFACE, tag=11),
            [of_kafka(KAFKA_STREAMS, run=PUBLIC)],
            "IncompatibleClassChangeError",
            "KafkaStreams#run()",
        ),
        (ClassBytes("A").makes(TOPOLOGY), [of_kafka(TOPOLOGY, flags=0)], "IllegalAccessError", "Topology"),
        (
            ClassBytes("A").calls(TOPOLOGY, "x"),
            [of_kafka(TOPOLOGY, x=0)],
            "IllegalAccessError",
            "Topology#x()",
        ),
        (ClassBytes("A").calls(TOPOLOGY, "x"), [of_kafka(TOPOLOGY, x=PROTECTED)], "IllegalAccessError", "Topology#x()"),
        (
            ClassBytes("A").makes(TOPOLOGY).calls(TOPOLOGY, "<init>"),
            [of_kafka(TOPOLOGY, flags=PUBLIC | ABSTRACT)],
            "InstantiationError",
            "Topology",
        ),
        (
            ClassBytes("A").makes(TOPOLOGY).calls(TOPOLOGY, "<init>"),
            [interface(TOPOLOGY)],
            "InstantiationError",
            "Topology",
        ),
        (
            ClassBytes("A", TOPOLOGY),
            [of_kafka(TOPOLOGY, flags=PUBLIC | FINAL)],
            "IncompatibleClassChangeError",
            "Topology",
        ),
        (ClassBytes("A", TOPOLOGY), [interface(TOPOLOGY)], "IncompatibleClassChangeError", "Topology"),
        (
            ClassBytes("A", "java/lang/Object", [TOPOLOGY]),
            [of_kafka(TOPOLOGY)],
            "IncompatibleClassChangeError",
            "Topology",
        ),
        (
            ClassBytes("A", TOPOLOGY).method("x", code=b"\xb1"),
            [of_kafka(TOPOLOGY, x=PUBLIC | FINAL)],
            "IncompatibleClassChangeError",
            "Topology#x()",
        ),
        (
            ClassBytes("A", "java/lang/Object", [TOPOLOGY]),
            [interface(TOPOLOGY, x=PUBLIC | ABSTRACT)],
            "AbstractMethodError",
            "Topology#x()",
        ),
        (
            ClassBytes("A").lambda_of(TOPOLOGY, "x", "()V"),
            [interface(TOPOLOGY, y=PUBLIC | ABSTRACT)],
            "AbstractMethodError",
            "Topology#x()",
        ),
        (
            ClassBytes("A").lambda_of(TOPOLOGY, "x", "()V"),
            [interface(TOPOLOGY, x=PUBLIC | ABSTRACT, y=PUBLIC | ABSTRACT)],
            "AbstractMethodError",
            "Topology#x()",
        ),
        (ClassBytes("A").lambda_of(TOPOLOGY, "x", "()V"), [of_kafka(TOPOLOGY)], "AbstractMethodError", "Topology#x()"),
    ],
)
def test_what_cannot_be_linked_has_the_error_of_java(written, new, error, text):
    assert {(error, text)} == problems(written, *new)


@pytest.mark.parametrize(
    ("written", "new"),
    [
        (ClassBytes(STREAMS + "Mine").calls(TOPOLOGY, "x").makes(TOPOLOGY), [of_kafka(TOPOLOGY, flags=0, x=0)]),
        (ClassBytes("A", TOPOLOGY).calls(TOPOLOGY, "x"), [of_kafka(TOPOLOGY, x=PROTECTED)]),
        (ClassBytes("A").calls(TOPOLOGY, "x"), [of_kafka(TOPOLOGY, "org/rocksdb/Other")]),
        (ClassBytes("A").lambda_of(TOPOLOGY, "x", "()V"), [interface(TOPOLOGY, x=PUBLIC | ABSTRACT, y=PUBLIC)]),
        (
            ClassBytes("A").lambda_of(TOPOLOGY, "x", "()V"),
            [interface(TOPOLOGY, x=PUBLIC | ABSTRACT, z=PUBLIC | STATIC)],
        ),
        (ClassBytes("A", flags=PUBLIC | ABSTRACT, interfaces=[TOPOLOGY]), [interface(TOPOLOGY, x=PUBLIC | ABSTRACT)]),
        (ClassBytes("A", interfaces=[TOPOLOGY]).method("x", code=b"\xb1"), [interface(TOPOLOGY, x=PUBLIC | ABSTRACT)]),
        (ClassBytes("A", "Unseen", [TOPOLOGY]), [interface(TOPOLOGY, x=PUBLIC | ABSTRACT)]),
        (ClassBytes("A", interfaces=["java/lang/Runnable", TOPOLOGY]), [interface(TOPOLOGY, x=PUBLIC | ABSTRACT)]),
        (
            ClassBytes("A", KAFKA_STREAMS, [TOPOLOGY, TOPOLOGY]).field("f").method("y", flags=PUBLIC | STATIC),
            [interface(TOPOLOGY, x=PUBLIC | ABSTRACT), of_kafka(KAFKA_STREAMS, x=PUBLIC, y=PUBLIC | FINAL)],
        ),
        (
            ClassBytes("A", TOPOLOGY).method("x", code=b"\xb1"),
            [of_kafka(TOPOLOGY, x=PUBLIC | FINAL | STATIC)],
        ),
    ],
)
def test_what_can_be_linked_or_stays_open_is_no_problem(written, new):
    assert set() == problems(written, *new)


def test_a_supertype_of_the_application_is_looked_into():
    base = ClassBytes("Base", flags=PUBLIC | ABSTRACT, interfaces=[TOPOLOGY]).method("x", code=b"\xb1")
    new = interface(TOPOLOGY, x=PUBLIC | ABSTRACT, y=PUBLIC | ABSTRACT)

    assert {("AbstractMethodError", "Topology#y()")} == problems(ClassBytes("A", "Base"), new, others=[base])


def test_a_member_that_a_class_of_the_application_inherits_is_resolved_through_its_supertypes():
    """javac writes the class of the receiver into the call: MyStreams#close(), not KafkaStreams#close()."""
    mine = ClassBytes("MyStreams", KAFKA_STREAMS).method("own", code=b"\xb1")
    caller = ClassBytes("A").calls("MyStreams", "close").calls("MyStreams", "own").makes("MyStreams")
    old, new = (code(of_kafka(KAFKA_STREAMS, **members)) for members in ({"close": PUBLIC}, {}))
    (problem,) = report([caller, mine], new, old).problems

    assert ("NoSuchMethodError", True) == (problem.error, problem.is_new)
    assert "org.apache.kafka.streams.KafkaStreams#close()" == problem.text
    assert ["A"] == [each.name for each in problem.referred_by]
    assert () == report([caller, mine], old, new).problems


@pytest.mark.parametrize(
    ("nearer", "problems_expected"), [(PUBLIC, 0), (PUBLIC | ABSTRACT, 1)], ids=["default", "abstract again"]
)
def test_the_most_specific_default_method_counts(nearer, problems_expected):
    base, sub = interface(TOPOLOGY, x=PUBLIC), interface(STREAMS + "Sub", TOPOLOGY, x=nearer)
    other = interface(STREAMS + "Other", x=PUBLIC | ABSTRACT)
    found = report([ClassBytes("A", interfaces=[other.name, sub.name, TOPOLOGY])], code(base, sub, other)).problems

    assert problems_expected == len(found)


def test_a_class_that_makes_a_method_abstract_again_has_no_code_for_it():
    again = of_kafka(KAFKA_STREAMS, interfaces=[TOPOLOGY], flags=PUBLIC | ABSTRACT, x=PUBLIC | ABSTRACT)

    assert {("AbstractMethodError", "KafkaStreams#x()")} == problems(
        ClassBytes("A", KAFKA_STREAMS), again, interface(TOPOLOGY, x=PUBLIC)
    )


def test_a_final_method_that_the_class_cannot_see_is_not_overridden():
    assert set() == problems(ClassBytes("A", TOPOLOGY).method("x", code=b"\xb1"), of_kafka(TOPOLOGY, x=FINAL))


def test_a_class_that_only_signatures_name_is_listed_apart():
    """Nothing fails until a framework, as Spring does, asks for the methods of the class."""
    written = ClassBytes("A").method("x", f"(L{GONE};L{TOPOLOGY};)V").method("y", f"(L{STREAMS}Mine;)V")
    found = report([written, ClassBytes("B").makes(GONE).method("x", f"()L{GONE};")], code(of_kafka(TOPOLOGY)))

    assert {GONE: ["A"]} == {name: [each.name for each in those] for name, those in found.signatures.items()}


def test_what_only_the_making_of_a_native_image_uses_stops_no_member():
    """KafkaRuntimeHints of spring-kafka names internal classes; a member never loads it."""
    hints = ClassBytes("A", interfaces=["org/springframework/aot/hint/RuntimeHintsRegistrar"]).calls(
        KAFKA_STREAMS, "close"
    )
    old, new = (code(of_kafka(KAFKA_STREAMS, **members)) for members in ({"close": PUBLIC}, {}))
    found = report([hints], new, old)

    assert () == found.new_problems
    assert {"class": "A", "library": None, "version": None, "build_time": True} == found.problems[0].referred_by[
        0
    ].as_json()
    assert 1 == len(report([hints, ClassBytes("B").calls(KAFKA_STREAMS, "close")], new, old).new_problems)


def test_what_was_missing_before_is_not_new():
    written = ClassBytes("A").calls(KAFKA_STREAMS, "close").calls(KAFKA_STREAMS, "open")
    old, new = (code(of_kafka(KAFKA_STREAMS, **members)) for members in ({"close": PUBLIC}, {}))
    found = report([written], new, old)

    assert [("close", True), ("open", False)] == [(each.member, each.is_new) for each in found.problems]
    assert ["close"] == [each.member for each in found.new_problems]


def test_the_classes_that_refer_to_it_are_named():
    written = [ClassBytes("b/B").calls(KAFKA_STREAMS, "close"), ClassBytes("a/A").calls(KAFKA_STREAMS, "close")]
    (problem,) = report(written, code(of_kafka(KAFKA_STREAMS)), library=OTHER).problems

    assert {
        "class": "org.apache.kafka.streams.KafkaStreams",
        "member": "close",
        "descriptor": "()V",
        "error": "NoSuchMethodError",
        "reason": "there is no such member",
        "new": False,
        "referred_by": [
            {"class": "a.A", "library": "spring-kafka", "version": "2.7.14"},
            {"class": "b.B", "library": "spring-kafka", "version": "2.7.14"},
        ],
    } == problem.as_json()
    (own,) = report([ClassBytes("A").makes(GONE)], code()).problems
    assert {"class": "A", "library": None, "version": None} == own.referred_by[0].as_json()
    assert (None, None) == (own.as_json()["member"], own.as_json()["descriptor"])
    assert ("your class", "library spring-kafka 2.7.14") == (str(OWN), str(OTHER))


def test_internal_classes_and_those_of_other_artifacts_are_listed():
    internal, other = STREAMS + "processor/internals/StreamThread", "org/apache/kafka/connect/json/JsonSerializer"
    written = ClassBytes("A").calls(internal, "x").makes(internal).makes(other).makes("org/apache/kafka/mine/B")
    found = report([written], code(of_kafka(internal, x=PUBLIC)), others=[ClassBytes("org/apache/kafka/mine/B")])

    assert ([internal], [other]) == ([*found.internal], [*found.unknown])
    assert (3, ()) == (found.references, found.problems)
    assert 1 == len(found.internal[internal])


def test_the_tables_of_releases_answer():
    """A problem of spring-kafka 2.7 on 4.x: setUncaughtExceptionHandler(UncaughtExceptionHandler) is gone (KIP-671)."""
    member = ("setUncaughtExceptionHandler", "(Ljava/lang/Thread$UncaughtExceptionHandler;)V")
    old, new = (code_of(RELEASES[name]) for name in ("2.8.2", "4.3.1"))
    found = report([ClassBytes("A").calls(KAFKA_STREAMS, *member)], new, old)

    assert [("NoSuchMethodError", True)] == [(each.error, each.is_new) for each in found.problems]


def test_a_member_that_became_private_is_there_and_not_accessible():
    """Java raises IllegalAccessError, also for a class in the same package."""
    for name in ("A", STREAMS + "A"):
        written = ClassBytes(name).calls(KAFKA_STREAMS, "close")
        assert {("IllegalAccessError", "KafkaStreams#close()")} == problems(
            written, of_kafka(KAFKA_STREAMS, close=PRIVATE)
        )


def test_a_private_final_method_can_be_overridden():
    near = STREAMS + "A"
    written = ClassBytes(near, KAFKA_STREAMS).method("close", code=b"\xb1")

    assert set() == problems(written, of_kafka(KAFKA_STREAMS, close=PRIVATE | FINAL))


def test_a_field_of_kafka_that_became_private_is_known_to_be_there():
    """TaskId#partition was public before 4.0."""
    written = ClassBytes("A").calls(f"{STREAMS}processor/TaskId", "partition", "I", opcode=GETFIELD, tag=9)
    old, new = (code_of(RELEASES[name]) for name in ("2.8.2", "4.3.1"))
    (found,) = report([written], new, old).new_problems

    assert ("IllegalAccessError", "partition") == (found.error, found.member)


SUPPLIER = STREAMS + "KafkaClientSupplier"
DECORATOR = STREAMS + "Decorator"
ONLY_THROWS = ("UnsupportedOperationException", "KafkaClientSupplier#close()")


@pytest.mark.parametrize(
    ("written", "others", "new", "expected"),
    [
        (ClassBytes("A", interfaces=[SUPPLIER]), [], [], {ONLY_THROWS}),
        (ClassBytes("A", interfaces=[SUPPLIER]).method("close"), [], [], set()),
        (ClassBytes("A", "B"), [ClassBytes("B", interfaces=[SUPPLIER]).method("close")], [], set()),
        (ClassBytes("A", "B"), [ClassBytes("B", interfaces=[SUPPLIER])], [], {ONLY_THROWS}),
        (ClassBytes("A", interfaces=[SUPPLIER], flags=PUBLIC | ABSTRACT), [], [], set()),
        (ClassBytes("A", "Unknown", interfaces=[SUPPLIER]), [], [], set()),
        (ClassBytes("A", interfaces=[DECORATOR]), [], [interface(DECORATOR, SUPPLIER, close=PUBLIC)], set()),
        (
            ClassBytes("A", interfaces=[SUPPLIER, DECORATOR]),
            [],
            [interface(DECORATOR, SUPPLIER, close=PUBLIC)],
            set(),
        ),
    ],
)
def test_a_default_that_only_throws_is_a_problem_unless_the_class_has_its_own(written, others, new, expected):
    assert expected == problems(written, interface(SUPPLIER, close=PUBLIC | THROWS), *new, others=others)


def test_a_default_that_threw_before_is_not_new():
    written, new = ClassBytes("A", interfaces=[SUPPLIER]), code(interface(SUPPLIER, close=PUBLIC | THROWS))

    assert [True] == [each.is_new for each in report([written], new, code(interface(SUPPLIER, close=PUBLIC))).problems]
    assert [False] == [each.is_new for each in report([written], new).problems]


@pytest.mark.parametrize(
    ("written", "new", "expected"),
    [
        (ClassBytes("A", interfaces=[SUPPLIER]).method("close"), [interface(SUPPLIER)], ["close"]),
        (ClassBytes("A", interfaces=[SUPPLIER]).method("close"), [interface(SUPPLIER, close=PUBLIC)], []),
        (ClassBytes("A", interfaces=[SUPPLIER]).method("open"), [interface(SUPPLIER)], []),
        (ClassBytes("A", interfaces=[SUPPLIER]).method("close", flags=STATIC), [interface(SUPPLIER)], []),
        (ClassBytes("A", interfaces=[SUPPLIER]).method("close"), [], []),
        (ClassBytes("A", "Unknown", interfaces=[SUPPLIER]).method("close"), [interface(SUPPLIER)], []),
        (ClassBytes("A", interfaces=[SUPPLIER]).method("secret"), [interface(SUPPLIER)], []),
    ],
)
def test_a_method_that_overrides_nothing_any_more_is_named(written, new, expected):
    old = code(interface(SUPPLIER, close=PUBLIC, secret=PRIVATE))
    found = report([written], code(*new), old).overrides_nothing

    assert expected == [each.member for each in found]
    assert all(("A",) == tuple(each.name for each in referrers) for referrers in found.values())


@pytest.mark.parametrize(
    ("origin", "target", "error"),
    [
        ("2.3.1", "2.8.2", set()),
        ("2.8.2", "3.0.0", {("UnsupportedOperationException", "getAdmin")}),
        ("2.8.2", "4.3.1", {("UnsupportedOperationException", "getAdmin")}),
        ("3.9.2", "4.3.1", set()),
    ],
)
def test_a_supplier_without_get_admin_fails_since_3_0(origin, target, error):
    """Seen with the jars: ``new KafkaStreams`` is made on 2.3.1 and 2.8.2, and throws on 3.9.2 and 4.3.1."""
    supplier = ClassBytes("A", interfaces=[SUPPLIER])
    for name in ("Producer", "Consumer", "RestoreConsumer", "GlobalConsumer"):
        kind = "producer/Producer" if name == "Producer" else "consumer/Consumer"
        supplier.method(f"get{name}", f"(Ljava/util/Map;)Lorg/apache/kafka/clients/{kind};")
    supplier.method("getAdminClient", "(Ljava/util/Map;)Lorg/apache/kafka/clients/admin/AdminClient;")
    found = report([supplier], code_of(RELEASES[target]), code_of(RELEASES[origin]))

    assert error == {(each.error, each.member) for each in found.new_problems}
    gone = ["getAdminClient"] if target >= "3.0" > origin else []
    assert gone == [each.member for each in found.overrides_nothing]


def test_a_partitioner_is_not_told_of_new_batches_since_4_0():
    name, descriptor = "onNewBatch", "(Ljava/lang/String;Lorg/apache/kafka/common/Cluster;I)V"
    partitioner = ClassBytes("A", interfaces=["org/apache/kafka/clients/producer/Partitioner"]).method(name, descriptor)
    found = report([partitioner], code_of(RELEASES["4.0.0"]), code_of(RELEASES["3.9.2"]))

    assert [name] == [each.member for each in found.overrides_nothing]
