"""What all adapters share, in a group of consumers that are as simple as can be: any mixture, any order of events."""

from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

import pytest
from attrs import evolve
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from assignor.clients.plugged import Plugged
from assignor.clients.telling import Teller
from assignor.cluster import Cluster
from assignor.errors import FatalError
from assignor.member import Received
from assignor.observing import Assigned, Cause, Died, Ended, Event, JoinSent, Led, Moved
from assignor.observing import Rejoining as Wanted
from assignor.task_listener import Sums, Tasks
from assignor.topology import Subtopology, Topology
from probing import Rejoining
from probing.follow_up import Reason
from subscription_codec import TaskId, TopicPartition, decode_subscription
from subscription_codec.consumer_protocol import (
    MemberAssignment,
    decode_member_assignment,
    decode_member_subscription,
    encode_member_assignment,
)
from tests.assignor.clients.listening import Recorder
from tests.assignor.clients.test_looking_up import Admin
from tests.draws import examples
from upgrade import StreamsConfig, release_named

TOPOLOGY = Topology.of(Subtopology(sources=["orders"], changelogs=["store"]), Subtopology(sources=["other"]))
COUNTS = {"orders": 4, "other": 2, "store": 4}
TASKS = set(TOPOLOGY.tasks(COUNTS))
CLUSTER = Cluster(partitions=COUNTS)
T = TypeVar("T")


def at_once(call: Coroutine[Any, Any, T]) -> T:
    """The answer of a coroutine that never waits."""
    try:
        call.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    raise AssertionError("it waits")


class Alone(Plugged):
    """A consumer that only writes down what it is to do."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(TOPOLOGY, **settings)
        self.wants: list[str] = []
        self.later: list[tuple[float, Callable[[], None]]] = []

    def rejoin(self) -> None:
        self.wants.append("rejoin")

    def leave_and_join(self) -> None:
        self.wants.append("leave")

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        self.later.append((seconds, call))


class Eager(Alone):
    cooperative = False


class Member:
    """A consumer in a group; its partitions are what a client library would say they are."""

    def __init__(self, group: "Group", kind: type[Alone], standbys: int) -> None:
        self.listener = Watched(group)
        # Ties are decided by process ids: random ones would make Hypothesis see another group each time.
        self.streams = kind(
            config=StreamsConfig(num_standby_replicas=standbys),
            listener=self.listener,
            process_id=UUID(int=next(group.process_ids)),
        )
        self.partitions: set[TopicPartition] = set()
        self.known = False  # to the broker

    def join(self) -> bytes:
        at_once(self.streams.before_join(lost=not self.known))
        if not (self.known and self.streams.core.member.cooperative):
            self.partitions = set()
        self.known = True
        self.streams.wants.clear()
        return self.streams.subscription(TOPOLOGY.source_topics, self.partitions)

    def take(self, blob: bytes) -> None:
        given = {
            TopicPartition(topic, partition)
            for topic, partitions in decode_member_assignment(blob).assigned_partitions
            for partition in partitions
        }
        if self.partitions - given:  # kafka-python and Java ask for the next rebalance, so that others get them
            self.streams.rejoin()
        self.partitions = given
        self.streams.take(blob)
        at_once(self.streams.joined())


class Watched(Recorder):
    """Sees at once if a task is told to two."""

    def __init__(self, group: "Group") -> None:
        super().__init__()
        self._group = group

    def assigned(self, tasks: Tasks) -> None:
        super().assigned(tasks)
        for member in self._group.members:
            assert member.listener is self or not member.known or not member.listener.held.active.keys() & tasks.keys()


class Group(RuleBasedStateMachine):
    """Members come, go, are thrown out without noticing, and rebalance in any order."""

    joined = Bundle("joined")

    def __init__(self) -> None:
        super().__init__()
        self.members: list[Member] = []
        self.process_ids = count(1)

    @rule(target=joined, kind=st.sampled_from([Alone, Eager]), standbys=st.integers(0, 1))
    def join(self, kind: type[Alone], standbys: int) -> Member:
        self.members.append(member := Member(self, kind, standbys))
        return member

    @rule(member=consumes(joined))
    def leave(self, member: Member) -> None:
        at_once(member.streams.ends(lost=not member.known))
        self.members.remove(member)
        assert not member.listener.held.active
        assert not member.listener.held.standby

    @rule(member=joined)
    def throw_out(self, member: Member) -> None:
        member.known = False

    @rule(order=st.randoms(use_true_random=False), slow=st.booleans())
    def rebalance(self, order: Any, slow: bool) -> None:
        """Those who were thrown out come back, at once or after a rebalance without them."""
        for _ in range(12):
            present = [member for member in self.members if member.known or not slow]
            slow = False
            order.shuffle(present)
            said = {str(number): member.join() for number, member in enumerate(present)}
            if present:
                answers = order.choice(present).streams.answers(CLUSTER, said)
                for number, member in order.sample(list(enumerate(present)), len(present)):
                    member.take(answers[str(number)])
            if not any(member.streams.wants or not member.known for member in self.members):
                break
        else:
            raise AssertionError("it does not settle")
        told = [task for member in self.members for task in member.listener.held.active]
        assert sorted(TASKS if self.members else ()) == sorted(told)
        for member in self.members:
            received = member.streams.received
            assert received is not None
            assert (received.active, received.standby) == (member.listener.held.active, member.listener.held.standby)

    @invariant()
    def who_has_a_task_owns_its_partitions(self) -> None:
        for member in self.members:
            if member.known:
                held = member.listener.held.active.values()
                assert set().union(*held) == member.partitions


Group.TestCase.settings = settings(max_examples=examples(25), stateful_step_count=12, deadline=None)
TestGroup = Group.TestCase


# -- one member ------------------------------------------------------------------------------------------------------


def rebalanced(member: Alone, *, answer: bytes | None = None) -> bytes:
    """Let it lead a group of its own, or be answered; returns what it said."""
    at_once(member.before_join(lost=False))
    said = member.subscription(TOPOLOGY.source_topics)
    member.take(answer or member.answers(CLUSTER, {"a": said})["a"])
    at_once(member.joined())
    return said


def sums_in(said: bytes) -> dict[TaskId, int]:
    subscription = decode_subscription(decode_member_subscription(said).user_data)
    return {each.task: each.offset_sum for each in subscription.task_offset_sums}


@pytest.mark.parametrize(("sums", "expected"), [({TaskId(0, 1): 7}, {TaskId(0, 1): 7}), (None, {}), ({}, {})])
def test_it_sends_the_sums_of_its_listener_plain_or_not(sums: Sums, expected: dict[TaskId, int]) -> None:
    class Asynchronous(Recorder):
        async def offset_sums(self) -> Sums:
            return self.sums

    for listener in (Recorder(sums), Asynchronous(sums)):
        member = Alone(listener=listener)
        assert expected == sums_in(rebalanced(member))


def test_what_is_lost_is_no_more_named_as_running() -> None:
    member = Alone(listener=(listener := Recorder()))
    rebalanced(member)
    at_once(member.before_join(lost=True))

    assert ["assigned", "lost"] == listener.words
    assert frozenset() == member.core.member.previous_active


def test_a_listener_that_fails_is_asked_for_its_sums_nevertheless_and_hears_the_rest() -> None:
    class Failing(Recorder):
        def revoked(self, tasks: Tasks) -> None:
            super().revoked(tasks)
            raise LookupError("revoked")

        def standby_removed(self, tasks: Tasks) -> None:
            super().standby_removed(tasks)
            raise LookupError("standby_removed")

    member = Eager(listener=(listener := Failing({TaskId(0, 0): 3})))
    rebalanced(member)
    listener.sums = {TaskId(0, 0): 4}
    with pytest.raises(LookupError, match="revoked"):
        at_once(member.before_join(lost=False))
    assert {TaskId(0, 0): 4} == member._sums

    listener.held = teller_held = evolve(member._teller.held, standby={TaskId(0, 0): frozenset()})
    member._teller.held = teller_held
    with pytest.raises(LookupError, match="standby_removed"):
        at_once(member.ends())
    assert not listener.held.standby


def test_nothing_is_told_after_the_end() -> None:
    member = Alone(listener=(listener := Recorder()))
    rebalanced(member)
    at_once(member.ends())
    rebalanced(member)

    assert ["assigned", "revoked"] == listener.words


def test_nothing_is_told_of_an_answer_that_could_not_be_taken() -> None:
    member = Eager(listener=(listener := Recorder()))
    rebalanced(member)
    at_once(member.before_join(lost=False))
    with pytest.raises(FatalError):
        member.take(encode_member_assignment(MemberAssignment((), b"?")))
    at_once(member.joined())

    assert ["assigned", "revoked"] == listener.words
    assert ["rejoin"] == member.wants
    with pytest.raises(FatalError) as again:
        member.subscription(TOPOLOGY.source_topics)
    assert member.failure is again.value


def test_a_dropped_assignment_says_nothing_of_copies() -> None:
    listener = Recorder()
    teller = Teller(listener, lambda _: None)
    task = {TaskId(0, 0): frozenset[TopicPartition]()}
    at_once(teller.has(Received(version=3, supported=3, active=task, standby={TaskId(0, 1): frozenset()})))
    at_once(teller.has(Received(version=3, supported=3, dropped=True)))

    assert ["assigned", "standby_added", "revoked"] == listener.words


def test_it_leaves_or_rejoins_or_waits_as_it_is_told() -> None:
    member = Alone()
    rebalanced(member)
    received = evolve(member.received, follow_up=Reason.PROBING, rejoin_at_ms=0)
    replaced = evolve(received, version=10)
    for how in Rejoining:
        member._follow_up(evolve(received, follow_up=Reason.VERSION, rejoin=how))
    assert ["rejoin", "leave"] == sorted(member.wants, reverse=True)

    member.wants.clear()
    for answer in (replaced, received):
        member.received = answer
        member._follow_up(answer)
    for seconds, call in member.later:
        assert 0 == seconds
        call()
    assert ["rejoin"] == member.wants  # for the one that nothing has replaced

    at_once(member.ends())
    call()
    assert ["rejoin"] == member.wants  # and for nobody who is gone


def test_what_a_leader_cannot_create_ends_it() -> None:
    class Refusing(Admin):
        def create(self, topics: Any) -> None:  # noqa: ARG002
            raise FatalError("no", "StreamsException")

    member = Alone(admin=Refusing(orders=4, other=2))
    with pytest.raises(FatalError, match="StreamsException: no"):
        member.look_up({})
    assert isinstance(member.failure, FatalError)
    with pytest.raises(FatalError, match="StreamsException: no"):
        member.answers(CLUSTER, {})


def test_without_an_admin_it_knows_what_its_client_knows() -> None:
    found = Alone().look_up({"orders": 4})
    assert (COUNTS["orders"], False) == (found.partitions["orders"], found.complete)


def test_a_probed_member_is_told_when_it_gets_its_tasks() -> None:
    """A leader of 2.0 answers a newer member with nothing; then it comes with the leader's version."""
    leader = Alone(release=release_named("2.0.1"))
    newer = Eager(release=release_named("simulated-4"), listener=(listener := Recorder()))
    for _ in range(2):
        at_once(newer.before_join(lost=False))
        said = newer.subscription(TOPOLOGY.source_topics)
        newer.take(leader.answers(CLUSTER, {"a": leader.subscription(TOPOLOGY.source_topics), "b": said})["b"])
        at_once(newer.joined())
        listener.heard.append(("-", {}))

    assert ["-", "assigned", "-"] == listener.words


# -- who looks on ----------------------------------------------------------------------------------------------------


def test_an_observer_sees_why_a_member_joins_and_what_becomes_of_it() -> None:
    events: list[Event] = []
    member = Eager(observer=events.append, watches=["group.version"])
    rebalanced(member)
    at_once(member.before_join(lost=True))
    member.subscription(TOPOLOGY.source_topics)
    member._see({"group.version": 1})
    member.later.pop()[1]()
    rebalanced(member)
    rebalanced(member)
    with pytest.raises(FatalError):
        member.take(b"")
    at_once(member.ends(lost=False))

    assert [Cause.FIRST_JOIN, Cause.LOST, Cause.FEATURES, Cause.ASKED] == causes(JoinSent, events)
    assert [Cause.FIRST_JOIN, Cause.FEATURES, Cause.ASKED] == causes(Assigned, events)
    assert [Cause.FEATURES, Cause.FAILURE] == causes(Wanted, events)
    assert [JoinSent, Led, Assigned, Moved, Moved, JoinSent] == [type(event) for event in events[:6]]
    assert [Died, Wanted, Ended, Moved] == [type(event) for event in events[-4:]]
    led = next(event for event in events if isinstance(event, Led))
    sent = next(event for event in events if isinstance(event, JoinSent))
    assert (11, 11, led.heard) == (sent.used, sent.latest, {"a": sent.size})
    first = next(event for event in events if isinstance(event, Assigned))
    assert (True, 11, 11, TASKS) == (first.leads, first.version, first.supported, first.active.keys())


def test_a_follow_up_is_the_cause_of_the_next_join() -> None:
    events: list[Event] = []
    leader = Alone(release=release_named("2.0.1"))
    newer = Eager(release=release_named("simulated-4"), observer=events.append)
    for _ in range(2):
        at_once(newer.before_join(lost=False))
        said = newer.subscription(TOPOLOGY.source_topics)
        newer.take(leader.answers(CLUSTER, {"a": leader.subscription(TOPOLOGY.source_topics), "b": said})["b"])
        at_once(newer.joined())

    assert [Cause.FIRST_JOIN, Reason.VERSION] == causes(JoinSent, events)
    assert [(4, 4), (3, 4)] == [(event.used, event.latest) for event in events if isinstance(event, JoinSent)]
    assert [False] == [event.leaves for event in events if isinstance(event, Wanted)]


def test_who_has_handed_over_joins_for_that_and_who_has_waited_for_it_as_well() -> None:
    heard: list[list[Event]] = [[], []]
    owner, waiting = (Alone(observer=events.append) for events in heard)
    rebalanced(owner)
    for _ in range(2):
        said = {}
        for name, member in (("a", owner), ("b", waiting)):
            at_once(member.before_join(lost=False))
            owned = {partition for partitions in member._teller.held.active.values() for partition in partitions}
            said[name] = member.subscription(TOPOLOGY.source_topics, owned)
        answers = owner.answers(CLUSTER, said)
        for name, member in (("a", owner), ("b", waiting)):
            member.take(answers[name])
            at_once(member.joined())

    assert [Cause.FIRST_JOIN, Cause.ASKED, Cause.HANDED_OVER] == causes(JoinSent, heard[0])
    assert [Cause.FIRST_JOIN, Reason.WITHHELD] == causes(JoinSent, heard[1])


def causes(kind: type[Any], events: list[Event]) -> list[Cause | Reason]:
    return [event.cause for event in events if isinstance(event, kind)]
