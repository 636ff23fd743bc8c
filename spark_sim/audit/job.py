"""The job of an audit: partitions on an engine, then the summary. The results replace those in the folder."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen

from assignor.formats.text import join_names, printable
from assignor.groups.history.history import DROPPED, UNDECODABLE, UNKNOWN_TYPE
from assignor.groups.history.log_segment import LOST
from spark_sim.audit._groups import GroupSummaries
from spark_sim.audit._schema import TABLES
from spark_sim.audit.conformance import (
    CONFORMANCE,
    compare_bounces,
    conformance_summary,
    write_conformance,
)
from spark_sim.audit.cut_partition import AuditBucket, ReadPiece, bucket_name, buckets_of, is_exact
from spark_sim.audit.partition_audit import AuditFilter, AuditTask, PartitionSummary
from spark_sim.audit.sources import PartitionSource, Source, SourceError, segments_source
from spark_sim.audit.sources.live import NO_RECORD
from spark_sim.audit.storage import HADOOP, is_known, require_own, upload
from spark_sim.engine import IN_THIS_PROCESS, Log, WorkEngine, WorkProgress
from spark_sim.engine_choice import PROCESSES, EngineOptions
from spark_sim.engine_libraries import ARROW, SPARK
from spark_sim.sweep.spark.paths import is_uri
from spark_sim.sweep.tables.parquet import parquet_writer
from spark_sim.sweep.tables.publishing import Results, begins_with, open_results, page_titled
from upgrade.extras import require

INCOMPLETE: Final = frozenset({*LOST, UNDECODABLE, DROPPED})
"""Counts that say that an audit has not seen, or not understood, all of its source."""
NOT_VERIFIED: Final = "not verified"
SUMMARY_FILE: Final = "audit.json"
REPORT_FILE: Final = "report.html"
SCHEMA: Final = {"schema": "streams-assignor/audit", "version": 1}
RESULTS: Final = Results(
    "audit",
    {
        REPORT_FILE: page_titled("Audit of consumer groups"),
        SUMMARY_FILE: begins_with(b"{\n ", "source", "from_time", "until_time", "records", "rows"),
    },
    {**TABLES, CONFORMANCE.name: CONFORMANCE},
)
"""What an audit writes. The summary is last: where it is, all others are of the same audit."""


def is_complete(counts: Iterable[str]) -> bool:
    """Return whether all that a source has was read and understood, by the names of what was counted.

    >>> is_complete(["batches", "GroupMetadata"]), is_complete(["batches", "checksum_mismatches"])
    (True, False)
    """
    return not any(name in INCOMPLETE or name.startswith(UNKNOWN_TYPE) for name in counts)


@frozen
class Audit:
    """A finished audit."""

    source: str
    records: dict[str, int]
    """Records by kind, and what the reader counted."""
    rows: dict[str, int]
    """Rows by table."""
    groups: GroupSummaries
    """The summary of each group, those that need attention first."""
    problems: tuple[str, ...]
    """Damaged places of the source."""
    first_time: int | None
    last_time: int | None
    conformance: dict[str, Any] | None = None
    """The summary of the rolling bounces; None if they were not compared."""
    unverified: str = ""
    """Why checksums were not verified; empty: they were."""

    @property
    def is_complete(self) -> bool:
        """Whether all that the source has was read and understood, as far as it can be known."""
        return is_complete(self.records)

    def write_json(self, write: Callable[[str], Any]) -> None:
        """Write the content of ``audit.json`` piece by piece: as one text it takes 2 KB for each group."""
        head = {
            **SCHEMA,
            "source": self.source,
            "complete": self.is_complete,
            "checksums": NOT_VERIFIED if self.unverified else "verified",
            "from_time": self.first_time,
            "until_time": self.last_time,
            "records": self.records,
            "rows": self.rows,
            "problems": list(self.problems),
            **({} if self.conformance is None else {"conformance": self.conformance}),
        }
        write(json.dumps(head, indent=1).removesuffix("\n}"))
        write(',\n "groups": [')
        before = ""
        for group in self.groups:
            text = json.dumps(group, indent=1).replace("\n", "\n  ")
            write(f"{before}\n  {text}")
            before = ","
        write("\n ]\n}" if before else "]\n}")


def chosen_engine(given: EngineOptions, source: Source) -> EngineOptions:
    """Return the options with the engine of an audit."""
    if given.master is None and sum(len(partition.pieces) for partition in source.partitions) == 1:
        return EngineOptions(PROCESSES, processes=1)  # nothing can be done side by side
    return given.chosen(source.core_seconds)


def is_read_by_spark(segments: str, given: EngineOptions) -> bool:
    """Return whether Spark reads a folder of segments: a storage on Spark, and one that hardly anything else reads."""
    scheme = segments.partition(":")[0]
    if not is_uri(segments) or scheme == "file" or given.master == PROCESSES:
        return False
    return bool(given.master or given.settings) or (scheme in HADOOP and all(map(find_spec, SPARK)))


def stored_segments(segments: str, engine: WorkEngine, log: Log) -> Source:
    """Return the partitions of a folder in a storage that Spark reads, or that PyArrow reads if Spark does not know it.

    Args:
        segments: The URI of the folder.
        engine: That of a Spark.
        log: Prints what reads it.

    Raises:
        SourceError: There is no such folder, or no segment in it.
        SparkFilesError: Spark cannot read it.
        StorageError: Neither knows the storage.
    """
    from spark_sim.audit.sources._spark_files import spark_segments
    from spark_sim.sweep.spark.executor import SparkEngine
    from spark_sim.sweep.spark.files import NoFileSystem

    assert isinstance(engine, SparkEngine)
    try:
        return spark_segments(engine.spark, segments)
    except NoFileSystem as unknown:
        if not is_known(segments):
            raise
        log(f"PyArrow reads the segments: {unknown}")
        return segments_source(segments)


def run_audit(
    source: Source,
    out: Path,
    kept: AuditFilter,
    *,
    engine: WorkEngine = IN_THIS_PROCESS,
    on_progress: Callable[[WorkProgress], None] = lambda _progress: None,
    on_step: Callable[[str], None] = lambda _text: None,
) -> Audit:
    """Audit a source and write tables, summary and report into a folder.

    Args:
        source: The records.
        out: The folder; results of an earlier audit in it are replaced at the end.
        kept: Which rows are kept.
        engine: What reads the partitions, and compares rolling bounces with the simulator.
        on_progress: Called with the number of finished partitions, several times a second.
        on_step: Called with what comes after the partitions, as it begins.

    Raises:
        MissingExtraError: PyArrow is not installed.
        SourceError: The source cannot be read, it has no record, or it lacks a group that is asked for.
        ResultFolderError: The folder has files that no audit has written, or cannot be written.
    """
    require(*ARROW)
    from spark_sim.audit._report import write_report

    with open_results(out, RESULTS) as opened, opened.replace(RESULTS.names) as draft:
        summaries = _summaries(source, kept, draft, engine, on_progress)
        audit = _audit(source, summaries)
        if not any(summary.has_records for summary in summaries):
            raise SourceError(_no_records(audit))
        if kept.groups and (unmatched := kept.unmatched(audit.groups.names.to_pylist())):
            raise SourceError(
                _no_group(unmatched, kept.nearest(name for summary in summaries for name in summary.others))
            )
        rows = None
        if kept.finds_bounces:
            on_step("comparing rolling bounces")
            bounces = [bounce for summary in summaries for bounce in summary.bounces]
            rows = compare_bounces(engine, bounces)
            write_conformance(rows, draft)
            audit = evolve(audit, conformance=conformance_summary(rows))
        _write_empty_tables(draft)
        on_step(f"writing {SUMMARY_FILE}")
        with (draft / SUMMARY_FILE).open("w", encoding="utf-8") as file:
            audit.write_json(file.write)
        on_step(f"writing {REPORT_FILE}")
        write_report(audit, draft, rows)
    return audit


@contextmanager
def results_folder(out: str) -> Iterator[Path]:
    """Yield a local folder for results; if ``out`` is a URI, they are uploaded at the end and replace earlier ones.

    Raises:
        ResultFolderError: The URI has files that no audit has written.
        StorageError: The storage cannot be read or written.
    """
    if not is_uri(out):
        yield Path(out)
        return
    require_own(out, RESULTS)
    with tempfile.TemporaryDirectory(prefix="streams-assignor-") as folder:
        results = Path(folder, "results")
        yield results
        upload(results, out, RESULTS)


def _no_records(audit: Audit) -> str:
    """Return the error about a source without a record: that is no proof that there are no groups."""
    offsets = audit.records.get(NO_RECORD)
    where = f"{audit.source}, whose partitions have {offsets} offsets" if offsets else audit.source
    return "; ".join([f"expected records at {where}, got none", *audit.problems[:1]])


def _no_group(patterns: Sequence[str], others: Sequence[str]) -> str:
    """Return the error about names that no group has, with those that were meant perhaps."""
    expected = f"expected groups with the names that are asked for, got none for {join_names(patterns)}"
    return f"{expected}; did you mean {' or '.join(map(printable, others))}?" if others else expected


def _summaries(
    source: Source, kept: AuditFilter, draft: Path, engine: WorkEngine, on_progress: Callable[[WorkProgress], None]
) -> list[PartitionSummary]:
    """Return the summaries of the partitions, in their order; the largest ones begin."""
    task = AuditTask(kept, draft if engine.shares_files else None)
    summaries: dict[int, list[PartitionSummary]] = {}
    whole = []
    for place, partition in enumerate(source.partitions):
        if results := _audit_in_pieces(engine, source, partition, task, draft):
            summaries[place] = [_written(*result, draft) for result in results]
        else:
            whole.append((place, partition))
    partitions = [partition for _, partition in whole]
    for number, result in engine.map(task, partitions, attrgetter("size"), on_progress):
        summaries[whole[number][0]] = [_written(*result, draft)]
    return [summary for place in sorted(summaries) for summary in summaries[place]]


def _audit_in_pieces(
    engine: WorkEngine, source: Source, partition: PartitionSource, task: AuditTask, draft: Path
) -> list[tuple[PartitionSummary, dict[str, bytes]]]:
    """Audit a large partition in pieces; return nothing if it is none, or has to be read as a whole."""
    number, pieces = partition.partition, partition.pieces
    buckets = buckets_of(partition.size / source.sizes_per_second, source.core_seconds, len(pieces))
    if number is None or buckets == 1:
        return []
    results = engine.map_reduce(ReadPiece(task.kept, buckets), AuditBucket(task, number), pieces, buckets)
    if is_exact([summary for summary, _ in results]):
        return results
    for name in TABLES:
        for key in range(buckets):
            (draft / name / f"{bucket_name(number, key)}.parquet").unlink(missing_ok=True)
    return []


def _written(summary: PartitionSummary, files: dict[str, bytes], draft: Path) -> PartitionSummary:
    for name, content in files.items():
        (draft / name).parent.mkdir(exist_ok=True)
        (draft / name).write_bytes(content)
    return summary


def _audit(source: Source, summaries: list[PartitionSummary]) -> Audit:
    first_times = [summary.first_time for summary in summaries if summary.first_time is not None]
    last_times = [summary.last_time for summary in summaries if summary.last_time > 0]
    return Audit(
        source=source.name,
        records=dict(sorted(sum((summary.counts for summary in summaries), Counter[str]()).items())),
        rows={name: sum(summary.rows[name] for summary in summaries) for name in TABLES},
        groups=GroupSummaries(summary.groups for summary in summaries if summary.groups is not None),
        problems=tuple(problem for summary in summaries for problem in summary.problems),
        unverified=source.unverified,
        first_time=min(first_times, default=None),
        last_time=max(last_times, default=None),
    )


def _write_empty_tables(draft: Path) -> None:
    for name, table in TABLES.items():
        if not (draft / name).is_dir():
            (draft / name).mkdir()
            with parquet_writer(draft / name / "empty.parquet", table) as writer:
                writer.write_table(table.arrow().empty_table())
