"""Simulated member that takes the place of one captured member in a replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from typing import Final, NamedTuple, TypeVar

from attrs import define, evolve, field

from streams_assignor import FatalError, ReceivedAssignment, StreamsAssignor, Topology
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TaskId
from streams_assignor.groups import DescribedGroupMember
from streams_assignor.probing import AssignorError, RejoinMode
from streams_assignor.probing.model import MemberState
from streams_assignor.protocol.member import Member
from streams_assignor.spark_sim.conformance._compare import FactDifference
from streams_assignor.spark_sim.conformance._identity import Incarnation
from streams_assignor.spark_sim.conformance.messages import SubscriptionMessage, decode_assignment_message
from streams_assignor.spark_sim.model.events import format_tasks
from streams_assignor.upgrade.errors import UpgradeError

_T = TypeVar("_T")

_FAILS_ON_FIRST_RECORD: Final = {"g0"}
"""Rules whose consumer (0.10.0) swallows the error of an assignment.

The member stays in the group without tasks, and fails on the first record of a partition without a task.
"""


class StartError(FatalError):
    """The release of a member rejects its configuration."""

    def __str__(self) -> str:
        return f"does not start: {self.args[0]}"


class FailureInGeneration(NamedTuple):
    """An error and the number of the generation in which it is raised."""

    error: FatalError
    generation: int


@define(eq=False)
class Twin:
    """The simulated counterpart of one incarnation."""

    incarnation: Incarnation
    assignor: StreamsAssignor | None = None
    """None if the release is not known (a future version, unreadable bytes), or if nothing more is compared."""
    failure: FailureInGeneration | None = None
    """The error that terminated the member."""
    delayed_failure: FailureInGeneration | None = None
    """An error that terminates the member when it receives a record."""
    mismatch_failure: FailureInGeneration | None = None
    """The error of a task that was assigned with partitions of another subtopology."""
    answered_generation: int = -1
    """The generation of the last assignment, or -1."""
    received: ReceivedAssignment | None = None
    _before: StreamsAssignor | None = field(default=None, alias="before")
    _answer: bytes = b""

    @classmethod
    def start(cls, incarnation: Incarnation, topology: Topology, stored: Iterable[TaskId]) -> Twin:
        """Start a member with the state stores of its predecessor.

        Raises:
            UpgradeError: the release rejects the configuration.
        """
        if incarnation.started_as is None:
            return cls(incarnation)
        step = incarnation.started_as
        assignor = StreamsAssignor(
            topology, step.config, process_id=incarnation.process_id, release=step.release, stored=stored
        )
        first = incarnation.first_subscription
        if incarnation.resumed and isinstance(first, SubscriptionMessage):
            assignor.restore(_member_that_sent(first, assignor.member))
        return cls(incarnation, assignor)

    @classmethod
    def not_started(cls, incarnation: Incarnation, generation: int, error: UpgradeError) -> Twin:
        """Return the twin of a member that cannot start."""
        return cls(incarnation, failure=FailureInGeneration(StartError(str(error), "ConfigException"), generation))

    @property
    def stored_tasks(self) -> frozenset[TaskId]:
        """The tasks whose state stores it leaves behind."""
        return frozenset(self.assignor.member.stored) if self.assignor else frozenset()

    @property
    def history(self) -> str:
        """The release and the last assignment, as text; "" if the release is not known."""
        started_as = self.incarnation.started_as
        if started_as is None:
            return ""
        release = f"ours is {started_as.text} (rules {started_as.release.rule_set}), and "
        if self.answered_generation < 0:
            return f"{release}has just started"
        answer = decode_assignment_message(self._answer)
        return f"{release}received {answer} in generation {self.answered_generation}"

    # -- joining -----------------------------------------------------------------------------------------------------

    def inconsistencies(
        self, sent: SubscriptionMessage, record: DescribedGroupMember, keeps_member_id: bool
    ) -> Iterator[FactDifference]:
        """Yield the claims of a captured subscription that contradict the last assignment.

        ``keeps_member_id``: the generation before has the member under the same member id.
        """
        if self.assignor is None:
            return
        member = self.assignor.member
        if not sent.previous_active <= member.previous_active:
            yield "ran tasks", format_tasks(sent.previous_active), f"assigned {format_tasks(member.previous_active)}"
        if not sent.owned_partitions <= member.owned_partitions:
            yield "owns partitions", _listed(sent.owned_partitions), f"assigned {_listed(member.owned_partitions)}"
        leaves = self.received is not None and self.received.rejoin is RejoinMode.LEAVE_AND_JOIN
        if leaves and keeps_member_id and record.group_instance_id is None:
            yield "rejoins", "under the same member id", "under a new one"

    def join(self, generation: int, sent: SubscriptionMessage) -> bytes | None:
        """Return our subscription where a captured member sent ``sent``; None if the member fails or is not known."""
        if self.assignor is None:
            return None
        if sent.seen.error_code == AssignorError.SHUTDOWN_REQUESTED:
            self.assignor.request_shutdown()
        try:
            return self.assignor.subscription(sent.seen.topics, offset_sums=dict.fromkeys(self.stored_tasks, 0))
        except FatalError as error:
            self.failure = FailureInGeneration(error, generation)
            return None

    def next_subscription(self) -> bytes | None:
        """Return the subscription of another join, without joining; None if the member cannot join."""
        result = self._attempt(StreamsAssignor.subscription)
        return result if isinstance(result, bytes) else None

    def join_error(self) -> FatalError | None:
        """Return the error with which the member would fail in another join; None if it would not."""
        result = self._attempt(StreamsAssignor.subscription)
        return result if isinstance(result, FatalError) else None

    def leader_error(self, cluster: ClusterSnapshot, group: Mapping[str, bytes]) -> FatalError | None:
        """Return the error with which the member would fail as the leader of a group; None if it would not."""
        result = self._attempt(lambda assignor: assignor.assign(cluster, group))
        return result if isinstance(result, FatalError) else None

    def _attempt(self, call: Callable[[StreamsAssignor], _T]) -> _T | FatalError | None:
        """Call a copy of the assignor; return the result or the error, None if the member cannot go on."""
        if self.assignor is None or self.failure:
            return None
        try:
            return call(copy(self.assignor))
        except FatalError as error:
            return error

    # -- receiving an assignment -------------------------------------------------------------------------------------

    def on_assignment(self, generation: int, answer: bytes) -> None:
        """Apply an assignment."""
        if self.assignor is None or self.failure:
            return
        self._before, self._answer, self.answered_generation = copy(self.assignor), answer, generation
        self.mismatch_failure = None
        try:
            self.received = self.assignor.on_assignment(answer)
        except FatalError as error:
            failure = FailureInGeneration(error, generation)
            if self.incarnation.started_as and self.incarnation.started_as.release.rule_set in _FAILS_ON_FIRST_RECORD:
                self.assignor, self.delayed_failure = self._before, failure
            else:
                self.failure = failure
            return
        if self.received.rejoin is RejoinMode.LEAVE_AND_JOIN and self.assignor.member.cooperative:
            self.assignor.on_partitions_lost()  # unsubscribing gives up all partitions

    def missed_assignment(self, sent: SubscriptionMessage) -> bool:
        """Whether the captured member did not receive the last assignment, judged by its next subscription.

        The broker keeps the leader's assignments, but a member that has already begun to rejoin does not receive its
        own. The used version is evidence only if nothing else shows that the member received the assignment, and if
        the assignment is not fatal for it.
        """
        if self.assignor is None or self._before is None:
            return False
        if sent.joined_generation is not None and sent.joined_generation < self.answered_generation:
            return True
        after, before = self.assignor.member, self._before.member
        if (
            sent.used_version
            == before.version.used_version
            != after.version.used_version
            <= after.version.supported_version
        ):
            return sent.previous_active <= before.previous_active and sent.owned_partitions <= before.owned_partitions
        return (
            not sent.previous_active <= after.previous_active and sent.previous_active <= before.previous_active
        ) or (not sent.owned_partitions <= after.owned_partitions and sent.owned_partitions <= before.owned_partitions)

    def undo_assignment(self) -> None:
        """Restore the state before the last assignment."""
        self.assignor, self._before, self.received = self._before, None, None
        self.failure = self.delayed_failure = self.mismatch_failure = None

    def stop_comparing(self) -> None:
        """Drop the assignor after a difference was reported, so that its consequences are not reported too."""
        self.assignor = self.failure = None


def _member_that_sent(sent: SubscriptionMessage, member: Member) -> Member:
    """Return a member that has just started in the state of the one that sent a subscription."""
    version = member.version
    if sent.is_probeable and sent.used_version < version.supported_version:
        version = evolve(version, used_version=sent.used_version, state=MemberState.DOWNGRADED)
    return evolve(
        member,
        version=version,
        previous_active=sent.previous_active,
        stored=frozenset(member.stored) | sent.stored_tasks | sent.offset_sums.keys() | sent.previous_active,
        owned_partitions=sent.owned_partitions,
    )


def _listed(partitions: Iterable[object]) -> str:
    return ", ".join(map(str, sorted(partitions))) or "none"  # type: ignore[type-var]  # topic partitions are tuples
