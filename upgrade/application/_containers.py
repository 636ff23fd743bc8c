"""The content of a file or a folder, told by its first bytes: a jar, a tar, the image of a container, or files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

from attrs import frozen

from streams_assignor.upgrade.application._entry import ArchiveEntry, Unreadable, file_entry
from streams_assignor.upgrade.application._images import Layer, read_image, visible_files
from streams_assignor.upgrade.application._tar_files import GZIP_MAGIC, expanded, is_tar, tar_entries, tar_members
from streams_assignor.upgrade.application._zip_files import zip_entries

_BEGINNING: Final = 512
_OTHERS: Final = {
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"BZh": "bzip2",
    b"JM\x01\x00": "jmod",
    b"Rar!": "rar",
    b"\xca\xfe\xd0\x0d": "pack200",
    b"\xda\xda\xfe\xca": "jimage",
    b"\xca\xfe\xda\xda": "jimage",
    b"\xfd7zXZ\x00": "xz",
    b"\x04\x22\x4d\x18": "lz4",
    b"\x28\xb5\x2f\xfd": "zstd",
}
"""How archives begin that are not read."""


@frozen
class Container:
    """The files of a container."""

    entries: tuple[ArchiveEntry, ...]
    is_jar: bool = False
    """Whether Java can take it as it is: its classes are those of one library or application."""
    command: str = ""
    """The command that an image runs."""


def open_container(file: BinaryIO, name: str, limit: int, stack: ExitStack) -> Container:
    """Open a container; nothing is expanded beyond ``limit`` bytes, and ``stack`` closes what is opened.

    Raises:
        Unreadable: It is none, is damaged, or has another form; the text names the form.
        InvalidInput: It exceeds a limit.
    """
    beginning = _beginning(file)
    if beginning.startswith(GZIP_MAGIC):
        file = stack.enter_context(expanded(file, name, limit))
        beginning = _beginning(file)
    if is_tar(beginning):
        return _of_files(tuple(tar_entries(file, tar_members(file, name))), name, limit, stack)
    _refuse_others(beginning, name)
    return Container(tuple(zip_entries(file, name)), is_jar=True)


def open_folder(folder: Path, limit: int, stack: ExitStack) -> Container:
    """Open a folder, or the image that it has; ``OSError`` for what cannot be read. The rest as above."""
    return _of_files(tuple(_files_below(folder)), str(folder), limit, stack)


def _of_files(entries: tuple[ArchiveEntry, ...], name: str, limit: int, stack: ExitStack) -> Container:
    image = read_image(entries, name)
    if image is None:
        return Container(entries)
    return Container(tuple(visible_files(_layers(image.layers, limit, stack))), command=image.command)


def _layers(layers: tuple[ArchiveEntry, ...], limit: int, stack: ExitStack) -> Iterator[Layer]:
    for layer in layers:
        file = layer.open()
        if file is None:
            raise Unreadable(f"expected a layer of an image, got {layer.name}, which cannot be read")
        stack.enter_context(file)
        if _beginning(file).startswith(GZIP_MAGIC):
            file = stack.enter_context(expanded(file, layer.name, limit))
        _refuse_others(_beginning(file), layer.name)
        yield file, tar_members(file, f"layer {layer.name}")


def _refuse_others(beginning: bytes, name: str) -> None:
    for magic, form in _OTHERS.items():
        if beginning.startswith(magic):
            raise Unreadable(f"expected a jar, a tar, a tar.gz or a folder, got {name} in the form {form}: unpack it")


def _beginning(file: BinaryIO) -> bytes:
    file.seek(0)
    beginning = file.read(_BEGINNING)
    file.seek(0)
    return beginning


def _files_below(folder: Path) -> Iterator[ArchiveEntry]:
    """Yield files and links of a folder; ``OSError`` for what cannot be read, which ``rglob`` would leave out."""

    def refuse(error: OSError) -> None:
        raise error

    top = folder.resolve()
    for root, folders, names in os.walk(folder, onerror=refuse):
        folders.sort()
        for name in sorted([*names, *(name for name in folders if Path(root, name).is_symlink())]):
            path = Path(root, name)
            below = path.relative_to(folder).as_posix()
            if path.is_file():
                yield file_entry(path, below)
            elif not path.is_dir():
                yield ArchiveEntry(below, 0, lambda: None, link=str(path.readlink()) if path.is_symlink() else "")
            elif top not in path.resolve().parents:  # it is not followed, and may have jars
                yield ArchiveEntry(f"{below}/", 0, lambda: None)
