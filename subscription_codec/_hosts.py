"""Which host serves which partitions, on the wire: by name up to version 4, by a dictionary of topics from 5 on."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from subscription_codec._lists import List, Unusual, items
from subscription_codec._text import JavaUtf, from_java, to_java
from subscription_codec._wire import INT_32, Array, Reader, Struct
from subscription_codec.columns import INT32, HostMap, big_endian, swapped
from subscription_codec.records import HostInfo, HostPartitions, TopicEntry, TopicPartition

TOPIC_PARTITION: Final = Struct("TopicPartition", TopicPartition, whole=True, topic=JavaUtf(), partition=INT_32)
HOST_INFO: Final = Struct("HostInfo", HostInfo, whole=True, host=JavaUtf(), port=INT_32)
HOST_PARTITIONS: Final = Struct("HostPartitions", HostPartitions, host=HOST_INFO, partitions=Array(TOPIC_PARTITION))


class Topics(List[Sequence[TopicEntry]]):
    """The dictionary of an assignment (version 5 and later). What is read after it may refer to it."""

    inner = Array(Struct("TopicEntry", TopicEntry, number=INT_32, topic=JavaUtf()))

    def decoded(self, value: Any, reader: Reader) -> Sequence[TopicEntry]:
        reader.topics = value
        return value  # type: ignore[no-any-return]


class IndexedPartition(NamedTuple):
    """One partition of a topic that the dictionary names."""

    topic_index: int
    partition: int

    def __str__(self) -> str:
        return f"topic {self.topic_index}, partition {self.partition}"


class IndexedHost(NamedTuple):
    """One host of an assignment of version 5 or later, as it travels."""

    host: HostInfo
    partitions: tuple[IndexedPartition, ...]


class Hosts(List[Sequence[HostPartitions]]):
    """Which host serves which partitions, by the dictionary (version 5 and later)."""

    inner = Array(
        Struct(
            "IndexedHost",
            IndexedHost,
            host=HOST_INFO,
            partitions=Array(
                Struct("IndexedPartition", IndexedPartition, whole=True, topic_index=INT_32, partition=INT_32)
            ),
        )
    )

    def from_json(self, value: Any) -> Sequence[HostPartitions]:
        return Array(HOST_PARTITIONS).from_json(value)

    def decoded(self, value: Any, reader: Reader) -> HostMap:
        numbers = array(INT32, [number for _, partitions in value for each in partitions for number in each])
        return HostMap(reader.topics, [host for host, _ in value], [len(each) for _, each in value], numbers)

    def encoded(self, value: Sequence[HostPartitions]) -> tuple[IndexedHost, ...]:
        rows = []
        for host, end, size in zip(value.hosts, value.ends, value.counts, strict=True):  # type: ignore[attr-defined]
            numbers = value.numbers[2 * (end - size) : 2 * end]  # type: ignore[attr-defined]  # see with_dictionary
            rows.append(IndexedHost(host, tuple(map(IndexedPartition, numbers[0::2], numbers[1::2]))))
        return tuple(rows)

    def load_with(self, data: bytes, at: int, topics: Sequence[TopicEntry]) -> tuple[HostMap, int]:
        """Like ``load``, with the dictionary."""
        hosts, counts, numbers = [], [], array(INT32)
        entries, at, _ = items(data, at, 10)
        for _ in range(entries):
            first = at + 10 + (data[at] << 8 | data[at + 1])
            head = data[at:first]
            host, count = _known_head(head) if len(head) < _MOST_REMEMBERED else _head(head)
            hosts.append(host)
            counts.append(count)
            at = first + 8 * count
            numbers.frombytes(data[first:at])
        if at > len(data):
            raise Unusual
        return HostMap(topics, tuple(hosts), tuple(counts), swapped(numbers)), at

    def dump(self, value: Any) -> bytes:
        numbers = big_endian(value.numbers)
        out = [len(value.hosts).to_bytes(4, "big")]
        add = out.append
        first = 0
        for host, count in zip(value.hosts, value.counts, strict=True):
            end = first + 8 * count
            add(_known_bytes(host) if len(host[0]) < _MOST_REMEMBERED else _host_bytes(host))
            add(count.to_bytes(4, "big"))
            add(numbers[first:end])
            first = end
        return b"".join(out)


# The hosts of a group are the same in every rebalance, in the active and the standby map, and in all answers.
_MOST_REMEMBERED: Final = 300
"""Bytes of a host that are worth remembering; the name of a real one has 253 at most."""


def _head(raw: bytes) -> tuple[HostInfo, int]:
    """Read name, port and the number of partitions behind them."""
    number = int.from_bytes
    host = HostInfo(from_java(raw[2:-8]), number(raw[-8:-4], "big", signed=True))
    return host, number(raw[-4:], "big")


def _host_bytes(host: HostInfo) -> bytes:
    name, port = host
    return to_java(name) + port.to_bytes(4, "big", signed=True)


_known_head: Final = lru_cache(maxsize=1 << 14)(_head)
_known_bytes: Final = lru_cache(maxsize=1 << 14)(_host_bytes)
