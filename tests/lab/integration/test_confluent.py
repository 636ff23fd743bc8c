"""``StreamsConsumer`` on a real broker: processes join, leave, are killed and suspended, also beside Kafka Streams."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streams_assignor import FatalError, Subtopology, Topology
from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.demo.load_generator import LoadGenerator
from tests.assignor.clients.recording_listener import RecordingListener
from tests.lab.integration.applications import PARTITIONS, SESSION_MS, Application, partitions, settle
from tests.lab.integration.clusters import Cluster
from tests.lab.integration.confluent_members import ConfluentMember, read_behind_a_commit, read_by, wait_until_stable
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, JavaStreams, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.slow]

PER_SECOND = 400
RECORDS = 20
ALIVE = {"session.timeout.ms": 300_000}  # longer than anybody here is patient
Start = Callable[..., ConfluentMember]


@pytest.fixture(name="start")
def fixture_start(application: Application) -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(ConfluentMember(application, **settings))


def numbers(produced: dict[str, int]) -> dict[int, int]:
    return {int(name.rpartition("-")[2]): count for name, count in produced.items()}


def wait_for_all(produced: dict[int, int], members: list[ConfluentMember], *alive: ConfluentMember) -> None:
    wanted = sum(produced.values())
    wait_until(lambda: len(read_by(members)) >= wanted, *alive)


def test_no_record_is_lost_when_members_start_stop_crash_and_freeze(application: Application, start: Start) -> None:
    """SIGKILL, a newcomer, SIGSTOP past the session timeout and SIGCONT, a clean end.

    Records come again only from members that lost tasks without a callback, and none that these had committed.
    """
    first, killed, sleeper = start(), start(), start()
    wait_until_stable(first, killed, sleeper)
    with LoadGenerator(application._broker, application.source, PARTITIONS, PER_SECOND) as feed:
        for member in (first, killed, sleeper):
            member.wait_for("read", 100)
        killed.signal(signal.SIGKILL)
        newcomer = start()
        wait_until_stable(first, newcomer, sleeper)
        sleeper.signal(signal.SIGSTOP)
        settle(first, newcomer)
        asleep, dreams = len(sleeper.lines), sleeper.tasks
        sleeper.signal(signal.SIGCONT)
        wait_until_stable(first, newcomer, sleeper)
        assert 0 == newcomer.stop()
        settle(first, sleeper)
        produced = numbers(feed.stop())
    members = [first, killed, sleeper, newcomer]
    wait_for_all(produced, members, first, sleeper)
    assert 0 == first.stop() == sleeper.stop()

    read = read_by(members)
    assert {(partition, offset) for partition, count in produced.items() for offset in range(count)} == set(read)
    reported = [line.split() for line in sleeper.lines[asleep:] if not line.startswith(("read", "committed"))]
    assert ["lost", *sorted(dreams)] in reported, reported
    twice = {record for record, count in read.items() if count > 1}
    assert twice <= read_by(member for member in members if member is killed or member.maybe_fenced).keys()
    assert set() == read_behind_a_commit(members)
    in_doubt = sleeper.lines[asleep : sleeper.lines.index(" ".join(["lost", *sorted(dreams)]), asleep)]
    assert sum(line.startswith("read") for line in in_doubt) <= 1  # the one that it had when it fell asleep
    refused = [len(member.output_lines("refused")) for member in members]
    print(f"produced {sum(produced.values())}, lost 0, twice {len(twice)}, refused commits {refused}")


def test_a_member_removed_during_a_join_loses_its_tasks(start: Start) -> None:
    """The group waits for one member while another, which has rejoined already, is suspended."""
    awaited, sleeper = start(**ALIVE), start()
    wait_until_stable(awaited, sleeper)
    awaited.signal(signal.SIGSTOP)
    joins = len(sleeper.output_lines("joins"))
    newcomer = start(**ALIVE)
    sleeper.wait_for("joins", joins)
    sleeper.signal(signal.SIGSTOP)
    awaited.signal(signal.SIGCONT)
    settle(awaited, newcomer)
    asleep, dreams = len(sleeper.lines), sleeper.tasks
    sleeper.signal(signal.SIGCONT)
    wait_until_stable(awaited, newcomer, sleeper)

    reported = [line.split() for line in sleeper.lines[asleep:]]
    assert ["lost", *sorted(dreams)] in reported, reported
    assert [] == awaited.output_lines("lost") + newcomer.output_lines("lost")


def test_a_graceful_move_repeats_no_record(application: Application, start: Start) -> None:
    """Records that were committed in ``revoked`` do not come again."""
    check_a_clean_failover(application, start)


def test_a_graceful_move_on_the_newest_broker(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster, ExitStack() as stack:
        cluster.start(1, settings={"group.initial.rebalance.delay.ms": "0"})
        application = Application(cluster.brokers)
        check_a_clean_failover(
            application, lambda **settings: stack.enter_context(ConfluentMember(application, **settings))
        )


def check_a_clean_failover(application: Application, start: Start) -> None:
    first = start(**ALIVE)
    settle(first)
    with LoadGenerator(application._broker, application.source, PARTITIONS, PER_SECOND) as feed:
        first.wait_for("read", 100)
        second = start(**ALIVE)
        settle(first, second)
        second.wait_for("read", 100)
        assert 0 == second.stop()
        settle(first)
        produced = numbers(feed.stop())
    wait_for_all(produced, [first, second], first)
    assert 0 == first.stop()

    read = read_by([first, second])
    assert sum(produced.values()) == len(read) == sum(read.values())
    assert [] == first.output_lines("refused") + second.output_lines("refused") + first.output_lines("lost")


def test_a_zombie_in_a_transaction_is_fenced(application: Application, start: Start) -> None:
    """Each record is in the output exactly once, though a member slept in the middle of a transaction."""
    output = f"{application.name}-copy"
    admin = AdminClient({"bootstrap.servers": application._broker})
    admin.create_topics([NewTopic(output, 1, 1)])[output].result(TIMEOUT_SECONDS)
    zombie = start(output=output, sleeps_in=4)
    settle(zombie)
    with LoadGenerator(application._broker, application.source, PARTITIONS, PER_SECOND) as feed:
        zombie.wait_for("open", 3)
        other = start(output=output)
        settle(other)
        other.wait_for("open", 3)
        zombie.signal(signal.SIGCONT)
        zombie.wait_for("lost")
        settle(zombie, other)
        produced = numbers(feed.stop())
    wanted = {f"{partition}:{offset}" for partition, count in produced.items() for offset in range(count)}
    copied = read_committed(application._broker, output, len(wanted))
    assert 0 == zombie.stop() == other.stop()
    copied += read_committed(application._broker, output, 0, start=len(copied))

    assert sorted(wanted) == sorted(copied)
    assert zombie.output_lines("refused")[0][0] in {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"}
    refused = [member.output_lines("refused") for member in (zombie, other)]
    print(f"produced {len(wanted)}, copied {len(copied)}, refused {refused}")


def read_committed(broker: str, topic: str, at_least: int, start: int = 0) -> list[str]:
    """The keys, from the `start`-th on, as soon as there are so many, and all that there are then."""
    reader = Consumer({"bootstrap.servers": broker, "group.id": "unused", "isolation.level": "read_committed"})
    deadline, found = time.monotonic() + TIMEOUT_SECONDS, []
    try:
        reader.assign([TopicPartition(topic, 0, 0)])
        while True:
            message = reader.poll(1)
            if message is None:
                if len(found) >= at_least + start:
                    return found[start:]
                assert time.monotonic() < deadline, f"only {len(found)} of {at_least}"
            elif not message.error():
                found.append(message.key().decode())
    finally:
        reader.close()


def poll_on(consumer: StreamsConsumer, *, commits: bool) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        consumer.poll(0)
        if commits:
            with suppress(KafkaException):
                consumer.commit()


@pytest.mark.parametrize("by", ["heartbeat", "commit"])
def test_a_second_member_with_the_same_instance_id_ends_the_first(application: Application, by: str) -> None:
    """It read 268 more records beside the second one, and then returned None for ever."""
    application.send(200)

    def member(listener: RecordingListener | None = None) -> StreamsConsumer:
        config = {
            "bootstrap.servers": application._broker,
            "group.id": application.name,
            "group.instance.id": "one",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 100 if by == "heartbeat" else SESSION_MS - 1,
            "log_level": 0,
        }
        topology = Topology.of(Subtopology(sources=[application.source]))
        return StreamsConsumer(config, topology, listener=listener, admin=False)

    listener = RecordingListener()
    first, second = member(listener), None
    try:
        while first.poll(0.1) is None:
            pass
        second = member()
        while (message := second.poll(0.1)) is None:
            pass
        with pytest.raises(FatalError, match="another member has joined the group") as fenced:
            poll_on(first, commits=by == "commit")
        assert "FencedInstanceIdException" == fenced.value.kafka_exception
        with pytest.raises(FatalError):
            first.poll(0)
        assert ["assigned", "lost"] == listener.callback_names
        assert second.commit(message, asynchronous=False)
    finally:
        first.close()
        if second is not None:
            second.close()


@pytest.mark.java
@pytest.mark.parametrize(
    ("release", "config"), [("2.0.1", {"upgrade.from": "2.0"}), ("4.3.1", {})], ids=["eager", "cooperative"]
)
@pytest.mark.parametrize("first", ["java", "python"])
def test_it_shares_the_tasks_with_java(
    application: Application,
    java_streams: JavaStreams,
    start: Start,
    release: str,
    config: dict[str, str],
    first: str,
) -> None:
    if first == "java":
        java = java_streams(release)
        settle(java)
        python = start(**config)
    else:
        python = start(**config)
        settle(python)
        java = java_streams(release)
    settle(java, python)

    application.send(RECORDS)
    application.counts(partitions(java.tasks), RECORDS)
    settle(java, python)  # an eager member has nothing in the middle of a rebalance, though it gets the same again
    mine = {(int(partition), offset) for partition in partitions(python.tasks) for offset in range(RECORDS)}
    wait_until(lambda: mine <= set(read_by([python])), python, java)
    assert mine == set(read_by([python]))
    assert 0 == python.stop()
    settle(java)
