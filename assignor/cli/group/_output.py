"""The forms of output of ``streams-assignor group``: tables, JSON, YAML and Markdown."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, Protocol

import click

from streams_assignor.cli.group.watch import ChangeTracker, Look, ProblemClock, error_text
from streams_assignor.formats.block_yaml import to_yaml
from streams_assignor.formats.openmetrics import exposition
from streams_assignor.formats.text import as_markdown, join_names
from streams_assignor.groups import FindingSeverity, InspectedGroup, finding_text, group_progress, progress_text
from streams_assignor.groups.offsets import group_gauges, lag_json, lag_summary


class Output(Protocol):
    """A form of output."""

    def show(self, groups: Sequence[InspectedGroup]) -> None:
        """Show groups once."""
        ...

    def watch(self, results: Iterator[Look], problems: ProblemClock, nothing: str) -> None:
        """Show each look until Ctrl-C; ``nothing`` is shown until there is a first group."""
        ...


def summary(group: InspectedGroup) -> str:
    """Return one line on how far a group is."""
    return progress_text(group_progress(group), int(1000 * time.time()))


def group_document(group: InspectedGroup) -> dict[str, Any]:
    """Return a group as plain values; docs/reference/group.md lists the keys."""
    progress = group_progress(group)
    return {
        **group.as_json(),
        "progress": {
            "text": summary(group),
            "members": progress.members,
            "on_releases": progress.on_releases,
            "releases": progress.releases or None,
            "waiting_for": [*progress.waiting_for, *progress.unconfirmed],
            "next_rebalance": progress.next_rebalance.value if progress.next_rebalance else None,
            "next_rebalance_ms": progress.next_rebalance_ms,
        },
        "lag": lag_json(group),
    }


# -- for programs ----------------------------------------------------------------------------------------------------


class DocumentOutput:
    """One group as an object, all groups as a list; when watching, an object per refresh with the time."""

    def __init__(self, everything: bool, write: Callable[[Any], str], write_refresh: Callable[[Any], str]) -> None:
        self._everything = everything
        self._write = write
        self._write_refresh = write_refresh

    def show(self, groups: Sequence[InspectedGroup]) -> None:
        documents = [group_document(group) for group in groups]
        click.echo(self._write(documents if self._everything else documents[0]), nl=False)

    def watch(self, results: Iterator[Look], problems: ProblemClock, _nothing: str) -> None:
        for look in results:
            problems.update(look.groups)
            refresh = {"time": round(time.time(), 3), **self._refresh(look)}
            click.echo(self._write_refresh(refresh), nl=False)
            sys.stdout.flush()

    def _refresh(self, look: Look) -> dict[str, Any]:
        if look.error:
            return {"error": type(look.error).__name__, "message": error_text(look.error)}
        documents = [group_document(group) for group in look.groups]
        return {"groups": documents, "failures": [*look.failures]} if self._everything else documents[0]


# -- for people ------------------------------------------------------------------------------------------------------


class TableOutput:
    """Tables; when watching, a terminal redraws them, and other output shows only the changes."""

    def __init__(self, everything: bool) -> None:
        from streams_assignor.formats.console import SafeConsole

        self._everything = everything
        self._console = SafeConsole(highlight=False)

    def show(self, groups: Sequence[InspectedGroup]) -> None:
        self._console.print(self._render(groups))

    def watch(self, results: Iterator[Look], problems: ProblemClock, nothing: str) -> None:
        from streams_assignor.cli.group import _tables

        tracker = ChangeTracker(self._everything)
        with _tables.live_display(self._console) as draw:
            for look in results:
                problems.update(look.groups)
                news = tracker.update(look, problems.lasting)
                picture = self._render(tracker.groups) if tracker.groups else nothing
                draw(picture, news)

    def _render(self, groups: Sequence[InspectedGroup]) -> Any:
        from streams_assignor.cli.group import _tables

        if self._everything:
            return _tables.render_overview(groups, self._console.width)
        return _tables.render_group(groups[0], summary(groups[0]))


# -- for tickets and run books ---------------------------------------------------------------------------------------


class MarkdownOutput:
    """A section with tables for one group, one table for all groups."""

    def __init__(self, everything: bool) -> None:
        self._everything = everything

    def show(self, groups: Sequence[InspectedGroup]) -> None:
        click.echo(_overview_markdown(groups) if self._everything else _group_markdown(groups[0]))

    def watch(self, _results: Iterator[Look], _problems: ProblemClock, _nothing: str) -> None:
        raise click.UsageError("expected -o table, json or yaml with --watch, got markdown")


def _overview_markdown(groups: Sequence[InspectedGroup]) -> str:
    rows = [
        (
            group.described.name,
            group.described.type,
            group.described.state,
            group.described.protocol,
            "?" if group.described.hides_members else str(len(group.members)),
            lags.sum_text if (lags := lag_summary(group)) else "",
            str(len(group.problems)),
            summary(group),
        )
        for group in groups
    ]
    return markdown_table(("group", "type", "state", "protocol", "members", "lag", "problems", "summary"), rows)


def _group_markdown(group: InspectedGroup) -> str:
    lines = [f"## {as_markdown(group.described.name)}", "", as_markdown(summary(group)), ""]
    if group.members:
        rows = [_member_row(group, shown) for shown in group.as_json()["members"]]
        lines += [markdown_table([*rows[0]], [[*row.values()] for row in rows]), ""]
    if lags := lag_summary(group):
        lines += [f"Lag: {as_markdown(lags.text)}", ""]
    lines += [
        f"- {'**problem**' if finding.severity is FindingSeverity.PROBLEM else 'notice'} `{finding.code}`: "
        f"{as_markdown(finding_text(finding))}"
        for finding in group.findings
    ]
    return "\n".join(lines).rstrip()


def _member_row(group: InspectedGroup, shown: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of a member in Markdown, by their titles; those in the middle depend on the protocol."""
    place = {"member": shown["name"], "client": shown["client_id"], "host": shown["host"].removeprefix("/")}
    tasks = {
        "active": " ".join(shown["active"] or shown["partitions"]),
        "standby": " ".join(shown["standby"]),
        "warm-up": " ".join((*shown["warm_up"], *shown["standby_or_warm_up"])),
    }
    if group.described.broker:
        return {**place, "epoch": str(shown["epoch"]), **tasks, "waits for": _awaited_text(shown["awaited"] or ())}
    sent = shown["used_version"]
    supported = "?" if shown["supported_version"] is None else shown["supported_version"]
    versions = "" if sent is None else f"{sent} / {supported}"
    return {**place, "sends / supports": versions, "releases": shown["releases"] or "", **tasks}


def _awaited_text(awaited: Iterable[Mapping[str, Any]]) -> str:
    parts = []
    for holders, entries in groupby(awaited, key=lambda entry: entry["holders"]):
        source = f" from {join_names(holders)}" if holders else ""
        parts.append(" ".join(entry["name"] for entry in entries) + source)
    return ", ".join(parts)


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with escaped cells."""
    lines = [columns, ["---"] * len(columns), *([as_markdown(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# -- for Prometheus --------------------------------------------------------------------------------------------------


class MetricsOutput:
    """OpenMetrics: a gauge for each number."""

    def __init__(self, everything: bool) -> None:
        pass

    def show(self, groups: Sequence[InspectedGroup]) -> None:
        click.echo(exposition(group_gauges(groups)), nl=False)

    def watch(self, _results: Iterator[Look], _problems: ProblemClock, _nothing: str) -> None:
        raise click.UsageError("expected -o table, json or yaml with --watch, got openmetrics")


def _write_json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def _write_json_line(value: Any) -> str:
    return json.dumps(value) + "\n"


OUTPUTS: Final[Mapping[str, Callable[[bool], Output]]] = {
    "table": TableOutput,
    "json": lambda everything: DocumentOutput(everything, _write_json, _write_json_line),
    "yaml": lambda everything: DocumentOutput(everything, to_yaml, lambda value: f"---\n{to_yaml(value)}"),
    "markdown": MarkdownOutput,
    "openmetrics": MetricsOutput,
}
"""The renderers by the value of ``--output``; called with whether all groups are shown."""
