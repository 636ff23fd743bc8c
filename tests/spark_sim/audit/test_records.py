"""Decoded records, with and without Spark."""

import json
import pickle
from collections import Counter
from pathlib import Path

import pytest

import spark_sim
from assignor.audit.log_segment import LogRecord
from spark_sim.audit.records import MARKER, RECORDS, read_records, record_row
from spark_sim.audit.sources import LivePartition, SourceError, segments_source
from spark_sim.pipeline.spark.session import spark_session

SEGMENTS = Path(__file__).parent / "segments"


def test_every_record_is_a_row():
    rows = list(read_records(segments_source(SEGMENTS)))
    commit = next(row for row in rows if row["kind"] == "OffsetCommit")
    decoded = json.loads(commit["json"])

    assert Counter(row["kind"] for row in rows) >= Counter(GroupMetadata=32, OffsetCommit=112)
    assert (commit["topic"], commit["topic_partition"]) == (decoded["key"]["topic"], decoded["key"]["partition"])
    assert commit["group"] == decoded["key"]["group"]
    assert rows == sorted(rows, key=lambda row: (row["partition"], row["offset"]))


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (LogRecord(1, 2, b"\0\0\0\1", b"", 7, is_control=True), MARKER),
        (LogRecord(1, 2, b"\x7f\xff", b""), "unknown type 32767"),
        (LogRecord(1, 2, b"\0", b""), "undecodable"),
        (LogRecord(1, 2, b"\0\1\0\5", b""), "OffsetCommit"),
    ],
)
def test_what_is_not_decoded_has_its_bytes(record, kind):
    row = record_row(3, record)

    assert (row["partition"], row["kind"], row["json"]) == (3, kind, None)
    assert (row["key"], row["value"]) == (record.key, record.value)


class Topic:
    """Of a broker that has compacted all records."""

    bootstrap_servers = "broker:9092"

    def read(self, *_):
        return iter(())


def test_a_partition_without_records_is_an_error_and_a_range_is_not():
    """Spark's own source gives no rows of this topic by default: no rows may not mean no groups."""
    whole = LivePartition(Topic(), 3, 0, 25)
    ranges = list(whole.ranges(10))

    assert [(each.first, each.end) for each in ranges] == [(0, 10), (10, 20), (20, 25)]
    with pytest.raises(SourceError, match="expected records in partition 3, whose offsets are 0 to 24 at broker:9092"):
        list(read_records(pickle.loads(pickle.dumps(_Source((whole,))))))
    assert list(read_records(_Source(ranges))) == []


class _Source:
    def __init__(self, partitions):
        self.partitions = partitions


@pytest.fixture(name="spark", scope="module")
def fixture_spark():
    with spark_session("local[2]", print) as session:
        spark_sim.register(session)
        yield session


@pytest.mark.spark
class TestOnSpark:
    def test_spark_reads_the_same_rows(self, spark):
        frame = spark.read.format("consumer_offsets").option("segments", str(SEGMENTS)).load()
        rows = [row for batch in frame.toArrow().to_batches() for row in batch.to_pylist()]

        assert frame.schema == spark.createDataFrame([], RECORDS.ddl()).schema
        assert sorted(map(repr, rows)) == sorted(map(repr, read_records(segments_source(SEGMENTS))))
        assert frame.rdd.getNumPartitions() == 2

    @pytest.mark.parametrize("options", [{}, {"segments": "a", "dump": "b"}])
    def test_one_source_is_expected(self, spark, options):
        with pytest.raises(Exception, match="expected one of the options segments, dump and"):
            spark.read.format("consumer_offsets").options(**options).load().collect()
