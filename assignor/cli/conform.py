"""``streams-assignor conform``: compares captures of real groups with simulated members."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from attrs import evolve

from streams_assignor.cli._capture_verdict import judge
from streams_assignor.cli._exit_status import WrongUsage, one_line_errors
from streams_assignor.cli._spark_options import STORAGE_FORMAT, engine_options, fresh_option, log_to_stderr, resumable
from streams_assignor.cli.params import ASSUME, document, output_options
from streams_assignor.cli.single_values import StrictCommand
from streams_assignor.formats.progress import step
from streams_assignor.formats.text import format_table, printable
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import assumptions_of
from streams_assignor.upgrade.input_values import MAX_CAPTURE_BYTES, InvalidInput, read_all, read_input
from streams_assignor.upgrade.releases import resolve_release

if TYPE_CHECKING:
    from streams_assignor.spark_sim.audit.captures import GivenCapture, Judged
    from streams_assignor.spark_sim.sweep.engine_choice import EngineOptions


_STDIN: Final = Path("-")


@click.command(cls=StrictCommand)
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(allow_dash=True, path_type=Path),
)
@output_options("a line for each file")
@click.option("--verbose", "-v", is_flag=True, help="Show every generation, not only the first that differs.")
@ASSUME
@engine_options
@click.option(
    "--out",
    metavar="DIR|URI",
    help="Where the results go, too: tables and conform.json, in a folder or a URI such as s3://bucket/path.",
)
@STORAGE_FORMAT
@fresh_option("comparison")
def conform(
    files: Sequence[Path],
    *,
    output: str,
    verbose: bool,
    assume: str | None,
    engine: EngineOptions,
    out: str | None,
    storage_format: str,
    fresh: bool,
) -> None:
    """Compare captures of real groups with simulated members of the same releases.

    A capture contains every generation of a group with all subscriptions and assignments. It is replayed twice. Step
    by step, simulated members receive the captured assignments. End to end, they receive the assignments of simulated
    leaders. Compared are the versions that each member sends and receives, error codes, failures, the final state,
    and the tasks as far as they do not depend on the order of Java's hash maps.

    If a capture has no steps and no snapshots, the steps are inferred from its messages. If it differs with all steps
    that fit, the verdict is "incomplete" and not "differs", because the true steps may be others.

    FILE may be - for standard input. Exit status: 0 if all captures agree. 1 if a capture differs or is incomplete;
    the first generation that differs is explained. 2 if a file cannot be read or is not a capture; the other files are
    compared, and standard error names each such file (with --json it has the verdict "unreadable").

    With --out, DIR gets the tables captures and differences, and conform.json. If interrupted, rerun the same command
    to resume.

    \b
    Examples:
      streams-assignor conform tests/captures/2.0.1-to-2.3.1.json
      streams-assignor conform --verbose my-group.json
      streams-assignor conform --json *.json | jq 'select(.verdict == "differs") | .step_by_step.differences[0]'
    """  # noqa: D301  # \b is the character by which click leaves lines alone
    if not out and (fresh or storage_format != "parquet"):
        raise WrongUsage(f"{'--fresh' if fresh else '--format'} belongs to --out")
    given = [_given(path, assume) for path in files]
    results = _compared(given, engine, out, storage_format, fresh=fresh)
    assumptions = list(dict.fromkeys(text for one in given for text in one.assumed))
    for text in assumptions:
        click.echo(f"note: {text}", err=True)
    judged = [(one.name, result) for one, result in zip(given, results, strict=True) if "json" in result]
    if output != "text":
        start = "---\n" if output == "yaml" else ""
        for one, result in zip(given, results, strict=True):
            click.echo(f"{start}{document(_document(one, result) | {'assumed': assumptions}, output)}")
    elif judged:
        click.echo("\n".join(_text_lines(judged, verbose=verbose)))
    if wrong := [_error(one, result) for one, result in zip(given, results, strict=True) if "json" not in result]:
        raise WrongUsage("\n".join(map(printable, wrong)))
    if not all(result["agrees"] for _, result in judged):
        raise click.exceptions.Exit(1)


def _compared(
    given: Sequence[GivenCapture], engine: EngineOptions, out: str | None, storage_format: str, *, fresh: bool
) -> list[Judged]:
    """Return what is found of each capture; of a file that is none, why."""
    from streams_assignor.formats.console import SafeConsole
    from streams_assignor.spark_sim.audit.captures import RESULTS, compare_captures, run_comparison
    from streams_assignor.spark_sim.audit.destination import open_destination
    from streams_assignor.spark_sim.jobs.engine_libraries import require_engine
    from streams_assignor.spark_sim.sweep.engine_choice import EVERY_CORE, PROCESSES, open_engine
    from streams_assignor.spark_sim.sweep.report.progress import show_progress
    from streams_assignor.spark_sim.sweep.tables.formats import require_format
    from streams_assignor.spark_sim.sweep.tables.parquet import PARQUET

    step("")
    with one_line_errors(), ExitStack() as stack:
        if not (out or any(one.capture for one in given)):
            return [{"error": one.error} for one in given]
        needs_spark = storage_format != PARQUET
        chosen = engine.chosen(sum(one.core_seconds for one in given), needs_spark=needs_spark)
        require_format(chosen.master, storage_format)
        if out or chosen.master != PROCESSES:
            require_engine(chosen.master or EVERY_CORE)
        destination = None
        if out:
            stack.enter_context(resumable(out))
            destination = stack.enter_context(
                open_destination(out, RESULTS, fresh=fresh, storage_format=storage_format)
            )
        opened = stack.enter_context(open_engine(chosen, log_to_stderr, "streams-assignor conform"))
        on_progress = stack.enter_context(show_progress(SafeConsole(stderr=True, highlight=False)))
        if destination is not None:
            how: Any = {"on_progress": on_progress, "log": log_to_stderr}
            return run_comparison(given, judge, _document, opened, destination, **how)
        return compare_captures(given, judge, opened, on_progress=on_progress)


def _given(path: Path, assume: str | None) -> GivenCapture:
    """Return a capture, or the error message of a file that is none."""
    from streams_assignor.groups.capture import Capture, InvalidCapture
    from streams_assignor.spark_sim.audit.captures import GivenCapture

    shown, assumed, text = _shown(path), list[str](), ""
    capture, error = None, ""
    step(f"reading {shown}")
    try:
        text = _text(path)
        parsed = Capture.parse(text)
        renamed = {step: _assuming(step, assume, assumed) for step in parsed.steps}
        renamed |= {snapshot.step: _assuming(snapshot.step, assume, assumed) for snapshot in parsed.snapshots}
        steps = tuple(renamed[step] for step in parsed.steps)
        snapshots = tuple(evolve(snapshot, step=renamed[snapshot.step]) for snapshot in parsed.snapshots)
        capture = evolve(parsed, steps=steps, snapshots=snapshots)
    except InvalidCapture as invalid:
        error = f"{_shown(path)} is not a capture: {invalid}"
    except InvalidInput as invalid:
        error = f"{shown} is not read: {invalid}"
    except OSError as failed:
        error = f"{shown} cannot be read: expected a file, got: {failed.strerror or failed}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return GivenCapture(_name(path), shown, digest, capture, error, tuple(dict.fromkeys(assumed)))


def _shown(path: Path) -> str:
    return _name(path) if path == _STDIN else str(path)


def _error(given: GivenCapture, result: Judged) -> str:
    """Return why a file is no capture: its reader says it, or its comparison."""
    return given.error or f"{given.file} is not a capture: {result['error']}"


def _assuming(step: str, assume: str | None, assumed: list[str]) -> str:
    """Return a step whose release contains what it is assumed to behave like, if the table lacks it.

    >>> _assuming("4.9,upgrade.from=3.9", "4.3", [])
    '4.9.0~4.3.1,upgrade.from=3.9'
    """
    name, comma, settings = step.partition(",")
    try:
        resolved = resolve_release(name, assume)
    except UpgradeError:  # its place in the capture is part of the error that follows
        return step
    assumed += resolved.notes if resolved.is_open else assumptions_of(resolved.release) or resolved.notes
    return f"{resolved.release.spelling}{comma}{settings}" if resolved.release.assumed_like else step


def _document(given: GivenCapture, result: Judged) -> dict[str, Any]:
    """Return what JSON has of a file."""
    shown = result.get("json") or {"verdict": "unreadable", "error": _error(given, result)}
    return {"capture": given.name} | shown | {"assumed": list(given.assumed)}


def _name(path: Path) -> str:
    return "stdin" if path == _STDIN else path.name.removesuffix(".json")


def _text(path: Path) -> str:
    if path == _STDIN:
        content: bytes = read_all(sys.stdin.buffer, "stdin", MAX_CAPTURE_BYTES)
    else:
        content = read_input(path, MAX_CAPTURE_BYTES)
    return content.decode("utf-8", "replace")


# -- text ------------------------------------------------------------------------------------------------------------


def _text_lines(judged: Sequence[tuple[str, Judged]], *, verbose: bool) -> Iterator[str]:
    head = ("capture", "generations", "sent", "answered", "same tasks", "failures", "step by step", "end to end")
    yield format_table([head, *((printable(name), *result["row"]) for name, result in judged)])
    for name, result in judged:
        if verbose:
            yield from (f"\n{printable(name)}", *result["generations"])
        if result["differences"]:
            first, *lines = result["differences"]
            yield from (f"\n{printable(name)} {first}", *lines)
        if hint := result["json"]["hint"]:
            yield f"\n{printable(name)}: {printable(hint)}"
    agreeing = sum(result["agrees"] for _, result in judged)
    incomplete = sum(not result["complete"] for _, result in judged)
    yield f"\n{agreeing} of {len(judged)} agree" + (f", {incomplete} incomplete" if incomplete else "")
