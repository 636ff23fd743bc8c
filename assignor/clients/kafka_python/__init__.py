"""The Streams assignor for ``KafkaConsumer`` of kafka-python (3.x), and an ``Admin`` for its leader."""

from upgrade.extras import importing

with importing("kafka"):
    from assignor.clients.kafka_python._admin import KafkaPythonAdmin
    from assignor.clients.kafka_python._partition_assignor import StreamsPartitionAssignor

__all__ = ["KafkaPythonAdmin", "StreamsPartitionAssignor"]
