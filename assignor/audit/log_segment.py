"""Records of a log segment (``.log``): formats 0 to 2, every compression, control batches, truncated tails.

A segment is a sequence of record batches. Format 2 is KIP-98's (0.11 and later); formats 0 and 1 are message sets. A
batch that is damaged is skipped and counted, and the records after it are read: its length still says where they begin.
A batch of format 2 whose checksum differs is counted, too; its records are kept as far as they can be read, as Kafka's
dump tool does.
Java: ``DefaultRecordBatch``, ``AbstractLegacyRecordBatch``, ``FileLogInputStream``.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from mmap import mmap
from typing import Final, NamedTuple

from attrs import define, field, frozen

from assignor.audit._compression import MAX_BATCH_BYTES as MAX_BATCH_BYTES
from assignor.audit._compression import decompress

LOG_OVERHEAD: Final = 12
"""The base offset and the length, which every format has."""
_MAGIC_AT: Final = 16
_CRC_AT: Final = 17
_CHECKED_AT: Final = 21
"""Where the bytes begin of which the checksum of format 2 is."""
_HEADER_BYTES: Final = 61
_COMPRESSION: Final = 0x07
_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_SMALLEST_RECORD: Final = 7
_SMALLEST_LEGACY: Final = LOG_OVERHEAD + 14
"""A message of format 0 with neither key nor value: checksum, format, attributes and two lengths."""
_MAX_PROBLEMS: Final = 100
NO_TIMESTAMP: Final = -1
SegmentBytes = bytes | memoryview | mmap
MAX_TIMESTAMP: Final = 253_402_300_799_999
"""The last millisecond of the year 9999; a larger timestamp, or a negative one, is none."""
MAX_OFFSET: Final = (1 << 63) - 1


class LogRecord(NamedTuple):
    """One record."""

    offset: int
    timestamp: int
    """Milliseconds since 1970; ``NO_TIMESTAMP`` in format 0."""
    key: bytes | None
    value: bytes | None
    producer_id: int = -1
    """The producer of a transactional record; -1 outside of transactions."""
    is_control: bool = False
    """Whether this is a transaction marker."""


@frozen
class RecordBatch:
    """A batch of format 2."""

    base_offset: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    count: int
    payload: bytes
    """The records, uncompressed."""

    @property
    def is_control(self) -> bool:
        """Whether it holds a transaction marker."""
        return bool(self.attributes & _CONTROL)

    @property
    def transactional_producer(self) -> int:
        """The producer id of a transactional batch; -1 of others."""
        return self.producer_id if self.attributes & _TRANSACTIONAL else -1

    def timestamp(self, delta: int) -> int:
        """Return the timestamp of a record."""
        return known_time(self.max_timestamp if self.attributes & _APPEND_TIME else self.base_timestamp + delta)


@define
class SegmentReader:
    """Reads segments and counts what it found."""

    counts: Counter[str] = field(factory=Counter)
    """``batches``, ``bytes``, ``checksum_mismatches``, ``damaged_batches`` (skipped), ``truncated_bytes``."""
    problems: list[str] = field(factory=list)
    """One sentence for each damaged place, the first hundred."""
    checksum: Callable[[SegmentBytes], int | None] = lambda _: None
    """CRC-32C; None: it is not verified."""
    max_batch_bytes: int = MAX_BATCH_BYTES
    """The most bytes of an uncompressed batch; a larger one is damaged, or is one that is meant to fill the memory."""

    def records(self, data: SegmentBytes, source: str = "segment") -> Iterator[LogRecord]:
        """Yield the records of a segment, in the order of their offsets."""
        for batch in self.batches(data, source):
            if isinstance(batch, RecordBatch):
                try:
                    yield from batch_records(batch)
                except ValueError as error:
                    self._damaged(source, batch.base_offset, error)
            else:
                yield batch

    def batches(self, data: SegmentBytes, source: str = "segment") -> Iterator[RecordBatch | LogRecord]:
        """Yield batches of format 2, and the records of the older formats.

        Args:
            data: The bytes of the segment; a truncated tail and zeros behind the last batch end it.
            source: The name of the segment in messages.
        """
        at, end = 0, len(data)
        while end - at >= LOG_OVERHEAD + 5:
            base_offset, size = _integer(data, at, 8), _integer(data, at + 8, 4)
            if size <= 0:
                break
            following = at + LOG_OVERHEAD + size
            if following > end:
                break
            self.counts["batches"] += 1
            try:
                yield from self._batch(data, at, following, base_offset, source)
            except ValueError as error:
                self._damaged(source, base_offset, error)
            at = following
        self.counts["bytes"] += at
        if any(data[at : at + 64]):
            self.counts["truncated_bytes"] += end - at
            self._report(f"{source}: {end - at} bytes at {at} are not a whole batch; the segment ends there")

    def _batch(
        self, data: SegmentBytes, at: int, following: int, base_offset: int, source: str
    ) -> Iterator[RecordBatch | LogRecord]:
        magic = data[at + _MAGIC_AT]
        if magic == 2:
            stored = _integer(data, at + _CRC_AT, 4) & 0xFFFFFFFF
            if self.checksum(data[at + _CHECKED_AT : following]) not in (None, stored):
                self.counts["checksum_mismatches"] += 1
                self._report(f"{source}: the checksum of the batch at offset {base_offset} does not match")
            yield _read_batch(data, at, following, base_offset, self.max_batch_bytes)
        elif magic in (0, 1):
            yield from _legacy_records(bytes(data[at:following]), base_offset, self.max_batch_bytes)
        else:
            raise ValueError(f"record format {magic}; known are 0 to 2")

    def _damaged(self, source: str, offset: int, error: Exception) -> None:
        self.counts["damaged_batches"] += 1
        self._report(f"{source}: the batch at offset {offset} is skipped: {error}")

    def _report(self, problem: str) -> None:
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(problem)


def known_time(timestamp: int) -> int:
    """Return a timestamp, or ``NO_TIMESTAMP`` if it is no point in time: damaged bytes have any number."""
    return timestamp if 0 <= timestamp <= MAX_TIMESTAMP else NO_TIMESTAMP


def _integer(data: SegmentBytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big", signed=True)


def _read_batch(data: SegmentBytes, at: int, following: int, base_offset: int, max_bytes: int) -> RecordBatch:
    if following - at < _HEADER_BYTES:
        raise ValueError(f"{following - at} bytes; the header of a batch has {_HEADER_BYTES}")
    attributes = _integer(data, at + 21, 2)
    payload = decompress(attributes & _COMPRESSION, bytes(data[at + _HEADER_BYTES : following]), max_bytes)
    count = _integer(data, at + 57, 4)
    if not 0 <= count * _SMALLEST_RECORD <= len(payload):
        raise ValueError(f"{count} records, but {len(payload)} bytes")
    return RecordBatch(
        base_offset=base_offset,
        attributes=attributes,
        base_timestamp=_integer(data, at + 27, 8),
        max_timestamp=_integer(data, at + 35, 8),
        producer_id=_integer(data, at + 43, 8),
        count=count,
        payload=payload,
    )


def batch_records(batch: RecordBatch) -> Iterator[LogRecord]:
    """Yield the records of a batch.

    Raises:
        ValueError: The bytes are not records; the records before that place have been yielded.
    """
    payload, at, producer, is_control = batch.payload, 0, batch.transactional_producer, batch.is_control
    for _ in range(batch.count):
        size, start = _varint(payload, at)
        delta, at = _varint(payload, start + 1)
        offset_delta, at = _varint(payload, at)
        key, at = _sized(payload, at)
        value, at = _sized(payload, at)
        if not at <= start + size <= len(payload):
            raise ValueError(f"a record of {size} bytes at {start}, but the batch has {len(payload)}")
        at = start + size
        offset = _known_offset(batch.base_offset + offset_delta)
        yield LogRecord(offset, batch.timestamp(delta), key, value, producer, is_control)


def _known_offset(offset: int) -> int:
    if not 0 <= offset <= MAX_OFFSET:
        raise ValueError(f"a record with the offset {offset}")
    return offset


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a zigzag varint; return it and its end."""
    shift = value = 0
    while shift < 70:
        if at >= len(data):
            raise ValueError(f"the batch ends inside a number at {at}")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    raise ValueError(f"a number of more than 10 bytes before {at}")


def _sized(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _varint(data, at)
    if size < 0:
        return None, at
    if at + size > len(data):
        raise ValueError(f"{size} bytes at {at}, but the batch has {len(data)}")
    return data[at : at + size], at + size


def _legacy_records(message: bytes, base_offset: int, max_bytes: int) -> Iterator[LogRecord]:
    """Yield the records of one message of format 0 or 1: itself, or those in it if it is compressed."""
    attributes, timestamp, key, value = _legacy_message(message)
    codec = attributes & _COMPRESSION
    if not codec:
        yield LogRecord(_known_offset(base_offset), known_time(timestamp), key, value)
        return
    inner = decompress(codec, value or b"", max_bytes)
    found: list[tuple[int, int, bytes | None, bytes | None]] = []
    at = 0
    while len(inner) - at >= LOG_OVERHEAD:
        end = at + LOG_OVERHEAD + _integer(inner, at + 8, 4)
        if not at + LOG_OVERHEAD < end <= len(inner):
            raise ValueError(f"a message of {end - at} bytes at {at}, but {len(inner) - at} are left")
        found.append((_integer(inner, at, 8), *_legacy_message(inner[at:end])[1:]))
        at = end
    # Format 1 numbers them from 0, and the wrapper has the offset of the last one (KIP-31).
    shift = base_offset - found[-1][0] if found and message[_MAGIC_AT] == 1 else 0
    for offset, own_timestamp, inner_key, inner_value in found:
        stamp = timestamp if attributes & _APPEND_TIME else own_timestamp
        yield LogRecord(_known_offset(offset + shift), known_time(stamp), inner_key, inner_value)


def _legacy_message(message: bytes) -> tuple[int, int, bytes | None, bytes | None]:
    if len(message) < _SMALLEST_LEGACY:
        raise ValueError(f"a message of {len(message)} bytes; the smallest one has {_SMALLEST_LEGACY}")
    if zlib.crc32(message[_MAGIC_AT:]) != int.from_bytes(message[LOG_OVERHEAD:_MAGIC_AT], "big"):
        raise ValueError("its checksum does not match")
    at, timestamp = LOG_OVERHEAD + 6, NO_TIMESTAMP
    if message[_MAGIC_AT] == 1:
        timestamp, at = _integer(message, at, 8), at + 8
    key, at = _legacy_sized(message, at)
    value, _ = _legacy_sized(message, at)
    return message[_MAGIC_AT + 1], timestamp, key, value


def _legacy_sized(message: bytes, at: int) -> tuple[bytes | None, int]:
    if at + 4 > len(message):
        raise ValueError(f"the message ends at {len(message)}, inside a length")
    size, at = _integer(message, at, 4), at + 4
    if size < 0:
        return None, at
    if at + size > len(message):
        raise ValueError(f"{size} bytes at {at}, but the message has {len(message)}")
    return message[at : at + size], at + size
