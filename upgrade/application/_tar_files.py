"""Tars that strangers made (POSIX, GNU): each length is compared with the file before anything is read."""

from __future__ import annotations

import gzip
import os
import posixpath
import re
import zlib
from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Final

from attrs import evolve, frozen

from streams_assignor.upgrade.application._entry import ArchiveEntry, Section, Unreadable
from streams_assignor.upgrade.input_values import InvalidInput

MAX_NAME_BYTES: Final = 1 << 16
"""The longest name of a file, and the longest list of further fields."""
GZIP_MAGIC: Final = b"\x1f\x8b"
_BLOCK: Final = 512
_CHUNK: Final = 1 << 20
_IN_MEMORY: Final = 1 << 26
_FILES, _HARD_LINK, _FOLDER = (b"\x00", b"0", b"7"), b"1", b"5"
_LINKS: Final = (_HARD_LINK, b"2")
_LONG_NAME, _LONG_LINK, _PAX, _PAX_FOR_ALL = b"L", b"K", b"x", b"g"
_PAX_RECORD: Final = re.compile(rb"(\d{1,6}) ([^=]{1,256})=")
_OCTAL: Final = re.compile(rb"[ 0]*([0-7]*)[ \0]*")


@frozen
class TarMember:
    """A file, a folder or a link."""

    name: str
    kind: bytes
    size: int
    start: int
    link: str = ""
    """Where a link leads."""

    @property
    def is_file(self) -> bool:
        """Whether it has content of its own."""
        return self.kind in _FILES

    @property
    def is_hard_link(self) -> bool:
        """Whether it is another name of a file."""
        return self.kind == _HARD_LINK

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.kind == _FOLDER


def is_tar(beginning: bytes) -> bool:
    """Whether a file begins as a tar does: by the checksum of its first header."""
    header = beginning[:_BLOCK]
    return len(header) == _BLOCK and any(header) and _checksum(header) == _number(header[148:156])


def expanded(file: BinaryIO, name: str, limit: int) -> BinaryIO:
    """Return what a file of gzip expands to, as a file: in memory, or on the disk without a name.

    Raises:
        Unreadable: It is damaged.
        InvalidInput: It expands to more than the limit.
    """
    content = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - the caller closes it
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            while chunk := stream.read(_CHUNK):
                if content.tell() + len(chunk) > limit:
                    raise InvalidInput(f"expected {name} to expand to at most {limit:,} bytes, got more")
                content.write(chunk)
    except (OSError, EOFError, zlib.error):
        raise Unreadable(f"expected a file of gzip, got {name}, which is damaged") from None
    content.seek(0)
    return content  # type: ignore[return-value]  # it has the methods of a binary file


def tar_members(file: BinaryIO, name: str) -> list[TarMember]:
    """List what is in a tar, in its order; names have no ``.``, no ``..`` and no slash at the beginning.

    Raises:
        Unreadable: It is damaged, ends too early, or has bytes behind its end.
    """
    size, at = file.seek(0, os.SEEK_END), 0
    members, further = list[TarMember](), dict[bytes, bytes]()
    while True:
        header = _read(file, at, _BLOCK)
        if not any(header) and len(header) == _BLOCK:
            break
        if not is_tar(header):
            raise Unreadable(f"expected a tar, got {name}, which is damaged or ends at {at:,}")
        at, kind, length = at + _BLOCK, header[156:157], _length(header, further)
        if not 0 <= length <= size - at:
            raise Unreadable(f"expected a tar, got {name}, with a file of {length:,} bytes at {at:,} of {size:,}")
        if kind in {_LONG_NAME, _LONG_LINK, _PAX, _PAX_FOR_ALL}:
            if length > MAX_NAME_BYTES:
                raise Unreadable(f"expected a tar, got {name} with a name of {length:,} bytes at {at:,}")
            further |= _further(kind, _read(file, at, length))
        else:
            members.append(_member(header, kind, length, at, further))
            further = {}
        at += -(-length // _BLOCK) * _BLOCK
    if any(any(_read(file, place, _CHUNK)) for place in range(at, size, _CHUNK)):
        raise Unreadable(f"expected one tar, got {name} with bytes behind its end")
    return members


def tar_entries(file: BinaryIO, members: list[TarMember]) -> Iterator[ArchiveEntry]:
    """Yield the files of a tar and its links; of several with one name the last one."""
    files: dict[str, TarMember] = {}
    for member in members:
        content = files.get(member.link, member) if member.is_hard_link else member
        files[member.name] = evolve(content, name=member.name)
    yield from (tar_entry(file, member) for member in files.values() if not member.is_folder)


def tar_entry(file: BinaryIO, member: TarMember) -> ArchiveEntry:
    """Return a file of a tar; a link has no content, but the path that it leads to."""
    return ArchiveEntry(member.name, member.size, partial(_section, file, member), link=member.link)


def _section(file: BinaryIO, member: TarMember) -> BufferedReader | None:
    return BufferedReader(Section(file, member.start, member.size)) if member.is_file else None


def _member(header: bytes, kind: bytes, length: int, at: int, further: dict[bytes, bytes]) -> TarMember:
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
    short = "/".join(filter(None, (prefix, _text(header[:100]))))
    path, link = further.get(b"path"), further.get(b"linkpath")
    name = _normal(short if path is None else _text(path))
    target = _normal(_text(header[157:257] if link is None else link)) if kind in _LINKS else ""
    is_sparse = kind == b"S" or any(key.startswith(b"GNU.sparse") for key in further)
    return TarMember(name, b"S" if is_sparse else kind, length, at, target)


def _further(kind: bytes, content: bytes) -> dict[bytes, bytes]:
    """Return fields of the next member; those for all members are comments."""
    if kind == _LONG_NAME:
        return {b"path": content.rstrip(b"\0")}
    if kind == _LONG_LINK:
        return {b"linkpath": content.rstrip(b"\0")}
    fields, at = dict[bytes, bytes](), 0
    while kind == _PAX and (record := _PAX_RECORD.match(content, at)):
        end = at + int(record[1])
        fields[record[2]] = content[record.end() : end - 1]
        at = max(end, record.end())
    return fields


def _read(file: BinaryIO, at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size)


def _checksum(header: bytes) -> int:
    return sum(header) - sum(header[148:156]) + 8 * 0x20


def _number(digits: bytes) -> int:
    """Return a number of a header: octal, or in GNU's form; -1 for none."""
    if digits[:1] == b"\x80":
        return int.from_bytes(digits[1:], "big")
    octal = _OCTAL.fullmatch(digits)
    return int(octal[1] or b"0", 8) if octal else -1


def _length(header: bytes, further: dict[bytes, bytes]) -> int:
    """Return the bytes of a member; a further field counts more than the header."""
    digits = further.get(b"size")
    if digits is None:
        return _number(header[124:136])
    return int(digits) if digits.isdigit() and len(digits) < len(str(1 << 63)) else -1


def _text(content: bytes) -> str:
    return content.partition(b"\0")[0].decode("utf-8", "replace")


def _normal(name: str) -> str:
    return posixpath.normpath(f"/{name}")[1:].lstrip("/")
