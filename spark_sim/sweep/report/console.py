"""Prints judgements and traces on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from rich.console import Console
from rich.text import Text

from streams_assignor.spark_sim.search.cell_result import SAFE, SAFE_IF, UNSAFE
from streams_assignor.spark_sim.sweep.report.judgement import Judgement


def print_judgement(console: Console, judgement: Judgement) -> None:
    """Print the last line of a report."""
    style = {SAFE: "bold green", SAFE_IF: "bold yellow", UNSAFE: "bold red"}.get(judgement.verdict, "bold")
    console.print(judgement.text, markup=False, soft_wrap=True, style=style)


def print_dim(console: Console, lines: Iterable[str]) -> None:
    """Print lines of less importance."""
    for line in lines:
        console.print(line, markup=False, soft_wrap=True, style="dim")


def print_trace(
    console: Console, steps: Iterable[Any], styles: Mapping[str, str], hidden: Set[str] = frozenset()
) -> None:
    """Print the steps of a trace without the ``hidden`` kinds of events; ``styles`` by kind of event."""
    for step in steps:
        console.print(Text.assemble((step.step, "bold"), (f"  {step.meaning}", "dim")), soft_wrap=True)
        for event in (event for event in step.events if event.kind not in hidden):
            console.print(Text(f"  {event}", styles.get(event.kind, "")), soft_wrap=True)
        console.print()
