"""Captures: what every member of a group sent and received, generation by generation, as rows and as tables.

A capture is a JSON file with the records of ``__consumer_offsets``; docs/guide/conformance.md describes it. Here every
member is shown, whatever else is broken; ``spark_sim.conform.capture`` is the reader that refuses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from assignor.cli.blobs import Reading, blob_of_hex, described_or_refused, printable
from assignor.cli.lines import BadLine, refusal
from subscription_codec import NO_REBALANCE

EXPECTED: Final = 'a capture ({"generations": [{"generation", "leader", "members": [...]}]})'


class Generation(NamedTuple):
    """One generation of a group: its number, and a row (what is printed as a JSON line) for each member."""

    number: Any
    rows: Sequence[dict[str, Any]]


def generations(text: str, reading: Reading) -> list[Generation]:
    """Read a capture; ``BadLine`` if the text is none."""
    try:
        capture = json.loads(text)
    except (ValueError, RecursionError):
        raise BadLine("no JSON") from None
    groups = _items(capture, "generations")
    return [
        Generation(group.get("generation"), [_row(group, member, reading) for member in _items(group, "members")])
        for group in groups
    ]


def _items(given: Any, name: str) -> list[dict[str, Any]]:
    items = given.get(name) if isinstance(given, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise BadLine(f'no "{name}", which is a list of objects')
    return items


def _row(group: dict[str, Any], member: dict[str, Any], reading: Reading) -> dict[str, Any]:
    name = member.get("member_id")
    return {
        "generation": group.get("generation"),
        "leader": name is not None and name == group.get("leader"),
        "member_id": name,
        "client_id": member.get("client_id"),
        "subscription": _blob("member-subscription", member.get("subscription"), reading),
        # A generation that is not settled yet, or that nobody is left in, has empty assignments.
        "assignment": _blob("member-assignment", given, reading) if (given := member.get("assignment")) else None,
    }


def _blob(kind: str, given: object, reading: Reading) -> dict[str, Any]:
    try:
        return described_or_refused(kind, blob_of_hex(given), reading)
    except BadLine as error:
        return refusal(error)


# -- for the eye -----------------------------------------------------------------------------------------------------


def show(name: str, found: Iterable[Generation]) -> None:
    """Print the tables of a capture."""
    Console(highlight=False).print(Text(printable(name)), picture(found))


def picture(found: Iterable[Generation]) -> Group:
    """Draw a table per generation; fits 120 columns."""
    return Group(*(_table(generation) if generation.rows else _title(generation) for generation in found))


class _Said(NamedTuple):
    """The userdata of a row as its columns need it: fields by name, and what stands there instead of a version."""

    fields: dict[str, Any]
    version: Text


_Column = Callable[[_Said, _Said], "str | Text"]
_COLUMNS: Final[dict[str, _Column]] = {
    "sends": lambda sent, _: sent.version,
    "has": lambda sent, _: _previous(sent.fields),
    "gets": lambda _, got: got.version,
    "active tasks": lambda _, got: _tasks(got.fields.get("activeTasks", ())),
    "standby tasks": lambda _, got: _tasks(task for task, _ in got.fields.get("standbyTasks", ())),
    "error": lambda sent, got: _error(sent.fields.get("errorCode"), got.fields.get("errCode")),
    "next rebalance": lambda _, got: _time(got.fields.get("nextRebalanceMs", NO_REBALANCE)),
}


def _table(generation: Generation) -> Table:
    table = Table("member", *_COLUMNS, title=_title(generation), title_justify="left", box=box.SIMPLE_HEAD, padding=0)
    table.columns[0].max_width = 30
    table.columns[0].overflow = "fold"
    for row in generation.rows:
        sent, got = _said(row["subscription"]), _said(row["assignment"])
        name = printable(str(row["client_id"] or row["member_id"])).removesuffix("-consumer")
        member = Text(f"{name} (leader)", style="bold") if row["leader"] else Text(name)
        table.add_row(member, *(column(sent, got) for column in _COLUMNS.values()))
    return table


def _title(generation: Generation) -> Text:
    nobody = "" if generation.rows else ": no members"
    return Text(f"generation {printable(str(generation.number))}{nobody}", style="bold cyan")


def _said(message: dict[str, Any] | None) -> _Said:
    """Take the userdata out of a message: ``used/supported``, or the name of what is wrong."""
    userdata = message if message is None or "error" in message else message["fields"]["userData"]
    match userdata:
        case None:
            return _Said({}, Text("–"))
        case {"error": str() as error}:
            return _Said({}, Text(error, style="red"))
        case {"version": version, "latestSupportedVersion": supported}:
            return _Said({}, Text(f"{version}/{supported}", style="yellow"))
    fields = userdata["fields"]
    supported = fields.get("latestSupported")
    return _Said(fields, Text(str(fields["version"]) + (f"/{supported}" if supported is not None else "")))


def _previous(fields: dict[str, Any]) -> str:
    """Count what a member says it has: tasks up to version 6, offset sums from version 7 on."""
    if "taskOffsetSums" in fields:
        return f"{len(fields['taskOffsetSums'])} sums"
    return f"{len(fields['prevTasks'])} + {len(fields['standbyTasks'])} standby" if fields else ""


def _tasks(tasks: Iterable[list[Any]], most: int = 12) -> Text:
    """Name the tasks, each once (an assignment repeats a task that has several partitions)."""
    names = [
        printable("".join(f"{name}__" for name in topology if name) + f"{subtopology}_{partition}")
        for subtopology, partition, *topology in sorted(tasks, key=lambda task: task[:2])
    ]
    names = list(dict.fromkeys(names))
    return Text(" ".join(names[:most]) + (f" … ({len(names)})" if len(names) > most else ""))


def _error(sent: int | None, got: int | None) -> str:
    """Show the leader's error code; a member's own only if it has one."""
    return (f"sent {sent} " if sent else "") + ("" if got is None else str(got))


def _time(milliseconds: int) -> str:
    if milliseconds == NO_REBALANCE:
        return ""
    try:
        return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S}" if milliseconds else "at once"
    except (OSError, OverflowError, ValueError):
        return str(milliseconds)
