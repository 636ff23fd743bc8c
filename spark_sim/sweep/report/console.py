"""Prints judgements and traces on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from rich.console import Console
from rich.text import Text

from streams_assignor.formats.text import wrap_lines
from streams_assignor.spark_sim.search.cell_result import SAFE, SAFE_IF, UNSAFE
from streams_assignor.spark_sim.sweep.report.judgement import Judgement


def print_judgement(console: Console, judgement: Judgement) -> None:
    """Print the last line of a report."""
    style = {SAFE: "bold green", SAFE_IF: "bold yellow", UNSAFE: "bold red"}.get(judgement.verdict, "bold")
    console.print(_fitting(console, judgement.text), markup=False, soft_wrap=True, style=style)


def print_dim(console: Console, lines: Iterable[str]) -> None:
    """Print lines of less importance."""
    for line in lines:
        console.print(_fitting(console, line), markup=False, soft_wrap=True, style="dim")


def _fitting(console: Console, text: str) -> str:
    """Return a text whose lines continue below their own on a terminal, instead of within a word."""
    return wrap_lines(text, console.width) if console.is_terminal else text


def print_trace(
    console: Console, steps: Iterable[Any], styles: Mapping[str, str], hidden: Set[str] = frozenset()
) -> None:
    """Print the steps of a trace without the ``hidden`` kinds of events; ``styles`` by kind of event."""
    for step in steps:
        title = Text(_fitting(console, f"{step.step}  {step.meaning}"), "dim")
        title.stylize("not dim bold", 0, len(step.step))
        console.print(title, soft_wrap=True)
        for event in (event for event in step.events if event.kind not in hidden):
            console.print(Text(_fitting(console, f"  {event}"), styles.get(event.kind, "")), soft_wrap=True)
        console.print()
