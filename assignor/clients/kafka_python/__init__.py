"""The Streams assignor for ``KafkaConsumer`` of kafka-python (3.x), and an ``Admin`` for its leader."""

from assignor.errors import naming_the_extra

with naming_the_extra("kafka-python"):
    from assignor.clients.kafka_python._admin import KafkaPythonAdmin
    from assignor.clients.kafka_python._partition_assignor import StreamsPartitionAssignor

__all__ = ["KafkaPythonAdmin", "StreamsPartitionAssignor"]
