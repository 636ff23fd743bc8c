"""A leader inside a real ``KafkaConsumer`` polls features, and its group carries them (rows G3, G4, G6 and G7)."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from threading import Event, Thread
from threading import enumerate as threads
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from assignor.clients.feature_watch import POLL_SECONDS, FeatureWatch
from assignor.clients.kafka_python import StreamsPartitionAssignor
from assignor.clients.mock_cluster import MockCluster
from assignor.observability import events
from assignor.protocol.feature_levels import Levels
from probing import FollowUpReason
from tests.assignor.clients.kafka_python.test_partition_assignor import (
    SECONDS,
    TASKS,
    TOPOLOGY,
    Running,
    an_assignor,
    eventually,
    owned,
)
from tests.assignor.clients.kafka_python.test_partition_assignor import (
    fixture_cluster as fixture_cluster,  # the name is how it is found
)
from tests.assignor.clients.test_leader_lookup import Admin
from upgrade.cluster.client.errors import Unreachable
from upgrade.cluster.features.rpc import FeatureMetadata, Listener

pytestmark = [
    pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.clock(reason="librdkafka's mock cluster ends rebalances and sessions by the clock"),
]

FEATURE = "group.version"


class Features:
    """A cluster that can be asked: at one level, or out of reach."""

    def __init__(self, level: int = 0) -> None:
        self.level, self.reachable, self.asked = level, True, 0

    def describe(self) -> FeatureMetadata:
        self.asked += 1
        if not self.reachable:
            raise Unreachable("no broker listens")
        return FeatureMetadata(Listener.BROKER, 7, {FEATURE: (0, 9)}, {FEATURE: self.level} if self.level else {})

    def describe_newest(self) -> FeatureMetadata:
        return self.describe()

    def was_asked(self, times: int = 2) -> None:
        """Wait until it has been asked so many times more."""
        before = self.asked
        eventually(lambda: self.asked >= before + times)


class Watcher(Running):
    """A consumer whose member watches a feature and asks the cluster, or its own idea of it, often."""

    def __init__(self, cluster: MockCluster, level: int = 0, features: Features | None = None) -> None:
        self.features = features or Features(level)
        self.received_levels: list[Levels] = []
        watching: dict[str, Any] = {"watches": [FEATURE], "features": self.features, "features_every_seconds": 0.05}
        self.events: list[events.Event] = []
        super().__init__(
            cluster, an_assignor(on_levels=self.received_levels.append, observer=self.events.append, **watching)
        )

    @property
    def level(self) -> int:
        return self.streams.assignor.member.feature_levels.get(FEATURE, 0)

    @property
    def causes(self) -> list[events.JoinReason | FollowUpReason]:
        return [event.reason for event in self.events if isinstance(event, events.JoinSent)]

    @property
    def joins_for_features(self) -> int:
        return self.causes.count(events.JoinReason.FEATURES)


Start = Callable[..., Watcher]


def come_to_rest(leader: Watcher, *others: Watcher) -> None:
    """Wait until no member joins for a while: a rebalance under way would carry a raise without another rebalance."""

    def rests() -> bool:
        before = [each.causes for each in (leader, *others)]
        leader.features.was_asked(20)  # about a second, and some heartbeats
        return before == [each.causes for each in (leader, *others)]

    eventually(rests)


@pytest.fixture(name="start")
def fixture_start(cluster: MockCluster) -> Iterator[Start]:
    with ExitStack() as closing:

        def start(level: int = 0, features: Features | None = None) -> Watcher:
            closing.callback((watcher := Watcher(cluster, level, features)).close)
            return watcher

        yield start


def test_g3_only_the_leader_polls_features(start: Start) -> None:
    leader = start()
    eventually(lambda: leader.active == TASKS)
    follower = start()
    eventually(lambda: bool(follower.active) and owned([leader, follower]) == TASKS)
    leader.features.was_asked()
    assert 0 == follower.features.asked

    leader.close()
    eventually(lambda: follower.active == TASKS)
    follower.features.was_asked()


def test_g4_one_rebalance_carries_a_raise_to_every_member(start: Start) -> None:
    leader = start(1)
    eventually(lambda: leader.level == 1)
    follower = start(features=leader.features)
    eventually(lambda: bool(follower.active) and owned([leader, follower]) == TASKS)
    eventually(lambda: follower.level == 1)
    come_to_rest(leader, follower)
    before = leader.joins_for_features
    leader.features.level = 2
    eventually(lambda: leader.level == follower.level == 2)
    leader.features.was_asked()

    assert (before + 1, 0) == (leader.joins_for_features, follower.joins_for_features)
    assert [{FEATURE: 1}, {FEATURE: 2}] == leader.received_levels == follower.received_levels
    assert [[], []] == [leader.errors, follower.errors]


def test_g7_neither_a_stale_broker_nor_a_new_leader_lowers_a_level(start: Start) -> None:
    leader = start(2)
    eventually(lambda: leader.level == 2)
    follower = start(2)  # a broker of its own
    eventually(lambda: follower.level == 2 and owned([leader, follower]) == TASKS)
    leader.features.level = follower.features.level = 1
    leader.features.was_asked()
    leader.close()
    eventually(lambda: follower.active == TASKS)
    follower.features.was_asked()
    again = start(2)
    eventually(lambda: again.level == 2)

    assert [{FEATURE: 2}] == leader.received_levels == follower.received_levels == again.received_levels
    assert 2 == follower.level


def test_a_cluster_that_does_not_answer_is_polled_again(start: Start) -> None:
    leader = start(1)
    leader.features.reachable = False
    leader.features.was_asked(3)
    assert 0 == leader.level
    leader.features.reachable = True
    eventually(lambda: leader.level == 1)

    assert [] == leader.errors


# -- without a client ------------------------------------------------------------------------------------------------


class Alone(StreamsPartitionAssignor):
    """A member whose client only writes down what it is to do: later, or at the next poll."""

    def __init__(self, features: Features | None = None, **settings: Any) -> None:
        super().__init__(TOPOLOGY, watches=[FEATURE], features=features or Features(), **settings)
        self.planned: list[float] = []
        self.plan: list[Callable[[], None]] = []
        self.rejoins = 0
        self.consumer = SimpleNamespace(
            assignment=set,
            group_metadata=lambda: SimpleNamespace(member_id="a"),
            _coordinator=SimpleNamespace(request_rejoin=lambda: setattr(self, "rejoins", self.rejoins + 1)),
        )

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        self.planned.append(seconds)
        self.plan.append(call)

    def poll(self) -> None:
        """Do what was planned last, a poll, and what follows from its answer."""
        poll = self.plan.pop()
        self.plan.clear()
        poll()
        eventually(lambda: len(self.plan) == 2)  # the answer, and the next poll
        (answer,) = (each for each in self.plan if not isinstance(each, partial))
        self.plan.remove(answer)
        answer()

    def rebalance(self, *others: StreamsPartitionAssignor) -> None:
        """Lead a group of this member and others that do not care for their answer."""
        members = [
            SimpleNamespace(member_id=str(number), metadata=as_metadata(each.metadata(["orders"])))
            for number, each in enumerate([self, *others])
        ]
        answers = self.assign(SimpleNamespace(partitions_for_topic=lambda _: range(4)), members)
        self.on_assignment(as_metadata(answers["0"]), 1)

    def follow(self, other: StreamsPartitionAssignor) -> None:
        """Be answered by another one."""
        answers = other.assignor.assign(
            {"orders": 4}, {"a": self.metadata(["orders"]), "b": other.assignor.subscription()}
        )
        self.on_assignment(as_metadata(answers["a"]), 1)


def as_metadata(encoded: bytes) -> SimpleNamespace:
    return SimpleNamespace(topics=["orders"], encode=lambda: encoded)


def test_g6_a_new_leader_believes_carried_levels_once_the_cluster_confirms_them() -> None:
    """It passes them on and asks immediately; a confirmed level needs no further rebalance."""
    ahead, leader = Alone(), Alone()
    ahead._observed_levels = {FEATURE: 2}
    ahead.rebalance()
    leader.rebalance(ahead)
    assert {} == leader.assignor.member.feature_levels
    assert [0.0] == leader.planned
    leader._on_levels_observed({FEATURE: 2})
    leader.plan.pop()()

    assert {FEATURE: 2} == leader.assignor.member.feature_levels
    assert 0 == leader.rejoins
    leader.rebalance(ahead)
    assert [0.0, 0.0] == leader.planned  # the poll and the answer, and no second poll


def test_a_member_with_a_client_does_not_believe_a_level_that_the_cluster_has_not_answered() -> None:
    """A hostile member wrote 32767 once, and the group believed it for ever."""
    hostile, leader, follower = Alone(), Alone(on_levels=lambda levels: announced.append(dict(levels))), Alone()
    announced: list[Levels] = []
    hostile._observed_levels = {FEATURE: 32767}
    hostile.rebalance()
    follower.follow(hostile)
    rejoins = follower.rejoins  # for tasks that it waits for
    assert {} == follower.assignor.member.feature_levels
    follower._on_levels_observed({FEATURE: 2})  # up to what is finalized
    follower.plan.pop()()
    assert {FEATURE: 2} == follower.assignor.member.feature_levels
    assert {FEATURE: 32767} == follower.assignor.member.unconfirmed_levels
    assert rejoins == follower.rejoins

    leader.rebalance()
    leader._on_levels_observed({FEATURE: 2})
    leader.rebalance(hostile)
    assert {FEATURE: 2} == leader.assignor.member.feature_levels
    assert {} == leader.assignor.member.unconfirmed_levels  # it did not pass the level on
    assert [{FEATURE: 2}] == announced


def test_a_follower_asks_until_the_cluster_confirms_a_level() -> None:
    """A stale broker delays a level; it does not lose it. After that only the leader polls (KIP-584)."""
    leader, follower = Alone(), Alone()
    leader._observed_levels = {FEATURE: 2}
    leader.rebalance()
    follower.follow(leader)
    rejoins = follower.rejoins  # for tasks that it waits for
    assert [0.0] == follower.planned
    assert follower._feature_watch is not None
    for level, polling in ((1, True), (2, False)):
        follower._on_levels_observed({FEATURE: level})
        follower.plan.pop()()
        assert {FEATURE: level} == follower.assignor.member.feature_levels
        assert polling == follower._feature_watch.running

    assert rejoins == follower.rejoins


class OneStale(Features):
    """A cluster of which a random broker is a stale one, still at level 1."""

    def describe_newest(self) -> FeatureMetadata:
        return evolve(self.describe(), finalized={FEATURE: 2})


def test_g6_a_stale_broker_does_not_lower_what_a_new_leader_and_its_group_believe() -> None:
    """The leader passed on the level of the stale broker until a poll happened to reach another one."""
    carrying, leader = Alone(), Alone(OneStale(1))
    carrying._observed_levels = {FEATURE: 2}
    carrying.rebalance()
    leader.rebalance()
    leader.poll()
    leader.rebalance(carrying)
    assert {FEATURE: 1} == leader.assignor.member.feature_levels
    assert {FEATURE: 2} == leader.assignor.withheld_levels  # a hostile member could have written it
    rejoins = leader.rejoins
    leader.poll()
    assert rejoins + 1 == leader.rejoins
    leader.rebalance(carrying)

    assert {FEATURE: 2} == leader.assignor.member.feature_levels
    assert {} == leader.assignor.withheld_levels


def test_a_level_that_stays_in_doubt_is_asked_for_at_once_only_the_first_time() -> None:
    hostile, leader = Alone(), Alone(Features(2))
    hostile._observed_levels = {FEATURE: 32767}
    hostile.rebalance()
    leader.rebalance()
    leader.poll()
    planned = len(leader.planned)
    leader.rebalance(hostile)
    assert [0.0] == leader.planned[planned:]
    leader.rebalance(hostile)

    assert [0.0] == leader.planned[planned:]


def test_a_closed_member_ignores_a_late_answer() -> None:
    member = Alone()
    member.rebalance()
    member._on_levels_observed({FEATURE: 2})
    asyncio.run(member.on_close())
    member.plan.pop()()

    assert (0, {}) == (member.rejoins, member.assignor.member.feature_levels)


def test_g4_a_leader_rejoins_until_the_group_carries_the_levels() -> None:
    leader = Alone()
    leader.rebalance()
    rejoins = []
    for level in (2, 1, None, 1, 2, 3):  # stale brokers, and a rebalance after the second
        if level is None:
            leader.rebalance()
        else:
            leader._on_levels_observed({FEATURE: level, "share.version": level})
            leader.plan.pop()()
        rejoins.append(leader.rejoins)

    assert [1, 2, 2, 2, 2, 3] == rejoins


def test_g3_a_former_leader_does_not_poll_features() -> None:
    member, other = Alone(), Alone()
    member.rebalance()
    member.follow(other)
    (look,) = member.plan
    look()

    assert [look] == member.plan  # it would have planned the next one
    member.rebalance()
    assert [0.0, 0.0] == member.planned


def test_a_leader_with_an_admin_passes_on_observed_levels() -> None:
    leader = Alone(admin=Admin(orders=4, **{"orders-store-changelog": 4}))
    leader._observed_levels = {FEATURE: 2}
    leader.rebalance()

    assert {FEATURE: 2} == leader.assignor.member.feature_levels


def test_a_member_that_leads_again_continues_to_poll() -> None:
    leader = Alone()
    leader.rebalance()
    leader.rebalance()

    assert [0.0] == leader.planned


def test_a_failed_levels_callback_is_called_again() -> None:
    def received_levels(levels: Levels) -> None:
        calls.append(levels)
        if len(calls) == 1:
            raise LookupError

    calls: list[Levels] = []
    leader = Alone(on_levels=received_levels)
    leader._observed_levels = {FEATURE: 2}
    with pytest.raises(LookupError):
        leader.rebalance()
    leader.rebalance()
    leader.rebalance()

    assert [{FEATURE: 2}] * 2 == calls
    assert leader.failure is None


def test_features_need_names_to_watch() -> None:
    with pytest.raises(ValueError, match="names of features to watch"):
        StreamsPartitionAssignor(TOPOLOGY, features=Features())


def test_features_need_both_questions() -> None:
    with pytest.raises(ValueError, match=r"with the methods describe and describe_newest, .* got SimpleNamespace"):
        StreamsPartitionAssignor(TOPOLOGY, watches=[FEATURE], features=SimpleNamespace(describe=Features().describe))


def test_a_poll_that_ends_after_stop_is_dropped() -> None:
    """The leader has lost its office while the cluster was asked."""

    class Slow(Features):
        def describe(self) -> FeatureMetadata:
            assert may_answer.wait(SECONDS)
            return super().describe()

    may_answer, received, plan = Event(), [], []
    features = Slow(2)
    watch = FeatureWatch(features, received.append, lambda _, call: plan.append(call))
    watch.start(immediately=True)
    plan.pop(0)()
    asking = the_thread_that_asks()
    watch.stop()
    may_answer.set()
    asking.join()
    plan.pop(0)()  # and it is not asked again

    assert (1, [], []) == (features.asked, received, plan)
    assert 60.0 == POLL_SECONDS


def the_thread_that_asks() -> Thread:
    return next(thread for thread in threads() if thread.name == "feature-watch")
