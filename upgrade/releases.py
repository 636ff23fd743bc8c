"""The releases of Kafka Streams and how each speaks: one row for releases that are alike, and a few of our own.

``latest_version`` is ``LATEST_SUPPORTED_VERSION`` of the release, ``rules`` names a row of ``probing.rules.BY_NAME``
(by name, because upgrade and probing do not import each other). What came at some release and stayed stands in a
table of its own. The names are those of kafka-streams in Maven Central.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final, Literal, TypeVar

from attrs import frozen

from upgrade.errors import UnknownRelease
from upgrade.upgrade_from import (
    PINNED_VERSIONS,
    UPGRADE_FROM,
    Effect,
    Fate,
    Outcome,
    accepted_by,
    is_eager,
    old_formats,
    outcome_of,
)

__all__ = [
    "NEWEST_OF_LINE",
    "OURS",
    "PINNED_VERSIONS",
    "RELEASES",
    "SIMULATED",
    "UPGRADE_FROM",
    "Effect",
    "Fate",
    "Outcome",
    "Release",
    "number_of",
    "release_named",
]

Protocol = Literal["eager", "cooperative"]
TaskAssignorName = Literal["cost-based", "sticky", "high-availability"]
EAGER: Final[tuple[Protocol, ...]] = ("eager",)
BOTH: Final[tuple[Protocol, ...]] = ("eager", "cooperative")
COOPERATIVE: Final[tuple[Protocol, ...]] = ("cooperative",)


@frozen
class Release:
    """One release.

    ``upgrade_from`` is what its configuration accepts (nothing: it has no such configuration and ignores it), ``note``
    what is special about it. ``rebalance_protocols`` are those it can offer, ``leaves_on_close`` says whether a member
    that is closed tells the group (if not, its session has to time out, or it is back before that), and
    ``task_assignor`` is the one it uses by default.
    """

    name: str
    latest_version: int
    rules: str
    upgrade_from: tuple[str, ...] = ()
    note: str = ""
    rebalance_protocols: tuple[Protocol, ...] = EAGER
    leaves_on_close: bool = False
    task_assignor: TaskAssignorName = "sticky"

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
    def released(self) -> bool:
        """Whether Kafka has published it."""
        return self.of_kafka is not None and self.note != _NEVER_RELEASED

    @property
    def can_be_probed(self) -> bool:
        """Whether a leader of this release answers a version it does not know (KIP-268: from 2.0 on)."""
        return self.latest_version >= 3

    def accepts(self, upgrade_from: str | None) -> Outcome:
        """Say what becomes of a member of this release that is started with ``upgrade_from``.

        >>> release_named("3.5.1").accepts("3.4").exception
        'IllegalArgumentException'
        """
        return outcome_of(upgrade_from, self.upgrade_from, self.number)

    def starts_with(self, upgrade_from: str | None) -> bool:
        """Whether the release has the configuration and starts with this value of it."""
        return self.accepts(upgrade_from).fate is Fate.WORKS

    def pinned_version(self, upgrade_from: str | None) -> int | None:
        """Return the metadata version that ``upgrade_from`` makes a member send; None if it does not say."""
        return PINNED_VERSIONS.get(upgrade_from) if upgrade_from and self.starts_with(upgrade_from) else None

    def protocol(self, upgrade_from: str | None = None) -> Protocol:
        """Return the rebalance protocol that a member offers: each picks its own, whatever the others do (KIP-429).

        >>> release_named("3.9").protocol(), release_named("3.9").protocol("2.3")
        ('cooperative', 'eager')
        """
        steps_back = upgrade_from is not None and self.starts_with(upgrade_from) and is_eager(upgrade_from)
        return self.rebalance_protocols[0] if steps_back else self.rebalance_protocols[-1]

    def effects(self, upgrade_from: str) -> tuple[Effect, ...]:
        """List what ``upgrade_from`` changes in a member of this release.

        >>> [effect.name for effect in release_named("2.4").effects("1.1")]
        ['OLD_VERSION', 'EAGER']
        """
        if not self.upgrade_from or not self.starts_with(upgrade_from):
            return ()
        found = (
            [Effect.OLD_VERSION] * (self.pinned_version(upgrade_from) not in {None, self.latest_version}),
            [Effect.EAGER] * (self.protocol(upgrade_from) != self.protocol()),
            old_formats(upgrade_from, self.number) if self.of_kafka else (),
        )
        return tuple(effect for effects in found for effect in effects)

    def __str__(self) -> str:
        return self.name


_KAFKA: Final = (
    # releases, latest metadata version, rules
    ("0.10.0.0-1", 1, "g0"),
    ("0.10.1.0-1", 2, "g1"),
    ("0.10.1.2", 2, "g1f"),
    ("0.10.2.0-1", 2, "g1"),
    ("0.10.2.2", 2, "g1f"),
    ("0.11.0.0-2", 2, "g1"),
    ("0.11.0.3", 2, "g1f"),
    ("1.0.0-1", 2, "g1"),
    ("1.0.2", 2, "g1f"),
    ("1.1.0", 2, "g1"),
    ("1.1.1", 2, "g1f"),
    ("2.0.0-1", 3, "g2"),
    ("2.1.0-1", 4, "g2"),
    ("2.2.0-1", 4, "g2"),
    ("2.2.2", 4, "g3"),
    ("2.3.0", 4, "g2"),
    ("2.3.1", 4, "g3"),
    ("2.4.0-1", 5, "g4a"),
    ("2.5.0-1", 6, "g4a"),
    ("2.6.0", 7, "g4b"),
    ("2.6.1-3", 8, "g4b"),
    ("2.7.0-2", 8, "g4c"),
    ("2.8.0-2", 9, "g4c"),
    ("3.0.0-2", 10, "g4c"),
    ("3.1.0-2", 10, "g4c"),
    ("3.2.0-3", 11, "g4c"),
    ("3.3.0-2", 11, "g4c"),
    ("3.4.0-1", 11, "g4c"),
    ("3.5.0-2", 11, "g4c"),
    ("3.6.0-2", 11, "g4c"),
    ("3.7.0-2", 11, "g4c"),
    ("3.8.0-1", 11, "today"),
    ("3.9.0-2", 11, "today"),
    ("4.0.0-2", 11, "today"),
    ("4.1.0-2", 11, "today"),
    ("4.2.0-1", 11, "today"),
    ("4.3.0-1", 11, "today"),
)
_NEVER_RELEASED: Final = "never released: KIP-268 promised the fix of KAFKA-6054 for 0.10.1.2, only its branch has it"
_NOTES: Final[Mapping[str, str]] = {
    "0.10.1.2": _NEVER_RELEASED,
    "2.6.0": "KAFKA-10455: a follow-up rebalance that a member asks for can get lost; 2.6.1 has the fix",
}

# What came at some release and stayed until the next row.
_PROTOCOLS: Final[Mapping[tuple[int, ...], tuple[Protocol, ...]]] = {
    (0, 10): EAGER,
    (2, 4): BOTH,
    (4, 0): COOPERATIVE,
}
_TASK_ASSIGNORS: Final[Mapping[tuple[int, ...], TaskAssignorName]] = {
    (0, 10): "cost-based",
    (0, 11): "sticky",
    (2, 6): "high-availability",
}
# StreamsConfig sets internal.leave.group.on.close to false (KAFKA-4881); 4.2 and later say REMAIN_IN_GROUP instead.
_LEAVES_ON_CLOSE: Final[Mapping[tuple[int, ...], bool]] = {(0, 10): True, (0, 10, 2, 2): False}
_FIXES_OF_KAFKA_6054: Final = "g1f"
_ONLY_0100: Final = ("0.10.0",)

_T = TypeVar("_T")


def _names(row: str) -> list[str]:
    """Spell out a row's releases.

    >>> _names("2.4.0-1")
    ['2.4.0', '2.4.1']
    """
    first, _, last = row.partition("-")
    line, _, patch = first.rpartition(".")
    return [f"{line}.{number}" for number in range(int(patch), int(last or patch) + 1)]


def _at(number: tuple[int, ...], table: Mapping[tuple[int, ...], _T]) -> _T:
    return [value for since, value in table.items() if since <= number][-1]


def _kafka() -> Iterator[Release]:
    for row, latest, rules in _KAFKA:
        for name in _names(row):
            number = tuple(map(int, name.split(".")))
            yield Release(
                name,
                latest,
                rules,
                _ONLY_0100 if rules == _FIXES_OF_KAFKA_6054 else accepted_by(number),
                _NOTES.get(name, ""),
                _at(number, _PROTOCOLS),
                _at(number, _LEAVES_ON_CLOSE),
                _at(number, _TASK_ASSIGNORS),
            )


_KIP_VALUES: Final = tuple(PINNED_VERSIONS)

_TABLE: Final = (
    *_kafka(),
    Release("kip-268", 3, "kip-268", _KIP_VALUES, "what the text of KIP-268 says 2.0 does"),
    Release("kip-268-next", 4, "kip-268", _KIP_VALUES, "the text of KIP-268 again, one metadata version on"),
    Release("streams-assignor", 11, "today", accepted_by((4, 0, 0)), "our own members", BOTH, True),
    Release(
        "streams-assignor-3",
        3,
        "today",
        _KIP_VALUES,
        "our own members, with the metadata version of 2.0",
        leaves_on_close=True,
    ),
    Release(
        "simulated-4",
        4,
        "today",
        _KIP_VALUES,
        "our own members, one metadata version on (KIP-268: post-2.0)",
        leaves_on_close=True,
    ),
)

RELEASES: Final[Mapping[str, Release]] = {release.name: release for release in _TABLE}
OURS: Final = RELEASES["streams-assignor"]
SIMULATED: Final = RELEASES["simulated-4"]

NEWEST_OF_LINE: Final[Mapping[str, Release]] = {
    release.line: release for release in _TABLE if release.released or not release.of_kafka
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
        meant = get_close_matches(name.removeprefix("v"), [*NEWEST_OF_LINE, *RELEASES], n=1)
        perhaps = f"; did you mean {meant[0]}?" if meant else ""
        raise UnknownRelease(f"unknown release {name!r}; known are {kafka[0]} to {kafka[-1]} and {others}{perhaps}")
    return found


def number_of(name: str) -> tuple[int, ...]:
    """Return a release as numbers, for comparing. One of Kafka's need not be in the table: it may be newer.

    >>> number_of("3.9.2")
    (3, 9, 2)
    """
    if re.fullmatch(r"[0-9]+(\.[0-9]+)+", name):
        return tuple(map(int, name.split(".")))
    return release_named(name).number
