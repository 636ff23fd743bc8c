"""Which fields stand in which version, in wire order: one row per field, one tuple per version.

Everything else follows from these tables: the decoder, the encoder, ``explain``, the names in JSON and the reference
page. To add a version, add its row here (see "A version more" in docs/reference/metadata.md).

Java: ``SubscriptionInfo`` / ``AssignmentInfo``, from 2.5 on ``SubscriptionInfoData.json``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

from subscription_codec import _compiled
from subscription_codec._hosts import HOST_PARTITIONS, TOPIC_PARTITION, Hosts, Topics
from subscription_codec._tasks import NAMED_TASK_ID, TASK_ID, FlatSums, GroupedSums, NamedTasks, Tasks
from subscription_codec._text import Utf8
from subscription_codec._wire import INT_32, INT_64, Array, Integer, Struct, Uuid, Wire
from subscription_codec.records import Assignment, ClientTag, StandbyTask, Subscription


class Field(NamedTuple):
    """One field: its name in our records, its name in Kafka and in JSON, and how it stands in bytes."""

    name: str
    kafka_name: str
    wire: Wire[Any]


class Layout(tuple[Field, ...]):
    """The fields of one version of a message, in wire order, and the record that they make."""

    record: type[Any]

    def __new__(cls, record: type[Any], *fields: Field) -> Layout:
        """Make a layout of the fields."""
        layout = super().__new__(cls, fields)
        layout.record = record
        return layout

    @cached_property
    def quick(self) -> _compiled.Pair:
        """The quick reader and writer, made when they are first needed."""
        return _compiled.pair(self.record, self)

    @cached_property
    def read(self) -> Callable[[bytes, int], Any]:
        """The quick reader: takes the bytes and the version."""
        return self.quick.read

    @cached_property
    def write(self) -> Callable[[Any], bytes]:
        """The quick writer."""
        return self.quick.write


_VERSION: Final = Field("version", "version", INT_32)
_SUPPORTED: Final = Field("latest_supported", "latestSupported", INT_32)

_PROCESS_ID: Final = Field("process_id", "processId", Uuid())
_PREV: Final = Field("prev_tasks", "prevTasks", Tasks())
_STANDBY: Final = Field("standby_tasks", "standbyTasks", Tasks())
_END_POINT: Final = Field("user_end_point", "userEndPoint", Utf8(4))
_UNIQUE: Final = Field("unique_field", "uniqueField", Integer(1))
_ERROR: Final = Field("error_code", "errorCode", INT_32)
_TAGS: Final = Field(
    "client_tags", "clientTags", Array(Struct("ClientTag", ClientTag, key=Utf8(4), value=Utf8(4), whole=True))
)

_HEAD: Final = (_VERSION, _SUPPORTED, _PROCESS_ID)
_S1: Final = (_VERSION, _PROCESS_ID, _PREV, _STANDBY)
_S3: Final = (*_HEAD, _PREV, _STANDBY, _END_POINT)
_S7: Final = (*_HEAD, _END_POINT, Field("task_offset_sums", "taskOffsetSums", GroupedSums()))
_S10: Final = (*_HEAD, _END_POINT, Field("task_offset_sums", "taskOffsetSums", FlatSums()), _UNIQUE, _ERROR)

SUBSCRIPTION: Final[Mapping[int, Layout]] = {
    1: Layout(Subscription, *_S1),
    2: Layout(Subscription, *_S1, _END_POINT),
    3: Layout(Subscription, *_S3),
    4: Layout(Subscription, *_S3),
    5: Layout(Subscription, *_S3),
    6: Layout(Subscription, *_S3),
    7: Layout(Subscription, *_S7),
    8: Layout(Subscription, *_S7, _UNIQUE),
    9: Layout(Subscription, *_S7, _UNIQUE, _ERROR),
    10: Layout(Subscription, *_S10),
    11: Layout(Subscription, *_S10, _TAGS),
}


def _standby_tasks(name: str, task: Struct[Any]) -> Field:
    wire = Struct(name, StandbyTask, task=task, partitions=Array(TOPIC_PARTITION))
    return Field("standby_tasks", "standbyTasks", Array(wire))


_TASKS: Final = (Field("active_tasks", "activeTasks", Tasks()), _standby_tasks("StandbyTask", TASK_ID))
_NAMED_TASKS: Final = (
    Field("active_tasks", "activeTasks", NamedTasks()),
    _standby_tasks("NamedStandbyTask", NAMED_TASK_ID),
)
_BY_HOST: Final = Field("partitions_by_host", "partitionsByHost", Array(HOST_PARTITIONS))
_ERR_CODE: Final = Field("error_code", "errCode", INT_32)
_TOPICS: Final = Field("topics", "topics", Topics())
_HOSTS: Final = Field("partitions_by_host", "partitionsByHost", Hosts())
_STANDBY_HOSTS: Final = Field("standby_partitions_by_host", "standbyPartitionsByHost", Hosts())
_NEXT: Final = Field("next_rebalance_ms", "nextRebalanceMs", INT_64)

_A3: Final = (_VERSION, _SUPPORTED, *_TASKS, _BY_HOST)
_A6: Final = (_VERSION, _SUPPORTED, *_TASKS, _TOPICS, _HOSTS, _STANDBY_HOSTS, _ERR_CODE)
_A10: Final = (_VERSION, _SUPPORTED, *_NAMED_TASKS, _TOPICS, _HOSTS, _STANDBY_HOSTS, _ERR_CODE, _NEXT)

ASSIGNMENT: Final[Mapping[int, Layout]] = {
    1: Layout(Assignment, _VERSION, *_TASKS),
    2: Layout(Assignment, _VERSION, *_TASKS, _BY_HOST),
    3: Layout(Assignment, *_A3),
    4: Layout(Assignment, *_A3, _ERR_CODE),
    5: Layout(Assignment, _VERSION, _SUPPORTED, *_TASKS, _TOPICS, _HOSTS, _ERR_CODE),
    6: Layout(Assignment, *_A6),
    7: Layout(Assignment, *_A6, _NEXT),
    8: Layout(Assignment, *_A6, _NEXT),
    9: Layout(Assignment, *_A6, _NEXT),
    10: Layout(Assignment, *_A10),
    11: Layout(Assignment, *_A10),
}
