"""``audit --follow``: preserves the records that compaction would remove, as a Structured Streaming job.

Spark stores the offsets of a batch in the checkpoint before it reads, and the files of a batch in ``_spark_metadata``
after it has written them all. After a crash it reads the same offsets again, and files that are not in
``_spark_metadata`` do not count. So each record is there once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from streams_assignor.spark_sim.audit.sources import SourceError
from streams_assignor.spark_sim.audit.sources.preserved import RECORDS_FOLDER, SINK_LOG
from streams_assignor.spark_sim.jobs.engine import EngineError, failure_reason
from streams_assignor.spark_sim.sweep.spark.session import spark_errors
from streams_assignor.spark_sim.sweep.tables.parquet import open_parquet
from streams_assignor.spark_sim.sweep.tables.publishing import Results, open_results
from streams_assignor.upgrade.cluster.client.errors import ClusterError
from streams_assignor.upgrade.input_values import InvalidInput, parse_json, read_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from streams_assignor.groups.describe.confluent.offsets_topic import OffsetsTopic

_CHECKPOINT: Final = "checkpoint"
_IN_CHECKPOINT: Final = frozenset({"metadata", "offsets", "commits", "sources", "state"})
"""The files that Spark writes into a checkpoint."""
_WORKER_TIMEOUT: Final = "Python worker failed to connect back"
"""Spark's error when a Python process does not start in time, as on a busy machine: the job can be restarted."""
_MAX_RESTARTS: Final = 6  # in a row, if no batch is finished
_LATE_SECONDS: Final = 30.0
"""How late a batch may begin: Spark waits until a time of day, for an hour if the clock is set back by an hour."""
_KEPT_COLUMNS: Final = ("partition", "offset", "timestamp", "kind", "group", "topic", "topic_partition", "key", "value")


@frozen
class Lag:
    """How far a job is."""

    preserved: int
    """Offsets that are preserved, from the first ones of the brokers on."""
    behind: int
    """Offsets of the brokers that are not preserved yet, all partitions together."""
    waits_for: str = ""
    """Why the brokers do not tell how far they are; the numbers are 0 then."""


def follow(
    spark: SparkSession, topic: OffsetsTopic, options: Mapping[str, str], out: Path, seconds: float, stopped: Event
) -> Generator[Lag, None, None]:
    """Preserve records in ``out``, also those of an interrupted job, until ``stopped`` or the iterator is closed.

    Args:
        spark: A session.
        topic: Where the job reads.
        options: The options of the data source for the same brokers.
        out: The folder of records and checkpoint, which has passed ``check_checkpoint``.
        seconds: Time from one batch to the next one.
        stopped: When it is set, the job is stopped.

    Yields:
        How far the job is, each second.

    While no broker answers, it waits.

    Raises:
        EngineError: The job failed, or brokers have lost what is preserved. A job whose Python workers do not start, or
            to which brokers gave no answer, is restarted before, a few times; so is one that does not begin its next
            batch in time.
    """
    from streams_assignor.spark_sim.audit.api import register

    register(spark)
    lost: tuple[type[Exception], ...] = (ConnectionError, *spark_errors())
    try:
        yield from _restarted(spark, topic, options, out, seconds, stopped)
    except lost as error:
        raise EngineError(f"the job of --follow failed: no answer from Spark: {failure_reason(error)}") from error


def _restarted(
    spark: SparkSession, topic: OffsetsTopic, options: Mapping[str, str], out: Path, seconds: float, stopped: Event
) -> Generator[Lag, None, None]:
    first: Mapping[int, int] | None = None
    restarts = 0
    while (ranges := (yield from _told_ranges(topic, stopped))) is not None:
        first = {number: bounds[0] for number, bounds in ranges.items()} if first is None else first
        query = _start_query(spark, options, out, seconds)
        try:
            yield from _lags(query, topic, first, seconds, stopped)
            if stopped.is_set():
                return
            if query.isActive:
                continue
            reason, has_progress = failure_reason(query.exception()), query.lastProgress is not None
        finally:
            query.stop()
        restarts = 0 if has_progress else restarts + 1
        is_passing = _WORKER_TIMEOUT in reason or topic.bootstrap_servers in reason
        if not is_passing or restarts > _MAX_RESTARTS:
            raise EngineError(f"the job of --follow failed: {reason}")


def _told_ranges(topic: OffsetsTopic, stopped: Event) -> Generator[Lag, None, Mapping[int, tuple[int, int]] | None]:
    """Return the ranges of offsets as soon as the brokers tell them, None if ``stopped``; yield why they do not."""
    while not stopped.is_set():
        try:
            return topic.ranges()
        except ClusterError as error:
            yield Lag(0, 0, str(error))
            stopped.wait(1)
    return None


def _start_query(spark: SparkSession, options: Mapping[str, str], out: Path, seconds: float) -> StreamingQuery:
    frame = spark.readStream.format("consumer_offsets").options(**options).load().select(*_KEPT_COLUMNS)
    return (
        frame.coalesce(spark.sparkContext.defaultParallelism)
        .writeStream.format("parquet")
        .option("checkpointLocation", str((out / _CHECKPOINT).absolute()))
        .trigger(processingTime=f"{int(seconds * 1000)} milliseconds")
        .start(str((out / RECORDS_FOLDER).absolute()))
    )


def _lags(
    query: StreamingQuery, topic: OffsetsTopic, first: Mapping[int, int], seconds: float, stopped: Event
) -> Generator[Lag, None, None]:
    """Yield how far a query is, each second, until ``stopped``, the query ends, or its next batch is late."""
    was, due, lost_since = None, float("inf"), None
    while query.isActive:
        if stopped.wait(1) or (ranges := (yield from _told_ranges(topic, stopped))) is None:
            return
        progress = query.lastProgress
        done = _end_offsets(progress) if progress else {}
        ends = {number: end for number, (_, end) in ranges.items()}
        lost = [number for number, end in sorted(ends.items()) if end < done.get(number, 0)]
        lost_since = (lost_since or time.monotonic()) if lost else None  # a new leader may be behind for a moment
        if lost_since is not None and time.monotonic() > lost_since + _LATE_SECONDS:
            raise EngineError(
                f"partition {lost[0]} ends at {ends[lost[0]]}, and up to {done[lost[0]]} is preserved: the topic was "
                "made anew or has lost records; begin with a new folder in --out"
            )
        at = {number: done.get(number, first.get(number, 0)) for number in ends}
        lag = Lag(
            preserved=sum(at[number] - first.get(number, 0) for number in ends),
            behind=sum(max(0, end - at[number]) for number, end in ends.items()),
        )
        yield lag
        now = time.monotonic()
        if was is None or lag.preserved != was.preserved or not was.behind or query.status["isTriggerActive"]:
            was, due = lag, now + seconds + _LATE_SECONDS
        elif now > due:
            return


@contextmanager
def open_preserved(out: Path) -> Iterator[None]:
    """Lock the folder of a job, which is a new one or that of an earlier job.

    Raises:
        ResultFolderError: Another command has the folder, or it cannot be written to.
        SourceError: It has records or a checkpoint of something else, or one of both.
    """
    with open_results(out, Results("audit", {}, {}), has_others=True):
        check_checkpoint(out)
        yield


def check_checkpoint(out: Path) -> None:
    """Refuse records without their checkpoint: a new job would count its batches from 0, which the sink has.

    Spark removes old files of a checkpoint and of the log of its sink, so both have to be those of such a job.

    Raises:
        SourceError: The folder has one of both, or those of something else.
    """
    for path, is_own in ((out / _CHECKPOINT, _is_own_checkpoint), (out / RECORDS_FOLDER, _has_own_records)):
        if os.path.lexists(path) and not (path.is_dir() and is_own(path)):
            raise SourceError(f"expected a new folder or one of audit --follow, but {path} is of something else")
    if (out / RECORDS_FOLDER / SINK_LOG).exists() and not (out / _CHECKPOINT).exists():
        raise SourceError(f"{out} has records, but no {_CHECKPOINT}: a job cannot be resumed without it")


def _is_own_checkpoint(folder: Path, least: int = 0) -> bool:
    """Whether a checkpoint has the offsets of our data source, ``{"0": 17, "1": 0}``, of at least so many batches."""
    names = {entry.name.lstrip(".").removesuffix(".crc") for entry in folder.iterdir()} if folder.is_dir() else {""}
    if names - _IN_CHECKPOINT:
        return False
    logs = [log for log in (folder / "offsets").glob("[0-9]*") if log.name.isdecimal()]
    try:
        texts = [read_text(log, errors="replace") for log in logs]
    except (OSError, InvalidInput):
        return False
    return len(texts) >= least and all(_are_own_offsets(text.splitlines()) for text in texts)


def _are_own_offsets(lines: Sequence[str]) -> bool:
    try:
        offsets = parse_json(lines[-1])
    except (InvalidInput, LookupError):
        return False
    return isinstance(offsets, dict) and all(key.isdecimal() and isinstance(end, int) for key, end in offsets.items())


def _has_own_records(folder: Path) -> bool:
    """Whether a folder has the sink's log and nothing but Parquet files, of which the first readable one is ours.

    A job that is killed in its first batch leaves none that can be read, and the offsets of that batch.
    """
    files = [file for file in folder.iterdir() if not file.name.startswith((".", "_"))]
    has_log = (folder / SINK_LOG).is_dir() or not any(folder.iterdir())
    if not has_log or not all(file.suffix == ".parquet" for file in files):
        return False
    has_columns = _has_columns(files)
    checkpoint = folder.parent / _CHECKPOINT
    return not files or (_is_own_checkpoint(checkpoint, least=1) if has_columns is None else has_columns)


def _has_columns(files: Sequence[Path]) -> bool | None:
    """Whether the first of these files that can be read has our columns; None if there is none."""
    for file in files:
        with suppress(OSError), open_parquet(file) as opened:
            return {*_KEPT_COLUMNS} <= {*opened.schema_arrow.names}
    return None


def _end_offsets(progress: Any) -> dict[int, int]:
    offsets = progress.sources[0].endOffset
    return {int(number): end for number, end in parse_json(offsets).items()} if offsets else {}


def report_lag(lags: Iterator[Lag], report: Callable[[str], None], seconds: float) -> None:
    """Report how far a job is: at first, every so often, and when it has caught up."""
    last, was_behind, waited = float("-inf"), True, False
    for lag in lags:
        now = time.monotonic()
        if lag.waits_for:
            if not waited or now - last >= seconds:
                report(f"waiting for the brokers: {lag.waits_for}")
                last = now
            was_behind = waited = True
            continue
        waited = False
        if now - last >= seconds or (was_behind and not lag.behind):
            report(f"{lag.preserved} offsets preserved, {lag.behind} behind")
            last = now
        was_behind = bool(lag.behind)
