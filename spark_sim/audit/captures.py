"""The job of ``conform``: captures on an engine, and where it is asked for, tables and JSON of what was found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from attrs import frozen

from streams_assignor.groups.capture import Capture
from streams_assignor.groups.history.tables import valid_text
from streams_assignor.spark_sim.audit.destination import Destination
from streams_assignor.spark_sim.audit.finished_units import UNITS, make_json, unit_key
from streams_assignor.spark_sim.jobs.engine import Log, WorkEngine, WorkProgress
from streams_assignor.spark_sim.jobs.table import Row, Table, columns_of
from streams_assignor.spark_sim.sweep.tables.formats import is_own_in_table
from streams_assignor.spark_sim.sweep.tables.parquet import write_parquet
from streams_assignor.spark_sim.sweep.tables.publishing import Results, begins_with

SUMMARY_FILE: Final = "conform.json"
SCHEMA: Final = {"schema": "streams-assignor/conform", "version": 1}
UNREADABLE: Final = "unreadable"
REPLAYS: Final = ("step_by_step", "end_to_end")
_SECONDS_PER_JOIN: Final = 0.002
"""The CPU time to compare a member of a generation, about."""
_CAPTURE: Final = (
    ("position", "bigint", "place of the capture in the command line, from 0"),
    ("capture", "string", "name of the file, without .json"),
)
CAPTURES: Final = Table(
    "captures",
    "One row for each capture.",
    ("position",),
    columns_of(
        *_CAPTURE,
        ("file", "string", "the file"),
        ("verdict", "string", "agrees, differs, incomplete (it differs from inferred steps) or unreadable"),
        ("error?", "string", "why the file is no capture; null if it is one, as the following columns of others are"),
        ("step_by_step?", "string", "verdict of the replay step by step"),
        ("end_to_end?", "string", "verdict of the replay end to end"),
        ("generations?", "bigint", "compared generations"),
        ("subscriptions?", "bigint", "compared subscriptions"),
        ("answers?", "bigint", "compared assignments"),
        ("same_tasks?", "bigint", "generations in which our leader assigns exactly the captured tasks to each member"),
        ("failures?", "bigint", "failures of simulated members"),
        ("unexplained_failures?", "bigint", "captured failures for a reason outside the protocol"),
        ("quiescent?", "boolean", "whether the capture ends with a stable group"),
        ("inferred_steps", "array<string>", "the steps that were inferred, if the capture has none"),
        ("assumed", "array<string>", "what was assumed about releases"),
    ),
)
DIFFERENCES: Final = Table(
    "differences",
    "One row for each difference; those of the replay end to end stop at the first generation that has one.",
    ("position", "replay", "number"),
    columns_of(
        *_CAPTURE,
        ("replay", "string", "step_by_step or end_to_end"),
        ("number", "bigint", "place among the differences of the replay, from 0"),
        ("generation", "bigint", "number of the generation"),
        ("member", "string", "the member that it is about; empty for the whole group"),
        ("fact", "string", "what differs"),
        ("captured", "string", "its value in the capture"),
        ("ours", "string", "its value in the simulator"),
        ("why", "string", "what explains our value; empty if nothing does"),
    ),
)
TABLES: Final[Mapping[str, Table]] = {table.name: table for table in (CAPTURES, DIFFERENCES)}
RESULTS: Final = Results(
    "comparison",
    {SUMMARY_FILE: begins_with(b'{"schema": "streams-assignor/conform"', "schema", "version", "captures")},
    {UNITS.name: UNITS, **TABLES},
    is_own_in_table,
)
"""The files of a comparison. The summary is last: where it is, all others are of the same comparison."""

Judged: TypeAlias = "dict[str, Any]"
"""The result of a capture, as JSON: its verdict at ``json``, or why it is none at ``error``."""


@frozen
class GivenCapture:
    """A file that is to be compared."""

    name: str
    file: str
    digest: str
    """Of its content."""
    capture: Capture | None
    error: str = ""
    """Why it is no capture."""
    assumed: tuple[str, ...] = ()
    """The assumptions about releases."""

    @property
    def core_seconds(self) -> float:
        """The CPU time of its comparison, about."""
        return core_seconds(self.capture) if self.capture else 0.0


def core_seconds(capture: Capture) -> float:
    """Return the CPU time to compare a capture, about."""
    return _SECONDS_PER_JOIN * sum(len(generation.members) for generation in capture.generations)


def _ignore(_: object) -> None:
    pass


def compare_captures(
    given: Sequence[GivenCapture],
    judge: Callable[[Capture], Judged],
    engine: WorkEngine,
    *,
    on_progress: Callable[[WorkProgress], None] = _ignore,
) -> list[Judged]:
    """Return what is found of each capture; of a file that is none, its error."""
    readable = [(place, one.capture) for place, one in enumerate(given) if one.capture is not None]
    captures = [capture for _, capture in readable]
    found = {readable[number][0]: result for number, result in engine.map(judge, captures, core_seconds, on_progress)}
    return [found.get(place) or {"error": one.error} for place, one in enumerate(given)]


def run_comparison(
    given: Sequence[GivenCapture],
    judge: Callable[[Capture], Judged],
    document: Callable[[GivenCapture, Judged], Mapping[str, Any]],
    engine: WorkEngine,
    destination: Destination,
    *,
    on_progress: Callable[[WorkProgress], None] = _ignore,
    log: Log = _ignore,
) -> list[Judged]:
    """Compare captures, or resume; write tables and JSON into a folder.

    Args:
        given: The captures.
        judge: Returns what is found of a capture; it can be pickled.
        document: Returns what the JSON has of a capture.
        engine: Where it runs.
        destination: The open folder or URI; results of an earlier comparison in it are replaced at the end.
        on_progress: Called several times a second.
        log: Called with lines for the user.

    Returns:
        The result of each capture; of a file that is none, its error.

    Raises:
        ResultFolderError: The folder cannot be written.
        EngineError: A worker failed.
    """
    with destination.replace(engine) as draft:
        keys = [unit_key(one.name, one.digest, one.assumed) if one.capture else "" for one in given]
        units = {key: one.capture for key, one in zip(keys, given, strict=True) if one.capture is not None}
        destination.log_finished([*units], log)
        destination.units.finish(engine, partial(make_json, judge), units, core_seconds, draft.scratch, on_progress)
        found = dict(zip(units, destination.units.results([*units]), strict=True))
        judged = [found[key] if key else {"error": one.error} for key, one in zip(keys, given, strict=True)]
        pairs = [*zip(given, judged, strict=True)]
        texts = [json.dumps(document(one, result)) for one, result in pairs]
        if not _is_there(destination, [*units], texts, log):
            for table, rows in ((CAPTURES, _capture_rows(pairs)), (DIFFERENCES, _difference_rows(pairs))):
                write_parquet(draft.new / table.name / "part-0.parquet", table, [[*map(table.row, rows)]])
            destination.keep([*units], draft)
            (draft.new / SUMMARY_FILE).write_text(_summary(texts), encoding="utf-8")
        return judged


def _is_there(destination: Destination, keys: Sequence[str], texts: Sequence[str], log: Log) -> bool:
    """Whether the results are those of an earlier comparison: errors of files are in no unit."""
    summary = destination.read(SUMMARY_FILE)
    return summary == _summary(texts).encode() and destination.has_results_of(keys, log)


def _summary(texts: Sequence[str]) -> str:
    head = json.dumps(SCHEMA).removesuffix("}")
    return f'{head}, "captures": [\n' + ",\n".join(texts) + "\n]}\n"


def _capture_rows(pairs: Sequence[tuple[GivenCapture, Judged]]) -> Iterator[Row]:
    for position, (given, judged) in enumerate(pairs):
        row: Row = {
            "position": position,
            "capture": valid_text(given.name),
            "file": valid_text(given.file),
            "verdict": UNREADABLE,
            "inferred_steps": [],
            "assumed": list(given.assumed),
        }
        if "json" not in judged:
            yield row | {"error": valid_text(judged["error"])}
            continue
        verdict = judged["json"]
        yield row | {
            **{name: verdict[name] for name in ("verdict", "generations", "subscriptions", "answers", "same_tasks")},
            **{replay: verdict[replay]["verdict"] for replay in REPLAYS},
            "failures": len(verdict["failures"]),
            "unexplained_failures": len(verdict["unexplained_failures"]),
            "quiescent": verdict["quiescent"],
            "inferred_steps": verdict["inferred_steps"],
        }


def _difference_rows(pairs: Sequence[tuple[GivenCapture, Judged]]) -> Iterator[Row]:
    for position, (given, judged) in enumerate(pairs):
        for replay in REPLAYS if "json" in judged else ():
            for number, difference in enumerate(judged["json"][replay]["differences"]):
                yield {
                    "position": position,
                    "capture": valid_text(given.name),
                    "replay": replay,
                    "number": number,
                    "generation": difference["generation"],
                    "member": valid_text(difference["member"]),
                    "fact": difference["what"],
                    "captured": valid_text(difference["captured"]),
                    "ours": valid_text(difference["ours"]),
                    "why": valid_text(difference["why"]),
                }
