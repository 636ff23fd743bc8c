"""Records of a log segment (``.log``): formats 0 to 2, every compression, control batches, truncated tails.

A segment is a sequence of record batches. Format 2 is KIP-98's (0.11 and later); formats 0 and 1 are message sets.
Bytes that are left out are counted and named. A batch that cannot be read is skipped; bytes that are no batch are
skipped up to the next one (``frames``). Of a batch of format 2 whose checksum differs, the records are kept as far as
they can be read, as Kafka's dump tool does.
kio 0.6.5 reads neither formats 0 and 1 nor a file that ends in the middle of a batch, so this is written here.
Java: ``DefaultRecordBatch``, ``AbstractLegacyRecordBatch``, ``FileLogInputStream``.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator
from struct import Struct
from typing import BinaryIO, Final, NamedTuple

from attrs import define, field, frozen

from streams_assignor.groups.history._compression import MAX_BATCH_BYTES as MAX_BATCH_BYTES
from streams_assignor.groups.history._compression import decompress
from streams_assignor.groups.history.frames import HEADER_BYTES, LOG_OVERHEAD, MAGIC_AT, TAIL, Frame, Gap, frames

_HEADER: Final = Struct(">hiqqqhii")
"""The fields of format 2 behind the checksum: attributes, last offset delta, base and maximal timestamp, producer id,
producer epoch, base sequence, number of records."""
_HEADER_AT: Final = 21
_COMPRESSION: Final = 0x07
_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_SMALLEST_RECORD: Final = 7
_LEGACY_HEADER_BYTES: Final = LOG_OVERHEAD + 6
"""Up to the attributes, in formats 0 and 1."""
MAX_PROBLEMS: Final = 100
NO_TIMESTAMP: Final = -1
MAX_TIMESTAMP: Final = 253_402_300_799_999
"""The last millisecond of the year 9999; a larger timestamp, or a negative one, is none."""
MAX_OFFSET: Final = (1 << 63) - 1
LOST: Final = ("checksum_mismatches", "damaged_batches", "missing_bytes", "out_of_order")
"""Counts of a reader that say that something is missing or damaged; not so the end of a copy of the last segment."""


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
    """Reads the segments of a partition in their order, and counts what it found."""

    counts: Counter[str] = field(factory=Counter)
    """``batches``, ``bytes``, and what ``LOST`` and ``truncated_bytes`` say."""
    problems: list[str] = field(factory=list)
    """One sentence for each damaged place, the first hundred."""
    max_batch_bytes: int = MAX_BATCH_BYTES
    """The most bytes of an uncompressed batch; a larger one is damaged, or is one that is meant to fill the memory."""
    first_offset: int | None = None
    """The offset of the first batch whose checksum is right."""
    next_offset: int = 0
    """The offset behind the last such batch."""

    def records(self, file: BinaryIO, source: str = "segment", *, is_last: bool = True) -> Iterator[LogRecord]:
        """Yield the records of a segment; the arguments are those of ``frames``."""
        for frame in self.frames(file, source, is_last=is_last):
            yield from self.frame_records(frame, source)

    def frames(self, file: BinaryIO, source: str, *, is_last: bool) -> Iterator[Frame]:
        """Yield the batches of a segment.

        Args:
            file: The segment; it is read up to its present size.
            source: The name of the segment in messages.
            is_last: Whether the partition has no later segment: a copy of it ends within a batch if a broker writes.
        """
        for frame in frames(file):
            if isinstance(frame, Gap):
                self._gap(frame, source, is_last=is_last)
                continue
            self.counts["batches"] += 1
            self.counts["bytes"] += frame.end - frame.at
            if frame.is_sound:
                self._check_order(frame, source)
            elif frame.magic == 2:
                self.counts["checksum_mismatches"] += 1
                self._report(f"{source}: the checksum of {_batch_name(frame)} does not match")
            yield frame

    def frame_records(self, frame: Frame, source: str) -> Iterator[LogRecord]:
        """Yield the records of a batch; those before a damaged place if it has one."""
        try:
            if frame.magic == 2:
                yield from batch_records(_read_batch(frame, self.max_batch_bytes))
            elif frame.magic in (0, 1):
                yield from _legacy_records(frame.data[frame.at : frame.end], frame.base_offset, self.max_batch_bytes)
            else:
                raise ValueError(f"record format {frame.magic}; known are 0 to 2")
        except ValueError as error:
            self.counts["damaged_batches"] += 1
            self._report(f"{source}: {_batch_name(frame)} is skipped: {error}")

    def _check_order(self, frame: Frame, source: str) -> None:
        """Report an offset that is not behind those before: no checksum includes it, and a copied batch has it, too."""
        first = frame.base_offset
        self.first_offset = first if self.first_offset is None else self.first_offset
        if 0 <= first < self.next_offset:
            self.counts["out_of_order"] += 1
            self._report(f"{source}: {_batch_name(frame)} is behind offset {self.next_offset - 1}: a copy, or damaged")
        has_more = frame.magic == 2 and frame.end - frame.at >= HEADER_BYTES
        self.next_offset = first + 1 + (max(0, _integer(frame.data, frame.at + 23, 4)) if has_more else 0)

    def _gap(self, gap: Gap, source: str, *, is_last: bool) -> None:
        self.counts["truncated_bytes" if is_last and gap.why == TAIL else "missing_bytes"] += gap.size
        self._report(f"{source}: {gap.size} bytes at {gap.place} {gap.why}")

    def _report(self, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)


def _batch_name(frame: Frame) -> str:
    return f"the batch at byte {frame.place} (offset {frame.base_offset})"


def known_time(timestamp: int) -> int:
    """Return a timestamp, or ``NO_TIMESTAMP`` if it is no point in time: damaged bytes have any number."""
    return timestamp if 0 <= timestamp <= MAX_TIMESTAMP else NO_TIMESTAMP


def _integer(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big", signed=True)


def _read_batch(frame: Frame, max_bytes: int) -> RecordBatch:
    size = frame.end - frame.at
    if size < HEADER_BYTES:
        raise ValueError(f"{size} bytes; the header of a batch has {HEADER_BYTES}")
    attributes, _, base_timestamp, max_timestamp, producer_id, _, _, count = _HEADER.unpack_from(
        frame.data, frame.at + _HEADER_AT
    )
    payload = decompress(attributes & _COMPRESSION, frame.data[frame.at + HEADER_BYTES : frame.end], max_bytes)
    if not 0 <= count * _SMALLEST_RECORD <= len(payload):
        raise ValueError(f"{count} records, but {len(payload)} bytes")
    return RecordBatch(
        base_offset=frame.base_offset,
        attributes=attributes,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
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
        size, start = _read_varint(payload, at)
        delta, at = _read_varint(payload, start + 1)
        offset_delta, at = _read_varint(payload, at)
        key, at = _sized(payload, at)
        value, at = _sized(payload, at)
        if not at <= start + size <= len(payload):
            raise ValueError(f"a record of {size} bytes at {start}, but the batch has {len(payload)}")
        at = start + size
        offset = _known_offset(batch.base_offset + offset_delta)
        yield LogRecord(offset, batch.timestamp(delta), key, value, producer, is_control)
    if at < len(payload):
        raise ValueError(f"{len(payload) - at} bytes behind its {batch.count} records")


def _known_offset(offset: int) -> int:
    if not 0 <= offset <= MAX_OFFSET:
        raise ValueError(f"a record with the offset {offset}")
    return offset


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
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
    size, at = _read_varint(data, at)
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
    records: list[tuple[int, int, bytes | None, bytes | None]] = []
    at = 0
    while at < len(inner):
        end = at + LOG_OVERHEAD + _integer(inner, at + 8, 4)
        if not at + LOG_OVERHEAD < end <= len(inner):
            raise ValueError(f"a message of {end - at} bytes at {at}, but {len(inner) - at} are left")
        records.append((_integer(inner, at, 8), *_legacy_message(inner[at:end])[1:]))
        at = end
    # Format 1 numbers them from 0, and the wrapper has the offset of the last one (KIP-31).
    shift = base_offset - records[-1][0] if records and message[MAGIC_AT] == 1 else 0
    for offset, own_timestamp, inner_key, inner_value in records:
        stamp = timestamp if attributes & _APPEND_TIME else own_timestamp
        yield LogRecord(_known_offset(offset + shift), known_time(stamp), inner_key, inner_value)


def _legacy_message(message: bytes) -> tuple[int, int, bytes | None, bytes | None]:
    if len(message) < _LEGACY_HEADER_BYTES:
        raise ValueError(f"a message of {len(message)} bytes; its header has {_LEGACY_HEADER_BYTES}")
    if zlib.crc32(message[MAGIC_AT:]) != int.from_bytes(message[LOG_OVERHEAD:MAGIC_AT], "big"):
        raise ValueError("its checksum does not match")
    at, timestamp = _LEGACY_HEADER_BYTES, NO_TIMESTAMP
    if message[MAGIC_AT] == 1:
        timestamp, at = _integer(message, at, 8), at + 8
    key, at = _legacy_sized(message, at)
    value, at = _legacy_sized(message, at)
    if at < len(message):
        raise ValueError(f"{len(message) - at} bytes behind the value")
    return message[MAGIC_AT + 1], timestamp, key, value


def _legacy_sized(message: bytes, at: int) -> tuple[bytes | None, int]:
    if at + 4 > len(message):
        raise ValueError(f"the message ends at {len(message)}, inside a length")
    size, at = _integer(message, at, 4), at + 4
    if size < 0:
        return None, at
    if at + size > len(message):
        raise ValueError(f"{size} bytes at {at}, but the message has {len(message)}")
    return message[at : at + size], at + size
