"""Feature levels that a Streams group carries: every member learns what the leader has seen on the cluster (KIP-584).

``CarriedLevels`` is the memory of one member. The levels follow the last field of the userdata, where no decoder of
Kafka looks: no version has a field for them. A member without levels writes no bytes, so a group that watches no
features has the same bytes as before.

Layout: ``MAGIC``, a version, the size of the list (int32); for each feature its name (length in one byte, UTF-8) and
its level (int16); the CRC-32 of everything before it. The checksum is needed because levels never fall: a level from
damaged bytes could not be corrected. It protects against damage, not against a hostile member: the trust model is in
``docs/explanation/carried-levels.md``.

>>> decode_levels(encode_levels({"group.version": 1}) + b"bytes of another implementation")
{'group.version': 1}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, Final
from zlib import crc32

from attrs import define, field

from streams_assignor.upgrade.errors import ConfigException

Levels = Mapping[str, int]
NO_LEVELS: Final[Levels] = MappingProxyType({})

MAGIC: Final = b"\xffSAL"
"""Neither a size nor a count, so unlike the bytes that releases 0.10.1 to 1.1 write there."""

VERSION: Final = b"\x01"
MAX_LEVEL: Final = 2**15 - 1
"""Levels are int16 in all requests of Kafka."""

MAX_NAME_BYTES: Final = 255
MAX_FEATURES: Final = 64
"""The most features that a member watches, and that an envelope carries. Kafka 4.3 has nine."""

_SIZE_OFFSET: Final = len(MAGIC + VERSION)
_LIST_OFFSET: Final = _SIZE_OFFSET + 4
_MAX_LIST_BYTES: Final = MAX_FEATURES * (1 + MAX_NAME_BYTES + 2)


def merge_levels(*carried: Levels) -> Levels:
    """Return the highest level of each feature; levels never fall.

    "once a client sees that v2 is enabled on any broker, it should be a clear signal" (KIP-584).

    >>> merge_levels({"a": 2, "b": 1}, {"a": 1})
    {'a': 2, 'b': 1}
    """
    merged: dict[str, int] = {}
    for levels in carried:
        for name, level in levels.items():
            merged[name] = max(level, merged.get(name, 0))
    return merged


def select_levels(watches: Iterable[str], levels: Levels) -> Levels:
    """Return the levels of the watched features."""
    return {name: levels[name] for name in watches if name in levels}


def limit_levels(levels: Levels, highest: Levels) -> Levels:
    """Return the levels, none of them above its ``highest``; a feature without one is left out.

    >>> limit_levels({"a": 9, "b": 1, "c": 1}, {"a": 2, "b": 2})
    {'a': 2, 'b': 1}
    """
    return {name: min(level, highest[name]) for name, level in levels.items() if name in highest}


def levels_above(levels: Levels, others: Levels) -> Levels:
    """Return the levels that are higher than the others.

    >>> levels_above({"a": 2, "b": 1}, {"a": 1, "b": 1})
    {'a': 2}
    """
    return {name: level for name, level in levels.items() if level > others.get(name, 0)}


def check_feature_names(names: Iterable[str]) -> frozenset[str]:
    """Return the names of features; raise ``ConfigException`` for a name that no feature can have."""
    expected = f"expected names of features to watch, each of 1 to {MAX_NAME_BYTES} bytes, such as ('group.version',)"
    if isinstance(names, str):
        raise ConfigException(f"{expected}, got the text {names!r}")
    checked: frozenset[Any] = frozenset(names)  # user input: not checked statically
    for name in checked:
        if not isinstance(name, str) or not 1 <= len(name.encode()) <= MAX_NAME_BYTES:
            raise ConfigException(f"{expected}, got {name!r}")
    if len(checked) > MAX_FEATURES:
        raise ConfigException(f"expected at most {MAX_FEATURES} features to watch, got {len(checked)}")
    if not checked:
        raise ConfigException(f"{expected}, got none")
    return checked


def check_levels(finalized: Levels) -> Levels:
    """Return the finalized levels, without those at 0; raise ``ValueError`` for a level out of range."""
    for name, level in finalized.items():
        if not 0 <= level <= MAX_LEVEL:
            raise ValueError(f"expected a level from 0 to {MAX_LEVEL} of the feature {name}, got {level!r}")
    return {name: level for name, level in finalized.items() if level}


@define
class CarriedLevels:
    """The levels that one member remembers, carries and, as leader, passes on; an ``extension.Extension``.

    Raises ``ConfigException`` for names that no feature can have.
    """

    watches: frozenset[str] = field(converter=check_feature_names)
    """The features whose levels it remembers; it ignores all others."""
    confirms: bool = field(default=False, kw_only=True)
    """Whether it believes a level only once the cluster has answered it."""
    levels: Levels = field(default=NO_LEVELS, kw_only=True)
    """The highest level seen of each feature; it never falls (KIP-584)."""
    unconfirmed: Levels = field(default=NO_LEVELS, init=False)
    """The levels of the last assignment that it does not believe before the cluster confirms them."""
    withheld: Levels = field(default=NO_LEVELS, init=False)
    """The levels that members carried and the last ``merge`` did not pass on: the cluster has not answered them."""
    observed: Levels = field(default=NO_LEVELS, init=False, converter=check_levels)
    """The finalized levels of the cluster, as far as this member has seen them."""
    answered: bool = field(default=False, init=False)
    """Whether the cluster has answered: then ``merge`` passes on no higher level, whatever members carry. The answer
    may be that of a stale broker, so ask all brokers about the levels that it withholds."""

    def observe(self, finalized: Levels) -> None:
        """Store what the cluster has answered; ``ValueError`` for levels that Kafka cannot have."""
        self.observed = merge_levels(self.observed, check_levels(finalized))
        self.answered = True

    def needs_rejoin_for(self, finalized: Levels) -> bool:
        """Whether these finalized levels are news for the group, so that its leader should rejoin."""
        return merge_levels(self.levels, select_levels(self.watches, finalized)) != self.levels

    def confirm(self) -> None:
        """Believe the unconfirmed levels up to those that the cluster has answered."""
        self._believe(limit_levels(self.unconfirmed, self.observed), self.unconfirmed)

    def trailing(self) -> bytes:
        """Return the levels for the next subscription."""
        return encode_levels(self.levels)

    def merge(self, carried: Iterable[bytes]) -> bytes:
        """Return the highest levels that this leader has seen or any member carries."""
        seen = (self.observed, *map(decode_levels, carried))
        merged = merge_levels(*(select_levels(self.watches, levels) for levels in seen))
        passed_on = limit_levels(merged, self.observed) if self.answered else merged
        self.withheld = levels_above(merged, passed_on)
        return encode_levels(passed_on)

    def on_assignment(self, trailing: bytes) -> None:
        """Believe the levels of an assignment: "shall not downgrade (...) once they upgrade" (KIP-584)."""
        carried = select_levels(self.watches, decode_levels(trailing))
        self._believe(limit_levels(carried, self.observed) if self.confirms else carried, carried)

    def _believe(self, believed: Levels, carried: Levels) -> None:
        self.levels = merge_levels(self.levels, believed)
        self.unconfirmed = levels_above(carried, self.levels)


def encode_levels(levels: Levels) -> bytes:
    """Encode levels for the end of userdata: no bytes for no levels, equal bytes for equal levels."""
    if not levels:
        return b""
    entries = b"".join(_encode_entry(name.encode(), level) for name, level in sorted(levels.items()))
    whole = MAGIC + VERSION + len(entries).to_bytes(4, "big") + entries
    return whole + crc32(whole).to_bytes(4, "big")


def decode_levels(trailing: bytes) -> Levels:
    """Decode the bytes after the last field of userdata; never fails.

    Returns no levels unless the bytes start with exactly what ``encode_levels`` writes: other bytes are damaged, of
    another version or of another implementation. Levels of more than ``MAX_FEATURES`` features are no levels either:
    any member can write them, and time and memory must not depend on it.
    """
    size = int.from_bytes(trailing[_SIZE_OFFSET:_LIST_OFFSET], "big")
    if not trailing.startswith(MAGIC) or size > _MAX_LIST_BYTES:
        return NO_LEVELS
    levels = dict(islice(_decode_entries(trailing[_LIST_OFFSET : _LIST_OFFSET + size]), MAX_FEATURES))
    return levels if levels and trailing.startswith(encode_levels(levels)) else NO_LEVELS


def _encode_entry(name: bytes, level: int) -> bytes:
    return len(name).to_bytes(1, "big") + name + level.to_bytes(2, "big")


def _decode_entries(data: bytes) -> Iterable[tuple[str, int]]:
    """Decode as many entries as there may be; the caller checks the result."""
    at = 0
    while at < len(data):
        first, end = at + 1, at + 1 + data[at]
        name, level, at = data[first:end], int.from_bytes(data[end : end + 2], "big"), end + 2
        if name and 1 <= level <= MAX_LEVEL:
            yield name.decode(errors="ignore"), level
