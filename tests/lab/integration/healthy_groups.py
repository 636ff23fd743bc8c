"""Groups to which nothing happens but one planned scale-out: an audit of their segments has to find nothing.

``python -m tests.lab.integration.healthy_groups --minutes 60`` runs them on a real broker, audits the broker's segments
at the end, prints the findings, and ends with status 1 if there are any. Groups: Kafka Streams alone, Kafka Streams
beside a member of ours, ours alone, and plain consumers of librdkafka. They process a record of each partition every
two seconds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer

from streams_assignor.spark_sim.audit.job import run_audit
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter
from streams_assignor.spark_sim.audit.sources import segments_source
from tests.lab.integration.background import repeated, sent_records
from tests.lab.integration.clusters import NEWEST, OLDER, Cluster
from tests.lab.integration.peers import Group
from tests.lab.integration.topologies import PARTITIONS

_SEND_SECONDS: Final = 2.0
_COMMITS: Final = {"commit.interval.ms": "5000"}
_GROUPS: Final = (
    ("stateful", f"java1@{NEWEST} java2@{NEWEST}"),
    ("stateful", f"java1@{OLDER} python1@streams-assignor"),
    ("stateless", "python1@streams-assignor python2@streams-assignor"),
)
_PLAIN: Final = ("cooperative-sticky", "range")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[2])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--broker", default=NEWEST, help="release of the broker")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="healthy-") as scratch, ExitStack() as stack:
        found, generations = observe(options.broker, options.minutes * 60, Path(scratch), stack)
    print(f"{options.minutes:g} minutes, {generations} rebalances, {len(found)} findings")
    print(*found, sep="\n")
    sys.exit(bool(found))


def observe(release: str, seconds: float, folder: Path, stack: ExitStack) -> tuple[list[str], int]:
    """Run the groups, and return what the audit found, and how many rebalances."""
    metadata = "3.9-IV0" if release == OLDER else "4.0-IV3"
    cluster = stack.enter_context(Cluster(folder, metadata))
    cluster.start(1, release, settings={"offsets.topic.num.partitions": "3"})
    groups = []
    for shape, line in _GROUPS:
        group = stack.enter_context(Group(cluster.brokers, shape, folder / "state"))
        groups.append(group)
        for word in line.split():
            name, _, of_release = word.partition("@")
            group.start(name, of_release, **({} if name.startswith("python") else _COMMITS))
        group.settle()
    for number, strategy in enumerate(_PLAIN):
        for _ in range(2):
            stack.enter_context(plain_consumer(cluster.brokers, f"plain-{strategy}", groups[number], strategy))
    topics = {group.topics.source: PARTITIONS for group in groups}
    stack.enter_context(sent_records(cluster.brokers, topics, _SEND_SECONDS))
    print("the groups run", flush=True)
    time.sleep(seconds / 4)
    groups[0].start("java3", NEWEST, **_COMMITS)
    groups[0].settle()
    print("one has another member", flush=True)
    time.sleep(seconds * 3 / 4)
    for group in groups:
        group.settle()
    audit = run_audit(segments_source(folder / "1" / "data"), folder / "audit", AuditFilter())
    found = [f"{group['group']} {each['code']}: {each['text']}" for group in audit.groups for each in group["findings"]]
    for group in audit.groups:
        print(group["group"], group["type"], group["members"], group["causes"], flush=True)
    return found, sum(group["generations"] for group in audit.groups)


@contextmanager
def plain_consumer(brokers: str, name: str, group: Group, strategy: str) -> Iterator[None]:
    """A consumer with Kafka's defaults that reads the source of a group."""
    settings = {"group.id": name, "partition.assignment.strategy": strategy, "auto.offset.reset": "earliest"}
    with closing(Consumer({"bootstrap.servers": brokers, **settings})) as consumer:
        consumer.subscribe([group.topics.source])
        with repeated(lambda: consumer.poll(0.5)):
            yield


if __name__ == "__main__":
    main()
