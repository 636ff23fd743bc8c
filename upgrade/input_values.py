"""The parsers of numbers, JSON, properties and files from outside: each returns a value or raises ``InvalidInput``.

Python's own parsers are not total: ``int`` and ``json.loads`` raise ``ValueError`` for a number of thousands of digits,
``json.loads`` raises ``RecursionError`` or ends Python, and accepts ``Infinity``, and ``open`` waits for a pipe without
a writer.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, AnyStr, BinaryIO, Final, NoReturn, TextIO

from streams_assignor.upgrade.errors import UpgradeError, quote_input

MAX_LEVELS: Final = 200
"""Of brackets in a JSON document: Python's parser needs stack for each. In WebAssembly, where Python does not see its
end, it would stop instead of raising ``RecursionError``."""
_NO_BRACKETS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[^"\[\]{}]++', re.DOTALL)
_STEPS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}
MAX_FILE_BYTES: Final = 1 << 24
"""The largest file of settings or of a topology, and the longest line: real ones are far smaller."""
MAX_CAPTURE_BYTES: Final = 1 << 28
"""The largest capture: it has the metadata of all members in all generations."""
_NON_BLOCKING: Final = getattr(os, "O_NONBLOCK", 0)  # Windows has no such pipes
_BLANK: Final = " \t\f"
_ENTRY: Final = re.compile(r"((?:\\.|[^\\=: \t\f])*)(?:[ \t\f]*[=:]?[ \t\f]*)(.*?)\\?", re.DOTALL)
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class InvalidInput(UpgradeError):
    """Text or a file from outside that is not what was expected."""


def parse_number(text: str, least: int = 0, most: int = (1 << 31) - 1) -> int:
    """Read a decimal number in ASCII digits, without a sign unless ``least`` is negative.

    >>> parse_number("17"), parse_number("-1", least=-1)
    (17, -1)
    """
    digits = text.removeprefix("-") if least < 0 else text
    if digits.isascii() and digits.isdigit() and len(digits) <= len(str(max(abs(least), abs(most)))):
        number = int(text)
        if least <= number <= most:
            return number
    raise InvalidInput(f"expected a number from {least} to {most}, got {quote_input(text)}")


def parse_json(text: str | bytes) -> Any:
    """Read a JSON document of RFC 8259: without ``Infinity`` and ``NaN``, also none by a number that is too large."""
    try:
        if isinstance(text, bytes):  # as json.loads does it
            text = text.decode(json.detect_encoding(text), "surrogatepass")
        require_shallow(text)
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        got = quote_input(error.doc[error.pos : error.pos + 20]) if error.doc[error.pos :].strip() else "the end"
        raise InvalidInput(f"expected JSON ({error.msg}) at {where}, got {got}") from None
    except InvalidInput:
        raise
    except ValueError as error:  # a number of thousands of digits, or bytes that are not UTF-8
        raise InvalidInput(f"expected JSON: {error}") from None


def require_shallow(text: str) -> None:
    """Raise ``InvalidInput`` for a JSON document with more than ``MAX_LEVELS`` levels of brackets."""
    if text.count("[") + text.count("{") > MAX_LEVELS:  # seldom, so that most documents are gone through once
        brackets = _NO_BRACKETS.sub("", text)
        if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_LEVELS:
            raise InvalidInput(f"expected JSON, got brackets that are nested too deeply: more than {MAX_LEVELS} levels")


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidInput(f"expected JSON, got {name}, which is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidInput(f"expected JSON, got the number {quote_input(text)}, which is too large")
    return number


# -- lines, streams and files, up to a limit ---------------------------------------------------------------------------


def read_lines(stream: TextIO, limit: int = MAX_FILE_BYTES) -> Iterator[str]:
    """Yield the lines of a text of any length; ``InvalidInput`` for one of more than ``limit`` characters."""
    number = 0
    while line := stream.readline(limit + 1):
        number += 1
        if len(line) > limit:
            raise InvalidInput(f"expected lines of at most {limit:,} characters, got a longer line {number}")
        yield line


def open_input(path: Path) -> BinaryIO:
    """Open a file or a pipe without waiting; ``OSError`` if it cannot be opened, or is a folder.

    A pipe without a writer is at its end at once.
    """
    return open(path, "rb", opener=_open_without_waiting)  # the caller closes it


def _open_without_waiting(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | _NON_BLOCKING)
    os.set_blocking(descriptor, True)
    return descriptor


def read_input(path: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a file or a pipe of at most ``limit`` bytes; ``OSError`` if it cannot be read."""
    with open_input(path) as file:
        content = read_all(file, str(path), limit)
        if not content and stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            raise InvalidInput(f"expected a file or a pipe with content, got {path}, a pipe without a writer")
    return content


def read_all(stream: IO[AnyStr], name: str, limit: int = MAX_FILE_BYTES) -> AnyStr:
    """Return the rest of a stream of at most ``limit`` bytes or characters; ``name`` is its name in the error."""
    content = stream.read(limit + 1)
    if len(content) > limit:
        raise InvalidInput(f"expected at most {limit:,} bytes, got {name} with more")
    return content


def read_text(path: Path, encoding: str = "utf-8", *, errors: str = "strict") -> str:
    """Return the text of a file of at most ``MAX_FILE_BYTES``; ``OSError`` if it cannot be read."""
    try:
        return read_input(path).decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"expected text in {encoding}, got {path} with other bytes at {error.start}") from None


# -- Java's properties: of 20,000 hostile texts this reads 85 in another way than Java does, javaproperties 0.8.2 246 --


def parse_properties(text: str) -> Iterator[tuple[str, str]]:
    r"""Read Java's properties format. Java: ``Properties.load``.

    >>> list(parse_properties("a = 1\n# no\nb:two \\\n   lines\nc\\ d\te\\u0066"))
    [('a', '1'), ('b', 'two lines'), ('c d', 'ef')]
    """
    return ((key, value) for _, key, value in parse_property_lines(text))


def parse_property_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Read Java's properties format: the first line of each entry, its key and its value."""
    lines = enumerate((line.lstrip(_BLANK) for line in re.split(r"\r\n|\r|\n", text)), 1)
    for number, line in lines:
        if not line or line[0] in "#!":
            continue
        parts = [line]
        while _continues(parts[-1]) and (following := next(lines, None)) is not None:
            parts[-1] = parts[-1][:-1]
            parts.append(following[1])
        key, value = _ENTRY.fullmatch("".join(parts)).groups()  # type: ignore[union-attr]  # it matches any line
        yield number, _unescape(key), _unescape(value)


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPES.get(code, code)

    units = re.sub(r"\\(u[0-9a-fA-F]{4}|.)", character, text)
    # An escape is one unit of UTF-16, and some characters need two. Java replaces a single half by "?".
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
