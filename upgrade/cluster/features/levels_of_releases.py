"""The feature levels in the jars of Kafka: one catalog for each release line.

Java: ``MetadataVersion`` and ``Feature`` (before 4.0: ``Features``) of ``server-common``. The row of an unreleased
level can still change: 3.9 has other rows for 22 and 23 than 4.0. All releases of a line have the same levels and
defaults; only in 3.9.0, 3.9.1, 4.0.0, 4.0.1 and 4.1.0 ``kraft.version`` 1 depends on ``metadata.version`` 21.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION, FeatureCatalog, FeatureLevel

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
    (31, "4.4-IV0", False),
    (32, "4.4-IV1", True),
    (33, "4.4-IV2", True),
)
"""The released levels of metadata.version: number, name, whether the level changed the records."""

PRE_KRAFT_VERSIONS: Final = (
    *("0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.1-IV0", "0.10.1-IV1", "0.10.1-IV2"),
    *("0.10.2-IV0", "0.11.0-IV0", "0.11.0-IV1", "0.11.0-IV2", "1.0-IV0", "1.1-IV0", "2.0-IV0", "2.0-IV1", "2.1-IV0"),
    *("2.1-IV1", "2.1-IV2", "2.2-IV0", "2.2-IV1", "2.3-IV0", "2.3-IV1", "2.4-IV0", "2.4-IV1", "2.5-IV0", "2.6-IV0"),
    *("2.7-IV0", "2.7-IV1", "2.7-IV2", "2.8-IV0", "2.8-IV1", "3.0-IV0"),
)
"""The older values of inter.broker.protocol.version, which have no level; 3.9.2 is the last release with them."""


_OLDEST_LEVEL: Final = 1
_OLDEST_LEVEL_IN_4: Final = 7

BOOTSTRAPS: Final[Mapping[str, tuple[int, ...]]] = {
    "kraft.version": (21,),
    "transaction.version": (24, 24),
    "group.version": (22,),
    "eligible.leader.replicas.version": (26,),
    "share.version": (28, 31),
    "streams.version": (29,),
}
"""The other features in Kafka's order: for each level from 1 on, the metadata.version at which new clusters have it."""

_DEPENDENCIES: Final[Mapping[tuple[str, int], Mapping[str, int]]] = {
    ("eligible.leader.replicas.version", 1): {METADATA_VERSION: 23},
}

_Unreleased = tuple[tuple[int, str, bool], ...]
_IN_4_0: Final = {
    "kraft.version": 1,
    "transaction.version": 2,
    "group.version": 1,
    "eligible.leader.replicas.version": 1,
}
_IN_4_1: Final = {**_IN_4_0, "share.version": 1, "streams.version": 0}
_IN_4_2: Final = {**_IN_4_1, "streams.version": 1}
_LINES: Final[Mapping[str, tuple[int, Mapping[str, int], _Unreleased]]] = {
    "3.3.2": (7, {}, ()),
    "3.4.1": (8, {}, ()),
    "3.5.2": (11, {}, ()),
    "3.6.2": (14, {}, ()),
    "3.7.2": (19, {}, ((20, "3.8-IV0", True),)),
    "3.8.1": (20, {}, ((21, "3.9-IV0", True),)),
    "3.9.2": (21, {"kraft.version": 1, "transaction.version": 0}, ((22, "4.0-IV0", True), (23, "4.0-IV1", False))),
    "4.0.2": (25, _IN_4_0, ((26, "4.1-IV0", False),)),
    "4.1.2": (27, _IN_4_1, ((28, "4.2-IV0", False), (29, "4.2-IV1", False))),
    "4.2.2": (29, _IN_4_2, ((30, "4.3-IV0", False),)),
    "4.3.1": (30, _IN_4_2, ((31, "4.4-IV0", False),)),
    "4.4.0": (33, {**_IN_4_2, "share.version": 2}, ((34, "4.5-IV0", False),)),
}
"""The newest release of each line: the highest level of each feature that it supports, and its unreleased levels.

A level can be supported before new clusters have it: ``eligible.leader.replicas.version`` in 4.0, ``share.version`` in
4.1.
"""


def _catalog(release: str, newest: int, others: Mapping[str, int], unreleased: _Unreleased) -> FeatureCatalog:
    oldest = _OLDEST_LEVEL_IN_4 if release >= "4" else _OLDEST_LEVEL
    released = [row for row in _RELEASED_METADATA_LEVELS if oldest <= row[0] <= newest]
    rows = [(row, True) for row in released] + [(row, False) for row in unreleased]
    metadata = tuple(
        FeatureLevel(METADATA_VERSION, number, name, did_metadata_change=changed, is_production=production)
        for (number, name, changed), production in rows
    )
    other_levels = {name: tuple(_levels(name, highest, oldest)) for name, highest in others.items()}
    return FeatureCatalog(release, MappingProxyType({METADATA_VERSION: metadata, **other_levels}))


def _levels(feature: str, highest: int, oldest: int) -> Iterator[FeatureLevel]:
    for number, bootstrap in enumerate((oldest, *BOOTSTRAPS[feature][:highest])):
        needed = MappingProxyType(dict(_DEPENDENCIES.get((feature, number), {})))
        yield FeatureLevel(feature, number, str(number), bootstrap, needed)


CATALOGS: Final[Mapping[str, FeatureCatalog]] = MappingProxyType(
    {release.rpartition(".")[0]: _catalog(release, *row) for release, row in _LINES.items()}
)
"""The catalogs by release line, the oldest first."""

NEWEST_CATALOG: Final = list(CATALOGS.values())[-1]
_FIRST_CATALOG: Final = next(iter(CATALOGS.values()))


def catalog_of(line: str) -> FeatureCatalog:
    """Return the levels of a release line of KRaft; before 3.3, which has no feature, those of 3.3.

    >>> catalog_of("4.0").supported_range("eligible.leader.replicas.version")
    (0, 1)
    """
    return CATALOGS.get(line, _FIRST_CATALOG)
