"""Answers of brokers that confluent-kafka cannot read, or that lack what was asked for."""

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streams_assignor.groups.describe.confluent.offsets_topic import OffsetsTopic
from streams_assignor.upgrade.cluster.client.errors import Unreachable


def unreadable(*_: Any, **__: Any) -> Any:
    raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")


def refused(*_: Any) -> Any:
    raise KafkaException(KafkaError(KafkaError._TIMED_OUT))


def client(**methods: Any) -> Any:
    defaults = {"close": lambda: None, "assign": lambda _: None}
    return lambda *_: SimpleNamespace(**defaults | methods)


@pytest.mark.parametrize("methods", [{"list_topics": unreadable}, {"list_topics": refused, "poll": unreadable}])
def test_bytes_that_are_no_text_are_an_error_of_the_broker(
    monkeypatch: pytest.MonkeyPatch, methods: dict[str, Any]
) -> None:
    """librdkafka passes them on, and confluent-kafka decodes them: a traceback."""
    monkeypatch.setattr(OffsetsTopic, "_consumer", client(**methods, consume=unreadable))

    with pytest.raises(Unreachable, match="a:1: expected an answer of a Kafka broker"):
        OffsetsTopic("a:1").ranges()
    with pytest.raises(Unreachable, match="a:1: expected an answer of a Kafka broker"):
        list(OffsetsTopic("a:1").read(0, 0, 1))


def test_metadata_without_the_topic_is_an_error_of_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a traceback."""
    monkeypatch.setattr(OffsetsTopic, "_consumer", client(list_topics=lambda *_: SimpleNamespace(topics={})))

    with pytest.raises(Unreachable, match="expected an answer about __consumer_offsets, got one without it"):
        OffsetsTopic("a:1").ranges()
