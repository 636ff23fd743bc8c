"""Records that cannot be written are refused by field; JSON and records have the same content."""

import json
from uuid import UUID

import pytest
from hypothesis import given

from streams_assignor.codec import (
    Assignment,
    ClientTag,
    EncodeError,
    FutureSubscription,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    decode_assignment,
    describe,
    encode_assignment,
    encode_subscription,
    explain,
    from_fields,
    to_fields,
    with_topic_dictionary,
)
from streams_assignor.codec.errors import join_path
from streams_assignor.codec.records import TopicEntry
from streams_assignor.codec.wire.hosts import IndexedPartition
from tests.subscription_codec.strategies import assignments, subscriptions

TOO_LONG = "é" * 40_000
NAMED = TaskId(0, 1, "name")


def by_host(topic, partition):
    return (HostPartitions(HostInfo("h", 1), (TopicPartition(topic, partition),)),)


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (Subscription(version=0), "version"),
        (Subscription(version=12), "version"),
        (Subscription(version="3"), "version"),
        (Assignment(version=12), "version"),
        (Subscription(version=3, supported_version=2**31), "supported_version"),
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
        (Subscription(8, unique_field=128), "unique_field"),
        (Subscription(8, unique_field=-129), "unique_field"),
        (Subscription(9, error_code=2**31), "error_code"),
        (Subscription(11, client_tags=(ClientTag("a", "b"), ClientTag("k", None))), "client_tags[1].value"),
        (Subscription(6, prev_tasks=(NAMED,)), "prev_tasks[0]"),
        (Subscription(9, task_offset_sums=(TaskOffsetSum(NAMED, 1),)), "task_offset_sums[0]"),
        (Subscription(10, task_offset_sums=(TaskOffsetSum(TaskId(0, 0), 2**63),)), "task_offset_sums[0].offset_sum"),
        (
            Subscription(10, task_offset_sums=(TaskOffsetSum(TaskId(0, 0, TOO_LONG), 0),)),
            "task_offset_sums[0].topology",
        ),
        (Assignment(9, active_tasks=(TaskId(0, 0), NAMED)), "active_tasks[1]"),
        (Assignment(9, standby_tasks=(StandbyTask(NAMED, ()),)), "standby_tasks[0].task"),
        (Assignment(10, active_tasks=(TaskId(0, 0, ""),)), "active_tasks[0].topology"),
        (Assignment(10, active_tasks=(TaskId(0, 0, 7),)), "active_tasks[0].topology"),
        (Assignment(7, next_rebalance_ms=2**63), "next_rebalance_ms"),
        (Assignment(6, partitions_by_host=by_host("t", 2**31)), "partitions_by_host[0].partitions[0].partition"),
        (
            Assignment(6, standby_partitions_by_host=by_host("t", None)),
            "standby_partitions_by_host[0].partitions[0].partition",
        ),
        (Assignment(5, partitions_by_host=((HostInfo("h", 1),),)), "partitions_by_host[0]"),
        (Assignment(5, partitions_by_host=by_host(TOO_LONG, 0)), "topics[0].topic"),
        (FutureSubscription(12, None), "version"),
        (FutureSubscription(2**31, 2**31), "version"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_field(record, field):
    with pytest.raises(EncodeError) as caught:
        (encode_assignment if isinstance(record, Assignment) else encode_subscription)(record)

    assert field == caught.value.field
    assert str(caught.value).startswith(field + ": ")


def test_an_error_without_a_field_is_just_its_problem():
    assert "no" == str(EncodeError("no"))


def test_paths_join_like_code():
    assert "a.b" == join_path("a", "b")
    assert "a[0].b" == join_path("a", "[0].b")
    assert "a" == join_path("a", "")


@given(subscriptions())
def test_a_subscription_survives_json(subscription):
    assert subscription == from_fields("subscription", to_fields(subscription))


@given(assignments())
def test_an_assignment_survives_json(assignment):
    assert assignment == from_fields("assignment", to_fields(assignment))


JSON_PARTITION = "partitionsByHost[0].partitions[0].partition"
NO_TOPIC = "partitions_by_host[0].partitions[0].topic"


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        ("subscription", {}, "version"),
        ("subscription", {"version": True}, "version"),
        ("subscription", {"version": 12}, "version"),
        ("subscription", {"version": 9, "taskOffsetSums": [[0, 1]]}, "taskOffsetSums[0].task"),
        ("subscription", {"version": 10, "taskOffsetSums": [[0, 1, "n", 5, 6]]}, "taskOffsetSums[0].task"),
        ("subscription", {"version": 10, "taskOffsetSums": [[]]}, "taskOffsetSums[0]"),
        ("subscription", {"version": 10, "taskOffsetSums": [7]}, "taskOffsetSums[0]"),
        ("subscription", {"version": 7, "uniqueField": 1}, "uniqueField"),
        ("subscription", {"version": 11, "clientTags": [["k"]]}, "clientTags[0]"),
        ("subscription", {"version": 6, "prevTasks": [[0, 1, "n"]]}, "prevTasks[0]"),
        ("assignment", {"version": 9, "activeTasks": [[0, 1, "n"]]}, "activeTasks[0]"),
        ("assignment", {"version": 5, "standbyPartitionsByHost": []}, "standbyPartitionsByHost"),
        ("assignment", {"version": 6, "partitionsByHost": [[["h", 1], [["t", None]]]]}, JSON_PARTITION),
        ("assignment", {"version": 5, "topics": [[0, "u"]], "partitionsByHost": [[["h", 1], [["t", 0]]]]}, NO_TOPIC),
        ("assignment", {"version": 5, "topics": [[0, []]]}, "topics[0].topic"),
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
    expected = {"version": 12, "latestSupportedVersion": 13, "future": True}

    assert expected == describe(FutureSubscription(12, 13, b"rest"))


@pytest.mark.parametrize("sums", [((0, 1, 5),), (None,)])
@pytest.mark.parametrize("version", [7, 11])
def test_a_value_that_is_no_offset_sum_is_refused_by_field(version, sums):
    with pytest.raises(EncodeError) as caught:
        encode_subscription(Subscription(version, version, task_offset_sums=sums))

    assert caught.value.field.startswith("task_offset_sums")


def test_the_dictionary_of_the_json_is_the_one_that_is_written():
    fields = {"version": 5, "topics": [[7, "u"], [3, "t"]], "partitionsByHost": [[["h", 1], [["t", 0]]]]}

    record = from_fields("assignment", fields)

    assert ((7, "u"), (3, "t")) == record.topics
    assert fields["topics"] == to_fields(decode_assignment(encode_assignment(record)))["topics"]


def test_without_a_dictionary_the_topics_are_numbered_in_order():
    hosts = (*by_host("u", 0), *by_host("t", 1))

    record = with_topic_dictionary(Assignment(6, 6, standby_partitions_by_host=hosts))

    assert ((0, "t"), (1, "u")) == record.topics
    assert record is with_topic_dictionary(record)
    assert () == Assignment(6, 6, standby_partitions_by_host=hosts).topics


def test_many_answers_share_one_dictionary():
    """A leader makes the host map once and adds each member's own tasks."""
    shared = with_topic_dictionary(Assignment(6, 6, partitions_by_host=by_host("t", 0)))
    answers = [shared._replace(active_tasks=(TaskId(0, number),)) for number in range(3)]

    assert [shared.partitions_by_host] * 3 == [decode_assignment(encode_assignment(each))[4] for each in answers]


def test_answers_that_share_host_maps_and_dictionary_encode_them_once():
    """They are nearly all bytes of the answers to a large group."""
    hosts = by_host("t", 0)
    shared = with_topic_dictionary(Assignment(6, 6, partitions_by_host=hosts, standby_partitions_by_host=hosts))
    columns = shared.partitions_by_host, shared.standby_partitions_by_host, shared.topics
    assert [None] * 3 == [each.encoded for each in columns]
    first = encode_assignment(shared)
    kept = [each.encoded for each in columns]

    assert first == encode_assignment(shared)
    assert [True] * 3 == [each.encoded is before for each, before in zip(columns, kept, strict=True)]
    assert all(each in first for each in kept)


@pytest.mark.parametrize("version", [5, 6, 11])
def test_a_host_map_may_be_replaced_in_a_decoded_record(version):
    decoded = decode_assignment(encode_assignment(Assignment(version, version, partitions_by_host=by_host("t", 0))))

    changed = decoded._replace(partitions_by_host=by_host("u", 1))

    assert changed == decode_assignment(encode_assignment(changed))


@pytest.mark.parametrize("version", [1, 4, 5, 6, 11])
def test_a_decoded_record_may_be_written_as_another_version(version):
    """Down- and upgrades: a field that the version does not have is not written."""
    decoded = decode_assignment(
        encode_assignment(Assignment(5, 5, (TaskId(0, 1),), partitions_by_host=by_host("t", 0)))
    )

    again = decode_assignment(encode_assignment(decoded._replace(version=version)))

    assert decoded.active_tasks == again.active_tasks
    assert (by_host("t", 0) if version > 1 else ()) == again.partitions_by_host


@given(subscriptions() | assignments())
def test_the_json_of_a_record_is_json(record):
    kind = type(record).__name__.lower()

    assert record == from_fields(kind, json.loads(json.dumps(to_fields(record))))


def test_the_dictionary_survives_json_too():
    record = with_topic_dictionary(Assignment(6, 6, partitions_by_host=by_host("t", 0)), (TopicEntry(9, "t"),))

    assert record.topics == from_fields("assignment", to_fields(record)).topics


def test_lists_are_accepted_wherever_tuples_are():
    tasks = [TaskId(0, 1), TaskId(2, 3)]

    assert tuple(tasks) == decode_assignment(encode_assignment(Assignment(11, 11, active_tasks=tasks))).active_tasks
    assert decode_assignment(encode_assignment(Assignment(4, 4, active_tasks=tasks))).active_tasks == tuple(tasks)


def test_a_record_is_described_by_its_fields():
    fields = {"version": 1, "processId": str(UUID(int=1)), "prevTasks": [[0, 3]], "standbyTasks": []}

    assert {"version": 1, "fields": fields} == describe(Subscription(1, -1, UUID(int=1), (TaskId(0, 3),)))


def test_names_print_as_kafka_writes_them():
    assert "0_3" == str(TaskId(0, 3))
    assert TaskId(0, 3) == TaskId.parse("0_3")
    assert "orders-3" == str(TopicPartition("orders", 3))
    assert "localhost:80" == str(HostInfo("localhost", 80))
    assert "name__0_3" == str(TaskId(0, 3, "name"))
    assert TaskId(0, 3, "a__b_c") == TaskId.parse("a__b_c__0_3")
    assert "topic 3, partition 0" == str(IndexedPartition(3, 0))


@pytest.mark.parametrize("text", ["", "0", "0_", "_0", "x_0", "name__0"])
def test_text_that_is_no_task_is_not_parsed(text):
    with pytest.raises(ValueError, match="invalid literal"):
        TaskId.parse(text)


def test_the_trailing_value_must_be_bytes():
    with pytest.raises(EncodeError, match="trailing: needs bytes"):
        encode_subscription(Subscription(1, trailing="text"))


def test_a_decoded_host_map_and_a_tuple_share_one_dictionary():
    hosts = (HostPartitions(HostInfo("h", 1), (TopicPartition("a", 0),)),)
    others = (HostPartitions(HostInfo("i", 1), (TopicPartition("b", 1),)),)
    decoded = decode_assignment(encode_assignment(Assignment(5, 5, partitions_by_host=hosts)))

    mixed = decoded._replace(version=6, standby_partitions_by_host=others)

    assert mixed == decode_assignment(encode_assignment(mixed))


def test_explain_shows_a_client_tag_as_key_and_value():
    encoded = encode_subscription(Subscription(11, 11, client_tags=(ClientTag("zone", "eu-1a"),)))

    assert "zone=eu-1a" in [part.value for part in explain("subscription", encoded)]
