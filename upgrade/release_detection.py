"""The releases that could have sent a subscription, from its used and supported version and its envelope's version.

From version 3 on, a subscription contains the sender's supported version; the consumer determines the envelope. Below
version 3 there is only the used version, which ``upgrade.from`` also determines (``upgrade.releases``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from itertools import groupby
from typing import Final

from attrs import frozen

from streams_assignor.codec import EARLIEST_PROBEABLE_VERSION
from streams_assignor.upgrade.releases import NEWEST, OURS, RELEASES, Release

KAFKA_RELEASES: Final = tuple(release for release in RELEASES.values() if release.is_released)
_DEMONSTRATION_RELEASES: Final = tuple(RELEASES[name] for name in ("streams-assignor-3", "simulated-4"))
"""Members that show how version probing works: of the metadata versions of 2.0 and 2.1, in a newer consumer."""

_OR_NEWER: Final = "or newer"
_FIRST_STREAMS_RELEASE: Final = "4.1.0"
_FIRST_WITH_OFFSETS: Final = "4.4.0"
"""The first release whose members send offsets of tasks, or may be static."""


@frozen
class CandidateReleases:
    """The releases that could have sent a subscription."""

    unpinned: tuple[Release, ...] = ()
    """Without ``upgrade.from``."""

    pinned: tuple[Release, ...] = ()
    """Only with ``upgrade.from``."""

    @property
    def is_pinned(self) -> bool:
        """Whether the sender certainly has ``upgrade.from`` set."""
        return bool(self.pinned) and not self.unpinned

    def can_be(self, release: Release) -> bool:
        """Whether it can be a release, or one that behaves like it."""
        return self.can_be_unpinned(release) or _is_like(release, self.pinned)

    def can_be_unpinned(self, release: Release) -> bool:
        """Whether it can be a release without an ``upgrade.from`` that lowers its version."""
        return _is_like(release, self.unpinned)

    def __str__(self) -> str:
        return self._text

    @property
    def releases(self) -> tuple[Release, ...]:
        """With and without ``upgrade.from``."""
        return self.unpinned + self.pinned

    @cached_property
    def rebalance_protocol(self) -> str | None:
        """The only rebalance protocol of these releases; None if there are several.

        >>> CandidateReleases((RELEASES["2.3.1"],)).rebalance_protocol
        'eager'
        >>> CandidateReleases((RELEASES["3.9.2"],)).rebalance_protocol  # None
        """
        protocols = {protocol for release in self.releases for protocol in release.rebalance_protocols}
        return protocols.pop() if len(protocols) == 1 else None

    @cached_property
    def _text(self) -> str:
        """Write the ranges of releases.

        >>> str(find_candidates(2, -1, consumer_protocol_version=0))
        '0.10.1.0 to 1.1.1, or 2.0.0 to 2.3.1 with upgrade.from'
        """
        with_value = f"{format_ranges(self.pinned)} with upgrade.from" if self.pinned else ""
        return ", or ".join(filter(None, (format_ranges(self.unpinned), with_value))) or "no known release"


def _is_like(release: Release, candidates: Iterable[Release]) -> bool:
    return any(candidate.behaviour == release.behaviour for candidate in candidates)


@cache
def find_candidates(
    used_version: int, supported_version: int, *, consumer_protocol_version: int, has_trailing_bytes: bool = False
) -> CandidateReleases:
    """Find the releases that write such a subscription.

    Args:
        used_version: in the userdata.
        supported_version: in the userdata; -1 if there is none.
        consumer_protocol_version: of the envelope.
        has_trailing_bytes: whether bytes follow the last field of version 1.
    """
    wire = used_version, supported_version, consumer_protocol_version, has_trailing_bytes
    candidates = _select_candidates((*KAFKA_RELEASES, OURS), *wire)
    if candidates.unpinned or candidates.pinned:
        return candidates
    return _select_candidates(_DEMONSTRATION_RELEASES, *wire)  # meant only if no release that people run is


def newer_release_like(model: Release) -> Release:
    """Return the release of members that support a version above all of the table, if it may be assumed.

    >>> str(newer_release_like(RELEASES["4.3.1"])).partition(", ")[2]
    'assumed to behave like 4.3.1'
    """
    name = f"a release newer than {NEWEST}, assumed to behave like {model}"
    return Release(name, model.behaviour, assumed_like=model.name)


def _select_candidates(
    releases: Iterable[Release],
    used_version: int,
    supported_version: int,
    consumer_protocol_version: int,
    has_trailing_bytes: bool,
) -> CandidateReleases:
    candidates = [
        release
        for release in releases
        if release.behaviour.consumer_protocol_version == consumer_protocol_version
        and (used_version != 1 or release.behaviour.version_1_tail == has_trailing_bytes)
    ]
    if used_version >= EARLIEST_PROBEABLE_VERSION:
        return CandidateReleases(
            tuple(release for release in candidates if release.supported_version == supported_version)
        )
    return CandidateReleases(
        tuple(release for release in candidates if release.supported_version == used_version),
        tuple(
            release
            for release in candidates
            if used_version != release.supported_version
            and used_version in {release.pinned_version(value) for value in release.upgrade_from}
        ),
    )


@cache
def format_ranges(releases: tuple[Release, ...]) -> str:
    """Name the first and the last release of each run; releases of this project one by one.

    Releases newer than the table may have the metadata of its last one.

    >>> format_ranges(tuple(RELEASES[name] for name in ("2.0.0", "2.0.1", "2.8.2", "streams-assignor")))
    '2.0.0 to 2.0.1 or 2.8.2 or streams-assignor'
    >>> format_ranges((RELEASES["3.9.2"], *KAFKA_RELEASES[-2:], OURS)).partition(" or newer")
    ('3.9.2 or 4.3.1', ' or newer', ', or streams-assignor')
    """
    runs = [_format_range(list(run)) for _, run in groupby(releases, key=lambda release: _run_key(release, releases))]
    return " or ".join(runs).replace(f"{_OR_NEWER} or ", f"{_OR_NEWER}, or ")


def _run_key(release: Release, releases: Sequence[Release]) -> object:
    """Grouping key of a run: the distance between the index in the table and in the list."""
    if release not in KAFKA_RELEASES:
        return release.name
    return KAFKA_RELEASES.index(release) - list(releases).index(release)


def _format_range(run: Sequence[Release]) -> str:
    if run[-1] == KAFKA_RELEASES[-1]:
        return f"{run[0].name} {_OR_NEWER}"
    return " to ".join(dict.fromkeys((run[0].name, run[-1].name)))


def first_streams_release(*, is_static: bool, sends_offsets: bool) -> Release:
    """Return the first release whose members join a group of KIP-1071, by what only later ones send.

    Heartbeats have no version from which more would follow.
    """
    return RELEASES[_FIRST_WITH_OFFSETS if is_static or sends_offsets else _FIRST_STREAMS_RELEASE]


def streams_protocol_releases(*, is_static: bool, sends_offsets: bool) -> str:
    """Write the releases whose members join a group of KIP-1071.

    >>> streams_protocol_releases(is_static=False, sends_offsets=False)
    '4.1.0 or later'
    """
    return f"{first_streams_release(is_static=is_static, sends_offsets=sends_offsets)} or later"
