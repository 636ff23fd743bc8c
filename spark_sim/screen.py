"""What a terminal shows of the simulator: how far a sweep is, and a story step by step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from spark_sim.report import Grid, legend, matrix_table
from spark_sim.sweep import Progress

SECONDS_BETWEEN_LINES: Final = 5
MOST_DRAWN: Final = 1_000
"""With more upgrades than these there is a bar only: no matrix of theirs fits, and looking at each takes its time."""


def style_of(good: bool) -> str:
    """Say how the last line looks."""
    return "bold green" if good else "bold red"


def show_chapters(console: Console, chapters: Iterable[Any], styles: Mapping[str, str]) -> None:
    """Print the chapters of a story; ``styles`` by kind of event."""
    for chapter in chapters:
        console.print(Text.assemble((chapter.step, "bold"), (f"  {chapter.meaning}", "dim")), soft_wrap=True)
        for event in chapter.events:
            console.print(Text(f"  {event}", styles.get(event.kind, "")), soft_wrap=True)
        console.print()


@contextmanager
def watched(console: Console) -> Iterator[Callable[[Progress], None]]:
    """Show how far a sweep is: a bar and the matrix filling on a terminal, and now and then a line elsewhere."""
    if not console.is_terminal:
        lines = Lines(console)
        yield lambda progress: lines.show(f"{progress.slices} of {progress.all_slices} {_how_far(progress)}")
        return
    ascii_only = bool(console.options.ascii_only)
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    bar = Bar(*columns, console=console, auto_refresh=False)
    task = bar.add_task("slices; starting", total=None)
    with Live(bar, console=console, transient=True) as live:

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.slices, total=progress.all_slices, description=_how_far(progress))
            results = progress.results if progress.upgrades <= MOST_DRAWN else []
            if not results or Grid(results).large:
                live.update(bar)
                return
            table = matrix_table(results, progress.unfinished, ascii_only=ascii_only)
            live.update(Group(table, legend(ascii_only=ascii_only), bar))

        yield show


class Lines:
    """Progress where nothing can be drawn: a line every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = 0.0

    def show(self, line: str) -> None:
        """Print the line, unless there has been one just now."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + SECONDS_BETWEEN_LINES
            self._console.print(line, soft_wrap=True)


def _how_far(progress: Progress) -> str:
    """Say ``slices, 12,345 runs, about 1:20 left``."""
    left = f", about {_minutes(progress.seconds_left)} left" if progress.seconds_left else ""
    return f"slices, {progress.runs:,} runs{left}"


def _minutes(seconds: float) -> str:
    return f"{round(seconds) // 60}:{round(seconds) % 60:02}"
