"""The file of a journal: each record is on disk before anything follows from it."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from streams_assignor.upgrade.input_values import MAX_CAPTURE_BYTES
from streams_assignor.upgrade.roll.journal import JournalError, JournalLine, RollRecord, read_journal, seconds_in_step
from streams_assignor.upgrade.roll.state import replay


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class JournalFile:
    """A journal that is open for appending; ``open_journal`` makes one."""

    def __init__(self, path: Path, descriptor: int, now: Callable[[], str] = _now) -> None:
        self.path = path
        self.is_lost = False
        """Whether a record could not be written."""
        self._descriptor = descriptor
        self._now = now
        content = b"".join(iter(lambda: os.read(descriptor, 1 << 20), b""))
        read = read_journal(content, str(path))
        self.lines = list(read.lines)
        self.is_torn = read.is_torn
        self._size = read.whole_bytes
        self._length = len(content)
        self._before = b"\n" if read.is_open else b""

    def clear(self) -> None:
        """Forget all records."""
        os.ftruncate(self._descriptor, 0)
        self._size, self._length, self._before = 0, 0, b""
        self.lines.clear()

    @property
    def records(self) -> list[RollRecord]:
        """The records so far."""
        return [line.record for line in self.lines]

    @property
    def seconds_in_step(self) -> float | None:
        """How long ago the first command of the step under way was intended; None: the clock has jumped."""
        return seconds_in_step(self.lines, self._now())

    def append(self, record: RollRecord) -> JournalLine:
        """Write a record, and return when it is on disk.

        It takes the place of a torn one, which stays torn until it is replaced completely.

        Raises:
            JournalError: It cannot be written, as on a full disk, or is not the file any more that was opened.
        """
        self._check_own()
        line = JournalLine(self._now(), record)
        rest = self._before + line.text().encode()
        try:
            while rest:
                written = os.pwrite(self._descriptor, rest, self._size)
                self._size, self._before, rest = self._size + written, b"", rest[written:]
            os.ftruncate(self._descriptor, self._size)
            self._length = self._size
            os.fsync(self._descriptor)
        except OSError as error:
            self.is_lost = True
            after = "as soon as it can be written the same command continues, and repeats nothing unasked"
            raise JournalError(f"{self.path} cannot be written: {error}; {after}") from error
        self.lines.append(line)
        return line

    def _check_own(self) -> None:
        """Refuse to go on with records that the same command would not read again."""
        try:
            is_own = os.path.samestat(self.path.stat(), status := os.fstat(self._descriptor))
        except OSError as error:
            why = f"{error.strerror}: somebody has moved or removed it"
        else:
            if is_own and status.st_size == self._length:
                return
            why = "somebody else has changed it" if is_own else "another file has taken its place"
        self.is_lost = True
        raise JournalError(f"{self.path}: {why} while roll ran: put it back as it was, and call roll again")


def has_begun(path: Path) -> bool:
    """Whether a file is the journal of a roll that was confirmed; ``JournalError`` if it is no journal."""
    if not path.exists():
        return False
    _check_file(path, path.stat())
    records = [line.record for line in read_journal(path.read_bytes(), str(path)).lines]
    return bool(records) and replay(records, str(path)).confirmed


@contextmanager
def open_journal(path: Path) -> Iterator[JournalFile]:
    """Open a journal, or make one that only its user reads; another process of this host is kept out.

    Raises:
        JournalError: Another process has it open, or it is none.
    """
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(f"{path}: another process continues this roll") from None
        except OSError as error:
            raise _no_place(path, "flock", error) from error
        _check_file(path, os.fstat(descriptor))
        if is_new:
            try:
                _sync_folder(path.parent)
            except OSError as error:
                raise _no_place(path, "fsync of a folder", error) from error
        yield JournalFile(path, descriptor)
    finally:
        os.close(descriptor)


def _no_place(path: Path, lacks: str, error: OSError) -> JournalError:
    """Return the refusal of a filesystem that keeps no second process out, or no name of a file."""
    return JournalError(f"{path}: expected a filesystem with {lacks}: {error.strerror}; --journal names another file")


def _check_file(path: Path, status: os.stat_result) -> None:
    """Refuse what cannot be kept in memory, or has no end."""
    if not stat.S_ISREG(status.st_mode):
        raise JournalError(f"{path}: expected a file on disk for the journal, got a device, a pipe or a folder")
    if status.st_size > MAX_CAPTURE_BYTES:
        raise JournalError(f"{path}: expected at most {MAX_CAPTURE_BYTES:,} bytes, got {status.st_size:,}")


def _sync_folder(folder: Path) -> None:
    """Return when the name of a new file is on disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
