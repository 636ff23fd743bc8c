"""All states are found, and all ways counted: against a search that knows no symmetry and walks every way."""

import pytest

from streams_assignor.spark_sim.brokers.actions import check_final_state, run_scenario
from streams_assignor.spark_sim.brokers.model import BrokerCell, BrokerModel, explore
from streams_assignor.spark_sim.brokers.operator_program import ReleasePair
from streams_assignor.spark_sim.brokers.parser import parse_scenario
from streams_assignor.spark_sim.brokers.plans import PLANS
from streams_assignor.spark_sim.brokers.properties import (
    ALL_NODES_IN_CLUSTER,
    GROUP_NOT_AHEAD,
    LEVELS_SUPPORTED_WHEN_FINALIZED,
    METADATA_READABLE,
)
from streams_assignor.upgrade.cluster.brokers.protocol_versions import broker_release
from streams_assignor.upgrade.cluster.features.dialects import DIALECTS, KAFKA_4, KIP_584, KIP_778
from tests.each import each_third

LOSSY, LOSSLESS = (ReleasePair(*map(broker_release, names)) for names in (("3.9.2", "4.3.1"), ("4.1", "4.2")))
EVERY_PLAN = [(dialect, name) for name, plan in PLANS.items() for dialect in plan.dialects]


def walked(cell):
    """Every way of a cell, one by one: how many, and how many of them reach the end and violate what."""
    model = BrokerModel(cell)
    ways, reached, violated = 0, 0, set()

    def walk(state):
        nonlocal ways, reached
        if state.cluster_state.violations:
            ways += 1
            violated.add(state.cluster_state.violations[0].property)
            return
        here = model.canonical(state)
        leads = [each.state for each in model.transitions(state) if model.canonical(each.state) != here]
        if all(after.faults_left < state.faults_left for after in leads):
            ways += 1
            reached += cell.plan.finished(state.cluster_state, cell.pair, state.phase_index)
            violated.update(violation.property for violation in check_final_state(state.cluster_state).violations[:1])
        for after in leads:
            walk(after)

    for state in model.initial_states():
        walk(state)
    return ways, reached, violated


@pytest.mark.parametrize(("dialect", "plan"), each_third(EVERY_PLAN), ids=lambda given: str(given))
def test_it_finds_what_walking_every_way_finds(dialect, plan):
    cell = BrokerCell(LOSSLESS, dialect, PLANS[plan], nodes=("1", "2"), faults=0)
    found = explore(cell)
    ways, reached, violated = walked(cell)

    assert ways == found.schedules
    assert (reached > 0) is (found.completed > 0)
    assert bool(violated) is (found.violation is not None)
    assert found.violation is None or found.violation.property in violated


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
def test_it_finds_it_with_a_fault_too(dialect):
    cell = BrokerCell(LOSSY, dialect, PLANS["at_once"], nodes=("1",), faults=2)
    found = explore(cell)
    ways, reached, violated = walked(cell)

    assert ways == found.schedules > 400
    assert (0, 0) == (reached, found.completed)
    assert {ALL_NODES_IN_CLUSTER} == violated == {found.violation.property}


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
@pytest.mark.parametrize("plan", ["upgrade", "early", "back"])
def test_nodes_that_are_alike_make_few_states_of_many_ways(dialect, plan):
    found = explore(BrokerCell(LOSSY, dialect, PLANS[plan]))

    assert found.violation is None
    assert found.terminal_states == found.completed
    assert found.states < 150 < 2000 < found.schedules


VERDICTS = [
    (KIP_584, LOSSY, "lower_and_back", METADATA_READABLE),
    (KIP_778, LOSSY, "lower_and_back", None),
    (KAFKA_4, LOSSY, "lower_and_back", None),
    (KIP_584, LOSSLESS, "lower_and_back", None),
    (KIP_778, LOSSLESS, "lower_and_back", None),
    (KAFKA_4, LOSSLESS, "lower_and_back", ALL_NODES_IN_CLUSTER),
    (KIP_778, LOSSLESS, "hasty", ALL_NODES_IN_CLUSTER),
    (KAFKA_4, LOSSLESS, "snapshot", None),
    (KIP_778, LOSSY, "lossy", None),
    (KAFKA_4, LOSSY, "lossy", None),
    (KAFKA_4, LOSSY, "at_once", ALL_NODES_IN_CLUSTER),
    (KAFKA_4, LOSSY, "watched", None),
    (KAFKA_4, LOSSLESS, "watched_lower", GROUP_NOT_AHEAD),
]


@pytest.mark.parametrize(("dialect", "pair", "plan", "violated"), VERDICTS)
def test_a_plan_is_safe_or_has_an_example_that_violates_the_same_when_it_is_replayed(dialect, pair, plan, violated):
    found = explore(BrokerCell(pair, dialect, PLANS[plan]))

    assert violated == (found.violation and found.violation.property)
    if violated:
        replayed = run_scenario(parse_scenario(str(found.example)))
        assert violated in [violation.property for violation in replayed.violations]


def test_w3_what_kip_778_promises_kafka_4_does_not_do():
    promised, real = (explore(BrokerCell(LOSSY, dialect, PLANS["lossy"])) for dialect in (KIP_778, KAFKA_4))

    assert promised.terminal_states == promised.completed > 0
    assert (0, None) == (real.completed, real.violation)
    assert str(real.stalled_example).endswith("finalize 4.3-IV0 | downgrade unsafe 3.9-IV0")


def test_q1_a_live_minority_of_controllers_is_not_asked_in_kip_778():
    found = explore(BrokerCell(LOSSY, KIP_778, PLANS["early"], ("c1", "c2", "c3", "b4"), faults=0))

    assert LEVELS_SUPPORTED_WHEN_FINALIZED == found.violation.property
    assert explore(BrokerCell(LOSSY, KAFKA_4, PLANS["early"], ("c1", "c2", "c3", "b4"), faults=0)).violation is None


def test_a_counter_example_is_as_short_as_it_can_be():
    found = explore(BrokerCell(LOSSLESS, KAFKA_4, PLANS["lower_and_back"], ("1",), faults=0))

    assert "1@4.1 level 4.1-IV1 | bounce 1>4.2 | finalize 4.2-IV1 | downgrade 4.1-IV1 | bounce 1>4.1" == str(
        found.example
    )
