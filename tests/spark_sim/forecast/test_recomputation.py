"""Decisions that are computed again from the subscriptions that members have sent."""

import pytest
from attrs import evolve

from streams_assignor.codec import decode_assignment, encode_assignment
from streams_assignor.codec.consumer_protocol import decode_consumer_assignment, encode_consumer_assignment
from streams_assignor.groups import inspect_group
from streams_assignor.spark_sim.forecast import ForecastError, observe
from streams_assignor.spark_sim.forecast.possibilities import possible_groups, with_standbys
from streams_assignor.spark_sim.forecast.recomputation import offset_drift, recompute
from streams_assignor.spark_sim.model.scenario import Instance, Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.workload import LONG_CHANGELOG_END
from streams_assignor.upgrade.releases import release_named
from streams_assignor.upgrade.streams_config import StreamsConfig
from tests.spark_sim.forecast.live import seen


def group_after(line):
    return seen(Simulation(Scenario.parse(line)).run())


def recomputed(group, **releases):
    observed = observe(group, StreamsConfig())
    known = {name: Instance(release_named(release)) for name, release in releases.items()}
    return recompute(observed, {process.name: known[process.name[0]] for process in observed.processes})


def test_a_decision_is_that_of_the_members_that_may_lead():
    found = recomputed(group_after("A@3.9.2 B@3.9.2 C@3.9.2 | bounce A>4.3.1"), A="4.3.1", B="3.9.2", C="3.9.2")

    assert (3, "", "") == (len(found.leaders), found.difference, found.unknown)


def test_other_tasks_than_any_leader_gives_are_a_difference():
    group = group_after("A@3.9.2 B@3.9.2 C@3.9.2")
    first, second, third = group.described.members
    swapped = (evolve(first, assignment=second.assignment), evolve(second, assignment=first.assignment), third)
    found = recomputed(inspect_group(evolve(group.described, members=swapped)), A="3.9.2", B="3.9.2", C="3.9.2")

    assert ((), "3.9.2 gives 2 of 3 members other tasks") == (found.leaders, found.difference)


THREADS = "A@{0} B@{0} C@{0} | with threads=2 standbys=1 partitions=12 lag | bounce fast A>{0}"


def with_standbys_swapped(group, one, other):
    """The group, as if the standbys of two members were dealt the other way round."""
    members = {member.described.client_id: member.described for member in group.members}
    decoded = {name: decode_consumer_assignment(members[name].assignment) for name in (one, other)}
    standbys = {name: decode_assignment(each.user_data).standby_tasks for name, each in decoded.items()}
    for name, given in ((one, standbys[other]), (other, standbys[one])):
        userdata = decode_assignment(decoded[name].user_data)._replace(standby_tasks=given)
        changed = decoded[name]._replace(user_data=encode_assignment(userdata))
        members[name] = evolve(members[name], assignment=encode_consumer_assignment(changed))
    return inspect_group(evolve(group.described, members=tuple(members.values())))


@pytest.mark.parametrize(
    ("release", "swapped", "by_process", "difference"),
    [
        # One thread of the restarted process has reported all its stores. Leaders deal by that, and by ends not shown.
        ("3.9.2", "A1 A2", True, ""),
        ("2.8.2", "A1 A2", True, ""),
        ("3.9.2", "B1 B2", True, ""),  # its threads have reported how far their standbys are
        ("3.9.2", "A1 B1", False, "3.9.2 gives 2 of 6 members other tasks"),
        ("2.5.1", "A1 A2", False, "2.5.1 gives 2 of 6 members other tasks"),
    ],
)
def test_threads_are_compared_where_it_is_shown_how_they_get_tasks(release, swapped, by_process, difference):
    """TASKS DIFFER was said of the first ordinary roll with two threads and a standby."""
    group = group_after(THREADS.format(release))
    names = [f"{name[0]}-StreamThread-{name[1]}-consumer" for name in swapped.split()]
    found = with_standbys_swapped(group, *names)
    again = recomputed(found, **dict.fromkeys("ABC", release))

    assert not recomputed(group, **dict.fromkeys("ABC", release)).by_process
    assert (by_process, difference) == (again.by_process, again.difference)
    if by_process:
        observed, known = with_standbys(observe(found, StreamsConfig())), Instance(release_named(release))
        assert [*possible_groups(observed, [], 0, {process.name: known for process in observed.processes})]


def test_a_leader_that_cannot_read_a_member_draws_its_process_id():
    group = group_after("A@2.8.2 B@2.8.2 C@2.8.2")
    first, second, third = group.described.members
    swapped = (evolve(first, assignment=second.assignment), evolve(second, assignment=first.assignment), third)
    found = recomputed(inspect_group(evolve(group.described, members=swapped)), A="2.5.1", B="2.5.1", C="2.5.1")

    assert "which may lead, cannot read version 9 and draws a process id for it" in found.unknown
    assert ((), "") == (found.leaders, found.difference)


@pytest.mark.parametrize(("names", "leaders"), [("ABCDEFGH", 8), ("ABCDEFGHI", 1)])
def test_of_many_instances_one_of_each_configuration_is_tried(names, leaders):
    found = recomputed(group_after(" ".join(f"{name}@3.9.2" for name in names)), **dict.fromkeys(names, "3.9.2"))

    assert leaders == len(found.leaders)


def test_a_generation_that_was_superseded_has_the_topics_of_the_last_one():
    last = group_after("A@3.9.2 B@3.9.2 C@3.9.2")
    before = group_after("A@3.9.2 B@3.9.2")
    observed = observe(last, StreamsConfig()).in_generation(before)

    found = recompute(
        observed, dict.fromkeys((each.name for each in observed.processes), Instance(release_named("3.9.2")))
    )

    assert 2 == len(found.leaders)
    with pytest.raises(ForecastError, match="expected a stable group"):
        observed.in_generation(inspect_group(evolve(before.described, state="PreparingRebalance")))


def test_drift_is_the_most_by_which_an_offset_sum_has_changed(monkeypatch):
    line = "A@3.9.2 B@3.9.2 | with standbys=1 lag | bounce A>3.9.2 | bounce B>3.9.2"
    group = group_after(line)
    monkeypatch.setattr(Simulation, "end_offset_sum", lambda _simulation, _task: LONG_CHANGELOG_END + 7)

    assert 7 == offset_drift(group, group_after(line))
    assert offset_drift(group, evolve(group, members=())) is None
