"""The feature levels that a release of Kafka knows: one row per level, as its jars have them.

Java: ``MetadataVersion``, ``Feature`` (3.9: ``Features``) of ``server-common``. What a row of an unreleased level says
can still change: 3.9.2 has other rows for 22 and 23 than 4.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import field, frozen

from upgrade.errors import UnknownFeature, UnknownLevel

METADATA: Final = "metadata.version"
KRAFT: Final = "kraft.version"
INT16: Final = range(-(2**15), 2**15)


def version_key(text: str) -> str:
    """Return what counts of a version as text; what follows a release's second number (0.x: third) does not.

    Java: ``MetadataVersion.fromVersionString``, whose ``split`` leaves out empty parts at the end.

    >>> version_key("4.0.1"), version_key("0.10.2.1"), version_key("4.0-IV1"), version_key("4.0.")
    ('4.0', '0.10.2', '4.0-IV1', '4.0.')
    """
    counts, parts = 3 if text.startswith("0.") else 2, text.rstrip(".").split(".")
    return ".".join(parts[:counts]) if len(parts) > counts else text


@frozen
class Level:
    """One level of one feature.

    ``name`` is ``4.0-IV1`` for metadata.version, for the others the number as text. ``bootstrap`` is the level of
    metadata.version from which on new clusters have it (none for metadata.version itself), ``depends`` what has to be
    finalised for it, ``changed`` Kafka's didMetadataChange: the level has records that the one before cannot read.
    """

    feature: str
    number: int
    name: str
    bootstrap: int | None = None
    depends: Mapping[str, int] = field(default=MappingProxyType({}), hash=False)
    changed: bool = False
    production: bool = True

    @property
    def line(self) -> str:
        """The release line of a level of metadata.version: ``4.0`` for 4.0-IV1."""
        return self.name.partition("-")[0]


@frozen(eq=False, repr=False)
class Catalog:
    """All levels that one release of Kafka knows, each feature's in rising order; features in Kafka's own order.

    Besides the features of a cluster there are some that only Kafka's own tests use (``test.feature.version``).
    """

    kafka: str
    levels: Mapping[str, tuple[Level, ...]]

    def __repr__(self) -> str:
        """Name the release; the levels would fill a page."""
        return f"<levels of Kafka {self.kafka}>"

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features a cluster can have, sorted.

        >>> NEWEST.features[:2]
        ('eligible.leader.replicas.version', 'group.version')
        """
        return tuple(sorted(filter(self._of_clusters, self.levels)))

    @property
    def latest_production(self) -> Level:
        """The newest released level of metadata.version."""
        return self._production(METADATA)[-1]

    def level_named(self, feature: str, text: str) -> int:
        """Read a level: a number, and for metadata.version a name or a release (its newest level).

        Whether the feature has such a number is left to the cluster that is asked. ``UnknownLevel`` otherwise.

        >>> NEWEST.level_named("metadata.version", "4.0-IV1"), NEWEST.level_named("metadata.version", "4.0.1")
        (23, 25)
        """
        if text.removeprefix("-").isdecimal() and text.isascii():
            # The length first: Python refuses to convert thousands of digits with an error of its own.
            if len(text) <= len(str(INT16.start)) and int(text) in INT16:
                return int(text)
            raise UnknownLevel(f"{feature}: expected a level from {INT16[0]} to {INT16[-1]}, got {text[:20]}")
        if feature == METADATA:
            return self._of_release(text)
        raise UnknownLevel(f"{feature}: expected a number, got {text!r}")

    def _of_release(self, text: str) -> int:
        known = self._production(METADATA)
        release = version_key(text)
        for level in reversed(known):
            if release in (level.name, level.line):
                return level.number
        names = ", ".join(level.name for level in known)
        raise UnknownLevel(f"Unknown {METADATA} '{text}'. Supported {METADATA} are: {names}")

    def name_of(self, feature: str, number: int) -> str:
        """Write a level as Kafka's tool does: metadata.version by name, or ``UNKNOWN 99``; others as a number.

        >>> NEWEST.name_of("metadata.version", 25), NEWEST.name_of("transaction.version", 2)
        ('4.0-IV3', '2')
        """
        if feature != METADATA:
            return str(number)
        return next((level.name for level in self.levels[METADATA] if level.number == number), f"UNKNOWN {number}")

    def level(self, feature: str, number: int) -> Level:
        """Return a level; ``UnknownFeature`` or ``UnknownLevel`` if there is none."""
        for found in self._all(feature):
            if found.number == number:
                return found
        known = ", ".join(str(each.number) for each in self._all(feature))
        raise UnknownLevel(f"{feature}: Kafka {self.kafka} knows the levels {known}, not {number}")

    def depends(self, feature: str, number: int) -> Mapping[str, int]:
        """Return what has to be finalised for a level: nothing, too, for one that is not known.

        >>> dict(NEWEST.depends("eligible.leader.replicas.version", 1))
        {'metadata.version': 23}
        """
        return next((level.depends for level in self._all(feature) if level.number == number), MappingProxyType({}))

    def defaults_for(self, metadata: int) -> Mapping[str, int]:
        """Return the level of every other feature in a new cluster of this ``metadata`` level, in Kafka's order.

        >>> NEWEST.defaults_for(25)["transaction.version"]
        2
        """
        others = (feature for feature in self.levels if feature != METADATA and self._of_clusters(feature))
        return {feature: self.default(feature, metadata) for feature in others}

    def default(self, feature: str, metadata: int) -> int:
        """Return the level of one feature in a new cluster of this ``metadata`` level. Java: ``defaultLevel``."""
        reached = (each.number for each in self._all(feature) if each.bootstrap is None or each.bootstrap <= metadata)
        return max(reached, default=0)

    def supported(self, feature: str) -> tuple[int, int]:
        """Return the lowest and the highest level that a node of this release supports; ``UnknownFeature``."""
        levels = self._production(feature) or self._all(feature)
        return levels[0].number, levels[-1].number

    def ranges(self) -> Mapping[str, tuple[int, int]]:
        """Return what a node of this release advertises; a feature that it knows at level 0 only is left out."""
        ranges = {feature: self.supported(feature) for feature in self.features}
        return {feature: found for feature, found in ranges.items() if found[1] > 0}

    def safe_downgrade(self, source: int, target: int) -> bool:
        """Whether metadata.version can go from ``source`` down to ``target`` without losing records.

        It can if no level above ``target``, up to ``source``, changed the records. Java: ``checkIfMetadataChanged``.

        >>> NEWEST.safe_downgrade(25, 24), NEWEST.safe_downgrade(25, 22)
        (True, False)
        """
        self.level(METADATA, source), self.level(METADATA, target)
        return target < source and not any(
            level.changed for level in self.levels[METADATA] if target < level.number <= source
        )

    def _all(self, feature: str) -> tuple[Level, ...]:
        if feature not in self.levels:
            raise UnknownFeature(f"Kafka {self.kafka} has no feature {feature!r}; it has {', '.join(self.features)}")
        return self.levels[feature]

    def _production(self, feature: str) -> tuple[Level, ...]:
        return tuple(level for level in self._all(feature) if level.production)

    @staticmethod
    def _of_clusters(feature: str) -> bool:
        return not feature.startswith(("test.", "unit.test."))


_RELEASED: Final = (
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
"""metadata.version as released: level, name, whether it changed the records."""

BEFORE_KRAFT: Final = (
    *("0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.1-IV0", "0.10.1-IV1", "0.10.1-IV2"),
    *("0.10.2-IV0", "0.11.0-IV0", "0.11.0-IV1", "0.11.0-IV2", "1.0-IV0", "1.1-IV0", "2.0-IV0", "2.0-IV1", "2.1-IV0"),
    *("2.1-IV1", "2.1-IV2", "2.2-IV0", "2.2-IV1", "2.3-IV0", "2.3-IV1", "2.4-IV0", "2.4-IV1", "2.5-IV0", "2.6-IV0"),
    *("2.7-IV0", "2.7-IV1", "2.7-IV2", "2.8-IV0", "2.8-IV1", "3.0-IV0"),
)
"""The older values of inter.broker.protocol.version, which have no level; 3.9.2 is the last release to know them."""


def _catalog(
    kafka: str,
    metadata: range,
    unreleased: tuple[tuple[int, str, bool], ...],
    bootstraps: Mapping[str, tuple[int, ...]],
    depends: Mapping[tuple[str, int], Mapping[str, int]],
) -> Catalog:
    levels = {METADATA: tuple(_metadata(metadata, unreleased))}
    for feature, found in bootstraps.items():
        levels[feature] = tuple(
            Level(
                feature,
                number,
                str(number),
                bootstrap=bootstrap,
                depends=MappingProxyType(dict(depends.get((feature, number), {}))),
                production=Catalog._of_clusters(feature) and bootstrap in metadata,
            )
            for number, bootstrap in enumerate(found)
        )
    return Catalog(kafka, MappingProxyType(levels))


def _metadata(production: range, unreleased: tuple[tuple[int, str, bool], ...]) -> list[Level]:
    released = [row for row in _RELEASED if row[0] in production]
    rows = [(row, True) for row in released] + [(row, False) for row in unreleased]
    return [Level(METADATA, *row[:2], changed=row[2], production=known) for row, known in rows]


CATALOGS: Final[Mapping[str, Catalog]] = MappingProxyType(
    {
        "3.9.2": _catalog(
            "3.9.2",
            range(1, 22),
            unreleased=((22, "4.0-IV0", True), (23, "4.0-IV1", False)),
            # For each level from 0 on, the level of metadata.version that brings it to new clusters.
            bootstraps={
                "kraft.version": (1, 21),
                "transaction.version": (1, 22, 22),
                "test.feature.version": (1, 15, 22),
            },
            depends={("test.feature.version", 2): {METADATA: 22}},
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
                ("eligible.leader.replicas.version", 1): {METADATA: 23},
                ("test.feature.version", 2): {METADATA: 31},
                ("unit.test.feature.version.3", 1): {"unit.test.feature.version.2": 1},
                ("unit.test.feature.version.5", 1): {"unit.test.feature.version.4": 1},
                ("unit.test.feature.version.6", 1): {METADATA: 31},
                ("unit.test.feature.version.7", 0): {METADATA: 15},
                ("unit.test.feature.version.7", 1): {METADATA: 20},
            },
        ),
    }
)
"""Kafka's tables by release; a level of a release that is not here is a number without a name."""

NEWEST: Final = CATALOGS["4.3.1"]
