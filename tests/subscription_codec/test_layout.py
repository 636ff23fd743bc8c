"""A new version is one row in the table of its message; nothing else has to change."""

import importlib
from pathlib import Path

import pytest

from streams_assignor.codec import (
    Assignment,
    EncodeError,
    FutureSubscription,
    FutureVersion,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    consumer_protocol,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    explain,
    from_fields,
    to_fields,
)
from streams_assignor.codec.errors import Truncated
from streams_assignor.codec.layout import ASSIGNMENT_LAYOUTS, SUBSCRIPTION_LAYOUTS
from streams_assignor.codec.wire.schema import NOT_FLEXIBLE, Schema
from streams_assignor.codec.wire.structs import Field, Struct
from streams_assignor.codec.wire.tasks import INT_32, TaskIdsType
from streams_assignor.codec.wire.types import Array, ColumnType

TASKS = (TaskId(0, 1), TaskId(2, 3))
HOSTS = (HostPartitions(HostInfo("h", 1), (TopicPartition("t", 0),)),)
FROM_12 = Subscription(12, 12, prev_tasks=TASKS, task_offset_sums=(TaskOffsetSum(TASKS[0], 9),), user_end_point="h:1")
TO_12 = Assignment(12, 12, TASKS, (StandbyTask(TASKS[0], ()),), HOSTS, HOSTS, 3, 1234)


@pytest.fixture(autouse=True)
def version_12(monkeypatch):
    """Version 11 of both messages with one more field: the previous tasks again, and the error code twice."""
    monkeypatch.setitem(
        SUBSCRIPTION_LAYOUTS,
        12,
        version_with(SUBSCRIPTION_LAYOUTS[11], Field("ownedTasks", TaskIdsType(), "prev_tasks")),
    )
    monkeypatch.setitem(
        ASSIGNMENT_LAYOUTS, 12, version_with(ASSIGNMENT_LAYOUTS[11], Field("newCode", INT_32, "error_code"))
    )


def version_with(layout, field):
    """The layout of a schema that has one more row."""
    return Schema(layout.name, (*layout.fields, field), flexible=NOT_FLEXIBLE, record=layout.record).layouts[0]


def test_the_new_version_is_written_and_read():
    assert FROM_12 == decode_subscription(encode_subscription(FROM_12), supported_version=12)
    assert TO_12 == decode_assignment(encode_assignment(TO_12), supported_version=12)


def test_the_new_field_follows_the_old_fields():
    old = encode_subscription(FROM_12._replace(version=11))
    new = bytes.fromhex("0000000200000000000000010000000200000003")

    assert bytes.fromhex("0000000c") + old[4:] + new == encode_subscription(FROM_12)
    assert encode_assignment(TO_12._replace(version=11))[4:] + bytes([0, 0, 0, 3]) == encode_assignment(TO_12)[4:]


def test_both_paths_know_the_new_version():
    for record, layout in ((FROM_12, SUBSCRIPTION_LAYOUTS[12]), (decoded(TO_12), ASSIGNMENT_LAYOUTS[12])):
        assert record == layout.fast_decode(layout.fast_encode(record), 0)
        assert layout.encode_by_reference(record) == layout.fast_encode(record)
        assert record == layout.decode_by_reference(layout.fast_encode(record))


def decoded(assignment):
    return decode_assignment(encode_assignment(assignment), supported_version=12)


def test_for_a_reader_of_version_11_it_is_a_future_subscription():
    encoded = encode_subscription(FROM_12)

    assert FutureSubscription(12, 12, encoded[8:]) == decode_subscription(encoded, supported_version=11)
    assert decode_subscription(encoded) == decode_subscription(encoded, supported_version=11)
    with pytest.raises(FutureVersion, match="used version 12; latest supported version: 11"):
        decode_assignment(encode_assignment(TO_12), supported_version=11)
    with pytest.raises(FutureVersion):
        decode_assignment(encode_assignment(TO_12))


def test_the_new_version_is_explained():
    encoded = encode_subscription(FROM_12)

    parts = list(explain("subscription", encoded, supported_version=12))

    assert encoded == b"".join(part.raw for part in parts)
    assert ["ownedTasks.count", "ownedTasks[0]", "ownedTasks[1]"] == [part.field for part in parts[-3:]]
    assert ["2", "0_1", "2_3"] == [part.value for part in parts[-3:]]
    assert "newCode" == list(explain("assignment", encode_assignment(TO_12), supported_version=12))[-1].field
    assert "version 12 is not known here (up to 11)" == list(explain("subscription", encoded))[-1].value


def test_the_new_version_has_json():
    subscription, assignment = to_fields(FROM_12), to_fields(TO_12)

    assert [[0, 1], [2, 3]] == subscription["ownedTasks"]
    assert 3 == assignment["newCode"]
    assert FROM_12 == from_fields("subscription", subscription)
    assert TO_12 == from_fields("assignment", assignment)


def test_errors_name_the_new_field():
    with pytest.raises(Truncated) as caught:
        decode_assignment(encode_assignment(TO_12)[:-1], supported_version=12)
    assert "error_code" == caught.value.field
    with pytest.raises(EncodeError) as refused:
        encode_subscription(FROM_12._replace(prev_tasks=(TaskId(0, None),)))
    assert "prev_tasks[0].partition" == refused.value.field


def test_the_version_after_the_new_one_is_not_known():
    with pytest.raises(EncodeError, match="must be one of 1 to 12, got 13"):
        encode_subscription(FROM_12._replace(version=13))


def structures(wire):
    if isinstance(wire, ColumnType):
        yield from structures(wire.inner)
    elif isinstance(wire, Array):
        yield from structures(wire.item)
    elif isinstance(wire, Struct):
        yield wire
        for field in wire.members:
            yield from structures(field.wire)


@pytest.mark.parametrize(
    "layouts",
    [
        SUBSCRIPTION_LAYOUTS,
        ASSIGNMENT_LAYOUTS,
        consumer_protocol.SUBSCRIPTION_LAYOUTS,
        consumer_protocol.ASSIGNMENT_LAYOUTS,
    ],
    ids=["subscription", "assignment", "envelope-subscription", "envelope-assignment"],
)
def test_the_page_of_metadata_has_each_field_and_each_structure(layouts, monkeypatch):
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(docs)
    page = importlib.import_module("tables").for_the_site((docs / "reference/metadata.md").read_text())
    released = (layout for version, layout in layouts.items() if version != 12)  # 12 is of this file
    for field in (field for layout in released for field in layout.members):
        assert f"| `{field.name}` | `{field.key}` | {field.wire.name} |" in page
        for each in structures(field.wire):
            members = ", ".join(f"`{member.name}` {member.wire.name}" for member in each.members)
            assert f"| `{each.name}` | {members} |" in page
