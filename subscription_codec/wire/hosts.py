"""Wire types of host maps: topics by name up to version 4, by their index in a dictionary since version 5."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from streams_assignor.codec.columns import (
    INT32,
    FastPathMiss,
    HostMap,
    TopicDictionary,
    array_bounds,
    byteswapped,
    to_big_endian,
)
from streams_assignor.codec.records import HostInfo, HostPartitions, TopicEntry, TopicPartition
from streams_assignor.codec.wire.structs import Field, Struct
from streams_assignor.codec.wire.text import ModifiedUtf8, decode_modified_utf8, encode_modified_utf8
from streams_assignor.codec.wire.types import INT_32, Array, ColumnType, Reader

TOPIC_PARTITION: Final = Struct(
    "TopicPartition",
    Field("topic", ModifiedUtf8()),
    Field("partition", INT_32),
    make=TopicPartition,
    single_line=True,
)
HOST_INFO: Final = Struct(
    "HostInfo", Field("host", ModifiedUtf8()), Field("port", INT_32), make=HostInfo, single_line=True
)
HOST_PARTITIONS: Final = Struct(
    "HostPartitions", Field("host", HOST_INFO), Field("partitions", Array(TOPIC_PARTITION)), make=HostPartitions
)


class TopicDictionaryType(ColumnType[Sequence[TopicEntry]]):
    """The topic dictionary of an assignment (version 5 and later). Later fields refer to it."""

    inner = Array(Struct("TopicEntry", Field("topic_index", INT_32), Field("topic", ModifiedUtf8()), make=TopicEntry))

    def from_wire(self, value: Any, reader: Reader) -> Sequence[TopicEntry]:
        reader.topic_dictionary = value
        return value  # type: ignore[no-any-return]

    def fast_write(self, value: Any) -> bytes:
        if not isinstance(value, TopicDictionary):
            return _encode_topics(value)
        if value.encoded is None:
            value.encoded = _encode_topics(value)
        return value.encoded


def _encode_topics(topics: Sequence[TopicEntry]) -> bytes:
    out = [len(topics).to_bytes(4, "big")]
    for index, topic in topics:
        name = topic.encode("ascii")
        if b"\0" in name:
            raise FastPathMiss
        out += (index.to_bytes(4, "big", signed=True), len(name).to_bytes(2, "big"), name)
    return b"".join(out)


class IndexedPartition(NamedTuple):
    """One partition of a topic of the dictionary."""

    topic_index: int
    partition: int

    def __str__(self) -> str:
        return f"topic {self.topic_index}, partition {self.partition}"


_INDEXED_PARTITION: Final = Struct(
    "IndexedPartition",
    Field("topic_index", INT_32),
    Field("partition", INT_32),
    make=IndexedPartition,
    single_line=True,
)


class IndexedHost(NamedTuple):
    """One host of an assignment of version 5 or later, as on the wire."""

    host: HostInfo
    partitions: tuple[IndexedPartition, ...]


class HostMapType(ColumnType[Sequence[HostPartitions]]):
    """The partitions that each host serves, by the dictionary (version 5 and later)."""

    inner = Array(
        Struct(
            "IndexedHost", Field("host", HOST_INFO), Field("partitions", Array(_INDEXED_PARTITION)), make=IndexedHost
        )
    )

    def from_json(self, value: Any) -> Sequence[HostPartitions]:
        return Array(HOST_PARTITIONS).from_json(value)

    def from_wire(self, value: Any, reader: Reader) -> HostMap:
        numbers = array(INT32, [number for _, partitions in value for partition in partitions for number in partition])
        return HostMap(
            reader.topic_dictionary, [host for host, _ in value], [len(partitions) for _, partitions in value], numbers
        )

    def to_wire(self, value: Sequence[HostPartitions]) -> tuple[IndexedHost, ...]:
        rows = []
        for host, end, size in zip(value.hosts, value.ends, value.counts, strict=True):  # type: ignore[attr-defined]
            numbers = value.packed_partitions[2 * (end - size) : 2 * end]  # type: ignore[attr-defined]  # see with_topic_dictionary
            rows.append(IndexedHost(host, tuple(map(IndexedPartition, numbers[0::2], numbers[1::2]))))
        return tuple(rows)

    def fast_read_with_dictionary(self, data: bytes, at: int, topics: Sequence[TopicEntry]) -> tuple[HostMap, int]:
        """Decode as ``fast_read`` does, with the topic dictionary of the message."""
        hosts, counts, numbers = [], array(INT32), array(INT32)
        entries, at, _ = array_bounds(data, at, 10)
        longest = _MAX_CACHED_HOST_BYTES if entries <= _MAX_CACHED_HOSTS else 0
        for _ in range(entries):
            first = at + 10 + (data[at] << 8 | data[at + 1])
            head = data[at:first]
            host, count = _cached_decode_host(head) if len(head) < longest else _decode_host(head)
            hosts.append(host)
            counts.append(count)
            at = first + 8 * count
            numbers.frombytes(data[first:at])
        if at > len(data):
            raise FastPathMiss
        return HostMap(topics, hosts, counts, byteswapped(numbers)), at

    def fast_write(self, value: Any) -> bytes:
        if value.encoded is None:  # a leader sends the same map to all members
            value.encoded = self._encode(value)
        return value.encoded  # type: ignore[no-any-return]

    def _encode(self, value: HostMap) -> bytes:
        numbers = to_big_endian(value.packed_partitions)
        out = [len(value.hosts).to_bytes(4, "big")]
        add = out.append
        first = 0
        for host, count in zip(value.hosts, value.counts, strict=True):
            end = first + 8 * count
            add(_cached_encode_host(host) if len(host[0]) < _MAX_CACHED_HOST_BYTES else _encode_host(host))
            add(count.to_bytes(4, "big"))
            add(numbers[first:end])
            first = end
        return b"".join(out)


# Cached: a group has the same hosts in every rebalance, in the active and the standby map, and in all answers.
_MAX_CACHED_HOST_BYTES: Final = 300
"""Longer hosts are not cached. The name of a real host has at most 253 bytes."""


def _decode_host(raw: bytes) -> tuple[HostInfo, int]:
    """Decode name, port and the number of partitions after them."""
    number = int.from_bytes
    host = HostInfo(decode_modified_utf8(raw[2:-8]), number(raw[-8:-4], "big", signed=True))
    return host, number(raw[-4:], "big")


def _encode_host(host: HostInfo) -> bytes:
    name, port = host
    return encode_modified_utf8(name) + port.to_bytes(4, "big", signed=True)


_MAX_CACHED_HOSTS: Final = 1 << 14
"""Hosts of a longer map are not cached: it would replace all others."""
_cached_decode_host: Final = lru_cache(maxsize=_MAX_CACHED_HOSTS)(_decode_host)
_cached_encode_host: Final = lru_cache(maxsize=_MAX_CACHED_HOSTS)(_encode_host)
