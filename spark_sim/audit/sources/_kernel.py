"""The inner loop over the records of batches, compiled by numba: it finds where records and their parts begin.

It reads batches of format 2 that are not compressed, not transactional and not control batches, whose checksums are
right. It stops before a batch in which anything is unusual. ``assignor.groups.history.log_segment`` reads that one, and
``assignor.groups.history.history`` each record that is no offset commit as brokers write it; they decide what is valid.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

OFFSET, TIME, KEY, KEY_END, VALUE, VALUE_END, COMMIT, TOPIC_ID = range(8)
COLUMNS: Final = 8
"""The columns of a row. ``VALUE`` is -1 for a tombstone, ``COMMIT`` is one of the next three, and ``TOPIC_ID`` is the
place of one, or -1."""
NO_COMMIT, LEGACY_COMMIT, OFFSET_COMMIT = range(3)
_HEADER: Final = 61
_LATEST_TIME: Final = 253_402_300_799_999
_LATEST_OFFSET: Final = 1 << 62


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
    """Read a zigzag varint below 2**55; return it and its end, which is -1 if there is none."""
    value, shift = np.int64(0), 0
    while shift < 56 and at < end:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value >> 1 ^ -(value & 1), at
        shift += 7
    return np.int64(0), -1


@njit(cache=True, nogil=True)
def _sized(data, at, end):  # type: ignore[no-untyped-def]
    """Read a size; return it and where the bytes end, which is -1 if they are not there. A negative size is null.

    Sizes are compared by subtraction: a sum may exceed 64 bits.
    """
    size, begin = _varint(data, at, end)
    if begin < 0 or size > end - begin:
        return np.int64(0), begin, -1
    return size, begin, begin + max(size, 0)


@njit(cache=True, nogil=True)
def _is_usual_commit(data, at, end):  # type: ignore[no-untyped-def]
    """Whether bytes are the value of an offset commit as brokers write it, and where its topic id is; -1: none."""
    size = end - at
    if size < 2:
        return False, -1
    version = _integer(data, at, 2)
    if version < 0 or version > 4:
        return False, -1
    text = at + (14 if version >= 3 else 10)  # the metadata, behind the offset and, from version 3 on, a leader epoch
    if text + 2 > end:
        return False, -1
    if version < 4:
        return _integer(data, text, 2) == end - text - (18 if version == 1 else 10) >= 0, -1
    length = np.int64(data[text]) - 1
    if length < 0 or length >= 0x7F or length > end - text - 10:
        return False, -1
    tags = text + 1 + length + 8
    if data[tags] == 0:
        return tags + 1 == end, -1
    is_topic_id = end - tags == 19 and data[tags] == 1 and data[tags + 1] == 0 and data[tags + 2] == 16
    return is_topic_id, tags + 3


@njit(cache=True, nogil=True)
def _records(data, base, end, rows, row):  # type: ignore[no-untyped-def]
    """Write the records of a batch into rows; return the next row, or -1 if anything in it is unusual."""
    base_offset, attributes, at = _integer(data, base, 8), _integer(data, base + 21, 2), base + _HEADER
    base_time, max_time = _integer(data, base + 27, 8), _integer(data, base + 35, 8)
    if not (0 <= base_offset < _LATEST_OFFSET and -1 <= base_time <= _LATEST_TIME and -1 <= max_time <= _LATEST_TIME):
        return -1
    for _ in range(_integer(data, base + 57, 4)):
        size, at, following = _sized(data, at, end)
        if following < 0 or size <= 0:
            return -1
        delta, at = _varint(data, at + 1, following)
        if at < 0:
            return -1
        offset_delta, at = _varint(data, at, following)
        if at < 0 or base_offset + offset_delta < 0:
            return -1
        key_size, key, key_end = _sized(data, at, following)
        if key_end < 0 or key_size < 0:
            return -1
        value_size, value, value_end = _sized(data, key_end, following)
        if value_end < 0:
            return -1
        kind = _integer(data, key, 2) if key_size >= 2 else -1
        commit, topic_id = NO_COMMIT, -1
        if kind == 0 or kind == 1:
            is_usual = True
            if value_size >= 0:
                is_usual, topic_id = _is_usual_commit(data, value, value_end)
            if is_usual:
                commit = OFFSET_COMMIT if kind == 1 else LEGACY_COMMIT
        time = max_time if attributes & 0x08 else base_time + delta
        rows[row, OFFSET] = base_offset + offset_delta
        rows[row, TIME] = time if 0 <= time <= _LATEST_TIME else -1
        rows[row, KEY] = key
        rows[row, KEY_END] = key_end
        rows[row, VALUE] = value if value_size >= 0 else -1
        rows[row, VALUE_END] = value_end
        rows[row, COMMIT] = commit
        rows[row, TOPIC_ID] = topic_id
        row += 1
        at = following
    return row if at == end else -1


@njit(cache=True, nogil=True)
def scan(data, at, end, rows):  # type: ignore[no-untyped-def]
    """Read whole batches until one is unusual, or the rows are full; return its place and the number of rows."""
    row = 0
    while at < end:
        following = at + 12 + _integer(data, at + 8, 4)
        count = _integer(data, at + 57, 4)
        if count < 0 or count > rows.shape[0] - row:
            break
        next_row = _records(data, at, following, rows, row)
        if next_row < 0:
            break
        row, at = next_row, following
    return at, row
