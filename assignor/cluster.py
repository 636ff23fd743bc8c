"""What a leader knows of the world outside: topics, how far changelogs go, where replicas are, what time it is.

A value, handed in with every assignment: nothing in the pure part looks any of it up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from attrs import field, frozen

from assignor.carried_levels import NO_LEVELS, Levels, as_levels
from subscription_codec import TopicPartition

NO_RACKS: Final[Mapping[TopicPartition, Collection[str | None]]] = MappingProxyType({})


@frozen(kw_only=True)
class Cluster:
    """``partitions`` has the number of partitions of each topic that exists.

    ``complete``: a topic that is not among them does not exist. If not, nobody may have asked for it yet; then a leader
    leaves out its tasks for now, where it would otherwise tell everybody that a source topic is missing.
    ``offsets`` are the ends of all changelog partitions that exist; for a source topic that serves as a changelog, what
    the group has committed (Java: ``fetchEndOffsetsResult``, ``fetchCommittedOffsets``). None if they could not be had.
    ``racks`` are the racks of the replicas of each partition (None for a broker without one), ``now_ms`` is the time in
    milliseconds since 1970.
    ``levels`` are the finalised levels of features, as far as this leader has seen them (``ValueError`` for others than
    Kafka has).
    """

    partitions: Mapping[str, int] = field(hash=False)
    complete: bool = True
    offsets: Mapping[TopicPartition, int] | None = field(default=None, hash=False)
    racks: Mapping[TopicPartition, Collection[str | None]] = field(default=NO_RACKS, hash=False)
    now_ms: int = 0
    levels: Levels = field(default=NO_LEVELS, converter=as_levels, hash=False)
