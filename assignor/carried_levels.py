"""Levels of features that a group carries: what its leader sees of the cluster reaches everybody (KIP-584, T3 to T5).

They stand behind the last field of userdata, where no Kafka decoder looks: no version of the metadata has a field for
them. Whoever carries none writes none, so a group that watches nothing has the bytes that it always had.

The bytes: ``MAGIC`` and a version, the size of the list (int32), for each feature its name (length in one byte, UTF-8)
and its level (int16), and the CRC-32 of all that. The sum is there because nobody ever goes back to a lower level: what
damaged bytes say could not be taken back.

>>> read(write({"group.version": 1}) + b"somebody else's")
{'group.version': 1}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final
from zlib import crc32

from upgrade import ConfigException

Levels = Mapping[str, int]
NO_LEVELS: Final[Levels] = MappingProxyType({})

MAGIC: Final = b"\xffSAL"
"""Looks like no size and no count, so like nothing that releases of Kafka write there (0.10.1 to 1.1 do)."""

VERSION: Final = b"\x01"
HIGHEST: Final = 2**15 - 1
"""Levels are int16 in every request of Kafka."""

LONGEST_NAME: Final = 255  # bytes
_SIZE: Final = len(MAGIC + VERSION)
_LIST: Final = _SIZE + 4


def highest(*known: Levels) -> Levels:
    """Put together what several know: of each feature the highest level, since nobody ever goes back.

    "once a client sees that v2 is enabled on any broker, it should be a clear signal" (KIP-584).

    >>> highest({"a": 2, "b": 1}, {"a": 1})
    {'a': 2, 'b': 1}
    """
    found: dict[str, int] = {}
    for levels in known:
        for name, level in levels.items():
            found[name] = max(level, found.get(name, 0))
    return found


def only(watches: Iterable[str], levels: Levels) -> Levels:
    """Leave out what nobody watches."""
    return {name: levels[name] for name in watches if name in levels}


def as_watches(names: Iterable[str]) -> frozenset[str]:
    """Check names of features; ``ConfigException`` if they cannot be some."""
    expected = f"expected names of features to watch, each of 1 to {LONGEST_NAME} bytes, such as ('group.version',)"
    if isinstance(names, str):
        raise ConfigException(f"{expected}, got the text {names!r}")
    found: frozenset[Any] = frozenset(names)  # they come from a person
    for name in found:
        if not isinstance(name, str) or not 1 <= len(name.encode()) <= LONGEST_NAME:
            raise ConfigException(f"{expected}, got {name!r}")
    return found


def as_levels(seen: Levels) -> Levels:
    """Check what somebody has seen, and leave out what is not finalised (level 0); ``ValueError`` if it cannot be."""
    for name, level in seen.items():
        if not 0 <= level <= HIGHEST:
            raise ValueError(f"expected a level from 0 to {HIGHEST} of the feature {name}, got {level!r}")
    return {name: level for name, level in seen.items() if level}


def write(levels: Levels) -> bytes:
    """Write what stands behind the last field: nothing for no levels, and equal bytes for equal levels."""
    if not levels:
        return b""
    entries = b"".join(_entry(name.encode(), level) for name, level in sorted(levels.items()))
    whole = MAGIC + VERSION + len(entries).to_bytes(4, "big") + entries
    return whole + crc32(whole).to_bytes(4, "big")


def read(trailing: bytes) -> Levels:
    """Read what stands behind the last field; never fails.

    Only what we would have written like that counts. Anything else (of somebody else, damaged, or of another version)
    says nothing.
    """
    if not trailing.startswith(MAGIC):
        return NO_LEVELS
    end = _LIST + int.from_bytes(trailing[_SIZE:_LIST], "big")
    found = dict(_entries(trailing[_LIST:end]))
    return found if found and trailing.startswith(write(found)) else NO_LEVELS


def _entry(name: bytes, level: int) -> bytes:
    return len(name).to_bytes(1, "big") + name + level.to_bytes(2, "big")


def _entries(data: bytes) -> Iterable[tuple[str, int]]:
    """Find as much as there may be in a list; whether it is one is for others to say."""
    while data:
        end = 1 + data[0]
        name, level, data = data[1:end], int.from_bytes(data[end : end + 2], "big"), data[end + 2 :]
        if name and 1 <= level <= HIGHEST:
            yield name.decode(errors="ignore"), level
