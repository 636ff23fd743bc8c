"""Messages about groups beside kio, which is made of Kafka's own message files: the same bytes, read and written.

kafka-python's messages join and describe classic groups. Those that describe groups whose broker assigns are our own.
The versions are those that both know.
"""

from dataclasses import fields, is_dataclass
from datetime import timedelta
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from types import UnionType
from typing import get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.protocol.admin import DescribeGroupsRequest, DescribeGroupsResponse
from kafka.protocol.consumer import JoinGroupRequest, JoinGroupResponse, SyncGroupRequest, SyncGroupResponse
from kio.serial import entity_writer

from streams_assignor.groups.describe.kafka_python._requests import REQUESTS, RESPONSES
from tests.draws import examples

MESSAGES = {
    "join_group": (JoinGroupRequest, JoinGroupResponse),
    "sync_group": (SyncGroupRequest, SyncGroupResponse),
    "describe_groups": (DescribeGroupsRequest, DescribeGroupsResponse),
    **{f"{kind}_group_describe": (REQUESTS[kind], RESPONSES[kind]) for kind in REQUESTS},
}
"""kio's name -> request and response."""
UNKNOWN = -(2**31)
"""The value of authorized operations that were not asked for."""


def versions(name, ours):
    return [version for version in range(ours.max_version + 1) if find_spec(f"kio.schema.{name}.v{version}")]


def bytes_of(message):
    buffer = BytesIO()
    entity_writer(type(message))(buffer, message)
    return buffer.getvalue()


def kio(name, version, kind):
    module = import_module(f"kio.schema.{name}.v{version}.{kind}")
    return getattr(module, "".join(map(str.capitalize, [*name.split("_"), kind])))


def messages(kind):
    """kio's own strategies for the fields, in short lists."""
    if get_origin(kind) is tuple:
        return st.lists(messages(get_args(kind)[0]), max_size=2).map(tuple)
    if isinstance(kind, UnionType):
        return st.one_of(map(messages, get_args(kind)))
    if not is_dataclass(kind):
        return st.from_type(kind)
    hints = get_type_hints(kind)
    return st.builds(kind, **{field.name: messages(hints[field.name]) for field in fields(kind)})


def plain(value):
    """The value of a field of kio as kafka-python has it."""
    match value:
        case timedelta():
            return value // timedelta(milliseconds=1)
        case Enum():
            return value.value
        case tuple():
            return [*map(plain, value)]
    return by_name(value) if is_dataclass(value) else value


def by_name(message):
    return {field.name: plain(getattr(message, field.name)) for field in fields(message)}


def seen(ours, theirs):
    """The values of ours for the fields that kio's message has.

    kio calls a duration ``timeout`` and not ``timeout_ms``; kafka-python has authorized operations as a set of bits.
    """
    if is_dataclass(theirs) and ours is not None:
        names = [field.name for field in fields(theirs)]
        values = [getattr(ours, name, None) if hasattr(ours, name) else getattr(ours, f"{name}_ms") for name in names]
        return {name: seen(value, getattr(theirs, name)) for name, value in zip(names, values, strict=True)}
    if isinstance(theirs, tuple):
        return [seen(*pair) for pair in zip(ours, theirs, strict=True)]
    if isinstance(theirs, int) and (ours is None or isinstance(ours, set)):
        return UNKNOWN if ours is None else int.from_bytes(sum(1 << bit for bit in ours).to_bytes(4), signed=True)
    return ours


def rebuilt(message, version):
    """The same message, made of its fields: kafka-python does not write a message that it has read."""
    return type(message)(version=version, **{name: getattr(message, name) for name in message.fields})


CASES = [
    pytest.param(ours, messages(kio(name, version, kind)), version, id=f"{name}-{kind}-{version}")
    for name, pair in MESSAGES.items()
    for kind, ours in zip(("request", "response"), pair, strict=True)
    for version in versions(name, ours)
]


@pytest.mark.parametrize(("ours", "drawn", "version"), CASES)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_a_message_about_groups_is_that_of_kio(ours, drawn, version, data):
    message = data.draw(drawn)
    encoded = bytes_of(message)
    decoded = ours.decode(encoded, version=version)

    assert by_name(message) == seen(decoded, message)
    assert encoded == rebuilt(decoded, version).encode(version=version)
