"""Broker upgrades that public reports describe: the plan names the cause, or has the step that was left out."""

from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from streams_assignor.cli.main import cli
from tests.each import for_each

NODE = "process.roles=broker\nnode.id=1\ncontroller.listener.names=C\n"
LISTENERS = """\
services:
  kafka:
    environment:
      KAFKA_PROCESS_ROLES: broker,controller
      KAFKA_LISTENERS: PLAINTEXT://0.0.0.0:9092,CONTROLLER://0.0.0.0:9093
"""
REPORTS = [
    # where it is described, the arguments, the settings of a node by the name of their file, the cause in the plan
    (
        "confluentinc/kafka-images issue 373",
        "cp-7.8 3.9.0 --kraft",
        {"compose.yaml": LISTENERS},
        "a node whose controller listener has no host or 0.0.0.0 does not start; take 3.9.1 or later (KAFKA-18281)",
    ),
    (
        "strimzi/strimzi-kafka-operator issue 11039",
        "3.8.0 3.9.0 --kraft",
        {},
        "a node that was removed and is still registered at an older release holds it up",
    ),
    ("strimzi/strimzi-kafka-operator issue 10735", "3.8.0 3.7.0 --kraft", {}, '"Tried to apply FeatureLevelRecord"'),
    ("getsentry/self-hosted pull request 511", "cp-5.1 cp-5.5", {}, "does not start on a data directory of 3.4"),
    (
        "confluentinc/cp-ansible issue 1805",
        "cp-7.7 3.9.2 --zookeeper --kraft",
        {"server.properties": "zookeeper.connect=z\nauthorizer.class.name=kafka.security.authorizer.AclAuthorizer\n"},
        "StandardAuthorizer for AclAuthorizer",
    ),
    (
        "edenhill/trivup pull request 16",
        "2.8.1 3.0.0 --zookeeper",
        {"server.properties": "zookeeper.connect=z\nauthorizer.class.name=kafka.security.auth.SimpleAclAuthorizer\n"},
        "unsafe: nodes do not start",
    ),
    (
        "bitnami/containers issue 52211",
        "3.4.0 3.9.2 --zookeeper --kraft",
        {},
        "start a quorum of KRaft controllers of 3.9.2, with the cluster's id, ids of their own",
    ),
    ("zilliztech/milvus-operator issue 360", "3.1 4.0.0 --zookeeper", {}, "bounce every broker to 3.9.2, one by one"),
    (
        "Yolean/kubernetes-kafka issue 238",
        "1.1 2.1.0",
        {},
        "a broker hangs and leaves the in-sync replicas; take 2.1.1",
    ),
    (
        "a0x8o/kafka issue 4",
        "0.10.1 2.1.0",
        {},
        "add no ACL for a TransactionalId: older brokers do not start any more",
    ),
    (
        "apache/kafka pull request 15971",
        "3.5.2 3.6.1 --zookeeper",
        {},
        "ADD_PARTITIONS_TO_TXN version 4 is not enabled",
    ),
    ("apache/kafka-site pull request 560", "3.3.2 3.6.0 --zookeeper", {}, "gives ids of producers a second time"),
    (
        "apache/kafka pull request 18424",
        "3.9.2 3.3.2 --kraft --level 3.3",
        {},
        "with several log.dirs there is no way back",
    ),
    (
        "confluentinc/cp-docker-images issue 491",
        "cp-4.0 cp-4.1",
        {},
        "set inter.broker.protocol.version=1.0 on every broker",
    ),
    (
        "confluentinc/cp-ansible pull request 1973",
        "3.9.0 4.0.0",
        {"server.properties": f"{NODE}sasl.oauthbearer.jwks.endpoint.url=https://a/b\n"},
        "add -Dorg.apache.kafka.sasl.oauthbearer.allowed.urls",
    ),
]


@for_each(REPORTS)
def test_the_plan_names_the_cause_of_a_public_report(report):
    _, arguments, texts, cause = report
    with TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in texts]
        for path in paths:
            path.write_text(texts[path.name])
        files = (word for path in paths for word in ("--config", str(path)))
        output = CliRunner().invoke(cli, ["plan", "--brokers", *arguments.split(), *files]).output

    assert cause in output
