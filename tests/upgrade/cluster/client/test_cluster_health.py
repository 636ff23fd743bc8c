"""The questions of a rolling restart to a cluster: brokers, replicas, the metadata quorum."""

import logging

import pytest
from kafka.protocol.admin import DescribeLogDirsResponse, DescribeQuorumResponse
from kafka.protocol.metadata import MetadataResponse

from streams_assignor.upgrade.cluster.client import feature_client
from streams_assignor.upgrade.cluster.client.connection import QuorumState
from streams_assignor.upgrade.cluster.client.errors import ApiError, Unreachable
from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient
from tests.upgrade.cluster.client.server import API_VERSIONS, METADATA, SILENCE, Server, recorded

DESCRIBE_QUORUM, DESCRIBE_LOG_DIRS = 55, 35
FEATURES = recorded("broker 4.3.1 features")
NOT_LEADER, LEADER_NOT_AVAILABLE, KAFKA_STORAGE_ERROR = 6, 5, 56
_TOPIC = DescribeQuorumResponse.TopicData
_PARTITION = _TOPIC.PartitionData


@pytest.fixture(autouse=True)
def fixture_quiet():
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


def nodes(ends):
    return [
        _PARTITION.ReplicaState(replica_id=node, log_end_offset=end, last_fetch_timestamp=100 * end - 600)
        for node, end in ends.items()
    ]


class Cluster(Server):
    """Two brokers on one port: what is asked of one, the other answers."""

    def __init__(self, leader=1, high_watermark=7, voters=None, observers=None, error=0, states=1, down=()):
        super().__init__({API_VERSIONS: FEATURES, METADATA: "", DESCRIBE_QUORUM: "", DESCRIBE_LOG_DIRS: ""})
        self.down, self.topic_error, self.disk_error = down, 0, 0
        self._partitions = [
            _PARTITION(
                partition_index=0,
                error_code=error,
                error_message=None,
                leader_id=leader,
                leader_epoch=1,
                high_watermark=high_watermark,
                current_voters=nodes(voters or {1: 7, 2: 7}),
                observers=nodes(observers or {}),
            )
        ] * states

    def answer(self, key, version, body):
        if key == METADATA:
            return bytes(1) + self.metadata(version).encode(version=version)
        if key == DESCRIBE_QUORUM:
            topics = [_TOPIC(topic_name="__cluster_metadata", partitions=self._partitions)]
            return bytes(1) + DescribeQuorumResponse(error_code=0, topics=topics, nodes=[]).encode(version=version)
        if key == DESCRIBE_LOG_DIRS:
            return bytes(1) + self.stored().encode(version=version)
        return super().answer(key, version, body)

    def stored(self):
        folder = DescribeLogDirsResponse.DescribeLogDirsResult
        names = ("orders", "secret", "__cluster_metadata")
        topics = [folder.DescribeLogDirsTopic(name=name, partitions=[]) for name in names]
        one = folder(error_code=self.disk_error, log_dir="/d", topics=topics, total_bytes=-1, usable_bytes=-1)
        return DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=[one])

    def metadata(self, version):
        topic, broker = MetadataResponse.MetadataResponseTopic, MetadataResponse.MetadataResponseBroker
        partition = topic.MetadataResponsePartition
        replicas = {"orders": [(1, [1, 2]), (2, [2])], "payments": [(-1, [1, 2])]}
        return MetadataResponse(
            version=version,
            brokers=[
                broker(node_id=node, host="127.0.0.1", port=1 if node in self.down else self.port, rack=None)
                for node in (1, 2)
            ],
            cluster_id="c",
            controller_id=1,
            topics=[
                topic(
                    error_code=self.topic_error if name == "payments" else 0,
                    name=name,
                    partitions=[
                        partition(
                            error_code=0, partition_index=number, leader_id=leader, replica_nodes=[1, 2], isr_nodes=isr
                        )
                        for number, (leader, isr) in enumerate(partitions)
                    ],
                )
                for name, partitions in replicas.items()
            ],
        )


def health(cluster, seconds=60):
    return FeatureClient(cluster.address, timeout_seconds=seconds).describe_health()


def test_it_shows_brokers_replicas_levels_and_how_far_each_node_is():
    with Cluster(observers={3: 5}) as cluster:
        described = health(cluster)

    assert QuorumState(1, 7, {1: 7, 2: 7}, {3: 5}, {1: 100, 2: 100}) == described.quorum
    assert {"orders", "payments"} == described.replicas.topics
    assert {1: cluster.address, 2: cluster.address} == described.replicas.brokers
    assert ("orders-1", "payments-0") == described.replicas.under_replicated
    assert {1: (7, 30), 2: (7, 30)} == {
        node: features.supported["metadata.version"] for node, features in described.features.items()
    }


def test_it_shows_the_topics_that_are_stored_on_the_brokers_that_answer():
    with Cluster(down={2}) as cluster:
        assert {"orders", "secret"} == FeatureClient(cluster.address).describe_stored_topics()


def test_a_topic_with_an_error_is_not_in_sync():
    """A rolling restart of brokers went on: the topic had no partition that is behind."""
    with Cluster() as cluster:
        cluster.topic_error = LEADER_NOT_AVAILABLE
        described = health(cluster)

    assert "payments" in described.replicas.under_replicated


def test_a_directory_with_an_error_does_not_tell_its_topics():
    with Cluster() as cluster:
        cluster.disk_error = KAFKA_STORAGE_ERROR
        with pytest.raises(ApiError, match=r"[Dd]isk error"):
            FeatureClient(cluster.address).describe_stored_topics()


@pytest.mark.parametrize(("node", "has"), [(1, True), (2, False), (3, True), (4, False)])
def test_a_node_has_the_committed_metadata_if_its_log_reaches_it(node, has):
    assert has == QuorumState(1, 7, {1: 7, 2: 6}, {3: 8}).has_committed(node)


def test_a_broker_without_all_metadata_is_not_asked_for_replicas(monkeypatch):
    with Cluster(voters={1: 6, 2: 7}) as cluster:
        described = health(cluster)
        assert set(described.features) == {1, 2}

    monkeypatch.setattr(feature_client, "_RETRY_SECONDS", 61)  # the first look is the last one
    with Cluster(voters={1: 6, 2: 6}) as cluster, pytest.raises(Unreachable, match="all committed metadata"):
        health(cluster)


def test_brokers_that_lack_metadata_for_a_moment_are_asked_again():
    """Something is committed every half second: a plan, or a look, failed when it came in between."""
    with Cluster(voters={1: 6, 2: 6}) as cluster:
        late = Cluster(voters={1: 7, 2: 7})
        quorum, asked = cluster.answer, []

        def answer(key, version, body):
            asked.append(key)
            is_later = key == DESCRIBE_QUORUM and asked.count(key) > 1
            return late.answer(key, version, body) if is_later else quorum(key, version, body)

        cluster.answer = answer
        with late:
            assert {1: 7, 2: 7} == health(cluster).quorum.voters


def test_a_broker_that_is_down_shows_no_levels():
    with Cluster(down={2}) as cluster:
        assert {1} == set(health(cluster).features)


def test_an_election_has_no_leader():
    with Cluster(leader=-1) as cluster:
        assert health(cluster).quorum.leader is None


def test_the_error_of_the_partition_is_that_of_the_answer():
    with Cluster(error=NOT_LEADER) as cluster, pytest.raises(ApiError, match=r"[Ll]eader"):
        health(cluster)


def test_an_answer_about_no_metadata_log_is_an_error():
    with (
        Cluster(states=0) as cluster,
        pytest.raises(Unreachable, match="expected the state of one metadata log, got 0"),
    ):
        health(cluster)


def test_a_silent_broker_is_not_waited_for_after_the_deadline():
    with Server({API_VERSIONS: SILENCE}) as server, pytest.raises(Unreachable):
        health(server, seconds=1)
