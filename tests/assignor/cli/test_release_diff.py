"""``release A --diff B``."""

import json

from click.testing import CliRunner

from assignor.cli.release import release

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
    assert "what Streams sets for its clients: " in text
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


def test_a_key_without_a_default_is_required():
    assert "  + admin bootstrap.servers (LIST, required)" in output("0.10.2", "--diff", "0.11.0")[1]


def test_releases_that_are_equal_have_no_difference():
    assert (0, "4.2.0 to 4.2.1\n\nconfiguration: no difference\n\npublic API: no difference\n") == output(
        "4.2.0", "--diff", "4.2.1"
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
