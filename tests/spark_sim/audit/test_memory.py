"""Memory of an audit: a constant, and at most 72 KiB for each group; never more for more records."""

import gc
import tracemalloc
from io import BytesIO
from itertools import islice

import pytest

pytest.importorskip("numpy")

from streams_assignor.groups.history.history import PartitionHistory
from streams_assignor.groups.history.log_segment import SegmentReader
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter, audit_partition
from streams_assignor.spark_sim.audit.sources._files import FilePartition
from streams_assignor.spark_sim.conformance.bounces import BounceFinder, RecordFile
from tests.lab.bench.audit_segments import BOUNCE, SHUFFLE, commits, encode_batch, generations
from tests.spark_sim.audit.captured_records import named, value_of

pytestmark = pytest.mark.slow  # to trace memory takes ten times as long
KIB = 1024


def batches(source, number):
    return b"".join(encode_batch(10 * at, *each) for at, each in enumerate(islice(source, number)))


def peak_of(file, data, times, *, reads_commits):
    """Peak of Python's memory while the data is audited so many times over, as one segment."""
    file.write_bytes(data * times)
    part, out = FilePartition(0, (file,)), file.parent / "out"
    out.mkdir(exist_ok=True)
    tracemalloc.start()
    try:
        summary = audit_partition(part, AuditFilter(reads_commits=reads_commits), out)
        return tracemalloc.get_traced_memory()[1], summary
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("reads_commits", [True, False])
def test_memory_does_not_grow_with_the_commits(tmp_path, reads_commits):
    data = batches(commits(20), 7_000)  # four of them are more than two blocks of a segment
    file = tmp_path / "0.log"
    peak_of(file, data, 1, reads_commits=reads_commits)  # imports and caches
    few, _ = peak_of(file, data, 4, reads_commits=reads_commits)
    many, summary = peak_of(file, data, 8, reads_commits=reads_commits)

    assert summary.counts["OffsetCommit"] == 560_000
    assert many < 1.05 * few


def kept_by(shape, groups, rounds):
    """Memory that a history keeps of groups with ten members and 40 tasks each, after so many generations."""
    data = batches(generations(groups, shape), groups * rounds)
    for _ in PartitionHistory().read(SegmentReader().records(BytesIO(data))):
        pass  # fills the caches, which are bounded
    history = PartitionHistory()
    tracemalloc.start()
    try:
        for _ in history.read(SegmentReader().records(BytesIO(data))):
            pass
        gc.collect()  # also what Python keeps for reuse
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", [BOUNCE, SHUFFLE])
def test_an_open_group_needs_at_most_72_kib(shape):
    """Members of a bounce come back as other processes, of which a group remembers the last ones."""
    assert (kept_by(shape, 12, 30) - kept_by(shape, 2, 30)) / 10 < 72 * KIB


def test_a_group_with_more_generations_needs_no_more_memory():
    assert (kept_by(SHUFFLE, 10, 30) - kept_by(SHUFFLE, 10, 10)) / 10 < 2 * KIB


def test_a_group_in_a_bounce_keeps_no_records_in_memory(tmp_path):
    """It kept the records of all generations."""
    mixed = value_of(named("2.0.1-to-2.3.1").generations[3])
    finder = BounceFinder("g", RecordFile(tmp_path / "records"))
    tracemalloc.start()
    try:
        for number in range(80):
            large = [member | {"assignment": bytes(100_000 + number)} for member in mixed["members"]]
            assert finder.on_group_metadata(number, mixed | {"generation": number, "members": large}) is None
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    bounce = finder.close()
    finder.file.close()

    assert kept < 1024 * KIB
    assert len(bounce.loaded().capture.generations) == 80
