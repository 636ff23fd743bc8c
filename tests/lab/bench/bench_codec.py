"""Our codec beside Kafka's own on the JVM and beside `struct`, on the same messages in the same run.

    python -m tests.lab.bench.bench_codec [--no-jvm]

Subscriptions of 1 to 10,000 tasks and assignments of 1 to 1,000 hosts (ten partitions each, active and standby),
version 11. The tenth percentile of several rounds, in microseconds; behind each yardstick ours as a multiple of it
(below 1 is quicker). The numbers are of one machine at one moment; compare only within one run.

What is compared with what:

- decode: bytes to a record. Ours holds the long lists as arrays of decoded integers, Java's generated message and
  `struct` as one object per task. (For assignments Java's decoder makes the collections at once: no difference.)
- read: decode, and then every task, sum, host and partition in sets and dictionaries.
- encode: a record that has been decoded, or that a leader shares between its answers, to bytes.
- build: from plain tuples and dictionaries to a record to bytes.
"""

import sys
import timeit
import tracemalloc
from uuid import UUID

from streams_assignor.codec import (
    LATEST_OFFSET,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from streams_assignor.codec.columns import TaskOffsetSums
from streams_assignor.codec.records import Assignment, ClientTag
from tests.lab.bench import struct_codec

ROUNDS = 30
ROUND_SECONDS = 0.02
SIZES = {"subscription": (1, 10, 100, 1000, 10_000), "assignment": (1, 10, 100, 1000)}
JVM = {"decode": "decode_ns", "read": "decode_read_ns", "encode": "encode_ns", "build": "build_encode_ns"}


def subscription(tasks):
    """A message like those of `CodecTiming`, for when there is no JVM."""
    sums = [TaskOffsetSum(TaskId(i // 100, i % 100), LATEST_OFFSET if i % 2 == 0 else 1000 * i) for i in range(tasks)]
    return Subscription(
        supported_version=11,
        process_id=UUID(int=(1 << 64) + 2),
        user_end_point="host-1.example:9092",
        task_offset_sums=tuple(sums),
        unique_field=1,
        client_tags=(ClientTag("zone", "eu-1a"), ClientTag("cluster", "one")),
    )


def assignment(hosts):
    """Likewise."""
    by_host = tuple(
        HostPartitions(
            HostInfo(f"host-{host}.example", 9092),
            tuple(TopicPartition(f"topic-{topic}", host) for topic in range(10)),
        )
        for host in range(hosts)
    )
    return Assignment(
        supported_version=11,
        active_tasks=tuple(TaskId(0, i) for i in range(10)),
        standby_tasks=tuple(StandbyTask(TaskId(1, i), (TopicPartition("topic-1", i),)) for i in range(10)),
        partitions_by_host=by_host,
        standby_partitions_by_host=by_host,
    )


def build_subscription(record):
    """Make the record of plain dictionaries, as a member does, and write it."""
    sums, tags = record.task_offset_sums.as_dict(), dict(record.client_tags)
    return lambda: encode_subscription(
        record._replace(
            task_offset_sums=TaskOffsetSums.of(sums),
            client_tags=tuple(map(ClientTag._make, tags.items())),
        )
    )


def build_assignment(record):
    """Likewise, as a leader does for its first answer; the others share the dictionary."""
    maps = [
        {host: tuple(partitions) for host, partitions in hosts}
        for hosts in (record.partitions_by_host, record.standby_partitions_by_host)
    ]
    return lambda: encode_assignment(
        record._replace(
            active_tasks=tuple(record.active_tasks),
            partitions_by_host=tuple(map(HostPartitions._make, maps[0].items())),
            standby_partitions_by_host=tuple(map(HostPartitions._make, maps[1].items())),
        )
    )


def read_subscription(encoded):
    record = decode_subscription(encoded)
    sums = record.task_offset_sums.as_dict()
    previous = {task for task, offset_sum in sums.items() if offset_sum == LATEST_OFFSET}
    return sums, previous, sums.keys() - previous, dict(record.client_tags)


def read_assignment(encoded):
    record = decode_assignment(encoded)
    maps = (record.partitions_by_host, record.standby_partitions_by_host)
    return list(record.active_tasks), [{host: set(inputs) for host, inputs in hosts} for hosts in maps]


OURS = {
    "subscription": (subscription, decode_subscription, read_subscription, encode_subscription, build_subscription),
    "assignment": (assignment, decode_assignment, read_assignment, encode_assignment, build_assignment),
}
STRUCT = {
    "subscription": (struct_codec.decode_subscription, struct_codec.encode_subscription),
    "assignment": (struct_codec.decode_assignment, struct_codec.encode_assignment),
}


def us(work):
    """Microseconds of one call, at the tenth percentile of some rounds: what else the machine does only slows it."""
    timer = timeit.Timer(work)
    times, taken = timer.autorange()
    times = max(1, int(times * ROUND_SECONDS / taken))
    return sorted(timer.repeat(ROUNDS, times))[ROUNDS // 10] / times * 1e6


def times(kind, encoded):
    """Microseconds of all that is compared, by (whose, what)."""
    _, decode, read, encode, build = OURS[kind]
    record = decode(encoded)
    its_decode, its_encode = STRUCT[kind]
    its_record = its_decode(encoded)
    assert its_record == record
    assert encode(record) == encoded
    # an assignment from struct has no dictionary of its own
    given = its_record if kind == "subscription" else record
    assert its_encode(given) == encoded
    return {
        ("ours", "decode"): us(lambda: decode(encoded)),
        ("ours", "read"): us(lambda: read(encoded)),
        ("ours", "encode"): us(lambda: encode(record)),
        ("ours", "build"): us(build(record)),
        ("struct", "decode"): us(lambda: its_decode(encoded)),
        ("struct", "encode"): us(lambda: its_encode(given)),
    }


def memory(kind, size):
    """Peak memory of decoding as a multiple of what the record keeps."""
    make, decode, _, encode, _ = OURS[kind]
    encoded = encode(make(size))
    decode(encoded)
    tracemalloc.start()
    record = decode(encoded)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del record
    return peak / kept


def jvm():
    """What the JVM takes, by (kind, size); nothing if it is not wanted or cannot be had."""
    if "--no-jvm" in sys.argv:
        return {}
    from tests.lab.bench.jvm_codec import timings
    from tests.lab.integration.kafka_jars import Unavailable

    try:
        return {(line["what"], line["size"]): line for line in timings()}
    except Unavailable as why:
        print(f"without the JVM: {why}")
        return {}


def main():
    java = jvm()
    print(f"{'message':<19}{'bytes':>8}  {'':<7}{'ours':>10}{'JVM':>10}{'':>7}{'struct':>11}{'':>7}")
    for kind, sizes in SIZES.items():
        for size in sizes:
            line = java.get((kind, size))
            encoded = bytes.fromhex(line["hex"]) if line else OURS[kind][3](OURS[kind][0](size))
            found = times(kind, encoded)
            for place, what in enumerate(JVM):
                head = f"{kind:<13}{size:>6}{len(encoded):>8}" if place == 0 else f"{'':<27}"
                ours = found["ours", what]
                theirs = line[JVM[what]] / 1000 if line else None
                struct = found.get(("struct", what))
                print(f"{head}  {what:<7}{ours:>10.2f}{beside(ours, theirs)} {beside(ours, struct)}")
    print("peak memory of decoding / memory of the record:", end="")
    print(*(f"  {kind} {sizes[-1]:,}: {memory(kind, sizes[-1]):.2f}" for kind, sizes in SIZES.items()))


def beside(ours, theirs):
    return f"{'–':>10}{'':>7}" if theirs is None else f"{theirs:>10.2f}{f'x{ours / theirs:.2f}':>7}"


if __name__ == "__main__":
    main()
