"""Builds the seeds: every distinct blob of the vectors and the captures, each as a file with its header byte."""

import hashlib
import json
import sys
from pathlib import Path
from uuid import UUID

from streams_assignor.codec import (
    LATEST_OFFSET,
    LATEST_SUPPORTED_VERSION,
    Assignment,
    ClientTag,
    DecodeError,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartitions,
    decode_consumer_assignment,
    decode_consumer_subscription,
    encode_consumer_assignment,
    encode_consumer_subscription,
)

TESTS = Path(__file__).parents[2]
SUBSCRIPTION, ASSIGNMENT, MEMBER_SUBSCRIPTION, MEMBER_ASSIGNMENT = range(4)


def vectors():
    """Yield (mode, blob): userdata of Kafka's jars, and malformed userdata from requests to them."""
    with (TESTS / "vectors/codec.jsonl").open() as lines:
        for row in map(json.loads, lines):
            if "hex" in row:
                yield SUBSCRIPTION if row["kind"] == "subscription" else ASSIGNMENT, bytes.fromhex(row["hex"])


def captures():
    """Yield (mode, blob): the messages of real groups, the envelopes and their userdata."""
    for path in sorted((TESTS / "captures").glob("*.json")):
        capture = json.loads(path.read_text())
        for members in (each["members"] for each in capture["generations"] + capture["snapshots"]):
            for member in members:
                yield from unpacked(MEMBER_SUBSCRIPTION, member.get("subscription") or member.get("metadata"))
                yield from unpacked(MEMBER_ASSIGNMENT, member["assignment"])


def unpacked(mode, text):
    """Yield an envelope and its userdata."""
    encoded = bytes.fromhex(text or "")
    yield mode, encoded
    decode = decode_consumer_subscription if mode == MEMBER_SUBSCRIPTION else decode_consumer_assignment
    try:
        yield mode - 2, decode(encoded).user_data or b""
    except DecodeError:
        return


def small():
    """Yield (mode, blob): every version with two of everything, short enough for many mutations per second.

    Most bytes of the real ones are names. A fuzzer that takes 256 bytes would cut off most of their hosts.
    """
    topics, hosts = ("a", "\0é😀"), (HostInfo("h", 80), HostInfo("", -1))
    served = tuple(HostPartitions(host, tuple(map(TopicPartition, topics, (0, 7)))) for host in hosts)
    for version in range(1, LATEST_SUPPORTED_VERSION + 1):
        for name in (None, "n") if version >= 10 else (None,):
            tasks = (TaskId(0, 1, name), TaskId(1, 0, None))
            sums = tuple(map(TaskOffsetSum, tasks, (LATEST_OFFSET, 2**40)))
            tags = (ClientTag("k", "v"), ClientTag("", ""))
            plain = () if name else tasks
            yield (
                SUBSCRIPTION,
                encode_subscription(Subscription(version, 11, UUID(int=1), plain, plain, "h:1", sums, 7, 4, tags)),
            )
            standby = tuple(StandbyTask(task, served[0].partitions) for task in tasks)
            yield ASSIGNMENT, encode_assignment(Assignment(version, 11, tasks, standby, served, served[::-1], 3, 0))
    owned = (TopicPartitions("a", (0, 1)), TopicPartitions("", ()))
    for version in range(5):
        for user_data, rack in ((None, None), (b"data", "rack")):
            yield (
                MEMBER_SUBSCRIPTION,
                encode_consumer_subscription(ConsumerSubscription(("a", "é"), user_data, owned, 5, rack, version)),
            )
            yield MEMBER_ASSIGNMENT, encode_consumer_assignment(ConsumerAssignment(owned, user_data, version))


def found():
    """Yield (mode, blob): the committed inputs."""
    for folder in ("regressions", "corpus"):
        for path in (Path(__file__).parent / folder).iterdir():
            mode, *encoded = path.read_bytes()
            yield mode, bytes(encoded)


def build(folder):
    """Write the seeds and print their number."""
    folder.mkdir(parents=True, exist_ok=True)
    seeds = {
        bytes([mode]) + encoded for source in (vectors(), captures(), small(), found()) for mode, encoded in source
    }
    for seed in seeds:
        (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)  # libFuzzer's own way to name them
    return len(seeds)


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))
