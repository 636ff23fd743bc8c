"""What the nightly run makes of a command that ends in another way than its tests."""

import sys
from pathlib import Path

import pytest

from tests import nightly
from tests.nightly import Part

REPORT = """<testsuite><testcase classname="a" name="one"/>
<testcase classname="a" name="two"><skipped message="no broker"/></testcase>{}</testsuite>"""
FAILED = '<testcase classname="a" name="three"><failure/></testcase>'


def result_of(monkeypatch, status, report, command=("python", "-m", "pytest")):
    def ends(given, _environment):
        if report:
            Path(given[-1].partition("=")[2]).write_text(report)
        return status

    monkeypatch.setattr(nightly, "PARTS", {"part": Part("", (command,))})
    monkeypatch.setattr(nightly, "_status", ends)
    found = nightly.run("part", {})
    return found.passed, found.failed, dict(found.skipped), found.failures


@pytest.mark.parametrize(
    ("status", "report", "expected"),
    [
        (0, REPORT.format(""), (1, 0, {"no broker": 1}, ())),
        (1, REPORT.format(FAILED), (1, 1, {"no broker": 1}, ("a::three",))),
        (2, REPORT.format(""), (1, 1, {"no broker": 1}, ("status 2: python -m pytest",))),
        (5, "", (0, 1, {}, ("status 5: python -m pytest",))),
    ],
)
def test_a_part_that_ends_without_a_failed_test_has_failed_unless_its_status_is_0(
    monkeypatch, status, report, expected
):
    """A run that is interrupted, or whose worker crashes, leaves a report without a failure."""
    assert expected == result_of(monkeypatch, status, report)


def test_a_command_that_failed_is_named_without_the_folder_of_its_python(monkeypatch):
    """The row is on the verification page: it named the folder of an environment."""
    command = (sys.executable, "-m", "coverage", "report")

    assert ("status 2: python -m coverage report",) == result_of(monkeypatch, 2, "", command)[3]


@pytest.mark.parametrize(("status", "counts"), [(0, (1, 0)), (3, (0, 1))])
def test_a_part_without_pytest_counts_its_commands(monkeypatch, status, counts):
    assert counts == result_of(monkeypatch, status, "", ("coverage", "report"))[:2]
