"""The inner loop over the records of batches, compiled by numba: it finds where records and their parts begin.

It reads batches of format 2 that are not compressed, not transactional and not control batches, whose checksums are
right. It stops before a batch in which anything is unusual. ``groups.history.log_segment`` reads that one, and
``groups.history.history`` each record that is no offset commit as brokers write it; they decide what is valid.
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
RUN_COLUMNS: Final = 15
"""The columns of a run of commits: the fields of ``PlacedRun`` and then of its ``CommitRun``."""
_HEADER: Final = 61
_TYPE_BYTES: Final = 2
"""The type in front of a key; what is behind it is the same in both types of commits."""
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


@njit(cache=True, nogil=True)
def _hash(data, at, end):  # type: ignore[no-untyped-def]
    """Return FNV-1a of bytes."""
    value = np.uint64(0xCBF29CE484222325)
    for index in range(at, end):
        value = (value ^ np.uint64(data[index])) * np.uint64(0x100000001B3)
    return value ^ value >> np.uint64(32)


@njit(cache=True, nogil=True)
def _are_equal(data, one, other, size):  # type: ignore[no-untyped-def]
    for index in range(size):  # noqa: SIM110  # numba compiles no generator
        if data[one + index] != data[other + index]:
            return False
    return True


@njit(cache=True, nogil=True)
def _find(data, row, slots, runs):  # type: ignore[no-untyped-def]
    """Return the place in ``slots`` of the run of a commit, or the free place where it belongs."""
    at, size = row[KEY] + _TYPE_BYTES, row[KEY_END] - row[KEY] - _TYPE_BYTES
    mask = slots.shape[0] - 1
    place = np.int64(_hash(data, at, row[KEY_END]) & np.uint64(mask))
    while slots[place] >= 0:
        run = runs[slots[place]]
        if run[1] - run[0] - _TYPE_BYTES == size and _are_equal(data, run[0] + _TYPE_BYTES, at, size):
            break
        place = (place + 1) & mask
    return place


@njit(cache=True, nogil=True)
def sum_up(data, rows, slots, runs):  # type: ignore[no-untyped-def]
    """Sum up commits by their keys; return the number of runs, or -1 if types or topic ids of a key differ.

    ``slots`` has a power of two of places, more than rows; it is overwritten, as ``runs`` is.
    """
    slots[:] = -1
    count = 0
    for index in range(rows.shape[0]):
        row = rows[index]
        record, time, offset = row[OFFSET], row[TIME], _integer(data, row[VALUE] + 2, 8)
        place = _find(data, row, slots, runs)
        if slots[place] < 0:
            slots[place] = count
            run = runs[count]
            count += 1
            run[0], run[1], run[2], run[3], run[4] = row[KEY], row[KEY_END], row[VALUE], row[VALUE_END], row[TOPIC_ID]
            run[5], run[6], run[7], run[8] = record, time, time, time
            run[9], run[10], run[11] = offset, offset, offset
            run[12], run[13], run[14] = 1, 0, 0
            continue
        run = runs[slots[place]]
        if not _are_equal(data, run[0], row[KEY], _TYPE_BYTES):
            return -1
        if (run[4] < 0) != (row[TOPIC_ID] < 0) or (run[4] >= 0 and not _are_equal(data, run[4], row[TOPIC_ID], 16)):
            return -1
        if run[7] >= 0:
            run[13] = max(run[13], time - run[7])
        if run[10] == -1:
            run[10] = offset
        run[14] += offset < run[11]
        run[7], run[8], run[11] = time, max(run[8], time), offset
        run[12] += 1
    return count
