"""The releases of Kafka Streams, and a few of our own: their names, and what ``upgrade.from`` does in a member.

How a release behaves is a row of ``upgrade.release_behaviour``. The names are those of kafka-streams in Maven Central.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from attrs import evolve, field, frozen

from streams_assignor.codec.errors import require_type
from streams_assignor.upgrade.errors import UnknownRelease
from streams_assignor.upgrade.release_behaviour import (
    BOTH,
    CURRENT,
    EAGER,
    UPGRADE_FROM,
    RebalanceProtocol,
    ReleaseBehaviour,
    TaskAssignorName,
    behaviour_of,
)
from streams_assignor.upgrade.release_names import no_newer_line_because, parse_release_name, unread_because
from streams_assignor.upgrade.upgrade_from import (
    PINNED_VERSIONS,
    StartupOutcome,
    StartupResult,
    UpgradeFromEffect,
    format_effects,
    implies_eager,
    line_number,
    startup_result,
)


@frozen
class Release:
    """One release."""

    name: str
    behaviour: ReleaseBehaviour = field(repr=False)
    note: str = ""
    """Its particularities."""
    assumed_like: str = ""
    """The release whose behaviour was assumed, because the table lacks this one; empty if nothing was."""

    @property
    def spelling(self) -> str:
        """A name that ``resolve_release`` reads without further arguments.

        >>> resolve_release("4.9", assume="4.3").release.spelling
        '4.9.0~4.3.1'
        """
        return f"{self.name}{ASSUMED}{self.assumed_like}" if self.assumed_like else self.name

    @property
    def supported_version(self) -> int:
        """``LATEST_SUPPORTED_VERSION`` of the release."""
        return self.behaviour.supported_version

    @property
    def rule_set(self) -> str:
        """The name of a row of ``probing.rules.BY_NAME``."""
        return self.behaviour.rule_set

    @property
    def upgrade_from(self) -> tuple[str, ...]:
        """The values that its configuration accepts; empty if it has no such configuration and ignores any value."""
        return self.behaviour.upgrade_from

    @property
    def rebalance_protocols(self) -> tuple[RebalanceProtocol, ...]:
        """The protocols that a member can offer."""
        return self.behaviour.rebalance_protocols

    @property
    def leaves_on_close(self) -> bool:
        """Whether a closed member sends LeaveGroup."""
        return self.behaviour.leaves_on_close

    @property
    def task_assignor(self) -> TaskAssignorName:
        """The default task assignor."""
        return self.behaviour.task_assignor

    @property
    def line(self) -> str:
        """The release line: ``2.0`` for 2.0.1, ``0.10.2`` for 0.10.2.2; other names are lines of their own.

        >>> release_named("0.10.2.2").line
        '0.10.2'
        """
        return self.name.rpartition(".")[0] if self.name[0].isdigit() else self.name

    @property
    def number(self) -> tuple[int, ...]:
        """The release as numbers, for comparison; our own are newer than every release of Kafka."""
        return line_number(self.name) if self.name[0].isdigit() else (9999, self.supported_version)

    @property
    def known_number(self) -> tuple[int, ...]:
        """The number of the release in the table whose bugs and fixes it has; that of a newer line is its own.

        >>> resolve_release("3.9.7").release.known_number
        (3, 9, 0)
        """
        model = RELEASES.get(self.assumed_like)
        return model.number if model and model.line == self.line else self.number

    @property
    def kafka_name(self) -> str | None:
        """The name of a release of Kafka, whose bytes the codec can imitate (``as_release``); None for our own."""
        return self.name if self.name[0].isdigit() else None

    @property
    def is_released(self) -> bool:
        """Whether Kafka has published it."""
        return self.kafka_name is not None and self.note != _NEVER_RELEASED

    @property
    def is_probeable(self) -> bool:
        """Whether a leader of this release answers a version that it does not know (KIP-268: since 2.0)."""
        return self.supported_version >= 3

    def startup_outcome(self, upgrade_from: str | None) -> StartupResult:
        """Return whether a member of this release starts with a value of ``upgrade.from``.

        >>> release_named("3.5.1").startup_outcome("3.4").exception
        'IllegalArgumentException'
        """
        return startup_result(upgrade_from, self.upgrade_from, self.known_number)

    def can_start_with(self, upgrade_from: str | None) -> bool:
        """Whether the release has the configuration, and a member starts with this value."""
        return self.startup_outcome(upgrade_from).outcome is StartupOutcome.STARTS

    def pinned_version(self, upgrade_from: str | None) -> int | None:
        """Return the metadata version that ``upgrade_from`` makes a member send; None if it sets none."""
        return PINNED_VERSIONS.get(upgrade_from) if upgrade_from and self.can_start_with(upgrade_from) else None

    def rebalance_protocol(self, upgrade_from: str | None = None) -> RebalanceProtocol:
        """Return the rebalance protocol that a member offers, independently of the other members (KIP-429).

        >>> release_named("3.9").rebalance_protocol(), release_named("3.9").rebalance_protocol("2.3")
        ('cooperative', 'eager')
        """
        pinned = upgrade_from is not None and self.can_start_with(upgrade_from) and implies_eager(upgrade_from)
        return self.rebalance_protocols[0] if pinned else self.rebalance_protocols[-1]

    def upgrade_from_effects(self, upgrade_from: str) -> tuple[UpgradeFromEffect, ...]:
        """List what a value of ``upgrade.from`` changes in a member of this release.

        >>> [effect.name for effect in release_named("2.4").upgrade_from_effects("1.1")]
        ['OLD_VERSION', 'EAGER']
        """
        if not self.upgrade_from or not self.can_start_with(upgrade_from):
            return ()
        effect_lists = (
            [UpgradeFromEffect.OLD_VERSION] * (self.pinned_version(upgrade_from) not in {None, self.supported_version}),
            [UpgradeFromEffect.EAGER] * (self.rebalance_protocol(upgrade_from) != self.rebalance_protocol()),
            format_effects(upgrade_from, self.known_number) if self.kafka_name else (),
        )
        return tuple(effect for effects in effect_lists for effect in effects)

    def __str__(self) -> str:
        return self.name


_KAFKA_RELEASES: Final = (
    *("0.10.0.0-1", "0.10.1.0-2", "0.10.2.0-2", "0.11.0.0-3", "1.0.0-2", "1.1.0-1"),
    *("2.0.0-1", "2.1.0-1", "2.2.0-2", "2.3.0-1", "2.4.0-1", "2.5.0-1", "2.6.0-3", "2.7.0-2", "2.8.0-2"),
    *("3.0.0-2", "3.1.0-2", "3.2.0-3", "3.3.0-2", "3.4.0-1", "3.5.0-2", "3.6.0-2", "3.7.0-2", "3.8.0-1", "3.9.0-2"),
    *("4.0.0-2", "4.1.0-2", "4.2.0-2", "4.3.0-1", "4.4.0"),
)
"""The first release of each line, and the last number of the line."""
_NEVER_RELEASED: Final = "never released: KIP-268 promised the fix of KAFKA-6054 for 0.10.1.2, only its branch has it"
_NOTES: Final[Mapping[str, str]] = {
    "0.10.1.2": _NEVER_RELEASED,
    "2.6.0": "KAFKA-10455: a follow-up rebalance that a member asks for can get lost; 2.6.1 has the fix",
}


def _expand_row(row: str) -> list[str]:
    """List the releases of a line.

    >>> _expand_row("2.4.0-1")
    ['2.4.0', '2.4.1']
    """
    first, _, last = row.partition("-")
    line, _, patch = first.rpartition(".")
    return [f"{line}.{number}" for number in range(int(patch), int(last or patch) + 1)]


def _kafka_releases() -> Iterator[Release]:
    for line in _KAFKA_RELEASES:
        for name in _expand_row(line):
            yield Release(name, behaviour_of(line_number(name)), _NOTES.get(name, ""))


_OURS: Final = evolve(
    CURRENT,
    upgrade_from=UPGRADE_FROM,  # every release's, as they run beside any
    rebalance_protocols=BOTH,
    keeps_process_id=False,
    leaves_on_close=True,
    task_assignor="sticky",
)
_OURS_4: Final = evolve(_OURS, supported_version=4, upgrade_from=tuple(PINNED_VERSIONS), rebalance_protocols=EAGER)
_OURS_3: Final = evolve(_OURS_4, supported_version=3, encodes_missing_topics=False)
_KIP_268: Final[Mapping[str, Any]] = {"rule_set": "kip-268", "leaves_on_close": False}

_ALL_RELEASES: Final = (
    *_kafka_releases(),
    Release("kip-268", evolve(_OURS_3, **_KIP_268), "what the text of KIP-268 says 2.0 does"),
    Release("kip-268-next", evolve(_OURS_4, **_KIP_268), "the text of KIP-268 again, one metadata version on"),
    Release("streams-assignor", _OURS, "our own members"),
    Release("streams-assignor-3", _OURS_3, "our own members, with the metadata version of 2.0"),
    Release("simulated-4", _OURS_4, "our own members, one metadata version on (KIP-268: post-2.0)"),
)

RELEASES: Final[Mapping[str, Release]] = {release.name: release for release in _ALL_RELEASES}
OURS: Final = RELEASES["streams-assignor"]
SIMULATED: Final = RELEASES["simulated-4"]

NEWEST_OF_LINE: Final[Mapping[str, Release]] = {
    release.line: release for release in _ALL_RELEASES if release.is_released or not release.kafka_name
}
"""A line stands for its newest release, if nothing else of it is known: see ``ResolvedRelease``."""

NEWEST: Final = max((release for release in _ALL_RELEASES if release.is_released), key=lambda release: release.number)
"""The newest release of Kafka that this version knows."""

ASSUMED: Final = "~"
"""Between a release and the one whose behaviour it is assumed to have, as in 4.9~4.3."""

_ALIASES: Final = {"post-2.0": "simulated-4", "ours": "streams-assignor"}


@frozen
class ResolvedRelease:
    """The release that a user's spelling stands for, and what had to be assumed."""

    given: str
    """The spelling."""
    candidates: tuple[Release, ...]
    """The releases that the spelling may stand for, oldest first: several if it leaves the patch level open."""
    reading: tuple[str, ...] = ()
    """One sentence for each step from the spelling to its candidates; empty if the table has that name."""
    older: tuple[Release, ...] = ()
    """The other releases of a line of Kafka that was named without a patch level, and stands for its newest one."""

    @property
    def release(self) -> Release:
        """The first candidate: a patch level that is not known is never taken for the best of its line."""
        return self.candidates[0]

    @property
    def is_open(self) -> bool:
        """Whether the spelling leaves open which release it is."""
        return len(self.candidates) > 1

    @property
    def span(self) -> str:
        """The candidates in words, each by the release of the table whose behaviour it has."""
        names = [candidate.assumed_like or candidate.name for candidate in self.candidates]
        return f"any release from {names[0]} to {names[-1]}" if self.is_open else names[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of a command that takes one release: how it was read, and for which of several it was taken."""
        first = self.release.assumed_like or self.release.name
        taken = (f"{self.given} can be {self.span}; it is taken for {first}",)
        return (*self.reading, *(taken if self.is_open else ()))

    @property
    def tables(self) -> tuple[str, ...]:
        """Say whose jars stand for it in the tables, if it is not named as Kafka names its releases.

        >>> resolve_release("7.6.1-ccs").tables
        ('7.6.1-ccs: settings and classes are compared with those of Apache Kafka 3.6.0',)
        """
        first = self.release.assumed_like or self.release.name
        compared = f"settings and classes are compared with those of Apache Kafka {first}"
        return (f"{self.given}: {compared}",) if self.reading else ()


def resolve_release(name: str, assume: str | None = None) -> ResolvedRelease:
    """Find a release by its name (``2.0.1``), its line (``2.0``: the newest of it) or a spelling of either.

    A vendor's release, ``2.0.x`` and a patch release that the table lacks may be any release of their line.
    ``assume`` names a known release whose behaviour an unknown one has: a patch release of the same line, or a line of
    Kafka that is newer than the table; ``4.9~4.3`` contains it.

    Raises:
        UnknownRelease: There is no such release; the message names the closest one, or the reason.

    >>> resolve_release("v3.9").release.name
    '3.9.2'
    >>> resolve_release("5.2.1-ccs").notes[-1]
    '5.2.1-ccs can be any release from 2.2.0 to 2.2.2; it is taken for 2.2.0'
    """
    wanted = _ALIASES.get(name, name)
    if release := RELEASES.get(wanted):
        return ResolvedRelease(name, (release,))
    if ASSUMED in name:
        wanted, _, assume = name.partition(ASSUMED)
    spelling = parse_release_name(wanted)
    if spelling is None:
        reason = unread_because(wanted)
        raise UnknownRelease(f"unknown release {name!r}{reason and f': {reason}'}; {_known_releases(name)}")
    reading = (spelling.note,) if spelling.note else ()
    lines = [line for line in NEWEST_OF_LINE if line.startswith(f"{spelling.number}.")]
    if len(lines) > 1:
        raise UnknownRelease(f"unknown release {name!r}: expected one of its lines, {', '.join(lines)}")
    if lines:
        spelling = evolve(spelling, number=lines[0])
    line = _releases_of_line(spelling.number)
    if spelling.any_patch and line:
        return ResolvedRelease(name, line, reading)
    if release := RELEASES.get(spelling.number):
        return ResolvedRelease(name, (release,), reading)
    if release := NEWEST_OF_LINE.get(spelling.number):
        return ResolvedRelease(name, (release,), reading, tuple(other for other in line if other != release))
    candidates, note = _unlisted(name, spelling.number, line, assume)
    return ResolvedRelease(name, candidates, (*reading, note))


def _unlisted(name: str, given: str, line: tuple[Release, ...], assume: str | None) -> tuple[tuple[Release, ...], str]:
    """Return what a number that the table lacks may behave like, and a sentence about it."""
    number = line_number(given)
    if not line:
        model = _model_of_newer_line(name, number, assume)
        newer = f"{given} is newer than this version knows ({NEWEST}); it is assumed to behave like {model}"
        return (_like(model, number),), newer
    lacks = f"{given} is not in the table of this version"
    if assume is not None and (model := resolve_release(assume).release) in line:
        return (_like(model, number),), f"{lacks}; it is assumed to behave like {model}"
    only = f"; it is treated like {line[0]}" if len(line) == 1 else ""
    return tuple(_like(model, number) for model in line), lacks + only


def _model_of_newer_line(name: str, number: tuple[int, ...], assume: str | None) -> Release:
    """Return the release that a line behaves like which is newer than the table.

    A number of Confluent Platform, or of the next major release, says nothing of Kafka: nothing is assumed of it.
    """
    given = ".".join(map(str, number))
    if number < NEWEST.number:
        raise UnknownRelease(f"unknown release {name!r}; {_known_releases(given)}")
    newer = f"unknown release {name!r}: newer than this version knows ({NEWEST})"
    if reason := no_newer_line_because(given, NEWEST.name):
        raise UnknownRelease(f"{newer}; {reason}")
    if assume is None:
        raise UnknownRelease(f"{newer}; --assume {NEWEST.line} treats it like {NEWEST}")
    return resolve_release(assume).release


def _releases_of_line(number: str) -> tuple[Release, ...]:
    """Return the released ones of the line that a number is of, oldest first."""
    line = _line_of(line_number(number))
    return tuple(release for release in RELEASES.values() if release.is_released and release.line == line)


def with_assumption(name: str, assume: str | None) -> str:
    """Return a spelling of a release that contains what it is assumed to behave like, if the table lacks it.

    Raises:
        UnknownRelease: There is no such release, with the assumption either.

    >>> with_assumption("4.9", "4.3"), with_assumption("4.2", "4.3")
    ('4.9.0~4.3.1', '4.2')
    """
    release = resolve_release(name, assume).release
    return release.spelling if release.assumed_like else name


def release_named(name: str) -> Release:
    """Find a release by any spelling that ``resolve_release`` reads.

    Raises:
        UnknownRelease: There is no such release; the message names the closest one.

    >>> release_named("1.1").name
    '1.1.1'
    """
    require_type("name", name, str, use='release_named("2.8") is an example')
    return resolve_release(name).release


def as_release(release: Release | str) -> Release:
    """Return a release that is given as itself, or by any spelling that ``resolve_release`` reads.

    Raises:
        UnknownRelease: There is no such release, or it is neither.

    >>> as_release("kip-268").rule_set
    'kip-268'
    """
    if isinstance(release, Release):
        return release
    if isinstance(release, str):
        return release_named(release)
    raise UnknownRelease(f"expected a release or its name, as 'kip-268', got {release!r}")


def number_of(name: str) -> tuple[int, ...]:
    """Return the number in the table for a release, by any spelling of it; a line of Kafka may be newer than the table.

    Raises:
        UnknownRelease: There is no such release.

    >>> number_of("3.9.2"), number_of("7.6.1-ccs")
    ((3, 9, 2), (3, 6, 0))
    """
    return resolve_release(name, assume=NEWEST.line).release.known_number


def _line_of(number: tuple[int, ...]) -> str:
    return ".".join(map(str, number[: 3 if number[0] == 0 else 2]))


def _like(model: Release, number: tuple[int, ...]) -> Release:
    """Return a release that the table lacks, with the behaviour of one that it has; a line gets the patch 0."""
    name = ".".join(map(str, number))
    named = f"{name}.0" if name == _line_of(number) else name
    return Release(named, model.behaviour, model.note, assumed_like=model.name)


def _known_releases(name: str) -> str:
    """Name the range of the table and the closest name in it: of a number, the line below it."""
    known = f"known are {_ALL_RELEASES[0]} to {NEWEST}, and streams-assignor"
    if spelling := parse_release_name(name):
        number = line_number(spelling.number)
        meant = [line for line, release in NEWEST_OF_LINE.items() if release.kafka_name and release.number < number][
            -1:
        ]
    else:
        meant = get_close_matches(name, [*NEWEST_OF_LINE, *RELEASES], n=1)
    return known + (f"; did you mean {meant[0]}?" if meant else "")
