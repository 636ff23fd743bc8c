"""What single releases write that their version does not say: bytes of old members, for simulations and tests.

Decoding needs none of this: every decoder takes what every release has sent.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from subscription_codec.errors import EncodeError
from subscription_codec.layout import ASSIGNMENT, SUBSCRIPTION
from subscription_codec.records import Assignment, Subscription
from subscription_codec.versions import EARLIEST_PROBEABLE_VERSION

Record = TypeVar("Record", Subscription, Assignment)

Release = tuple[int, ...]


class Quirk(NamedTuple):
    """Something that the releases from ``first`` up to (not including) ``until`` do.

    ``supported`` is the number they write as the supported version, whatever they are told, if that is the quirk.
    """

    first: Release
    until: Release
    what: str
    supported: int | None = None


TAIL_OF_2: Final = Quirk((0, 10, 1), (2, 0), "version 1 is written with the last field of version 2 behind it")
QUIRKS: Final = (
    TAIL_OF_2,
    Quirk((2, 0), (2, 1), "the supported version is always 3", 3),
    Quirk((2, 1), (2, 2, 2), "the supported version is always 4", 4),
    Quirk((2, 3), (2, 3, 1), "the supported version is always 4", 4),
)


def as_written_by(release: str, record: Record) -> Record:
    """Return the record whose plain encoding is what ``release`` would have written.

    ``EncodeError`` if ``release`` is not the number of a release of Kafka.
    """
    number = _number(release)
    for quirk in QUIRKS:
        if quirk.first <= number < quirk.until:
            if quirk is TAIL_OF_2 and record.version == 1:
                return record._replace(trailing=_tail_of_2(record) + record.trailing)
            if quirk.supported is not None and record.version >= EARLIEST_PROBEABLE_VERSION:
                return record._replace(latest_supported=quirk.supported)
    return record


@lru_cache(maxsize=256)
def _number(release: str) -> Release:
    try:
        return tuple(map(int, release.split(".")))
    except (AttributeError, ValueError):
        raise EncodeError(f"expected a release of Kafka such as 1.1.1, got {release!r}", "as_release") from None


def _tail_of_2(record: Subscription | Assignment) -> bytes:
    """Return what version 2 has and version 1 has not: its last field."""
    layouts = SUBSCRIPTION if isinstance(record, Subscription) else ASSIGNMENT
    out, last = bytearray(), layouts[2][-1]
    try:
        last.wire.write(out, getattr(record, last.name))
    except EncodeError as error:
        raise error.within(last.name) from None
    return bytes(out)
