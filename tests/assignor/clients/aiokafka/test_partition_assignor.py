"""The assignor inside real ``AIOKafkaConsumer``s, on the embedded cluster."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import groupby
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener
from aiokafka import TopicPartition as AiokafkaTopicPartition
from aiokafka.errors import KafkaError

from streams_assignor.clients.aiokafka import StreamsPartitionAssignor, _private_api
from streams_assignor.clients.mock_cluster import MockCluster, delay_leader
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.errors import FatalError, UsageError
from streams_assignor.observability import events as member_events
from streams_assignor.probing import AssignmentContent, VersionAnswer
from streams_assignor.rebalance_listener import PartitionsByTask
from streams_assignor.topology import Subtopology, Topology
from streams_assignor.upgrade import StreamsConfig, release_named
from tests.assignor.clients.kafka_python import test_partition_assignor
from tests.assignor.clients.recording_listener import ContentionListener, RecordingListener
from tests.assignor.clients.test_leader_lookup import Admin

pytestmark = pytest.mark.clock(reason="librdkafka's mock cluster ends rebalances and sessions by the clock")

TOPOLOGY = Topology.of(Subtopology(sources=["orders"], changelogs=["orders-store-changelog"]))
TASKS = [TaskId(0, partition) for partition in range(4)]
SECONDS = 60.0


class Running:
    """A consumer that is asked for records in a task, as a user would, until it fails or is stopped."""

    def __init__(self, cluster: MockCluster, release: str = "streams-assignor", **settings: Any) -> None:
        self.settings = {"standbys": 0, "listener": RecordingListener(), **settings}
        standbys = self.settings.pop("standbys")
        self.listener: Any = self.settings["listener"]
        self.sent: list[int] = []
        self.errors: list[Exception] = []
        self.streams = StreamsPartitionAssignor(
            TOPOLOGY,
            StreamsConfig(num_standby_replicas=standbys),
            release=release,
            **self.settings,
        )
        delay_leader(self.streams)
        self.consumer = a_consumer(cluster, self.streams)
        self.streams.bind(self.consumer)
        metadata = self.streams.metadata

        def recording(topics: Iterable[str]) -> bytes:
            self.sent.append(self.streams.assignor.used_version)
            return metadata(topics)

        self.streams.metadata = recording  # type: ignore[method-assign]
        self._stopping = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        calls: list[Callable[[], Awaitable[object]]] = [self.consumer.start]
        # A failed member fetches again, as every later call has to fail.
        while not self._stopping.is_set() and len(self.errors) < 3:
            try:
                await calls[-1]()
            except Exception as error:
                self.errors.append(error)
            calls.append(lambda: self.consumer.getmany(timeout_ms=100))
        await self.consumer.stop()

    async def stop(self) -> None:
        self._stopping.set()
        await self._task

    @property
    def active(self) -> list[TaskId]:
        return sorted(self.streams.received_assignment.active) if self.streams.received_assignment else []

    @property
    def generation(self) -> int:
        return _private_api.generation(self.consumer).generation_id

    @property
    def version(self) -> int | None:
        return self.streams.received_assignment.version if self.streams.received_assignment else None


@pytest.fixture(name="cluster")
def fixture_cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": len(TASKS)}) as cluster:
        yield cluster


def a_consumer(cluster: MockCluster, *assignors: object, **settings: Any) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        *TOPOLOGY.source_topics,
        **{
            **cluster.aiokafka_settings(),
            "group_id": "billing",
            "partition_assignment_strategy": list(assignors),
            "session_timeout_ms": 1800,
            "heartbeat_interval_ms": 200,
            "enable_auto_commit": False,
            "auto_offset_reset": "earliest",
            **settings,
        },
    )


@asynccontextmanager
async def a_group(cluster: MockCluster, *releases: str, **settings: Any) -> AsyncIterator[list[Running]]:
    """Consumers that join in this order, so that the first one leads."""
    async with AsyncExitStack() as stopping:
        members = []
        for release in releases:
            members.append(Running(cluster, release, **settings))
            stopping.push_async_callback(members[-1].stop)
            await eventually(lambda: bool(members[-1].sent))
        yield members


async def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)


def waits_for_records(consumer: AIOKafkaConsumer) -> bool:
    """Whether a call waits for records."""
    return bool(consumer._fetcher._fetch_waiters)


def has_fetched(consumer: AIOKafkaConsumer) -> bool:
    """Whether there are records that no call has returned yet."""
    return bool(consumer._fetcher._records)


def without_repeats(versions: Iterable[int]) -> list[int]:
    return [version for version, _ in groupby(versions)]


def owned(members: Iterable[Running]) -> list[TaskId]:
    return sorted(task for member in members for task in member.active)


def shared(members: Sequence[Running]) -> bool:
    """Whether each has tasks, and all of them together have all."""
    return all(member.active for member in members) and owned(members) == TASKS


def run(scenario: Awaitable[None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 2 * SECONDS))  # type: ignore[arg-type]


@pytest.mark.parametrize(("reset", "warnings"), [({}, 0), ({"auto_offset_reset": "latest"}, 1)])
def test_bind_warns_of_a_consumer_that_starts_at_the_end(
    cluster: MockCluster, caplog: pytest.LogCaptureFixture, reset: dict[str, str], warnings: int
) -> None:
    async def scenario() -> None:
        streams = StreamsPartitionAssignor(TOPOLOGY)
        consumer = a_consumer(cluster, streams, **reset)
        with caplog.at_level(logging.WARNING, "streams_assignor"):
            streams.bind(consumer)
        await consumer.stop()

    run(scenario())
    assert warnings == sum("auto_offset_reset is latest" in each for each in caplog.messages)


def test_a_consumer_that_was_never_started_can_be_stopped(cluster: MockCluster) -> None:
    async def scenario() -> None:
        streams = StreamsPartitionAssignor(TOPOLOGY)
        consumer = a_consumer(cluster, streams)
        streams.bind(consumer)
        await consumer.stop()

    run(scenario())


def test_the_rules_of_the_kip_are_chosen_by_the_name_of_a_release(cluster: MockCluster) -> None:
    """The leader answers the newer member with an empty assignment, and that one joins with the lower version."""

    async def scenario() -> None:
        events: list[member_events.Event] = []
        async with a_group(cluster, "kip-268", "kip-268-next", observer=events.append) as (old, new):
            await eventually(lambda: shared([old, new]) and {3} == {old.version, new.version})

            assert [[3], [4, 3]] == [without_repeats(member.sent) for member in (old, new)]
        probed = [
            event.probed for event in events if isinstance(event, member_events.AssignmentComputed) and event.probed
        ]
        assert [[VersionAnswer(3, 3, AssignmentContent.EMPTY)]] == [[*answers.values()] for answers in probed]
        assert [True] == [event.leaves_group for event in events if isinstance(event, member_events.RejoinRequested)]

    run(scenario())


def test_three_consumers_share_the_tasks_and_a_new_leader_follows(
    cluster: MockCluster,
) -> None:
    async def scenario() -> None:
        async with a_group(cluster, *["streams-assignor"] * 3) as members:
            await eventually(lambda: shared(members))
            await eventually(lambda: [1, 1, 2] == sorted(len(member.consumer.assignment()) for member in members))
            await members[0].stop()
            await eventually(lambda: shared(members[1:]))
            await eventually(lambda: [2, 2] == [len(member.consumer.assignment()) for member in members[1:]])
            assert 4 == len(set().union(*(member.consumer.assignment() for member in members[1:])))
        assert [[]] * 3 == [member.errors for member in members]

    run(scenario())


def test_version_probing_goes_down_for_a_newer_member_and_up_without_old_ones(
    cluster: MockCluster,
) -> None:
    async def scenario() -> None:
        async with a_group(cluster, "streams-assignor-3", "simulated-4", "simulated-4") as members:
            old, *future = members
            await eventually(lambda: [[3], [4, 3], [4, 3]] == [without_repeats(member.sent) for member in members])
            await eventually(lambda: shared(members))
            assert {3} == {member.version for member in members}
            await old.stop()
            await eventually(lambda: shared(future) and {4} == {member.version for member in future})
            assert [[4, 3, 4]] * 2 == [without_repeats(member.sent) for member in future]

    run(scenario())


def test_an_unsubscribe_of_the_rules_leaves_and_joins(cluster: MockCluster) -> None:
    async def scenario() -> None:
        async with a_group(cluster, "2.0.1", "2.1.1") as members:
            await eventually(lambda: shared(members) and {3} == {member.version for member in members})
        assert [[], []] == [member.errors for member in members]

    run(scenario())


def test_a_member_without_heartbeats_loses_its_tasks_and_rejoins(cluster: MockCluster) -> None:
    async def scenario() -> None:
        async with a_group(cluster, *["streams-assignor"] * 2) as (first, second):
            await eventually(lambda: shared([first, second]))
            heartbeat = second.consumer._coordinator._do_heartbeat
            second.consumer._coordinator._do_heartbeat = lambda: asyncio.sleep(0.1, result=True)  # says nothing
            await eventually(lambda: first.active == TASKS)
            second.consumer._coordinator._do_heartbeat = heartbeat
            await eventually(lambda: "lost" in second.listener.callback_names)
            await eventually(lambda: len(first.active) == len(second.active) == 2)
            assert ["assigned", "lost", "assigned"] == second.listener.callback_names
            assert {"assigned", "revoked"} == set(first.listener.callback_names)

    run(scenario())


@pytest.mark.parametrize(("how", "word"), [("rejoin", "revoked"), ("leave_and_join", "lost")])
def test_rejoin_keeps_the_member_id_and_leave_and_join_does_not(cluster: MockCluster, how: str, word: str) -> None:
    async def scenario() -> None:
        async with a_group(cluster, "streams-assignor") as (member,):
            await eventually(lambda: member.listener.callback_names == ["assigned"])
            before = member.generation
            getattr(member.streams, how)()
            await eventually(lambda: member.listener.callback_names == ["assigned", word, "assigned"])
            assert before < member.generation
        assert "revoked" == member.listener.callback_names[-1]  # before it leaves
        assert not member.listener.owned_tasks.active

    run(scenario())


def test_call_later_calls_on_the_right_thread(cluster: MockCluster) -> None:
    async def scenario() -> None:
        async with a_group(cluster, "streams-assignor") as (member,):
            await eventually(lambda: member.active == TASKS)
            called = asyncio.Event()
            await asyncio.to_thread(member.streams.call_later, 0.05, called.set)
            await asyncio.wait_for(called.wait(), SECONDS)

    run(scenario())
    StreamsPartitionAssignor(TOPOLOGY).call_later(0, lambda: None)  # not started: there is no loop


def test_standby_tasks_are_announced_and_offset_sums_are_sent(cluster: MockCluster) -> None:
    async def scenario() -> None:
        first, second = (
            Running(cluster, standbys=1, listener=RecordingListener(dict.fromkeys(TASKS, number))) for number in (7, 8)
        )
        await eventually(
            lambda: sorted(first.listener.owned_tasks.standby) == sorted(second.listener.owned_tasks.active) != []
        )
        await eventually(
            lambda: sorted(second.listener.owned_tasks.standby) == sorted(first.listener.owned_tasks.active)
        )
        assert dict.fromkeys(TASKS, 7) == first.streams._offset_sums
        await first.stop()
        await second.stop()
        assert not first.listener.owned_tasks.active
        assert not first.listener.owned_tasks.standby

    run(scenario())


def test_a_listener_may_be_asynchronous_and_use_the_consumer(cluster: MockCluster) -> None:
    class Committing(RecordingListener):
        async def on_tasks_assigned(self, tasks: PartitionsByTask) -> None:  # type: ignore[override]
            await asyncio.sleep(0.01)
            super().on_tasks_assigned(tasks)

        async def on_tasks_revoked(self, tasks: PartitionsByTask) -> None:  # type: ignore[override]
            offsets.append({partition: await member.consumer.position(partition) for partition in a_partition})
            await member.consumer.commit(offsets[-1])
            super().on_tasks_revoked(tasks)

        async def offset_sums(self) -> Mapping[TaskId, int]:  # type: ignore[override]
            return {TASKS[0]: 5}

    async def scenario() -> None:
        nonlocal member
        member = Running(cluster, listener=Committing())
        await eventually(lambda: member.listener.callback_names == ["assigned"])
        a_partition.extend(sorted(member.consumer.assignment())[:1])
        member.streams.rejoin()
        await eventually(lambda: member.listener.callback_names == ["assigned", "revoked", "assigned"])
        assert {TASKS[0]: 5} == member.streams._offset_sums
        await member.stop()
        assert [] == member.errors

    offsets: list[dict[Any, int]] = []
    a_partition: list[Any] = []
    member: Running = None  # type: ignore[assignment]
    run(scenario())
    assert 2 == len(offsets)


def test_a_failed_leader_raises_from_every_method(cluster: MockCluster) -> None:
    # KIP-268's motivation: a 1.1 leader cannot read a newer subscription.
    async def scenario() -> None:
        async with a_group(cluster, "1.1.1", "2.0.1") as members:
            leader = members[0]
            await eventually(lambda: len(leader.errors) == 3)
        assert [leader.streams.failure] * 3 == leader.errors
        assert isinstance(leader.streams.failure, FatalError)
        assert "TaskAssignmentException: unable to decode subscription data: version=3" in str(leader.errors[0])

    run(scenario())


def test_a_failed_follower_raises_from_every_method(cluster: MockCluster) -> None:
    # KAFKA-6054: a leader of 0.10.1 answers version 2 even to version 1.
    async def scenario() -> None:
        async with a_group(cluster, "0.10.1.1", "0.10.0.1") as members:
            follower = members[1]
            await eventually(lambda: len(follower.errors) == 3)
        assert [follower.streams.failure] * 3 == follower.errors
        assert "Unknown assignment data version" in str(follower.errors[0])

    run(scenario())


def test_a_blocked_poll_ends_when_another_thread_closes(cluster: MockCluster) -> None:
    async def scenario() -> None:
        async with a_group(cluster, "2.0.1") as (other,):
            await eventually(lambda: other.active == TASKS)
            await other.stop()
        streams = StreamsPartitionAssignor(TOPOLOGY, release=release_named("1.1.1"))
        consumer = a_consumer(cluster, streams)
        streams.bind(consumer)
        async with consumer:
            waiting = asyncio.create_task(consumer.getone())
            await eventually(lambda: waits_for_records(consumer))
            newer = Running(cluster, "2.0.1")
            with pytest.raises(FatalError, match="unable to decode"):
                await waiting
            with pytest.raises(FatalError, match="unable to decode"):
                async for _ in consumer:
                    pass
        await newer.stop()

    run(scenario())


def test_an_exception_of_the_listener_does_not_fail_the_member(cluster: MockCluster) -> None:
    class Failing(RecordingListener):
        def on_tasks_assigned(self, tasks: PartitionsByTask) -> None:
            super().on_tasks_assigned(tasks)
            if self.callback_names == ["assigned"]:
                raise LookupError("no store here")

    async def scenario() -> None:
        member = Running(cluster, listener=Failing())
        await eventually(lambda: len(member.errors) == 1)
        await eventually(lambda: member.consumer._coordinator._heartbeat_task is not None)
        member.streams.rejoin()
        await eventually(lambda: member.listener.callback_names == ["assigned", "revoked", "assigned"])
        await member.stop()
        assert ["no store here"] == [error.args[0] for error in member.errors]
        assert member.streams.failure is None

    run(scenario())


def test_the_users_own_listener_and_errors_of_aiokafka_are_left_alone(cluster: MockCluster) -> None:
    class Theirs(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked: object) -> None:  # noqa: ARG002  # aiokafka's signature
            callbacks.append("revoked")

        async def on_partitions_assigned(self, assigned: object) -> None:  # noqa: ARG002
            callbacks.append("assigned")

    async def scenario() -> None:
        streams = StreamsPartitionAssignor(TOPOLOGY)
        consumer = a_consumer(cluster, streams)
        streams.bind(consumer)
        consumer.subscribe(TOPOLOGY.source_topics, listener=Theirs())
        async with consumer:
            assert ["revoked", "assigned"] == callbacks
            waiting = asyncio.create_task(consumer.getone())
            await eventually(lambda: waits_for_records(consumer))
            _private_api.abort_waiters(consumer, KafkaError("of another kind"))
            with pytest.raises(KafkaError, match="of another kind"):
                await waiting

    callbacks: list[str] = []
    run(scenario())


def test_a_slow_admin_does_not_block_the_event_loop(cluster: MockCluster) -> None:
    """It answers only when the loop has gone on while it was asked."""

    class Slow(Admin):
        def partition_counts(self, topics: Iterable[str]) -> Any:
            asked.set()
            answers.append(goes_on.wait(SECONDS))
            return super().partition_counts(topics)

    async def scenario() -> None:
        admin = Slow(orders=4)
        member = Running(cluster, admin=admin)
        await eventually(asked.is_set)
        goes_on.set()
        await eventually(lambda: member.active == TASKS)
        await member.stop()
        assert {"orders-store-changelog": 4} == admin.created

    answers: list[bool] = []
    asked, goes_on = Event(), Event()
    run(scenario())
    assert {True} == set(answers)


def test_a_leader_waits_for_the_metadata_of_a_new_topic() -> None:
    """A leader left out the tasks of a topic that its client was still looking up, and gave them a generation later.

    Found with aiokafka's own tests (docs/reference/client-group-tests.md). The fetcher waits for metadata, too.
    """
    calls: list[object] = []

    async def call(name: object) -> None:
        calls.append(name)

    async def perform(_: object) -> None:
        await call("topics of the group")
        await asyncio.create_task(client._maybe_wait_metadata())  # as the fetcher does, in its own task
        await client._maybe_wait_metadata()
        await call("assign")

    client = SimpleNamespace(_maybe_wait_metadata=lambda: call("metadata"))
    coordinator = SimpleNamespace(
        _cluster="cluster", _perform_assignment=perform, _on_join_complete=None, _on_join_prepare=None
    )

    async def scenario() -> None:
        _private_api.hook_rebalance_callbacks(
            SimpleNamespace(_coordinator=coordinator, _client=client),
            on_join_prepare=lambda: call("prepare"),
            on_elected_leader=lambda *seen: call(seen),
            on_assigned=calls.append,
            on_join_complete=lambda: call("complete"),
        )
        await coordinator._perform_assignment(SimpleNamespace(members=[("m", b"subscription")]))
        await client._maybe_wait_metadata()

    run(scenario())
    elected = ("cluster", {"m": b"subscription"})
    assert calls == ["topics of the group", "metadata", "metadata", elected, "assign", "metadata"]


def test_internal_topics_are_created_before_the_consumer_looks_them_up(cluster: MockCluster) -> None:
    class Creating(Admin):
        def create(self, topics: Any) -> None:
            super().create(topics)
            for topic in topics:
                cluster.create_topic(topic.name, topic.partitions)
                self.topics[topic.name] = topic.partitions

    async def scenario() -> None:
        topology = Topology.of(
            Subtopology(sources=["orders"], repartition_sinks=["r"]), Subtopology(repartition_sources=["r"])
        )
        streams = StreamsPartitionAssignor(
            topology, admin=Creating(orders=4), listener=(listener := RecordingListener())
        )
        consumer = AIOKafkaConsumer(
            *topology.source_topics,
            bootstrap_servers=cluster.bootstrap_servers,
            group_id="billing",
            partition_assignment_strategy=[streams],
            auto_offset_reset="earliest",
            session_timeout_ms=1800,
            heartbeat_interval_ms=200,
        )
        streams.bind(consumer)
        async with consumer:
            assert 8 == len(listener.owned_tasks.active)
            assert {TopicPartition("r", 3)} == listener.owned_tasks.active[TaskId(1, 3)]

    run(scenario())


@pytest.mark.parametrize("works_around", [True, False])
def test_a_member_without_partitions_can_rejoin_without_fetching(
    monkeypatch: pytest.MonkeyPatch, works_around: bool
) -> None:
    """aiokafka's #1187. Where this passes without our help, that can go."""
    if not works_around:
        monkeypatch.setattr(StreamsPartitionAssignor, "_keep_active", lambda *_, **__: None)

    async def scenario(cluster: MockCluster) -> None:
        holder = Running(cluster)
        await eventually(lambda: holder.active == TASKS[:1])
        streams = StreamsPartitionAssignor(TOPOLOGY)
        delay_leader(streams)
        spare = a_consumer(cluster, streams, max_poll_interval_ms=2500)
        streams.bind(spare)
        async with spare:
            await eventually(lambda: holder.active == TASKS[:1])
            assert not spare.assignment()
            await asyncio.sleep(2.6)  # longer than max_poll_interval_ms
            await holder.stop()
            if works_around:
                await eventually(lambda: bool(spare.assignment()))
            else:
                await asyncio.sleep(3)
                assert not spare.assignment()

    with MockCluster(topics={"orders": 1}) as cluster:
        run(scenario(cluster))


def test_an_eager_leader_withholds_tasks_that_cooperative_members_own(cluster: MockCluster) -> None:
    """The eager one leads, so it has to see in the bytes of the others what they keep."""

    async def scenario() -> None:
        eager = Running(cluster, listener=listeners[0])
        await eventually(lambda: eager.active == TASKS)
        cooperative = [
            await asyncio.to_thread(
                test_partition_assignor.Running, cluster, test_partition_assignor.an_assignor(listener=listener)
            )
            for listener in listeners[1:]
        ]
        await eventually(lambda: [1, 1, 2] == sorted(len(listener.owned_tasks.active) for listener in listeners))
        await asyncio.to_thread(cooperative[0].close)
        await eventually(lambda: [2, 2] == [len(listeners[number].owned_tasks.active) for number in (0, 2)])
        await eager.stop()
        await eventually(lambda: TASKS == sorted(listeners[2].owned_tasks.active))
        await asyncio.to_thread(cooperative[1].close)
        assert [] == eager.errors + cooperative[0].errors + cooperative[1].errors

    listeners: list[RecordingListener] = []
    rivals = [ContentionListener(listeners) for _ in range(3)]
    run(scenario())
    assert {"assigned", "revoked"} == set().union(*(rival.callback_names for rival in rivals))
    assert [set()] * 3 == [rival.contested for rival in rivals]


def test_bind_is_required_and_checks_for_a_single_assignor(cluster: MockCluster) -> None:
    async def scenario() -> None:
        streams, other = StreamsPartitionAssignor(TOPOLOGY), StreamsPartitionAssignor(TOPOLOGY)
        for consumer in (a_consumer(cluster, other), a_consumer(cluster, streams, other)):
            with pytest.raises(UsageError, match="with this assignor, and no other"):
                streams.bind(consumer)
            await consumer.stop()
        unbound = a_consumer(cluster, streams)
        with pytest.raises(KafkaError, match=r"call bind\(consumer\)"):
            await unbound.start()
        with pytest.raises(KafkaError):
            await unbound.getone()
        await unbound.stop()

    run(scenario())


@pytest.mark.parametrize(
    ("names", "missing"),
    [("PRIVATE_NAMES", r"_subscription\.gone"), ("COORDINATOR_NAMES", r"_coordinator\._subscription\.gone")],
)
def test_bind_refuses_a_release_without_a_private_name(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch, names: str, missing: str
) -> None:
    monkeypatch.setattr(_private_api, names, (*getattr(_private_api, names), "_subscription.gone"))

    async def scenario() -> None:
        streams = StreamsPartitionAssignor(TOPOLOGY)
        consumer = a_consumer(cluster, streams)
        with pytest.raises(
            UsageError, match=rf"^aiokafka [\d.]+ has no AIOKafkaConsumer\.{missing}, which .*: install"
        ):
            streams.bind(consumer)
        await consumer.stop()

    run(scenario())


def test_the_names_of_a_coordinator_are_those_of_a_started_one(cluster: MockCluster) -> None:
    """`bind` reads them from the class; a release that assigns one elsewhere fails here."""

    async def scenario() -> None:
        member = Running(cluster)
        await eventually(lambda: member.active == TASKS)
        coordinator = member.consumer._coordinator
        assert [] == [name for name in _private_api.COORDINATOR_NAMES if not hasattr(coordinator, name)]
        await member.stop()

    run(scenario())


class Doubt:
    """A clock that jumps: requests count as sent long ago, and heartbeats are not answered meanwhile."""

    def __init__(self, streams: StreamsPartitionAssignor) -> None:
        self._streams = streams
        self._seconds = 0.0
        streams.session._clock = self
        streams.session.confirm = self._confirm  # type: ignore[method-assign]
        self._theirs = type(streams.session).confirm

    def __call__(self) -> float:
        return time.monotonic() + self._seconds

    def _confirm(self, sent_at: float) -> None:
        if not self._seconds:
            self._theirs(self._streams.session, sent_at)

    def begin(self) -> None:
        self._seconds = 3.0

    def end(self) -> None:
        self._seconds = 0.0


@asynccontextmanager
async def a_reader(
    cluster: MockCluster,
) -> AsyncIterator[tuple[AIOKafkaConsumer, Doubt, Callable[[], Awaitable[object]]]]:
    """A consumer that has joined, its doubt, and a function that sends ten records."""
    streams = StreamsPartitionAssignor(TOPOLOGY)
    delay_leader(streams)
    consumer = a_consumer(cluster, streams)
    doubt = Doubt(streams)
    streams.bind(consumer)
    producer = AIOKafkaProducer(**cluster.aiokafka_settings())
    await producer.start()
    await consumer.start()
    await eventually(lambda: bool(consumer.assignment()) and streams.session.is_certain())

    async def send() -> None:
        for _ in range(10):
            await producer.send_and_wait("orders", b"", partition=0)

    yield consumer, doubt, send
    await consumer.stop()
    await producer.stop()


async def read_rest(consumer: AIOKafkaConsumer, read: list[int]) -> list[int]:
    while len(read) < 10:
        for records in (await consumer.getmany(timeout_ms=500)).values():
            read += [record.offset for record in records]
    return read


def test_nothing_is_delivered_while_ownership_is_in_doubt(cluster: MockCluster) -> None:
    """Those that were not delivered come when the coordinator has confirmed the member."""

    async def scenario() -> None:
        async with a_reader(cluster) as (consumer, doubt, send):
            await send()
            read = [(await consumer.getone()).offset]
            doubt.begin()
            assert [{}] * 21 == [await consumer.getmany() for _ in range(20)] + [await consumer.getmany(timeout_ms=300)]
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(consumer.getone(), 0.3)
            doubt.end()
            read.append((await consumer.getone()).offset)
            assert list(range(10)) == await read_rest(consumer, read)

    run(scenario())


def test_a_consumer_with_assigned_partitions_gets_their_records(cluster: MockCluster) -> None:
    """Without a membership nothing was certain, so `getone` waited for ever after `assign`.

    Found with aiokafka's own tests (docs/reference/client-group-tests.md).
    """

    async def scenario() -> None:
        streams = StreamsPartitionAssignor(TOPOLOGY)
        consumer = AIOKafkaConsumer(
            **cluster.aiokafka_settings(),
            group_id="billing",
            partition_assignment_strategy=[streams],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        streams.bind(consumer)
        consumer.assign([AiokafkaTopicPartition("orders", 0)])
        async with AIOKafkaProducer(**cluster.aiokafka_settings()) as producer, consumer:
            for _ in range(10):
                await producer.send_and_wait("orders", b"", partition=0)
            read = [(await consumer.getone()).offset]
            assert list(range(10)) == await read_rest(consumer, read)

    run(scenario())


def test_a_consumer_that_goes_from_subscribe_to_assign_keeps_its_partitions() -> None:
    """Delivery stopped for a subscription that was manual by then, which aiokafka refuses with an `AssertionError`.

    Found with aiokafka's own test `test_subscribe_manual`.
    """

    async def scenario() -> None:
        consumer = AIOKafkaConsumer(bootstrap_servers="127.0.0.1:1", group_id="billing")
        consumer.subscribe(["orders"])
        consumer._subscription.unsubscribe()  # `consumer.unsubscribe` needs a broker, to leave the group
        consumer.assign([partition := AiokafkaTopicPartition("orders", 0)])

        _private_api.stop_delivery(consumer)

        assert {partition} == consumer.assignment()

    run(scenario())


@pytest.mark.parametrize("method", ["getone", "getmany"])
def test_a_call_that_was_suspended_delivers_nothing_while_ownership_is_in_doubt(
    cluster: MockCluster, method: str
) -> None:
    async def scenario() -> None:
        async with a_reader(cluster) as (consumer, doubt, send):
            waiting = asyncio.create_task(
                consumer.getone() if method == "getone" else consumer.getmany(timeout_ms=30_000)
            )
            await eventually(lambda: waits_for_records(consumer))
            doubt.begin()
            await send()
            await eventually(waiting.done if method == "getmany" else lambda: has_fetched(consumer))
            assert waiting.done() == (method == "getmany")
            doubt.end()
            read = [(await waiting).offset] if method == "getone" else []
            assert not await waiting or read
            assert list(range(10)) == await read_rest(consumer, read)

    run(scenario())


def test_a_commit_after_a_failure_asks_no_broker(cluster: MockCluster) -> None:
    """It looked for its coordinator for ever."""

    async def scenario() -> None:
        async with a_reader(cluster) as (consumer, doubt, send):
            await send()
            await consumer.getone()
            doubt.begin()
            with pytest.raises(FatalError, match="TimeoutException"):
                await consumer.getone()
            consumer._coordinator.coordinator_dead()
            consumer._client.coordinator_lookup = asyncio.Future  # never answered
            with pytest.raises(FatalError, match="TimeoutException"):
                await consumer.commit()
            del consumer._client.coordinator_lookup

    run(scenario())


def test_a_call_that_waits_raises_when_doubt_lasts_too_long(cluster: MockCluster) -> None:
    async def scenario() -> None:
        async with a_reader(cluster) as (consumer, doubt, _):
            waiting = asyncio.create_task(consumer.getone())
            await eventually(lambda: waits_for_records(consumer))
            doubt.begin()
            for call in (waiting, consumer.getmany()):
                with pytest.raises(
                    FatalError, match=r"TimeoutException: .*no heartbeat for more than 3 session timeouts"
                ):
                    await call

    run(scenario())
