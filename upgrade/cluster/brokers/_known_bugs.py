"""Known bugs of brokers that a roll to a release meets: the rows of ``known_bugs.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Final

from attrs import field, frozen

from streams_assignor.upgrade.cluster.brokers.protocol_versions import BrokerRelease, MetadataMode

READ: Final = (
    "fixes in the patch releases 2.0.1 to 4.3.1 read for core, controller, group-coordinator, kraft, storage and "
    "transactions, those in 3.8.0 to 4.4.0 by their titles"
)


def _releases(text: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, release.rstrip("?").split("."))) for release in text.split())


def _of_line(releases: tuple[tuple[int, ...], ...], number: tuple[int, ...]) -> tuple[int, ...]:
    """Return the one of its line; the last one decides for other lines."""
    return next((release for release in releases if release[:2] == number[:2]), releases[-1])


@frozen
class BrokerBug:
    """One bug, and the releases that have it."""

    issue: str
    since: tuple[tuple[int, ...], ...] = field(converter=_releases)
    """The first release of each line with the bug; lines after the last one have it from the start."""
    fixed: tuple[tuple[int, ...], ...] = field(converter=_releases)
    """The first release of each line with the fix; lines after the last one have it from the start."""
    mode: str
    """The only mode that meets it; empty: both do."""
    effect: str

    def affects(self, release: BrokerRelease, mode: MetadataMode) -> bool:
        """Whether a release has the bug; a line, and a patch level that is not known, counts as its first release."""
        number = release.known_number[:3]
        is_in = _of_line(self.since, number) <= number < _of_line(self.fixed, number)
        return is_in and self.mode in {"", mode.value}

    def fix(self, release: BrokerRelease) -> str:
        """Return the first release after an affected one that has the fix."""
        return next(".".join(map(str, fix)) for fix in self.fixed if fix > release.known_number)


@cache
def broker_bugs() -> tuple[BrokerBug, ...]:
    """Return the known bugs."""
    table = tomllib.loads((files(__package__) / "known_bugs.toml").read_text(encoding="utf-8"))
    return tuple(BrokerBug(*row) for row in table["bugs"])


def bugs_met(origin: BrokerRelease, rolls: Iterable[BrokerRelease], mode: MetadataMode) -> Iterator[str]:
    """Yield the known bugs of the releases to which brokers are bounced, each with the release that has the fix.

    Those that the brokers have already are one line.
    """
    for release in (release for release in rolls if release.number != origin.number):
        met = [bug for bug in broker_bugs() if bug.affects(release, mode)]
        kept = [f"{bug.issue} (until {bug.fix(release)})" for bug in met if bug.affects(origin, mode)]
        for bug in met:
            if not bug.affects(origin, mode):
                yield f"{release}: {bug.effect}; take {bug.fix(release)} or later ({bug.issue})"
        if kept:
            yield f"{release} has known bugs of {origin}, too: {', '.join(kept)}"
