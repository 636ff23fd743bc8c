"""The loop over the records of batches with numpy: it finds where records and their parts begin.

It reads batches of format 2 that are not compressed, not transactional and not control batches, whose checksums are
right. It stops before a batch in which anything is unusual. ``groups.history.log_segment`` reads that one, and
``groups.history.history`` each record that is no offset commit as brokers write it; they decide what is valid.

Where records begin is found one after the other, because each has the size of the one before in front of it; all else
is done with all records of many batches at once. A record of 8 KB or more makes its batch unusual.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

import numpy as np

from streams_assignor.groups.history.frames import HEADER_BYTES, LOG_OVERHEAD
from streams_assignor.groups.history.log_segment import MAX_TIMESTAMP

OFFSET, TIME, KEY, KEY_END, VALUE, VALUE_END, COMMIT, TOPIC_ID = range(8)
COLUMNS: Final = 8
"""The columns of a row. ``VALUE`` is -1 for a tombstone, ``COMMIT`` is one of the next three, and ``TOPIC_ID`` is the
place of one, or -1."""
NO_COMMIT, LEGACY_COMMIT, OFFSET_COMMIT = range(3)
RUN_COLUMNS: Final = 15
"""The columns of a run of commits: the fields of ``PlacedRun`` and then of its ``CommitRun``."""
_BATCH: Final = Struct("!qi9xhiqq14xi")
"""Base offset, size, attributes, last offset delta, base timestamp, largest timestamp, records."""
_APPEND_TIME: Final = 0x08
_MOST_VARINT_BYTES: Final = 8
_LATEST_OFFSET: Final = 1 << 62
_TOPIC_ID_BYTES: Final = 16
_LAST_VERSION: Final = 4


def scan(data: Any, at: int, end: int, rows: Any) -> tuple[int, int]:
    """Read whole batches until one is unusual, or the rows are full; return its place and the number of rows."""
    view, limit = memoryview(data), rows.shape[0]
    batches: list[tuple[int, int, int, int]] = []
    begins, ends, counts = list[int](), list[int](), list[int]()
    places = [at]
    while at < end:
        base_offset, size, attributes, _, base_time, max_time, count = _BATCH.unpack_from(view, at)
        following = at + LOG_OVERHEAD + size
        is_known = 0 <= base_offset < _LATEST_OFFSET and max(base_time, max_time) <= MAX_TIMESTAMP
        if not (is_known and min(base_time, max_time) >= -1 and 0 <= count <= limit - len(begins)):
            break
        if not _find_records(view, at + HEADER_BYTES, following, count, begins, ends):
            del begins[sum(counts) :], ends[sum(counts) :]
            break
        batches.append((base_offset, attributes & _APPEND_TIME, base_time, max_time))
        counts.append(count)
        at = following
        places.append(at)
    if not begins:
        return at, 0
    found, is_usual = _rows(data, np.array(begins), np.array(ends), np.repeat(np.array(batches), counts, axis=0))
    if not is_usual.all():
        whole = int(np.searchsorted(np.cumsum(counts), int(np.argmin(is_usual)), side="right"))
        found, at = found[: sum(counts[:whole])], places[whole]
    rows[: len(found)] = found
    return at, len(found)


def _find_records(view: memoryview, at: int, end: int, count: int, begins: list[int], ends: list[int]) -> bool:
    """Add where the records of a batch begin, behind their sizes, and end; return whether their sizes are usual."""
    for _ in range(count):
        if at + 1 >= end:
            return False
        size = view[at]
        at += 1
        if size >= 0x80:
            high = view[at]
            if high >= 0x80:
                return False
            size, at = size & 0x7F | high << 7, at + 1
        if size & 1 or size == 0:  # a negative number
            return False
        begins.append(at)
        at += size >> 1
        ends.append(at)
    return at == end


def _rows(data: Any, begin: Any, end: Any, batches: Any) -> tuple[Any, Any]:
    """Return the rows of records, and whether each is usual."""
    base_offset, has_append_time, base_time, max_time = batches.T
    delta, at = _varints(data, begin + 1)
    offset_delta, at = _varints(data, at)
    key_size, key = _varints(data, at)
    key_end = key + np.maximum(key_size, 0)
    value_size, value = _varints(data, key_end)
    value_end = value + np.maximum(value_size, 0)
    places = (at, key, key_end, value, value_end)
    is_usual = (key_size >= 0) & (base_offset + offset_delta >= 0) & np.logical_and.reduce([p <= end for p in places])
    kind = np.where(key_size >= 2, _numbers(data, key, 2), -1)
    is_commit, topic_id = _commits(data, value, value_end)
    is_commit = ((kind == 0) | (kind == 1)) & (is_commit | (value_size < 0))
    time = np.where(has_append_time != 0, max_time, base_time + delta)
    found = np.empty((len(begin), COLUMNS), np.int64)
    found[:, OFFSET] = base_offset + offset_delta
    found[:, TIME] = np.where((time >= 0) & (time <= MAX_TIMESTAMP), time, -1)
    found[:, KEY], found[:, KEY_END] = key, key_end
    found[:, VALUE], found[:, VALUE_END] = np.where(value_size >= 0, value, -1), value_end
    found[:, COMMIT] = np.where(is_commit, kind + 1, NO_COMMIT)
    found[:, TOPIC_ID] = np.where(is_commit & (value_size >= 0), topic_id, -1)
    return found, is_usual


def _at(data: Any, places: Any) -> Any:
    """Return the bytes at places; of places behind the end the last one, which nobody uses."""
    return data.take(places, mode="clip").astype(np.int64)


def _numbers(data: Any, at: Any, size: int) -> Any:
    """Return integers of so many bytes."""
    value = _at(data, at)
    for index in range(1, size):
        value = value << 8 | _at(data, at + index)
    return value - (value >> (8 * size - 1) << (8 * size)) if size < 8 else value  # bytes of 64 bits


def _varints(data: Any, at: Any) -> tuple[Any, Any]:
    """Return zigzag varints and where they end; a longer one ends nowhere."""
    byte = _at(data, at)
    value, at, is_open = byte & 0x7F, at + 1, byte >= 0x80
    for index in range(1, _MOST_VARINT_BYTES):
        if not is_open.any():
            break
        byte = np.where(is_open, _at(data, at), 0)
        value, at = value | (byte & 0x7F) << (7 * index), at + is_open
        is_open = byte >= 0x80
    return value >> 1 ^ -(value & 1), np.where(is_open, np.int64(1) << 56, at)


def _commits(data: Any, at: Any, end: Any) -> tuple[Any, Any]:
    """Whether bytes are values of offset commits as brokers write them, and where their topic ids are; -1: none."""
    version = np.where(end - at >= 2, _numbers(data, at, 2), -1)
    text = at + np.where(version >= 3, 14, 10)
    is_known = (version >= 0) & (version <= _LAST_VERSION) & (text + 2 <= end)
    left = end - text - np.where(version == 1, 18, 10)
    is_plain = (version < _LAST_VERSION) & (_numbers(data, text, 2) == left) & (left >= 0)
    length = _at(data, text) - 1
    is_short = (length >= 0) & (length < 0x7F) & (length <= end - text - 10)
    tags = text + 1 + length + 8
    has_none = (_at(data, tags) == 0) & (tags + 1 == end)
    has_id = (_numbers(data, tags, 3) == 0x010010) & (end - tags == 3 + _TOPIC_ID_BYTES)
    is_tagged = (version == _LAST_VERSION) & is_short & (has_none | has_id)
    return is_known & (is_plain | is_tagged), np.where(is_known & is_tagged & has_id, tags + 3, -1)


def sum_up(data: Any, rows: Any, runs: Any) -> int:
    """Sum up commits by their keys; return the number of runs, or -1 if types or topic ids of a key differ."""
    text = data.base if isinstance(data.base, bytes) else data.tobytes()
    known: dict[bytes, int] = {}
    places = zip((rows[:, KEY] + 2).tolist(), rows[:, KEY_END].tolist(), strict=True)
    number = np.array([known.setdefault(text[begin:end], len(known)) for begin, end in places])
    order = np.argsort(number, kind="stable")
    rows, number = rows[order], number[order]
    first = np.flatnonzero(np.r_[True, number[1:] != number[:-1]])
    last = np.r_[first[1:], len(rows)] - 1
    leader = first[number]
    if not _is_alike(data, rows, leader):
        return -1
    time, offset = rows[:, TIME], _numbers(data, rows[:, VALUE] + 2, 8)
    is_first = np.arange(len(rows)) == leader
    gap = np.where(is_first | (np.roll(time, 1) < 0), 0, time - np.roll(time, 1))
    moved_back = ~is_first & (offset < np.roll(offset, 1))
    known_at = np.minimum.reduceat(np.where(offset != -1, np.arange(len(rows)), len(rows)), first)
    count = len(first)
    found = runs[:count]
    found[:, :5] = rows[first][:, [KEY, KEY_END, VALUE, VALUE_END, TOPIC_ID]]
    found[:, 5] = rows[first, OFFSET]
    found[:, 6], found[:, 7] = time[first], time[last]
    found[:, 8] = np.maximum.reduceat(time, first)
    found[:, 9], found[:, 11] = offset[first], offset[last]
    found[:, 10] = np.where(known_at < len(rows), offset[np.minimum(known_at, len(rows) - 1)], -1)
    found[:, 12] = last - first + 1
    found[:, 13] = np.maximum(np.maximum.reduceat(gap, first), 0)
    found[:, 14] = np.add.reduceat(moved_back.astype(np.int64), first)
    return count


def _is_alike(data: Any, rows: Any, leader: Any) -> bool:
    """Whether each commit has the type and the topic id of the first one of its key."""
    topic_id = rows[:, TOPIC_ID]
    if (rows[:, COMMIT] != rows[leader, COMMIT]).any() or ((topic_id < 0) != (topic_id[leader] < 0)).any():
        return False
    with_id = topic_id >= 0
    span = np.arange(_TOPIC_ID_BYTES)
    ours = data.take(topic_id[with_id][:, None] + span, mode="clip")
    theirs = data.take(topic_id[leader][with_id][:, None] + span, mode="clip")
    return bool((ours == theirs).all())
