"""Subscriptions, answers and reactions of the version protocol as numbers, each computed once by the real assignor.

The version protocol depends on tasks in one place only (whether an answer assigns any), so few values occur. Numbers
stand for the version state of a member, for what a leader reads of a subscription, and for an answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain, combinations, product
from typing import Final, NamedTuple

from attrs import evolve

from streams_assignor import FatalError, StreamsAssignor, Subtopology, Topology
from streams_assignor.codec import EARLIEST_PROBEABLE_VERSION, Assignment, encode_assignment
from streams_assignor.codec.consumer_protocol import ConsumerAssignment, encode_consumer_assignment
from streams_assignor.probing import (
    BY_NAME,
    AssignmentContent,
    AssignorError,
    MemberState,
    MemberVersion,
    MemberVersions,
    ProbingError,
    RejoinMode,
    decide,
)
from streams_assignor.protocol.group import decode_members
from streams_assignor.protocol.member import Member
from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.spark_sim.model.violations import EVERY_TASK_OWNED, Violation
from streams_assignor.spark_sim.packed.tables.memo import Interner, Memo

_TOPOLOGY: Final = Topology.of(Subtopology(sources=("data",)))


class VersionState(NamedTuple):
    """The version state of a member that runs as an instance."""

    instance: int
    used: int
    state: MemberState


class AnswerKind(NamedTuple):
    """An assignment as far as the version protocol distinguishes it."""

    version: int
    supported_version: int
    error_code: int
    assigns_tasks: bool
    completes_version_probing: bool


class Reaction(NamedTuple):
    """The reaction of a member to an answer."""

    version: int
    rejoining: RejoinMode | None
    received: int
    keeps_tasks: bool


class ProtocolTable:
    """The version protocol between some instances. A ``Violation`` in place of a number is what a member violates.

    All tasks have an owner at the end because a leader assigns all of them or makes somebody rejoin: a member that
    stays without tasks violates that. A leader that fails itself (``ASSIGNMENT_ERROR``) leaves them to the next one.
    """

    def __init__(self, instances: Sequence[Instance]) -> None:
        self.instances: Final = instances
        self.version_states: Final = Interner[VersionState]()
        self.member_versions: Final = Interner[MemberVersions]()
        self.answers_sent: Final = Interner[AnswerKind]()
        self._members = [
            StreamsAssignor(_TOPOLOGY, instance.config(), release=instance.release).member for instance in instances
        ]
        self._subscription_bytes: dict[int, bytes] = {}
        self.subscriptions: Final = Memo(self._subscription)
        """Number of a version state => number of what a leader reads of its member's subscription."""
        self.reactions: Final = Memo(self._reaction)
        """Numbers of a member's version state and of an answer => its reaction."""

    def initial_version(self, instance: int) -> int:
        """Return the number of the version state of a fresh process."""
        return self._version_number(instance, self._members[instance].version)

    def _version_number(self, instance: int, version: MemberVersion) -> int:
        return self.version_states.of(VersionState(instance, version.used_version, version.state))

    def _member(self, state: VersionState) -> Member:
        fresh = self._members[state.instance]
        return evolve(fresh, version=evolve(fresh.version, used_version=state.used, state=state.state))

    def initial_sent_version(self, instance: int) -> int:
        """Return the version that a fresh process sends."""
        return self._members[instance].version.used_version

    def used_version(self, version: int) -> int:
        """Return the version of the next subscription."""
        return self.version_states.values[version].used

    def cooperative(self, instance: int) -> bool:
        """Whether members keep their tasks while they rejoin."""
        return self._members[instance].cooperative

    def withholds_owned_tasks(self, instance: int) -> bool:
        """Whether a leader assigns no task before its owner has revoked it."""
        return self.instances[instance].release.behaviour.cooperative

    def behaviour(self) -> Hashable:
        """Return all that these instances can do with each other; equal if only the names of versions differ.

        Of a version counts how many are lower, and whether a leader can answer it with one of them. The table has to be
        new: its numbers have the order in which the facts turn up here.
        """
        instances = range(len(self.instances))
        initial = tuple(map(self.initial_version, instances))
        answers: dict[tuple[int, tuple[int, ...]], list[tuple[tuple[int, bool], int]]] = {}
        senders, known = self._senders(), -1
        while known != (known := len(answers) + len(self.reactions)):
            for leader, read in product(instances, _subsets(sorted(senders))):
                if (leader, read) not in answers:
                    answered = self.answers(leader, frozenset(read))
                    answers[leader, read] = [] if isinstance(answered, Violation) else sorted(answered.items())
            for (subscription, _), answer in chain.from_iterable(answers.values()):
                for version in senders[subscription]:
                    self.reactions[version, answer]
            senders = self._senders()
        reactions = {key: each for key, each in self.reactions.items() if isinstance(each, Reaction)}
        used = [state.used for state in self.version_states.values]
        names = sorted({*used, *(reaction.received for reaction in reactions.values())})
        rank = {version: (names.index(version), version >= EARLIEST_PROBEABLE_VERSION) for version in names}
        return (
            tuple((self.cooperative(each), self.withholds_owned_tasks(each)) for each in instances),
            initial,
            tuple((state.instance, rank[state.used]) for state in self.version_states.values),
            frozenset((version, subscription) for subscription, of in senders.items() for version in of),
            tuple((key, tuple(answered)) for key, answered in answers.items()),
            tuple((key, rank[each.received], each._replace(received=0)) for key, each in reactions.items()),
        )

    def _senders(self) -> dict[int, list[int]]:
        """Return each subscription with the version states whose members send it."""
        senders: dict[int, list[int]] = {}
        for version in range(len(self.version_states.values)):
            if isinstance(subscription := self.subscriptions[version], int):
                senders.setdefault(subscription, []).append(version)
        return senders

    def _subscription(self, version: int) -> int | Violation:
        member = self._member(self.version_states.values[version])
        try:
            encoded = member.encode_subscription(_TOPOLOGY.source_topics)
        except FatalError as error:
            return Violation.of_fatal_error("", error)
        (joined,) = decode_members({"": encoded}, member.version.supported_version)
        number = self.member_versions.of(MemberVersions(joined.used_version, joined.supported_version))
        self._subscription_bytes.setdefault(number, encoded)
        return number

    def answers(self, leader: int, subscriptions: frozenset[int]) -> Mapping[tuple[int, bool], int] | Violation:
        """Return the answers of a leader to the members with these subscriptions.

        Args:
            leader: The number of its instance.
            subscriptions: Numbers of what it reads, its own included.

        Returns:
            Subscription, and whether the member is the leader itself => the number of the answer.
        """
        release = self.instances[leader].release
        try:
            joined = decode_members(
                {str(number): self._subscription_bytes[number] for number in subscriptions}, release.supported_version
            )
            decision = decide(
                BY_NAME[release.rule_set].leader,
                release.supported_version,
                {member.member_id: member for member in joined},
            )
        except FatalError as error:
            return Violation.of_fatal_error("", error)
        except ProbingError as error:
            return Violation.of_fatal_error("", FatalError(str(error.args[0]), error.java_exception))
        answers = {}
        for number, answer in decision.answers.items():
            gives = answer.content in {AssignmentContent.REGULAR, AssignmentContent.PREVIOUS}
            for itself in (False, True):
                completes = itself and decision.completes_upgrade
                kind = AnswerKind(answer.version, answer.supported_version, answer.error_code, gives, completes)
                answers[int(number), itself] = self.answers_sent.of(kind)
        return answers

    def _reaction(self, version_and_answer: tuple[int, int]) -> Reaction | Violation:
        version, answer = version_and_answer
        state, kind = self.version_states.values[version], self.answers_sent.values[answer]
        member = self._member(state)
        try:
            after, received = member.on_assignment(_encode_answer(kind), completes=kind.completes_version_probing)
        except FatalError as error:
            return Violation.of_fatal_error("", error)
        gets_none = received.dropped or not kind.assigns_tasks
        if received.rejoin is None and gets_none and kind.error_code != AssignorError.ASSIGNMENT_ERROR:
            return Violation(EVERY_TASK_OWNED, "", "gets no tasks, and does not rejoin")
        leaves = received.rejoin is RejoinMode.LEAVE_AND_JOIN
        return Reaction(
            self._version_number(state.instance, after.version),
            received.rejoin,
            received.version,
            member.cooperative and kind.assigns_tasks and not received.dropped and not leaves,
        )


def _subsets(chosen: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return (some for size in range(1, len(chosen) + 1) for some in combinations(chosen, size))


def _encode_answer(kind: AnswerKind) -> bytes:
    answer = Assignment(version=kind.version, supported_version=kind.supported_version, error_code=kind.error_code)
    return encode_consumer_assignment(ConsumerAssignment((), encode_assignment(answer)))
