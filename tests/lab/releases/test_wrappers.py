"""The table of wrappers beside their published jars and POMs."""

import tomllib

import pytest
from attrs import evolve

from tests.lab.releases.wrappers import SOURCES, TABLE, deletes_stores, derive_wrappers, linked_kafka, wrappers_text


@pytest.mark.parametrize(
    ("pom", "name", "expected"),
    [
        ("<artifactId>kafka-clients</artifactId>\n  <version>2.6.1</version>", "", "2.6.1"),
        ("<artifactId>kafka-streams</artifactId><version>3.3.2</version>", "kafka-streams", "3.3.2"),
        ("<kafka.version>3.6.2</kafka.version>", "kafka.version", "3.6.2"),
        ("<artifactId>kafka-streams</artifactId><version>${kafka}</version>", "kafka-streams", ""),
    ],
)
def test_a_pom_says_which_kafka_it_links(pom, name, expected):
    assert expected == linked_kafka(pom, name)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (b"\x2a\x03\x04\xb7\x00\x01\xb1", True),
        (b"\x2a\x03\x03\xb7\x00\x01\xb1", False),
        (b"\x2a\x03\xb5\x00\x02\x2a\x04\xb5\x00\x03\xb1", True),
        (b"", False),
    ],
)
def test_a_constructor_says_whether_stores_are_deleted(code, expected):
    assert expected is deletes_stores(code)


def test_the_stored_table_has_every_release_that_is_read():
    stored = tomllib.loads(TABLE.read_text(encoding="utf-8"))

    assert {source.name: list(source.releases) for source in SOURCES} == {
        name: [row["release"] for row in lines.values()] for name, lines in stored.items()
    }
    assert stored == tomllib.loads(wrappers_text(stored))


@pytest.mark.java
def test_some_rows_are_what_the_jars_and_poms_say():
    some = [evolve(each, releases=each.releases[2:5]) for each in SOURCES]
    stored = tomllib.loads(TABLE.read_text(encoding="utf-8"))

    for name, lines in derive_wrappers(some).items():
        assert lines == {line: stored[name][line] for line in lines}
