"""``streams-assignor userdata``: rebalance metadata between bytes, JSON and a person's eyes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import click

from subscription_codec import (
    LATEST_SUPPORTED_VERSION,
    Assignment,
    CodecError,
    DecodeError,
    Part,
    Subscription,
    decode_assignment,
    decode_subscription,
    describe,
    encode_assignment,
    encode_subscription,
    explain,
    from_fields,
)
from subscription_codec.fields import Kind
from subscription_codec.layout import NEWEST_LAYOUT

_KINDS: Final[tuple[Kind, ...]] = ("subscription", "assignment")


class _BadLine(ValueError):
    """A line of input that is not what the command reads."""


_kind = click.option("--kind", type=click.Choice(_KINDS), help="What bare hex is; JSON lines say it themselves.")
_supported = click.option(
    "--supported",
    type=click.IntRange(1, NEWEST_LAYOUT),
    default=LATEST_SUPPORTED_VERSION,
    show_default=True,
    help="Read like a member whose latest supported version is this.",
)
_jsonl = click.option(
    "--jsonl", is_flag=True, help="JSON lines even on a terminal; refused lines are rows and the exit status stays 0."
)


@click.group()
def userdata() -> None:
    """Decode, encode and explain the userdata of subscriptions and assignments.

    \b
    Examples:
      echo '{"kind": "subscription", "hex": "00000009000000090000"}' | streams-assignor userdata decode
      echo '{"kind": "assignment", "fields": {"version": 1}}' | streams-assignor userdata encode
      streams-assignor userdata explain --kind assignment 000000010000000000000000
    """  # noqa: D301 - click reads the backspace character


@userdata.command()
@_kind
@_supported
@_jsonl
def decode(kind: Kind | None, supported: int, jsonl: bool) -> None:
    """Read lines of {"kind": ..., "hex": ...} or bare hex, print one JSON object each."""

    def decoded(line: str) -> dict[str, Any]:
        its_kind, blob = _blob(line, kind)
        read = decode_subscription if its_kind == "subscription" else decode_assignment
        return describe(read(blob, supported=supported))

    _each_line(decoded, jsonl)


@userdata.command()
@_jsonl
def encode(jsonl: bool) -> None:
    """Read lines of {"kind": ..., "fields": {...}}, print {"hex": ...} each. The reverse of decode."""

    def encoded(line: str) -> dict[str, Any]:
        given = _json_object(line)
        if given.get("kind") not in _KINDS or not isinstance(given.get("fields"), dict):
            raise _BadLine('expected {"kind": "subscription"|"assignment", "fields": {...}}')
        record = from_fields(given["kind"], given["fields"])
        return {"hex": _encode(record).hex()}

    _each_line(encoded, jsonl)


@userdata.command(name="explain")
@_kind
@_supported
@click.argument("hex_text", metavar="[HEX]", required=False)
def explain_(kind: Kind | None, supported: int, hex_text: str | None) -> None:
    """Show each field of HEX (or of each line of standard input) with its offset, bytes and value."""
    failed = False
    for line in [hex_text] if hex_text is not None else _lines():
        try:
            its_kind, blob = _blob(line, kind)
        except _BadLine as error:
            raise click.UsageError(str(error)) from error
        click.echo(_table(explain(its_kind, blob, supported=supported)))
        failed |= _refused(its_kind, blob, supported)
    sys.exit(int(failed))


def _encode(record: Subscription | Assignment) -> bytes:
    return encode_subscription(record) if isinstance(record, Subscription) else encode_assignment(record)


def _refused(kind: Kind, blob: bytes, supported: int) -> bool:
    try:
        (decode_subscription if kind == "subscription" else decode_assignment)(blob, supported=supported)
    except DecodeError:
        return True
    return False


def _each_line(convert: Callable[[str], dict[str, Any]], jsonl: bool) -> None:
    """Convert standard input line by line; a line that cannot be converted becomes an error object in its place."""
    indent = None if jsonl or not sys.stdout.isatty() else 2
    failed = False
    for line in _lines():
        try:
            result = convert(line)
        except (CodecError, _BadLine) as error:
            failed = True
            result = _error(error)
        click.echo(json.dumps(result, indent=indent))
    sys.exit(int(failed and not jsonl))


def _error(error: CodecError | _BadLine) -> dict[str, Any]:
    named = {"error": type(error).__name__.lstrip("_"), "message": str(error)}
    return named | ({"offset": error.offset, "field": error.field} if isinstance(error, DecodeError) else {})


def _lines() -> Iterator[str]:
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # bytes that are no text belong into an error message
    return (line for line in map(str.strip, sys.stdin) if line)


def _blob(line: str, kind: Kind | None) -> tuple[Kind, bytes]:
    given = _json_object(line) if line.startswith("{") else {"hex": line}
    its_kind = given.get("kind", kind)
    if its_kind not in _KINDS:
        raise _BadLine(f"expected kind subscription or assignment (in the line or as --kind), got {its_kind!r}")
    try:
        return its_kind, bytes.fromhex(given["hex"])
    except (KeyError, TypeError, ValueError):
        raise _BadLine(f"expected hex, got {str(given.get('hex'))[:40]!r}") from None


def _json_object(line: str) -> dict[str, Any]:
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise _BadLine(f"expected a JSON object, got {line[:40]!r}")
    return given


def _table(parts: Iterable[Part]) -> str:
    rows = [("offset", "bytes", "field", "value")]
    rows += [(str(part.offset), _shortened(part.raw.hex(" ")), part.field, _printable(part.value)) for part in parts]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(f"{o:>{widths[0]}}  {b:<{widths[1]}}  {f:<{widths[2]}}  {v}".rstrip() for o, b, f, v in rows)


def _shortened(text: str, most: int = 47) -> str:
    return text if len(text) <= most else text[: most - 4] + " ..."


def _printable(text: str) -> str:
    """Show control characters and bytes that are not text as escapes: a blob must not play with the terminal."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
