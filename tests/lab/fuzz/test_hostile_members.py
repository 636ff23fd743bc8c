"""Hostile input for the nightly run, always the same. The long runs are commands, see README."""

import gc
import tracemalloc
from collections.abc import Iterator
from random import Random
from uuid import UUID

import pytest

from streams_assignor import StreamsAssignor
from streams_assignor.codec.consumer_protocol import (
    decode_consumer_assignment,
)
from streams_assignor.protocol.group import decode_members
from streams_assignor.upgrade.cluster.features.carried_levels import CarriedLevels
from tests.lab.fuzz import checks, corpus, groups, limits, shapes
from tests.matrix import with_matrix

pytestmark = [pytest.mark.chance, pytest.mark.slow]

BLOCKS = with_matrix(range(8), range(2), "other seeds")
GROUPS_IN_A_BLOCK = 3_000
INPUTS_IN_A_BLOCK = 5_000
HOSTILE_BYTES = 40_000


@pytest.fixture(autouse=True, scope="module")
def fixture_only_new_objects() -> Iterator[None]:
    """The garbage collector passes over what all other test files have left, half a second each time."""
    gc.freeze()
    yield
    gc.unfreeze()


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
    leader = StreamsAssignor(limits.TOPOLOGY, extension=CarriedLevels(limits.WATCHES), process_id=UUID(int=5))
    return leader.assign(limits.CLUSTER, {"a": leader.subscription(), "b": encoded})


@pytest.mark.parametrize("size", [65_536, 1_000_000])
def test_a_long_host_name_does_not_terminate_the_group(size: int) -> None:
    """``writeUTF`` has 16 bits for the length: the leader failed, and so did the next one."""
    answers = led(shapes.end_point(size))

    assert {"a", "b"} == answers.keys()
    assert max(map(len, answers.values())) < 4_000
    assert decode_members({"b": shapes.end_point(size)}, 11)[0].host is None


def test_a_host_name_that_kafka_accepts_is_in_each_answer() -> None:
    """Kafka's member looks for it, and rejoins until it is there."""
    assert all(b"h" * 65_535 in answer for answer in led(shapes.end_point(65_535)).values())


def test_feature_levels_of_one_member_do_not_grow_all_answers() -> None:
    """0.9 MB in, 45 MB out for 51 members."""
    ordinary, hostile = led(shapes.subscription(shapes.PLAIN)), led(shapes.SUBSCRIPTIONS["levels"](1_000_000))

    assert ordinary == hostile
    assert decode_consumer_assignment(hostile["a"]).user_data


@pytest.mark.parametrize(
    ("reader", "shape"), [(reader, shape) for reader, (_, made) in limits.READERS.items() for shape in made]
)
def test_memory_is_in_proportion_to_the_bytes_of_a_hostile_member(reader: str, shape: str) -> None:
    """A leader once took 91 bytes per byte (owned partitions)."""
    assert not tracemalloc.is_tracing()

    assert limits.memory(reader, limits.READERS[reader][1][shape](HOSTILE_BYTES)) <= limits.MEMORY_LIMIT


def test_an_inspection_refuses_a_topic_name_that_with_each_partition_would_fill_the_memory() -> None:
    """100 kB with a name of 32,767 characters and 17,000 partitions would be 550 MB of JSON, by calculation."""
    encoded = shapes.SUBSCRIPTIONS["owned partitions of one long topic"](100_000)

    (member,) = limits.as_json("subscription")(encoded)["members"]

    assert "the longest has 249" in member["problem"]
    assert [] == member["owned_partitions"]
