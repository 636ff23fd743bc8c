"""Known bugs of brokers that a roll to a release meets: the rows of ``known_bugs.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Final

from attrs import field, frozen

from streams_assignor.upgrade.cluster.brokers.protocol_versions import BrokerRelease, MetadataMode

READ: Final = "critical fixes in the patch releases 2.0.1 to 3.7.1 read for all components, later ones in part"


def _release(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _releases(text: str) -> tuple[tuple[int, ...], ...]:
    return tuple(map(_release, text.split()))


@frozen
class BrokerBug:
    """One bug, and the releases that have it."""

    issue: str
    since: tuple[int, ...] = field(converter=_release)
    fixed: tuple[tuple[int, ...], ...] = field(converter=_releases)
    """The first release of each line with the fix; lines after the last one have it from the start."""
    mode: str
    """The only mode that meets it; empty: both do."""
    effect: str

    def affects(self, release: BrokerRelease, mode: MetadataMode) -> bool:
        """Whether a release has the bug; a line, and a patch level that is not known, counts as its first release."""
        number = release.known_number[:3]
        of_line = [fix for fix in self.fixed if fix[:2] == number[:2]]
        return self.mode in {"", mode.value} and self.since <= number < (*of_line, self.fixed[-1])[0]

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

    Those that the brokers do not have already come first.
    """
    for release in rolls:
        met = [bug for bug in broker_bugs() if bug.affects(release, mode)]
        for bug in sorted(met, key=lambda bug: bug.affects(origin, mode)):
            known = f"; {origin} has it, too" if bug.affects(origin, mode) else ""
            yield f"{release}: {bug.effect}; take {bug.fix(release)} or later ({bug.issue}{known})"
