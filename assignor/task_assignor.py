"""Task assignors of one's own, after KIP-924: the state of the application goes in, who gets which task comes out.

Values and pure functions only: an assignor is any object with ``assign``, called once per rebalance by the leader.
``assignor.testing`` checks whether it does what an assignor has to do.
Java: package ``org.apache.kafka.streams.processor.assignment`` (3.8 and later), with its names in Python's spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Final, Protocol
from uuid import UUID

from attrs import evolve, field, frozen

from assignor import fallback_prior, high_availability, sticky
from assignor.assignment_configs import AssignmentConfigs as AssignmentConfigs  # public from here too
from assignor.client_state import NOTHING, ClientState, in_order, signed_order
from assignor.placing import Placing
from assignor.standby import add_standbys, add_standbys_by_tags
from assignor.topology import Topology
from subscription_codec import HostInfo, TaskId, TopicPartition


def _tasks(tasks: Iterable[TaskId]) -> frozenset[TaskId]:
    return frozenset(tasks)


def _texts(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(texts))


def _check_keys(found: Mapping[UUID, KafkaStreamsState] | Mapping[UUID, KafkaStreamsAssignment]) -> None:
    for key, value in found.items():
        if key != value.process_id:
            raise ValueError(f"process {value.process_id} stands under the key {key}")


@frozen(kw_only=True)
class TaskInfo:
    """One task: the partitions it reads, and those of its changelogs. Java: ``TaskInfo``."""

    stateful: bool = False
    partitions: tuple[TopicPartition, ...] = ()
    changelogs: tuple[TopicPartition, ...] = ()


@frozen(kw_only=True)
class KafkaStreamsState:
    """One process, as the leader sees it: how many members it has, what it had, how far it is behind.

    ``consumer_client_ids`` are its members, sorted. ``lags`` has the records it would have to restore of each stateful
    task: -2 for one that it has active right now, -3 if nobody knows (``client_state.RUNNING``, ``UNKNOWN_LAG``).
    Its previous tasks are what it says; another process may say the same, and a task may be gone.
    """

    process_id: UUID
    num_processing_threads: int = 1
    consumer_client_ids: tuple[str, ...] = field(default=(), converter=_texts)
    previous_active_tasks: frozenset[TaskId] = field(default=frozenset(), converter=_tasks)
    previous_standby_tasks: frozenset[TaskId] = field(default=frozenset(), converter=_tasks)
    lags: Mapping[TaskId, int] = NOTHING
    client_tags: Mapping[str, str] = NOTHING
    host_info: HostInfo | None = None
    rack_id: str | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse a process that could not do anything."""
        if self.num_processing_threads < 1:
            raise ValueError(f"process {self.process_id} has {self.num_processing_threads} processing threads")

    def lag_for(self, task: TaskId) -> int:
        """Return how far it is behind; ``LookupError`` if that was not computed (Java: ``IllegalStateException``)."""
        if task not in self.lags:
            raise LookupError(f"process {self.process_id} has no lag of task {task}")
        return self.lags[task]


@frozen(kw_only=True)
class ApplicationState:
    """All that an assignor may look at: every task, every process, the configuration. Java: ``ApplicationState``."""

    tasks: Mapping[TaskId, TaskInfo]
    clients: Mapping[UUID, KafkaStreamsState]
    configs: AssignmentConfigs = field(factory=AssignmentConfigs)

    def __attrs_post_init__(self) -> None:
        """Refuse a process under the name of another one."""
        _check_keys(self.clients)

    @classmethod
    def of(
        cls,
        topology: Topology,
        partitions: Mapping[str, int],
        clients: Iterable[KafkaStreamsState],
        configs: AssignmentConfigs | None = None,
    ) -> ApplicationState:
        """Make it from a topology and the number of partitions of each topic."""
        tasks = {
            task: TaskInfo(
                stateful=topology.stateful(task),
                partitions=inputs,
                changelogs=tuple(
                    TopicPartition(topic, task.partition)
                    for topic in topology.subtopologies[task.subtopology].changelogs
                ),
            )
            for task, inputs in topology.tasks(partitions).items()
        }
        return cls(
            tasks=tasks,
            clients={client.process_id: client for client in clients},
            configs=configs or AssignmentConfigs(),
        )

    @property
    def stateful(self) -> frozenset[TaskId]:
        """The tasks that have state, and so may have standbys."""
        return frozenset(task for task, info in self.tasks.items() if info.stateful)

    @property
    def ordered_clients(self) -> list[KafkaStreamsState]:
        """All processes in the order in which Kafka compares their ids."""
        return sorted(self.clients.values(), key=lambda client: signed_order(client.process_id))


class BothActiveAndStandby(ValueError):
    """A process was given a standby beside its active task (Java: ``IllegalStateException``, at the same place)."""


@frozen
class KafkaStreamsAssignment:
    """What one process gets. Java: ``KafkaStreamsAssignment``.

    ``follow_up_rebalance_ms``: it shall ask for another rebalance so many milliseconds from now. Kafka has a point in
    time here; but nothing in this package has a clock.
    """

    process_id: UUID
    active: frozenset[TaskId] = field(default=frozenset(), converter=_tasks)
    standby: frozenset[TaskId] = field(default=frozenset(), converter=_tasks)
    follow_up_rebalance_ms: int | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse a task that is both."""
        if both := self.active & self.standby:
            raise BothActiveAndStandby(f"process {self.process_id} has {_named(both)} both active and as a standby")


@frozen
class TaskAssignment:
    """What everybody gets. Every process of the state has to be in it, if only with nothing. Java: the same."""

    assignments: Mapping[UUID, KafkaStreamsAssignment]

    def __attrs_post_init__(self) -> None:
        """Refuse a share under the name of another process."""
        _check_keys(self.assignments)

    @classmethod
    def of(cls, assignments: Iterable[KafkaStreamsAssignment]) -> TaskAssignment:
        """Make it of the shares of all processes; ``ValueError`` if one has two."""
        shares: dict[UUID, KafkaStreamsAssignment] = {}
        for share in assignments:
            if shares.setdefault(share.process_id, share) is not share:
                raise ValueError(f"process {share.process_id} has two shares")
        return cls(shares)


class TaskAssignor(Protocol):
    """Decides who gets which task.

    Equal states have to get equal answers, whatever the order of their parts: leaders come and go, and each of them
    has its own assignor.
    """

    def assign(self, state: ApplicationState, /) -> TaskAssignment:
        """Return what everybody gets; leave ``state`` as it is."""
        ...


class AssignmentError(Enum):
    """What Kafka finds wrong with an assignment. Java: ``TaskAssignor.AssignmentError``.

    Any of them but ``NONE`` ends the leader with a ``StreamsException``, and nobody gets an answer. See
    ``FATAL_AT_ONCE`` for the difference that there is. Drafts of KIP-924 had an error for an active and a standby task
    in one process, too; in what was released such a share cannot even be made (see ``BothActiveAndStandby``).
    """

    NONE = "no error"
    ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES = "several processes have the same task active"
    INVALID_STANDBY_TASK = "a task without state is a standby"
    MISSING_PROCESS_ID = "a process of the group is not in the assignment"
    UNKNOWN_PROCESS_ID = "the assignment has a process that is not in the group"
    UNKNOWN_TASK_ID = "the assignment has a task that does not exist"


FATAL_AT_ONCE: Final = frozenset({AssignmentError.UNKNOWN_PROCESS_ID, AssignmentError.UNKNOWN_TASK_ID})
"""Errors with which nothing can be dealt to members: Kafka's callback ``onAssignmentComputed`` gets no assignment.

With the others it still gets to see what each member would have got, before the leader ends all the same.
"""


@frozen
class Verdict:
    """What is wrong with an assignment, and with whom or what.

    ``unassigned`` are tasks that nobody has active. Kafka does not mind: it says ``NONE``, and nobody reads their
    partitions until the next rebalance. So that is no error here either, but hardly what anybody wants.
    """

    error: AssignmentError
    message: str = ""
    unassigned: tuple[TaskId, ...] = ()


def validate(state: ApplicationState, assignment: TaskAssignment) -> Verdict:
    """Look for the errors that Kafka looks for, in its order; return the first. Java: ``validateTaskAssignment``.

    First unknown tasks and those that are active twice, process by process (in the order of their ids; Kafka takes
    whichever order the assignment has); then standbys without state, missing processes, unknown processes.
    Not looked for, as in Kafka: unassigned tasks, too few or too many standbys, standbys of tasks nobody has active.
    """
    error, message = next(_errors(state, assignment), (AssignmentError.NONE, ""))
    active = {task for share in assignment.assignments.values() for task in share.active}
    return Verdict(error, message, tuple(sorted(state.tasks.keys() - active)))


def _errors(state: ApplicationState, assignment: TaskAssignment) -> Iterator[tuple[AssignmentError, str]]:
    shares = sorted(assignment.assignments.values(), key=lambda share: signed_order(share.process_id))
    owner: dict[TaskId, UUID] = {}
    for share in shares:
        for task in sorted(share.active | share.standby):
            if task not in state.tasks:
                yield AssignmentError.UNKNOWN_TASK_ID, f"process {share.process_id} has {task}, which does not exist"
            elif task in share.active and owner.setdefault(task, share.process_id) != share.process_id:
                message = f"{task} is active in processes {owner[task]} and {share.process_id}"
                yield AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES, message
    for share in shares:
        if stateless := share.standby - state.stateful:
            message = f"process {share.process_id} has a standby of {_named(stateless)}, which has no state"
            yield AssignmentError.INVALID_STANDBY_TASK, message
    for client in state.ordered_clients:
        if client.process_id not in assignment.assignments:
            message = f"process {client.process_id} is not in the assignment"
            yield AssignmentError.MISSING_PROCESS_ID, message
    for share in shares:
        if share.process_id not in state.clients:
            yield AssignmentError.UNKNOWN_PROCESS_ID, f"process {share.process_id} is not in the group"


def _named(tasks: Iterable[TaskId]) -> str:
    return ", ".join(map(str, sorted(tasks)))


def identity_assignment(state: ApplicationState) -> TaskAssignment:
    """Let everybody keep what it had. Java: ``TaskAssignmentUtils.identityAssignment``.

    Left out is what ``validate`` would refuse: tasks that are gone or have lost their state, and all but the first
    claim to an active task. Kafka copies those too. Tasks that nobody had stay unassigned.
    """
    taken: set[TaskId] = set()
    shares = []
    for client in state.ordered_clients:
        active = (client.previous_active_tasks & set(state.tasks)) - taken
        taken |= active
        standby = (client.previous_standby_tasks & state.stateful) - active
        shares.append(KafkaStreamsAssignment(client.process_id, active, standby))
    return TaskAssignment.of(shares)


def default_standby_assignment(state: ApplicationState, assignment: TaskAssignment) -> TaskAssignment:
    """Add the standbys: to the least loaded, spread over client tags if so configured.

    Each stateful task that is active somewhere gets as many as are configured, or as there are processes for; standbys
    that are there already stay and count (Kafka would add to them). Java:
    ``TaskAssignmentUtils.defaultStandbyTaskAssignment``.
    """
    clients = in_order(_client_states(state))
    shares = [
        assignment.assignments.get(client.process_id, KafkaStreamsAssignment(client.process_id)) for client in clients
    ]
    owner = {task: at for at, share in enumerate(shares) for task in share.active}
    there: dict[TaskId, set[int]] = {}
    for at, share in enumerate(shares):
        for task in share.standby:
            there.setdefault(task, set()).add(at)
    missing: dict[int, list[TaskId]] = {}
    for task in sorted(state.stateful & owner.keys()):
        if (number := state.configs.num_standby_replicas - len(there.get(task, ()))) > 0:
            missing.setdefault(number, []).append(task)
    count = [len(share.active) + len(share.standby) for share in shares]
    standby = [set(share.standby) for share in shares]
    for number, tasks in sorted(missing.items()):
        placing = Placing.of(clients, tasks, explained=False)
        placing.count, placing.owner = count, [owner[task] for task in tasks]
        placing.standbys = [there.get(task, set()) for task in tasks]
        if state.configs.rack_aware_assignment_tags:
            add_standbys_by_tags(placing, number, state.configs.rack_aware_assignment_tags)
        else:
            add_standbys(placing, number)
        for task, places in zip(tasks, placing.standbys, strict=True):
            for at in places:
                standby[at].add(task)
    filled = [evolve(share, standby=tasks) for share, tasks in zip(shares, standby, strict=True)]
    return TaskAssignment({**assignment.assignments, **TaskAssignment.of(filled).assignments})


def _client_states(state: ApplicationState) -> list[ClientState]:
    return [
        ClientState(
            client.process_id,
            client.num_processing_threads,
            client.previous_active_tasks,
            client.previous_standby_tasks,
            lags=client.lags,
            tags=client.client_tags,
        )
        for client in state.clients.values()
    ]


@frozen
class BuiltIn:
    """A built-in assignor as one of these.

    Where it wants a follow-up rebalance, the first process is asked for it, after the configured interval (in Kafka
    the leader's own process is).
    """

    name: str
    _assign: Callable[[list[ClientState], ApplicationState], bool] = field(repr=False)

    def assign(self, state: ApplicationState, /) -> TaskAssignment:
        """Return what everybody gets; ``FatalError`` if lags are missing that it needs."""
        clients = in_order(_client_states(state))
        follow_up = state.configs.probing_rebalance_interval_ms if self._assign(clients, state) else None
        return TaskAssignment.of(
            KafkaStreamsAssignment(client.process_id, client.active, client.standby, None if number else follow_up)
            for number, client in enumerate(clients)
        )


def _sticky(clients: list[ClientState], state: ApplicationState) -> bool:
    sticky.assign_tasks(clients, state.tasks, state.stateful, state.configs.num_standby_replicas)
    return False


def _high_availability(clients: list[ClientState], state: ApplicationState) -> bool:
    return high_availability.assign_tasks(clients, state.tasks, state.stateful, state.configs)


def _fallback_prior(clients: list[ClientState], state: ApplicationState) -> bool:
    return fallback_prior.assign_tasks(clients, state.tasks, state.stateful, state.configs.num_standby_replicas)


STICKY: Final = BuiltIn("sticky", _sticky)
"""``assignor.sticky``: tasks stay where they are as long as that is fair."""

HIGH_AVAILABILITY: Final = BuiltIn("high-availability", _high_availability)
"""``assignor.high_availability``: an even assignment in the end, a running one until then. Needs all lags."""

FALLBACK_PRIOR: Final = BuiltIn("fallback-prior", _fallback_prior)
"""``assignor.fallback_prior``: everybody goes on with what it had, and the group tries again soon."""

BUILT_IN: Final[Mapping[str, BuiltIn]] = {each.name: each for each in (STICKY, HIGH_AVAILABILITY, FALLBACK_PRIOR)}
"""The built-in assignors by name."""
