"""Deviations of single releases from the layout of their version, for simulations and tests of old members.

Decoding does not need this module: every decoder accepts the bytes of every release.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from streams_assignor.codec.errors import EncodeError
from streams_assignor.codec.layout import ASSIGNMENT_LAYOUTS, SUBSCRIPTION_LAYOUTS
from streams_assignor.codec.records import Assignment, Subscription
from streams_assignor.codec.versions import EARLIEST_PROBEABLE_VERSION

Record = TypeVar("Record", Subscription, Assignment)

Release = tuple[int, ...]


class Quirk(NamedTuple):
    """One deviation of a range of releases."""

    since: Release
    """The first release."""
    until: Release
    """The first later release without the deviation."""
    description: str
    supported_version: int | None = None
    """The fixed number that these releases write as the supported version; None: they write the real one."""


VERSION_2_TAIL: Final = Quirk((0, 10, 1), (2, 0), "version 1 is written with the last field of version 2 after it")
QUIRKS: Final = (
    VERSION_2_TAIL,
    Quirk((2, 0), (2, 1), "the supported version is always 3", 3),
    Quirk((2, 1), (2, 2, 2), "the supported version is always 4", 4),
    Quirk((2, 3), (2, 3, 1), "the supported version is always 4", 4),
)


def imitate_release(release: str, record: Record) -> Record:
    """Return the record whose plain encoding has the bytes that ``release`` writes.

    Raises ``EncodeError`` if ``release`` is not a release number of Kafka.
    """
    number = _release_number(release)
    for quirk in QUIRKS:
        if quirk.since <= number < quirk.until:
            if quirk is VERSION_2_TAIL and record.version == 1:
                return record._replace(trailing=_version_2_tail(record) + record.trailing)
            if quirk.supported_version is not None and record.version >= EARLIEST_PROBEABLE_VERSION:
                return record._replace(supported_version=quirk.supported_version)
    return record


@lru_cache(maxsize=256)
def _release_number(release: str) -> Release:
    try:
        return tuple(map(int, release.split(".")))
    except (AttributeError, ValueError):
        raise EncodeError(f"expected a release of Kafka such as 1.1.1, got {release!r}", "as_release") from None


def _version_2_tail(record: Subscription | Assignment) -> bytes:
    """Return the encoded last field of version 2, which version 1 does not have."""
    layouts = SUBSCRIPTION_LAYOUTS if isinstance(record, Subscription) else ASSIGNMENT_LAYOUTS
    out, last = bytearray(), layouts[2].members[-1]
    try:
        last.wire.write(out, getattr(record, last.key))
    except EncodeError as error:
        raise error.within(last.key) from None
    return bytes(out)
