"""Memoized assignors: only the run time shows that they are memoized."""

from functools import partial

import pytest

from streams_assignor import StreamsAssignor
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.protocol import leader
from streams_assignor.spark_sim.model import member as memo
from streams_assignor.spark_sim.model.member import MemoizedAssignor
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.workload import DEFAULT_WORKLOAD
from streams_assignor.spark_sim.sweep import worker
from streams_assignor.spark_sim.sweep.work_units import ExhaustiveUnit
from streams_assignor.upgrade import release_named
from tests.spark_sim.packed.cells import cell

LINES = (
    "A@2.0.1 B@2.0.1 C@2.0.1 | bounce A>2.3.1 | bounce fast B>2.3.1 | bounce C>2.3.1",
    "A@2.3.1 B@2.3.1 | bounce A>2.4.1,upgrade.from=2.3 B>2.4.1,upgrade.from=2.3 | bounce A>2.4.1 B>2.4.1",
    "A@2.8.2 B@2.8.2 | with threads=2 topology=two lag standbys=1 | bounce A>3.9.2 B>3.9.2",
    "A@2.0.1 B@2.0.1 C@2.0.1 | hold | stop A | start A>2.1.1 | join A | join B | join C | elect A | expire A | lead A "
    "| take B | elect C | take A | join B",
)


@pytest.fixture(autouse=True)
def nothing_is_known():
    memo.clear_memo()


@pytest.fixture
def led(monkeypatch):
    """The calls of ``perform_assignment`` that were really made."""
    asked, assign = [], leader.perform_assignment
    monkeypatch.setattr(leader, "perform_assignment", lambda *reported: asked.append(reported) or assign(*reported))
    return asked


def played(line):
    simulation = Simulation(Scenario.parse(line)).run()
    return simulation.events, simulation.violations, simulation.remarks


def a_member(**config):
    return MemoizedAssignor(DEFAULT_WORKLOAD.stream_topology, release=release_named("2.8.2"), **config)


@pytest.mark.parametrize("line", LINES)
def test_a_run_is_the_same_with_and_without_memo(line, monkeypatch):
    recalled = [played(line) for _ in range(2)]
    for name in ("subscription", "assign", "on_assignment"):
        monkeypatch.setattr(MemoizedAssignor, name, getattr(StreamsAssignor, name))
    asked = played(line)

    assert [asked, asked] == recalled


def test_simulations_share_results(led):
    played(LINES[0])
    once = len(led)
    played(LINES[0])

    assert once == len(led) > 5


def test_a_failure_is_repeated():
    """Errors are not kept, and leave the member's state unchanged."""
    first, again = played(LINES[3]), played(LINES[3])

    assert first == again
    assert "failed" in {event.kind for event in again[0]}


def test_the_memo_is_bounded(monkeypatch):
    monkeypatch.setattr(memo, "MAX_ENTRIES", 3)
    first = played(LINES[0])

    assert played(LINES[0]) == first
    assert len(memo._memo) <= 3


def test_results_of_large_groups_are_not_kept(led):
    group = {f"{number:03}": a_member().subscription() for number in range(100)}
    member = a_member()
    answers = [member.assign(ClusterSnapshot(partitions={"data": 300}), group) for _ in range(2)]

    assert answers[0] == answers[1]
    assert 2 == len(led)


@pytest.mark.parametrize(
    "ask",
    [
        lambda member: member.subscription(["data"], offset_sums={}),
        lambda member: member.subscription(owned_partitions=[], offset_sums={}),
        lambda member: member.subscription(),
        lambda member: member.assign({"data": 6}, {"A": a_member().subscription()}),
    ],
    ids=["topics", "owned", "no sums", "no cluster"],
)
def test_calls_that_the_simulation_never_makes_are_not_kept(ask):
    ask(a_member())

    assert not memo._memo


def test_a_repeated_run_does_not_use_the_memo(led):
    """Otherwise two runs would agree although the second computed nothing."""
    job = ExhaustiveUnit(cell("2.0.1", "2.3.1", faults=(0, 0), wait_for_quiescence=True), runs=1)
    list(worker.unit_rows(worker.UnitTask("sweep", "{}", (("0", job),))))
    at_once = len(led)
    memo.clear_memo()
    led.clear()
    list(map(partial(worker._run_alone, job, "0"), map(str, job.scenarios())))

    assert at_once == 2 * len(led)
