"""The assignor inside real ``KafkaConsumer``s, on the embedded cluster."""

import logging
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from itertools import groupby, islice
from threading import Event, Thread, current_thread
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, OffsetAndMetadata
from kafka import TopicPartition as KafkaTopicPartition
from kafka.errors import InvalidRequestError, UnknownMemberIdError
from kafka.future import Future

from streams_assignor.clients._session import Session
from streams_assignor.clients.kafka_python import KafkaPythonAdmin, StreamsPartitionAssignor, _private_api
from streams_assignor.clients.kafka_python._partition_assignor import STABLE_POLL_MS
from streams_assignor.clients.mock_cluster import MockCluster, delay_leader
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.errors import FatalError, UsageError
from streams_assignor.observability.events import JoinReason
from streams_assignor.probing import AssignmentContent, RejoinMode, VersionAnswer
from streams_assignor.probing.follow_up import FollowUpReason
from streams_assignor.rebalance_listener import PartitionsByTask
from streams_assignor.topology import Subtopology, Topology
from streams_assignor.upgrade import StreamsConfig
from tests.assignor.clients.recording_listener import RecordingListener

pytestmark = pytest.mark.clock(reason="librdkafka's mock cluster ends rebalances and sessions by the clock")

TOPOLOGY = Topology.of(Subtopology(sources=["orders"], changelogs=["orders-store-changelog"]))
TASKS = [TaskId(0, partition) for partition in range(4)]
SECONDS = 60.0


class Remembering(StreamsPartitionAssignor):
    """Knows which versions it has sent and how it has been made to rejoin."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.sent: list[int] = []
        self.rejoins: list[RejoinMode] = []
        self.probed: list[Mapping[str, VersionAnswer]] = []

    def perform_assignment(self, *arguments: Any) -> dict[str, bytes]:
        answers = super().perform_assignment(*arguments)
        self.probed.extend([self.assignor.probed] if self.assignor.probed else [])
        return answers

    def metadata(self, topics: Iterable[str]) -> bytes:
        self.sent.append(self.assignor.used_version)
        return super().metadata(topics)

    def on_assignment(self, assignment: Any, generation: int) -> None:
        super().on_assignment(assignment, generation)
        if self.received_assignment.rejoin:
            self.rejoins.append(self.received_assignment.rejoin)


class Listener(ConsumerRebalanceListener):
    """Knows how partitions have gone."""

    def __init__(self) -> None:
        self.callbacks: set[str] = set()

    def on_partitions_revoked(self, revoked: set[object]) -> None:
        self.callbacks.update({"revoked"} if revoked else ())

    def on_partitions_lost(self, lost: set[object]) -> None:
        self.callbacks.update({"lost"} if lost else ())

    def on_partitions_assigned(self, assigned: set[object]) -> None:
        pass


class Running:
    """A consumer that is polled in a thread, as a user would, until it fails or is closed."""

    def __init__(self, cluster: MockCluster, streams: Remembering) -> None:
        self.streams = streams
        self.errors: list[Exception] = []
        self.listener = Listener()
        self.consumer = a_consumer(cluster, streams)
        self.consumer.subscribe(streams.assignor.topology.source_topics, listener=self.listener)
        self._closing = Event()
        self._thread = Thread(target=self._poll)
        streams.bind(self.consumer)
        self._thread.start()

    def _poll(self) -> None:
        # A failed member is polled once more, as every later poll has to fail.
        while not self._closing.is_set() and len(self.errors) < 2:
            try:
                self.consumer.poll(timeout_ms=1500)
            except InvalidRequestError:
                pass  # on the mock cluster the leader's SyncGroup came first; the follower rejoins
            except Exception as error:
                self.errors.append(error)
        self.consumer.close()

    def stop(self) -> None:
        self._closing.set()

    def close(self) -> None:
        self.stop()
        self._thread.join()

    @property
    def active(self) -> list[TaskId]:
        return sorted(self.streams.received_assignment.active) if self.streams.received_assignment else []

    @property
    def version(self) -> int | None:
        return self.streams.received_assignment.version if self.streams.received_assignment else None


@pytest.fixture(name="cluster")
def fixture_cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": len(TASKS)}) as cluster:
        yield cluster


def an_assignor(
    release: str = "streams-assignor",
    standbys: int = 0,
    topology: Topology = TOPOLOGY,
    delay_seconds: float = 0.05,
    **settings: Any,
) -> Remembering:
    config = StreamsConfig(num_standby_replicas=standbys)
    streams = Remembering(topology, config, release=release, **settings)
    delay_leader(streams, delay_seconds)
    return streams


def a_consumer(cluster: MockCluster, *assignors: StreamsPartitionAssignor, **settings: Any) -> KafkaConsumer:
    return KafkaConsumer(
        group_id="billing",
        partition_assignment_strategy=list(assignors),
        heartbeat_interval_ms=200,
        enable_auto_commit=False,
        **{"auto_offset_reset": "earliest", "session_timeout_ms": 1800, **cluster.kafka_python_settings(), **settings},
    )


@contextmanager
def a_group(cluster: MockCluster, *releases: str, standbys: int = 0) -> Iterator[list[Running]]:
    """Consumers that join in this order, so that the first one leads."""
    with ExitStack() as closing:
        members = []
        for release in releases:
            members.append(Running(cluster, an_assignor(release, standbys)))
            closing.callback(members[-1].close)
            eventually(lambda: bool(members[-1].streams.sent))
        yield members
        for member in members:
            member.stop()


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def without_repeats(versions: list[int]) -> list[int]:
    return [version for version, _ in groupby(versions)]


def owned(members: list[Running]) -> list[TaskId]:
    return sorted(task for member in members for task in member.active)


def shared(members: list[Running]) -> bool:
    """Whether each has tasks, and all of them together have all."""
    return all(member.active for member in members) and owned(members) == TASKS


def test_three_consumers_share_the_tasks(cluster: MockCluster) -> None:
    with a_group(cluster, *["streams-assignor"] * 3) as members:
        eventually(lambda: shared(members))
        eventually(lambda: [1, 1, 2] == sorted(len(member.consumer.assignment()) for member in members))

        assert len(TASKS) == len(set().union(*(member.consumer.assignment() for member in members)))


def test_version_probing_goes_down_for_a_newer_member_and_up_without_old_ones(
    cluster: MockCluster,
) -> None:
    with a_group(cluster, "streams-assignor-3", "simulated-4", "simulated-4") as members:
        old, *future = members
        eventually(lambda: [[3], [4, 3], [4, 3]] == [without_repeats(member.streams.sent) for member in members])
        eventually(lambda: shared(members))

        assert {3} == {member.version for member in members}
        assert [[], *[[RejoinMode.KEEP_MEMBER_ID]] * 2] == [member.streams.rejoins for member in members]

        old.close()
        eventually(lambda: shared(future) and {4} == {member.version for member in future})

        assert [[4, 3, 4]] * 2 == [without_repeats(member.streams.sent) for member in future]


@pytest.mark.parametrize("leader", ["kip-268", "2.0.1"])
def test_an_unsubscribe_of_the_rules_leaves_and_joins(cluster: MockCluster, leader: str) -> None:
    # 2.1.1 follows the rules of 2.0, and those leave the group (KIP-268: "unsubscribe / subscribe / poll sequence").
    with a_group(cluster, leader, "2.1.1") as members:
        # The first member may have all tasks before the second one is there.
        eventually(lambda: shared(members) and {3} == {member.version for member in members})

        assert [[], [RejoinMode.LEAVE_AND_JOIN]] == [member.streams.rejoins for member in members]
        assert [[], []] == [member.errors for member in members]


def test_the_rules_of_the_kip_are_chosen_by_the_name_of_a_release(cluster: MockCluster) -> None:
    """The leader answers the newer member with an empty assignment, and that one leaves and joins."""
    with a_group(cluster, "kip-268", "kip-268-next") as (old, new):
        eventually(lambda: shared([old, new]) and {3} == {old.version, new.version})

        assert [[3], [4, 3]] == [without_repeats(member.streams.sent) for member in (old, new)]
        assert [[], [RejoinMode.LEAVE_AND_JOIN]] == [member.streams.rejoins for member in (old, new)]
        assert 1 == len(old.streams.probed)
        assert {VersionAnswer(3, 3, AssignmentContent.EMPTY)} == {*old.streams.probed[0].values()}


def test_a_cooperative_member_receives_only_changes(cluster: MockCluster) -> None:
    listener = RecordingListener()
    member = Running(cluster, an_assignor(listener=listener))
    eventually(lambda: TASKS == sorted(listener.owned_tasks.active))
    other = Running(cluster, an_assignor(listener=(others := RecordingListener())))
    eventually(lambda: len(others.owned_tasks.active) == 2 == len(listener.owned_tasks.active))
    kept = dict(listener.owned_tasks.active)
    other.close()
    eventually(lambda: TASKS == sorted(listener.owned_tasks.active))
    member.close()

    assert {TaskId(0, 1): {TopicPartition("orders", 1)}}.items() <= dict(listener.callbacks[0][1]).items()
    assert ["assigned", "revoked", "assigned", "revoked"] == listener.callback_names
    assert ["assigned", "revoked"] == others.callback_names
    assert not kept.keys() & listener.callbacks[1][1].keys()
    assert listener.callbacks[1][1] == others.callbacks[0][1] == listener.callbacks[2][1]


def test_an_eager_member_revokes_all_tasks_before_it_rejoins(cluster: MockCluster) -> None:
    listener = RecordingListener()
    member = Running(cluster, an_assignor("streams-assignor-3", listener=listener))
    eventually(lambda: TASKS == sorted(listener.owned_tasks.active))
    member.streams.rejoin()
    eventually(lambda: listener.callback_names == ["assigned", "revoked", "assigned"])
    member.close()

    assert [TASKS] * 4 == [sorted(tasks) for _, tasks in listener.callbacks]


@pytest.mark.parametrize("release", ["streams-assignor", "streams-assignor-3"])
def test_tasks_are_lost_after_the_session_timeout(cluster: MockCluster, release: str) -> None:
    listener = RecordingListener()
    member = Running(cluster, an_assignor(release, listener=listener))
    eventually(lambda: TASKS == sorted(listener.owned_tasks.active))
    member.streams.leave_and_join()  # the client has the same state as if the group had thrown it out
    eventually(lambda: listener.callback_names == ["assigned", "lost", "assigned"])
    member.close()


@pytest.mark.parametrize("answer", ["_process_join_group_response", "_process_sync_group_response"])
def test_a_member_removed_during_a_join_loses_its_tasks(cluster: MockCluster, answer: str) -> None:
    """kafka-python prepares once for all attempts to join, and went on as if the tasks were still its own."""
    listener = RecordingListener()
    member = Running(cluster, an_assignor(listener=listener))
    eventually(lambda: TASKS == sorted(listener.owned_tasks.active))
    coordinator = member.consumer._coordinator
    theirs = getattr(coordinator, answer)

    def thrown_out(*_: object) -> None:
        setattr(coordinator, answer, theirs)
        coordinator.reset_generation()
        raise UnknownMemberIdError

    setattr(coordinator, answer, thrown_out)
    member.streams.rejoin()
    eventually(lambda: listener.callback_names == ["assigned", "lost", "assigned"])
    member.close()
    assert {"lost", "revoked"} == member.listener.callbacks


def test_a_leader_gets_new_partitions_although_polls_end_before_the_join(cluster: MockCluster) -> None:
    """Found by CI: such a leader waited for ever, without tasks and without heartbeats (`_resume_pending_join`)."""
    streams = an_assignor(delay_seconds=0.3)  # longer than a poll: it ends between JoinGroup and SyncGroup
    consumer = a_consumer(cluster, streams)
    with closing(consumer):
        consumer.subscribe(["orders"])
        streams.bind(consumer)
        deadline = time.monotonic() + SECONDS
        while not consumer.assignment():
            assert time.monotonic() < deadline
            consumer.poll(timeout_ms=3000)
        before = streams.generation
        consumer._coordinator._assignment_snapshot = {"orders": {0}}  # the others have come since
        while before == streams.generation:
            assert time.monotonic() < deadline
            consumer.poll(timeout_ms=100)


def test_standby_changes_are_announced_without_a_moved_partition(cluster: MockCluster) -> None:
    """The second member gets nothing but copies, so no partition moves, and kafka-python has nothing to tell."""
    topology = Topology.of(Subtopology(sources=["single"], changelogs=["single-store"]))
    cluster.create_topic("single", 1)
    listeners = [RecordingListener() for _ in range(2)]
    streams = [an_assignor(standbys=1, topology=topology, listener=each) for each in listeners]
    task = TaskId(0, 0)
    first = Running(cluster, streams[0])
    eventually(lambda: [task] == sorted(listeners[0].owned_tasks.active))
    second = Running(cluster, streams[1])
    eventually(lambda: [task] == sorted(listeners[1].owned_tasks.standby))
    second.close()
    first.close()

    assert ["standby_added", "standby_removed"] == listeners[1].callback_names
    assert ["assigned", "revoked"] == listeners[0].callback_names


def test_a_listener_may_await_a_commit(cluster: MockCluster) -> None:
    """Which kafka-python allows on its I/O thread only to coroutines."""

    class Committing(RecordingListener):
        async def on_tasks_revoked(self, tasks: PartitionsByTask) -> None:
            await member.consumer.commit_async({partition: OffsetAndMetadata(7, "", -1)})
            super().on_tasks_revoked(tasks)

    partition = KafkaTopicPartition("orders", 0)
    listener = Committing()
    member = Running(cluster, an_assignor("streams-assignor-3", listener=listener))
    eventually(lambda: TASKS == sorted(listener.owned_tasks.active))
    member.streams.rejoin()
    eventually(lambda: listener.callback_names == ["assigned", "revoked", "assigned"])
    member.close()
    assert [] == member.errors


def test_standby_tasks_are_assigned(cluster: MockCluster) -> None:
    with a_group(cluster, *["streams-assignor"] * 2, standbys=1) as members:
        eventually(lambda: shared(members))
        first, second = members

        assert sorted(first.streams.received_assignment.standby) == second.active
        assert sorted(second.streams.received_assignment.standby) == first.active


def test_a_failed_leader_raises_from_every_poll(cluster: MockCluster) -> None:
    # KIP-268's motivation: a 1.1 leader cannot read a newer subscription.
    with a_group(cluster, "1.1.1", "2.0.1") as members:
        leader = members[0]
        eventually(lambda: len(leader.errors) == 2)

    assert [leader.streams.failure] * 2 == leader.errors
    assert isinstance(leader.streams.failure, FatalError)
    assert "TaskAssignmentException: unable to decode subscription data: version=3" in str(leader.errors[0])


def test_a_failed_follower_raises_from_every_poll(cluster: MockCluster) -> None:
    # KAFKA-6054: a leader of 0.10.1 answers version 2 even to version 1.
    with a_group(cluster, "0.10.1.1", "0.10.0.1") as members:
        follower = members[1]
        eventually(lambda: len(follower.errors) == 2)

    assert [follower.streams.failure] * 2 == follower.errors
    assert "Unknown assignment data version" in str(follower.errors[0])


def test_an_exception_of_the_listener_does_not_fail_the_member(cluster: MockCluster) -> None:
    class Failing(RecordingListener):
        def on_tasks_assigned(self, tasks: PartitionsByTask) -> None:
            super().on_tasks_assigned(tasks)
            if self.callback_names == ["assigned"]:
                raise LookupError("no store here")

    listener = Failing()
    member = Running(cluster, an_assignor("streams-assignor-3", listener=listener))
    eventually(lambda: len(member.errors) == 1)
    member.streams.rejoin()
    eventually(lambda: listener.callback_names == ["assigned", "revoked", "assigned"])
    member.close()

    assert ["no store here"] == [error.args[0] for error in member.errors]
    assert member.streams.failure is None


# What this takes from kafka-python is private: a release that moves it fails here.
# (Not seen by member ids: the mock makes them of addresses, and may use one again.)
@pytest.mark.parametrize(
    ("release", "how", "callbacks"),
    [
        ("streams-assignor-3", RejoinMode.KEEP_MEMBER_ID, {"revoked"}),
        ("streams-assignor", RejoinMode.KEEP_MEMBER_ID, set()),  # cooperative: it keeps what it has
        ("streams-assignor", RejoinMode.LEAVE_AND_JOIN, {"lost"}),
    ],
)
def test_rejoin_keeps_the_member_id_and_leave_and_join_does_not(
    cluster: MockCluster, release: str, how: RejoinMode, callbacks: set[str]
) -> None:
    with a_group(cluster, *[release] * 2) as members:
        eventually(lambda: shared(members))
        follower = members[1]
        before = follower.consumer.group_metadata().generation_id
        follower.listener.callbacks.clear()
        follower.streams._request_rejoin(JoinReason.REBALANCE_IN_PROGRESS, how)
        eventually(lambda: follower.consumer.group_metadata().generation_id > before and shared(members))

        assert callbacks == follower.listener.callbacks


def test_call_later_calls_on_the_right_thread(cluster: MockCluster) -> None:
    with a_group(cluster, "streams-assignor") as (member,):
        eventually(lambda: member.active == TASKS)
        called = Event()
        member.streams.call_later(0.05, called.set)
        assert called.wait(SECONDS)


def test_a_later_rejoin_is_cancelled_by_a_newer_assignment(cluster: MockCluster) -> None:
    with a_group(cluster, "streams-assignor") as (member,):
        eventually(lambda: member.active == TASKS)
        before = member.consumer.group_metadata().generation_id
        due = evolve(member.streams.received_assignment, follow_up=FollowUpReason.PROBING, rejoin_at_ms=0)
        member.streams._schedule_follow_up(due)  # which is not the last one
        member.streams.received_assignment = due
        member.streams._schedule_follow_up(due)
        eventually(lambda: member.consumer.group_metadata().generation_id == before + 1)


def test_looking_up_internal_topics_does_not_create_them(cluster: MockCluster) -> None:
    topology = Topology.of(
        Subtopology(sources=["orders"], repartition_sinks=["r"]), Subtopology(repartition_sources=["r"])
    )
    early, late = (StreamsPartitionAssignor(topology) for _ in range(2))
    consumer = a_consumer(cluster, early)
    early.bind(consumer)
    assert not consumer._coordinator._manager.cluster.metadata_request().allow_auto_topic_creation
    consumer.close()
    consumer = a_consumer(cluster, late)
    consumer.subscribe(topology.source_topics)
    with pytest.raises(UsageError, match="before subscribe"):
        late.bind(consumer)
    consumer.close()


def test_a_late_response_about_committed_offsets_is_dropped(cluster: MockCluster) -> None:
    """kafka-python kept a late answer about committed offsets: a partition regained after 79 s began 79 s back."""
    streams = an_assignor()
    consumer = a_consumer(cluster, streams, auto_offset_reset="latest")
    partitions = [KafkaTopicPartition("orders", number) for number in range(len(TASKS))]
    producer = KafkaProducer(**cluster.kafka_python_settings())
    for partition in partitions:
        producer.send(partition.topic, b"", partition=partition.partition)
    producer.close()
    late = Future()
    late.success(dict.fromkeys(partitions, OffsetAndMetadata(0, "", -1)))
    consumer._coordinator._offset_fetch_futures[frozenset(partitions)] = late
    streams.bind(consumer)
    consumer.subscribe(TOPOLOGY.source_topics)
    try:
        read: list[object] = []
        eventually(lambda: bool(read.append(consumer.poll(timeout_ms=1500)) or consumer.assignment()))
        read += [consumer.poll(timeout_ms=500) for _ in range(2)]
        assert not any(read)  # nothing is committed, so it begins at the end
    finally:
        consumer.close()


def test_a_poll_without_bind_is_refused(cluster: MockCluster) -> None:
    consumer = a_consumer(cluster, an_assignor())
    consumer.subscribe(TOPOLOGY.source_topics)
    with pytest.raises(UsageError, match="bind"):
        consumer.poll(timeout_ms=SECONDS * 1000)
    consumer.close()


def test_bind_refuses_a_consumer_without_this_assignor(cluster: MockCluster) -> None:
    consumer = a_consumer(cluster, an_assignor())
    with pytest.raises(UsageError, match="partition_assignment_strategy"):
        an_assignor().bind(consumer)
    consumer.close()


@pytest.mark.parametrize(("reset", "warnings"), [({}, 0), ({"auto_offset_reset": "latest"}, 1)])
def test_bind_warns_of_a_consumer_that_starts_at_the_end(
    cluster: MockCluster, caplog: pytest.LogCaptureFixture, reset: dict[str, str], warnings: int
) -> None:
    streams = an_assignor()
    with (
        closing(a_consumer(cluster, streams, **reset)) as consumer,
        caplog.at_level(logging.WARNING, "streams_assignor"),
    ):
        streams.bind(consumer)

    assert warnings == sum("auto_offset_reset is latest" in each for each in caplog.messages)


def test_only_topics_with_known_partitions_are_passed_on() -> None:
    streams = an_assignor()
    subscription = SimpleNamespace(topics=["orders", "unknown"])
    known = {"orders": set(range(3)), "unknown": None}
    streams._on_elected_leader({"m": streams.assignor.subscription()})
    answers = streams.assign(
        SimpleNamespace(partitions_for_topic=known.get), [SimpleNamespace(member_id="m", metadata=subscription)]
    )

    assert {"m"} == answers.keys()
    assert TASKS[:3] == sorted(streams.assignor.on_assignment(answers["m"]).active)


@pytest.mark.parametrize(
    "name", ["_coordinator.rejoining", "_coordinator._join_task", "_coordinator._offset_fetch_futures"]
)
def test_bind_refuses_a_release_without_a_private_attribute(cluster: MockCluster, name: str) -> None:
    """Also one that is only assigned: the fix against two owners would have no effect."""
    streams = an_assignor()
    with closing(a_consumer(cluster, streams)) as consumer:
        owner, _, attribute = name.rpartition(".")
        kept = vars(operator.attrgetter(owner)(consumer)).pop(attribute)
        try:
            with pytest.raises(
                UsageError, match=rf"^kafka-python [\d.]+ has no KafkaConsumer\.{name}\S*, which .*: install"
            ):
                streams.bind(consumer)
        finally:
            vars(operator.attrgetter(owner)(consumer))[attribute] = kept


def test_bind_looks_up_every_private_name(cluster: MockCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = an_assignor()
    monkeypatch.setattr(_private_api, "PRIVATE_NAMES", (*_private_api.PRIVATE_NAMES, "_fetcher.gone", "gone"))
    refused = pytest.raises(UsageError, match=r"has no KafkaConsumer\._fetcher\.gone, KafkaConsumer\.gone, which")
    with closing(a_consumer(cluster, streams)) as consumer, refused:
        streams.bind(consumer)


def test_commit_callbacks_are_called_in_order(cluster: MockCluster) -> None:
    """Callbacks of commits that were answered between two polls were called in reverse: 5 4 3 2 1 12 11 ... 6.

    kafka-python fails the sixth commit in flight, before the first five are answered.
    """
    partition = KafkaTopicPartition("orders", 0)
    streams = an_assignor()
    called: list[int] = []
    with closing(a_consumer(cluster, streams)) as consumer:
        consumer.subscribe(["orders"])
        streams.bind(consumer)
        eventually(lambda: bool(consumer.poll(timeout_ms=1500) or consumer.assignment()))
        with pytest.raises(TypeError):
            consumer.commit_async({"orders": 0}, lambda *_: called.append(-1))
        for number in range(12):
            consumer.commit_async(
                {partition: OffsetAndMetadata(number, "", -1)}, lambda *_, number=number: called.append(number)
            )
        eventually(lambda: bool(consumer.poll(timeout_ms=100)) or len(called) == 12)
    assert list(range(12)) == called


class Doubt:
    """A clock by which all requests of the I/O thread were sent long ago, as seen by the user's thread."""

    def __init__(self, streams: StreamsPartitionAssignor) -> None:
        self._seconds = 0.0
        self._user = current_thread()
        streams.session._clock = self

    def __call__(self) -> float:
        return time.monotonic() + (self._seconds if current_thread() is self._user else 0)

    def begin(self) -> None:
        self._seconds = 3.0

    def end(self) -> None:
        self._seconds = 0.0


@contextmanager
def a_reader(cluster: MockCluster) -> Iterator[tuple[KafkaConsumer, Doubt, Callable[[], None]]]:
    """A consumer that has joined, its doubt, and a function that sends ten records."""
    streams = an_assignor()
    producer = KafkaProducer(**cluster.kafka_python_settings())
    with closing(a_consumer(cluster, streams, max_poll_records=3, consumer_timeout_ms=300)) as consumer:
        consumer.subscribe(["orders"])
        streams.bind(consumer)
        eventually(lambda: bool(consumer.poll(timeout_ms=1500) or consumer.assignment()))
        yield (
            consumer,
            Doubt(streams),
            lambda: [producer.send("orders", b"", partition=0) for _ in range(10)][-1].get(9),
        )
    producer.close()


def read_rest(consumer: KafkaConsumer, read: list[int]) -> list[int]:
    eventually(lambda: bool(read.extend(each.offset for each in consumer)) or len(read) >= 10)
    return read


def test_a_consumer_with_assigned_partitions_gets_their_records(cluster: MockCluster) -> None:
    """Without a membership nothing was certain, so `poll` returned nothing after `assign`.

    Found with the tests of aiokafka, whose adapter had the same error (docs/reference/client-group-tests.md).
    """
    streams = an_assignor()
    with (
        closing(KafkaProducer(**cluster.kafka_python_settings())) as producer,
        closing(a_consumer(cluster, streams, consumer_timeout_ms=300)) as consumer,
    ):
        streams.bind(consumer)
        consumer.assign([KafkaTopicPartition("orders", 0)])
        [producer.send("orders", b"", partition=0) for _ in range(10)][-1].get(9)
        assert list(range(10)) == read_rest(consumer, [])


def test_a_poll_without_timeout_delivers_nothing_while_ownership_is_in_doubt(cluster: MockCluster) -> None:
    """Those that were not delivered come when the coordinator has confirmed the member."""
    with a_reader(cluster) as (consumer, doubt, send):
        send()
        read = [each.offset for records in consumer.poll(timeout_ms=9000).values() for each in records]
        doubt.begin()
        assert [{}] * 20 == [consumer.poll(timeout_ms=0) for _ in range(20)]
        doubt.end()
        assert list(range(10)) == read_rest(consumer, read)


def test_an_iterator_stops_in_the_middle_of_a_batch_while_ownership_is_in_doubt(cluster: MockCluster) -> None:
    with a_reader(cluster) as (consumer, doubt, send):
        send()
        read: list[int] = []
        eventually(lambda: bool(read.extend(each.offset for each in islice(consumer, 1)) or read))
        doubt.begin()
        assert [] == list(consumer)
        doubt.end()
        assert list(range(10)) == read_rest(consumer, read)


def test_a_poll_that_was_suspended_delivers_nothing_while_ownership_is_in_doubt(cluster: MockCluster) -> None:
    def begin_doubt() -> None:
        fetcher.send_fetches = ask  # type: ignore[method-assign]
        ask()
        doubt.begin()
        send()

    with a_reader(cluster) as (consumer, doubt, send):
        fetcher = consumer._fetcher
        ask, fetcher.send_fetches = fetcher.send_fetches, begin_doubt  # in the call, before it waits
        assert {} == consumer.poll(timeout_ms=1500)
        doubt.end()
        assert list(range(10)) == read_rest(consumer, [])


def test_a_poll_raises_when_doubt_lasts_too_long(cluster: MockCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "confirm", lambda *_: None)
    with a_reader(cluster) as (consumer, doubt, send):
        send()
        doubt.begin()
        with pytest.raises(FatalError, match=r"TimeoutException: .*no heartbeat for more than 3 session timeouts"):
            consumer.poll(timeout_ms=SECONDS * 1000)


def test_a_join_counts_on_the_clock_of_the_session(cluster: MockCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """kafka-python's clock stands still while a machine sleeps: a member that joined later was in doubt at once."""
    monkeypatch.setattr(Session, "confirm", lambda *_: None)
    streams = an_assignor()
    streams.session = Session(lambda: time.monotonic() + 1000)
    with closing(a_consumer(cluster, streams, session_timeout_ms=60_000)) as consumer:
        consumer.subscribe(["orders"])
        streams.bind(consumer)
        eventually(lambda: bool(consumer.poll(timeout_ms=1500) or consumer.assignment()))
        assert streams.session.is_certain()


def test_private_methods_do_what_their_names_say(cluster: MockCluster) -> None:
    member = Running(cluster, an_assignor())
    eventually(lambda: TASKS == member.active)
    called = Event()
    member.streams.call_soon(called.set)
    assert called.wait(SECONDS)
    before = member.streams.session.certain_until
    eventually(lambda: member.streams.session.certain_until > before)
    assert not member.streams.is_generation_lost
    assert STABLE_POLL_MS == member.streams.poll_timeout_ms
    member.close()


def test_the_connections_of_a_bound_consumer_have_a_limit_of_memory(cluster: MockCluster) -> None:
    """A coordinator that announced 2 GB took 1.6 GB of memory."""
    with a_group(cluster, "streams-assignor") as members:
        eventually(lambda: shared(members))
        connections = members[0].consumer._coordinator._manager._conns.values()

        assert {"_SocketInParts"} == {type(each.transport._sock).__name__ for each in connections}


def test_an_admin_connects_at_its_first_use_and_knows_its_settings() -> None:
    KafkaPythonAdmin("billing", bootstrap_servers="127.0.0.1:1").close()
    with pytest.raises(UsageError, match="expected settings of KafkaAdminClient, got bootstrap_server"):
        KafkaPythonAdmin("billing", bootstrap_server="127.0.0.1:1")
