"""The compressions of a record batch: gzip, snappy in Xerial's frames, LZ4 frames, zstd.

The codecs are zlib's and pyarrow's. Xerial's frames are not theirs, nor the limit for a batch that expands without end.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Mapping
from typing import Final

from streams_assignor.codec import StreamsAssignorError

MAX_BATCH_BYTES: Final = 10 * 1_048_588
"""The most bytes of an uncompressed batch that are read by default.

It is ten times the default of ``max.message.bytes``, which limits a batch as it is written: compressed.
"""
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES: Final = 16
_GZIP_OR_ZLIB: Final = 47
_SNAPPY_RATIO: Final = 32
"""Snappy's densest element makes 64 bytes of 3; a chunk that promises more is damaged, and is not allocated."""


class BadCompression(StreamsAssignorError, ValueError):
    """The compressed bytes of a batch are damaged, or the batch is too large."""


def decompress(codec: int, payload: bytes, limit: int = MAX_BATCH_BYTES) -> bytes:
    """Return the uncompressed bytes of a batch.

    Args:
        codec: The lowest three bits of the attributes of the batch.
        payload: The bytes after the header of the batch.
        limit: The most bytes of the result.

    Raises:
        BadCompression: The bytes are damaged, the codec is unknown, or the result exceeds the limit.
    """
    if codec == 0:
        return payload
    if codec not in _CODECS:
        raise BadCompression(f"compression {codec} is not known; known are {', '.join(map(str, _CODECS))}")
    name, read = _CODECS[codec]
    try:
        return read(payload, limit)
    except BadCompression:
        raise
    except (OSError, ValueError, zlib.error, IndexError) as error:
        raise BadCompression(f"{name}: {str(error).splitlines()[0] if str(error) else type(error).__name__}") from None


def _gzip(payload: bytes, limit: int) -> bytes:
    stream = zlib.decompressobj(_GZIP_OR_ZLIB)
    raw = stream.decompress(payload, limit)
    _check_size(len(raw) + bool(stream.unconsumed_tail), limit)
    if not stream.eof:
        raise BadCompression("gzip: the bytes end before the stream does")
    return raw


def _snappy(payload: bytes, limit: int) -> bytes:
    """Java's library writes frames: a header, then chunks with an int32 length each. Others write one raw chunk."""
    import pyarrow as pa

    codec = pa.Codec("snappy")
    if not payload.startswith(_XERIAL_MAGIC):
        return bytes(codec.decompress(payload, _snappy_size(payload, limit), asbytes=True))
    out, at = bytearray(), _XERIAL_HEADER_BYTES
    while at < len(payload):
        size = int.from_bytes(payload[at : at + 4], "big")
        chunk = payload[at + 4 : at + 4 + size]
        if len(chunk) < size or not size:
            raise BadCompression(f"snappy: a chunk of {size} bytes, but {len(chunk)} are left")
        out += codec.decompress(chunk, _snappy_size(chunk, limit, len(out)), asbytes=True)
        at += 4 + size
    return bytes(out)


def _snappy_size(chunk: bytes, limit: int, before: int = 0) -> int:
    """Read the uncompressed size, a varint in front of the chunk; ``before`` is that of the chunks before it."""
    size = 0
    for index in range(5):
        size |= (chunk[index] & 0x7F) << 7 * index
        if chunk[index] < 0x80:
            break
    _check_size(before + size, limit)
    if size > _SNAPPY_RATIO * len(chunk):
        raise BadCompression(f"snappy: a chunk of {len(chunk)} bytes cannot have {size} bytes uncompressed")
    return size


def _streamed(name: str) -> Callable[[bytes, int], bytes]:
    def read(payload: bytes, limit: int) -> bytes:
        import pyarrow as pa

        with pa.CompressedInputStream(pa.BufferReader(payload), name) as stream:
            out = io.BytesIO()
            while chunk := stream.read(min(1 << 20, limit + 1)):
                out.write(chunk)
                _check_size(out.tell(), limit)
        return out.getvalue()

    return read


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise BadCompression(f"the batch has more than {limit} bytes uncompressed; --max-batch-bytes raises the limit")


_CODECS: Final[Mapping[int, tuple[str, Callable[[bytes, int], bytes]]]] = {
    1: ("gzip", _gzip),
    2: ("snappy", _snappy),
    3: ("lz4", _streamed("lz4")),
    4: ("zstd", _streamed("zstd")),
}
