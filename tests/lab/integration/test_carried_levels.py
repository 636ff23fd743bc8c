"""KIP-584's timeline on a real cluster: a raised feature reaches our members, beside real Kafka Streams instances."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from kafka import KafkaConsumer

from streams_assignor.clients.kafka_python import StreamsPartitionAssignor
from streams_assignor.demo.member import EmptyStateListener
from streams_assignor.topology import Subtopology, Topology
from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient
from streams_assignor.upgrade.cluster.client.feature_levels import FeatureLevels
from streams_assignor.upgrade.cluster.features.carried_levels import Levels
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, FeatureUpdate, Listener, UpgradeType
from tests.lab.integration.applications import SESSION_MS, TASKS, Application, partitions
from tests.lab.integration.clusters import NEWEST, Cluster
from tests.lab.integration.kafka_jars import Unavailable, class_path
from tests.lab.integration.subprocesses import JavaMember, JavaStreams

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

FEATURE = "transaction.version"
SECONDS = 240.0
RECORDS = 20


class Asking:
    """A real client that counts what it is asked."""

    def __init__(self, client: FeatureClient) -> None:
        self._client, self.times = client, 0

    def describe(self) -> FeatureMetadata:
        self.times += 1
        return self._client.describe()

    def describe_newest(self) -> FeatureMetadata:
        self.times += 1
        return self._client.describe_newest()


class Watcher:
    """A consumer in a thread, whose member watches a feature. It may come with a level, as if it had been there."""

    def __init__(self, cluster: Cluster, application: Application, level: int = 0) -> None:
        self.asking = Asking(FeatureClient(cluster.brokers, Listener.BROKER, timeout_seconds=10))
        self.reported: list[Levels] = []
        self.processed: Counter[str] = Counter()
        self.errors: list[Exception] = []
        self.followed = FeatureLevels([FEATURE], self.asking, every_seconds=0.5, on_levels=self.reported.append)
        self.followed.levels = {FEATURE: level} if level else {}
        self.streams = StreamsPartitionAssignor(
            Topology.of(Subtopology(sources=[application.source], changelogs=[f"{application.name}-store-changelog"])),
            listener=EmptyStateListener(lambda: self.streams.assignor.member.stored),
            extension=self.followed,
        )
        self._consumer = KafkaConsumer(
            bootstrap_servers=cluster.brokers,
            group_id=application.name,
            partition_assignment_strategy=[self.streams],
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=300,
        )
        self.streams.bind(self._consumer)
        self._consumer.subscribe([application.source])
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def _poll(self) -> None:
        try:
            while not self._closing.is_set():
                for partition, records in self._consumer.poll(timeout_ms=1000).items():
                    self.processed[str(partition.partition)] += len(records)
        except Exception as error:
            self.errors.append(error)
        self._consumer.close()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()

    @property
    def tasks(self) -> set[str]:
        received = self.streams.received_assignment
        return {str(task) for task in received.active} if received else set()

    @property
    def level(self) -> int:
        return self.followed.levels.get(FEATURE, 0)

    def was_asked(self) -> None:
        """Wait until it has asked the cluster twice more."""
        before = self.asking.times
        eventually(lambda: self.asking.times >= before + 2, self)


Start = Callable[..., Watcher]


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        class_path(f"org.apache.kafka:kafka_2.13:{NEWEST}")
    except Unavailable as missing:
        pytest.skip(f"no Kafka {NEWEST}: {missing}")
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.start(1)
        yield cluster


@pytest.fixture(name="application")
def fixture_application(cluster: Cluster) -> Application:
    return Application(cluster.brokers)


@pytest.fixture(name="start")
def fixture_start(cluster: Cluster, application: Application) -> Iterator[Start]:
    with ExitStack() as closing:

        def start(level: int = 0) -> Watcher:
            closing.callback((watcher := Watcher(cluster, application, level)).close)
            return watcher

        yield start


def eventually(condition: Callable[[], bool], *members: Watcher | JavaMember) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        for member in members:
            assert not member.errors if isinstance(member, Watcher) else not member.ended, member
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def settle(*members: Watcher | JavaMember) -> None:
    """Wait until every task has one member for a while: it may have to be handed on in a second rebalance."""
    seen: list[list[set[str]]] = []

    def settled() -> bool:
        owned = [member.tasks for member in members]
        if not all(owned) or sorted(TASKS) != sorted(task for tasks in owned for task in tasks):
            seen.clear()
        elif seen and seen[-1] != owned:
            seen[:] = [owned]
        else:
            seen.append(owned)
        return len(seen) >= 20

    eventually(settled, *members)


def finalize(cluster: Cluster, level: int) -> None:
    """Have the cluster at a level, in whatever direction that is."""
    client = FeatureClient(cluster.controllers, Listener.CONTROLLER)
    now = client.describe().finalized.get(FEATURE, 0)
    if level != now:
        how = UpgradeType.UPGRADE if level > now else UpgradeType.SAFE_DOWNGRADE
        client.update({FEATURE: FeatureUpdate(level, how)})


def check_that_all_work(application: Application, java: JavaMember, *watchers: Watcher) -> None:
    """Records reach the owner of their task, and no other member."""
    javas = partitions(java.tasks)
    pythons = partitions(TASKS) - javas
    application.send(RECORDS)
    assert dict.fromkeys(javas, RECORDS) == application.counts(javas, RECORDS)
    eventually(lambda: sum(each.processed.total() for each in watchers) >= RECORDS * len(pythons), *watchers)
    assert dict.fromkeys(pythons, RECORDS) == sum((each.processed for each in watchers), Counter())
    assert all(each.processed for each in watchers)


@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
def test_g2_g4_g6_g8_a_raise_reaches_python_members_beside_java(
    cluster: Cluster, application: Application, start: Start, java_streams: JavaStreams, release: str
) -> None:
    finalize(cluster, 1)
    leader = start()
    settle(leader)
    follower = start()
    settle(leader, follower)
    java = java_streams(release)
    settle(leader, follower, java)
    eventually(lambda: leader.level == follower.level == 1, leader, follower, java)

    finalize(cluster, 2)
    eventually(lambda: leader.level == follower.level == 2, leader, follower, java)
    settle(leader, follower, java)
    check_that_all_work(application, java, leader, follower)
    assert [{FEATURE: 1}, {FEATURE: 2}] == leader.reported == follower.reported

    finalize(cluster, 1)  # which KIP-584 advises against
    leader.was_asked()
    follower.close()
    again = start()
    settle(leader, again, java)
    assert (2, 1) == (leader.level, again.level)  # a new member believes what the cluster confirms
    assert [{FEATURE: 1}] == again.reported

    leader.close()
    settle(again, java)
    assert 1 == again.level
    assert not java.ended


@pytest.mark.parametrize("release", ["2.4.1", "4.3.1"])
def test_g9_a_java_leader_accepts_carried_levels(
    application: Application, start: Start, java_streams: JavaStreams, release: str
) -> None:
    """And passes nothing on: as long as it leads no member asks, and every member keeps its levels."""
    java = java_streams(release)
    settle(java)
    ahead, new = start(level=2), start()
    settle(java, ahead, new)
    check_that_all_work(application, java, ahead, new)

    assert not ahead.streams._is_leader | new.streams._is_leader
    assert (2, 0) == (ahead.level, new.level)
    assert 0 == ahead.asking.times + new.asking.times
