"""The JSON lines of events: what ``streams-assignor member`` prints."""

import json
from typing import Any

import pytest

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.errors import FatalError
from streams_assignor.observability.event_fields import LINE_KEYS, json_line, parse_line
from streams_assignor.observability.events import (
    AssignmentComputed,
    Event,
    JoinReason,
    JoinSent,
    MemberClosed,
    MemberFailed,
    MemberStarted,
    MemberStopped,
    RecordsProcessed,
    RejoinDelayed,
    RejoinRequested,
)
from streams_assignor.probing import AssignmentContent, VersionAnswer
from streams_assignor.probing.follow_up import FollowUpReason
from tests.assignor.observability.event_factories import assignment_received, tasks, tasks_changed

PARTITIONS = {TaskId(0, 0): frozenset({TopicPartition("orders", 1), TopicPartition("orders", 0)})}
LINES: list[tuple[Event, dict[str, Any]]] = [
    (
        MemberStarted("2.0.1", None, "an id"),
        {"event": "started", "release": "2.0.1", "upgrade_from": None, "process_id": "an id"},
    ),
    (
        JoinSent(reason=JoinReason.REBALANCE_IN_PROGRESS, used_version=2, supported_version=3, subscription_size=9),
        {"event": "subscribed", "used": 2, "supported": 3},
    ),
    (
        assignment_received(
            member_id="m", group_version=3, group_supported_version=4, active=tasks(10, 9), standby=tasks(1)
        ),
        {
            "event": "assigned",
            "generation": 3,
            "member_id": "m",
            "leader": False,
            "version": 3,
            "supported": 4,
            "active": ["0_9", "0_10"],
            "standby": ["0_1"],
            "rejoin": False,
            "dropped": False,
        },
    ),
    (
        AssignmentComputed(
            subscription_sizes={"a": 4, "b": 5},
            assignment_sizes={"a": 7, "b": 1},
            seconds=0.25,
            probed={"b": VersionAnswer(3, 3, AssignmentContent.EMPTY)},
        ),
        {"event": "probed", "members": ["b"], "version": 3, "supported": 3, "content": "empty"},
    ),
    (RejoinRequested(reason=FollowUpReason.VERSION), {"event": "rejoin", "how": "keep_member_id"}),
    (
        RejoinRequested(reason=FollowUpReason.VERSION, leaves_group=True),
        {"event": "rejoin", "how": "leave_and_join"},
    ),
    (
        RejoinDelayed(reason=FollowUpReason.END_POINT, repeats=3, seconds=1.0),
        {
            "event": "rejoin_delayed",
            "reason": "end_point",
            "cause": "the group does not know its end point",
            "repeats": 3,
            "seconds": 1.0,
        },
    ),
    (tasks_changed(revoked=PARTITIONS), {"event": "revoked", "partitions": ["orders-0", "orders-1"]}),
    (tasks_changed(lost=PARTITIONS), {"event": "revoked", "partitions": ["orders-0", "orders-1"]}),
    (RecordsProcessed("orders-0", 3, 5), {"event": "processed", "partition": "orders-0", "from": 3, "to": 5}),
    (MemberFailed(ValueError("two\nlines")), {"event": "failed", "error": "ValueError: two lines"}),
    (
        MemberFailed(FatalError("no topic", "MissingSourceTopicException")),
        {"event": "failed", "error": "MissingSourceTopicException: no topic"},
    ),
    (MemberStopped("told to"), {"event": "stopped", "reason": "told to"}),
]

IDS = [
    *("started", "subscribed", "assigned", "probed", "rejoin", "leave", "delayed", "revoked", "lost"),
    *("processed", "failed", "failed like Kafka", "stopped"),
]


@pytest.mark.parametrize(("event", "expected"), LINES, ids=IDS)
def test_a_line_has_the_documented_keys_and_can_be_parsed(event: Event, expected: dict[str, Any]) -> None:
    line = json_line(event, time=1.25)

    assert line is not None
    assert {"time": 1.25, **expected} == json.loads(line) == parse_line(line)
    assert {"event", *LINE_KEYS[expected["event"]]} == expected.keys()


@pytest.mark.parametrize(
    "event",
    [
        MemberClosed(lost=False),
        AssignmentComputed(subscription_sizes={"a": 4}, assignment_sizes={"a": 7}, seconds=0.25),
        tasks_changed(assigned=PARTITIONS),
        RejoinRequested(reason=FollowUpReason.PROBING),
        RejoinRequested(reason=FollowUpReason.VERSION, at_ms=5),
        RejoinRequested(reason=JoinReason.FAILURE),
    ],
)
def test_other_events_have_no_line(event: Event) -> None:
    assert json_line(event, time=0) is None


def test_all_types_of_events_with_a_line_are_tested() -> None:
    assert LINE_KEYS.keys() == {expected["event"] for _, expected in LINES}


@pytest.mark.parametrize("line", ["", "nonsense", "[]", "{}", "null", '{"event": "moon"}', '{"event": "rejoin"}'])
def test_a_line_of_something_else_is_rejected(line: str) -> None:
    with pytest.raises(ValueError, match="not an event of a member"):
        parse_line(line)
