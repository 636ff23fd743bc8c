"""Structs that requests of streams groups (KIP-1071) and the records of their coordinator share."""

from __future__ import annotations

from typing import Final

from subscription_codec.wire.schema import Array, Field

PARTITIONS: Final = Field("partitions", Array("int32"))
TASKS: Final = (Field("subtopologyId", "string"), PARTITIONS)
KEY_VALUE: Final = (Field("key", "string"), Field("value", "string"))
ENDPOINT: Final = (Field("host", "string"), Field("port", "uint16"))
INTERNAL_TOPIC: Final = (
    Field("name", "string"),
    Field("partitions", "int32"),
    Field("replicationFactor", "int16"),
    Field("topicConfigs", Array(KEY_VALUE)),
)
COPARTITION_GROUP: Final = (
    Field("sourceTopics", Array("int16")),
    Field("sourceTopicRegex", Array("int16")),
    Field("repartitionSourceTopics", Array("int16")),
)
SUBTOPOLOGY: Final = (
    Field("subtopologyId", "string"),
    Field("sourceTopics", Array("string")),
    Field("sourceTopicRegex", Array("string")),
    Field("stateChangelogTopics", Array(INTERNAL_TOPIC)),
    Field("repartitionSinkTopics", Array("string")),
    Field("repartitionSourceTopics", Array(INTERNAL_TOPIC)),
    Field("copartitionGroups", Array(COPARTITION_GROUP)),
)
