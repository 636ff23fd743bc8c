"""The code of an application on another release."""

import pytest

from streams_assignor.upgrade.application.code_report import judge_code, release_of_files
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.releases import RELEASES, resolve_release
from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_archive import jar

STREAMS = "org/apache/kafka/streams/"
BUILDER = STREAMS + "scala/StreamsBuilder"
RECORD = "org/apache/kafka/clients/consumer/ConsumerRecord"


@pytest.fixture
def judged(tmp_path):
    def called(entries, origin="2.8.2", target="4.4.0"):
        path = tmp_path / "orders-1.0.jar"
        path.write_bytes(jar(entries))
        return judge_code([path], RELEASES[origin], RELEASES[target])

    return called


def scala():
    return ClassBytes("A").calls(BUILDER, "build", "()Lorg/apache/kafka/streams/Topology;").makes(BUILDER).bytes()


def missing(report):
    return {each.text.rpartition(".")[2] for each in report.linkage.new_problems}


def test_the_scala_api_is_that_of_the_scala_in_the_files(judged):
    """Kafka 4.0 and later have no artifact for Scala 2.12."""
    of_2_13 = {"A.class": scala(), "lib/scala-library-2.13.12.jar": jar({})}
    clients = {"lib/kafka-clients-2.8.2.jar": jar({})}
    of_2_12 = {"A.class": scala(), **clients, "lib/kafka-streams-scala_2.12-2.8.2.jar": jar({})}

    assert set() == missing(judged(of_2_13))
    assert {"StreamsBuilder"} == missing(judged(of_2_12))
    assert set() == missing(judged({"A.class": scala()}))  # a thin jar does not say
    assert "kafka-streams-scala of 4.4.0: its jar could not be had, that of 4.3.1 was read" in judged(of_2_13).not_seen
    assert not [each for each in judged(of_2_13, target="4.1.0").not_seen if "scala" in each]
    (lacking,) = {each.since for each in judged(of_2_12).facts.lacking}
    assert (4, 0, 0) == lacking


def test_a_member_without_a_row_has_the_methods_of_its_name(judged):
    """KafkaStreams#store(String) never existed: the table of replacements cannot know it."""
    written = ClassBytes("A").calls(STREAMS + "Topology", "addSink", "()V").calls(STREAMS + "Topology", "none", "()V")
    report = judged({"A.class": written.bytes()})
    (found,) = (each for each in report.linkage.problems if each.member == "addSink")

    assert found.text.endswith("Topology#addSink()")
    assert 3 == len(report.suggestions[found.text])
    assert report.suggestions[found.text] == tuple(report.problem_as_json(found)["candidates"])
    assert report.problem_as_json(found)["replacement"] is None


def test_a_thin_jar_needs_no_libraries_and_names_its_class_path(judged):
    manifest = {"META-INF/MANIFEST.MF": "Class-Path: lib/a.jar lib/b.jar\n"}
    report = judged({**manifest, "A.class": ClassBytes("A").bytes()})

    assert () == report.needs
    assert "its libraries: there are none in the files" == report.not_seen[1]
    assert "2 jars that a manifest names, such as lib/a.jar" == report.not_seen[2]


def test_java_of_the_files_stands_beside_that_of_the_release(judged):
    entries = {
        "A.class": ClassBytes("A", java=8).bytes(),
        "lib/b-1.jar": jar({"B.class": ClassBytes("B", java=17).bytes()}),
    }
    report = judged(entries)

    assert (17, "library b 1", 11) == (report.java, report.java_library, report.needed_java)
    only_kafka = judged({"lib/kafka-clients-2.8.2.jar": jar({})})
    assert (0, "") == (only_kafka.java, only_kafka.java_library)


@pytest.mark.parametrize(("target", "java"), [("4.0.0", 17), ("4.0.2", 11), ("4.1.1", 17), ("4.1.2", 11), ("3.9.2", 8)])
def test_java_is_that_of_the_jar_for_scala(judged, target, java):
    of_2_13 = {"A.class": scala(), "lib/scala-library-2.13.12.jar": jar({})}

    assert java == judged(of_2_13, target=target).needed_java


def test_files_without_any_class_are_no_application(judged):
    """A jar of sources was safe, with nothing that the release lacks."""
    with pytest.raises(UpgradeError, match=r"^expected class files of an application in .*orders-1\.0\.jar, got none$"):
        judged({"com/Orders.java": b"class Orders {}"})


def test_what_is_called_instead_is_not_said_on_the_way_to_an_older_release(judged):
    """0.11 has no close(Duration), and was said to want close(Duration) instead."""
    closes = ClassBytes("A").calls(STREAMS + "KafkaStreams", "close", "(Ljava/time/Duration;)Z").bytes()
    (older,) = judged({"A.class": closes}, "4.3.1", "0.11.0.3").linkage.new_problems
    report = judged({"A.class": closes}, "4.3.1", "0.11.0.3")
    found = report.problem_as_json(older)

    assert (None, ["close()", "close(long, TimeUnit)"]) == (found["replacement"], found["candidates"])


def test_a_copy_of_kafka_is_in_the_report(judged):
    copy = {f"x/kafka/{name}.class": b"" for name in ("common/TopicPartition", "clients/CommonClientConfigs")}
    (found,) = judged({"lib/x-1.jar": jar(copy)}).relocated

    assert {
        "package": "x.kafka",
        "artifact": "kafka-clients",
        "library": "library x 1",
        "read_as_kafka": False,
    } == found.as_json()


def test_a_release_without_streams_needs_nothing(judged):
    jars = {"lib/kafka-clients-0.10.0.0.jar": jar({}), "lib/a-1.jar": jar({})}

    assert isinstance(judged(jars, "0.10.0.1", "4.4.0").needs, tuple)


def test_kafka_streams_of_the_release_beside_an_older_artifact_is_mixed_after(judged):
    admin = "org/apache/kafka/clients/admin/Admin"
    streams = ClassBytes(STREAMS + "KafkaStreams").calls(admin, "none", "()V", 0xB9, 11)
    jars = {
        "lib/kafka-streams-4.4.0.jar": jar({STREAMS + "KafkaStreams.class": streams.bytes()}),
        "lib/kafka-clients-3.6.2.jar": jar({}),
    }
    assert judged(jars).is_mixed_after
    assert not judged(jars, target="4.3.1").is_mixed_after
    assert not judged({"lib/kafka-clients-3.6.2.jar": jar({})}).is_mixed_after


def build(streams):
    return {
        "A.class": ClassBytes("A").makes(STREAMS + "KafkaStreams").bytes(),
        f"lib/kafka-streams-{streams}.jar": jar({}),
    }


@pytest.mark.parametrize(
    ("versions", "named", "expected"),
    [
        (("2.8.0",), "2.8", "2.8.0"),
        (("2.8.0",), "2.8.1", "2.8.1"),  # what the user says counts
        (("2.7.0",), "2.8", "2.8.2"),
        (("2.8.0", "2.8.1"), "2.8", "2.8.2"),
        ((), "2.8", "2.8.2"),
    ],
)
def test_the_patch_level_of_from_is_that_of_the_files(judged, versions, named, expected):
    report = judged({"A.class": b"", **{name: content for each in versions for name, content in build(each).items()}})

    assert expected == report.origin(resolve_release(named)).release.name


@pytest.mark.parametrize(("version", "is_noted"), [("2.8.2", False), ("4.4.0", False), ("3.9.0", True)])
def test_files_with_neither_release_are_asked_about(judged, version, is_noted):
    notes = [*judged(build(version)).notes(resolve_release("2.8.2"), resolve_release("4.4.0"))]

    assert is_noted is bool(notes)
    assert not is_noted or notes[0].startswith("kafka-streams in the files is 3.9.0, neither 2.8.2 nor 4.4.0: ")


def test_a_build_has_one_release(tmp_path):
    one, none = tmp_path / "one.jar", tmp_path / "none.jar"
    one.write_bytes(jar(build("3.9.0")))
    none.write_bytes(jar({"A.class": b""}))

    assert "3.9.0" == release_of_files([one])
    with pytest.raises(UpgradeError, match=r"expected kafka-streams of one release in .*none\.jar, got none"):
        release_of_files([none])
    with pytest.raises(UpgradeError, match="cannot read "):
        release_of_files([tmp_path / "missing.jar"])
