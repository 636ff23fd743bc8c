"""``release A --diff B``."""

import json

from click.testing import CliRunner

from streams_assignor.cli.release import release

TAKEN_FOR = ["7.6.1-ccs can be any release from 3.6.0 to 3.6.2; it is taken for 3.6.0"]


def output(*arguments):
    result = CliRunner().invoke(release, arguments)
    return result.exit_code, result.output


def test_it_prints_configuration_and_public_api():
    status, text = output("2.8.2", "--diff", "4.0.0")

    assert 0 == status
    for line in (
        "2.8.2 to 4.0.0",
        "  - streams partition.grouper",
        "  ~ consumer session.timeout.ms: default 10000 -> 45000",
        "  + streams task.assignor.class (STRING, default null)",
        "  - org.apache.kafka.streams.processor.PartitionGrouper",
    ):
        assert line in text.splitlines()
    assert (
        "accepts one of at_least_once, exactly_once, exactly_once_beta -> one of at_least_once, exactly_once_v2" in text
    )
    assert "what Streams sets for its clients and topics: 10 differences" in text
    assert "  ~ main.consumer: + group.protocol=classic" in text.splitlines()
    assert "  ~ main.consumer (exactly once): + group.protocol=classic, + internal.throw" in text
    assert "CONSUMER_DEFAULT_OVERRIDES" not in text
    assert (
        "  ~ NON_CONFIGURABLE_CONSUMER_DEFAULT_CONFIGS: [enable.auto.commit] -> [enable.auto.commit, group.protocol]"
        in text
    )
    assert ": abstract" in text
    assert "deprecated no -> yes" in text


def test_the_same_as_json():
    status, text = output("2.8.2", "--diff", "4.0.0", "--json")
    found = json.loads(text)

    assert 0 == status
    assert ("2.8.2", "4.0.0") == (found["from"], found["to"])
    timeout = next(each for each in found["configuration"] if each["key"] == "session.timeout.ms")
    assert {"config": "consumer", "key": "session.timeout.ms", "change": "changed", "default": ["10000", "45000"]} == {
        name: timeout[name] for name in ("config", "key", "change", "default")
    }
    assert {"class", "member", "descriptor", "change"} == set(found["api"][0])
    assert {"constant", "old", "new"} == set(found["overrides"][0])
    assert {"name": "kafka-streams", "old": 8, "new": 11} in found["dependencies"]["java"]
    assert {"name": "java.specification.version", "property": True, "old": {"defaults": []}, "new": None} in found[
        "environment"
    ]
    assert ("2.13", ["2.8.2", "4.0.0"]) == (found["scala"]["version"], found["scala"]["jars"])
    assert {"class", "member", "descriptor", "change"} == set(found["scala"]["api"][0])


def test_it_prints_libraries_java_native_code_and_environment():
    status, text = output("2.7.2", "--diff", "4.1.1")

    assert 0 == status
    for line in (
        "  - connect-json: the release has no such artifact, or needs none",
        "  - kafka-streams: org.apache.kafka:connect-json",
        "  ~ kafka-clients: com.github.luben:zstd-jni 1.4.5-6 (compile) -> 1.5.6-10 (runtime)",
        "  ~ kafka-streams: org.rocksdb:rocksdbjni 5.18.4 -> 9.7.3 (compile)",
        "  ~ native code of com.github.luben:zstd-jni: + aix-ppc64, + linux-loongarch64, + linux-mips64, "
        "+ linux-riscv64, + linux-s390x, + macos-aarch64, + windows-aarch64, - aix-ppc",
        "  + kafka-streams: com.fasterxml.jackson.core:jackson-annotations 2.19.0 (runtime)",
        "  ~ Java of kafka-streams: 8 -> 11",
        "environment: 11 differences",
        "  - system property zookeeper.sasl.client",
        '  + system property org.apache.kafka.sasl.oauthbearer.allowed.urls (default "")',
        "  + all environment variables",
        "  - org.apache.kafka.streams.scala.Serdes$",
    ):
        assert line in text.splitlines()


def test_what_streams_sets_for_topics_is_a_difference():
    text = output("1.1.1", "--diff", "2.8.2")[1]

    assert "  ~ UNWINDOWED_STORE_CHANGELOG_TOPIC_DEFAULT_OVERRIDES: + message.timestamp.type=CreateTime" in text
    assert "+ retention.ms=-1, - segment.index.bytes=52428800" in text
    assert "StreamPartitionAssignor -> org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor" in text


def test_another_scope_and_another_default_are_changes():
    text = output("3.9.0", "--diff", "4.4.0")[1]

    assert "  + kafka-streams: org.hamcrest:hamcrest 3.0 (runtime, optional)" in text
    assert (
        "  ~ kafka-clients: org.slf4j:slf4j-api 1.7.30 (compile) -> 1.7.30 (runtime)"
        in output("2.8.2", "--diff", "3.0.0")[1]
    )
    assert "JndiLoginModule -> default com.sun" in output("3.9.0", "--diff", "3.9.1")[1]


def test_it_says_which_jar_is_read_for_scala():
    text = output("4.0.2", "--diff", "4.4.0")[1]

    assert "  note: the jar of 4.3.1 is read, as that of 4.4.0 could not be had" in text
    assert (
        "public API for Scala: no version of Scala in common (none -> 2.12, 2.13)"
        in output("1.1.1", "--diff", "3.0.0")[1]
    )
    assert json.loads(output("1.1.1", "--diff", "3.0.0", "--json")[1])["scala"] is None


def test_a_key_without_a_default_is_required():
    assert "  + admin bootstrap.servers (LIST, required)" in output("0.10.2", "--diff", "0.11.0")[1]


def test_releases_that_are_equal_have_no_difference():
    same = ("configuration", "libraries", "environment", "public API", "public API for Scala 2.13")
    assert (0, "".join(["3.3.0 to 3.3.1\n", *(f"\n{each}: no difference\n" for each in same)])) == output(
        "3.3.0", "--diff", "3.3.1"
    )


def test_a_release_without_jars_is_refused():
    status, text = output("3.9", "--diff", "streams-assignor")

    assert 2 == status
    assert "expected a release that Kafka has published, got streams-assignor" in text


def test_a_name_of_a_vendor_says_which_release_it_is_taken_for():
    """The jars of a vendor were not read, and its patch level is not known."""
    compared = "7.6.1-ccs: settings and classes are compared with those of Apache Kafka 3.6.0"
    notes = ["Confluent Platform 7.6 contains Kafka 3.6", *TAKEN_FOR, compared]
    assert notes == json.loads(output("7.6.1-ccs", "--diff", "4.0.0", "--json")[1])["notes"]
    assert output("7.6.1-ccs", "--diff", "4.0.0")[1].splitlines()[1:4] == [f"note: {note}" for note in notes]
