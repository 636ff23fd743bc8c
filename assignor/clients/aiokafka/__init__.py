"""The Streams assignor for ``AIOKafkaConsumer`` of aiokafka (0.14), and an ``Admin`` for its leader."""

from upgrade.extras import importing

with importing("aiokafka"):
    from assignor.clients.aiokafka._admin import AiokafkaAdmin
    from assignor.clients.aiokafka._partition_assignor import StreamsPartitionAssignor

__all__ = ["AiokafkaAdmin", "StreamsPartitionAssignor"]
