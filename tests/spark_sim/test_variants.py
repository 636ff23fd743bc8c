"""Operators who do not follow the plan, as columns of a result: which there are, what is found, how it is told."""

import json

import pytest
from attrs import evolve

from spark_sim.cell_result import SAFE, UNSAFE, CellResult, Varied
from spark_sim.computing import compute
from spark_sim.explore import Cell, Faults, Variant, explore
from spark_sim.jobs import Extent, Slice, Vary
from spark_sim.page import page_data
from spark_sim.report import read_matrix, variant_lines
from spark_sim.results import MATRIX, SliceResult, matrix_json, merged
from spark_sim.scenario import Scenario
from spark_sim.variants import NAMES, WORDS, varied
from spark_sim.world import World
from upgrade.matrix import Plan, Upgrade, kip_268
from upgrade.releases import release_named

SMALL = Extent(members=2, faults=Faults(0, 0), patient=True, runs=0, variants=True)
INTERRUPTED, ROLLED_BACK, NEVER_REMOVED, MISTAKEN = map(
    NAMES.get, (Variant.INTERRUPTED, Variant.ROLLED_BACK, Variant.NEVER_REMOVED, Variant.MISTAKEN)
)


def upgrade(origin, target, plan=Plan.TWO_BOUNCES, value=None):
    return Upgrade(release_named(origin), release_named(target), plan, value)


DOCUMENTED = upgrade("1.1.1", "2.0.1", value="1.1")
ALIKE = upgrade("1.0.2", "2.0.0", value="1.0")


@pytest.fixture(scope="module")
def swept():
    """What comes of two upgrades that behave alike."""
    done = compute(Slice("all", tuple(SMALL.jobs([DOCUMENTED, ALIKE]))))[1]
    return merged([DOCUMENTED, ALIKE], [done])


def names(wanted):
    return {NAMES[each] for each in varied(wanted)}


def test_every_rolling_plan_may_end_anywhere_or_be_turned_round_and_a_value_may_be_forgotten():
    assert {INTERRUPTED, ROLLED_BACK} == names(upgrade("2.0.1", "2.1.1", Plan.ONE_BOUNCE))
    assert {INTERRUPTED, ROLLED_BACK, MISTAKEN, NEVER_REMOVED} == names(DOCUMENTED)
    assert {INTERRUPTED, ROLLED_BACK, MISTAKEN} == names(upgrade("2.4.1", "2.3.1", value="2.3"))  # held back first


def test_nothing_is_left_to_do_otherwise_where_all_is_stopped_or_nobody_starts():
    assert set() == names(upgrade("2.0.1", "2.1.1", Plan.OFFLINE))
    assert set() == names(upgrade("2.3.1", "4.0.0", value="2.3"))


def test_every_variant_has_words_and_one_job_for_all_upgrades_that_behave_alike():
    jobs = [job for job in SMALL.jobs([DOCUMENTED, ALIKE]) if isinstance(job, Vary)]

    assert names(DOCUMENTED) == WORDS.keys() == {NAMES[job.cell.variant] for job in jobs}
    assert len(WORDS) == len(jobs) == len({job.key for job in jobs})
    assert all(job.cost > 0 and job.cell.patient and not list(job.scenarios()) for job in jobs)
    assert [] == [job for job in evolve(SMALL, variants=False).jobs([DOCUMENTED]) if isinstance(job, Vary)]
    assert [] == [job for job in evolve(SMALL, sample=3).jobs([DOCUMENTED]) if isinstance(job, Vary)]


def test_a_column_is_what_exploring_the_variant_finds(swept):
    for name, found in swept[1].variants.items():
        (variant,) = (each for each in Variant if NAMES.get(each) == name)
        explored = explore(Cell(ALIKE, 2, SMALL.faults, patient=True, variant=variant))

        assert (explored.safe, explored.states, explored.schedules) == (
            found.verdict == SAFE,
            found.states,
            found.schedules,
        )


def test_columns_change_no_verdict_and_examples_bear_the_names_of_their_upgrade(swept):
    for result, wanted in zip(swept, (DOCUMENTED, ALIKE), strict=True):
        mistaken = result.variants[MISTAKEN]

        assert (SAFE, UNSAFE) == (result.verdict, mistaken.verdict)
        assert wanted.origin.name in mistaken.example
        assert wanted.target.name in mistaken.example
        assert World(Scenario.parse(mistaken.example)).run().violations


def test_a_result_is_read_back_as_it_was_written(swept, tmp_path):
    (tmp_path / MATRIX).write_text(matrix_json(swept))

    assert [each.variants for each in swept] == [each.variants for each in read_matrix(tmp_path)]
    old = [{key: value for key, value in each.as_json().items() if key != "variants"} for each in swept]
    (tmp_path / MATRIX).write_text(json.dumps(old))
    assert [{}, {}] == [each.variants for each in read_matrix(tmp_path)]


def test_a_report_counts_the_documented_plans_that_a_variant_breaks(swept):
    lines = list(variant_lines(swept))
    about = {line.partition(":")[0]: line for line in lines if line.startswith("if ")}

    assert {f"if {words}" for words in WORDS.values()} == set(about)
    assert "2 of 2 safe plans break, 2 of them documented" in about[f"if {WORDS[MISTAKEN]}"]
    assert "0 of 2 safe plans break" in about[f"if {WORDS[NEVER_REMOVED]}"]
    assert any(line.startswith("  streams-assignor replay") for line in lines)
    assert [] == list(variant_lines([CellResult(DOCUMENTED)]))


def test_a_page_has_every_variant_of_a_plan_by_its_words(swept):
    (verdict,) = (each for each in page_data(swept)["verdicts"] if each["variants"])

    assert set(WORDS.values()) == {each["words"] for each in verdict["variants"]}
    (mistaken,) = (each for each in verdict["variants"] if not each["safe"])
    assert DOCUMENTED.origin.name not in mistaken["scenario"]  # a sign stands for it, as many share it


def test_slices_of_one_upgrade_can_be_merged_in_any_order():
    one = CellResult(DOCUMENTED, variants={MISTAKEN: Varied("p", "m", "e", 1, 2, 3)})
    slices = [SliceResult("a", (one,), ""), SliceResult("b", (CellResult(DOCUMENTED, states=5),), "")]

    for order in (slices, slices[::-1]):
        (found,) = merged([DOCUMENTED], order)
        assert (5, one.variants) == (found.states, found.variants)


def test_the_matrix_of_the_kip_has_few_kinds_of_variants():
    jobs = [job for job in evolve(SMALL, members=3).jobs(kip_268()) if isinstance(job, Vary)]

    assert len(WORDS) < len(jobs) < 80
