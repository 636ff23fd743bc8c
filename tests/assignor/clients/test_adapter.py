"""All adapters, in a group of the simplest consumers: any mixture, any order of events."""

import time
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

import pytest
from attrs import evolve
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from streams_assignor.clients._listener_notifier import ListenerNotifier
from streams_assignor.clients.adapter import ClientAdapter, MemberGeneration
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TaskId, TopicPartition, decode_subscription
from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    decode_consumer_assignment,
    decode_consumer_subscription,
    encode_consumer_assignment,
)
from streams_assignor.errors import FatalError
from streams_assignor.observability.events import (
    AssignmentComputed,
    AssignmentReceived,
    Event,
    JoinReason,
    JoinSent,
    MemberClosed,
    MemberFailed,
    RejoinDelayed,
    RejoinRequested,
    TasksChanged,
)
from streams_assignor.probing import RejoinMode
from streams_assignor.probing.follow_up import FollowUpReason
from streams_assignor.protocol.member import ReceivedAssignment
from streams_assignor.rebalance_listener import OffsetSums, PartitionsByTask
from streams_assignor.topology import Subtopology, Topology
from streams_assignor.upgrade import StreamsConfig, release_named
from streams_assignor.upgrade.cluster.client.feature_levels import FeatureLevels
from tests.assignor.clients.recording_listener import RecordingListener
from tests.assignor.clients.test_leader_lookup import Admin
from tests.draws import examples

TOPOLOGY = Topology.of(Subtopology(sources=["orders"], changelogs=["store"]), Subtopology(sources=["other"]))
COUNTS = {"orders": 4, "other": 2, "store": 4}
TASKS = set(TOPOLOGY.tasks(COUNTS))
CLUSTER = ClusterSnapshot(partitions=COUNTS)
T = TypeVar("T")


def at_once(call: Coroutine[Any, Any, T]) -> T:
    """The answer of a coroutine that never waits."""
    try:
        call.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    raise AssertionError("it waits")


class Alone(ClientAdapter):
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
        at_once(self.streams.on_join_prepare(lost=not self.known))
        if not (self.known and self.streams.assignor.member.cooperative):
            self.partitions = set()
        self.known = True
        self.streams.wants.clear()
        return self.streams.subscription(TOPOLOGY.source_topics, self.partitions)

    def take(self, userdata: bytes) -> None:
        given = {
            TopicPartition(topic, partition)
            for topic, partitions in decode_consumer_assignment(userdata).assigned_partitions
            for partition in partitions
        }
        if self.partitions - given:  # kafka-python and Java ask for the next rebalance, so that others get them
            self.streams.rejoin()
        self.partitions = given
        self.streams.receive_assignment(userdata)
        at_once(self.streams.on_join_complete())


class Watched(RecordingListener):
    """Fails if a task is assigned to two members."""

    def __init__(self, group: "Group") -> None:
        super().__init__()
        self._group = group

    def on_tasks_assigned(self, tasks: PartitionsByTask) -> None:
        super().on_tasks_assigned(tasks)
        for member in self._group.members:
            assert (
                member.listener is self
                or not member.known
                or not member.listener.owned_tasks.active.keys() & tasks.keys()
            )


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
        at_once(member.streams.on_close(lost=not member.known))
        self.members.remove(member)
        assert not member.listener.owned_tasks.active
        assert not member.listener.owned_tasks.standby

    @rule(member=joined)
    def throw_out(self, member: Member) -> None:
        member.known = False

    @rule(order=st.randoms(use_true_random=False), slow=st.booleans())
    def rebalance(self, order: Any, slow: bool) -> None:
        """Removed members rejoin, immediately or after a rebalance without them."""
        for _ in range(12):
            present = [member for member in self.members if member.known or not slow]
            slow = False
            order.shuffle(present)
            encoded = {str(number): member.join() for number, member in enumerate(present)}
            if present:
                answers = order.choice(present).streams.perform_assignment(CLUSTER, encoded)
                for number, member in order.sample(list(enumerate(present)), len(present)):
                    member.take(answers[str(number)])
            if not any(member.streams.wants or not member.known for member in self.members):
                break
        else:
            raise AssertionError("it does not settle")
        announced = [task for member in self.members for task in member.listener.owned_tasks.active]
        assert sorted(TASKS if self.members else ()) == sorted(announced)
        for member in self.members:
            received = member.streams.received_assignment
            assert received is not None
            assert (received.active, received.standby) == (
                member.listener.owned_tasks.active,
                member.listener.owned_tasks.standby,
            )

    @invariant()
    def who_has_a_task_owns_its_partitions(self) -> None:
        for member in self.members:
            if member.known:
                held = member.listener.owned_tasks.active.values()
                assert set().union(*held) == member.partitions


Group.TestCase.settings = settings(max_examples=examples(25), stateful_step_count=12, deadline=None)
TestGroup = Group.TestCase


# -- one member ------------------------------------------------------------------------------------------------------


def rebalanced(member: Alone, *, answer: bytes | None = None) -> bytes:
    """Rebalance a group of one member, or assign it `answer`; return its subscription."""
    at_once(member.on_join_prepare(lost=False))
    encoded = member.subscription(TOPOLOGY.source_topics)
    member.receive_assignment(answer or member.perform_assignment(CLUSTER, {"a": encoded})["a"])
    at_once(member.on_join_complete())
    return encoded


def sums_in(encoded: bytes) -> dict[TaskId, int]:
    subscription = decode_subscription(decode_consumer_subscription(encoded).user_data)
    return {each.task: each.offset_sum for each in subscription.task_offset_sums}


@pytest.mark.parametrize(("sums", "expected"), [({TaskId(0, 1): 7}, {TaskId(0, 1): 7}), (None, {}), ({}, {})])
def test_offset_sums_of_plain_and_async_listeners_are_sent(sums: OffsetSums, expected: dict[TaskId, int]) -> None:
    class Asynchronous(RecordingListener):
        async def offset_sums(self) -> OffsetSums:
            return self.sums

    for listener in (RecordingListener(sums), Asynchronous(sums)):
        member = Alone(listener=listener)
        assert expected == sums_in(rebalanced(member))


def test_lost_tasks_are_not_reported_as_running() -> None:
    member = Alone(listener=(listener := RecordingListener()))
    rebalanced(member)
    at_once(member.on_join_prepare(lost=True))

    assert ["assigned", "lost"] == listener.callback_names
    assert frozenset() == member.assignor.member.previous_active


def test_a_failing_listener_still_returns_sums_and_receives_later_changes() -> None:
    class Failing(RecordingListener):
        def on_tasks_revoked(self, tasks: PartitionsByTask) -> None:
            super().on_tasks_revoked(tasks)
            raise LookupError("revoked")

        def on_standby_tasks_removed(self, tasks: PartitionsByTask) -> None:
            super().on_standby_tasks_removed(tasks)
            raise LookupError("standby_removed")

    member = Eager(listener=(listener := Failing({TaskId(0, 0): 3})))
    rebalanced(member)
    listener.sums = {TaskId(0, 0): 4}
    with pytest.raises(LookupError, match="revoked"):
        at_once(member.on_join_prepare(lost=False))
    assert {TaskId(0, 0): 4} == member._offset_sums

    listener.owned_tasks = notifier_owned = evolve(member._notifier.owned_tasks, standby={TaskId(0, 0): frozenset()})
    member._notifier.owned_tasks = notifier_owned
    with pytest.raises(LookupError, match="standby_removed"):
        at_once(member.on_close())
    assert not listener.owned_tasks.standby


def test_nothing_is_announced_after_close() -> None:
    member = Alone(listener=(listener := RecordingListener()))
    rebalanced(member)
    at_once(member.on_close())
    rebalanced(member)

    assert ["assigned", "revoked"] == listener.callback_names


def test_an_undecodable_assignment_is_not_announced() -> None:
    member = Eager(listener=(listener := RecordingListener()))
    rebalanced(member)
    at_once(member.on_join_prepare(lost=False))
    with pytest.raises(FatalError):
        member.receive_assignment(encode_consumer_assignment(ConsumerAssignment((), b"?")))
    at_once(member.on_join_complete())

    assert ["assigned", "revoked"] == listener.callback_names
    assert ["rejoin"] == member.wants
    with pytest.raises(FatalError) as again:
        member.subscription(TOPOLOGY.source_topics)
    assert member.failure is again.value


def test_a_dropped_assignment_keeps_standby_tasks() -> None:
    listener = RecordingListener()
    notifier = ListenerNotifier(listener, lambda _: None)
    task = {TaskId(0, 0): frozenset[TopicPartition]()}
    at_once(
        notifier.tasks_received(
            ReceivedAssignment(version=3, supported_version=3, active=task, standby={TaskId(0, 1): frozenset()})
        )
    )
    at_once(notifier.tasks_received(ReceivedAssignment(version=3, supported_version=3, dropped=True)))

    assert ["assigned", "standby_added", "revoked"] == listener.callback_names


def test_the_assignment_decides_between_leaving_rejoining_and_waiting() -> None:
    member = Alone()
    rebalanced(member)
    received = evolve(member.received_assignment, follow_up=FollowUpReason.PROBING, rejoin_at_ms=0)
    replaced = evolve(received, version=10)
    for how in RejoinMode:
        member._schedule_follow_up(evolve(received, follow_up=FollowUpReason.VERSION, rejoin=how))
    assert ["rejoin", "leave"] == sorted(member.wants, reverse=True)

    member.wants.clear()
    for answer in (replaced, received):
        member.received_assignment = answer
        member._schedule_follow_up(answer)
    for seconds, call in member.later:
        assert 0 == seconds
        call()
    assert ["rejoin"] == member.wants  # for the one that nothing has replaced

    at_once(member.on_close())
    call()
    assert ["rejoin"] == member.wants  # and not for a closed member


def rejoins(member: Alone, received: ReceivedAssignment, times: int) -> list[float]:
    """Give a member the same assignment again and again; return after how many seconds it rejoined each time."""
    seconds = []
    for _ in range(times):
        member.wants.clear()
        member.later.clear()
        again = evolve(received)
        member.received_assignment = again
        member._schedule_follow_up(again)
        (wait, call), *_ = member.later or [(0.0, lambda: None)]
        call()
        assert len(member.wants) == 1
        seconds.append(wait)
    return seconds


@pytest.mark.parametrize("reason", [FollowUpReason.END_POINT, FollowUpReason.WITHHELD, FollowUpReason.VERSION])
@pytest.mark.parametrize("how", RejoinMode)
def test_a_member_that_would_rejoin_without_end_backs_off_and_says_so(reason: FollowUpReason, how: RejoinMode) -> None:
    seen: list[Event] = []
    member = Alone(observer=seen.append)
    rebalanced(member)
    asked = evolve(member.received_assignment, follow_up=reason, rejoin=how)

    assert [0, 0, 0, 1, 2, 4] == rejoins(member, asked, 6)
    assert not member.rejoins_now
    delayed = [event for event in seen if isinstance(event, RejoinDelayed)]
    assert [(3, 1.0), (4, 2.0), (5, 4.0)] == [(event.repeats, event.seconds) for event in delayed]
    assert {reason} == {event.reason for event in delayed}

    member._schedule_follow_up(evolve(asked, follow_up=None, rejoin=None))  # it has settled
    assert [0, 0, 0, 1] == rejoins(member, asked, 4)


def test_a_clock_that_is_ahead_of_the_leaders_does_not_make_the_group_rebalance_without_end() -> None:
    member = Alone()
    rebalanced(member)
    overdue = evolve(member.received_assignment, follow_up=FollowUpReason.PROBING, rejoin_at_ms=1000)

    assert [0, 0, 0, 1, 2, 4] == rejoins(member, overdue, 6)


def test_probing_rebalances_that_change_nothing_keep_their_interval() -> None:
    member = Alone()
    rebalanced(member)
    for _ in range(6):
        later = evolve(
            member.received_assignment, follow_up=FollowUpReason.PROBING, rejoin_at_ms=int(1000 * time.time()) + 600_000
        )
        (wait,) = rejoins(member, later, 1)
        assert 590 < wait <= 600


def test_a_member_under_a_leader_with_another_topology_backs_off_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    """It rejoined without end beside members of Kafka, 118 times a minute."""
    member, waited = Alone(), []
    rebalanced(member)
    for number in range(6):
        member.later.clear()
        member.on_unsubscribed_topics({"clicks"}, MemberGeneration(number, "m"))
        assert member.rejoins_now == (not member.later)
        waited += [seconds for seconds, _ in member.later] or [0.0]
    assert [0, 0, 0, 1, 2, 4] == waited
    assert ["rejoin"] * 3 == member.wants
    assert 1 == sum("clicks" in record.getMessage() for record in caplog.records)

    member.later[-1][1]()
    assert ["rejoin"] * 4 == member.wants
    rebalanced(member)  # another leader: the wait is over
    member.generation = MemberGeneration(9, "m")
    member.later[0][1]()
    assert ["rejoin"] * 4 == member.wants


def test_tasks_that_move_back_and_forth_without_end_are_handed_over_more_slowly() -> None:
    class Withdrawing(Alone):
        def withdraw_rejoin(self) -> None:
            self.wants.append("withdraw")

    seen: list[Event] = []
    member = Withdrawing(observer=seen.append)
    rebalanced(member)
    everything = member.received_assignment
    nothing = evolve(everything, active={}, partitions=())

    def handed_over() -> None:
        for received in (everything, nothing):
            member.received_assignment = member._pending_assignment = evolve(received)
            member._next_join_reason = None
            at_once(member.on_join_complete())

    for _ in range(6):
        handed_over()

    assert ["withdraw"] * 3 == member.wants
    assert [1, 2, 4] == [seconds for seconds, _ in member.later]
    assert [JoinReason.HANDED_OVER] * 3 == [event.reason for event in seen if isinstance(event, RejoinDelayed)]
    member.later[-1][1]()
    assert "rejoin" == member.wants[-1]

    member._handed_over_at -= 10_000  # hours later it is no repetition
    handed_over()
    assert 3 == len(member.later)


def test_a_leader_whose_group_does_not_carry_its_levels_backs_off() -> None:
    member = Alone(extension=(levels := FeatureLevels(["finality"])))
    levels.on_joined(leads=True)
    waited = []

    def answered(level: int) -> None:
        member.later.clear()
        levels.on_answer({"finality": level})
        member.later.pop(0)[1]()

    for _ in range(6):
        answered(2)
        waited += [seconds for seconds, _ in member.later] or [0.0]
    assert [0, 0, 0, 1, 2, 4] == waited
    assert ["rejoin"] * 3 == member.wants

    older = member.later[-1][1]
    older()
    assert ["rejoin"] * 4 == member.wants
    answered(3)  # news: at once, and the older wait is over
    older()
    assert ["rejoin"] * 5 == member.wants


def test_a_leader_that_cannot_create_a_topic_fails() -> None:
    class Refusing(Admin):
        def create(self, topics: Any) -> None:  # noqa: ARG002
            raise FatalError("no", "StreamsException")

    member = Alone(admin=Refusing(orders=4, other=2))
    with pytest.raises(FatalError, match="StreamsException: no"):
        member.snapshot_cluster({})
    assert isinstance(member.failure, FatalError)
    with pytest.raises(FatalError, match="StreamsException: no"):
        member.perform_assignment(CLUSTER, {})


def test_without_an_admin_the_snapshot_has_the_clients_topics() -> None:
    found, _ = Alone().snapshot_cluster({"orders": 4})
    assert (COUNTS["orders"], False) == (found.partitions["orders"], found.topics_complete)


def test_a_probed_member_is_assigned_its_tasks_after_probing() -> None:
    """A leader of 2.0 answers a newer member with nothing; then it comes with the leader's version."""
    leader = Alone(release=release_named("2.0.1"))
    newer = Eager(release=release_named("simulated-4"), listener=(listener := RecordingListener()))
    for _ in range(2):
        at_once(newer.on_join_prepare(lost=False))
        encoded = newer.subscription(TOPOLOGY.source_topics)
        newer.receive_assignment(
            leader.perform_assignment(CLUSTER, {"a": leader.subscription(TOPOLOGY.source_topics), "b": encoded})["b"]
        )
        at_once(newer.on_join_complete())
        listener.callbacks.append(("-", {}))

    assert ["-", "assigned", "-"] == listener.callback_names


# -- observers ------------------------------------------------------------------------------------------------------


def test_an_observer_sees_why_a_member_joins_and_what_becomes_of_it() -> None:
    events: list[Event] = []
    member = Eager(observer=events.append, extension=(levels := FeatureLevels(["group.version"])))
    rebalanced(member)
    at_once(member.on_join_prepare(lost=True))
    member.subscription(TOPOLOGY.source_topics)
    levels.on_answer({"group.version": 1})
    member.later.pop()[1]()
    rebalanced(member)
    rebalanced(member)
    with pytest.raises(FatalError):
        member.receive_assignment(b"")
    at_once(member.on_close(lost=False))

    assert [JoinReason.FIRST_JOIN, JoinReason.LOST, JoinReason.FEATURES, JoinReason.REBALANCE_IN_PROGRESS] == causes(
        JoinSent, events
    )
    assert [JoinReason.FIRST_JOIN, JoinReason.FEATURES, JoinReason.REBALANCE_IN_PROGRESS] == causes(
        AssignmentReceived, events
    )
    assert [JoinReason.FEATURES, JoinReason.FAILURE] == causes(RejoinRequested, events)
    assert [JoinSent, AssignmentComputed, AssignmentReceived, TasksChanged, TasksChanged, JoinSent] == [
        type(event) for event in events[:6]
    ]
    assert [MemberFailed, RejoinRequested, MemberClosed, TasksChanged] == [type(event) for event in events[-4:]]
    led = next(event for event in events if isinstance(event, AssignmentComputed))
    sent = next(event for event in events if isinstance(event, JoinSent))
    assert (11, 11, led.subscription_sizes) == (
        sent.used_version,
        sent.supported_version,
        {"a": sent.subscription_size},
    )
    first = next(event for event in events if isinstance(event, AssignmentReceived))
    assert (True, 11, 11, TASKS) == (
        first.is_leader,
        first.group_version,
        first.group_supported_version,
        first.active.keys(),
    )


def test_a_follow_up_is_the_cause_of_the_next_join() -> None:
    events: list[Event] = []
    leader = Alone(release=release_named("2.0.1"))
    newer = Eager(release=release_named("simulated-4"), observer=events.append)
    for _ in range(2):
        at_once(newer.on_join_prepare(lost=False))
        encoded = newer.subscription(TOPOLOGY.source_topics)
        newer.receive_assignment(
            leader.perform_assignment(CLUSTER, {"a": leader.subscription(TOPOLOGY.source_topics), "b": encoded})["b"]
        )
        at_once(newer.on_join_complete())

    assert [JoinReason.FIRST_JOIN, FollowUpReason.VERSION] == causes(JoinSent, events)
    assert [(4, 4), (3, 4)] == [
        (event.used_version, event.supported_version) for event in events if isinstance(event, JoinSent)
    ]
    assert [False] == [event.leaves_group for event in events if isinstance(event, RejoinRequested)]


def test_the_join_reasons_of_a_revocation() -> None:
    observed: list[list[Event]] = [[], []]
    owner, waiting = (Alone(observer=events.append) for events in observed)
    rebalanced(owner)
    for _ in range(2):
        encoded = {}
        for name, member in (("a", owner), ("b", waiting)):
            at_once(member.on_join_prepare(lost=False))
            owned = {
                partition for partitions in member._notifier.owned_tasks.active.values() for partition in partitions
            }
            encoded[name] = member.subscription(TOPOLOGY.source_topics, owned)
        answers = owner.perform_assignment(CLUSTER, encoded)
        for name, member in (("a", owner), ("b", waiting)):
            member.receive_assignment(answers[name])
            at_once(member.on_join_complete())

    assert [JoinReason.FIRST_JOIN, JoinReason.REBALANCE_IN_PROGRESS, JoinReason.HANDED_OVER] == causes(
        JoinSent, observed[0]
    )
    assert [JoinReason.FIRST_JOIN, FollowUpReason.WITHHELD] == causes(JoinSent, observed[1])


def causes(kind: type[Any], events: list[Event]) -> list[JoinReason | FollowUpReason]:
    return [event.reason for event in events if isinstance(event, kind)]
