"""Runs controls, our assignor and canaries, and counts what came of them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from attrs import asdict, fields, frozen

from tests.lab.client_group_tests.runner import TestResult, run
from tests.lab.client_group_tests.suites import Library
from tests.lab.integration.clusters import OLDER

RECORDED: Final = Path(__file__).with_name("results.json")


@frozen
class Row:
    """One file of tests of a library."""

    library: str
    suite: str
    total: int
    """Tests that were not skipped."""
    control: int
    """Tests that pass with the library's own assignor; the counts below are of these."""
    passed: int
    """Tests that pass with ours."""
    canary: int
    """Tests that fail when ours raises an exception: those that reach it."""
    calls: int

    @property
    def key(self) -> tuple[str, str]:
        return self.library, self.suite


class Measured:
    """The results of one library; each mode runs when it is asked for.

    Each test runs once. ``only`` names some of the tests.
    """

    def __init__(self, library: Library, only: Sequence[str] = ()) -> None:
        self.library = library
        self._only = only

    @cached_property
    def control(self) -> Mapping[str, TestResult]:
        return self._results("control")

    @cached_property
    def ours(self) -> Mapping[str, TestResult]:
        return self._results("ours")

    @cached_property
    def canary(self) -> Mapping[str, TestResult]:
        return self._results("canary")

    def _results(self, mode: str) -> Mapping[str, TestResult]:
        return _by_name(run(self.library, mode, self._only))

    @property
    def judged(self) -> list[str]:
        """Tests that pass in the control."""
        return [test for test, each in self.control.items() if each.outcome == "passed"]

    @property
    def reaching(self) -> list[str]:
        """Tests among them that reach our assignor."""
        failed = {test for test, each in self.canary.items() if each.outcome == "failed" and each.calls}
        return [test for test in self.judged if test in failed]

    @property
    def unexpected(self) -> list[str]:
        """Tests that fail although they are not listed, and tests that pass although they are."""
        return unexpected(self.library, (self.ours[test] for test in self.judged))

    def rows(self) -> list[Row]:
        """The counts of each file."""
        suites = dict.fromkeys(each.suite for each in self.control.values())
        return [self._row(suite) for suite in suites]

    def _row(self, suite: str) -> Row:
        of_suite = [test for test, each in self.control.items() if each.suite == suite]
        judged = [test for test in self.judged if test in of_suite]
        return Row(
            self.library.name,
            suite,
            total=sum(self.control[test].outcome != "skipped" for test in of_suite),
            control=len(judged),
            passed=sum(self.ours[test].outcome == "passed" for test in judged),
            canary=sum(test in of_suite for test in self.reaching),
            calls=sum(self.ours[test].calls for test in judged),
        )


def unexpected(library: Library, results: Iterable[TestResult]) -> list[str]:
    """Tests that fail although they are not listed, and tests that pass although they are."""
    return [
        f"{each.test}: {each.why or 'passes, although it is listed'}"
        for each in results
        if (each.outcome == "passed") == (each.test in library.listed)
    ]


def _by_name(results: Iterable[TestResult]) -> dict[str, TestResult]:
    return {each.test: each for each in results}


def recorded() -> dict[str, Any]:
    """What is checked in, by library."""
    found: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def recorded_rows() -> list[Row]:
    names = [each.name for each in fields(Row)]
    return [Row(**{name: row[name] for name in names}) for each in recorded().values() for row in each["rows"]]


def record(measured: Iterable[Measured], path: Path = RECORDED) -> None:
    """Write all counts of these libraries."""
    content = recorded() if path.exists() else {}
    for each in measured:
        library = each.library
        content[library.name] = {
            "release": library.release,
            "source": library.source.identity(),
            "broker": OLDER,
            "rows": [asdict(row) for row in each.rows()],
            "reaching": each.reaching,
            "listed": {test: reason for test, reason in library.listed.items() if each.ours[test].outcome == "failed"},
            "control": {test: found.why for test, found in each.control.items() if found.outcome == "failed"},
        }
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
