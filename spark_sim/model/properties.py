"""Properties of a group, and which engines check each; the checks of a simulated group.

It is checked at every message, at every assignment, and at quiescence.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from streams_assignor import ReceivedAssignment
from streams_assignor.codec import EARLIEST_PROBEABLE_VERSION, TopicPartition
from streams_assignor.protocol.member import Member
from streams_assignor.spark_sim.model._group_state import GroupState, caught_up_tasks
from streams_assignor.spark_sim.model.member import SimulatedMember
from streams_assignor.spark_sim.model.violations import (
    CAUGHT_UP_OWNER,
    COMMON_VERSION_REACHED,
    EVERY_MEMBER_ASSIGNED,
    EVERY_TASK_OWNED,
    NO_MEMBER_FAILS,
    NO_UNREQUESTED_STANDBY,
    READABLE_VERSION,
    REBALANCE_REQUEST_HONORED,
    REBALANCING_TERMINATES,
    SHUTDOWN_COMPLETES,
    SINGLE_OWNER,
    TASK_PARTITIONS_MATCH,
    Violation,
)


class Engine(enum.Enum):
    """An engine that checks properties of groups."""

    RUNS = "runs of simulated members: replays, samples, some schedules of each explored cell"
    EXACT = "spark_sim.packed.explore: every schedule of a group of some members"
    ANY_SIZE = "spark_sim.packed.any_size: groups of any size"


_EVERY: Final = frozenset(Engine)
_RUNS: Final = frozenset({Engine.RUNS})
PROPERTIES: Final[Mapping[str, frozenset[Engine]]] = {
    SINGLE_OWNER: _EVERY,
    READABLE_VERSION: _EVERY,
    NO_MEMBER_FAILS: _EVERY,
    EVERY_MEMBER_ASSIGNED: _RUNS,
    TASK_PARTITIONS_MATCH: _RUNS,
    EVERY_TASK_OWNED: _EVERY,
    COMMON_VERSION_REACHED: _EVERY,
    REBALANCE_REQUEST_HONORED: _RUNS | {Engine.ANY_SIZE},
    SHUTDOWN_COMPLETES: _RUNS,
    REBALANCING_TERMINATES: _EVERY,
}
"""Property whose violation makes a group unsafe => the engines that check it.

The searches know requests because of versions only. The other properties of runs need tasks, partitions or a shutdown.
"""


def check_always(state: GroupState) -> list[Violation]:
    """Check what has to hold always, in a group in which a member has just taken its assignment."""
    owned = [thread.owned_tasks for thread in state.running_members]
    if sum(map(len, owned)) == len(frozenset().union(*owned)):
        return []
    owners = Counter(task for tasks in owned for task in tasks)
    twice = sorted(task for task, count in owners.items() if count > 1)
    return [Violation(SINGLE_OWNER, "", f"task {task} has {owners[task]} owners") for task in twice]


def check_assignment(
    state: GroupState, member: SimulatedMember, before: Member, received: ReceivedAssignment
) -> list[Violation]:
    """Check the assignment of a member; ``before`` is its state before it."""
    return [
        *_check_task_partitions(state, member, received),
        *_check_replicas(state, member, before, received),
    ]


def _check_task_partitions(
    state: GroupState, member: SimulatedMember, received: ReceivedAssignment
) -> Iterator[Violation]:
    if state.has_two_topologies:  # one task id has different partitions in them
        return
    tasks = state.workload.partitions_by_task
    for task, partitions in received.active.items():
        if partitions != tasks[task]:
            text = f"task {task} comes with {', '.join(map(str, sorted(partitions)))}"
            yield Violation(TASK_PARTITIONS_MATCH, member.name, text)


def _check_replicas(
    state: GroupState, member: SimulatedMember, before: Member, received: ReceivedAssignment
) -> Iterator[Violation]:
    """Find standbys without a local state store, and active tasks that another process has caught up."""
    if received.standby and not (state.workload.standbys or state.workload.lag):
        had = frozenset(before.stored).union(
            *(thread.stored_tasks for thread in state.process_members(member) if thread is not member)
        )
        for task in sorted(received.standby.keys() - had):
            yield Violation(NO_UNREQUESTED_STANDBY, member.name, f"standby of {task}, which it never had")
    if state.workload.lag and state.leader_balances_by_lag:
        for task in sorted(received.active.keys() - before.previous_active - caught_up_tasks(state, member)):
            if better := sorted(
                {running.process for running in state.running_members if task in caught_up_tasks(state, running)}
            ):
                yield Violation(
                    CAUGHT_UP_OWNER, member.name, f"has to restore {task}, although {better[0]} has all of it"
                )


def check_eventually(state: GroupState) -> list[Violation]:
    """Check what has to hold eventually, in a quiescent group."""
    return [
        *_check_every_task_owned(state),
        *_check_common_version(state),
        *_check_requests_honored(state),
        *_check_shutdown_completes(state),
    ]


def _check_every_task_owned(state: GroupState) -> Iterator[Violation]:
    """Find tasks without an owner, except tasks of deleted topics and those of an application that has shut down."""
    if not any(state.running_members) and any(thread.shut_down for thread in state.members.values()):
        return
    if state.has_two_topologies:
        yield from _check_every_partition_read(state)
        return
    expected = state.workload.stream_topology.tasks(state.cluster.partitions)
    if missing := sorted(
        expected.keys() - frozenset().union(*(thread.owned_tasks for thread in state.running_members))
    ):
        yield Violation(EVERY_TASK_OWNED, "", f"no member owns {', '.join(map(str, missing))}")


def _check_every_partition_read(state: GroupState) -> Iterator[Violation]:
    """Find partitions that a member subscribes to and that no member has been assigned."""
    topics = {topic for running in state.running_members for topic in running.assignor.topology.external_topics}
    read = {
        place
        for running in state.running_members
        if running.owned_tasks
        for place in running.assignor.member.owned_partitions
    }
    unread = sorted(
        topic
        for topic in topics
        for number in range(state.cluster.partitions[topic])
        if TopicPartition(topic, number) not in read
    )
    if unread:
        yield Violation(EVERY_TASK_OWNED, "", f"no member reads {', '.join(dict.fromkeys(unread))}")


def _check_common_version(state: GroupState) -> Iterator[Violation]:
    common = min((thread.initial_version for thread in state.running_members), default=0)
    for thread in state.running_members:
        used = thread.assignor.used_version
        if thread.received_version != common or (common >= EARLIEST_PROBEABLE_VERSION and used != common):
            text = f"sends version {used} and got {thread.received_version}, but all can speak {common}"
            yield Violation(COMMON_VERSION_REACHED, thread.name, text)


def _check_requests_honored(state: GroupState) -> Iterator[Violation]:
    for thread in state.running_members:
        if thread.rejoin_reason is not None:
            yield Violation(REBALANCE_REQUEST_HONORED, thread.name, f"is not heard, and {thread.rejoin_reason.value}")


def _check_shutdown_completes(state: GroupState) -> Iterator[Violation]:
    if state.shutdown_requested:
        for thread in state.running_members:
            yield Violation(SHUTDOWN_COMPLETES, thread.name, "goes on, although the whole application was to end")
