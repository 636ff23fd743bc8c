"""A member's own half: what it says when it joins, and what it makes of the answer.

Pure: a ``Member`` is a value; joining writes bytes from it, an assignment gives the next one.
Java: ``StreamsPartitionAssignor.subscriptionUserData`` and ``onAssignment``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from attrs import evolve, frozen

from assignor.errors import FatalError
from probing import Action, AssignmentReceived, MemberVersion, ProbingError, Rejoining
from subscription_codec import (
    EARLIEST_PROBEABLE_VERSION,
    UNKNOWN_VERSION,
    Assignment,
    DecodeError,
    EncodeError,
    FutureVersion,
    HostInfo,
    Subscription,
    TaskId,
    TopicPartition,
    decode_assignment,
    encode_subscription,
)
from subscription_codec.consumer_protocol import (
    MemberSubscription,
    decode_member_assignment,
    encode_member_subscription,
    flattened,
)

Partitions = frozenset[TopicPartition]


@frozen
class Received:
    """What an assignment means for the member.

    ``active`` and ``standby`` map each task to its partitions (empty if the assignment was dropped), ``rejoin`` says
    whether and how to rejoin at once, ``hosts`` where the partitions of the group are served.
    """

    version: int
    supported: int
    active: Mapping[TaskId, Partitions]
    standby: Mapping[TaskId, Partitions]
    hosts: Mapping[HostInfo, Partitions]
    rejoin: Rejoining | None
    dropped: bool = False

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """All partitions of the active tasks, sorted."""
        return tuple(sorted(partition for partitions in self.active.values() for partition in partitions))


@frozen
class Member:
    """One member between two rebalances: who it is, which version it sends, and what it had last.

    ``as_release`` is the release of Kafka whose very bytes it writes, if it imitates one (``quirks``).

    ``previous_active`` are the tasks it ran last; ``stored`` those of which it has state at hand, a superset of its
    standbys (``standby_tasks`` on the wire are those that it did not run).
    """

    process_id: UUID
    version: MemberVersion
    end_point: str = ""
    previous_active: frozenset[TaskId] = frozenset()
    stored: frozenset[TaskId] = frozenset()
    as_release: str | None = None

    def subscription(self, topics: Iterable[str]) -> bytes:
        """Write the whole consumer-protocol subscription for the next JoinGroup."""
        try:
            used = self.version.version_to_send()
            record = Subscription(
                version=used,
                latest_supported=self.version.latest if used >= EARLIEST_PROBEABLE_VERSION else UNKNOWN_VERSION,
                process_id=self.process_id,
                prev_tasks=tuple(sorted(self.previous_active)),
                standby_tasks=tuple(sorted(self.stored - self.previous_active)),
                user_end_point=self.end_point,
            )
            userdata = encode_subscription(record, as_release=self.as_release)
            return encode_member_subscription(MemberSubscription(tuple(sorted(topics)), userdata))
        except ProbingError as error:
            raise FatalError(str(error.args[0]), error.kafka) from error
        except EncodeError as error:
            raise FatalError(f"cannot write the subscription: {error}", "IllegalArgumentException") from error

    def receive(self, blob: bytes, *, completes: bool, stateful: frozenset[int]) -> tuple[Member, Received]:
        """Take a whole consumer-protocol assignment: the member after it, and what it means.

        ``completes``: see ``AssignmentReceived``. ``stateful`` are the subtopologies whose tasks leave state behind.
        Raises ``FatalError`` where Kafka's member dies; the member is as before then.
        """
        assignment, partitions = _read(blob, self.version.latest)
        event = AssignmentReceived(assignment.version, assignment.latest_supported, completes)
        try:
            version, actions = self.version.receive(event)
        except ProbingError as error:
            raise FatalError(str(error.args[0]), error.kafka) from error
        taken = Action.TAKE in actions
        received = Received(
            version=assignment.version,
            supported=assignment.latest_supported,
            active=_active(assignment, partitions) if taken else NOTHING,
            standby={task: frozenset(inputs) for task, inputs in assignment.standby_tasks} if taken else NOTHING,
            hosts={host: frozenset(inputs) for host, inputs in assignment.partitions_by_host},
            rejoin=self.version.rules.rejoining if Action.REJOIN in actions else None,
            dropped=not taken,
        )
        if not taken:
            return evolve(self, version=version), received
        held = {task for task in (*received.active, *received.standby) if task.subtopology in stateful}
        after = evolve(self, version=version, previous_active=frozenset(received.active), stored=self.stored | held)
        return after, received


NOTHING: Final[Mapping[TaskId, Partitions]] = {}

# Java: AssignorError. Code 2 (version probing) was never meant for the wire, and Kafka too lets it pass.
_FATAL_ERRORS: Final = {1: "MissingSourceTopicException", 3: "TaskAssignmentException", 4: "ShutdownRequested"}


def _read(blob: bytes, latest: int) -> tuple[Assignment, tuple[TopicPartition, ...]]:
    try:
        envelope = decode_member_assignment(blob)
        assignment = decode_assignment(envelope.user_data, supported=latest)
    except FutureVersion as error:
        unknown = "Unknown assignment data version" if latest < EARLIEST_PROBEABLE_VERSION else "Unable to decode"
        raise FatalError(f"{unknown}: {error.problem}") from error
    except DecodeError as error:
        raise FatalError(f"Failed to decode AssignmentInfo: {error}") from error
    if assignment.error_code in _FATAL_ERRORS:
        raise FatalError(f"the leader sent error code {assignment.error_code}", _FATAL_ERRORS[assignment.error_code])
    return assignment, flattened(envelope.assigned_partitions)


def _active(assignment: Assignment, partitions: tuple[TopicPartition, ...]) -> Mapping[TaskId, Partitions]:
    """Match the i-th task id with the i-th partition. Java: ``getActiveTasks``."""
    tasks = assignment.active_tasks
    if len(tasks) != len(partitions):
        message = f"Number of assigned partitions {len(partitions)} is not equal to the number of active taskIds"
        raise FatalError(f"{message} {len(tasks)}")
    active: dict[TaskId, set[TopicPartition]] = {}
    for task, partition in zip(tasks, partitions, strict=True):
        active.setdefault(task, set()).add(partition)
    return {task: frozenset(inputs) for task, inputs in active.items()}
