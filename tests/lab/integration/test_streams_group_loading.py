"""KAFKA-20254: a coordinator of 4.2.0 cannot load a group that was a classic one, once its records are compacted."""

import logging
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from streams_assignor.groups.history.log_segment import SegmentReader
from streams_assignor.upgrade.hazards import HAZARDS
from streams_assignor.upgrade.streams_protocol.requirements import KAFKA_20254
from tests.lab.integration.applications import Application, settle
from tests.lab.integration.clusters import Cluster
from tests.lab.integration.kafka_jars import Unavailable, counting
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, JavaMember, Subprocess, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow, pytest.mark.exhaustive]

TESTED_WITH_COMPACTION = {"streams-groups-of-4.2.0"}
WITH_BUG, FIXED = next(row.seen for row in HAZARDS if row.name in TESTED_WITH_COMPACTION)
CLIENT = "4.2.2"
COMPACTING = {
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.min.cleanable.ratio": "0.001",
    "log.cleaner.delete.retention.ms": "100",
    "log.roll.ms": "500",
}
OFFSET_COMMIT, CLASSIC_GROUP, STREAMS_GROUP = 1, 2, 17
"""Types of records of ``__consumer_offsets``: the first two bytes of their keys."""


@pytest.mark.parametrize("release", [WITH_BUG, FIXED])
def test_the_group_after_compaction(release: str, tmp_path: Path) -> None:
    """A member is stopped, starts again with the streams protocol, and commits no offset until the broker restarts."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(tmp_path))
        try:
            counting(CLIENT)
            cluster.start(1, release, settings=COMPACTING)
        except Unavailable as missing:
            pytest.skip(f"no broker {release} or Kafka Streams {CLIENT}: {missing}")
        application, lookup = Application(cluster.brokers), GroupLookup(cluster.brokers, {}, TIMEOUT_SECONDS)
        with member(cluster, application, tmp_path) as classic:
            settle(classic)
            application.send(3)
            application.counts({str(number) for number in range(6)}, 3)
        wait_until(lambda: lookup.group(application.name).state == "Empty")
        with member(cluster, application, tmp_path, "group.protocol=streams") as streams:
            settle(streams)
            compact(cluster, application, tmp_path)
        cluster.stop(1)
        broker = cluster.start(1, release, settings=COMPACTING)
        finding = f"Group {application.name} is not a streams group"
        if release == WITH_BUG:
            wait_until(lambda: logs(broker, finding) and logs(broker, "Failed to load metadata from"), broker)
            assert finding.replace(application.name, "NAME") in KAFKA_20254.symptom
        else:
            assert "streams" == lookup.group(application.name).type
            assert not logs(broker, finding)


def member(cluster: Cluster, application: Application, folder: Path, *more: str) -> JavaMember:
    settings = ("session.timeout.ms=6000", "commit.interval.ms=200", "statestore.cache.max.bytes=0", *more)
    usual = (f"bootstrap.servers={cluster.brokers}", f"application.id={application.name}", f"state.dir={folder}/state")
    return JavaMember("a member", [*counting(CLIENT), application.source, application.output, *usual, *settings])


def compact(cluster: Cluster, application: Application, folder: Path) -> None:
    """Commit offsets of another group until no record of the classic group is left, its tombstone neither."""
    other = Consumer({"bootstrap.servers": cluster.brokers, "group.id": "other", "enable.auto.commit": False})
    commits = iter(range(1_000_000))

    def is_compacted() -> bool:
        other.commit(offsets=[TopicPartition(application.source, 0, next(commits))], asynchronous=False)
        return CLASSIC_GROUP not in types(application.name, folder)

    try:
        wait_until(is_compacted)
    finally:
        other.close()
    found = types(application.name, folder)
    assert found.index(OFFSET_COMMIT) < found.index(STREAMS_GROUP)


def types(group: str, folder: Path) -> list[int]:
    """The types of the records of a group, in the order of their offsets."""
    found = []
    for segment in sorted((folder / "1/data/__consumer_offsets-0").glob("*.log")):
        try:
            data = segment.read_bytes()
        except FileNotFoundError:  # the cleaner has replaced it
            continue
        records = SegmentReader().records(BytesIO(data))
        keys = (record.key for record in records if record.key and not record.is_control)
        found += [int.from_bytes(key[:2], "big") for key in keys if key[4:].startswith(group.encode())]
    return found


def logs(broker: Subprocess, text: str) -> bool:
    return any(text in line for line in broker.lines)
