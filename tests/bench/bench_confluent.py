"""Records per second of a ``StreamsConsumer`` and of a plain ``confluent_kafka.Consumer``, side by side on one broker.

    python tests/bench/bench_confluent.py [BOOTSTRAP] [RECORDS] [ROUNDS]

Without an address (or with ``-``) it starts a broker of its own. Each round reads all RECORDS (default 400,000 of 100
bytes, six partitions) with each consumer in turn, each time in a new group; the clock runs from the first record to the
last. ``ratio`` is the median over the rounds of StreamsConsumer / Consumer; ``tuned`` the same against a Consumer with
the one setting of librdkafka that StreamsConsumer sets for its users. One machine, one moment, broker included.
"""

import statistics
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

sys.path.insert(0, str(Path(__file__).parents[2]))

from assignor import Subtopology, Topology
from assignor.clients.confluent import StreamsConsumer
from assignor.clients.confluent._settings import FETCH_BACKOFF
from tests.integration.brokers import a_broker

PARTITIONS = 6
SIZE = 100
BATCH = 500


def fill(broker, topic, records):
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(60)
    producer = Producer({"bootstrap.servers": broker, "linger.ms": 50, "queue.buffering.max.messages": records + 1})
    for number in range(records):
        producer.produce(topic, b"x" * SIZE, partition=number % PARTITIONS)
    assert producer.flush(120) == 0


def config(broker):
    return {
        "bootstrap.servers": broker,
        "group.id": f"bench-{uuid4().hex[:8]}",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }


def plain(broker, topic, **settings):
    consumer = Consumer({**config(broker), **settings})
    consumer.subscribe([topic])
    return consumer


def tuned(broker, topic):
    return plain(broker, topic, **FETCH_BACKOFF)


def streams(broker, topic):
    return StreamsConsumer(config(broker), Topology.of(Subtopology(sources=[topic])))


def by_poll(consumer, records):
    poll, left = consumer.poll, records - 1
    while poll(10) is None:
        pass
    begun = time.perf_counter()
    while left:
        if poll(10) is not None:
            left -= 1
    return (records - 1) / (time.perf_counter() - begun)


def by_batches(consumer, records):
    while not (first := consumer.consume(1, 10)):
        pass
    left = records - len(first)
    begun = time.perf_counter()
    while left:
        left -= len(consumer.consume(min(BATCH, left), 10))
    return (records - 1) / (time.perf_counter() - begun)


def rate(read, make, broker, topic, records):
    consumer = make(broker, topic)
    try:
        return read(consumer, records)
    finally:
        consumer.close()


def main(broker="-", records=400_000, rounds=7):
    records, rounds = int(records), int(rounds)
    with ExitStack() as stack:
        broker = stack.enter_context(a_broker()) if broker == "-" else broker
        topic = f"bench-{uuid4().hex[:8]}"
        fill(broker, topic, records)
        print(f"{records:,} records of {SIZE} bytes, {PARTITIONS} partitions, median of {rounds} rounds")
        print(f"{'':<14}{'Consumer/s':>12}{'tuned/s':>12}{'StreamsConsumer/s':>20}{'ratio':>8}{'tuned':>8}")
        for name, read in (("poll", by_poll), (f"consume({BATCH})", by_batches)):
            found = {make: [] for make in (plain, tuned, streams)}
            for number in range(rounds):
                for make in list(found)[:: 1 if number % 2 else -1]:  # nobody is always the last one
                    found[make].append(rate(read, make, broker, topic, records))
            rates = "".join(f"{statistics.median(found[make]):>{12 if make != streams else 20},.0f}" for make in found)
            print(f"{name:<14}{rates}{ratio(found, plain):>8.2f}{ratio(found, tuned):>8.2f}", flush=True)


def ratio(found, of):
    return statistics.median(ours / theirs for ours, theirs in zip(found[streams], found[of], strict=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
