"""Forecasts of steps in streams groups, beside what a broker of 4.4.0 did with three real members."""

import pytest
from attrs import evolve

from streams_assignor.cli.group.what_if import forecast_lines
from streams_assignor.cli.roll._forecast import expectation_of
from streams_assignor.cli.roll._instances import seen_instances
from streams_assignor.groups import DescribedSubtopology, InternalTopic, inspect_group
from streams_assignor.spark_sim.forecast import ForecastError, forecast_streams_group, parse_operation
from streams_assignor.upgrade.roll.engine import BeginStep
from streams_assignor.upgrade.streams_config import StreamsConfig
from tests.assignor.groups.described_groups import assigned, broker_assigned, streams_group
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


@pytest.mark.parametrize(
    ("facts", "step", "why"),
    [
        ({"state": "Reconciling"}, "stop inst-1", "expected a stable group, got Reconciling: look again later"),
        ({"epoch": 2, "assignment_epoch": 2}, "stop inst-1", "expected a stable group, got Stable: look again later"),
        ({}, "restart all", "orders of restarts are not played for streams groups: expected one instance"),
        ({"protocol": "custom"}, "stop inst-1", "expected the assignor sticky, got custom"),
        (
            {"inst-1": {"instance": "pod-1"}},
            "stop inst-2",
            "pod-1 (10.0.0.1) is static: forecasts of streams groups play none",
        ),
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
