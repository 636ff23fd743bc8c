"""The embedded cluster, driven by the real clients."""

import ctypes
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from streams_assignor.clients import mock_cluster
from streams_assignor.clients.mock_cluster import MAX_API_VERSIONS, MockCluster, MockClusterError

SECONDS = 120.0
RECORDS = [f"record {number}".encode() for number in range(20)]


@pytest.fixture(name="cluster")
def fixture_cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": 3}) as cluster:
        yield cluster


def test_the_cluster_has_given_and_created_topics(cluster: MockCluster) -> None:
    cluster.create_topic("payments", 5)

    topics = AdminClient({"bootstrap.servers": cluster.bootstrap_servers}).list_topics(timeout=SECONDS).topics

    assert {name: len(topic.partitions) for name, topic in topics.items()} == {"orders": 3, "payments": 5}


def test_the_cluster_has_the_given_number_of_brokers() -> None:
    with MockCluster(brokers=3) as cluster:
        addresses = cluster.bootstrap_servers.split(",")
        brokers = (
            AdminClient({"bootstrap.servers": cluster.bootstrap_servers}).list_topics(timeout=SECONDS).brokers.values()
        )

    assert 3 == len(addresses)
    assert {f"{broker.host}:{broker.port}" for broker in brokers} == set(addresses)


def test_it_carries_records_from_a_confluent_producer_to_a_confluent_consumer(cluster: MockCluster) -> None:
    _produce_with_confluent(cluster)
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 3000,
        }
    )
    consumer.subscribe(["orders"])
    messages = consumer.consume(len(RECORDS), timeout=SECONDS)
    consumer.close()

    assert sorted(RECORDS) == sorted(message.value() for message in messages)


def test_it_carries_records_from_kafka_python_to_kafka_python(cluster: MockCluster) -> None:
    producer = KafkaProducer(**cluster.kafka_python_settings())
    for record in RECORDS:
        producer.send("orders", record)
    producer.close()

    assert sorted(RECORDS) == sorted(_consume_with_kafka_python(cluster, "orders"))


def test_its_caps_are_what_clients_are_offered(cluster: MockCluster) -> None:
    # A confluent consumer speaks JoinGroup 5 at most, so ask the question on the wire: ApiVersions v0.
    offered = _api_versions(cluster.bootstrap_servers)

    assert MAX_API_VERSIONS == {key: offered[key] for key in MAX_API_VERSIONS}


def test_two_clusters_run_in_one_process(cluster: MockCluster) -> None:
    _produce_with_confluent(cluster)
    with MockCluster(topics={"orders": 1}) as other:
        assert cluster.bootstrap_servers != other.bootstrap_servers
        assert [] == _consume_with_kafka_python(other, "orders")

    assert len(RECORDS) == len(_consume_with_kafka_python(cluster, "orders"))


@pytest.mark.unmeasured
def test_a_cluster_prints_nothing() -> None:
    code = (
        "from streams_assignor.clients.mock_cluster import *\n"
        "with MockCluster(topics={'a': 1}) as c: print(c.bootstrap_servers)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=SECONDS)

    assert "" == done.stderr
    assert done.stdout.startswith("127.0.0.1:")


@pytest.mark.parametrize(
    ("name", "partitions", "problem"),
    [("orders", 3, "already exists"), ("new", 0, "at least one partition, not 0"), ("new", -1, "not -1")],
)
def test_an_impossible_topic_is_refused(cluster: MockCluster, name: str, partitions: int, problem: str) -> None:
    with pytest.raises(MockClusterError, match=problem):
        cluster.create_topic(name, partitions)


def test_a_cluster_needs_a_broker() -> None:
    with pytest.raises(MockClusterError, match="at least one broker, not 0"):
        MockCluster(brokers=0)


def test_a_cluster_works_only_in_its_with_block() -> None:
    cluster = MockCluster()
    with pytest.raises(MockClusterError, match="not running"):
        cluster.create_topic("orders", 1)
    with cluster, pytest.raises(MockClusterError, match="already running"):
        cluster.__enter__()
    with pytest.raises(MockClusterError, match="not running"):
        _ = cluster.bootstrap_servers


def test_a_failed_configuration_stops_the_cluster() -> None:
    cluster = MockCluster(topics={"orders": -1})
    with pytest.raises(MockClusterError, match="orders"):
        cluster.__enter__()
    with pytest.raises(MockClusterError, match="not running"):
        _ = cluster.bootstrap_servers


def test_a_missing_wheel_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)

    with pytest.raises(MockClusterError, match=r"pip install 'streams-assignor\[confluent\]'"):
        MockCluster()


def test_a_missing_symbol_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mock_cluster, "_SIGNATURES", {"rd_kafka_mock_moon": (ctypes.c_int, ())})

    with pytest.raises(MockClusterError, match="without rd_kafka_mock_moon"):
        MockCluster()


def _produce_with_confluent(cluster: MockCluster) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for record in RECORDS:
        producer.produce("orders", record)

    assert 0 == producer.flush(SECONDS)


def _consume_with_kafka_python(cluster: MockCluster, topic: str) -> list[bytes]:
    consumer = KafkaConsumer(**cluster.kafka_python_settings())
    partitions = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic))]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    ends, found = sum(consumer.end_offsets(partitions).values()), []
    while len(found) < ends:
        found += [record.value for records in consumer.poll(timeout_ms=1000).values() for record in records]
    consumer.close()
    return found


def _api_versions(bootstrap: str) -> dict[int, int]:
    """API key -> newest version, asked with an ApiVersions v0 request by hand."""
    host, port = bootstrap.rsplit(":", 1)
    request = (18).to_bytes(2) + (0).to_bytes(2) + (7).to_bytes(4) + (0xFFFF).to_bytes(2)
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
        connection.sendall(len(request).to_bytes(4) + request)
        stream = connection.makefile("rb")
        body = stream.read(int.from_bytes(stream.read(4)))
    rows = body[10:]  # correlation id, error code, count
    return {
        int.from_bytes(rows[at : at + 2]): int.from_bytes(rows[at + 4 : at + 6])
        for at in range(0, 6 * int.from_bytes(body[6:10]), 6)
    }
