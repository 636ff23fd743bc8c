"""``StreamsConsumer`` on librdkafka's mock cluster: one thread that polls, like a user's."""

import gc
import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from streams_assignor import FatalError, Subtopology, Topology
from streams_assignor.clients._session import MAX_DOUBT_SESSIONS, now
from streams_assignor.clients.adapter import MemberGeneration, partition_counts
from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.clients.confluent._private_api import encode_group_metadata
from streams_assignor.clients.kafka_python import _partition_assignor
from streams_assignor.clients.mock_cluster import MockCluster, delay_leader
from streams_assignor.codec import TaskId
from streams_assignor.observability.events import AssignmentComputed, Event, RejoinRequested
from streams_assignor.probing import AssignmentContent, VersionAnswer
from streams_assignor.rebalance_listener import PartitionsByTask
from streams_assignor.upgrade import release_named
from tests.assignor.clients.recording_listener import RecordingListener

pytestmark = [
    pytest.mark.slow,
    pytest.mark.clock(reason="librdkafka's mock cluster ends rebalances and sessions by the clock"),
]

README = Path(__file__).parents[4] / "README.md"
TASKS = [TaskId(0, partition) for partition in range(4)]
TOPOLOGY = Topology.of(Subtopology(sources=["orders"], changelogs=["totals-changelog"]))
SECONDS = 60.0
EACH = 50  # records in each partition
EVERY_RECORD = [(number, offset) for number in range(4) for offset in range(EACH)]
Make = Callable[..., StreamsConsumer]


class Listener(RecordingListener):
    """Also remembers on which threads it was called; `calling` is called first."""

    def __init__(self, **calling: Callable[[], None]) -> None:
        super().__init__()
        self.threads: set[int] = set()
        self._calling = calling

    def _record(self, word: str, tasks: PartitionsByTask, after: Any) -> None:
        self.threads.add(threading.get_ident())
        super()._record(word, tasks, after)
        self._calling.get(word, lambda: None)()


@pytest.fixture(name="cluster")
def fixture_cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": len(TASKS)}, initial_rebalance_delay_ms=100) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        for number in range(EACH * len(TASKS)):
            producer.produce("orders", b"%d" % number, partition=number % len(TASKS))
        assert 0 == producer.flush(SECONDS)
        yield cluster


@pytest.fixture(name="make")
def fixture_make(cluster: MockCluster) -> Iterator[Make]:
    with ExitStack() as closing:

        def make(config: dict[str, Any] | None = None, **settings: Any) -> StreamsConsumer:
            common = {
                **cluster.confluent_settings(),
                "group.id": "billing",
                "session.timeout.ms": 1700,
                "heartbeat.interval.ms": 200,
                "log_level": 0,
            }
            consumer = StreamsConsumer({**common, **(config or {})}, TOPOLOGY, admin=False, **settings)
            delay_leader(consumer.streams)
            closing.callback(consumer.close)
            return consumer

        yield make


def poll_until(happened: Callable[[], bool], *consumers: StreamsConsumer) -> list[tuple[int, int]]:
    """Poll all of them in turn; return the records (partition, offset)."""
    deadline, read = time.monotonic() + SECONDS, []
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        for consumer in consumers:
            if (message := consumer.poll(0.02)) is not None:
                assert message.error() is None
                read.append((message.partition(), message.offset()))
    return read


def tasks(*consumers: StreamsConsumer) -> list[int]:
    return sorted(partition.partition for consumer in consumers for partition in consumer.assignment())


def all_shared(*consumers: StreamsConsumer) -> Callable[[], bool]:
    return lambda: all(consumer.assignment() for consumer in consumers) and tasks(*consumers) == [0, 1, 2, 3]


def at_the_end(consumer: StreamsConsumer) -> bool:
    partitions = consumer.assignment()
    return bool(partitions) and {EACH} == set(offsets(consumer.position(partitions)))


def code(raised: pytest.ExceptionInfo[KafkaException]) -> int:
    return int(raised.value.args[0].code())


def offsets(partitions: list[TopicPartition]) -> list[int]:
    return [partition.offset for partition in partitions]


def test_iteration_yields_records_with_tasks_and_commit_commits_them(make: Make) -> None:
    listener = Listener()
    with make(listener=listener) as consumer:
        with pytest.raises(KafkaException) as too_early:
            consumer.consumer_group_metadata()
        assert KafkaError._STATE == code(too_early)
        assert "not joined" in repr(consumer)

        seen = []
        for task, message in consumer:
            assert task == TaskId(0, message.partition())
            seen.append((message.partition(), message.offset()))
            if len(seen) == 30:
                break
        ends = [max([-1, *(offset for partition, offset in seen if partition == number)]) + 1 for number in range(4)]
        committed = consumer.commit(asynchronous=False)

        assert [end for end in ends if end] == [offset for offset in offsets(committed) if offset]
        position = consumer.position(consumer.assignment())
        assert ends == [max(0, offset) for offset in offsets(position)]
        assert [end for end in ends if end] == [
            offset for offset in offsets(consumer.committed(consumer.assignment(), 10)) if offset > 0
        ]
        assert (0, EACH) == consumer.get_watermark_offsets(TopicPartition("orders", 0), 10)
        assert {"orders"} == set(consumer.list_topics("orders", 10).topics)
        assert set(consumer.list_topics(timeout=10).topics) >= {"orders"}
        assert 1 == len(consumer.offsets_for_times([TopicPartition("orders", 0, 0)], 10))  # which a mock cannot know
        assert consumer.memberid() in repr(consumer)
    assert ["assigned", "revoked"] == listener.callback_names
    assert {threading.get_ident()} == listener.threads
    with pytest.raises(RuntimeError, match="Consumer closed"):
        consumer.poll(0)
    with pytest.raises(RuntimeError, match="Consumer closed"):
        consumer.commit()
    consumer.close()
    assert [] == list(consumer)


def test_records_from_before_the_first_join_are_handed_out(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Kafka Streams begins there. With librdkafka's own default a member skipped 40 that a Java member processed."""
    consumer = make()
    read = poll_until(lambda: at_the_end(consumer), consumer)

    assert EVERY_RECORD == sorted(read)
    assert "auto_offset_reset" not in caplog.text  # of the member, which reads nothing


def test_records_of_a_new_partition_are_read_from_its_start(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """300 of 2,400 were lost. A mock's topic cannot grow, so the leader is kept from seeing two of its partitions."""
    visible = 2

    def counted(cluster: Any, topics: Iterable[str]) -> dict[str, int]:
        return {topic: min(visible, count) for topic, count in partition_counts(cluster, topics).items()}

    monkeypatch.setattr(_partition_assignor, "partition_counts", counted)
    consumer = make()
    read = poll_until(lambda: at_the_end(consumer), consumer)
    assert [each for each in EVERY_RECORD if each[0] < 2] == sorted(read)

    visible = 4
    consumer.streams.rejoin()
    read += poll_until(lambda: all_shared(consumer)() and at_the_end(consumer), consumer)
    assert EVERY_RECORD == sorted(read)


@pytest.mark.parametrize(
    "own",
    [
        {"auto.offset.reset": "latest"},
        {"auto.offset.reset": "LARGEST"},
        {"topic.auto.offset.reset": "end"},
        {"default.topic.config": {"auto.offset.reset": "largest"}},
    ],
)
def test_an_auto_offset_reset_of_the_users_own_counts(make: Make, cluster: MockCluster, own: dict[str, Any]) -> None:
    consumer = make(own)
    read = poll_until(all_shared(consumer), consumer)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    deadline = time.monotonic() + SECONDS
    while not {0, 1, 2, 3} <= {number for number, _ in read}:  # the end is looked up in the background
        assert time.monotonic() < deadline
        for number in range(len(TASKS)):
            producer.produce("orders", b"later", partition=number)
        assert 0 == producer.flush(SECONDS)
        read += [(message.partition(), message.offset()) for message in consumer.consume(100, 0.1)]

    assert min(offset for _, offset in read) >= EACH


def test_batches_and_single_records_come_in_order_and_once(make: Make) -> None:
    consumer = make()
    read: list[tuple[int | None, int | None]] = []
    while len(read) < EACH * len(TASKS):
        batch = consumer.consume(7, 1.0)
        assert len(batch) <= 7
        single = [message] if (message := consumer.poll(0.0)) is not None else []
        read += [(message.partition(), message.offset()) for message in (*batch, *single)]

    for number in range(len(TASKS)):
        assert list(range(EACH)) == [offset for partition, offset in read if partition == number]
    assert [] == consumer.consume(3, 0.0)
    assert consumer.poll(0.0) is None


def test_a_new_member_gets_tasks_after_their_revocation(make: Make) -> None:
    """Partitions that stay are not interrupted: a seek and a pause outlive the rebalance."""

    def commit() -> None:
        if (
            recorder.callback_names.count("revoked") == 1
        ):  # in `close` a mock may refuse it: the other one has just left
            old.commit(asynchronous=False)

    recorder = Listener(revoked=commit)
    old = make(listener=recorder)
    read = poll_until(lambda: len(read_so_far(old)) == 4)
    poll_until(lambda: offsets(old.position(old.assignment())) == [EACH] * 4, old)
    old.seek(TopicPartition("orders", 0, 10))
    old.pause([TopicPartition("orders", 1)])
    young = make()
    read = poll_until(all_shared(old, young), old, young)

    gone = tasks(young)
    assert ["assigned", "revoked"] == recorder.callback_names
    assert sorted(recorder.callbacks[1][1]) == [TaskId(0, number) for number in gone]
    if 0 not in gone:
        assert [(0, offset) for offset in range(10, EACH)] == [each for each in read if each[0] == 0]
    # What was committed in `revoked` is where the new owner begins.
    assert [EACH] * len(gone) == offsets(young.committed(young.assignment(), 10))
    assert {number for number, _ in read} <= {0}

    with pytest.raises(KafkaException) as revoked:
        old.commit(offsets=[TopicPartition("orders", gone[0], 1)], asynchronous=False)
    assert KafkaError.ILLEGAL_GENERATION == code(revoked)
    assert f"orders-{gone[0]} is not assigned" in str(revoked.value)
    with pytest.raises(KafkaException) as not_ours:
        old.pause([TopicPartition("orders", gone[0])])
    assert KafkaError._UNKNOWN_PARTITION == code(not_ours)


def test_consume_returns_its_records_before_they_are_committed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a commit in `revoked` would be ahead of the user, and a crash would lose what lies between."""
    handed: dict[int, int] = {}
    compared: list[None] = []

    def compare() -> None:
        if compared:  # in `close`
            return
        for partition in old.position(old.assignment()):
            assert max(0, partition.offset) == handed.get(partition.partition, 0)
        compared.append(None)

    def consume(number: int, seconds: float, into: list[Message]) -> None:
        """Let another one join, which leads to a revocation, once all are read and the last ones not yet returned."""
        read(number, seconds, into)
        if other.ident is None and sum(handed.values()) + len(into) == EACH * len(TASKS):
            other.start()

    other = threading.Thread(target=make)
    old = make(listener=Listener(revoked=compare))
    read = old._fetcher.consume
    monkeypatch.setattr(old._fetcher, "consume", consume)
    deadline = time.monotonic() + SECONDS
    while not compared:
        assert time.monotonic() < deadline
        is_read = sum(handed.values()) == EACH * len(TASKS)
        for message in old.consume(10_000, 0.1 if is_read else SECONDS):  # only a callback ends it before
            handed[message.partition()] = message.offset() + 1
    other.join(SECONDS)
    assert EACH * len(TASKS) == sum(handed.values())


def read_so_far(consumer: StreamsConsumer) -> list[TopicPartition]:
    consumer.poll(0.02)
    return consumer.assignment()


def test_paused_partitions_continue_at_their_position(make: Make) -> None:
    consumer = make()
    first = consumer.poll(SECONDS)
    assert first is not None
    paused = TopicPartition("orders", first.partition())
    consumer.pause([paused])
    others = poll_until(
        lambda: EACH * 3 == sum(o for o in offsets(consumer.position(others_of(consumer, paused))) if o > 0), consumer
    )
    assert paused.partition not in {number for number, _ in others}
    assert [1] == offsets(consumer.position([paused]))

    consumer.resume([paused])
    rest = poll_until(lambda: [EACH] == offsets(consumer.position([paused])), consumer)
    assert [(paused.partition, offset) for offset in range(1, EACH)] == rest


def others_of(consumer: StreamsConsumer, one: TopicPartition) -> list[TopicPartition]:
    return [partition for partition in consumer.assignment() if partition.partition != one.partition]


def test_seek_sets_the_position_and_the_start_in_on_tasks_assigned(make: Make) -> None:
    def begin() -> None:
        consumer.seek(TopicPartition("orders", 2, 40))
        consumer.pause([TopicPartition("orders", 3)])

    consumer = make(listener=Listener(assigned=begin))
    read = poll_until(
        lambda: [EACH] * 3 == offsets(consumer.position([TopicPartition("orders", number) for number in range(3)])),
        consumer,
    )
    assert [(2, offset) for offset in range(40, EACH)] == [each for each in read if each[0] == 2]
    assert [] == [each for each in read if each[0] == 3]

    consumer.seek(TopicPartition("orders", 2, 45))
    again = poll_until(lambda: [EACH] == offsets(consumer.position([TopicPartition("orders", 2)])), consumer)
    assert [(2, offset) for offset in range(45, EACH)] == again


def test_a_message_or_offsets_are_committed_and_on_commit_is_called(make: Make) -> None:
    commits: list[tuple[Any, list[TopicPartition]]] = []
    consumer = make({"on_commit": lambda error, partitions: commits.append((error, partitions))})
    assert consumer.commit() is None
    with pytest.raises(KafkaException) as nothing:
        consumer.commit(asynchronous=False)
    assert KafkaError._NO_OFFSET == code(nothing)
    message = consumer.poll(SECONDS)
    with pytest.raises(ValueError, match="got both"):
        consumer.commit(message=message, offsets=[])
    consumer.commit(message=message)
    poll_until(lambda: bool(commits), consumer)

    number = message.partition()
    assert [(None, [1])] == [(error, offsets(partitions)) for error, partitions in commits]
    assert [1] == offsets(consumer.committed([TopicPartition("orders", number)], 10))
    assert [7] == offsets(consumer.commit(offsets=[TopicPartition("orders", number, 7)], asynchronous=False))
    assert [7] == offsets(consumer.committed([TopicPartition("orders", number)], 10))


def test_auto_commit_commits(make: Make) -> None:
    consumer = make({"enable.auto.commit": True, "auto.commit.interval.ms": 100})
    poll_until(
        lambda: bool(consumer.assignment()) and [EACH] * 4 == offsets(consumer.committed(consumer.assignment(), 10)),
        consumer,
    )


def test_a_member_that_does_not_poll_leaves_and_rejoins(make: Make) -> None:
    recorder = Listener()
    late = make({"max.poll.interval.ms": 1800}, listener=recorder)
    poll_until(all_shared(late), late)
    late.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
    member = late.memberid()
    other = make()
    poll_until(all_shared(other), other)  # the late one has left
    with pytest.raises(KafkaException) as out:
        late.commit(offsets=[TopicPartition("orders", 0, 2)], asynchronous=False)
    assert code(out) in {KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION}
    # Still the old member, whom no broker trusts, and never a blob without one.
    assert member.encode() in late.consumer_group_metadata()

    poll_until(all_shared(late, other), late, other)
    # Tasks that it should have revoked in the meantime are lost as well; none is revoked.
    first, *then = [word for word, _ in groupby(recorder.callback_names) if not word.startswith("standby")]
    assert ["assigned", ["lost", "assigned"]] == [first, then[:2]]


def test_no_record_is_returned_while_the_member_may_be_fenced(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = make()
    first = consumer.poll(SECONDS)
    assert first is not None
    session = consumer._session
    with monkeypatch.context() as without_proof:
        without_proof.setattr(session, "_prolong", lambda _: None)
        session.certain_until = now() - 0.001
        assert [None] * 10 == [consumer.poll(0) for _ in range(10)]
        assert consumer.poll(0.1) is None
        assert [] == consumer.consume(10, 0.1)
    assert consumer.poll(SECONDS) is not None


def test_a_long_doubt_is_an_error_as_long_as_it_lasts(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fenced member returned None for ever."""
    consumer = make()
    assert consumer.poll(SECONDS) is not None
    session = consumer._session
    with monkeypatch.context() as without_proof:
        without_proof.setattr(session, "_prolong", lambda _: None)
        session.certain_until = now() - 1
        session._doubt = session.certain_until, now() - MAX_DOUBT_SESSIONS * session.timeout_seconds - 1
        for _ in range(2):
            with pytest.raises(KafkaException, match="no heartbeat was answered") as raised:
                consumer.poll(0)
            assert KafkaError._TIMED_OUT == code(raised)
    deadline = time.monotonic() + SECONDS
    while session.in_doubt:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert consumer.poll(SECONDS) is not None


def test_a_revocation_after_the_session_timeout_is_a_loss(make: Make) -> None:
    recorder = Listener()
    consumer = make(listener=recorder, release=release_named("streams-assignor-3"))  # eager: it gives up all
    poll_until(all_shared(consumer), consumer)
    membership = consumer._membership
    membership.adapter.rejoin()
    deadline = time.monotonic() + SECONDS
    while not membership._pending:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    membership.session.certain_until = now() - 0.001
    consumer.poll(0)
    assert ["assigned", "lost"] == recorder.callback_names
    poll_until(lambda: ["assigned", "lost", "assigned"] == recorder.callback_names, consumer)


@pytest.mark.parametrize("during", ["poll", "nothing"])
def test_another_thread_can_close_it(make: Make, during: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Listener()
    consumer = make(listener=recorder)
    poll_until(all_shared(consumer), consumer)
    consumer.pause(consumer.assignment())
    closer = threading.Thread(target=consumer.close)
    if during == "poll":
        fetch = consumer._fetcher.fetch

        def close_and_fetch(seconds: float) -> None:
            if closer.ident is None:
                closer.start()
            fetch(seconds)

        monkeypatch.setattr(consumer._fetcher, "fetch", close_and_fetch)
        with pytest.raises(RuntimeError, match="Consumer closed"):
            consumer.poll()
    else:
        closer.start()
    closer.join(SECONDS)
    assert not closer.is_alive()
    assert ["assigned", "revoked"] == recorder.callback_names


def test_no_record_is_returned_after_a_close_on_another_thread(make: Make) -> None:
    entered, reads, read_after = threading.Event(), threading.Event(), []
    consumer = make(listener=Listener(revoked=lambda: (entered.set(), reads.wait(SECONDS))))
    poll_until(all_shared(consumer), consumer)
    assert consumer.poll(SECONDS) is not None
    closer = threading.Thread(target=consumer.close)
    closer.start()
    entered.wait(SECONDS)

    def read_on() -> None:
        reads.set()
        while True:
            if (message := consumer.poll(SECONDS)) is not None:
                read_after.append(message)

    with pytest.raises(RuntimeError, match="Consumer closed"):
        read_on()
    closer.join(SECONDS)
    assert not read_after


def test_a_callback_can_close_it(make: Make) -> None:
    consumer = make(listener=Listener(assigned=lambda: consumer.close()))
    with pytest.raises(RuntimeError, match="Consumer closed"):
        consumer.poll(SECONDS)


def test_poll_raises_an_exception_of_the_listener_and_the_tasks_change(make: Make) -> None:
    def fail() -> None:
        raise LookupError("no store here")

    consumer = make(listener=Listener(assigned=fail, revoked=fail))
    with pytest.raises(LookupError, match="no store here"):
        consumer.poll(SECONDS)
    assert consumer.poll(SECONDS) is not None
    with pytest.raises(LookupError, match="no store here"):
        consumer.close()
    with pytest.raises(RuntimeError, match="Consumer closed"):
        consumer.poll(0)


def test_poll_raises_an_exception_of_offset_sums_and_the_member_joins(make: Make) -> None:
    class Forgetful(Listener):
        def offset_sums(self) -> Any:
            raise LookupError("no store here")

    consumer = make(listener=Forgetful())
    with pytest.raises(LookupError, match="no store here"):
        consumer.poll(SECONDS)
    deadline = time.monotonic() + SECONDS
    while not consumer.assignment():
        assert time.monotonic() < deadline
        with suppress(LookupError):  # once for each rebalance
            consumer.poll(0.1)


def test_every_poll_raises_the_fatal_error(make: Make) -> None:
    """KAFKA-6054: a leader of 0.10.1 answers version 2 even to version 1."""
    leader = make(release=release_named("0.10.1.1"))
    poll_until(all_shared(leader), leader)
    follower = make(release=release_named("0.10.0.1"))
    with pytest.raises(FatalError, match="Unknown assignment data version") as first:
        poll_until(lambda: False, follower, leader)
    with pytest.raises(FatalError) as second:
        follower.poll(0)
    assert first.value is second.value
    follower.close()


def test_a_commit_that_waits_for_its_answer_ends_with_the_failure(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waited for as long as a request may take."""
    consumer = make()
    while consumer.poll(SECONDS) is None:
        pass
    sent, failure = threading.Event(), FatalError("the group has gone", "TimeoutException")
    monkeypatch.setattr(consumer._committer, "_send_now", lambda *_: False)
    monkeypatch.setattr(consumer._committer, "_send", lambda *_: sent.set())
    monkeypatch.setattr(consumer, "_request_seconds", 10 * SECONDS)
    errors: list[BaseException] = []

    def commit() -> None:
        try:
            consumer.commit(asynchronous=False)
        except FatalError as error:
            errors.append(error)

    committing = threading.Thread(target=commit)
    committing.start()
    assert sent.wait(SECONDS)
    consumer._membership.fail(failure)
    committing.join(SECONDS)

    assert [failure] == errors


def test_the_rules_of_the_kip_are_chosen_by_the_name_of_a_release(make: Make) -> None:
    """The leader answers the newer member with an empty assignment, and that one leaves and joins."""
    events: list[Event] = []
    old = make(release="kip-268", observer=events.append)
    poll_until(all_shared(old), old)
    new = make(release="kip-268-next", observer=events.append)
    poll_until(all_shared(old, new), old, new)

    probed = [event.probed for event in events if isinstance(event, AssignmentComputed) and event.probed]
    assert [[VersionAnswer(3, 3, AssignmentContent.EMPTY)]] == [[*answers.values()] for answers in probed]
    assert [True] == [event.leaves_group for event in events if isinstance(event, RejoinRequested)]
    assert 3 == new.streams.received_assignment.version


def test_standby_tasks_are_announced(make: Make) -> None:
    recorder = [Listener(), Listener()]
    consumers = [make({"num.standby.replicas": 1}, listener=each) for each in recorder]
    poll_until(lambda: all_shared(*consumers)() and all(each.owned_tasks.standby for each in recorder), *consumers)
    assert recorder[0].owned_tasks.standby.keys() == recorder[1].owned_tasks.active.keys()


def test_group_metadata_has_the_layout_of_librdkafka(cluster: MockCluster) -> None:
    """Private bytes: a release of librdkafka that changes them fails here."""
    for instance in (None, "one"):
        static = {"group.instance.id": instance} if instance else {}
        consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "group.id": f"plain-{instance}",
                "session.timeout.ms": 1700,
                **static,
            }
        )
        consumer.subscribe(["orders"])
        deadline = time.monotonic() + SECONDS
        while not consumer.assignment():
            assert time.monotonic() < deadline
            consumer.poll(0.05)
        encoded = consumer.consumer_group_metadata()
        # A mock begins with generation 1, and has been asked to join at most a few times.
        candidates = [
            encode_group_metadata(f"plain-{instance}", MemberGeneration(n, consumer.memberid()), instance)
            for n in range(1, 9)
        ]
        assert encoded in candidates
        consumer.close()


def test_poll_raises_fatal_error_without_a_broker(caplog: pytest.LogCaptureFixture) -> None:
    config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "billing", "log_level": 0}
    consumer = StreamsConsumer({**config, "main.consumer.bootstrap_timeout_ms": 300}, TOPOLOGY)
    caplog.set_level(logging.CRITICAL)
    with pytest.raises(FatalError, match="the membership has ended"):
        consumer.poll(SECONDS)
    consumer.close()


def descriptors() -> int:
    gc.collect()  # a refused connection is part of a reference cycle
    return len(list(Path("/proc/self/fd").iterdir()))


def test_attempts_during_an_outage_leave_nothing_behind(caplog: pytest.LogCaptureFixture) -> None:
    """Five left five threads and 32 descriptors."""
    caplog.set_level(logging.CRITICAL)
    config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "billing", "log_level": 0}

    def attempt() -> None:
        with (
            pytest.raises(FatalError, match="the membership has ended"),
            StreamsConsumer({**config, "main.consumer.bootstrap_timeout_ms": 100}, TOPOLOGY) as consumer,
        ):
            consumer.poll(SECONDS)

    attempt()
    threads, files = threading.active_count(), descriptors()
    for _ in range(5):
        attempt()
    assert threading.active_count() <= threads
    assert descriptors() <= files


def test_a_consumer_that_is_dropped_without_close_frees_its_threads_and_sockets(cluster: MockCluster) -> None:
    """Seven threads and 22 descriptors stayed, also where the listener refers to its consumer."""
    threads, sockets = {*threading.enumerate()}, descriptors()

    def use_and_drop() -> None:
        listener = Listener()
        settings = {**cluster.confluent_settings(), "group.id": "dropped", "log_level": 0}
        listener.consumer = consumer = StreamsConsumer(  # type: ignore[attr-defined]
            settings, TOPOLOGY, listener=listener, admin=False
        )
        poll_until(all_shared(consumer), consumer)

    use_and_drop()
    with pytest.warns(ResourceWarning, match="unclosed StreamsConsumer of group dropped"):
        gc.collect()
    for thread in {*threading.enumerate()} - threads:
        thread.join(SECONDS)
    deadline = time.monotonic() + SECONDS
    while descriptors() > sockets:
        assert time.monotonic() < deadline, "descriptors stay"

    assert threads >= {*threading.enumerate()}


@pytest.mark.parametrize("waits", [0.0, 0.3])
def test_close_interrupts_the_search_for_a_broker(caplog: pytest.LogCaptureFixture, waits: float) -> None:
    """It went on for half a minute."""
    caplog.set_level(logging.CRITICAL)
    before = set(threading.enumerate())
    config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "billing", "log_level": 0}
    consumer = StreamsConsumer({**config, "main.consumer.bootstrap_timeout_ms": 3_600_000}, TOPOLOGY)
    assert consumer.poll(waits) is None
    consumer.close()

    assert before == set(threading.enumerate())
    with pytest.raises(RuntimeError, match="Consumer closed"):
        consumer.poll(0)


def test_on_commit_is_called_for_each_commit_in_order(make: Make) -> None:
    """Also for those that were in flight when the consumer was closed."""
    commits: list[Any] = []
    consumer = make({"on_commit": lambda error, partitions: commits.append((error, offsets(partitions)))})
    for number in range(EACH * len(TASKS)):
        if (message := consumer.poll(SECONDS)) is not None:
            consumer.commit(offsets=[TopicPartition("orders", message.partition(), number)])
    consumer.close()

    assert [(None, [number]) for number in range(EACH * len(TASKS))] == commits


def test_a_commit_per_record_fetches_no_record_ahead(make: Make) -> None:
    """Each answer made the next poll fetch 500 more: 90,606 were buffered after 237."""
    consumer = make({"queued.min.messages": 10, "on_commit": lambda *_: None})
    most = 0
    for _ in range(EACH * len(TASKS)):
        assert consumer.poll(SECONDS) is not None
        consumer.commit()
        most = max(most, len(consumer._fetcher.buffer.ready))
    assert most < 10


def test_the_example_of_the_readme_reads_on_the_embedded_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    """It failed after 31 s, as the admin client did not get the `api_version`."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    example, embedded = (next(block for block in blocks if word in block) for word in ("settings = {", "MockCluster("))
    exec(example.partition("with confluent")[0] + embedded, {})

    assert "b'one order'" in capsys.readouterr().out
