"""Who says what: answers and reactions as small numbers, each found by asking the real objects once.

Nothing here knows a rule of version probing. A subscription is written and read, a leader decides, an answer is
written, read and reacted to by what the group runs on (``assignor``, ``probing``, the codec), and what came of it is
remembered under numbers: of a member's version, of what a leader hears, of what it says.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from attrs import evolve

from assignor import FatalError, StreamsPartitionAssignor, Subtopology, Topology
from assignor import group as reading
from assignor.eras import era_of
from assignor.member import Member
from probing import BY_NAME, Content, Heard, MemberState, MemberVersion, ProbingError, Rejoining, decide
from spark_sim.properties import Violation
from spark_sim.scenario import Instance
from subscription_codec import Assignment, encode_assignment
from subscription_codec.consumer_protocol import MemberAssignment, encode_member_assignment

_TOPOLOGY: Final = Topology.of(Subtopology(sources=("data",)))
T = TypeVar("T", bound=Hashable)


class Numbers(Generic[T]):
    """Numbers for values, in the order in which they turn up."""

    def __init__(self) -> None:
        self.values: Final[list[T]] = []
        self._numbers: Final[dict[T, int]] = {}

    def of(self, value: T) -> int:
        """Return the number of a value, a new one if need be."""
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


class Speaker(NamedTuple):
    """What a member knows of versions: the instance that it runs as, by its place, and where it stands."""

    instance: int
    used: int
    state: MemberState


class Said(NamedTuple):
    """An answer on its way: what is written in it, whether tasks come with it, and what its leader alone knows."""

    version: int
    supported: int
    error_code: int
    gives: bool
    completes: bool


class Reaction(NamedTuple):
    """What a member makes of an answer: its next version, how it rejoins, and whether it has tasks that it keeps."""

    version: int
    rejoining: Rejoining | None
    received: int
    holds: bool


class Tables:
    """All that can be said between some instances. A ``Violation`` instead of a number: somebody dies of it."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        self.instances: Final = instances
        self.speakers: Final = Numbers[Speaker]()
        self.heard: Final = Numbers[Heard]()
        self.said: Final = Numbers[Said]()
        self._members = [
            StreamsPartitionAssignor(_TOPOLOGY, each.config(), release=each.release).member for each in instances
        ]
        self._blobs: dict[int, bytes] = {}
        self._subscriptions: dict[int, int | Violation] = {}
        self._reactions: dict[tuple[int, int], Reaction | Violation] = {}

    def started(self, instance: int) -> int:
        """Return the version of a fresh process."""
        return self._number(instance, self._members[instance].version)

    def _number(self, instance: int, version: MemberVersion) -> int:
        return self.speakers.of(Speaker(instance, version.used, version.state))

    def _member(self, speaker: Speaker) -> Member:
        fresh = self._members[speaker.instance]
        return evolve(fresh, version=evolve(fresh.version, used=speaker.used, state=speaker.state))

    def sendable(self, instance: int) -> int:
        """Return the version that a fresh process sends."""
        return self._members[instance].version.used

    def used(self, version: int) -> int:
        """Return the version that the next subscription has."""
        return self.speakers.values[version].used

    def cooperative(self, instance: int) -> bool:
        """Whether members keep their tasks while they rejoin."""
        return self._members[instance].cooperative

    def withholds(self, instance: int) -> bool:
        """Whether a leader lets nobody have a task before its owner has given it up."""
        return era_of(self.instances[instance].release.number).cooperates

    def subscription(self, version: int) -> int | Violation:
        """Return what a leader hears of a member that joins."""
        known = self._subscriptions.get(version)
        if known is None:
            known = self._subscriptions[version] = self._subscribed(self.speakers.values[version])
        return known

    def _subscribed(self, speaker: Speaker) -> int | Violation:
        member = self._member(speaker)
        try:
            blob = member.subscription(_TOPOLOGY.source_topics)
        except FatalError as error:
            return Violation.of_death("", error)
        (joined,) = reading.read({"": blob}, member.version.latest)
        number = self.heard.of(joined.heard)
        self._blobs.setdefault(number, blob)
        return number

    def answers(self, leader: int, heard: frozenset[int]) -> Mapping[tuple[int, bool], int] | Violation:
        """Return what a leader (an instance) says to everybody of whom it hears this; a key's second half: itself."""
        release = self.instances[leader].release
        try:
            joined = reading.read({str(number): self._blobs[number] for number in heard}, release.latest_version)
            decision = decide(
                BY_NAME[release.rules].leader, release.latest_version, {each.member: each.heard for each in joined}
            )
        except FatalError as error:
            return Violation.of_death("", error)
        except ProbingError as error:
            return Violation.of_death("", FatalError(str(error.args[0]), error.kafka))
        found = {}
        for number, answer in decision.answers.items():
            gives = answer.content in {Content.REGULAR, Content.PREVIOUS}
            for itself in (False, True):
                completes = itself and decision.completes
                said = Said(answer.version, answer.supported, answer.error_code, gives, completes)
                found[int(number), itself] = self.said.of(said)
        return found

    def reaction(self, version: int, said: int) -> Reaction | Violation:
        """Return what a member does with an answer."""
        known = self._reactions.get((version, said))
        if known is None:
            known = self._reactions[version, said] = self._reacted(self.speakers.values[version], said)
        return known

    def _reacted(self, speaker: Speaker, number: int) -> Reaction | Violation:
        said = self.said.values[number]
        member = self._member(speaker)
        try:
            after, received = member.receive(_written(said), completes=said.completes)
        except FatalError as error:
            return Violation.of_death("", error)
        leaves = received.rejoin is Rejoining.LEAVE_AND_JOIN
        return Reaction(
            self._number(speaker.instance, after.version),
            received.rejoin,
            received.version,
            member.cooperative and said.gives and not received.dropped and not leaves,
        )


def _written(said: Said) -> bytes:
    answer = Assignment(version=said.version, latest_supported=said.supported, error_code=said.error_code)
    return encode_member_assignment(MemberAssignment((), encode_assignment(answer)))
