"""Runs bridges, canaries and controls, and counts what came of them."""

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Self

from attrs import asdict, fields, frozen

from tests.lab.kafka_unit_tests.runner import TestResult, checksums, run
from tests.lab.kafka_unit_tests.suites import BRIDGES, RELEASES, SLOW_CONTROLS, Bridge, listed, suites_of, test_class

RECORDED: Final = Path(__file__).with_name("results.json")


@frozen
class Row:
    """One test class of one release with some methods replaced."""

    bridge: str
    suite: str
    release: str
    total: int
    passed: int
    canary: int
    """Tests that fail when the bridge throws: those that reach Python."""
    calls: int

    @property
    def key(self) -> tuple[str, str, str]:
        return self.bridge, self.suite, self.release


@frozen
class Measured:
    """The results of one test class of one release."""

    bridge: Bridge
    suite: str
    release: str
    results: list[TestResult]
    canary: list[TestResult]

    @property
    def row(self) -> Row:
        names = self.bridge.name, self.suite, self.release
        calls = sum(each.calls for each in self.results)
        return Row(*names, len(self.results), len(_passed(self.results)), len(failing(self.canary)), calls)

    @property
    def untouched(self) -> list[str]:
        """Methods of the test class that never reach Python."""
        reaching = {_method(test) for test in failing(self.canary)}
        return sorted({_method(each.test) for each in self.canary} - reaching)

    @property
    def unexpected(self) -> list[str]:
        """Tests that fail although they are not listed, and tests that pass although they are."""
        reasons = [(each, listed(self.bridge.name, self.suite, each.test)) for each in self.results]
        return [
            f"{each.test}: {each.why or 'passes, although it is listed'}"
            for each, reason in reasons
            if (each.outcome == "passed") == bool(reason)
        ]


def _method(test: str) -> str:
    return test.partition("(")[0].partition("[")[0]


def _passed(results: Iterable[TestResult]) -> list[str]:
    return [each.test for each in results if each.outcome == "passed"]


def failing(results: Iterable[TestResult]) -> list[str]:
    """Names of the tests that did not pass."""
    return [each.test for each in results if each.outcome != "passed"]


class Runs:
    """All runs, two JVMs at a time; a result is waited for when it is asked for."""

    def __init__(self, bridges: Sequence[Bridge] = BRIDGES, *, slow_controls: bool = False) -> None:
        self.bridges, self._slow_controls = bridges, slow_controls
        self._pool = ThreadPoolExecutor(2)
        self._runs: dict[tuple[str, str, str], Future[list[TestResult]]] = {}
        for release in self.releases:
            for bridge in (each for each in bridges if release in each.releases):
                classes = [test_class(bridge, suite) for suite in suites_of(bridge, release)]
                for kind in ("bridge", "canary"):
                    self._runs[kind, bridge.name, release] = self._pool.submit(
                        run, release, classes, bridge.replaced, canary=kind == "canary"
                    )
            self._runs["control", "", release] = self._pool.submit(
                run, release, list(self._control_classes(release).values()), {}
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    @property
    def releases(self) -> list[str]:
        return [release for release in RELEASES if any(release in bridge.releases for bridge in self.bridges)]

    @property
    def suites(self) -> list[tuple[Bridge, str, str]]:
        """Every bridge, test class and release of the runs."""
        return all_suites(self.bridges)

    def controls(self, release: str) -> list[str]:
        """The test classes whose controls run."""
        return sorted(self._control_classes(release))

    def _control_classes(self, release: str) -> dict[str, str]:
        """Their full names by test class."""
        slow = () if self._slow_controls or release < "3" else SLOW_CONTROLS
        return {
            suite: test_class(bridge, suite)
            for bridge in self.bridges
            if release in bridge.releases
            for suite in suites_of(bridge, release)
            if suite not in slow
        }

    def measured(self, bridge: Bridge, suite: str, release: str) -> Measured:
        """What came of a test class."""
        found = (self._of(kind, bridge.name, release, suite) for kind in ("bridge", "canary"))
        return Measured(bridge, suite, release, *found)

    def control(self, suite: str, release: str) -> list[TestResult]:
        """What came of a test class with Kafka's own classes."""
        return self._of("control", "", release, suite)

    def _of(self, kind: str, bridge: str, release: str, suite: str) -> list[TestResult]:
        return [each for each in self._runs[kind, bridge, release].result() if each.suite == suite]


def all_suites(bridges: Iterable[Bridge] = BRIDGES) -> list[tuple[Bridge, str, str]]:
    """Every bridge, test class and release."""
    return [
        (bridge, suite, release)
        for bridge in bridges
        for suite in bridge.suites
        for release in RELEASES
        if release in bridge.releases and suite in suites_of(bridge, release)
    ]


def recorded() -> dict[str, Any]:
    """What is checked in."""
    found: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def recorded_rows() -> dict[tuple[str, str, str], Row]:
    counts = [each.name for each in fields(Row)]
    rows = [Row(**{name: each[name] for name in counts}) for each in recorded()["rows"]]
    return {row.key: row for row in rows}


def record(runs: Runs, path: Path = RECORDED) -> None:
    """Write all counts of bridges and controls that ran, and keep the others."""
    kept = {(row["bridge"], row["suite"], row["release"]): row for row in recorded()["rows"]}
    for bridge, suite, release in runs.suites:
        measured = runs.measured(bridge, suite, release)
        reasons = {test: listed(bridge.name, suite, test) for test in failing(measured.results)}
        kept[measured.row.key] = asdict(measured.row) | {"listed": reasons, "untouched": measured.untouched}
    rows = [kept[bridge.name, suite, release] for bridge, suite, release in all_suites()]
    controls = recorded()["controls"]
    for release in runs.releases:
        own = controls.setdefault(release, {"jars": {}, "suites": {}})
        own["jars"] = checksums(release)
        for suite in runs.controls(release):
            results = runs.control(suite, release)
            own["suites"][suite] = {"total": len(results), "passed": len(_passed(results))}
    bridges = {bridge.name: sorted(bridge.replaced) for bridge in BRIDGES}
    content = {"bridges": bridges, "rows": rows, "controls": controls}
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
