"""Object stores and other file systems of PyArrow, by URI: where segments may be, and where results may go."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from attrs import define, field

from streams_assignor.codec import StreamsAssignorError
from streams_assignor.spark_sim.sweep.tables.publishing import (
    DRAFT_MARK,
    DRAFT_START,
    ResultFolderError,
    Results,
    draft_mark,
    draft_name,
    is_draft_name,
    named,
)
from streams_assignor.upgrade.redaction import hide_credentials

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

_SCHEMES: Final = {
    **{scheme: scheme for scheme in ("abfs", "abfss", "file", "gcs", "gs", "hdfs", "s3", "viewfs")},
    "s3a": "s3",
    "s3n": "s3",
}
"""Schemes of storages, with PyArrow's name. PyArrow has others, such as ``mock``, which keeps nothing."""
HADOOP: Final = frozenset({"hdfs", "swebhdfs", "viewfs", "webhdfs"})
"""Schemes of Hadoop itself. Spark reads all of them; PyArrow some, and those only with Hadoop's native library."""
BY_SPARK: Final = '; Spark reads segments there (--master "local[*]"), and --out may be a folder of this machine'
_NATIVE: Final = ("libhdfs", "libjvm")
_REQUESTS: Final = 8
"""Files that are looked at at a time."""
_PIECE_BYTES: Final = 1 << 22


class StorageError(StreamsAssignorError, ValueError):
    """A storage cannot be read or written; the message names the URI, without credentials."""

    def __init__(self, message: str) -> None:
        super().__init__(hide_credentials(message))


def open_storage(uri: str) -> tuple[FileSystem, str]:
    """Return the file system of a URI, and the path in it.

    Raises:
        StorageError: It is no storage that keeps files, or PyArrow cannot open it.
    """
    from pyarrow.fs import FileSystem

    scheme, _, rest = uri.partition(":")
    if not is_known(uri):
        expected = f"expected a path, or a URI of {', '.join(sorted(_SCHEMES))}, got {uri}"
        raise StorageError(f"{expected}{BY_SPARK if scheme in HADOOP else ''}")
    with _one_line(f"{uri} cannot be opened"):
        filesystem, path = FileSystem.from_uri(f"{_SCHEMES[scheme]}:{rest}")
    return filesystem, path.rstrip("/")


def is_known(uri: str) -> bool:
    """Whether PyArrow knows the scheme of a URI."""
    return uri.partition(":")[0] in _SCHEMES


def list_files(uri: str) -> list[FileInfo]:
    """Return all files below a URI; none if there is no such folder.

    Raises:
        StorageError: The storage refuses it, or cannot be reached.
    """
    from pyarrow.fs import FileSelector, FileType

    storage, path = open_storage(uri)
    with _one_line(f"{uri} cannot be read"):
        infos = storage.get_file_info(FileSelector(path, allow_not_found=True, recursive=True))
    return [info for info in infos if info.type == FileType.File]


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
        with _one_line(f"{path} of {uri} cannot be read"):
            copy_files(path, str(copy), storage, LocalFileSystem())
        yield copy


@define
class StoredResults:
    """Results at a URI."""

    uri: str
    _sizes: dict[str, int] = field(init=False)
    """The sizes of the files that were there at first, by path."""

    def __attrs_post_init__(self) -> None:
        _, root = open_storage(self.uri)
        self._sizes = {file.path.removeprefix(f"{root}/"): file.size for file in list_files(self.uri)}

    def size(self, path: str) -> int | None:
        """Return the bytes of a file; None if there was none."""
        return self._sizes.get(path)

    def pieces(self, path: str) -> Iterator[bytes]:
        """Yield a file in pieces."""
        storage, root = open_storage(self.uri)
        with _one_line(f"{path} of {self.uri} cannot be read"), storage.open_input_stream(f"{root}/{path}") as stream:
            while piece := stream.read(_PIECE_BYTES):
                yield piece

    def download(self, name: str, folder: Path) -> None:
        """Copy the files of a table into a folder."""
        for path in [path for path in self._sizes if path.startswith(f"{name}/")]:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            with (folder / path).open("wb") as file:
                file.writelines(self.pieces(path))

    def add(self, file: Path, folder: Path) -> None:
        """Copy a file of the folder; it is there as a whole or not at all."""
        storage, root = open_storage(self.uri)
        path = file.relative_to(folder)
        draft = f"{root}/{path.parent.as_posix()}/.{uuid4().hex}"
        with _one_line(f"{self.uri} cannot be written"):
            storage.create_dir(f"{root}/{path.parent.as_posix()}")
            with storage.open_output_stream(draft) as stream:
                stream.write(file.read_bytes())
            storage.move(draft, f"{root}/{path.as_posix()}")

    def remove(self, names: Sequence[str]) -> None:
        """Remove results, the main one first."""
        storage, root = open_storage(self.uri)
        with _one_line(f"{self.uri} cannot be written"):
            for name in reversed(names):
                _remove(storage, f"{root}/{name}")
        self._sizes = {path: size for path, size in self._sizes.items() if path.partition("/")[0] not in names}


def require_own(uri: str, results: Results) -> None:
    """Refuse a URI with files that the command has not written; drafts of other runs are none of them.

    Raises:
        ResultFolderError: It names what was found.
        StorageError: The storage cannot be read.
    """
    storage, path = open_storage(uri)
    paths = [file.path.removeprefix(f"{path}/") for file in list_files(uri)]
    with ThreadPoolExecutor(_REQUESTS) as threads, _one_line(f"{uri} cannot be read"):
        drafts = _drafts(storage, path, paths)
        paths = [name for name in paths if name.partition("/")[0] not in drafts]
        is_own = threads.map(lambda name: _is_own(storage, path, name, results), paths)
        foreign = [name for name, own in zip(paths, is_own, strict=True) if not own]
    if foreign:
        raise ResultFolderError(
            f"expected an empty folder or an earlier {results.command}, but {hide_credentials(uri)} has other files, "
            f"or damaged ones ({named(foreign)}): take another folder"
        )


def _drafts(storage: FileSystem, root: str, paths: Iterable[str]) -> set[str]:
    """Return the drafts of other runs, which have our mark."""
    drafts = set()
    for draft, _, name in (path.partition("/") for path in paths):
        if is_draft_name(draft) and name == DRAFT_MARK:
            with storage.open_input_file(f"{root}/{draft}/{name}") as file:
                if file.read().decode(errors="replace").startswith(DRAFT_START):
                    drafts.add(draft)
    return drafts


def _is_own(storage: FileSystem, root: str, path: str, results: Results) -> bool:
    with storage.open_input_file(f"{root}/{path}") as file:
        return results.owns(path, file)


def upload(folder: Path, uri: str, results: Results, names: Sequence[str] | None = None) -> None:
    """Replace the results at a URI by those of a local folder.

    They are copied into a draft in the storage first: if that fails, the earlier results are as they were. Then the
    main file is removed first and written last: where it is, all others are of the same run. An error after that says
    that no complete results are there, because a storage has no rename that would undo it. Of two runs at the same
    time, the one that removed the draft of the other goes on, and the other one fails.

    Args:
        folder: The local folder.
        uri: Where to.
        results: The permitted contents.
        names: The replaced results; None: all.

    Raises:
        ResultFolderError: The URI has files that the command has not written.
        StorageError: They cannot be written.
    """
    from pyarrow.fs import LocalFileSystem, copy_files

    storage, path = open_storage(uri)
    draft = f"{path}/{draft_name()}"
    replaced = results.names if names is None else names
    names = [name for name in replaced if (folder / name).exists()]
    writing = f"{uri} cannot be written"
    with _one_line(writing):
        _remove_drafts(storage, uri, path)
    try:
        with _one_line(writing):
            storage.create_dir(draft)
            with storage.open_output_stream(f"{draft}/{DRAFT_MARK}") as stream:
                stream.write(draft_mark(names).encode())
            for name in names:
                storage.create_dir(f"{draft}/{name}" if (folder / name).is_dir() else draft)
                copy_files(str(folder / name), f"{draft}/{name}", LocalFileSystem(), storage)
        require_own(uri, results)
        with _one_line(writing):
            _require_whole(storage, draft, folder, names)
        with _one_line(f"{uri} has no complete results now: repeat the command. Reason"):
            for name in reversed(replaced):
                _remove(storage, f"{path}/{name}")
            for name in names:
                _move(storage, f"{draft}/{name}", f"{path}/{name}", folder / name)
    finally:
        with suppress(*_errors()):  # the next run removes it
            _remove(storage, draft)


def _remove_drafts(storage: FileSystem, uri: str, path: str) -> None:
    storage.create_dir(path)
    for draft in _drafts(storage, path, (file.path.removeprefix(f"{path}/") for file in list_files(uri))):
        _remove(storage, f"{path}/{draft}")


def _require_whole(storage: FileSystem, draft: str, folder: Path, names: Sequence[str]) -> None:
    """Refuse a draft that another run has removed."""
    paths = (path for name in names for path in (folder / name, *(folder / name).rglob("*")))
    for file in (path.relative_to(folder) for path in paths if path.is_file()):
        if storage.get_file_info(f"{draft}/{file}").size != (folder / file).stat().st_size:
            raise OSError(f"another run has removed {draft}/{file}")


def _move(storage: FileSystem, source: str, target: str, local: Path) -> None:
    """Move a file, or the files of a folder: PyArrow moves no folders in S3."""
    if local.is_dir():
        storage.create_dir(target)
    for file in local.rglob("*") if local.is_dir() else [local]:
        below = "" if file == local else f"/{file.relative_to(local).as_posix()}"
        storage.move(source + below, target + below)


def _remove(storage: FileSystem, path: str) -> None:
    from pyarrow.fs import FileType

    kind = storage.get_file_info(path).type
    if kind == FileType.Directory:
        storage.delete_dir(path)
    elif kind == FileType.File:
        storage.delete_file(path)


@contextmanager
def _one_line(what: str) -> Iterator[None]:
    """Say what has failed, and why, in one line."""
    try:
        yield
    except StorageError:
        raise
    except _errors() as error:
        reason = next(iter(str(error).splitlines()), repr(error))
        remedy = BY_SPARK if any(library in reason for library in _NATIVE) else ""
        raise StorageError(f"{what}: {reason}{remedy}") from None


def _errors() -> tuple[type[Exception], ...]:
    """Return what PyArrow raises: some storages have errors that are none of the system's."""
    from pyarrow import ArrowException

    return OSError, ValueError, ArrowException
