"""``streams-assignor conform``: compares captures of real groups with simulated members."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from attrs import evolve

from assignor.cli._exit_status import WrongUsage, one_line_errors
from assignor.cli._spark_options import engine_options, log_to_stderr
from assignor.cli.params import ASSUME, document, output_options
from assignor.formats.progress import step
from assignor.formats.text import format_table, printable
from upgrade.errors import UpgradeError
from upgrade.hazards import assumptions_of
from upgrade.input_values import MAX_CAPTURE_BYTES, InvalidInput, read_all, read_input
from upgrade.releases import resolve_release

if TYPE_CHECKING:
    from assignor.groups.capture import Capture
    from spark_sim.conformance.result import GenerationReplay, MemberReplay
    from spark_sim.conformance.verdict import ConformanceVerdict, ReplayResult
    from spark_sim.engine_choice import EngineOptions

    Judged = Sequence[tuple[str, ConformanceVerdict]]


_STDIN: Final = Path("-")
_SECONDS_PER_JOIN: Final = 0.002
"""The CPU time to compare a member of a generation, about."""


@click.command
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
def conform(files: Sequence[Path], *, output: str, verbose: bool, assume: str | None, engine: EngineOptions) -> None:
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

    \b
    Examples:
      streams-assignor conform tests/captures/2.0.1-to-2.3.1.json
      streams-assignor conform --verbose my-group.json
      streams-assignor conform --json *.json | jq 'select(.verdict == "differs") | .step_by_step.differences[0]'
    """  # noqa: D301  # \b is the character by which click leaves lines alone
    assumed = list[str]()
    captures = [(path, _capture(path, assume, assumed)) for path in files]
    results = [(_name(path), result) for path, result in _compared(captures, engine)]
    assumptions = list(dict.fromkeys(assumed))
    for text in assumptions:
        click.echo(f"note: {text}", err=True)
    judged = [(name, result) for name, result in results if not isinstance(result, str)]
    if output != "text":
        start = "---\n" if output == "yaml" else ""
        for name, result in results:
            shown = {"capture": name} | _as_json(result) | {"assumed": assumptions}
            click.echo(f"{start}{document(shown, output)}")
    elif judged:
        click.echo("\n".join(_text_lines(judged, verbose=verbose)))
    if wrong := [result for _, result in results if isinstance(result, str)]:
        raise WrongUsage("\n".join(map(printable, wrong)))
    if not all(verdict.agrees for _, verdict in judged):
        raise click.exceptions.Exit(1)


def _compared(
    captures: Sequence[tuple[Path, Capture | str]], engine: EngineOptions
) -> list[tuple[Path, ConformanceVerdict | str]]:
    """Return the verdict on each capture; an error message of a file that is none stays as it is."""
    from assignor.formats.console import SafeConsole
    from spark_sim.conformance.verdict import verdict_or_error
    from spark_sim.engine_choice import EVERY_CORE, PROCESSES, open_engine
    from spark_sim.engine_libraries import require_engine
    from spark_sim.sweep.report.progress import show_progress

    verdicts: dict[int, ConformanceVerdict | str] = {}
    units = [(place, capture) for place, (_, capture) in enumerate(captures) if not isinstance(capture, str)]
    work = [capture for _, capture in units]
    console = SafeConsole(stderr=True, highlight=False)
    step("")
    with one_line_errors(), ExitStack() as stack:
        if work:
            chosen = engine.chosen(sum(map(_core_seconds, work)))
            if chosen.master != PROCESSES:
                require_engine(chosen.master or EVERY_CORE)
            opened = stack.enter_context(open_engine(chosen, log_to_stderr, "streams-assignor conform"))
            on_progress = stack.enter_context(show_progress(console))
            for number, verdict in opened.map(verdict_or_error, work, _core_seconds, on_progress):
                place, _ = units[number]
                verdicts[place] = _no_capture(captures[place][0], verdict) if isinstance(verdict, str) else verdict
    return [
        (path, verdicts[place] if place in verdicts else str(capture)) for place, (path, capture) in enumerate(captures)
    ]


def _core_seconds(capture: Capture) -> float:
    return _SECONDS_PER_JOIN * sum(len(generation.members) for generation in capture.generations)


def _capture(path: Path, assume: str | None, assumed: list[str]) -> Capture | str:
    """Return a capture, or the error message of a file that is none; note what was assumed."""
    from assignor.groups.capture import Capture, InvalidCapture

    shown = _shown(path)
    step(f"reading {shown}")
    try:
        capture = Capture.parse(_text(path))
        renamed = {step: _assuming(step, assume, assumed) for step in capture.steps}
        renamed |= {snapshot.step: _assuming(snapshot.step, assume, assumed) for snapshot in capture.snapshots}
        steps = tuple(renamed[step] for step in capture.steps)
        snapshots = tuple(evolve(snapshot, step=renamed[snapshot.step]) for snapshot in capture.snapshots)
        return evolve(capture, steps=steps, snapshots=snapshots)
    except InvalidCapture as error:
        return _no_capture(path, error)
    except InvalidInput as error:
        return f"{shown} is not read: {error}"
    except OSError as error:
        return f"{shown} cannot be read: expected a file, got: {error.strerror or error}"


def _shown(path: Path) -> str:
    return _name(path) if path == _STDIN else str(path)


def _no_capture(path: Path, error: object) -> str:
    return f"{_shown(path)} is not a capture: {error}"


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


def _as_json(result: ConformanceVerdict | str) -> dict[str, Any]:
    if isinstance(result, str):
        return {"verdict": "unreadable", "error": result}
    return result.as_json() | {"hint": _hint(result)}


def _name(path: Path) -> str:
    return "stdin" if path == _STDIN else path.name.removesuffix(".json")


def _text(path: Path) -> str:
    if path == _STDIN:
        content: bytes = read_all(sys.stdin.buffer, "stdin", MAX_CAPTURE_BYTES)
    else:
        content = read_input(path, MAX_CAPTURE_BYTES)
    return content.decode("utf-8", "replace")


# -- text ------------------------------------------------------------------------------------------------------------


def _text_lines(judged: Judged, *, verbose: bool) -> Iterator[str]:
    head = ("capture", "generations", "sent", "answered", "same tasks", "failures", "step by step", "end to end")
    yield format_table([head, *(_row(name, verdict) for name, verdict in judged)])
    for name, verdict in judged:
        if verbose:
            yield from _verbose_lines(name, verdict)
        if not verdict.agrees:
            yield from _difference_lines(name, verdict)
        if hint := _hint(verdict):
            yield f"\n{printable(name)}: {printable(hint)}"
    agreeing = sum(verdict.agrees for _, verdict in judged)
    incomplete = sum(not verdict.complete for _, verdict in judged)
    yield f"\n{agreeing} of {len(judged)} agree" + (f", {incomplete} incomplete" if incomplete else "")


def _hint(verdict: ConformanceVerdict) -> str | None:
    """Return advice about inferred steps; None for a capture with steps."""
    if not verdict.inferred:
        return None
    steps = ", ".join(f'"{step}"' for step in verdict.inferred)
    add = 'add "steps", the releases in the order in which they were started, each with its configuration'
    if verdict.agrees:
        return (
            f"it has no steps; it agrees with the steps inferred from its messages: {steps}. To compare others, {add}"
        )
    return f"it has no steps, and differs with all steps that were tried, last with {steps}. To compare it, {add}"


def _row(name: str, verdict: ConformanceVerdict) -> Sequence[str]:
    explained = verdict.observed_failures
    observed = explained + len(verdict.unexplained_failures)
    return (
        printable(name),
        str(verdict.generations),
        str(verdict.subscriptions),
        str(verdict.answers),
        f"{verdict.same_tasks} of {verdict.generations}",
        f"{explained} of {observed}" if observed else "-",
        _word(verdict.step_by_step, complete=verdict.complete),
        _word(verdict.end_to_end, complete=verdict.complete),
    )


def _word(run: ReplayResult, *, complete: bool) -> str:
    if run.agrees:
        return "agrees"
    return f"{'differs' if complete else 'incomplete'} in generation {run.differences[0].generation}"


def _difference_lines(name: str, verdict: ConformanceVerdict) -> Iterator[str]:
    """Yield the explanation of the first generation that differs."""
    replay, run = next(
        (replay, run)
        for replay, run in (("step by step", verdict.step_by_step), ("end to end", verdict.end_to_end))
        if not run.agrees
    )
    number = run.differences[0].generation
    what = "differs" if verdict.complete else "is incomplete: no inferred steps explain the difference"
    yield f"\n{printable(name)} {what} in generation {number}, {replay}:"
    differences = [difference for difference in run.differences if difference.generation == number]
    for difference in differences:
        yield f"  {printable(str(difference))}"
    for why in dict.fromkeys(difference.why for difference in differences if difference.why):
        yield f"  because {printable(why)}"
    yield from (
        line for generation in run.generations if generation.number == number for line in _generation_lines(generation)
    )


def _verbose_lines(name: str, verdict: ConformanceVerdict) -> Iterator[str]:
    yield f"\n{printable(name)}"
    for generation in verdict.step_by_step.generations:
        yield from _generation_lines(generation)
        yield from (f"  {printable(note)}" for note in generation.notes)
    for observed_failure in verdict.failures:
        failure = observed_failure.failure
        step = failure.incarnation.started_as.text if failure.incarnation.started_as else "?"
        bug = f" ({_about(failure.bug)})" if failure.bug else ""
        line = f"{failure.incarnation} ({step}) fails in generation {failure.generation}: {failure.reason}{bug}"
        line += f"; in the capture {observed_failure.observed}"
        yield f"  {printable(line)}"
    for instance, step in verdict.unexplained_failures:
        yield f"  instance {instance} ({printable(step)}) ended for a reason outside the protocol"


def _about(bug: str) -> str:
    """Return the name of a known bug with its issue."""
    from spark_sim.regressions.known_bugs import BUGS

    return f"{bug}, {next(known_bug.issue for known_bug in BUGS if known_bug.name == bug)}"


def _generation_lines(generation: GenerationReplay) -> Iterator[str]:
    if not generation.members:
        yield f"  generation {generation.number}: no members"
        return
    head = ("member", "runs", "sends", "ours", "receives", "ours", "active tasks", "ours")
    rows = [tuple(map(printable, _member_row(part))) for part in generation.members]
    yield f"  generation {generation.number}"
    yield from (f"    {line}" for line in format_table([head, *rows]).splitlines())


def _member_row(part: MemberReplay) -> Sequence[str]:
    from spark_sim.conformance.messages import AssignmentMessage
    from spark_sim.model.events import format_tasks

    def tasks(message: Any) -> str:
        return format_tasks(message.partitions_by_task) if isinstance(message, AssignmentMessage) else "?"

    return (
        part.incarnation.name + (" (leader)" if part.is_leader else ""),
        part.incarnation.started_as.text if part.incarnation.started_as else "?",
        _message_text(part.subscription),
        _message_text(part.our_subscription),
        _message_text(part.assignment),
        _message_text(part.our_assignment),
        tasks(part.assignment),
        tasks(part.our_assignment),
    )


def _message_text(message: object) -> str:
    from spark_sim.conformance.messages import AssignmentMessage, SubscriptionMessage

    return str(message) if isinstance(message, SubscriptionMessage | AssignmentMessage) else "?" if message else "-"
