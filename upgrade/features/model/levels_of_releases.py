"""The tables of feature levels in the jars of Kafka, one catalog for each release.

Java: ``MetadataVersion`` and ``Feature`` of ``server-common``. The row of an unreleased level can still change: 3.9.2
has other rows for 22 and 23 than 4.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from upgrade.features.model.catalog import METADATA_VERSION, FeatureCatalog, FeatureLevel, is_cluster_feature

_RELEASED_METADATA_LEVELS: Final = (
    (1, "3.0-IV1", True),
    (2, "3.1-IV0", False),
    (3, "3.2-IV0", True),
    (4, "3.3-IV0", False),
    (5, "3.3-IV1", True),
    (6, "3.3-IV2", True),
    (7, "3.3-IV3", True),
    (8, "3.4-IV0", True),
    (9, "3.5-IV0", False),
    (10, "3.5-IV1", False),
    (11, "3.5-IV2", True),
    (12, "3.6-IV0", False),
    (13, "3.6-IV1", True),
    (14, "3.6-IV2", True),
    (15, "3.7-IV0", True),
    (16, "3.7-IV1", False),
    (17, "3.7-IV2", True),
    (18, "3.7-IV3", False),
    (19, "3.7-IV4", False),
    (20, "3.8-IV0", False),
    (21, "3.9-IV0", False),
    (22, "4.0-IV0", False),
    (23, "4.0-IV1", True),
    (24, "4.0-IV2", False),
    (25, "4.0-IV3", False),
    (26, "4.1-IV0", False),
    (27, "4.1-IV1", False),
    (28, "4.2-IV0", False),
    (29, "4.2-IV1", False),
    (30, "4.3-IV0", True),
)
"""The released levels of metadata.version: number, name, whether the level changed the records."""

PRE_KRAFT_VERSIONS: Final = (
    *("0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.1-IV0", "0.10.1-IV1", "0.10.1-IV2"),
    *("0.10.2-IV0", "0.11.0-IV0", "0.11.0-IV1", "0.11.0-IV2", "1.0-IV0", "1.1-IV0", "2.0-IV0", "2.0-IV1", "2.1-IV0"),
    *("2.1-IV1", "2.1-IV2", "2.2-IV0", "2.2-IV1", "2.3-IV0", "2.3-IV1", "2.4-IV0", "2.4-IV1", "2.5-IV0", "2.6-IV0"),
    *("2.7-IV0", "2.7-IV1", "2.7-IV2", "2.8-IV0", "2.8-IV1", "3.0-IV0"),
)
"""The older values of inter.broker.protocol.version, which have no level; 3.9.2 is the last release with them."""


def _catalog(
    kafka: str,
    metadata: range,
    unreleased: tuple[tuple[int, str, bool], ...],
    bootstraps: Mapping[str, tuple[int, ...]],
    depends: Mapping[tuple[str, int], Mapping[str, int]],
) -> FeatureCatalog:
    levels = {METADATA_VERSION: tuple(_metadata_levels(metadata, unreleased))}
    for feature, found in bootstraps.items():
        levels[feature] = tuple(
            FeatureLevel(
                feature,
                number,
                str(number),
                bootstrap_metadata_version=bootstrap,
                dependencies=MappingProxyType(dict(depends.get((feature, number), {}))),
                is_production=is_cluster_feature(feature) and bootstrap in metadata,
            )
            for number, bootstrap in enumerate(found)
        )
    return FeatureCatalog(kafka, MappingProxyType(levels))


def _metadata_levels(production: range, unreleased: tuple[tuple[int, str, bool], ...]) -> list[FeatureLevel]:
    released = [row for row in _RELEASED_METADATA_LEVELS if row[0] in production]
    rows = [(row, True) for row in released] + [(row, False) for row in unreleased]
    return [
        FeatureLevel(METADATA_VERSION, *row[:2], did_metadata_change=row[2], is_production=known) for row, known in rows
    ]


CATALOGS: Final[Mapping[str, FeatureCatalog]] = MappingProxyType(
    {
        "3.9.2": _catalog(
            "3.9.2",
            range(1, 22),
            unreleased=((22, "4.0-IV0", True), (23, "4.0-IV1", False)),
            # For each level from 0 on, the level of metadata.version at which new clusters have it.
            bootstraps={
                "kraft.version": (1, 21),
                "transaction.version": (1, 22, 22),
                "test.feature.version": (1, 15, 22),
            },
            depends={("test.feature.version", 2): {METADATA_VERSION: 22}},
        ),
        "4.3.1": _catalog(
            "4.3.1",
            range(7, 31),
            unreleased=((31, "4.4-IV0", False),),
            bootstraps={
                "kraft.version": (7, 21),
                "transaction.version": (7, 24, 24),
                "group.version": (7, 22),
                "eligible.leader.replicas.version": (7, 26),
                "share.version": (7, 28),
                "streams.version": (7, 29),
                "test.feature.version": (7, 15, 31),
                "unit.test.feature.version.0": (7,),
                "unit.test.feature.version.1": (7, 15),
                "unit.test.feature.version.2": (7, 15),
                "unit.test.feature.version.3": (7, 15),
                "unit.test.feature.version.4": (7, 31),
                "unit.test.feature.version.5": (7, 15),
                "unit.test.feature.version.6": (7, 31),
                "unit.test.feature.version.7": (7, 20),
            },
            depends={
                ("eligible.leader.replicas.version", 1): {METADATA_VERSION: 23},
                ("test.feature.version", 2): {METADATA_VERSION: 31},
                ("unit.test.feature.version.3", 1): {"unit.test.feature.version.2": 1},
                ("unit.test.feature.version.5", 1): {"unit.test.feature.version.4": 1},
                ("unit.test.feature.version.6", 1): {METADATA_VERSION: 31},
                ("unit.test.feature.version.7", 0): {METADATA_VERSION: 15},
                ("unit.test.feature.version.7", 1): {METADATA_VERSION: 20},
            },
        ),
    }
)
"""The catalogs by release of Kafka."""

NEWEST_CATALOG: Final = CATALOGS["4.3.1"]
