"""Pytest plugin for the tests of a client library: another assignor as its default, and one line of JSON per test.

The environment has ``GROUP_TESTS_MODE`` (a `Mode`) and ``GROUP_TESTS_RESULTS`` (a file for the results). A plugin of
the library replaces the default assignor, and its fixtures that start brokers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from streams_assignor import StreamsAssignor, Subtopology, Topology


class Mode(Enum):
    """Which assignor a consumer gets that has not asked for one."""

    CONTROL = "control"
    """That of the library."""
    OURS = "ours"
    CANARY = "canary"
    """Ours, which raises an exception instead of a subscription."""


MODE = Mode(os.environ["GROUP_TESTS_MODE"])


class Canary(Exception):
    """Raised instead of a subscription: the test that fails of it reaches the assignor."""


class Counter:
    """The calls to the assignor since the test has begun."""

    calls = 0


def topology_of(topics: Iterable[str]) -> Topology:
    """A topology with a task for each partition of each topic."""
    return Topology.of(*(Subtopology(sources=[topic]) for topic in sorted(topics)))


class Counted:
    """Mixin for an adapter: counts calls, raises in a canary, and has a new topology when the subscription changes."""

    assignor: StreamsAssignor
    cooperative: bool

    def metadata(self, topics: Iterable[str]) -> bytes:
        Counter.calls += 1
        if MODE is Mode.CANARY:
            raise Canary
        if topics and set(topics) != set(self.assignor.topology.source_topics):  # none: a pattern matches none yet
            process_id = self.assignor.member.process_id
            self.assignor = StreamsAssignor(topology_of(topics), process_id=process_id, cooperative=self.cooperative)
        return super().metadata(topics)

    def assign(self, *arguments: Any) -> Any:
        Counter.calls += 1
        return super().assign(*arguments)

    def on_assignment(self, *arguments: Any) -> None:
        Counter.calls += 1
        super().on_assignment(*arguments)


# -- results -----------------------------------------------------------------------------------------------------------

_PHASES: dict[str, list[pytest.TestReport]] = {}


def pytest_runtest_logstart() -> None:
    Counter.calls = 0


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _PHASES.setdefault(report.nodeid, []).append(report)


def pytest_runtest_logfinish(nodeid: str) -> None:
    reports = _PHASES.pop(nodeid)
    # The first phase that did not pass: set up, call or tear down.
    judged = next((each for each in reports if not each.passed), reports[-1])
    result = {
        "test": nodeid.partition("/")[2],
        "outcome": judged.outcome,
        "calls": Counter.calls,
        "why": "" if judged.passed else _reason(judged),
    }
    with Path(os.environ["GROUP_TESTS_RESULTS"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")


def _reason(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    return " ".join(text.split())[:300]
