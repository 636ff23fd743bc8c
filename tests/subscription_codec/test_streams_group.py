"""The requests of streams groups: inverse, strict about bytes, and the same as Kafka's generated classes."""

import json
from contextlib import suppress
from random import Random

import pytest

from subscription_codec import DecodeError, EncodeError, FutureVersion
from subscription_codec.errors import TrailingBytes
from subscription_codec.streams_group import DESCRIBE, HEARTBEAT, decode_message, encode_message
from subscription_codec.wire.structs import UNKNOWN_TAGS
from tests.matrix import with_matrix
from tests.subscription_codec.coordinator_draws import coordinator_oracle, draw_fields

SCHEMAS = [HEARTBEAT.request, HEARTBEAT.response, DESCRIBE.request, DESCRIBE.response]
MESSAGES = [(schema, version) for schema in SCHEMAS for version in (0, 1)]
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


@pytest.mark.parametrize("message", MESSAGES, ids=named)
def test_decode_is_the_inverse_of_encode(message):
    random = Random(named(message))
    for _ in range(50):
        fields = draw_fields(random, *message)
        assert decode_message(*message, encode_message(*message, fields)) == fields


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


@pytest.mark.java
@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
def test_kafka_reads_what_is_written_and_says_the_same(oracle, schema):
    """Every version of the release: equal JSON, and the same bytes written again."""
    (versions,) = oracle.ask([{"op": "versions", "message": f"{schema.name}Data"}])
    assert {"lowest": 0, "highest": LATEST[oracle.release]} == versions
    random, questions, drawn = Random(schema.name), [], []
    for version in range(versions["highest"] + 1):
        for _ in range(50):
            drawn.append(fields := draw_fields(random, schema, version))
            encoded = encode_message(schema, version, fields).hex()
            questions.append({"op": "decode", "message": f"{schema.name}Data", "version": version, "hex": encoded})
    for question, fields, answer in zip(questions, drawn, oracle.ask(questions), strict=True):
        assert (question["hex"], 0) == (answer.get("hex"), answer["left"]), (question, answer)
        known = json.loads(answer["json"].replace("acceptableRecoveryLagLegacy", "acceptableRecoveryLag"))
        assert known == fields, question
