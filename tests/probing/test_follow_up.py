"""When the next rebalance is: Kafka's order of reasons, and nothing but versions before 2.6."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probing import NEVER, NOW, TODAY, FollowUp, Reason, follow_up
from probing.rules import BY_NAME, G4A, G4B, G4C

encoded = st.sampled_from([NOW, 1, 1_700_000_000_000, NEVER - 1, NEVER])


@pytest.mark.parametrize(
    ("version_changed", "end_point_missing", "encoded_ms", "expected"),
    [
        (True, True, NOW, FollowUp(NOW, Reason.VERSION)),
        (True, False, 5, FollowUp(NOW, Reason.VERSION)),
        (False, True, NOW, FollowUp(NOW, Reason.END_POINT)),
        (False, True, NEVER, FollowUp(NOW, Reason.END_POINT)),
        (False, False, NOW, FollowUp(NOW, Reason.WITHHELD)),
        (False, False, 5, FollowUp(5, Reason.PROBING)),
        (False, False, NEVER, FollowUp(NEVER)),
    ],
)
@pytest.mark.parametrize("rules", [G4B, G4C, TODAY], ids=str)
def test_the_first_reason_counts(rules, version_changed, end_point_missing, encoded_ms, expected):
    assert expected == follow_up(
        rules.member, version_changed=version_changed, end_point_missing=end_point_missing, encoded_ms=encoded_ms
    )


@given(st.booleans(), st.booleans(), encoded)
def test_before_2_6_only_the_version_counts(version_changed, end_point_missing, encoded_ms):
    said = follow_up(
        G4A.member, version_changed=version_changed, end_point_missing=end_point_missing, encoded_ms=encoded_ms
    )

    assert said == (FollowUp(NOW, Reason.VERSION) if version_changed else FollowUp())


@given(st.sampled_from(list(BY_NAME.values())), st.booleans(), st.booleans(), encoded)
def test_there_is_a_reason_if_there_is_a_time(rules, version_changed, end_point_missing, encoded_ms):
    said = follow_up(
        rules.member, version_changed=version_changed, end_point_missing=end_point_missing, encoded_ms=encoded_ms
    )

    assert (said.at_ms < NEVER) == (said.reason is not None)
