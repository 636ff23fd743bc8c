"""The fast path gives up, or it agrees with the reference path."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.codec import (
    Assignment,
    ClientTag,
    CodecError,
    DecodeError,
    EncodeError,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    consumer_protocol,
    encode_assignment,
    encode_subscription,
    to_fields,
    with_topic_dictionary,
)
from streams_assignor.codec.layout import ASSIGNMENT_LAYOUTS, SUBSCRIPTION_LAYOUTS
from streams_assignor.codec.records import TopicEntry
from streams_assignor.codec.wire.codegen import FALLBACK_ERRORS
from streams_assignor.codec.wire.hosts import TopicDictionaryType
from streams_assignor.codec.wire.schema import Layout
from streams_assignor.codec.wire.structs import Field, Nullable, Struct
from streams_assignor.codec.wire.text import Utf8
from streams_assignor.codec.wire.types import (
    INT_32,
    Array,
    Bytes,
    List,
    WireType,
    read_unsigned_varint,
    unsigned_varint,
)
from tests.each import each_third
from tests.subscription_codec import naive
from tests.subscription_codec.strategies import assignments, subscriptions
from tests.subscription_codec.test_consumer_protocol import member_subscriptions
from tests.subscription_codec.test_vectors import ROWS

LAYOUTS = {"subscription": SUBSCRIPTION_LAYOUTS, "assignment": ASSIGNMENT_LAYOUTS}
ALL_LAYOUTS = [
    *SUBSCRIPTION_LAYOUTS.values(),
    *ASSIGNMENT_LAYOUTS.values(),
    *consumer_protocol.SUBSCRIPTION_LAYOUTS.values(),
    consumer_protocol.ASSIGNMENT_LAYOUTS[0],
]
VERSIONS = sorted(SUBSCRIPTION_LAYOUTS)
REFUSED = "refused"
records = subscriptions() | assignments()
usual_records = subscriptions(usual=True) | assignments(usual=True)


def layout_of(record):
    return (SUBSCRIPTION_LAYOUTS if isinstance(record, Subscription) else ASSIGNMENT_LAYOUTS)[record.version]


def bytes_of(record):
    return encode_subscription(record) if isinstance(record, Subscription) else encode_assignment(record)


def ready(record):
    """The record for the encoders: an assignment of version 5 or later has its dictionary."""
    return with_topic_dictionary(record) if isinstance(record, Assignment) and record.version >= 5 else record


def fast_read(encoded, layout):
    """The record of the fast path."""
    return layout.fast_decode(encoded, 0)


def decode_by_both(encoded, layout):
    """The results of the fast path (None: it gave up) and of the reference path."""
    try:
        by_reference = layout.decode_by_reference(encoded)
    except CodecError:
        by_reference = REFUSED
    try:
        return fast_read(encoded, layout), by_reference
    except FALLBACK_ERRORS:
        return None, by_reference


def assert_both_paths_agree(encoded, layout):
    by_fast_path, by_reference = decode_by_both(encoded, layout)
    if by_fast_path is not None:
        assert by_reference == by_fast_path
        assert getattr(by_reference, "topics", ()) == getattr(by_fast_path, "topics", ())
        assert repr(by_reference) == repr(by_fast_path)  # columns print like tuples, so all types are the same too


@given(records)
def test_both_paths_decode_encoded_records(record):
    assert_both_paths_agree(bytes_of(record), layout_of(record))


@given(usual_records)
def test_the_fast_path_decodes_and_encodes_all_usual_records(record):
    """No other test fails if the fast path gives up: it only gets slower."""
    encoded, layout = bytes_of(record), layout_of(record)

    assert record == fast_read(encoded, layout)
    assert encoded == layout.fast_encode(ready(record))
    assert encoded == layout.fast_encode(fast_read(encoded, layout))


@given(member_subscriptions().filter(lambda member: member.version <= 3))
def test_the_fast_path_decodes_and_encodes_usual_envelopes(member):
    layout = consumer_protocol.SUBSCRIPTION_LAYOUTS[member.version]
    encoded = consumer_protocol.encode_consumer_subscription(member)

    assert member == fast_read(encoded, layout)
    assert encoded == layout.fast_encode(member)


@pytest.mark.parametrize("rack", [None, "", "r\u00e4ck"])
@pytest.mark.parametrize("userdata", [None, b"", b"userdata"])
@pytest.mark.parametrize("layouts", [consumer_protocol.SUBSCRIPTION_LAYOUTS, consumer_protocol._LAYOUTS_WITHOUT_TOPICS])
def test_both_paths_agree_about_nulls_and_every_prefix_of_an_envelope(layouts, userdata, rack):
    member = consumer_protocol.ConsumerSubscription(("a", "bc"), userdata, rack_id=rack, version=3)
    encoded, layout = consumer_protocol.encode_consumer_subscription(member), layouts[3]

    assert consumer_protocol.SUBSCRIPTION_LAYOUTS[3].encode_by_reference(member) == encoded
    assert (userdata, rack) == (fast_read(encoded, layout).user_data, fast_read(encoded, layout).rack_id)
    assert_both_paths_agree(encoded, layout)
    for length in range(2, len(encoded)):
        with pytest.raises(FALLBACK_ERRORS):
            fast_read(encoded[:length], layout)
        with pytest.raises(CodecError):
            layout.decode_by_reference(encoded[:length])


def encoded_by_fast_path(record, layout):
    record = ready(record)
    try:
        return layout.fast_encode(record)
    except FALLBACK_ERRORS:
        return None


def encoded_by_reference(record, layout):
    try:
        return layout.encode_by_reference(record)
    except (CodecError, TypeError) as error:
        return error


@given(records)
def test_both_paths_encode_the_same_bytes(record):
    layout = layout_of(record)
    by_reference = layout.encode_by_reference(ready(record))

    assert encoded_by_fast_path(record, layout) in (None, by_reference)


@given(records, st.data())
def test_both_paths_agree_about_damaged_bytes(record, data):
    encoded = bytearray(bytes_of(record))
    at = data.draw(st.integers(0, len(encoded)))
    damage = data.draw(st.binary(max_size=4) | st.sampled_from([b"\xff" * 4, b"\x7f" + b"\xff" * 3, bytes(4)]))
    encoded[at : at + data.draw(st.integers(0, 5))] = damage

    assert_both_paths_agree(bytes(encoded), layout_of(record))


@given(st.sampled_from(ALL_LAYOUTS), st.binary(max_size=120))
def test_both_paths_agree_about_any_bytes(layout, encoded):
    assert_both_paths_agree(encoded, layout)


@given(
    st.sampled_from(ALL_LAYOUTS), st.lists(st.sampled_from([b"\0", b"\0\0\0\1", b"\0\1a", b"\xff\xff"]), max_size=40)
)
def test_both_paths_agree_about_nearly_valid_bytes(layout, pieces):
    assert_both_paths_agree(b"".join(pieces), layout)


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("version", each_third(VERSIONS))
def test_both_paths_agree_about_the_bytes_of_all_jars(kind, version):
    layout = LAYOUTS[kind][version]
    of_this_version = [row for row in ROWS if (row["kind"], row["version"]) == (kind, version) and "hex" in row]
    for row in of_this_version:
        encoded = bytes.fromhex(row["hex"])
        assert_both_paths_agree(encoded, layout)
        if row.get("malformed") == "truncated":
            for length in range(len(encoded)):
                assert_both_paths_agree(encoded[:length], layout)
        if "fields" in row:
            record = layout.decode_by_reference(encoded)
            assert encoded_by_fast_path(record, layout) in (None, encoded)
            assert encoded == layout.encode_by_reference(record)


NOT_WRITABLE = [
    None, "", "ab", b"ab", 1.5, -1, 2**31, 2**63, (None,), (7,), ((0, 1),), [[0, 1]], ((0, 1, None, 3),),
    (TaskId(0, None),), (TaskId(2**31, 0),), (TaskId(0, 0, "name"),), [("key", None)], [("\ud800", "")],
    (TaskOffsetSum(TaskId(0, 1), 2**63),), (TaskOffsetSum(TaskId(0, 1), 1.0),), (TaskOffsetSum(TaskId(0, 1, "n"), 0),),
    (StandbyTask(TaskId(0, 1), (TopicPartition("t", None),)),), (StandbyTask(TaskId(0, 1), ("ab",)),),
    (HostPartitions(HostInfo("h", 2**31), ()),), (HostPartitions(HostInfo(None, 1), ()),),
]  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", [Subscription, Assignment])
def test_the_reference_path_encodes_all_that_the_fast_path_encodes(kind, version):
    for field in kind._fields[1:-1]:
        for value in NOT_WRITABLE:
            try:
                record = ready(kind(version)._replace(**{field: value}))
            except FALLBACK_ERRORS:  # there is no dictionary for it
                continue
            by_fast_path = encoded_by_fast_path(record, layout_of(record))
            if by_fast_path is not None:
                assert encoded_by_reference(record, layout_of(record)) == by_fast_path, (field, value)


EXTREMES = [0, 1, -1, 2**31 - 1, -(2**31), 65536]


def tasks(size):
    return tuple(TaskId(EXTREMES[index * 6 // size], EXTREMES[index % 6] ^ index // 6) for index in range(size))


@pytest.mark.unmeasured
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 47, 48, 49, 50, 51, 100, 1000])
@pytest.mark.parametrize("version", each_third(VERSIONS))
def test_every_number_of_tasks_survives_both_paths(version, size):
    """Long lists are copied in strides, short ones one by one; off-by-one errors occur in between."""
    ids = tasks(size)
    sums = tuple(TaskOffsetSum(task, (-1) ** index * (2**62 + index)) for index, task in enumerate(ids))
    standby = tuple(StandbyTask(task, (TopicPartition("t", task.partition),)) for task in ids[:50])
    hosts = tuple(HostPartitions(HostInfo(f"h{task.partition}", 1), (TopicPartition("t", 3),)) for task in ids[:50])
    for record in (
        Subscription(version, max(version, 3), prev_tasks=ids, standby_tasks=ids[1:], task_offset_sums=sums),
        Assignment(version, 3, ids, standby, hosts, hosts[1:]),
    ):
        encoded, layout = bytes_of(record), layout_of(record)
        by_fast_path, by_reference = decode_by_both(encoded, layout)

        assert by_reference == by_fast_path
        assert layout.encode_by_reference(ready(record)) == encoded == layout.fast_encode(ready(record))
        assert encoded == layout.fast_encode(by_reference if version < 5 else by_fast_path)
        assert getattr(naive, type(record).__name__.lower())(encoded) == to_fields(record) == to_fields(by_fast_path)


def test_the_fast_path_leaves_named_topologies_to_the_reference_path():
    named = TaskId(0, 1, "name")
    for record in (
        Subscription(11, 11, task_offset_sums=(TaskOffsetSum(TaskId(0, 0), 5), TaskOffsetSum(named, 5))),
        Assignment(11, 11, active_tasks=(TaskId(0, 0), named)),
    ):
        encoded, layout = bytes_of(record), layout_of(record)

        assert (None, record) == decode_by_both(encoded, layout)
        with pytest.raises(FALLBACK_ERRORS):
            layout.fast_encode(ready(record))


def test_the_source_of_the_fast_path_is_readable():
    assert SUBSCRIPTION_LAYOUTS[1].fast_path.source.startswith(
        "def read(data, at):\n"
        '    version = number(data[at:at + 4], "big", signed=True)\n'
        "    process_id = cached_uuid(data[at + 4:at + 20])\n"
    )


class Varint(WireType[int]):
    """A type that no layout has yet: ``codegen`` has no source for it."""

    name = "varint"
    size = 1

    def read(self, reader):
        return read_unsigned_varint(reader)

    def write(self, out, value):
        if value < 0:
            raise EncodeError(f"needs 0 or more, got {value}")
        out += unsigned_varint(value)

    def from_json(self, value):
        return value


class NeedsDictionary(Varint):
    """A type that refers to the topic dictionary of the message."""

    def read(self, reader):
        return reader.topic_dictionary[super().read(reader)].topic_index


def subscription_with(wire, count=1, value=300):
    """A layout with a type as a field, and in a list of rows; and a record of it."""
    rows = Array(Struct("Row", Field("key", Utf8(2)), Field("value", wire), make=ClientTag))
    layout = Layout(
        "Subscription",
        Field("version", INT_32),
        Field("errorCode", wire, "error_code"),
        Field("clientTags", rows, "client_tags"),
        record=Subscription,
    )
    tags = tuple(ClientTag(f"k{number}", value) for number in range(count))
    return layout, Subscription(12, error_code=value, client_tags=tags)


UNUSUAL_TYPES = {
    "varint": (Varint(), 300),
    "text after a varint": (Utf8(0), "\u00e9"),
    "bytes after a varint": (Bytes(0, nullable=True), None),
    "bytes after a short length": (Bytes(2, nullable=True), b"ab"),
    "bytes that are not null": (Bytes(4), b"ab"),
    "list with a short count": (Array(INT_32, 2), (1, 2)),
    "list that can be null": (Array(Utf8(2), nullable=True), None),
    "list of lists": (List(List(INT_32)), [[1], []]),
    "struct with tagged fields": (Struct("S", Field("a", INT_32), Field("b", INT_32, tag=3), flexible=True), {"a": 1}),
    "struct that can be null": (Nullable(Struct("S", Field("a", INT_32))), {"a": 1}),
}


@pytest.mark.parametrize("count", [0, 1, Array.MAX_TUPLE + 1])
@pytest.mark.parametrize(("wire", "value"), UNUSUAL_TYPES.values(), ids=UNUSUAL_TYPES)
def test_a_type_that_the_fast_path_does_not_know_is_read_and_written_by_it(wire, value, count):
    layout, record = subscription_with(wire, count, value)
    encoded = layout.encode_by_reference(record)

    assert encoded == layout.fast_encode(record)
    assert record == fast_read(encoded, layout) == layout.decode(encoded)


@pytest.mark.parametrize(("cut", "where"), [(4, "error_code at offset 4"), (-1, "client_tags[19].value at offset")])
def test_errors_of_such_a_type_are_those_of_the_reference_path(cut, where):
    layout, record = subscription_with(Varint(), 20)

    with pytest.raises(DecodeError, match=re.escape(where)):
        layout.decode(layout.encode_by_reference(record)[:cut])
    with pytest.raises(EncodeError, match="error_code: needs 0 or more, got -1"):
        layout.encode(record._replace(error_code=-1))


def test_a_new_type_that_needs_the_dictionary_is_left_to_the_reference_path():
    """A reader of the fast path has no dictionary: it must not take it for an empty one."""
    layout = Layout(
        "Assignment",
        Field("version", INT_32),
        Field("topics", TopicDictionaryType()),
        Field("errCode", NeedsDictionary(), "error_code"),
        record=Assignment,
    )
    topics = (TopicEntry(7, "a"), TopicEntry(8, "b"))
    encoded = (12).to_bytes(4, "big") + b"\0\0\0\2\0\0\0\7\0\1a\0\0\0\x08\0\1b" + b"\1"

    with pytest.raises(AttributeError):
        fast_read(encoded, layout)
    assert topics[1].topic_index == layout.decode(encoded).error_code
