"""The findings about streams groups are where they are said to be, and nowhere else."""

import json
import pickle
from itertools import combinations

import pytest
from attrs import evolve

from streams_assignor.spark_sim.regressions.regression_search import RegressionResult
from streams_assignor.spark_sim.streams_groups.scenario import FAULTS
from streams_assignor.spark_sim.streams_groups.searches import FINDINGS, StreamsSearch
from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES
from streams_assignor.spark_sim.sweep.report.cells_page import history_page
from streams_assignor.spark_sim.sweep.report.renderers import judge_searches
from streams_assignor.spark_sim.sweep.search_units import streams_units
from streams_assignor.spark_sim.sweep.suites import HISTORY, FinishedSweep, exports, streams_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.tables.local import LocalTables
from streams_assignor.spark_sim.sweep.tables.rows import REGRESSION_SUITE
from streams_assignor.spark_sim.sweep.tables.schema import TABLES
from streams_assignor.spark_sim.sweep.traces import trace_line
from streams_assignor.spark_sim.sweep.worker import compute_unit

UNITS = [
    unit for unit in streams_units() if unit.search.finding.name.startswith("S") or unit.search.finding.name in FAULTS
]
OTHERS = [unit for unit in streams_units() if unit not in UNITS]


@pytest.fixture(scope="module")
def results():
    return [unit.result() for unit in UNITS]


@pytest.mark.slow
@pytest.mark.parametrize("unit", OTHERS, ids=lambda unit: unit.key)
def test_a_check_finds_nothing(unit):
    assert unit.result().as_expected


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_spark_and_processes_have_the_same_tables(tmp_path):
    suite = streams_suite().with_units(
        unit for unit in UNITS if unit.search.finding.name in {"S1", "S8", "delay-commit"}
    )
    for master in (PROCESSES, "local[2]"):
        run_sweep(suite, tmp_path / master, master=master)

    for table in TABLES:
        plain, on_spark = (
            sorted(map(repr, LocalTables(tmp_path / each).read(table))) for each in (PROCESSES, "local[2]")
        )
        assert plain == on_spark
    plain, on_spark = ((tmp_path / each / HISTORY).read_bytes() for each in (PROCESSES, "local[2]"))
    assert plain == on_spark


def test_each_finding_is_where_it_is_expected_and_its_example_shows_it(results):
    assert [] == [result.title for result in results if not result.as_expected]
    assert judge_searches(results).good
    for result in results:
        if result.confirmed:
            assert result.property in {violation.property for violation in trace_line(result.example).violations}


def test_a_search_that_is_cut_has_found_nothing_and_is_not_as_expected(monkeypatch):
    (unit,) = (unit for unit in UNITS if unit.search.finding.name == "failover")
    cut = evolve(unit.search.explore(), complete=False)
    monkeypatch.setattr(StreamsSearch, "explore", lambda _search: cut)
    _, result = compute_unit("key", unit)

    assert not result.as_expected
    assert "the search ended after 68 states" in result.message


def test_what_costs_time_only_is_not_shown_by_a_replay(results):
    assert {"S4"} == {result.cell.bug for result in results if result.found and result.confirmed is None}


def test_a_finding_where_it_is_not_expected_is_a_failure(results):
    wrong = [
        RegressionResult(result.cell._replace(affected=not result.cell.affected), message=result.message)
        for result in results
    ]

    assert [] == [result for result in wrong if result.as_expected]
    assert not judge_searches(wrong).good


def test_every_finding_has_a_group_that_has_it_every_fault_checks_and_their_units_have_names_of_their_own():
    suite = streams_suite()
    checks = [finding.name for finding in FINDINGS if not finding.affected]

    assert {name.partition(", ")[0] for name in checks} == {*FAULTS, *map("+".join, combinations(FAULTS, 2))}
    assert {4} == {sum(name.partition(", ")[0] == fault for name in checks) for fault in FAULTS}
    assert len(suite.units) == len({unit.key for unit in suite.units}) == len(set(suite.cells))
    assert [repr(unit) for unit in suite.units] == [repr(pickle.loads(pickle.dumps(unit))) for unit in suite.units]


def test_the_page_has_epochs_and_says_which_release_is_whose(results):
    page = history_page(results, judge_searches(results))
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    cells = [cell for row in data["tables"][0]["rows"] for some in row["cells"] for cell in some]

    assert "found in members 4.3.1, coordinator 4.3.1" == cells[0]["text"]
    titles = {row.get("title") for step in data["traces"][0]["steps"] for row in step["rows"]}
    assert {"epoch 1", "epoch 2"} <= titles
    assert len(UNITS) == len(cells)
    assert {"history.json"} == exports(FinishedSweep(REGRESSION_SUITE, results, ())).keys()


def test_a_bug_that_this_version_does_not_know_has_a_row(results):
    other = [RegressionResult(results[0].cell._replace(bug="X9"), message="m")]

    assert '"name":"X9"' in history_page(other, judge_searches(other))
