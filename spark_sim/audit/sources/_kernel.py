"""The inner loop over record batches, compiled by numba: it finds where records begin, and the numbers of commits.

It reads batches of format 2 that are not compressed, not transactional and not control batches, and stops before any
other one, and before one that is damaged or has another checksum. ``assignor.audit.log_segment`` reads those; it has
the same rules.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

OFFSET, TIME, KEY, KEY_END, VALUE, VALUE_END, COMMITTED = range(7)
COLUMNS: Final = 7
"""The columns of a row; ``VALUE`` is -1 for a tombstone, ``COMMITTED`` is 0 for a record that is no commit."""
BATCHES, COMMITS, LEGACY_COMMITS, TOMBSTONES = range(4)
COUNTS: Final = 4
_HEADER: Final = 61
_SPECIAL: Final = 0x37
"""Compression, transactional, control: attributes of batches that are not read here."""
_CRC: Final = 17
_CHECKED: Final = 21
"""Where the bytes begin of which ``_CRC`` is the checksum."""


def _crc_tables() -> np.ndarray[tuple[int, ...], np.dtype[np.uint32]]:
    """Return the tables of CRC-32C for eight bytes at a time; the first one is that for one byte."""
    tables = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
        tables[0, byte] = crc
    for index in range(1, 8):
        tables[index] = tables[index - 1] >> 8 ^ tables[0, tables[index - 1] & 0xFF]
    return tables


_TABLES: Final = _crc_tables()


@njit(cache=True, nogil=True)
def crc32c(data, at, end):  # type: ignore[no-untyped-def]
    """Return the CRC-32C of some bytes."""
    crc = np.uint32(0xFFFFFFFF)
    while end - at >= 8:
        crc ^= np.uint32(data[at]) | np.uint32(data[at + 1]) << 8
        crc ^= np.uint32(data[at + 2]) << 16 | np.uint32(data[at + 3]) << 24
        crc = (
            _TABLES[7, crc & 0xFF]
            ^ _TABLES[6, crc >> 8 & 0xFF]
            ^ _TABLES[5, crc >> 16 & 0xFF]
            ^ _TABLES[4, crc >> 24 & 0xFF]
            ^ _TABLES[3, data[at + 4]]
            ^ _TABLES[2, data[at + 5]]
            ^ _TABLES[1, data[at + 6]]
            ^ _TABLES[0, data[at + 7]]
        )
        at += 8
    while at < end:
        crc = _TABLES[0, (crc ^ data[at]) & 0xFF] ^ crc >> 8
        at += 1
    return np.int64(crc ^ np.uint32(0xFFFFFFFF))


@njit(cache=True, nogil=True)
def _integer(data, at, size):  # type: ignore[no-untyped-def]
    value = np.int64(0)
    for index in range(size):
        value = value << 8 | np.int64(data[at + index])
    if size < 8 and value >= np.int64(1) << (8 * size - 1):
        value -= np.int64(1) << (8 * size)
    return value


@njit(cache=True, nogil=True)
def _varint(data, at, end):  # type: ignore[no-untyped-def]
    """Read a zigzag varint; return it and its end, which is -1 if there is none."""
    value, shift = np.uint64(0), 0
    while shift < 70 and at < end:
        byte = data[at]
        at += 1
        value |= np.uint64(byte & 0x7F) << np.uint64(shift)
        if byte < 0x80:
            return np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1)), at
        shift += 7
    return np.int64(0), -1


@njit(cache=True, nogil=True)
def _records(data, at, end, base, attributes, count, reads_commits, rows, row, counts):  # type: ignore[no-untyped-def]
    """Append the records of a batch; return the next row, or -1 if the bytes are not records."""
    base_time, max_time = _integer(data, base + 27, 8), _integer(data, base + 35, 8)
    base_offset = _integer(data, base, 8)
    if base_offset < 0:
        return -1
    for _ in range(count):
        size, at = _varint(data, at, end)
        if at < 0 or size <= 0 or at + size > end:
            return -1
        following = at + size
        delta, at = _varint(data, at + 1, following)
        if at < 0:
            return -1
        offset_delta, at = _varint(data, at, following)
        if at < 0 or base_offset + offset_delta < 0:
            return -1
        key_size, at = _varint(data, at, following)
        if at < 0 or key_size < 0 or at + key_size > following:
            return -1
        key = at
        value_size, at = _varint(data, key + key_size, following)
        if at < 0 or at + value_size > following:
            return -1
        kind = _integer(data, key, 2) if key_size >= 2 else -1
        is_commit = kind == 0 or kind == 1
        if is_commit and not reads_commits:
            counts[LEGACY_COMMITS if kind == 0 else COMMITS] += 1
            counts[TOMBSTONES] += value_size < 0
        else:
            rows[row, OFFSET] = base_offset + offset_delta
            rows[row, TIME] = max_time if attributes & 0x08 else base_time + delta
            rows[row, KEY] = key
            rows[row, KEY_END] = key + key_size
            rows[row, VALUE] = at if value_size >= 0 else -1
            rows[row, VALUE_END] = at + max(value_size, 0)
            # The version and the committed offset are at the same place in every version of the value.
            has_offset = value_size >= 10 and _integer(data, at, 2) <= 4 and data[at] == 0
            rows[row, COMMITTED] = 1 if is_commit and (value_size < 0 or has_offset) else 0
            row += 1
        at = following
    return row


@njit(cache=True, nogil=True)
def scan(data, at, end, reads_commits, rows, counts):  # type: ignore[no-untyped-def]
    """Read whole batches until one has to be read by others, or the rows are full; return its place and the rows."""
    row, capacity = 0, rows.shape[0]
    while end - at >= _HEADER:
        size = _integer(data, at + 8, 4)
        following = at + 12 + size
        if size < _HEADER - 12 or following > end or data[at + 16] != 2:
            break
        attributes, count = _integer(data, at + 21, 2), _integer(data, at + 57, 4)
        if attributes & _SPECIAL or count < 0 or row + count > capacity:
            break
        if crc32c(data, at + _CHECKED, following) != _integer(data, at + _CRC, 4) & 0xFFFFFFFF:
            break
        before = counts.copy()
        next_row = _records(data, at + _HEADER, following, at, attributes, count, reads_commits, rows, row, counts)
        if next_row < 0:
            counts[:] = before
            break
        counts[BATCHES] += 1
        row, at = next_row, following
    return at, row
