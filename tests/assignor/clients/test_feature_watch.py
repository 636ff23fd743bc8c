"""A leader inside a real ``KafkaConsumer`` polls features, and its group carries them (rows G3, G4, G6 and G7)."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from streams_assignor.clients.mock_cluster import MockCluster
from streams_assignor.observability import events
from streams_assignor.probing import FollowUpReason
from streams_assignor.upgrade.cluster.client.feature_levels import FeatureLevels
from streams_assignor.upgrade.cluster.features.carried_levels import Levels
from tests.assignor.clients.kafka_python.test_partition_assignor import (
    TASKS,
    Running,
    an_assignor,
    eventually,
    owned,
)
from tests.assignor.clients.kafka_python.test_partition_assignor import (
    fixture_cluster as fixture_cluster,  # the name is how it is found
)
from tests.upgrade.cluster.client.test_feature_levels import FEATURE
from tests.upgrade.cluster.client.test_feature_levels import Features as FeaturesInMemory

pytestmark = [
    pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.clock(reason="librdkafka's mock cluster ends rebalances and sessions by the clock"),
]


class Features(FeaturesInMemory):
    """A cluster that can be asked, and waited for."""

    def was_asked(self, times: int = 2) -> None:
        """Wait until it has been asked so many times more."""
        before = self.asked
        eventually(lambda: self.asked >= before + times)


class Watcher(Running):
    """A consumer whose member watches a feature and asks the cluster, or its own idea of it, often."""

    def __init__(self, cluster: MockCluster, level: int = 0, features: Features | None = None) -> None:
        self.features = features or Features(level)
        self.received_levels: list[Levels] = []
        self.followed = FeatureLevels(
            [FEATURE], self.features, every_seconds=0.05, on_levels=self.received_levels.append
        )
        self.events: list[events.Event] = []
        super().__init__(cluster, an_assignor(observer=self.events.append, extension=self.followed))

    @property
    def level(self) -> int:
        return self.followed.levels.get(FEATURE, 0)

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
