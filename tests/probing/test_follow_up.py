"""The follow-up rebalance: Kafka's order of reasons, and only versions before 2.6."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.codec import IMMEDIATELY, NO_FOLLOW_UP
from streams_assignor.probing import CURRENT, FollowUp, FollowUpReason, schedule_follow_up
from streams_assignor.probing.follow_up import MAX_WAIT_SECONDS, RejoinHistory
from streams_assignor.probing.rules import BY_NAME, G4A, G4B, G4C

encoded = st.sampled_from([IMMEDIATELY, 1, 1_700_000_000_000, NO_FOLLOW_UP - 1, NO_FOLLOW_UP])


@pytest.mark.parametrize(
    ("version_changed", "end_point_missing", "encoded_ms", "expected"),
    [
        (True, True, IMMEDIATELY, FollowUp(IMMEDIATELY, FollowUpReason.VERSION)),
        (True, False, 5, FollowUp(IMMEDIATELY, FollowUpReason.VERSION)),
        (False, True, IMMEDIATELY, FollowUp(IMMEDIATELY, FollowUpReason.END_POINT)),
        (False, True, NO_FOLLOW_UP, FollowUp(IMMEDIATELY, FollowUpReason.END_POINT)),
        (False, False, IMMEDIATELY, FollowUp(IMMEDIATELY, FollowUpReason.WITHHELD)),
        (False, False, 5, FollowUp(5, FollowUpReason.PROBING)),
        (False, False, NO_FOLLOW_UP, FollowUp(NO_FOLLOW_UP)),
    ],
)
@pytest.mark.parametrize("rules", [G4B, G4C, CURRENT], ids=str)
def test_the_first_reason_takes_precedence(rules, version_changed, end_point_missing, encoded_ms, expected):
    assert expected == schedule_follow_up(
        rules.member, version_changed=version_changed, end_point_missing=end_point_missing, next_rebalance_ms=encoded_ms
    )


@given(st.booleans(), st.booleans(), encoded)
def test_before_2_6_only_the_version_is_a_reason(version_changed, end_point_missing, encoded_ms):
    follow_up = schedule_follow_up(
        G4A.member, version_changed=version_changed, end_point_missing=end_point_missing, next_rebalance_ms=encoded_ms
    )

    assert follow_up == (FollowUp(IMMEDIATELY, FollowUpReason.VERSION) if version_changed else FollowUp())


@given(st.sampled_from(list(BY_NAME.values())), st.booleans(), st.booleans(), encoded)
def test_there_is_a_reason_if_there_is_a_time(rules, version_changed, end_point_missing, encoded_ms):
    follow_up = schedule_follow_up(
        rules.member, version_changed=version_changed, end_point_missing=end_point_missing, next_rebalance_ms=encoded_ms
    )

    assert (follow_up.at_ms < NO_FOLLOW_UP) == (follow_up.reason is not None)


def waits(*found, reason=FollowUpReason.END_POINT):
    history, seconds = RejoinHistory(), []
    for each in found:
        history = history.after(reason, each)
        seconds.append(history.wait_seconds)
    return seconds


def test_rejoins_that_change_nothing_wait_longer_each_time_up_to_a_limit():
    seconds = waits(*["same"] * 20)

    assert [0, 0, 0, 1, 2, 4, 8] == seconds[:7]
    assert MAX_WAIT_SECONDS == seconds[-1] == max(seconds)


def test_a_group_that_goes_back_and_forth_changes_nothing():
    assert [0, 0, 0, 0, 1, 2] == waits("one", "other", "one", "other", "one", "other")


def test_a_change_begins_anew():
    assert [0] * 12 == waits(*range(12))
    assert [0, 0, 0, 1, 0, 0] == waits("a", "a", "a", "a", "b", "b")


def test_another_reason_begins_anew():
    history = RejoinHistory()
    for _ in range(9):
        history = history.after(FollowUpReason.WITHHELD, "same")

    assert 0 == history.after(FollowUpReason.VERSION, "same").wait_seconds < history.wait_seconds
