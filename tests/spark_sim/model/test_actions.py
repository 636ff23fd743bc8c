"""Protocol actions one by one: which are enabled, what each changes, and scenarios of nothing else."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams_assignor.spark_sim.model import violations
from streams_assignor.spark_sim.model.coordinator import GroupPhase
from streams_assignor.spark_sim.model.events import events_digest
from streams_assignor.spark_sim.model.scenario import GroupAction, Scenario, ScenarioError
from streams_assignor.spark_sim.model.simulation import Simulation
from tests.draws import examples


def run(line):
    return Simulation(Scenario.parse(line)).run()


def possible(line):
    return " ".join(map(str, run(line).enabled_actions()))


def kinds(simulation, member):
    return [event.kind for event in simulation.events if event.member == member]


@pytest.mark.parametrize(
    ("line", "moves"),
    [
        ("A@2.0.1 B@2.0.1", ""),
        ("A@2.0.1 B@2.0.1 | hold | crash B", "expire B"),
        ("A@2.0.1 B@2.0.1 | hold | crash B | start B", "join B expire B"),
        ("A@2.0.1 B@2.0.1 | hold | crash B | start B | join B", "join A expire B late A"),
        ("A@2.0.1 B@2.0.1 | hold | stop leave B", "join A late A"),
        ("A@2.0.1 B@2.0.1 | hold | stop leave B | join A", "lead A"),
        ("A@2.0.1 B@2.0.1 | hold | stop leave B | late A", "join A"),
        ("A@2.0.1 B@2.0.1 | hold | join A", "join B late B"),
        ("A@2.0.1 B@2.0.1 | hold | join A | join B | lead A", "take A take B"),
        ("A@2.0.1 B@2.0.1 | hold | join A B | lead A | crash A", "take B expire A"),
        ("A@2.0.1 B@2.0.1 | hold | join A B | crash A", "expire A"),
        ("A@2.0.1 B@2.0.1 | hold | stop A B", "expire A expire B"),
        ("A@2.0.1 B@2.0.1 | with threads=2 | hold | stop B", "expire B.1 expire B.2"),
    ],
)
def test_the_enabled_actions(line, moves):
    assert moves == possible(line)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("join A | join A", "got join A: A has joined"),
        ("lead A", "got lead A: the group is STABLE, not COMPLETING"),
        ("join A B | lead B", r"possible \(lead A\), got lead B: B does not lead"),
        ("take A", r"possible \(nothing\), got take A: A has no answer to take"),
        ("expire A", "A has no orphaned member id"),
        ("late A", "the group does not wait for JoinGroup of A"),
        ("join A | late A", "the group does not wait for JoinGroup of A"),
        ("stop A | join A", "A does not run"),
        ("stop A | stop A", "stop A: A does not run"),
        ("crash A | crash A", "crash A: A does not run"),
        ("start A", "start A: A runs already"),
        ("stop A | shutdown A", "shutdown A: A does not run"),
        ("shutdown A", "shutdown A: expected a release from 2.8 on, A runs 2.0.1"),
    ],
)
def test_a_disabled_action_is_rejected_with_the_reason(step, why):
    with pytest.raises(ScenarioError, match=why):
        run(f"A@2.0.1 B@2.0.1 | hold | {step}")


def test_a_held_group_does_not_settle():
    simulation = run("A@2.0.1 B@2.0.1 | hold | crash B | settle | stop A")

    assert ["expired"] == kinds(simulation, "B")[-1:]
    assert GroupPhase.EMPTY is simulation.coordinator.phase


def test_a_held_group_with_enabled_actions_is_not_checked_for_what_holds_eventually():
    assert [] == run("A@2.0.1 B@2.0.1 | hold | stop A B").violations
    assert violations.EVERY_TASK_OWNED in {
        each.property for each in run("A@2.0.1 | hold | stop A | expire A").violations
    }


def test_a_follower_with_an_unchanged_subscription_starts_no_rebalance_before_unique_fields():
    """KAFKA-10455: from version 8 on no two subscriptions are equal."""
    old = run("A@2.6.0 B@2.6.0 | join A | hold | join B")
    new = run("A@2.6.1 B@2.6.1 | join A | hold | join B")

    assert (GroupPhase.STABLE, GroupPhase.PREPARING_REBALANCE) == (old.coordinator.phase, new.coordinator.phase)
    assert "unchanged" in kinds(old, "B")
    assert "take B" == " ".join(map(str, old.enabled_actions()))


def test_a_member_that_misses_the_rebalance_timeout_loses_its_tasks_and_rejoins_as_a_new_one():
    simulation = run("A@2.4.1 B@2.4.1 | hold | join A | late B | lead A | take A | join B | join A | settle")

    assert ("A-1", "B-3") == simulation.coordinator.members
    assert [] == simulation.violations


def test_the_next_leader_can_be_chosen():
    simulation = run("A@2.0.1 B@2.0.1 C@2.0.1 D@2.0.1 | elect C | hold | stop leave A")

    assert "C-3" == simulation.coordinator.leader


def test_the_group_waits_for_the_session_timeout_of_a_leader_that_failed():
    simulation = run("A@1.1.1 B@1.1.1 | hold | crash B | start B>2.0.1 | join A B | expire B | lead A")

    assert "failed" in kinds(simulation, "A")
    assert ["expire A"] == [str(move) for move in simulation.enabled_actions()]


def test_a_fork_is_independent_action_by_action():
    simulation = Simulation(Scenario.parse("A@2.0.1 B@2.0.1")).begin()
    simulation.held = True
    before = events_digest(simulation.events)
    fork = simulation.fork()
    fork.apply(GroupAction("join", "A"))

    assert before == events_digest(simulation.events)
    assert () == simulation.enabled_actions()
    assert fork.enabled_actions()


GROUPS = ["A@2.0.1 B@2.0.1 C@2.0.1", "A@2.3.1 B@2.3.1 C@2.3.1", "A@2.6.0 B@2.6.0 C@2.6.0", "A@3.9.2 B@3.9.2 C@3.9.2"]
SHAPES = ["", " | with threads=2", " | with static", " | with lag standbys=1"]
# L6: below version 7 threads of a process that cooperates can pass a task to and fro without end.
WITH_AN_END = [each for each in product(GROUPS, SHAPES) if each[0] in GROUPS[2:] or "threads" not in each[1]]
FAULTS = ["crash A | start A>4.3.1", "stop leave B | start B>3.9.2", "crash C | start C", "elect newest"]


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from(WITH_AN_END), st.permutations(FAULTS), st.data())
def test_any_order_of_actions_can_be_replayed_and_settles(start, faults, data):
    """The scenario repeats the run, no order of actions breaks the simulation, and settling terminates."""
    group, shape = start
    scenario = Scenario.parse(f"{group}{shape} | hold | {faults[0]} | {faults[1]}")
    simulation = Simulation(scenario).begin()
    for step in scenario.steps:
        simulation.play(step)
    line = [str(scenario)]
    for _ in range(data.draw(st.integers(0, 12))):
        if not (moves := simulation.enabled_actions()):
            break
        move = data.draw(st.sampled_from(moves))
        line.append(str(move))
        simulation.apply(move)
    again = Simulation(Scenario.parse(" | ".join(line)))
    again.run()

    assert simulation.finish().events == again.events
    settled = run(" | ".join([*line, "settle"]))
    assert violations.REBALANCING_TERMINATES not in {violation.property for violation in settled.violations}
    assert () == settled.enabled_actions()
