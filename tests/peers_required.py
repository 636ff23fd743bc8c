"""Skipped tests of real peers, as failures where the peers must be there: ``STREAMS_ASSIGNOR_REQUIRE_PEERS=1``.

A skip that no installation can avoid calls `not_applicable`. Every other one means that something is missing.
"""

import os
from collections.abc import Generator
from typing import NoReturn

import pytest

VARIABLE = "STREAMS_ASSIGNOR_REQUIRE_PEERS"
_PEERS = ("java", "broker")
_NOT_APPLICABLE = "does not apply: "


def not_applicable(reason: str) -> NoReturn:
    """Skip a test that has no meaning for its parameters, such as a release without the feature."""
    pytest.skip(_NOT_APPLICABLE + reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if any(map(item.get_closest_marker, _PEERS)) and not hasattr(report, "wasxfail"):
        _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file that is skipped as a whole does not tell which peers its tests need."""
    report = yield
    _fail_if_skipped(report)
    return report


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and os.environ.get(VARIABLE, "0") != "0":
        reason = _reason(report)
        if not reason.startswith(_NOT_APPLICABLE):
            report.outcome = "failed"
            report.longrepr = f"{VARIABLE} is set, so nothing may be missing, but this was skipped: {reason}"


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The reason alone, of the triple of file, line and reason that a skip has."""
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else report.longreprtext
