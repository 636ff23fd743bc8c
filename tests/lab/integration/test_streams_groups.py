"""Members of streams groups (KIP-1071) on a real broker: Python members alone, and beside Kafka Streams."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka.protocol.admin import IncrementalAlterConfigsRequest

from streams_assignor import FatalError, Subtopology, Topology
from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.clients.kafka_python.broker_connection import BrokerConnection
from streams_assignor.codec import TaskId
from streams_assignor.demo.load_generator import LoadGenerator
from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from streams_assignor.upgrade.cluster.client.connection import Deadline
from tests.assignor.clients.recording_listener import RecordingListener
from tests.lab.integration.applications import PARTITIONS, Application, partitions, settle, settled
from tests.lab.integration.clusters import NEWEST, Cluster
from tests.lab.integration.confluent_members import ConfluentMember, read_behind_a_commit, read_by
from tests.lab.integration.kafka_jars import Unavailable, counting
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, JavaMember, wait_until
from tests.lab.integration.test_confluent import check_a_clean_failover, numbers, read_committed, wait_for_all
from tests.matrix import with_matrix

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

PER_SECOND = 200
RECORDS = 20
STREAMS = {"group.protocol": "streams"}
# A member fails if its topics are missing for two heartbeat intervals, and on a busy machine the coordinator learns of
# a new topic seconds after it was created.
TIMEOUTS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.session.timeout.ms": "12000",
    "group.streams.max.session.timeout.ms": "600000",
    "group.streams.min.heartbeat.interval.ms": "1000",
    "group.streams.heartbeat.interval.ms": "4000",
}
Start = Callable[..., ConfluentMember]


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A broker of the newest release, with short timeouts of streams groups."""
    try:
        with Cluster(tmp_path_factory.mktemp("streams-groups"), metadata="4.3-IV0", others=0) as cluster:
            cluster.start(1, settings=TIMEOUTS)
            yield cluster
    except Unavailable as missing:
        pytest.skip(f"no real broker: {missing}")


@pytest.fixture(name="app")
def fixture_app(cluster: Cluster) -> Application:
    return Application(cluster.brokers)


@pytest.fixture(name="start")
def fixture_start(app: Application) -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(ConfluentMember(app, **{**STREAMS, **settings}))


@pytest.fixture(name="start_java")
def fixture_start_java(app: Application, tmp_path: Path) -> Iterator[Callable[[str], JavaMember]]:
    with ExitStack() as stack:

        def start(release: str) -> JavaMember:
            try:
                counting(release)
            except Unavailable as missing:
                pytest.skip(f"no Kafka Streams {release}: {missing}")
            return stack.enter_context(app.java(release, tmp_path / "state", protocol="streams"))

        yield start


RELEASES = with_matrix([NEWEST, "4.2.2"], [NEWEST], reason="a further release of Kafka Streams")


@pytest.mark.parametrize("release", RELEASES)
def test_tasks_move_between_python_and_java(
    app: Application, start: Start, start_java: Callable[[str], JavaMember], release: str
) -> None:
    """They join, leave and are killed, in both directions; each side processes the records of its tasks."""
    python = start()
    settle(python)
    java = start_java(release)
    settle(python, java)
    app.send(RECORDS)
    app.counts(partitions(java.tasks), RECORDS)
    mine = {(int(number), offset) for number in partitions(python.tasks) for offset in range(RECORDS)}
    wait_until(lambda: mine <= read_by([python]).keys(), python, java)

    assert 0 == python.stop()
    settle(java)
    newcomer = start()
    settle(newcomer, java)
    newcomer.signal(signal.SIGKILL)
    settle(java)
    last = start()
    settle(last, java)
    assert 0 == java.stop()
    settle(last)
    assert [] == last.output_lines("lost") + python.output_lines("lost") + python.output_lines("refused")
    assert 0 == last.stop()


def test_no_record_is_lost_when_members_are_killed_and_frozen(app: Application, start: Start) -> None:
    """SIGKILL, a newcomer, SIGSTOP past the session timeout and SIGCONT, a restart of the coordinator, a clean end."""
    first, killed, sleeper = start(), start(), start()
    settle(first, killed, sleeper)
    with LoadGenerator(app._broker, app.source, PARTITIONS, PER_SECOND) as feed:
        for member in (first, killed, sleeper):
            member.wait_for("read", 50)
        killed.signal(signal.SIGKILL)
        newcomer = start()
        settle(first, newcomer, sleeper)
        sleeper.signal(signal.SIGSTOP)
        settle(first, newcomer)
        asleep, dreams = len(sleeper.lines), sleeper.tasks
        sleeper.signal(signal.SIGCONT)
        sleeper.wait_for("lost")
        settle(first, newcomer, sleeper)
        assert 0 == newcomer.stop()
        settle(first, sleeper)
        produced = numbers(feed.stop())
    members = [first, killed, sleeper, newcomer]
    wait_for_all(produced, members, first, sleeper)
    assert 0 == first.stop() == sleeper.stop()

    read = read_by(members)
    assert {(partition, offset) for partition, count in produced.items() for offset in range(count)} == set(read)
    in_doubt = sleeper.lines[asleep : sleeper.lines.index(" ".join(["lost", *sorted(dreams)]), asleep)]
    assert sum(line.startswith("read") for line in in_doubt) <= 1  # the one that it had when it fell asleep
    twice = {record for record, count in read.items() if count > 1}
    assert twice <= read_by(member for member in members if member is killed or member.maybe_fenced).keys()
    assert set() == read_behind_a_commit(members)
    refused = [len(member.output_lines("refused")) for member in members]
    print(f"produced {sum(produced.values())}, lost 0, twice {len(twice)}, refused commits {refused}")


def test_a_graceful_move_repeats_no_record(app: Application, start: Start) -> None:
    check_a_clean_failover(app, start)


def test_exactly_once_although_members_are_killed_and_frozen_in_transactions(app: Application, start: Start) -> None:
    output = f"{app.name}-copy"
    admin = AdminClient({"bootstrap.servers": app._broker})
    admin.create_topics([NewTopic(output, 1, 1)])[output].result(TIMEOUT_SECONDS)
    transaction = {"output": output}
    zombie = start(**transaction, sleeps_in=4)
    settle(zombie)
    with LoadGenerator(app._broker, app.source, PARTITIONS, PER_SECOND) as feed:
        zombie.wait_for("open", 3)
        killed, other = start(**transaction, transactional_id=app.name), start(**transaction)
        settle(killed, other)
        killed.wait_for("open", 3)
        killed.signal(signal.SIGKILL)
        successor = start(**transaction, transactional_id=app.name)  # which aborts the open transaction
        settle(successor, other)
        zombie.signal(signal.SIGCONT)
        zombie.wait_for("lost")
        settle(zombie, successor, other)
        produced = numbers(feed.stop())
    wanted = {f"{partition}:{offset}" for partition, count in produced.items() for offset in range(count)}
    copied = read_committed(app._broker, output, len(wanted))
    assert 0 == zombie.stop() == other.stop() == successor.stop()
    copied += read_committed(app._broker, output, 0, start=len(copied))

    assert sorted(wanted) == sorted(copied)
    refused = [member.output_lines("refused") for member in (zombie, killed, other, successor)]
    assert refused[0], "the coordinator accepted the offsets of a member that it had removed"
    print(f"produced {len(wanted)}, copied {len(copied)}, refused {refused}")


def test_no_call_outlives_its_limit_beside_a_frozen_broker(cluster: Cluster, app: Application) -> None:
    """``list_topics()`` waited for ever, and so did a commit and the end of the consumer behind it."""
    consumer = reader(app, **{"socket.timeout.ms": 3000})
    app.send(RECORDS)
    wait_until(lambda: consumer.poll(0.2) is not None)
    here, codes = TopicPartition(app.source, 0), list[int]()
    calls: list[Callable[[], object]] = [
        lambda: consumer.committed([here]),
        lambda: consumer.get_watermark_offsets(here),
        lambda: consumer.offsets_for_times([TopicPartition(app.source, 0, 5)]),
        consumer.list_topics,
        lambda: consumer.commit(asynchronous=False),
        lambda: consumer.seek(consumer.assignment()[0]),
        lambda: consumer.poll(1),
        consumer.close,
    ]

    def call(function: Callable[[], object]) -> None:
        try:
            function()
        except KafkaException as error:
            codes.append(error.args[0].code())

    cluster.node(1).signal(signal.SIGSTOP)
    try:
        for each in calls:
            thread = Thread(target=call, args=(each,), daemon=True)
            thread.start()
            thread.join(TIMEOUT_SECONDS)
            assert not thread.is_alive(), codes
    finally:
        cluster.node(1).signal(signal.SIGCONT)
    assert 5 == len(codes)
    assert {KafkaError._TIMED_OUT, KafkaError._TRANSPORT} >= set(codes)


def test_a_member_that_cannot_begin_to_read_leaves_with_an_error(app: Application) -> None:
    """It polled for ever, and kept its tasks: here its offsets are part of a transaction that nobody ends."""
    app.send(RECORDS)
    with reader(app) as first:
        wait_until(lambda: first.poll(0.2) is not None)
        producer = Producer(
            {"bootstrap.servers": app._broker, "transactional.id": app.name, "transaction.timeout.ms": 600_000}
        )
        producer.init_transactions(TIMEOUT_SECONDS)
        producer.begin_transaction()
        offsets = [TopicPartition(each.topic, each.partition, 1) for each in first.assignment()]
        producer.send_offsets_to_transaction(offsets, first.consumer_group_metadata(), TIMEOUT_SECONDS)
    with reader(app, **{"max.poll.interval.ms": 6000, "session.timeout.ms": 6000}) as second:
        with pytest.raises(KafkaException, match=r"more were not told \(\w+\) for max.poll.interval.ms"):
            wait_until(lambda: second.poll(0.2) is not None)
        producer.abort_transaction(TIMEOUT_SECONDS)
        wait_until(lambda: second.poll(0.2) is not None)


@pytest.mark.parametrize("release", with_matrix(["4.4.0", "4.2.2"], ["4.4.0"], "a broker that has neither"))
def test_static_members_and_the_offsets_of_their_tasks(tmp_path: Path, release: str) -> None:
    """Brokers of 4.4 keep the tasks of a static member that has left, and show the offsets of tasks."""
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(tmp_path, metadata="4.3-IV0", others=0))
        try:
            cluster.start(1, release, settings=TIMEOUTS)
        except Unavailable as missing:
            pytest.skip(f"no real broker: {missing}")
        app = Application(cluster.brokers)
        app.send(RECORDS)

        def started(**settings: str) -> StreamsConsumer:
            return stack.enter_context(reader(app, listener=Restored(), **settings))

        if release != "4.4.0":
            with pytest.raises(FatalError, match="Static membership is not yet supported"):
                wait_until(lambda: started(**{"group.instance.id": "one"}).poll(0.2) is not None)
            plain = started()
            wait_until(lambda: plain.poll(0.2) is not None)
            return
        one, other = started(**{"group.instance.id": "one"}), started(**{"group.instance.id": "two"})

        def share(*consumers: StreamsConsumer) -> bool:
            for consumer in consumers:
                consumer.poll(0.2)
            return sum(len(consumer.assignment()) for consumer in consumers) == PARTITIONS and all(
                consumer.assignment() for consumer in consumers
            )

        wait_until(lambda: share(one, other))
        lookup = GroupLookup(app._broker, timeout_seconds=TIMEOUT_SECONDS)
        members = {each.group_instance_id: each for each in lookup.group(app.name).members}
        assert {"one", "two"} == members.keys()
        assert all(each.client_id.startswith(f"{app.name}-") for each in members.values())
        assigned = members["one"].broker_assignment
        assert assigned
        assert {TaskId(0, 0): 7} == assigned.offset_sums
        with pytest.raises(FatalError, match="UNRELEASED_INSTANCE_ID"):
            wait_until(lambda: started(**{"group.instance.id": "one"}).poll(0.2) is not None)
        tasks = one.assignment()
        one.close()
        wait_until(lambda: share(other) or epoch(lookup, app.name, "one") == -2)
        assert len(other.assignment()) == PARTITIONS - len(tasks)
        again = started(**{"group.instance.id": "one"})
        wait_until(lambda: share(again, other))
        assert tasks == again.assignment()


class Restored(RecordingListener):
    """Has a part of one task on its disk."""

    def offset_sums(self) -> dict[TaskId, int]:
        return {TaskId(0, 0): 7, TaskId(0, 1): -2}


def epoch(lookup: GroupLookup, group: str, instance: str) -> int | None:
    """Return the member epoch of a static member."""
    (found,) = (each.broker_assignment for each in lookup.group(group).members if each.group_instance_id == instance)
    return found.epoch if found else None


def reader(app: Application, listener: RecordingListener | None = None, **settings: Any) -> StreamsConsumer:
    usual = {"bootstrap.servers": app._broker, "group.id": app.name, "auto.offset.reset": "earliest", **STREAMS}
    topology = Topology.of(Subtopology(sources=[app.source]))
    return StreamsConsumer({**usual, "enable.auto.commit": False, **settings}, topology, listener=listener)


def test_members_keep_their_tasks_when_the_coordinator_restarts(
    app: Application, start: Start, cluster: Cluster
) -> None:
    set_group_config(app, "streams.session.timeout.ms", "600000")  # longer than a restart on a busy machine
    first, second = start(), start()
    settle(first, second)
    before = first.tasks, second.tasks
    cluster.stop(1)
    cluster.start(1, settings=TIMEOUTS)
    app.send(RECORDS)
    wanted = {(partition, offset) for partition in range(PARTITIONS) for offset in range(RECORDS)}
    wait_until(lambda: wanted <= read_by([first, second]).keys(), first, second)

    assert before == (first.tasks, second.tasks)
    assert [] == first.output_lines("lost") + second.output_lines("lost")


# -- in this process ---------------------------------------------------------------------------------------------------


def consumer_of(app: Application, listener: Any = None, *, topology: Topology | None = None, **config: Any) -> Any:
    settings = {"bootstrap.servers": app._broker, "group.id": app.name, "log_level": 0, **STREAMS, **config}
    return StreamsConsumer(settings, topology or topology_of(app), listener=listener)


def topology_of(app: Application) -> Topology:
    return Topology.of(Subtopology(sources=[app.source], changelogs=[f"{app.name}-store-changelog"]))


def poll_until(happened: Callable[[], bool], *consumers: StreamsConsumer) -> None:
    def polled() -> bool:
        for consumer in consumers:
            consumer.poll(0.05)
        return happened()

    wait_until(polled)


def failure_of(consumer: StreamsConsumer) -> FatalError:
    with consumer, pytest.raises(FatalError) as raised:
        poll_until(lambda: False, consumer)
    return raised.value


def test_the_group_decides_how_many_standbys_there_are(tmp_path: Path) -> None:
    """On a broker of its own: after a change of a group's configuration, 4.3.1 took new topics for missing ones."""
    with Cluster(tmp_path, metadata="4.3-IV0", others=0) as cluster:
        cluster.start(1, settings=TIMEOUTS)
        check_standbys(Application(cluster.brokers))


def check_standbys(app: Application) -> None:
    set_group_config(app, "streams.num.standby.replicas", "1")
    set_group_config(app, "streams.session.timeout.ms", "7000")
    listeners = RecordingListener(), RecordingListener()
    with (
        consumer_of(app, listeners[0]) as first,
        consumer_of(app, listeners[1], **{"application.server": "localhost:80", "client.rack": "a"}) as second,
    ):
        poll_until(
            lambda: all(
                one.owned_tasks.active and one.owned_tasks.standby.keys() == other.owned_tasks.active.keys()
                for one, other in (listeners, reversed(listeners))
            ),
            first,
            second,
        )

        assert PARTITIONS == sum(len(each.owned_tasks.standby) for each in listeners)
        assert 7 == first._membership.session.timeout_seconds
        assert first.streams.member.epoch == first.streams.generation.generation_id
        assert first.streams.failure is None


def set_group_config(app: Application, name: str, value: str) -> None:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = resource.AlterableConfig(name=name, config_operation=0, value=value)
    deadline = Deadline(TIMEOUT_SECONDS)
    with BrokerConnection(app._broker, {}, deadline) as connection:
        wanted = resource(resource_type=32, resource_name=app.name, configs=[config])
        answer = connection.send(IncrementalAlterConfigsRequest, deadline, resources=[wanted], validate_only=False)
    assert [0] == [each.error_code for each in answer.responses]


def test_a_member_with_another_topology_is_refused_by_name(app: Application) -> None:
    with consumer_of(app) as consumer:
        poll_until(lambda: bool(consumer.assignment()), consumer)
        failure = failure_of(consumer_of(app, topology=Topology.of(Subtopology(sources=[app.source]))))

    assert "InvalidRequestException" == failure.kafka_exception
    assert "all members of a group need the same topology" in str(failure)


def test_a_group_with_classic_members_is_refused_by_name(app: Application, start: Start) -> None:
    classic = start(**{"group.protocol": "classic"})
    settle(classic)

    failure = failure_of(consumer_of(app))
    assert "GroupIdNotFoundException" == failure.kafka_exception
    assert "group of another protocol" in str(failure)
    assert settled(classic)


def test_a_missing_source_topic_ends_the_member(app: Application) -> None:
    failure = failure_of(consumer_of(app, topology=Topology.of(Subtopology(sources=[f"{app.name}-nowhere"]))))

    assert "MissingSourceTopicException" == failure.kafka_exception
    assert f"{app.name}-nowhere" in str(failure)


def test_a_subtopology_reads_the_partitions_that_exist(app: Application) -> None:
    """The second source has one partition, though there are six tasks."""
    topology = Topology.of(Subtopology(sources=[app.source, app.output]))
    with consumer_of(app, topology=topology) as consumer:
        poll_until(lambda: bool(consumer.assignment()), consumer)

        assert [(app.output, 0)] == [
            (each.topic, each.partition) for each in consumer.assignment() if each.topic == app.output
        ]
        assert PARTITIONS + 1 == len(consumer.assignment())


def test_a_broker_without_the_protocol_is_refused_by_name(broker: str) -> None:
    """3.9.2 does not have the request."""
    failure = failure_of(consumer_of(Application(broker)))

    assert "UnsupportedVersionException" == failure.kafka_exception
    assert "Kafka 4.2 or newer" in str(failure)
