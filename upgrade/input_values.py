"""The parsers of numbers, JSON documents and files from outside: each returns a value or raises ``InvalidInput``.

Python's own parsers are not total: ``int`` and ``json.loads`` raise ``ValueError`` for a number of thousands of digits,
``json.loads`` raises ``RecursionError`` and accepts ``Infinity``, and ``open`` blocks on a pipe that nobody writes to.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, AnyStr, BinaryIO, Final, NoReturn, TextIO

from upgrade.errors import UpgradeError, quote_input

MAX_FILE_BYTES: Final = 1 << 24
"""The largest file of settings or of a topology, and the longest line: real ones are far smaller."""
MAX_CAPTURE_BYTES: Final = 1 << 28
"""The largest capture: it has the metadata of all members in all generations."""
_NON_BLOCKING: Final = getattr(os, "O_NONBLOCK", 0)  # Windows has no such pipes


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
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        got = quote_input(error.doc[error.pos : error.pos + 20]) if error.doc[error.pos :].strip() else "the end"
        raise InvalidInput(f"expected JSON ({error.msg}) at {where}, got {got}") from None
    except RecursionError:
        raise InvalidInput("expected JSON, got brackets that are nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits, or bytes that are not UTF-8
        raise InvalidInput(f"expected JSON: {error}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidInput(f"expected JSON, got {name}, which is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidInput(f"expected JSON, got the number {quote_input(text)}, which is too large")
    return number


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

    A pipe that nobody writes to is at its end at once.
    """
    descriptor = os.open(path, os.O_RDONLY | _NON_BLOCKING | getattr(os, "O_CLOEXEC", 0))
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_input(path: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a file or a pipe of at most ``limit`` bytes; ``OSError`` if it cannot be read."""
    with open_input(path) as file:
        content = read_all(file, str(path), limit)
        if not content and stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            raise InvalidInput(f"expected a file or a pipe with content, got {path}, a pipe that nobody writes to")
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
