"""Every schedule of small streams groups: what goes wrong by the rules of a release, and not by those without it.

No test names a schedule: the search finds it, and the scenario that it reports shows the violation again.
"""

import pytest

from streams_assignor.spark_sim.streams_groups._model import Budget, GroupCell, explore
from streams_assignor.spark_sim.streams_groups._properties import (
    EVERY_TASK_OWNED,
    NO_MEMBER_FAILS,
    NO_MEMBER_WAITS,
    PROPERTIES,
    REBALANCING_TERMINATES,
    SINGLE_COMMITTER,
    SINGLE_OWNER,
    STANDBY_STAYS,
    TARGET_COMPLETE,
)
from streams_assignor.spark_sim.streams_groups.events import trace_run
from streams_assignor.spark_sim.streams_groups.parser import parse_scenario
from streams_assignor.spark_sim.streams_groups.scenario import FAULTS
from tests.matrix import with_matrix

RELEASES = ["4.3.1", "4.4.0"]
TWO_RUN = "start A | settle | start B | settle"
WITHOUT_OWNERS = tuple(each for each in PROPERTIES if each not in {SINGLE_OWNER, SINGLE_COMMITTER})
"""For searches behind the finding about unreported tasks, which ends every schedule in which it occurs."""


def cell(line, *, kinds=FAULTS, settles=False, properties=PROPERTIES, **budget):
    return GroupCell(parse_scenario(line), Budget(**budget), kinds, settles, properties)


def violated(found):
    """The violated properties, each of which its example violates again."""
    assert found.complete
    for name, each in found.counterexamples.items():
        if name not in {REBALANCING_TERMINATES, STANDBY_STAYS}:
            again = trace_run(parse_scenario(f"{each.example} | settle"))
            assert name in {violation.property for violation in again.violations}
    return set(found.counterexamples)


# -- what holds ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        *(f"A@fixed B@fixed group fixed tasks=2{standbys}" for standbys in ("", " standbys=1")),
        "A@fixed B@fixed group 4.4.0 tasks=2 standbys=1",
    ],
)
def test_two_members_join_in_every_order(line):
    found = explore(cell(line, starts=2))

    assert set() == violated(found)
    assert found.states > 100
    assert found.schedules > 1_000


def test_members_of_one_process_share_its_tasks():
    found = explore(cell("A.1@fixed A.2@fixed group fixed tasks=2 standbys=1 | start A.1 | settle", starts=1))

    assert set() == violated(found)


def test_a_rolling_restart_loses_no_task():
    found = explore(cell(f"A@fixed B@fixed group fixed tasks=2 | {TWO_RUN}", restarts=1))

    assert set() == violated(found)
    assert found.states > 100


@pytest.mark.parametrize(
    "kinds", [("crash",), ("lose-request", "lose-response"), ("failover", "slow-response")], ids=str
)
def test_a_fault_while_a_member_joins_does_no_harm(kinds):
    found = explore(cell("A@fixed B@fixed group fixed tasks=2 | start A | settle", starts=1, faults=1, kinds=kinds))

    assert set() == violated(found)


# -- findings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coordinator", RELEASES)
@pytest.mark.parametrize(("client", "expected"), [("4.3.1", {SINGLE_OWNER}), ("fixed", set())])
def test_a_task_that_a_member_does_not_report_yet_has_two_owners(client, expected, coordinator):
    """Without any fault: a heartbeat between an assignment and its callback counts as the revocation of its tasks."""
    line = f"A@{client} B@{client} group {coordinator} tasks=2"
    found = explore(cell(line, starts=2))
    both_commit = explore(cell(line, starts=2, properties=(SINGLE_COMMITTER,)))

    assert expected == violated(found)
    assert ({SINGLE_COMMITTER} if expected else set()) == violated(both_commit)


@pytest.mark.parametrize(
    ("coordinator", "expected"), [*((release, {NO_MEMBER_WAITS}) for release in RELEASES), ("fixed", set())]
)
def test_a_lost_answer_leaves_a_member_without_its_tasks(coordinator, expected):
    """The coordinator accepts the repeated heartbeat, and has nothing new to assign; KIP-848 resends."""
    line = f"A@4.3.1 B@4.3.1 group {coordinator} tasks=2 | start A | settle"
    found = explore(cell(line, starts=1, faults=1, kinds=("lose-response",), properties=WITHOUT_OWNERS))

    assert expected == violated(found)


@pytest.mark.parametrize(("broker", "expected"), [("4.3.1", {STANDBY_STAYS}), ("4.2.2", set()), ("4.4.0", set())])
def test_kafka_20899_moves_standbys(broker, expected):
    members = " ".join(f"{name}@4.3.1" for name in "ABCD")
    found = explore(
        cell(f"{members} group {broker} tasks=1 standbys=2", starts=4, settles=True, properties=(STANDBY_STAYS,))
    )

    assert expected == violated(found)


@pytest.mark.parametrize(("client", "expected"), [("4.3.1", NO_MEMBER_FAILS), ("fixed", TARGET_COMPLETE)])
def test_a_task_assigned_twice_ends_a_client_that_does_not_check(client, expected):
    """The assignor is the mistaken one in both: only what it does to the members differs."""
    properties = (NO_MEMBER_FAILS,) if expected is NO_MEMBER_FAILS else (*WITHOUT_OWNERS,)
    found = explore(cell(f"A@{client} group mistaken tasks=1", starts=1, properties=properties))

    assert {expected} == violated(found)


@pytest.mark.parametrize("broker", with_matrix(["4.2.0", "4.2.2", *RELEASES], RELEASES, "an earlier release"))
def test_no_release_of_the_assignor_assigns_a_task_twice(broker):
    assert set() == violated(four_starts(broker))


def test_a_search_that_lets_the_protocol_settle_checks_every_state_on_the_way():
    found = four_starts("mistaken")

    assert {TARGET_COMPLETE} == violated(found)
    assert str(found.counterexamples[TARGET_COMPLETE].example).endswith("| start A.1 | heartbeat A.1")


def four_starts(broker):
    members = " ".join(f"{name}@4.3.1" for name in ("A.1", "A.2", "B", "C"))
    return explore(cell(f"{members} group {broker} tasks=2+1 standbys=1 stateless=1", starts=4, settles=True))


def test_a_topology_update_ends_the_members_that_have_it():
    found = explore(cell(f"A@fixed B@fixed group fixed tasks=2 | {TWO_RUN}", updates=1))

    assert {NO_MEMBER_FAILS} == violated(found)


@pytest.mark.parametrize(
    ("before", "expected"), [("", {NO_MEMBER_FAILS}), ("| retire | retire", set())], ids=["rolling", "offline"]
)
def test_a_group_migrates_offline_only(before, expected):
    line = f"A@fixed B@fixed group fixed tasks=2 classic=2 {before}"
    found = explore(
        cell(line, starts=2, retirements=0 if before else 2, properties=(NO_MEMBER_FAILS, EVERY_TASK_OWNED))
    )

    assert expected == violated(found)


@pytest.mark.parametrize("coordinator", ["4.3.1", "fixed"])
def test_a_late_heartbeat_takes_the_answer_of_the_next_one(coordinator):
    """The member does not wait for the answer that has its tasks, so resending to a full heartbeat is not enough."""
    line = f"A@fixed B@fixed group {coordinator} tasks=2 | start A | settle"
    found = explore(cell(line, starts=1, faults=1, kinds=("delay",), properties=WITHOUT_OWNERS))

    assert {NO_MEMBER_WAITS} == violated(found)


# -- minutes ---------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "delay"])
def test_every_fault_during_a_rolling_restart(fault):
    line = f"A@fixed B@fixed group fixed tasks=2 standbys=1 | {TWO_RUN}"
    found = explore(cell(line, restarts=1, faults=1, kinds=(fault,)))

    assert set() == violated(found)


@pytest.mark.exhaustive
def test_three_members_and_a_restart():
    line = f"A@fixed B@fixed C@fixed group fixed tasks=4 | {TWO_RUN} | start C | settle"
    found = explore(cell(line, restarts=1))

    assert set() == violated(found)
