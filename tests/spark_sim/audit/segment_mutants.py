"""Compares the reader of columns with the plain one on mutants of segments whose checksums were repaired.

    python -m tests.spark_sim.audit.segment_mutants --mutants 100000 --seed 1

Without repaired checksums a mutant would not get as far as the records.
"""

import argparse
from collections.abc import Iterator
from io import BytesIO
from itertools import chain, islice
from random import Random

from streams_assignor.codec.coordinator import RECORD_TYPES, encode_key, encode_value
from streams_assignor.groups.history.history import PartitionHistory
from streams_assignor.groups.history.log_segment import SegmentReader
from streams_assignor.groups.history.record_columns import RecordColumns
from streams_assignor.spark_sim.audit.sources._scanner import scan_segment
from tests.assignor.groups.history.histories import HOUR, alone, commit, generation, member
from tests.assignor.groups.history.segments import APPEND_TIME, GZIP, HEADER_BYTES, Pair, batch, sealed

EXTREMES = (0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF)
VARINTS = tuple(
    bytes(
        (number >> 7 * at) & 0x7F | (0x80 if at < size - 1 else 0)
        for at in range(size)
    )
    for bits in (7, 14, 31, 32, 55, 56, 62, 63, 64)
    for number in ((1 << bits) - 1, (1 << bits) - 2, 1 << bits >> 1)
    for size in (max(1, -(-number.bit_length() // 7)),)
)  # fmt: skip
"""Zigzag numbers at the edges of 32 and 64 bits."""


def new_commit(version: int, topic_id: str | None = None, group: str = "app") -> Pair:
    """An offset commit in any version; version 4 may have a topic id."""
    kind = RECORD_TYPES[1]
    fields = {"offset": 1 << 40, "leaderEpoch": 7, "metadata": "x", "commitTimestamp": 9, "expireTimestamp": 10}
    fields |= {} if topic_id is None else {"topicId": topic_id}
    key = encode_key(kind, {"group": group, "topic": "orders", "partition": version})
    return Pair(key, encode_value(kind, version, fields))


def originals() -> list[bytes]:
    """Batches as brokers write them: commits of every version, generations, tombstones, every kind of batch."""
    commits = [new_commit(version) for version in range(5)]
    with_ids = [new_commit(4, each * 22) for each in ("A", "A", "Q")]
    legacy = Pair(b"\0\0" + commits[0].key[2:], commits[0].value)
    return [
        batch(commits, 0),
        batch([*with_ids, commit(0, offset=None), legacy], 10),
        batch([generation(1, alone()), commit(1), generation(2, alone(), member("B"), at=HOUR)], 20),
        batch(commits[:2], 30, attributes=APPEND_TIME, max_time=1_700_000_000_000),
        batch(commits[:1], 40, GZIP),
    ]


def mutants(random: Random) -> Iterator[bytes]:
    """Yield segments without end; each has a batch or two in which some bytes are others."""
    batches = originals()
    while True:
        changed = [bytearray(each) for each in batches]
        for _ in range(random.choice((1, 1, 2))):
            index = random.randrange(len(changed))
            _change(changed[index], random)
            changed[index] = bytearray(sealed(changed[index], int.from_bytes(changed[index][:8], "big", signed=True)))
        yield b"".join(changed)


def _change(built: bytearray, random: Random) -> None:
    """Change a few bytes, mostly of the records; the others are in the header, but not its length or checksum."""
    in_records = random.random() < 0.8
    at = random.randrange(HEADER_BYTES, len(built)) if in_records else random.choice((*range(8), *range(21, 61)))
    kind = random.randrange(5)
    if kind == 0:
        built[at] = random.choice(EXTREMES)
    elif kind == 1:
        built[at] ^= 1 << random.randrange(8)
    elif kind == 2 and in_records:
        built[at : at + 1] = random.choice(VARINTS)
    elif kind == 3 and in_records:
        del built[at : at + random.randrange(1, 9)]
    else:
        size = min(random.choice((2, 4, 8)), len(built) - at)
        built[at : at + size] = bytes((random.choice((0, 0x7F, 0x80, 0xFF)),)) + bytes(size - 1)


def seen(found, reader: SegmentReader, reads_commits: bool):
    """The audit of some records: rows, counts, problems, times."""
    history = PartitionHistory(reads_commits=reads_commits)
    rows = [*history.read(found), *history.close()]
    return (
        sorted(map(repr, rows)),
        sorted((+(history.counts + reader.counts)).items()),
        sorted(reader.problems),
        history.problems,
        history.first_time,
        history.last_time,
    )


def readings(data: bytes, reads_commits: bool = True):
    """The audit of a segment by the plain reader and by columns."""
    plain, fast = SegmentReader(), SegmentReader()
    columns = scan_segment(fast, BytesIO(data), "s", is_last=True, reads_commits=reads_commits)
    return (
        seen(plain.records(BytesIO(data), "s"), plain, reads_commits),
        seen(columns, fast, reads_commits),
    )


def records_of(data: bytes):
    """The records of a segment by the plain reader and by columns."""
    plain = list(SegmentReader().records(BytesIO(data)))
    reader = SegmentReader()
    found = scan_segment(reader, BytesIO(data), "s", is_last=True, reads_commits=True)
    blocks = (each.records() if isinstance(each, RecordColumns) else (each,) for each in found)
    return plain, list(chain.from_iterable(blocks))


def differences(count: int, seed: int) -> Iterator[bytes]:
    """Yield the mutants of which the readers do not have the same."""
    random = Random(seed)
    for data in islice(mutants(random), count):
        reads_commits = random.random() < 0.9
        one, other = readings(data, reads_commits)
        records, others = records_of(data)
        if one != other or records != others:
            yield data


def main() -> None:
    """Print each mutant that is read differently, in hexadecimal; end with status 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    found = 0
    for data in differences(given.mutants, given.seed):
        found += 1
        print(data.hex())
    print(f"{given.mutants} mutants, {found} read differently")
    raise SystemExit(found > 0)


if __name__ == "__main__":
    main()
