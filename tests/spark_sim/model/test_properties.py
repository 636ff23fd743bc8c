"""Bugs that Kafka shipped, each by a line that shows it in an affected release and by the same line in a fixed one."""

import pytest

from streams_assignor.spark_sim.model import properties
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import (
    CAUGHT_UP_OWNER,
    EVERY_MEMBER_ASSIGNED,
    NO_MEMBER_FAILS,
    NO_UNREQUESTED_STANDBY,
    READABLE_VERSION,
    REBALANCE_REQUEST_HONORED,
    REBALANCING_TERMINATES,
    SHUTDOWN_COMPLETES,
    SINGLE_OWNER,
    TASK_PARTITIONS_MATCH,
)


def run(line):
    return Simulation(Scenario.parse(line)).run()


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
        (B5.format("2.0.1", "2.0.1"), SINGLE_OWNER),
        (B5.format("2.2.1", "2.2.1"), SINGLE_OWNER),
        (B5.format("2.3.0", "2.3.0"), SINGLE_OWNER),
        (B5.format("2.2.2", "2.2.2"), None),
        (B5.format("2.3.1", "2.3.1"), None),
        (B6.format("2.0.1", "2.0.1", "join"), NO_MEMBER_FAILS),
        (B6.format("2.3.0", "2.3.0", "two"), TASK_PARTITIONS_MATCH),
        (B6.format("2.3.0", "2.3.0", "counts"), None),
        (B6.format("2.2.2", "2.2.2", "join"), None),
        (B6.format("2.3.1", "2.3.1", "two"), None),
        (B11.format("2.6.0"), REBALANCE_REQUEST_HONORED),
        (B11.format("2.6.1"), None),
        (B11.format("2.7.0"), None),
        (B12.format("2.4.1"), SINGLE_OWNER),
        (B12.format("3.9.2"), SINGLE_OWNER),
        (B12.format("2.4.1,upgrade.from=2.3"), None),
        (B12.format("3.9.2,upgrade.from=2.3"), None),
        (L3.format("2.1.1"), EVERY_MEMBER_ASSIGNED),
        (L3.format("2.3.1"), EVERY_MEMBER_ASSIGNED),
    ],
)
def test_a_bug_shows_in_the_affected_release_and_not_in_the_fixed_one(line, shown):
    assert shown == broken(line)


def test_b12_is_two_owners_until_every_member_has_its_assignment():
    """The violation is over once the cooperative member has its assignment, so a quiescent group does not show it."""
    simulation = run(B12.format("2.4.1"))

    assert {SINGLE_OWNER} == {violation.property for violation in simulation.violations}
    assert [] == properties.check_always(simulation)


def test_b17_a_leader_failed_up_to_2_6_and_sends_an_error_code_since_2_7():
    before, since = run(B17.format("2.6.3")), run(B17.format("2.7.2"))

    assert ("A", "IllegalStateException") == (before.violations[0].member, before.violations[0].text.split(":")[0])
    assert {"A", "C"} == {each.member for each in since.violations if "error code 3" in each.text}


@pytest.mark.parametrize(
    ("release", "fixed"), [("2.6.0", False), ("3.5.1", False), ("3.5.2", True), ("3.6.0", True), ("2.5.1", True)]
)
def test_b19_a_withheld_task_left_an_unrequested_standby(release, fixed):
    """KAFKA pull request 14149; a waste, so the run is safe all the same."""
    simulation = run(f"A@{release} B@{release} C@{release} | stop C | start C")

    assert [] == simulation.violations
    assert ([] if fixed else [NO_UNREQUESTED_STANDBY]) == sorted({remark.property for remark in simulation.remarks})


@pytest.mark.parametrize("release", ["2.1.1", "2.6.3", "2.7.2", "4.3.1"])
def test_l1_a_missing_topic_shuts_down_members_of_one_release(release):
    simulation = run(L1.format(release, release))

    assert [] == simulation.violations
    assert not any(simulation.running_members)


@pytest.mark.parametrize(("newer", "older"), [("2.6.3", "2.4.1"), ("4.3.1", "2.8.2")])
def test_l1_older_members_fail_on_an_error_code_that_they_cannot_read(newer, older):
    """It is written in the leader's latest version, whatever the group speaks: still so in 4.3.1."""
    simulation = run(f"{L1.format(newer, newer).partition(' | ')[0]} | bounce fast B>{older} | lose data")

    assert [(READABLE_VERSION, "B")] == [(violation.property, violation.member) for violation in simulation.violations]
    assert simulation.members["A"].shut_down


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("A@2.8.2 B@2.8.2 | shutdown B", None),
        ("A@2.8.2 B@4.3.1 | shutdown B", None),
        ("A@3.9.2 B@3.9.2 | with threads=2 | shutdown A", None),
        ("A@2.7.2 B@2.8.2 | shutdown B", SHUTDOWN_COMPLETES),
        ("A@2.8.2 B@2.5.1 | shutdown A", SHUTDOWN_COMPLETES),
    ],
)
def test_l2_a_shutdown_request_needs_version_9(line, shown):
    assert shown == broken(line)


def test_a_leader_of_2_0_leaves_the_tasks_of_a_missing_topic_out_until_it_is_back():
    gone = run("A@2.0.1 B@2.0.1 | lose data")
    back = run("A@2.0.1 B@2.0.1 | lose data | find data")

    assert [] == gone.violations + back.violations
    assert set() == set().union(*(thread.owned_tasks for thread in gone.running_members))
    assert back.workload.partitions_by_task.keys() == set().union(
        *(thread.owned_tasks for thread in back.running_members)
    )


@pytest.mark.parametrize("release", ["2.6.3", "3.1.2", "3.9.2", "4.3.1"])
def test_l4_a_caught_up_store_is_found_where_members_report_offset_sums(release):
    simulation = run(L4.format(release, release, release))

    assert [] == simulation.violations + simulation.remarks


@pytest.mark.parametrize(("leader", "rests"), [("2.6.3", True), ("3.1.2", True), ("3.2.0", False), ("4.3.1", False)])
def test_l4_a_store_with_unknown_offsets_counts_as_caught_up(leader, rests):
    """Members of 2.5 report no offsets, and do not report the tasks that they run.

    Since 3.2 a store with unknown offsets even takes the task from its owner, again and again.
    """
    simulation = run(L4.format(leader, "2.5.1", "2.5.1"))

    assert CAUGHT_UP_OWNER in {remark.property for remark in simulation.remarks}
    assert rests == (REBALANCING_TERMINATES not in {violation.property for violation in simulation.violations})


@pytest.mark.parametrize("release", ["2.3.1", "3.9.2"])
def test_static_members_that_rejoin_in_time_cause_no_rebalance(release):
    line = f"A@{release} B@{release} C@{release} | with static | bounce fast B>{release} A>{release} C>{release}"
    simulation = run(line)

    assert (1, []) == (simulation.coordinator.generation, simulation.violations)
    assert 1 < run(line.replace(" | with static", "")).coordinator.generation


def test_static_members_are_removed_when_their_session_expires():
    simulation = run("A@3.9.2 B@3.9.2 | with static | bounce B>3.9.2")

    assert 1 < simulation.coordinator.generation
    assert [] == simulation.violations


def test_warm_ups_can_be_watched():
    """KIP-441: B gets copies first, and its tasks only when these are complete."""
    simulation = run("A@3.9.2 B@3.9.2 | with lag | stop B | bounce A>3.9.2 | start B")

    assert [] == simulation.violations
    assert {"probing_rebalance"} <= {event.kind for event in simulation.events}
    assert {3} == {len(thread.owned_tasks) for thread in simulation.running_members}


@pytest.mark.parametrize("topology", ["counts", "join", "stateless", "two", "chained"])
@pytest.mark.parametrize("more", ["threads=3", "standbys=1", "partitions=1", "static threads=2", "lag standbys=1"])
def test_groups_of_every_shape_can_be_upgraded(topology, more):
    simulation = run(
        f"A@3.4.0 B@3.4.0 | with topology={topology} {more} | bounce A>3.9.2 B>3.9.2 | bounce fast A>4.3.1"
    )

    assert [] == simulation.violations


@pytest.mark.parametrize("release", ["2.0.1", "2.3.1", "2.5.1", "2.6.3", "3.9.2"])
def test_threads_of_a_process_share_its_disk(release):
    """Up to 2.5 every thread reports the whole disk; since 2.6 no thread reports a store that another one has open."""
    simulation = run(f"A@{release} B@{release} | with threads=2 | bounce A>{release} B>{release}")

    assert [] == simulation.violations
    assert simulation.workload.partitions_by_task.keys() == set().union(
        *(thread.owned_tasks for thread in simulation.running_members)
    )
