"""The requests of streams groups: inverse, strict about bytes, and the same as Kafka's generated classes."""

import json
from contextlib import suppress
from random import Random

import pytest

from streams_assignor.codec import DecodeError, EncodeError, FutureVersion
from streams_assignor.codec.errors import TrailingBytes
from streams_assignor.codec.streams_group import (
    DESCRIBE,
    HEARTBEAT,
    TOPOLOGY_DESCRIPTION_UPDATE,
    decode_message,
    encode_message,
)
from streams_assignor.codec.wire.codegen import FALLBACK_ERRORS
from streams_assignor.codec.wire.structs import UNKNOWN_TAGS
from tests.matrix import with_matrix
from tests.subscription_codec.coordinator_draws import coordinator_oracle, draw_fields

APIS = (HEARTBEAT, DESCRIBE, TOPOLOGY_DESCRIPTION_UPDATE)
SCHEMAS = [schema for api in APIS for schema in (api.request, api.response)]
MESSAGES = [(schema, version) for schema in SCHEMAS for version in range(schema.latest + 1)]
LATEST = {"4.1.2": 0, "4.2.0": 0, "4.2.1": 0, "4.2.2": 0, "4.3.1": 0, "4.4.0": 1}
JOIN = {
    "groupId": "orders-app",
    "memberId": "m",
    "memberEpoch": 0,
    "endpointInformationEpoch": 0,
    "instanceId": None,
    "rackId": None,
    "rebalanceTimeoutMs": 300_000,
    "topology": None,
    "activeTasks": [],
    "standbyTasks": None,
    "warmupTasks": None,
    "processId": "p",
    "userEndpoint": {"host": "pod-1", "port": 65_535},
    "clientTags": [{"key": "zone", "value": "a"}],
    "taskOffsets": None,
    "taskEndOffsets": None,
    "shutdownApplication": False,
}


def named(message):
    return f"{message[0].name}-{message[1]}"


@pytest.mark.unmeasured
@pytest.mark.parametrize("message", MESSAGES, ids=named)
def test_decode_is_the_inverse_of_encode(message):
    random = Random(named(message))
    for _ in range(50):
        fields = draw_fields(random, *message)
        assert decode_message(*message, encode_message(*message, fields)) == fields


@pytest.mark.unmeasured
@pytest.mark.parametrize("message", MESSAGES, ids=named)
def test_any_prefix_and_any_changed_byte_is_decoded_or_refused(message):
    random = Random(named(message))
    encoded = encode_message(*message, draw_fields(random, *message))
    for end in range(len(encoded)):
        with suppress(DecodeError):
            decode_message(*message, encoded[:end])
    for _ in range(1000):
        damaged = bytearray(encoded)
        damaged[random.randrange(len(damaged))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.getrandbits(8)))
        with suppress(DecodeError):
            decode_message(*message, bytes(damaged))


@pytest.mark.parametrize("message", MESSAGES, ids=named)
def test_the_compiled_decoder_reads_what_the_reference_reads_and_refuses_the_rest(message):
    schema, version = message
    random, layout = Random(named(message)), schema.layouts[version]
    fields = draw_fields(random, schema, version)
    encoded = encode_message(schema, version, fields)
    assert encoded == layout.encode_by_reference(fields)
    for _ in range(300):
        damaged = bytearray(encoded[: random.choice((len(encoded), random.randrange(1, len(encoded) + 1)))])
        damaged[random.randrange(len(damaged))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.getrandbits(8)))
        found = expected = None
        with suppress(*FALLBACK_ERRORS):
            found = layout.fast_decode(bytes(damaged), 0)
        with suppress(DecodeError):
            expected = layout.decode_by_reference(bytes(damaged))
        assert found == expected


def test_a_field_that_is_not_there_or_does_not_fit_is_named():
    with pytest.raises(EncodeError, match="shutdownApplication: needs true or false, got 'no'"):
        encode_message(HEARTBEAT.request, 0, {**JOIN, "shutdownApplication": "no"})
    with pytest.raises(EncodeError, match=r"userEndpoint\.port: is missing"):
        encode_message(HEARTBEAT.request, 0, {**JOIN, "userEndpoint": {"host": "pod-1"}})


@pytest.mark.parametrize("version", [-1, 2])
def test_a_version_that_no_release_has_is_refused(version):
    with pytest.raises(EncodeError, match=f"StreamsGroupHeartbeatRequest has versions 0 to 1, got {version}"):
        encode_message(HEARTBEAT.request, version, JOIN)
    with pytest.raises(FutureVersion, match=f"StreamsGroupDescribeResponse {version}; known are 0 to 1"):
        decode_message(DESCRIBE.response, version, b"")


def test_bytes_after_the_last_field_are_refused():
    with pytest.raises(TrailingBytes, match="1 bytes after the last field"):
        decode_message(HEARTBEAT.request, 0, encode_message(HEARTBEAT.request, 0, JOIN) + b"?")


def test_the_tagged_field_of_a_later_release_is_kept():
    fields = {**JOIN, UNKNOWN_TAGS: {3: b"new"}}
    assert decode_message(HEARTBEAT.request, 0, encode_message(HEARTBEAT.request, 0, fields)) == fields


def test_the_recovery_lag_has_eight_bytes_from_version_1():
    fields = {
        "throttleTimeMs": 0,
        "errorCode": 0,
        "errorMessage": None,
        "memberId": "m",
        "memberEpoch": 3,
        "heartbeatIntervalMs": 5000,
        "acceptableRecoveryLag": 1 << 40,
        "taskOffsetIntervalMs": 60_000,
        "status": [{"statusCode": 1, "statusDetail": "Source topics orders are missing."}],
        **dict.fromkeys(("activeTasks", "standbyTasks", "warmupTasks", "partitionsByUserEndpoint")),
        "endpointInformationEpoch": 0,
        "topologyDescriptionRequired": True,
    }
    assert decode_message(HEARTBEAT.response, 1, encode_message(HEARTBEAT.response, 1, fields)) == fields
    with pytest.raises(EncodeError, match="acceptableRecoveryLag: needs an integer of 4 bytes"):
        encode_message(HEARTBEAT.response, 0, fields)


@pytest.fixture(scope="module", params=with_matrix(LATEST, ["4.1.2", "4.4.0"], "a release in between"))
def oracle(request):
    yield from coordinator_oracle(request.param)


@pytest.fixture(params=SCHEMAS, ids=lambda schema: schema.name)
def schema_and_versions(request, oracle):
    """A message, and the versions of it that the release has."""
    (versions,) = oracle.ask([{"op": "versions", "message": f"{request.param.name}Data"}])
    if request.param in (TOPOLOGY_DESCRIPTION_UPDATE.request, TOPOLOGY_DESCRIPTION_UPDATE.response):
        if oracle.release != "4.4.0":
            assert "java.lang.ClassNotFoundException" == versions["error"]
            return request.param, range(0)
        assert {"lowest": 0, "highest": 0} == versions
    else:
        assert {"lowest": 0, "highest": LATEST[oracle.release]} == versions
    return request.param, range(versions["highest"] + 1)


def _drawn(schema, versions):
    random = Random(schema.name)
    return [(version, draw_fields(random, schema, version)) for version in versions for _ in range(50)]


@pytest.mark.java
def test_kafka_reads_what_is_written_and_says_the_same(oracle, schema_and_versions):
    """Every version of the release: equal JSON, and the same bytes written again."""
    schema, versions = schema_and_versions
    drawn = _drawn(schema, versions)
    encoded = [encode_message(schema, version, fields).hex() for version, fields in drawn]
    asked = {"op": "decode", "message": f"{schema.name}Data"}
    questions = [{**asked, "version": version, "hex": each} for (version, _), each in zip(drawn, encoded, strict=True)]
    for question, (_, fields), answer in zip(questions, drawn, oracle.ask(questions), strict=True):
        assert (question["hex"], 0) == (answer.get("hex"), answer["left"]), (question, answer)
        known = json.loads(answer["json"].replace("acceptableRecoveryLagLegacy", "acceptableRecoveryLag"))
        assert known == fields, question


@pytest.mark.java
def test_what_kafka_writes_is_read_and_written_alike(oracle, schema_and_versions):
    """Kafka makes the bytes of every version from JSON, without bytes of ours."""
    schema, versions = schema_and_versions
    drawn = _drawn(schema, versions)
    asked = {"op": "encode", "message": f"{schema.name}Data"}
    questions = [
        {**asked, "version": version, "json": _json_of_release(fields, oracle.release, version)}
        for version, fields in drawn
    ]
    for (version, fields), answer in zip(drawn, oracle.ask(questions), strict=True):
        written = bytes.fromhex(answer["hex"])
        assert fields == decode_message(schema, version, written)
        assert written == encode_message(schema, version, fields)


def _json_of_release(fields, release, version):
    text = json.dumps(fields)
    is_renamed = release == "4.4.0" and version == 0
    return text.replace('"acceptableRecoveryLag"', '"acceptableRecoveryLagLegacy"') if is_renamed else text
