"""The result of a task assignor (KIP-924), and the validation of Kafka.

Java: ``TaskAssignor.TaskAssignment``, ``KafkaStreamsAssignment``, ``TaskAssignmentUtils.validateTaskAssignment``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Final
from uuid import UUID

from attrs import field, frozen

from streams_assignor.codec import StreamsAssignorError, TaskId
from streams_assignor.task_assignors.application_state import (
    ApplicationState,
    check_keys,
    frozen_tasks,
    java_uuid_order,
)


class ActiveAndStandbyError(StreamsAssignorError, ValueError):
    """A process has a task both active and as a standby; Java raises an ``IllegalStateException`` at the same place."""


@frozen
class KafkaStreamsAssignment:
    """The tasks of one process. Java: ``KafkaStreamsAssignment``."""

    process_id: UUID
    active: frozenset[TaskId] = field(default=frozenset(), converter=frozen_tasks)
    standby: frozenset[TaskId] = field(default=frozenset(), converter=frozen_tasks)
    follow_up_rebalance_ms: int | None = None
    """The process requests another rebalance after so many milliseconds; None for no rebalance. Kafka has a point in
    time here, but nothing in this package has a clock."""

    def __attrs_post_init__(self) -> None:
        """Raise ``ActiveAndStandbyError`` for a task that is both."""
        if not self.active.isdisjoint(self.standby):
            both = _joined(self.active & self.standby)
            raise ActiveAndStandbyError(f"process {self.process_id} has {both} both active and as a standby")


@frozen
class TaskAssignment:
    """The assignments of all processes of a state, with or without tasks. Java: ``TaskAssignment``."""

    assignments: Mapping[UUID, KafkaStreamsAssignment]

    def __attrs_post_init__(self) -> None:
        """Raise ``ValueError`` for an assignment under the id of another process."""
        check_keys(self.assignments)

    @classmethod
    def of(cls, assignments: Iterable[KafkaStreamsAssignment]) -> TaskAssignment:
        """Build it from the assignments of all processes; raise ``ValueError`` if a process has two."""
        shares: dict[UUID, KafkaStreamsAssignment] = {}
        for share in assignments:
            if shares.setdefault(share.process_id, share) is not share:
                raise ValueError(f"process {share.process_id} has two shares")
        return cls(shares)


class AssignmentError(Enum):
    """The error that Kafka finds in an assignment. Java: ``TaskAssignor.AssignmentError``.

    With any of them but ``NONE``, the leader fails with a ``StreamsException``, and no member gets an assignment.
    Drafts of KIP-924 had an error for an active and a standby task in one process, too; in the release such an
    assignment cannot be built (``ActiveAndStandbyError``).
    """

    NONE = "no error"
    ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES = "several processes have the same task active"
    INVALID_STANDBY_TASK = "a task without state is a standby"
    MISSING_PROCESS_ID = "a process of the group is not in the assignment"
    UNKNOWN_PROCESS_ID = "the assignment has a process that is not in the group"
    UNKNOWN_TASK_ID = "the assignment has a task that does not exist"


IMMEDIATELY_FATAL: Final = frozenset({AssignmentError.UNKNOWN_PROCESS_ID, AssignmentError.UNKNOWN_TASK_ID})
"""Errors after which Kafka's callback ``onAssignmentComputed`` gets no assignment.

After the others it gets the assignment before the leader fails.
"""


@frozen
class ValidationResult:
    """The first error of an assignment."""

    error: AssignmentError
    message: str = ""
    """The process and the task of the error."""
    unassigned: tuple[TaskId, ...] = ()
    """Tasks that no process has active. This is no error in Kafka, but their partitions are not consumed until the next
    rebalance."""


def validate(state: ApplicationState, assignment: TaskAssignment) -> ValidationResult:
    """Check for the errors of Kafka, in its order, and return the first. Java: ``validateTaskAssignment``.

    First unknown tasks and tasks that are active twice, process by process (in the order of their ids; in Kafka, in the
    order of the assignment); then standbys without state, missing processes, unknown processes. As in Kafka, unassigned
    tasks, the number of standbys, and standbys of unassigned tasks are not errors.
    """
    error, message = next(_errors(state, assignment), (AssignmentError.NONE, ""))
    active = {task for share in assignment.assignments.values() for task in share.active}
    return ValidationResult(error, message, tuple(sorted(state.tasks.keys() - active)))


def _errors(state: ApplicationState, assignment: TaskAssignment) -> Iterator[tuple[AssignmentError, str]]:
    shares = sorted(assignment.assignments.values(), key=lambda share: java_uuid_order(share.process_id))
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
            message = f"process {share.process_id} has a standby of {_joined(stateless)}, which has no state"
            yield AssignmentError.INVALID_STANDBY_TASK, message
    for client in state.sorted_processes:
        if client.process_id not in assignment.assignments:
            message = f"process {client.process_id} is not in the assignment"
            yield AssignmentError.MISSING_PROCESS_ID, message
    for share in shares:
        if share.process_id not in state.clients:
            yield AssignmentError.UNKNOWN_PROCESS_ID, f"process {share.process_id} is not in the group"


def _joined(tasks: Iterable[TaskId]) -> str:
    return ", ".join(map(str, sorted(tasks)))
