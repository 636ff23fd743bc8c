"""``plan --to-protocol`` on real brokers: every line that it prints is executed, in both directions."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient
from streams_assignor.upgrade.cluster.features.rpc import FeatureUpdate, UpgradeType
from streams_assignor.upgrade.streams_protocol import Reliance
from streams_assignor.upgrade.streams_protocol.requirements import RELIANCES, STREAMS_VERSION_RAISED
from tests.lab.integration.applications import PARTITIONS
from tests.lab.integration.clusters import NEWEST, Cluster
from tests.lab.integration.kafka_jars import Unavailable, counting
from tests.lab.integration.migrations import RELEASES, STREAMS, Site
from tests.lab.integration.subprocesses import JavaMember, wait_until
from tests.matrix import with_matrix

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

TOPOLOGY = """\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [{}])
      --> KSTREAM-AGGREGATE-0000000001
    Processor: KSTREAM-AGGREGATE-0000000001 (stores: [store])
      --> none
      <-- KSTREAM-SOURCE-0000000000
"""
WIDER = {"shape": "wider"}
ASSERTED = ("--without", "static-members,broker-downgrade,pattern-subscriptions,named-topologies,warm-ups")
"""The code, which is not shown, could have them."""


def commands(plan: Any, beginning: str, part: str = "") -> list[str]:
    """The lines of the step whose text begins so and has the part."""
    (found,) = (step["commands"] for step in plan["steps"] if step["do"].startswith(beginning) and part in step["do"])
    return list(found)


def skipped(plan: Any, beginning: str) -> str:
    (found,) = (step["if_skipped"] for step in plan["steps"] if step["do"].startswith(beginning))
    return str(found)


def checks(plan: Any) -> dict[str, str]:
    return {each["name"]: each["level"] for each in plan["preflight"]}


@pytest.fixture(
    name="site",
    params=with_matrix(RELEASES, [NEWEST], "the same with an older release of brokers and members"),
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


def test_a_streams_group_takes_a_new_topology_through_the_classic_protocol(site: Site, tmp_path: Path) -> None:
    """The plan's lines are executed as they are printed; a record that is processed again would be counted twice."""
    texts = {name: tmp_path / f"{name}.txt" for name in ("old", "new")}
    for path, topics in zip(texts.values(), (site.application.source, site.wider_source()), strict=True):
        path.write_text(TOPOLOGY.format(topics))
    with site.members("old", **STREAMS):
        site.count(100)
        status, plan = site.plan("streams", *ASSERTED, "--topologies", *map(str, texts.values()))
        assert (0, "safe") == (status, plan["verdict"])
        site.execute(*commands(plan, "set the group configurations"))
    first, second = (step["commands"] for step in plan["steps"] if step["do"].startswith("stop every member"))
    for each in first:
        site.execute(each)
    assert "Topology updates are not supported yet" in site.failure("early", **STREAMS, **WIDER)
    with site.members("between", **WIDER):
        for each in commands(plan, "start every member as", "group.protocol=classic"):
            site.execute(each)
    for each in second:
        site.execute(each)

    assert {site.sent} == set(site.committed())
    with site.members("new", **STREAMS, **WIDER):
        for each in commands(plan, "check that the group"):
            site.execute(each)
        wait_until(lambda: site.standbys() == PARTITIONS)
    print(f"{site.release}: {site.sent * PARTITIONS} records, each counted once")


@pytest.mark.parametrize("release", with_matrix(RELEASES, [NEWEST], "the same with an older release"))
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


@pytest.mark.parametrize(
    ("reliance", "settings", "release"),
    with_matrix(
        [
            (reliance, settings, release)
            for reliance, settings in {
                Reliance.STATIC_MEMBERS: {"group.instance.id": "one"},
                Reliance.PATTERN_SUBSCRIPTIONS: {"shape": "pattern"},
            }.items()
            for release in RELIANCES[reliance].seen
        ],
        [
            (Reliance.STATIC_MEMBERS, {"group.instance.id": "one"}, NEWEST),
            (Reliance.PATTERN_SUBSCRIPTIONS, {"shape": "pattern"}, NEWEST),
        ],
        "the same with another release",
    ),
    ids=lambda value: value.value if isinstance(value, Reliance) else value if isinstance(value, str) else "",
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


def quoted(symptom: str) -> str:
    return symptom.split('"')[1]
