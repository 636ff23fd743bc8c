"""Which cells there are, and that processes give the rows that one gives."""

import pytest

from spark_sim.brokers import sweep
from spark_sim.brokers.plans import PLANS
from spark_sim.brokers.sweep import LINES, all_pairs, keys, row_of, run
from upgrade.errors import UpgradeError


def test_the_cells_of_a_pair_are_every_plan_of_every_dialect_with_two_kinds_of_nodes_in_kraft():
    found = list(keys("3.9.2", "4.3.1"))

    assert len(set(found)) == len(found)
    assert {("1", "2", "3"), ("c1", "c2", "c3", "b4")} == {key.nodes for key in found}
    assert {("1", "2", "3")} == {key.nodes for key in found if key.dialect == "kip-584"}
    assert PLANS.keys() == {key.plan for key in found if key.dialect == "kafka-4"}


def test_all_pairs_are_every_line_that_can_finalise_with_every_later_one():
    assert ("3.3", "4.3") == (LINES[0], LINES[-1])
    assert len(LINES) * (len(LINES) - 1) // 2 == len(list(all_pairs()))
    assert all(list(keys(*pair)) for pair in all_pairs())


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
        list(keys(origin, target))


def test_so_are_more_nodes_than_can_be_explored():
    with pytest.raises(UpgradeError, match="expected at most 5 nodes"):
        list(keys("3.9", "4.3", nodes=6))


def test_processes_give_the_rows_in_order_and_tell_of_each():
    wanted = list(keys("4.1", "4.2", nodes=1, faults=0))[:4]
    heard = []

    rows = run(wanted, heard.append)

    assert [row_of(key) for key in wanted] == rows
    assert sorted(map(str, rows)) == sorted(map(str, heard))


def test_an_error_ends_the_processes():
    class Stopped(Exception):
        pass

    def stop(_):
        raise Stopped

    with pytest.raises(Stopped):
        run(list(keys("4.1", "4.2", nodes=1, faults=0))[:2], stop)

    assert [] == sweep.multiprocessing.active_children()
