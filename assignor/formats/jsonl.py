"""Conversion of standard input, line by line, to JSON lines."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from streams_assignor.codec import DecodeError, StreamsAssignorError
from streams_assignor.formats.progress import step
from streams_assignor.formats.text import truncate
from streams_assignor.upgrade.input_values import InvalidInput, parse_json, read_lines

Result = dict[str, Any]


class BadLine(StreamsAssignorError, ValueError):
    """A line that the command cannot read."""


def stdin_lines() -> Iterator[str]:
    """Iterate over standard input; bytes that are not text are replaced. To wait for a line is no step.

    Raises:
        InvalidInput: A line is longer than any message.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # such bytes then appear in an error message
    # sys.stdin is None if the shell closed it.
    given = read_lines(sys.stdin) if sys.stdin else iter(())
    while True:
        step("")
        line = next(given, None)
        if line is None:
            return
        yield line


def json_object(line: str) -> Result:
    """Parse a line that is a JSON object; ``BadLine`` if it is not."""
    try:
        given = parse_json(line)
    except InvalidInput:
        given = None
    if not isinstance(given, dict):
        raise BadLine(f"expected a JSON object, got {line.strip()[:40]!r}")
    return given


def error_object(error: Exception) -> Result:
    """Return the JSON object that replaces the result of a rejected line."""
    named = {"error": type(error).__name__, "message": truncate(str(error))}
    return named | ({"offset": error.offset, "field": error.field} if isinstance(error, DecodeError) else {})


def is_error_object(result: Result) -> bool:
    """Return whether a result is an error object."""
    return "error" in result


def convert_lines(
    lines: Iterable[str],
    convert: Callable[[str], Result],
    *,
    jsonl: bool,
    expected_errors: tuple[type[Exception], ...],
    is_failure: Callable[[Result], bool] = is_error_object,
    text: Callable[[Result], str] | None = None,
) -> bool:
    """Convert lines and print the results; a line that cannot be converted becomes an error object.

    Args:
        lines: blank ones are skipped.
        convert: converts one line.
        jsonl: print one line each, also on a terminal.
        expected_errors: exceptions of `convert` that become error objects; ``BadLine`` always does.
        is_failure: whether a result counts as rejected.
        text: renders a result for people.

    Returns:
        Whether any line was rejected.
    """
    indent = None if jsonl or not sys.stdout.isatty() else 2
    reasons: tuple[type[Exception], ...] = (BadLine, *expected_errors)
    failed = False
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        step(f"converting line {number}")
        try:
            result = convert(line)
        except reasons as error:
            result = error_object(error)
        failed |= is_failure(result)
        print(text(result) if text and not is_error_object(result) else json.dumps(result, indent=indent), flush=True)
    return failed
