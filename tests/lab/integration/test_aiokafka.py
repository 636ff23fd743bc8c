"""Our members on aiokafka, which are always eager, on a real broker and beside real Kafka Streams instances."""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from pathlib import Path

import aiokafka
import pytest
from aiokafka import AIOKafkaConsumer
from attrs import asdict

from streams_assignor.clients.aiokafka import AiokafkaAdmin, StreamsPartitionAssignor
from streams_assignor.clients.leader_lookup import LookupFailed
from streams_assignor.codec import TopicPartition
from streams_assignor.demo.member_settings import MemberSettings
from streams_assignor.errors import FatalError
from streams_assignor.protocol.internal_topics import NewTopic
from streams_assignor.topology import Subtopology, Topology
from streams_assignor.upgrade import StreamsConfig, release_named
from tests.assignor.clients.recording_listener import ContentionListener, RecordingListener
from tests.lab.integration.applications import Application, settle
from tests.lab.integration.subprocesses import JavaStreams, PythonMember, Subprocess
from tests.lab.integration.test_real_broker import check_that_both_work, only, versions
from tests.matrix import with_matrix

pytestmark = [pytest.mark.broker, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
SECONDS = 240.0


class AiokafkaMember(PythonMember):
    """``streams-assignor member`` on aiokafka."""

    def __init__(self, application: Application, broker: str, **settings: str) -> None:
        reported = MemberSettings(
            bootstrap_servers=broker,
            group=application.name,
            topic=(application.source,),
            session_timeout_ms=application.session_timeout_ms,
            **settings,
        )
        command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {_MAIN}"]
        Subprocess.__init__(self, "the aiokafka member", [*command, json.dumps(asdict(reported))])


_MAIN = "import runpy; runpy.run_module('tests.lab.integration.aiokafka_member', run_name='__main__')"


@pytest.mark.java
@pytest.mark.parametrize("first", ["java", "aiokafka"])
@pytest.mark.parametrize(
    "release",
    [
        *with_matrix(["2.0.1", "2.3.1", "2.4.1", "4.3.1"], ["2.0.1", "4.3.1"], "a release in between"),
        *(pytest.param(each, marks=pytest.mark.exhaustive) for each in ("2.8.2", "3.9.2")),
    ],
)
def test_members_lead_and_follow_each_other(
    application: Application, broker: str, java_streams: JavaStreams, release: str, first: str
) -> None:
    """The first one leads. Where Java is cooperative it keeps what it has, while the eager one gives up everything."""
    latest = release_named(release).supported_version
    with AiokafkaMember(application, broker) if first == "aiokafka" else nullcontext() as early:
        if early is not None:
            settle(early)
        java = java_streams(release)
        settle(*filter(None, (early, java)))
        with AiokafkaMember(application, broker) if early is None else nullcontext(early) as python:
            settle(java, python)

            assert {first == "aiokafka"} == {event["leader"] for event in only("assigned", member=python)}
            assert latest == only("assigned", member=python)[-1]["version"]
            assert 11 == versions(python)[0][0]
            check_that_both_work(application, java, python)
            assert 0 == python.stop()


# -- a group of its own ------------------------------------------------------------------------------------------------


class Member:
    """A consumer with an admin, in this loop."""

    def __init__(
        self, broker: str, group: str, topology: Topology, rivals: list[RecordingListener], **settings: int
    ) -> None:
        self.listener = ContentionListener(rivals, {})
        self.admin = AiokafkaAdmin(group, replication_factor=1, bootstrap_servers=broker)
        self.streams = StreamsPartitionAssignor(
            topology, StreamsConfig(num_standby_replicas=1), admin=self.admin, listener=self.listener
        )
        self.consumer = AIOKafkaConsumer(
            *topology.source_topics,
            bootstrap_servers=broker,
            group_id=group,
            partition_assignment_strategy=[self.streams],
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=60_000,
            heartbeat_interval_ms=300,
            **settings,
        )
        self.streams.bind(self.consumer)

    async def start(self) -> None:
        await self.consumer.start()

    async def stop(self) -> None:
        await self.consumer.stop()
        await self.admin.close()


def run(scenario: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 1.5 * SECONDS))


async def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.05)


def test_a_group_creates_its_topics_and_moves_its_tasks(application: Application, broker: str) -> None:
    repartition, changelog = (f"{application.name}-{what}" for what in ("r-repartition", "r-changelog"))
    topology = Topology.of(
        Subtopology(sources=[application.source], repartition_sinks=[repartition]),
        Subtopology(repartition_sources=[repartition], changelogs=[changelog]),
    )
    tasks = set(topology.tasks({application.source: 6, repartition: 6}))

    async def scenario() -> None:
        first, second = (Member(broker, application.name, topology, listeners) for _ in range(2))
        await first.start()
        assert tasks == first.listener.owned_tasks.active.keys()
        counts = await asyncio.to_thread(first.admin.partition_counts, [repartition, changelog, "nowhere"])
        assert {repartition: 6, changelog: 6} == counts
        await second.start()
        await eventually(lambda: len(first.listener.owned_tasks.active) == len(second.listener.owned_tasks.active) == 6)
        await eventually(lambda: {task.subtopology for task in second.listener.owned_tasks.standby} == {1})
        assert tasks == {*first.listener.owned_tasks.active, *second.listener.owned_tasks.active}
        await first.stop()
        assert not first.listener.owned_tasks.active
        await eventually(lambda: tasks == second.listener.owned_tasks.active.keys())
        await second.stop()
        assert "lost" not in [*first.listener.callback_names, *second.listener.callback_names]
        assert set() == first.listener.contested | second.listener.contested
        assert first.streams._listener_error is second.streams._listener_error is None

    listeners: list[RecordingListener] = []
    run(scenario())


def test_a_member_that_does_not_fetch_loses_its_tasks_and_rejoins(application: Application, broker: str) -> None:
    topology = Topology.of(Subtopology(sources=[application.source]))

    async def scenario() -> None:
        member = Member(broker, application.name, topology, [], max_poll_interval_ms=2000)
        await member.start()
        await eventually(lambda: ["assigned", "lost"] == member.listener.callback_names)
        assert not member.streams.failure
        while ["assigned", "lost", "assigned"] != member.listener.callback_names[:3]:
            await member.consumer.getmany(timeout_ms=10)
        await member.stop()

    run(scenario())


def test_the_admin_returns_topics_and_offsets_or_raises(application: Application, broker: str) -> None:
    source, missing = TopicPartition(application.source, 0), f"{application.name}-nowhere"

    async def scenario() -> None:
        settings = {"bootstrap_servers": broker, "group_id": application.name, "enable_auto_commit": False}
        async with AIOKafkaConsumer(**settings) as consumer:
            partition = aiokafka.TopicPartition(*source)
            consumer.assign([partition])
            await consumer.commit({partition: 7})
        admin = AiokafkaAdmin(application.name, replication_factor=1, bootstrap_servers=broker)
        application.send(3)
        await asyncio.to_thread(ask, admin)
        await admin.close()
        with pytest.raises(ValueError, match="replication factor of at least 1, got -1"):
            AiokafkaAdmin(application.name, replication_factor=-1)

    def ask(admin: AiokafkaAdmin) -> None:
        assert (
            {}
            == admin.partition_counts([])
            == admin.end_offsets([])
            == admin.committed_offsets([])
            == admin.replica_racks([])
        )
        assert {application.source: 6} == admin.partition_counts([application.source, missing])
        assert {source: 3} == admin.end_offsets([source])
        assert {source: 7, TopicPartition(application.source, 1): 0} == admin.committed_offsets(
            [source, TopicPartition(application.source, 1)]
        )
        assert {None} == admin.replica_racks([application.source])[source]  # a broker without one
        admin.create([NewTopic(application.source, 6, {}), NewTopic(missing, 1, {"cleanup.policy": "compact"})])
        assert {missing: 1} == admin.partition_counts([missing])
        with pytest.raises(FatalError, match="could not create topics not/allowed: InvalidTopicError"):
            admin.create([NewTopic("not/allowed", 1, {})])

    run(scenario())


def test_an_admin_without_a_broker_raises_lookup_failed_each_time() -> None:
    async def scenario() -> None:
        admin = AiokafkaAdmin("g", replication_factor=1, bootstrap_servers="127.0.0.1:1")
        for _ in range(2):
            with pytest.raises(LookupFailed):
                await asyncio.to_thread(admin.partition_counts, ["t"])
        await admin.close()

    run(scenario())
