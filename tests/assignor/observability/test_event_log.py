"""The log lines of a member."""

import json
import logging
from typing import Any

import pytest

from streams_assignor.errors import FatalError
from streams_assignor.observability import event_log
from streams_assignor.observability.event_fields import log_fields
from streams_assignor.observability.events import (
    AssignmentComputed,
    Event,
    JoinReason,
    JoinSent,
    MemberClosed,
    MemberFailed,
    RejoinDelayed,
    RejoinRequested,
)
from streams_assignor.probing import AssignmentContent, VersionAnswer
from streams_assignor.probing.follow_up import FollowUpReason
from tests.assignor.observability.event_factories import assignment_received, tasks, tasks_changed

IDENTITY = {"process_id": "1b4e28ba-2fa1", "client_id": "c-1"}
PROBED = VersionAnswer(3, 3, AssignmentContent.EMPTY)
EVENTS: list[tuple[Event, dict[str, Any]]] = [
    (
        JoinSent(reason=JoinReason.LOST, used_version=3, supported_version=11, subscription_size=90),
        {"event": "join_sent", "reason": "lost", "used_version": 3, "supported_version": 11, "subscription_bytes": 90},
    ),
    (
        AssignmentComputed(
            subscription_sizes={"a-secret": 4, "b": 5}, assignment_sizes={"a-secret": 7, "b": 1}, seconds=0.25
        ),
        {
            "event": "assignment_computed",
            "members": 2,
            "seconds": 0.25,
            "subscription_bytes": 9,
            "assignment_bytes": 8,
            "largest_member_bytes": 11,
        },
    ),
    (
        AssignmentComputed(
            subscription_sizes={"a": 4}, assignment_sizes={"a": 7}, seconds=0.25, probed={"b": PROBED, "a": PROBED}
        ),
        {
            "event": "assignment_computed",
            "members": 1,
            "seconds": 0.25,
            "subscription_bytes": 4,
            "assignment_bytes": 7,
            "largest_member_bytes": 11,
            "probed": ["a", "b"],
        },
    ),
    (
        assignment_received(active=tasks(10, 9), standby=tasks(1), follow_up=FollowUpReason.PROBING),
        {
            "event": "assignment_received",
            "reason": "rebalance_in_progress",
            "generation": 3,
            "is_leader": False,
            "group_version": 11,
            "group_supported_version": 11,
            "active": ["0_9", "0_10"],
            "standby": ["0_1"],
            "tasks_dropped": False,
            "follow_up": "probing",
        },
    ),
    (
        tasks_changed(lost=tasks(1, 0), standby_added=tasks(2)),
        {"event": "tasks_changed", "lost": ["0_0", "0_1"], "standby_added": ["0_2"]},
    ),
    (
        RejoinRequested(reason=FollowUpReason.PROBING, at_ms=17),
        {"event": "rejoin_requested", "reason": "probing", "leaves_group": False, "at_ms": 17},
    ),
    (
        RejoinDelayed(reason=FollowUpReason.END_POINT, repeats=3, seconds=2.5),
        {
            "event": "rejoin_delayed",
            "reason": "end_point",
            "cause": "the group does not know its end point",
            "repeats": 3,
            "seconds": 2.5,
        },
    ),
    (
        MemberFailed(FatalError("no topic", "MissingSourceTopicException")),
        {
            "event": "member_failed",
            "error_type": "MissingSourceTopicException",
            "error": "MissingSourceTopicException: no topic",
        },
    ),
    (MemberClosed(lost=True), {"event": "member_closed", "lost": True}),
]
EVENT_IDS = [fields["event"] + "_probed" * ("probed" in fields) for _, fields in EVENTS]


@pytest.mark.parametrize(("event", "expected"), EVENTS, ids=EVENT_IDS)
def test_a_record_has_the_values_as_fields_and_in_its_message(
    event: Event, expected: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "streams_assignor"):
        event_log.log_observer(lambda: IDENTITY)(event)

    (record,) = caplog.records
    assert {**IDENTITY, **expected}.items() <= vars(record).items()
    assert record.getMessage().startswith(f"c-1 1b4e28ba {expected['event']}")
    level = {"member_failed": "ERROR", "rejoin_delayed": "WARNING"}.get(expected["event"], "INFO")
    assert ("streams_assignor", level) == (record.name, record.levelname)
    assert expected == json.loads(json.dumps(log_fields(event)))
    assert ("seconds=0.250 " in record.getMessage()) == (expected["event"] == "assignment_computed")
    assert "a-secret" not in record.getMessage()


def test_replicas_are_logged_as_warm_ups_without_configured_standbys() -> None:
    fields = log_fields(assignment_received(standby=tasks(1), standbys_are_warmups=True))
    assert (["0_1"], False) == (fields["warm_up"], "standby" in fields)


def test_a_disabled_level_costs_nothing_and_failures_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    def named() -> dict[str, str]:
        calls.append(1)
        return {"process_id": "1b4e"}

    calls: list[int] = []
    log = event_log.log_observer(named)
    with caplog.at_level(logging.WARNING, "streams_assignor"):
        log(MemberClosed(lost=False))
        assert [] == calls
        log(MemberFailed(KeyError("x")))

    assert ["1b4e member_failed error_type=KeyError error='x'"] == [record.getMessage() for record in caplog.records]
