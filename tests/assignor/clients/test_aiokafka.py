"""The assignor inside real ``AIOKafkaConsumer``s, on the embedded cluster."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import groupby
from threading import Event
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.errors import KafkaError

from assignor.clients.aiokafka import StreamsPartitionAssignor, _wake
from assignor.clients.mock_cluster import SYNC_GRACE_SECONDS, MockCluster
from assignor.errors import FatalError
from assignor.task_listener import Tasks
from assignor.topology import Subtopology, Topology
from subscription_codec import TaskId, TopicPartition
from tests.assignor.clients import test_kafka_python
from tests.assignor.clients.listening import Recorder, Rival
from tests.assignor.clients.test_looking_up import Admin
from upgrade import StreamsConfig, release_named

TOPOLOGY = Topology.of(Subtopology(sources=["orders"], changelogs=["orders-store-changelog"]))
TASKS = [TaskId(0, partition) for partition in range(4)]
SECONDS = 60.0


class Running:
    """A consumer that is asked for records in a task, as a user would, until it fails or is stopped."""

    def __init__(self, cluster: MockCluster, release: str = "streams-assignor", **settings: Any) -> None:
        self.settings = {"standbys": 0, "listener": Recorder(), **settings}
        standbys = self.settings.pop("standbys")
        self.listener: Any = self.settings["listener"]
        self.sent: list[int] = []
        self.errors: list[Exception] = []
        self.streams = StreamsPartitionAssignor(
            TOPOLOGY,
            StreamsConfig(num_standby_replicas=standbys),
            release=release_named(release),
            sync_grace_seconds=SYNC_GRACE_SECONDS,
            **self.settings,
        )
        self.consumer = a_consumer(cluster, self.streams)
        self.streams.bind(self.consumer)
        metadata = self.streams.metadata
        self.streams.metadata = lambda topics: self.sent.append(self.streams.core.used_version) or metadata(topics)  # type: ignore[method-assign,func-returns-value]
        self._stopping = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        calls: list[Callable[[], Awaitable[object]]] = [self.consumer.start]
        # A dying member is asked again, to see that it stays dead.
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
        return sorted(self.streams.received.active) if self.streams.received else []

    @property
    def generation(self) -> int:
        return int(self.consumer._coordinator.generation)

    @property
    def version(self) -> int | None:
        return self.streams.received.version if self.streams.received else None


@pytest.fixture(name="cluster")
def fixture_cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": len(TASKS)}) as cluster:
        yield cluster


def a_consumer(cluster: MockCluster, *assignors: object, **settings: Any) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        *TOPOLOGY.source_topics,
        **{
            "bootstrap_servers": cluster.bootstrap,
            "group_id": "billing",
            "partition_assignment_strategy": list(assignors),
            "session_timeout_ms": 1800,
            "heartbeat_interval_ms": 200,
            "enable_auto_commit": False,
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
            await asyncio.sleep(0.1)
        yield members


async def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)


def without_repeats(versions: Iterable[int]) -> list[int]:
    return [version for version, _ in groupby(versions)]


def owned(members: Iterable[Running]) -> list[TaskId]:
    return sorted(task for member in members for task in member.active)


def shared(members: Sequence[Running]) -> bool:
    """Whether each has tasks, and all of them together have all."""
    return all(member.active for member in members) and owned(members) == TASKS


def run(scenario: Awaitable[None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 2 * SECONDS))  # type: ignore[arg-type]


def test_a_consumer_that_was_never_started_can_be_stopped(cluster: MockCluster) -> None:
    async def scenario() -> None:
        streams = StreamsPartitionAssignor(TOPOLOGY)
        consumer = a_consumer(cluster, streams)
        streams.bind(consumer)
        await consumer.stop()

    run(scenario())


def test_it_gives_each_task_to_one_consumer_of_three_and_the_next_one_leads_when_the_leader_leaves(
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


def test_it_probes_a_member_from_the_future_down_and_the_group_up_when_the_last_old_one_has_gone(
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


def test_it_leaves_and_joins_where_the_rules_say_unsubscribe(cluster: MockCluster) -> None:
    async def scenario() -> None:
        async with a_group(cluster, "2.0.1", "2.1.1") as members:
            await eventually(lambda: shared(members) and {3} == {member.version for member in members})
        assert [[], []] == [member.errors for member in members]

    run(scenario())


def test_who_is_silent_loses_its_tasks_and_comes_back(cluster: MockCluster) -> None:
    async def scenario() -> None:
        async with a_group(cluster, *["streams-assignor"] * 2) as (first, second):
            await eventually(lambda: shared([first, second]))
            heartbeat = second.consumer._coordinator._do_heartbeat
            second.consumer._coordinator._do_heartbeat = lambda: asyncio.sleep(0.1, result=True)  # says nothing
            await eventually(lambda: first.active == TASKS)
            second.consumer._coordinator._do_heartbeat = heartbeat
            await eventually(lambda: "lost" in second.listener.words)
            await eventually(lambda: len(first.active) == len(second.active) == 2)
            assert ["assigned", "lost", "assigned"] == second.listener.words
            assert {"assigned", "revoked"} == set(first.listener.words)

    run(scenario())


@pytest.mark.parametrize(("how", "word"), [("rejoin", "revoked"), ("leave_and_join", "lost")])
def test_it_rejoins_as_a_member_or_leaves_first(cluster: MockCluster, how: str, word: str) -> None:
    async def scenario() -> None:
        async with a_group(cluster, "streams-assignor") as (member,):
            await eventually(lambda: member.listener.words == ["assigned"])
            before = member.generation
            getattr(member.streams, how)()
            await eventually(lambda: member.listener.words == ["assigned", word, "assigned"])
            assert before < member.generation
        assert "revoked" == member.listener.words[-1]  # before it leaves
        assert not member.listener.held.active

    run(scenario())


def test_it_does_something_later(cluster: MockCluster) -> None:
    async def scenario() -> None:
        async with a_group(cluster, "streams-assignor") as (member,):
            await eventually(lambda: member.active == TASKS)
            called = asyncio.Event()
            await asyncio.to_thread(member.streams.call_later, 0.05, called.set)
            await asyncio.wait_for(called.wait(), SECONDS)

    run(scenario())
    StreamsPartitionAssignor(TOPOLOGY).call_later(0, lambda: None)  # not started: there is no loop


def test_it_tells_of_standbys_and_sends_what_its_listener_knows(cluster: MockCluster) -> None:
    async def scenario() -> None:
        first, second = (
            Running(cluster, standbys=1, listener=Recorder(dict.fromkeys(TASKS, number))) for number in (7, 8)
        )
        await eventually(lambda: sorted(first.listener.held.standby) == sorted(second.listener.held.active) != [])
        await eventually(lambda: sorted(second.listener.held.standby) == sorted(first.listener.held.active))
        assert dict.fromkeys(TASKS, 7) == first.streams._sums
        await first.stop()
        await second.stop()
        assert not first.listener.held.active
        assert not first.listener.held.standby

    run(scenario())


def test_a_listener_may_be_asynchronous_and_use_the_consumer(cluster: MockCluster) -> None:
    class Committing(Recorder):
        async def assigned(self, tasks: Tasks) -> None:  # type: ignore[override]
            await asyncio.sleep(0.01)
            super().assigned(tasks)

        async def revoked(self, tasks: Tasks) -> None:  # type: ignore[override]
            offsets.append({partition: await member.consumer.position(partition) for partition in a_partition})
            await member.consumer.commit(offsets[-1])
            super().revoked(tasks)

        async def offset_sums(self) -> Mapping[TaskId, int]:  # type: ignore[override]
            return {TASKS[0]: 5}

    async def scenario() -> None:
        nonlocal member
        member = Running(cluster, listener=Committing())
        await eventually(lambda: member.listener.words == ["assigned"])
        a_partition.extend(sorted(member.consumer.assignment())[:1])
        member.streams.rejoin()
        await eventually(lambda: member.listener.words == ["assigned", "revoked", "assigned"])
        assert {TASKS[0]: 5} == member.streams._sums
        await member.stop()
        assert [] == member.errors

    offsets: list[dict[Any, int]] = []
    a_partition: list[Any] = []
    member: Running = None  # type: ignore[assignment]
    run(scenario())
    assert 2 == len(offsets)


def test_a_leader_that_must_die_raises_from_everything(cluster: MockCluster) -> None:
    # KIP-268's motivation: a 1.1 leader cannot read a newer subscription.
    async def scenario() -> None:
        async with a_group(cluster, "1.1.1", "2.0.1") as members:
            leader = members[0]
            await eventually(lambda: len(leader.errors) == 3)
        assert [leader.streams.failure] * 3 == leader.errors
        assert isinstance(leader.streams.failure, FatalError)
        assert "TaskAssignmentException: unable to decode subscription data: version=3" in str(leader.errors[0])

    run(scenario())


def test_a_follower_that_must_die_raises_from_everything(cluster: MockCluster) -> None:
    # KAFKA-6054: a leader of 0.10.1 answers version 2 even to version 1.
    async def scenario() -> None:
        async with a_group(cluster, "0.10.1.1", "0.10.0.1") as members:
            follower = members[1]
            await eventually(lambda: len(follower.errors) == 3)
        assert [follower.streams.failure] * 3 == follower.errors
        assert "Unknown assignment data version" in str(follower.errors[0])

    run(scenario())


def test_who_waits_for_one_record_hears_of_the_end_as_well(cluster: MockCluster) -> None:
    async def scenario() -> None:
        async with a_group(cluster, "2.0.1") as (other,):
            await eventually(lambda: other.active == TASKS)
            await other.stop()
        streams = StreamsPartitionAssignor(TOPOLOGY, release=release_named("1.1.1"))
        consumer = a_consumer(cluster, streams)
        streams.bind(consumer)
        async with consumer:
            waiting = asyncio.create_task(consumer.getone())
            await asyncio.sleep(0.05)
            newer = Running(cluster, "2.0.1")
            with pytest.raises(FatalError, match="unable to decode"):
                await waiting
            with pytest.raises(FatalError, match="unable to decode"):
                async for _ in consumer:
                    pass
        await newer.stop()

    run(scenario())


def test_a_listener_that_fails_is_no_failure_of_the_member_and_is_told_what_follows(cluster: MockCluster) -> None:
    class Failing(Recorder):
        def assigned(self, tasks: Tasks) -> None:
            super().assigned(tasks)
            if self.words == ["assigned"]:
                raise LookupError("no store here")

    async def scenario() -> None:
        member = Running(cluster, listener=Failing())
        await eventually(lambda: len(member.errors) == 1)
        await eventually(lambda: member.consumer._coordinator._heartbeat_task is not None)
        member.streams.rejoin()
        await eventually(lambda: member.listener.words == ["assigned", "revoked", "assigned"])
        await member.stop()
        assert ["no store here"] == [error.args[0] for error in member.errors]
        assert member.streams.failure is None

    run(scenario())


def test_the_users_own_listener_and_errors_of_aiokafka_are_left_alone(cluster: MockCluster) -> None:
    class Theirs(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked: object) -> None:  # noqa: ARG002  # aiokafka's signature
            heard.append("revoked")

        async def on_partitions_assigned(self, assigned: object) -> None:  # noqa: ARG002
            heard.append("assigned")

    async def scenario() -> None:
        streams = StreamsPartitionAssignor(TOPOLOGY)
        consumer = a_consumer(cluster, streams)
        streams.bind(consumer)
        consumer.subscribe(TOPOLOGY.source_topics, listener=Theirs())
        async with consumer:
            assert ["revoked", "assigned"] == heard
            waiting = asyncio.create_task(consumer.getone())
            await asyncio.sleep(0.05)
            _wake(consumer, KafkaError("of another kind"))
            with pytest.raises(KafkaError, match="of another kind"):
                await waiting

    heard: list[str] = []
    run(scenario())


def test_an_admin_that_takes_its_time_does_not_stop_the_loop(cluster: MockCluster) -> None:
    """It answers only when the loop has gone on while it was asked."""

    class Slow(Admin):
        def partitions(self, topics: Iterable[str]) -> Any:
            asked.set()
            answers.append(goes_on.wait(SECONDS))
            return super().partitions(topics)

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


def test_internal_topics_are_there_before_the_consumer_looks_for_them(cluster: MockCluster) -> None:
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
        streams = StreamsPartitionAssignor(topology, admin=Creating(orders=4), listener=(listener := Recorder()))
        consumer = AIOKafkaConsumer(
            *topology.source_topics,
            bootstrap_servers=cluster.bootstrap,
            group_id="billing",
            partition_assignment_strategy=[streams],
            session_timeout_ms=1800,
            heartbeat_interval_ms=200,
        )
        streams.bind(consumer)
        async with consumer:
            assert 8 == len(listener.held.active)
            assert {TopicPartition("r", 3)} == listener.held.active[TaskId(1, 3)]

    run(scenario())


@pytest.mark.parametrize("works_around", [True, False])
def test_a_member_without_partitions_can_rejoin_although_nobody_asks_for_records(
    monkeypatch: pytest.MonkeyPatch, works_around: bool
) -> None:
    """aiokafka's #1187. Where this passes without our help, that can go."""
    if not works_around:
        monkeypatch.setattr(StreamsPartitionAssignor, "_busy", lambda *_, **__: None)

    async def scenario(cluster: MockCluster) -> None:
        holder = Running(cluster)
        await eventually(lambda: holder.active == TASKS[:1])
        streams = StreamsPartitionAssignor(TOPOLOGY, sync_grace_seconds=SYNC_GRACE_SECONDS)
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


def test_beside_cooperative_members_nobody_gets_what_another_still_has(cluster: MockCluster) -> None:
    """The eager one leads, so it has to see in the bytes of the others what they keep."""

    async def scenario() -> None:
        eager = Running(cluster, listener=listeners[0])
        await eventually(lambda: eager.active == TASKS)
        cooperative = [
            await asyncio.to_thread(
                test_kafka_python.Running, cluster, test_kafka_python.an_assignor(listener=listener)
            )
            for listener in listeners[1:]
        ]
        await eventually(lambda: [1, 1, 2] == sorted(len(listener.held.active) for listener in listeners))
        await asyncio.to_thread(cooperative[0].close)
        await eventually(lambda: [2, 2] == [len(listeners[number].held.active) for number in (0, 2)])
        await eager.stop()
        await eventually(lambda: TASKS == sorted(listeners[2].held.active))
        await asyncio.to_thread(cooperative[1].close)
        assert [] == eager.errors + cooperative[0].errors + cooperative[1].errors

    listeners: list[Recorder] = []
    rivals = [Rival(listeners) for _ in range(3)]
    run(scenario())
    assert {"assigned", "revoked"} == set().union(*(rival.words for rival in rivals))
    assert [set()] * 3 == [rival.contested for rival in rivals]


def test_it_has_to_be_bound_and_to_be_alone(cluster: MockCluster) -> None:
    async def scenario() -> None:
        streams, other = StreamsPartitionAssignor(TOPOLOGY), StreamsPartitionAssignor(TOPOLOGY)
        for consumer in (a_consumer(cluster, other), a_consumer(cluster, streams, other)):
            with pytest.raises(ValueError, match="with this assignor, and no other"):
                streams.bind(consumer)
            await consumer.stop()
        unbound = a_consumer(cluster, streams)
        with pytest.raises(KafkaError, match=r"call bind\(consumer\)"):
            await unbound.start()
        with pytest.raises(KafkaError):
            await unbound.getone()
        await unbound.stop()

    run(scenario())
