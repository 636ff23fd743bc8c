"""Captures: the subscription and assignment of every member of a group in each generation, as rows and as tables.

Every member is shown, also beside invalid ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from streams_assignor.codec import NO_FOLLOW_UP
from streams_assignor.formats.console import SafeConsole
from streams_assignor.formats.jsonl import BadLine, error_object
from streams_assignor.formats.metadata_json import DecodeOptions, decode_or_error, parse_hex
from streams_assignor.formats.text import printable
from streams_assignor.groups.capture import InvalidCapture as InvalidCapture
from streams_assignor.groups.capture import JsonNode

EXPECTED: Final = 'a capture ({"generations": [{"generation", "leader", "members": [...]}]})'


class CapturedGeneration(NamedTuple):
    """The JSON rows of one generation. A file may have anything in it, which ``groups.capture`` refuses."""

    number: Any

    rows: Sequence[dict[str, Any]]
    """One for each member; a row is printed as a JSON line."""


def parse_capture(text: str, reading: DecodeOptions) -> tuple[CapturedGeneration, ...]:
    """Parse a capture; ``InvalidCapture`` if the text is something else."""
    return JsonNode.parse(text).each("generations", lambda group: _generation(group, reading))


def _generation(group: JsonNode, reading: DecodeOptions) -> CapturedGeneration:
    number, leader = group.value("generation"), group.value("leader")
    return CapturedGeneration(
        number, group.each("members", lambda member: _member_row(number, leader, member, reading))
    )


def _member_row(number: Any, leader: Any, member: JsonNode, reading: DecodeOptions) -> dict[str, Any]:
    name = member.value("member_id")
    return {
        "generation": number,
        "leader": name is not None and name == leader,
        "member_id": name,
        "client_id": member.value("client_id"),
        "subscription": _decode_field("member-subscription", member.value("subscription"), reading),
        # A generation without a completed SyncGroup has empty assignments.
        "assignment": _decode_field("member-assignment", assignment, reading)
        if (assignment := member.value("assignment"))
        else None,
    }


def _decode_field(kind: str, value: object, reading: DecodeOptions) -> dict[str, Any]:
    try:
        return decode_or_error(kind, parse_hex(value), reading)
    except BadLine as error:
        return error_object(error)


# -- tables ----------------------------------------------------------------------------------------------------------


def print_capture(name: str, generations: Iterable[CapturedGeneration]) -> None:
    """Print the tables of a capture."""
    SafeConsole(highlight=False).print(Text(printable(name)), render_capture(generations))


def render_capture(generations: Iterable[CapturedGeneration]) -> Group:
    """Render a table per generation; fits 120 columns."""
    return Group(*(_table(generation) if generation.rows else _title(generation) for generation in generations))


class _UserdataCell(NamedTuple):
    """The userdata of one message of a row."""

    fields: dict[str, Any]
    """The decoded fields by name; empty if they cannot be decoded."""

    version: Text
    """Used and supported version, or the error."""


_Column = Callable[[_UserdataCell, _UserdataCell], "str | Text"]
_COLUMNS: Final[dict[str, _Column]] = {
    "sends": lambda sent, _: sent.version,
    "has": lambda sent, _: _previous_tasks(sent.fields),
    "gets": lambda _, got: got.version,
    "active tasks": lambda _, got: _tasks(got.fields.get("activeTasks", ())),
    "standby tasks": lambda _, got: _tasks(task for task, _ in got.fields.get("standbyTasks", ())),
    "error": lambda sent, got: _error(sent.fields.get("errorCode"), got.fields.get("errCode")),
    "next rebalance": lambda _, got: _time(got.fields.get("nextRebalanceMs", NO_FOLLOW_UP)),
}


def _table(generation: CapturedGeneration) -> Table:
    table = Table("member", *_COLUMNS, title=_title(generation), title_justify="left", box=box.SIMPLE_HEAD, padding=0)
    table.columns[0].max_width = 30
    table.columns[0].overflow = "fold"
    for row in generation.rows:
        sent, got = _userdata_cell(row["subscription"]), _userdata_cell(row["assignment"])
        name = printable(str(row["client_id"] or row["member_id"])).removesuffix("-consumer")
        member = Text(f"{name} (leader)", style="bold") if row["leader"] else Text(name)
        table.add_row(member, *(column(sent, got) for column in _COLUMNS.values()))
    return table


def _title(generation: CapturedGeneration) -> Text:
    empty = "" if generation.rows else ": no members"
    return Text(f"generation {printable(str(generation.number))}{empty}", style="bold cyan")


def _userdata_cell(message: dict[str, Any] | None) -> _UserdataCell:
    """Take the userdata out of a message."""
    userdata = message if message is None or "error" in message else message["fields"]["userData"]
    match userdata:
        case None:
            return _UserdataCell({}, Text("–"))
        case {"error": str() as error}:
            return _UserdataCell({}, Text(error, style="red"))
        case {"version": version, "latestSupportedVersion": supported}:
            return _UserdataCell({}, Text(f"{version}/{supported}", style="yellow"))
    fields = userdata["fields"]
    supported = fields.get("latestSupported")
    return _UserdataCell(fields, Text(str(fields["version"]) + (f"/{supported}" if supported is not None else "")))


def _previous_tasks(fields: dict[str, Any]) -> str:
    """Count the previous tasks in a subscription; from version 7 on, the offset sums."""
    if "taskOffsetSums" in fields:
        return f"{len(fields['taskOffsetSums'])} sums"
    return f"{len(fields['prevTasks'])} + {len(fields['standbyTasks'])} standby" if fields else ""


def _tasks(tasks: Iterable[list[Any]], most: int = 12) -> Text:
    """Write the tasks, each once (an assignment repeats a task that has several partitions)."""
    names = [
        printable("".join(f"{name}__" for name in topology if name) + f"{subtopology}_{partition}")
        for subtopology, partition, *topology in sorted(tasks, key=lambda task: task[:2])
    ]
    names = list(dict.fromkeys(names))
    return Text(" ".join(names[:most]) + (f" … ({len(names)})" if len(names) > most else ""))


def _error(sent: int | None, got: int | None) -> str:
    """Write the received error code, and the sent one unless it is 0."""
    return (f"sent {sent} " if sent else "") + ("" if got is None else str(got))


def _time(milliseconds: int) -> str:
    if milliseconds == NO_FOLLOW_UP:
        return ""
    try:
        return (
            f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S}" if milliseconds else "immediately"
        )
    except (OSError, OverflowError, ValueError):
        return str(milliseconds)
