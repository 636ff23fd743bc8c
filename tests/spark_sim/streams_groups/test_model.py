"""Every schedule of small streams groups: what goes wrong by the rules of a release, and not by those without it.

No test names a schedule: the search finds it, and the scenario that it reports shows the violation again.
"""

import pytest

from streams_assignor.spark_sim.streams_groups._model import Budget, GroupCell, explore
from streams_assignor.spark_sim.streams_groups.events import trace_run
from streams_assignor.spark_sim.streams_groups.parser import parse_scenario
from streams_assignor.spark_sim.streams_groups.properties import (
    NO_MEMBER_FAILS,
    PROPERTIES,
    REBALANCING_TERMINATES,
    SINGLE_COMMITTER,
    SINGLE_OWNER,
    STANDBY_STAYS,
    TARGET_COMPLETE,
)
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


# -- beside the findings, each of which `searches` looks for ----------------------------------------------------------


@pytest.mark.parametrize("release", RELEASES)
def test_both_owners_of_a_task_that_a_member_does_not_report_yet_can_commit(release):
    line = f"A@{release} B@{release} group {release} tasks=2"

    assert {SINGLE_COMMITTER} == violated(explore(cell(line, starts=2, properties=(SINGLE_COMMITTER,))))


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
