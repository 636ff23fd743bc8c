"""A folder of results: which files in it are those of a command, and how new results replace earlier ones.

A file is recognized by its content. A folder with anything else is refused, and nothing else is ever removed.

New results are made in a draft inside the folder, ``.draft-ID/new``, and published by renames:

1. Earlier results move to ``.draft-ID/old``, the main file first.
2. ``new`` becomes ``ready``.
3. The contents of ``ready`` move to their place, the main file last.

So a reader that requires the main file sees the earlier results, the new ones or none. A failure moves everything back.
After a kill, the next command that opens the folder does it: back before step 2, forward after it. The folder is locked
meanwhile, so every draft that is found is that of a dead command. ``pyarrow.dataset`` replaces one file at a time and
deltalake one table; here tables, JSON and a page are replaced together.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Final
from uuid import uuid4

from attrs import frozen

from streams_assignor.codec import StreamsAssignorError
from streams_assignor.spark_sim.jobs.table import Table
from streams_assignor.spark_sim.sweep.tables.parquet import is_file_of
from streams_assignor.upgrade.input_values import InvalidInput, parse_json, read_text

_DRAFT: Final = re.compile(r"\.draft-[0-9a-f]{32}")
DRAFT_MARK: Final = "draft.json"
DRAFT_START: Final = '{"schema": "streams-assignor/draft", "version": 1, '
_NEW, _READY, _OLD, _SCRATCH = "new", "ready", "old", "scratch"
_OF_FILE_SYSTEMS: Final = "lost+found"
"""A folder at the top of a volume, which is never touched."""
_MAY_BE_EMPTY: Final = re.compile(r"/(batch=[^/]*|_temporary(/.*)?)$")
"""Folders that a killed writer of a table may have created and no more."""
_BEGINNING: Final = 65_536
_MOST_NAMES: Final = 5
_OF_NETWORKS: Final = (ConnectionError, TimeoutError)
"""Errors that no file has."""

IsOwn = Callable[[IO[bytes]], bool]
"""Whether the content of a file is what a command writes."""


class ResultFolderError(StreamsAssignorError):
    """A folder that cannot hold, or does not hold, the results of a command; the message contains the remedy."""


@frozen
class Results:
    """The results of a command in a folder."""

    command: str
    files: Mapping[str, IsOwn]
    """The files by name, the main one last."""
    tables: Mapping[str, Table]
    is_own_in_table: Callable[[Table, str, IO[bytes]], bool] = lambda table, _, file: is_file_of(table, file)
    """Whether a file of this path below the folder of a table belongs to the table."""

    @property
    def names(self) -> tuple[str, ...]:
        """Tables and files, in the order in which they are published."""
        return (*self.tables, *self.files)

    def owns(self, path: str, file: IO[bytes]) -> bool:
        """Whether a file of this path in the folder is one that the command writes."""
        name, _, below = path.partition("/")
        if below:
            return name in self.tables and self.is_own_in_table(self.tables[name], below, file)
        return name in self.files and self.files[name](file)


def draft_name() -> str:
    """Return the name of a new draft."""
    return f".draft-{uuid4().hex}"


def is_draft_name(name: str) -> bool:
    """Whether a draft may have this name."""
    return bool(_DRAFT.fullmatch(name))


def draft_mark(names: Sequence[str]) -> str:
    """Return the content of the file that marks a draft of these results."""
    return f'{DRAFT_START}"names": {json.dumps(names)}}}\n'


def named(paths: Iterable[str]) -> str:
    """Return paths in one line.

    >>> named("abcdefgh")
    'a, b, c, d, e and 3 more'
    """
    ordered = sorted(paths)
    more = len(ordered) - _MOST_NAMES
    return ", ".join(ordered[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def begins_with(start: bytes, *keys: str) -> IsOwn:
    r"""Return a check for the beginning of a JSON file: these bytes, and soon all these keys. An empty file has it.

    >>> from io import BytesIO
    >>> is_matrix = begins_with(b"[\\n{", "from", "to")
    >>> is_matrix(BytesIO(b'[\\n{"from": 1, "to": 2}\\n]')), is_matrix(BytesIO(b'[\\n{"from": 1}\\n]'))
    (True, False)
    """

    def check(file: IO[bytes]) -> bool:
        head = file.read(_BEGINNING)
        present = {key.decode() for key in re.findall(rb'"(\w+)":', head)}
        return not head or (head.startswith(start) and {*keys} <= present)

    return check


def page_titled(*titles: str) -> IsOwn:
    """Return a check for a page of this project with one of the titles. An empty file has it."""
    expected = [f"<title>{title} · streams-assignor</title>".encode() for title in titles]
    return lambda file: not (head := file.read(_BEGINNING)) or any(title in head for title in expected)


def foreign_paths(folder: Path, results: Results, names: Sequence[str] | None = None) -> list[str]:
    """Return the paths in a folder, or below these names in it, that the command has not written."""
    entries = (
        entry
        for entry in os.scandir(folder)
        if (names is None or entry.name in names) and not (entry.name == _OF_FILE_SYSTEMS and _is_folder(entry))
    )
    return [
        path
        for entry in entries
        for path in ([] if _is_draft(entry, results) else _foreign(entry, entry.name, results))
    ]


def _foreign(entry: os.DirEntry[str], path: str, results: Results) -> Iterator[str]:
    if entry.is_symlink():
        yield f"{path} (a link)"
    elif not entry.is_dir():
        if not entry.is_file():
            yield f"{path} (no file)"
        else:
            with open(entry.path, "rb") as file:  # noqa: PTH123  # a path of scandir
                if not results.owns(path, file):
                    yield path
    elif "/" in path or path in results.tables:
        entries = [*os.scandir(entry.path)]
        if not entries and "/" in path and not _MAY_BE_EMPTY.search(path):
            yield f"{path}/"
        for inner in entries:
            yield from _foreign(inner, f"{path}/{inner.name}", results)
    else:
        yield f"{path}/"


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _is_draft(entry: os.DirEntry[str], results: Results) -> bool:
    """Whether it is a draft of ours: with our mark, which a killed command may have written in part, or only results.

    Workers of a killed command may write into a draft that has been removed.
    """
    if not is_draft_name(entry.name) or not _is_folder(entry):
        return False
    mark = Path(entry.path, DRAFT_MARK)
    if not mark.is_file():
        content = [*os.scandir(entry.path)]
        return all(
            inner.name == _NEW and _is_folder(inner) and not foreign_paths(Path(inner), results) for inner in content
        )
    text = mark.read_text(encoding="utf-8", errors="replace")
    return text.startswith(DRAFT_START) or DRAFT_START.startswith(text)


@frozen
class OpenFolder:
    """A locked folder."""

    path: Path
    results: Results
    has_others: bool
    """Whether files of others may be beside those of the command."""

    def require_own(self, names: Sequence[str] | None = None) -> None:
        """Refuse a folder with something that the command has not written.

        Raises:
            ResultFolderError: It names what was found.
        """
        if self.has_others and names is None:
            names = self.results.names
        if foreign := foreign_paths(self.path, self.results, names):
            raise ResultFolderError(
                f"expected an empty folder or an earlier {self.results.command}, but {self.path} "
                f"has other files, or damaged ones ({named(foreign)}): take another folder"
            )

    def remove(self, names: Sequence[str]) -> None:
        """Remove results, the main file first; everything in them is own."""
        self.require_own(names)
        for name in reversed(names):
            _remove(self.path / name)

    @contextmanager
    def replace(self, names: Sequence[str]) -> Iterator[Path]:
        """Yield a new folder for results with these names, which replace the earlier ones at the end.

        If there is an error, also while they are published, or nothing is in the folder, the earlier results are as
        they were.
        """
        draft = self.path / draft_name()
        draft.mkdir()
        try:
            (draft / DRAFT_MARK).write_text(draft_mark(names), encoding="utf-8")
            new = draft / _NEW
            new.mkdir()
            yield new
            if any(new.iterdir()):
                self.require_own(names)
                _sync(new)
                _publish(self.path, draft, names)
        finally:
            with suppress(OSError):  # what is left is removed when the folder is opened again
                _remove_draft(draft)

    @staticmethod
    def scratch_of(new: Path) -> Path:
        """Return a folder beside new results, which is removed with the draft."""
        scratch = new.with_name(_SCRATCH)
        scratch.mkdir(exist_ok=True)
        return scratch

    def finish_drafts(self) -> None:
        """Complete or undo what killed commands have begun to publish, and remove their drafts."""
        for draft in [Path(entry.path) for entry in os.scandir(self.path) if _is_draft(entry, self.results)]:
            if kept := next((draft / name for name in (_READY, _OLD) if (draft / name).is_dir()), None):
                present = {entry.name for entry in os.scandir(kept)}
                for name in (name for name in _marked_names(draft / DRAFT_MARK) if name in present):
                    (kept / name).rename(self.path / name)
            _remove_draft(draft)


def _marked_names(mark: Path) -> list[str]:
    try:
        return [str(name) for name in parse_json(read_text(mark))["names"]]
    except (InvalidInput, LookupError, TypeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise ResultFolderError(f"expected the names of results in {mark}, got {why}") from None


@contextmanager
def open_results(folder: Path, results: Results, *, has_others: bool = False) -> Iterator[OpenFolder]:
    """Open a folder for results; no other command can open it meanwhile.

    Args:
        folder: Created if it does not exist; then removed if nothing was written into it.
        results: Its permitted contents.
        has_others: Whether other files may be in it, too.

    Raises:
        ResultFolderError: The folder holds something else, or cannot be written to.
        OSError: As it was raised while the folder was open, if it is of another file or of a connection.
    """
    try:
        created = _create(folder)
        try:
            with locked(folder, results.command):
                opened = OpenFolder(folder, results, has_others)
                opened.require_own()
                opened.finish_drafts()
                yield opened
        finally:
            for parent in created:
                with suppress(OSError):
                    parent.rmdir()  # if it is empty
    except OSError as error:
        if isinstance(error, _OF_NETWORKS) or not _concerns(folder, error.filename):
            raise
        raise ResultFolderError(f"cannot write to {folder}: {error.strerror or error}") from error


def _concerns(folder: Path, file: object) -> bool:
    """Whether the file of an error is in a folder or above it; many errors name none."""
    if not isinstance(file, str | os.PathLike):
        return True
    ours, theirs = (Path(os.path.abspath(path)) for path in (folder, file))  # noqa: PTH100  # links stay
    return theirs.is_relative_to(ours) or ours.is_relative_to(theirs)


def _create(folder: Path) -> list[Path]:
    """Create a folder; return what was created, the innermost first."""
    if os.path.lexists(folder) and not folder.is_dir():
        kind = "link to nothing" if folder.is_symlink() and not folder.exists() else "file"
        raise ResultFolderError(f"expected a folder for the results, got the {kind} {folder}")
    created = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return created


@contextmanager
def locked(folder: Path, command: str, *, shared: bool = False) -> Iterator[None]:
    """Exclude other commands, or only those that write; the lock ends with the process, however that ends.

    Raises:
        ResultFolderError: Another command has the folder.
    """
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResultFolderError(f"another {command} is writing to {folder}") from None
        yield
    finally:
        os.close(lock)


def _publish(folder: Path, draft: Path, names: Sequence[str]) -> None:
    new, ready, old = draft / _NEW, draft / _READY, draft / _OLD
    with ExitStack() as undo:
        if present := [name for name in reversed(names) if os.path.lexists(folder / name)]:
            old.mkdir()
        for name in present:
            _move(folder / name, old / name, undo)
        _move(new, ready, undo)
        for name in names:
            if (ready / name).exists():
                _move(ready / name, folder / name, undo)
        undo.pop_all()


def _move(source: Path, target: Path, undo: ExitStack) -> None:
    source.rename(target)
    undo.callback(target.rename, source)


def _sync(folder: Path) -> None:
    """Wait until the files below a folder are on the disk: a rename may be there before what it names."""
    for parent, _, files in os.walk(folder):
        for path in (Path(parent), *(Path(parent, name) for name in files)):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _remove_draft(draft: Path) -> None:
    """Remove a draft, its mark last: without it, nothing says whose the rest is."""
    for name in (_NEW, _OLD, _READY, _SCRATCH, DRAFT_MARK):
        _remove(draft / name)
    draft.rmdir()


def write_page(path: Path, text: str, is_own: IsOwn) -> None:
    """Write a file that the user names, as a whole or not at all; a link stays a link.

    Raises:
        ResultFolderError: Something else is there.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name}.unfinished")
    for file in (target, draft):
        if os.path.lexists(file) and not (file.is_file() and _is_own_file(file, is_own)):
            raise ResultFolderError(f"expected no file or an earlier page, got {file}: take another file")
    try:
        with draft.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(target)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _is_own_file(path: Path, is_own: IsOwn) -> bool:
    with path.open("rb") as file:
        return is_own(file)
