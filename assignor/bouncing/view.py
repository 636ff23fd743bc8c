"""A bounce for the eye: a live table on a terminal, plain lines elsewhere, the timeline and the verdict at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from assignor.bouncing.run import Bounce
from assignor.bouncing.story import MemberStatus, Moment, Summary

_COLUMNS: Final = ("", "process", "release", "used / latest", "role", "gen.", "active", "standby")
_COLOURS: Final = {"running": "green", "starting": "yellow", "stopping": "yellow", "stopped": "red"}


@contextmanager
def showing(console: Console) -> Iterator[Callable[[Bounce], None]]:
    """Give what to call whenever something has happened."""
    if not console.is_terminal:
        yield _lines(console)
        return
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        yield lambda bounce: live.update(picture(bounce))


def picture(bounce: Bounce) -> Group:
    """Draw how things stand."""
    seconds, produced, processed = f"{bounce.seconds:.0f} s", sum(bounce.produced.values()), bounce.ledger.processed
    return Group(
        Text(bounce.title, style="bold"),
        member_table(bounce.members.values()),
        Text(f"{seconds}, {produced} records produced, {processed} processed", style="dim"),
    )


def member_table(members: Iterable[MemberStatus]) -> Table:
    """Draw the members, one row each."""
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


def timeline_table(timeline: Iterable[Moment]) -> Table:
    """Draw what happened, in order; steps stand out."""
    table = Table("seconds", "member", "what", title="Timeline", title_justify="left", box=box.SIMPLE_HEAD)
    table.columns[0].justify = "right"
    for moment in timeline:
        table.add_row(f"{moment.seconds:.2f}", moment.member, moment.what, style=None if moment.member else "bold cyan")
    return table


def story(summary: Summary) -> Group:
    """Draw what is left to see at the end: the members as the last finished step left them, and the timeline."""
    members = [member_table(summary.steps[-1].members)] if summary.steps else []
    return Group(*members, timeline_table(summary.timeline))


def verdict(summary: Summary) -> str:
    """Say in one line how it went."""
    records = f"{summary.produced} records, {summary.lost} lost, {summary.duplicates} processed twice"
    if summary.problem:
        return f"failed after {summary.seconds} s: {summary.problem}"
    bounces = f"{len(summary.steps) - 1} rolling bounces, every task owned exactly once after each"
    return f"finished in {summary.seconds} s: {bounces}; {records}"


def _lines(console: Console) -> Callable[[Bounce], None]:
    shown = 0

    def show(bounce: Bounce) -> None:
        nonlocal shown
        for moment in bounce.timeline[shown:]:
            member = f"{moment.member} " if moment.member else ""
            console.out(f"{moment.seconds:7.2f}  {member}{moment.what}", highlight=False)
        shown = len(bounce.timeline)

    return show
