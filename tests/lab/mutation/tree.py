"""A copy of the tree that has one mutant at a time, and which of its tests pass which line."""

import filecmp
import json
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from coverage import CoverageData

_COPIED = ("assignor", "docs", "probing", "pyproject.toml", "README.md", "setup.cfg", "spark_sim", "subscription_codec")
_COPIED += ("src", "tests", "upgrade")
_PACKAGES = ("assignor", "probing", "spark_sim", "subscription_codec", "upgrade")
_PUBLISHED_BY = {
    "assignor/protocol": ("assignor/test_streams_assignor.py",),
    "assignor/task_assignors": ("assignor/task_assignor",),
    "spark_sim/streams_groups": ("spark_sim/sweep/test_streams_units.py",),
}
"""What publishes the names of a package or runs its searches: the tests of that are tests of the package, too."""
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "_build", ".hypothesis", "node_modules")
# What Hypothesis finds, it finds by chance: like a branch, a mutant needs an example. All of a simulation is chance.
_EXAMPLES = "not slow and not bench and not exhaustive and not matrix and not java and not broker and not spark"


class Tree:
    """The copy, and the process that runs tests in it."""

    def __init__(self, root: Path, copy: Path, package: str) -> None:
        self._copy, self._package = copy, package
        for module in _refresh(root, copy):
            # Compiled code is judged by the hash of its source: seconds of its time would be too coarse for mutants.
            py_compile.compile(str(module), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
        environment = os.environ | {"PYTHONPATH": f"{copy / 'src'}:{copy}", "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.lab.mutation.worker"],
            cwd=copy,
            env=environment | {"COVERAGE_FILE": str(copy / ".coverage.mutants")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    @property
    def root(self) -> Path:
        """The copy."""
        return self._copy

    def run(self, paths: Sequence[str], cpu: float, **more: Any) -> dict[str, Any]:
        """Run the tests of these files; see `worker`."""
        examples = _EXAMPLES if self._package.startswith("spark_sim") else f"{_EXAMPLES} and not chance"
        arguments = ["-m", examples, *more.pop("arguments", ()), *paths]
        process = self._process
        assert process.stdin
        assert process.stdout
        print(json.dumps({"arguments": arguments, "cpu": int(cpu) + 1, **more}), file=process.stdin, flush=True)
        return json.loads(process.stdout.readline())  # type: ignore[no-any-return]

    @contextmanager
    def holding(self, path: str, source: str) -> Iterator[None]:
        """Give the copy another source of one module meanwhile."""
        file = self._copy / path
        before = file.read_bytes()
        file.write_text(source, encoding="utf-8")
        try:
            yield
        finally:
            file.write_bytes(before)

    def test_files(self) -> list[str]:
        """Return the tests of the package, a path for each file, and the package for its examples in docstrings."""
        found = (path for each in self._tests for path in _python_files(each) if path.name.startswith("test_"))
        return [*(str(path.relative_to(self._copy)) for path in found), self._package]

    def coverage(self) -> "Coverage":
        """Run the examples, a process for each file: what one caches, the others pass as well.

        Raises:
            RuntimeError: a test fails without any mutant.
        """
        stored = self._copy / f".coverage-{self._package.replace('/', '-')}.json"
        digest = self._digest()
        if stored.exists() and (kept := json.loads(stored.read_text(encoding="utf-8")))["digest"] == digest:
            return Coverage(kept["seconds"], kept["cpu"], kept["lines"])
        seconds: dict[str, float] = {}
        cpu: dict[str, float] = {}
        lines: dict[str, dict[int, list[str]]] = {}
        for path in self.test_files():
            data = self._copy / ".coverage.mutants"
            data.unlink(missing_ok=True)
            options = [f"--cov={self._package}", "--cov-context=test", "--cov-report="]
            came = self.run([path], 1800, arguments=options, write_bytecode=True)
            if came["code"] not in (0, 5):
                raise RuntimeError(f"expected {path} to pass without mutants, received {came}")
            seconds |= came["durations"]
            cpu[path] = came["cpu"]
            if data.exists():
                _add_lines(lines, data, self._copy, path)
        kept = {"digest": digest, "seconds": seconds, "cpu": cpu, "lines": lines}
        stored.write_text(json.dumps(kept), encoding="utf-8")
        return Coverage(seconds, cpu, json.loads(json.dumps(lines)))

    @property
    def _tests(self) -> list[Path]:
        """The folders and files with the tests of the package."""
        return [self._copy / "tests" / each for each in (self._package, *_PUBLISHED_BY.get(self._package, ()))]

    def _digest(self) -> str:
        whole = sha256()
        for folder in (*(self._copy / each for each in _PACKAGES), *self._tests):
            for path in _python_files(folder):
                whole.update(path.read_bytes())
        return whole.hexdigest()


class Coverage:
    """The examples by line and by file, with the seconds that each took."""

    def __init__(
        self, seconds: dict[str, float], cpu: Mapping[str, float], lines: Mapping[str, Mapping[str, list[str]]]
    ) -> None:
        self.seconds = seconds
        self.cpu = cpu
        self._lines = lines

    def by_file(self, path: str, lines: range) -> dict[str, list[str]]:
        """Return the examples that pass one of the lines, by file, the quickest file first."""
        found: dict[str, list[str]] = {}
        for test in self._passing(path, lines) - self.cpu.keys():
            found.setdefault(self._file(test), []).append(test)
        return dict(sorted(found.items(), key=lambda item: self.cpu[item[0]]))

    def files(self, path: str, lines: range) -> list[str]:
        """Return the files of tests that pass one of the lines, also while they are imported: no other can notice."""
        return sorted({self._file(each) for each in self._passing(path, lines)})

    def _passing(self, path: str, lines: range) -> set[str]:
        passed = self._lines.get(path, {})
        return {test for line in lines for test in passed.get(str(line), ())}

    def _file(self, test: str) -> str:
        path = test.split("::")[0]
        return path if path in self.cpu else next(each for each in self.cpu if path.startswith(each))


def _add_lines(lines: dict[str, dict[int, list[str]]], data: Path, copy: Path, tests: str) -> None:
    """Add the examples by line; a line that is passed without an example, by an import, has the file of the tests."""
    read = CoverageData(str(data))
    read.read()
    for file in read.measured_files():
        of_file = lines.setdefault(str(Path(file).relative_to(copy)), {})
        for line, contexts in read.contexts_by_lineno(file).items():
            names = (context.rsplit("|", 1)[0] or tests for context in contexts)
            of_file.setdefault(line, []).extend(dict.fromkeys(names))


def _refresh(root: Path, copy: Path) -> list[Path]:
    """Copy what differs, and remove what is no longer there; return the modules of packages that were copied."""
    wanted, copied = set(), []
    for path in (each for name in _COPIED for each in _files(root / name)):
        relative = path.relative_to(root)
        wanted.add(relative)
        target = copy / relative
        if (
            path.is_symlink()
        ):  # followed, it would be a second copy of a package, which the tests import without mutants
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.is_symlink():
                shutil.copy2(path, target, follow_symlinks=False)
        elif not (target.exists() and filecmp.cmp(path, target, shallow=False)):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
            if path.suffix == ".py" and relative.parts[0] in _PACKAGES:
                copied.append(target)
    for path in (each for name in _COPIED for each in _files(copy / name)):
        if path.relative_to(copy) not in wanted:
            path.unlink()
    return copied


def _python_files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def _files(path: Path) -> Iterator[Path]:
    if path.is_symlink() or path.is_file():
        yield path
    elif path.is_dir() and path.name not in _NOT_COPIED(str(path.parent), [path.name]):
        for each in path.iterdir():
            yield from _files(each)
