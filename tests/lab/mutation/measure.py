"""Which tests run for a mutant."""

from pathlib import Path
from random import Random
from typing import Any, Self

from tests.lab.mutation.operators import Mutant, mutant, sites
from tests.lab.mutation.record import Kept
from tests.lab.mutation.tree import Coverage, Tree

_NO_END = -1  # see `worker`, which is not imported here: it belongs to the copy
_PASSED = (0, 5)  # 5: there was no test to run
_FILES_FIRST = 2
"""So many files with tests that pass the line run alone, before all that pass it run together."""


class Measurement:
    """One package."""

    def __init__(self, root: Path, copy: Path, package: str, kept: Kept) -> None:
        self._tree = Tree(root, copy, package)
        self._package, self._kept = package, kept
        self.total = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tree.__exit__()

    def results(self, seed: int, sample: int, *, again: bool) -> list[dict[str, Any]]:
        """Return the results of the first mutants of the shuffled list, as many as ``sample`` says.

        Raises:
            RuntimeError: a test fails without any mutant, or none fails without the package.
        """
        chosen = self._chosen(seed, sample)
        missing = [each for each in chosen if self._is_missing(each, again=again)]
        if missing:
            coverage = self._tree.coverage()
            self._require_control()
            for at, each in enumerate(missing, 1):
                result = {"mutant": each.name, "in": f"{each.path} {each.where}".strip(), "change": each.change}
                result |= self._judge(each, coverage)
                print(f"{at}/{len(missing)} {result}", flush=True)
                self._kept.add(result)
        return [self._kept.by_mutant[each.name] for each in chosen]

    def _chosen(self, seed: int, sample: int) -> list[Mutant]:
        every = sites(self._tree.root, self._package)
        self.total = len(every)
        Random(seed).shuffle(every)
        found: dict[str, Mutant] = {}
        for site in every:
            if len(found) == sample:
                break
            if made := mutant(site):
                found.setdefault(made.name, made)
        return list(found.values())

    def _is_missing(self, each: Mutant, *, again: bool) -> bool:
        before = self._kept.by_mutant.get(each.name)
        return before is None or (again and before["outcome"] == "survived")

    def _require_control(self) -> None:
        """Without the package its tests have to fail, or they do not test the copy."""
        module = f"{self._package}/__init__.py"
        with self._tree.holding(module, "raise AssertionError('a mutant that every test notices')\n"):
            if self._tree.run(self._tree.test_files(), 60, arguments=["-x"])["code"] in _PASSED:
                raise RuntimeError(f"expected tests to fail without {module}")

    def _judge(self, each: Mutant, coverage: Coverage) -> dict[str, Any]:
        seconds = coverage.seconds
        tried: list[str] = []
        used = 0.0
        with self._tree.holding(each.path, each.source):
            for path, tests in list(coverage.by_file(each.path, each.lines).items())[:_FILES_FIRST]:
                limit = 20 + 10 * coverage.cpu[path]
                times = {test: seconds[test] for test in tests}
                came = self._tree.run([path], limit, only=tests, seconds=times, arguments=["-x"])
                used += came["cpu"]
                tried += tests
                if came["code"] not in _PASSED:
                    return _killed(came, path, used)
            limit = 60 + 10 * sum(coverage.cpu.values())
            files = coverage.files(each.path, each.lines)
            if not files:
                return {"outcome": "survived", "cpu": round(used, 1)}
            came = self._tree.run(files, limit, without=tried, seconds=seconds, arguments=["-x"])
            used += came["cpu"]
        return {"outcome": "survived", "cpu": round(used, 1)} if came["code"] in _PASSED else _killed(came, "all", used)


def _killed(came: dict[str, Any], path: str, used: float) -> dict[str, Any]:
    if came["code"] == _NO_END:
        return {"outcome": "killed", "by": f"{path}, no end", "cpu": round(used, 1)}
    return {"outcome": "killed", "by": (came["failed"] or [f"{path}, imports"])[0], "cpu": round(used, 1)}
