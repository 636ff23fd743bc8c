"""``StreamsConsumer`` beside a plain ``confluent_kafka.Consumer``: records per second and what is buffered.

    python tests/lab/bench/bench_confluent.py [--broker ADDRESS | --mock] [--rounds 5] [--row PART_OF_A_NAME]
        [--scale 1.0] [--protocol streams]

With ``--protocol streams`` (KIP-1071) ``--broker`` needs a broker of 4.2 or later. Without an address it starts a
broker of its own. Both consumers have the same settings (also the one that
``StreamsConsumer`` sets for its users, ``fetch.queue.backoff.ms``) and loop over ``poll``. In each round they run
alternately, each in a new group, from the first record to the last. Records have 100 bytes, in six partitions.

``ratio`` is the median over the rounds of StreamsConsumer / Consumer, in records per second; ``CPU`` is the same for
records per second of CPU time of this process, which a busy machine disturbs less. ``answered`` and its CPU are the
same until all commits are answered, which for a plain consumer is the end of ``close``: it sends each one by itself, so
its loop over ``poll`` calls next to none of the callbacks. Each consumer must have made one call for each commit.

The last row reads 20 records per second with auto-commit; its figures are the largest numbers of records in a queue of
librdkafka (``fetchq_cnt`` of one partition, with ``queued.min.messages`` 1,000) and in the consumer's own buffer.
"""

import argparse
import json
import statistics
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

sys.path.insert(0, str(Path(__file__).parents[3]))

from streams_assignor import Subtopology, Topology
from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.clients.confluent._settings import FETCH_BACKOFF
from streams_assignor.clients.mock_cluster import MockCluster, delay_leader
from tests.lab.integration.brokers import a_broker

PARTITIONS = 6
SIZE = 100
WAIT = 10
BATCH = 500
CALLS = []
SLOW_SECONDS = 15
SLOW_PAUSE = 1 / 20
SLOW = {
    "enable.auto.commit": True,
    "auto.commit.interval.ms": 1000,
    "queued.min.messages": 1000,
    "statistics.interval.ms": 500,
}


class Target:
    """A cluster with a filled topic."""

    def __init__(self, settings, topic, output, protocol):
        self.settings = settings
        self.protocol = {"group.protocol": protocol}
        self.topic = topic
        self.output = output

    def config(self, **settings):
        return {
            "bootstrap.servers": self.settings["bootstrap.servers"],
            "group.id": f"bench-{uuid4().hex[:8]}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
            **FETCH_BACKOFF,
            **settings,
        }

    def plain(self, **settings):
        consumer = Consumer(self.config(**settings))
        consumer.subscribe([self.topic])
        return consumer

    def streams(self, **settings):
        topology = Topology.of(Subtopology(sources=[self.topic]))
        consumer = StreamsConsumer({**self.config(**settings), **self.settings, **self.protocol}, topology, admin=False)
        if "main.consumer.api_version" in self.settings:
            delay_leader(consumer.streams)
        return consumer

    def producer(self):
        producer = Producer(
            {
                "bootstrap.servers": self.settings["bootstrap.servers"],
                "transactional.id": f"bench-{uuid4().hex[:8]}",
                # The broker refuses a transaction while the one before ends; librdkafka then waits 100 ms.
                "retry.backoff.ms": 1,
                "log_level": 0,
            }
        )
        producer.init_transactions(60)
        return producer


def fill(settings, topic, records):
    producer = Producer({**settings, "linger.ms": 50, "queue.buffering.max.messages": records + 1, "log_level": 0})
    for number in range(records):
        producer.produce(topic, b"x" * SIZE, partition=number % PARTITIONS)
    assert producer.flush(300) == 0


# -- what is done with each record -------------------------------------------------------------------------------------


def poll_only(_target, consumer, records):
    poll = consumer.poll
    for _ in range(records):
        while poll(WAIT) is None:
            pass


def consume_only(_target, consumer, records):
    left = records
    while left:
        left -= len(consumer.consume(min(BATCH, left), WAIT))


def commit_each(_target, consumer, records):
    poll, commit = consumer.poll, consumer.commit
    for _ in range(records):
        while poll(WAIT) is None:
            pass
        commit()


def commit_batches(_target, consumer, records):
    poll, commit = consumer.poll, consumer.commit
    for number in range(records):
        while poll(WAIT) is None:
            pass
        if number % BATCH == BATCH - 1:
            commit()


def commit_message(_target, consumer, records):
    poll, commit = consumer.poll, consumer.commit
    for _ in range(records):
        while (message := poll(WAIT)) is None:
            pass
        commit(message)


def commit_synchronously(_target, consumer, records):
    poll, commit = consumer.poll, consumer.commit
    for number in range(records):
        while poll(WAIT) is None:
            pass
        if number % 100 == 99:
            commit(asynchronous=False)


def consume_and_commit(_target, consumer, records):
    left, consume, commit = records, consumer.consume, consumer.commit
    while left:
        left -= len(consume(min(BATCH, left), WAIT))
        commit(asynchronous=False)


def transactions(size):
    def run(target, consumer, records):
        producer, poll = target.producer(), consumer.poll
        for _ in range(records // size):
            ends = {}
            producer.begin_transaction()
            for _ in range(size):
                while (message := poll(WAIT)) is None:
                    pass
                producer.produce(target.output, message.value())
                ends[message.partition()] = message.offset() + 1
            offsets = [TopicPartition(target.topic, *end) for end in ends.items()]
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata())
            producer.commit_transaction()

    return run


ROWS = {
    "no commit": (poll_only, 400_000, {}),
    f"no commit, consume({BATCH})": (consume_only, 400_000, {}),
    "commit() per record": (commit_each, 20_000, {}),
    "commit() per record, on_commit": (commit_each, 20_000, {"on_commit": lambda error, _: CALLS.append(error)}),
    f"commit() per {BATCH}": (commit_batches, 400_000, {}),
    f"commit() per {BATCH}, on_commit": (commit_batches, 400_000, {"on_commit": lambda error, _: CALLS.append(error)}),
    "commit(message) per record": (commit_message, 20_000, {}),
    "commit(asynchronous=False) per 100": (commit_synchronously, 40_000, {}),
    f"commit(asynchronous=False) per consume({BATCH})": (consume_and_commit, 400_000, {}),
    "auto-commit each second": (poll_only, 400_000, {"enable.auto.commit": True, "auto.commit.interval.ms": 1000}),
    "transactions of 100": (transactions(100), 8_000, {}),
    "transactions of 1,000": (transactions(1000), 60_000, {}),
}


# -- measurement -------------------------------------------------------------------------------------------------------


def rates(run, target, consumer, records):
    """Records per second and per second of CPU time, of the loop and until all commits are answered."""
    calls = len(CALLS)
    try:
        while consumer.poll(WAIT) is None:
            pass
        begun, cpu = time.perf_counter(), time.process_time()
        run(target, consumer, records)
        ended, used = time.perf_counter(), time.process_time() - cpu
    finally:
        consumer.close()
    assert len(CALLS) - calls in {0, records // BATCH, records}, (
        f"expected a call for each commit of {records} records, got {len(CALLS) - calls}"
    )
    answered, used_until_then = time.perf_counter() - begun, time.process_time() - cpu
    return records / (ended - begun), records / used, records / answered, records / used_until_then


def compare(target, run, records, settings, rounds):
    makes = (target.plain, target.streams)
    found = {make: [] for make in makes}
    for number in range(rounds):
        for make in makes[:: 1 if number % 2 else -1]:  # neither is always the last one
            found[make].append(rates(run, target, make(**settings), records))
    return tuple(list(zip(*found[make], strict=True)) for make in makes)


def row(name, plain, ours):
    wall, cpu, answered, cpu_answered = (
        statistics.median(our / their for our, their in zip(mine, others, strict=True))
        for mine, others in zip(ours, plain, strict=True)
    )
    last = f"{answered:>10.2f}{cpu_answered:>8.2f}" if "per record" in name else ""
    medians = "".join(f"{statistics.median(each[0]):>20,.0f}" for each in (plain, ours))
    print(f"{name:<44}{medians}{wall:>8.2f}{cpu:>8.2f}{last}", flush=True)


def buffered(make):
    """Read slowly; return the largest numbers of records queued in librdkafka, per partition, and outside of it."""
    queued = [0]

    def on_statistics(text):
        topics = json.loads(text)["topics"].values()
        queued.extend(each["fetchq_cnt"] for topic in topics for each in topic["partitions"].values())

    consumer, own = make(stats_cb=on_statistics, **SLOW), 0
    try:
        while consumer.poll(WAIT) is None:
            pass
        end = time.monotonic() + SLOW_SECONDS
        while time.monotonic() < end:
            consumer.poll(0.05)
            time.sleep(SLOW_PAUSE)
            own = max(own, len(consumer._fetcher.buffer.ready) if isinstance(consumer, StreamsConsumer) else 0)
    finally:
        consumer.close()
    return max(queued), own


def cluster(stack, options):
    """Settings of a cluster, and the most records that a topic of it can have."""
    if options.mock:
        mock = stack.enter_context(MockCluster(initial_rebalance_delay_ms=100))
        for name in ("bench", "bench-output"):
            mock.create_topic(name, PARTITIONS)
        return mock.confluent_settings(), "bench", "bench-output", 200_000
    broker = options.broker or stack.enter_context(a_broker())
    topic = f"bench-{uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker, "log_level": 0})
    names = [topic, f"{topic}-output"]
    for created in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names]).values():
        created.result(60)
    return {"bootstrap.servers": broker}, *names, 10**9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--broker")
    parser.add_argument("--mock", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--row", default="")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--protocol", choices=["classic", "streams"], default="classic")
    options = parser.parse_args()
    with ExitStack() as stack:
        settings, topic, output, limit = cluster(stack, options)
        largest = max(min(limit, int(records * options.scale)) for _, records, _ in ROWS.values())
        fill({"bootstrap.servers": settings["bootstrap.servers"]}, topic, largest + 1)
        target = Target(settings, topic, output, options.protocol)
        print(f"{SIZE} bytes, {PARTITIONS} partitions, median of {options.rounds} rounds")
        print(f"{'':<44}{'Consumer/s':>20}{'StreamsConsumer/s':>20}{'ratio':>8}{'CPU':>8}{'answered':>10}{'CPU':>8}")
        for name, (run, records, more) in ROWS.items():
            if options.row in name:
                records = min(largest, int(records * options.scale)) // 1000 * 1000
                row(name, *compare(target, run, records, more, options.rounds))
        if options.row in (name := "auto-commit, 20 records/s: buffered"):
            numbers = "".join(
                f"{f'{queue:,} + {own:,}':>20}" for queue, own in map(buffered, (target.plain, target.streams))
            )
            print(f"{name:<44}{numbers}")


if __name__ == "__main__":
    main()
