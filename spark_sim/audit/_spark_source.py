"""``spark.read.format("consumer_offsets")``, and ``readStream``: records of ``__consumer_offsets`` as a data source.

A Spark partition is a partition of the topic, or a range of its offsets on brokers. A stream's offsets are those of the
partitions, which Spark stores in its checkpoint before it reads: after a restart it reads the same ranges again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyspark
from attrs import define, field
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from streams_assignor.formats.text import printable
from streams_assignor.spark_sim.audit.records import FILTERED, RECORDS, partition_records
from streams_assignor.spark_sim.audit.sources import (
    PartitionSource,
    Source,
    SourceError,
    dump_source,
    live_source,
    segments_source,
)
from streams_assignor.spark_sim.audit.sources.live import LivePartition, live_ranges
from streams_assignor.spark_sim.jobs.row_filter import KEEPS_ALL, RowFilter, take_filters, takes_filters
from streams_assignor.spark_sim.jobs.row_filter import OPTION as PUSH
from streams_assignor.spark_sim.sweep.spark.worker_errors import one_line
from streams_assignor.upgrade.cluster.client.command_config import CommandConfig
from streams_assignor.upgrade.errors import quote_input
from streams_assignor.upgrade.input_values import InvalidInput, parse_number

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
except ImportError:  # before 4.2
    LIMITS_BATCHES = False

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]  # the same name
        """Spark reads all that is available as one batch."""
else:
    LIMITS_BATCHES = True

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from streams_assignor.groups.describe.confluent.offsets_topic import OffsetsTopic

NAME: Final = "consumer_offsets"
SEGMENTS, DUMP, SERVERS, CONFIG = "segments", "dump", "bootstrap.servers", "command.config"
MOST: Final = "maxOffsetsPerTrigger"
OPTIONS: Final = (SEGMENTS, DUMP, SERVERS, CONFIG, MOST, PUSH)
OFFSETS_PER_TASK: Final = 1_000_000
_ROWS_PER_BATCH: Final = 10_000


class ConsumerOffsets(DataSource):
    """The records of ``__consumer_offsets``; ``docs/reference/audit.md`` lists the options."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def schema(self) -> str:
        """Return the schema of the records.

        Raises:
            SourceError: An option is unknown, or the options name no source, or several.
        """
        with one_line():
            check_options(self.options)
        return RECORDS.ddl()

    def reader(self, schema: StructType) -> RecordsReader:  # noqa: ARG002  # the interface of Spark
        """Return what reads the records that are there now."""
        with one_line():
            given = options_of_batch(self.options)
            return (FilteringRecordsReader if takes_filters(given, DataSourceReader) else RecordsReader)(given)

    def streamReader(self, schema: StructType) -> RecordsStream:  # noqa: ARG002  # the interface of Spark
        """Return what reads the records of brokers, also those to come."""
        return RecordsStream(dict(self.options))  # Spark would say something else of an error here


@define
class RecordsReader(DataSourceReader):
    """Reads what is there; it is pickled, and so holds nothing but the options and filters."""

    options: Mapping[str, str]
    kept: RowFilter = KEEPS_ALL

    def partitions(self) -> Sequence[InputPartition]:
        """Return the partitions of the topic that are asked for, those of brokers in ranges of offsets."""
        with one_line():
            return [
                InputPartition(part)
                for partition in source_of(self.options).partitions
                if self._keeps(partition)
                for part in _parts(partition)
            ]

    def _keeps(self, source: PartitionSource) -> bool:
        """Whether a partition may have rows; a dump has all partitions in one file."""
        number = getattr(source, "partition", None)
        return number is None or self.kept.keeps({"partition": number}, ("partition",))

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read the rows of a partition."""
        return _batches(partition.value, self.kept)


class FilteringRecordsReader(RecordsReader):
    """Takes filters from Spark."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Take the filters that are decided without the values of records, and return the others."""
        self.kept, others = take_filters(filters, FILTERED)
        return others


def _parts(source: PartitionSource) -> Iterable[PartitionSource]:
    return source.ranges(OFFSETS_PER_TASK) if isinstance(source, LivePartition) else (source,)


@define
class RecordsStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the records of brokers from their first offsets on.

    Spark hands no filters to a stream. From Spark 4.2 on it asks for the limit of a batch.
    """

    options: Mapping[str, str]
    _target: dict[str, int] | None = None
    """The offsets at which a stream ends that reads what is available (``availableNow``)."""
    _latest: Mapping[str, int] = field(factory=dict)

    def initialOffset(self) -> dict[str, int]:
        """Return the first offset of each partition."""
        return {number: first for number, (first, _) in self._ranges().items()}

    def latestOffset(self, start: Mapping[str, int] | None = None, limit: Any = None) -> dict[str, int]:
        """Return the offsets at which a batch ends; Spark before 4.2 gives neither its start nor a limit."""
        known = self._latest if start is None else start
        # Never back: a new leader may be behind for a moment, and Spark would read from there on again.
        ends = {number: max(end, known.get(number, 0)) for number, (_, end) in self._ranges().items()}
        self._latest = ends
        if self._target is not None:
            ends = {number: min(end, self._target.get(number, 0)) for number, end in ends.items()}
        most = getattr(limit, "max_rows", None)
        return ends if most is None or start is None else limited(start, ends, most)

    def getDefaultReadLimit(self) -> Any:
        """Return the limit of a batch as Spark knows it: a range of offsets has at most as many rows."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

        with one_line():
            _, most = options_of_stream(self.options)
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:
        """Remember what is available now."""
        self._target = {number: end for number, (_, end) in self._ranges().items()}

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> Sequence[InputPartition]:
        """Return a range for each partition with new offsets, in one task, so that a batch has them in order."""
        with one_line():
            given, _ = options_of_stream(self.options)
            topic = topic_of(given)
        return [
            InputPartition(LivePartition(topic, int(number), start.get(number, 0), last))
            for number, last in end.items()
            if last > start.get(number, 0)
        ]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read the rows of a range."""
        return _batches(partition.value)

    def _ranges(self) -> dict[str, tuple[int, int]]:
        with one_line():
            given, _ = options_of_stream(self.options)
            return {str(number): bounds for number, bounds in live_ranges(topic_of(given)).items()}


def limited(start: Mapping[str, int], ends: Mapping[str, int], most: int) -> dict[str, int]:
    """Return ends with at most so many offsets behind the start, each partition in proportion to what it has.

    >>> limited({"0": 10, "1": 0}, {"0": 40, "1": 10}, 8), limited({"0": 0}, {"0": 0, "1": 5}, 1)
    ({'0': 16, '1': 2}, {'0': 0, '1': 1})
    """
    sizes = {number: max(0, end - start.get(number, 0)) for number, end in ends.items()}
    total = sum(sizes.values())
    if total <= most:
        return dict(ends)
    shares = {number: size * most // total for number, size in sizes.items()}
    left = most - sum(shares.values())
    for number in sorted(sizes, key=lambda number: shares[number] - sizes[number])[:left]:
        shares[number] += 1
    return {number: start.get(number, 0) + share for number, share in shares.items()}


def check_options(options: Mapping[str, str]) -> None:
    """Refuse options that no source has.

    Raises:
        SourceError: One is unknown, or they name no source, or several, or the limit is no number.
    """
    given = _lower(options)
    if unknown := sorted(given.keys() - set(map(str.lower, OPTIONS))):
        raise SourceError(f"expected the options {', '.join(OPTIONS)}, got {printable(unknown[0])}")
    if MOST.lower() in given:
        _most(given)
    sources = [name for name in (SEGMENTS, DUMP) if name in given]
    if len(sources) + (SERVERS in given or CONFIG in given) != 1:
        raise SourceError(f"expected one of the options {SEGMENTS}, {DUMP} and {SERVERS}")


def options_of_batch(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a batch.

    Raises:
        SourceError: One is that of a stream.
    """
    check_options(options)
    if MOST.lower() in (given := _lower(options)):
        raise SourceError(f"{MOST} limits the batches of a stream: leave it out, or use readStream")
    return given


def options_of_stream(options: Mapping[str, str]) -> tuple[dict[str, str], int | None]:
    """Return the options of a stream, and the most offsets of a batch.

    Raises:
        SourceError: They name files, or this Spark cannot limit a batch.
    """
    check_options(options)
    given = _lower(options)
    for name in (SEGMENTS, DUMP):
        if name in given:
            raise SourceError(f"a stream reads brokers: expected the option {SERVERS}, got {name}")
    if MOST.lower() not in given:
        return given, None
    if not LIMITS_BATCHES:
        raise SourceError(f"{MOST} needs Spark 4.2, this is {pyspark.__version__}: leave it out")
    return given, _most(given)


def _lower(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}


def _most(given: Mapping[str, str]) -> int:
    try:
        return parse_number(given[MOST.lower()], least=1)
    except InvalidInput:
        raise SourceError(f"expected {MOST} to be a number from 1 on, got {quote_input(given[MOST.lower()])}") from None


def source_of(options: Mapping[str, str]) -> Source:
    """Return the source that options name.

    Raises:
        SourceError: It cannot be read.
    """
    if SEGMENTS in options:
        return segments_source(options[SEGMENTS])
    return dump_source(Path(options[DUMP])) if DUMP in options else live_source(topic_of(options))


def topic_of(options: Mapping[str, str]) -> OffsetsTopic:
    """Return the topic of the brokers that options name.

    Raises:
        SourceError: They name none, or their file cannot be read.
    """
    from streams_assignor.groups.describe.confluent.offsets_topic import OffsetsTopic

    try:
        config = CommandConfig.read(Path(options[CONFIG])) if CONFIG in options else CommandConfig()
    except OSError as error:
        raise SourceError(f"{options[CONFIG]} cannot be read: {error.strerror or error}") from None
    servers = options.get(SERVERS) or config.brokers
    if not servers:
        raise SourceError(f"expected the option {SERVERS}, or {SERVERS} in the file of {CONFIG}")
    return OffsetsTopic.of(servers, config)


def _batches(source: PartitionSource, kept: RowFilter = KEEPS_ALL) -> Iterator[pa.RecordBatch]:
    with one_line():
        yield from RECORDS.batches(partition_records(source, kept), _ROWS_PER_BATCH)
