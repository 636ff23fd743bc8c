"""What a sweep leaves in its folder, and how it gets there so that a kill at any moment leaves nothing half-written.

    manifest.json                  what is swept, and for each finished block what came of it: the truth about the rest
    runs/cell=FROM-to-TO/*.parquet one file a block, named after it
    matrix.json                    one object per cell and plan; written last, so that its presence means "finished"
    .unfinished/                   files being written, by each sweep in a folder of its own, as the workers of one that
                                   was killed may go on for a moment; whatever is left there is thrown away

Every file is written elsewhere and then renamed, first a block's rows and then the manifest that names the block. So
rows that the manifest does not name are of a sweep that was killed in between; the next one removes and repeats them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from attrs import asdict, define, field, filters, frozen

from spark_sim.runs import CellResult
from spark_sim.schedules import Block
from spark_sim.shrink import with_smallest_example
from upgrade.matrix import Upgrade

MANIFEST: Final = "manifest.json"
MATRIX: Final = "matrix.json"
REPORT: Final = "report.html"
RUNS: Final = "runs"
UNFINISHED: Final = ".unfinished"


def _draft_of(name: str) -> str:
    return f".{name}.unfinished"


DRAFTS: Final = frozenset(map(_draft_of, (MATRIX, REPORT)))
"""What a kill leaves of a file that was being written as a whole."""

OURS: Final = frozenset({MANIFEST, MATRIX, REPORT, RUNS, UNFINISHED}) | DRAFTS


class ResultsError(Exception):
    """A folder that cannot hold, or does not hold, what is asked for; the message says what to do."""


@frozen
class BlockResult:
    """What came of one block: its sum, and the digest of all its rows."""

    key: str
    sum: CellResult
    digest: str


@frozen
class Sweep:
    """What is swept: everything that decides the rows and nothing else."""

    name: str
    upgrades: tuple[Upgrade, ...]
    members: int = 3
    seed: int = 0
    sample: int | None = None

    def parameters(self, blocks: Iterable[Block], storage: str) -> dict[str, Any]:
        """Return what must be equal for a killed sweep to go on."""
        return {
            "sweep": self.name,
            "members": self.members,
            "seed": self.seed,
            "sample": self.sample,
            "storage": storage,
            "version": _our_version(),
            "schedules": digest_of(f"{block.key} {each}" for block in blocks for each in block.schedules),
        }


@define
class Results:
    """A sweep's folder while it is being written. Open it with ``opened``."""

    folder: Path
    parameters: dict[str, Any]
    blocks: Mapping[str, Block]
    done: dict[str, BlockResult] = field(factory=dict)
    unfinished: Path = field(init=False)
    """Where to write what is to be stored."""

    def __attrs_post_init__(self) -> None:
        """Choose a folder for unfinished files that no other sweep has ever used."""
        self.unfinished = self.folder / UNFINISHED / uuid4().hex

    def todo(self) -> list[Block]:
        """List the blocks that are not stored yet."""
        return [block for key, block in self.blocks.items() if key not in self.done]

    def store(self, written: Iterable[tuple[BlockResult, Path]]) -> None:
        """Move the files of finished blocks to their place, and then say so in the manifest."""
        for result, file in written:
            place = self._place(result.key, file.suffix)
            place.parent.mkdir(parents=True, exist_ok=True)
            file.replace(place)
            self.done[result.key] = result
        self._write(MANIFEST, _json(self._manifest()))

    def finish(self) -> list[CellResult]:
        """Write ``matrix.json``; return its results in the order of the sweep, examples as small as they get."""
        results = [with_smallest_example(result) for result in merged(self.blocks.values(), self.done.values())]
        self._write(MATRIX, matrix_json(results))
        return results

    def digest(self) -> str:
        """Return the digest of all rows so far, whoever computed them and in which order."""
        return digest_of(f"{key} {self.done[key].digest}" for key in sorted(self.done))

    def _manifest(self) -> dict[str, Any]:
        done = {key: {"digest": r.digest, **_plain(r.sum)} for key, r in sorted(self.done.items())}
        return {"parameters": self.parameters, "blocks": len(self.blocks), "digest": self.digest(), "done": done}

    def _place(self, key: str, suffix: str) -> Path:
        return self.folder / RUNS / f"cell={cell_name(self.blocks[key].upgrade)}" / (key + suffix)

    def _write(self, name: str, text: str) -> None:
        write_whole(self.folder / name, text, by_way_of=self.unfinished / name)

    def remember(self) -> None:
        """Read what an earlier sweep has finished; ``ResultsError`` if it swept something else."""
        try:
            manifest = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            if (self.folder / MATRIX).exists():
                raise ResultsError(
                    f"{self.folder} holds another sweep ({MATRIX} without {MANIFEST}): "
                    "take another --out, or --fresh to throw that one away"
                ) from None
            return
        except ValueError as error:
            raise ResultsError(
                f"{self.folder / MANIFEST} is not a manifest ({error}); take --fresh to begin anew"
            ) from None
        theirs = manifest["parameters"]
        different = [name for name, value in self.parameters.items() if theirs.get(name) != value]
        if different:
            what = ", ".join(f"{name} {theirs.get(name)} and not {self.parameters[name]}" for name in different)
            raise ResultsError(
                f"{self.folder} holds another sweep ({what}): take another --out, or --fresh to throw that one away"
            )
        for key, plain in manifest["done"].items():
            digest = plain.pop("digest")
            self.done[key] = BlockResult(key, CellResult(self.blocks[key].upgrade, **plain), digest)

    def clear_leftovers(self) -> None:
        """Remove what a killed sweep left behind: unfinished files, and rows that the manifest does not name."""
        shutil.rmtree(self.folder / UNFINISHED, ignore_errors=True)
        for file in (self.folder / RUNS).glob("cell=*/*"):
            if file.stem not in self.done:
                file.unlink()


@contextmanager
def opened(folder: Path, sweep: Sweep, blocks: list[Block], storage: str, *, fresh: bool = False) -> Iterator[Results]:
    """Open a folder for a sweep, new or to go on with; nobody else can at the same time.

    ``ResultsError`` if it holds something else; ``fresh`` first throws an earlier sweep away, and nothing but a sweep.
    """
    results = Results(folder, sweep.parameters(blocks, storage), {block.key: block for block in blocks})
    try:
        _refuse_what_is_not_a_sweep(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            if fresh:
                _throw_away(folder)
            results.remember()
            results.clear_leftovers()
            results.unfinished.mkdir(parents=True)
            try:
                yield results
            finally:
                results.clear_leftovers()
                _remove_if_empty(folder)
    except BlockingIOError:
        raise ResultsError(f"another sweep is writing to {folder}") from None
    except OSError as error:
        raise ResultsError(f"cannot write to {folder}: {error.strerror or error}") from error


def cell_name(upgrade: Upgrade) -> str:
    """Name the cell of an upgrade: ``1.1.1-to-2.0.1``."""
    return f"{upgrade.origin}-to-{upgrade.target}"


def merged(blocks: Iterable[Block], done: Iterable[BlockResult]) -> list[CellResult]:
    """Sum up finished blocks, one result for each upgrade, also for those that have not begun."""
    results = {block.upgrade: CellResult(block.upgrade) for block in blocks}
    for block in done:
        results[block.sum.upgrade] = results[block.sum.upgrade].plus(block.sum)
    return list(results.values())


def matrix_json(results: Iterable[CellResult]) -> str:
    """Write ``matrix.json``: a JSON list, one object a line."""
    return "[\n" + ",\n".join(json.dumps(result.as_json(), ensure_ascii=False) for result in results) + "\n]\n"


def write_whole(path: Path, text: str, by_way_of: Path | None = None) -> None:
    """Write a file so that nobody ever sees half of it."""
    draft = by_way_of or path.with_name(_draft_of(path.name))
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
    """Keep others out; the lock goes with the process, however that ends."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def _remove_if_empty(folder: Path) -> None:
    """Leave nothing of a sweep that did not begin."""
    with suppress(OSError):
        folder.rmdir()


def _refuse_what_is_not_a_sweep(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ResultsError(f"{folder} is a file; --out wants a folder")
    if folder.exists() and (foreign := sorted({path.name for path in folder.iterdir()} - OURS)):
        raise ResultsError(f"{folder} holds something else ({foreign[0]}): take another --out")


def _throw_away(folder: Path) -> None:
    for path in (folder / MATRIX, folder / MANIFEST, folder / REPORT, *map(folder.joinpath, DRAFTS)):
        path.unlink(missing_ok=True)
    if (folder / RUNS).exists():
        shutil.rmtree(folder / RUNS)


def _plain(result: CellResult) -> dict[str, Any]:
    return asdict(result, filter=filters.exclude("upgrade"))


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def digest_of(lines: Iterable[str]) -> str:
    """Return a short hash of some lines."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _our_version() -> str:
    try:
        return version("streams-assignor")
    except PackageNotFoundError:  # a checkout that is not installed
        return "unknown"
