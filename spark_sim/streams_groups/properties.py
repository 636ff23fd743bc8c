"""Properties of a streams group: *always* (in every state) and *eventually* (where the protocol has settled)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from streams_assignor.codec import TaskId
from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.streams_groups._coordinator import accepts_commit
from streams_assignor.spark_sim.streams_groups._members import SimulatedThread
from streams_assignor.spark_sim.streams_groups._world import World
from streams_assignor.spark_sim.streams_groups.group import AWAY_EPOCH
from streams_assignor.spark_sim.streams_groups.tasks import NO_TASKS, TasksTuple
from streams_assignor.streams_group import StreamsMemberState

SINGLE_OWNER: Final = "always: no two members of the group process a task"
SINGLE_COMMITTER: Final = "always: no two members can commit offsets of a task"
ONE_COPY_PER_PROCESS: Final = "always: no process has a task twice"
TARGET_COMPLETE: Final = "always: the target has every task once, and the configured standbys"
NO_MEMBER_FAILS: Final = "always: no member fails"
NO_LATE_COMMIT: Final = "always: no late commit is accepted for a task that another member has taken since"
STATIC_RETURNS: Final = "always: a static member returns to the target that it had"
STANDBY_STAYS: Final = "always: a standby stays on a process that has room for it"
EVERY_TASK_OWNED: Final = "eventually: every task is processed"
NO_MEMBER_WAITS: Final = "eventually: every member has its target assignment"
STANDBYS_AS_CONFIGURED: Final = "eventually: every stateful task has the configured standbys"
REBALANCING_TERMINATES: Final = "eventually: rebalancing ends"
PROPERTIES: Final = (
    SINGLE_OWNER,
    SINGLE_COMMITTER,
    ONE_COPY_PER_PROCESS,
    TARGET_COMPLETE,
    NO_LATE_COMMIT,
    STATIC_RETURNS,
    NO_MEMBER_FAILS,
    EVERY_TASK_OWNED,
    NO_MEMBER_WAITS,
    STANDBYS_AS_CONFIGURED,
    REBALANCING_TERMINATES,
)
"""Properties of a safe group."""
ADVISORY_PROPERTIES: Final = (STANDBY_STAYS,)
"""Properties whose violation costs time, and no record."""


def always(world: World) -> Iterator[Violation]:
    """Yield the violations of a state."""
    yield from _shared_tasks(world)
    yield from _doubled_tasks(world)
    yield from _incomplete_target(world)
    for name, reason in world.overwritten:
        yield Violation(NO_LATE_COMMIT, name, reason)
    for name, reason in world.failed:
        yield Violation(NO_MEMBER_FAILS, name, reason)


def eventually(world: World) -> Iterator[Violation]:
    """Yield the violations of a state in which the protocol has settled."""
    running = [member for member in world.members.values() if member.client is not None]
    for member in running:
        if text := _waits(world, member):
            yield Violation(NO_MEMBER_WAITS, member.name, text)
    if not running:
        return
    processed = frozenset[TaskId]().union(*(member.running for member in running))
    if lost := world.config.topology.tasks - processed:
        yield Violation(EVERY_TASK_OWNED, "", f"no member processes {_joined(lost)}")
    copies = Counter(task for member in running for task in member.tasks.standby)
    for task, wanted in _wanted_standbys(world, {member.process_id for member in running}):
        if copies[task] != wanted:
            text = f"{task} has {copies[task]} standbys, not {wanted}"
            yield Violation(STANDBYS_AS_CONFIGURED, "", text)


def moved_standbys(before: World, after: World) -> Iterator[Violation]:
    """Yield the standbys that a new target moves although their process has room for them.

    A process has room for a task if it ends with fewer tasks for each of its members than the process that gets it.
    """
    old, new = _standby_processes(before), _standby_processes(after)
    owners = {task: process for process, tasks in _tasks_by_process(after).items() for task in tasks.active}
    for task, processes in new.items():
        gained = processes - old.get(task, frozenset())
        for lost in sorted(old.get(task, frozenset()) - processes):
            if lost == owners.get(task) or lost not in _tasks_by_process(after):
                continue
            for process in sorted(gained):
                if _load(after, lost) < _load(after, process):
                    text = f"the standby of {task} moves to {process}, which has more tasks"
                    yield Violation(STANDBY_STAYS, lost, text)


def changed_returns(before: World, after: World) -> Iterator[Violation]:
    """Yield the static members whose return gives them another target, although the target was new enough."""
    if before.group.assignment_epoch != before.group.epoch:
        return
    for member_id, away in before.group.members.items():
        back = after.group.static_member(away.instance_id) if away.epoch == AWAY_EPOCH and away.instance_id else None
        if back is not None and after.group.is_present(back.member_id):
            had, has = before.group.targets.get(member_id), after.group.targets.get(back.member_id)
            if had != has or before.group.epoch != after.group.epoch:
                yield Violation(STATIC_RETURNS, back.member_id, f"its target was {had}, and is {has} after its return")


def _waits(world: World, member: SimulatedThread) -> str:
    client, registered = member.client, world.group.members.get(member.member_id)
    if client is None or client.state is not StreamsMemberState.STABLE:
        return f"stays {'' if client is None else client.state.name}"
    if registered is None:
        return "is not a member of the group"
    if not registered.is_reconciled_to(world.group.epoch):
        return f"stays {registered.state.name} in epoch {registered.epoch}, the group is in {world.group.epoch}"
    target = world.group.targets.get(member.member_id, NO_TASKS)
    return "" if member.tasks == target else f"has {member.tasks}, the coordinator has assigned {target}"


def _shared_tasks(world: World) -> Iterator[Violation]:
    group, rules = world.group, world.config.rules
    for thread, other in combinations(world.members.values(), 2):
        for task in sorted(thread.running & other.running):
            text = f"{task} is also processed by {thread.name}"
            if all(group.is_present(member.member_id) for member in (thread, other)):
                yield Violation(SINGLE_OWNER, other.name, text)
            if all(_commits(world, member, task) for member in (thread, other)):
                yield Violation(
                    SINGLE_COMMITTER, other.name, f"{text}, and both can commit, by the rules of {rules.release}"
                )


def _commits(world: World, member: SimulatedThread, task: TaskId) -> bool:
    return member.can_commit and accepts_commit(
        world.group, member.member_id, member.client.epoch if member.client else 0, task, world.config.rules
    )


def _doubled_tasks(world: World) -> Iterator[Violation]:
    copies = Counter((member.process_id, task) for member in world.members.values() for task in _copies(member.tasks))
    for (process, task), count in sorted(copies.items()):
        if count > 1:
            yield Violation(ONE_COPY_PER_PROCESS, process, f"it has {task} {count} times")


def _incomplete_target(world: World) -> Iterator[Violation]:
    """Yield what is wrong with a target assignment of the newest epoch."""
    group = world.group
    if not group.targets or group.assignment_epoch != group.epoch:
        return
    active = Counter(task for target in group.targets.values() for task in target.active)
    for task in sorted(world.config.topology.tasks):
        if active[task] != 1:
            yield Violation(TARGET_COMPLETE, "", f"{task} has {active[task]} owners in the target")
    by_process = _tasks_by_process(world)
    for process, copies in sorted(_copies_by_process(world).items()):
        for task, count in sorted(copies.items()):
            if count > 1:
                yield Violation(TARGET_COMPLETE, process, f"the target gives it {task} {count} times")
    standbys = Counter(task for target in group.targets.values() for task in target.standby)
    for task, wanted in _wanted_standbys(world, set(by_process)):
        if standbys[task] != wanted:
            yield Violation(TARGET_COMPLETE, "", f"{task} has {standbys[task]} standbys in the target, not {wanted}")


def _wanted_standbys(world: World, processes: set[str]) -> Iterator[tuple[TaskId, int]]:
    wanted = min(world.config.num_standby_replicas, len(processes) - 1)
    return ((task, wanted) for task in sorted(world.config.topology.stateful_tasks))


def _copies(tasks: TasksTuple) -> list[TaskId]:
    return [task for role in tasks.roles for task in role]


def _copies_by_process(world: World) -> dict[str, Counter[TaskId]]:
    copies: dict[str, Counter[TaskId]] = {}
    for name, target in world.group.targets.items():
        copies.setdefault(world.group.members[name].process_id, Counter()).update(_copies(target))
    return copies


def _tasks_by_process(world: World) -> dict[str, TasksTuple]:
    tasks: dict[str, TasksTuple] = {}
    for name, target in world.group.targets.items():
        process = world.group.members[name].process_id
        tasks[process] = tasks.get(process, NO_TASKS) | target
    return tasks


def _standby_processes(world: World) -> dict[TaskId, frozenset[str]]:
    processes: dict[TaskId, frozenset[str]] = {}
    for process, tasks in _tasks_by_process(world).items():
        for task in tasks.standby:
            processes[task] = processes.get(task, frozenset()) | {process}
    return processes


def _load(world: World, process: str) -> float:
    members = sum(member.process_id == process for member in world.group.members.values())
    return len(_copies(_tasks_by_process(world)[process])) / members


def _joined(tasks: frozenset[TaskId]) -> str:
    return ", ".join(map(str, sorted(tasks)))
