"""Segments of `__consumer_offsets` for benchmarks: of any size, with correct checksums, the same in each run.

Commits: each batch has the ten partitions of one group. Metadata: groups of ten members with four tasks each; in each
rebalance, a member leaves or comes back ("bounce"), or all tasks change their owner ("shuffle", the worst case of any
reader). Deleted: groups of one member that are empty and then deleted. Mixed: the first two, a generation among 100
batches of commits.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random
from uuid import UUID

from crc32c import crc32c

from streams_assignor.codec import (
    Assignment,
    Subscription,
    TaskId,
    TaskOffsetSum,
    encode_assignment,
    encode_subscription,
)
from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartitions,
    encode_consumer_assignment,
    encode_consumer_subscription,
)
from streams_assignor.codec.coordinator import RECORD_TYPES, encode_key, encode_value

MEMBERS, TASKS, PARTITIONS = 10, 40, 10
BOUNCE, SHUFFLE = "bounce", "shuffle"
_START = 1_700_000_000_000
_COMMIT, _METADATA = RECORD_TYPES[1], RECORD_TYPES[2]

Pairs = list[tuple[bytes, bytes | None]]


def commits(groups: int) -> Iterator[tuple[int, Pairs]]:
    """Yield batches of commits without end: the time and the records of each."""
    random, time = Random(1), _START
    keys = [
        [encode_key(_COMMIT, {"group": f"group-{group}", "topic": f"orders-{group % 7}", "partition": each})
         for each in range(PARTITIONS)]
        for group in range(groups)
    ]  # fmt: skip
    for number in range(1 << 60):
        time += 3
        fields = {"offset": 17 * number, "leaderEpoch": 1, "metadata": "", "commitTimestamp": time}
        value = encode_value(_COMMIT, 3, fields)
        yield time, [(key, value) for key in keys[random.randrange(groups)]]


def generations(groups: int, shape: str = BOUNCE) -> Iterator[tuple[int, Pairs]]:
    """Yield batches with a generation each, without end; one group after the other."""
    random, time = Random(2), _START
    processes = [[random.getrandbits(120) << 8 for _ in range(MEMBERS)] for _ in range(groups)]
    for number in range(1 << 60):
        generation, group = divmod(number, groups)
        time += 50
        before, after = (_owners(each, shape) for each in (generation - 1, generation))
        members = [
            _member(
                UUID(int=processes[group][index] + _restarts(index, generation, shape)),
                index,
                generation,
                before.get(index, ()),
                after[index],
                random,
            )
            for index in after
        ]
        value = {
            "protocolType": "consumer",
            "generation": generation + 1,
            "protocol": "stream",
            "leader": members[0]["memberId"],
            "currentStateTimestamp": time - 40,
            "members": members,
        }
        yield time, [(encode_key(_METADATA, {"group": f"group-{group}"}), encode_value(_METADATA, 3, value))]


def _owners(generation: int, shape: str) -> dict[int, tuple[int, ...]]:
    """The tasks of each member in a generation."""
    if shape == SHUFFLE:
        return {index: tuple(range((index - generation) % MEMBERS, TASKS, MEMBERS)) for index in range(MEMBERS)}
    away = generation // 2 % MEMBERS if generation % 2 else None
    owners = {index: tuple(range(index, TASKS, MEMBERS)) for index in range(MEMBERS)}
    lost = owners.pop(away, ()) if away is not None else ()
    for place, task in enumerate(lost):
        index = [*owners][place]
        owners[index] = (*owners[index], task)
    return owners


def _restarts(index: int, generation: int, shape: str) -> int:
    """How often a member has come back, each time as another process."""
    return 0 if shape == SHUFFLE else ((generation - 1) // 2 - index) // MEMBERS + 1


def _member(
    process: UUID, index: int, generation: int, had: tuple[int, ...], has: tuple[int, ...], random: Random
) -> dict[str, object]:
    sums = tuple(TaskOffsetSum(TaskId(0, task), random.randrange(10**6)) for task in had)
    userdata = Subscription(
        supported_version=11,
        process_id=process,
        task_offset_sums=sums,
        user_end_point=f"pod-{index}:8080",
        unique_field=generation % 128,
    )
    owned = (TopicPartitions("orders", had),) if had else ()
    subscription = ConsumerSubscription(("orders",), encode_subscription(userdata), owned, generation, version=3)
    answer = Assignment(supported_version=11, active_tasks=tuple(TaskId(0, task) for task in has))
    assignment = ConsumerAssignment((TopicPartitions("orders", has),), encode_assignment(answer), version=3)
    return {
        "memberId": f"app-{process}-StreamThread-1-consumer-{process}",
        "groupInstanceId": None,
        "clientId": f"app-{process}-StreamThread-1-consumer",
        "clientHost": f"/10.0.0.{index}",
        "rebalanceTimeout": 300_000,
        "sessionTimeout": 45_000,
        "subscription": encode_consumer_subscription(subscription),
        "assignment": encode_consumer_assignment(assignment),
    }


def mixed(groups: int) -> Iterator[tuple[int, Pairs]]:
    """Yield a generation, then a hundred batches of commits, without end."""
    commit, generation = commits(groups), generations(groups)
    while True:
        yield next(generation)
        for _ in range(100):
            yield next(commit)


def deleted(groups: int) -> Iterator[tuple[int, Pairs]]:
    """Yield what a job or console leaves of its group, which is its own: joined, empty, deleted."""
    value = {
        "protocolType": "consumer",
        "generation": 1,
        "protocol": "range",
        "leader": None,
        "currentStateTimestamp": _START,
        "members": [],
    }
    member = {
        "memberId": "consumer-1-0f3c",
        "groupInstanceId": None,
        "clientId": "consumer-1",
        "clientHost": "/10.0.0.1",
        "rebalanceTimeout": 300_000,
        "sessionTimeout": 45_000,
        "subscription": encode_consumer_subscription(ConsumerSubscription(("orders",))),
        "assignment": encode_consumer_assignment(ConsumerAssignment((TopicPartitions("orders", (0,)),), b"")),
    }
    joined = encode_value(_METADATA, 3, value | {"members": [member], "leader": member["memberId"]})
    empty = encode_value(_METADATA, 3, value | {"generation": 2, "protocol": None})
    for number in range(groups):
        key = encode_key(_METADATA, {"group": f"spark-kafka-source-{number:032x}"})
        yield _START + 3 * number, [(key, joined), (key, empty), (key, None)]


def write(folder: Path, batches: Iterator[tuple[int, Pairs]], records: int, partitions: int = 1) -> Path:
    """Write segments of so many records, a group in one partition; return the folder."""
    files = []
    for number in range(partitions):
        path = folder / f"__consumer_offsets-{number}" / f"{0:020}.log"
        path.parent.mkdir(parents=True)
        files.append(path.open("wb"))
    offset = 0
    for time, pairs in batches:
        if offset >= records:
            break
        files[hash_of(pairs[0][0]) % partitions].write(encode_batch(offset, time, pairs))
        offset += len(pairs)
    for file in files:
        file.close()
    return folder


def hash_of(key: bytes) -> int:
    """A number of the group in a key, the same in each run."""
    return sum(key[4 : 4 + int.from_bytes(key[2:4], "big")])


def encode_batch(offset: int, time: int, pairs: Pairs) -> bytes:
    """Encode a batch of format 2."""
    payload = b"".join(_record(index, *pair) for index, pair in enumerate(pairs))
    checked = struct.pack(">hiqqqhii", 0, len(pairs) - 1, time, time, -1, -1, -1, len(pairs)) + payload
    crc = crc32c(bytes(checked))
    return struct.pack(">qiibI", offset, len(checked) + 9, 0, 2, crc) + checked


def _record(index: int, key: bytes, value: bytes | None) -> bytes:
    content = b"\1" if value is None else _varint(len(value)) + value
    body = b"\0\0" + _varint(index) + _varint(len(key)) + key + content + b"\0"
    return _varint(len(body)) + body


def _varint(number: int) -> bytes:
    zigzag, out = number << 1, bytearray()
    while zigzag >= 0x80:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes((*out, zigzag))
