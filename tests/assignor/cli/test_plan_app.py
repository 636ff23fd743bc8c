"""``plan --app``: which classes and members of Kafka an application loses."""

import json

import pytest
from click.testing import CliRunner

from streams_assignor.cli.plan.command import plan
from streams_assignor.formats.display import DisplayOptions
from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_archive import jar

STREAMS = "org/apache/kafka/streams/"
GONE = STREAMS + "processor/PartitionGrouper"
INTERNAL = STREAMS + "processor/internals/StreamThread"
OTHER = "org/apache/kafka/connect/json/JsonSerializer"
ORDERS = ClassBytes("com/example/Orders").makes(GONE).makes(INTERNAL).makes(OTHER).bytes()
LIBRARY = jar({"org/s/S.class": ClassBytes("org/s/S").makes(GONE).bytes()})
CLIENTS = jar(
    {"META-INF/maven/g/a/pom.properties": "groupId=org.apache.kafka\nartifactId=kafka-clients\nversion=2.8.1\n"}
)


@pytest.fixture
def run(tmp_path):
    def called(*arguments, entries):
        path = tmp_path / "orders.jar"
        path.write_bytes(entries if isinstance(entries, bytes) else jar(entries))
        return CliRunner().invoke(plan, [*arguments, "--app", str(path)])

    return called


FAT = {
    "BOOT-INF/classes/com/example/Orders.class": ORDERS,
    "BOOT-INF/lib/spring-kafka-2.7.14.jar": LIBRARY,
    "BOOT-INF/lib/kafka-clients-2.8.1.jar": CLIENTS,
    "BOOT-INF/classes/B.class": b"org/apache/kafka/",
}


def test_a_class_that_is_gone_makes_the_plan_unsafe(run):
    result = run("2.8", "4.3", entries=FAT)
    lines = result.output.splitlines()

    assert 1 == result.exit_code
    assert "2.8.2 to 4.3.1: unsafe: the code refers to what 4.3.1 lacks, see below" == lines[0]
    assert any(line.startswith("- unreadable files: 1: ") and line.endswith("classes/B.class") for line in lines)
    for line in (
        "- NoClassDefFoundError: org.apache.kafka.streams.processor.PartitionGrouper: there is no such class; "
        "your class com.example.Orders and 1 more",
        "- internal classes of Kafka that are still there: 1 (-v)",
        "- of other artifacts of Kafka, which are not looked up: org.apache.kafka.connect.json.JsonSerializer",
        "- kafka-clients in the files: 2.8.1",
        "- not seen: reflection, native images, agents besides, names of metrics, and whether a line ever runs",
    ):
        assert line in lines
    assert ", the references of your code; not checked: your configuration, " in lines[-1]


def test_all_that_refer_to_it_are_shown_with_v(run):
    text = run("2.8", "4.3", "-v", entries=FAT).output

    assert "; your class com.example.Orders, library spring-kafka 2.7.14 org.s.S\n" in text
    assert "- internal, and still there: org.apache.kafka.streams.processor.internals.StreamThread; your class" in text


def test_the_same_as_json_and_as_a_runbook(run):
    found = json.loads(run("2.8", "4.3", "--json", entries=FAT).output)
    (missing,) = found["missing"]

    assert ("org.apache.kafka.streams.processor.PartitionGrouper", None) == (missing["class"], missing["member"])
    assert [("com.example.Orders", None), ("org.s.S", "spring-kafka")] == [
        (each["class"], each["library"]) for each in missing["referred_by"]
    ]
    assert {"kafka-clients": ["2.8.1"]} == found["application"]["kafka"]
    assert [{"name": "spring-kafka", "version": "2.7.14"}] == found["application"]["libraries"]
    assert [OTHER.replace("/", ".")] == [each["class"] for each in found["application"]["unknown"]]
    markdown = run("2.8", "4.3", "-o", "markdown", entries=FAT).output
    assert (
        "- [ ] NoClassDefFoundError: org.apache.kafka.streams.processor.PartitionGrouper: there is no such" in markdown
    )


def test_what_was_missing_before_leaves_the_verdict(run):
    result = run("3.9", "4.3", entries={"com/example/Orders.class": ORDERS})

    assert 3 == result.exit_code
    assert "there is no such class; missing in FROM, too; your class com.example.Orders" in result.output
    assert "; its libraries: there are none in the files" in result.output


def test_different_releases_of_kafka_in_the_files_are_named(run):
    fat = {f"lib/kafka-clients-{version}.jar": jar({}) for version in ("2.8.1", "3.1.0")}
    text = run("3.9", "4.3", entries=fat).output

    assert "- kafka-clients in the files: 2.8.1, 3.1.0\n- different releases of Kafka in the files, " in text
    assert "kafka-clients is the oldest: Kafka's references resolve\n" in text


def test_kafka_streams_that_misses_something_of_an_older_kafka_clients_blocks(run):
    admin = "org/apache/kafka/clients/admin/Admin"
    streams = ClassBytes(STREAMS + "KafkaStreams").calls(admin, "none", "()V", 0xB9, 11).bytes()
    fat = {
        "lib/kafka-streams-4.3.1.jar": jar({STREAMS + "KafkaStreams.class": streams}),
        "lib/kafka-clients-3.6.2.jar": jar({}),
        "lib/spring-boot-3.2.1.jar": jar({}),
    }
    result = run("3.9", "4.3", entries=fat)

    assert 1 == result.exit_code
    assert "unsafe: Kafka's artifacts in the files do not fit together, see below" in result.output
    assert ": 1 references of Kafka's own fail; kept by: Spring Boot 3.2.1, which names the version\n" in result.output
    assert "- NoSuchMethodError: org.apache.kafka.clients.admin.Admin#none(): " in result.output


def test_what_to_call_instead_follows_what_is_lost(run):
    through = ClassBytes("A").calls(
        STREAMS + "kstream/KStream", "through", f"(Ljava/lang/String;)L{STREAMS}kstream/KStream;", 0xB9, 11
    )
    sink = through.calls(STREAMS + "Topology", "addSink", "()V")
    text = run("3.9", "4.3", entries={"A.class": sink.bytes()}).output

    assert "    use to(topic) and StreamsBuilder#stream(topic), or repartition(); " in text
    assert "    4.3.1 has addSink(" in text


def test_libraries_are_evidence_in_the_same_order_in_each_process(run):
    """Two runs of the same plan named different libraries first."""
    entries = {f"lib/brave-{name}-5.12.7.jar": jar({f"b/{name}.class": b""}) for name in "hcafbdgeji"}
    found = json.loads(run("2.8", "3.9", "--json", entries={"com/A.class": ORDERS, **entries}).output)
    evidence = next(each["because"] for each in found["hazards"] if each["name"] == "agents-beside")

    assert [f"brave-{name} 5.12.7 is there" for name in "abcdefghij"] == evidence


def test_a_terminal_gets_one_line_for_each_remedy(run, monkeypatch):
    """A plan of a Spring Boot service had 237 lines there, most of them the same remedy of one library."""
    monkeypatch.setattr(DisplayOptions, "of_output", lambda verbose: DisplayOptions(verbose, columns=80, rows=50))
    windows = (STREAMS + "kstream/TimeWindows", f"(Ljava/time/Duration;)L{STREAMS}kstream/TimeWindows;")
    own = ClassBytes("com/A").makes(GONE)
    for name in ("of", "grace"):
        own = own.calls(windows[0], name, windows[1])
    library = ClassBytes("b/B").makes(GONE).calls(windows[0], "of", windows[1]).makes(OTHER)
    entries = {
        "com/A.class": own.bytes(),
        "lib/brave-5.12.7.jar": jar({"b/B.class": library.bytes()}),
        **{f"lib/{name}-2.8.1.jar": jar({}) for name in ("kafka-clients", "kafka-streams")},
    }
    lines = run("2.8", "4.3", entries=entries).output.splitlines()

    for line in (
        "- TimeWindows#grace(Duration) (A), TimeWindows#of(Duration) (A): use",
        "- use another version of library brave 5.12.7, one that is made for Kafka 4.3.1:",
        "  2 references (-v)",
        "- kafka-clients, kafka-streams in the files: 2.8.1",
    ):
        assert line in lines
    assert any(line.startswith("- PartitionGrouper (A): ") for line in lines)


def test_what_only_the_making_of_a_native_image_uses_leaves_the_verdict(run):
    hints = ClassBytes("A", interfaces=["org/springframework/aot/hint/RuntimeHintsRegistrar"]).makes(GONE)
    result = run("2.8", "4.3", entries={"A.class": hints.bytes()})

    assert 3 == result.exit_code
    assert "there is no such class; only while a native image is made; your class A" in result.output


def test_copies_signatures_libraries_and_java_have_lines(run):
    copy = {f"x/kafka/{name}.class": b"" for name in ("common/TopicPartition", "clients/CommonClientConfigs")}
    entries = {
        "A.class": ClassBytes("A").method("x", f"(L{GONE};)V").makes(STREAMS + "Topology").bytes(),
        "lib/x-1.jar": jar(copy),
        "lib/zstd-jni-1.3.0-1.jar": jar({"Z.class": ClassBytes("Z").bytes()}),
    }
    text = run("2.8", "4.3", entries=entries).output

    for line in (
        "- missing: org.apache.kafka.streams.processor.PartitionGrouper: only in a signature, ",
        "- a copy of kafka-clients as x.kafka, which stays as it is: library x 1",
        "- older: the files have zstd-jni 1.3.0-1, com.github.luben:zstd-jni ",
        "- 4.3.1 needs Java 11; the files need Java 8, so look at what runs them",
    ):
        assert line in text
    newer = {"A.class": ClassBytes("A", java=17).bytes()}
    assert "- Java: the files need 17 (your class), 4.3.1 needs 11\n" in run("2.8", "4.3", entries=newer).output


def test_of_an_assumed_release_nothing_is_checked(run):
    text = run("4.2", "4.9", "--assume", "4.3", entries={"A.class": ClassBytes("A").bytes()}).output

    assert text.splitlines()[-1].startswith("not checked: ")


def test_code_without_kafka_loses_nothing(run):
    result = run("3.9", "4.3", entries={"A.class": ClassBytes("A").bytes()})

    assert 3 == result.exit_code
    assert ": 1 classes, 0 classes and members of Kafka, 0 that 4.3.1 lacks" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("2.8", "4.3"), "expected a jar, a class file or a folder"),
        (("--brokers", "2.8", "4.3"), "--app are for a Streams group"),
        (("4.3", "4.3"), "--config and --app need two releases"),
        (("2.8", "4.3", "--own", "x"), "expected a jar, a class file or a folder"),
    ],
)
def test_what_cannot_be_read_or_compared_is_refused(run, arguments, message):
    result = run(*arguments, entries=b"text")

    assert 2 == result.exit_code
    assert message in " ".join(result.output.split())


def test_own_needs_code_and_something_that_fits(run):
    assert "--own needs --app" in CliRunner().invoke(plan, ["2.8", "4.3", "--own", "x"]).output
    assert "--own: expected the name of a jar" in run("2.8", "4.3", "--own", "x", entries=FAT).output
    assert "library orders.jar com.example.Orders" in run("2.8", "4.3", "-v", "--own", "org.s", entries=FAT).output


def test_a_file_that_cannot_be_opened_is_refused(run, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied", "orders.jar")

    monkeypatch.setattr("streams_assignor.upgrade.application._zip_files.ZipFile", refuse)

    assert "cannot read orders.jar: Permission denied" in run("2.8", "4.3", entries=FAT).output


def test_two_builds_are_compared_without_names_of_releases(tmp_path):
    for name, version in (("old", "2.8.1"), ("new", "4.3.1")):
        content = jar({"com/example/Orders.class": ORDERS, f"lib/kafka-streams-{version}.jar": jar({})})
        (tmp_path / f"{name}.jar").write_bytes(content)
    old, new = (str(tmp_path / f"{name}.jar") for name in ("old", "new"))
    result = CliRunner().invoke(plan, ["--from-app", old, "--to-app", new])

    assert 1 == result.exit_code
    assert result.output.startswith("2.8.1 to 4.3.1: unsafe: the code refers to what 4.3.1 lacks, see below\n")
    for wrong in (["--from-app", old], ["2.8", "4.3", "--from-app", old, "--to-app", new], ["--to-app", new]):
        assert "--from-app and --to-app go together" in CliRunner().invoke(plan, wrong).output
    assert 2 == CliRunner().invoke(plan, ["--from-app", old, "--to-app", old]).exit_code


def test_from_is_in_the_patch_level_of_the_files(run):
    entries = {"com/example/Orders.class": ORDERS, "lib/kafka-streams-2.8.1.jar": jar({})}

    assert "2.8.1" == json.loads(run("2.8", "4.3", "--json", entries=entries).output)["from"]
    assert "neither 3.9.2 nor 4.3.1" in run("3.9", "4.3", entries=entries).output
