"""Which fields stand in which version, in wire order: one row per field, one tuple per version.

Everything else follows from these tables: the decoder, the encoder, ``explain``, the names in JSON and the reference
page. To add a version, add its row here (and nothing else).

Java: ``SubscriptionInfo`` / ``AssignmentInfo`` of 0.10.0 to 2.3 (later ones in ``SubscriptionInfoData.json``).
Version 4 is in the tables although no member of ours sends it by default
(``versions.LATEST_SUPPORTED_VERSION``): it is what Kafka 2.1 sends, and KIP-268's "simulated version 4".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from subscription_codec._wire import Array, Integer, JavaUtf, Struct, TaskIds, Utf8, Uuid, Wire
from subscription_codec.records import HostInfo, HostPartitions, StandbyTask, TaskId, TopicPartition


class Field(NamedTuple):
    """One field: its name in our records, its name in Kafka and in JSON, and how it stands in bytes."""

    name: str
    kafka_name: str
    wire: Wire[Any]


INT16: Final = Integer(2)
INT32: Final = Integer(4)
TASK_ID: Final = Struct("TaskId", TaskId, whole=True, subtopology=INT32, partition=INT32)
TOPIC_PARTITION: Final = Struct("TopicPartition", TopicPartition, whole=True, topic=JavaUtf(), partition=INT32)
HOST_INFO: Final = Struct("HostInfo", HostInfo, whole=True, host=JavaUtf(), port=INT32)
STANDBY_TASK: Final = Struct("StandbyTask", StandbyTask, task=TASK_ID, partitions=Array(TOPIC_PARTITION))
HOST_PARTITIONS: Final = Struct("HostPartitions", HostPartitions, host=HOST_INFO, partitions=Array(TOPIC_PARTITION))

_VERSION: Final = Field("version", "version", INT32)
_SUPPORTED: Final = Field("latest_supported", "latestSupported", INT32)

_PROCESS_AND_TASKS: Final = (
    Field("process_id", "processId", Uuid()),
    Field("prev_tasks", "prevTasks", TaskIds(TASK_ID)),
    Field("standby_tasks", "standbyTasks", TaskIds(TASK_ID)),
)
_END_POINT: Final = Field("user_end_point", "userEndPoint", Utf8(4))

_ACTIVE_AND_STANDBY: Final = (
    Field("active_tasks", "activeTasks", TaskIds(TASK_ID)),
    Field("standby_tasks", "standbyTasks", Array(STANDBY_TASK)),
)
_BY_HOST: Final = Field("partitions_by_host", "partitionsByHost", Array(HOST_PARTITIONS))
_ERROR_CODE: Final = Field("error_code", "errCode", INT32)

Layout = tuple[Field, ...]

SUBSCRIPTION: Final[Mapping[int, Layout]] = {
    1: (_VERSION, *_PROCESS_AND_TASKS),
    2: (_VERSION, *_PROCESS_AND_TASKS, _END_POINT),
    3: (_VERSION, _SUPPORTED, *_PROCESS_AND_TASKS, _END_POINT),
    4: (_VERSION, _SUPPORTED, *_PROCESS_AND_TASKS, _END_POINT),
}

ASSIGNMENT: Final[Mapping[int, Layout]] = {
    1: (_VERSION, *_ACTIVE_AND_STANDBY),
    2: (_VERSION, *_ACTIVE_AND_STANDBY, _BY_HOST),
    3: (_VERSION, _SUPPORTED, *_ACTIVE_AND_STANDBY, _BY_HOST),
    4: (_VERSION, _SUPPORTED, *_ACTIVE_AND_STANDBY, _BY_HOST, _ERROR_CODE),
}

NEWEST_LAYOUT: Final = max(SUBSCRIPTION)
"""The highest version that can be written; a member may be told to speak up to it."""
