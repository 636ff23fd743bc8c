"""The catalogs of feature levels beside the jars: as they were read, and with ``-m java`` the jars themselves."""

import json
from pathlib import Path

import pytest
from attrs import evolve

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.levels_of_releases import CATALOGS, NEWEST_CATALOG, catalog_of
from streams_assignor.upgrade.releases import NEWEST_OF_LINE, RELEASES
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.releases.levels import ask_levels, level_differences, parse_levels
from tests.matrix import with_matrix

STORED = json.loads((Path(__file__).parents[2] / "vectors/features/levels_of_releases.json").read_text())
KRAFT = [name for name, each in RELEASES.items() if each.is_released and each.number >= (3, 3)]
_BEFORE_THE_DEPENDENCY_WAS_DROPPED = {"3.9.0", "3.9.1", "4.0.0", "4.0.1", "4.1.0"}


def test_every_line_since_3_3_has_a_catalog_of_its_newest_release():
    lines = [line for line, each in NEWEST_OF_LINE.items() if each.is_released and each.number >= (3, 3)]

    assert lines == list(CATALOGS)
    assert [NEWEST_OF_LINE[line].name for line in lines] == [each.release for each in CATALOGS.values()] == list(STORED)


@pytest.mark.parametrize("release", STORED)
def test_a_catalog_is_what_the_jars_say(release):
    assert [] == level_differences(parse_levels(STORED[release]), catalog_of(release.rpartition(".")[0]))


def test_each_kind_of_difference_is_named():
    jars = parse_levels(STORED[NEWEST_CATALOG.release])
    other = evolve(
        jars,
        metadata=(*jars.metadata[:-1], (99, "9.9-IV0", False, True)),
        supported={**jars.supported, "share.version": (0, 9), METADATA_VERSION: (7, 99)},
        dependencies={},
    )

    assert [
        "metadata.version",
        "metadata.version",
        "metadata.version:",
        "share.version:",
        "eligible.leader.replicas.version",
    ] == [text.split()[0] for text in level_differences(other, NEWEST_CATALOG)]


def test_before_3_3_a_cluster_has_the_levels_of_3_3():
    assert CATALOGS["3.3"] is catalog_of("3.0")


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize(
    "release", with_matrix(KRAFT, ["4.0.1", NEWEST_CATALOG.release], "the same levels in a further release")
)
def test_the_jars_of_every_release_have_the_levels_of_their_line(release):
    try:
        jars = parse_levels(ask_levels(release))
    except Unavailable as missing:
        pytest.skip(f"no Kafka {release}: {missing}")
    found = level_differences(jars, catalog_of(release.rpartition(".")[0]))

    if release in _BEFORE_THE_DEPENDENCY_WAS_DROPPED:
        assert ["kraft.version 1: the jars have (21, {'metadata.version': 21})"] == found
    else:
        assert [] == found
