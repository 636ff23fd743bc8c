"""The compiled scanner yields what the reader yields: on real segments, on damaged ones, with every compression."""

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from kafka.record._crc32c import crc

from assignor.audit.history import OFFSET_COMMITS, PartitionHistory
from assignor.audit.log_segment import SegmentReader
from assignor.audit.record_columns import RecordColumns
from spark_sim.audit.sources import new_reader
from spark_sim.audit.sources._scanner import compiled_kernel, scan_segment
from subscription_codec.coordinator import record_type_number
from tests.assignor.audit.histories import HOUR, alone, commit, generation, member
from tests.assignor.audit.segments import batch

SEGMENTS = sorted((Path(__file__).parent / "segments").glob("*/*.log"))
KERNEL = compiled_kernel()
needs_kernel = pytest.mark.skipif(KERNEL is None, reason="no numba (pip install 'streams-assignor[fast]')")


def scanned(data, reads_commits=True):
    """The records, in order, and what was counted."""
    reader, found = new_reader(), []
    for each in scan_segment(reader, data, "s", reads_commits=reads_commits, kernel=KERNEL):
        found += each.records() if isinstance(each, RecordColumns) else [each]
    return found, reader.counts


def read(data):
    reader = SegmentReader(checksum=lambda raw: crc(bytes(raw)))
    return list(reader.records(data, "s")), reader.counts


def history(records):
    played = PartitionHistory()
    rows = [*played.read(records), *played.close()]
    return sorted(map(repr, rows)), played.counts, played.first_time, played.last_time


@needs_kernel
@pytest.mark.parametrize("segment", SEGMENTS, ids=lambda each: each.parent.name)
def test_real_segments_have_the_same_records_and_rows(segment):
    data = segment.read_bytes()

    assert scanned(data) == read(data)
    columns = scan_segment(SegmentReader(), data, "s", reads_commits=True, kernel=KERNEL)
    assert history(columns) == history(SegmentReader().records(data))


@needs_kernel
def test_commits_are_only_counted_without_their_table():
    data = b"".join(segment.read_bytes() for segment in SEGMENTS)
    records, _ = read(data)
    others, counts = scanned(data, reads_commits=False)

    assert others == [each for each in records if record_type_number(each.key) not in OFFSET_COMMITS]
    assert counts["OffsetCommit"] == len(records) - len(others) > 0


@needs_kernel
@pytest.mark.parametrize("codec", range(5))
def test_compressed_batches_between_others_keep_the_order(codec):
    pairs = [generation(1, alone()), commit(0), generation(2, alone(), member("B"), at=HOUR)]
    data = b"".join(batch(pairs[at : at + 1], at, codec if at == 1 else 0) for at in range(len(pairs)))

    assert scanned(data)[0] == read(data)[0]
    assert [each.offset for each in scanned(data)[0]] == [0, 1, 2]


@needs_kernel
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


@needs_kernel
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000])
def test_the_compiled_checksum_is_crc_32c(size):
    raw = Random(size).randbytes(size)

    assert KERNEL.crc32c(np.frombuffer(b"x" + raw, np.uint8), 1, size + 1) == crc(raw)


@needs_kernel
@pytest.mark.parametrize("codec", range(5))
def test_a_changed_byte_is_found_by_the_checksum(codec):
    """Of a batch that still decodes, compressed or not; its records are kept."""
    damaged = bytearray(batch([commit(0)], 0, codec))
    damaged[30] ^= 1  # in the time of the first record
    records, counts = scanned(bytes(damaged) + batch([commit(1)], 1, codec))

    assert [each.offset for each in records] == [0, 1]
    assert (counts["checksum_mismatches"], counts["damaged_batches"]) == (1, 0)
