"""Assigns the tasks of each process to its members.

A task assignor assigns tasks to processes, but members (in Kafka, the stream threads) consume partitions. The algorithm
depends on the release. Members are always visited in the order of their ids. Java:
``interleaveConsumerTasksByGroupId``, ``tryStickyAndBalancedTaskAssignmentWithinClient``, ``assignTasksToThreads``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, cycle
from typing import Final

from attrs import field, frozen

from streams_assignor.codec import NO_FOLLOW_UP, TaskId
from streams_assignor.upgrade.release_behaviour import MemberTasksMethod

NO_PREVIOUS_TASKS: Final[Mapping[str, Sequence[TaskId]]] = {}
OTHER_PROCESS: Final = ""
"""Stands for any owner that is a member of another process."""


@frozen
class GrantedTasks:
    """The tasks of one member, and when it rejoins."""

    active: tuple[TaskId, ...] = ()
    """Sorted, like ``standby``."""
    standby: tuple[TaskId, ...] = ()
    awaiting_revocation: tuple[TaskId, ...] = ()
    """Active tasks that are withheld until their owners have revoked them; not in ``active``."""
    next_rebalance_ms: int = NO_FOLLOW_UP
    """When it rejoins: milliseconds since 1970, ``IMMEDIATELY`` or ``NO_FOLLOW_UP``."""


def _in_order(members: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(members))


def _tasks(tasks: Iterable[TaskId]) -> frozenset[TaskId]:
    return frozenset(tasks)


@frozen(kw_only=True)
class ProcessTasks:
    """A process, its members, and the tasks that the task assignor has assigned to it."""

    members: tuple[str, ...] = field(converter=_in_order)
    """Member ids, sorted."""
    active: frozenset[TaskId] = field(converter=_tasks)
    standby: frozenset[TaskId] = field(default=frozenset(), converter=_tasks)
    stateful: frozenset[TaskId] = frozenset()
    """All tasks of the group with state."""
    previous_tasks_by_lag: Mapping[str, Sequence[TaskId]] = NO_PREVIOUS_TASKS
    """The stateful tasks of which each member has state, smallest lag first."""
    owners: Mapping[TaskId, frozenset[str]] = field(factory=dict)
    """The owners of the partitions of each active task (KIP-429): members of this process or ``OTHER_PROCESS``."""


MemberTaskAssignor = Callable[[Sequence[ProcessTasks], bool], dict[str, GrantedTasks]]
"""Assigns the tasks of all processes, in their order; the flag is True in a version-probing rebalance."""

TasksByMember = dict[str, list[TaskId]]


def round_robin(processes: Sequence[ProcessTasks], _probing: bool) -> dict[str, GrantedTasks]:
    """Up to 2.3: deal the tasks to the members in turn.

    >>> process = ProcessTasks(members=["b", "a"], active=[TaskId(0, 0), TaskId(0, 1), TaskId(1, 0)])
    >>> [str(task) for task in round_robin([process], False)["a"].active]
    ['0_0', '1_0']
    """
    return _granted(
        (_round_robin(process.active, process.members), _round_robin(process.standby, process.members))
        for process in processes
    )


def sticky_or_round_robin(processes: Sequence[ProcessTasks], probing: bool) -> dict[str, GrantedTasks]:
    """2.4 and 2.5: active tasks stay with their members if no task has to be revoked for that.

    Once that fails for a process, another rebalance is due anyway, so all processes after it use ``round_robin``.
    """
    rebalance_due = probing

    def active_of(process: ProcessTasks) -> TasksByMember:
        nonlocal rebalance_due
        staying = None if rebalance_due or not process.owners else _sticky(process)
        rebalance_due |= bool(process.owners) and staying is None
        return _round_robin(process.active, process.members) if staying is None else staying

    return _granted((active_of(process), _round_robin(process.standby, process.members)) for process in processes)


def sticky_by_lag(processes: Sequence[ProcessTasks], _probing: bool) -> dict[str, GrantedTasks]:
    """2.6 to 3.1: stateful tasks return to the member that has most of their state, within the balance.

    Then stateless tasks fill up. Standbys are assigned as stateful tasks are, whatever active tasks a member has.
    """
    return _granted(
        (
            _add_stateless(_fill_by_lag(process.active & process.stateful, process, {}), process),
            _fill_by_lag(process.standby, process, {}),
        )
        for process in processes
    )


def balanced_by_lag(processes: Sequence[ProcessTasks], _probing: bool) -> dict[str, GrantedTasks]:
    """3.2 and later: stateful, standby and stateless tasks one after the other, balanced in total."""

    def tasks_of(process: ProcessTasks) -> tuple[TasksByMember, TasksByMember]:
        load: dict[str, int] = {}
        stateful = _fill_by_lag(process.active & process.stateful, process, load)
        standby = _fill_by_lag(process.standby, process, load)
        stateless = _fill_by_lag(process.active - process.stateful, process, load, ignore_previous=True)
        return {member: stateful[member] + stateless[member] for member in process.members}, standby

    return _granted(map(tasks_of, processes))


MEMBER_TASK_ASSIGNORS: Final[Mapping[MemberTasksMethod, MemberTaskAssignor]] = {
    MemberTasksMethod.ROUND_ROBIN: round_robin,
    MemberTasksMethod.STICKY_OR_ROUND_ROBIN: sticky_or_round_robin,
    MemberTasksMethod.STICKY_BY_LAG: sticky_by_lag,
    MemberTasksMethod.BALANCED_BY_LAG: balanced_by_lag,
}


def _granted(assigned: Iterable[tuple[TasksByMember, TasksByMember]]) -> dict[str, GrantedTasks]:
    return {
        member: GrantedTasks(tuple(sorted(tasks)), tuple(sorted(standby[member])))
        for active, standby in assigned
        for member, tasks in active.items()
    }


def _round_robin(tasks: Iterable[TaskId], members: Sequence[str]) -> TasksByMember:
    ordered = sorted(tasks)
    return {member: ordered[place :: len(members)] for place, member in enumerate(members)}


def _sticky(process: ProcessTasks) -> TasksByMember | None:
    """Leave every task with its owner; None if an owner is in another process, has too many tasks, or is not alone."""
    most = -(-len(process.active) // len(process.members))
    by_member: TasksByMember = {member: [] for member in process.members}
    unowned = []
    for task in sorted(process.active):
        owners = process.owners.get(task, frozenset())
        if not owners:
            unowned.append(task)
            continue
        owner, *others = owners
        if others or owner not in by_member or len(by_member[owner]) >= most:
            return None
        by_member[owner].append(task)
    unfilled = deque(member for member, tasks in by_member.items() if len(tasks) < most)
    for task in unowned:
        member = unfilled.popleft()
        by_member[member].append(task)
        if len(by_member[member]) < most:
            unfilled.append(member)
    return by_member


def _fill_by_lag(
    tasks: frozenset[TaskId], process: ProcessTasks, load: dict[str, int], *, ignore_previous: bool = False
) -> TasksByMember:
    """Assign ``tasks`` so that every member has the same number in the end, counting those in ``load``.

    (1) Every member takes back its previous tasks, up to the quota; not if ``ignore_previous``. (2) Members below the
    quota get the lowest tasks. (3) The rest goes to members with exactly the quota, one each, previous owners first.
    Adds to ``load``.
    """
    if len(process.members) == 1:
        return {member: list(tasks) for member in process.members}
    quota = (sum(load.values()) + len(tasks)) // len(process.members)
    room = {member: quota - load.get(member, 0) for member in process.members}
    by_member: TasksByMember = {member: [] for member in process.members}
    unassigned = set(tasks)
    previous_owner: dict[TaskId, str] = {}
    for member, mine in by_member.items():
        for task in () if ignore_previous else process.previous_tasks_by_lag.get(member, ()):
            if task in unassigned and len(mine) < room[member]:
                mine.append(task)
                unassigned.remove(task)
            elif task in unassigned:
                previous_owner[task] = member
    lowest = deque(sorted(unassigned))
    unfilled = deque(member for member, mine in by_member.items() if len(mine) < room[member])
    while unfilled:
        member = unfilled.popleft()
        by_member[member].append(lowest.popleft())
        if len(by_member[member]) < room[member]:
            unfilled.append(member)
    at_quota = [member for member, mine in by_member.items() if len(mine) == room[member]]
    _assign_remainder(set(lowest), at_quota, previous_owner, by_member)
    for member, mine in by_member.items():
        load[member] = load.get(member, 0) + len(mine)
    return by_member


def _assign_remainder(
    unassigned: set[TaskId], members: list[str], previous_owner: Mapping[TaskId, str], by_member: TasksByMember
) -> None:
    """Give one more task to some of the members. There are fewer tasks than members."""
    for task, member in sorted(previous_owner.items()):
        if task in unassigned and member in members:
            by_member[member].append(task)
            unassigned.remove(task)
            members.remove(member)
    for task, member in zip(sorted(unassigned), members, strict=False):
        by_member[member].append(task)


def _add_stateless(by_member: TasksByMember, process: ProcessTasks) -> TasksByMember:
    """Add the stateless tasks: first to members with one task less than the others, then in turn."""
    number = [len(tasks) for tasks in by_member.values()]
    short = [member for member, tasks in by_member.items() if len(tasks) < max(number)]
    for task, member in zip(
        sorted(process.active - process.stateful), chain(short, cycle(process.members)), strict=False
    ):
        by_member[member].append(task)
    return by_member
