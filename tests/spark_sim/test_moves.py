"""The world move by move: what can happen, what happens then, and lines that say nothing else."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sim import properties
from spark_sim.coordinator import Phase
from spark_sim.history import digest
from spark_sim.scenario import Move, Scenario, ScenarioError
from spark_sim.world import World
from tests.draws import examples


def run(line):
    return World(Scenario.parse(line)).run()


def possible(line):
    return " ".join(map(str, run(line).moves()))


def kinds(world, member):
    return [event.kind for event in world.events if event.member == member]


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
def test_what_can_happen_next(line, moves):
    assert moves == possible(line)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("join A | join A", "got join A: A has joined"),
        ("lead A", "got lead A: the group is STABLE, not COMPLETING"),
        ("join A B | lead B", r"possible \(lead A\), got lead B: B does not lead"),
        ("take A", r"possible \(nothing\), got take A: A has no answer to take"),
        ("expire A", "no session of A has been left alone"),
        ("late A", "nobody waits for A"),
        ("join A | late A", "nobody waits for A"),
        ("stop A | join A", "A does not run"),
        ("stop A | stop A", "stop A: A does not run"),
        ("crash A | crash A", "crash A: A does not run"),
        ("start A", "start A: A runs already"),
        ("stop A | shutdown A", "shutdown A: A does not run"),
        ("shutdown A", "shutdown A: expected a release from 2.8 on, A runs 2.0.1"),
    ],
)
def test_what_cannot_happen_is_refused(step, why):
    with pytest.raises(ScenarioError, match=why):
        run(f"A@2.0.1 B@2.0.1 | hold | {step}")


def test_between_hold_and_settle_nothing_happens_by_itself():
    world = run("A@2.0.1 B@2.0.1 | hold | crash B | settle | stop A")

    assert ["expired"] == kinds(world, "B")[-1:]
    assert Phase.EMPTY is world.coordinator.phase


def test_what_is_held_is_not_judged_before_its_end():
    assert [] == run("A@2.0.1 B@2.0.1 | hold | stop A B").violations
    assert properties.ALL_OWNED in {each.property for each in run("A@2.0.1 | hold | stop A | expire A").violations}


def test_a_follower_with_nothing_new_to_say_is_not_heard_before_unique_fields():
    """KAFKA-10455: from version 8 on no two subscriptions are equal."""
    old = run("A@2.6.0 B@2.6.0 | join A | hold | join B")
    new = run("A@2.6.1 B@2.6.1 | join A | hold | join B")

    assert (Phase.STABLE, Phase.PREPARING) == (old.coordinator.phase, new.coordinator.phase)
    assert "unheard" in kinds(old, "B")
    assert "take B" == " ".join(map(str, old.moves()))


def test_who_is_late_has_lost_everything_and_comes_back_as_a_new_member():
    world = run("A@2.4.1 B@2.4.1 | hold | join A | late B | lead A | take A | join B | join A | settle")

    assert ("A-1", "B-3") == world.coordinator.members
    assert [] == world.violations


def test_the_leader_can_be_chosen_when_one_goes():
    world = run("A@2.0.1 B@2.0.1 C@2.0.1 D@2.0.1 | elect C | hold | stop leave A")

    assert "C-3" == world.coordinator.leader


def test_a_leader_that_dies_leaves_the_group_waiting_for_its_session():
    world = run("A@1.1.1 B@1.1.1 | hold | crash B | start B>2.0.1 | join A B | expire B | lead A")

    assert "died" in kinds(world, "A")
    assert ["expire A"] == [str(move) for move in world.moves()]


def test_a_fork_goes_its_own_way_move_by_move():
    world = World(Scenario.parse("A@2.0.1 B@2.0.1")).begin()
    world.held = True
    before = digest(world.events)
    fork = world.fork()
    fork.make(Move("join", "A"))

    assert before == digest(world.events)
    assert () == world.moves()
    assert fork.moves()


GROUPS = ["A@2.0.1 B@2.0.1 C@2.0.1", "A@2.3.1 B@2.3.1 C@2.3.1", "A@2.6.0 B@2.6.0 C@2.6.0", "A@3.9.2 B@3.9.2 C@3.9.2"]
SHAPES = ["", " | with threads=2", " | with static", " | with lag standbys=1"]
# L6: below version 7 threads of a process that cooperates can pass a task to and fro without end.
WITH_AN_END = [each for each in product(GROUPS, SHAPES) if each[0] in GROUPS[2:] or "threads" not in each[1]]
FAULTS = ["crash A | start A>4.3.1", "stop leave B | start B>3.9.2", "crash C | start C", "elect newest"]


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from(WITH_AN_END), st.permutations(FAULTS), st.data())
def test_any_way_through_the_moves_can_be_written_down_and_comes_to_rest(start, faults, data):
    """The line repeats the run, no order of moves breaks the world, and what is left to be done has an end."""
    group, shape = start
    scenario = Scenario.parse(f"{group}{shape} | hold | {faults[0]} | {faults[1]}")
    world = World(scenario).begin()
    for step in scenario.steps:
        world.play(step)
    line = [str(scenario)]
    for _ in range(data.draw(st.integers(0, 12))):
        if not (moves := world.moves()):
            break
        move = data.draw(st.sampled_from(moves))
        line.append(str(move))
        world.make(move)
    again = World(Scenario.parse(" | ".join(line)))
    again.run()

    assert world.finish().events == again.events
    settled = run(" | ".join([*line, "settle"]))
    assert properties.ENDLESS not in {violation.property for violation in settled.violations}
    assert () == settled.moves()
