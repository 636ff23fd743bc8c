"""The output of ``streams-assignor audit``: the groups that need attention, with their findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from streams_assignor.formats.text import sanitize
from streams_assignor.upgrade.redaction import hide_credentials

if TYPE_CHECKING:
    from rich.console import Group as RichGroup
    from rich.table import Table

    from streams_assignor.spark_sim.audit.job import Audit

_SHOWN_GROUPS: Final = 10
_SHOWN_FINDINGS: Final = 3
_WIDE: Final = 100
"""Columns of a terminal that has room for all columns of the table."""
_WIDE_COLUMNS: Final = ("members", "type", "state")
_NUMBERS: Final = ("rebalances", "members")
_LEAST_NAME: Final = 20
_GAP: Final = 2
_SIGNS: Final = {"problem": ("✗", "red"), "notice": ("!", "yellow")}
_SHOWN_PROBLEMS: Final = 5


def show(audit: Audit, out: str) -> None:
    """Print the summary of an audit whose results are in ``out``."""
    from streams_assignor.formats.console import SafeConsole

    console, out = SafeConsole(), hide_credentials(out)
    rebalances = audit.groups.total("generations")
    interval = f"{_time(audit.first_time)} to {_time(audit.last_time)} UTC"
    console.print(f"{len(audit.groups)} groups, {rebalances} rebalances, {interval}", highlight=False)
    console.print(groups_table(audit, console.width))
    hidden = len(audit.groups) - _SHOWN_GROUPS
    if hidden > 0:
        console.print(f"{hidden} more groups are in {out}/report.html", highlight=False, markup=False, soft_wrap=True)
    if audit.unverified:
        console.print(f"checksums: not verified, {audit.unverified}", highlight=False, markup=False, soft_wrap=True)
    for line in () if audit.conformance is None else _conformance_lines(audit.conformance):
        console.print(_one_line(line), highlight=False, markup=False, soft_wrap=True)
    for problem in audit.problems[:_SHOWN_PROBLEMS]:
        click.echo(f"warning: {sanitize(problem)}", err=True)
    if len(audit.problems) > _SHOWN_PROBLEMS:
        click.echo(f"warning: {len(audit.problems) - _SHOWN_PROBLEMS} more, see audit.json", err=True)
    if not audit.is_complete:
        click.echo("warning: the audit is not complete: a part of the source is damaged or missing", err=True)
    console.print(f"tables, audit.json and report.html are in {out}", highlight=False, markup=False, soft_wrap=True)


def _conformance_lines(compared: Mapping[str, Any]) -> Iterator[str]:
    bounces, comparable, first = compared["bounces"], compared["comparable"], compared["first_difference"]
    share = f" ({comparable / bounces:.0%})" if bounces else ""
    line = f"{bounces} rolling bounces; {comparable} comparable{share}; {compared['differ']} differ"
    yield line + (f", the first in generation {first['differs_in']} of {first['group']}" if first else "")
    if first:
        member = f"{first['member']} " if first["member"] else ""
        yield f"  {member}{first['fact']}: expected {first['expected']}, observed {first['observed']}"
    for reason, count in compared["not_comparable"].items():
        yield f"  {count} not comparable: {reason}"


def groups_table(audit: Audit, width: int) -> RichGroup:
    """Return a row for each group, with its findings below it: a sentence needs the whole width."""
    from rich.console import Group as RichGroup

    groups = audit.groups[:_SHOWN_GROUPS]
    columns = {name: column for name, column in _COLUMNS.items() if width >= _WIDE or name not in _WIDE_COLUMNS}
    cells = [[_one_line(cell(group)) for cell in columns.values()] for group in groups]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    widths[0] = min(widths[0], max(_LEAST_NAME, width - sum(widths[1:]) - _GAP * len(widths)))
    lines: list[Any] = [_line(list(columns), widths, "bold")]
    for group, row in zip(groups, cells, strict=True):
        lines.append(_line(row, widths))
        findings = sorted(group["findings"], key=lambda finding: finding["severity"] != "problem")
        for finding in findings[:_SHOWN_FINDINGS]:
            sign, style = _SIGNS[finding["severity"]]
            lines.append(_sentence(sign, finding["text"], style))
        if len(findings) > _SHOWN_FINDINGS:
            lines.append(_sentence("", f"{len(findings) - _SHOWN_FINDINGS} more findings"))
    return RichGroup(*lines)


def _line(cells: list[str], widths: list[int], style: str = "") -> Table:
    from rich.table import Table
    from rich.text import Text

    line = Table.grid(padding=(0, _GAP, 0, 0))
    for name, width in zip(_COLUMNS, widths, strict=False):
        line.add_column(width=width, overflow="fold", justify="right" if name in _NUMBERS else "left")
    line.add_row(*(Text(cell, style) for cell in cells))
    return line


def _sentence(sign: str, text: str, style: str = "") -> Table:
    from rich.table import Table
    from rich.text import Text

    line = Table.grid()
    line.add_column(width=2 * _GAP, justify="center")
    line.add_column(overflow="fold")
    line.add_row(Text(sign, style), Text(_one_line(text), style))
    return line


def _one_line(text: str) -> str:
    return sanitize(text).replace("\n", r"\n")


def _most_frequent_cause(group: dict[str, Any]) -> str:
    causes = Counter(group["causes"]).most_common(1)
    return f"{causes[0][0]} ({causes[0][1]})" if causes else ""


_COLUMNS: Final[Mapping[str, Callable[[dict[str, Any]], str]]] = {
    "group": lambda group: str(group["group"]),
    "rebalances": lambda group: str(group["generations"]),
    "most frequent cause": _most_frequent_cause,
    "members": lambda group: str(group["members"]),
    "type": lambda group: str(group["type"]),
    "state": lambda group: str(group["last_state"]),
}


def _time(moment: int | None) -> str:
    if moment is None or moment < 0:
        return "?"
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
