"""Where the batches of a log segment begin and end, and which bytes are none.

A batch is believed if its checksum is right; where no library computes it, if its header is that of a batch. Another
one is believed if the lengths lead from it to one that is, or to the end of the file: its own bytes are damaged, but
not its length. All else is a gap, up to the next batch that is believed. Zeros up to the end of the file are a
preallocated tail.

The file may change while it is read, so its bytes are copied, a block at a time, up to its size at the beginning.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from io import SEEK_END
from typing import BinaryIO, Final, NamedTuple

from attrs import define

LOG_OVERHEAD: Final = 12
"""The base offset and the length, which every format has."""
MAGIC_AT: Final = 16
HEADER_BYTES: Final = 61
"""The header of a batch in format 2."""
_CRC_AT: Final = (12, 12, 17)
"""Where the checksum is, by format."""
_CHECKED_AT: Final = (MAGIC_AT, MAGIC_AT, 21)
"""Where the bytes begin of which it is."""
_BLOCK_BYTES: Final = 1 << 22
_MAX_LENGTH: Final = 1 << 28
"""A longer batch is none: a broker's largest one is far below."""
_CANDIDATE: Final = re.compile(
    rb"""(?sx)(?= [\0-\x7f].{7} (?!\0{4})[\0-\x03].{7}
    (?: \x02.{4} \0[\0-\x7f] [\0-\x7f] | (?:\0[\0-\x0f] | \x01[\0-\x0f].{8}) [\xff\0-\x03] ))"""
)
"""Where a search tries a batch: offset; a length below 64 MB; then format, attributes without reserved bits and the
offset of the last record (format 2) or the size of the key."""
_CANDIDATE_BYTES: Final = 27
_READ_PER_BYTE: Final = 64
"""A search ends when so many bytes have been read for each byte of the segment. In a hostile file a batch may seem to
begin at every byte, and each of them may be as long as the rest."""


class Frame(NamedTuple):
    """The bytes of a batch."""

    data: bytes
    """A block of the segment."""
    at: int
    """Where the batch begins in the block."""
    end: int
    place: int
    """Where it begins in the segment."""
    base_offset: int
    magic: int
    is_sound: bool
    """Whether its checksum is right, as far as it can be verified."""


TAIL: Final = "are not a whole batch; the segment ends there"
_UNTRIED: Final = "are no batch; in more places than are tried one seems to begin"
_LOST: Final = "were removed while it was read"


class Gap(NamedTuple):
    """Bytes of a segment that are no batch."""

    place: int
    size: int
    why: str
    """The end of a sentence about them; ``TAIL`` if the segment ends there."""


def checksum_function() -> Callable[[bytes], int] | None:
    """Return CRC-32C, of which each batch in format 2 has one and Python has none; None without the library."""
    try:
        from crc32c import crc32c
    except ImportError:
        return None
    return crc32c


def frames(file: BinaryIO) -> Iterator[Frame | Gap]:
    """Yield the batches of a segment, and what is between them, in order."""
    size = file.seek(0, SEEK_END)
    segment = _Segment(file, size, checksum_function(), _READ_PER_BYTE * size)
    at = 0
    while at < segment.size:
        frame = segment.batch(at)
        if frame is None:
            following = segment.next_batch(at + 1)
            if following is not None:
                yield Gap(at, following - at, f"are no batch; the next one is at {following}")
            elif not segment.is_zero(at):
                yield Gap(at, segment.size - at, _UNTRIED if segment.has_given_up else TAIL)
            at = segment.size if following is None else following
        else:
            yield frame
            at += frame.end - frame.at
    if segment.size < size:
        yield Gap(segment.size, size - segment.size, _LOST)


@define
class _Segment:
    """Bytes of a file; one block of them is in memory."""

    file: BinaryIO
    size: int
    _crc32c: Callable[[bytes], int] | None
    _left: int
    """How many bytes may be read, and read again, before a search gives up."""
    _data: bytes = b""
    _start: int = 0
    """Where the block begins."""
    _believed: int = 0
    """Lengths are right up to here."""

    @property
    def has_given_up(self) -> bool:
        """Whether too much was read to search on."""
        return self._left <= 0

    def batch(self, at: int) -> Frame | None:
        """Return the batch at a place; None if there is none."""
        if (sound := self._sound(at)) is not None:
            return sound
        if at >= self._believed:
            self._believed = self._led_to(at)
        end = self._end(at) if at < self._believed else None
        if end is None or not self._load(at, end - at):
            return None
        data, begin = self._data, at - self._start
        base_offset = int.from_bytes(data[begin : begin + 8], "big", signed=True)
        return Frame(data, begin, begin + end - at, at, base_offset, data[begin + MAGIC_AT], False)

    def next_batch(self, at: int) -> int | None:
        """Return where the next batch with a right checksum begins; None if none is found."""
        at = max(at, self._first_byte(at) - LOG_OVERHEAD)  # its length is not zero
        while at < self.size and self._load(at, min(_CANDIDATE_BYTES, self.size - at)):
            block, start = self._data, self._start
            for match in _CANDIDATE.finditer(block, at - start):
                self._left -= _CANDIDATE_BYTES
                if self.has_given_up:
                    return None
                place = start + match.start()
                if self._sound(place) is not None:
                    return place
            is_last = start + len(block) >= self.size
            at = self.size if is_last else start + len(block) - _CANDIDATE_BYTES + 1
        return None

    def is_zero(self, at: int) -> bool:
        """Whether there are only zeros from a place on."""
        return self._first_byte(at) == self.size

    def _first_byte(self, at: int) -> int:
        """Return the first place from ``at`` on that is not zero; the size if there is none."""
        while self._load(at, 1):
            rest = self._data[at - self._start :].lstrip(b"\0")
            at = self._start + len(self._data) - len(rest)
            if rest:
                break
        return at

    def _load(self, at: int, size: int) -> bool:
        """Whether the segment has so many bytes at a place; they are in the block then."""
        if at + size > self.size:
            return False
        if at < self._start or at + size > self._start + len(self._data):
            wanted = min(max(size, _BLOCK_BYTES), self.size - at)
            self.file.seek(at)
            self._data, self._start = self.file.read(wanted), at
            self._left -= wanted
            if len(self._data) < wanted:
                self.size = at + len(self._data)
        return at + size <= self.size

    def _end(self, at: int) -> int | None:
        """Return where the batch at a place ends by its length; None if it cannot end there."""
        if not self._load(at, MAGIC_AT + 1):
            return None
        begin = at - self._start
        length = int.from_bytes(self._data[begin + 8 : begin + LOG_OVERHEAD], "big", signed=True)
        end = at + LOG_OVERHEAD + length
        return end if MAGIC_AT - LOG_OVERHEAD < length <= _MAX_LENGTH and end <= self.size else None

    def _sound(self, at: int) -> Frame | None:
        """Return the batch at a place; None if it is not whole, or has another checksum."""
        end = self._end(at)
        if end is None or not self._load(at, end - at):
            return None
        data, begin = self._data, at - self._start
        magic, stop = data[begin + MAGIC_AT], begin + end - at
        if magic >= len(_CRC_AT):
            return None
        self._left -= end - at
        if not self._is_believed(data, begin, stop, magic):
            return None
        return Frame(data, begin, stop, at, int.from_bytes(data[begin : begin + 8], "big", signed=True), magic, True)

    def _is_believed(self, data: bytes, begin: int, stop: int, magic: int) -> bool:
        """Whether the checksum of a batch is right; if it cannot be verified, whether the bytes look like one."""
        if magic == 2 and self._crc32c is None:
            return stop - begin >= HEADER_BYTES and _CANDIDATE.match(data, begin) is not None
        checked = data[begin + _CHECKED_AT[magic] : stop]
        checksum = self._crc32c(checked) if magic == 2 and self._crc32c else zlib.crc32(checked)
        at = begin + _CRC_AT[magic]
        return checksum == int.from_bytes(data[at : at + 4], "big")

    def _led_to(self, at: int) -> int:
        """Return where lengths lead to, if a batch with a right checksum, or the end, is there; ``at`` if not."""
        end = self._end(at)
        while end is not None and not self.has_given_up:
            if end == self.size or self._sound(end) is not None:
                return end
            end = self._end(end)
        return at
