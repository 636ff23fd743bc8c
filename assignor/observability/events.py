"""Events of a member: one vocabulary for observers, metrics, logs and the lines of ``streams-assignor member``.

An adapter calls its observer in the order of events, on the thread or in the event loop that rebalances
(``RejoinRequested`` and ``MemberFailed`` possibly on another). An observer must be quick; what it raises is logged and
does not reach the member. ``TaskRebalanceListener`` is the interface for an application that has to act.

``metrics`` turns events into numbers; ``event_fields`` has the table of their log fields and JSON keys.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Mapping
from typing import Final

from attrs import field, frozen

from streams_assignor.probing import VersionAnswer
from streams_assignor.probing.follow_up import FollowUpReason
from streams_assignor.rebalance_listener import PartitionsByTask, TaskChanges


class JoinReason(enum.Enum):
    """Why a member joins, if not for a ``FollowUpReason``."""

    FIRST_JOIN = "it is new in the group"
    LOST = "its session or generation expired: the group continued without it"
    HANDED_OVER = "it revoked tasks that other members wait for"
    FEATURES = "finalized feature levels of the cluster have risen"
    NOT_SUBSCRIBED = "its leader assigned topics that it does not subscribe to: the leader runs another topology"
    FAILURE = "it failed, and the consumer must not continue as before"
    REBALANCE_IN_PROGRESS = "the coordinator started a rebalance"


# -- a member of a group -------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class JoinSent:
    """The member sends its subscription in a JoinGroup."""

    reason: JoinReason | FollowUpReason

    used_version: int

    supported_version: int

    subscription_size: int
    """Bytes of the whole consumer-protocol subscription."""


@frozen(kw_only=True)
class AssignmentComputed:
    """The member, as the leader, computed the assignments of its group."""

    subscription_sizes: dict[str, int]
    """The size in bytes, by member id."""

    assignment_sizes: dict[str, int]
    """The size in bytes, by member id."""

    seconds: float

    probed: Mapping[str, VersionAnswer] = field(factory=dict)
    """The answers to members that sent a version which the leader does not support (KIP-268), by member id."""

    @property
    def total_bytes(self) -> int:
        """Bytes of all subscriptions and assignments; the broker keeps them in one record of limited size.

        >>> sizes = {"subscription_sizes": {"a": 2, "b": 5}, "assignment_sizes": {"a": 7, "b": 1}}
        >>> AssignmentComputed(**sizes, seconds=0.1).total_bytes
        15
        """
        return sum(self.subscription_sizes.values()) + sum(self.assignment_sizes.values())

    @property
    def largest_member_bytes(self) -> int:
        """Bytes of the subscription and assignment of the member with most.

        >>> sizes = {"subscription_sizes": {"a": 2, "b": 5}, "assignment_sizes": {"a": 7, "b": 1}}
        >>> AssignmentComputed(**sizes, seconds=0.1).largest_member_bytes
        9
        """
        return max(
            (size + self.assignment_sizes.get(member, 0) for member, size in self.subscription_sizes.items()),
            default=0,
        )


@frozen(kw_only=True)
class AssignmentReceived:
    """The member took an assignment. If it rejoins immediately, the group has not settled."""

    reason: JoinReason | FollowUpReason
    """Why the member joined."""

    generation: int

    member_id: str = ""

    is_leader: bool

    group_version: int
    """The metadata version of the assignment."""

    group_supported_version: int
    """Highest version that all members support, as the leader encoded it; -1 if the version is too old for it."""

    active: PartitionsByTask

    standby: PartitionsByTask

    tasks_dropped: bool
    """Whether only the version was taken and the tasks were not (version probing)."""

    standbys_are_warmups: bool = False
    """Whether no standby is configured, so that each is a warm-up. Otherwise only the leader knows (KIP-441)."""

    follow_up: FollowUpReason | None = None
    """Why another rebalance must follow; None if none must."""

    @property
    def rejoins_immediately(self) -> bool:
        """Whether the follow-up rebalance is due now."""
        return self.follow_up not in (None, FollowUpReason.PROBING)

    @property
    def is_stable(self) -> bool:
        """Whether the assignment stays for a while: tasks were taken, and no rebalance is due now."""
        return not self.tasks_dropped and not self.rejoins_immediately


@frozen
class TasksChanged:
    """The member's tasks change; the listener is called next."""

    changes: TaskChanges


@frozen(kw_only=True)
class RejoinRequested:
    """The member requests another rebalance."""

    reason: JoinReason | FollowUpReason

    leaves_group: bool = False
    """Whether it leaves and joins with a new member id."""

    at_ms: int | None = None
    """When, in milliseconds since 1970; None: now."""


@frozen(kw_only=True)
class RejoinDelayed:
    """The member waits before it rejoins: the last rejoins for the same reason have changed nothing."""

    reason: JoinReason | FollowUpReason

    repeats: int
    """How many rejoins in a row have changed nothing."""

    seconds: float
    """How long the member waits."""


@frozen
class MemberFailed:
    """The member fails and stops."""

    error: Exception

    @property
    def exception_name(self) -> str:
        """The exception that Kafka throws at this point, or the Python class if there is none.

        >>> MemberFailed(ValueError("no")).exception_name
        'ValueError'
        """
        return str(getattr(self.error, "kafka_exception", type(self.error).__name__))


@frozen
class MemberClosed:
    """The member leaves the group for good, or (`lost`) is no longer in it."""

    lost: bool


# -- a process with a member (``streams-assignor member``) ---------------------------------------------------------


@frozen
class MemberStarted:
    """The process runs and is about to join."""

    release: str

    upgrade_from: str | None

    process_id: str


@frozen
class RecordsProcessed:
    """The process processed all records of a partition between two offsets, both included."""

    partition: str

    first: int

    last: int


@frozen
class MemberStopped:
    """The process left the group on request; the last event."""

    reason: str


Event = (
    JoinSent
    | AssignmentComputed
    | AssignmentReceived
    | TasksChanged
    | RejoinRequested
    | RejoinDelayed
    | MemberFailed
    | MemberClosed
    | MemberStarted
    | RecordsProcessed
    | MemberStopped
)
Observer = Callable[[Event], None]

_LOG: Final = logging.getLogger("streams_assignor")


def isolate_errors(observer: Observer) -> Observer:
    """Return an observer that never raises: the first exception of `observer` is logged, later ones are ignored."""
    failed = False

    def observe(event: Event) -> None:
        nonlocal failed
        try:
            observer(event)
        except Exception:
            if not failed:
                failed = True
                _LOG.exception("an observer failed; further failures are not logged")

    return observe


def combine_observers(*observers: Observer) -> Observer:
    """Return an observer that calls each of `observers` with every event, also if another one raises."""
    isolated = [isolate_errors(observer) for observer in observers]

    def observe(event: Event) -> None:
        for observer in isolated:
            observer(event)

    return observe
