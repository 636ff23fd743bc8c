"""A leader inside a real ``KafkaConsumer`` asks for features, and the group hears of them (rows G3, G4, G6 and G7)."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from threading import Event, Thread
from threading import enumerate as threads
from types import SimpleNamespace
from typing import Any

import pytest

from assignor import observing
from assignor.carried_levels import Levels
from assignor.clients.feature_watch import EVERY_SECONDS, FeatureWatch
from assignor.clients.kafka_python import StreamsPartitionAssignor
from assignor.clients.mock_cluster import MockCluster
from probing import Reason
from tests.assignor.clients.test_kafka_python import (
    SECONDS,
    TASKS,
    TOPOLOGY,
    Running,
    an_assignor,
    eventually,
    owned,
)
from tests.assignor.clients.test_kafka_python import fixture_cluster as fixture_cluster  # the name is how it is found
from tests.assignor.clients.test_looking_up import Admin
from upgrade.features.rpc import Described, Listener, Unreachable

pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")

FEATURE = "group.version"


class Features:
    """A cluster that can be asked: at one level, or out of reach."""

    def __init__(self, level: int = 0) -> None:
        self.level, self.reachable, self.asked = level, True, 0

    def describe(self) -> Described:
        self.asked += 1
        if not self.reachable:
            raise Unreachable("nobody listens")
        return Described(Listener.BROKER, 7, {FEATURE: (0, 9)}, {FEATURE: self.level} if self.level else {})

    def was_asked(self, times: int = 2) -> None:
        """Wait until it has been asked so many times more."""
        before = self.asked
        eventually(lambda: self.asked >= before + times)


class Watcher(Running):
    """A consumer whose member watches a feature and asks its own idea of the cluster, often."""

    def __init__(self, cluster: MockCluster, level: int = 0) -> None:
        self.features = Features(level)
        self.told: list[Levels] = []
        watching: dict[str, Any] = {"watches": [FEATURE], "features": self.features, "features_every_seconds": 0.05}
        self.events: list[observing.Event] = []
        super().__init__(cluster, an_assignor(on_levels=self.told.append, observer=self.events.append, **watching))

    @property
    def level(self) -> int:
        return self.streams.core.member.levels.get(FEATURE, 0)

    @property
    def causes(self) -> list[observing.Cause | Reason]:
        return [event.cause for event in self.events if isinstance(event, observing.JoinSent)]

    @property
    def joins_for_features(self) -> int:
        return self.causes.count(observing.Cause.FEATURES)


Start = Callable[..., Watcher]


def come_to_rest(leader: Watcher, *others: Watcher) -> None:
    """Wait until nobody joins for a while: a rebalance under way would carry a raise, and nobody would ask for one."""

    def rests() -> bool:
        before = [each.causes for each in (leader, *others)]
        leader.features.was_asked(20)  # about a second, and some heartbeats
        return before == [each.causes for each in (leader, *others)]

    eventually(rests)


@pytest.fixture(name="start")
def fixture_start(cluster: MockCluster) -> Iterator[Start]:
    with ExitStack() as closing:

        def start(level: int = 0) -> Watcher:
            closing.callback((watcher := Watcher(cluster, level)).close)
            return watcher

        yield start


def test_g3_only_the_leader_asks(start: Start) -> None:
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
    follower = start()
    eventually(lambda: bool(follower.active) and owned([leader, follower]) == TASKS)
    come_to_rest(leader, follower)
    assert 1 == follower.level
    before = leader.joins_for_features
    leader.features.level = 2
    eventually(lambda: leader.level == follower.level == 2)
    leader.features.was_asked()

    assert (before + 1, 0) == (leader.joins_for_features, follower.joins_for_features)
    assert [{FEATURE: 1}, {FEATURE: 2}] == leader.told == follower.told
    assert [[], []] == [leader.errors, follower.errors]


def test_g7_neither_a_stale_broker_nor_a_new_leader_takes_it_back(start: Start) -> None:
    leader = start(2)
    eventually(lambda: leader.level == 2)
    follower = start(1)  # this is what it will see
    eventually(lambda: follower.level == 2 and owned([leader, follower]) == TASKS)
    leader.features.level = 1
    leader.features.was_asked()
    leader.close()
    eventually(lambda: follower.active == TASKS)
    follower.features.was_asked()
    again = start()
    eventually(lambda: again.level == 2)

    assert [{FEATURE: 2}] == leader.told == follower.told == again.told
    assert 2 == follower.level


def test_it_goes_on_asking_a_cluster_that_does_not_answer(start: Start) -> None:
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

    def __init__(self, **settings: Any) -> None:
        super().__init__(TOPOLOGY, watches=[FEATURE], features=Features(), **settings)
        self.planned: list[float] = []
        self.plan: list[Callable[[], None]] = []
        self.rejoins = 0
        self.consumer = SimpleNamespace(
            assignment=set,
            _coordinator=SimpleNamespace(request_rejoin=lambda: setattr(self, "rejoins", self.rejoins + 1)),
        )

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        self.planned.append(seconds)
        self.plan.append(call)

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
        answers = other.core.assign({"orders": 4}, {"a": self.metadata(["orders"]), "b": other.core.subscription()})
        self.on_assignment(as_metadata(answers["a"]), 1)


def as_metadata(blob: bytes) -> SimpleNamespace:
    return SimpleNamespace(topics=["orders"], encode=lambda: blob)


def test_g6_a_new_leader_does_not_ask_at_once_for_what_members_carry() -> None:
    ahead, leader, first = Alone(), Alone(), Alone()
    ahead._seen = {FEATURE: 2}
    ahead.rebalance()
    leader.rebalance(ahead)
    first.rebalance()

    assert {FEATURE: 2} == leader.core.member.levels
    assert [60.0] == leader.planned
    assert [0.0] == first.planned


def test_g4_a_leader_rejoins_as_long_as_its_group_does_not_know() -> None:
    leader = Alone()
    leader.rebalance()
    rejoins = []
    for level in (2, 1, None, 1, 2, 3):  # stale brokers, and a rebalance after the second
        if level is None:
            leader.rebalance()
        else:
            leader._see({FEATURE: level, "share.version": level})
            leader.plan.pop()()
        rejoins.append(leader.rejoins)

    assert [1, 2, 2, 2, 2, 3] == rejoins


def test_g3_who_does_not_lead_any_more_does_not_ask() -> None:
    member, other = Alone(), Alone()
    member.rebalance()
    member.follow(other)
    (look,) = member.plan
    look()

    assert [look] == member.plan  # it would have planned the next one
    member.rebalance()
    assert [0.0, 0.0] == member.planned


def test_a_leader_with_an_admin_hands_on_what_it_has_seen_as_well() -> None:
    leader = Alone(admin=Admin(orders=4, **{"orders-store-changelog": 4}))
    leader._seen = {FEATURE: 2}
    leader.rebalance()

    assert {FEATURE: 2} == leader.core.member.levels


def test_who_leads_again_goes_on_as_before() -> None:
    leader = Alone()
    leader.rebalance()
    leader.rebalance()

    assert [0.0] == leader.planned


def test_a_callback_that_fails_is_told_again() -> None:
    def told(levels: Levels) -> None:
        calls.append(levels)
        if len(calls) == 1:
            raise LookupError

    calls: list[Levels] = []
    leader = Alone(on_levels=told)
    leader._seen = {FEATURE: 2}
    with pytest.raises(LookupError):
        leader.rebalance()
    leader.rebalance()
    leader.rebalance()

    assert [{FEATURE: 2}] * 2 == calls
    assert leader.failure is None


def test_it_needs_to_know_what_to_watch() -> None:
    with pytest.raises(ValueError, match="names of features to watch"):
        StreamsPartitionAssignor(TOPOLOGY, features=Features())


def test_an_answer_that_comes_after_the_term_is_not_heard() -> None:
    """The leader has lost its office while the cluster was asked."""

    class Slow(Features):
        def describe(self) -> Described:
            assert may_answer.wait(SECONDS)
            return super().describe()

    may_answer, heard, plan = Event(), [], []
    features = Slow(2)
    watch = FeatureWatch(features, heard.append, lambda _, call: plan.append(call))
    watch.lead(at_once=True)
    plan.pop(0)()
    asking = the_thread_that_asks()
    watch.follow()
    may_answer.set()
    asking.join()
    plan.pop(0)()  # and it is not asked again

    assert (1, [], []) == (features.asked, heard, plan)
    assert 60.0 == EVERY_SECONDS


def the_thread_that_asks() -> Thread:
    return next(thread for thread in threads() if thread.name == "feature-watch")
