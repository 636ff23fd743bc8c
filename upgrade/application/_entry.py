"""A file in a container: a folder, a zip file or a tar."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from attrs import field, frozen

from streams_assignor.upgrade.input_values import InvalidInput, open_input


class Unreadable(InvalidInput):
    """A container that is none, or is damaged, or has parts that cannot be read."""


@frozen
class ArchiveEntry:
    """A file, not yet read."""

    name: str
    """Its path in the container, with slashes; never a path on the disk."""
    size: int
    """As the container states it."""
    open: Callable[[], BinaryIO | None] = field(eq=False, repr=False)
    """Returns its content as a file that can be read at any place; None if it is damaged or encrypted, or a link."""
    is_packed: bool = False
    """Opening it expands it into memory."""
    link: str = ""
    """Where a link leads."""

    def content(self) -> bytes | None:
        """Return its content; None if it is damaged, encrypted, or not as long as the container states."""
        file = self.open()
        if file is None:
            return None
        with file:
            content = file.read(self.size + 1)
        return content if len(content) == self.size else None


def file_entry(path: Path, name: str) -> ArchiveEntry:
    """Return a file on the disk."""
    return ArchiveEntry(name, path.stat().st_size, lambda: open_input(path))


class Section(io.RawIOBase):
    """A part of a file, as a file of its own; closing it leaves the file open."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return true."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place of the part."""
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def tell(self) -> int:
        """Return the place."""
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # as RawIOBase calls it
        """Read from the place on; never beyond the part."""
        self._file.seek(self._start + self._at)
        content = self._file.read(max(0, min(len(buffer), self._size - self._at)))
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)
