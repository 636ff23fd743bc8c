"""``streams-assignor userdata``: rebalance metadata between bytes, JSON and a person's eyes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, TextIO

import click

from assignor.cli.blobs import (
    KINDS,
    Reading,
    blob_of,
    blob_of_base64,
    blob_of_hex,
    described_or_refused,
    encoded,
    is_refused,
    parts,
    printable,
)
from assignor.cli.lines import JSONL, BadLine, aligned, each_line, json_object, stdin_lines
from subscription_codec import LATEST_SUPPORTED_VERSION, CodecError, EncodeError, Part, Subscription
from subscription_codec.quirks import as_written_by

_ENCODINGS: Final = {"hex": blob_of_hex, "base64": blob_of_base64}
_LINES: Final = 'lines of {"kind": ..., "hex": ...}, or of hex or base64 with --kind'


def _release(_context: click.Context, _option: click.Parameter, release: str | None) -> str | None:
    try:
        as_written_by(release or "0", Subscription())
    except EncodeError as error:
        raise click.BadParameter(error.problem) from None
    return release


_kind = click.option(
    "--kind", type=click.Choice(KINDS), help="What bare hex or base64 is; JSON lines say it themselves."
)
_supported = click.option(
    "--supported",
    type=click.IntRange(1, LATEST_SUPPORTED_VERSION),
    default=LATEST_SUPPORTED_VERSION,
    show_default=True,
    help="Read like a member whose latest supported version is this.",
)
_strict = click.option("--strict", is_flag=True, help="Refuse bytes behind the last field, which Kafka ignores.")
_as_release = click.option(
    "--as-release",
    metavar="RELEASE",
    callback=_release,
    help="Write what this release of Kafka would have written, such as 1.1.1.",
)


@click.group()
def userdata() -> None:
    """Decode, encode and explain the userdata of subscriptions and assignments.

    Kind subscription or assignment is the userdata alone, member-subscription or member-assignment the whole
    consumer-protocol message around it, as brokers hand it out. Where userdata is expected, a whole message is
    recognised too.

    \b
    Examples:
      echo '{"kind": "subscription", "hex": "0000000c0000000c0000"}' | streams-assignor userdata decode
      echo '{"kind": "assignment", "fields": {"version": 1}}' | streams-assignor userdata encode
      streams-assignor userdata explain --kind assignment 000000010000000000000000
    """  # noqa: D301 - click reads the backspace character


@userdata.command()
@click.argument("files", metavar="[FILE]...", type=click.File(encoding="utf-8-sig", errors="replace"), nargs=-1)
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
    reading = Reading(supported, strict)

    def converted(line: str) -> dict[str, Any]:
        return described_or_refused(*_blob(line, kind), reading)

    failed = False
    for file in files:
        failed |= _decode_file(file, converted, reading, jsonl)
    if not files:
        failed = _each_line(stdin_lines(), converted, jsonl)
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
        given = json_object(line)
        if given.get("kind") not in KINDS or not isinstance(given.get("fields"), dict):
            kinds = "|".join(f'"{kind}"' for kind in KINDS)
            raise BadLine(f'expected {{"kind": {kinds}, "fields": {{...}}}}')
        return {"hex": encoded(given["kind"], given["fields"], as_release).hex()}

    sys.exit(int(_each_line(stdin_lines(), converted, jsonl) and not jsonl))


@userdata.command(name="explain")
@_kind
@_supported
@click.argument("text", metavar="[HEX]", required=False)
def explain_(kind: str | None, supported: int, text: str | None) -> None:
    """Show each field of HEX (or of each line of standard input) with its offset, bytes and value.

    Lines are as for decode. Fields of userdata inside a whole message begin with userData.

    \b
    Examples:
      streams-assignor userdata explain --kind assignment 000000010000000000000000
      streams-assignor userdata explain --kind member-assignment 000000000000ffffffff
    """  # noqa: D301 - click reads the backspace character
    failed = False
    for line in [text] if text is not None else stdin_lines():
        if line.isspace():
            continue
        try:
            its_kind, blob = _blob(line, kind)
        except BadLine as error:
            raise click.UsageError(str(error)) from error
        table = _table(parts(its_kind, blob, supported))
        result = described_or_refused(its_kind, blob, Reading(supported))
        failed |= is_refused(result)
        click.echo("\n".join([table, *_remarks(table, result)]))
    sys.exit(int(failed))


def _remarks(table: str, result: dict[str, Any]) -> Iterator[str]:
    """Say why a blob is refused, if its table does not say it, and what it may be instead."""
    message = result.get("message", "")
    if message.partition(": ")[2] not in table:
        yield f"refused: {message}"
    if "hint" in result:
        yield result["hint"]


def _decode_file(file: TextIO, convert: Callable[[str], dict[str, Any]], reading: Reading, jsonl: bool) -> bool:
    """Print what a file holds, and say whether any of it was refused."""
    lines = _lines_of(file)
    first = next((line for line in lines if not line.isspace()), "")
    if _is_line(first):
        return _each_line(chain([first], lines), convert, jsonl)
    from assignor.cli import captures  # brings rich, which lines do without

    try:
        found = captures.generations("".join([first, *lines]), reading)
    except BadLine as error:
        raise click.UsageError(f"{file.name}: expected {captures.EXPECTED} or {_LINES}; {error}") from error
    rows = [row for generation in found for row in generation.rows]
    if jsonl or not sys.stdout.isatty():
        for row in rows:
            click.echo(json.dumps(row))
    else:
        captures.show(file.name, found)
    return any(is_refused(row[message] or {}) for row in rows for message in ("subscription", "assignment"))


def _lines_of(file: TextIO) -> Iterator[str]:
    """Read a file, whose own faults are told apart from those of the output."""
    try:
        yield from file
    except OSError as error:
        raise click.FileError(file.name, error.strerror) from error


def _is_line(text: str) -> bool:
    """Say whether a file that begins like this is one of lines, good or bad."""
    try:
        return not {"kind", *_ENCODINGS}.isdisjoint(json_object(text)) if _is_json(text) else blob_of(text) != b""
    except BadLine:
        return False


def _each_line(lines: Iterable[str], convert: Callable[[str], dict[str, Any]], jsonl: bool) -> bool:
    return each_line(lines, convert, jsonl=jsonl, errors=(CodecError,), is_refused=is_refused)


def _blob(line: str, kind: str | None) -> tuple[str, bytes]:
    given = json_object(line) if _is_json(line) else None
    its_kind = given.get("kind", kind) if given else kind
    if its_kind not in KINDS:
        which = "subscription or assignment, or one of them with member- in front"
        raise BadLine(f"expected kind {which} (in the line or as --kind), got {its_kind!r}")
    if given is None:
        return its_kind, blob_of(line)
    for key, read in _ENCODINGS.items():
        if key in given:
            return its_kind, read(given[key])
    raise BadLine(f"expected {' or '.join(map(repr, _ENCODINGS))} in the line")


def _is_json(line: str) -> bool:
    return line.lstrip().startswith("{")


def _table(found: Iterable[Part]) -> str:
    rows = [("offset", "bytes", "field", "value")]
    rows += [(str(part.offset), _spaced(part.raw), part.field, printable(part.value)) for part in found]
    return aligned(rows, right=1)


def _spaced(raw: bytes, most: int = 47) -> str:
    text = raw[:most].hex(" ")
    return text if len(text) <= most else text[: most - 4] + " ..."
