"""The inter-broker protocol versions, and the broker releases that support them.

``inter.broker.protocol.version``, ``log.message.format.version`` and the draft's ``persistent.metadata.version`` take
the same values; a metadata.version is one of them too (KIP-778: "a one to one mapping between IBP and
metadata.version"). Java: ``ApiVersion`` until 3.2, ``MetadataVersion`` since.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION, version_key
from streams_assignor.upgrade.cluster.features.levels_of_releases import CATALOGS, PRE_KRAFT_VERSIONS
from streams_assignor.upgrade.errors import UnknownLevel, UnknownRelease
from streams_assignor.upgrade.release_names import (
    ReleaseName,
    no_newer_line_because,
    parse_release_name,
    unread_because,
)
from streams_assignor.upgrade.releases import RELEASES


class MetadataMode(Enum):
    """Where a cluster keeps its metadata."""

    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"


@frozen(order=True)
class ProtocolVersion:
    """One version. Versions compare in the order of their release."""

    ordinal: int
    name: str = field(order=False)
    level: int | None = field(order=False)
    """Its metadata.version; None if it has none."""

    @property
    def line(self) -> str:
        """The release line that introduced it: ``2.1`` for 2.1-IV0."""
        return self.name.partition("-")[0]

    @property
    def config_value(self) -> str:
        """The value for a configuration: the line if that means this version, else the name."""
        return self.line if NEWEST_OF_LINE[self.line] == self else self.name

    @property
    def message_format(self) -> int:
        """Its newest format of records (Kafka's RecordVersion: 0, 1 or 2)."""
        return max(number for number, first in MESSAGE_FORMATS.items() if first <= self)

    @property
    def schemas(self) -> tuple[int, int]:
        """The schema versions that a coordinator of this version writes for a group and for a committed offset.

        >>> version_named("2.0").schemas, version_named("2.1").schemas
        ((1, 1), (2, 3))
        """
        group, offset = (max(number for number, first in rows.items() if first <= self) for rows in _SCHEMAS)
        return group, offset

    def __str__(self) -> str:
        return self.name


def _all_versions() -> tuple[ProtocolVersion, ...]:
    names = {
        level.number: level.name
        for catalog in CATALOGS.values()
        for level in catalog.levels[METADATA_VERSION]
        if level.is_production
    }
    named = [*((name, None) for name in PRE_KRAFT_VERSIONS), *((names[number], number) for number in sorted(names))]
    return tuple(ProtocolVersion(place, name, level) for place, (name, level) in enumerate(named))


VERSIONS: Final = _all_versions()
"""Every version that was released, the oldest first."""

NEWEST_OF_LINE: Final[Mapping[str, ProtocolVersion]] = {version.line: version for version in VERSIONS}
"""The newest version of each line. A configured line means this version."""

_BY_NAME: Final[Mapping[str, ProtocolVersion]] = {version.name: version for version in VERSIONS} | {**NEWEST_OF_LINE}


def version_named(text: str) -> ProtocolVersion:
    """Read a version as Kafka does (``fromVersionString``): text after the numbers of the line is ignored.

    >>> version_named("2.1-IV0").name, version_named("2.1").name, version_named("2.1.1").name
    ('2.1-IV0', '2.1-IV2', '2.1-IV2')

    So ``2.1.0-IV0`` is 2.1-IV2 as well. Raises ``UnknownLevel`` for any other text.
    """
    version = _BY_NAME.get(version_key(text))
    if version is None:
        raise UnknownLevel(
            f"Version {text} is not a valid version; known are {VERSIONS[0]} to {VERSIONS[-1]}, as 2.1-IV0 or as 2.1"
        )
    return version


MESSAGE_FORMATS: Final = {0: VERSIONS[0], 1: version_named("0.10.0-IV0"), 2: version_named("0.11.0-IV0")}
"""Java: ``MetadataVersion.highestSupportedRecordVersion``."""

_SCHEMAS: Final = (
    {0: VERSIONS[0], 1: version_named("0.10.1-IV0"), 2: version_named("2.1-IV0"), 3: version_named("2.3-IV0")},
    {1: VERSIONS[0], 2: version_named("2.1-IV0"), 3: version_named("2.1-IV1")},
)
"""Schema versions of GroupMetadataValue and OffsetCommitValue, with the first protocol version that writes each.

Java: ``GroupMetadataManager.groupMetadataValue`` and ``offsetCommitValue`` of 2.8 and 3.9. A broker that reads a newer
version throws IllegalStateException("Unknown group metadata message version") and cannot load that partition's groups.
"""

OLDEST_KRAFT: Final = version_named("3.0-IV1")
"""The first protocol version of KRaft."""
OLDEST_IN_4: Final = version_named("3.3-IV3")
"""The lowest metadata.version with which brokers of 4.0 or later start (upgrade notes of 4.0)."""

ASSUMED: Final = "~"
"""The mark of an assumed release, as in ``upgrade.releases``."""

_FIRST_RELEASE: Final = "0.8.2"  # the oldest whose version the upgrade notes require to be configured


@frozen
class BrokerRelease:
    """A release of Kafka's broker."""

    name: str
    """A patch release such as ``2.1.1``, or a line."""
    newest: ProtocolVersion
    """The newest version that it supports."""
    assumed_like: str = ""
    """The line whose versions it was assumed to support, because it is newer than the table; empty if not."""
    only_kraft: bool = False
    """Its spelling says that it runs in KRaft mode."""
    reading: tuple[str, ...] = field(default=(), eq=False)
    """How its spelling was read; empty if that is Kafka's own."""

    @property
    def spelling(self) -> str:
        """A name that ``broker_release`` reads without further arguments."""
        return f"{self.name}{ASSUMED}{self.assumed_like}" if self.assumed_like else self.name

    @property
    def line(self) -> str:
        """The release line: ``2.1`` for 2.1.1."""
        return self.newest.line

    @property
    def number(self) -> tuple[int, ...]:
        """The release as numbers, for comparisons; a line counts as its first release."""
        given = [int(part) for part in self.name.split(".")]
        return (*given, *[0] * (4 - len(given)))

    @property
    def known_number(self) -> tuple[int, ...]:
        """The number whose bugs it may have: that of the first release of its line, if its patch level is not known.

        >>> broker_release("3.6.2").known_number, broker_release("3.6.9").known_number
        ((3, 6, 2, 0), (3, 6, 0, 0))
        """
        is_known = self.name in RELEASES or f"{self.line}.0" not in RELEASES or self.assumed_like
        return self.number if is_known else evolve(self, name=self.line).number

    @property
    def modes(self) -> tuple[MetadataMode, ...]:
        """The modes in which it can run and be upgraded.

        KRaft of 2.8 was early access ("upgrading to it from the 2.8 Early Access release is not possible": upgrade
        notes of 3.0), 3.9 is the last line with ZooKeeper (upgrade notes of 4.0).
        """
        has_zookeeper = self.number < (4,) and not self.only_kraft
        possible = {MetadataMode.ZOOKEEPER: has_zookeeper, MetadataMode.KRAFT: self.number >= (3,)}
        return tuple(mode for mode, has in possible.items() if has)

    @property
    def oldest(self) -> ProtocolVersion:
        """The oldest version that it supports."""
        return VERSIONS[0] if self.number < (4,) else OLDEST_IN_4

    def __str__(self) -> str:
        return self.name


def broker_release(name: str, assume: str | None = None) -> BrokerRelease:
    """Return the release with this name (``2.1.1``), line (``2.1``) or spelling of either (``3.7.x.kraft``).

    All releases of a line support the same versions. Of a line, and of a patch level that is not known, the first
    release counts. ``assume`` names a release whose versions one supports that is newer than the table; ``4.9~4.3``
    contains it.

    Raises:
        UnknownRelease: There is no such release; the message names the known ones, or the reason.

    >>> broker_release("2.1.1").newest.name
    '2.1-IV2'
    >>> broker_release("4.9", assume="4.3").spelling
    '4.9~4.3'
    >>> broker_release("7.6.1-ccs").reading
    ('Confluent Platform 7.6 contains Kafka 3.6; the first release of the line counts',)
    """
    if ASSUMED in name:
        name, _, assume = name.partition(ASSUMED)
    spelling = parse_release_name(name)
    if spelling is None:
        raise _unknown(name, unread_because(name))
    given = spelling.number
    line = ".".join(given.split(".")[: 3 if given.startswith("0.") else 2])
    if not re.fullmatch(r"(\.[0-9]{1,3})?", given.removeprefix(line), re.ASCII):
        raise _unknown(name)
    if line in NEWEST_OF_LINE and line not in _UNCONFIGURABLE_LINES:
        release = BrokerRelease(given, NEWEST_OF_LINE[line], only_kraft=spelling.is_kraft)
        return evolve(release, reading=_reading(name, spelling, release))
    if [*map(int, line.split("."))] <= [*map(int, VERSIONS[-1].line.split("."))]:
        raise _unknown(name)
    if reason := no_newer_line_because(given, VERSIONS[-1].line):
        raise _unknown(name, reason)
    if assume is None:
        raise _unknown(name, f"--assume {VERSIONS[-1].line} treats it like that line")
    model = broker_release(assume)
    return BrokerRelease(given, model.newest, assumed_like=model.name)


def _unknown(name: str, remedy: str = "") -> UnknownRelease:
    return UnknownRelease(
        f"unknown release of brokers {name!r}; known are {_FIRST_RELEASE} to {VERSIONS[-1].line}, "
        f"a line such as 2.1 or one of its releases such as 2.1.1{remedy and f'; {remedy}'}"
    )


def _reading(name: str, spelling: ReleaseName, release: BrokerRelease) -> tuple[str, ...]:
    """Say how a spelling was read that is not Kafka's own, or whose patch level is not known."""
    is_unlisted = release.known_number != release.number
    if not (spelling.note or spelling.any_patch or is_unlisted):
        return ()
    reason = spelling.note or f"{name} is any release of its line"
    if is_unlisted:
        reason = f"{name} is not in the table of this version"
    first = "; the first release of the line counts" if spelling.any_patch or is_unlisted else ""
    return (reason + first,)


_UNCONFIGURABLE_LINES: Final = {version.line for version in VERSIONS if version < version_named(_FIRST_RELEASE)}
