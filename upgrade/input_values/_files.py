"""Lines, streams and files, up to a limit."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, AnyStr, BinaryIO, Final, TextIO

from streams_assignor.upgrade.input_values._text import InvalidInput

MAX_FILE_BYTES: Final = 1 << 24
"""The largest file of settings or of a topology, and the longest line: real ones are far smaller."""
MAX_CAPTURE_BYTES: Final = 1 << 28
"""The largest capture: it has the metadata of all members in all generations."""
_NON_BLOCKING: Final = getattr(os, "O_NONBLOCK", 0)  # Windows has no such pipes


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
