"""That all states are found, and all ways counted: against a search that knows no symmetry and walks every way."""

import pytest

from spark_sim.brokers.phases import Pair
from spark_sim.brokers.plans import PLANS
from spark_sim.brokers.properties import ALL_BACK, LACKED, NOT_AHEAD, READABLE
from spark_sim.brokers.reading import read_scenario
from spark_sim.brokers.search import Cell, _key, _State, _successors, explore
from spark_sim.brokers.steps import begin, finish, run
from upgrade.brokers.versions import broker_release
from upgrade.features.dialects import DIALECTS, KAFKA_4, KIP_584, KIP_778

LOSSY, LOSSLESS = (Pair(*map(broker_release, names)) for names in (("3.9.2", "4.3.1"), ("4.1", "4.2")))
EVERY_PLAN = [(dialect, name) for name, plan in PLANS.items() for dialect in plan.dialects]


def walked(cell):
    """Every way of a cell, one by one: how many, and how many of them reach the end and violate what."""
    ways, reached, violated = 0, 0, set()

    def walk(state):
        nonlocal ways, reached
        if state.world.violations:
            ways += 1
            violated.add(state.world.violations[0].property)
            return
        here = _key(state)
        leads = [after for _, after in _successors(cell, state) if _key(after) != here]
        if all(after.faults < state.faults for after in leads):
            ways += 1
            reached += cell.plan.finished(state.world, cell.pair, state.place)
            violated.update(violation.property for violation in finish(state.world).violations[:1])
        for after in leads:
            walk(after)

    walk(_State(begin(cell.scenario), 0, cell.faults))
    return ways, reached, violated


@pytest.mark.parametrize(("dialect", "plan"), EVERY_PLAN, ids=lambda given: str(given))
def test_it_finds_what_walking_every_way_finds(dialect, plan):
    cell = Cell(LOSSLESS, dialect, PLANS[plan], nodes=("1", "2"), faults=0)
    found = explore(cell)
    ways, reached, violated = walked(cell)

    assert ways == found.schedules
    assert (reached > 0) is (found.reached > 0)
    assert bool(violated) is (found.violation is not None)
    assert found.violation is None or found.violation.property in violated


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
def test_it_finds_it_with_a_fault_too(dialect):
    cell = Cell(LOSSY, dialect, PLANS["at_once"], nodes=("1",), faults=2)
    found = explore(cell)
    ways, reached, violated = walked(cell)

    assert ways == found.schedules > 400
    assert (0, 0) == (reached, found.reached)
    assert {ALL_BACK} == violated == {found.violation.property}


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
@pytest.mark.parametrize("plan", ["upgrade", "early", "back"])
def test_nodes_that_are_alike_make_few_states_of_many_ways(dialect, plan):
    found = explore(Cell(LOSSY, dialect, PLANS[plan]))

    assert found.violation is None
    assert found.endings == found.reached
    assert found.states < 150 < 2000 < found.schedules


VERDICTS = [
    (KIP_584, LOSSY, "lower_and_back", READABLE),
    (KIP_778, LOSSY, "lower_and_back", None),
    (KAFKA_4, LOSSY, "lower_and_back", None),
    (KIP_584, LOSSLESS, "lower_and_back", None),
    (KIP_778, LOSSLESS, "lower_and_back", None),
    (KAFKA_4, LOSSLESS, "lower_and_back", ALL_BACK),
    (KIP_778, LOSSLESS, "hasty", ALL_BACK),
    (KAFKA_4, LOSSLESS, "snapshot", None),
    (KIP_778, LOSSY, "lossy", None),
    (KAFKA_4, LOSSY, "lossy", None),
    (KAFKA_4, LOSSY, "at_once", ALL_BACK),
    (KAFKA_4, LOSSY, "watched", None),
    (KAFKA_4, LOSSLESS, "watched_lower", NOT_AHEAD),
]


@pytest.mark.parametrize(("dialect", "pair", "plan", "violated"), VERDICTS)
def test_a_plan_is_safe_or_has_an_example_that_violates_the_same_when_it_is_replayed(dialect, pair, plan, violated):
    found = explore(Cell(pair, dialect, PLANS[plan]))

    assert violated == (found.violation and found.violation.property)
    if violated:
        replayed = run(read_scenario(str(found.example)))
        assert violated in [violation.property for violation in replayed.violations]


def test_w3_what_kip_778_promises_kafka_4_does_not_do():
    promised, real = (explore(Cell(LOSSY, dialect, PLANS["lossy"])) for dialect in (KIP_778, KAFKA_4))

    assert promised.endings == promised.reached > 0
    assert (0, None) == (real.reached, real.violation)
    assert str(real.held_up).endswith("finalise 4.3-IV0 | downgrade unsafe 3.9-IV0")


def test_q1_a_live_minority_of_controllers_is_not_asked_in_kip_778():
    found = explore(Cell(LOSSY, KIP_778, PLANS["early"], ("c1", "c2", "c3", "b4"), faults=0))

    assert LACKED == found.violation.property
    assert explore(Cell(LOSSY, KAFKA_4, PLANS["early"], ("c1", "c2", "c3", "b4"), faults=0)).violation is None


def test_a_counter_example_is_as_short_as_it_can_be():
    found = explore(Cell(LOSSLESS, KAFKA_4, PLANS["lower_and_back"], ("1",), faults=0))

    assert "1@4.1 level 4.1-IV1 | bounce 1>4.2 | finalise 4.2-IV1 | downgrade 4.1-IV1 | bounce 1>4.1" == str(
        found.example
    )
