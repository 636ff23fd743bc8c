"""Object stores and other file systems of PyArrow, by URI: where segments may be, and where results may go."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

_SCHEMES: Final = {"s3a": "s3", "s3n": "s3"}
"""Hadoop's names of a scheme, and PyArrow's."""


class StorageError(ValueError):
    """A storage cannot be read or written; the message names the URI."""


def is_uri(location: str) -> bool:
    """Whether a location is a URI and not a local path.

    >>> is_uri("s3://bucket/path"), is_uri("/data/path")
    (True, False)
    """
    return "://" in location


def open_storage(uri: str) -> tuple[FileSystem, str]:
    """Return the file system of a URI, and the path in it.

    Raises:
        StorageError: PyArrow knows no such file system.
    """
    from pyarrow.fs import FileSystem

    scheme, _, rest = uri.partition("://")
    try:
        found, path = FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}://{rest}")
    except (ValueError, OSError) as error:
        raise StorageError(f"{uri} cannot be opened: {_first_line(error)}") from None
    return found, path.rstrip("/")


def list_files(uri: str) -> list[FileInfo]:
    """Return all files below a URI; none if there is no such folder.

    Raises:
        StorageError: The storage refuses it, or cannot be reached.
    """
    from pyarrow.fs import FileSelector, FileType

    storage, path = open_storage(uri)
    try:
        found = storage.get_file_info(FileSelector(path, allow_not_found=True, recursive=True))
    except OSError as error:
        raise StorageError(f"{uri} cannot be read: {_first_line(error)}") from None
    return [each for each in found if each.type == FileType.File]


@contextmanager
def local_copy(uri: str, path: str) -> Iterator[Path]:
    """Copy a file of the storage of ``uri`` to this machine, as long as it is needed.

    Raises:
        StorageError: It cannot be read.
    """
    from pyarrow.fs import LocalFileSystem, copy_files

    storage, _ = open_storage(uri)
    with tempfile.TemporaryDirectory(prefix="streams-assignor-") as folder:
        copy = Path(folder, Path(path).name)
        try:
            copy_files(path, str(copy), storage, LocalFileSystem())
        except OSError as error:
            raise StorageError(f"{path} of {uri} cannot be read: {_first_line(error)}") from None
        yield copy


def upload(folder: Path, uri: str, names: Sequence[str]) -> None:
    """Replace files and folders of a URI by those of a local folder.

    Args:
        folder: The local folder.
        uri: Where to.
        names: What is replaced. The last one is removed first and written last: where it is, the upload is complete.

    Raises:
        StorageError: They cannot be written.
    """
    from pyarrow.fs import LocalFileSystem, copy_files

    storage, path = open_storage(uri)
    try:
        storage.create_dir(path)
        for name in reversed(names):
            _remove(storage, f"{path}/{name}")
        for name in names:
            if (folder / name).is_dir():
                storage.create_dir(f"{path}/{name}")
            if (folder / name).exists():
                copy_files(str(folder / name), f"{path}/{name}", LocalFileSystem(), storage)
    except OSError as error:
        raise StorageError(f"{uri} cannot be written: {_first_line(error)}") from None


def _remove(storage: FileSystem, path: str) -> None:
    from pyarrow.fs import FileType

    kind = storage.get_file_info(path).type
    if kind == FileType.Directory:
        storage.delete_dir(path)
    elif kind == FileType.File:
        storage.delete_file(path)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), repr(error))
