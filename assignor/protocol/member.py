"""The member's part of a rebalance: encodes its subscription, and applies its assignment.

A ``Member`` is a value. Joining encodes it; an assignment gives the next value.
Java: ``StreamsPartitionAssignor.subscriptionUserData``, ``onAssignment`` and ``maybeScheduleFollowupRebalance``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Final
from uuid import UUID

from attrs import evolve, field, frozen

from streams_assignor.codec import (
    EARLIEST_PROBEABLE_VERSION,
    FIRST_VERSION_WITH_OFFSET_SUMS,
    IMMEDIATELY,
    LATEST_OFFSET,
    NO_FOLLOW_UP,
    OFFSET_UNKNOWN,
    UNKNOWN_VERSION,
    Assignment,
    ClientTag,
    DecodeError,
    EncodeError,
    FutureVersion,
    HostInfo,
    HostPartitions,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
)
from streams_assignor.codec.columns import HostMap, TaskOffsetSums
from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    decode_leader_userdata,
    encode_member_userdata,
    flatten_by_topic,
    group_by_topic,
)
from streams_assignor.errors import PARTITION_COUNT_MISMATCH, FatalError
from streams_assignor.probing import Action, MemberVersion, ProbingError, ReceivedVersions, RejoinMode
from streams_assignor.probing.follow_up import FollowUp, FollowUpReason, schedule_follow_up
from streams_assignor.probing.model import AssignorError
from streams_assignor.protocol.group import task_order
from streams_assignor.task_assignors.application_state import EMPTY
from streams_assignor.upgrade.config_types import parse_end_point
from streams_assignor.upgrade.release_behaviour import CURRENT, ReleaseBehaviour, ReportedTasks

PartitionSet = frozenset[TopicPartition]


@frozen(kw_only=True)
class ReceivedAssignment:
    """The assignment of one member."""

    version: int
    supported_version: int
    """The newest version that the leader knows that all members support."""
    active: Mapping[TaskId, PartitionSet] = EMPTY
    """The partitions of each active task. Empty if the assignment was dropped, like ``standby``."""
    partitions: Sequence[TopicPartition] = ()
    """All partitions of the active tasks, sorted."""
    standby: Mapping[TaskId, PartitionSet] = EMPTY
    partitions_by_host: Sequence[HostPartitions] = ()
    """``hosts`` as the leader has sent them."""
    standby_partitions_by_host: Sequence[HostPartitions] = ()
    """``standby_hosts`` as the leader has sent them."""
    follow_up: FollowUpReason | None = None
    """Why there has to be another rebalance; None if there need not be one."""
    rejoin: RejoinMode | None = None
    """How the member rejoins, if it does so immediately."""
    rejoin_at_ms: int | None = None
    """When the member rejoins, if it does so later (milliseconds since 1970)."""
    dropped: bool = False
    """Whether the member has taken nothing but the version."""
    trailing: bytes = b""
    """The bytes after the last field, for an ``extension``."""

    @cached_property
    def hosts(self) -> Mapping[HostInfo, PartitionSet]:
        """The partitions that each host of the group serves from active tasks.

        Made when it is asked for: it names all partitions of the group, and few members look at it.
        """
        return {host: frozenset(partitions) for host, partitions in self.partitions_by_host}

    @cached_property
    def standby_hosts(self) -> Mapping[HostInfo, PartitionSet]:
        """The partitions that each host of the group serves from standbys."""
        return {host: frozenset(partitions) for host, partitions in self.standby_partitions_by_host}


@frozen(kw_only=True)
class Member:
    """One member between two rebalances."""

    process_id: UUID
    version: MemberVersion
    behaviour: ReleaseBehaviour = CURRENT
    """The behaviour of the release where versions decide nothing."""
    cooperative: bool = False
    """Whether it keeps its partitions while it rejoins."""
    stateful_subtopologies: frozenset[int] = frozenset()
    end_point: str = ""
    client_tags: Mapping[str, str] = field(default=EMPTY, hash=False)
    rack_id: str | None = None
    as_release: str | None = None
    """The release of Kafka whose bytes it writes; None for ours."""
    previous_active: frozenset[TaskId] = frozenset()
    """The active tasks of the last assignment."""
    stored: frozenset[TaskId] = frozenset()
    """The tasks of which it has state on disk; includes its standbys."""
    owned_partitions: PartitionSet = frozenset()
    join_count: int = 0
    """The number of its subscriptions so far."""
    error_code: int = 0
    """Sent in the next subscription."""

    # -- joining -------------------------------------------------------------------------------------------------

    def encode_subscription(
        self,
        topics: Iterable[str],
        offset_sums: Mapping[TaskId, int] | None = None,
        owned_partitions: Iterable[TopicPartition] | None = None,
        trailing: bytes = b"",
    ) -> bytes:
        """Encode the whole consumer-protocol subscription for the next JoinGroup.

        Args:
            topics: The topics to subscribe to.
            offset_sums: The offset sums of stateful tasks on disk. Tasks that run need none; a suspended one without
                is unknown. None: the offsets of all ``stored`` tasks are unknown.
            owned_partitions: The partitions that it owns; None for those of the last assignment.
            trailing: The bytes after the last field, of an ``extension``.

        Raises:
            FatalError: The version cannot be sent, or a value does not fit its field.
        """
        try:
            keeps = self.owned_partitions if owned_partitions is None else owned_partitions
            envelope = ConsumerSubscription(
                tuple(sorted(topics)),
                owned_partitions=group_by_topic(keeps if self.cooperative else ()),
                rack_id=self.rack_id,
                version=self.behaviour.consumer_protocol_version,
            )
            userdata = self._userdata(self.version.version_to_send(), offset_sums)._replace(trailing=trailing)
            return encode_member_userdata(envelope, userdata, as_release=self.as_release)
        except ProbingError as error:
            raise FatalError(str(error.args[0]), error.java_exception) from error
        except EncodeError as error:
            raise FatalError(f"cannot write the subscription: {error}", "IllegalArgumentException") from error

    def _userdata(self, used: int, offset_sums: Mapping[TaskId, int] | None) -> Subscription:
        if offset_sums is None:
            offset_sums = dict.fromkeys(self.stored, OFFSET_UNKNOWN)
        else:
            suspended = dict.fromkeys(self.previous_active - self._running_tasks, OFFSET_UNKNOWN)
            offset_sums = self._stateful_only({**suspended, **offset_sums})
        return Subscription(
            version=used,
            supported_version=self.version.supported_version if used >= EARLIEST_PROBEABLE_VERSION else UNKNOWN_VERSION,
            process_id=self.process_id,
            user_end_point=self.end_point,
            unique_field=_signed_byte(self.join_count + 1),
            error_code=self.error_code,
            client_tags=tuple(ClientTag(key, value) for key, value in sorted(self.client_tags.items())),
            **(
                self._as_offset_sums(offset_sums)
                if used >= FIRST_VERSION_WITH_OFFSET_SUMS
                else self._as_task_lists(offset_sums)
            ),
        )

    def _as_offset_sums(self, offset_sums: Mapping[TaskId, int]) -> dict[str, Any]:
        sums = {**offset_sums, **self._stateful_only(dict.fromkeys(self._running_tasks, LATEST_OFFSET))}
        ordered = {task: sums[task] for task in sorted(sums, key=task_order)}
        if any(task.topology for task in ordered):  # has no columns
            return {"task_offset_sums": tuple(map(TaskOffsetSum, ordered, ordered.values()))}
        return {"task_offset_sums": TaskOffsetSums.of(ordered)}

    def _as_task_lists(self, offset_sums: Mapping[TaskId, int]) -> dict[str, Any]:
        """List the previous active tasks that its release reports, and the tasks that it has state of."""
        if self.behaviour.reported_tasks is ReportedTasks.STATEFUL:
            ran = {task for task in self._running_tasks if task.subtopology in self.stateful_subtopologies}
        else:
            ran = set() if self.cooperative else set(self.previous_active)
        return {
            "prev_tasks": tuple(sorted(ran, key=task_order)),
            "standby_tasks": tuple(sorted(offset_sums.keys() - self._running_tasks, key=task_order)),
        }

    @property
    def _running_tasks(self) -> frozenset[TaskId]:
        """The active tasks of the last assignment, unless it has suspended them before it writes its subscription.

        An eager member revokes all partitions before. In Kafka since 2.6 that suspends their tasks, and a suspended
        task is reported like any other state. Our own eager members report what they ran, as Kafka's do up to 2.5: a
        leader can leave it there. Java: ``TaskManager.handleRevocation``, ``StreamTask.changelogOffsets``.
        """
        suspends = self.behaviour.reported_tasks is ReportedTasks.STATEFUL and self.as_release is not None
        return frozenset() if suspends and not self.cooperative else self.previous_active

    def _stateful_only(self, offset_sums: Mapping[TaskId, int]) -> dict[TaskId, int]:
        """Return the offset sums of tasks with state. No Kafka leader expects others, and 2.6 fails on them."""
        return {
            task: offset_sum
            for task, offset_sum in offset_sums.items()
            if task.subtopology in self.stateful_subtopologies
        }

    def after_join(self) -> Member:
        """Return the member as it is once it has sent a subscription."""
        return evolve(self, join_count=self.join_count + 1)

    def after_partitions_lost(self) -> Member:
        """Return the member as it is once its partitions have other owners. It keeps its state on disk."""
        return evolve(self, previous_active=frozenset(), owned_partitions=frozenset())

    # -- assignment ------------------------------------------------------------------------------------------

    def on_assignment(self, encoded: bytes, *, completes: bool = False) -> tuple[Member, ReceivedAssignment]:
        """Decode and apply a whole consumer-protocol assignment. Return the next member and the assignment.

        ``completes``: see ``ReceivedVersions``. Raises ``FatalError`` where Kafka's member fails.
        """
        envelope, assignment = _decode_assignment(encoded, self.version.supported_version)
        code = assignment.error_code
        event = ReceivedVersions(assignment.version, assignment.supported_version, completes, code)
        try:
            version, actions = self.version.on_assignment(event)
        except ProbingError as error:
            raise FatalError(str(error.args[0]), error.java_exception) from error
        if not _FATAL_ACTIONS.isdisjoint(actions):
            raise FatalError(f"the leader sent error code {code}", AssignorError(code).name)
        served = assignment.partitions_by_host
        next_one = self._next_rebalance(hosts_of(served), assignment.next_rebalance_ms, Action.REJOIN in actions)
        accepted = Action.ACCEPT in actions
        partitions = _assigned_partitions(assignment, envelope) if accepted else ()
        received = ReceivedAssignment(
            version=assignment.version,
            supported_version=assignment.supported_version,
            active=_partitions_by_task(assignment.active_tasks, partitions) if accepted else EMPTY,
            partitions=partitions,
            standby={task: frozenset(inputs) for task, inputs in assignment.standby_tasks} if accepted else EMPTY,
            partitions_by_host=served,
            standby_partitions_by_host=assignment.standby_partitions_by_host,
            follow_up=next_one.reason,
            rejoin=self.version.rules.rejoin_mode if next_one.at_ms == IMMEDIATELY else None,
            rejoin_at_ms=next_one.at_ms if IMMEDIATELY < next_one.at_ms < NO_FOLLOW_UP else None,
            dropped=not accepted,
            trailing=assignment.trailing,
        )
        return self._after_assignment(received, version), received

    def _after_assignment(self, received: ReceivedAssignment, version: MemberVersion) -> Member:
        if received.dropped:
            return evolve(self, version=version)
        tasks, standbys = received.active, received.standby
        stateful = (task for task in chain(tasks, standbys) if task.subtopology in self.stateful_subtopologies)
        return evolve(
            self,
            version=version,
            previous_active=frozenset(tasks),
            stored=self.stored.union(stateful),
            owned_partitions=frozenset(received.partitions),
        )

    def _next_rebalance(self, hosts: Sequence[HostInfo], encoded_ms: int, version_changed: bool) -> FollowUp:
        """Decide whether and when another rebalance is needed.

        A static member that restarts with another endpoint gets its old assignment, whose host map lacks the endpoint.
        """
        end_point = parse_end_point(self.end_point) if hosts else None
        end_point_missing = end_point is not None and HostInfo(*end_point) not in hosts
        return schedule_follow_up(
            self.version.rules,
            version_changed=version_changed,
            end_point_missing=end_point_missing,
            next_rebalance_ms=encoded_ms,
        )


_FATAL_ACTIONS: Final = frozenset({Action.SHUTDOWN, Action.SHUTDOWN_APPLICATION})


def _signed_byte(number: int) -> int:
    return (number + 128) % 256 - 128


def _decode_assignment(assignment_bytes: bytes, supported_version: int) -> tuple[ConsumerAssignment, Assignment]:
    try:
        return decode_leader_userdata(assignment_bytes, supported_version=supported_version)
    except FutureVersion as error:
        unknown = (
            "Unknown assignment data version" if supported_version < EARLIEST_PROBEABLE_VERSION else "Unable to decode"
        )
        raise FatalError(f"{unknown}: {error.problem}") from error
    except DecodeError as error:
        raise FatalError(f"Failed to decode AssignmentInfo: {error}") from error


def _assigned_partitions(assignment: Assignment, envelope: ConsumerAssignment) -> Sequence[TopicPartition]:
    partitions, number = flatten_by_topic(envelope.assigned_partitions), len(assignment.active_tasks)
    if len(partitions) != number:
        message = f"Number of assigned partitions {len(partitions)} is not equal to the number of active taskIds"
        raise FatalError(f"{message} {number}", code=PARTITION_COUNT_MISMATCH)
    return partitions


def _partitions_by_task(tasks: Iterable[TaskId], partitions: Iterable[TopicPartition]) -> Mapping[TaskId, PartitionSet]:
    """Match the i-th task id with the i-th partition. Java: ``getActiveTasks``."""
    by_task: dict[TaskId, list[TopicPartition]] = {}
    for task, partition in zip(tasks, partitions, strict=True):
        by_task.setdefault(task, []).append(partition)
    return {task: frozenset(inputs) for task, inputs in by_task.items()}


def hosts_of(served: Sequence[HostPartitions]) -> Sequence[HostInfo]:
    """Return the hosts of a host map without making the records of their partitions."""
    return served.hosts if isinstance(served, HostMap) else tuple(host for host, _ in served)
