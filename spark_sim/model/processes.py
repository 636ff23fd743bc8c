"""External events of the processes and topics of a simulated group: starts, stops, crashes, requests."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from attrs import evolve

from streams_assignor import FatalError
from streams_assignor.codec import TaskId
from streams_assignor.spark_sim.model._group_state import GroupState
from streams_assignor.spark_sim.model.member import SimulatedMember
from streams_assignor.spark_sim.model.scenario import Instance, ScenarioError, Step
from streams_assignor.spark_sim.model.violations import Violation, is_requested_shutdown

SHUTDOWN_REQUEST_SINCE: Final = (2, 8)
"""The first release whose members can request the shutdown of the application (KIP-663)."""


def start_process(state: GroupState, process: str, instance: Instance | None = None) -> None:
    """Start a process, or restart it if it runs.

    Args:
        state: The group.
        process: The name of the process.
        instance: Its next configuration; None for the last one.
    """
    names = state.workload.member_names(process)
    before = [state.members[name] for name in names if name in state.members]
    stop_process(state, process, "stopped")
    instance = instance or (before[0].instance if before else dict(state.scenario.members)[process])
    stored = frozenset[TaskId]()
    if state.workload.ephemeral:
        state.caught_up_by_process.pop(process, None)
    else:
        stored = stored.union(*(member.stored_tasks for member in before))
    process_id = _process_id(state, process, instance)
    for name in names:
        state.members.pop(name, None)
        state.members[name] = SimulatedMember.start(name, process, instance, state.workload, process_id, stored)
        stored = frozenset()  # The first thread reports the stores that no thread has open.
    state.log("started", process, str(instance))


def _process_id(state: GroupState, process: str, instance: Instance) -> UUID:
    """Return the process id of a process that starts: that in its state directory, or a new one."""
    new = state.new_process_id()
    if not (instance.release.behaviour.keeps_process_id and state.workload.has_persistent_state):
        return new
    return state.process_ids_on_disk.setdefault(process, new)


def stop_process(state: GroupState, process: str, event_kind: str, *, leave: bool = False) -> None:
    """Stop a process if it runs.

    Args:
        state: The group.
        process: The name of the process.
        event_kind: The event to log: stopped or crashed.
        leave: Whether its members send LeaveGroup.
    """
    stopping = [member for member in state.running_members if member.process == process]
    for member in stopping:
        member.terminate()
    if stopping:
        state.log(event_kind, process)
    if leave:
        for member in stopping:
            if member.member_id is not None:
                state.coordinator.remove_member(member.member_id)
                state.log("left", member.name)
        complete_join_phase(state)


def schedule_crash(state: GroupState, process: str, rebalances: int) -> None:
    """Let a process crash between JoinGroup and SyncGroup of the given rebalance from now (1: the next one)."""
    for name in state.workload.member_names(process):
        state.members[name].crash_countdown = rebalances


def complete_join_phase(state: GroupState) -> bool:
    """Begin a generation if all members have joined, and run scheduled crashes; return whether it has begun."""
    if not state.coordinator.complete_join_phase():
        return False
    for member in state.current_members:
        member.crash_countdown -= 1
        if member.crash_countdown == 0 and member.running:
            stop_process(state, member.process, "crashed")
    return True


def fail_member(
    state: GroupState, member: SimulatedMember, error: FatalError, *, assignment_received: bool = True
) -> None:
    """Terminate a member on a fatal error, which is a violation unless a shutdown was requested."""
    member.terminate()
    member.shut_down = is_requested_shutdown(error)
    state.log("ended" if member.shut_down else "failed", member.name, str(error))
    if not member.shut_down:
        state.report_violations([Violation.of_fatal_error(member.name, error, assignment_received=assignment_received)])


def request_shutdown(state: GroupState, process: str) -> None:
    """Let the first running member of a process request the shutdown of the application; nothing without one.

    Raises:
        ScenarioError: Its release does not know the request.
    """
    member = next((running for running in state.running_members if running.process == process), None)
    if member is None:
        return
    release = member.instance.release
    if release.kafka_name and release.number < SHUTDOWN_REQUEST_SINCE:
        raise ScenarioError(f"shutdown {process}: expected a release from 2.8 on, {process} runs {release}")
    member.assignor.request_shutdown()
    member.rejoin_needed = True
    state.shutdown_requested = True
    state.log("shutdown_requested", member.name)


def change_topics(state: GroupState, step: Step) -> None:
    """Delete or create source topics; the leader sees the change in its metadata and rejoins."""
    partitions = dict(state.cluster.partitions)
    for name in step.names:
        partitions.pop(name, None)
        if step.verb == "find":
            partitions[name] = state.workload.partition_counts[name]
        state.log("topic_lost" if step.verb == "lose" else "topic_found", name)
    state.cluster = evolve(state.cluster, partitions=partitions)
    for member in state.running_members:
        member.rejoin_needed |= member.member_id is not None and member.member_id == state.coordinator.leader
