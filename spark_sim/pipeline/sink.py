"""The folder of a sweep, written so that a kill at any moment leaves no half-written file.

    manifest.json   what is swept, and the results of each finished partition: the truth about everything else
    runs/*.parquet  the rows of a partition, one file each, named after it
    matrix.json     the results, one record for each cell; written last, so that its presence means "finished"
    guide.json      for each pair of releases the cheapest safe plan, derived from the results
    history.json    instead of matrix.json, the results of searches for known bugs
    .unfinished/    files that are being written, in a folder of its own for each sweep, because the workers of a killed
                    sweep may run on for a moment; the next sweep removes them

Every file is written elsewhere and then renamed: first the rows of a partition, then the manifest that names it. Rows
that the manifest does not name come from a sweep that was killed in between; the next one removes and repeats them.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from attrs import define, field

from spark_sim.pipeline.suites import GUIDE, HISTORY, MANIFEST, MATRIX, ResultFolderError, Suite
from spark_sim.pipeline.work_units import Partition, PartitionResult, digest_of

REPORT: Final = "report.html"
RUNS: Final = "runs"
STAGING: Final = ".unfinished"

StagedResults = list[tuple[PartitionResult, Path | None]]
"""Results of partitions with the files of their rows; None if there are no rows."""


def _staged_name(name: str) -> str:
    return f".{name}.unfinished"


_FINAL_FILES: Final = (MATRIX, GUIDE, HISTORY, REPORT)
_WRITTEN_FILES: Final = (*_FINAL_FILES, MANIFEST, *map(_staged_name, _FINAL_FILES))
OWN_FILES: Final = frozenset({*_WRITTEN_FILES, RUNS, STAGING})


@define
class ResultSink:
    """A sweep's folder while it is being written. ``open_sink`` opens it."""

    folder: Path
    suite: Suite
    parameters: dict[str, Any]
    """What has to be equal to resume the sweep."""
    partitions: Mapping[str, Partition]
    committed: dict[str, PartitionResult] = field(factory=dict)
    staging: Path = field(init=False)
    """Where to write files that are to be committed; no other sweep ever uses it."""
    _lines: dict[str, str] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        """Choose the staging folder."""
        self.staging = self.folder / STAGING / uuid4().hex

    def pending(self) -> list[Partition]:
        """List the partitions that are not committed."""
        return [each for key, each in self.partitions.items() if key not in self.committed]

    def results(self) -> list[Any]:
        """Return one result for each cell of the suite, as far as it is known."""
        return self.suite.expand(found for each in self.committed.values() for found in each.results)

    def commit(self, staged: StagedResults) -> None:
        """Move the rows of finished partitions to their place, then name them in the manifest. Idempotent."""
        new = [(result, file) for result, file in staged if result.key not in self.committed]
        for result, file in new:
            if file is not None:
                self._move(file, self.folder / RUNS / (result.key + file.suffix))
            self.committed[result.key] = result
        if new:
            self._write(MANIFEST, self._manifest())

    @staticmethod
    def _move(file: Path, place: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            file.replace(place)
        except FileNotFoundError:
            raise ResultFolderError(
                f"a worker wrote the rows of {place.stem}, but not into {file.parent}: "
                "--out has to be a folder that the driver and all workers share"
            ) from None

    def write_final(self) -> list[Any]:
        """Write the files that the suite ends with; return the results in the order of its cells."""
        results = self.results()
        for name, text_of in self.suite.files.items():
            self._write(name, text_of(results))
        return results

    def digest(self) -> str:
        """Return the digest of all rows so far; it does not depend on the order in which partitions finish."""
        return digest_of(f"{key} {self.committed[key].digest}" for key in sorted(self.committed))

    def _manifest(self) -> str:
        """Return the manifest, a partition a line; each line is made once, because the file is written many times."""
        for key in self.committed.keys() - self._lines.keys():
            each = self.committed[key]
            plain = {"digest": each.digest, "sums": [found.as_plain() for found in each.results]}
            self._lines[key] = f"  {json.dumps(key)}: {json.dumps(plain, ensure_ascii=False)}"
        head = {
            "suite": self.suite.kind,
            "parameters": self.parameters,
            "slices": len(self.partitions),
            "digest": self.digest(),
        }
        done = ",\n".join(self._lines[key] for key in sorted(self._lines))
        return json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}") + f',\n "done": {{\n{done}\n }}\n}}\n'

    def _write(self, name: str, text: str) -> None:
        write_atomically(self.folder / name, text, staged=self.staging / name)

    def load_manifest(self) -> None:
        """Read the finished partitions of an earlier sweep.

        Raises:
            ResultFolderError: The earlier sweep was another one.
        """
        try:
            manifest = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            for name in self.suite.files:
                if (self.folder / name).exists():
                    raise _another_sweep(self.folder, f"{name} without {MANIFEST}") from None
            return
        except ValueError as error:
            raise _no_manifest(self.folder, error) from None
        if not (isinstance(manifest, dict) and isinstance(manifest.get("parameters"), dict)):
            raise _no_manifest(self.folder, "without parameters")
        theirs = manifest["parameters"]
        different = [name for name, value in self.parameters.items() if theirs.get(name) != value]
        if different:
            readable = [name for name in different if name != "slices"] or different  # a digest explains nothing
            what = ", ".join(f"{name} {theirs.get(name)} and not {self.parameters[name]}" for name in readable)
            raise _another_sweep(self.folder, what)
        for key, plain in manifest["done"].items():
            units = self.partitions[key].units
            results = tuple(
                unit.result_type.from_plain(unit.cell, each) for unit, each in zip(units, plain["sums"], strict=True)
            )
            self.committed[key] = PartitionResult(key, results, plain["digest"])

    def remove_uncommitted(self) -> None:
        """Remove unfinished files, and rows that the manifest does not name."""
        shutil.rmtree(self.folder / STAGING, ignore_errors=True)
        for file in (self.folder / RUNS).glob("*"):
            if file.stem not in self.committed:
                file.unlink()


def _another_sweep(folder: Path, what: str) -> ResultFolderError:
    return ResultFolderError(
        f"{folder} holds another sweep ({what}): take another --out, or --fresh to throw that one away"
    )


def _no_manifest(folder: Path, why: object) -> ResultFolderError:
    return ResultFolderError(
        f"{folder / MANIFEST} is not a manifest of a sweep ({why}): take another --out, or --fresh to begin anew"
    )


@contextmanager
def open_sink(
    folder: Path, suite: Suite, partitions: list[Partition], storage_format: str, *, fresh: bool = False
) -> Iterator[ResultSink]:
    """Open the folder of a new sweep, or of one to resume; no other sweep can open it meanwhile.

    Args:
        folder: Created if it does not exist; removed if nothing was written into it.
        suite: What is swept.
        partitions: The work.
        storage_format: How rows are stored; the sweep can only be resumed with the same one.
        fresh: First remove the results of an earlier sweep (and nothing else).

    Raises:
        ResultFolderError: The folder holds something else, or cannot be written to.
    """
    parameters = {
        "sweep": suite.name,
        **suite.parameters,
        "storage": storage_format,
        "version": _our_version(),
        "slices": digest_of(f"{each.key} {unit}" for each in partitions for unit in each.units),
    }
    sink = ResultSink(folder, suite, parameters, {each.key: each for each in partitions})
    try:
        _require_own_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            if fresh:
                _discard(folder)
            sink.load_manifest()
            sink.remove_uncommitted()
            sink.staging.mkdir(parents=True)
            try:
                yield sink
            finally:
                sink.remove_uncommitted()
                with suppress(OSError):
                    folder.rmdir()  # if it is empty
    except BlockingIOError:
        raise ResultFolderError(f"another sweep is writing to {folder}") from None
    except OSError as error:
        raise ResultFolderError(f"cannot write to {folder}: {error.strerror or error}") from error


def write_atomically(path: Path, text: str, staged: Path | None = None) -> None:
    """Write a file as a whole or not at all."""
    draft = staged or path.with_name(_staged_name(path.name))
    try:
        with draft.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Exclude other sweeps; the lock ends with the process, however that ends."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def _require_own_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ResultFolderError(f"{folder} is a file; --out wants a folder")
    if folder.exists() and (foreign := sorted({path.name for path in folder.iterdir()} - OWN_FILES)):
        raise ResultFolderError(f"{folder} holds something else ({foreign[0]}): take another --out")


def _discard(folder: Path) -> None:
    for name in _WRITTEN_FILES:
        (folder / name).unlink(missing_ok=True)
    if (folder / RUNS).exists():
        shutil.rmtree(folder / RUNS)


def _our_version() -> str:
    try:
        return version("streams-assignor")
    except PackageNotFoundError:  # a checkout that is not installed
        return "unknown"
