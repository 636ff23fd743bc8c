"""Two minutes of hostile input for CI: always the same. The long runs are commands, see README."""

import tracemalloc
from functools import partial
from random import Random
from uuid import UUID

import pytest

from assignor import StreamsAssignor
from assignor.protocol.group import decode_members
from subscription_codec.consumer_protocol import (
    decode_consumer_assignment,
)
from tests.fuzz import checks, corpus, groups, limits, shapes

pytestmark = [pytest.mark.chance, pytest.mark.slow]

BLOCKS = range(8)
GROUPS_IN_A_BLOCK = 3_000
INPUTS_IN_A_BLOCK = 5_000


@pytest.mark.parametrize("block", BLOCKS)
def test_groups_with_a_hostile_member_raise_documented_errors_only(block: int) -> None:
    for seed in range(block * GROUPS_IN_A_BLOCK, (block + 1) * GROUPS_IN_A_BLOCK):
        try:
            groups.check(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error


@pytest.mark.parametrize("block", BLOCKS)
def test_mutated_codec_inputs_raise_documented_errors_only(block: int) -> None:
    seeds = sorted({(mode, encoded) for source in (corpus.small(), corpus.found()) for mode, encoded in source})
    random = Random(block)
    for _ in range(INPUTS_IN_A_BLOCK):
        mode, encoded = random.choice(seeds)
        checks.check(mode, groups.mutated(random, encoded)[:2_000])


# -- bugs ------------------------------------------------------------------------------------------------------------


def led(encoded: bytes) -> dict[str, bytes]:
    """Return the answers of a leader that watches features, with this subscription of another member."""
    leader = StreamsAssignor(limits.TOPOLOGY, watches=limits.WATCHES, process_id=UUID(int=5))
    return leader.assign(limits.CLUSTER, {"a": leader.subscription(), "b": encoded})


@pytest.mark.parametrize("size", [256, 65_535, 65_536, 1_000_000])
def test_a_long_host_name_does_not_terminate_the_group(size: int) -> None:
    """``writeUTF`` has 16 bits for the length: the leader failed, and so did the next one."""
    answers = led(shapes.end_point(size))

    assert {"a", "b"} == answers.keys()
    assert max(map(len, answers.values())) < 4_000
    assert decode_members({"b": shapes.end_point(size)}, 11)[0].host is None


def test_feature_levels_of_one_member_do_not_grow_all_answers() -> None:
    """0.9 MB in, 45 MB out for 51 members."""
    ordinary, hostile = led(shapes.subscription(shapes.PLAIN)), led(shapes.SUBSCRIPTIONS["levels"](1_000_000))

    assert ordinary == hostile
    assert decode_consumer_assignment(hostile["a"]).user_data


def peak(encoded: bytes) -> int:
    """Return the memory of a leader's step, in bytes."""
    read = limits.a_leader(2)
    return limits.peak(lambda: read(encoded))


@pytest.mark.parametrize(
    "shape",
    [
        "owned partitions of one topic",
        "owned partitions of many topics",
        "levels",
        "one topic, many times",
        "short tags, version 11",
        "the most tags, version 11",
    ],
)
def test_claims_of_a_hostile_member_take_a_leader_a_small_multiple_of_their_bytes(shape: str) -> None:
    """Each claimed partition took a tuple, a set of owners and a place in a dictionary: 91 bytes per byte."""
    assert not tracemalloc.is_tracing()
    encoded = shapes.SUBSCRIPTIONS[shape](100_000)

    assert peak(encoded) - peak(limits.usual("subscription")) <= limits.MEMORY_LIMIT * len(encoded) + limits.ALLOWANCE


@pytest.mark.parametrize(
    ("reader", "shape", "most"),
    [
        ("follower, assignment", "tasks", 24.5),
        ("follower, assignment", "standbys, version 4", 16.0),
        ("follower, assignment", "hosts, version 6", 16.0),
        ("follower, assignment", "partitions of many topics", 16.0),
        ("inspection, subscription", "owned partitions of one topic", 18.5),
        ("inspection, assignment", "tasks", 16.0),
        ("inspection, assignment", "standbys, version 4", 16.0),
    ],
)
def test_a_reader_keeps_no_object_that_it_may_never_need(reader: str, shape: str, most: float) -> None:
    """A set for each task and host took a follower 41 bytes per byte, a record for each partition an inspection 51."""
    assert not tracemalloc.is_tracing()
    read, made = limits.READERS[reader]
    encoded = made[shape](100_000)
    ordinary = limits.peak(partial(read, limits.usual(reader)))

    assert limits.peak(partial(read, encoded)) - ordinary <= most * len(encoded) + limits.ALLOWANCE
