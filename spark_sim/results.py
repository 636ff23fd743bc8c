"""What a sweep leaves in its folder, and how it gets there so that a kill at any moment leaves nothing half-written.

    manifest.json   what is swept, and for each finished slice what came of it: the truth about the rest
    runs/*.parquet  one file a slice, named after it
    matrix.json     one object per cell and plan; written last, so that its presence means "finished"
    guide.json      for each pair of releases the least that is safe, as the matrix has it
    .unfinished/    files being written, by each sweep in a folder of its own, as the workers of one that was killed
                    may go on for a moment; whatever is left there is thrown away

Every file is written elsewhere and then renamed, first a slice's rows and then the manifest that names the slice. So
rows that the manifest does not name are of a sweep that was killed in between; the next one removes and repeats them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from attrs import asdict, define, field, filters, frozen

from spark_sim.cell_result import CellResult, Varied
from spark_sim.guide import entry_json, guide
from spark_sim.jobs import Extent, Slice, behaviour_of
from spark_sim.variants import VARIANTS, kind_of_variant, with_columns
from upgrade.matrix import Upgrade

MANIFEST: Final = "manifest.json"
MATRIX: Final = "matrix.json"
GUIDE: Final = "guide.json"
REPORT: Final = "report.html"
RUNS: Final = "runs"
UNFINISHED: Final = ".unfinished"


def _draft_of(name: str) -> str:
    return f".{name}.unfinished"


DRAFTS: Final = frozenset(map(_draft_of, (MATRIX, GUIDE, REPORT)))
"""What a kill leaves of a file that was being written as a whole."""

OURS: Final = frozenset({MANIFEST, MATRIX, GUIDE, REPORT, RUNS, UNFINISHED}) | DRAFTS


class ResultsError(Exception):
    """A folder that cannot hold, or does not hold, what is asked for; the message says what to do."""


@frozen
class SliceResult:
    """What came of one slice: a sum for each of its upgrades, and the digest of all its rows."""

    key: str
    sums: tuple[CellResult, ...]
    digest: str


@frozen
class Sweep:
    """What is swept, and how far: everything that decides the rows and nothing else."""

    name: str
    upgrades: tuple[Upgrade, ...]
    extent: Extent = field(factory=Extent)

    def parameters(self, work: Iterable[Slice], storage: str) -> dict[str, Any]:
        """Return what must be equal for a killed sweep to go on."""
        return {
            "sweep": self.name,
            **asdict(self.extent),
            "storage": storage,
            "version": _our_version(),
            "slices": digest_of(f"{each.key} {job}" for each in work for job in each.jobs),
        }


@define
class Results:
    """A sweep's folder while it is being written. Open it with ``opened``."""

    folder: Path
    parameters: dict[str, Any]
    slices: Mapping[str, Slice]
    done: dict[str, SliceResult] = field(factory=dict)
    unfinished: Path = field(init=False)
    """Where to write what is to be stored."""
    _lines: dict[str, str] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        """Choose a folder for unfinished files that no other sweep has ever used."""
        self.unfinished = self.folder / UNFINISHED / uuid4().hex

    def todo(self) -> list[Slice]:
        """List the slices that are not stored yet."""
        return [each for key, each in self.slices.items() if key not in self.done]

    def store(self, written: Iterable[tuple[SliceResult, Path | None]]) -> None:
        """Move the files of finished slices to their place, and then say so in the manifest; once is enough."""
        new = [(result, file) for result, file in written if result.key not in self.done]
        for result, file in new:
            if file is not None:  # where nobody even starts, there are no rows
                self._move(file, self._place(result.key, file.suffix))
            self.done[result.key] = result
        if new:
            self._write(MANIFEST, self._manifest())

    @staticmethod
    def _move(file: Path, place: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            file.replace(place)
        except FileNotFoundError:
            raise ResultsError(
                f"a worker wrote the rows of {place.stem}, but not into {file.parent}: "
                "--out has to be a folder that the driver and all workers share"
            ) from None

    def finish(self, upgrades: Iterable[Upgrade]) -> list[CellResult]:
        """Write ``guide.json`` and ``matrix.json``; return the results in the order of the sweep."""
        results = merged(upgrades, self.done.values())
        self._write(GUIDE, _json_lines(entry_json(entry) for entry in guide(results).values()))
        self._write(MATRIX, matrix_json(results))
        return results

    def digest(self) -> str:
        """Return the digest of all rows so far, whoever computed them and in which order."""
        return digest_of(f"{key} {self.done[key].digest}" for key in sorted(self.done))

    def _manifest(self) -> str:
        """Return the manifest as JSON, a slice a line; each line is made once, as all are written again and again."""
        for key in self.done.keys() - self._lines.keys():
            each = self.done[key]
            plain = {"digest": each.digest, "sums": [_plain(found) for found in each.sums]}
            self._lines[key] = f"  {json.dumps(key)}: {json.dumps(plain, ensure_ascii=False)}"
        head = _json({"parameters": self.parameters, "slices": len(self.slices), "digest": self.digest()})
        done = ",\n".join(self._lines[key] for key in sorted(self._lines))
        return head.removesuffix("\n}\n") + ',\n "done": {\n' + done + "\n }\n}\n"

    def _place(self, key: str, suffix: str) -> Path:
        return self.folder / RUNS / (key + suffix)

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
        if not (isinstance(manifest, dict) and isinstance(manifest.get("parameters"), dict)):
            raise ResultsError(
                f"{self.folder / MANIFEST} is not a manifest of a sweep: take another --out, or --fresh to begin anew"
            )
        theirs = manifest["parameters"]
        different = [name for name, value in self.parameters.items() if theirs.get(name) != value]
        if different:
            telling = [name for name in different if name != "slices"] or different  # a digest tells nobody anything
            what = ", ".join(f"{name} {theirs.get(name)} and not {self.parameters[name]}" for name in telling)
            raise ResultsError(
                f"{self.folder} holds another sweep ({what}): take another --out, or --fresh to throw that one away"
            )
        for key, plain in manifest["done"].items():
            jobs = self.slices[key].jobs
            sums = tuple(_from_plain(job.upgrade, each) for job, each in zip(jobs, plain["sums"], strict=True))
            self.done[key] = SliceResult(key, sums, plain["digest"])

    def clear_leftovers(self) -> None:
        """Remove what a killed sweep left behind: unfinished files, and rows that the manifest does not name."""
        shutil.rmtree(self.folder / UNFINISHED, ignore_errors=True)
        for file in (self.folder / RUNS).glob("*"):
            if file.stem not in self.done:
                file.unlink()


@contextmanager
def opened(folder: Path, sweep: Sweep, work: list[Slice], storage: str, *, fresh: bool = False) -> Iterator[Results]:
    """Open a folder for a sweep, new or to go on with; nobody else can at the same time.

    ``ResultsError`` if it holds something else; ``fresh`` first throws an earlier sweep away, and nothing but a sweep.
    """
    results = Results(folder, sweep.parameters(work, storage), {each.key: each for each in work})
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


def merged(upgrades: Iterable[Upgrade], done: Iterable[SliceResult]) -> list[CellResult]:
    """Return one result for each upgrade, from the sums of whatever behaves like it; also for those not begun yet."""
    found: dict[Hashable, CellResult] = {}
    columns: dict[Hashable, CellResult] = {}
    for each in (each for result in done for each in result.sums):
        if each.variants:
            columns |= {kind_of_variant(each.upgrade, VARIANTS[name]): each for name in each.variants}
            continue
        key = behaviour_of(each.upgrade)
        found[key] = found[key].plus(each) if key in found else each
    wanted = ((upgrade, behaviour_of(upgrade)) for upgrade in upgrades)
    plain = (found[key].of(upgrade) if key in found else CellResult(upgrade) for upgrade, key in wanted)
    return [with_columns(each, columns) for each in plain]


def matrix_json(results: Iterable[CellResult]) -> str:
    """Write ``matrix.json``: a JSON list, one object a line."""
    return _json_lines(result.as_json() for result in results)


def _json_lines(objects: Iterable[Any]) -> str:
    return "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in objects) + "\n]\n"


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
    for path in (*map(folder.joinpath, (MATRIX, GUIDE, MANIFEST, REPORT)), *map(folder.joinpath, DRAFTS)):
        path.unlink(missing_ok=True)
    if (folder / RUNS).exists():
        shutil.rmtree(folder / RUNS)


def _plain(result: CellResult) -> dict[str, Any]:
    return asdict(result, filter=filters.exclude("upgrade")) | {"kinds": sorted(result.kinds)}


def _from_plain(upgrade: Upgrade, plain: dict[str, Any]) -> CellResult:
    variants = {name: Varied(**each) for name, each in plain["variants"].items()}
    return CellResult(upgrade, **plain | {"kinds": frozenset(plain["kinds"]), "variants": variants})


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
