"""Rendering of a bounce: a live table on a terminal, plain lines elsewhere; at the end a timeline and the outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from streams_assignor.demo.model import BounceSummary, MemberStatus, TimelineEntry
from streams_assignor.demo.runner import BounceRunner

_COLUMNS: Final = ("", "process", "release", "used / supported", "role", "gen.", "active", "standby")
_COLOURS: Final = {"running": "green", "starting": "yellow", "stopping": "yellow", "stopped": "red"}


@contextmanager
def live_display(console: Console) -> Iterator[Callable[[BounceRunner], None]]:
    """Yield a function to call after every change."""
    if not console.is_terminal:
        yield _print_new_entries(console)
        return
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        yield lambda bounce: live.update(render_progress(bounce))


def render_progress(bounce: BounceRunner) -> Group:
    """Render the current status."""
    seconds, produced, processed = (
        f"{bounce.seconds:.0f} s",
        sum(bounce.produced.values()),
        bounce.processed_offsets.processed,
    )
    return Group(
        Text(bounce.title, style="bold"),
        member_table(bounce.members.values()),
        Text(f"{seconds}, {produced} records produced, {processed} processed", style="dim"),
    )


def member_table(members: Iterable[MemberStatus]) -> Table:
    """Render the members, one row each."""
    table = Table(*_COLUMNS, box=box.SIMPLE_HEAD, padding=0)
    table.columns[2].no_wrap = True
    for member in members:
        state = "joining" if member.process == "running" and member.rejoining else member.process
        table.add_row(
            member.name,
            Text(state, style=_COLOURS.get(state, "yellow")),
            member.release + (f"\nupgrade.from={member.upgrade_from}" if member.upgrade_from else ""),
            "" if member.used is None else f"{member.used}/{member.supported}",
            "" if member.generation is None else "leader" if member.leader else "follower",
            "" if member.generation is None else str(member.generation),
            " ".join(member.active),
            " ".join(member.standby),
        )
    return table


def timeline_table(timeline: Iterable[TimelineEntry]) -> Table:
    """Render the timeline; steps are highlighted."""
    table = Table("seconds", "member", "what", title="Timeline", title_justify="left", box=box.SIMPLE_HEAD)
    table.columns[0].justify = "right"
    for entry in timeline:
        table.add_row(f"{entry.seconds:.2f}", entry.member, entry.text, style=None if entry.member else "bold cyan")
    return table


def render_summary(summary: BounceSummary) -> Group:
    """Render the members after the last finished step, and the timeline."""
    members = [member_table(summary.steps[-1].members)] if summary.steps else []
    return Group(*members, timeline_table(summary.timeline))


def outcome_line(summary: BounceSummary) -> str:
    """Render the outcome in one line."""
    records = f"{summary.produced} records, {summary.lost} lost, {summary.duplicates} processed twice"
    if summary.problem:
        return f"failed after {summary.seconds} s: {summary.problem}"
    bounces = f"{len(summary.steps) - 1} rolling bounces, every task owned exactly once after each"
    return f"finished in {summary.seconds} s: {bounces}; {records}"


def _print_new_entries(console: Console) -> Callable[[BounceRunner], None]:
    shown = 0

    def show(bounce: BounceRunner) -> None:
        nonlocal shown
        for entry in bounce.timeline[shown:]:
            member = f"{entry.member} " if entry.member else ""
            console.out(f"{entry.seconds:7.2f}  {member}{entry.text}", highlight=False)
        shown = len(bounce.timeline)

    return show
