"""Random values of Kafka's generated messages, drawn from their schemas, and the classes that judge them."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from streams_assignor.codec.wire.schema import Schema
from streams_assignor.codec.wire.structs import Field, Struct
from streams_assignor.codec.wire.text import Utf8
from streams_assignor.codec.wire.types import Boolean, Bytes, Integer, KafkaUuid, List
from tests.java_oracle import Oracle
from tests.lab.integration.kafka_jars import Unavailable

_TEXTS = ("", "a", "orders-changelog", "pod-3", "é", "日本", "x" * 200)


def coordinator_oracle(release: str) -> Iterator[Oracle]:
    """For a fixture: the generated classes of a release, or a skip."""
    try:
        with Oracle(release, "CoordinatorOracle", "kafka-group-coordinator") as running:
            yield running
    except Unavailable as reason:
        pytest.skip(str(reason))


def draw_fields(random: Random, schema: Schema, version: int) -> dict[str, Any]:
    """Draw a value of a schema; tagged fields are absent, or differ from their defaults."""
    return _draw_struct(random, schema.fields, version)


def _draw_struct(random: Random, fields: tuple[Field, ...], version: int) -> dict[str, Any]:
    return {
        field.name: _draw_field(random, field, version)
        for field in fields
        if field.since <= version and (field.until is None or version <= field.until)
        if field.tag is None or random.random() < 0.5
    }


def _draw_field(random: Random, field: Field, version: int) -> Any:
    # Null is the default of a tagged array, which is absent then; that of a tagged struct is an empty one.
    can_be_null = field.tag is None or isinstance(field.wire, Struct)
    nullable = can_be_null and field.nullable is not None and field.nullable <= version
    if nullable and random.random() < 0.3:
        return None
    value = _draw(random, field.wire, version)
    while field.tag is not None and value == []:  # the default of a tagged array
        value = _draw(random, field.wire, version)
    return value


def _draw(random: Random, wire: Any, version: int) -> Any:
    match wire:
        case List(item=item):
            return [_draw(random, item, version) for _ in range(random.choice((0, 1, 1, 2, 5)))]
        case Struct(fields=fields):
            return _draw_struct(random, fields, version)
        case Utf8():
            return random.choice(_TEXTS)
        case Bytes():
            return random.randbytes(random.choice((0, 1, 130)))
        case KafkaUuid():
            return urlsafe_b64encode(random.randbytes(16))[:22].decode()
        case Boolean():
            return random.random() < 0.5
        case Integer(size=size, signed=False):
            return random.getrandbits(8 * size)
        case Integer(size=size):
            largest = 1 << 8 * size - 1
            return random.choice((1, 7, largest - 1, -largest, random.randrange(1, largest)))
