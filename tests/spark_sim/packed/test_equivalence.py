"""Equivalent cells are explored once."""

import pytest
from attrs import evolve

from streams_assignor.spark_sim.packed import FaultBudget, OperatorDeviation, explore
from streams_assignor.spark_sim.packed.equivalence import BehaviourClass, equivalence_class
from streams_assignor.spark_sim.packed.explorer import explore_once
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


_WAITS = {"wait_for_quiescence": True, "members": 2}
_FIXED = (("0.10.0.1", "2.0.1", "0.10.0"), ("0.10.1.1", "2.0.1", "0.10.1"), ("1.1.1", "2.0.1", "1.1"))
OTHER_VERSIONS = {
    "safe": [cell(*upgrade, members=2) for upgrade in _FIXED],
    "back": [cell(*upgrade, deviation=OperatorDeviation.ROLLED_BACK, **_WAITS) for upgrade in _FIXED],
    "kept": [cell(*upgrade, deviation=OperatorDeviation.NEVER_REMOVED, **_WAITS) for upgrade in _FIXED],
    "offline": [cell(origin, "2.0.1", offline=True) for origin in ("0.10.0.1", "1.1.1")],
    "unsafe": [cell("0.10.1.1", "2.0.1", members=2), cell("1.1.1", "2.0.1", members=2)],
    "suspects": [cell("2.3.1", target, members=2) for target in ("3.2.0", "3.4.0")],
}


@pytest.mark.parametrize("cells", OTHER_VERSIONS.values(), ids=OTHER_VERSIONS)
def test_cells_of_one_behaviour_are_explored_once_and_have_their_own_results(cells):
    assert 1 == len({BehaviourClass.of(each) for each in cells})
    assert list(map(explore, cells)) == list(map(explore_once, cells))


@pytest.mark.parametrize(
    "changes",
    [
        {"members": 3},
        {"faults": FaultBudget(1, 0)},
        {"wait_for_quiescence": True},
        {"may_miss_responses": True},
        {"upgrade": cell("2.0.1", "2.2.2").upgrade},
    ],
)
def test_cells_of_one_behaviour_are_explored_alike(changes):
    asked = cell("2.0.1", "2.1.1", members=2)

    assert BehaviourClass.of(evolve(asked, **changes)) != BehaviourClass.of(asked)
