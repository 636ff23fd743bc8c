"""Which settings of members nothing reads with ``group.protocol=streams``, derived from the classes in the jars.

A class that reads a setting has its name as a constant. A setting is ignored if only classes of the classic protocol
have it: those of the table. A new class, or a new setting, that fits neither is found by the tests.
"""

import re
import struct
from functools import cache
from zipfile import ZipFile

import pytest

from streams_assignor.upgrade.application.class_file import read_class
from streams_assignor.upgrade.application.configuration import configuration_of
from streams_assignor.upgrade.group_configurations import IGNORED_SETTINGS, REPLACED_SETTINGS
from streams_assignor.upgrade.releases import release_named
from tests.lab.integration.kafka_jars import Unavailable, class_path
from tests.matrix import with_matrix

RELEASES = ("4.1.2", "4.2.0", "4.2.1", "4.2.2", "4.3.1", "4.4.0")
DEFINITIONS = re.compile(
    r".*/(StreamsConfig(\$.*)?|(Share)?ConsumerConfig|ProducerConfig|AdminClientConfig|CommonClientConfigs)"
)
CLASSIC = {
    "AssignmentConfigs": "the configuration of a task assignor, which StreamsPartitionAssignor makes",
    "TaskAssignmentUtils": "for task assignors (KIP-924)",
    "AssignorConfiguration": "of StreamsPartitionAssignor",
    "ClassicKafkaConsumer": "the consumer of the classic protocol; a streams member has AsyncKafkaConsumer",
    "GroupRebalanceConfig": "both consumers make it; test_only_the_classic_protocol_has_its_timeouts has the readers",
    "ConsumerUtils": "its network client, which only the classic consumer makes; share and streams have another one",
}
"""The classes that are part of the classic protocol, each with the reason."""
NOT_ONLY_CLASSIC = {
    "bootstrap.servers", "client.id", "client.rack", "group.id", "group.instance.id", "interceptor.classes",
    "isolation.level", "metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms",
    "auto.offset.reset", "request.timeout.ms", "retry.backoff.ms", "retry.backoff.max.ms",
    "internal.throw.on.fetch.stable.offset.unsupported",
}  # fmt: skip
"""What ``ConsumerUtils`` or ``GroupRebalanceConfig`` reads for both consumers."""
GONE = {"internal.leave.group.on.close"}
"""Internal, and gone in 4.2, the first release for which there is a plan: it needs no row."""
FIELDS = {"sessionTimeoutMs": "session.timeout.ms", "heartbeatIntervalMs": "heartbeat.interval.ms"}
"""Fields of ``GroupRebalanceConfig``."""
READERS_OF_TIMEOUTS = {
    "AbstractCoordinator": "the coordinator of the classic protocol",
    "ConsumerCoordinator": "the same of consumers",
    "Heartbeat": "its heartbeats",
}

pytestmark = [pytest.mark.java, pytest.mark.slow]


@cache
def classes(release):
    """The classes of Kafka Streams and its clients, by name."""
    try:
        paths = class_path(f"org.apache.kafka:kafka-streams:{release}").split(":")
    except Unavailable as missing:
        pytest.skip(f"no Kafka Streams {release}: {missing}")
    found = {}
    for path in paths:
        if re.search(r"/kafka-(streams|clients)-[\d.]+\.jar$", path):
            with ZipFile(path) as jar:
                for name in jar.namelist():
                    if name.endswith(".class") and "/message/" not in name and "/shaded/" not in name:
                        found[name.removesuffix(".class")] = jar.read(name)
    return found


def readers(release, key):
    """The classes that have a name as a constant, without those that define it."""
    constant = b"\x01" + struct.pack(">H", len(key)) + key.encode()
    names = (name for name, content in classes(release).items() if constant in content)
    return {name.rpartition("/")[2] for name in names if not DEFINITIONS.fullmatch(name)}


def keys(release):
    configs = configuration_of(release_named(release)).configs
    return {*configs["streams"], *configs["consumer"]}


@pytest.mark.parametrize("release", with_matrix(RELEASES, ["4.4.0"], "the same classes of another release"))
def test_the_rows_are_the_settings_that_only_the_classic_protocol_reads(release):
    only_classic = {
        key
        for key in keys(release) - NOT_ONLY_CLASSIC - GONE
        if (found := readers(release, key)) and found <= CLASSIC.keys()
    }

    assert only_classic == {
        key
        for key in keys(release)
        if key in REPLACED_SETTINGS
        or any(row.concerns(key) and not row.name.endswith("tag.") for row in IGNORED_SETTINGS)
    }


@pytest.mark.parametrize("release", with_matrix(RELEASES, ["4.4.0"], "the same classes of another release"))
def test_only_the_classic_protocol_has_its_timeouts(release):
    """``AsyncKafkaConsumer`` makes a ``GroupRebalanceConfig`` too, and nobody reads the timeouts of it."""
    owner = "org/apache/kafka/clients/GroupRebalanceConfig"
    found = {
        (name.rpartition("/")[2], reference.name)
        for name, content in classes(release).items()
        if owner.encode() in content and name != owner
        for reference in read_class(content, with_references=True).references
        if reference.owner == owner and reference.name in FIELDS
    }

    assert {reader for reader, _ in found} <= READERS_OF_TIMEOUTS.keys()
    assert {field for _, field in found} == {*FIELDS}
    assert {*FIELDS.values()} <= {*REPLACED_SETTINGS}


@pytest.mark.parametrize("release", with_matrix(RELEASES, ["4.4.0"], "the same classes of another release"))
def test_members_of_a_streams_group_read_their_topology_and_its_topics(release):
    """A setting that only they read needs no row: it has no effect before."""
    only_streams = {key for key in keys(release) if readers(release, key) == {"StreamThread"}} - {
        *("log.summary.interval.ms", "repartition.purge.interval.ms")
    }

    assert only_streams == ({"topology.description.push.enabled"} if release == "4.4.0" else set())
