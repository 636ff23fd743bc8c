"""Which releases could have sent a subscription: its two versions and the envelope around them give them away.

A release writes its own latest version into every subscription from version 3 on, and its consumer decides about the
envelope. Below 3 there is but the used version, which ``upgrade.from`` sets too (``upgrade.releases``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from typing import Final

from attrs import frozen

from assignor.eras import era_of
from subscription_codec import EARLIEST_PROBEABLE_VERSION
from upgrade.releases import RELEASES, Release

PUBLISHED: Final = tuple(release for release in RELEASES.values() if release.released)
OURS: Final = tuple(RELEASES[name] for name in ("streams-assignor", "streams-assignor-3", "simulated-4"))
_ONE_WRITER: Final = ((0, 10, 1), (2, 0))
"""From the first to before the second, version 1 has the tail of version 2 behind it (``quirks.TAIL_OF_2``)."""


@frozen
class Senders:
    """Who could have sent something: as it comes, and only with ``upgrade.from``."""

    plain: tuple[Release, ...] = ()
    pinned: tuple[Release, ...] = ()

    @property
    def surely_pinned(self) -> bool:
        """Whether ``upgrade.from`` must be set."""
        return bool(self.pinned) and not self.plain

    def __str__(self) -> str:
        """Say it in words.

        >>> str(senders(2, -1, envelope=0))
        '0.10.1.0 to 1.1.1, or 2.0.0 to 2.3.1 with upgrade.from'
        """
        with_value = f"{_ranges(self.pinned)} with upgrade.from" if self.pinned else ""
        return ", or ".join(filter(None, (_ranges(self.plain), with_value))) or "no known release"


@cache
def senders(used: int, supported: int, *, envelope: int, tail: bool = False) -> Senders:
    """Find the releases that write a subscription like that.

    ``used`` and ``supported`` (-1: none) are the numbers in the userdata, ``envelope`` is the version of the consumer
    protocol, ``tail`` says whether bytes stand behind version 1.
    """
    candidates = [release for release in (*PUBLISHED, *OURS) if era_of(release.number).envelope == envelope]
    if used >= EARLIEST_PROBEABLE_VERSION:
        return Senders(tuple(release for release in candidates if release.latest_version == supported))
    first, last = _ONE_WRITER
    if used == 1:
        candidates = [release for release in candidates if (first <= release.number < last) == tail]
    return Senders(
        tuple(release for release in candidates if release.latest_version == used),
        tuple(release for release in candidates if used != release.latest_version and used in _pins(release)),
    )


def _pins(release: Release) -> set[int | None]:
    return {release.pinned_version(value) for value in release.upgrade_from}


@cache
def _ranges(releases: tuple[Release, ...]) -> str:
    """Name the first and the last of each run of neighbours; ours one by one.

    >>> _ranges(tuple(RELEASES[name] for name in ("2.0.0", "2.0.1", "4.3.1", "streams-assignor")))
    '2.0.0 to 2.0.1 or 4.3.1 or streams-assignor'
    """
    runs = groupby(releases, key=lambda release: _run_of(release, releases))
    return " or ".join(_span(list(run)) for _, run in runs)


def _run_of(release: Release, releases: Sequence[Release]) -> object:
    """Tell runs apart: within one, the place in the table and the place in the list differ by the same."""
    if release not in PUBLISHED:
        return release.name
    return PUBLISHED.index(release) - list(releases).index(release)


def _span(run: Sequence[Release]) -> str:
    return " to ".join(dict.fromkeys((run[0].name, run[-1].name)))


def eager_or_cooperative(found: Iterable[Release]) -> str | None:
    """Say which rebalance protocol all of them speak, if it is but one.

    >>> eager_or_cooperative([RELEASES["2.3.1"]]), eager_or_cooperative([RELEASES["3.9.2"]])
    ('eager', None)
    """
    protocols = {protocol for release in found for protocol in release.rebalance_protocols}
    return protocols.pop() if len(protocols) == 1 else None
