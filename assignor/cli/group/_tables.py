"""Tables of one group (members and findings) or of all groups; they fit 80 columns."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final, NamedTuple

from rich import box
from rich.console import Console, RenderableType
from rich.console import Group as Stack
from rich.live import Live
from rich.table import Table
from rich.text import Text

from streams_assignor.cli.group._cells import (
    broker_facts,
    epoch_cell,
    is_pending,
    member_cell,
    pending_cell,
    stacked,
    tasks_cell,
)
from streams_assignor.formats.text import printable
from streams_assignor.groups import FindingSeverity, InspectedGroup, finding_text, upgrade_text
from streams_assignor.groups.described_group import ASSIGNING, CLASSIC, STABLE, STREAMS
from streams_assignor.groups.member import InspectedMember
from streams_assignor.groups.member_names import shorten_uuids
from streams_assignor.groups.offsets import lag_summary

_STATE_STYLES: Final[Mapping[str, str]] = {STABLE: "green", "Empty": "dim", "Dead": "red"}
_SEVERITY_MARKS: Final[Mapping[FindingSeverity, tuple[str, str]]] = {
    FindingSeverity.PROBLEM: ("!", "red"),
    FindingSeverity.NOTICE: ("·", "yellow"),
}
_MAX_MEMBERS: Final = 100  # in a table; members with problems come first
_MAX_FINDINGS: Final = 100
_OTHER_COLUMNS_WIDTH: Final = 56  # what a long name of a group leaves to the other columns of an overview
_MAX_LAGS: Final = 20
_LAST_TEXT: Final = 2  # column of a table of lags; numbers follow
_LagRow = tuple[int | None, str, str, str, int | str | None, int | None]
"""Lag, place, task, member, position, end."""
_MAX_CHANGES: Final = 12  # lines that stay on the screen


@contextmanager
def live_display(console: Console) -> Iterator[Callable[[RenderableType, Sequence[str]], None]]:
    """Yield a function to call after each refresh, with the table and the news."""
    if not console.is_terminal:

        def print_news(_picture: RenderableType, news: Sequence[str]) -> None:
            for line in news:
                console.print(_timestamped(line), soft_wrap=True)

        yield print_news
        return
    shown: deque[Text] = deque(maxlen=_MAX_CHANGES)
    with Live(console=console, auto_refresh=False, vertical_overflow="visible") as live:

        def draw(picture: RenderableType, news: Sequence[str]) -> None:
            shown.extend(map(_timestamped, news))
            live.update(Stack(picture, *shown), refresh=True)

        yield draw


def render_group(group: InspectedGroup, summary: str) -> Stack:
    """Render one group, with a summary in the first line."""
    first = Text(f"{printable(group.described.name)}: {printable(summary)}", style="bold")
    findings = _render_facts(
        (
            Text(_SEVERITY_MARKS[finding.severity][0]),
            Text(printable(finding_text(finding))),
            _SEVERITY_MARKS[finding.severity][1],
        )
        for finding in group.findings[:_MAX_FINDINGS]
    )
    if left_out := len(group.findings[_MAX_FINDINGS:]):
        findings.add_row("", Text(f"… and {left_out} more; --json has all", style="dim"))
    members = [_render_members(group)] if group.members else []
    return Stack(first, *_render_head(group), *members, *_render_lags(group), findings)


def render_overview(groups: Sequence[InspectedGroup], width: int) -> Table:
    """Render all groups, one row each; a name has one line if it fits beside the other columns."""
    columns = ("group", "type", "state", "protocol", "members", "lag", "versions", "problems")
    table = Table(*columns, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in table.columns:
        column.overflow = "fold"
    longest = max(len(name) for name in (columns[0], *(printable(group.described.name) for group in groups)))
    table.columns[0].width = min(longest, max(width - _OTHER_COLUMNS_WIDTH, len(columns[0])))
    for column in (table.columns[number] for number in (4, 5, 7)):
        column.justify, column.no_wrap = "right", True
    for group in groups:
        problems = len(group.problems)
        table.add_row(
            Text(printable(group.described.name), style="bold"),
            Text(printable(group.described.type)),
            _state(group),
            Text(printable(_protocol_text(group))),
            "?" if group.described.hides_members else str(len(group.members)),
            lags.sum_text if (lags := lag_summary(group)) else "",
            Text(_versions(group)),
            Text(str(problems), style="red" if problems else "dim"),
        )
    return table


def _protocol_text(group: InspectedGroup) -> str:
    """Write the assignor; the protocol type if there is none."""
    return group.described.protocol or group.described.protocol_type


def _versions(group: InspectedGroup) -> str:
    """Write how many members send which version; in a group whose broker assigns, its epoch."""
    if broker := group.described.broker:
        pending = f" (assignment {broker.assignment_epoch})" if group.described.state == ASSIGNING else ""
        return f"epoch {broker.epoch}{pending}"
    return ", ".join(f"{number} × {version}" for version, number in group.upgrade_status.used.items())


# -- the head --------------------------------------------------------------------------------------------------------


def _render_head(group: InspectedGroup) -> Iterator[RenderableType]:
    raw = group.described
    words = dict.fromkeys(filter(None, (raw.type if raw.type != CLASSIC else "", _protocol_text(group))))
    yield Text("  ").join((Text(printable(raw.name), style="bold"), _state(group), *map(Text, map(printable, words))))
    facts = {**_classic_facts(group), **broker_facts(group)} if group.members else broker_facts(group)
    if lags := lag_summary(group):
        facts |= {"lag": "\n".join((lags.text, *lags.failures)) if lags.partitions or lags.failures else ""}
    yield _render_facts((Text(name, style="dim"), _printable_lines(text), "") for name, text in facts.items() if text)


def _classic_facts(group: InspectedGroup) -> dict[str, str]:
    if group.described.type != CLASSIC:
        return {}
    return {
        "upgrade": upgrade_text(group.upgrade_status) if group.is_streams else "",
        "leader": f"in process {shorten_uuids(group.leading_process)}" if group.leading_process else "",
        "metadata": _metadata_text(group.metadata_bytes, group),
    }


_SHOWN_SHARE: Final = 0.1
"""Less of what a broker accepts needs nobody's look; ``--json`` has it."""


def _metadata_text(size: int | None, group: InspectedGroup) -> str:
    if size is None or size < _SHOWN_SHARE * group.max_message_bytes:
        return ""
    assumed = "" if group.described.max_message_bytes else ", Kafka's default"
    return f"{size:,} bytes, {size / group.max_message_bytes:.1%} of {group.max_message_bytes:,}{assumed}"


def _printable_lines(text: str) -> Text:
    return Text("\n").join(Text(printable(line)) for line in text.split("\n"))


def _render_facts(lines: Iterable[tuple[Text, Text, str]]) -> Table:
    """Render named lines; a long line wraps below its own text."""
    table = Table.grid(padding=(0, 1))
    for name, text, style in lines:
        table.add_row(name, text, style=style)
    return table


def _state(group: InspectedGroup) -> Text:
    return Text(printable(group.described.state or "–"), style=_STATE_STYLES.get(group.described.state, "yellow"))


def _timestamped(line: str) -> Text:
    return Text.assemble((f"{datetime.now():%H:%M:%S}  ", "dim"), printable(line))


# -- the lags --------------------------------------------------------------------------------------------------------


_STORED: Final = ("restored", "end", "lag")
_AT_JOIN: Final = ("restored at its join", "end now", "between")
"""A member of a classic group says what it has restored when it joins, so the last number grows while all is well."""


def _render_lags(group: InspectedGroup) -> Iterator[Table]:
    """Render the partitions with the largest lags, and the replicas of state that are behind most."""
    lags = lag_summary(group)
    if lags is None:
        return
    label, no_commit = _short_labels(group), "?" if lags.failures else "none"
    partitions = [
        (
            partition_lag.lag,
            str(partition_lag.partition),
            "" if partition_lag.task is None else str(partition_lag.task),
            label(partition_lag.member),
            no_commit if partition_lag.committed is None else partition_lag.committed,
            partition_lag.end,
        )
        for partition_lag in lags.partitions
    ]
    replicas = [
        (state_lag.lag, f"replica {state_lag.task}", "", label(state_lag.member), state_lag.restored, state_lag.end)
        for state_lag in lags.state
    ]
    yield from _lag_table(("partition", "task", "member", "committed", "end", "lag"), partitions)
    numbers = _STORED if group.described.type == STREAMS else _AT_JOIN
    yield from _lag_table(("state", "", "member", *numbers), replicas)


def _lag_table(columns: Sequence[str], rows: Sequence[_LagRow]) -> Iterator[Table]:
    if not rows:
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number > _LAST_TEXT else "left", overflow="fold")
    ordered = sorted(rows, key=lambda row: (row[0] is not None, -(row[0] or 0)))  # unknown ones first
    for lag, place, task, member, position, end in ordered[:_MAX_LAGS]:
        table.add_row(*map(Text, map(printable, (place, task, member))), *map(_number, (position, end, lag)))
    if left_out := len(ordered[_MAX_LAGS:]):
        table.add_row(Text(f"… and {left_out} more; --json has all", style="dim"))
    yield table


def _number(value: int | str | None) -> str:
    return "?" if value is None else f"{value:,}" if isinstance(value, int) else value


def _short_labels(group: InspectedGroup) -> Callable[[InspectedMember | None], str]:
    """Return what names a member in a table of one line a partition: without host and id where it is the only one."""
    counted = Counter(member.label.partition(" (")[0] for member in group.members)

    def label(member: InspectedMember | None) -> str:
        if member is None:
            return "–"
        short = member.label.partition(" (")[0]
        return short if counted[short] == 1 else member.label

    return label


# -- the members -----------------------------------------------------------------------------------------------------


class _Column(NamedTuple):
    title: str
    cell: Callable[[InspectedGroup, InspectedMember], Text]
    is_shown: Callable[[InspectedGroup], bool]
    max_width: int | None = None


_COLUMNS: Final = (
    _Column("sends / supports", lambda _, member: _version_cell(member), lambda group: group.is_streams, 30),
    _Column("epoch", epoch_cell, lambda group: group.described.broker is not None),
    _Column("tasks", tasks_cell, lambda group: group.has_tasks),
    _Column("partitions", tasks_cell, lambda group: not group.has_tasks),
    _Column("to come", pending_cell, is_pending, 40),
)
"""The columns of members, behind their names: a classic group has versions, any other one epochs."""


def _render_members(group: InspectedGroup) -> Table:
    marked = {name for finding in group.problems for name in finding.members}
    columns = [column for column in _COLUMNS if column.is_shown(group)]
    table = Table("member", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), leading=1)
    table.columns[0].overflow = "fold"
    for column in columns:
        table.add_column(column.title, max_width=column.max_width, overflow="fold")
    ordered = sorted(group.members, key=lambda member: member.name not in marked)
    for member in ordered[:_MAX_MEMBERS]:
        cells = (column.cell(group, member) for column in columns)
        table.add_row(member_cell(group, member, bad=member.name in marked), *cells)
    if left_out := len(ordered[_MAX_MEMBERS:]):
        table.add_row(Text(f"… and {left_out} more; --json has all", style="dim"))
    return table


def _version_cell(member: InspectedMember) -> Text:
    sent, got = member.subscription, member.assignment
    if sent.used_version is None:
        return Text("–")
    supported = "?" if sent.supported_version is None else str(sent.supported_version)
    answered = "" if got.used_version in (None, sent.used_version) else f"answered {got.used_version}"
    return stacked(
        (f"{sent.used_version} / {supported}", "" if sent.used_version == sent.supported_version else "yellow"),
        (answered, "yellow"),
        (str(sent.candidate_releases), "dim"),
        (f"{member.rebalance_protocol}, envelope {sent.consumer_protocol_version}", "dim")
        if member.rebalance_protocol != "unknown"
        else (f"envelope {sent.consumer_protocol_version}", "dim"),
    )
