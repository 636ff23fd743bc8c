"""Kafka in containers: a node of each release, three nodes, TLS and SCRAM."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, TopicMetadata

from streams_assignor.demo.load_generator import create_topic
from tests.lab.integration.clusters import NEWEST, OLDER, Cluster
from tests.lab.integration.containers import PUBLISHED, RELEASES, Container, engine, image
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.integration.secure_cluster import secure_cluster
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, wait_until
from tests.matrix import with_matrix
from tests.peers_required import not_applicable

PAGE = Path(__file__).parents[3] / "docs/how-to/testing.md"

pytestmark = [pytest.mark.broker, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _engine() -> None:
    try:
        engine()
    except Unavailable as missing:
        not_applicable(f"{missing}; python -m tests.lab.integration.engine brings one")


def topics_of(address: str) -> Mapping[str, TopicMetadata]:
    return AdminClient({"bootstrap.servers": address}).list_topics(timeout=TIMEOUT_SECONDS).topics


def brokers_of(address: str) -> set[int]:
    """The brokers that answer; none while none does."""
    try:
        return set(AdminClient({"bootstrap.servers": address}).list_topics(timeout=5).brokers)
    except KafkaException:
        return set()


def shown(*arguments: str) -> str:
    command = [sys.executable, "-m", "streams_assignor", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout


@pytest.mark.parametrize("release", with_matrix(RELEASES, [OLDER, NEWEST], "a further release"))
def test_a_node_of_a_release_is_in_a_container(release: str, tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        node = cluster.start(1, release)

        assert isinstance(node, Container)
        assert release in node.name
        assert {1} == brokers_of(cluster.brokers)
        assert 128 + signal.SIGTERM == node.stop()
    assert node.ended


def test_a_node_keeps_its_data_when_its_release_changes(tmp_path: Path) -> None:
    """Another image starts in the same folder."""
    with Cluster(tmp_path, metadata="3.9-IV0") as cluster:
        cluster.start(1, OLDER)
        create_topic(cluster.brokers, "kept", 3)
        cluster.stop(1)
        upgraded = cluster.start(1, NEWEST)

        assert NEWEST in upgraded.name
        assert 3 == len(topics_of(cluster.brokers)["kept"].partitions)


def test_three_nodes_are_three_containers(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3) as cluster:
        nodes = [cluster.launch(node) for node in (1, 2, 3)]
        wait_until(lambda: {1, 2, 3} == brokers_of(cluster.brokers), *nodes)
        cluster.stop(3)
        wait_until(lambda: {1, 2} == brokers_of(cluster.brokers), *nodes[:2])

        assert all(isinstance(node, Container) for node in nodes)


def test_a_node_that_is_killed_has_ended(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        node = cluster.start(1)
        cluster.signal(1, signal.SIGSTOP)
        assert not node.ended
        cluster.kill(1)

        with pytest.raises(Exception, match="404"):
            node.running.reload()
    assert node.ended


@pytest.mark.parametrize("login", ["certificate", "SCRAM-SHA-512"])
def test_a_group_is_seen_behind_tls(login: str, tmp_path: Path) -> None:
    with secure_cluster(tmp_path / "secure") as secure, secure.application.python() as member:
        wait_until(lambda: bool(member.tasks), member)
        settings = secure.java_certificate() if login == "certificate" else secure.java_login("anna", mechanism=login)
        file = tmp_path / "client.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        found = json.loads(shown("group", secure.application.name, "--command-config", str(file), "--json"))
        assert 0 == member.stop()

    assert ("Stable", 1) == (found["state"], len(found["members"]))


def test_the_broker_of_the_page_starts() -> None:
    """docs/how-to/testing.md; its fixture needs what the published image makes of the environment."""
    (program,) = re.findall(r"^```python\n(.+?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)[-1:]
    release = re.search(r"apache/kafka:([\d.]+)", program)[1]
    if image(release) != f"{PUBLISHED}:{release}":
        not_applicable(f"{PUBLISHED}:{release} cannot be pulled")
    known: dict[str, Any] = {}
    exec(program.replace("apache/kafka", PUBLISHED), known)
    broker = known["broker"].__wrapped__()

    assert {1} == brokers_of(next(broker))
    assert [] == [*broker]
