"""Bytes of log segments: kafka-python writes the batches, and what it cannot write is changed afterwards."""

from typing import NamedTuple

import pyarrow as pa
from kafka.record._crc32c import crc
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from streams_assignor.codec.coordinator import RECORD_TYPES, encode_key, encode_value

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
APPEND_TIME, TRANSACTIONAL, CONTROL = 0x08, 0x10, 0x20
HEADER_BYTES = 61
NOW = 1_700_000_000_000
ABORT, COMMIT = 0, 1
_SIZE, _CRC, _ATTRIBUTES, _MAX_TIME = slice(8, 12), slice(17, 21), slice(21, 23), slice(35, 43)


class Pair(NamedTuple):
    """A record to be written."""

    key: bytes | None
    value: bytes | None
    time: int = NOW


def batch(records, base=0, codec=NONE, *, producer=-1, attributes=0, xerial=True, max_time=None):
    """A record batch of format 2."""
    builder = DefaultRecordBatchBuilder(2, 0, producer >= 0, producer, 0, 0, 1 << 30)
    for index, record in enumerate(records):
        assert builder.append(index, record.time, record.key, record.value, [])
    built = bytearray(builder.build())
    if codec:
        built[HEADER_BYTES:] = compress(codec, bytes(built[HEADER_BYTES:]), xerial=xerial)
    flags = int.from_bytes(built[_ATTRIBUTES], "big") | attributes | codec
    return sealed(built, base, flags, max_time)


def sealed(built, base=0, attributes=None, max_time=None):
    """The bytes of a batch with a correct length and checksum."""
    built = bytearray(built)
    built[:8] = base.to_bytes(8, "big", signed=True)
    built[_SIZE] = (len(built) - 12).to_bytes(4, "big")
    if attributes is not None:
        built[_ATTRIBUTES] = attributes.to_bytes(2, "big")
    if max_time is not None:
        built[_MAX_TIME] = max_time.to_bytes(8, "big", signed=True)
    built[_CRC] = crc(bytes(built[21:])).to_bytes(4, "big")
    return bytes(built)


def compress(codec, raw, *, xerial=True):
    if codec == SNAPPY:
        chunks = [raw[at : at + 32] for at in range(0, len(raw), 32)] if xerial else [raw]
        packed = [pa.Codec("snappy").compress(each, asbytes=True) for each in chunks]
        if not xerial:
            return packed[0]
        head = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2
        return head + b"".join(len(each).to_bytes(4, "big") + each for each in packed)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, {GZIP: "gzip", LZ4: "lz4", ZSTD: "zstd"}[codec]) as stream:
        stream.write(raw)
    return sink.getvalue().to_pybytes()


def marker(kind, producer, base, time=NOW):
    """The control batch that ends a transaction."""
    return batch(
        [Pair(bytes(2) + kind.to_bytes(2, "big"), bytes(6), time)], base, producer=producer, attributes=CONTROL
    )


def message_set(records, magic, codec=NONE, base=0):
    """Messages of format 0 or 1; compressed ones of format 1 have relative offsets, those of format 0 do not."""
    builder = LegacyRecordBatchBuilder(magic, codec, 1 << 30)
    for index, record in enumerate(records):
        offset = index if codec and magic == 1 else base + index
        assert builder.append(offset, record.time if magic else None, record.key, record.value)
    built = bytearray(builder.build())
    if codec:
        built[:8] = (base + len(records) - 1).to_bytes(8, "big")
    return bytes(built)


def commit(group="app", partition=0, offset=100, time=NOW, topic="orders"):
    """An offset commit; ``offset`` None is a tombstone."""
    kind = RECORD_TYPES[1]
    key = encode_key(kind, {"group": group, "topic": topic, "partition": partition})
    fields = {"offset": offset, "leaderEpoch": -1, "metadata": "", "commitTimestamp": max(time, 0)}
    return Pair(key, None if offset is None else encode_value(kind, 3, fields), time)


def record(number, key, value, time=NOW, version=None):
    """A record of any type; ``value`` None is a tombstone."""
    kind = RECORD_TYPES[number]
    version = kind.value.latest if version is None else version
    return Pair(encode_key(kind, key), None if value is None else encode_value(kind, version, value), time)
