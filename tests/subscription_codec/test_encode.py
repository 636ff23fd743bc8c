"""What cannot be written is refused by field; JSON and records say the same."""

from uuid import UUID

import pytest
from hypothesis import given

from subscription_codec import (
    Assignment,
    EncodeError,
    FutureSubscription,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TopicPartition,
    describe,
    encode_assignment,
    encode_subscription,
    from_fields,
    to_fields,
)
from subscription_codec.errors import joined
from tests.subscription_codec.strategies import assignments, subscriptions

TOO_LONG = "é" * 40_000


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (Subscription(version=5), "version"),
        (Subscription(version=3, latest_supported=2**31), "latest_supported"),
        (Subscription(version=1, process_id="not a UUID"), "process_id"),
        (Subscription(version=1, prev_tasks=(TaskId(0, 0), TaskId(0, 2**31))), "prev_tasks[1].partition"),
        (Subscription(version=1, prev_tasks=(TaskId(0, None),)), "prev_tasks[0].partition"),
        (Subscription(version=2, user_end_point=None), "user_end_point"),
        (Subscription(version=2, user_end_point=7), "user_end_point"),
        (Subscription(version=2, user_end_point="\ud800"), "user_end_point"),
        (Assignment(version=0), "version"),
        (
            Assignment(version=1, standby_tasks=(StandbyTask(TaskId(0, 0), (TopicPartition(TOO_LONG, 0),)),)),
            "standby_tasks[0].partitions[0].topic",
        ),
        (
            Assignment(version=2, partitions_by_host=(HostPartitions(HostInfo(None, 1), ()),)),
            "partitions_by_host[0].host.host",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_field(record, field):
    with pytest.raises(EncodeError) as caught:
        (encode_subscription if isinstance(record, Subscription) else encode_assignment)(record)

    assert field == caught.value.field
    assert str(caught.value).startswith(field + ": ")


def test_an_error_without_a_field_is_just_its_problem():
    assert "no" == str(EncodeError("no"))


def test_paths_join_like_code():
    assert "a.b" == joined("a", "b")
    assert "a[0].b" == joined("a", "[0].b")
    assert "a" == joined("a", "")


@given(subscriptions())
def test_a_subscription_survives_json(subscription):
    assert subscription == from_fields("subscription", to_fields(subscription))


@given(assignments())
def test_an_assignment_survives_json(assignment):
    assert assignment == from_fields("assignment", to_fields(assignment))


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        ("subscription", {}, "version"),
        ("subscription", {"version": True}, "version"),
        ("subscription", {"version": 9}, "version"),
        ("subscription", {"version": 1, "userEndPoint": "a:1"}, "userEndPoint"),
        ("subscription", {"version": 1, "processId": "x"}, "processId"),
        ("subscription", {"version": 1, "processId": 3}, "processId"),
        ("subscription", {"version": 1, "prevTasks": 3}, "prevTasks"),
        ("subscription", {"version": 1, "prevTasks": [[0, 1], [0]]}, "prevTasks[1]"),
        ("subscription", {"version": 1, "prevTasks": [[0, "1"]]}, "prevTasks[0].partition"),
        ("subscription", {"version": 1, "trailing": "xyz"}, "trailing"),
        ("assignment", {"version": 1, "trailing": 3}, "trailing"),
    ],
)
def test_json_that_is_no_record_is_refused_by_field(kind, fields, field):
    with pytest.raises(EncodeError) as caught:
        from_fields(kind, fields)

    assert field == caught.value.field


def test_a_missing_field_takes_its_default_and_a_null_endpoint_is_empty():
    assert Subscription(version=2) == from_fields("subscription", {"version": 2, "userEndPoint": None})


def test_a_record_from_the_future_is_described_by_its_versions():
    expected = {"version": 9, "latestSupportedVersion": 11, "future": True}

    assert expected == describe(FutureSubscription(9, 11, b"rest"))


def test_a_record_is_described_by_its_fields():
    fields = {"version": 1, "processId": str(UUID(int=1)), "prevTasks": [[0, 3]], "standbyTasks": []}

    assert {"version": 1, "fields": fields} == describe(Subscription(1, -1, UUID(int=1), (TaskId(0, 3),)))


def test_names_print_as_kafka_writes_them():
    assert "0_3" == str(TaskId(0, 3))
    assert TaskId(0, 3) == TaskId.parse("0_3")
    assert "orders-3" == str(TopicPartition("orders", 3))
    assert "localhost:80" == str(HostInfo("localhost", 80))
