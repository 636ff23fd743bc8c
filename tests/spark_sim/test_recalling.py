"""Members who recall what was said: nobody can tell, except by the time it takes."""

from functools import partial

import pytest

from assignor import StreamsPartitionAssignor, leader
from assignor.cluster import Cluster
from spark_sim import computing, recalling
from spark_sim.jobs import Explore, Slice
from spark_sim.recalling import RecallingAssignor
from spark_sim.scenario import Scenario
from spark_sim.shape import NORMAL
from spark_sim.world import World
from tests.spark_sim.explore.cells import cell
from upgrade import release_named

LINES = (
    "A@2.0.1 B@2.0.1 C@2.0.1 | bounce A>2.3.1 | bounce fast B>2.3.1 | bounce C>2.3.1",
    "A@2.3.1 B@2.3.1 | bounce A>2.4.1,upgrade.from=2.3 B>2.4.1,upgrade.from=2.3 | bounce A>2.4.1 B>2.4.1",
    "A@2.8.2 B@2.8.2 | with threads=2 topology=two lag standbys=1 | bounce A>3.9.2 B>3.9.2",
    "A@2.0.1 B@2.0.1 C@2.0.1 | hold | stop A | start A>2.1.1 | join A | join B | join C | elect A | expire A | lead A "
    "| take B | elect C | take A | join B",
)


@pytest.fixture(autouse=True)
def nothing_is_known():
    recalling.forget()


@pytest.fixture
def led(monkeypatch):
    """Who has really been asked to lead a group, with what."""
    asked, assign = [], leader.assign
    monkeypatch.setattr(leader, "assign", lambda *told: asked.append(told) or assign(*told))
    return asked


def played(line):
    world = World(Scenario.parse(line)).run()
    return world.events, world.violations, world.remarks


def a_member(**config):
    return RecallingAssignor(NORMAL.layout, release=release_named("2.8.2"), **config)


@pytest.mark.parametrize("line", LINES)
def test_a_run_is_the_same_whether_its_members_recall_or_are_asked(line, monkeypatch):
    recalled = [played(line) for _ in range(2)]
    for name in ("subscription", "assign", "on_assignment"):
        monkeypatch.setattr(RecallingAssignor, name, getattr(StreamsPartitionAssignor, name))
    asked = played(line)

    assert [asked, asked] == recalled


def test_members_of_another_world_are_not_asked_again(led):
    played(LINES[0])
    once = len(led)
    played(LINES[0])

    assert once == len(led) > 5


def test_who_dies_dies_again():
    """Errors are not kept, and a member that has died of one is as it was before."""
    first, again = played(LINES[3]), played(LINES[3])

    assert first == again
    assert "died" in {event.kind for event in again[0]}


def test_it_recalls_no_more_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(recalling, "MOST_KNOWN", 3)
    first = played(LINES[0])

    assert played(LINES[0]) == first
    assert len(recalling._known) <= 3


def test_nothing_is_kept_of_large_groups(led):
    group = {f"{number:03}": a_member().subscription() for number in range(100)}
    member = a_member()
    answers = [member.assign(Cluster(partitions={"data": 300}), group) for _ in range(2)]

    assert answers[0] == answers[1]
    assert 2 == len(led)


@pytest.mark.parametrize(
    "ask",
    [
        lambda member: member.subscription(["data"], sums={}),
        lambda member: member.subscription(owned=[], sums={}),
        lambda member: member.subscription(),
        lambda member: member.assign({"data": 6}, {"A": a_member().subscription()}),
    ],
    ids=["topics", "owned", "no sums", "no cluster"],
)
def test_what_the_simulation_never_says_is_not_kept(ask):
    ask(a_member())

    assert not recalling._known


def test_a_run_that_is_done_again_is_asked_again(led):
    """Otherwise two runs would agree of which the second has asked nobody."""
    job = Explore(cell("2.0.1", "2.3.1", faults=(0, 0), patient=True), runs=1)
    computing.compute(Slice("0", (job,)))
    at_once = len(led)
    recalling.forget()
    led.clear()
    list(map(partial(computing._alone, job, "0"), map(str, job.scenarios())))

    assert at_once == 2 * len(led)
