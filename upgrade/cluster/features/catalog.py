"""Feature levels and the catalog of a release: names, dependencies, defaults and safe downgrades.

Java: ``MetadataVersion``, ``Feature`` (3.9: ``Features``) of ``server-common``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import field, frozen

from streams_assignor.upgrade.errors import UnknownFeature, UnknownLevel

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
INT16: Final = range(-(2**15), 2**15)


def version_key(text: str) -> str:
    """Return a version without the numbers after the second one of a release (0.x: third).

    Java: ``MetadataVersion.fromVersionString``, whose ``split`` drops empty parts at the end.

    >>> version_key("4.0.1"), version_key("0.10.2.1"), version_key("4.0-IV1"), version_key("4.0.")
    ('4.0', '0.10.2', '4.0-IV1', '4.0.')
    """
    counts, parts = 3 if text.startswith("0.") else 2, text.rstrip(".").split(".")
    return ".".join(parts[:counts]) if len(parts) > counts else text


@frozen
class FeatureLevel:
    """One level of one feature."""

    feature: str
    number: int
    name: str
    """``4.0-IV1`` for metadata.version, the number as text for other features."""
    bootstrap_metadata_version: int | None = None
    """The first level of metadata.version at which new clusters have this level; None for metadata.version itself."""
    dependencies: Mapping[str, int] = field(default=MappingProxyType({}), hash=False)
    """The levels of other features that this one needs."""
    did_metadata_change: bool = False
    """The level has records that the level before it cannot read."""
    is_production: bool = True
    """Whether the level is released."""

    @property
    def line(self) -> str:
        """The release line of a level of metadata.version: ``4.0`` for 4.0-IV1."""
        return self.name.partition("-")[0]


@frozen(eq=False, repr=False)
class FeatureCatalog:
    """All levels of one release of Kafka: features in the order of Kafka, levels in rising order.

    Features that are only for Kafka's own tests (``test.feature.version``) are left out.
    """

    release: str
    levels: Mapping[str, tuple[FeatureLevel, ...]]

    def __repr__(self) -> str:
        """Return the release only, because the levels would fill a page."""
        return f"<levels of Kafka {self.release}>"

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features, sorted.

        >>> from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
        >>> NEWEST_CATALOG.features[:2]
        ('eligible.leader.replicas.version', 'group.version')
        """
        return tuple(sorted(self.levels))

    @property
    def latest_production(self) -> FeatureLevel:
        """The newest released level of metadata.version."""
        return self._production_levels(METADATA_VERSION)[-1]

    def parse_level(self, feature: str, text: str) -> int:
        """Read a level: a number, and for metadata.version a name or a release (its newest level).

        The cluster decides whether the feature has a level of this number. ``UnknownLevel`` for any other text.

        >>> from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
        >>> [NEWEST_CATALOG.parse_level("metadata.version", text) for text in ("4.0-IV1", "4.0.1")]
        [23, 25]
        """
        if text.removeprefix("-").isdecimal() and text.isascii():
            # Check the length first: int() raises its own error for thousands of digits.
            if len(text) <= len(str(INT16.start)) and int(text) in INT16:
                return int(text)
            raise UnknownLevel(f"{feature}: expected a level from {INT16[0]} to {INT16[-1]}, got {text[:20]}")
        if feature == METADATA_VERSION:
            return self.metadata_level(text)
        raise UnknownLevel(f"{feature}: expected a number, got {text!r}")

    def metadata_level(self, text: str, *, released_only: bool = True) -> int:
        """Read the name of a level of metadata.version, or a release: its newest level. ``UnknownLevel`` otherwise."""
        levels = self._production_levels(METADATA_VERSION) if released_only else self.levels[METADATA_VERSION]
        release = version_key(text)
        for level in reversed(levels):
            if release == level.name or (level.is_production and release == level.line):
                return level.number
        names = ", ".join(level.name for level in levels)
        raise UnknownLevel(f"Unknown {METADATA_VERSION} '{text}'. Supported {METADATA_VERSION} are: {names}")

    def level_name(self, feature: str, number: int) -> str:
        """Return a level as Kafka's tool prints it: the name for metadata.version, or ``UNKNOWN 99``; else the number.

        >>> from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
        >>> NEWEST_CATALOG.level_name("metadata.version", 25), NEWEST_CATALOG.level_name("transaction.version", 2)
        ('4.0-IV3', '2')
        """
        if feature != METADATA_VERSION:
            return str(number)
        return next(
            (level.name for level in self.levels[METADATA_VERSION] if level.number == number), f"UNKNOWN {number}"
        )

    def level(self, feature: str, number: int) -> FeatureLevel:
        """Return a level; ``UnknownFeature`` or ``UnknownLevel`` if there is none."""
        for level in self._levels_of(feature):
            if level.number == number:
                return level
        numbers = ", ".join(str(level.number) for level in self._levels_of(feature))
        raise UnknownLevel(f"{feature}: Kafka {self.release} knows the levels {numbers}, not {number}")

    def dependencies(self, feature: str, number: int) -> Mapping[str, int]:
        """Return the levels that a level depends on; empty for an unknown level.

        >>> from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
        >>> dict(NEWEST_CATALOG.dependencies("eligible.leader.replicas.version", 1))
        {'metadata.version': 23}
        """
        return next(
            (level.dependencies for level in self._levels_of(feature) if level.number == number), MappingProxyType({})
        )

    def default_levels(self, metadata: int) -> Mapping[str, int]:
        """Return the level of every other feature in a new cluster of this ``metadata`` level, in Kafka's order.

        >>> from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
        >>> NEWEST_CATALOG.default_levels(25)["transaction.version"]
        2
        """
        others = (feature for feature in self.levels if feature != METADATA_VERSION)
        return {feature: self.default_level(feature, metadata) for feature in others}

    def default_level(self, feature: str, metadata: int) -> int:
        """Return the level of one feature in a new cluster of this ``metadata`` level. Java: ``defaultLevel``."""
        reached = (
            level.number
            for level in self._levels_of(feature)
            if level.bootstrap_metadata_version is None or level.bootstrap_metadata_version <= metadata
        )
        return max(reached, default=0)

    def supported_range(self, feature: str) -> tuple[int, int]:
        """Return the lowest and the highest level that a node of this release supports; ``UnknownFeature``."""
        levels = self._production_levels(feature)
        return levels[0].number, levels[-1].number

    def supported_ranges(self) -> Mapping[str, tuple[int, int]]:
        """Return the ranges that a node of this release advertises, without features that have only level 0."""
        ranges = {feature: self.supported_range(feature) for feature in self.features}
        return {feature: range_ for feature, range_ in ranges.items() if range_[1] > 0}

    def is_safe_downgrade(self, source: int, target: int) -> bool:
        """Whether metadata.version can be lowered from ``source`` to ``target`` without losing records.

        It can if no level above ``target``, up to ``source``, changed the records. Java: ``checkIfMetadataChanged``.

        >>> from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
        >>> NEWEST_CATALOG.is_safe_downgrade(25, 24), NEWEST_CATALOG.is_safe_downgrade(25, 22)
        (True, False)
        """
        self.level(METADATA_VERSION, source), self.level(METADATA_VERSION, target)
        return target < source and not any(
            level.did_metadata_change for level in self.levels[METADATA_VERSION] if target < level.number <= source
        )

    def _levels_of(self, feature: str) -> tuple[FeatureLevel, ...]:
        if feature not in self.levels:
            raise UnknownFeature(f"Kafka {self.release} has no feature {feature!r}; it has {', '.join(self.features)}")
        return self.levels[feature]

    def _production_levels(self, feature: str) -> tuple[FeatureLevel, ...]:
        return tuple(level for level in self._levels_of(feature) if level.is_production)
