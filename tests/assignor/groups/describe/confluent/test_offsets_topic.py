"""``__consumer_offsets`` through librdkafka: brokers whose answer is not what was asked for."""

from types import SimpleNamespace

import pytest

from streams_assignor.groups.describe.confluent import offsets_topic
from streams_assignor.groups.describe.confluent.offsets_topic import OffsetsTopic
from streams_assignor.upgrade.cluster.client.errors import Unreachable


def test_metadata_without_the_topic_is_an_error(monkeypatch):
    """It was a KeyError."""
    consumer = SimpleNamespace(list_topics=lambda *_: SimpleNamespace(topics={}), close=lambda: None)
    monkeypatch.setattr(offsets_topic, "Consumer", lambda *_, **__: consumer)

    with pytest.raises(Unreachable, match="expected an answer about __consumer_offsets, got one without it"):
        OffsetsTopic("a:1").ranges()
