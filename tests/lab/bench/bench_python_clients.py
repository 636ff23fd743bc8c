"""kafka-python and aiokafka consumers with the Streams assignor, beside the same consumers with their own assignor.

    python tests/lab/bench/bench_python_clients.py [--broker ADDRESS | --mock] [--rounds 5] [--row NAME] [--scale 1.0]

NAME is a part of the names of the rows. Without an address it starts a broker of its own. Both consumers of a row have
the same settings and the same loop. In each round they run alternately, each in a new group, from the first record to
the last. Records have 100 bytes, in six partitions.

``ratio`` is the median over the rounds of Streams / plain in records per second; ``CPU`` is the same for records per
second of CPU time of this process, which a busy machine disturbs less. The adapters have no buffer of their own, so the
slow reader is compared by the CPU time that its 20 records per second cost.
"""

import argparse
import asyncio
import logging
import statistics
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AiokafkaPartition
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition

sys.path.insert(0, str(Path(__file__).parents[3]))

from streams_assignor import Subtopology, Topology
from streams_assignor.clients import aiokafka, kafka_python
from streams_assignor.clients.mock_cluster import MockCluster, delay_leader
from tests.lab.integration.brokers import a_broker

PARTITIONS = 6
SIZE = 100
WAIT_MS = 10_000
SLOW_PAUSE = 1 / 20
AUTO = {"enable_auto_commit": True, "auto_commit_interval_ms": 1000}


class Target:
    """A cluster with a filled topic."""

    def __init__(self, bootstrap, topic, output, mock):
        self.topic, self.output, self.mock = topic, output, mock
        self.bootstrap = bootstrap
        self.version = {"api_version": (2, 3)} if mock else {}

    def settings(self, **settings):
        return {
            "bootstrap_servers": self.bootstrap,
            "group_id": f"bench-{uuid4().hex[:8]}",
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            **settings,
        }

    def assignor(self, library):
        streams = library.StreamsPartitionAssignor(Topology.of(Subtopology(sources=[self.topic])))
        if self.mock:
            delay_leader(streams)
        return streams


def fill(bootstrap, topic, records):
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": records + 1})
    for number in range(records):
        producer.produce(topic, b"x" * SIZE, partition=number % PARTITIONS)
    assert producer.flush(300) == 0


# -- kafka-python ------------------------------------------------------------------------------------------------------


def polled(consumer, records):
    """Each record of some polls, at least so many."""
    while records > 0:
        for batch in consumer.poll(WAIT_MS).values():
            records -= len(batch)
            yield from batch


def poll_only(_target, consumer, records):
    for _ in polled(consumer, records):
        pass


def iterate(_target, consumer, records):
    for _ in range(records):
        next(consumer)


def commit_each(_target, consumer, records):
    for _ in polled(consumer, records):
        consumer.commit_async()


def commit_each_with_callback(_target, consumer, records):
    for _ in polled(consumer, records):
        consumer.commit_async(callback=lambda *_: None)


def commit_record(_target, consumer, records):
    for record in polled(consumer, records):
        end = OffsetAndMetadata(record.offset + 1, "", -1)
        consumer.commit_async({TopicPartition(record.topic, record.partition): end})


def commit_synchronously(_target, consumer, records):
    for number, _ in enumerate(polled(consumer, records)):
        if number % 100 == 99:
            consumer.commit()


def read_slowly(_target, consumer, records):
    for _ in range(records):
        consumer.poll(WAIT_MS, max_records=1)
        time.sleep(SLOW_PAUSE)


def transactions(size):
    def run(target, consumer, records):
        producer = KafkaProducer(bootstrap_servers=target.bootstrap, transactional_id=f"bench-{uuid4().hex[:8]}")
        producer.init_transactions()
        source = polled(consumer, records)
        for _ in range(records // size):
            ends = {}
            producer.begin_transaction()
            for _ in range(size):
                record = next(source)
                producer.send(target.output, record.value)
                ends[TopicPartition(record.topic, record.partition)] = OffsetAndMetadata(record.offset + 1, "", -1)
            producer.send_offsets_to_transaction(ends, consumer.group_metadata())
            producer.commit_transaction()
        producer.close()

    return run


def measure(target, streams, run, records, settings):
    strategy = {}
    if streams:
        assignor = target.assignor(kafka_python)
        strategy = {"partition_assignment_strategy": [assignor]}
    consumer = KafkaConsumer(**target.settings(**settings, **strategy, **target.version))
    try:
        if streams:
            assignor.bind(consumer)
        consumer.subscribe([target.topic])
        while not consumer.poll(WAIT_MS, max_records=1):
            pass
        begun, cpu = time.perf_counter(), time.process_time()
        run(target, consumer, records)
        return records / (time.perf_counter() - begun), records / (time.process_time() - cpu)
    finally:
        consumer.close()


# -- aiokafka ----------------------------------------------------------------------------------------------------------


async def getone_only(_target, consumer, records):
    for _ in range(records):
        await consumer.getone()


async def getmany_only(_target, consumer, records):
    while records > 0:
        records -= sum(map(len, (await consumer.getmany(timeout_ms=WAIT_MS)).values()))


async def await_commit_each(_target, consumer, records):
    for _ in range(records):
        await consumer.getone()
        await consumer.commit()


async def await_commit_record(_target, consumer, records):
    for _ in range(records):
        record = await consumer.getone()
        await consumer.commit({AiokafkaPartition(record.topic, record.partition): record.offset + 1})


async def await_commit_100(_target, consumer, records):
    for number in range(records):
        await consumer.getone()
        if number % 100 == 99:
            await consumer.commit()


async def getone_slowly(_target, consumer, records):
    for _ in range(records):
        await consumer.getone()
        await asyncio.sleep(SLOW_PAUSE)


def async_transactions(size):
    async def run(target, consumer, records):
        producer = AIOKafkaProducer(bootstrap_servers=target.bootstrap, transactional_id=f"bench-{uuid4().hex[:8]}")
        await producer.start()
        for _ in range(records // size):
            ends = {}
            async with producer.transaction():
                for _ in range(size):
                    record = await consumer.getone()
                    await producer.send(target.output, record.value)
                    ends[AiokafkaPartition(record.topic, record.partition)] = record.offset + 1
                await producer.send_offsets_to_transaction(ends, consumer._group_id)
        await producer.stop()

    return run


def measure_async(target, streams, run, records, settings):
    async def running():
        strategy = {}
        if streams:
            assignor = target.assignor(aiokafka)
            strategy = {"partition_assignment_strategy": [assignor]}
        consumer = AIOKafkaConsumer(target.topic, **target.settings(**settings, **strategy))
        if streams:
            assignor.bind(consumer)
        await consumer.start()
        try:
            await consumer.getone()
            begun, cpu = time.perf_counter(), time.process_time()
            await run(target, consumer, records)
            return records / (time.perf_counter() - begun), records / (time.process_time() - cpu)
        finally:
            await consumer.stop()

    return asyncio.run(running())


# -- measurement -------------------------------------------------------------------------------------------------------

ROWS = {
    "kafka-python: poll, no commit": (measure, poll_only, 200_000, {}),
    "kafka-python: iterator, no commit": (measure, iterate, 100_000, {}),
    "kafka-python: commit_async() per record": (measure, commit_each, 10_000, {}),
    "kafka-python: the same with a callback": (measure, commit_each_with_callback, 10_000, {}),
    "kafka-python: commit_async(record) each": (measure, commit_record, 10_000, {}),
    "kafka-python: commit() per 100": (measure, commit_synchronously, 40_000, {}),
    "kafka-python: auto-commit": (measure, poll_only, 200_000, AUTO),
    "kafka-python: auto-commit, 20 records/s": (measure, read_slowly, 100, AUTO),
    "kafka-python: transactions of 100": (measure, transactions(100), 5_000, {}),
    "kafka-python: transactions of 1,000": (measure, transactions(1000), 10_000, {}),
    "aiokafka: getone, no commit": (measure_async, getone_only, 200_000, {}),
    "aiokafka: getmany, no commit": (measure_async, getmany_only, 400_000, {}),
    "aiokafka: commit() per record": (measure_async, await_commit_each, 2_000, {}),
    "aiokafka: commit(record) each": (measure_async, await_commit_record, 2_000, {}),
    "aiokafka: commit() per 100": (measure_async, await_commit_100, 40_000, {}),
    "aiokafka: auto-commit": (measure_async, getone_only, 200_000, AUTO),
    "aiokafka: auto-commit, 20 records/s": (measure_async, getone_slowly, 100, AUTO),
    "aiokafka: transactions of 100": (measure_async, async_transactions(100), 5_000, {}),
    "aiokafka: transactions of 1,000": (measure_async, async_transactions(1000), 20_000, {}),
}


def row(name, target, measure_one, run, records, settings, rounds):
    found = {False: [], True: []}
    for number in range(rounds):
        for streams in (False, True) if number % 2 else (True, False):  # neither is always the last one
            found[streams].append(measure_one(target, streams, run, records, settings))
    medians = "".join(f"{statistics.median(wall for wall, _ in found[each]):>14,.0f}" for each in found)
    ratios = [
        statistics.median(ours[kind] / theirs[kind] for ours, theirs in zip(found[True], found[False], strict=True))
        for kind in (0, 1)
    ]
    print(f"{name:<42}{medians}{ratios[0]:>8.2f}{ratios[1]:>8.2f}", flush=True)


def cluster(stack, options):
    if options.mock:
        mock = stack.enter_context(MockCluster(initial_rebalance_delay_ms=100))
        for name in ("bench", "bench-output"):
            mock.create_topic(name, PARTITIONS)
        return Target(mock.bootstrap_servers, "bench", "bench-output", True)
    broker = options.broker or stack.enter_context(a_broker())
    topic = f"bench-{uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker, "log_level": 0})
    names = [topic, f"{topic}-output"]
    for created in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names]).values():
        created.result(60)
    return Target(broker, *names, False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--broker")
    parser.add_argument("--mock", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--row", default="")
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    # The mock cluster accepts transactions without effect.
    left_out = "transactions" if options.mock else None
    rows = {name: each for name, each in ROWS.items() if options.row in name and not (left_out and left_out in name)}
    most = 150_000 if options.mock else 10**9
    with ExitStack() as stack:
        target = cluster(stack, options)
        counts = {name: max(10, min(most, int(each[2] * options.scale)) // 10 * 10) for name, each in rows.items()}
        fill(target.bootstrap, target.topic, max(counts.values()) + 2000)
        print(f"{SIZE} bytes, {PARTITIONS} partitions, median of {options.rounds} rounds")
        print(f"{'':<42}{'plain/s':>14}{'Streams/s':>14}{'ratio':>8}{'CPU':>8}", flush=True)
        for name, (measure_one, run, _, settings) in rows.items():
            row(name, target, measure_one, run, counts[name], settings, options.rounds)


if __name__ == "__main__":
    main()
