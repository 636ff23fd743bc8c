"""``streams-assignor conform``: captures of real groups held against our members, for people and for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from assignor.cli.blobs import printable
from assignor.cli.lines import aligned
from spark_sim.cli.ending import Wrong

if TYPE_CHECKING:
    from spark_sim.conform.scene import Part, Scene
    from spark_sim.conform.verdict import Run, Verdict

    Judged = Sequence[tuple[str, Verdict]]


_STDIN: Final = Path("-")


@click.command
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per file, a line each.")
@click.option("--verbose", "-v", is_flag=True, help="Tell every generation, not only the first that differs.")
def conform(files: Sequence[Path], *, as_json: bool, verbose: bool) -> None:
    """Hold captures of real groups against our members: replay who was there and who led, and compare the rest.

    A capture has every generation of a group with all subscriptions and assignments. Our members of the same releases
    live through it twice: step by step (they get what the real ones got) and end to end (they get what our leaders
    say). Compared are the versions that each member sends and is answered, error codes, who dies of what, the state
    in the end, and of tasks all that does not depend on the order of Java's hash maps.

    FILE may be - for standard input. Exit status 0 if all agree; 1 if not, and the first generation that differs is
    explained; 2 if a file is no capture.

    \b
    Examples:
      streams-assignor conform tests/captures/2.0.1-to-2.3.1.json
      streams-assignor conform --verbose my-group.json
      streams-assignor conform --json *.json | jq 'select(.verdict == "differs") | .step_by_step.differences[0]'
    """  # noqa: D301  # \b is the character by which click leaves lines alone
    judged = _judged(files)
    if as_json:
        for name, verdict in judged:
            click.echo(json.dumps({"capture": name} | verdict.as_json()))
    else:
        click.echo("\n".join(_told(judged, verbose=verbose)))
    if not all(verdict.agrees for _, verdict in judged):
        raise click.exceptions.Exit(1)


def _judged(files: Sequence[Path]) -> Judged:
    """Judge all files; if one of them is no capture, say so of all that are none."""
    from spark_sim.conform.capture import Capture, NotACapture
    from spark_sim.conform.verdict import conform as judge

    judged: list[tuple[str, Verdict]] = []
    wrong: list[str] = []
    for path in files:
        try:
            judged.append((_name(path), judge(Capture.parse(_text(path)))))
        except (NotACapture, OSError) as error:
            wrong.append(printable(f"{_name(path) if path == _STDIN else path} is no capture: {error}"))
    if wrong:
        raise Wrong("\n".join(wrong))
    return judged


def _name(path: Path) -> str:
    return "stdin" if path == _STDIN else path.name.removesuffix(".json")


def _text(path: Path) -> str:
    given = sys.stdin.buffer.read() if path == _STDIN else path.read_bytes()
    return given.decode("utf-8", "replace")


# -- for people ------------------------------------------------------------------------------------------------------


def _told(judged: Judged, *, verbose: bool) -> Iterator[str]:
    head = ("capture", "generations", "sent", "answered", "same tasks", "deaths", "step by step", "end to end")
    yield aligned([head, *(_row(name, verdict) for name, verdict in judged)])
    for name, verdict in judged:
        if verbose:
            yield from _everything(name, verdict)
        if not verdict.agrees:
            yield from _explained(name, verdict)
    agreeing = sum(verdict.agrees for _, verdict in judged)
    yield f"\n{agreeing} of {len(judged)} agree"


def _row(name: str, verdict: Verdict) -> Sequence[str]:
    deaths = verdict.seen_deaths, verdict.seen_deaths + len(verdict.other_deaths)
    return (
        printable(name),
        str(verdict.generations),
        str(verdict.subscriptions),
        str(verdict.answers),
        f"{verdict.same_tasks} of {verdict.generations}",
        f"{deaths[0]} of {deaths[1]}" if deaths[1] else "-",
        _word(verdict.step_by_step),
        _word(verdict.end_to_end),
    )


def _word(run: Run) -> str:
    return "agrees" if run.agrees else f"differs in generation {run.differences[0].generation}"


def _explained(name: str, verdict: Verdict) -> Iterator[str]:
    """Tell the first generation that differs: what was captured, what ours say, and why."""
    way, run = next(
        (way, run)
        for way, run in (("step by step", verdict.step_by_step), ("end to end", verdict.end_to_end))
        if not run.agrees
    )
    number = run.differences[0].generation
    yield f"\n{printable(name)} differs in generation {number}, {way}:"
    found = [difference for difference in run.differences if difference.generation == number]
    for difference in found:
        yield f"  {printable(str(difference))}"
    for why in dict.fromkeys(difference.why for difference in found if difference.why):
        yield f"  because {printable(why)}"
    yield from (line for scene in run.scenes if scene.number == number for line in _scene(scene))


def _everything(name: str, verdict: Verdict) -> Iterator[str]:
    yield f"\n{printable(name)}"
    for scene in verdict.step_by_step.scenes:
        yield from _scene(scene)
        yield from (f"  {printable(note)}" for note in scene.notes)
    for ending in verdict.deaths:
        death = ending.death
        step = death.life.step.text if death.life.step else "?"
        line = f"{death.life} ({step}) dies in generation {death.number}: {death.reason}; in the capture {ending.shown}"
        yield f"  {printable(line)}"
    for instance, step in verdict.other_deaths:
        yield f"  instance {instance} ({printable(step)}) ended for a reason that is not in these rules"


def _scene(scene: Scene) -> Iterator[str]:
    if not scene.parts:
        yield f"  generation {scene.number}: nobody is there"
        return
    head = ("member", "runs", "sends", "ours", "gets", "ours", "active tasks", "ours")
    rows = [tuple(map(printable, _part(part))) for part in scene.parts]
    yield f"  generation {scene.number}"
    yield from (f"    {line}" for line in aligned([head, *rows]).splitlines())


def _part(part: Part) -> Sequence[str]:
    from spark_sim.conform.said import Got
    from spark_sim.history import tasks_text

    def tasks(got: Any) -> str:
        return tasks_text(got.inputs) if isinstance(got, Got) else "?"

    return (
        part.life.name + (" (leader)" if part.leads else ""),
        part.life.step.text if part.life.step else "?",
        _said(part.sent),
        _said(part.our_sent),
        _said(part.got),
        _said(part.our_got),
        tasks(part.got),
        tasks(part.our_got),
    )


def _said(message: object) -> str:
    from spark_sim.conform.said import Got, Sent

    return str(message) if isinstance(message, Sent | Got) else "?" if message else "-"
