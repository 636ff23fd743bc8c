"""Zip files that strangers made: limits before anything is expanded."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from struct import Struct, error
from typing import BinaryIO, Final
from zipfile import BadZipFile, ZipFile, ZipInfo

from upgrade.input_values import InvalidInput, open_input

MAX_DIRECTORY_BYTES: Final = 1 << 25
"""The largest list of entries of a jar: each takes some ten times as much memory."""
_END_MAGIC: Final = b"PK\x05\x06"
_END: Final = Struct("<4sHHHHIIH")
"""The end of a zip file: magic, four counts, size and place of the list of entries, size of the comment."""
_MAX_COMMENT: Final = 0xFFFF
_LOCATOR_MAGIC, _END64_MAGIC = b"PK\x06\x07", b"PK\x06\x06"
_LOCATOR_BYTES: Final = 20
_END64: Final = Struct("<4sQHHIIQQQQ")
"""The end of a zip64 file: magic, size, versions, disks, two counts, size and place of the list of entries."""
_IN_ZIP64: Final = 0xFFFFFFFF


def check_directory(file: BinaryIO, name: str) -> None:
    """Refuse a jar whose list of entries is too long, before it is read; ``zipfile`` reads all of it at once.

    Every place that may be the end of the file is looked at: a comment can contain another one.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END.size - _MAX_COMMENT - _LOCATOR_BYTES - _END64.size))
    tail = file.read()
    at = tail.rfind(_END_MAGIC)
    while at >= 0:
        if at <= len(tail) - _END.size and _directory_bytes(tail, at) > MAX_DIRECTORY_BYTES:
            raise InvalidInput(
                f"expected a list of entries of at most {MAX_DIRECTORY_BYTES:,} bytes, got {name} with more"
            )
        at = tail.rfind(_END_MAGIC, 0, at)


def _directory_bytes(tail: bytes, at: int) -> int:
    locator = at - _LOCATOR_BYTES
    end64 = locator - _END64.size
    if end64 >= 0 and tail.startswith(_LOCATOR_MAGIC, locator) and tail.startswith(_END64_MAGIC, end64):
        return int(_END64.unpack_from(tail, end64)[8])
    directory = int(_END.unpack_from(tail, at)[5])
    return 0 if directory == _IN_ZIP64 else directory  # without the other end, zipfile refuses it


def open_zip(file: BinaryIO | Path, name: str) -> ZipFile | None:
    """Open a zip file whose list of entries has a bounded size; None if it is damaged or none.

    Raises:
        InvalidInput: Its list of entries is too long.
        OSError: It cannot be read.
    """
    if isinstance(file, Path):
        with open_input(file) as opened:
            check_directory(opened, name)
    else:
        check_directory(file, name)
    try:
        return ZipFile(file)
    except (BadZipFile, ValueError, NotImplementedError, error):
        return None


def entry_content(jar: ZipFile, entry: ZipInfo) -> bytes | None:
    """Return the content of an entry; None if it is damaged, encrypted, or compressed in another way.

    No more than its stated size is expanded: ``ZipFile.read`` expands all of it first.
    """
    try:
        with jar.open(entry) as file:
            content = file.read(entry.file_size)
    except (BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError):
        return None
    return content if len(content) == entry.file_size else None
