"""Shows in a terminal how far a command is that runs on an engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar

from streams_assignor.spark_sim.jobs.engine import WorkProgress

SECONDS_BETWEEN_LINES: Final = 5
SECONDS_WITHOUT_CHANGE: Final = 60
"""Between two lines with the same count: they show that the job is alive."""


@contextmanager
def show_progress(
    console: Console, draw: Callable[..., RenderableType | None] = lambda *_, **__: None
) -> Iterator[Callable[[Any], None]]:
    """Show how far a command is: a bar and the results so far on a terminal, and now and then a line elsewhere.

    Args:
        console: Where to print.
        draw: Draws the results so far; None if there is nothing to draw.
    """
    if not console.is_terminal:
        yield _line_printer(console)
        return
    ascii_only = bool(console.options.ascii_only)
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    bar = Bar(*columns, console=console, auto_refresh=False)
    task = bar.add_task("units; starting", total=None)
    with Live(bar, console=console, transient=True) as live:

        def show(progress: WorkProgress) -> None:
            bar.update(
                task,
                completed=progress.committed_units,
                total=progress.units,
                description=_progress_text(progress),
            )
            drawing = draw(progress, ascii_only=ascii_only)
            live.update(bar if drawing is None else Group(drawing, bar))

        yield show


def _line_printer(console: Console) -> Callable[[WorkProgress], None]:
    """Print a line every few seconds if the count has changed, else every minute."""
    shown, at = 0, time.monotonic()

    def show(progress: WorkProgress) -> None:
        nonlocal shown, at
        is_new = progress.committed_units != shown
        if time.monotonic() >= at + (SECONDS_BETWEEN_LINES if is_new else SECONDS_WITHOUT_CHANGE):
            shown, at = progress.committed_units, time.monotonic()
            count = f"{progress.committed_units} of {progress.units}"
            console.print(f"{count} {_progress_text(progress)}", soft_wrap=True)

    return show


def _progress_text(progress: WorkProgress) -> str:
    """Return ``units, 12,345 runs, about 1:20 left``."""
    left = f", about {_minutes(progress.seconds_left)} left" if progress.seconds_left else ""
    return f"units{progress.detail}{left}"


def _minutes(seconds: float) -> str:
    return f"{round(seconds) // 60}:{round(seconds) % 60:02}"
