"""The reader of columns yields what the plain one yields, on real and on damaged segments, with every compression."""

import os
import pickle
import subprocess
import sys
from collections import Counter
from io import BytesIO
from pathlib import Path
from random import Random

import pytest

from streams_assignor.codec.coordinator import RECORD_TYPES, encode_key, encode_value, record_type_number
from streams_assignor.groups.history.history import OFFSET_COMMITS, PartitionHistory
from streams_assignor.groups.history.log_segment import SegmentReader
from streams_assignor.groups.history.record_columns import RecordColumns
from streams_assignor.spark_sim.audit.sources._files import FilePartition
from streams_assignor.spark_sim.audit.sources._scanner import scan_segment
from tests.assignor.groups.history.histories import HOUR, NOW, alone, commit, generation, member
from tests.assignor.groups.history.segments import HEADER_BYTES, Pair, batch, sealed
from tests.spark_sim.audit.segment_mutants import differences, new_commit, readings

SEGMENTS = sorted((Path(__file__).parent / "segments").glob("*/*.log"))


def scanned(data, reads_commits=True):
    """The records, in order, and what was counted."""
    reader, found = SegmentReader(), []
    for each in columns(reader, data, reads_commits):
        found += each.records() if isinstance(each, RecordColumns) else [each]
    return found, reader.counts


def columns(reader, data, reads_commits=True):
    return scan_segment(reader, BytesIO(data), "s", is_last=True, reads_commits=reads_commits)


def read(data):
    reader = SegmentReader()
    return list(reader.records(BytesIO(data), "s")), reader.counts


def history(records):
    played = PartitionHistory()
    rows = [*played.read(records), *played.close()]
    return sorted(map(repr, rows)), played.counts, played.first_time, played.last_time


@pytest.mark.parametrize("segment", SEGMENTS, ids=lambda each: each.parent.name)
def test_real_segments_have_the_same_records_and_rows(segment):
    data = segment.read_bytes()

    assert scanned(data) == read(data)
    assert history(columns(SegmentReader(), data)) == history(SegmentReader().records(BytesIO(data)))


def test_commits_are_only_counted_without_their_table():
    data = SEGMENTS[1].read_bytes()
    records, _ = read(data)
    others, counts = scanned(data, reads_commits=False)

    assert others == [each for each in records if record_type_number(each.key) not in OFFSET_COMMITS]
    assert counts["OffsetCommit"] == len(records) - len(others) > 0


@pytest.mark.parametrize("codec", range(5))
def test_compressed_batches_between_others_keep_the_order(codec):
    pairs = [generation(1, alone()), commit(0), generation(2, alone(), member("B"), at=HOUR)]
    data = b"".join(batch(pairs[at : at + 1], at, codec if at == 1 else 0) for at in range(len(pairs)))

    assert scanned(data)[0] == read(data)[0]
    assert [each.offset for each in scanned(data)[0]] == [0, 1, 2]


def test_damaged_segments_have_the_same_records():
    """A byte is changed in each of 300 copies; the length of a batch is not, so both find the next one."""
    checksums = 0
    data, random = b"".join(segment.read_bytes() for segment in SEGMENTS), Random(1)
    for _ in range(300):
        damaged = bytearray(data[: random.choice((len(data), random.randrange(len(data))))])
        damaged[random.randrange(len(damaged))] = random.getrandbits(8)
        mine, counts = scanned(bytes(damaged))
        expected, others = read(bytes(damaged))

        assert mine == expected
        assert Counter(counts) == Counter(others)
        checksums += counts["checksum_mismatches"]
    assert checksums > 0


@pytest.mark.parametrize("codec", range(5))
def test_a_changed_byte_is_found_by_the_checksum(codec):
    """Of a batch that still decodes, compressed or not; its records are kept."""
    damaged = bytearray(batch([commit(0)], 0, codec))
    damaged[30] ^= 1  # in the time of the first record
    records, counts = scanned(bytes(damaged) + batch([commit(1)], 1, codec))

    assert [each.offset for each in records] == [0, 1]
    assert (counts["checksum_mismatches"], counts["damaged_batches"]) == (1, 0)


def hostile_record(*sizes):
    """A batch with a right checksum whose only record has these varints behind its attributes."""
    body = b"\0" + b"".join(sizes)
    built = bytearray(batch([commit(0)]))
    built[HEADER_BYTES:] = bytes((2 * len(body),)) + body
    return sealed(built)


HUGE = b"\xfe" + b"\xff" * 8 + b"\x01"
"""2**63 - 1."""


@pytest.mark.parametrize(
    "data",
    [
        hostile_record(b"\0", b"\0", HUGE, b"\0\0"),
        hostile_record(b"\0", b"\0", b"\0", HUGE),
        hostile_record(b"\0", HUGE, b"\0", b"\0\0"),
        hostile_record(HUGE, b"\0", b"\0", b"\0\0"),
        sealed(batch([commit(0)])[:HEADER_BYTES] + HUGE + bytes(9)),
    ],
)
def test_a_size_that_exceeds_64_bits_is_damage(data):
    """A key of 2**63 - 1 bytes ended before the batch, and the process with SIGSEGV."""
    assert scanned(data + batch([commit(1)], 1)) == read(data + batch([commit(1)], 1))


def test_a_topic_that_was_deleted_and_created_again_has_both_ids():
    """The fast reader knew the first id only."""
    pairs = [new_commit(4, "A" * 22), new_commit(4, "Q" * 22)]
    found = PartitionHistory()
    list(found.read(columns(SegmentReader(), batch(pairs))))

    assert found.groups["app"]._topic_names == {"A" * 22: "orders", "Q" * 22: "orders"}


def commits_of_all_kinds(random, size, versions):
    """Records of a few groups: offsets that go back, times that go back, deleted offsets, topics with two ids."""
    for number in range(size):
        key = {"group": f"g{random.randrange(3)}", "topic": random.choice("ab"), "partition": random.randrange(3)}
        kind, version = RECORD_TYPES[1], random.choice(versions)
        fields = {"offset": random.choice((-1, 0, 5, number)), "leaderEpoch": 1, "metadata": "", "commitTimestamp": 9}
        fields |= {"expireTimestamp": 10} | ({"topicId": random.choice("AAAQ") * 22} if version == 4 else {})
        encoded = encode_key(kind, key)
        legacy = b"\0\0" + encoded[2:] if random.random() < 0.02 else encoded
        value = None if random.random() < 0.05 else encode_value(kind, version, fields)
        yield Pair(legacy, value, NOW + 10 * number - random.choice((0, 0, 35)))
        if random.random() < 0.05:
            yield generation(number + 1, alone(), at=10 * number, group=key["group"])


@pytest.mark.parametrize("seed", range(10))
def test_commits_that_are_summed_up_give_the_rows_of_commits_one_by_one(seed):
    """In the same order."""
    random = Random(seed)
    pairs = list(commits_of_all_kinds(random, 400, (3,) if seed % 2 else (1, 3, 4)))
    data = b"".join(batch(pairs[at : at + 7], at) for at in range(0, len(pairs), 7))

    def rows(records):
        played = PartitionHistory()
        return [*played.read(records), *played.close()], +played.counts, played.problems

    assert rows(columns(SegmentReader(), data)) == rows(SegmentReader().records(BytesIO(data)))


def test_most_commits_are_summed_up():
    """One object for each partition of a topic, not for each commit."""
    data = b"".join(batch([commit(number % 2, offset=number)], number) for number in range(1000))
    (block,) = columns(SegmentReader(), data)
    (commits,) = block.parts()

    assert [500, 500] == [placed.run.commits for placed in commits.runs()]


def test_columns_that_are_split_have_the_records_of_each_bucket_and_no_other_bytes():
    pairs = list(commits_of_all_kinds(Random(1), 300, (1, 3, 4)))
    data = b"".join(batch(pairs[at : at + 7], at) for at in range(0, len(pairs), 7))
    bucket_of = lambda key: key[5] % 3  # noqa: E731  # a digit of the group's name
    (block,) = columns(SegmentReader(), data)
    split = {bucket: pickle.loads(pickle.dumps(each)) for bucket, each in block.split(bucket_of).items()}

    records = list(block.records())
    assert {0, 1, 2} == {*split}
    for bucket, each in split.items():
        expected = [record for record in records if bucket_of(record.key) == bucket]
        assert expected == list(each.records())
        assert (each.first_time, each.last_time) == (block.first_time, block.last_time)
        assert history([each]) == history([*block.split(bucket_of)[bucket].records()])[:2] + history([block])[2:]
    assert sum(len(each.data) for each in split.values()) < len(data)


@pytest.mark.parametrize("change", [{-1: 5}, {-9: 0xFF}, {-11: 9}])
def test_the_value_of_each_commit_is_checked(change):
    """The fast reader decoded the first value of a key only."""
    first, second = new_commit(3), bytearray(new_commit(3).value)
    for at, byte in change.items():
        second[at] = byte
    one, other = readings(batch([first, Pair(first.key, bytes(second)), Pair(first.key, b"\0\3\0")]))

    assert one == other
    assert any("is not decoded" in problem for problem in one[3])


def test_a_few_mutants_are_read_alike_by_both_readers():
    assert [] == [data.hex() for data in differences(300, 1)]


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
def test_100000_mutants_are_read_alike():
    command = [sys.executable, "-m", "tests.spark_sim.audit.segment_mutants", "--mutants", "100000"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stdout) == (0, "100000 mutants, 0 read differently\n"), ran.stderr


@pytest.mark.slow
def test_a_file_that_shrinks_while_it_is_read_is_a_problem(tmp_path):
    """It was mapped, and the process ended with SIGBUS."""
    file = tmp_path / "0.log"
    data = batch([commit(0)]) * 100_000  # several blocks
    file.write_bytes(data)
    reader = SegmentReader()
    records = FilePartition(0, (file,)).records(reader)
    next(records)
    os.truncate(file, len(data) // 3)
    for _ in records:
        pass

    assert reader.counts["missing_bytes"] > len(data) // 5
    assert reader.counts["truncated_bytes"] + reader.counts["missing_bytes"] + reader.counts["bytes"] == len(data)


def test_a_large_record_makes_its_batch_unusual_for_numpy():
    """Its size has three bytes; the reader of single records takes the batch, and columns go on behind it."""
    data = batch([commit(0)]) + batch([Pair(b"\0\2\0\1a", bytes(9_000))], 1) + batch([commit(1)], 2)

    assert [0, 1, 2] == [record.offset for record in scanned(data)[0]]
    assert scanned(data) == read(data)
