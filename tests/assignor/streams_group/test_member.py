"""The membership of a streams group's member, event by event."""

import pytest

from streams_assignor.streams_group import CallbackKind, MemberFailure, StreamsMemberState, StreamsTasks
from streams_assignor.streams_group.model import decode_tasks
from streams_assignor.streams_group.rules import ERRORS
from streams_assignor.upgrade.input_values import InvalidInput
from tests.assignor.streams_group.coordinator import new_member, owned, response, send, stable_member, tasks

NOT_READY = {1: "no orders"}


def kinds(member):
    return [each.kind for each in member.callbacks]


# -- joining ---------------------------------------------------------------------------------------------------------


def test_it_sends_nothing_before_it_subscribes():
    assert not new_member().sends_heartbeats
    assert new_member().subscribe().sends_heartbeats


def test_a_second_subscription_changes_nothing():
    member = stable_member("0_0")

    assert member == member.subscribe()


def test_it_joins_with_everything_and_no_tasks():
    member, fields = send(new_member(rack_id="a", endpoint=("localhost", 80), client_tags=(("zone", "b"),)).subscribe())

    assert StreamsMemberState.JOINING is member.state
    assert 0 == fields["memberEpoch"]
    assert "orders" == fields["topology"]["subtopologies"][0]["sourceTopics"][0]
    assert (300_000, "p", "a") == (fields["rebalanceTimeoutMs"], fields["processId"], fields["rackId"])
    assert ({"host": "localhost", "port": 80}, [{"key": "zone", "value": "b"}]) == (
        fields["userEndpoint"],
        fields["clientTags"],
    )
    assert {} == owned(fields)


@pytest.mark.parametrize("text", ["", "orders", "\u0663", "1" * 5000, "-1", "0_1"])
def test_a_subtopology_that_is_no_number_is_an_error_that_names_it(text):
    with pytest.raises(InvalidInput, match="expected a number"):
        decode_tasks([{"subtopologyId": text, "partitions": [0]}])


def test_without_an_endpoint_it_sends_none():
    assert send(new_member().subscribe())[1]["userEndpoint"] is None


def test_its_join_is_urgent():
    assert new_member().subscribe().heartbeat_is_urgent


def test_it_takes_its_first_assignment_and_acknowledges_it_at_once():
    member, _ = send(new_member().subscribe())
    member = member.on_response(response(3, ["0_0"], ["0_1"]))

    assert (StreamsMemberState.RECONCILING, 3) == (member.state, member.epoch)
    assert not member.group_ready
    assert StreamsTasks.of(tasks("0_0"), tasks("0_1")) == member.callbacks[0].assignment

    member = member.on_callback_completed()
    assert StreamsMemberState.ACKNOWLEDGING is member.state
    assert member.heartbeat_is_urgent
    assert member.group_ready

    member, fields = send(member)
    assert (StreamsMemberState.STABLE, {"0": [0]}, 3) == (member.state, owned(fields), fields["memberEpoch"])
    assert fields["topology"] is None


def test_an_assignment_of_nothing_is_acknowledged_too():
    member, _ = send(new_member().subscribe())
    member = member.on_response(response(1, [])).on_callback_completed()

    assert {} == owned(send(member)[1])


def test_unchanged_tasks_are_not_sent_again():
    member = stable_member("0_0")

    assert owned(send(member)[1]) is None


@pytest.mark.parametrize(("reports", "expected"), [(False, None), (True, {})])
def test_while_it_takes_an_assignment_it_reports_no_tasks_other_than_java(reports, expected):
    """The coordinator would take the missing task for revoked and assign it to a second owner (the model found it)."""
    member, _ = send(new_member(reports_while_reconciling=reports).subscribe())
    member = member.on_response(response(1, ["0_0"]))

    member, fields = send(member)
    assert (expected, StreamsMemberState.RECONCILING) == (owned(fields), member.state)


def test_lost_answers_make_it_send_its_tasks_again():
    member = stable_member("0_0").on_disconnect()

    assert {"0": [0]} == owned(send(member)[1])


# -- reconciliation --------------------------------------------------------------------------------------------------


def test_it_revokes_before_it_takes():
    member = stable_member("0_0", "0_1").on_response(response(2, ["0_1", "0_2"]))

    assert [CallbackKind.REVOKE] == kinds(member)
    assert tasks("0_0") == member.callbacks[0].assignment.active

    member = member.on_callback_completed()
    assert [CallbackKind.ASSIGN] == kinds(member)
    assert tasks("0_1", "0_2") == member.callbacks[0].assignment.active
    assert owned(send(member)[1]) is None

    member, fields = send(member.on_callback_completed())
    assert ({"0": [1, 2]}, StreamsMemberState.STABLE) == (owned(fields), member.state)


def test_the_acknowledgement_of_a_revocation_has_the_tasks_although_an_earlier_heartbeat_had_them():
    member = stable_member("0_0", "0_1", reports_while_reconciling=True)
    member, before = send(member.on_response(response(2, ["0_1"])).on_callback_completed())

    assert {"0": [1]} == owned(before)
    assert {"0": [1]} == owned(send(member.on_callback_completed())[1])


def test_an_assignment_that_arrives_during_a_revocation_is_taken_after_it():
    member = stable_member("0_0").on_response(response(2, [])).on_response(response(3, ["0_2"]))

    assert [CallbackKind.REVOKE] == kinds(member)
    assert tasks("0_2") == member.on_callback_completed().callbacks[0].assignment.active


def test_an_assignment_that_arrives_before_the_acknowledgement_is_reconciled_after_it():
    member, _ = send(new_member().subscribe())
    member = member.on_response(response(1, ["0_0"])).on_response(response(2, ["0_1"]))
    assert [CallbackKind.ASSIGN] == kinds(member)

    member, fields = send(member.on_callback_completed())
    assert owned(fields) is None
    assert (StreamsMemberState.RECONCILING, [CallbackKind.REVOKE]) == (member.state, kinds(member))


def test_the_assignment_that_it_has_changes_nothing():
    member = stable_member("0_0")

    assert StreamsMemberState.STABLE is member.on_response(response(1, ["0_0"])).state
    assert () == member.on_response(response(1, ["0_0"])).callbacks


def test_an_assignment_that_is_withdrawn_while_it_is_taken_is_corrected_before_it_is_acknowledged():
    member = stable_member("0_0").on_response(response(2, ["0_0", "0_1"])).on_response(response(2, ["0_0"]))

    member, fields = send(member.on_callback_completed())
    assert owned(fields) is None
    assert tasks("0_1") == member.callbacks[0].assignment.active

    member = member.on_callback_completed().on_callback_completed()
    assert {"0": [0]} == owned(send(member)[1])


def test_a_revocation_that_is_withdrawn_ends_and_the_task_is_taken_again():
    member = stable_member("0_0").on_response(response(2, [])).on_response(response(3, ["0_0"]))

    member = member.on_callback_completed()
    assert [StreamsTasks.of(tasks("0_0"))] == [each.assignment for each in member.callbacks]
    assert owned(send(member)[1]) is None


def test_only_a_new_epoch_is_taken_over():
    member = stable_member("0_0").on_response(response(5))

    assert (5, StreamsMemberState.STABLE, ()) == (member.epoch, member.state, member.callbacks)


# -- statuses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("code", "ready"), [(0, True), (1, False), (2, False), (3, False), (4, True), (5, False)])
def test_a_status_may_stop_the_application(code, ready):
    member, _ = send(new_member().subscribe())
    member = member.on_response(response(1, [], statuses={code: "why"})).on_callback_completed()

    assert ready is member.group_ready
    assert [(code, "why")] == [(each.code, each.detail) for each in member.statuses]


def test_a_group_that_becomes_ready_again_is_an_assignment_with_the_same_tasks():
    member = stable_member("0_0").on_response(response(1, statuses=NOT_READY))
    assert not member.callbacks[0].assignment.group_ready

    member, _ = send(member.on_callback_completed())
    assert not member.group_ready

    member = member.on_response(response(1, statuses={}))
    assert StreamsTasks.of(tasks("0_0")) == member.callbacks[0].assignment


def test_without_statuses_the_last_ones_are_kept():
    member = stable_member("0_0").on_response(response(1, statuses={0: "stale"}))

    assert member.statuses == member.on_response(response(1)).statuses


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [25, 110])
def test_a_fenced_member_loses_its_tasks_and_rejoins(code):
    member = stable_member("0_0").on_response(response(error=code))

    assert (StreamsMemberState.FENCED, [CallbackKind.LOSE], 0) == (member.state, kinds(member), member.epoch)
    assert not member.sends_heartbeats

    member = member.on_callback_completed()
    assert (StreamsMemberState.JOINING, None) == (member.state, member.current)


def test_a_member_that_is_fenced_during_a_callback_loses_its_tasks_after_it():
    member = stable_member("0_0").on_response(response(2, [])).on_response(response(error=110))

    assert [CallbackKind.REVOKE, CallbackKind.LOSE] == kinds(member)
    assert StreamsMemberState.JOINING is member.on_callback_completed().on_callback_completed().state


def test_a_member_that_is_fenced_while_it_takes_tasks_does_not_acknowledge_them():
    member, _ = send(new_member().subscribe())
    member = member.on_response(response(1, ["0_0"])).on_response(response(error=25))

    assert StreamsMemberState.FENCED is member.on_callback_completed().state


@pytest.mark.parametrize("code", [14, 15, 16, 29])
def test_other_errors_only_make_it_send_its_tasks_again(code):
    member = stable_member("0_0").on_response(response(error=code))

    assert StreamsMemberState.STABLE is member.state
    assert {"0": [0]} == owned(send(member)[1])


def test_a_fatal_error_ends_the_membership():
    member = stable_member("0_0").on_response(response(error=30, message="not you"))

    assert (StreamsMemberState.FATAL, [CallbackKind.LOSE]) == (member.state, kinds(member))
    assert "GroupAuthorizationException" == member.failure.java_exception
    assert "GROUP_AUTHORIZATION_FAILED: not you" in member.failure.message
    assert (StreamsMemberState.FATAL, None) == (
        member.on_callback_completed().state,
        member.on_callback_completed().current,
    )


def test_an_unknown_error_is_fatal():
    assert "error 77" in stable_member().on_response(response(error=77)).failure.message


@pytest.mark.parametrize(("code", "hint"), [(42, "same topology"), (69, "another protocol"), (35, "streams.version")])
def test_an_error_of_the_join_has_a_remedy(code, hint):
    member, _ = send(new_member().subscribe())

    assert hint in member.on_response(response(error=code)).failure.message
    assert hint not in stable_member().on_response(response(error=code)).failure.message


def test_the_first_failure_counts():
    member = stable_member().on_failure(MemberFailure("A", "a"))

    assert member == member.on_failure(MemberFailure("B", "b"))
    assert member == member.on_response(response(error=30))


def test_a_failure_outside_the_group_has_no_tasks_to_lose():
    assert () == new_member().on_failure(MemberFailure("A", "a")).callbacks


def test_every_fatal_error_names_an_exception():
    assert [] == [rule for rule in ERRORS.values() if rule.reaction.name == "FAIL" and not rule.java_exception]


# -- leaving ---------------------------------------------------------------------------------------------------------


def test_it_releases_its_tasks_before_it_leaves():
    member = stable_member("0_0").leave()
    assert (StreamsMemberState.PREPARE_LEAVING, [CallbackKind.RELEASE]) == (member.state, kinds(member))

    member, fields = send(member)  # the interval is over
    assert 1 == fields["memberEpoch"]

    member = member.on_response(response(2, ["0_1"])).on_callback_completed()
    assert (StreamsMemberState.LEAVING, True) == (member.state, member.heartbeat_is_urgent)

    member, fields = send(member)
    assert (-1, None, StreamsMemberState.UNSUBSCRIBED) == (fields["memberEpoch"], owned(fields), member.state)
    assert member == member.on_response(response(-1))


def test_a_callback_under_way_ends_before_the_tasks_are_released():
    member = stable_member("0_0").on_response(response(2, [])).leave()

    assert [CallbackKind.REVOKE, CallbackKind.RELEASE] == kinds(member)
    assert StreamsMemberState.PREPARE_LEAVING is member.on_callback_completed().state


def test_a_static_member_has_its_name_in_each_heartbeat_and_leaves_for_a_while():
    member, joining = send(new_member(instance_id="one").subscribe())
    leaving, left = send(member.on_response(response(1)).on_poll_expired())

    assert ("one", "one") == (joining["instanceId"], left["instanceId"])
    assert (-2, StreamsMemberState.STALE) == (left["memberEpoch"], leaving.state)
    assert -1 == send(new_member().subscribe().leave())[1]["memberEpoch"]


def test_a_member_that_has_not_joined_leaves_at_once():
    assert StreamsMemberState.LEAVING is new_member().subscribe().leave().state


def test_leaving_twice_or_outside_the_group_changes_nothing():
    member = stable_member("0_0").leave()

    assert member == member.leave()
    assert new_member() == new_member().leave()


def test_an_answer_that_comes_after_the_decision_to_leave_is_ignored():
    member = stable_member("0_0").leave().on_callback_completed()

    assert member == member.on_response(response(7, ["0_1"]))


def test_an_answer_with_a_negative_epoch_is_ignored():
    member = stable_member("0_0")

    assert member == member.on_response(response(-1))


def test_a_member_that_is_fenced_while_it_releases_does_not_leave():
    member = stable_member("0_0").leave().on_response(response(error=25))

    assert (StreamsMemberState.UNSUBSCRIBED, [CallbackKind.RELEASE]) == (member.state, kinds(member))
    assert StreamsMemberState.UNSUBSCRIBED is member.on_callback_completed().state


def test_a_fenced_member_that_leaves_does_not_rejoin():
    member = stable_member("0_0").on_response(response(error=25)).leave()

    assert StreamsMemberState.UNSUBSCRIBED is member.on_callback_completed().state


# -- an application that does not poll -------------------------------------------------------------------------------


def test_it_leaves_before_its_tasks_are_dropped_and_rejoins_after_it():
    member = stable_member("0_0").on_poll_expired()
    assert StreamsMemberState.LEAVING is member.state

    member, fields = send(member)
    assert (-1, StreamsMemberState.STALE, [CallbackKind.LOSE]) == (fields["memberEpoch"], member.state, kinds(member))
    assert not member.sends_heartbeats

    member = member.on_callback_completed()
    assert (StreamsMemberState.JOINING, False) == (member.state, member.leaves_stale)


def test_it_rejoins_also_if_it_was_fenced_before_it_left():
    member = stable_member("0_0").on_poll_expired().on_response(response(error=110))

    assert StreamsMemberState.STALE is member.state
    assert StreamsMemberState.JOINING is member.on_callback_completed().state


def test_it_leaves_for_good_if_it_is_closed_before_the_heartbeat_to_leave():
    member, _ = send(stable_member("0_0").on_poll_expired().leave())

    assert (StreamsMemberState.UNSUBSCRIBED, [CallbackKind.LOSE]) == (member.state, kinds(member))
    assert StreamsMemberState.UNSUBSCRIBED is member.on_callback_completed().state


def test_outside_the_group_it_does_not_matter():
    assert new_member() == new_member().on_poll_expired()


# -- the rest --------------------------------------------------------------------------------------------------------


def test_a_shutdown_is_requested_in_every_heartbeat():
    member, fields = send(stable_member("0_0").request_shutdown())

    assert fields["shutdownApplication"]
    assert send(member)[1]["shutdownApplication"]


def test_equal_histories_give_equal_members():
    assert {stable_member("0_0")} == {stable_member("0_0"), stable_member("0_0")}
