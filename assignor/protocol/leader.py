"""The leader's part of a rebalance: subscriptions of all members in, assignments for all members out.

The steps, in Kafka's order: (1) decode the subscriptions, (2) decide the versions, (3) plan the internal topics,
(4) assign tasks to processes, (5) assign the tasks of each process to its members, (6) withhold tasks that other
members still own, (7) encode the assignments.

Everything is pure. All input and output is sorted, so equal groups get equal bytes.
Java: ``StreamsPartitionAssignor.assign``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Final
from uuid import UUID

from attrs import evolve, field, frozen

from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import (
    Assignment,
    EncodeError,
    HostInfo,
    HostPartitions,
    StandbyTask,
    TaskId,
    with_topic_dictionary,
)
from streams_assignor.codec.consumer_protocol import ConsumerAssignment, encode_leader_userdata, group_by_topic
from streams_assignor.codec.versions import FIRST_VERSION_WITH_TOPIC_DICTIONARY
from streams_assignor.config import AssignmentConfigs
from streams_assignor.errors import FatalError
from streams_assignor.probing import AssignmentContent, ProbingError, RuleSet, VersionAnswer, VersionDecision, decide
from streams_assignor.probing.leader import assignment_error
from streams_assignor.probing.model import AssignorError, Precondition
from streams_assignor.protocol import group
from streams_assignor.protocol._cooperative import withhold_owned_tasks
from streams_assignor.protocol.end_offsets import end_offset_sums
from streams_assignor.protocol.group import MemberMetadata, Process
from streams_assignor.protocol.internal_topics import (
    InternalTopicPlan,
    missing_sources,
    plan_internal_topics,
)
from streams_assignor.protocol.member_tasks import MEMBER_TASK_ASSIGNORS, NO_PREVIOUS_TASKS, GrantedTasks, ProcessTasks
from streams_assignor.task_assignor import TaskAssignor
from streams_assignor.task_assignors.application_state import EMPTY, LATEST_OFFSET, ApplicationState
from streams_assignor.task_assignors.built_in import BUILT_IN_TYPES, FALLBACK_PRIOR, STICKY
from streams_assignor.task_assignors.high_availability import HighAvailabilityTaskAssignor
from streams_assignor.task_assignors.java_order import hash_order_before_3_0
from streams_assignor.task_assignors.task_assignment import AssignmentError, KafkaStreamsAssignment, validate
from streams_assignor.topology import InputPartitionsByTask, Topology
from streams_assignor.upgrade.release_behaviour import CURRENT, ReleaseBehaviour

_ENCODED_AS_ERROR: Final = "TaskAssignmentException"
"""The only exception that leaders since 2.7 encode as an error code; they fail on all others."""


@frozen(kw_only=True, cache_hash=True)
class LeaderSettings:
    """The state that a leader keeps between rebalances."""

    rules: RuleSet = field(hash=False)
    supported_version: int
    topology: Topology
    process_id: UUID
    """The process of the leader."""
    configs: AssignmentConfigs = field(factory=AssignmentConfigs)
    behaviour: ReleaseBehaviour = CURRENT
    task_assignor: TaskAssignor = STICKY
    as_release: str | None = None
    """The release of Kafka whose bytes it writes; None for ours."""


@frozen
class GroupAssignment:
    """The assignments of all members."""

    assignments: dict[str, bytes]
    """Whole consumer-protocol assignments by member id."""
    completes: bool = False
    """Whether this assignment completes an upgrade, as in ``probing.VersionDecision``."""
    probed: Mapping[str, VersionAnswer] = EMPTY
    """The answers to the members that sent a version which the leader does not support, by member id."""


Merge = Callable[[Iterable[bytes]], bytes]
"""Makes the bytes after the last field of all assignments of those of all subscriptions."""


def send_nothing(_carried: Iterable[bytes]) -> bytes:
    """Ignore the bytes after the last field, as Kafka does."""
    return b""


def perform_assignment(
    settings: LeaderSettings,
    cluster: ClusterSnapshot,
    subscriptions: Mapping[str, bytes],
    plan: InternalTopicPlan | None = None,
    merge: Merge = send_nothing,
) -> GroupAssignment:
    """Assign the tasks of a group.

    Args:
        settings: The leader.
        cluster: Topics, offsets, racks and the time.
        subscriptions: Whole consumer-protocol subscriptions by member id.
        plan: The result of ``plan_internal_topics`` for this cluster; None if nothing has been planned yet.
        merge: Merges the bytes after the last field of the userdata (``extension``).

    Raises:
        FatalError: Kafka's leader fails here, and no member gets an assignment. Leaders since 2.7 send most errors to
            all members instead, as an error code; they still fail on bytes that they cannot decode.
    """
    members = group.decode_members(subscriptions, settings.supported_version)  # 1
    try:
        return _perform_assignment(settings, cluster, members, plan, merge)
    except FatalError as error:
        ids = [member.member_id for member in members]
        decision = assignment_error(settings.rules.leader, settings.supported_version, ids)
        if decision is None or error.kafka_exception != _ENCODED_AS_ERROR:
            raise
        return _error_assignment(settings, decision)


def _perform_assignment(
    settings: LeaderSettings,
    cluster: ClusterSnapshot,
    members: Sequence[MemberMetadata],
    plan: InternalTopicPlan | None,
    merge: Merge,
) -> GroupAssignment:
    encodes_missing = settings.behaviour.encodes_missing_topics and cluster.topics_complete
    missing = encodes_missing and missing_sources(settings.topology, cluster.partitions)
    decision = _decide_versions(settings, members, {Precondition.TOPICS} if missing else set())  # 2
    if all(answer.content is AssignmentContent.ERROR for answer in decision.answers.values()):
        return _error_assignment(settings, decision)
    plan = plan or plan_internal_topics(  # 3
        settings.topology, cluster.partitions, settings.behaviour, topics_complete=cluster.topics_complete
    )
    assignable = [member for member in members if _is_assignable(member, decision)]
    processes, assigned = _assign_to_processes(settings, cluster, plan, assignable)  # 4
    granted = _assign_to_members(settings, processes, assigned, plan, decision, cluster.now_ms)  # 5, 6
    shared = _SharedMetadata.of(processes, assigned, plan.tasks, merge(member.trailing for member in members))
    encoded = _encode_answers(settings, decision, granted, plan.tasks, shared)  # 7
    return GroupAssignment(encoded, decision.completes_upgrade, _probed(decision))


def _error_assignment(settings: LeaderSettings, decision: VersionDecision) -> GroupAssignment:
    """Assign nothing; every member gets the error code. Java: ``errorAssignment``."""
    return GroupAssignment(_encode_answers(settings, decision, {}, {}, _SharedMetadata()), probed=_probed(decision))


def _probed(decision: VersionDecision) -> Mapping[str, VersionAnswer]:
    return {member: answer for member, answer in decision.answers.items() if member in decision.future_members}


def _decide_versions(
    settings: LeaderSettings, members: Sequence[MemberMetadata], failed: set[Precondition]
) -> VersionDecision:
    if any(member.error_code == AssignorError.SHUTDOWN_REQUESTED for member in members):
        failed = failed | {Precondition.SHUTDOWN}
    versions = {member.member_id: member for member in members}
    try:
        return decide(settings.rules.leader, settings.supported_version, versions, failed)
    except ProbingError as error:
        raise FatalError(str(error.args[0]), error.java_exception) from error


def _is_assignable(member: MemberMetadata, decision: VersionDecision) -> bool:
    """Whether a member gets tasks: up to 2.3, members with a future version do not."""
    return decision.answers[member.member_id].content in {AssignmentContent.REGULAR, AssignmentContent.PREVIOUS}


def _assign_to_processes(
    settings: LeaderSettings, cluster: ClusterSnapshot, plan: InternalTopicPlan, members: Sequence[MemberMetadata]
) -> tuple[list[Process], Mapping[UUID, KafkaStreamsAssignment]]:
    """Group the members by process, and ask the task assignor for the tasks of each process.

    Without end offsets there are no lags: then ``FALLBACK_PRIOR`` stands in for the high-availability assignor. Where
    no task has a changelog there is nothing to know, and Kafka looks nothing up.
    Raises ``FatalError`` for an invalid assignment. Java: ``createTaskAssignor``, ``assignTasksToClients``.
    """
    if not any(info.changelogs for info in plan.task_infos.values()):
        cluster = evolve(cluster, end_offsets={})
    processes = group.group_by_process(members, plan.tasks, end_offset_sums(cluster, plan.task_infos))
    if not processes:
        return [], {}
    state = ApplicationState(
        tasks=plan.task_infos,
        clients={process.process_id: process.state for process in processes},
        configs=settings.configs,
        partition_racks=cluster.replica_racks,
        leader_process_id=settings.process_id,
    )
    needs_lags = isinstance(settings.task_assignor, HighAvailabilityTaskAssignor)
    assignor = FALLBACK_PRIOR if needs_lags and cluster.end_offsets is None else settings.task_assignor
    assignment = assignor.assign(state)
    if not isinstance(assignor, BUILT_IN_TYPES):
        result = validate(state, assignment)
        if result.error is not AssignmentError.NONE:
            problem = f"Task assignment returned an error: {result.error.name}: {result.message}"
            raise FatalError(problem, "StreamsException")
    return processes, assignment.assignments


def _assign_to_members(
    settings: LeaderSettings,
    processes: Sequence[Process],
    assigned: Mapping[UUID, KafkaStreamsAssignment],
    plan: InternalTopicPlan,
    decision: VersionDecision,
    now_ms: int,
) -> dict[str, GrantedTasks]:
    """Assign the tasks of each process to its members, and withhold those that other members still own.

    A member whose answer is ``AssignmentContent.PREVIOUS`` gets its previous tasks instead.
    """
    tasks = plan.tasks
    members = [member for process in processes for member in process.members]
    claiming = [member for member in members if member.owned_by_topic] if settings.behaviour.cooperative else []
    owners = group.owners_by_partition(claiming, set(chain.from_iterable(tasks.values()))) if claiming else {}
    stateful = frozenset(task for task, info in plan.task_infos.items() if info.stateful)
    lag_based = settings.behaviour.lag_based
    if settings.behaviour.fails_on_missing_lag:
        _require_lags(processes, assigned, stateful)
    by_process = [
        ProcessTasks(
            members=[member.member_id for member in process.members],
            active=assigned[process.process_id].active,
            standby=assigned[process.process_id].standby,
            stateful=stateful,
            previous_tasks_by_lag=process.previous_tasks_by_lag()
            if lag_based and len(process.members) > 1
            else NO_PREVIOUS_TASKS,
            owners={}
            if lag_based
            else group.owners_within_process(process, assigned[process.process_id].active, tasks, owners),
        )
        for process in processes
    ]
    member_tasks = MEMBER_TASK_ASSIGNORS[settings.behaviour.member_tasks](by_process, decision.probing)
    for process in processes:
        for member in process.members:
            if decision.answers[member.member_id].content is AssignmentContent.PREVIOUS:
                source = process.members if settings.rules.leader.previous_tasks_per_process else (member,)
                member_tasks[member.member_id] = _previous_tasks(source, tasks)
    granted: dict[str, GrantedTasks] = {}
    for process in processes:
        interval_ms = assigned[process.process_id].follow_up_rebalance_ms
        follow_up_ms = None if interval_ms is None else now_ms + interval_ms
        granted |= withhold_owned_tasks(
            process, member_tasks, tasks, owners, settings.behaviour.interim_standby, follow_up_ms
        )
    return granted


def _require_lags(
    processes: Iterable[Process], assigned: Mapping[UUID, KafkaStreamsAssignment], stateful: Set[TaskId]
) -> None:
    """Raise ``FatalError`` for a reported task without a lag (leaders 2.6 to 3.0).

    Members up to 2.3 report tasks without state, which have none.
    """
    for process in processes:
        assignment = assigned[process.process_id]
        if (assignment.standby or assignment.active & stateful) and (unknown := process.first_task_without_lag()):
            raise FatalError(f"Tried to lookup lag for unknown task {unknown}", "IllegalStateException")


def _previous_tasks(members: Iterable[MemberMetadata], tasks: InputPartitionsByTask) -> GrantedTasks:
    """Return the previous tasks of members, as leaders of 2.0 to 2.3 assign them while another member is probed."""
    previous = [
        (task, offset_sum == LATEST_OFFSET)
        for member in members
        for task, offset_sum in member.offset_sums.items()
        if task in tasks
    ]
    # A task may run in one thread while others of the process have state of it: Kafka's leaders list it twice.
    active, standby = ({task for task, running in previous if running is kind} for kind in (True, False))
    return GrantedTasks(tuple(sorted(active)), tuple(sorted(standby)))


@frozen
class _SharedMetadata:
    """The part of the assignment that is equal for all members."""

    active_by_host: tuple[HostPartitions, ...] = ()
    """The partitions that each host serves from active tasks, for interactive queries."""
    standby_by_host: tuple[HostPartitions, ...] = ()
    """The partitions that each host serves from standby tasks."""
    trailing: bytes = b""
    """The bytes after the last field."""

    @classmethod
    def of(
        cls,
        processes: Iterable[Process],
        assigned: Mapping[UUID, KafkaStreamsAssignment],
        tasks: InputPartitionsByTask,
        trailing: bytes,
    ) -> _SharedMetadata:
        served = [(host, assigned[process.process_id]) for process in processes if (host := process.state.host_info)]
        return cls(
            _partitions_by_host(((host, assignment.active) for host, assignment in served), tasks),
            _partitions_by_host(((host, assignment.standby) for host, assignment in served), tasks),
            trailing,
        )


def _partitions_by_host(
    served: Iterable[tuple[HostInfo, Set[TaskId]]], tasks: InputPartitionsByTask
) -> tuple[HostPartitions, ...]:
    by_host: dict[HostInfo, set[TaskId]] = {}
    for host, assigned in served:
        by_host.setdefault(host, set()).update(assigned)
    return tuple(
        HostPartitions(host, tuple(sorted(partition for task in assigned for partition in tasks[task])))
        for host, assigned in sorted(by_host.items())
    )


def _encode_answers(
    settings: LeaderSettings,
    decision: VersionDecision,
    granted: Mapping[str, GrantedTasks],
    tasks: InputPartitionsByTask,
    shared: _SharedMetadata,
) -> dict[str, bytes]:
    """Encode all assignments. Answers of one kind share one prebuilt ``Assignment``, including the host maps."""
    try:
        prebuilt = {answer: _shared_assignment(answer, shared) for answer in set(decision.answers.values())}
        return {
            member: _encode_answer(
                settings,
                prebuilt[answer],
                granted.get(member, GrantedTasks()),
                tasks,
                # Leaders up to 2.2.1 and of 2.3.0 list the tasks wrongly while they probe.
                distinct=answer.content is AssignmentContent.PREVIOUS
                and settings.rules.leader.previous_tasks_per_process,
            )
            for member, answer in sorted(decision.answers.items())
        }
    except EncodeError as error:
        raise FatalError(f"cannot write an assignment: {error}") from error


def _shared_assignment(answer: VersionAnswer, shared: _SharedMetadata) -> Assignment:
    plain = answer.content in {AssignmentContent.EMPTY, AssignmentContent.ERROR}
    assignment = Assignment(
        version=answer.version,
        supported_version=answer.supported_version,
        partitions_by_host=() if plain else shared.active_by_host,
        standby_partitions_by_host=() if plain else shared.standby_by_host,
        error_code=answer.error_code,
        trailing=shared.trailing,
    )
    return with_topic_dictionary(assignment) if answer.version >= FIRST_VERSION_WITH_TOPIC_DICTIONARY else assignment


def _encode_answer(
    settings: LeaderSettings,
    prebuilt: Assignment,
    granted: GrantedTasks,
    tasks: InputPartitionsByTask,
    *,
    distinct: bool,
) -> bytes:
    """Encode the assignment of one member.

    Its active tasks are listed once for each of their partitions, in the order of the partitions; if ``distinct``, once
    each, in the order of a Java hash map.
    """
    partitions = sorted((partition, task) for task in granted.active for partition in tasks[task])
    listed = hash_order_before_3_0({task for _, task in partitions}) if distinct else [task for _, task in partitions]
    assignment = prebuilt._replace(
        active_tasks=tuple(listed),
        standby_tasks=tuple(StandbyTask(task, tasks[task]) for task in granted.standby),
        next_rebalance_ms=granted.next_rebalance_ms,
    )
    envelope = ConsumerAssignment(
        group_by_topic(partition for partition, _ in partitions), version=settings.behaviour.consumer_protocol_version
    )
    return encode_leader_userdata(envelope, assignment, as_release=settings.as_release)
