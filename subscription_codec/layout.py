"""The fields of userdata in wire order: one row per field, with the versions that have it.

The decoder, the encoder, ``explain``, the names in JSON and the reference page all derive from these tables. To add a
version, add the rows of its new fields here (see "Adding a version" in docs/reference/metadata.md).

Java: ``SubscriptionInfo`` / ``AssignmentInfo``, from 2.5 on ``SubscriptionInfoData.json``.
"""

from __future__ import annotations

from typing import Final

from streams_assignor.codec.records import Assignment, ClientTag, StandbyTask, Subscription
from streams_assignor.codec.versions import LATEST_SUPPORTED_VERSION
from streams_assignor.codec.wire.hosts import HOST_PARTITIONS, TOPIC_PARTITION, HostMapType, TopicDictionaryType
from streams_assignor.codec.wire.schema import NOT_FLEXIBLE, Schema
from streams_assignor.codec.wire.structs import Field, Struct
from streams_assignor.codec.wire.tasks import (
    NAMED_TASK_ID,
    TASK_ID,
    FlatOffsetSumsType,
    GroupedOffsetSumsType,
    NamedTaskIdsType,
    TaskIdsType,
)
from streams_assignor.codec.wire.text import Utf8
from streams_assignor.codec.wire.types import INT_8, INT_32, INT_64, Array, Uuid

MAX_CLIENT_TAGS: Final = 256
"""The most tags that are read. Kafka reads any number, but no member can be configured with more than five."""
_TAG: Final = Struct("ClientTag", Field("key", Utf8(4)), Field("value", Utf8(4)), make=ClientTag, single_line=True)
_VERSION: Final = Field("version", INT_32)
_SUPPORTED_VERSION: Final = Field("latestSupported", INT_32, "supported_version", since=3)

SUBSCRIPTION_LAYOUTS: Final = Schema(
    "Subscription",
    (
        _VERSION,
        _SUPPORTED_VERSION,
        Field("processId", Uuid(), "process_id"),
        Field("prevTasks", TaskIdsType(), "prev_tasks", until=6),
        Field("standbyTasks", TaskIdsType(), "standby_tasks", until=6),
        Field("userEndPoint", Utf8(4), "user_end_point", since=2),
        Field("taskOffsetSums", GroupedOffsetSumsType(), "task_offset_sums", since=7, until=9),
        Field("taskOffsetSums", FlatOffsetSumsType(), "task_offset_sums", since=10),
        Field("uniqueField", INT_8, "unique_field", since=8),
        Field("errorCode", INT_32, "error_code", since=9),
        Field("clientTags", Array(_TAG, most=MAX_CLIENT_TAGS), "client_tags", since=11),
    ),
    earliest=1,
    latest=LATEST_SUPPORTED_VERSION,
    flexible=NOT_FLEXIBLE,
    record=Subscription,
).layouts


def _standby_tasks(name: str, task: Struct) -> Array:
    return Array(Struct(name, Field("task", task), Field("partitions", Array(TOPIC_PARTITION)), make=StandbyTask))


ASSIGNMENT_LAYOUTS: Final = Schema(
    "Assignment",
    (
        _VERSION,
        _SUPPORTED_VERSION,
        Field("activeTasks", TaskIdsType(), "active_tasks", until=9),
        Field("activeTasks", NamedTaskIdsType(), "active_tasks", since=10),
        Field("standbyTasks", _standby_tasks("StandbyTask", TASK_ID), "standby_tasks", until=9),
        Field("standbyTasks", _standby_tasks("NamedStandbyTask", NAMED_TASK_ID), "standby_tasks", since=10),
        Field("partitionsByHost", Array(HOST_PARTITIONS), "partitions_by_host", since=2, until=4),
        Field("topics", TopicDictionaryType(), since=5),
        Field("partitionsByHost", HostMapType(), "partitions_by_host", since=5),
        Field("standbyPartitionsByHost", HostMapType(), "standby_partitions_by_host", since=6),
        Field("errCode", INT_32, "error_code", since=4),
        Field("nextRebalanceMs", INT_64, "next_rebalance_ms", since=7),
    ),
    earliest=1,
    latest=LATEST_SUPPORTED_VERSION,
    flexible=NOT_FLEXIBLE,
    record=Assignment,
).layouts
