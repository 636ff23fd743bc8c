"""The group as its leader sees it: decodes the subscriptions of all members, and groups the members by process.

Java: ``ClientMetadata``, ``ClientState``.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final
from uuid import UUID

from attrs import frozen

from streams_assignor.codec import (
    FIRST_VERSION_WITH_OFFSET_SUMS,
    OFFSET_UNKNOWN,
    DecodeError,
    FutureSubscription,
    FutureVersion,
    HostInfo,
    Subscription,
    TaskId,
    TopicPartition,
)
from streams_assignor.codec.columns import TaskOffsetSums, partitions_of
from streams_assignor.codec.consumer_protocol import TopicPartitions, decode_member_userdata
from streams_assignor.errors import FatalError
from streams_assignor.probing import MemberVersions
from streams_assignor.protocol.member_tasks import OTHER_PROCESS
from streams_assignor.task_assignors.application_state import LATEST_OFFSET, UNKNOWN_LAG, KafkaStreamsState
from streams_assignor.topology import InputPartitionsByTask
from streams_assignor.upgrade import ConfigException
from streams_assignor.upgrade.config_types import parse_end_point

FUTURE_PROCESS_ID: Final = UUID(int=0)
"""The process id of all members with a future version, whose own cannot be decoded (Java: ``FUTURE_ID``)."""


@frozen(kw_only=True)
class MemberMetadata(MemberVersions):
    """One member as its subscription describes it. A member with a future version has no fields of the userdata.

    It is not ``groups.member.SubscriptionSeen``: a leader decodes in its hot path, without topics, and fails on
    malformed bytes, which an inspection shows.
    """

    member_id: str
    process_id: UUID = FUTURE_PROCESS_ID
    owned_by_topic: Sequence[TopicPartitions] = ()
    """The partitions that it has not revoked."""
    offset_sums: Mapping[TaskId, int] = {}
    """Its offset sums. Below version 7 there are none: ``LATEST_OFFSET`` and ``OFFSET_UNKNOWN`` stand for its previous
    active and standby tasks (Java: ``SubscriptionInfo.taskOffsetSums``)."""
    end_point: str = ""
    client_tags: Mapping[str, str] = {}
    rack_id: str | None = None
    error_code: int = 0
    trailing: bytes = b""
    """The bytes after the last field, for an ``extension``."""

    @property
    def owned_partitions(self) -> Iterator[TopicPartition]:
        """The partitions that it has not revoked, one at a time: a hostile member claims any number."""
        return chain.from_iterable(partitions_of(topic, numbers) for topic, numbers in self.owned_by_topic)

    @property
    def host(self) -> HostInfo | None:
        """Its endpoint for interactive queries, as any release reads it; None without one, or if none accepts it.

        The member looks for what it reads itself, and rejoins until the leader has found the same. Only another
        implementation or a hostile member sends what no release accepts; it must not terminate the group.
        """
        try:
            end_point = parse_end_point(self.end_point)
        except ConfigException:
            return None
        return HostInfo(*end_point) if end_point else None


@frozen
class Process:
    """A process: its members in the order of their ids, and its state for the task assignor."""

    members: tuple[MemberMetadata, ...]
    state: KafkaStreamsState
    reported_lags: Mapping[TaskId, int]
    """The lags of the tasks with state that its members report."""

    @property
    def process_id(self) -> UUID:
        """The id of the process; all members with a future version are one process."""
        return self.state.process_id

    def previous_tasks_by_lag(self) -> dict[str, list[TaskId]]:
        """Return the stateful tasks of which each member has state, smallest lag first. Java: ``prevTasksByLag``."""
        lags = self.reported_lags
        return {
            member.member_id: [
                task for _, task in sorted([(lags[task], task) for task in member.offset_sums if task in lags])
            ]
            for member in self.members
        }

    def first_task_without_lag(self) -> TaskId | None:
        """Return the smallest reported task that has no state or does not exist; None if there is none."""
        unknown = (task for member in self.members for task in member.offset_sums if task not in self.reported_lags)
        return min(unknown, key=task_order, default=None)


def task_order(task: TaskId) -> tuple[int, int, str]:
    """Sort key for tasks of which some may have a topology name, as a hostile member reports them."""
    return (task.subtopology, task.partition, task.topology or "")


def decode_members(subscriptions: Mapping[str, bytes], supported_version: int) -> list[MemberMetadata]:
    """Decode whole consumer-protocol subscriptions by member id.

    Raises ``FatalError`` for malformed bytes, and for a version that a leader with this supported version cannot read.
    """
    return [_decode_member(member, encoded, supported_version) for member, encoded in sorted(subscriptions.items())]


def _decode_member(member_id: str, subscription: bytes, supported_version: int) -> MemberMetadata:
    try:
        envelope, userdata = decode_member_userdata(
            subscription, supported_version=supported_version, with_topics=False
        )
    except FutureVersion as error:
        raise FatalError(error.problem) from error
    except DecodeError as error:
        raise FatalError(f"unable to decode subscription data of member {member_id}: {error}") from error
    if isinstance(userdata, FutureSubscription):
        return MemberMetadata(
            member_id=member_id,
            used_version=userdata.version,
            supported_version=userdata.supported_version,
            owned_by_topic=envelope.owned_partitions,
            rack_id=envelope.rack_id,
        )
    return MemberMetadata(
        member_id=member_id,
        used_version=userdata.version,
        supported_version=userdata.supported_version,
        process_id=userdata.process_id,
        owned_by_topic=envelope.owned_partitions,
        offset_sums=_offset_sums(userdata),
        end_point=userdata.user_end_point,
        client_tags=dict(userdata.client_tags),
        rack_id=envelope.rack_id,
        error_code=userdata.error_code,
        trailing=userdata.trailing,
    )


def _offset_sums(userdata: Subscription) -> Mapping[TaskId, int]:
    if userdata.version < FIRST_VERSION_WITH_OFFSET_SUMS:
        return {
            **dict.fromkeys(userdata.standby_tasks, OFFSET_UNKNOWN),
            **dict.fromkeys(userdata.prev_tasks, LATEST_OFFSET),
        }
    rows = userdata.task_offset_sums
    return rows.as_dict() if isinstance(rows, TaskOffsetSums) else dict(rows)


def group_by_process(
    all_members: Iterable[MemberMetadata], tasks: InputPartitionsByTask, end_offset_sums: Mapping[TaskId, int]
) -> list[Process]:
    """Group members by process, given the end offset sum of each stateful task.

    The previous active tasks of a process are those that its members still own or ran; its previous standbys are all
    others that they have offset sums of. Java: ``initializePrevTasks``, ``computeTaskLags``.
    """
    task_of = {partition: task for task, inputs in tasks.items() for partition in inputs}
    by_process: dict[UUID, list[MemberMetadata]] = {}
    for member in all_members:
        by_process.setdefault(member.process_id, []).append(member)
    at_the_start = {task: compute_lag(0, end) for task, end in end_offset_sums.items()}
    return [
        _process_of(process_id, tuple(members), task_of, end_offset_sums, at_the_start)
        for process_id, members in by_process.items()
    ]


def _process_of(
    process_id: UUID,
    members: tuple[MemberMetadata, ...],
    task_of: Mapping[TopicPartition, TaskId],
    end_offset_sums: Mapping[TaskId, int],
    lags_without_state: dict[TaskId, int],
) -> Process:
    sums = _merge_offset_sums(members)
    owned = {task_of[partition] for member in members for partition in member.owned_partitions if partition in task_of}
    active = owned.union(task for task, offset_sum in sums.items() if offset_sum == LATEST_OFFSET)
    own_lags = {
        task: compute_lag(offset_sum, end_offset_sums[task])
        for task, offset_sum in sums.items()
        if task in end_offset_sums
    }
    state = KafkaStreamsState(
        process_id=process_id,
        num_processing_threads=len(members),
        consumer_client_ids=[member.member_id for member in members],
        previous_active_tasks=active,
        previous_standby_tasks=sums.keys() - active,
        lags=ChainMap(own_lags, lags_without_state),
        client_tags=members[0].client_tags,
        host_info=next((host for member in members if (host := member.host)), None),
        rack_id=members[0].rack_id,
        member_rack_ids=tuple(member.rack_id for member in members),
    )
    return Process(members, state, own_lags)


def _merge_offset_sums(members: Sequence[MemberMetadata]) -> Mapping[TaskId, int]:
    """Return the best offset sum of each task: ``LATEST_OFFSET`` first, then the largest."""
    if len(members) == 1:
        return members[0].offset_sums
    merged: dict[TaskId, int] = {}
    for member in members:
        for task, offset_sum in member.offset_sums.items():
            earlier = merged.get(task, offset_sum)
            merged[task] = LATEST_OFFSET if LATEST_OFFSET in (earlier, offset_sum) else max(earlier, offset_sum)
    return merged


def compute_lag(offset_sum: int, end_offset_sum: int) -> int:
    """Return the lag that belongs to an offset sum. Java: ``ClientState.computeTaskLags``.

    An offset sum beyond the end belongs to an earlier changelog, so the whole changelog has to be restored.

    >>> compute_lag(40, 100), compute_lag(140, 100), compute_lag(LATEST_OFFSET, 100)
    (60, 100, -2)
    """
    if offset_sum in (LATEST_OFFSET, UNKNOWN_LAG):
        return offset_sum
    return end_offset_sum if end_offset_sum < offset_sum else end_offset_sum - offset_sum


def owners_by_partition(
    members: Iterable[MemberMetadata], existing: Container[TopicPartition] | None = None
) -> dict[TopicPartition, frozenset[str]]:
    """Return the members that claim each partition, normally one; of the ``existing`` partitions, None: of all."""
    owners: dict[TopicPartition, frozenset[str]] = {}
    for member in members:
        itself = frozenset({member.member_id})
        for partition in member.owned_partitions:
            if existing is None or partition in existing:
                others = owners.get(partition)
                owners[partition] = others | itself if others else itself
    return owners


def owners_within_process(
    process: Process,
    active: Iterable[TaskId],
    tasks: InputPartitionsByTask,
    owners: Mapping[TopicPartition, frozenset[str]],
) -> dict[TaskId, frozenset[str]]:
    """Find the owners of the partitions of the active tasks of a process: members of it, or ``OTHER_PROCESS``.

    Java: ``previousConsumersOfTaskPartitions``.
    """
    inside = {member.member_id for member in process.members}
    return {
        task: frozenset(owner if owner in inside else OTHER_PROCESS for owner in claimants)
        for task in active
        if (claimants := {owner for partition in tasks[task] for owner in owners.get(partition, ())})
    }
