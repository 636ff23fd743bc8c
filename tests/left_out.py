"""How many tests a run leaves to the nightly run, by the marker that keeps each out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

NIGHTLY = ("bench", "broker", "clock", "exhaustive", "java", "kafka_tests", "matrix", "slow", "spark")
"""In the order in which one is named of a test that has several."""
_LEFT_OUT = "left_out"
_counts: Counter[str] = Counter()


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count what the marker expression leaves out; in a worker of xdist the counts travel with its results."""
    if not items:
        return
    nightly = (item for item in items if not item.get_closest_marker("gate"))
    names = (next(filter(item.get_closest_marker, NIGHTLY), None) for item in nightly)
    _counts.update(filter(None, names))
    if (output := getattr(items[0].config, "workeroutput", None)) is not None:
        output[_LEFT_OUT] = dict(_counts)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the counts of a worker; all of them collect the same tests."""
    _counts.update(getattr(node, "workeroutput", {}).get(_LEFT_OUT, {}) if not _counts else {})


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _counts:
        parts = ", ".join(f"{name} {count}" for name, count in sorted(_counts.items()))
        terminalreporter.write_line(f"left to tox -e nightly: {_counts.total()} tests ({parts})")
