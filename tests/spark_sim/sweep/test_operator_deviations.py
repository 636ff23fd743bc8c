"""Operators that do not follow the plan, as columns of a result: which there are, what is found, how it is shown."""

import pytest
from attrs import evolve

from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.packed import FaultBudget, OperatorDeviation, UpgradeCell, explore
from streams_assignor.spark_sim.search.cell_result import SAFE, UNSAFE, UpgradeResult
from streams_assignor.spark_sim.sweep.equivalence import merge_results
from streams_assignor.spark_sim.sweep.operator_deviations import (
    DEVIATION_DESCRIPTIONS,
    DEVIATION_NAMES,
    possible_deviations,
)
from streams_assignor.spark_sim.sweep.report.html import page_data
from streams_assignor.spark_sim.sweep.report.terminal import variant_lines
from streams_assignor.spark_sim.sweep.suites import read_sweep, upgrade_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.tables.local import LocalTables
from streams_assignor.spark_sim.sweep.work_units import DeviationUnit, SweepConfig
from streams_assignor.spark_sim.sweep.worker import compute_unit
from streams_assignor.upgrade.plans import Plan, Upgrade, kip_268_upgrades
from streams_assignor.upgrade.releases import release_named

SMALL = SweepConfig(members=2, faults=FaultBudget(0, 0), wait_for_quiescence=True, runs=0, deviations=True)
INTERRUPTED, ROLLED_BACK, NEVER_REMOVED, MISTAKEN = map(
    DEVIATION_NAMES.get,
    (
        OperatorDeviation.INTERRUPTED,
        OperatorDeviation.ROLLED_BACK,
        OperatorDeviation.NEVER_REMOVED,
        OperatorDeviation.MISTAKEN,
    ),
)


def upgrade(origin, target, plan=Plan.TWO_BOUNCES, value=None):
    return Upgrade(release_named(origin), release_named(target), plan, value)


DOCUMENTED = upgrade("1.1.1", "2.0.1", value="1.1")
ALIKE = upgrade("1.0.2", "2.0.0", value="1.0")


@pytest.fixture(scope="module")
def swept():
    """The results of two upgrades that behave alike."""
    done = [compute_unit("key", unit)[1] for unit in SMALL.units([DOCUMENTED, ALIKE])]
    return merge_results([DOCUMENTED, ALIKE], done)


def names(wanted):
    return {DEVIATION_NAMES[each] for each in possible_deviations(wanted)}


def test_every_rolling_plan_may_end_anywhere_or_be_turned_round_and_a_value_may_be_forgotten():
    assert {INTERRUPTED, ROLLED_BACK} == names(upgrade("2.0.1", "2.1.1", Plan.ONE_BOUNCE))
    assert {INTERRUPTED, ROLLED_BACK, MISTAKEN, NEVER_REMOVED} == names(DOCUMENTED)
    assert {INTERRUPTED, ROLLED_BACK, MISTAKEN} == names(upgrade("2.4.1", "2.3.1", value="2.3"))  # held back first


def test_nothing_is_left_to_do_otherwise_where_all_is_stopped_or_no_member_starts():
    assert set() == names(upgrade("2.0.1", "2.1.1", Plan.OFFLINE))
    assert set() == names(upgrade("2.3.1", "4.0.0", value="2.3"))


def test_every_variant_has_words_and_one_job_for_all_upgrades_that_behave_alike():
    jobs = [job for job in SMALL.units([DOCUMENTED, ALIKE]) if isinstance(job, DeviationUnit)]

    assert (
        names(DOCUMENTED)
        == DEVIATION_DESCRIPTIONS.keys()
        == {DEVIATION_NAMES[job.packed_cell.deviation] for job in jobs}
    )
    assert len(DEVIATION_DESCRIPTIONS) == len(jobs) == len({job.key for job in jobs})
    assert all(job.cost > 0 and job.packed_cell.wait_for_quiescence and not list(job.scenarios()) for job in jobs)
    assert [] == [job for job in evolve(SMALL, deviations=False).units([DOCUMENTED]) if isinstance(job, DeviationUnit)]
    assert [] == [job for job in evolve(SMALL, sample=3).units([DOCUMENTED]) if isinstance(job, DeviationUnit)]


@pytest.mark.slow
def test_a_column_is_what_exploring_the_variant_finds(swept):
    for name, found in swept[1].deviations.items():
        (variant,) = (each for each in OperatorDeviation if DEVIATION_NAMES.get(each) == name)
        explored = explore(UpgradeCell(ALIKE, 2, SMALL.faults, wait_for_quiescence=True, deviation=variant))

        assert (explored.safe, explored.states, explored.schedules) == (
            found.verdict == SAFE,
            found.states,
            found.schedules,
        )


@pytest.mark.slow
def test_columns_change_no_verdict_and_examples_bear_the_names_of_their_upgrade(swept):
    for result, wanted in zip(swept, (DOCUMENTED, ALIKE), strict=True):
        mistaken = result.deviations[MISTAKEN]

        assert (SAFE, UNSAFE) == (result.verdict, mistaken.verdict)
        assert wanted.origin.name in mistaken.example
        assert wanted.target.name in mistaken.example
        assert Simulation(Scenario.parse(mistaken.example)).run().violations


@pytest.mark.slow
def test_results_and_their_counterexamples_are_read_back_from_the_tables(tmp_path):
    found = run_sweep(upgrade_suite("two", (DOCUMENTED, ALIKE), SMALL), tmp_path).results
    read = read_sweep(tmp_path).results
    rows = LocalTables(tmp_path).read("counterexamples")

    assert found == read
    assert [each.deviations[MISTAKEN].example for each in read[:1]] == [row["example"] for row in rows]
    assert [MISTAKEN] == [row["deviation"] for row in rows]
    assert all(row["trace"][0]["step"] in row["example"] for row in rows)


@pytest.mark.slow
def test_a_report_counts_the_documented_plans_that_a_variant_breaks(swept):
    lines = list(variant_lines(swept))
    about = {line.partition(":")[0]: line for line in lines if line.startswith("if ")}

    assert {f"if {words}" for words in DEVIATION_DESCRIPTIONS.values()} == set(about)
    assert "2 of 2 safe plans break, 2 of them documented" in about[f"if {DEVIATION_DESCRIPTIONS[MISTAKEN]}"]
    assert "0 of 2 safe plans break" in about[f"if {DEVIATION_DESCRIPTIONS[NEVER_REMOVED]}"]
    assert any(line.startswith("  streams-assignor replay") for line in lines)
    assert [] == list(variant_lines([UpgradeResult(DOCUMENTED)]))


@pytest.mark.slow
def test_a_page_has_every_variant_of_a_plan_by_its_words(swept):
    (verdict,) = (each for each in page_data(swept)["verdicts"] if each["deviations"])

    assert set(DEVIATION_DESCRIPTIONS.values()) == {each["words"] for each in verdict["deviations"]}
    (mistaken,) = (each for each in verdict["deviations"] if not each["safe"])
    assert DOCUMENTED.origin.name not in mistaken["scenario"]  # a sign stands for it, as many share it


def test_slices_of_one_upgrade_can_be_merged_in_any_order():
    one = UpgradeResult(
        DOCUMENTED,
        deviations={
            MISTAKEN: UpgradeResult(
                DOCUMENTED, property="p", message="m", example="e", states=1, transitions=2, schedules=3
            )
        },
    )
    slices = [one, UpgradeResult(DOCUMENTED, states=5)]

    for order in (slices, slices[::-1]):
        (found,) = merge_results([DOCUMENTED], order)
        assert (5, one.deviations) == (found.states, found.deviations)


def test_the_matrix_of_the_kip_has_few_kinds_of_variants():
    jobs = [job for job in evolve(SMALL, members=3).units(kip_268_upgrades()) if isinstance(job, DeviationUnit)]

    assert len(DEVIATION_DESCRIPTIONS) < len(jobs) < 80
