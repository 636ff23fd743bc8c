"""Cells of one kind are explored once."""

import pytest
from attrs import evolve

from spark_sim.explore import Variant, explore
from spark_sim.explore.behaviours import kind_of
from tests.spark_sim.explore.cells import cell
from upgrade.matrix import Plan, Upgrade
from upgrade.releases import RELEASES

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
    (cell("2.4.1", "3.9.2"), cell("2.4.1", "3.9.2", patient=True)),
    (cell("2.4.1", "3.9.2", "2.4"), cell("2.4.1", "3.9.2", "2.4", variant=Variant.NEVER_REMOVED)),
    (cell("2.4.1", "3.9.2"), cell("2.4.1", "3.9.2", members=2)),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=str)
def test_cells_that_cannot_differ_are_one_kind_and_do_not_differ(one, other):
    one, other = evolve(one, members=2), evolve(other, members=2)
    found, expected = explore(one), explore(other)

    assert kind_of(one) == kind_of(other)
    assert evolve(expected, broken=()) == evolve(found, cell=other, broken=())
    assert [each.property for each in expected.broken] == [each.property for each in found.broken]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=str)
def test_cells_that_may_differ_are_not(one, other):
    assert kind_of(one) != kind_of(other)


def test_78_releases_are_few_kinds_of_cells():
    released = [release for release in RELEASES.values() if release.released]
    pairs = [Upgrade(origin, target, Plan.ONE_BOUNCE) for origin in released for target in released]
    template = cell("2.4.1", "3.9.2")
    kinds = {kind_of(evolve(template, upgrade=upgrade)) for upgrade in pairs}

    assert 78 * 78 == len(pairs)
    assert len(kinds) < 300


def test_where_tasks_may_get_a_second_owner_task_assignors_matter():
    assert kind_of(cell("2.3.1", "3.2.0")) != kind_of(cell("2.3.1", "3.4.0"))
    assert kind_of(cell("2.4.1", "3.2.0")) == kind_of(cell("2.4.1", "3.4.0"))


def test_cells_that_do_not_start_are_one_kind():
    assert kind_of(cell("3.4.1", "3.5.1", "3.4")) == kind_of(cell("3.5.2", "3.6.1", "3.5"))
