"""The protocol versions of brokers, and the releases that support them."""

import re

import pytest

from streams_assignor.upgrade.cluster.brokers.protocol_versions import (
    NEWEST_OF_LINE,
    VERSIONS,
    MetadataMode,
    broker_release,
    version_named,
)
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.levels_of_releases import CATALOGS, NEWEST_CATALOG, PRE_KRAFT_VERSIONS
from streams_assignor.upgrade.errors import UnknownLevel, UnknownRelease


def test_every_version_of_kafkas_table_is_there_once_and_in_its_order():
    released = [level.name for level in CATALOGS["3.9"].levels[METADATA_VERSION] if level.is_production]
    names = [version.name for version in VERSIONS]

    assert [*PRE_KRAFT_VERSIONS, *released] == names[: len(PRE_KRAFT_VERSIONS) + len(released)]
    newest = NEWEST_CATALOG.latest_production
    assert [newest.name, newest.number] == [VERSIONS[-1].name, VERSIONS[-1].level]
    assert len(set(names)) == len(names)
    assert sorted(VERSIONS) == list(VERSIONS)


@pytest.mark.unmeasured
@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_a_version_is_read_by_its_name_and_written_so_that_it_is_read_again(version):
    assert version == version_named(version.name) == version_named(version.config_value)


def test_text_after_the_numbers_of_the_line_is_ignored():
    """Seen in 2.1.1, 2.8.2 and 3.9.2, which all take 2.1.0-IV0: it looks like 2.1-IV0 and is not."""
    for text in ("2.1", "2.1.0", "2.1.1", "2.1.0-IV0", "2.1.x"):
        assert "2.1-IV2" == version_named(text).name
    for text in ("0.10.0", "0.10.0.1", "0.10.0-IV1"):
        assert "0.10.0-IV1" == version_named(text).name


@pytest.mark.parametrize("text", ["", "2", "0.10", "banana", "2.9", "9.4", "2.1-IV9", " 2.1", "-1", "2..1"])
def test_an_unknown_version_is_refused_with_the_known_ones(text):
    with pytest.raises(UnknownLevel, match=rf"is not a valid version; known are 0\.8\.0 to {VERSIONS[-1]}"):
        version_named(text)


@pytest.mark.parametrize(
    ("name", "message_format"), [("0.9.0", 0), ("0.10.0-IV0", 1), ("0.10.2", 1), ("0.11.0-IV0", 2)]
)
def test_a_version_has_a_message_format(name, message_format):
    assert message_format == version_named(name).message_format


@pytest.mark.parametrize(
    ("name", "schemas"),
    [
        ("0.10.0", (0, 1)),
        ("0.10.1-IV0", (1, 1)),
        ("2.0", (1, 1)),
        ("2.1-IV0", (2, 2)),
        ("2.1-IV1", (2, 3)),
        ("2.3-IV0", (3, 3)),
        ("3.9", (3, 3)),
    ],
)
def test_a_version_has_schemas_of_groups_and_offsets(name, schemas):
    assert schemas == version_named(name).schemas


@pytest.mark.parametrize(
    "line", [line for line, version in NEWEST_OF_LINE.items() if version >= version_named("0.8.2")]
)
def test_a_release_has_the_newest_version_of_its_line(line):
    release = broker_release(line)

    assert (line, NEWEST_OF_LINE[line]) == (release.line, release.newest)
    assert release.newest == broker_release(f"{line}.1").newest
    assert release == broker_release(f"{line}.x")
    assert release.number < broker_release(f"{line}.1").number


@pytest.mark.parametrize("name", ["", "2", "2.9", "9.4", "0.8.1", "2.1.1.1", "2.1-IV0", "2.1.", "2.1.x.x", "２.1"])
def test_an_unknown_release_is_refused_with_the_known_ones(name):
    with pytest.raises(UnknownRelease, match=rf"known are 0\.8\.2 to {VERSIONS[-1].line}, a line such as 2\.1"):
        broker_release(name)


@pytest.mark.parametrize(
    ("name", "modes"),
    [
        ("2.8.2", (MetadataMode.ZOOKEEPER,)),
        ("3.0", (MetadataMode.ZOOKEEPER, MetadataMode.KRAFT)),
        ("3.9.2", (MetadataMode.ZOOKEEPER, MetadataMode.KRAFT)),
        ("4.0", (MetadataMode.KRAFT,)),
    ],
)
def test_a_release_has_its_modes(name, modes):
    assert modes == broker_release(name).modes


@pytest.mark.parametrize(("name", "spelling"), [("4.9", "4.9~4.3"), ("4.9.1", "4.9.1~4.3"), ("4.2", "4.2")])
def test_a_release_newer_than_the_table_may_be_assumed_to_be_like_another(name, spelling):
    found = broker_release(name, assume="4.3")

    assert spelling == found.spelling
    assert found == broker_release(spelling)


@pytest.mark.parametrize("name", ["2.9", "x", "4.9-what"])
def test_only_a_newer_release_may_be_assumed_to_be_like_another(name):
    with pytest.raises(UnknownRelease):
        broker_release(name, assume="4.3")


def test_an_unknown_newer_release_names_the_option():
    with pytest.raises(UnknownRelease, match=rf"--assume {re.escape(VERSIONS[-1].line)} treats it like that line"):
        broker_release("4.9")


@pytest.mark.parametrize("name", ["5.0", "7.6.1", "8.3", "8.9", "24.1"])
def test_a_number_of_confluent_platform_is_never_assumed_to_be_one_of_kafka(name):
    with pytest.raises(UnknownRelease, match=r"for Confluent Platform write|it is no number of Kafka 4"):
        broker_release(name, assume="4.3")


@pytest.mark.parametrize(
    ("name", "number", "reading"),
    [
        ("cp-7.6", "3.6", "Confluent Platform 7.6 contains Kafka 3.6; the first release of the line counts"),
        ("7.6.1-ccs", "3.6", "Confluent Platform 7.6 contains Kafka 3.6; the first release of the line counts"),
        ("3.6.x", "3.6", "3.6.x is any release of its line; the first release of the line counts"),
        ("3.6.9", "3.6.9", "3.6.9 is not in the table of this version; the first release of the line counts"),
        ("2.8.2.tiered", "2.8.2", "Amazon's build of Kafka 2.8.2, whose own changes are not known"),
        ("0.8.2.9", "0.8.2.9", ""),
    ],
)
def test_a_vendors_name_and_an_unknown_patch_level_count_as_the_first_release_of_the_line(name, number, reading):
    found = broker_release(name)

    assert (number, reading) == (found.name, "".join(found.reading))
    assert found.known_number == broker_release(number if number in {"2.8.2", "0.8.2.9"} else found.line).number


def test_a_name_that_says_kraft_has_no_other_mode():
    assert (MetadataMode.KRAFT,) == broker_release("3.7.x.kraft").modes
    assert 2 == len(broker_release("3.7.x").modes)


@pytest.mark.parametrize(("name", "reason"), [("cp-9.0", "Platform 9.0 is not in"), ("3.6.0-acme", "'-acme'")])
def test_a_vendors_name_of_brokers_that_is_not_read_is_refused_with_the_reason(name, reason):
    with pytest.raises(UnknownRelease, match=reason):
        broker_release(name)
