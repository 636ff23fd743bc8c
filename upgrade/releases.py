"""The releases of Kafka Streams and how each speaks: one row per release, nothing else.

``latest_version`` is ``LATEST_SUPPORTED_VERSION`` of the release, ``rules`` names a row of ``probing.rules.BY_NAME``
(by name, because upgrade and probing do not import each other), ``upgrade_from`` lists the values that the release
accepts for its ``upgrade.from`` (none: it has no such configuration and ignores it).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from attrs import frozen

from upgrade.errors import UnknownRelease

PINNED_VERSIONS: Final[Mapping[str, int]] = {
    "0.10.0": 1,
    "0.10.1": 2,
    "0.10.2": 2,
    "0.11.0": 2,
    "1.0": 2,
    "1.1": 2,
}
"""KIP-268: the values of ``upgrade.from``, and the metadata version that each makes a member send."""


@frozen
class Release:
    """One release; ``note`` says what is special about it."""

    name: str
    latest_version: int
    rules: str
    upgrade_from: tuple[str, ...] = ()
    note: str = ""

    @property
    def line(self) -> str:
        """The release line: ``2.0`` for 2.0.1, ``0.10.2`` for 0.10.2.2; other names are lines of their own.

        >>> release_named("0.10.2.2").line
        '0.10.2'
        """
        return self.name.rpartition(".")[0] if self.name[0].isdigit() else self.name

    @property
    def number(self) -> tuple[int, ...]:
        """The release as numbers, for comparing; what is not Kafka's counts as newer than all of Kafka's."""
        return tuple(map(int, self.name.split("."))) if self.name[0].isdigit() else (9999, self.latest_version)

    @property
    def of_kafka(self) -> str | None:
        """The name, if this is a release of Kafka: the codec can imitate the bytes of those (``as_release``)."""
        return self.name if self.name[0].isdigit() else None

    @property
    def can_be_probed(self) -> bool:
        """Whether a leader of this release answers a version it does not know (KIP-268: from 2.0 on)."""
        return self.latest_version >= 3

    def __str__(self) -> str:
        return self.name


_ONLY_0100: Final = ("0.10.0",)
_KIP_VALUES: Final = tuple(PINNED_VERSIONS)
_NEVER_RELEASED: Final = "never released: KIP-268 promised the fix of KAFKA-6054 for 0.10.1.2, only its branch has it"

_TABLE: Final = (
    Release("0.10.0.0", 1, "g0"),
    Release("0.10.0.1", 1, "g0"),
    Release("0.10.1.0", 2, "g1"),
    Release("0.10.1.1", 2, "g1"),
    Release("0.10.1.2", 2, "g1f", _ONLY_0100, _NEVER_RELEASED),
    Release("0.10.2.0", 2, "g1"),
    Release("0.10.2.1", 2, "g1"),
    Release("0.10.2.2", 2, "g1f", _ONLY_0100),
    Release("0.11.0.0", 2, "g1"),
    Release("0.11.0.1", 2, "g1"),
    Release("0.11.0.2", 2, "g1"),
    Release("0.11.0.3", 2, "g1f", _ONLY_0100),
    Release("1.0.0", 2, "g1"),
    Release("1.0.1", 2, "g1"),
    Release("1.0.2", 2, "g1f", _ONLY_0100),
    Release("1.1.0", 2, "g1"),
    Release("1.1.1", 2, "g1f", _ONLY_0100),
    Release("2.0.0", 3, "g2", _KIP_VALUES),
    Release("2.0.1", 3, "g2", _KIP_VALUES),
    Release("2.1.0", 4, "g2", _KIP_VALUES),
    Release("2.1.1", 4, "g2", _KIP_VALUES),
    Release("2.2.0", 4, "g2", _KIP_VALUES),
    Release("2.2.1", 4, "g2", _KIP_VALUES),
    Release("2.2.2", 4, "g3", _KIP_VALUES),
    Release("2.3.0", 4, "g2", _KIP_VALUES),
    Release("2.3.1", 4, "g3", _KIP_VALUES),
    Release("kip-268", 3, "kip-268", _KIP_VALUES, "what the text of KIP-268 says 2.0 does"),
    Release("kip-268-next", 4, "kip-268", _KIP_VALUES, "the text of KIP-268 again, one metadata version on"),
    Release("streams-assignor", 3, "today", _KIP_VALUES, "our own members"),
    Release("simulated-4", 4, "today", _KIP_VALUES, "our own members, one metadata version on (KIP-268: post-2.0)"),
)

RELEASES: Final[Mapping[str, Release]] = {release.name: release for release in _TABLE}
OURS: Final = RELEASES["streams-assignor"]
SIMULATED: Final = RELEASES["simulated-4"]

NEWEST_OF_LINE: Final[Mapping[str, Release]] = {
    release.line: release for release in _TABLE if release.note != _NEVER_RELEASED
}
"""A line stands for its newest release."""

_ALIASES: Final = {"post-2.0": "simulated-4", "ours": "streams-assignor"}


def release_named(name: str) -> Release:
    """Find a release by its name (``2.0.1``) or its line (``2.0``, ``2.0.x``: the newest of the line).

    >>> release_named("1.1").name
    '1.1.1'
    """
    wanted = _ALIASES.get(name, name).removesuffix(".x")
    found = RELEASES.get(wanted) or NEWEST_OF_LINE.get(wanted)
    if found is None:
        kafka = [release.name for release in _TABLE if release.name[0].isdigit()]
        others = ", ".join(release.name for release in _TABLE if not release.name[0].isdigit())
        raise UnknownRelease(f"unknown release {name!r}; known are {kafka[0]} to {kafka[-1]} and {others}")
    return found


def number_of(name: str) -> tuple[int, ...]:
    """Return a release as numbers, for comparing. One of Kafka's need not be in the table: it may be newer.

    >>> number_of("3.9.2")
    (3, 9, 2)
    """
    if re.fullmatch(r"[0-9]+(\.[0-9]+)+", name):
        return tuple(map(int, name.split(".")))
    return release_named(name).number
