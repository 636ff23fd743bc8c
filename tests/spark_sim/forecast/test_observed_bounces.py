"""Forecasts of real bounces of real members: what came of each step is among the outcomes."""

import json
from collections import Counter
from pathlib import Path

import pytest
from attrs import evolve

from streams_assignor.groups import DescribedGroupMember, inspect_group
from streams_assignor.groups.capture import Capture
from streams_assignor.spark_sim.forecast import ForecastError, forecast, observe, parse_operation
from streams_assignor.spark_sim.forecast.possibilities import difference, possible_protocols, with_standbys
from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.upgrade.releases import release_named
from streams_assignor.upgrade.streams_config import StreamsConfig
from tests.spark_sim.forecast.live import described, recorded, stored

CAPTURES = {path.stem: path for path in sorted(Path("tests/captures").glob("*.json"))}
NO_FORECAST = {
    # The assignor of 0.10.0 iterates over hash sets, so equal subscriptions have had different assignments.
    "0.10.0.1-to-1.1.1-two-bounces": 3
}
DIFFERENT = {
    # The leader fails, and the next one: who leads after the first failure is not played. Its forecast is unsafe.
    "1.1.1-to-2.0.1-without-upgrade-from-leader-last": 1,
    # Two instances end, as their store files cannot be read: nothing of the group shows that they will.
    "2.3.1-to-3.9.2-two-bounces-corrupt-stores": 2,
}
IN_THE_GATE = {"2.0.1-to-2.3.1"}


def peer(member_id_or_client):
    return "-".join(member_id_or_client.split("-")[:2])


def steps_of(capture):
    """Yield each bounce: the group before and after it, and what was started."""
    by_members = {
        frozenset(member.member_id for member in generation.members): generation
        for generation in capture.generations
        if generation.has_assignments
    }
    for before, after in zip(capture.snapshots, capture.snapshots[1:], strict=False):
        groups = [by_members.get(snapshot.member_ids) for snapshot in (before, after)]
        if before.quiescent and after.quiescent and all(groups):
            old, new = map(recorded, groups)
            if f"peer-{after.instance}" in {peer(member.described.client_id) for member in old.members}:
                release, *settings = after.step.split(",")
                value = [setting for setting in settings if setting.startswith("upgrade.from=")]
                yield old, new, " ".join([f"upgrade peer-{after.instance} {release}", *value])


def tasks(group):
    return {task: peer(member.described.client_id) for member in group.members for task in member.assignment.active}


def count_forecasts(capture):
    counts = Counter()
    for old, new, step in steps_of(capture):
        counts["steps"] += 1
        before, after = tasks(old), tasks(new)
        moved = {task: after[task] for task in before if after.get(task) != before[task]}
        try:
            found = [
                forecast(observe(old, StreamsConfig()), parse_operation(step), now_ms=0, ephemeral=ephemeral)
                for ephemeral in (False, True)
            ]
        except ForecastError:
            counts["no forecast"] += 1
            continue
        outcomes = [
            {row.task: peer(row.target) for row in outcome.moved} for each in found for outcome in each.outcomes
        ]
        counts["different"] += moved not in outcomes
    return counts


@pytest.mark.parametrize(
    "name",
    [name if name in IN_THE_GATE else pytest.param(name, marks=pytest.mark.slow) for name in CAPTURES],
)
def test_what_came_of_a_real_bounce_is_among_the_outcomes(name):
    counts = count_forecasts(Capture.parse(CAPTURES[name].read_text()))

    assert counts["steps"]
    assert (NO_FORECAST.get(name, 0), DIFFERENT.get(name, 0)) == (counts["no forecast"], counts["different"])


@pytest.mark.parametrize(
    ("before", "step", "after_session", "came"),
    [
        # Away when its session ended, and back: generations 6 to 9. It was said to have moved nothing.
        (5, "upgrade c 4.3.1", True, (4, 8, {})),
        (9, "upgrade a 4.3.1", False, (1, 0, {})),
    ],
)
def test_how_often_real_members_rebalanced_and_tasks_moved_is_among_the_outcomes(before, step, after_session, came):
    observed = observe(stored("late-restart-4.3.1")[before], StreamsConfig())
    operation = evolve(parse_operation(step), after_session=after_session)
    found = forecast(observed, operation, now_ms=0, session_timeout_s=6)

    assert came in [
        (outcome.rebalances, outcome.moves, {row.task: row.target for row in outcome.moved})
        for outcome in found.outcomes
    ]


@pytest.mark.parametrize("number", [2, 4, 5, 7])
def test_what_a_real_leader_of_2_3_has_decided_is_repeated(number):
    """With two threads and a standby: the order of Kafka's hash maps, and standbys that nothing balances."""
    observed = with_standbys(observe(stored("two-threads-2.3.1")[number], StreamsConfig()))
    leader = next(process.threads[0] for process in observed.processes if process.name.startswith("c "))

    assert difference(observed, leader, Instance(release_named("2.3.1")), None, 0) is None


def test_a_real_member_has_joined_twice_when_it_has_just_started():
    """KIP-394: it was taken for one that has given up its partitions, and so its group for an eager one."""
    group = stored("late-restart-4.3.1")[1]
    (sent,) = (member.subscription for member in group.members)

    assert (2, -1) == (sent.userdata.unique_field, sent.generation)
    assert ("cooperative", "eager") == possible_protocols(observe(group, StreamsConfig()))


def test_a_python_member_that_would_have_scheduled_a_rebalance_is_no_possible_leader():
    """With the fallback-prior assignor it schedules one after another, and roll would ask before this step."""
    plain = json.loads(Path("tests/spark_sim/forecast/groups/java-and-python-4.3.1.json").read_text())
    of_bytes = ("subscription", "assignment")
    members = [
        DescribedGroupMember(**{**member, **{name: bytes.fromhex(member[name]) for name in of_bytes}})
        for member in plain["members"]
    ]
    observed = observe(inspect_group(described("app", members)), StreamsConfig())

    found = forecast(observed, parse_operation(plain["step"]), now_ms=0, session_timeout_s=6)

    assert found.is_safe, [outcome.violations for outcome in found.outcomes]
    assert {None, "sticky", "high-availability"} == {
        possibility.task_assignor for outcome in found.outcomes for possibility in outcome.when
    }
