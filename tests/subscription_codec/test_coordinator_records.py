"""The records of `__consumer_offsets`: inverse, strict about bytes, and the same as Kafka's generated classes."""

import json
from base64 import b64encode
from contextlib import suppress
from random import Random

import pytest

from streams_assignor.codec import DecodeError, EncodeError, FutureVersion
from streams_assignor.codec.coordinator import (
    RECORD_TYPES,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    record_type_number,
)
from streams_assignor.codec.errors import BadCount, BadVersion, TrailingBytes, Truncated
from streams_assignor.codec.wire.codegen import FALLBACK_ERRORS
from streams_assignor.codec.wire.structs import UNKNOWN_TAGS
from streams_assignor.codec.wire.types import BOOLEAN
from tests.matrix import with_matrix
from tests.subscription_codec.coordinator_draws import coordinator_oracle, draw_fields

VALUES = [(number, version) for number, kind in RECORD_TYPES.items() for version in range(kind.value.latest + 1)]
OFFSET_COMMIT, GROUP_METADATA, CONSUMER_GROUP = RECORD_TYPES[1], RECORD_TYPES[2], RECORD_TYPES[3]
RELEASES = ["3.9.2", "4.1.2", "4.2.0", "4.3.1", "4.4.0"]
# Names that a release does not have: group types that came later, and previews that it gave another layout.
ABSENT = {
    "3.9.2": {"LegacyOffsetCommit", "ConsumerGroupRegularExpression", "ShareGroup", "StreamsGroup"},
    "4.1.2": {"ShareGroupPartitionMetadata"},
    "4.2.0": {"ShareGroupPartitionMetadata"},
    "4.3.1": {"ShareGroupPartitionMetadata"},
    "4.4.0": {"ShareGroupPartitionMetadata"},
}


@pytest.mark.unmeasured
@pytest.mark.parametrize(("number", "version"), VALUES)
def test_decode_is_the_inverse_of_encode(number, version):
    random, kind = Random(number * 8 + version), RECORD_TYPES[number]
    for _ in range(50):
        key, value = draw_fields(random, kind.key, 0), draw_fields(random, kind.value, version)
        assert decode_key(encode_key(kind, key)) == (kind, key)
        assert decode_value(kind, encode_value(kind, version, value)) == (version, value)


@pytest.mark.unmeasured
@pytest.mark.parametrize(("number", "version"), VALUES)
def test_any_prefix_and_any_changed_byte_is_decoded_or_refused(number, version):
    random, kind = Random(number), RECORD_TYPES[number]
    encoded = encode_value(kind, version, draw_fields(random, kind.value, version))
    for end in range(len(encoded)):
        _decodes_or_refuses(kind, encoded[:end])
    for _ in range(300):
        damaged = bytearray(encoded)
        damaged[random.randrange(len(damaged))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.getrandbits(8)))
        _decodes_or_refuses(kind, bytes(damaged))


def _decodes_or_refuses(kind, encoded):
    with suppress(DecodeError):  # any other error fails the test
        decode_value(kind, encoded)


@pytest.mark.unmeasured
@pytest.mark.parametrize(("number", "version"), VALUES)
def test_the_compiled_decoder_reads_what_the_reference_reads_and_refuses_the_rest(number, version):
    random, schema = Random(number), RECORD_TYPES[number].value
    layout, fields = schema.layouts[version], draw_fields(random, schema, version)
    encoded = encode_value(RECORD_TYPES[number], version, fields)
    assert encoded[2:] == layout.encode_by_reference(fields)
    for _ in range(500):
        damaged = bytearray(encoded[: random.choice((len(encoded), random.randrange(2, len(encoded) + 1)))])
        damaged[random.randrange(len(damaged))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.getrandbits(8)))
        found = expected = None
        with suppress(*FALLBACK_ERRORS):
            found = layout.fast_decode(bytes(damaged), 2)
        with suppress(DecodeError):
            expected = layout.decode_by_reference(bytes(damaged), 2)
        assert found == expected


def test_an_unknown_tagged_field_is_kept():
    value = {"epoch": 3, UNKNOWN_TAGS: {9: b"new"}}
    encoded = encode_value(CONSUMER_GROUP, 0, value)
    assert (0, value) == decode_value(CONSUMER_GROUP, encoded)


def test_a_share_group_of_a_preview_is_read_with_the_layout_of_its_time():
    assert (0, {"epoch": 5}) == decode_value(RECORD_TYPES[11], bytes.fromhex("00000000000500"))


@pytest.mark.parametrize(
    ("error", "key"),
    [
        (Truncated, None),
        (Truncated, b"\x00"),
        (FutureVersion, b"\x00\x12"),
        (FutureVersion, b"\xff\xff"),
        (Truncated, b"\x00\x02\x00\x05abc"),
        (TrailingBytes, b"\x00\x02\x00\x01aX"),
        (BadCount, b"\x00\x02\xff\xff"),
    ],
)
def test_a_malformed_key_is_refused(error, key):
    with pytest.raises(DecodeError) as caught:
        decode_key(key)
    assert isinstance(caught.value, error | BadCount)


def test_a_version_that_no_release_writes_is_refused():
    with pytest.raises(FutureVersion, match="OffsetCommitValue 5; the highest known version is 4"):
        decode_value(OFFSET_COMMIT, b"\x00\x05")
    with pytest.raises(BadVersion):
        decode_value(OFFSET_COMMIT, b"\xff\xff")
    with pytest.raises(Truncated):
        decode_value(OFFSET_COMMIT, b"\x00")
    with pytest.raises(EncodeError, match="versions 0 to 4, got 5"):
        encode_value(OFFSET_COMMIT, 5, {})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"members": None}, "members: must not be null"),
        ({"members": 3}, r"members: needs \[MemberMetadata\], got 3"),
        ({"members": [{}]}, r"members\[0\]\.memberId: is missing"),
        ({"members": [3]}, r"members\[0\]: needs MemberMetadata, got 3"),
        ({"protocolType": 3}, "protocolType: needs a string, got 3"),
        ({"protocolType": "x" * 40_000}, "protocolType: a length of 40000 does not fit into 2 bytes"),
        ({"generation": 1 << 40}, "generation: needs an integer of 4 bytes"),
    ],
)
def test_a_value_that_does_not_fit_is_named(changes, message):
    fields = {"protocolType": "consumer", "generation": 1, "protocol": None, "leader": None, "members": [], **changes}
    with pytest.raises(EncodeError, match=message):
        encode_value(GROUP_METADATA, 0, fields)


@pytest.mark.parametrize(
    ("number", "field", "value", "message"),
    [
        (7, "topicPartitions", [{"topicId": "short", "partitions": []}], "needs a UUID of 22 characters, got 'short'"),
        (7, "topicPartitions", [{"topicId": 7, "partitions": []}], "needs a UUID of 22 characters, got 7"),
        (19, "userEndpoint", {"host": "h", "port": -1}, "needs an unsigned integer of 2 bytes, got -1"),
    ],
)
def test_a_value_of_a_new_group_that_does_not_fit_is_named(number, field, value, message):
    kind = RECORD_TYPES[number]
    with pytest.raises(EncodeError, match=message):
        encode_value(kind, 0, {**draw_fields(Random(1), kind.value, 0), field: value})


def test_bytes_are_refused_where_bytes_are_needed():
    kind = RECORD_TYPES[5]
    member = {"sessionTimeoutMs": 1, "supportedProtocols": [{"name": "range", "metadata": "text"}]}
    with pytest.raises(EncodeError, match=r"supportedProtocols\[0\]\.metadata: needs bytes, got 'text'"):
        encode_value(kind, 0, {**draw_fields(Random(1), kind.value, 0), "classicMemberMetadata": member})


def test_a_member_of_kip_848_without_classic_metadata_is_read():
    """A tagged struct says null with 0; as in other fields, it was taken for a struct, and no member was read."""
    written = "0000000002620b2f3132372e302e302e310212706c61696e2d636f6e7665727465642d310100001f400001000100"
    _, fields = decode_value(RECORD_TYPES[5], bytes.fromhex(written))

    assert (fields["clientId"], fields["classicMemberMetadata"]) == ("b", None)
    assert encode_value(RECORD_TYPES[5], 0, fields).hex() == written


def test_a_tagged_field_with_a_wrong_size_is_refused():
    with pytest.raises(BadCount, match="a tagged field of 7 bytes that takes 8"):
        decode_value(CONSUMER_GROUP, bytes.fromhex("000000000001010007") + bytes(8))
    with pytest.raises(BadCount, match="more than 5 bytes"):
        decode_value(CONSUMER_GROUP, bytes.fromhex("000000000001ffffffffff01"))
    with pytest.raises(Truncated, match="metadataHash"):
        decode_value(CONSUMER_GROUP, bytes.fromhex("000000000001010007") + bytes(7))


def test_the_type_of_a_key_is_read_without_the_rest():
    assert 1 == record_type_number(b"\x00\x01")


@pytest.fixture(scope="module", params=with_matrix(RELEASES, ["3.9.2", "4.4.0"], "a release in between"))
def oracle(request):
    yield from coordinator_oracle(request.param)


def _has(release, name):
    return not any(name.startswith(absent) for absent in ABSENT[release])


def _drawn(oracle):
    """Yield every key and value that the release has, in every version: its number there, and drawn fields."""
    for kind in RECORD_TYPES.values():
        if not _has(oracle.release, kind.name):
            continue
        random = Random(kind.number)
        for schema, version in [(kind.key, 0), *((kind.value, version) for version in range(kind.value.latest + 1))]:
            if kind.number == 0 and schema is kind.value:
                continue  # Kafka reads these values with the schema of OffsetCommitValue
            _, highest = _versions(oracle, schema.name)
            asked = kind.number if schema is kind.key and highest > 0 else version
            if asked <= highest:
                for _ in range(30):
                    yield kind, schema, version, asked, draw_fields(random, schema, version)


def _encoded(kind, schema, version, fields):
    return (encode_key(kind, fields) if schema is kind.key else encode_value(kind, version, fields))[2:]


@pytest.mark.java
def test_kafka_reads_what_is_written_and_says_the_same(oracle):
    """Every key and value that the release has, in every version: equal JSON, and the same bytes written again."""
    questions, expected = [], []
    for kind, schema, version, asked, fields in _drawn(oracle):
        encoded = _encoded(kind, schema, version, fields).hex()
        questions.append({"op": "decode", "message": schema.name, "version": asked, "hex": encoded})
        expected.append(fields)
    for question, fields, answer in zip(questions, expected, oracle.ask(questions), strict=True):
        assert question["hex"] == answer.get("hex"), (question, answer)
        assert 0 == answer["left"], question
        known = json.loads(answer["json"])
        assert _in_json(fields, known) == known, question


@pytest.mark.java
def test_what_kafka_writes_is_read_and_written_alike(oracle):
    """Kafka makes the bytes of every key and value from JSON, without bytes of ours."""
    drawn = list(_drawn(oracle))
    questions = [
        {"op": "encode", "message": schema.name, "version": asked, "json": json.dumps(_in_json(fields, fields))}
        for _, schema, _, asked, fields in drawn
    ]
    for (kind, schema, version, _, fields), answer in zip(drawn, oracle.ask(questions), strict=True):
        number = kind.number if schema is kind.key else version
        written = number.to_bytes(2, "big") + bytes.fromhex(answer["hex"])
        read = decode_key(written).fields if schema is kind.key else decode_value(kind, written).fields
        known = json.loads(answer["json"])  # a tagged field that the release does not know is not written
        assert _in_json(read, read) == known == _in_json(fields, known)
        assert written[2:] == _encoded(kind, schema, version, read)


def _versions(oracle, message):
    (answer,) = oracle.ask([{"op": "versions", "message": message}])
    return answer["lowest"], answer["highest"]


def _in_json(value, known):
    """The form of Kafka's JSON converters; a tagged field that the release does not know is not in its JSON."""
    if isinstance(value, dict):
        known = known if isinstance(known, dict) else {}
        return {name: _in_json(each, known.get(name)) for name, each in value.items() if name in known}
    if isinstance(value, list):
        known = known if isinstance(known, list) else []
        return [_in_json(each, known[at] if at < len(known) else None) for at, each in enumerate(value)]
    return b64encode(value).decode() if isinstance(value, bytes) else value


@pytest.mark.java
def test_no_record_type_of_kafka_is_missing(oracle):
    if oracle.release == "3.9.2":
        names = [kind.name for kind in RECORD_TYPES.values() if _has("3.9.2", kind.name)]
        assert [3, 4, 5, 6, 7, 8] == [
            _versions(oracle, f"{name}Key")[1] for name in names if name.startswith("Consumer")
        ]
        return
    (answer,) = oracle.ask([{"op": "types"}])
    expected = {kind.number: kind.name for kind in RECORD_TYPES.values() if _has(oracle.release, kind.name)}
    assert expected == dict(answer["types"])
    for number, name in answer["types"]:
        lowest, highest = _versions(oracle, f"{name}Value")
        assert (0, RECORD_TYPES[number].value.latest if number else 0) == (lowest, highest), name


def test_values_are_their_json_form():
    assert {"epoch": 1} == CONSUMER_GROUP.value.layouts[0].from_json({"epoch": 1})
    assert BOOLEAN.from_json(True) is True


def test_a_nullable_array_can_be_null():
    value = {"epoch": 1, "metadataHash": 2, "lastAssignmentConfigs": None}
    assert (0, value) == decode_value(RECORD_TYPES[17], encode_value(RECORD_TYPES[17], 0, value))


@pytest.mark.parametrize("key", [None, b"", b"\x00"])
def test_a_key_without_a_type_names_the_field_and_its_place(key):
    with pytest.raises(Truncated, match="a record key needs 2 bytes") as refused:
        record_type_number(key)

    assert (0, "type") == (refused.value.offset, refused.value.field)
