"""Decoded records, with and without Spark."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import ClassVar
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import frozen

from streams_assignor import spark_sim
from streams_assignor.groups.history.log_segment import NO_TIMESTAMP, LogRecord, SegmentReader
from streams_assignor.spark_sim.audit import follow
from streams_assignor.spark_sim.audit.follow import Lag, check_checkpoint, open_preserved, report_lag
from streams_assignor.spark_sim.audit.job import run_audit
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter
from streams_assignor.spark_sim.audit.records import MARKER, RECORDS, read_records, record_row
from streams_assignor.spark_sim.audit.sources import SourceError, live_source, preserved_source, segments_source
from streams_assignor.spark_sim.audit.sources.live import LivePartition
from streams_assignor.spark_sim.jobs.engine import EngineError
from streams_assignor.spark_sim.sweep.tables.publishing import ResultFolderError
from streams_assignor.upgrade.cluster.client.errors import Unreachable

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


@frozen
class Topic:
    """Of a broker that has compacted all records but those of ``kept``."""

    kept: Mapping[int, tuple[LogRecord, ...]] = {}
    bootstrap_servers: str = "broker:9092"

    def ranges(self):
        return {0: (0, 10), 1: (0, 25), 2: (0, 0)}

    def cluster_id(self):
        return "cluster"

    def read(self, partition, first, end):
        return iter(each for each in self.kept.get(partition, ()) if first <= each.offset < end)


def test_a_partition_is_read_in_ranges_of_its_offsets():
    record = LogRecord(21, 2, b"\0\1\0\5", None)
    ranges = list(LivePartition(Topic({1: (record,)}), 1, 0, 25).ranges(10))

    assert [(each.first, each.end) for each in ranges] == [(0, 10), (10, 20), (20, 25)]
    assert [list(each.records(SegmentReader())) for each in ranges] == [[], [], [(1, record)]]


def test_brokers_with_offsets_and_without_a_record_are_an_error(tmp_path):
    """Spark's own source gives no rows of this topic by default: no rows may not mean no groups."""
    with pytest.raises(SourceError, match=r"expected records at broker:9092, .* 35 offsets, got none"):
        run_audit(live_source(Topic()), tmp_path / "out", AuditFilter())
    assert not (tmp_path / "out").exists()


def test_a_partition_whose_records_were_all_compacted_is_no_error(tmp_path):
    """All groups of a partition were deleted, or it has only markers of transactions."""
    source = live_source(Topic({0: (LogRecord(3, 2, b"\0\1\0\5", None),)}))
    audit = run_audit(source, tmp_path / "out", AuditFilter())

    assert audit.records["records"] == 1
    assert audit.records["offsets without a record"] == 34


def preserve(folder, name, *offsets):
    """A file of a job, with records of partitions 0 and 1."""
    rows = [
        {"partition": offset % 2, "offset": offset, "timestamp": 5, "key": b"k", "value": b"v"} for offset in offsets
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / name, row_group_size=2)
    return json.dumps({"path": f"file:///where/it/was/{name}", "action": "add"})


def test_only_files_of_finished_batches_are_read_in_their_order(tmp_path):
    """A driver that was killed leaves files that the next one writes again; every tenth log has those before it."""
    folder = tmp_path / "records"
    log = folder / "_spark_metadata"
    log.mkdir(parents=True)
    lines = [preserve(folder, "z.parquet", 0, 2, 1, 3), preserve(folder, "y.parquet", 4, 5)]
    log.joinpath("9.compact").write_text("\n".join(["v1", *lines]))
    log.joinpath("9").write_text("v1\n" + lines[1])
    log.joinpath("10").write_text("v1\n" + preserve(folder, "x.parquet", 6))
    log.joinpath(".10.crc").write_bytes(b"")
    preserve(folder, "unfinished.parquet", 6, 7)

    for source in (preserved_source(tmp_path), preserved_source(folder)):
        found = {each.partition: [one.offset for _, one in each.records(SegmentReader())] for each in source.partitions}
        assert found == {0: [0, 2, 4, 6], 1: [1, 3, 5]}
        assert [each.size for each in source.partitions] == [4, 3]


def test_a_missing_list_of_a_batch_is_an_error(tmp_path):
    """The files of that batch were left out without a word."""
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    for number in (0, 2):
        log.joinpath(str(number)).write_text("v1\n" + preserve(tmp_path, f"{number}.parquet", number))

    with pytest.raises(SourceError, match=r"expected the files of all batches .* got \[0, 2\]"):
        preserved_source(tmp_path)


def test_damage_of_a_source_is_a_warning(tmp_path):
    """Rows have no place for what could not be read."""
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    segment = next(SEGMENTS.glob("*-1/*.log")).read_bytes()
    (folder / "0.log").write_bytes(segment[:300] + bytes(500) + segment[800:])

    with pytest.warns(UserWarning, match="bytes at .* are no batch; the next one is at"):
        rows = list(read_records(segments_source(tmp_path)))
    assert len(rows) > 100


def test_files_of_another_program_are_read_in_order(tmp_path):
    preserve(tmp_path, "part-0.parquet", 0, 2, 4)
    preserve(tmp_path, "part-1.parquet", 1, 3)
    found = {each.partition: [one.offset for _, one in each.records(SegmentReader())] for each in parts(tmp_path)}

    assert found == {0: [0, 2, 4], 1: [1, 3]}

    preserve(tmp_path, "part-2.parquet", 2)
    with pytest.raises(
        SourceError, match="records of partition 0 in the order of their offsets, got offset 2 behind 4"
    ):
        list(parts(tmp_path)[0].records(SegmentReader()))


def parts(folder):
    return preserved_source(folder).partitions


ROW = {"partition": 0, "offset": 1, "timestamp": 1, "key": b"", "value": b""}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"partition": 0, "offset": 1},
            "expected the columns partition, offset, timestamp, key, value, got partition, o",
        ),
        (
            {"partition": 0, "offset": 1, "timestamp": datetime.now(UTC), "key": b"", "value": b""},
            r"expected integer in the column timestamp, got timestamp",
        ),
    ],
)
def test_files_with_other_columns_are_refused(tmp_path, row, expected):
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "x.parquet")

    with pytest.raises(SourceError, match=expected):
        preserved_source(tmp_path)


@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [
        ("offset", None, "expected 0 to 9223372036854775807 in the column offset, got null"),
        ("partition", None, "expected 0 to 2147483647 in the column partition, got null"),
        ("timestamp", None, "in the column timestamp, got null"),
        ("partition", -1, "in the column partition, got -1 to -1"),
        ("offset", (1 << 64) - 1, "in the column offset, got 18446744073709551615 to 18446744073709551615"),
    ],
)
def test_numbers_that_no_record_has_are_refused(tmp_path, name, number, expected):
    """They were a traceback."""
    kinds = {"partition": pa.int64(), "offset": pa.uint64(), "timestamp": pa.int64()}
    schema = pa.schema(kinds | {"key": pa.binary(), "value": pa.binary()})
    pq.write_table(pa.Table.from_pylist([ROW | {name: number}], schema=schema), tmp_path / "x.parquet")

    with pytest.raises(SourceError, match=expected):
        list(parts(tmp_path)[0].records(SegmentReader()))


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\0", b"v1\n\xff", b"v1\n[]", b'v1\n{"path": 5}', b"v1\n" + b"[" * 100_000]
)
def test_a_damaged_list_of_a_batch_is_an_error(tmp_path, content):
    """Bytes that are no text were a traceback."""
    (tmp_path / "_spark_metadata").mkdir()
    (tmp_path / "_spark_metadata" / "0").write_bytes(content)

    with pytest.raises(SourceError, match=r"expected the name of a file in each line|expected text in utf-8"):
        preserved_source(tmp_path)


@pytest.mark.parametrize("timestamp", [(1 << 63) - 1, -1 << 63])
def test_a_timestamp_that_is_no_point_in_time_is_none(tmp_path, timestamp):
    """The audit ended with a traceback after its work."""
    pq.write_table(pa.Table.from_pylist([ROW | {"timestamp": timestamp}]), tmp_path / "x.parquet")
    ((_, record),) = parts(tmp_path)[0].records(SegmentReader())

    assert NO_TIMESTAMP == record.timestamp


def test_a_pipe_among_the_files_is_refused(tmp_path):
    """It was waited for."""
    os.mkfifo(tmp_path / "x.parquet")

    with pytest.raises(SourceError, match=r"expected a regular file, got .*x\.parquet"):
        preserved_source(tmp_path)


def test_records_without_their_checkpoint_are_not_continued(tmp_path):
    """The sink would take the first batches of a new job for those it has, and drop them."""
    (tmp_path / "records" / "_spark_metadata").mkdir(parents=True)

    with pytest.raises(SourceError, match="has records, but no checkpoint"):
        check_checkpoint(tmp_path)


def preserved(folder):
    """Write what Spark writes for --follow: a checkpoint, the log of the sink, and records."""
    for name, text in {
        "checkpoint/metadata": '{"id":"1"}',
        "checkpoint/.metadata.crc": "crc",
        "checkpoint/offsets/0": 'v1\n{"batchWatermarkMs":0}\n{"0": 5, "1": 3}',
        "checkpoint/commits/0": "v1\n{}",
        "records/_spark_metadata/0": "v1\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    pq.write_table(pa.table({name: [1] for name in follow._KEPT_COLUMNS}), folder / "records" / "part-0.parquet")


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("checkpoint/offsets/0", 'v1\n{}\n{"orders": {"0": 5}}'),
        ("checkpoint/offsets/1", 'v1\n{}\n{"logOffset": 3}'),
        ("checkpoint/model.pt", "mine"),
        ("records/thesis.tex", "mine"),
    ],
)
def test_follow_refuses_the_checkpoint_and_the_records_of_something_else(tmp_path, path, given):
    """Spark removes old files of a checkpoint, whosever they are."""
    preserved(tmp_path)
    with open_preserved(tmp_path):
        pass
    (tmp_path / path).write_text(given)

    with pytest.raises(SourceError, match=f"{path.split('/')[0]} is of something else"), open_preserved(tmp_path):
        pytest.fail("it was opened")


def test_follow_takes_records_that_cannot_be_read_only_beside_the_offsets_of_their_batch(tmp_path):
    """A job that is killed in its first batch leaves unfinished files; others would be somebody else's."""
    preserved(tmp_path)
    (tmp_path / "records" / "part-0.parquet").write_bytes(b"PAR1")
    with open_preserved(tmp_path):
        pass
    (tmp_path / "checkpoint" / "offsets" / "0").unlink()

    with pytest.raises(SourceError, match="records is of something else"), open_preserved(tmp_path):
        pytest.fail("it was opened")


@pytest.mark.parametrize("offsets", ['{"0": Infinity}', "[" * 100_000, f'{{"0": {"1" * 5000}}}', "", "\n"])
def test_follow_refuses_offsets_that_are_no_json(tmp_path, offsets):
    preserved(tmp_path)
    (tmp_path / "checkpoint" / "offsets" / "0").write_text(offsets)

    with pytest.raises(SourceError, match="checkpoint is of something else"), open_preserved(tmp_path):
        pytest.fail("it was opened")


@pytest.mark.parametrize("path", ["records/_spark_metadata/0", "records/part-0.parquet"])
def test_a_pipe_among_preserved_records_is_refused_at_once(tmp_path, path):
    preserved(tmp_path)
    (tmp_path / "records" / "_spark_metadata" / "0").write_text('v1\n{"path": "file:///x/part-0.parquet"}\n')
    (tmp_path / path).unlink()
    os.mkfifo(tmp_path / path)

    with pytest.raises(SourceError, match=r"cannot be read: expected a (regular )?file"):
        preserved_source(tmp_path)


def test_two_jobs_cannot_follow_into_one_folder(tmp_path):
    with (
        open_preserved(tmp_path),
        pytest.raises(ResultFolderError, match="another audit is writing to"),
        open_preserved(tmp_path),
    ):
        pass


def test_lag_is_reported_at_first_and_when_the_job_has_caught_up():
    lines = []
    report_lag(iter([Lag(0, 9), Lag(5, 4), Lag(9, 0), Lag(9, 0)]), lines.append, 1_000)

    assert lines == ["0 offsets preserved, 9 behind", "9 offsets preserved, 0 behind"]


class EndedQuery:
    """A streaming query that has failed."""

    isActive, lastProgress = False, None

    def __init__(self, error):
        self._error = error

    def exception(self):
        return self._error

    def stop(self):
        pass


@pytest.mark.parametrize(
    ("error", "starts"),
    [
        ("Python worker failed to connect back.", 7),
        ("SourceError: broker:9092: Local: Broker transport failure", 7),
        ("java.io.IOException: No space left", 1),
    ],
)
def test_a_job_whose_workers_do_not_start_is_restarted_a_few_times(monkeypatch, tmp_path, error, starts):
    """A busy machine ended a job that its checkpoint would have resumed."""
    begun = []
    monkeypatch.setattr("streams_assignor.spark_sim.audit.api.register", lambda _spark: None)
    monkeypatch.setattr(follow, "_start_query", lambda *_: begun.append(1) or EndedQuery(error))

    with pytest.raises(EngineError, match="the job of --follow failed: .*" + error.split()[-1]):
        list(follow.follow(None, Topic(), {}, tmp_path, 1, Event()))

    assert starts == len(begun)


class WaitingQuery:
    """A streaming query that waits for its next batch until it is stopped."""

    isActive, lastProgress = True, None
    status: ClassVar = {"isTriggerActive": False}

    def stop(self):
        pass


def test_a_job_whose_next_batch_is_late_is_started_again(monkeypatch, tmp_path):
    """Spark waits for a time of day: with the clock an hour back, it began no batch for an hour."""
    clock = count(0, 10)
    begun, stopped = [], Mock(wait=lambda _: False, is_set=lambda: len(begun) == 4)
    monkeypatch.setattr("streams_assignor.spark_sim.audit.api.register", lambda _spark: None)
    monkeypatch.setattr(follow.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(follow, "_start_query", lambda *_: begun.append(1) or WaitingQuery())
    lags = list(follow.follow(None, Topic(), {}, tmp_path, 15, stopped))

    assert len(begun) == 4
    assert len(lags) == 3 * 6, "15 s of the interval and 30 s more"


class ComingAndGoing:
    """A topic whose brokers answer so, one after the other, and then always as at last."""

    bootstrap_servers = "broker:9092"

    def __init__(self, *answers):
        self._answers = list(answers)

    def ranges(self):
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class RunningQuery:
    """A streaming query that has preserved all up to offset 25."""

    isActive, status = True, {"isTriggerActive": True}
    lastProgress = SimpleNamespace(sources=[SimpleNamespace(endOffset='{"0": 25}')])

    def stop(self):
        pass


def test_brokers_that_are_gone_are_waited_for(monkeypatch, tmp_path):
    """The job ended after 31 s, with the status of wrong usage."""
    gone, back = Unreachable("broker:9092: connection refused"), {0: (0, 25)}
    begun, stopped = [], Mock(wait=lambda _: False, is_set=lambda: False)
    monkeypatch.setattr("streams_assignor.spark_sim.audit.api.register", lambda _spark: None)
    monkeypatch.setattr(follow, "_start_query", lambda *_: begun.append(1) or RunningQuery())
    job = follow.follow(None, ComingAndGoing(gone, back, back, gone, gone, back), {}, tmp_path, 1, stopped)

    seen = [next(job) for _ in range(5)]

    waiting = Lag(0, 0, "broker:9092: connection refused")
    assert [waiting, Lag(25, 0), waiting, waiting, Lag(25, 0)] == seen
    assert 1 == len(begun)
    stopped.is_set = lambda: True
    assert [] == list(job)


def test_a_topic_that_has_lost_what_is_preserved_ends_the_job(monkeypatch, tmp_path):
    """A topic that was made anew has none of the offsets that come next, and nothing was preserved of it."""
    clock = count(0, 10)
    monkeypatch.setattr("streams_assignor.spark_sim.audit.api.register", lambda _spark: None)
    monkeypatch.setattr(follow.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(follow, "_start_query", lambda *_: RunningQuery())
    stopped = Mock(wait=lambda _: False, is_set=lambda: False)
    back = [{0: (0, 20)}, {0: (0, 25)}]  # a new leader that was behind

    with pytest.raises(EngineError, match="partition 0 ends at 3, and up to 25 is preserved: the topic was made anew"):
        list(follow.follow(None, ComingAndGoing(*back, {0: (0, 3)}), {}, tmp_path, 1, stopped))


def test_waiting_is_reported_at_first_and_now_and_then():
    lines = []
    waiting = Lag(0, 0, "refused")
    report_lag(iter([Lag(5, 0), waiting, waiting, Lag(5, 0), waiting, Lag(9, 3)]), lines.append, 1_000)

    assert lines == [
        "5 offsets preserved, 0 behind",
        "waiting for the brokers: refused",
        "5 offsets preserved, 0 behind",
        "waiting for the brokers: refused",
    ]


@pytest.mark.spark
class TestOnSpark:
    @pytest.fixture(autouse=True)
    def _registered(self, spark):
        spark_sim.register(spark)

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
