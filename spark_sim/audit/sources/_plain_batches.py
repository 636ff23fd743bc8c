"""The rows of batches without numpy: those of ``_numpy_kernel``, for a browser too.

A row has the columns of ``RecordColumns``. A batch in which anything is unusual has none: ``SegmentReader`` reads it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from streams_assignor.groups.history.frames import HEADER_BYTES, Frame
from streams_assignor.groups.history.log_segment import batch_header, known_time, read_varint

Row = tuple[int, int, int, int, int, int, int, int]
"""Offset, time, key and its end, value and its end, whether it is a commit, and the place of its topic id."""
_LATEST_OFFSET: Final = 1 << 62
_SMALL: Final = tuple((byte >> 1) ^ -(byte & 1) for byte in range(0x80))
"""The zigzag varints of one byte: nearly all numbers of a commit."""
_APPEND_TIME: Final = 0x08
_TOPIC_ID_TAG: Final = b"\1\0\x10"
"""One tagged field, its number, and the size of an id."""


def batch_rows(frame: Frame) -> list[Row] | None:
    """Return the rows of a batch of format 2 that is sound, neither compressed nor transactional; None if unusual."""
    try:
        rows = _rows(frame)
    except (ValueError, IndexError):
        return None
    return rows


def _rows(frame: Frame) -> list[Row] | None:
    data, end, base_offset, at = frame.data, frame.end, frame.base_offset, frame.at + HEADER_BYTES
    attributes, _, base_time, max_time, _, _, _, count = batch_header(frame)
    has_append_time, number, rows = attributes & _APPEND_TIME, _number, list[Row]()
    if not 0 <= base_offset < _LATEST_OFFSET:
        return None
    for _ in range(count):
        size, at = number(data, at)
        following = at + size
        delta, at = number(data, at + 1)
        offset_delta, at = number(data, at)
        key_size, key = number(data, at)
        key_end = key + key_size
        value_size, value = number(data, key_end)
        value_end = value + max(value_size, 0)
        if size <= 0 or key_size < 0 or base_offset + offset_delta < 0 or not value_end <= following <= end:
            return None
        kind = data[key] << 8 | data[key + 1] if key_size > 1 else -1
        commit, topic_id = 0, -1
        if kind in (0, 1):
            usual = _topic_id(data, value, value_end) if value_size >= 0 else -1
            if usual is not None:
                commit, topic_id = kind + 1, usual
        time = known_time(max_time if has_append_time else base_time + delta)
        place = value if value_size >= 0 else -1
        rows.append((base_offset + offset_delta, time, key, key_end, place, value_end, commit, topic_id))
        at = following
    return rows if at == end else None


def _number(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    return (_SMALL[byte], at + 1) if byte < 0x80 else read_varint(data, at)


def _topic_id(data: bytes, at: int, end: int) -> int | None:
    """Return where the topic id of a commit is, -1 without one; None if brokers do not write such a value."""
    version = int.from_bytes(data[at : at + 2], "big")
    text = at + (14 if version >= 3 else 10)  # the metadata, behind the offset and, from version 3 on, a leader epoch
    if version > 4 or text + 2 > end:
        return None
    if version < 4:
        left = end - text - (18 if version == 1 else 10)
        return -1 if int.from_bytes(data[text : text + 2], "big", signed=True) == left >= 0 else None
    tags = text + data[text] + 8
    if not 0 < data[text] < 0x80 or tags > end - 1:
        return None
    if data[tags] == 0:
        return -1 if tags + 1 == end else None
    return tags + 3 if data[tags : tags + 3] == _TOPIC_ID_TAG and end - tags == 19 else None


def sum_up(data: bytes, rows: Iterable[Row]) -> list[list[int]] | None:
    """Sum up commits by their keys, as ``_numpy_kernel.sum_up``; None if types or topic ids of a key differ."""
    runs: dict[bytes, list[int]] = {}
    kinds: dict[bytes, tuple[int, bytes]] = {}
    for record, time, key, key_end, value, value_end, commit, topic_id in rows:
        place, offset = data[key + 2 : key_end], int.from_bytes(data[value + 2 : value + 10], "big", signed=True)
        kind = commit, data[topic_id : topic_id + 16] if topic_id >= 0 else b""
        run = runs.get(place)
        if run is None:
            placed = [key, key_end, value, value_end, topic_id]
            runs[place], kinds[place] = [*placed, record, time, time, time, offset, offset, offset, 1, 0, 0], kind
            continue
        if kinds[place] != kind:
            return None
        if time - run[7] > run[13] and run[7] >= 0:
            run[13] = time - run[7]
        if run[10] == -1:
            run[10] = offset
        if offset < run[11]:
            run[14] += 1
        if time > run[8]:
            run[8] = time
        run[7], run[11] = time, offset
        run[12] += 1
    return list(runs.values())
