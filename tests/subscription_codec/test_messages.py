"""Bytes and JSON of Kafka's generated messages, as a jar wrote them (``tests/vectors/messages.jsonl``)."""

import json
from base64 import b64encode
from itertools import groupby
from pathlib import Path

import pytest

from streams_assignor.codec.coordinator import RECORD_TYPES, decode_key, decode_value, encode_key, encode_value
from streams_assignor.codec.streams_group import (
    DESCRIBE,
    HEARTBEAT,
    TOPOLOGY_DESCRIPTION_UPDATE,
    decode_message,
    encode_message,
)
from tests.matrix import with_matrix
from tests.subscription_codec.coordinator_draws import coordinator_oracle

ROWS = [json.loads(line) for line in (Path(__file__).parent.parent / "vectors/messages.jsonl").open()]
KEYS = {kind.key.name: kind for kind in RECORD_TYPES.values()}
VALUES = {kind.value.name: kind for kind in RECORD_TYPES.values() if kind.number}  # 0 and 1 share their values
APIS = (HEARTBEAT, DESCRIBE, TOPOLOGY_DESCRIPTION_UPDATE)
REQUESTS = {f"{schema.name}Data": schema for api in APIS for schema in (api.request, api.response)}
FIRST = "4.0.1"  # some of its records had other layouts, which are read and no longer written
CURRENT = [row for row in ROWS if row["jar"] != FIRST or row["message"].startswith("ShareGroupPartitionMetadata")]


def named(row):
    return f"{row['jar']}-{row['message']}-{row['version']}"


def by_message(rows):
    return [pytest.param(list(group), id=name) for name, group in groupby(sorted(rows, key=named), named)]


def as_json(value):
    if isinstance(value, dict):
        return {name: as_json(each) for name, each in value.items()}
    if isinstance(value, list):
        return [*map(as_json, value)]
    return b64encode(value).decode() if isinstance(value, bytes) else value


def number(value):
    return value.to_bytes(2, "big")


def decoded(row):
    message, raw = row["message"], bytes.fromhex(row["hex"])
    if kind := KEYS.get(message):
        key = decode_key(number(kind.number) + raw)
        assert kind is key.type
        return key.fields
    if kind := VALUES.get(message):
        version, fields = decode_value(kind, number(row["version"]) + raw)
        assert row["version"] == version
        return fields
    return decode_message(REQUESTS[message], row["version"], raw)


def encoded(row, fields):
    message, version = row["message"], row["version"]
    if kind := KEYS.get(message):
        return encode_key(kind, fields).removeprefix(number(kind.number))
    if kind := VALUES.get(message):
        return encode_value(kind, version, fields).removeprefix(number(version))
    return encode_message(REQUESTS[message], version, fields)


def test_every_message_is_there_in_every_version_with_and_without_null():
    values = {(name, version) for name, kind in VALUES.items() for version in range(kind.value.latest + 1)}
    requests = {(name, version) for name, schema in REQUESTS.items() for version in range(schema.latest + 1)}

    assert {(name, 0) for name in KEYS} | values | requests == {(row["message"], row["version"]) for row in CURRENT}


@pytest.mark.unmeasured
@pytest.mark.parametrize("rows", by_message(ROWS))
def test_what_a_jar_wrote_is_read_as_the_jar_reads_it(rows):
    for row in rows:
        assert as_json(decoded(row)) == row["json"]


@pytest.mark.unmeasured
@pytest.mark.parametrize("rows", by_message(CURRENT))
def test_what_is_written_are_the_bytes_of_the_jar(rows):
    for row in rows:
        assert encoded(row, decoded(row)).hex() == row["hex"]


@pytest.fixture(params=with_matrix(["4.0.1", "4.3.1", "4.4.0"], ["4.3.1", "4.4.0"], "a release in between"))
def oracle(request):
    yield from coordinator_oracle(request.param)


@pytest.mark.java
def test_the_rows_are_those_of_the_jar(oracle):
    rows = [row for row in ROWS if row["jar"] == oracle.release]
    questions = [{"op": "decode", **{name: row[name] for name in ("message", "version", "hex")}} for row in rows]
    for row, answer in zip(rows, oracle.ask(questions), strict=True):
        assert (row["hex"], 0) == (answer["hex"], answer["left"])
        assert row["json"] == json.loads(answer["json"].replace("RecoveryLagLegacy", "RecoveryLag"))
