"""The forecast of steps in a streams group (KIP-1071): the targets that its coordinator computes, one after the other.

A dynamic member leaves when it is closed: the coordinator assigns without it, and again when it is back. A static one
keeps its tasks, unless it is back after its session or with another process id. The id of a new member is random, and
with it its place in the coordinator's hash map, which decides between equal loads. Java:
``TargetAssignmentBuilder``, ``StickyTaskAssignor``.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from typing import Final, Self
from uuid import UUID

from attrs import evolve, field, frozen

from streams_assignor.codec import TaskId
from streams_assignor.groups import InspectedGroup
from streams_assignor.groups.broker_assigned.topics import expected_tasks
from streams_assignor.groups.checks._broker_assigned import STANDBYS_KEY
from streams_assignor.groups.described_group import STABLE, STREAMS
from streams_assignor.spark_sim.forecast.forecast import Forecast, MovedTask, Outcome
from streams_assignor.spark_sim.forecast.live_simulation import NEW_PROCESS, RestoredStore
from streams_assignor.spark_sim.forecast.observation import ForecastError, observed_processes
from streams_assignor.spark_sim.forecast.operations import ADD, STOP, Operation
from streams_assignor.spark_sim.forecast.restart_order import (
    MOST_EXACT,
    Cost,
    PlayedGroup,
    RestartOrder,
    cheapest_order,
)
from streams_assignor.spark_sim.streams_groups.task_assignor import (
    AssignmentMemberSpec,
    GroupSpec,
    KnownTopology,
    StreamsTaskId,
    assign,
    hash_map_order,
)
from streams_assignor.spark_sim.streams_groups.tasks import (
    NO_TASKS,
    TasksTuple,
    partitions_by_subtopology,
    tasks_of,
)
from streams_assignor.upgrade.input_values import parse_number

_DRAWS: Final = 50
_ORDER_DRAWS: Final = 10
"""Of each restart in an order, in a group that is small enough for an exact one; else one."""
_WITH_NAME: Final = ("4.4.0",)
_WITHOUT_NAME: Final = ("4.2.2", "4.3.1")
"""The releases whose assignors differ, of brokers that name theirs in a description, and of those before."""
_ASSUMPTIONS: Final = (
    "brokers run 4.2 or later, and all of them the same release",
    "the ids of new members are random: {draws} draws were played, and what else they can lead to is not known",
    "a process that is closed leaves at once, but static members when their session has ended: until then nobody "
    "has their tasks; waiting for heartbeats takes no time; each epoch counts as a rebalance",
)


@frozen
class _Member:
    process: str
    """Its name for people."""
    process_id: str
    tasks: TasksTuple = NO_TASKS
    offsets: Mapping[TaskId, int] = field(factory=dict, hash=False)
    """The offset sums of its stores, as far as it has reported them."""
    is_static: bool = False


@frozen
class _Rules:
    topology: KnownTopology
    standbys: int
    release: str
    """The release of the broker's assignor."""
    backwards: bool = False
    """Whether members come into the coordinator's hash map in the other order, which no description shows.

    It decides between those in one bucket.
    """

    def assigned(self, members: Mapping[str, _Member]) -> dict[str, _Member]:
        """Return members with the tasks of a new target."""
        if not members:
            return {}
        names = [*members][::-1] if self.backwards else members
        specs = {name: _spec(members[name]) for name in hash_map_order(names)}
        found = assign(GroupSpec(specs, self.standbys), self.topology, release=self.release).members
        return {
            name: evolve(
                member, tasks=TasksTuple(tasks_of(found[name].active_tasks), tasks_of(found[name].standby_tasks))
            )
            for name, member in members.items()
        }


def forecast_streams_group(group: InspectedGroup, operation: Operation, *, ephemeral: bool = False) -> Forecast:
    """Play a step on a streams group.

    Args:
        group: The group, with all tasks where they are to be.
        operation: The step.
        ephemeral: Whether a process that starts has no state of before, and so another process id.

    Raises:
        ForecastError: The step does not fit the group, or the group is none that the model has.
    """
    _check(group)
    processes = observed_processes(group)
    stepped = [] if operation.verb == ADD else [process.name for process in operation.processes(processes)]
    members = _members(group)
    outcomes = {
        outcome: None
        for rules in _possible_rules(group)
        for outcome in _outcomes(members, stepped, operation, rules, group, ephemeral=ephemeral)
    }
    return Forecast(
        group=group.described.name,
        operation=operation,
        process=", ".join(stepped) or NEW_PROCESS,
        tasks=len(expected_tasks(group.described)),
        processes=len(processes),
        outcomes=tuple(outcomes),
        assumptions=_assumptions(_DRAWS, ephemeral=ephemeral),
    )


def streams_restart_order(
    group: InspectedGroup,
    operation: Operation,
    *,
    ephemeral: bool = False,
    on_played: Callable[[int], object] = lambda _number: None,
) -> RestartOrder:
    """Find the cheapest order in which all instances of a streams group are restarted, each when the group is stable.

    Args:
        group: As of ``forecast_streams_group``.
        operation: ``restart all`` or ``upgrade all``.
        ephemeral: As of ``forecast_streams_group``.
        on_played: As of ``restart_order``.

    Raises:
        ForecastError: The group is none that the model has.
    """
    _check(group)
    members = _members(group)
    rebalances = {member.process: 0 for member in members.values()}
    for member in members.values():
        rebalances[member.process] += 0 if member.is_static else 2  # it leaves, and joins
    has_threads = len(rebalances) < len(members)
    draws = _ORDER_DRAWS if len(rebalances) <= MOST_EXACT else 1
    groups = [
        _played(members, _Way(rules, draw, ephemeral, reports, one_by_one), group, Cost())
        for rules in _possible_rules(group)
        for reports in _reports(ephemeral=ephemeral)
        for one_by_one in (False, True)[: 1 + has_threads]
        for draw in range(rules.backwards, draws, 2)
    ]
    return cheapest_order(
        groups,
        [groups],
        rebalances,
        operation,
        on_played=on_played,
        group=group.described.name,
        tasks=len(expected_tasks(group.described)),
        leader="",
        leaders=(),
        assumptions=(
            *_assumptions(draws, ephemeral=ephemeral),
            "each restart begins when the group is stable; the order is the cheapest if all draws count alike",
        ),
    )


def _assumptions(draws: int, *, ephemeral: bool) -> tuple[str, ...]:
    state = "has no state of before" if ephemeral else "finds its state stores and its process id"
    return (*(text.format(draws=draws) for text in _ASSUMPTIONS), f"a process that starts {state}")


def _members(group: InspectedGroup) -> dict[str, _Member]:
    names = {str(process.process_id): process.name for process in observed_processes(group)}
    return {
        member.described.member_id: _Member(
            names[assignment.process_id],
            assignment.process_id,
            TasksTuple.of(assignment.current.active, assignment.current.standby),
            assignment.offset_sums,
            bool(member.described.group_instance_id),
        )
        for member in group.members
        if (assignment := member.described.broker_assignment)
    }


def _check(group: InspectedGroup) -> None:
    described = group.described
    assert described.type == STREAMS
    why = ""
    if described.state != STABLE or not all(each.is_complete for each in group.reconciliations.values()):
        why = f"expected a stable group, got {described.state}: look again later"
    elif described.protocol not in ("", "sticky"):
        why = f"expected the assignor sticky, got {described.protocol}"
    elif any(task.topology for task in expected_tasks(described)):
        why = "its subtopologies have names, which the model does not have"
    if why:
        raise ForecastError(f"group {described.name}: {why}")


def _possible_rules(group: InspectedGroup) -> Iterator[_Rules]:
    broker = group.described.broker
    assert broker
    tasks = expected_tasks(group.described)
    stateful = frozenset(str(task.subtopology) for task in expected_tasks(group.described, stateful=True))
    numbers = {str(task.subtopology): sum(each.subtopology == task.subtopology for each in tasks) for task in tasks}
    topology = KnownTopology(dict(sorted(numbers.items())), stateful)
    standbys = parse_number((broker.configs or {}).get(STANDBYS_KEY, "0"))
    for release in _WITH_NAME if group.described.protocol else _WITHOUT_NAME:
        for backwards in (False, True):
            yield _Rules(topology, standbys, release, backwards)


def _outcomes(
    members: Mapping[str, _Member],
    stepped: Sequence[str],
    operation: Operation,
    rules: _Rules,
    group: InspectedGroup,
    *,
    ephemeral: bool,
) -> Iterator[Outcome]:
    stays_away = operation.verb == STOP or operation.after_session
    away = _Away.of(members, stepped, rules, after_session=stays_away)
    if operation.verb == STOP:
        yield _outcome([members, away.members], len(away.leaving), group, ())
        return
    returning = away.closed or {"": _Member(NEW_PROCESS, "")}
    for reports in _reports(ephemeral=ephemeral or not away.closed):
        for draw in range(rules.backwards, _DRAWS, 2):
            # Threads join at a time, or one finds the target of the one before it.
            for one_by_one in (False, True)[: len(returning)]:
                way = _Way(rules, draw, ephemeral, reports, one_by_one)
                course, epochs = away.back(returning, way, random.Random(draw))
                yield _outcome([members, *course], epochs, group, stepped if ephemeral else ())


def _reports(*, ephemeral: bool) -> Sequence[bool]:
    """Return whether a member that is back reports the stores that it finds (4.4), at once or not."""
    return (False,) if ephemeral else (True, False)


@frozen
class _Way:
    """The facts of a restart that a group does not show."""

    rules: _Rules
    draw: int
    """The number of the draw of member ids."""
    ephemeral: bool
    reports: bool
    """Whether members report the stores that they find."""
    one_by_one: bool
    """Whether threads join one after the other, not at a time."""


@frozen
class _Away:
    """A group some of whose processes are closed."""

    closed: Mapping[str, _Member]
    leaving: Set[str]
    """The ids of members that have left it."""
    members: Mapping[str, _Member]

    @classmethod
    def of(cls, members: Mapping[str, _Member], stepped: Sequence[str], rules: _Rules, *, after_session: bool) -> Self:
        """Close processes; static members leave with their sessions."""
        closed = {name: member for name, member in members.items() if member.process in stepped}
        leaving = {name for name, member in closed.items() if after_session or not member.is_static}
        left = {name: member for name, member in members.items() if name not in leaving}
        return cls(closed, leaving, rules.assigned(left) if leaving else left)

    def back(
        self, returning: Mapping[str, _Member], way: _Way, chance: random.Random
    ) -> tuple[Sequence[Mapping[str, _Member]], int]:
        """Return the members while they were away and after each batch of those that are back, and the epochs."""
        ids = {each.process: each.process_id for each in returning.values() if each.process_id and not way.ephemeral}
        back = [
            _Return(
                "" if name in self.leaving else name,
                _member_id(chance),
                evolve(
                    each,
                    process_id=ids.setdefault(each.process, str(UUID(int=chance.getrandbits(128), version=4))),
                    tasks=NO_TASKS,
                    offsets=_stores(each, way.rules) if way.reports else {},
                ),
            )
            for name, each in returning.items()
        ]
        batches = [[each] for each in back] if way.one_by_one else [back]
        epochs = len(self.leaving) + sum(each.is_assigned_anew(self.members) for each in back)
        return [self.members, *_returned(self.members, batches, way.rules)], epochs


def _played(members: Mapping[str, _Member], way: _Way, group: InspectedGroup, cost: Cost) -> PlayedGroup:
    """Return a group after some restarts; ids are drawn alike in each order, so that orders can be compared."""

    def restarted(process: str, after_session: bool) -> PlayedGroup:
        away = _Away.of(members, [process], way.rules, after_session=after_session)
        course, epochs = away.back(away.closed, way, random.Random(f"{way.draw} {process}"))
        outcome = _outcome([members, *course], epochs, group, [process] if way.ephemeral else [])
        step = Cost(moves=outcome.moves, stores=len(outcome.restored), rebalances=outcome.rebalances)
        return _played(course[-1], way, group, cost + step)

    return PlayedGroup(cost, frozenset(members.items()), restarted)


@frozen
class _Return:
    """A member that is back."""

    replaces: str
    """The id of the static member that has been away; empty: it joins."""
    member_id: str
    member: _Member

    def is_assigned_anew(self, members: Mapping[str, _Member]) -> bool:
        """Whether a new epoch begins; not for a static member that has its process id."""
        return not self.replaces or members[self.replaces].process_id != self.member.process_id


def _returned(
    members: Mapping[str, _Member], batches: Sequence[Sequence[_Return]], rules: _Rules
) -> Iterator[Mapping[str, _Member]]:
    """Yield the members after each batch. Java: ``GroupMetadataManager.replaceStreamsMember``."""
    for batch in batches:
        back = {
            each.member_id: evolve(each.member, tasks=members[each.replaces].tasks) if each.replaces else each.member
            for each in batch
        }
        replaced = {each.replaces for each in batch}
        now = {**{name: member for name, member in members.items() if name not in replaced}, **back}
        members = rules.assigned(now) if any(each.is_assigned_anew(members) for each in batch) else now
        yield members


def _stores(member: _Member, rules: _Rules) -> Mapping[TaskId, int]:
    """Return the offset sums of the stores that a member leaves on its disk; 1 stands for one that is not known."""
    had = member.tasks.active | member.tasks.standby
    stateful = sorted(task for task in had if rules.topology.is_stateful(str(task.subtopology)))
    return {**dict.fromkeys(stateful, 1), **member.offsets}


def _member_id(chance: random.Random) -> str:
    """Return an id as Kafka's ``Uuid.randomUuid`` writes it."""
    return base64.urlsafe_b64encode(chance.randbytes(16)).decode().rstrip("=")


def _outcome(
    course: Sequence[Mapping[str, _Member]], epochs: int, group: InspectedGroup, stateless: Sequence[str]
) -> Outcome:
    """Return the outcome of a course; the processes ``stateless`` have lost their stores."""
    owners = [
        {task: each.process for each in members.values() for task in sorted(each.tasks.active)} for members in course
    ]
    first, last = owners[0], owners[-1]
    had = {
        (each.process, task)
        for each in course[0].values()
        for role in each.tasks.roles
        for task in role
        if each.process not in stateless
    }
    stateful = expected_tasks(group.described, stateful=True)
    kept = {(each.process, task) for each in course[-1].values() for role in each.tasks.roles for task in role}
    return Outcome(
        rebalances=epochs,
        moved=tuple(
            MovedTask(task, owner, last.get(task)) for task, owner in sorted(first.items()) if last.get(task) != owner
        ),
        moves=sum(
            after.get(task) not in (None, owner) for before, after in pairwise(owners) for task, owner in before.items()
        ),
        restored=tuple(
            RestoredStore(process, task, None, None) for process, task in sorted(kept - had) if task in stateful
        ),
        unowned_s={},
        versions=(),
        violations=(),
    )


def _spec(member: _Member) -> AssignmentMemberSpec:
    active, standby, _ = map(partitions_by_subtopology, member.tasks.roles)
    offsets = {StreamsTaskId(str(task.subtopology), task.partition): end for task, end in member.offsets.items()}
    return AssignmentMemberSpec(member.process_id, active_tasks=active, standby_tasks=standby, task_offsets=offsets)
