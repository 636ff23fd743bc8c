"""Zip files that strangers made: limits before anything is expanded, and nothing beside the list of entries."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from struct import Struct, error
from typing import BinaryIO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from streams_assignor.upgrade.application._entry import ArchiveEntry, Unreadable
from streams_assignor.upgrade.input_values import InvalidInput

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
_LOCAL: Final = Struct("<4s22xHH")
"""The beginning of an entry: magic, and the sizes of its name and of further fields."""
_LOCAL_MAGIC: Final = b"PK\x03\x04"
_DESCRIPTORS: Final = {0: (0,), 8: (0, 12, 16, 20, 24)}
"""By the flag that announces one: the bytes behind an entry that repeat its sizes."""
_PROGRAMS: Final = (b"#!", b"MZ", b"\x7fELF", b"@")
"""How scripts and programs begin that stand before an executable jar (Spring Boot, launch4j, sbt-assembly)."""
_JAVAS: Final = (ZIP_STORED, ZIP_DEFLATED)
"""The compressions that Java reads."""
_DAMAGE: Final = (BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError, error)


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


def zip_entries(file: BinaryIO, name: str) -> Iterator[ArchiveEntry]:
    """Yield the files of a zip file; of several with one name the last one, which Java takes.

    Raises:
        Unreadable: It is none, is damaged, or has bytes that its list of entries does not name: several archives in
            one file, of which ``zipfile`` would read the last one.
        InvalidInput: Its list of entries is too long.
        OSError: It cannot be read.
    """
    check_directory(file, name)
    try:
        jar = ZipFile(file)
        problem = _beside_entries(file, jar)
    except (BadZipFile, ValueError, NotImplementedError, error):
        raise Unreadable(f"expected a jar, a class file or a folder, got {name}") from None
    if problem:
        raise Unreadable(f"expected a jar whose list of entries names all of the file, got {name} with {problem}")
    # Not ``is_dir``: of an entry without a name it raises IndexError.
    for entry in {entry.filename: entry for entry in jar.infolist() if not entry.filename.endswith("/")}.values():
        yield ArchiveEntry(entry.filename, entry.file_size, partial(_open, jar, entry), is_packed=True)


def _beside_entries(file: BinaryIO, jar: ZipFile) -> str:
    """Say what a zip file has beside its entries and the list of them; empty if there is nothing."""
    end = file.seek(0, os.SEEK_END) - _END.size - len(jar.comment)
    file.seek(max(0, end))
    tail = file.read(_END.size)
    if not tail.startswith(_END_MAGIC) or _END.unpack(tail)[7] != len(jar.comment):
        return "bytes behind it"
    entries = sorted(jar.infolist(), key=lambda entry: entry.header_offset)
    at = entries[0].header_offset if entries else jar.start_dir
    file.seek(0)
    if at and not file.read(4).startswith(_PROGRAMS):
        return f"{at:,} bytes before its first entry that are no program"
    allowed: tuple[int, ...] = (0,)
    for entry in entries:
        file.seek(entry.header_offset)
        magic, name_bytes, extra_bytes = _LOCAL.unpack(file.read(_LOCAL.size))
        if magic != _LOCAL_MAGIC or entry.header_offset - at not in allowed:
            return f"other bytes at {at:,}"
        at = entry.header_offset + _LOCAL.size + name_bytes + extra_bytes + entry.compress_size
        allowed = _DESCRIPTORS[entry.flag_bits & 8]
    return "" if jar.start_dir - at in allowed else f"other bytes at {at:,}"


def _open(jar: ZipFile, entry: ZipInfo) -> BytesIO | None:
    """Return the content of an entry; None if it is damaged, encrypted, or compressed in a way that Java does not read.

    No more than its stated size is expanded: ``ZipFile.read`` expands all of it first.
    """
    if entry.compress_type not in _JAVAS:
        return None
    try:
        with jar.open(entry) as file:
            content = file.read(entry.file_size)
    except _DAMAGE:
        return None
    return BytesIO(content) if len(content) == entry.file_size else None
