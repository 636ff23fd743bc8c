"""What ``streams-assignor sweep``, ``replay`` and ``report`` do about brokers; called by ``spark_sim.cli``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from spark_sim.brokers.plans import PLANS
from spark_sim.brokers.reading import read_scenario
from spark_sim.brokers.results import Row, example_lines, judge, matrix_json, prepare, read_rows, write_rows
from spark_sim.brokers.story import tell
from spark_sim.brokers.sweep import all_pairs, keys, run
from spark_sim.cell_result import SAFE
from spark_sim.report import ASCII_MARKS, MARKS, STYLES
from spark_sim.results import MATRIX
from spark_sim.screen import Lines, show_chapters, style_of

EXAMPLES_SHOWN: Final = 3
EVENT_STYLES: Final = {
    "elected": "cyan",
    "stopped": "dim",
    "crashed": "red",
    "refused": "yellow",
    "skipped": "yellow",
    "finalized": "bold cyan",
    "learned": "cyan",
    "exited": "bold red",
    "violation": "bold white on red",
}


def sweep_brokers(out: Path, origin: str | None, target: str | None, *, nodes: int, faults: int, as_json: bool) -> bool:
    """Explore an upgrade (or, without releases, that of every line to every later one); say if all is well.

    ``UpgradeError``, ``ResultsError`` or ``OSError`` for what cannot be done.
    """
    pairs = [(origin, target)] if origin and target else list(all_pairs())
    wanted = [key for pair in pairs for key in keys(*pair, nodes=nodes, faults=faults)]
    console = Console(stderr=as_json, highlight=False)
    prepare(out)
    with _watched(console, len(wanted)) as on_row:
        rows = run(wanted, on_row)
    write_rows(out, rows)
    if as_json:
        click.echo(matrix_json(rows), nl=False)
    good = show(console, rows)
    console.print(f"Results in {out / MATRIX}", soft_wrap=True)
    return good


def report_brokers(folder: Path) -> None:
    """Show a finished sweep once more."""
    show(Console(highlight=False), read_rows(folder))


def replay_brokers(line: str, *, as_json: bool) -> bool:
    """Play a scenario and tell what happened; say whether every property holds. ``UpgradeError`` if it is none."""
    story = tell(read_scenario(line))
    if as_json:
        click.echo(json.dumps(story.as_json(), ensure_ascii=False))
        return not story.world.violations
    console = Console(highlight=False)
    show_chapters(console, story.chapters, EVENT_STYLES)
    good = not story.world.violations
    finalized = ", ".join(f"{name} {level}" for name, level in story.world.cluster.finalized.items())
    console.print(f"{story.verdict}: finalised is {finalized}", style=style_of(good), soft_wrap=True)
    return good


@contextmanager
def _watched(console: Console, cells: int) -> Iterator[Callable[[Row], None]]:
    """Show how far a sweep is: a bar on a terminal, now and then a line elsewhere."""
    done, lines = 0, Lines(console)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("cells", total=cells)

        def show_row(row: Row) -> None:
            nonlocal done
            done += 1
            progress.update(task, completed=done, description=row.title)
            if not console.is_terminal:
                lines.show(f"{done} of {cells} cells")

        yield show_row


def show(console: Console, rows: Sequence[Row]) -> bool:
    """Print a table for each pair of releases, a few examples of what goes wrong, and what it comes to."""
    ascii_only = bool(console.options.ascii_only)
    for pair in dict.fromkeys((row.origin, row.target) for row in rows):
        console.print(_table(pair, [row for row in rows if (row.origin, row.target) == pair], ascii_only=ascii_only))
    marks = ASCII_MARKS if ascii_only else MARKS
    console.print(
        f"{marks['safe']} safe, {marks['unsafe']} unsafe, * documented; (held up) the plan never came to its end",
        style="dim",
        soft_wrap=True,
    )
    for line in example_lines(rows, EXAMPLES_SHOWN):
        console.print(line, markup=False, soft_wrap=True, style="dim")
    judgement = judge(rows)
    states, schedules = sum(row.states for row in rows), sum(row.schedules for row in rows)
    console.print(f"{states:,} states, {schedules:,} schedules", soft_wrap=True)
    console.print(judgement.text, markup=False, soft_wrap=True, style=style_of(judgement.good))
    return judgement.good


def _table(pair: tuple[str, str], rows: Sequence[Row], *, ascii_only: bool) -> Table:
    """Draw the plans of one pair down, dialects and kinds of nodes across."""
    table = Table(
        box=None, padding=(0, 2, 0, 0), header_style="bold", title=f"{pair[0]} to {pair[1]}", title_justify="left"
    )
    table.add_column("plan", style="bold", no_wrap=True)
    columns = dict.fromkeys((row.dialect, row.nodes) for row in rows)
    for dialect, nodes in columns:
        table.add_column(f"{dialect}\n{nodes}")
    table.add_column("what the operator does", style="dim")
    cells = {(row.plan, row.dialect, row.nodes): row for row in rows}
    for name, plan in PLANS.items():
        found = [cells.get((name, *column)) for column in columns]
        if any(found):
            table.add_row(name, *(_mark(row, ascii_only=ascii_only) for row in found), plan.means)
    return table


def _mark(row: Row | None, *, ascii_only: bool) -> Text:
    if row is None:
        return Text("")
    mark = (ASCII_MARKS if ascii_only else MARKS)[row.verdict]
    held_up = " held up" if row.verdict == SAFE and not row.reached else ""
    return Text(f"{mark}{'*' if row.documented else ''}{held_up}", STYLES[row.verdict])
