"""The job of an audit: partitions on an engine, then the summary. The results replace those in the folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen

from streams_assignor.formats.text import join_names, printable
from streams_assignor.groups.history.history import DROPPED, UNDECODABLE, UNKNOWN_TYPE
from streams_assignor.groups.history.log_segment import LOST
from streams_assignor.spark_sim.audit._work import AuditWork
from streams_assignor.spark_sim.audit.conformance import CONFORMANCE, compare_bounces, conformance_summary
from streams_assignor.spark_sim.audit.destination import Destination, open_destination
from streams_assignor.spark_sim.audit.finished_units import UNITS
from streams_assignor.spark_sim.audit.group_summaries import GroupSummaries
from streams_assignor.spark_sim.audit.partition_audit import BOUNCES, AuditFilter, PartitionSummary
from streams_assignor.spark_sim.audit.schema import TABLES
from streams_assignor.spark_sim.audit.sources import Source, SourceError, segments_source
from streams_assignor.spark_sim.audit.sources.live import NO_RECORD
from streams_assignor.spark_sim.audit.storage import HADOOP, is_known
from streams_assignor.spark_sim.jobs.engine import IN_THIS_PROCESS, Log, WorkEngine, WorkProgress
from streams_assignor.spark_sim.jobs.engine_libraries import ARROW, SPARK
from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES, EngineOptions
from streams_assignor.spark_sim.sweep.spark.paths import is_uri
from streams_assignor.spark_sim.sweep.tables.formats import is_own_in_table
from streams_assignor.spark_sim.sweep.tables.parquet import PARQUET, write_parquet
from streams_assignor.spark_sim.sweep.tables.publishing import Results, begins_with, page_titled
from streams_assignor.upgrade.extras import require

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
    {UNITS.name: UNITS, **TABLES, CONFORMANCE.name: CONFORMANCE},
    is_own_in_table,
)
"""The files of an audit. The summary is last: where it is, all others are of the same audit."""


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


def chosen_engine(given: EngineOptions, source: Source, storage_format: str = PARQUET) -> EngineOptions:
    """Return the options with the engine of an audit: only Spark writes other formats."""
    needs_spark = storage_format != PARQUET
    if given.master is None and not needs_spark and sum(len(partition.pieces) for partition in source.partitions) == 1:
        return EngineOptions(PROCESSES, processes=1)  # nothing can be done side by side
    return given.chosen(source.core_seconds, needs_spark=needs_spark)


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
        engine: The master of a Spark.
        log: Prints what reads it.

    Raises:
        SourceError: There is no such folder, or no segment in it.
        SparkFilesError: Spark cannot read it.
        StorageError: Neither knows the storage.
    """
    from streams_assignor.spark_sim.audit.sources.spark_files import spark_segments
    from streams_assignor.spark_sim.sweep.spark.executor import SparkEngine
    from streams_assignor.spark_sim.sweep.spark.files import NoFileSystem

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
    out: str | Path | Destination,
    kept: AuditFilter,
    *,
    engine: WorkEngine = IN_THIS_PROCESS,
    on_progress: Callable[[WorkProgress], None] = lambda _progress: None,
    on_step: Callable[[str], None] = lambda _text: None,
    log: Log = lambda _line: None,
) -> Audit:
    """Audit a source, or resume; write tables, summary and report into a folder.

    Args:
        source: The records.
        out: The folder, or a URI, or what is open; results of an earlier audit in it are replaced at the end. After an
            error or a kill the same call resumes there.
        kept: Which rows are kept.
        engine: The reader of the partitions, which compares rolling bounces with the simulator.
        on_progress: Called several times a second.
        on_step: Called with what comes after the partitions, as it begins.
        log: Called with lines for the user.

    Raises:
        MissingExtraError: PyArrow is not installed.
        SourceError: The source cannot be read, it has no record, or it lacks a group that is asked for.
        ResultFolderError: The folder has files that no audit has written, or cannot be written.
        EngineError: A worker failed.
    """
    require(*ARROW)
    from streams_assignor.spark_sim.audit.report import write_report

    with ExitStack() as stack:
        destination = out if isinstance(out, Destination) else stack.enter_context(open_destination(out, RESULTS))
        draft = stack.enter_context(destination.replace(engine))
        work = AuditWork(source, kept, engine, destination.units, draft.scratch, on_progress)
        destination.log_finished(work.keys, log)
        summaries = work.summaries()
        audit = _audit(source, summaries.values())
        if not any(summary.has_records for summary in summaries.values()):
            destination.units.discard()
            raise SourceError(_no_records(audit))
        if kept.groups and (unmatched := kept.unmatched(audit.groups.names.to_pylist())):
            destination.units.discard()
            others = (name for summary in summaries.values() for name in summary.others)
            raise SourceError(_no_group(unmatched, kept.nearest(others)))
        rows, keys = None, [*summaries]
        if kept.finds_bounces:
            on_step("comparing rolling bounces")
            bounces = work.bounces(summaries)
            keys += bounces
            rows = compare_bounces(engine, destination.units, bounces, draft.scratch, work.more(len(bounces)))
            audit = evolve(audit, conformance=conformance_summary(rows))
        if destination.has_results_of(keys, log):
            return audit
        destination.units.extract([*summaries], draft.new, is_row_file)
        if rows is not None:
            write_parquet(draft.new / CONFORMANCE.name / "bounces.parquet", CONFORMANCE, [rows])
        for name, table in TABLES.items():
            if not (draft.new / name).is_dir():
                write_parquet(draft.new / name / "empty.parquet", table, [])
        destination.keep(keys, draft, BOUNCES)
        on_step(f"writing {SUMMARY_FILE}")
        with (draft.new / SUMMARY_FILE).open("w", encoding="utf-8") as file:
            audit.write_json(file.write)
        on_step(f"writing {REPORT_FILE}")
        write_report(audit, draft.new, rows)
    return audit


def is_row_file(path: str) -> bool:
    """Whether a file of a unit has rows of a table."""
    return path.partition("/")[0] in TABLES


def _no_records(audit: Audit) -> str:
    """Return the error about a source without a record: that is no proof that there are no groups."""
    offsets = audit.records.get(NO_RECORD)
    where = f"{audit.source}, whose partitions have {offsets} offsets" if offsets else audit.source
    return "; ".join([f"expected records at {where}, got none", *audit.problems[:1]])


def _no_group(patterns: Sequence[str], others: Sequence[str]) -> str:
    """Return the error about names that no group has, with those that were meant perhaps."""
    expected = f"expected groups with the names that are asked for, got none for {join_names(patterns)}"
    return f"{expected}; did you mean {' or '.join(map(printable, others))}?" if others else expected


def _audit(source: Source, parts: Iterable[PartitionSummary]) -> Audit:
    summaries = [*parts]
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
