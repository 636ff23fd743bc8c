"""Forecasts of steps in streams groups, beside what a broker of 4.4.0 did with three real members."""

from uuid import UUID

import pytest
from attrs import evolve

from streams_assignor.cli.group.what_if import forecast_lines, order_lines
from streams_assignor.cli.roll._forecast import expectation_of
from streams_assignor.cli.roll.instances import seen_instances
from streams_assignor.groups import DescribedSubtopology, InternalTopic, inspect_group
from streams_assignor.spark_sim.forecast import (
    Cost,
    ForecastError,
    forecast_streams_group,
    parse_operation,
    streams_restart_order,
)
from streams_assignor.upgrade.roll.engine import BeginStep
from streams_assignor.upgrade.streams_config import StreamsConfig
from tests.assignor.groups.described_groups import assigned, broker_assigned, streams_group
from tests.each import for_each
from tests.upgrade.roll.fake_group import plan

PROCESSES = {
    "inst-1": "78ae8cbc-1b85-43f7-a864-c626e8d88acc",
    "inst-2": "c9a57558-d758-4edd-9556-e2c288c340a5",
    "inst-3": "cbc5c28c-1419-41ac-8405-eb9d7bc2cc08",
}
COUNTED = (DescribedSubtopology(name="0", source_topics=("data",), changelogs=(InternalTopic(name="changelog"),)),)
FIRST = {"inst-1": ("sIQUNqtpRniTI55OI2pIzg", "0_3"), "inst-2": ("eCxhgcUyRCabHxQMFWQpIA", "0_0 0_2")}
FIRST |= {"inst-3": ("TZfap9GDSx6047rMAsHn1w", "0_1")}
SECOND = {"inst-1": ("sIQUNqtpRniTI55OI2pIzg", "0_0"), "inst-2": ("rR8_dgCvST63G3s1K83grQ", "0_3")}
SECOND |= {"inst-3": ("TZfap9GDSx6047rMAsHn1w", "0_1 0_2")}
THIRD = {"inst-1": ("sIQUNqtpRniTI55OI2pIzg", "0_0 0_1"), "inst-2": ("rR8_dgCvST63G3s1K83grQ", "0_2")}
THIRD |= {"inst-3": ("uE8zTX59QjaIgBixECi7MQ", "0_3")}

THREADS = {"a1": ("5Fnu3rdhTR60d24Emn0nQQ", "0_2"), "a2": ("WwcAbttESECd3XpnYyRRZw", "0_0")}
THREADS |= {"b1": ("CpwCI50OTVmpeS22qouQXg", ""), "b2": ("rFYnB1s_S5yQIbZP2YqJgQ", "0_1")}
THREADS |= {"c1": ("gIr3p5RsSxm1Hdq3ieDRZg", ""), "c2": ("8JZWFE4jRoqMA5izaAILOQ", "0_3")}
PROCESSES |= dict.fromkeys(("a1", "a2"), "6ea1e31a-5bce-4c60-b905-f12f3e5f81b9")
PROCESSES |= dict.fromkeys(("b1", "b2"), "580d3b34-67bf-4305-8f61-b9ec908d0024")
PROCESSES |= dict.fromkeys(("c1", "c2"), "6b3238bd-587d-4990-8abc-6bd0990944df")

PROCESSES |= {"x": str(UUID(int=0)), "y": str(UUID(int=2))}


def group(members=SECOND, **facts):
    described = [
        evolve(
            broker_assigned(name, assigned(*tasks.split("; ")), process_id=PROCESSES[name], **facts.pop(name, {})),
            member_id=member_id,
            client_id=f"{name}-StreamThread-1-consumer",
        )
        for name, (member_id, tasks) in members.items()
    ]
    usual = {"protocol": "sticky", "subtopologies": COUNTED, "partition_counts": {"data": 4, "changelog": 4}}
    return inspect_group(streams_group(*described, **{**usual, **facts}))


def moved(outcome):
    return {str(row.task): row.target and row.target.partition(" ")[0] for row in outcome.moved}


@pytest.mark.parametrize(
    ("members", "which", "real"),
    [
        (FIRST, "inst-2", {"0_0": "inst-1", "0_2": "inst-3", "0_3": "inst-2"}),
        (SECOND, "inst-3", {"0_1": "inst-1", "0_2": "inst-2", "0_3": "inst-3"}),
        (THIRD, "inst-1", {"0_0": "inst-2", "0_1": "inst-3", "0_3": "inst-1"}),
    ],
)
def test_a_restart_moves_what_it_moved_on_a_broker(members, which, real):
    found = forecast_streams_group(group(members), parse_operation(f"restart {which}"))

    assert [real] == [moved(outcome) for outcome in found.outcomes]
    assert [2] == [outcome.rebalances for outcome in found.outcomes]
    assert {*real} == {str(row.task) for outcome in found.outcomes for row in outcome.restored}


def test_members_in_one_bucket_of_the_hash_map_of_the_coordinator_come_in_either_order():
    """It decides if their processes are in one bucket, too; only the order of the description was played."""
    members = {"x": ("AaAa", "0_3"), "y": ("BBBB", "0_1"), "inst-2": FIRST["inst-2"]}  # x and y: the same hash code
    found = forecast_streams_group(group(members), parse_operation("restart inst-2"))

    owners = {(moved(outcome)["0_0"], moved(outcome)["0_2"]) for outcome in found.outcomes}
    assert {("x", "y"), ("y", "x")} == owners


def test_a_process_that_is_back_reports_its_stores_and_gets_the_standbys_that_it_got_on_a_broker():
    """Without the report it was to get a standby of 0_1, and to restore it."""
    members = {"inst-1": ("XLfXlBXDTOqsFAv0hUAnuw", "0_3; 0_0 0_1"), "inst-2": ("rR8_dgCvST63G3s1K83grQ", "0_0 0_2")}
    members["inst-3"] = ("uE8zTX59QjaIgBixECi7MQ", "0_1; 0_2 0_3")
    live = group(members, configs={"streams.num.standby.replicas": "1"})
    found = forecast_streams_group(live, parse_operation("restart inst-2"))

    assert [{"0_0": "inst-1", "0_2": "inst-3", "0_3": "inst-2"}] * 2 == [moved(outcome) for outcome in found.outcomes]
    restored = [{(row.process.partition(" ")[0], str(row.task)) for row in each.restored} for each in found.outcomes]
    assert {("inst-2", "0_3"), ("inst-3", "0_0")} in restored


def test_a_stopped_process_leaves_its_tasks_to_others_and_a_new_one_gets_some():
    (stopped,) = forecast_streams_group(group(), parse_operation("stop inst-2")).outcomes
    added = forecast_streams_group(group(), parse_operation("add"))

    assert (1, ["0_3"], 1) == (stopped.rebalances, [*moved(stopped)], stopped.moves)
    assert {1} == {outcome.rebalances for outcome in added.outcomes}
    assert {"(new)"} == {target for outcome in added.outcomes for target in moved(outcome).values()}
    lines = [*forecast_lines(added)]
    assert f"{len(added.outcomes)} outcomes are possible" in lines[0] or len(added.outcomes) == 1


def test_nobody_is_left_to_have_the_tasks_of_the_last_process():
    alone = {"inst-1": ("sIQUNqtpRniTI55OI2pIzg", "0_0 0_1 0_2 0_3")}
    (found,) = forecast_streams_group(group(alone), parse_operation("stop inst-1")).outcomes

    assert dict.fromkeys(["0_0", "0_1", "0_2", "0_3"]) == moved(found)


def test_a_task_that_returns_to_its_process_has_moved_twice():
    found = forecast_streams_group(group(), parse_operation("restart inst-2"))

    assert [({}, 2)] == [(moved(outcome), outcome.moves) for outcome in found.outcomes]


STATIC = {name: {"instance": f"{name}-1"} for name in SECOND}  # Kafka Streams adds the number of the thread


@for_each([(False, False, 0, []), (False, True, 1, ["0_3"]), (True, False, 2, None), (True, True, 2, None)])
def test_a_static_member_that_is_back_has_its_tasks_without_an_epoch_unless_its_session_or_its_state_is_gone(case):
    is_late, ephemeral, epochs, restored = case
    step = evolve(parse_operation("restart inst-2"), after_session=is_late)
    found = forecast_streams_group(group(**STATIC), step, ephemeral=ephemeral)

    assert {epochs} == {outcome.rebalances for outcome in found.outcomes}
    if not is_late:
        assert [({}, restored)] == [
            (moved(outcome), [str(row.task) for row in outcome.restored]) for outcome in found.outcomes
        ]


def test_a_static_member_that_is_back_after_its_session_gets_what_it_got_on_a_broker():
    """Epochs 5 to 7 of 4.4.0: 0_3 was with a1 until b1 was back."""
    members = {"a1": ("drvN78dlSCm78z92_9FqQA", "0_2"), "b1": ("fUIPtIkyTuyNRiYZBhA9RA", "0_3")}
    members["c1"] = ("py1vUmDgQGKvImoJGghmQQ", "0_0 0_1")
    live = group(members, **{name: {"instance": f"{name}-1"} for name in members})
    found = forecast_streams_group(live, evolve(parse_operation("restart b1"), after_session=True))

    assert [(2, 2, {})] == [(outcome.rebalances, outcome.moves, moved(outcome)) for outcome in found.outcomes]


def test_a_static_member_that_is_stopped_leaves_its_tasks_when_its_session_has_ended():
    static, dynamic = (forecast_streams_group(group(**facts), parse_operation("stop inst-2")) for facts in (STATIC, {}))

    assert static.outcomes == dynamic.outcomes
    assert any("static members when their session has ended" in each for each in static.assumptions)


def test_a_process_leaves_with_all_its_threads_and_they_join_as_on_a_broker():
    """Epochs 7 to 11 of 4.4.0: two threads leave, two join, and the idle process has their task."""
    found = forecast_streams_group(group(THREADS), parse_operation("restart b1"))

    assert [(4, {"0_1": "c1"})] == [(outcome.rebalances, moved(outcome)) for outcome in found.outcomes]


def costs(found):
    return [(cost.least.rebalances, cost.least.moves) for cost in (*(each for _, each in found.restarts), found.cost)]


def test_the_cheapest_order_begins_with_an_instance_that_has_one_task():
    """One task goes away and one comes back (2 moves); who has two tasks last loses both and gets one (3)."""
    found = streams_restart_order(group(), parse_operation("restart all"))

    assert [(2, 2), (2, 2), (2, 3), (6, 7)] == costs(found)
    assert (True, 6, 7) == (found.is_exact, found.at_least.rebalances, found.cost.most.moves)
    assert found.restarts[0][0].startswith(("inst-1 ", "inst-2 "))
    lines = [*order_lines(found)]
    assert "app: restart all (3 instances, 4 tasks): the cheapest order" == lines[0]
    assert f"found with {found.plays} restarts played" in lines
    assert (None, []) == (found.as_json()["leader"], found.as_json()["leaders"])


def test_an_order_of_static_members_costs_nothing_unless_each_is_back_after_its_session():
    found = streams_restart_order(group(**STATIC), parse_operation("restart all"))

    assert (Cost(), Cost(), Cost()) == (found.cost.least, found.cost.most, found.at_least)
    assert (6, 7) == (found.after_session.least.rebalances, found.after_session.least.moves)


@pytest.mark.slow
def test_an_order_counts_each_thread():
    """Two threads of each leave and join: 4 epochs; the idle ones of b and c cost nothing more."""
    found = streams_restart_order(group(THREADS), parse_operation("restart all"))

    assert 12 == found.cost.least.rebalances == found.cost.most.rebalances == found.at_least.rebalances


@pytest.mark.parametrize(
    ("facts", "step", "why"),
    [
        ({"state": "Reconciling"}, "stop inst-1", "expected a stable group, got Reconciling: look again later"),
        ({"epoch": 2, "assignment_epoch": 2}, "stop inst-1", "expected a stable group, got Stable: look again later"),
        ({"protocol": "custom"}, "stop inst-1", "expected the assignor sticky, got custom"),
        ({}, "stop inst-9", "no process is 'inst-9'"),
    ],
)
def test_what_the_model_does_not_have_is_named(facts, step, why):
    with pytest.raises(ForecastError) as raised:
        forecast_streams_group(group(**facts), parse_operation(step))

    assert why in str(raised.value)


def test_both_assignors_of_brokers_that_do_not_name_theirs_are_played():
    """4.2.2 has the fix of KAFKA-20899, and 4.3.1 has not: with one standby both do the same."""
    found = forecast_streams_group(
        group(protocol="", configs={"streams.num.standby.replicas": "1"}), parse_operation("restart inst-3")
    )

    assert found.is_safe
    assert 1 <= len(found.outcomes)


def test_a_roll_expects_what_is_forecast():
    live = group()
    step = BeginStep(1, plan(origin="4.2.2", target="4.4.0").rounds[0], ("inst-3",))
    found = expectation_of(step, live, seen_instances(live), {}, StreamsConfig())

    assert "" == found.why_none
    assert [{"0_1": "inst-1", "0_2": "inst-2", "0_3": "inst-3"}] == [{**each.moved} for each in found.outcomes]
