"""Upgrades of brokers as work units: which cells there are, their results, and what they come to."""

import pytest
from attrs import evolve

from streams_assignor.spark_sim.brokers.plans import PLANS
from streams_assignor.spark_sim.sweep.broker_units import (
    FEATURE_LINES,
    BrokerUnit,
    all_line_pairs,
    cell_keys,
)
from streams_assignor.spark_sim.sweep.report.judgement import example_lines
from streams_assignor.spark_sim.sweep.report.renderers import _describe, judge_brokers
from streams_assignor.spark_sim.sweep.suites import broker_suite, read_sweep
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.tables.rows import BROKER_SUITE
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.releases import NEWEST

SAFE, UNSAFE = (
    next(BrokerUnit(key).result() for key in cell_keys("3.9", "4.3", nodes=1, faults=0) if key.plan == plan)
    for plan in ("upgrade", "at_once")
)
DOCUMENTED_UNSAFE = evolve(UNSAFE, cell=SAFE.cell)


def test_the_cells_of_a_pair_are_every_plan_of_every_dialect_with_two_kinds_of_nodes_in_kraft():
    found = list(cell_keys("3.9.2", "4.3.1"))

    assert len(set(found)) == len(found)
    assert {("1", "2", "3"), ("c1", "c2", "c3", "b4")} == {key.nodes for key in found}
    assert {("1", "2", "3")} == {key.nodes for key in found if key.dialect == "kip-584"}
    assert PLANS.keys() == {key.plan for key in found if key.dialect == "kafka-4"}


def test_all_pairs_are_every_line_that_can_finalize_with_every_later_one():
    assert ("3.3", NEWEST.line) == (FEATURE_LINES[0], FEATURE_LINES[-1])
    assert len(FEATURE_LINES) * (len(FEATURE_LINES) - 1) // 2 == len(list(all_line_pairs()))
    assert all(list(cell_keys(*pair)) for pair in all_line_pairs())
    assert len({unit.key for unit in broker_suite().units}) == len(broker_suite().cells)


@pytest.mark.parametrize(
    ("origin", "target", "named"),
    [
        ("4.3", "3.9", "expected an upgrade to levels that are new, but 3.9 has none that 4.3 has not"),
        ("4.3", "4.3.1", "expected an upgrade to levels that are new"),
        ("2.8", "4.3", "3.3 or later, got 2.8"),
        ("4.3", "9.9", "unknown release of brokers '9.9'"),
    ],
)
def test_what_is_no_upgrade_is_refused(origin, target, named):
    with pytest.raises(UpgradeError, match=named):
        list(cell_keys(origin, target))


def test_so_are_more_nodes_than_can_be_explored():
    with pytest.raises(UpgradeError, match="expected at most 5 nodes"):
        list(cell_keys("3.9", "4.3", nodes=6))


def test_a_sweep_yields_the_result_of_each_cell_in_order_and_can_be_read_again(tmp_path):
    suite = broker_suite([("4.1", "4.2")], nodes=1, faults=0)
    suite = evolve(suite, units=suite.units[:4])
    results = run_sweep(suite, tmp_path).results

    assert [unit.result() for unit in suite.units] == results
    assert (BROKER_SUITE, results) == ((again := read_sweep(tmp_path)).kind, again.results)
    assert results == run_sweep(suite, tmp_path).results


def test_records_have_the_keys_of_records_of_upgrades():
    safe, unsafe = (each.as_record() for each in (SAFE, UNSAFE))

    assert ("3.9", "4.3", "upgrade", "safe", 0, None) == tuple(
        safe[key] for key in ("from", "to", "plan", "verdict", "violations", "example")
    )
    assert "1@3.9 level 3.9-IV0 dialect kip-584 | bounce 1>4.3 | finalize 4.3-IV0 | bounce 1>3.9" == unsafe["example"]
    assert "eventually: every node is in the cluster" == unsafe["property"]


def judged(*results):
    judgement = judge_brokers(results)
    return judgement.good, judgement.text


def test_a_sweep_is_good_if_all_that_is_documented_is_safe():
    assert (True, "documented plans: all 1 safe; others: 1 of 1 unsafe") == judged(SAFE, UNSAFE)
    assert (False, "documented, and yet unsafe: 3.9 to 4.3, kip-584, nodes 1: upgrade") == judged(
        SAFE, DOCUMENTED_UNSAFE
    )


def test_a_cell_in_which_nothing_happened_has_shown_nothing():
    nothing = evolve(SAFE, completed=0, refused_requests=0)
    good, text = judged(nothing)

    assert not good
    assert text.startswith("nothing happened, so nothing is shown")
    assert judged(evolve(nothing, refused_requests=1))[0]


def test_documented_examples_come_first_and_the_rest_is_counted():
    results = [SAFE, UNSAFE, DOCUMENTED_UNSAFE]
    first, replay, more = example_lines(results, 1, _describe, "cells", "matrix.json")

    assert first.startswith("3.9 to 4.3, kip-584, nodes 1: upgrade (bounce every node, then finalize): eventually")
    assert f'  streams-assignor replay "{UNSAFE.example}"' == replay
    assert "and 1 more unsafe cells, each with an example in matrix.json" == more
