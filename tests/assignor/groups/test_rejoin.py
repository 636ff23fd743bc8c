"""Why a member rejoins at once, from what it sent and what it got."""

import pytest

from streams_assignor.groups.decoded import assignment_seen, subscription_seen
from streams_assignor.groups.rejoin import RejoinCause, rejoin_causes, unsubscribed_topics
from tests.assignor.groups.described_groups import member


@pytest.mark.parametrize(
    ("facts", "causes"),
    [
        ({"active": "0_0", "owned": "0_0"}, []),
        ({"answered": 10}, [RejoinCause.VERSION]),
        ({"used": 10, "answered_supported": 11}, [RejoinCause.VERSION]),
        ({"used": 2, "answered": 1}, []),
        ({"active": "0_0", "owned": "0_0 0_1"}, [RejoinCause.REVOKES]),
        ({"next_ms": 0}, [RejoinCause.REQUESTED]),
        ({"end_point": "h:1", "hosts": [("h", 2)]}, [RejoinCause.END_POINT]),
        ({"end_point": "h:1", "hosts": [("h", 1)]}, []),
        ({"end_point": "no port", "hosts": [("h", 1)]}, []),
        ({"active": "0_0", "topics": ("others",)}, [RejoinCause.NOT_SUBSCRIBED]),
        ({"active": "0_0", "topics": ()}, []),
    ],
)
def test_a_member_rejoins_for_what_it_got(facts, causes):
    raw = member("A", **facts)
    sent, got = subscription_seen(raw.subscription, True), assignment_seen(raw.assignment, True)

    assert [*rejoin_causes(sent, got)] == causes
    assert bool(unsubscribed_topics(sent, got)) is (RejoinCause.NOT_SUBSCRIBED in causes)


def test_a_subscription_that_cannot_be_read_is_no_reason_to_rejoin():
    """Its version was taken for 0, so that `roll` waited for a stable group until its timeout."""
    sent, got = subscription_seen(b"\0\1", True), assignment_seen(member("A", active="0_0").assignment, True)

    assert sent.problem
    assert rejoin_causes(sent, got) == ()
