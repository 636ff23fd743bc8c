"""The searches for Kafka's known bugs as a sweep: what is kept, and what is shown of it."""

import json

import pytest
from attrs import evolve

from streams_assignor.spark_sim.regressions.known_bugs import BUGS
from streams_assignor.spark_sim.regressions.regression_search import RegressionKey, RegressionResult
from streams_assignor.spark_sim.search.cell_result import SIMULATION_FAILS
from streams_assignor.spark_sim.sweep.report.renderers import judge_searches
from streams_assignor.spark_sim.sweep.suites import read_sweep, regression_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.tables.rows import REGRESSION_SUITE


@pytest.fixture
def _three_bugs(monkeypatch):
    monkeypatch.setattr(
        "streams_assignor.spark_sim.regressions.regression_search.BUGS",
        [bug for bug in BUGS if bug.name in {"B1", "B14", "B19"}],
    )


@pytest.mark.slow
@pytest.mark.usefixtures("_three_bugs")
def test_the_results_are_stored(tmp_path):
    results = run_sweep(regression_suite(steps=1), tmp_path).results
    kept = json.loads((tmp_path / "history.json").read_text())
    affected = {each["bug"]: each for each in kept if each["affected"]}

    assert [True, False] * 3 == [each["found"] for each in kept] == [each.found for each in results]
    assert judge_searches(results).good
    assert 2712 == int(affected["B1"]["schedules"])
    assert not affected["B14"]["states"]
    assert "A@2.6.0 B@2.6.0 C@2.6.0 | stop A" == affected["B19"]["example"]


@pytest.mark.slow
@pytest.mark.usefixtures("_three_bugs")
def test_a_report_reads_it_again(tmp_path):
    results = run_sweep(regression_suite(steps=1), tmp_path).results
    found = read_sweep(tmp_path)
    kind, again = found.kind, found.results

    assert REGRESSION_SUITE == kind
    assert [each.title for each in results] == [each.title for each in again]
    assert judge_searches(results) == judge_searches(again)


def test_a_bug_has_to_be_found_where_it_is_and_nowhere_else_and_an_error_is_no_bug():
    there = RegressionResult(RegressionKey("B1", ("1.1", "2.0"), affected=True), message="it breaks", property="p")
    fixed = evolve(there, cell=there.cell._replace(affected=False))

    assert there.as_expected
    assert not fixed.as_expected
    assert evolve(fixed, message=None, property=None).as_expected
    assert not evolve(there, confirmed=False).as_expected
    assert not evolve(there, property=SIMULATION_FAILS).as_expected
    assert "not as expected: B1 1.1 2.0" in judge_searches([there, fixed]).text
