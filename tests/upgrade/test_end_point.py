"""`application.server` is read as Kafka's jars read it."""

import json

import pytest

from streams_assignor.upgrade import OURS, ConfigException, StreamsConfig, release_named
from streams_assignor.upgrade.config_types import MAX_HOST_LENGTH, EndPointFormat, parse_end_point
from streams_assignor.upgrade.release_behaviour import behaviour_of
from tests.lab.integration.kafka_jars import Unavailable
from tests.upgrade.end_points import FILE, JARS, ask, drawn, systematic

ROWS = [json.loads(line) for line in FILE.open()]


def read(text, release):
    accepted = behaviour_of(tuple(map(int, release.split(".")))).end_point_format
    try:
        found = parse_end_point(text, accepted)
    except ConfigException:
        return "refused"
    return list(found) if found else None


@pytest.mark.parametrize(("place", "release"), [*enumerate(JARS, 1)], ids=JARS)
def test_it_finds_what_the_jars_found(place, release):
    for row in ROWS:
        assert row[place] == read(row[0], release), row[0]


SAME = [("3.7.2", "2.8.2"), ("3.8.0", "4.3.1"), ("3.8.1", "4.3.1"), ("3.9.0", "4.3.1"), ("3.9.1", "3.9.2")]
"""Other releases, and the jar that reads as they do: 3.9.1 went back to the reader of 3.7."""


@pytest.mark.parametrize(("release", "jar"), SAME)
def test_it_finds_what_the_jar_of_the_same_reader_found(release, jar):
    for row in ROWS:
        assert row[1 + JARS.index(jar)] == read(row[0], release), row[0]


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("release", [*JARS, *(release for release, _ in SAME)])
def test_it_finds_what_the_jar_finds_in_thousands_of_texts(release):
    texts = [*systematic(), *drawn(4000)]
    try:
        expected = ask(release, texts)
    except Unavailable as missing:
        pytest.skip(f"no Kafka Streams {release}: {missing}")

    actual = [read(text, release) for text in texts]

    assert [*zip(texts, expected, strict=True)] == [*zip(texts, actual, strict=True)]
    assert 300 < len([each for each in expected if isinstance(each, list)])


def test_formats_that_accept_a_text_find_the_same():
    for text in [*systematic(), *drawn(1000)]:
        found = [read(text, release) for release in JARS]
        accepted = [each for each in found if each != "refused"]

        assert all(each == found[0] for each in accepted), text  # 2.8.2 accepts whatever a later release accepts


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("http://host:8080", ("host", 8080)),
        ("PLAINTEXT://host:8080", ("host", 8080)),
        ("[::1]:8080", ("::1", 8080)),
        ("x" * MAX_HOST_LENGTH + ":0080", ("x" * MAX_HOST_LENGTH, 80)),
        ("", None),
        ("\t", None),
    ],
)
def test_it_finds_host_and_port(address, found):
    assert found == parse_end_point(address, OURS.behaviour.end_point_format)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("localhost", "Error parsing host address 'localhost'. Expected format host:port."),
        ("a:b", "Error parsing host address 'a:b'"),
        ("80", "Error parsing host address '80'"),
        ("a:2147483648", "Invalid port supplied in 'a:2147483648' for config application.server"),
        ("a:" + "9" * 5000, "Invalid port supplied"),
        (
            "a" * (MAX_HOST_LENGTH + 1) + ":80",
            "a host name of at most 65535 characters in application.server, got 65536",
        ),
    ],
)
def test_a_configuration_refuses_what_every_release_refuses(address, text):
    with pytest.raises(ConfigException) as error:
        StreamsConfig.of({"application.server": address})

    assert text in str(error.value)


def test_a_host_without_a_name_is_refused_since_4_4():
    assert ("", 80) == parse_end_point(":80", behaviour_of((4, 3, 1)).end_point_format)
    with pytest.raises(ConfigException):
        parse_end_point(":80", behaviour_of((4, 4, 0)).end_point_format)


@pytest.mark.parametrize("release", ["2.8.2", "3.9.2"])
def test_text_before_the_host_is_accepted_up_to_3_9(release):
    config = StreamsConfig(application_server="user@host:80")

    assert ("host", 80) == config.end_point(release_named(release))
    with pytest.raises(ConfigException):
        config.end_point(release_named("4.0"))


def test_the_reading_of_a_long_text_is_linear():
    for accepted in EndPointFormat:
        for text in ("a" * 10**6, "a:" * 10**6, "[" * 10**6 + ":80", "a://" * 10**6 + ":80", "9" * 10**6):
            with pytest.raises(ConfigException):
                parse_end_point(text + "\n", accepted)
