"""The group tests of kafka-python and aiokafka, unmodified, judge our assignor on a real broker.

``python -m tests.lab.client_group_tests`` prints the counts. The nightly run has the tests of kafka-python that reach
the assignor: ``-m kafka_tests``. Controls, canaries and aiokafka take minutes.
"""

import pytest

from tests.lab.client_group_tests.measure import Measured, recorded, recorded_rows, unexpected
from tests.lab.client_group_tests.runner import check_broker
from tests.lab.client_group_tests.suites import KAFKA_PYTHON, LIBRARIES, Library
from tests.lab.integration.kafka_jars import Unavailable

pytestmark = [pytest.mark.broker, pytest.mark.slow]


def available(library: Library) -> str:
    """What the tests of a library are; skips if they cannot be had."""
    try:
        check_broker()
        library.check_installed()
        return library.source.identity()
    except Unavailable as missing:
        pytest.skip(f"no tests of {library.name}: {missing}")


@pytest.mark.kafka_tests
def test_the_tests_of_kafka_python_that_reach_the_assignor_pass() -> None:
    kept = recorded()[KAFKA_PYTHON.name]
    assert kept["source"] == available(KAFKA_PYTHON)
    measured = Measured(KAFKA_PYTHON, kept["reaching"])

    assert set(kept["reaching"]) == measured.ours.keys()
    assert [] == unexpected(KAFKA_PYTHON, measured.ours.values())
    assert [] == [test for test, each in measured.ours.items() if not each.calls], "is the assignor still plugged in?"


@pytest.mark.exhaustive
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_no_count_drops(library: Library) -> None:
    assert recorded()[library.name]["source"] == available(library)
    measured = Measured(library)
    rows = {row.key: row for row in measured.rows()}

    assert [] == measured.unexpected
    for least in (each for each in recorded_rows() if each.library == library.name):
        row = rows[least.key]
        assert least.total == row.total
        assert least.control <= row.control
        assert least.passed <= row.passed
        assert least.canary <= row.canary, "tests no longer reach the assignor: is it still plugged in?"
    assert [] == [test for test in measured.reaching if not measured.ours[test].calls]
