"""Structs that requests of streams groups (KIP-1071) and the records of their coordinator share."""

from __future__ import annotations

from typing import Final

from streams_assignor.codec.wire.structs import Field, Struct
from streams_assignor.codec.wire.text import STRING
from streams_assignor.codec.wire.types import INT_16, INT_32, UINT_16, List

PARTITIONS: Final = Field("partitions", List(INT_32))
TASKS: Final = Struct("TaskIds", Field("subtopologyId", STRING), PARTITIONS)
KEY_VALUE: Final = Struct("KeyValue", Field("key", STRING), Field("value", STRING))
ENDPOINT: Final = Struct("Endpoint", Field("host", STRING), Field("port", UINT_16))
INTERNAL_TOPIC: Final = Struct(
    "TopicInfo",
    Field("name", STRING),
    Field("partitions", INT_32),
    Field("replicationFactor", INT_16),
    Field("topicConfigs", List(KEY_VALUE)),
)
COPARTITION_GROUP: Final = Struct(
    "CopartitionGroup",
    Field("sourceTopics", List(INT_16)),
    Field("sourceTopicRegex", List(INT_16)),
    Field("repartitionSourceTopics", List(INT_16)),
)
SUBTOPOLOGY: Final = Struct(
    "Subtopology",
    Field("subtopologyId", STRING),
    Field("sourceTopics", List(STRING)),
    Field("sourceTopicRegex", List(STRING)),
    Field("stateChangelogTopics", List(INTERNAL_TOPIC)),
    Field("repartitionSinkTopics", List(STRING)),
    Field("repartitionSourceTopics", List(INTERNAL_TOPIC)),
    Field("copartitionGroups", List(COPARTITION_GROUP)),
)
