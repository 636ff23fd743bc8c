"""A conformance kit for task assignors: random groups, and what has to hold for all of them.

Needs nothing but this package: call ``check_task_assignor`` from a test of whatever framework, or from a shell.
Groups start small and grow, so that the first one that fails tends to be a small one; it is part of the error, as code.
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

from assignor.client_state import RUNNING, UNKNOWN_LAG, signed_order
from assignor.task_assignor import (
    ApplicationState,
    AssignmentConfigs,
    AssignmentError,
    BothActiveAndStandby,
    KafkaStreamsState,
    TaskAssignment,
    TaskAssignor,
    TaskInfo,
    validate,
)
from subscription_codec import TaskId, TopicPartition

ANSWERS: Final = "it gives an answer to every group"
ACTIVE_ONCE: Final = "each task is active exactly once"
NOT_BESIDE_ACTIVE: Final = "no standby is beside its active task"
STATEFUL_STANDBYS: Final = "only tasks with state have standbys"
KNOWN_PROCESSES: Final = "only processes of the group are in the answer"
VALID: Final = "Kafka would find no error"
ENOUGH_STANDBYS: Final = "each task with state has the standbys that are configured"
NO_MORE_STANDBYS: Final = "there are no other standbys, but for warm-ups"
INPUT_AS_IT_WAS: Final = "it leaves the state as it is"
SAME_AGAIN: Final = "a second call gives the same answer"
ORDER_IS_NOTHING: Final = "the order of the input decides nothing"
COMES_TO_REST: Final = "follow-up rebalances come to an end"
STAYS: Final = "nothing moves if nothing has changed"
EVEN: Final = "active tasks are spread evenly"

TAGS: Final[Mapping[str, Sequence[str]]] = {"cluster": ("k1", "k2"), "zone": ("a", "b", "c")}
"""Client tags of the random groups, and the values that they may have."""

_T = TypeVar("_T")
_V = TypeVar("_V")

LOG_END: Final = 50_000
"""How many records a client without any state has to restore, more than the acceptable lag."""


class ConformanceError(AssertionError):
    """A property does not hold: ``property`` is its name, ``what`` went wrong, ``state`` the group."""

    def __init__(self, property_name: str, what: str, state: ApplicationState, where: str) -> None:
        super().__init__(f"{property_name}: {what}\n\n# {where}\n{as_code(state)}")
        self.property: Final = property_name
        self.what: Final = what
        self.state: Final = state


@frozen
class Report:
    """What was seen. ``kept``: of the active tasks whose process was still there after another one had left or joined,
    the share that stayed with it. ``spread``: the greatest difference between two processes of one group at rest, in
    active tasks per processing thread.
    """

    groups: int
    assignments: int
    kept: float
    spread: float

    def __str__(self) -> str:
        return (
            f"{self.groups} groups, {self.assignments} assignments: {self.kept:.1%} of active tasks kept when a process"
            f" left or joined, at most {self.spread:.2f} active tasks per thread between two processes"
        )


def check_task_assignor(
    make: Callable[[], TaskAssignor],
    *,
    seed: int = 0,
    groups: int = 200,
    sticky: bool = True,
    standbys: bool = True,
    max_spread: float | None = None,
    tags: Mapping[str, Sequence[str]] = TAGS,
    also: Iterable[ApplicationState] = (),
) -> Report:
    """Check an assignor on random groups; ``ConformanceError`` says what does not hold and for which group.

    ``make`` makes one; it is called for every group, and more often.
    ``sticky``: asked again with its own answer, nothing may move; as long as it wants follow-up rebalances it has time.
    ``standbys``: each task with state has as many as configured, or as there are other processes, and not many more.
    ``max_spread``: the greatest that ``Report.spread`` may be.
    ``tags``: client tags, and the values that random clients have, if the assignor looks at them.
    ``also``: groups of your own, of at least one process, such as one that failed before; they come first.

    The same ``seed`` makes the same groups. Among them are: no tasks, one process, fewer tasks than processes, tasks
    that are gone, that nobody had or that two processes claim. There are no processes without threads.
    """
    run = _Run(make, sticky=sticky, standbys=standbys, max_spread=max_spread)
    yours = list(also)
    for state in yours:
        run.group(state, Random(seed))
    for number in range(groups):
        run.where = f"group {number} of seed {seed}"
        chance = Random(f"{seed}/{number}")  # its own, for an assignor's answers decide how much chance is taken
        run.group(random_group(chance, 2 + 10 * number // groups, tags), chance)
    return Report(len(yours) + groups, run.assignments, run.kept / run.stayed if run.stayed else 1.0, float(run.spread))


def as_code(state: ApplicationState) -> str:
    """Return Python that makes this state again."""
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
        "from assignor.task_assignor import ApplicationState, AssignmentConfigs, KafkaStreamsState, TaskInfo\n"
        "from subscription_codec import HostInfo, TaskId, TopicPartition\n"
        f"state = {shorter}\n"
    )


def random_group(chance: Random, size: int, tags: Mapping[str, Sequence[str]] = TAGS) -> ApplicationState:
    """Make up a group of at most ``size`` processes, and of some times as many tasks."""
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
    known = chance.choice([0.0, 0.5, 1.0])  # a new group, any group, one that had everything
    for task in [*tasks, TaskId(7, 0)] if known else []:
        if chance.random() < known:
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
                task: RUNNING
                if task in active[process]
                else chance.choice([0, 50, 5_000, UNKNOWN_LAG])
                if task in standby[process]
                else LOG_END
                for task, info in tasks.items()
                if info.stateful
            },
            client_tags={key: chance.choice(values) for key, values in tags.items()},
        )
        for process in processes
    }


@define(eq=False)
class _Run:
    """One check: what is wanted, and what has been seen so far."""

    make: Callable[[], TaskAssignor]
    sticky: bool
    standbys: bool
    max_spread: float | None
    where: str = "a group of your own"
    assignor: TaskAssignor = field(init=False)
    assignments: int = 0
    kept: int = 0
    stayed: int = 0
    spread: Fraction = Fraction(0)

    def group(self, state: ApplicationState, chance: Random) -> None:
        """Check a group, and what becomes of it when a process leaves and another one joins."""
        self.assignor = self.make()
        rested, _ = self._rest(state, chance)
        for changed in _changes(rested, chance):
            self._count_kept(rested, changed, self._rest(changed, chance)[1])

    def _first(self, state: ApplicationState, chance: Random) -> TaskAssignment:
        """Ask for the first time, and check that only the group itself decides."""
        before = _shuffled(state, chance)
        answer = self._asked(state, before)
        if difference := _difference(answer, self._asked(state)):
            raise self._error(SAME_AGAIN, difference, state)
        if difference := _difference(answer, self._asked(before, assignor=self.make())):
            raise self._error(ORDER_IS_NOTHING, difference, state)
        return answer

    def _rest(self, state: ApplicationState, chance: Random) -> tuple[ApplicationState, TaskAssignment]:
        """Ask until nothing moves any longer; return the state then, and the answer to it."""
        answer = self._first(state, chance)
        state = _afterwards(state, answer)
        for left in reversed(range(len(state.tasks) * len(state.clients) + 2) if self.sticky else ()):
            new = self._asked(state)
            difference = _difference(answer, new, follow_ups=False)
            if not difference:
                break
            if all(share.follow_up_rebalance_ms is None for share in answer.assignments.values()):
                raise self._error(STAYS, difference, state)
            if not left:
                raise self._error(COMES_TO_REST, f"the last one that was tried still moved a task: {difference}", state)
            answer, state = new, _afterwards(state, new)
        self._check_spread(state, answer)
        return state, answer

    def _asked(
        self, state: ApplicationState, before: ApplicationState | None = None, assignor: TaskAssignor | None = None
    ) -> TaskAssignment:
        """Ask, and check all that can be seen in one answer; ``before``: what the state should still be like then."""
        self.assignments += 1
        try:
            answer = (assignor or self.assignor).assign(state)
        except BothActiveAndStandby as error:
            raise self._error(NOT_BESIDE_ACTIVE, str(error), state) from error
        except Exception as error:
            raise self._error(ANSWERS, f"{type(error).__name__}: {error}", state) from error
        if before is not None and state != before:
            raise self._error(INPUT_AS_IT_WAS, "it changed the state that it was given", before)
        if not isinstance(answer, TaskAssignment):
            raise self._error(ANSWERS, f"it returned {type(answer).__name__}", state)
        for name, what in _violations(state, answer, self.standbys):
            raise self._error(name, what, state)
        return answer

    def _check_spread(self, state: ApplicationState, answer: TaskAssignment) -> None:
        loads = [
            Fraction(len(answer.assignments[process].active), client.num_processing_threads)
            for process, client in state.clients.items()
        ]
        spread = max(loads) - min(loads)
        self.spread = max(self.spread, spread)
        if self.max_spread is not None and spread > self.max_spread:
            raise self._error(EVEN, f"{float(spread):.2f} active tasks per thread between two processes", state)

    def _count_kept(self, before: ApplicationState, changed: ApplicationState, answer: TaskAssignment) -> None:
        for process, client in before.clients.items():
            if process in changed.clients:
                self.stayed += len(client.previous_active_tasks)
                self.kept += len(client.previous_active_tasks & answer.assignments[process].active)

    def _error(self, name: str, what: str, state: ApplicationState) -> ConformanceError:
        return ConformanceError(name, what, state, self.where)


def _violations(state: ApplicationState, answer: TaskAssignment, standbys: bool) -> Iterator[tuple[str, str]]:
    """Say what is wrong with one answer; what Kafka does not look for stands beside what it does look for."""
    shares = answer.assignments.values()
    if unknown := sorted(answer.assignments.keys() - state.clients.keys()):
        yield KNOWN_PROCESSES, f"{unknown[0]} is not in the group"
    active = Counter(task for share in shares for task in share.active)
    copies = Counter(task for share in shares for task in share.standby)
    for task in sorted(state.tasks):
        if active[task] != 1:
            yield ACTIVE_ONCE, f"{task} is active {active[task]} times"
        if copies[task] and not state.tasks[task].stateful:
            yield STATEFUL_STANDBYS, f"{task} has no state, but a standby"
    verdict = validate(state, answer)
    if verdict.error is not AssignmentError.NONE:
        yield VALID, f"{verdict.error.name}: {verdict.message}"
    wanted = min(state.configs.num_standby_replicas, len(state.clients) - 1)
    for task in sorted(state.stateful) if standbys else ():
        if copies[task] < wanted:
            yield ENOUGH_STANDBYS, f"{task} has {copies[task]} of {wanted}"
    extra = sum(max(0, copies[task] - wanted) for task in state.stateful)
    if standbys and extra > state.configs.max_warmup_replicas:
        yield NO_MORE_STANDBYS, f"{extra} more than configured, and {state.configs.max_warmup_replicas} may warm up"


def _difference(one: TaskAssignment, other: TaskAssignment, follow_ups: bool = True) -> str:
    """Say what is different, if anything is."""
    for process in sorted(one.assignments, key=signed_order):
        before, after = one.assignments[process], other.assignments[process]
        for role in ("active", "standby"):
            had, has = getattr(before, role), getattr(after, role)
            if had != has:
                lost, got = sorted(map(str, had - has)), sorted(map(str, has - had))
                return f"process {process} lost {role} {lost} and got {got}"
        if follow_ups and before != after:
            times = f"{before.follow_up_rebalance_ms} and {after.follow_up_rebalance_ms}"
            return f"process {process} is to ask for a follow-up rebalance after {times} ms"
    return ""


def _shuffled(state: ApplicationState, chance: Random) -> ApplicationState:
    """Return an equal state of other objects, with everything in another order."""

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


def _afterwards(state: ApplicationState, answer: TaskAssignment) -> ApplicationState:
    """Return the state once everybody has what it got, and standbys have caught up."""
    clients = {}
    for process, client in state.clients.items():
        share = answer.assignments[process]
        lags = {
            task: RUNNING if task in share.active else 0 if lag == RUNNING or task in share.standby else lag
            for task, lag in client.lags.items()
        }
        clients[process] = evolve(
            client, previous_active_tasks=share.active, previous_standby_tasks=share.standby, lags=lags
        )
    return evolve(state, clients=clients)


def _changes(state: ApplicationState, chance: Random) -> list[ApplicationState]:
    """Return the same group after a process has left, and after one has joined."""
    clients = dict(state.clients)
    process = chance.choice(sorted(clients))
    left = {other: client for other, client in clients.items() if other != process}
    new = evolve(
        clients[process],
        process_id=UUID(int=chance.getrandbits(128)),
        previous_active_tasks=(),
        previous_standby_tasks=(),
        lags=dict.fromkeys(sorted(state.stateful), LOG_END),
    )
    joined = {**clients, new.process_id: new}
    return [evolve(state, clients=each) for each in (left, joined) if each]
