"""The program itself: its options, the events it prints, the columns it writes, its tests by requirement."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import click

from assignor.observability.event_fields import EVENT_FIELDS
from blocks.markdown import DOCS, table
from spark_sim.cli.main import cli
from spark_sim.pipeline.tables.schema import TABLES

FEATURE_TESTS: Final = ("tests/upgrade", "tests/integration", "tests/assignor", "tests/spark_sim")
COMMANDS: Final = (
    *("userdata decode", "userdata explain", "assign", "plan", "release"),
    *("replay", "sweep", "report", "member", "bounce"),
)
"""Commands whose options are listed; the others have the same ones."""

_NAMED_BY_ROW: Final = re.compile(r"def test_([a-z])(\d+)_(\w+)")


def options(*path: str) -> str:
    """List the options of a command by their current names; older names are aliases."""
    command: Any = cli
    for name in path:
        command = command.get_command(click.Context(command), name)
    found = [each for each in command.params if isinstance(each, click.Option)]
    rows = [(f"`{each.opts[0]}`", _default(each), each.help or "") for each in found]
    return table(("option", "default", ""), rows)


def _default(option: click.Option) -> str:
    if option.required:
        return "required"
    return f"`{option.default}`" if option.show_default else ""


def events() -> str:
    """List what a member process prints."""
    rows = []
    for event, written in EVENT_FIELDS.items():
        if written.line:
            keys = [f"`{field.key}`" for field in written.fields if field.key]
            rows.append(
                (f"`{written.line}`", ", ".join(keys), written.meaning or (event.__doc__ or "").partition("\n")[0])
            )
    return table(("`event`", "further keys", "means"), rows)


def requirements() -> str:
    """List the tests of each row of the requirements; a test's name begins with its row."""
    found: dict[tuple[str, int], list[str]] = {}
    for path in sorted(path for folder in FEATURE_TESTS for path in (DOCS.parent / folder).rglob("test_*.py")):
        link = path.relative_to(DOCS.parent).as_posix()
        for letter, number, name in _NAMED_BY_ROW.findall(path.read_text(encoding="utf-8")):
            test = f"[{name.replace('_', ' ')}](../../{link})"
            found.setdefault((letter.upper(), int(number)), []).append(test)
    rows = [(f"{letter}{number}", "<br>".join(found[letter, number])) for letter, number in sorted(found)]
    return table(("row", "tests"), rows)


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "columns": lambda: "\n\n".join(each.markdown() for each in TABLES.values()),
    "events": events,
    "requirements": requirements,
    **{f"options of {command}": partial(options, *command.split()) for command in COMMANDS},
}
