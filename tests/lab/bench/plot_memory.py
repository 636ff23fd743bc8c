"""Resident memory while a ``StreamsConsumer`` reads ten million records and commits after each one.

    pip install 'matplotlib>=3.9,<4'
    python -m tests.lab.bench.plot_memory tests/lab/bench/confluent-memory.svg [--broker ADDRESS] [--millions 10]

Without an address it starts a broker of its own. The topic has a million records of 100 bytes in six partitions; the
consumer seeks back to their beginning after the last one. Prints the growth in MB per million records: the slope of the
least-squares line after the first million, in which librdkafka fills its queues.
"""

import argparse
import statistics
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

from confluent_kafka import TopicPartition

from tests.lab.bench.bench_confluent import PARTITIONS, WAIT, Target, cluster, fill

MILLION = 1_000_000
STEP = 50_000
PAGE = 4096


def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / MILLION


def samples(target, millions):
    """Millions of records read, and the memory then."""
    consumer, found = target.streams(), []
    poll, commit = consumer.poll, consumer.commit
    try:
        for number in range(1, millions * MILLION + 1):
            while poll(WAIT) is None:
                pass
            commit()
            if number % STEP == 0:
                found.append((number / MILLION, resident_mb()))
            if number % MILLION == 0:
                print(f"{number // MILLION} million: {resident_mb():.1f} MB", flush=True)
                for partition in range(PARTITIONS):
                    consumer.seek(TopicPartition(target.topic, partition, 0))
    finally:
        consumer.close()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--broker")
    parser.add_argument("--millions", type=int, default=10)
    options = parser.parse_args()
    with ExitStack() as stack:
        settings, topic, output, _ = cluster(stack, SimpleNamespace(mock=False, broker=options.broker))
        fill(settings, topic, MILLION)
        found = samples(Target(settings, topic, output, "classic"), options.millions)
    slope = statistics.linear_regression(*zip(*((n, mb) for n, mb in found if n > 1), strict=True)).slope
    print(f"growth after the first million: {slope:.2f} MB per million records")
    plot(found, slope, options.path)


def plot(found, slope, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(*zip(*found, strict=True), linewidth=1.2)
    axes.set(
        title=f"StreamsConsumer, commit() after each record: {slope:+.2f} MB per million",
        xlabel="million records",
        ylabel="resident memory, MB",
    )
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
