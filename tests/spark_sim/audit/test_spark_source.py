"""The data source ``consumer_offsets``: filters that Spark hands over, limits of batches, options and errors."""

import json
import pickle
from pathlib import Path

import pytest
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    In,
    InputPartition,
    IsNotNull,
    IsNull,
    LessThan,
    Not,
    StringStartsWith,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from streams_assignor import spark_sim
from streams_assignor.groups.history.log_segment import LogRecord
from streams_assignor.spark_sim.audit import _spark_source, records
from streams_assignor.spark_sim.audit._spark_source import (
    ConsumerOffsets,
    RecordsStream,
    check_options,
    limited,
    source_of,
)
from streams_assignor.spark_sim.audit.records import FILTERED, RECORDS, partition_records, read_records, record_row
from streams_assignor.spark_sim.audit.sources import SourceError, segments_source
from streams_assignor.spark_sim.jobs.row_filter import FilterOptionError, RowFilter, take_filters, takes_filters

SEGMENTS = Path(__file__).parent / "segments"
BROKERS = {"bootstrap.servers": "broker:9092"}


@pytest.fixture(autouse=True)
def _hide_no_traceback(monkeypatch):
    """The methods run in a worker of Spark, whose errors they make short."""
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")


# -- filters ----------------------------------------------------------------------------------------------------------

PUSHED = [
    EqualTo(("kind",), "GroupMetadata"),
    In(("partition",), (0, 7)),
    IsNotNull(("group",)),
    StringStartsWith(("group",), "group-"),
]
LEFT = [
    LessThan(("offset",), 5),
    Not(EqualTo(("kind",), "OffsetCommit")),
    IsNull(("topic",)),
    EqualTo(("json",), "{}"),
    EqualTo(("key", "kind"), "x"),
    EqualTo(("kind",), None),
]


def rows_of(kept=None):
    rows = [row for part in segments_source(SEGMENTS).partitions for row in partition_records(part, *kept or ())]
    return sorted(map(repr, rows))


def test_filters_that_need_no_value_are_taken_and_the_others_left():
    kept, left = take_filters([*PUSHED, *LEFT], FILTERED)

    assert left == LEFT
    assert [test for _, test, _ in kept.tests] == ["EqualTo", "In", "IsNotNull", "StringStartsWith"]
    assert pickle.loads(pickle.dumps(kept)) == kept


@pytest.mark.parametrize("filters", [[one] for one in PUSHED] + [PUSHED, [EqualTo(("group",), "no such group")]])
def test_the_rows_that_are_kept_are_those_that_pass_afterwards(filters):
    kept, _ = take_filters(filters, FILTERED)
    expected = [row for row in read_records(segments_source(SEGMENTS)) if kept.keeps(row)]

    assert rows_of([kept]) == sorted(map(repr, expected))


def test_a_null_passes_no_comparison():
    for one in (StringStartsWith(("group",), ""), In(("group",), ("a", None)), EqualTo(("group",), "a")):
        kept, _ = take_filters([one], FILTERED)
        assert not kept.keeps({"group": None})


def test_values_of_records_that_are_not_kept_are_not_decoded(monkeypatch):
    decoded = []
    monkeypatch.setattr(records, "decode_value", lambda kind, _value: decoded.append(kind.name))
    rows_of([RowFilter([("kind", "EqualTo", "GroupMetadata")])])

    assert set(decoded) == {"GroupMetadata"}


def test_partitions_that_are_not_kept_are_not_read():
    reader = ConsumerOffsets({"segments": str(SEGMENTS), "pushFilters": "true"}).reader(None)
    left = list(reader.pushFilters([EqualTo(("partition",), 1), LEFT[0]]))

    assert left == [LEFT[0]]
    assert [part.value.partition for part in reader.partitions()] == [1]


def test_all_partitions_of_a_dump_are_in_one_file(tmp_path):
    lines = [{"partition": number, "offset": 5, "timestamp": 1, "key": "00", "value": None} for number in range(3)]
    (tmp_path / "dump").write_text("\n".join(map(json.dumps, lines)))
    reader = ConsumerOffsets({"dump": str(tmp_path / "dump"), "pushFilters": "true"}).reader(None)
    list(reader.pushFilters([EqualTo(("partition",), 1)]))
    (part,) = reader.partitions()
    rows = [row for batch in reader.read(part) for row in batch.to_pylist()]

    assert [row["partition"] for row in rows] == [1]


class KeepsFiltersToTheirQuery:
    """As Spark's class of a reader that also takes limits."""

    def pushLimit(self):
        """Called by Spark."""


def test_filters_are_taken_where_they_are_kept_to_their_query_or_by_an_option():
    """Spark 4.3.0 reads what a filter has left for other queries on the same DataFrame, too."""
    assert not takes_filters({}, DataSourceReader)
    assert takes_filters({}, KeepsFiltersToTheirQuery)
    assert takes_filters({"PUSHFILTERS": "TRUE"}, DataSourceReader)
    assert not takes_filters({"pushFilters": "false"}, KeepsFiltersToTheirQuery)
    with pytest.raises(FilterOptionError, match=r"^expected pushFilters to be true or false, got 'yes'$"):
        takes_filters({"pushFilters": "yes"}, DataSourceReader)


# -- limits of batches ------------------------------------------------------------------------------------------------


class Brokers:
    """Of which the ends grow."""

    bootstrap_servers = "broker:9092"

    def __init__(self, *ends):
        self.ends = ends

    def ranges(self):
        return {number: (0, end) for number, end in enumerate(self.ends)}


@pytest.fixture
def brokers(monkeypatch):
    brokers = Brokers(100, 20, 0)
    monkeypatch.setattr(_spark_source, "topic_of", lambda _options: brokers)
    return brokers


def stream(**options):
    return RecordsStream(BROKERS | options)


def batches(reader, limit):
    """The ends of batches until there is nothing new."""
    at = reader.initialOffset()
    while (end := reader.latestOffset(at, limit)) != at:
        yield end
        at = end


@pytest.mark.usefixtures("brokers")
def test_a_batch_has_at_most_so_many_offsets_and_each_partition_its_share():
    reader = stream(maxOffsetsPerTrigger="30")
    ends = list(batches(reader, reader.getDefaultReadLimit()))
    sizes = [sum(after.values()) - sum(before.values()) for before, after in zip([{}, *ends], ends, strict=False)]

    assert reader.getDefaultReadLimit() == ReadMaxRows(30)
    assert ends[0] == {"0": 25, "1": 5, "2": 0}
    assert (sizes, ends[-1]) == ([30, 30, 30, 30], {"0": 100, "1": 20, "2": 0})


@pytest.mark.parametrize("most", range(1, 40))
def test_a_limited_batch_is_as_large_as_it_may_be(most):
    start, ends = {"0": 3, "1": 0, "2": 7}, {"0": 20, "1": 1, "2": 7, "3": 9}
    end = limited(start, ends, most)

    assert sum(end[number] - start.get(number, 0) for number in ends) == min(most, 17 + 1 + 0 + 9)
    assert all(start.get(number, 0) <= end[number] <= ends[number] for number in ends)


@pytest.mark.usefixtures("brokers")
def test_without_a_limit_a_batch_has_all_that_there_is():
    assert stream().getDefaultReadLimit() == ReadAllAvailable()
    assert stream().latestOffset() == {"0": 100, "1": 20, "2": 0}
    assert stream(maxOffsetsPerTrigger="5").latestOffset({"0": 7}, ReadAllAvailable()) == {"0": 100, "1": 20, "2": 0}


def test_what_comes_after_the_start_is_not_available_now(brokers):
    reader = stream(maxOffsetsPerTrigger="70")
    reader.prepareForTriggerAvailableNow()
    brokers.ends = (500, 20, 30)

    assert list(batches(reader, ReadMaxRows(70)))[-1] == {"0": 100, "1": 20, "2": 0}


@pytest.mark.usefixtures("brokers")
def test_a_batch_is_read_in_one_range_for_each_partition():
    parts = [part.value for part in stream().partitions({"0": 10}, {"0": 25, "1": 5, "2": 0})]

    assert [(part.partition, part.first, part.end) for part in parts] == [(0, 10, 25), (1, 0, 5)]


@pytest.mark.usefixtures("brokers")
def test_spark_before_42_limits_no_batch(monkeypatch):
    monkeypatch.setattr(_spark_source, "LIMITS_BATCHES", False)
    with pytest.raises(SourceError, match=r"^maxOffsetsPerTrigger needs Spark 4.2, this is .*: leave it out$"):
        stream(maxOffsetsPerTrigger="30").initialOffset()


# -- options and errors -----------------------------------------------------------------------------------------------

NAMES = "segments, dump, bootstrap.servers, command.config, maxOffsetsPerTrigger, pushFilters"
WRONG = [
    ({"segments": "a", "colour": "red"}, f"expected the options {NAMES}, got colour"),
    ({"path": "a"}, f"expected the options {NAMES}, got path"),
    ({}, "expected one of the options segments, dump and bootstrap.servers"),
    ({"segments": "a", "dump": "b"}, "expected one of the options segments, dump and bootstrap.servers"),
    ({**BROKERS, "dump": "b"}, "expected one of the options segments, dump and bootstrap.servers"),
    ({**BROKERS, "maxOffsetsPerTrigger": "0"}, "expected maxOffsetsPerTrigger to be a number from 1 on, got '0'"),
    ({**BROKERS, "maxoffsetspertrigger": "x"}, "expected maxOffsetsPerTrigger to be a number from 1 on, got 'x'"),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=[" ".join(options) or "none" for options, _ in WRONG])
def test_a_wrong_option_is_one_sentence(options, message):
    with pytest.raises(SourceError) as raised:
        ConsumerOffsets(options).schema()

    assert str(raised.value) == message


def test_options_are_read_in_any_case():
    check_options({"Segments": "a"})
    check_options({"BOOTSTRAP.SERVERS": "a:1", "MaxOffsetsPerTrigger": "5"})


def test_the_limit_of_a_batch_belongs_to_a_stream():
    with pytest.raises(SourceError, match=r"^maxOffsetsPerTrigger limits the batches of a stream: leave it out, or "):
        ConsumerOffsets({"segments": "a", "maxOffsetsPerTrigger": "5"}).reader(None)


def test_a_stream_reads_brokers():
    reader = ConsumerOffsets({"segments": "a"}).streamReader(None)
    with pytest.raises(SourceError, match=r"^a stream reads brokers: expected the option bootstrap.servers, got segm"):
        reader.initialOffset()


def test_a_file_of_settings_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(SourceError, match=r"client.properties cannot be read: No such file or directory$"):
        source_of({"command.config": str(tmp_path / "client.properties")})


# -- on Spark ---------------------------------------------------------------------------------------------------------


@pytest.mark.spark
class TestOnSpark:
    @pytest.fixture(autouse=True)
    def _registered(self, spark):
        spark_sim.register(spark)

    def load(self, spark, **options):
        options = {"segments": str(SEGMENTS)} | options
        return spark.read.format("consumer_offsets").options(**options).load()

    @pytest.mark.parametrize(
        "condition",
        ["kind = 'GroupMetadata'", "group like 'group-4%'", "partition in (1, 5) and kind = 'OffsetCommit'"],
    )
    def test_a_filter_is_no_part_of_the_plan_and_the_rows_are_the_same(self, spark, condition):
        pushed = self.load(spark, pushFilters="true").where(condition)
        plan = pushed._jdf.queryExecution().executedPlan().toString()

        assert "BatchScan consumer_offsets" in plan
        assert "Filter" not in plan.replace("RuntimeFilters", "")
        assert sorted(map(repr, pushed.collect())) == sorted(map(repr, self.load(spark).where(condition).collect()))

    def test_without_the_option_each_query_on_a_frame_has_its_own_rows(self, spark):
        """Spark 4.3.0 counted the rows of the first query for the second one."""
        frame = self.load(spark)
        everything = len(list(read_records(segments_source(SEGMENTS))))

        assert 0 < frame.where("kind = 'GroupMetadata'").count() < everything
        assert frame.count() == everything

    @pytest.mark.parametrize("takes", [True, False])
    def test_filters_are_the_default_only_where_spark_keeps_them_to_their_query(self, spark, takes):
        """A source without anything of ours: Spark 4.3.0 also counts 1 where there are 3.

        It keeps what it has planned for the first query in the data source, which all queries on a frame share. So even
        a source that leaves the filter to Spark, and has only left out partitions, gives too few rows.
        """

        class Numbers(DataSourceReader):
            numbers = (1, 2, 3)

            def pushFilters(self, filters):
                self.numbers = [one.value for one in filters if isinstance(one, EqualTo)]
                return [] if takes else filters

            def partitions(self):
                return [InputPartition(number) for number in self.numbers]

            def read(self, partition):
                yield (partition.value,)

        class NumberSource(DataSource):
            @classmethod
            def name(cls):
                return f"three_numbers_{takes}"

            def schema(self):
                return "number INT"

            def reader(self, schema):  # noqa: ARG002  # the interface of Spark
                return Numbers()

        spark.dataSource.register(NumberSource)
        frame = spark.read.format(NumberSource.name()).load()

        assert frame.where("number = 2").count() == 1
        assert (frame.count() == 3) == takes_filters({}, DataSourceReader)

    @pytest.mark.parametrize(
        ("options", "message"),
        [({"colour": "red"}, f"expected the options {NAMES}, got colour"), ({"segments": "/no"}, "which is no folder")],
    )
    def test_an_error_has_no_traceback_of_python(self, spark, options, message):
        with pytest.raises(Exception, match=message) as raised:
            self.load(spark, **options).count()
        first, *others = str(raised.value).splitlines()

        assert message in first
        assert "Traceback" not in str(raised.value)
        assert all("SQLSTATE" in line for line in others)

    def test_a_stream_has_batches_of_its_limit_and_ends_with_what_is_available(self, spark, tmp_path):
        class Numbers(RecordsStream):
            def _ranges(self):
                return {"0": (0, 25), "1": (0, 0)}

            def partitions(self, start, end):
                return [InputPartition((start["0"], end["0"]))]

            def read(self, partition):
                return RECORDS.batches(
                    [record_row(0, LogRecord(at, 5, b"", None)) for at in range(*partition.value)], 9
                )

        class NumberSource(ConsumerOffsets):
            @classmethod
            def name(cls):
                return "numbers"

            def streamReader(self, schema):  # noqa: ARG002  # the interface of Spark
                return Numbers(dict(self.options))

        spark.dataSource.register(NumberSource)
        stream = spark.readStream.format("numbers").options(**BROKERS, maxOffsetsPerTrigger="10").load()
        query = (
            stream.writeStream.format("memory")
            .queryName("numbers")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)

        assert [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]] == [
            10,
            10,
            5,
        ]
        assert spark.table("numbers").count() == 25
