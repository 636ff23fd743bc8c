"""Bugs that Kafka shipped, each by a line that shows it in an affected release and by the same line in a fixed one."""

import pytest

from spark_sim import properties
from spark_sim.properties import (
    ALL_END,
    ANSWERED,
    BEST_COPY,
    ENDLESS,
    FOLLOWED,
    MATCHED,
    NO_WASTE,
    NOBODY_DIES,
    OWNED_ONCE,
    READABLE,
)
from spark_sim.scenario import Scenario
from spark_sim.world import World


def run(line):
    return World(Scenario.parse(line)).run()


def broken(line):
    """The first property that a line violates."""
    return next((violation.property for violation in run(line).violations), None)


B5 = "A@{} B@{} | with threads=2 | bounce fast B>2.4.1,upgrade.from=2.3"
B6 = "A@{} B@{} | with topology={} | bounce fast B>2.4.1,upgrade.from=2.3"
B11 = "B@{0} A@{0} | with threads=2 lag | elect A.2 | stop B | start B"
B12 = "A@2.3.1 B@2.3.1 C@2.3.1 | stop C | bounce A>{} | hold | start C | join C B A | lead B | take C A B | settle"
B17 = "A@{0},upgrade.from=1.1 B@1.1.1 C@{0},upgrade.from=1.1 | bounce fast C>3.0.2"
L1 = "A@{} B@{} | lose data"
L4 = "A@{} B@{} C@{} | with lag | stop C | start C | stop B | start B"
L3 = "A@{0} B@{0} | hold | stop B | start B>2.4.1,upgrade.from=2.2 | lose data | settle"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (B5.format("2.0.1", "2.0.1"), OWNED_ONCE),
        (B5.format("2.2.1", "2.2.1"), OWNED_ONCE),
        (B5.format("2.3.0", "2.3.0"), OWNED_ONCE),
        (B5.format("2.2.2", "2.2.2"), None),
        (B5.format("2.3.1", "2.3.1"), None),
        (B6.format("2.0.1", "2.0.1", "join"), NOBODY_DIES),
        (B6.format("2.3.0", "2.3.0", "two"), MATCHED),
        (B6.format("2.3.0", "2.3.0", "counts"), None),
        (B6.format("2.2.2", "2.2.2", "join"), None),
        (B6.format("2.3.1", "2.3.1", "two"), None),
        (B11.format("2.6.0"), FOLLOWED),
        (B11.format("2.6.1"), None),
        (B11.format("2.7.0"), None),
        (B12.format("2.4.1"), OWNED_ONCE),
        (B12.format("3.9.2"), OWNED_ONCE),
        (B12.format("2.4.1,upgrade.from=2.3"), None),
        (B12.format("3.9.2,upgrade.from=2.3"), None),
        (L3.format("2.1.1"), ANSWERED),
        (L3.format("2.3.1"), ANSWERED),
    ],
)
def test_it_shows_where_it_was_and_not_where_it_was_mended(line, shown):
    assert shown == broken(line)


def test_b12_is_two_owners_until_the_eager_leaders_word_has_reached_everybody():
    """The fault is over when the cooperative member hears that its task is gone: nobody would see it at rest."""
    world = run(B12.format("2.4.1"))

    assert {OWNED_ONCE} == {violation.property for violation in world.violations}
    assert [] == properties.always(world)


def test_b17_a_leader_died_up_to_2_6_and_tells_everybody_since_2_7():
    before, since = run(B17.format("2.6.3")), run(B17.format("2.7.2"))

    assert ("A", "IllegalStateException") == (before.violations[0].member, before.violations[0].text.split(":")[0])
    assert {"A", "C"} == {each.member for each in since.violations if "error code 3" in each.text}


@pytest.mark.parametrize(
    ("release", "fixed"), [("2.6.0", False), ("3.5.1", False), ("3.5.2", True), ("3.6.0", True), ("2.5.1", True)]
)
def test_b19_a_withheld_task_left_a_standby_that_nobody_asked_for(release, fixed):
    """KAFKA pull request 14149; a waste, so the run is safe all the same."""
    world = run(f"A@{release} B@{release} C@{release} | stop C | start C")

    assert [] == world.violations
    assert ([] if fixed else [NO_WASTE]) == sorted({remark.property for remark in world.remarks})


@pytest.mark.parametrize("release", ["2.1.1", "2.6.3", "2.7.2", "4.3.1"])
def test_l1_a_missing_topic_ends_members_that_are_alike_as_the_code_says(release):
    world = run(L1.format(release, release))

    assert [] == world.violations
    assert not any(world.living)


@pytest.mark.parametrize(("newer", "older"), [("2.6.3", "2.4.1"), ("4.3.1", "2.8.2")])
def test_l1_an_error_code_kills_older_members_that_cannot_read_it(newer, older):
    """It is written in the leader's latest version, whatever the group speaks: still so in 4.3.1."""
    world = run(f"{L1.format(newer, newer).partition(' | ')[0]} | bounce fast B>{older} | lose data")

    assert [(READABLE, "B")] == [(violation.property, violation.member) for violation in world.violations]
    assert world.threads["A"].ended


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("A@2.8.2 B@2.8.2 | shutdown B", None),
        ("A@2.8.2 B@4.3.1 | shutdown B", None),
        ("A@3.9.2 B@3.9.2 | with threads=2 | shutdown A", None),
        ("A@2.7.2 B@2.8.2 | shutdown B", ALL_END),
        ("A@2.8.2 B@2.5.1 | shutdown A", ALL_END),
    ],
)
def test_l2_a_wish_to_end_needs_version_9_to_travel(line, shown):
    assert shown == broken(line)


def test_a_leader_of_2_0_leaves_the_tasks_of_a_missing_topic_out_until_it_is_back():
    gone = run("A@2.0.1 B@2.0.1 | lose data")
    back = run("A@2.0.1 B@2.0.1 | lose data | find data")

    assert [] == gone.violations + back.violations
    assert set() == set().union(*(thread.owned for thread in gone.living))
    assert back.shape.tasks.keys() == set().union(*(thread.owned for thread in back.living))


@pytest.mark.parametrize("release", ["2.6.3", "3.1.2", "3.9.2", "4.3.1"])
def test_l4_a_complete_copy_is_found_where_members_say_how_far_they_are(release):
    world = run(L4.format(release, release, release))

    assert [] == world.violations + world.remarks


@pytest.mark.parametrize(("leader", "rests"), [("2.6.3", True), ("3.1.2", True), ("3.2.0", False), ("4.3.1", False)])
def test_l4_a_copy_of_unknown_position_passes_for_the_best(leader, rests):
    """Beside members of 2.5, who say of no task how far they are, and do not name those that they run.

    Since 3.2 the unknown copy even takes the task away from who runs it, again and again.
    """
    world = run(L4.format(leader, "2.5.1", "2.5.1"))

    assert BEST_COPY in {remark.property for remark in world.remarks}
    assert rests == (ENDLESS not in {violation.property for violation in world.violations})


@pytest.mark.parametrize("release", ["2.3.1", "3.9.2"])
def test_static_members_that_come_back_in_time_cause_no_rebalance(release):
    line = f"A@{release} B@{release} C@{release} | with static | bounce fast B>{release} A>{release} C>{release}"
    world = run(line)

    assert (1, []) == (world.coordinator.generation, world.violations)
    assert 1 < run(line.replace(" | with static", "")).coordinator.generation


def test_static_members_are_forgotten_when_their_session_times_out():
    world = run("A@3.9.2 B@3.9.2 | with static | bounce B>3.9.2")

    assert 1 < world.coordinator.generation
    assert [] == world.violations


def test_warm_ups_can_be_watched():
    """KIP-441: B gets copies first, and its tasks only when these are complete."""
    world = run("A@3.9.2 B@3.9.2 | with lag | stop B | bounce A>3.9.2 | start B")

    assert [] == world.violations
    assert {"looks"} <= {event.kind for event in world.events}
    assert {3} == {len(thread.owned) for thread in world.living}


@pytest.mark.parametrize("topology", ["counts", "join", "stateless", "two", "chained"])
@pytest.mark.parametrize("more", ["threads=3", "standbys=1", "partitions=1", "static threads=2", "lag standbys=1"])
def test_groups_of_every_shape_can_be_upgraded(topology, more):
    world = run(f"A@3.4.0 B@3.4.0 | with topology={topology} {more} | bounce A>3.9.2 B>3.9.2 | bounce fast A>4.3.1")

    assert [] == world.violations


@pytest.mark.parametrize("release", ["2.0.1", "2.3.1", "2.5.1", "2.6.3", "3.9.2"])
def test_threads_of_a_process_share_its_disk(release):
    """Up to 2.5 every thread names all that is on it, since 2.6 nobody names what another one has open."""
    world = run(f"A@{release} B@{release} | with threads=2 | bounce A>{release} B>{release}")

    assert [] == world.violations
    assert world.shape.tasks.keys() == set().union(*(thread.owned for thread in world.living))
