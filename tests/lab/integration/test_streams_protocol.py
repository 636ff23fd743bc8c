"""``plan --to-protocol`` on real brokers: every line that it prints is executed, in both directions."""

from __future__ import annotations

import json
import logging
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from assignor.cli.plan._preflight import observed_group
from assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from tests.lab.integration.applications import PARTITIONS, Application, settle
from tests.lab.integration.clusters import NEWEST, Cluster
from tests.lab.integration.kafka_jars import Unavailable, class_path, counting, jvm
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, JavaMember, wait_until
from tests.matrix import with_matrix
from upgrade.cluster.client.feature_client import FeatureClient
from upgrade.cluster.features.rpc import FeatureUpdate, UpgradeType
from upgrade.streams_protocol import Reliance
from upgrade.streams_protocol._requirements import RELIANCES, STREAMS_VERSION_RAISED

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

SETTINGS = {"num.standby.replicas": "1", "session.timeout.ms": "6000", "heartbeat.interval.ms": "500"}
"""Two of them are outside what brokers accept of a streams group."""
STREAMS = {"group.protocol": "streams"}
KEYS = {str(number) for number in range(PARTITIONS)}
ASSERTED = ("--without", "pattern-subscriptions,named-topologies,warm-ups")
SCRIPT = "from assignor.cli.main import main; main()"


class Site:
    """One application on one cluster; brokers and members are of one release."""

    def __init__(self, cluster: Cluster, release: str, folder: Path) -> None:
        self.cluster, self.release, self.folder = cluster, release, folder
        self.application = Application(cluster.brokers)
        self.lookup = GroupLookup(cluster.brokers, {}, TIMEOUT_SECONDS)
        self.file = folder / "members.properties"
        self.file.write_text("".join(f"{key}={value}\n" for key, value in SETTINGS.items()))
        self.sent = 0

    @contextmanager
    def members(self, name: str, **settings: str) -> Iterator[list[JavaMember]]:
        """Two processes that have all tasks and have counted what was sent before and after they started."""
        with ExitStack() as stack:
            found = [stack.enter_context(self.member(f"{name}{number}", **settings)) for number in (1, 2)]
            settle(*found)
            self.count(5)
            yield found

    def member(self, name: str, **more: str) -> JavaMember:
        usual = {
            "bootstrap.servers": self.cluster.brokers,
            "application.id": self.application.name,
            "client.id": name,
            "state.dir": str(self.folder / name),
            "statestore.cache.max.bytes": "0",
            "commit.interval.ms": "200",
        }
        settings = [f"{key}={value}" for key, value in {**usual, **SETTINGS, **more}.items()]
        return JavaMember(name, [*counting(self.release), self.application.source, self.application.output, *settings])

    def count(self, records: int) -> None:
        """Send records and wait until they are counted and committed; none may be lost or counted twice."""
        self.sent += records
        self.application.send(records)
        counts = self.application.counts(KEYS, self.sent)
        assert set(counts.values()) == {self.sent}
        wait_until(lambda: set(self.committed()) == {self.sent})

    def committed(self) -> list[int]:
        reader = Consumer({"bootstrap.servers": self.cluster.brokers, "group.id": self.application.name})
        try:
            wanted = [TopicPartition(self.application.source, number) for number in range(PARTITIONS)]
            return [each.offset for each in reader.committed(wanted, timeout=TIMEOUT_SECONDS)]
        finally:
            reader.close()

    def plan(self, protocol: str, *more: str) -> tuple[int, Any]:
        """Exit status and object of the plan for this group."""
        at = ("--group", self.application.name, "--bootstrap-servers", self.cluster.brokers)
        ends = (self.release, self.release, "--to-protocol", protocol, "--config", str(self.file))
        done = command("plan", *ends, *at, "--broker-release", self.release, "--json", *more)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def execute(self, line: str) -> str:
        """Run a printed line with the tool that it names; return what the tool wrote."""
        tool, *words = shlex.split(line)
        done = command(*words) if tool == "streams-assignor" else self._kafka_tool(tool, words)
        assert 0 == done.returncode, done.stdout + done.stderr
        return done.stdout

    def _kafka_tool(self, tool: str, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        artifact, main = TOOLS[tool]
        release = self.release if artifact == "kafka_2.13" else NEWEST
        start = [*jvm(class_path(f"org.apache.kafka:{artifact}:{release}"), "128m", "warn"), main, *words]
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            done = subprocess.run(start, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
            # The tools wait for half a minute only.
            if "TimeoutException" not in done.stdout + done.stderr or time.monotonic() > deadline:
                return done

    def standbys(self) -> int:
        return observed_group(self.lookup.group(self.application.name)).standbys

    def failure(self, name: str, **settings: str) -> str:
        """Start a member that fails and return what it wrote."""
        with self.member(name, **settings) as member:
            wait_until(lambda: member.ended)
            return "\n".join(member.lines)


TOOLS = {
    "kafka-configs": ("kafka_2.13", "kafka.admin.ConfigCommand"),
    "kafka-features": ("kafka-tools", "org.apache.kafka.tools.FeatureCommand"),
    "kafka-streams-groups": ("kafka-tools", "org.apache.kafka.tools.streams.StreamsGroupCommand"),
    "kafka-consumer-groups": ("kafka-tools", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"),
}


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, timeout=600)


def commands(plan: Any, beginning: str) -> list[str]:
    """The lines of the step whose text begins so."""
    (found,) = (step["commands"] for step in plan["steps"] if step["do"].startswith(beginning))
    return list(found)


def skipped(plan: Any, beginning: str) -> str:
    (found,) = (step["if_skipped"] for step in plan["steps"] if step["do"].startswith(beginning))
    return str(found)


def checks(plan: Any) -> dict[str, str]:
    return {each["name"]: each["level"] for each in plan["preflight"]}


@pytest.fixture(
    name="site",
    params=with_matrix([NEWEST, "4.2.2"], [NEWEST], "the same with an older release of brokers and members"),
)
def fixture_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    release = request.param
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(tmp_path, metadata="4.3-IV0"))
        try:
            counting(release)
            cluster.start(1, release, settings={"group.initial.rebalance.delay.ms": "0"})
        except Unavailable as missing:
            pytest.skip(f"no broker or Kafka Streams {release}: {missing}")
        yield Site(cluster, release, tmp_path)


def test_a_group_changes_to_the_streams_protocol_and_back(site: Site) -> None:
    """The plan's lines are executed as they are printed. Offsets go on, and standby tasks depend on the line."""
    with site.members("classic"):
        wait_until(lambda: site.standbys() == PARTITIONS)
        status, plan = site.plan("streams", *ASSERTED)
        assert (0, "safe") == (status, plan["verdict"])
        assert {"ok"} == set(checks(plan).values())
        assert "ok" == checks(plan)["standbys"]

        beside = site.failure("early", **STREAMS)
        assert f"GroupIdNotFoundException: Group {site.application.name} is not a streams group" in beside
        assert f"Group {site.application.name} is not a streams group" in skipped(plan, "stop every member")

        (line,) = commands(plan, "set the group configurations")
        assert "session.timeout.ms=45000" in line
        assert "Completed updating config" in site.execute(line)
    for each in commands(plan, "stop every member"):
        site.execute(each)

    assert {site.sent} == set(site.committed())
    with site.members("streams", **STREAMS):
        wait_until(lambda: site.standbys() == PARTITIONS)
        shown = [site.execute(each) for each in commands(plan, "check that the group")]
        assert any("streams.num.standby.replicas=1" in each for each in shown)

        status, plan = site.plan("classic")
        assert (0, "safe") == (status, plan["verdict"])
        assert "InconsistentGroupProtocolException" in site.failure("early")
        assert "InconsistentGroupProtocolException" in skipped(plan, "stop every member")

        # Without the line there are no standby tasks.
        (line,) = commands(plan, "remove the group configurations")
        site.execute(line)
        wait_until(lambda: site.standbys() == 0)
    for each in commands(plan, "stop every member"):
        site.execute(each)

    assert {site.sent} == set(site.committed())
    with site.members("again"):
        wait_until(lambda: site.standbys() == PARTITIONS)
        for each in commands(plan, "check that the group"):
            site.execute(each)


@pytest.mark.parametrize("release", with_matrix([NEWEST, "4.2.2"], [NEWEST], "the same with an older release"))
def test_members_of_a_cluster_without_streams_version_fail(release: str, tmp_path: Path) -> None:
    with Cluster(tmp_path, metadata="4.3-IV0") as cluster:
        try:
            counting(release)
            cluster.start(1, release)
        except Unavailable as missing:
            pytest.skip(f"no broker or Kafka Streams {release}: {missing}")
        off = {"streams.version": FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)}
        FeatureClient(cluster.brokers).update(off)
        site = Site(cluster, release, tmp_path)
        status, plan = site.plan("streams", *ASSERTED)
        written = site.failure("member", **STREAMS)

    assert (1, "unsafe") == (status, plan["verdict"])
    assert "streams-version" in plan["conditions"]
    assert "blocked" == checks(plan)["streams.version"]
    assert quoted(STREAMS_VERSION_RAISED.symptom) in written


@pytest.mark.parametrize("release", with_matrix([NEWEST, "4.2.2"], [NEWEST], "the same with an older release"))
@pytest.mark.parametrize(
    ("reliance", "settings"),
    [
        (Reliance.STATIC_MEMBERS, {"group.instance.id": "one"}),
        (Reliance.PATTERN_SUBSCRIPTIONS, {"shape": "pattern"}),
    ],
    ids=lambda value: value.value if isinstance(value, Reliance) else "",
)
def test_members_do_not_start_with_what_the_protocol_lacks(
    reliance: Reliance, settings: dict[str, str], release: str, tmp_path: Path
) -> None:
    usual = {"bootstrap.servers": "127.0.0.1:1", "application.id": "app", "state.dir": str(tmp_path), **STREAMS}
    try:
        program = counting(release)
    except Unavailable as missing:
        pytest.skip(f"no Kafka Streams {release}: {missing}")
    words = [f"{key}={value}" for key, value in {**usual, **settings}.items()]
    with JavaMember("a member", [*program, "data", "output", *words]) as member:
        wait_until(lambda: member.ended)

    row = RELIANCES[reliance]
    exception = row.symptom.partition(": ")[2].partition(" ")[0]
    assert any(f"{exception}: {quoted(row.symptom)}" in line for line in member.lines), member.lines
    assert release in row.seen


def quoted(symptom: str) -> str:
    return symptom.split('"')[1]
