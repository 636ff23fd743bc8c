"""The envelope beside kio, which is made of Kafka's own message files: the same bytes, read in both directions."""

from importlib import import_module
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer

from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartitions,
    decode_consumer_assignment,
    decode_consumer_subscription,
    encode_consumer_assignment,
    encode_consumer_subscription,
)

VERSIONS = range(4)
TOPICS = st.lists(st.text(st.characters(codec="utf-8"), max_size=9), unique=True, max_size=3)
PARTITIONS = st.lists(st.integers(0, 2**31 - 1), max_size=4).map(tuple)
USERDATA = st.none() | st.binary(max_size=40)
SINCE = {"owned_partitions": 1, "generation_id": 2, "rack_id": 3}


def by_topic(names: st.SearchStrategy[list[str]]) -> st.SearchStrategy[tuple[TopicPartitions, ...]]:
    return names.flatmap(
        lambda topics: st.tuples(*(st.builds(TopicPartitions, st.just(topic), PARTITIONS) for topic in topics))
    )


def kio(kind: str, version: int):
    """kio's module of a message in a version."""
    return import_module(f"kio.schema.consumer_protocol_{kind}.v{version}.data")


def bytes_of(message, version: int) -> bytes:
    buffer = BytesIO()
    entity_writer(type(message))(buffer, message)
    return version.to_bytes(2) + buffer.getvalue()


def read(entity, encoded: bytes):
    message, size = entity_reader(entity)(encoded[2:], 0)
    assert len(encoded) - 2 == size
    return message


@pytest.mark.parametrize("version", VERSIONS)
@given(TOPICS, USERDATA, by_topic(TOPICS), st.integers(-1, 2**31 - 1), st.none() | st.text(max_size=5))
def test_a_subscription_has_the_bytes_of_kio(version, topics, userdata, owned, generation, rack):
    module = kio("subscription", version)
    ours = ConsumerSubscription(tuple(topics), userdata, owned, generation, rack, version)
    later = {
        "owned_partitions": tuple(
            module.TopicPartition(topic=each.topic, partitions=tuple(each.partitions)) for each in owned
        )
        if version >= 1
        else (),
        "generation_id": generation,
        "rack_id": rack,
    }
    theirs = module.ConsumerProtocolSubscription(
        topics=tuple(topics),
        user_data=userdata,
        **{name: value for name, value in later.items() if version >= SINCE[name]},
    )
    encoded = bytes_of(theirs, version)

    assert encoded == encode_consumer_subscription(ours)
    assert theirs == read(module.ConsumerProtocolSubscription, encoded)
    assert (tuple(topics), userdata) == decode_consumer_subscription(encoded)[:2]


@pytest.mark.parametrize("version", VERSIONS)
@given(by_topic(TOPICS), USERDATA)
def test_an_assignment_has_the_bytes_of_kio(version, assigned, userdata):
    module = kio("assignment", version)
    theirs = module.ConsumerProtocolAssignment(
        assigned_partitions=tuple(
            module.TopicPartition(topic=each.topic, partitions=tuple(each.partitions)) for each in assigned
        ),
        user_data=userdata,
    )
    encoded = bytes_of(theirs, version)

    assert encoded == encode_consumer_assignment(ConsumerAssignment(assigned, userdata, version))
    assert userdata == decode_consumer_assignment(encoded).user_data
