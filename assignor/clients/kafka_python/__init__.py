"""The Streams assignor for ``KafkaConsumer`` of kafka-python (3.x), and an ``Admin`` for its leader."""

from streams_assignor.upgrade.extras import importing

with importing("kafka"):
    from streams_assignor.clients.kafka_python._admin import KafkaPythonAdmin
    from streams_assignor.clients.kafka_python._partition_assignor import StreamsPartitionAssignor

__all__ = ["KafkaPythonAdmin", "StreamsPartitionAssignor"]
