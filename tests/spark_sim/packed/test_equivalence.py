"""Equivalent cells are explored once."""

import pytest
from attrs import evolve

from streams_assignor.spark_sim.packed import OperatorDeviation, explore
from streams_assignor.spark_sim.packed.equivalence import equivalence_class
from streams_assignor.upgrade.plans import Plan, Upgrade
from streams_assignor.upgrade.releases import RELEASES
from tests.spark_sim.packed.cells import cell

SAME = [
    (cell("2.4.0", "3.9.2"), cell("2.4.1", "4.3.1")),
    (cell("1.0.0", "2.0.0"), cell("1.1.0", "2.0.1")),
    (cell("0.10.2.2", "2.3.0", "0.10.2"), cell("1.1.1", "2.1.0", "1.0")),
    (cell("2.4.1", "3.9.0", "2.4"), cell("2.4.1", "3.9.0", "2.8")),
    (cell("3.2.0", "3.3.0"), cell("3.7.0", "3.3.2")),
]
DIFFERENT = [
    (cell("2.2.1", "2.4.1"), cell("2.2.2", "2.4.1")),
    (cell("1.1.0", "2.0.1"), cell("1.1.1", "2.0.1")),
    (cell("1.1.1", "3.9.0", "1.1"), cell("1.1.1", "3.9.0", "2.0")),
    (cell("2.4.1", "3.9.2"), cell("2.4.1", "3.9.2", wait_for_quiescence=True)),
    (cell("2.4.1", "3.9.2", "2.4"), cell("2.4.1", "3.9.2", "2.4", deviation=OperatorDeviation.NEVER_REMOVED)),
    (cell("2.4.1", "3.9.2"), cell("2.4.1", "3.9.2", members=2)),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=str)
def test_equivalent_cells_have_equal_results(one, other):
    one, other = evolve(one, members=2), evolve(other, members=2)
    found, expected = explore(one), explore(other)

    assert equivalence_class(one) == equivalence_class(other)
    assert evolve(expected, counterexamples=()) == evolve(found, cell=other, counterexamples=())
    assert [each.property for each in expected.counterexamples] == [each.property for each in found.counterexamples]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=str)
def test_cells_that_may_differ_are_not_equivalent(one, other):
    assert equivalence_class(one) != equivalence_class(other)


def test_all_releases_are_few_equivalence_classes():
    released = [release for release in RELEASES.values() if release.is_released]
    pairs = [Upgrade(origin, target, Plan.ONE_BOUNCE) for origin in released for target in released]
    template = cell("2.4.1", "3.9.2")
    kinds = {equivalence_class(evolve(template, upgrade=upgrade)) for upgrade in pairs}

    assert len(kinds) < 300 < len(pairs) // 20


def test_task_assignors_matter_where_tasks_may_get_a_second_owner():
    assert equivalence_class(cell("2.3.1", "3.2.0")) != equivalence_class(cell("2.3.1", "3.4.0"))
    assert equivalence_class(cell("2.4.1", "3.2.0")) == equivalence_class(cell("2.4.1", "3.4.0"))


def test_cells_with_a_rejected_configuration_are_equivalent():
    assert equivalence_class(cell("3.4.1", "3.5.1", "3.4")) == equivalence_class(cell("3.5.2", "3.6.1", "3.5"))
