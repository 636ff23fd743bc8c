"""The fields of each version in wire order: one row per field, one tuple per version.

The decoder, the encoder, ``explain``, the names in JSON and the reference page all derive from these tables. To add a
version, add its row here (see "Adding a version" in docs/reference/metadata.md).

Java: ``SubscriptionInfo`` / ``AssignmentInfo``, from 2.5 on ``SubscriptionInfoData.json``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

from subscription_codec.records import Assignment, ClientTag, StandbyTask, Subscription
from subscription_codec.wire import codegen
from subscription_codec.wire.hosts import HOST_PARTITIONS, TOPIC_PARTITION, HostMapType, TopicDictionaryType
from subscription_codec.wire.tasks import (
    NAMED_TASK_ID,
    TASK_ID,
    FlatOffsetSumsType,
    GroupedOffsetSumsType,
    NamedTaskIdsType,
    TaskIdsType,
)
from subscription_codec.wire.text import Utf8
from subscription_codec.wire.types import INT_32, INT_64, Array, Integer, Struct, Uuid, WireType


class Field(NamedTuple):
    """One field of a version."""

    name: str
    """The name in the record."""
    kafka_name: str
    """The name in Kafka and in JSON."""
    wire: WireType[Any]
    """The encoding."""


class Layout(tuple[Field, ...]):
    """The fields of one version of a message, in wire order, and the class of its record."""

    record: type[Any]

    def __new__(cls, record: type[Any], *fields: Field) -> Layout:
        """Make a layout of the fields."""
        layout = super().__new__(cls, fields)
        layout.record = record
        return layout

    @cached_property
    def fast_path(self) -> codegen.CompiledCodec:
        """The fast path, compiled on first use."""
        return codegen.compile_codec(self.record, self)

    @cached_property
    def fast_decode(self) -> Callable[[bytes, int], Any]:
        """The decoder of the fast path; its arguments are the bytes and the version."""
        return self.fast_path.read

    @cached_property
    def fast_encode(self) -> Callable[[Any], bytes]:
        """The encoder of the fast path."""
        return self.fast_path.write


_VERSION: Final = Field("version", "version", INT_32)
_SUPPORTED_VERSION: Final = Field("supported_version", "latestSupported", INT_32)

_PROCESS_ID: Final = Field("process_id", "processId", Uuid())
_PREV: Final = Field("prev_tasks", "prevTasks", TaskIdsType())
_STANDBY: Final = Field("standby_tasks", "standbyTasks", TaskIdsType())
_END_POINT: Final = Field("user_end_point", "userEndPoint", Utf8(4))
_UNIQUE_FIELD: Final = Field("unique_field", "uniqueField", Integer(1))
_ERROR: Final = Field("error_code", "errorCode", INT_32)
MAX_CLIENT_TAGS: Final = 256
"""The most tags that are read. Kafka reads any number, but no member can be configured with more than five."""
_TAG: Final = Struct("ClientTag", ClientTag, key=Utf8(4), value=Utf8(4), single_line=True)
_TAGS: Final = Field("client_tags", "clientTags", Array(_TAG, MAX_CLIENT_TAGS))

_HEAD: Final = (_VERSION, _SUPPORTED_VERSION, _PROCESS_ID)
_S1: Final = (_VERSION, _PROCESS_ID, _PREV, _STANDBY)
_S3: Final = (*_HEAD, _PREV, _STANDBY, _END_POINT)
_S7: Final = (*_HEAD, _END_POINT, Field("task_offset_sums", "taskOffsetSums", GroupedOffsetSumsType()))
_S10: Final = (
    *_HEAD,
    _END_POINT,
    Field("task_offset_sums", "taskOffsetSums", FlatOffsetSumsType()),
    _UNIQUE_FIELD,
    _ERROR,
)

SUBSCRIPTION_LAYOUTS: Final[Mapping[int, Layout]] = {
    1: Layout(Subscription, *_S1),
    2: Layout(Subscription, *_S1, _END_POINT),
    3: Layout(Subscription, *_S3),
    4: Layout(Subscription, *_S3),
    5: Layout(Subscription, *_S3),
    6: Layout(Subscription, *_S3),
    7: Layout(Subscription, *_S7),
    8: Layout(Subscription, *_S7, _UNIQUE_FIELD),
    9: Layout(Subscription, *_S7, _UNIQUE_FIELD, _ERROR),
    10: Layout(Subscription, *_S10),
    11: Layout(Subscription, *_S10, _TAGS),
}


def _standby_tasks(name: str, task: Struct[Any]) -> Field:
    wire = Struct(name, StandbyTask, task=task, partitions=Array(TOPIC_PARTITION))
    return Field("standby_tasks", "standbyTasks", Array(wire))


_TASKS: Final = (Field("active_tasks", "activeTasks", TaskIdsType()), _standby_tasks("StandbyTask", TASK_ID))
_NAMED_TASKS: Final = (
    Field("active_tasks", "activeTasks", NamedTaskIdsType()),
    _standby_tasks("NamedStandbyTask", NAMED_TASK_ID),
)
_BY_HOST: Final = Field("partitions_by_host", "partitionsByHost", Array(HOST_PARTITIONS))
_ERR_CODE: Final = Field("error_code", "errCode", INT_32)
_TOPICS: Final = Field("topics", "topics", TopicDictionaryType())
_HOSTS: Final = Field("partitions_by_host", "partitionsByHost", HostMapType())
_STANDBY_HOSTS: Final = Field("standby_partitions_by_host", "standbyPartitionsByHost", HostMapType())
_NEXT: Final = Field("next_rebalance_ms", "nextRebalanceMs", INT_64)

_A3: Final = (_VERSION, _SUPPORTED_VERSION, *_TASKS, _BY_HOST)
_A6: Final = (_VERSION, _SUPPORTED_VERSION, *_TASKS, _TOPICS, _HOSTS, _STANDBY_HOSTS, _ERR_CODE)
_A10: Final = (_VERSION, _SUPPORTED_VERSION, *_NAMED_TASKS, _TOPICS, _HOSTS, _STANDBY_HOSTS, _ERR_CODE, _NEXT)

ASSIGNMENT_LAYOUTS: Final[Mapping[int, Layout]] = {
    1: Layout(Assignment, _VERSION, *_TASKS),
    2: Layout(Assignment, _VERSION, *_TASKS, _BY_HOST),
    3: Layout(Assignment, *_A3),
    4: Layout(Assignment, *_A3, _ERR_CODE),
    5: Layout(Assignment, _VERSION, _SUPPORTED_VERSION, *_TASKS, _TOPICS, _HOSTS, _ERR_CODE),
    6: Layout(Assignment, *_A6),
    7: Layout(Assignment, *_A6, _NEXT),
    8: Layout(Assignment, *_A6, _NEXT),
    9: Layout(Assignment, *_A6, _NEXT),
    10: Layout(Assignment, *_A10),
    11: Layout(Assignment, *_A10),
}
