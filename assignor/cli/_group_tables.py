"""Tables of one group (members and findings) or of all groups; they fit 80 columns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby
from typing import Final

from rich import box
from rich.console import Console, RenderableType
from rich.console import Group as Stack
from rich.live import Live
from rich.table import Table
from rich.text import Text

from assignor.formats.text import printable
from assignor.inspect import InspectedGroup, Severity, finding_text, upgrade_text
from assignor.inspect.described_group import CLASSIC, STABLE, DescribedGroup
from assignor.inspect.member import InspectedMember, OffsetSumTotals, shorten_uuids
from assignor.inspect.standbys import StandbyKind
from subscription_codec import TaskId, TopicPartition

_STATE_STYLES: Final[Mapping[str, str]] = {STABLE: "green", "Empty": "dim", "Dead": "red"}
_SEVERITY_MARKS: Final[Mapping[Severity, tuple[str, str]]] = {
    Severity.PROBLEM: ("!", "red"),
    Severity.NOTICE: ("·", "yellow"),
}
_MAX_MEMBERS: Final = 100  # in a table; members with problems come first
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
            Text(_SEVERITY_MARKS[each.severity][0]),
            Text(printable(finding_text(each))),
            _SEVERITY_MARKS[each.severity][1],
        )
        for each in group.findings
    )
    return Stack(first, *_render_head(group), *([_render_members(group)] if group.members else []), findings)


def render_overview(groups: Sequence[InspectedGroup]) -> Table:
    """Render all groups, one row each."""
    columns = ("group", "state", "protocol", "members", "versions", "problems", "notices")
    table = Table(*columns, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.columns[0].overflow = "fold"
    for column in (3, 5, 6):
        table.columns[column].justify = "right"
    for group in groups:
        problems = len(group.problems)
        table.add_row(
            Text(printable(group.described.name), style="bold"),
            _state(group),
            Text(printable(_protocol(group.described))),
            "?" if group.described.error else str(len(group.members)),
            ", ".join(f"{number} × {version}" for version, number in group.upgrade_status.used.items()),
            Text(str(problems), style="red" if problems else "dim"),
            str(len(group.findings) - problems),
        )
    return table


# -- the head --------------------------------------------------------------------------------------------------------


def _protocol(raw: DescribedGroup) -> str:
    return raw.protocol or (raw.type if raw.type != CLASSIC else raw.protocol_type)


def _render_head(group: InspectedGroup) -> Iterator[RenderableType]:
    raw = group.described
    words = dict.fromkeys(filter(None, (raw.type if raw.type != CLASSIC else "", raw.protocol or raw.protocol_type)))
    yield Text("  ").join((Text(printable(raw.name), style="bold"), _state(group), *map(Text, map(printable, words))))
    if not group.members:
        return
    share, assumed = (
        group.metadata_bytes / group.max_message_bytes,
        "" if group.described.max_message_bytes else ", Kafka's default",
    )
    facts = {
        "upgrade": upgrade_text(group.upgrade_status) if group.is_streams else "",
        "leader": f"in process {shorten_uuids(group.leading_process)}" if group.leading_process else "",
        "metadata": f"{group.metadata_bytes:,} bytes, {share:.1%} of {group.max_message_bytes:,}{assumed}"
        if group.described.type == CLASSIC
        else "",
    }
    yield _render_facts((Text(name, style="dim"), Text(printable(text)), "") for name, text in facts.items() if text)


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


# -- the members -----------------------------------------------------------------------------------------------------


def _render_members(group: InspectedGroup) -> Table:
    marked = {name for finding in group.problems for name in finding.members}
    table = Table("member", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), leading=1)
    table.columns[0].overflow = "fold"
    if group.is_streams:
        table.add_column("sends / supports", max_width=30)
    table.add_column("tasks" if group.has_tasks else "partitions", overflow="fold")
    ordered = sorted(group.members, key=lambda member: member.name not in marked)
    for member in ordered[:_MAX_MEMBERS]:
        cells = [_member_cell(group, member, bad=member.name in marked)]
        if group.is_streams:
            cells.append(_version_cell(member))
        table.add_row(*cells, _tasks_cell(group, member))
    if left_out := len(ordered[_MAX_MEMBERS:]):
        table.add_row(Text(f"… and {left_out} more; --json has all", style="dim"))
    return table


def _member_cell(group: InspectedGroup, member: InspectedMember, *, bad: bool) -> Text:
    client = member.described.client_id.removeprefix(f"{group.described.name}-").removesuffix("-consumer")
    static = "static" if member.described.group_instance_id else ""
    place = " ".join(filter(None, (member.described.host.removeprefix("/"), static)))
    return _stacked((member.name, "bold red" if bad else "bold"), (shorten_uuids(client), ""), (place, "dim"))


def _version_cell(member: InspectedMember) -> Text:
    sent, got = member.subscription, member.assignment
    if sent.used_version is None:
        return Text("–")
    supported = "?" if sent.supported_version is None else str(sent.supported_version)
    answered = "" if got.used_version in (None, sent.used_version) else f"answered {got.used_version}"
    return _stacked(
        (f"{sent.used_version} / {supported}", "" if sent.used_version == sent.supported_version else "yellow"),
        (answered, "yellow"),
        (str(sent.candidate_releases), "dim"),
        (f"{member.rebalance_protocol}, envelope {sent.consumer_protocol_version}", "dim")
        if member.rebalance_protocol != "unknown"
        else (f"envelope {sent.consumer_protocol_version}", "dim"),
    )


def _tasks_cell(group: InspectedGroup, member: InspectedMember) -> Text:
    got, sent = member.assignment, member.subscription
    if not group.has_tasks:
        return Text(printable(format_partitions(got.partitions)))
    sums = OffsetSumTotals.summarize(sent.offset_sums or {})
    facts = {
        "active": format_tasks(got.active),
        **{copy.value: format_tasks(group.standbys_of(member, copy)) for copy in StandbyKind},
        "sums": _offset_sums_text(sums),
        "process": shorten_uuids(str(sent.process_id)) if sent.process_id else "",
        "end point": sent.user_end_point,
        "rack": sent.rack or "",
        "tags": " ".join(f"{key}={value}" for key, value in sent.client_tags.items()),
        "levels": " ".join(f"{name}={level}" for name, level in {**got.levels, **sent.levels}.items()),
        "error": " ".join(
            filter(None, (f"sent {sent.error_code}" if sent.error_code else "", str(got.error_code or "")))
        ),
        "rejoins": "" if got.next_rebalance_ms is None else _rebalance_time(got.next_rebalance_ms),
    }
    return Text("\n").join(
        Text.assemble((f"{name} ", "dim"), (printable(text), _FACT_STYLES.get(name, "")))
        for name, text in facts.items()
        if text
    ) or Text("no tasks", style="dim")


_FACT_STYLES: Final[Mapping[str, str]] = {"active": "green", "error": "red", "warm-up": "yellow", "rejoins": "yellow"}


def _offset_sums_text(sums: OffsetSumTotals) -> str:
    """Summarize the offset sums of a subscription."""
    parts = (
        f"{sums.running} running" if sums.running else "",
        f"{sums.restored_tasks} at {sums.total:,}" + (" in all" if sums.restored_tasks > 1 else "")
        if sums.restored_tasks
        else "",
        f"{sums.unknown} unknown" if sums.unknown else "",
    )
    return ", ".join(filter(None, parts))


def _rebalance_time(milliseconds: int) -> str:
    if not milliseconds:
        return "immediately"
    try:
        return f"at {datetime.fromtimestamp(milliseconds / 1000):%Y-%m-%d %H:%M:%S}"
    except (OSError, OverflowError, ValueError):
        return f"at {milliseconds} ms"


def _stacked(*lines: tuple[str, str]) -> Text:
    return Text("\n").join(Text(printable(line), style=style) for line, style in lines if line)


def format_tasks(tasks: Iterable[TaskId]) -> str:
    """Write tasks, with runs of partitions.

    >>> format_tasks([TaskId(0, 0), TaskId(0, 1), TaskId(0, 2), TaskId(1, 0)])
    '0_0–2 1_0'
    """
    by_subtopology = groupby(tasks, key=lambda task: (task.topology, task.subtopology))
    return " ".join(
        f"{TaskId(number, 0, topology)}".removesuffix("0") + _format_runs(task.partition for task in each)
        for (topology, number), each in by_subtopology
    )


def format_partitions(partitions: Iterable[TopicPartition]) -> str:
    """Write partitions, with runs of numbers.

    >>> format_partitions([TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 7)])
    'a 0–1, b 7'
    """
    by_topic = groupby(partitions, key=lambda partition: partition.topic)
    return ", ".join(f"{topic} {_format_runs(each.partition for each in group)}" for topic, group in by_topic)


def _format_runs(numbers: Iterable[int]) -> str:
    """Write ascending numbers as runs: ``0–2,5``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join("–".join(map(str, dict.fromkeys((run[0], run[-1])))) for run in runs)
