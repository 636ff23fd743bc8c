"""``streams-assignor userdata``: decode, encode and explain rebalance metadata."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Final, TextIO

import click

from streams_assignor.cli.params import JSONL
from streams_assignor.cli.single_values import CommandGroup
from streams_assignor.codec import LATEST_SUPPORTED_VERSION, AnnotatedField, CodecError, EncodeError, Subscription
from streams_assignor.codec.quirks import imitate_release
from streams_assignor.formats.jsonl import BadLine, convert_lines, json_object, stdin_lines
from streams_assignor.formats.metadata_json import (
    METADATA_KINDS,
    DecodeOptions,
    decode_or_error,
    encode_from_json,
    explain_parts,
    has_error,
    parse_base64,
    parse_bytes,
    parse_hex,
)
from streams_assignor.formats.text import format_table, printable
from streams_assignor.upgrade.input_values import MAX_CAPTURE_BYTES, open_input, read_all, read_lines

_ENCODINGS: Final = {"hex": parse_hex, "base64": parse_base64}
_LINE_FORMATS: Final = 'lines of {"kind": ..., "hex": ...}, or of hex or base64 with --kind'


def _checked_release(_context: click.Context, _option: click.Parameter, release: str | None) -> str | None:
    try:
        imitate_release(release or "0", Subscription())
    except EncodeError as error:
        raise click.BadParameter(error.problem) from None
    return release


_kind = click.option(
    "--kind", type=click.Choice(METADATA_KINDS), help="The kind of bare hex or base64; JSON lines contain their kind."
)
_supported = click.option(
    "--supported",
    type=click.IntRange(1, LATEST_SUPPORTED_VERSION),
    default=LATEST_SUPPORTED_VERSION,
    show_default=True,
    help="Decode like a member with this latest supported version.",
)
_strict = click.option("--strict", is_flag=True, help="Reject bytes after the last field, which Kafka ignores.")
_as_release = click.option(
    "--as-release",
    metavar="RELEASE",
    callback=_checked_release,
    help="Encode exactly like this release of Kafka, such as 1.1.1.",
)


class InputFile(click.File):
    """A file, a pipe or - for standard input; a pipe without a writer is at its end, and not waited for."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Open the file as text."""
        if value == "-":
            return super().convert(value, param, ctx)
        try:
            file = io.TextIOWrapper(open_input(Path(value)), self.encoding, self.errors)
        except OSError as error:
            self.fail(f"{value!r}: {error.strerror}", param, ctx)
        if ctx is not None:
            ctx.call_on_close(file.close)
        return file


@click.group(cls=CommandGroup)
def userdata() -> None:
    """Decode, encode and explain the userdata of subscriptions and assignments.

    Kind subscription or assignment is the userdata alone; member-subscription or member-assignment is the whole
    consumer-protocol message around it, as a broker returns it. Where userdata is expected, a whole message is
    recognized too.

    \b
    Examples:
      echo '{"kind": "subscription", "hex": "0000000c0000000c0000"}' | streams-assignor userdata decode
      echo '{"kind": "assignment", "fields": {"version": 1}}' | streams-assignor userdata encode
      streams-assignor userdata explain --kind assignment 000000010000000000000000
    """  # noqa: D301 - click reads the backspace character


@userdata.command()
@click.argument("files", metavar="[FILE]...", type=InputFile(encoding="utf-8-sig", errors="replace"), nargs=-1)
@_kind
@_supported
@_strict
@JSONL
def decode(files: tuple[TextIO, ...], kind: str | None, supported: int, strict: bool, jsonl: bool) -> None:
    """Read lines of {"kind": ..., "hex": ...} or bare hex or base64, print one JSON object each.

    A FILE holds such lines or is a capture, which gives a line per generation and member; on a terminal, tables.
    Without FILE the lines come from standard input.

    \b
    Examples:
      echo 000000010000000000000000 | streams-assignor userdata decode --kind assignment
      echo '{"kind": "member-assignment", "base64": "AAAAAAAA/////w=="}' | streams-assignor userdata decode
      streams-assignor userdata decode --jsonl --strict blobs.jsonl
      streams-assignor userdata decode tests/captures/2.0.1-to-2.3.1.json
    """  # noqa: D301 - click reads the backspace character
    reading = DecodeOptions(supported, strict)

    def converted(line: str) -> dict[str, Any]:
        return decode_or_error(*_parse_line(line, kind), reading)

    failed = False
    for file in files:
        failed |= _decode_file(file, converted, reading, jsonl)
    if not files:
        failed = _convert_lines(stdin_lines(), converted, jsonl)
    sys.exit(int(failed and not jsonl))


@userdata.command()
@_as_release
@JSONL
def encode(as_release: str | None, jsonl: bool) -> None:
    """Read lines of {"kind": ..., "fields": {...}}, print {"hex": ...} each. The reverse of decode.

    In a member-subscription or member-assignment "userData" is null, hex, or {"fields": {...}}.

    \b
    Examples:
      echo '{"kind": "assignment", "fields": {"version": 1}}' | streams-assignor userdata encode
      echo '{"kind": "subscription", "fields": {"version": 1}}' | streams-assignor userdata encode --as-release 1.1.1
    """  # noqa: D301 - click reads the backspace character

    def converted(line: str) -> dict[str, Any]:
        fields = json_object(line)
        if fields.get("kind") not in METADATA_KINDS or not isinstance(fields.get("fields"), dict):
            kinds = "|".join(f'"{kind}"' for kind in METADATA_KINDS)
            raise BadLine(f'expected {{"kind": {kinds}, "fields": {{...}}}}')
        return {"hex": encode_from_json(fields["kind"], fields["fields"], as_release).hex()}

    sys.exit(int(_convert_lines(stdin_lines(), converted, jsonl) and not jsonl))


@userdata.command(name="explain")
@_kind
@_supported
@click.argument("text", metavar="[HEX]", required=False)
def explain_(kind: str | None, supported: int, text: str | None) -> None:
    """Show each field of HEX (or of each line of standard input) with its offset, bytes and value.

    Lines are as for decode. Without a kind it is detected, and the first line names it. Fields of userdata
    inside a whole message begin with userData.

    \b
    Examples:
      streams-assignor userdata explain 000000010000000000000000
      streams-assignor userdata explain --kind assignment 000000010000000000000000
      streams-assignor userdata explain --kind member-assignment 000000000000ffffffff
    """  # noqa: D301 - click reads the backspace character
    failed = False
    for line in [text] if text is not None else stdin_lines():
        if line.isspace():
            continue
        try:
            its_kind, encoded = _parse_line_of_any_kind(line, kind, supported)
        except BadLine as error:
            raise click.UsageError(str(error)) from error
        table = _format_parts(explain_parts(its_kind, encoded, supported))
        result = decode_or_error(its_kind, encoded, DecodeOptions(supported))
        failed |= has_error(result)
        click.echo("\n".join([table, *_error_lines(table, result)]))
    sys.exit(int(failed))


def _error_lines(table: str, result: dict[str, Any]) -> Iterator[str]:
    """Yield the error unless the table shows it, and a hint what the input may be instead."""
    message = result.get("message", "")
    if message.partition(": ")[2] not in table:
        yield f"rejected: {message}"
    if "hint" in result:
        yield result["hint"]


def _decode_file(file: TextIO, convert: Callable[[str], dict[str, Any]], reading: DecodeOptions, jsonl: bool) -> bool:
    """Print the contents of a file; return whether any line was rejected."""
    lines = _read_lines(file)
    first = next((line for line in lines if not line.isspace()), "")
    if _is_line_format(first):
        return _convert_lines(chain([first], lines), convert, jsonl)
    from streams_assignor.cli import _captures  # imports rich, which lines do not need

    try:
        generations = _captures.parse_capture(first + _rest(file), reading)
    except _captures.InvalidCapture as error:
        raise click.UsageError(f"{file.name}: expected {_captures.EXPECTED} or {_LINE_FORMATS}; {error}") from error
    rows = [row for generation in generations for row in generation.rows]
    if jsonl or not sys.stdout.isatty():
        for row in rows:
            click.echo(json.dumps(row))
    else:
        _captures.print_capture(file.name, generations)
    return any(has_error(row[message] or {}) for row in rows for message in ("subscription", "assignment"))


def _read_lines(file: TextIO) -> Iterator[str]:
    with _named_errors(file):
        yield from read_lines(file, MAX_CAPTURE_BYTES)


def _rest(file: TextIO) -> str:
    with _named_errors(file):
        return read_all(file, file.name, MAX_CAPTURE_BYTES)


@contextmanager
def _named_errors(file: TextIO) -> Iterator[None]:
    """Report the errors of a file with its name, unlike those of the output."""
    try:
        yield
    except OSError as error:
        raise click.FileError(file.name, error.strerror) from error


def _is_line_format(text: str) -> bool:
    """Return whether the first line of a file shows that it consists of lines."""
    try:
        return not {"kind", *_ENCODINGS}.isdisjoint(json_object(text)) if _is_json(text) else parse_bytes(text) != b""
    except BadLine:
        return False


def _convert_lines(lines: Iterable[str], convert: Callable[[str], dict[str, Any]], jsonl: bool) -> bool:
    return convert_lines(lines, convert, jsonl=jsonl, expected_errors=(CodecError,), is_failure=has_error)


_DETECTED_KINDS: Final = ("subscription", "assignment")
"""Each is read with or without the message of the consumer protocol around it."""


def _parse_line(line: str, kind: str | None) -> tuple[str, bytes]:
    fields = json_object(line) if _is_json(line) else {}
    its_kind = fields.get("kind", kind)
    if its_kind not in METADATA_KINDS:
        kinds = "subscription or assignment, or one of them with member- in front"
        raise BadLine(f"expected kind {kinds} (in the line or as --kind), got {its_kind!r}")
    return its_kind, _bytes_of(line, fields)


def _bytes_of(line: str, fields: Mapping[str, Any]) -> bytes:
    """Return the bytes of a line; ``fields`` is its JSON object, empty for a line of hex or base64."""
    if not fields:
        return parse_bytes(line)
    for key, read in _ENCODINGS.items():
        if key in fields:
            return read(fields[key])
    raise BadLine(f"expected {' or '.join(map(repr, _ENCODINGS))} in the line")


def _parse_line_of_any_kind(line: str, kind: str | None, supported: int) -> tuple[str, bytes]:
    """Parse a line; without a kind, detect it and print what it is. Raises ``BadLine`` if the bytes fit no kind."""
    fields = json_object(line) if _is_json(line) else {}
    if kind is not None or fields.get("kind") is not None:
        return _parse_line(line, kind)
    encoded = _bytes_of(line, fields)
    results = {
        tried_kind: decode_or_error(tried_kind, encoded, DecodeOptions(supported, True))
        for tried_kind in _DETECTED_KINDS
    }
    problems = {tried_kind: _misfit(result) for tried_kind, result in results.items()}
    fitting = [tried_kind for tried_kind, problem in problems.items() if not problem]
    if not fitting:
        errors = "; ".join(f"as {tried_kind}: {problem}" for tried_kind, problem in problems.items())
        raise BadLine(f"expected a kind that these {len(encoded)} bytes fit, name one with --kind ({errors})")
    click.echo(f"read as {fitting[0]}" + (f"; the bytes fit --kind {fitting[1]} too" if fitting[1:] else ""))
    return fitting[0], encoded


def _misfit(result: dict[str, Any]) -> str:
    """Say why bytes are not of a kind; empty if they may be. Any number of bytes fits a version that no release has."""
    if has_error(result):
        return str(result.get("message"))
    for decoded in (result, result.get("fields", {}).get("userData")):
        if isinstance(decoded, Mapping) and decoded.get("future") and decoded["version"] > LATEST_SUPPORTED_VERSION:
            return f"version {decoded['version']}, which no release has (up to {LATEST_SUPPORTED_VERSION})"
    return ""


def _is_json(line: str) -> bool:
    return line.lstrip().startswith("{")


def _format_parts(parts: Iterable[AnnotatedField]) -> str:
    rows = [("offset", "bytes", "field", "value")]
    rows += [(str(part.offset), _format_bytes(part.raw), part.field, printable(part.value)) for part in parts]
    return format_table(rows, numeric_columns=1)


def _format_bytes(raw: bytes, most: int = 47) -> str:
    text = raw[:most].hex(" ")
    return text if len(text) <= most else text[: most - 4] + " ..."
