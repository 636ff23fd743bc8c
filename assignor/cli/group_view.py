"""A group for the eye: a table of its members, or of all groups, with the findings below; fits 80 columns."""

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

from assignor.cli.blobs import printable
from assignor.inspect import Group, Kind
from assignor.inspect.copies import Copy
from assignor.inspect.member import Member, Sums, without_uuids
from assignor.inspect.raw import CLASSIC, STABLE, RawGroup
from subscription_codec import TaskId, TopicPartition

_STATE: Final[Mapping[str, str]] = {STABLE: "green", "Empty": "dim", "Dead": "red"}
_FINDING: Final[Mapping[Kind, tuple[str, str]]] = {Kind.PROBLEM: ("!", "red"), Kind.NOTICE: ("·", "yellow")}
_MOST: Final = 100  # members in a picture; those with problems come first
_STORY: Final = 12  # lines of it that stay on the screen


@contextmanager
def drawing(console: Console) -> Iterator[Callable[[RenderableType, Sequence[str]], None]]:
    """Give what to call after each look, with the picture and the news."""
    if not console.is_terminal:

        def tell(_picture: RenderableType, news: Sequence[str]) -> None:
            for line in news:
                console.print(_dated(line), soft_wrap=True)

        yield tell
        return
    story: deque[Text] = deque(maxlen=_STORY)
    with Live(console=console, auto_refresh=False, vertical_overflow="visible") as live:

        def draw(picture: RenderableType, news: Sequence[str]) -> None:
            story.extend(map(_dated, news))
            live.update(Stack(picture, *story), refresh=True)

        yield draw


def picture(group: Group) -> Stack:
    """Draw one group."""
    findings = _lines(
        (Text(_FINDING[each.kind][0]), Text(printable(each.text)), _FINDING[each.kind][1]) for each in group.findings
    )
    return Stack(*_head(group), *([_members(group)] if group.members else []), findings)


def overview(groups: Sequence[Group]) -> Table:
    """Draw all groups, a row each."""
    columns = ("group", "state", "protocol", "members", "versions", "problems", "notices")
    table = Table(*columns, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.columns[0].overflow = "fold"
    for column in (3, 5, 6):
        table.columns[column].justify = "right"
    for group in groups:
        problems = len(group.problems)
        table.add_row(
            Text(printable(group.raw.name), style="bold"),
            _state(group),
            Text(printable(_protocol(group.raw))),
            str(len(group.members)),
            ", ".join(f"{number} × {version}" for version, number in group.standing.used.items()),
            Text(str(problems), style="red" if problems else "dim"),
            str(len(group.findings) - problems),
        )
    return table


# -- the head --------------------------------------------------------------------------------------------------------


def _protocol(raw: RawGroup) -> str:
    return raw.protocol or (raw.type if raw.type != CLASSIC else raw.protocol_type)


def _head(group: Group) -> Iterator[RenderableType]:
    raw = group.raw
    words = dict.fromkeys(filter(None, (raw.type if raw.type != CLASSIC else "", raw.protocol or raw.protocol_type)))
    yield Text("  ").join((Text(printable(raw.name), style="bold"), _state(group), *map(Text, map(printable, words))))
    if not group.members:
        return
    share, assumed = group.metadata_bytes / group.limit, "" if group.raw.limit else ", Kafka's default"
    facts = {
        "upgrade": group.standing.text if group.streams else "",
        "leader": f"in process {without_uuids(group.leading_process)}" if group.leading_process else "",
        "metadata": f"{group.metadata_bytes:,} bytes, {share:.1%} of {group.limit:,}{assumed}",
    }
    yield _lines((Text(name, style="dim"), Text(printable(said)), "") for name, said in facts.items() if said)


def _lines(lines: Iterable[tuple[Text, Text, str]]) -> Table:
    """Write lines that have a name each; what does not fit into one goes on below itself."""
    table = Table.grid(padding=(0, 1))
    for name, said, style in lines:
        table.add_row(name, said, style=style)
    return table


def _state(group: Group) -> Text:
    return Text(printable(group.raw.state or "–"), style=_STATE.get(group.raw.state, "yellow"))


def _dated(line: str) -> Text:
    return Text.assemble((f"{datetime.now():%H:%M:%S}  ", "dim"), printable(line))


# -- the members -----------------------------------------------------------------------------------------------------


def _members(group: Group) -> Table:
    marked = {name for finding in group.problems for name in finding.members}
    table = Table("member", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), leading=1)
    table.columns[0].overflow = "fold"
    if group.streams:
        table.add_column("sends / knows", max_width=30)
    table.add_column("tasks" if group.streams else "partitions", overflow="fold")
    ordered = sorted(group.members, key=lambda member: member.name not in marked)
    for member in ordered[:_MOST]:
        cells = [_who(group, member, bad=member.name in marked)]
        if group.streams:
            cells.append(_versions(member))
        table.add_row(*cells, _work(group, member))
    if left_out := len(ordered[_MOST:]):
        table.add_row(Text(f"… and {left_out} more; --json has all", style="dim"))
    return table


def _who(group: Group, member: Member, *, bad: bool) -> Text:
    client = member.raw.client_id.removeprefix(f"{group.raw.name}-").removesuffix("-consumer")
    static = "static" if member.raw.instance_id else ""
    place = " ".join(filter(None, (member.raw.host.removeprefix("/"), static)))
    return _stack((member.name, "bold red" if bad else "bold"), (without_uuids(client), ""), (place, "dim"))


def _versions(member: Member) -> Text:
    sent, got = member.sent, member.got
    if sent.used is None:
        return Text("–")
    supported = "?" if sent.supported is None else str(sent.supported)
    answered = "" if got.version in (None, sent.used) else f"answered {got.version}"
    return _stack(
        (f"{sent.used} / {supported}", "" if sent.used == sent.supported else "yellow"),
        (answered, "yellow"),
        (str(sent.senders), "dim"),
        (f"{member.rebalance_protocol}, envelope {sent.envelope}", "dim")
        if member.rebalance_protocol != "unknown"
        else (f"envelope {sent.envelope}", "dim"),
    )


def _work(group: Group, member: Member) -> Text:
    got, sent = member.got, member.sent
    if not group.streams:
        return Text(printable(partition_runs(got.partitions)))
    sums = Sums.of(sent.sums or {})
    facts = {
        "active": task_runs(got.active),
        **{copy.value: task_runs(group.copies_of(member, copy)) for copy in Copy},
        "sums": _summed(sums),
        "process": without_uuids(str(sent.process_id)) if sent.process_id else "",
        "end point": sent.end_point,
        "rack": sent.rack or "",
        "tags": " ".join(f"{key}={value}" for key, value in sent.tags.items()),
        "levels": " ".join(f"{name}={level}" for name, level in {**got.levels, **sent.levels}.items()),
        "error": " ".join(
            filter(None, (f"sent {sent.error_code}" if sent.error_code else "", str(got.error_code or "")))
        ),
        "rejoins": "" if got.next_rebalance_ms is None else _moment(got.next_rebalance_ms),
    }
    return Text("\n").join(
        Text.assemble((f"{name} ", "dim"), (printable(said), _WORK.get(name, "")))
        for name, said in facts.items()
        if said
    ) or Text("no tasks", style="dim")


_WORK: Final[Mapping[str, str]] = {"active": "green", "error": "red", "warm-up": "yellow", "rejoins": "yellow"}


def _summed(sums: Sums) -> str:
    """Say what a member had when it joined, in offset sums."""
    said = (
        f"{sums.running} running" if sums.running else "",
        f"{sums.restored} at {sums.total:,}" + (" in all" if sums.restored > 1 else "") if sums.restored else "",
        f"{sums.unknown} unknown" if sums.unknown else "",
    )
    return ", ".join(filter(None, said))


def _moment(milliseconds: int) -> str:
    if not milliseconds:
        return "at once"
    try:
        return f"at {datetime.fromtimestamp(milliseconds / 1000):%Y-%m-%d %H:%M:%S}"
    except (OSError, OverflowError, ValueError):
        return f"at {milliseconds} ms"


def _stack(*lines: tuple[str, str]) -> Text:
    return Text("\n").join(Text(printable(line), style=style) for line, style in lines if line)


def task_runs(tasks: Iterable[TaskId]) -> str:
    """Write tasks briefly.

    >>> task_runs([TaskId(0, 0), TaskId(0, 1), TaskId(0, 2), TaskId(1, 0)])
    '0_0–2 1_0'
    """
    by_subtopology = groupby(tasks, key=lambda task: (task.topology, task.subtopology))
    return " ".join(
        f"{TaskId(number, 0, topology)}".removesuffix("0") + _runs(task.partition for task in each)
        for (topology, number), each in by_subtopology
    )


def partition_runs(partitions: Iterable[TopicPartition]) -> str:
    """Write partitions briefly.

    >>> partition_runs([TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 7)])
    'a 0–1, b 7'
    """
    by_topic = groupby(partitions, key=lambda partition: partition.topic)
    return ", ".join(f"{topic} {_runs(each.partition for each in group)}" for topic, group in by_topic)


def _runs(numbers: Iterable[int]) -> str:
    """Write ascending numbers as runs: ``0–2,5``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join("–".join(map(str, dict.fromkeys((run[0], run[-1])))) for run in runs)
