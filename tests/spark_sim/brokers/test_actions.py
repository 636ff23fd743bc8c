"""The effect of steps on a cluster: the rules of ``upgrade.cluster.features``, seen from a whole run."""

import pytest

from streams_assignor.spark_sim.brokers.actions import initial_state, run_scenario
from streams_assignor.spark_sim.brokers.parser import parse_scenario
from streams_assignor.spark_sim.brokers.properties import (
    ALL_NODES_IN_CLUSTER,
    GROUP_NOT_AHEAD,
    LEVELS_SUPPORTED_WHEN_FINALIZED,
    METADATA_READABLE,
)
from streams_assignor.spark_sim.model.scenario import ScenarioError
from streams_assignor.upgrade.errors import UpgradeError
from tests.upgrade.cluster.features import observed

THREE = "1@3.9.2 2@3.9.2 3@3.9.2 level 3.9-IV0"
ROLLED = "bounce 1>4.3.1 2>4.3.1 3>4.3.1"


def played(line):
    return run_scenario(parse_scenario(line))


def violated(line):
    return [violation.property for violation in played(line).violations]


def texts(state, kind):
    return [event.text for event in state.events if event.kind == kind]


def levels(state):
    return dict(state.cluster.finalized)


@pytest.mark.parametrize("dialect", ["kip-584", "kip-778", "kafka-4"])
def test_a_roll_and_then_the_level_is_safe(dialect):
    state = played(f"{THREE} dialect {dialect} | {ROLLED} | finalize 4.3-IV0")

    assert () == state.violations
    assert {"metadata.version": 30} == levels(state)
    assert all(map(state.in_cluster, state.nodes.values()))


@pytest.mark.parametrize("dialect", ["kip-584", "kip-778", "kafka-4"])
def test_an_old_node_keeps_the_level_from_being_finalized(dialect):
    state = played(f"{THREE} dialect {dialect} | bounce 1>4.3.1 2>4.3.1 | finalize 4.3-IV0")

    assert {"metadata.version": 21} == levels(state)
    (refusal,) = texts(state, "refused")
    assert refusal.endswith("Broker 3 only supports versions 1-21")


def test_u6_a_stopped_broker_holds_it_up_in_kafka_4_until_it_is_unregistered_and_not_in_the_kips():
    stopped = f"{ROLLED} | register 4@3.9.2 | stop 4 | finalize 4.3-IV0"

    assert 21 == levels(played(f"{THREE} | {stopped}"))["metadata.version"]
    assert 30 == levels(played(f"{THREE} | {stopped} | unregister 4 | finalize 4.3-IV0"))["metadata.version"]
    assert 30 == levels(played(f"{THREE} dialect kip-584 | {stopped}"))["metadata.version"]
    assert 30 == levels(played(f"{THREE} dialect kip-778 | {stopped}"))["metadata.version"]


def test_an_old_broker_is_turned_away_in_the_words_of_a_real_one():
    state = played(f"{THREE} | {ROLLED} | finalize 4.3-IV0 | register 4@3.9.2")

    assert [f"the controller does not register the broker: {observed.OLD_BROKER_AT_THE_DOOR}"] == texts(
        state, "refused"
    )
    assert not state.nodes["4"].running
    assert () == state.violations


@pytest.mark.parametrize(
    ("dialect", "kinds"),
    [
        ("kip-584", ["arrived", "finalized", "notified", "skipped", "exited"]),
        ("kip-778", ["arrived", "finalized", "refused"]),
        ("kafka-4", ["arrived", "finalized", "refused", "exited"]),
    ],
)
def test_r3_after_the_update_the_broker_in_the_race_stays_outside(dialect, kinds):
    state = played(f"{THREE} dialect {dialect} | {ROLLED} | race finalize 4.3-IV0 4@3.9.2")

    events = [event.kind for event in state.events if event.kind in {"finalized", "refused"} or event.who == "4"]
    assert [kind for kind in kinds if kind != "notified"] == events[1:]
    assert {"metadata.version": 30} == levels(state)
    assert 4 not in state.cluster.brokers
    assert () == state.violations


@pytest.mark.parametrize("dialect", ["kip-584", "kip-778", "kafka-4"])
def test_r2_before_the_update_the_broker_in_the_race_makes_it_fail(dialect):
    state = played(f"{THREE} dialect {dialect} | {ROLLED} | race 4@3.9.2 finalize 4.3-IV0")

    assert {"metadata.version": 21} == levels(state)
    assert 4 in state.cluster.brokers
    assert () == state.violations


def test_q2_a_fenced_broker_of_kip_778_gets_in_once_the_level_allows_it():
    up = f"{THREE} dialect kip-778 | {ROLLED} | finalize 4.3-IV0 | register 4@3.9.2"
    state = played(up)
    assert state.nodes["4"].running
    assert 4 in state.cluster.registering
    assert 1 == len(texts(played(f"{up} | snapshot | snapshot"), "refused"))

    assert 4 in played(f"{up} | downgrade unsafe 3.9-IV0").cluster.brokers


def test_without_a_majority_of_the_controllers_a_request_fails():
    state = played(f"{THREE} | crash 1 2 | finalize 4.0-IV3")

    assert ["there is no active controller"] == texts(state, "unanswered")
    assert state.cluster.active is None
    assert 3 == played(f"{THREE} | crash 1 2 | start 1 2 | elect 3").cluster.active


def test_a_broker_that_starts_without_an_active_controller_waits():
    state = played(f"{THREE} | crash 1 2 | register 4@3.9.2")
    assert 4 in state.cluster.registering

    assert 4 in played(f"{THREE} | crash 1 2 | register 4@3.9.2 | start 1").cluster.brokers


def test_a_cluster_of_zookeeper_starts_again_after_all_brokers_were_gone():
    state = played("1@3.9.2 2@3.9.2 level 3.9-IV0 dialect kip-584 | stop 1 2 | start 2 1")

    assert 1 == state.cluster.active
    assert {1, 2} == state.cluster.brokers.keys()


def test_a_running_node_is_restarted_and_a_stopped_one_is_not_missed():
    state = played(f"{THREE} | start 1>4.3.1 | stop 2 2")

    assert "4.3.1" == str(state.nodes["1"].release)
    assert {1, 2, 3} == state.cluster.brokers.keys()
    assert () == state.violations


# -- the way back ----------------------------------------------------------------------------------------------------

BACK = "1@4.1.1 level 4.1-IV1{} | bounce 1>4.3.1 | finalize 4.2-IV1 | downgrade 4.1-IV1{} | bounce 1>4.1.1"


def test_kafka_4_reads_the_higher_level_once_more_unless_there_was_a_snapshot():
    """Seen with 4.3.1 and 4.1.1 (test_real_downgrade.py)."""
    assert [ALL_NODES_IN_CLUSTER] == violated(BACK.format("", ""))
    assert [] == violated(BACK.format("", " | snapshot"))


def test_w4_where_a_change_writes_a_snapshot_the_software_goes_back_after_every_node_has_loaded_it():
    two = "1@4.1 2@4.1 3@4.1 level 4.1-IV1 dialect kip-778 | bounce 1>4.2 2>4.2 3>4.2"
    lowered = "finalize 4.2-IV1 | downgrade 4.1-IV1"

    assert [] == violated(f"{two} | {lowered} | bounce 3>4.1")
    assert [ALL_NODES_IN_CLUSTER] == violated(f"{two} | stale 3 | {lowered} | bounce 3>4.1")
    assert [] == violated(f"{two} | stale 3 | {lowered} | fresh 3 | bounce 3>4.1")


def test_w3_kip_778_drops_what_is_newer_and_the_older_release_can_read_the_rest():
    line = f"{THREE} dialect kip-778 | {ROLLED} | finalize 4.3-IV0 | downgrade {{}}3.9-IV0 | bounce 1>3.9.2"
    safe, unsafe = played(line.format("")), played(line.format("unsafe "))

    assert "UNSAFE_FEATURE_DOWNGRADE" in texts(safe, "refused")[0]
    assert [ALL_NODES_IN_CLUSTER] == [violation.property for violation in safe.violations]
    assert () == unsafe.violations
    assert {"metadata.version": 21} == levels(unsafe)


def test_w3_kafka_4_refuses_it_even_if_it_is_called_unsafe():
    state = played(f"{THREE} | {ROLLED} | finalize 4.3-IV0 | downgrade unsafe 3.9-IV0")

    assert texts(state, "refused")[0].endswith("Unsafe metadata downgrade is not supported in this version.")


def test_u18_kip_584_lets_the_operator_lower_a_level_under_data_that_needs_it():
    state = played(f"{THREE} dialect kip-584 | {ROLLED} | finalize 4.3-IV0 | downgrade 3.9-IV0 | bounce 2>3.9.2")

    assert [METADATA_READABLE] == [violation.property for violation in state.violations]
    assert "2" == state.violations[0].member


# -- nodes that are not validated ------------------------------------------------------------------------------------

APART = "c1@3.5 c2@3.5 c3@3.5 b4@3.5 level 3.5-IV2{} | bounce c1>4.1 c2>4.1 b4>4.1 | finalize 4.1-IV1"


@pytest.mark.parametrize("dialect", ["", " dialect kip-778"])
def test_a_controller_that_is_not_validated_exits_in_kip_778_a_minority_and_kafka_4_below_level_15(dialect):
    assert [LEVELS_SUPPORTED_WHEN_FINALIZED, ALL_NODES_IN_CLUSTER] == violated(APART.format(dialect))


def test_from_level_15_on_kafka_4_asks_controllers():
    line = APART.replace("3.5-IV2", "3.7-IV0").replace("3.5", "3.9")

    assert [] == violated(line.format(""))
    assert "Controller 3 only supports versions 1-21" in texts(played(line.format("")), "refused")[0]


def test_q4_an_active_controller_that_lacks_the_level_resigns():
    state = played(f"{APART.format(' dialect kip-778').rpartition(' | ')[0]} | elect c3 | finalize 4.1-IV1")

    assert 1 == len(texts(state, "resigned"))
    assert state.cluster.active in (1, 2)


# -- the group -------------------------------------------------------------------------------------------------------

WATCHED = "1@3.9.2 2@3.9.2 3@3.9.2 level 3.9-IV0 watch metadata.version"


def test_g4_the_level_reaches_every_member_once_the_leader_has_seen_it():
    before, after = (played(f"{WATCHED} | {ROLLED} | ask 1 | finalize 4.3-IV0{more}") for more in ("", " | ask 2"))

    assert {21} == set(before.group.levels.values())
    assert {30} == set(after.group.levels.values())


def test_g7_a_stale_broker_and_a_new_leader_do_not_take_the_group_back():
    line = f"{WATCHED} | {ROLLED} | stale 3 | finalize 4.3-IV0 | ask 1 | ask 3 | restart A | ask 3"
    state = played(line)

    assert "answers with metadata.version 21 (epoch 1)" == texts(state, "described")[-1]
    assert {30} == set(state.group.levels.values())
    assert () == state.violations


def test_g8_to_lower_a_level_that_the_group_uses_leaves_it_ahead():
    line = f"{WATCHED} | {ROLLED} | finalize 4.2-IV1 | ask 1 | downgrade 4.1-IV1"

    assert [GROUP_NOT_AHEAD] * 3 == violated(line)
    assert [] == violated(f"{line} | finalize 4.2-IV1")


def test_only_brokers_that_run_answer():
    with pytest.raises(ScenarioError, match="1 does not answer: expected a running broker"):
        played(f"{WATCHED} | stop 1 | ask 1")


# -- what cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("1@3.9.2 level 4.0", "1@3.9.2 does not support 4.0-IV3"),
        ("1@3.9.2 level group.version=1", "expected a level of metadata.version after level"),
        ("1@3.9.2 level 3.9 | unregister 1 | unregister 1", "expected a registered broker"),
        ("1@3.9.2 2@3.9.2 3@3.9.2 level 3.9 | stop 2 | elect 2", "expected a live controller"),
    ],
)
def test_an_impossible_step_is_an_error(line, named):
    with pytest.raises(UpgradeError, match=named):
        played(line)


def test_a_node_may_be_without_other_features_that_are_finalized_later():
    state = played("1@4.3.1 level 4.3-IV0 | finalize group.version=1 | register 2@3.9.2 | downgrade group.version=0")

    assert {"metadata.version": 30} == levels(state)


def test_the_level_that_is_there_is_written_once_more_and_the_log_stays_as_it_is():
    before, after = (played(f"1@4.3.1 level 4.3-IV0{more}") for more in ("", " | finalize 4.3-IV0"))

    assert before.cluster.epoch < after.cluster.epoch
    assert before.log == after.log


def test_a_world_is_a_value():
    scenario = parse_scenario(THREE)
    state = initial_state(scenario)
    events = state.events

    run_scenario(parse_scenario(f"{THREE} | {ROLLED}"))

    assert events == state.events
