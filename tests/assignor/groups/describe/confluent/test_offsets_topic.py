"""``__consumer_offsets`` through librdkafka: brokers whose answer is not what was asked for."""

from types import SimpleNamespace

import pytest

from streams_assignor.clients.mock_cluster import MockCluster
from streams_assignor.groups.describe.confluent import offsets_topic
from streams_assignor.groups.describe.confluent.offsets_topic import OffsetsTopic, librdkafka_config
from streams_assignor.groups.described_group import OFFSETS_TOPIC
from streams_assignor.upgrade.cluster.client._oauth import ClientCredentials
from streams_assignor.upgrade.cluster.client.errors import Unreachable


def test_metadata_without_the_topic_is_an_error(monkeypatch):
    """It was a KeyError."""
    consumer = SimpleNamespace(list_topics=lambda *_: SimpleNamespace(topics={}), close=lambda: None)
    monkeypatch.setattr(offsets_topic, "Consumer", lambda *_, **__: consumer)

    with pytest.raises(Unreachable, match="expected an answer about __consumer_offsets, got one without it"):
        OffsetsTopic("a:1").ranges()


def test_an_offset_that_is_not_there_any_more_is_named():
    """It said that a fetch had failed, and neither where nor why."""
    with MockCluster(topics={OFFSETS_TOPIC: 1}) as cluster:
        topic = OffsetsTopic(cluster.bootstrap_servers)
        with pytest.raises(Unreachable, match=r"partition 0 has no offset 500 any more: records were deleted"):
            list(topic.read(0, 500, 600))


def test_client_credentials_are_those_of_librdkafka():
    found = librdkafka_config({"oauth": ClientCredentials("https://a/token", "me", "secret", "kafka")})

    assert "oidc" == found["sasl.oauthbearer.method"]
    assert ("https://a/token", "me", "secret", "kafka") == tuple(
        found[f"sasl.oauthbearer.{name}"] for name in ("token.endpoint.url", "client.id", "client.secret", "scope")
    )
    assert "sasl.oauthbearer.scope" not in librdkafka_config({"oauth": ClientCredentials("https://a", "me", "secret")})


def test_a_mechanism_that_librdkafka_lacks_is_an_error():
    with pytest.raises(Unreachable, match="librdkafka does not have the SASL mechanism AWS_MSK_IAM"):
        librdkafka_config({"sasl_mechanism": "AWS_MSK_IAM"})
