"""The column of KIP-848 in "Which protocol?" (docs/how-to/streams-protocol.md), from the classes of each release."""

import os
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.lab.integration.kafka_jars import Unavailable, class_path, jvm
from tests.matrix import with_matrix

PROGRAM = Path(__file__).parents[1] / "java/GroupProtocols.java"
RELEASES = ("4.0.1", "4.1.2", "4.2.2", "4.3.1", "4.4.0")
REFUSED = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")
ACCEPTED = ("group.remote.assignor", "group.instance.id", "client.rack")
NOT_OF_STREAMS = "String must be one of (case insensitive): STREAMS, CLASSIC"

pytestmark = [pytest.mark.java, pytest.mark.slow]


def jars(release: str) -> str:
    """The class path of a broker and of Kafka Streams."""
    try:
        return os.pathsep.join(
            class_path(f"org.apache.kafka:{each}:{release}") for each in ("kafka_2.13", "kafka-streams")
        )
    except Unavailable as missing:
        pytest.skip(f"no Kafka {release}: {missing}")


@pytest.mark.parametrize("release", with_matrix(RELEASES, ["4.4.0"], "the same classes of another release"))
def test_clients_and_brokers_do_what_the_column_says(release: str) -> None:
    command = [*jvm(jars(release), "128m", "off"), str(PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert 0 == done.returncode, done.stdout + done.stderr

    assert dict(line.split("\t") for line in done.stdout.splitlines()) == {
        **{name: f"{name} cannot be set when group.protocol=CONSUMER" for name in REFUSED},
        **dict.fromkeys(ACCEPTED, "consumer"),
        "Kafka Streams": "classic"
        if release == "4.0.1"
        else f"Invalid value consumer for configuration group.protocol: {NOT_OF_STREAMS}",
        "patterns": "subscribe",
        "closed": "-1",
        "static, closed": "-2",
        "group.consumer.assignors": "[uniform, range]",
        "group.consumer.migration.policy": "bidirectional",
    }


@pytest.mark.parametrize("release", with_matrix(RELEASES, ["4.4.0"], "the same classes of another release"))
def test_only_an_installed_assignor_can_use_racks(release: str) -> None:
    """Assignors get the racks of members and partitions; those of the brokers do not ask for them."""
    asks = {}
    for path in jars(release).split(os.pathsep):
        if "/kafka-group-coordinator" in path:
            with ZipFile(path) as jar:
                for name in jar.namelist():
                    if "/group/assignor/" in name or "/api/assignor/" in name:
                        asks[name.rpartition("/")[2]] = any(
                            text in jar.read(name) for text in (b"rackId", b"racksForPart")
                        )

    assert {"MemberSubscription.class", "SubscribedTopicDescriber.class"} == {
        name for name, found in asks.items() if found
    }
    assert {"UniformAssignor.class", "RangeAssignor.class"} <= asks.keys()
