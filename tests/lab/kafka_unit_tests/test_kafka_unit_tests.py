"""Kafka's own unit tests, unmodified, judge this project: bridges, canaries and controls of three releases.

Only with ``-m kafka_tests``: the nightly run does so. ``python -m tests.lab.kafka_unit_tests`` prints the same counts.
"""

from collections.abc import Iterator

import pytest

from tests.lab.integration.kafka_jars import Unavailable, program
from tests.lab.kafka_unit_tests.measure import Runs, all_suites, recorded, recorded_rows
from tests.lab.kafka_unit_tests.runner import checksums, jars
from tests.lab.kafka_unit_tests.suites import RANDOM, RELEASES, SLOW_CONTROLS

pytestmark = [pytest.mark.java, pytest.mark.kafka_tests]
SUITES = all_suites()
CONTROLS = sorted(
    {(suite, release) for _, suite, release in SUITES if suite not in SLOW_CONTROLS or release < "3"}, reverse=True
)
each_suite = pytest.mark.parametrize(
    ("bridge", "suite", "release"),
    SUITES,
    ids=[f"{bridge.name}-{suite}-{release}" for bridge, suite, release in SUITES],
)


@pytest.fixture(name="runs", scope="module")
def fixture_runs() -> Iterator[Runs]:
    try:
        program("javac")
        for release in RELEASES:
            jars(release)
    except Unavailable as missing:
        pytest.skip(f"no tests of Kafka: {missing}")
    with Runs() as runs:
        yield runs


@each_suite
def test_kafkas_tests_pass_but_for_those_listed(runs, bridge, suite, release):
    assert [] == runs.measured(bridge, suite, release).unexpected


@each_suite
def test_no_count_drops(runs, bridge, suite, release):
    row = runs.measured(bridge, suite, release).row
    least = recorded_rows()[row.key]

    assert least.total == row.total
    assert least.passed <= row.passed
    assert least.canary <= row.canary, "tests no longer reach Python: is the method still replaced?"
    if suite in RANDOM:
        assert all(each.calls for each in runs.measured(bridge, suite, release).results)
    else:
        assert least.calls <= row.calls


@pytest.mark.parametrize(("suite", "release"), CONTROLS)
def test_kafkas_own_classes_pass(runs, suite, release):
    results = runs.control(suite, release)

    assert results
    assert [] == [each for each in results if each.outcome != "passed"]


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("release", RELEASES)
def test_recorded_controls_are_those_of_the_jars(release):
    assert recorded()["controls"][release]["jars"] == checksums(release)
