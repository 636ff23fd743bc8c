"""What a task assignor of one's own answers (KIP-924), and what Kafka finds wrong with an answer.

Java: ``TaskAssignor.TaskAssignment``, ``KafkaStreamsAssignment``, ``TaskAssignmentUtils.validateTaskAssignment``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Final
from uuid import UUID

from attrs import field, frozen

from assignor.application_state import ApplicationState, check_keys
from assignor.client_state import signed_order
from subscription_codec import TaskId


def _tasks(tasks: Iterable[TaskId]) -> frozenset[TaskId]:
    return frozenset(tasks)


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
        check_keys(self.assignments)

    @classmethod
    def of(cls, assignments: Iterable[KafkaStreamsAssignment]) -> TaskAssignment:
        """Make it of the shares of all processes; ``ValueError`` if one has two."""
        shares: dict[UUID, KafkaStreamsAssignment] = {}
        for share in assignments:
            if shares.setdefault(share.process_id, share) is not share:
                raise ValueError(f"process {share.process_id} has two shares")
        return cls(shares)


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
    stateful = state.stateful
    owner: dict[TaskId, UUID] = {}
    for share in shares:
        for task in sorted(share.active | share.standby):
            if task not in state.tasks:
                yield AssignmentError.UNKNOWN_TASK_ID, f"process {share.process_id} has {task}, which does not exist"
            elif task in share.active and owner.setdefault(task, share.process_id) != share.process_id:
                message = f"{task} is active in processes {owner[task]} and {share.process_id}"
                yield AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES, message
    for share in shares:
        if stateless := share.standby - stateful:
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
