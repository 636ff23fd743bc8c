"""The Streams assignor for ``AIOKafkaConsumer`` of aiokafka (0.14), and an ``Admin`` for its leader."""

from streams_assignor.upgrade.extras import importing

with importing("aiokafka"):
    from streams_assignor.clients.aiokafka._admin import AiokafkaAdmin
    from streams_assignor.clients.aiokafka._partition_assignor import StreamsPartitionAssignor

__all__ = ["AiokafkaAdmin", "StreamsPartitionAssignor"]
