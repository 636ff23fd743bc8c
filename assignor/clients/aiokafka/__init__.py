"""The Streams assignor for ``AIOKafkaConsumer`` of aiokafka (0.14), and an ``Admin`` for its leader."""

from assignor.errors import naming_the_extra

with naming_the_extra("aiokafka"):
    from assignor.clients.aiokafka._admin import AiokafkaAdmin
    from assignor.clients.aiokafka._partition_assignor import StreamsPartitionAssignor

__all__ = ["AiokafkaAdmin", "StreamsPartitionAssignor"]
