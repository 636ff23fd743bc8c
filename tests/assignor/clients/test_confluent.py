"""``StreamsConsumer`` on librdkafka's mock cluster: one thread that polls, like a user's."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from itertools import groupby
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from assignor import FatalError, Subtopology, Topology
from assignor.clients.confluent import StreamsConsumer
from assignor.clients.confluent.group_metadata import Generation, group_metadata
from assignor.clients.confluent.membership import _call_soon, _last_heartbeat
from assignor.clients.mock_cluster import KAFKA_PYTHON_API_VERSION, SYNC_GRACE_SECONDS, MockCluster
from assignor.task_listener import Tasks
from subscription_codec import TaskId
from tests.assignor.clients.listening import Recorder
from upgrade import release_named

pytestmark = pytest.mark.slow

TASKS = [TaskId(0, partition) for partition in range(4)]
TOPOLOGY = Topology.of(Subtopology(sources=["orders"], changelogs=["totals-changelog"]))
SECONDS = 60.0
EACH = 50  # records in each partition
Make = Callable[..., StreamsConsumer]


class Listener(Recorder):
    """Also remembers on which threads it was called; `calling` is called first."""

    def __init__(self, **calling: Callable[[], None]) -> None:
        super().__init__()
        self.threads: set[int] = set()
        self._calling = calling

    def _heard(self, word: str, tasks: Tasks, after: Any) -> None:
        self.threads.add(threading.get_ident())
        super()._heard(word, tasks, after)
        self._calling.get(word, lambda: None)()


@pytest.fixture(name="cluster")
def fixture_cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": len(TASKS)}, initial_rebalance_delay_ms=100) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        for number in range(EACH * len(TASKS)):
            producer.produce("orders", b"%d" % number, partition=number % len(TASKS))
        assert 0 == producer.flush(SECONDS)
        yield cluster


@pytest.fixture(name="make")
def fixture_make(cluster: MockCluster) -> Iterator[Make]:
    with ExitStack() as closing:

        def make(config: dict[str, Any] | None = None, **settings: Any) -> StreamsConsumer:
            common = {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": "billing",
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 1700,
                "heartbeat.interval.ms": 200,
                "log_level": 0,
            }
            consumer = StreamsConsumer(
                {**common, **(config or {})},
                TOPOLOGY,
                admin=False,
                member={"api_version": KAFKA_PYTHON_API_VERSION},
                sync_grace_seconds=SYNC_GRACE_SECONDS,
                **settings,
            )
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


def code(raised: pytest.ExceptionInfo[KafkaException]) -> int:
    return int(raised.value.args[0].code())


def offsets(partitions: list[TopicPartition]) -> list[int]:
    return [partition.offset for partition in partitions]


def test_it_hands_out_each_record_with_its_task_and_commits_what_it_has_handed_out(make: Make) -> None:
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
    assert ["assigned", "revoked"] == listener.words
    assert {threading.get_ident()} == listener.threads
    with pytest.raises(RuntimeError, match="Consumer closed"):
        consumer.poll(0)
    with pytest.raises(RuntimeError, match="Consumer closed"):
        consumer.commit()
    consumer.close()
    assert [] == list(consumer)


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


def test_a_newcomer_gets_tasks_after_they_were_given_up_and_the_rest_goes_on(make: Make) -> None:
    """What stays is not interrupted: a seek and a pause outlive the rebalance."""

    def commit() -> None:
        if heard.words.count("revoked") == 1:  # in `close` a mock may refuse it: the other one has just left
            old.commit(asynchronous=False)

    heard = Listener(revoked=commit)
    old = make(listener=heard)
    read = poll_until(lambda: len(read_so_far(old)) == 4)
    poll_until(lambda: offsets(old.position(old.assignment())) == [EACH] * 4, old)
    old.seek(TopicPartition("orders", 0, 10))
    old.pause([TopicPartition("orders", 1)])
    young = make()
    read = poll_until(all_shared(old, young), old, young)

    gone = tasks(young)
    assert ["assigned", "revoked"] == heard.words
    assert sorted(heard.heard[1][1]) == [TaskId(0, number) for number in gone]
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


def test_what_a_long_consume_has_gathered_is_handed_out_before_it_is_committed(make: Make) -> None:
    """Else a commit in `revoked` would be ahead of the user, and a crash would lose what lies between."""
    handed: dict[int, int] = {}
    compared: list[None] = []

    def compare() -> None:
        if compared:  # in `close`
            return
        for partition in old.position(old.assignment()):
            assert max(0, partition.offset) == handed.get(partition.partition, 0)
        compared.append(None)

    old = make(listener=Listener(revoked=compare))
    young: list[StreamsConsumer] = []
    other = threading.Timer(1.0, lambda: young.append(make()))
    other.start()
    deadline = time.monotonic() + SECONDS
    while not compared:
        assert time.monotonic() < deadline
        for message in old.consume(10_000, 5.0):
            handed[message.partition()] = message.offset() + 1
    other.join()
    assert EACH * len(TASKS) == sum(handed.values())


def read_so_far(consumer: StreamsConsumer) -> list[TopicPartition]:
    consumer.poll(0.02)
    return consumer.assignment()


def test_paused_partitions_hand_out_nothing_and_go_on_where_they_were(make: Make) -> None:
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


def test_a_seek_goes_back_and_in_assigned_says_where_to_begin(make: Make) -> None:
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


def test_it_commits_a_message_or_offsets_and_tells_on_commit(make: Make) -> None:
    told: list[tuple[Any, list[TopicPartition]]] = []
    consumer = make({"on_commit": lambda error, partitions: told.append((error, partitions))})
    assert consumer.commit() is None
    with pytest.raises(KafkaException) as nothing:
        consumer.commit(asynchronous=False)
    assert KafkaError._NO_OFFSET == code(nothing)
    message = consumer.poll(SECONDS)
    with pytest.raises(ValueError, match="got both"):
        consumer.commit(message=message, offsets=[])
    consumer.commit(message=message)
    poll_until(lambda: bool(told), consumer)

    number = message.partition()
    assert [(None, [1])] == [(error, offsets(partitions)) for error, partitions in told]
    assert [1] == offsets(consumer.committed([TopicPartition("orders", number)], 10))
    assert [7] == offsets(consumer.commit(offsets=[TopicPartition("orders", number, 7)], asynchronous=False))
    assert [7] == offsets(consumer.committed([TopicPartition("orders", number)], 10))


def test_it_commits_by_itself_if_told_to(make: Make) -> None:
    consumer = make({"enable.auto.commit": True, "auto.commit.interval.ms": 100})
    poll_until(
        lambda: bool(consumer.assignment()) and [EACH] * 4 == offsets(consumer.committed(consumer.assignment(), 10)),
        consumer,
    )


def test_who_does_not_poll_is_thrown_out_and_comes_back(make: Make) -> None:
    heard = Listener()
    late = make({"max.poll.interval.ms": 1800}, listener=heard)
    poll_until(all_shared(late), late)
    late.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
    member = late.memberid()
    other = make()
    time.sleep(2.2)
    poll_until(all_shared(other), other)
    with pytest.raises(KafkaException) as out:
        late.commit(offsets=[TopicPartition("orders", 0, 2)], asynchronous=False)
    assert code(out) in {KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION}
    # Still the old member, whom no broker trusts, and never a blob without one.
    assert member.encode() in late.consumer_group_metadata()

    poll_until(all_shared(late, other), late, other)
    # What it should have given up in the meantime is lost as well, and nothing is told to be revoked.
    first, *then = [word for word, _ in groupby(heard.words) if not word.startswith("standby")]
    assert ["assigned", ["lost", "assigned"]] == [first, then[:2]]


def test_nothing_is_handed_out_while_nobody_knows_whether_the_session_lives(make: Make) -> None:
    consumer = make()
    first = consumer.poll(SECONDS)
    assert first is not None
    membership = consumer._membership
    membership._session_seconds = -1.0
    deadline = time.monotonic() + SECONDS
    while not membership.in_doubt:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert consumer.poll(0.1) is None
    assert [] == consumer.consume(10, 0.1)
    membership._session_seconds = 60.0
    assert consumer.poll(SECONDS) is not None


def test_who_comes_to_revoked_when_the_session_is_over_has_lost_its_tasks(make: Make) -> None:
    heard = Listener()
    consumer = make(listener=heard, release=release_named("streams-assignor-3"))  # eager: it gives up all
    poll_until(all_shared(consumer), consumer)
    membership = consumer._membership
    membership.assignor.rejoin()
    deadline = time.monotonic() + SECONDS
    while not membership._waiting:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    membership._session_seconds = -1.0
    consumer.poll(0)
    assert ["assigned", "lost"] == heard.words
    membership._session_seconds = 60.0
    poll_until(lambda: ["assigned", "lost", "assigned"] == heard.words, consumer)


@pytest.mark.parametrize("during", ["poll", "nothing"])
def test_another_thread_can_close_it(make: Make, during: str) -> None:
    heard = Listener()
    consumer = make(listener=heard)
    poll_until(all_shared(consumer), consumer)
    consumer.pause(consumer.assignment())
    if during == "poll":
        closer = threading.Timer(0.2, consumer.close)
        closer.start()
        with pytest.raises(RuntimeError, match="Consumer closed"):
            consumer.poll()
    else:
        closer = threading.Thread(target=consumer.close)
        closer.start()
    closer.join(SECONDS)
    assert not closer.is_alive()
    assert ["assigned", "revoked"] == heard.words


def test_no_record_of_a_task_that_another_thread_gives_up(make: Make) -> None:
    entered, read_after = threading.Event(), []
    consumer = make(listener=Listener(revoked=lambda: (entered.set(), time.sleep(0.3))))
    poll_until(all_shared(consumer), consumer)
    assert consumer.poll(SECONDS) is not None
    closer = threading.Thread(target=consumer.close)
    closer.start()
    entered.wait(SECONDS)

    def read_on() -> None:
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


def test_a_listener_that_fails_is_heard_and_changes_nothing(make: Make) -> None:
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


def test_offset_sums_that_fail_are_heard_and_the_member_goes_on(make: Make) -> None:
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


def test_what_ends_the_member_comes_out_of_every_poll(make: Make) -> None:
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


def test_standbys_are_told(make: Make) -> None:
    heard = [Listener(), Listener()]
    consumers = [make({"num.standby.replicas": 1}, listener=each) for each in heard]
    poll_until(lambda: all_shared(*consumers)() and all(each.held.standby for each in heard), *consumers)
    assert heard[0].held.standby.keys() == heard[1].held.active.keys()


def test_its_group_metadata_are_what_librdkafka_says_of_its_own_members(cluster: MockCluster) -> None:
    """Private bytes: a release of librdkafka that changes them fails here."""
    for instance in (None, "one"):
        static = {"group.instance.id": instance} if instance else {}
        consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
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
        blob = consumer.consumer_group_metadata()
        # A mock begins with generation 1, and has been asked to join at most a few times.
        candidates = [
            group_metadata(f"plain-{instance}", Generation(n, consumer.memberid()), instance) for n in range(1, 9)
        ]
        assert blob in candidates
        consumer.close()


def test_what_is_private_in_kafka_python_is_where_it_was(make: Make) -> None:
    consumer = make()
    poll_until(all_shared(consumer), consumer)
    member = consumer._membership._consumer
    called = threading.Event()
    _call_soon(member, called.set)
    assert called.wait(SECONDS)
    before = _last_heartbeat(member)
    deadline = time.monotonic() + SECONDS
    while _last_heartbeat(member) <= before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert abs(time.monotonic() - _last_heartbeat(member)) < SECONDS


def test_it_dies_if_nobody_is_there(caplog: pytest.LogCaptureFixture) -> None:
    config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "billing", "log_level": 0}
    consumer = StreamsConsumer(config, TOPOLOGY, member={"bootstrap_timeout_ms": 300})
    caplog.set_level(logging.CRITICAL)
    with pytest.raises(FatalError, match="the membership has ended"):
        consumer.poll(SECONDS)
    consumer.close()
