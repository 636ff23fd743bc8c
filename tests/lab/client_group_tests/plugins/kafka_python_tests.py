"""Pytest plugin for kafka-python's integration tests: our assignor as the default.

The environment has ``KAFKA_URI`` and ``KAFKA_VERSION``, so their own fixtures use a broker that is there already.
"""

from __future__ import annotations

from typing import Any

from group_tests import MODE, Counted, Mode, topology_of
from kafka import KafkaConsumer

from streams_assignor.clients.kafka_python import StreamsPartitionAssignor


class CountedAssignor(Counted, StreamsPartitionAssignor):
    """The adapter for one consumer."""


def _plug_into_consumers() -> None:
    original = KafkaConsumer.__init__

    def init(self: KafkaConsumer, *topics: str, **settings: Any) -> None:
        strategy = "partition_assignment_strategy"
        if settings.get("group_id") is None or not topics or strategy in settings:
            original(self, *topics, **settings)
        else:
            streams = CountedAssignor(topology_of(topics))
            original(self, *topics, **settings, **{strategy: [streams]})
            streams.bind(self)

    KafkaConsumer.__init__ = init


if MODE is not Mode.CONTROL:
    _plug_into_consumers()
