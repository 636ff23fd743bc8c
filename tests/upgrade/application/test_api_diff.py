"""The tables of code: members through supertypes, and what differs between releases."""

import pytest

from streams_assignor.upgrade.application.api_diff import ApiChange, compare_api, resolve_member, supertypes
from streams_assignor.upgrade.application.class_file import (
    ABSTRACT,
    DEPRECATED,
    FINAL,
    INTERFACE,
    PROTECTED,
    PUBLIC,
    STATIC,
    SYNTHETIC,
)
from streams_assignor.upgrade.application.code import KafkaClass, classes_of_any_release, code_of, is_public
from streams_assignor.upgrade.releases import RELEASES

STREAMS = "org/apache/kafka/streams/"
OBJECT = KafkaClass("java/lang/Object", "java", PUBLIC, "", (), {("toString", "()S"): PUBLIC})


def kafka_class(name, superclass="java/lang/Object", interfaces=(), flags=PUBLIC, **members):
    found = {(member.replace("init", "<init>"), "()V"): each for member, each in members.items()}
    return KafkaClass(STREAMS + name, "kafka-streams", flags, superclass, tuple(interfaces), found)


def code(*classes):
    return {each.name: each for each in (*classes, OBJECT)}


def test_a_class_has_the_members_of_its_release():
    streams = {name: code_of(RELEASES[name])[f"{STREAMS}KafkaStreams"] for name in ("2.4.1", "2.5.0")}
    member = ("allMetadata", "()Ljava/util/Collection;")

    assert [True, True] == [member in each.members for each in streams.values()]
    assert ("java/lang/Object", "java/lang/AutoCloseable") == streams["2.4.1"].supertypes
    assert ("store", "(Lorg/apache/kafka/streams/StoreQueryParameters;)Ljava/lang/Object;") in streams["2.5.0"].members


def test_internal_classes_are_in_the_table_and_are_no_api():
    name = f"{STREAMS}processor/internals/StreamThread"

    assert name in code_of(RELEASES["4.4.0"])
    assert not is_public(name)
    assert is_public(f"{STREAMS}kstream/KStream")


def test_private_members_are_left_out():
    found = code_of(RELEASES["4.4.0"])[f"{STREAMS}KafkaStreams"]

    assert not any(name.startswith(("lambda$", "access$")) for name, _ in found.members)


def test_a_class_that_is_gone_is_one_of_any_release():
    gone = f"{STREAMS}processor/PartitionGrouper"

    assert gone in classes_of_any_release()
    assert gone not in code_of(RELEASES["4.4.0"])


def test_a_member_of_a_supertype_is_found():
    found = code(
        kafka_class("A", STREAMS + "B"),
        kafka_class("B", interfaces=[STREAMS + "I"], run=PUBLIC, init=PUBLIC),
        kafka_class("I", "", [STREAMS + "J", STREAMS + "J"], close=PUBLIC | ABSTRACT),
        kafka_class("J", "", flag=PUBLIC),
    )

    assert STREAMS + "B" == resolve_member(found, STREAMS + "A", ("run", "()V")).owner
    assert STREAMS + "I" == resolve_member(found, STREAMS + "A", ("close", "()V")).owner
    assert STREAMS + "J" == resolve_member(found, STREAMS + "A", ("flag", "()V")).owner
    assert "java/lang/Object" == resolve_member(found, STREAMS + "I", ("toString", "()S")).owner
    assert not resolve_member(found, STREAMS + "A", ("<init>", "()V")).owner
    assert STREAMS + "B" == resolve_member(found, STREAMS + "B", ("<init>", "()V")).owner


def test_a_member_may_be_in_a_supertype_that_is_not_in_the_table():
    found = code(kafka_class("A", "other/Base", ["other/I"]))
    resolved = resolve_member(found, STREAMS + "A", ("run", "()V"))

    assert ("", False) == (resolved.owner, resolved.is_complete)
    assert resolve_member(code(kafka_class("A")), STREAMS + "A", ("run", "()V")).is_complete


def test_a_circle_of_supertypes_ends():
    found = code(kafka_class("A", STREAMS + "B"), kafka_class("B", STREAMS + "A"))

    assert [STREAMS + "A", STREAMS + "B", "java/lang/Object"] == list(supertypes(found, STREAMS + "A"))


def test_each_kind_of_change_is_named():
    old = code(
        kafka_class("Gone"),
        kafka_class("Moved", run=PUBLIC),
        kafka_class("A", gone=PUBLIC, hidden=PUBLIC, bridge=PUBLIC | SYNTHETIC, a=PUBLIC, b=PUBLIC, c=PUBLIC | STATIC),
        kafka_class("I", ""),
        kafka_class("C", flags=INTERFACE | PUBLIC),
        kafka_class("Package", flags=0),
    )
    new = code(
        kafka_class("New", run=PUBLIC),
        kafka_class("Moved", STREAMS + "Base"),
        kafka_class("Base", flags=0, run=PUBLIC),
        kafka_class("A", flags=PUBLIC | FINAL, hidden=0, a=PUBLIC | DEPRECATED | STATIC, b=PROTECTED | FINAL, c=PUBLIC),
        kafka_class("I", "", flags=PUBLIC | INTERFACE | ABSTRACT, plain=PUBLIC, must=PUBLIC | ABSTRACT, own=0),
        kafka_class("C", flags=PUBLIC | DEPRECATED),
    )
    found = {(each.text.removeprefix("org.apache.kafka.streams."), each.change) for each in compare_api(old, new)}

    assert {
        ("Gone", "removed"),
        ("New", "added"),
        ("A", "final"),
        ("A#gone()", "removed"),
        ("A#hidden()", "removed"),
        ("A#a()", "deprecated"),
        ("A#a()", "static"),
        ("A#b()", "final"),
        ("A#c()", "not static"),
        ("I", "interface"),
        ("I", "abstract"),
        ("I#plain()", "added"),
        ("I#must()", "added, abstract"),
        ("C", "no interface"),
        ("C", "deprecated"),
    } == found


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (ApiChange("a/B$C", "", "", "removed"), "a.B.C"),
        (ApiChange("a/B$C", "<init>", "([JLa/X;)V", "removed"), "a.B.C#C(long[], X)"),
        (ApiChange("a/B", "F", "I", "removed"), "a.B#F"),
    ],
)
def test_a_change_is_written_as_in_java(change, text):
    assert text == change.text


def test_known_changes_of_releases_are_found():
    """Kafka's own list of what 4.0 removed (upgrade guide of Streams 4.0), and 3.0's (KAFKA-12419)."""
    to_4_0 = {
        each.text
        for each in compare_api(*(code_of(RELEASES[name]) for name in ("3.9.2", "4.0.0")))
        if each.change == "removed"
    }
    to_3_0 = {
        each.text
        for each in compare_api(*(code_of(RELEASES[name]) for name in ("2.8.2", "3.0.0")))
        if each.change == "removed"
    }
    package = "org.apache.kafka.streams."

    assert f"{package}kstream.KStream#transform(TransformerSupplier, String[])" in to_4_0
    assert f"{package}KafkaStreams#setUncaughtExceptionHandler(Thread.UncaughtExceptionHandler)" in to_4_0
    assert f"{package}kstream.KStream#through(String)" in to_4_0
    assert f"{package}processor.PartitionGrouper" in to_3_0
    assert f"{package}kstream.KStream#groupByKey(Serialized)" in to_3_0
    assert {
        "class": f"{package}processor.PartitionGrouper",
        "member": None,
        "descriptor": None,
        "change": "removed",
    } in [each.as_json() for each in compare_api(*(code_of(RELEASES[name]) for name in ("2.8.2", "3.0.0")))]
