"""Lines in, JSON lines out: what the commands that convert standard input line by line have in common."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import click

from assignor.cli import shortened
from subscription_codec import DecodeError

Result = dict[str, Any]

JSONL: Final = click.option(
    "--jsonl", is_flag=True, help="JSON lines even on a terminal; refused lines are rows and the exit status stays 0."
)


class BadLine(ValueError):
    """Input that is not what the command reads."""


def stdin_lines() -> Iterator[str]:
    """Read standard input, whatever the bytes are."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # bytes that are no text belong into an error message
    # Python has no stdin if the shell has closed it.
    return iter(getattr(sys, "stdin", None) or ())


def json_object(line: str) -> Result:
    """Read a line that is a JSON object."""
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise BadLine(f"expected a JSON object, got {line.strip()[:40]!r}")
    return given


def refusal(error: Exception) -> Result:
    """Return the object that stands in the place of what was refused."""
    named = {"error": type(error).__name__, "message": shortened(str(error))}
    return named | ({"offset": error.offset, "field": error.field} if isinstance(error, DecodeError) else {})


def is_error(result: Result) -> bool:
    """Say whether something was refused."""
    return "error" in result


def each_line(
    lines: Iterable[str],
    convert: Callable[[str], Result],
    *,
    jsonl: bool,
    errors: tuple[type[Exception], ...],
    is_refused: Callable[[Result], bool] = is_error,
    text: Callable[[Result], str] | None = None,
) -> bool:
    """Convert line by line and print the results; one that cannot be converted becomes an error object.

    ``errors`` are the reasons for that, ``text`` is another form for people. Return whether any line was refused.
    """
    indent = None if jsonl or not sys.stdout.isatty() else 2
    reasons: tuple[type[Exception], ...] = (BadLine, *errors)
    failed = False
    for line in lines:
        if line.isspace():
            continue
        try:
            result = convert(line)
        except reasons as error:
            result = refusal(error)
        except RecursionError:
            result = refusal(BadLine("the line is nested too deeply"))
        failed |= is_refused(result)
        click.echo(text(result) if text and not is_error(result) else json.dumps(result, indent=indent))
    return failed


def aligned(rows: Sequence[Sequence[str]], right: int = 0) -> str:
    """Write a plain table, the last column as long as it is; the first ``right`` columns are numbers."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return "\n".join(
        "  ".join(
            [
                *(
                    cell.rjust(width) if at < right else cell.ljust(width)
                    for at, (cell, width) in enumerate(zip(row, widths, strict=False))
                ),
                row[-1],
            ]
        ).rstrip()
        for row in rows
    )
