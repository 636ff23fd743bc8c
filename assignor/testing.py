"""A conformance kit for task assignors: checks properties of their assignments on random groups.

It needs nothing but this package: call ``check_task_assignor`` from any test framework or from a shell. Groups grow
from one to the next, so the first failing group tends to be small. The error contains it as Python code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Final, TypeVar
from uuid import UUID

from attrs import define, evolve, field, frozen

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.task_assignor import (
    ActiveAndStandbyError,
    ApplicationState,
    AssignmentConfigs,
    AssignmentError,
    KafkaStreamsState,
    TaskAssignment,
    TaskAssignor,
    TaskInfo,
    validate,
)
from streams_assignor.task_assignors.application_state import LATEST_OFFSET, UNKNOWN_LAG, java_uuid_order

RETURNS_ASSIGNMENT: Final = "it gives an answer to every group"
EACH_ACTIVE_ONCE: Final = "each task is active exactly once"
NO_STANDBY_WITH_ACTIVE: Final = "no standby is beside its active task"
ONLY_STATEFUL_STANDBYS: Final = "only tasks with state have standbys"
ONLY_GROUP_PROCESSES: Final = "only processes of the group are in the answer"
PASSES_VALIDATION: Final = "Kafka would find no error"
ENOUGH_STANDBYS: Final = "each task with state has the standbys that are configured"
NO_EXTRA_STANDBYS: Final = "there are no other standbys, but for warm-ups"
STATE_UNCHANGED: Final = "it leaves the state as it is"
DETERMINISTIC: Final = "a second call gives the same answer"
ORDER_INDEPENDENT: Final = "the order of the input decides nothing"
CONVERGES: Final = "follow-up rebalances come to an end"
STABLE: Final = "nothing moves if nothing has changed"
BALANCED: Final = "active tasks are spread evenly"

TAGS: Final[Mapping[str, Sequence[str]]] = {"cluster": ("k1", "k2"), "zone": ("a", "b", "c")}
"""Client tags of the random groups, and the values that they may have."""

_T = TypeVar("_T")
_V = TypeVar("_V")

END_OFFSET_SUM: Final = 50_000
"""The lag of a process without any state: more than the acceptable lag."""


class ConformanceError(AssertionError):
    """A property does not hold for a group."""

    def __init__(self, property_name: str, what: str, state: ApplicationState, where: str) -> None:
        super().__init__(f"{property_name}: {what}\n\n# {where}\n{to_python(state)}")
        self.property: Final = property_name
        self.message: Final = what
        self.state: Final = state


@frozen
class ConformanceReport:
    """Statistics of the checked assignments."""

    groups: int
    assignments: int
    kept: float
    """The fraction of active tasks that stayed with their process when another process left or joined."""
    spread: float
    """The largest difference between two processes of a stable group, in active tasks per processing thread."""

    def __str__(self) -> str:
        return (
            f"{self.groups} groups, {self.assignments} assignments: {self.kept:.1%} of active tasks kept when a process"
            f" left or joined, at most {self.spread:.2f} active tasks per thread between two processes"
        )


def check_task_assignor(
    factory: Callable[[], TaskAssignor],
    *,
    seed: int = 0,
    groups: int = 200,
    sticky: bool = True,
    standbys: bool = True,
    max_spread: float | None = None,
    tags: Mapping[str, Sequence[str]] = TAGS,
    extra_states: Iterable[ApplicationState] = (),
) -> ConformanceReport:
    """Check a task assignor on random groups.

    The groups include: no tasks, one process, fewer tasks than processes, tasks that no longer exist, that no process
    had or that two processes claim. Every process has threads.

    Args:
        factory: Makes a task assignor; called at least once for every group.
        seed: Equal seeds give equal groups.
        groups: The number of random groups.
        sticky: Require that nothing moves if the state is the last assignment, once no follow-up is requested.
        standbys: Require the configured number of standbys (or one on every other process), and few more.
        max_spread: The largest allowed ``ConformanceReport.spread``; None for no limit.
        tags: Client tags of the random groups, and their values.
        extra_states: Groups of your own with at least one process, such as one that failed before; checked first.

    Raises:
        ConformanceError: A property does not hold.
    """
    run = _Checker(factory, sticky=sticky, standbys=standbys, max_spread=max_spread)
    yours = list(extra_states)
    for state in yours:
        run.group(state, Random(seed))
    for number in range(groups):
        run.location = f"group {number} of seed {seed}"
        chance = Random(f"{seed}/{number}")  # one per group, as assignments decide how many numbers are drawn
        run.group(random_state(chance, 2 + 10 * number // groups, tags), chance)
    return ConformanceReport(
        len(yours) + groups,
        run.assignments,
        run.kept / run.eligible_to_keep if run.eligible_to_keep else 1.0,
        float(run.spread),
    )


def to_python(state: ApplicationState) -> str:
    """Return Python code that builds this state."""
    plain = evolve(
        state,
        tasks=dict(state.tasks),
        clients={
            process: evolve(client, lags=dict(client.lags), client_tags=dict(client.client_tags))
            for process, client in state.clients.items()
        },
    )
    shorter = re.sub(r"TaskId\(subtopology=(-?\d+), partition=(-?\d+), topology=None\)", r"TaskId(\1, \2)", repr(plain))
    return (
        "from uuid import UUID\n"
        "from streams_assignor.task_assignor import ApplicationState, AssignmentConfigs, KafkaStreamsState, TaskInfo\n"
        "from subscription_codec import HostInfo, TaskId, TopicPartition\n"
        f"state = {shorter}\n"
    )


def random_state(chance: Random, size: int, tags: Mapping[str, Sequence[str]] = TAGS) -> ApplicationState:
    """Generate a group of at most ``size`` processes and several times as many tasks."""
    tasks = {
        TaskId(subtopology, partition): TaskInfo(
            stateful=stateful,
            partitions=(TopicPartition(f"source-{subtopology}", partition),),
            changelogs=(TopicPartition(f"store-{subtopology}-changelog", partition),) if stateful else (),
        )
        for subtopology in range(chance.randint(0, 3))
        for stateful in [chance.random() < 0.7]
        for partition in range(chance.randint(1, 2 * size))
    }
    by_tags: tuple[str, ...] = tuple(tags) if chance.random() < 0.3 else ()
    configs = AssignmentConfigs(
        num_standby_replicas=chance.randint(0, 2),
        max_warmup_replicas=chance.randint(1, 3),
        acceptable_recovery_lag=100,
        rack_aware_assignment_tags=by_tags,
    )
    processes = [UUID(int=chance.getrandbits(128)) for _ in range(chance.randint(1, size))]
    return ApplicationState(tasks=tasks, clients=_random_clients(chance, processes, tasks, tags), configs=configs)


def _random_clients(
    chance: Random, processes: Sequence[UUID], tasks: Mapping[TaskId, TaskInfo], tags: Mapping[str, Sequence[str]]
) -> dict[UUID, KafkaStreamsState]:
    active: dict[UUID, set[TaskId]] = {process: set() for process in processes}
    standby: dict[UUID, set[TaskId]] = {process: set() for process in processes}
    chance_to_own = chance.choice([0.0, 0.5, 1.0])  # a new group, any group, one that had everything
    for task in [*tasks, TaskId(7, 0)] if chance_to_own else []:
        if chance.random() < chance_to_own:
            active[chance.choice(processes)].add(task)
        if chance.random() < 0.1:
            active[chance.choice(processes)].add(task)  # perhaps claimed twice
        if chance.random() < 0.5:
            standby[chance.choice(processes)].add(task)
    return {
        process: KafkaStreamsState(
            process_id=process,
            num_processing_threads=(threads := chance.choice([1, 1, 1, 2, 4])),
            consumer_client_ids=[f"{process.hex[:8]}-{thread}" for thread in range(threads)],
            previous_active_tasks=active[process],
            previous_standby_tasks=standby[process] - active[process],
            lags={
                task: LATEST_OFFSET
                if task in active[process]
                else chance.choice([0, 50, 5_000, UNKNOWN_LAG])
                if task in standby[process]
                else END_OFFSET_SUM
                for task, info in tasks.items()
                if info.stateful
            },
            client_tags={key: chance.choice(values) for key, values in tags.items()},
        )
        for process in processes
    }


@define(eq=False)
class _Checker:
    """One run: its requirements, and its statistics so far."""

    factory: Callable[[], TaskAssignor]
    sticky: bool
    standbys: bool
    max_spread: float | None
    location: str = "a group of your own"
    assignor: TaskAssignor = field(init=False)
    assignments: int = 0
    kept: int = 0
    eligible_to_keep: int = 0
    spread: Fraction = Fraction(0)

    def group(self, state: ApplicationState, chance: Random) -> None:
        """Check a group, then the group after a process has left, and after one has joined."""
        self.assignor = self.factory()
        rested, _ = self._until_stable(state, chance)
        for changed in _membership_changes(rested, chance):
            self._count_kept(rested, changed, self._until_stable(changed, chance)[1])

    def _check_determinism(self, state: ApplicationState, chance: Random) -> TaskAssignment:
        """Assign for the first time; check that neither the order of the input nor earlier calls matter."""
        before = _shuffle(state, chance)
        answer = self._checked_assignment(state, before)
        if difference := _difference(answer, self._checked_assignment(state)):
            raise self._error(DETERMINISTIC, difference, state)
        if difference := _difference(answer, self._checked_assignment(before, assignor=self.factory())):
            raise self._error(ORDER_INDEPENDENT, difference, state)
        return answer

    def _until_stable(self, state: ApplicationState, chance: Random) -> tuple[ApplicationState, TaskAssignment]:
        """Assign until nothing moves; return the final state and its assignment."""
        answer = self._check_determinism(state, chance)
        state = _after_assignment(state, answer)
        for left in reversed(range(len(state.tasks) * len(state.clients) + 2) if self.sticky else ()):
            new = self._checked_assignment(state)
            difference = _difference(answer, new, follow_ups=False)
            if not difference:
                break
            if all(share.follow_up_rebalance_ms is None for share in answer.assignments.values()):
                raise self._error(STABLE, difference, state)
            if not left:
                raise self._error(CONVERGES, f"the last one still moved a task: {difference}", state)
            answer, state = new, _after_assignment(state, new)
        self._check_spread(state, answer)
        return state, answer

    def _checked_assignment(
        self, state: ApplicationState, before: ApplicationState | None = None, assignor: TaskAssignor | None = None
    ) -> TaskAssignment:
        """Assign once and check the assignment; ``before`` is equal to what the state has to be afterwards."""
        self.assignments += 1
        try:
            answer = (assignor or self.assignor).assign(state)
        except ActiveAndStandbyError as error:
            raise self._error(NO_STANDBY_WITH_ACTIVE, str(error), state) from error
        except Exception as error:
            raise self._error(RETURNS_ASSIGNMENT, f"{type(error).__name__}: {error}", state) from error
        if before is not None and state != before:
            raise self._error(STATE_UNCHANGED, "it changed the state that it was given", before)
        if not isinstance(answer, TaskAssignment):
            raise self._error(RETURNS_ASSIGNMENT, f"it returned {type(answer).__name__}", state)
        for name, problem in _violations(state, answer, self.standbys):
            raise self._error(name, problem, state)
        return answer

    def _check_spread(self, state: ApplicationState, answer: TaskAssignment) -> None:
        loads = [
            Fraction(len(answer.assignments[process].active), client.num_processing_threads)
            for process, client in state.clients.items()
        ]
        spread = max(loads) - min(loads)
        self.spread = max(self.spread, spread)
        if self.max_spread is not None and spread > self.max_spread:
            raise self._error(BALANCED, f"{float(spread):.2f} active tasks per thread between two processes", state)

    def _count_kept(self, before: ApplicationState, changed: ApplicationState, answer: TaskAssignment) -> None:
        for process, client in before.clients.items():
            if process in changed.clients:
                self.eligible_to_keep += len(client.previous_active_tasks)
                self.kept += len(client.previous_active_tasks & answer.assignments[process].active)

    def _error(self, name: str, what: str, state: ApplicationState) -> ConformanceError:
        return ConformanceError(name, what, state, self.location)


def _violations(state: ApplicationState, answer: TaskAssignment, standbys: bool) -> Iterator[tuple[str, str]]:
    """Return the properties that one assignment violates, with details; Kafka checks only some of them."""
    shares = answer.assignments.values()
    if unknown := sorted(answer.assignments.keys() - state.clients.keys()):
        yield ONLY_GROUP_PROCESSES, f"{unknown[0]} is not in the group"
    active = Counter(task for share in shares for task in share.active)
    copies = Counter(task for share in shares for task in share.standby)
    for task in sorted(state.tasks):
        if active[task] != 1:
            yield EACH_ACTIVE_ONCE, f"{task} is active {active[task]} times"
        if copies[task] and not state.tasks[task].stateful:
            yield ONLY_STATEFUL_STANDBYS, f"{task} has no state, but a standby"
    verdict = validate(state, answer)
    if verdict.error is not AssignmentError.NONE:
        yield PASSES_VALIDATION, f"{verdict.error.name}: {verdict.message}"
    wanted = min(state.configs.num_standby_replicas, len(state.clients) - 1)
    for task in sorted(state.stateful) if standbys else ():
        if copies[task] < wanted:
            yield ENOUGH_STANDBYS, f"{task} has {copies[task]} of {wanted}"
    extra = sum(max(0, copies[task] - wanted) for task in state.stateful)
    if standbys and extra > state.configs.max_warmup_replicas:
        yield NO_EXTRA_STANDBYS, f"{extra} more than configured, and {state.configs.max_warmup_replicas} may warm up"


def _difference(earlier: TaskAssignment, other: TaskAssignment, follow_ups: bool = True) -> str:
    """Describe the first difference; empty if there is none."""
    for process in sorted(earlier.assignments, key=java_uuid_order):
        before, after = earlier.assignments[process], other.assignments[process]
        for role in ("active", "standby"):
            had, has = getattr(before, role), getattr(after, role)
            if had != has:
                lost, got = sorted(map(str, had - has)), sorted(map(str, has - had))
                return f"process {process} lost {role} {lost} and got {got}"
        if follow_ups and before != after:
            times = f"{before.follow_up_rebalance_ms} and {after.follow_up_rebalance_ms}"
            return f"process {process} is to ask for a follow-up rebalance after {times} ms"
    return ""


def _shuffle(state: ApplicationState, chance: Random) -> ApplicationState:
    """Return an equal state with other objects in another order."""

    def mixed(items: Mapping[_T, _V]) -> dict[_T, _V]:
        return dict(chance.sample([*items.items()], len(items)))

    clients = {
        process: evolve(
            client,
            previous_active_tasks=mixed(dict.fromkeys(client.previous_active_tasks)),
            previous_standby_tasks=mixed(dict.fromkeys(client.previous_standby_tasks)),
            lags=mixed(client.lags),
            client_tags=mixed(client.client_tags),
        )
        for process, client in mixed(state.clients).items()
    }
    return evolve(state, tasks=mixed(state.tasks), clients=clients)


def _after_assignment(state: ApplicationState, answer: TaskAssignment) -> ApplicationState:
    """Return the state after all processes have started their tasks and all standbys have caught up."""
    clients = {}
    for process, client in state.clients.items():
        share = answer.assignments[process]
        lags = {
            task: LATEST_OFFSET if task in share.active else 0 if lag == LATEST_OFFSET or task in share.standby else lag
            for task, lag in client.lags.items()
        }
        clients[process] = evolve(
            client, previous_active_tasks=share.active, previous_standby_tasks=share.standby, lags=lags
        )
    return evolve(state, clients=clients)


def _membership_changes(state: ApplicationState, chance: Random) -> list[ApplicationState]:
    """Return the same group after a process has left, and after one has joined."""
    clients = dict(state.clients)
    process = chance.choice(sorted(clients))
    left = {other: client for other, client in clients.items() if other != process}
    new = evolve(
        clients[process],
        process_id=UUID(int=chance.getrandbits(128)),
        previous_active_tasks=(),
        previous_standby_tasks=(),
        lags=dict.fromkeys(sorted(state.stateful), END_OFFSET_SUM),
    )
    joined = {**clients, new.process_id: new}
    return [evolve(state, clients=clients) for clients in (left, joined) if clients]
