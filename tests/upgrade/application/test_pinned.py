"""Artifacts of Kafka of different releases in one application."""

import pytest

from streams_assignor.upgrade.application.archive import Archives
from streams_assignor.upgrade.application.class_file import ABSTRACT, INTERFACE, PRIVATE, PUBLIC
from streams_assignor.upgrade.application.pinned import mixed_artifacts
from tests.upgrade.application.class_bytes import INVOKEINTERFACE, ClassBytes
from tests.upgrade.application.test_archive import jar

ADMIN = "org/apache/kafka/clients/admin/Admin"
METRIC = "(Lorg/apache/kafka/common/metrics/KafkaMetric;)V"
STREAMS = "org/apache/kafka/streams/KafkaStreams"
CALL = ClassBytes(STREAMS).calls(ADMIN, "registerMetricForSubscription", METRIC, INVOKEINTERFACE, 11).bytes()
OWN = ClassBytes(STREAMS).calls("org/apache/kafka/streams/Topology", "gone").bytes()


@pytest.fixture
def mixed(tmp_path):
    def found(jars):
        path = tmp_path / "orders-1.0.jar"
        path.write_bytes(jar({f"BOOT-INF/lib/{name}.jar": jar(entries) for name, entries in jars.items()}))
        with Archives([path]) as archives:
            return mixed_artifacts(archives)

    return found


def test_artifacts_of_one_release_fit(mixed):
    assert mixed({"kafka-streams-4.4.0": {f"{STREAMS}.class": CALL}, "kafka-clients-4.4.0": {}}) is None


def test_what_streams_misses_of_an_older_kafka_clients_is_named(mixed):
    """A list of versions that names kafka-clients keeps it while kafka-streams is raised."""
    spring = {"S.class": ClassBytes("S").makes(ADMIN).bytes()}
    jars = {"kafka-streams-4.4.0": {f"{STREAMS}.class": CALL}, "kafka-clients-3.6.2": {}}
    found = mixed({**jars, "spring-boot-3.2.1": {}, "spring-kafka-3.1.1": spring})

    assert found.is_broken
    assert "kafka-clients" == found.oldest
    assert ("Spring Boot 3.2.1, which names the version", "library spring-kafka 3.1.1") == found.kept_by
    assert {
        "versions": {"kafka-clients": ["3.6.2"], "kafka-streams": ["4.4.0"]},
        "oldest": "kafka-clients",
        "kept_by": list(found.kept_by),
        "missing": [
            {
                "class": "org.apache.kafka.clients.admin.Admin",
                "member": "registerMetricForSubscription",
                "descriptor": METRIC,
                "error": "NoSuchMethodError",
                "reason": "there is no such member",
                "new": True,
                "referred_by": [
                    {"class": "org.apache.kafka.streams.KafkaStreams", "library": "kafka-streams", "version": "4.4.0"}
                ],
            }
        ],
    } == found.as_json()


def test_releases_that_differ_and_fit_miss_nothing(mixed):
    found = mixed({"kafka-streams-4.4.0": {f"{STREAMS}.class": CALL}, "kafka-clients-4.3.1": {}})

    assert (False, "kafka-clients", "kafka-clients 4.3.1") == (found.is_broken, found.oldest, found.of_others)
    assert "" == mixed({"kafka-streams-4.3.0": {}, "kafka-clients-4.3.1": {}}).of_others
    assert "kafka_2.13 4.3.0" == mixed({"kafka-streams-4.3.1": {}, "kafka_2.13-4.3.0": {}}).of_others
    assert "" == mixed({"kafka_2.13-4.2.0": {}, "kafka-clients-4.3.1": {}}).of_others


def test_what_an_artifact_misses_of_itself_is_not_looked_at(mixed):
    """Its own classes are those that it was compiled with."""
    assert not mixed({"kafka-streams-4.4.0": {f"{STREAMS}.class": OWN}, "kafka-clients-3.6.2": {}}).is_broken


def test_the_classes_of_a_vendor_are_read_from_its_jar(mixed):
    old = ClassBytes(ADMIN, flags=PUBLIC | INTERFACE | ABSTRACT).method("private", flags=PRIVATE)
    new = ClassBytes(ADMIN, flags=PUBLIC | INTERFACE | ABSTRACT).method("registerMetricForSubscription", METRIC)
    streams = {"kafka-streams-4.4.0": {f"{STREAMS}.class": CALL}}

    assert mixed({**streams, "kafka-clients-7.6.1-ccs": {f"{ADMIN}.class": old.bytes()}}).is_broken
    assert not mixed({**streams, "kafka-clients-8.3.0-ccs": {f"{ADMIN}.class": new.bytes()}}).is_broken
