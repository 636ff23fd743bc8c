"""The tables of levels, against what Kafka's jars say."""

import json
from pathlib import Path

import pytest

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION, FeatureCatalog, FeatureLevel
from streams_assignor.upgrade.cluster.features.levels_of_releases import (
    CATALOGS,
    NEWEST_CATALOG,
    PRE_KRAFT_VERSIONS,
    catalog_of,
)
from streams_assignor.upgrade.errors import UnknownFeature, UnknownLevel

EXPORTED = Path(__file__).parents[3] / "vectors/features"


def exported(name):
    return json.loads((EXPORTED / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
def test_metadata_version_is_the_table_of_the_jar(release):
    table = exported(f"metadata_versions_{release}")
    catalog = catalog_of(release.rpartition(".")[0])
    old = [name for name in PRE_KRAFT_VERSIONS if catalog.levels[METADATA_VERSION][0].number == 1]
    levels = [
        (each.name, each.number, each.line, each.did_metadata_change, each.is_production)
        for each in catalog.levels[METADATA_VERSION]
    ]

    assert [
        (row["version"], row["level"], row["release"], row["did_metadata_change"], row["production"])
        for row in table["versions"]
    ] == [*((name, -1, name.partition("-")[0], True, True) for name in old), *levels]
    assert table["latest_production"] == f"IBP_{catalog.latest_production.name.replace('.', '_').replace('-', '_')}"
    assert table["safe_downgrade_targets"] == {
        str(source.number): [
            target.number
            for target in catalog.levels[METADATA_VERSION]
            if catalog.is_safe_downgrade(source.number, target.number)
        ]
        for source in catalog.levels[METADATA_VERSION]
    }


def test_the_other_features_are_the_table_of_the_jar():
    table = {row["name"]: row for row in exported("features_4.3.1")["features"] if row["production"]}
    catalog = CATALOGS["4.3"]

    assert list(table) == list(catalog.levels)[1:]
    for name, row in table.items():
        low, high = catalog.supported_range(name)
        levels = catalog.levels[name]

        assert [(each["level"], each["bootstrap_level"], each["dependencies"]) for each in row["versions"]] == [
            (each.number, each.bootstrap_metadata_version, dict(each.dependencies)) for each in levels
        ]
        assert row["supported"] == f"SupportedVersionRange[min_version:{low}, max_version:{high}]"
        for metadata, level in row["default_level_by_metadata_version"].items():
            number = catalog.parse_level(METADATA_VERSION, as_text(metadata)) if "4_4" not in metadata else 31
            assert level == catalog.default_level(name, number)
        assert row["latest_production"] == max(each.number for each in levels if each.is_production)


def as_text(enum):
    """IBP_3_9_IV0 as 3.9-IV0."""
    return enum.removeprefix("IBP_").replace("_IV", "-IV").replace("_", ".")


def test_v3_every_level_has_a_name_of_its_own_and_none_is_older_than_the_one_before():
    for catalog in CATALOGS.values():
        levels = catalog.levels[METADATA_VERSION]

        assert len({level.name for level in levels}) == len(levels)
        assert sorted(level.number for level in levels) == [level.number for level in levels]
        assert sorted(levels, key=release_of) == list(levels)
        assert not {level.name for level in levels} & set(PRE_KRAFT_VERSIONS)


def release_of(level):
    return tuple(map(int, level.line.split(".")))


def test_3_9_knows_fewer_features_and_advertises_none_that_it_has_at_level_0_only():
    old = CATALOGS["3.9"]

    assert ("kraft.version", METADATA_VERSION, "transaction.version") == old.features
    assert {METADATA_VERSION: (1, 21), "kraft.version": (0, 1)} == old.supported_ranges()
    assert (0, 0) == old.supported_range("transaction.version")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4.0", 25),
        ("4.0.1", 25),
        ("4.0-IV1", 23),
        ("4.0.1-IV2", 25),
        ("4.3.1.7", 30),
        ("3.3", 7),
        ("25", 25),
        ("-1", -1),
        ("99", 99),
    ],
)
def test_a_level_is_a_number_a_name_or_a_release(text, number):
    assert number == NEWEST_CATALOG.parse_level(METADATA_VERSION, text)


_UNRELEASED = NEWEST_CATALOG.levels[METADATA_VERSION][-1]


@pytest.mark.parametrize(
    "text", [_UNRELEASED.line, _UNRELEASED.name, "3.3-IV0", "9.9", "", "4.0-iv1", "3.0", " 4.0", "0.10.0.1"]
)
def test_a_name_that_kafka_does_not_take_is_refused_in_its_words(text):
    names = ", ".join(level.name for level in NEWEST_CATALOG.levels[METADATA_VERSION] if level.is_production)

    with pytest.raises(UnknownLevel) as refused:
        NEWEST_CATALOG.parse_level(METADATA_VERSION, text)

    assert f"Unknown metadata.version '{text}'. Supported metadata.version are: {names}" == str(refused.value)


@pytest.mark.parametrize("text", ["32768", "-32769", "9" * 5000])
def test_a_number_beyond_16_bits_is_refused(text):
    with pytest.raises(UnknownLevel, match="expected a level from -32768 to 32767"):
        NEWEST_CATALOG.parse_level("nope", text)


@pytest.mark.parametrize("text", ["x", "", "4.0", "1_0", "\N{ARABIC-INDIC DIGIT ONE}", "--1"])
def test_other_features_have_numbers_only(text):
    with pytest.raises(UnknownLevel, match="expected a number"):
        NEWEST_CATALOG.parse_level("share.version", text)


def test_names_are_written_as_kafkas_tool_writes_them():
    assert "4.4-IV0" == NEWEST_CATALOG.level_name(METADATA_VERSION, 31)
    assert "UNKNOWN 1" == NEWEST_CATALOG.level_name(METADATA_VERSION, 1)
    assert "7" == NEWEST_CATALOG.level_name("share.version", 7)


def test_a_new_cluster_has_the_default_levels_in_kafkas_order():
    assert [
        ("kraft.version", 1),
        ("transaction.version", 2),
        ("group.version", 1),
        ("eligible.leader.replicas.version", 0),
        ("share.version", 0),
        ("streams.version", 0),
    ] == list(NEWEST_CATALOG.default_levels(25).items())


def test_what_is_not_there_is_named():
    kafka = f"Kafka {NEWEST_CATALOG.release}"
    with pytest.raises(UnknownFeature, match=f"{kafka} has no feature 'nope'; it has eligible.leader"):
        NEWEST_CATALOG.supported_range("nope")
    with pytest.raises(UnknownLevel, match=f"group.version: {kafka} knows the levels 0, 1, not 2"):
        NEWEST_CATALOG.level("group.version", 2)
    with pytest.raises(UnknownLevel, match="not 5"):
        NEWEST_CATALOG.is_safe_downgrade(25, 5)


KIP_778_EXAMPLE = FeatureCatalog(
    "KIP-778",
    {
        METADATA_VERSION: tuple(
            FeatureLevel(METADATA_VERSION, number, f"V{number}", did_metadata_change=number == 4)
            for number in range(1, 6)
        )
    },
)


@pytest.mark.parametrize(
    ("source", "target", "lossless"),
    [
        (5, 4, True),
        (3, 2, True),
        (3, 1, True),
        (2, 1, True),
        (4, 3, False),
        (5, 3, False),
        (5, 2, False),
        (4, 1, False),
    ],
)
def test_w1_a_downgrade_is_lossless_if_no_level_on_the_way_changed_the_records(source, target, lossless):
    assert lossless == KIP_778_EXAMPLE.is_safe_downgrade(source, target)


def test_w1_a_raise_is_no_downgrade():
    assert not NEWEST_CATALOG.is_safe_downgrade(24, 25)
    assert not NEWEST_CATALOG.is_safe_downgrade(25, 25)
