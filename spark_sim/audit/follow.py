"""``audit --follow``: preserves the records that compaction would remove, as a Structured Streaming job.

Spark stores the offsets of a batch in the checkpoint before it reads, and the files of a batch in ``_spark_metadata``
after it has written them all. After a crash it reads the same offsets again, and files that are not in
``_spark_metadata`` do not count. So each record is there once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from attrs import frozen

from assignor.audit.log_segment import LogRecord, SegmentReader
from spark_sim.audit.sources import Source, SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from assignor.clients.confluent.offsets_topic import OffsetsTopic

RECORDS_FOLDER: Final = "records"
_CHECKPOINT: Final = "checkpoint"
_METADATA: Final = "_spark_metadata"
_KEPT_COLUMNS: Final = ("partition", "offset", "timestamp", "kind", "group", "topic", "topic_partition", "key", "value")
_RECORD_COLUMNS: Final = ("partition", "offset", "timestamp", "key", "value")


@frozen
class Lag:
    """How far a job is."""

    preserved: int
    """Offsets that are preserved, from the first ones of the brokers on."""
    behind: int
    """Offsets of the brokers that are not preserved yet, all partitions together."""


def follow(
    spark: SparkSession, topic: OffsetsTopic, options: Mapping[str, str], out: Path, seconds: float
) -> Generator[Lag, None, None]:
    """Preserve records in ``out``, also those of an interrupted job, until the iterator is closed.

    Args:
        spark: A session.
        topic: Where the job reads.
        options: The options of the data source for the same brokers.
        out: The folder of records and checkpoint.
        seconds: Time from one batch to the next one.

    Yields:
        How far the job is, each second.

    Raises:
        SourceError: The job failed, or the folder has records without their checkpoint.
    """
    from spark_sim.audit.api import register

    check_checkpoint(out)
    register(spark)
    frame = spark.readStream.format("consumer_offsets").options(**options).load().select(*_KEPT_COLUMNS)
    query = (
        frame.coalesce(spark.sparkContext.defaultParallelism)
        .writeStream.format("parquet")
        .option("checkpointLocation", str((out / _CHECKPOINT).absolute()))
        .trigger(processingTime=f"{int(seconds * 1000)} milliseconds")
        .start(str((out / RECORDS_FOLDER).absolute()))
    )
    try:
        first = {number: bounds[0] for number, bounds in topic.ranges().items()}
        while query.isActive:
            time.sleep(1)
            progress = query.lastProgress
            done = _end_offsets(progress) if progress else {}
            ends = {number: end for number, (_, end) in topic.ranges().items()}
            at = {number: done.get(number, first.get(number, 0)) for number in ends}
            yield Lag(
                preserved=sum(at[number] - first.get(number, 0) for number in ends),
                behind=sum(max(0, end - at[number]) for number, end in ends.items()),
            )
        raise SourceError(f"the job of --follow failed: {_first_line(query.exception())}")
    finally:
        query.stop()


def check_checkpoint(out: Path) -> None:
    """Refuse records without their checkpoint: a new job would count its batches from 0, which the sink has.

    Raises:
        SourceError: The folder has one of both.
    """
    if (out / RECORDS_FOLDER / _METADATA).exists() and not (out / _CHECKPOINT).exists():
        raise SourceError(f"{out} has records, but no {_CHECKPOINT}: a job cannot be resumed without it")


def _end_offsets(progress: Any) -> dict[int, int]:
    offsets = progress.sources[0].endOffset
    return {int(number): end for number, end in json.loads(offsets).items()} if offsets else {}


def _first_line(error: Any) -> str:
    lines = [line for line in str(error).splitlines() if "Error:" in line] or str(error).splitlines()
    return lines[-1] if lines else "unknown"


# -- what was preserved ----------------------------------------------------------------------------------------------


@frozen
class PreservedPartition:
    """The preserved records of one partition."""

    partition: int
    files: tuple[Path, ...]
    """In the order of the batches."""
    size: int
    """Records."""

    def records(self, reader: SegmentReader, *, reads_commits: bool = True) -> Iterator[LogRecord]:  # noqa: ARG002  # the interface
        """Yield the records."""
        for batch in _batches(self.files, _RECORD_COLUMNS, self.partition):
            columns = [batch.column(name).to_pylist() for name in _RECORD_COLUMNS]
            for partition, offset, timestamp, key, value in zip(*columns, strict=True):
                if partition == self.partition:
                    reader.counts["records"] += 1
                    yield LogRecord(offset, timestamp, key, value)


def preserved_source(folder: Path) -> Source:
    """Return the records that ``audit --follow`` has preserved; ``folder`` is its ``OUT/records``, or ``OUT``.

    Raises:
        SourceError: There are none.
    """
    where = folder / RECORDS_FOLDER if (folder / RECORDS_FOLDER).is_dir() else folder
    files = tuple(where / name for name in _committed_files(where))
    counts: dict[int, int] = {}
    for batch in _batches(files, ("partition",)):
        for each in batch.column("partition").value_counts().to_pylist():
            counts[each["values"]] = counts.get(each["values"], 0) + each["counts"]
    if not counts:
        raise SourceError(f"expected records of audit --follow, found none in {folder}")
    return Source(str(folder), tuple(PreservedPartition(number, files, counts[number]) for number in sorted(counts)))


def _committed_files(folder: Path) -> Iterator[str]:
    """Yield the names of files of finished batches: ``N.compact`` has those of batches up to N, ``N`` those of one."""
    logs = {path.name: path for path in (folder / _METADATA).glob("[0-9]*") if "." not in path.stem}
    compact = max((int(name.partition(".")[0]) for name in logs if name.endswith(".compact")), default=-1)
    later = sorted((int(name) for name in logs if name.isdecimal() and int(name) > compact), key=int)
    names = [f"{compact}.compact"] if compact >= 0 else []
    for name in (*names, *map(str, later)):
        for line in logs[name].read_text(encoding="utf-8").splitlines()[1:]:  # the first one is the version
            yield Path(urlsplit(json.loads(line)["path"]).path).name


def _batches(files: tuple[Path, ...], columns: tuple[str, ...], partition: int | None = None) -> Iterator[Any]:
    """Yield batches of columns, without row groups that cannot have a partition."""
    import pyarrow.parquet as pq

    for file in files:
        try:
            with pq.ParquetFile(file) as opened:
                for group in range(opened.num_row_groups):
                    if partition is None or _may_have(opened.metadata.row_group(group), partition):
                        yield from opened.iter_batches(row_groups=[group], columns=list(columns))
        except (OSError, ValueError) as error:
            raise SourceError(f"{file} cannot be read: {error}") from None


def _may_have(group: Any, partition: int) -> bool:
    """Whether the statistics of a row group allow a partition, which is the first column."""
    found = group.column(0).statistics
    return found is None or not found.has_min_max or bool(found.min <= partition <= found.max)


def report_lag(lags: Iterator[Lag], report: Callable[[str], None], seconds: float) -> None:
    """Report how far a job is: at first, every so often, and when it has caught up."""
    last, was_behind = float("-inf"), True
    for lag in lags:
        now = time.monotonic()
        if now - last >= seconds or (was_behind and not lag.behind):
            report(f"{lag.preserved} offsets preserved, {lag.behind} behind")
            last = now
        was_behind = bool(lag.behind)
