from itertools import permutations

import pytest

from streams_assignor.upgrade import UpgradeError, advise, release_named
from streams_assignor.upgrade.plans import documented_upgrade
from streams_assignor.upgrade.releases import NEWEST_OF_LINE
from streams_assignor.upgrade.roll.plan import (
    InstanceConfig,
    RollInstance,
    RoundAction,
    back_rounds,
    check_plan,
    group_rounds,
    is_leader_last,
)
from streams_assignor.upgrade.verdict.conditions import TopologyFacts, TopologyFeature
from tests.upgrade.roll.fake_group import plan


def configs(roll_plan, config):
    return dict.fromkeys(roll_plan.names, config)


def test_a_plan_through_a_bridge_release_is_rounds():
    rounds = plan(target="4.3.1").rounds

    assert ["3.9.2 with upgrade.from=2.3", "3.9.2", "4.3.1"] == [str(each.config) for each in rounds]
    assert ["2.3.1", "3.9.2 with upgrade.from=2.3", "3.9.2"] == [str(each.before) for each in rounds]
    assert ["2.3.1", "2.3.1", "3.9.2"] == [each.hop_origin for each in rounds]
    assert all(each.text and each.back for each in rounds)


def test_an_offline_plan_stops_and_starts_all_at_once():
    stop, start = plan(offline=True).rounds

    assert (RoundAction.STOP, RoundAction.START) == (stop.action, start.action)
    assert ("2.3.1", "3.9.2") == (str(stop.config), str(start.config))
    assert (True, True) == (stop.at_once, start.at_once)


@pytest.mark.parametrize(
    ("origin", "target", "expected"),
    [
        ("2.0.1", "2.1.1", True),
        ("2.3.1", "2.8.2", True),
        ("2.3.1", "3.1.2", True),
        ("2.3.1", "3.2.3", False),
        ("2.8.2", "2.3.1", False),
        ("2.8.2", "3.9.2", False),
    ],
)
def test_a_leader_that_old_members_must_not_meet_is_the_last_one(origin, target, expected):
    assert expected == is_leader_last(documented_upgrade(release_named(origin), release_named(target)))


def test_the_canary_is_the_first_of_the_order():
    assert ("b", "a", "c") == plan(canary="b").names


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"instances": ()}, "expected instances, got none"),
        ({"instances": (RollInstance("a"), RollInstance("a"))}, "got a several times"),
        ({"canary": "x"}, "expected one of a, b, c as the canary, got 'x'"),
        ({"offline": True}, "expected a stop and a start command"),
        ({"leader": "x"}, "expected one of a, b, c as the leader, got 'x'"),
        ({"target": "2.8.2", "leader": "a", "canary": "a"}, "expected another canary than a, which leads"),
    ],
)
def test_a_plan_that_cannot_be_executed_is_refused(changes, message):
    with pytest.raises(UpgradeError, match=message):
        check_plan(plan(**changes))


def test_a_plan_that_can_be_executed_is_not_refused():
    check_plan(plan(canary="a", offline=True, verbs=("stop", "start")))
    check_plan(plan(canary="a", leader="a"))  # the leader need not be last


def test_the_way_back_goes_through_the_same_configurations():
    roll_plan = plan(target="4.3.1")

    back = back_rounds(roll_plan.rounds, configs(roll_plan, InstanceConfig("4.3.1")))

    assert ["3.9.2", "3.9.2 with upgrade.from=2.3", "2.3.1"] == [str(each.config) for each in back]
    assert not any(each.leader_last for each in back)


def test_it_is_asked_for_what_no_broker_shows_before_an_older_release_starts():
    """It went back without a word about records that are processed first, and empty state directories."""
    roll_plan = plan(target="4.3.1")
    back = back_rounds(roll_plan.rounds, configs(roll_plan, InstanceConfig("4.3.1")))
    to_bridge, held_back, to_origin = (each.needs for each in back)

    assert "3.9.2 cannot open the stores of 4.0, 4.3" in to_bridge
    assert not held_back
    assert "wait until the records written before are processed" in to_origin
    assert "2.3.1 cannot open the stores of 3.0" in to_origin


def test_stores_that_the_old_release_cannot_open_are_named_before_the_group_stops():
    roll_plan = plan(offline=True)
    stop, start = back_rounds(roll_plan.rounds, configs(roll_plan, InstanceConfig("3.9.2")))

    assert "2.3.1 cannot open the stores of 3.0" in stop.needs
    assert not start.needs


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "absent",
    [
        pytest.param(frozenset(), id="unknown topology"),
        pytest.param(frozenset(TopologyFeature), id="no features", marks=pytest.mark.slow),
    ],
)
def test_the_way_back_has_the_configurations_of_the_plan_back(absent):
    def configs_of(rounds):
        stops = any(each.action is not RoundAction.RESTART for each in rounds)
        return "offline" if stops else [each.config for each in rounds]

    facts = TopologyFacts(absent=absent)
    releases = [release for release in NEWEST_OF_LINE.values() if release.kafka_name]
    plans = {pair: group_rounds(advise(*pair, facts=facts)) for pair in permutations(releases, 2)}
    for (origin, target), rounds in plans.items():
        if configs_of(rounds) != "offline":
            back = back_rounds(rounds, {"a": rounds[-1].config})
            assert configs_of(plans[target, origin]) == configs_of(back), (origin, target)


def test_a_round_that_nobody_has_reached_needs_no_way_back():
    roll_plan = plan()

    back = back_rounds(roll_plan.rounds, configs(roll_plan, roll_plan.rounds[0].config))

    assert ["2.3.1"] == [str(each.config) for each in back]


def test_without_a_way_back_the_group_is_stopped_and_started():
    roll_plan = plan(origin="1.1.1", target="2.0.1")

    stop, start = back_rounds(roll_plan.rounds, configs(roll_plan, InstanceConfig("2.0.1")))

    assert (RoundAction.STOP, RoundAction.START) == (stop.action, start.action)
    assert "1.1.1" == str(start.config)


def test_a_group_that_is_being_stopped_only_has_to_be_started():
    roll_plan = plan(offline=True)

    (start,) = back_rounds(roll_plan.rounds[:1], configs(roll_plan, InstanceConfig("2.3.1")))

    assert (RoundAction.START, "2.3.1") == (start.action, str(start.config))


def test_a_group_that_was_started_offline_returns_offline():
    roll_plan = plan(offline=True)

    back = back_rounds(roll_plan.rounds, configs(roll_plan, InstanceConfig("3.9.2")))

    assert ["stop", "start"] == [each.action.value for each in back]


def test_the_same_commands_are_run_in_each_round_unless_all_is_stopped():
    roll_plan = plan(offline=True, verbs=("stop", "start"))
    by_hand = plan(offline=True, verbs=("by-hand",))

    assert ("stop", "start") == plan(verbs=("stop", "start")).verbs_of(plan().rounds[0])
    assert ("stop",) == roll_plan.verbs_of(roll_plan.rounds[0])
    assert ("by-hand",) == by_hand.verbs_of(by_hand.rounds[0])


def test_the_words_of_a_round_are_those_of_the_plan():
    advice = advise(release_named("2.3.1"), release_named("3.9.2"))

    assert [str(step.do) for step in advice.steps] == [each.text for each in plan().rounds]
