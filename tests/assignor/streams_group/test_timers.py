"""When a heartbeat is due, and when missing topics end a membership."""

import pytest

from streams_assignor.streams_group import HeartbeatTimer, MemberFailure, StatusTimer
from tests.assignor.streams_group.coordinator import new_member, response, send, stable_member

MISSING, MISPARTITIONED, STALE, SHUTDOWN = 1, 2, 0, 4


def test_nothing_is_due_outside_the_group():
    assert HeartbeatTimer().due_at_ms(new_member()) is None


def test_a_member_that_joins_waits_for_no_interval():
    assert 0 == HeartbeatTimer(interval_ends_ms=900).due_at_ms(new_member().subscribe())


def test_a_stable_member_waits_for_the_interval_of_the_coordinator():
    timer = HeartbeatTimer().on_sent(100).on_answered(100, 5_000)

    assert 5_100 == timer.due_at_ms(stable_member("0_0"))
    assert 10_100 == timer.on_sent(5_100).due_at_ms(stable_member("0_0"))


def test_failures_make_it_wait_longer_up_to_a_limit():
    timer, waits = HeartbeatTimer(interval_ms=5_000), []
    for _ in range(6):
        timer = timer.on_failed(0)
        waits.append(timer.due_at_ms(stable_member("0_0")))

    assert [100, 200, 400, 800, 1_000, 1_000] == waits
    assert 1_000 == timer.due_at_ms(new_member().subscribe())
    assert 0 == timer.on_answered(0, 0).due_at_ms(stable_member("0_0"))


def test_a_new_coordinator_is_asked_at_once():
    assert 0 == HeartbeatTimer().on_failed(9).without_backoff().due_at_ms(stable_member("0_0"))


def member_with(*codes):
    member, _ = send(new_member().subscribe())
    return member.on_response(response(1, [], statuses=dict.fromkeys(codes, "why")))


@pytest.mark.parametrize(("code", "exception"), [(MISPARTITIONED, "TopologyException"), (SHUTDOWN, "StreamsException")])
def test_some_statuses_end_the_membership_at_once(code, exception):
    _, failure = StatusTimer().check(member_with(STALE, code), 0, 5_000)

    assert exception == failure.java_exception
    assert failure.message.endswith(": why")


def test_missing_topics_end_it_after_two_intervals():
    timer, failure = StatusTimer().check(member_with(MISSING), 100, 5_000)
    assert failure is None

    timer, failure = timer.check(member_with(MISSING), 10_099, 5_000)
    assert failure is None

    _, failure = timer.check(member_with(MISSING), 10_100, 5_000)
    assert MemberFailure("MissingSourceTopicException", "MISSING_SOURCE_TOPICS: why") == failure


def test_topics_that_are_there_again_start_the_time_anew():
    timer, _ = StatusTimer().check(member_with(MISSING), 100, 5_000)

    assert (StatusTimer(), None) == timer.check(member_with(STALE), 200, 5_000)


def test_a_member_that_is_removed_again_and_again_does_not_rejoin_without_a_pause():
    """It sent heartbeats as fast as the coordinator answered."""
    timer, waits = HeartbeatTimer(), []
    for _ in range(4):
        timer = timer.on_failed(0).on_removed()
        waits.append(timer.due_at_ms(new_member().subscribe()))

    assert [0, 200, 400, 800] == waits
    assert 0 == timer.on_answered(0, 5_000).on_failed(9).on_removed().due_at_ms(new_member().subscribe())
