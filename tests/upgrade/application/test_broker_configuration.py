"""The settings of brokers in files: properties, resources of Kubernetes, charts and variables of containers."""

import pytest

from streams_assignor.upgrade.application.broker_configuration import (
    OPERATOR,
    STRIMZI,
    broker_keys,
    broker_settings,
    key_of_variable,
    plain_key,
)
from streams_assignor.upgrade.errors import UpgradeError
from tests.each import for_each

STRIMZI_RESOURCE = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: Kafka
metadata:
  name: orders
spec:
  kafka:
    version: 3.9.0
    config:
      offsets.topic.replication.factor: 3
      log.message.format.version: "2.8"
"""
CONFIG_MAP = """\
kind: ConfigMap
data:
  server.properties: |
    node.id=1
    log.dirs=/a,/b
"""
VALUES = """\
image: kafka:3.9
extraConfig: |
  auto.create.topics.enable=false
  num.partitions=3
controller:
  replicaCount: 3
"""
OVERRIDE = """\
broker:
  overrideConfiguration:
    num.partitions: 6
    log.retention.hours: 24
"""
CONFLUENT = """\
kind: Kafka
spec:
  configOverrides:
    server:
      - "auto.create.topics.enable=false"
      - "listeners=A://:1,B://:2"
"""
COMPOSE = """\
services:
  kafka:
    environment:
      KAFKA_NODE_ID: 1
      KAFKA_CFG_LOG_RETENTION_HOURS: "24"
      KAFKA_HEAP_OPTS: -Xmx1g
      KAFKA_BOOTSTRAP_SERVERS: a:9092
"""


@for_each(
    [
        ("server.properties", "node.id=1\n# a=b\nlog.dirs=/a", {"node.id": "1", "log.dirs": "/a"}),
        (
            "kafka.yaml",
            STRIMZI_RESOURCE,
            {"offsets.topic.replication.factor": "3", "log.message.format.version": "2.8"},
        ),
        ("map.yaml", CONFIG_MAP, {"node.id": "1", "log.dirs": "/a,/b"}),
        ("values.yaml", VALUES, {"auto.create.topics.enable": "false", "num.partitions": "3"}),
        ("values.yaml", OVERRIDE, {"num.partitions": "6", "log.retention.hours": "24"}),
        ("cfk.yaml", CONFLUENT, {"auto.create.topics.enable": "false", "listeners": "A://:1,B://:2"}),
        ("compose.yaml", COMPOSE, {"node.id": "1", "log.retention.hours": "24"}),
        ("kafka.env", "KAFKA_PROCESS_ROLES=broker\nKAFKA_OPTS=-Dx=y", {"process.roles": "broker"}),
    ]
)
def test_settings_are_found_by_kafkas_names(case):
    name, text, expected = case

    assert expected == broker_settings([(name, text)]).values


def test_documents_of_topics_are_no_settings_and_hide_none():
    topic = "apiVersion: kafka.strimzi.io/v1\nkind: KafkaTopic\nspec:\n  config:\n    min.insync.replicas: 2\n"
    found = broker_settings([("all.yaml", f"{topic}---\n{CONFIG_MAP}---\n{topic}")])

    assert ({"node.id": "1", "log.dirs": "/a,/b"}, ()) == (found.values, found.elsewhere)


def test_what_makes_the_file_of_a_node_may_set_more():
    shows = [broker_settings([pair]).shows for pair in (("s.properties", "node.id=1"), ("k.yaml", STRIMZI_RESOURCE))]

    assert [frozenset(), {OPERATOR, STRIMZI}] == shows


def test_a_resource_of_strimzi_has_the_level():
    text = STRIMZI_RESOURCE.replace("    config:", "    metadataVersion: 3.9-IV0\n    config:")

    assert "3.9-IV0" == broker_settings([("kafka.yaml", text)]).values["metadata.version"]


def test_nodes_that_set_a_key_differently_are_apart():
    files = [("broker.properties", "node.id=1\nnum.partitions=1"), ("controller.properties", "node.id=2")]
    variants = broker_settings(files).variants

    assert [("in broker.properties",), ("in controller.properties",)] == [each.conditions for each in variants]
    assert ["1", "2"] == [each.values["node.id"] for each in variants]


def test_files_of_one_node_are_together():
    files = [("server.properties", "node.id=1"), ("kafka.env", "KAFKA_NUM_PARTITIONS=3")]

    assert {"node.id": "1", "num.partitions": "3"} == broker_settings(files).values


def test_a_file_of_another_program_says_so():
    found = broker_settings([("values.yaml", "replicas: 3")])

    assert (("", "shows no setting of a broker"),) == found.elsewhere
    assert (1, ()) == (found.left_out, found.variants)


def test_too_many_settings_are_refused():
    with pytest.raises(UpgradeError, match="at most 10,000 settings"):
        broker_settings([("a.properties", "\n".join(["node.id=1", *(f"a{number}=1" for number in range(10_000))]))])


@for_each(
    [
        ("KAFKA_LOG_RETENTION_HOURS", "log.retention.hours"),
        ("KAFKA_CFG_PROCESS_ROLES", "process.roles"),
        ("KAFKA_ZOOKEEPER_CONNECT", "zookeeper.connect"),
        ("KAFKA_LISTENER_NAME_INTERNAL_SSL_KEYSTORE_LOCATION", "listener.name.internal.ssl.keystore.location"),
        ("KAFKA_HEAP_OPTS", ""),
        ("LOG_DIRS", ""),
    ]
)
def test_the_variable_of_a_container_names_a_key(case):
    name, key = case

    assert key == key_of_variable(name)


def test_a_listener_has_keys_of_its_own():
    assert ["ssl.key.password", "sasl.jaas.config", "listener.security.protocol.map"] == [
        plain_key("listener.name.a.ssl.key.password"),
        plain_key("listener.name.a.plain.sasl.jaas.config"),
        plain_key("listener.security.protocol.map"),
    ]


def test_a_line_that_the_table_lacks_has_the_keys_of_the_one_before():
    assert broker_keys((4, 4)) == broker_keys((4, 9))
    assert broker_keys((2, 0)) == broker_keys((1, 0))
