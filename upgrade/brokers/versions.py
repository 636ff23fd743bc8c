"""The versions that brokers are told to speak, and the releases of brokers that know them.

``inter.broker.protocol.version``, ``log.message.format.version`` and the draft's ``persistent.metadata.version`` take
the same values; a metadata.version is one of them too (KIP-778: "a one to one mapping between IBP and
metadata.version"). Java: ``ApiVersion`` until 3.2, ``MetadataVersion`` since.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

from attrs import field, frozen

from upgrade.errors import UnknownLevel, UnknownRelease
from upgrade.features.levels import BEFORE_KRAFT, CATALOGS, METADATA, version_key


class Mode(Enum):
    """Where a cluster keeps its metadata."""

    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"


@frozen(order=True)
class ProtocolVersion:
    """One version; a later one has a higher ``place``. ``level`` is its metadata.version, if it has one."""

    place: int
    name: str = field(order=False)
    level: int | None = field(order=False)

    @property
    def line(self) -> str:
        """The release line that brought it: ``2.1`` for 2.1-IV0."""
        return self.name.partition("-")[0]

    @property
    def value(self) -> str:
        """What one writes into a configuration: the line where that means this very version, else the name."""
        return self.line if NEWEST_OF_LINE[self.line] == self else self.name

    @property
    def message_format(self) -> int:
        """The newest format of records (Kafka's RecordVersion: 0, 1 or 2) that it has."""
        return max(number for number, first in MESSAGE_FORMATS.items() if first <= self)

    @property
    def schemas(self) -> tuple[int, int]:
        """The schemas that a coordinator of this version writes for a group and for a committed offset.

        >>> version_named("2.0").schemas, version_named("2.1").schemas
        ((1, 1), (2, 3))
        """
        group, offset = (max(number for number, first in rows.items() if first <= self) for rows in _SCHEMAS)
        return group, offset

    def __str__(self) -> str:
        return self.name


def _all() -> tuple[ProtocolVersion, ...]:
    found = {
        level.number: level.name for each in CATALOGS.values() for level in each.levels[METADATA] if level.production
    }
    named = [*((name, None) for name in BEFORE_KRAFT), *((found[number], number) for number in sorted(found))]
    return tuple(ProtocolVersion(place, name, level) for place, (name, level) in enumerate(named))


VERSIONS: Final = _all()
"""Every version that was released, the oldest first."""

NEWEST_OF_LINE: Final[Mapping[str, ProtocolVersion]] = {version.line: version for version in VERSIONS}
"""A line means its newest version."""

_BY_NAME: Final[Mapping[str, ProtocolVersion]] = {version.name: version for version in VERSIONS} | {**NEWEST_OF_LINE}


def version_named(text: str) -> ProtocolVersion:
    """Read a version as Kafka does (``fromVersionString``): what follows the line's numbers does not count.

    >>> version_named("2.1-IV0").name, version_named("2.1").name, version_named("2.1.1").name
    ('2.1-IV0', '2.1-IV2', '2.1-IV2')

    So ``2.1.0-IV0`` is 2.1-IV2 as well. ``UnknownLevel`` for what is none.
    """
    found = _BY_NAME.get(version_key(text))
    if found is None:
        raise UnknownLevel(
            f"Version {text} is not a valid version; known are {VERSIONS[0]} to {VERSIONS[-1]}, as 2.1-IV0 or as 2.1"
        )
    return found


MESSAGE_FORMATS: Final = {0: VERSIONS[0], 1: version_named("0.10.0-IV0"), 2: version_named("0.11.0-IV0")}
"""Java: ``MetadataVersion.highestSupportedRecordVersion``."""

_SCHEMAS: Final = (
    {0: VERSIONS[0], 1: version_named("0.10.1-IV0"), 2: version_named("2.1-IV0"), 3: version_named("2.3-IV0")},
    {1: VERSIONS[0], 2: version_named("2.1-IV0"), 3: version_named("2.1-IV1")},
)
"""Versions of GroupMetadataValue and OffsetCommitValue in ``__consumer_offsets``, and since when they are written.

Java: ``GroupMetadataManager.groupMetadataValue`` and ``offsetCommitValue`` of 2.8 and 3.9. A broker that reads a newer
one throws IllegalStateException("Unknown group metadata message version"): the groups of that partition are lost to it.
"""

OLDEST_KRAFT: Final = version_named("3.0-IV1")
"""The protocol with which KRaft begins."""
OLDEST_IN_4: Final = version_named("3.3-IV3")
"""What a metadata.version must have reached before brokers of 4.0 or later start (upgrade notes of 4.0)."""

_FIRST_RELEASE: Final = "0.8.2"  # the oldest whose version the upgrade notes tell to configure


@frozen
class BrokerRelease:
    """A release of Kafka's broker: its name (a patch release such as ``2.1.1``, or a line) and what it can speak."""

    name: str
    newest: ProtocolVersion

    @property
    def line(self) -> str:
        """The release line: ``2.1`` for 2.1.1."""
        return self.newest.line

    @property
    def number(self) -> tuple[int, ...]:
        """The release as numbers, for comparing; a line counts as its first release."""
        given = [int(part) for part in self.name.split(".")]
        return (*given, *[0] * (4 - len(given)))

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that it can run in and be upgraded in.

        KRaft of 2.8 was early access ("upgrading to it from the 2.8 Early Access release is not possible": upgrade
        notes of 3.0), 3.9 is the last line with ZooKeeper (upgrade notes of 4.0).
        """
        possible = {Mode.ZOOKEEPER: self.number < (4,), Mode.KRAFT: self.number >= (3,)}
        return tuple(mode for mode, has in possible.items() if has)

    @property
    def oldest(self) -> ProtocolVersion:
        """The oldest version that it still speaks."""
        return VERSIONS[0] if Mode.ZOOKEEPER in self.modes else OLDEST_IN_4

    def __str__(self) -> str:
        return self.name


def broker_release(name: str) -> BrokerRelease:
    """Find a release by its name (``2.1.1``) or its line (``2.1``, ``2.1.x``); ``UnknownRelease``.

    Whether the line has such a patch release is not checked: all releases of a line speak the same.

    >>> broker_release("2.1.1").newest.name
    '2.1-IV2'
    """
    given = name.removesuffix(".x")
    line = ".".join(given.split(".")[: 3 if given.startswith("0.") else 2])
    patch = given.removeprefix(line)
    if line not in NEWEST_OF_LINE or not re.fullmatch(r"(\.[0-9]{1,3})?", patch, re.ASCII) or line in _TOO_OLD:
        raise UnknownRelease(
            f"unknown release of brokers {name!r}; known are {_FIRST_RELEASE} to {VERSIONS[-1].line}, "
            "a line such as 2.1 or one of its releases such as 2.1.1"
        )
    return BrokerRelease(given, NEWEST_OF_LINE[line])


_TOO_OLD: Final = {version.line for version in VERSIONS if version < version_named(_FIRST_RELEASE)}
