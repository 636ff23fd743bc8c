"""``spark.read.format("consumer_offsets")``, and ``readStream``: records of ``__consumer_offsets`` as a data source.

A Spark partition is a partition of the topic, or a range of its offsets on brokers. A stream's offsets are those of the
partitions, which Spark stores in its checkpoint before it reads: after a restart it reads the same ranges again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from spark_sim.audit.records import RECORDS, partition_records
from spark_sim.audit.sources import PartitionSource, Source, SourceError, dump_source, live_source, segments_source
from spark_sim.audit.sources.live import LivePartition
from upgrade.cluster.client.command_config import CommandConfig

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from assignor.groups.describe.confluent.offsets_topic import OffsetsTopic

NAME: Final = "consumer_offsets"
SEGMENTS, DUMP, SERVERS, CONFIG = "segments", "dump", "bootstrap.servers", "command.config"
OFFSETS_PER_TASK: Final = 1_000_000
_ROWS_PER_BATCH: Final = 10_000


class ConsumerOffsets(DataSource):
    """The records of ``__consumer_offsets``; ``docs/how-to/audit.md`` lists the options."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def schema(self) -> str:
        """Return the schema of the records."""
        return RECORDS.ddl()

    def reader(self, schema: StructType) -> RecordsReader:  # noqa: ARG002  # the interface of Spark
        """Return what reads the records that are there now."""
        return RecordsReader(dict(self.options))

    def streamReader(self, schema: StructType) -> RecordsStream:  # noqa: ARG002  # the interface of Spark
        """Return what reads the records of brokers, also those to come."""
        return RecordsStream(dict(self.options))


@frozen
class RecordsReader(DataSourceReader):
    """Reads what is there; it is pickled, and so holds nothing but the options."""

    options: dict[str, str]

    def partitions(self) -> Sequence[InputPartition]:
        """Return partitions of the topic, those of brokers in ranges of offsets."""
        return [
            InputPartition(part)
            for partition in source_of(self.options).partitions
            for part in (partition.ranges(OFFSETS_PER_TASK) if isinstance(partition, LivePartition) else (partition,))
        ]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read the rows of a partition."""
        return _batches(partition.value)


@frozen
class RecordsStream(DataSourceStreamReader):
    """Reads the records of brokers from their first offsets on."""

    options: dict[str, str]

    def initialOffset(self) -> dict[str, int]:
        """Return the first offset of each partition."""
        return {str(number): first for number, (first, _) in topic_of(self.options).ranges().items()}

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]  # Spark 4.0 has no parameters
        """Return the offset behind the last record of each partition."""
        return {str(number): end for number, (_, end) in topic_of(self.options).ranges().items()}

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> Sequence[InputPartition]:
        """Return a range for each partition with new offsets, in one task, so that a batch has them in order."""
        topic = topic_of(self.options)
        return [
            InputPartition(LivePartition(topic, int(number), start.get(number, 0), last))
            for number, last in end.items()
            if last > start.get(number, 0)
        ]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read the rows of a range."""
        return _batches(partition.value)


def source_of(options: Mapping[str, str]) -> Source:
    """Return the source that options name.

    Raises:
        SourceError: They name none or several, or it cannot be read.
    """
    given = [name for name in (SEGMENTS, DUMP) if name in options]
    if len(given) + (SERVERS in options or CONFIG in options) != 1:
        raise SourceError(f"expected one of the options {SEGMENTS}, {DUMP} and {SERVERS}")
    if not given:
        return live_source(topic_of(options))
    return segments_source(options[SEGMENTS]) if given == [SEGMENTS] else dump_source(Path(options[DUMP]))


def topic_of(options: Mapping[str, str]) -> OffsetsTopic:
    """Return the topic of the brokers that options name.

    Raises:
        SourceError: They name none.
    """
    from assignor.groups.describe.confluent.offsets_topic import OffsetsTopic

    config = CommandConfig.read(Path(options[CONFIG])) if CONFIG in options else CommandConfig()
    servers = options.get(SERVERS) or config.brokers
    if not servers:
        raise SourceError(f"expected the option {SERVERS}, or {SERVERS} in the file of {CONFIG}")
    return OffsetsTopic.of(servers, config)


def _batches(source: PartitionSource) -> Iterator[pa.RecordBatch]:
    return RECORDS.batches(partition_records(source), _ROWS_PER_BATCH)
