"""`roll --brokers` on real clusters, under load: from 3.9.2 to 4.3.1, with controllers apart, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient
from tests.lab.integration.broker_rolls import REPLICATED, Nodes, ReplicatedLoad
from tests.lab.integration.clusters import NEWEST, OLDER, Cluster, JavaTools
from tests.lab.integration.kafka_jars import Unavailable, class_path
from tests.lab.integration.rolls import RollProcess, kinds, records
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, wait_until
from tests.lab.integration.test_broker_upgrade import WithZooKeeper, level

pytestmark = [pytest.mark.broker, pytest.mark.slow]


@pytest.fixture(name="nodes")
def fixture_nodes(tmp_path: Path) -> Iterator[Nodes]:
    try:
        for release in (OLDER, NEWEST):
            class_path(f"org.apache.kafka:kafka_2.13:{release}")
    except Unavailable as missing:
        pytest.skip(f"no broker: {missing}")
    with Cluster(tmp_path / "cluster", controllers=3, others=0) as cluster, Nodes(cluster) as nodes:
        nodes.start(OLDER)
        yield nodes


def rolling(nodes: Nodes, folder: Path, *more: str) -> RollProcess:
    return RollProcess(
        *(
            "--brokers",
            "--to",
            NEWEST,
            "--level-unchanged",
            "--restart",
            nodes.operator.template,
            "--journal",
            str(folder / "roll.jsonl"),
        ),
        *("--soak", "2s", "--bootstrap-servers", nodes.servers, "--report", str(folder / "report.md"), *more),
    )


def test_three_nodes_are_upgraded_under_load_the_active_controller_last(nodes: Nodes, tmp_path: Path) -> None:
    with ReplicatedLoad(nodes.servers) as load:
        waiting = rolling(nodes, tmp_path, "--yes")
        assert 3 == waiting.wait(), waiting.lines
        # All nodes run the release; the levels are raised only with consent.
        assert {("1", NEWEST), ("2", NEWEST), ("3", NEWEST)} == set(nodes.restarts)
        assert any("there is no way back" in line for line in waiting.lines), waiting.lines
        with JavaTools() as tools:
            assert "3.9-IV0" == level(tools, nodes.cluster)
            done = rolling(nodes, tmp_path, "--accept-no-way-back")
            assert 0 == done.wait(), done.lines
            assert "4.3-IV0" == level(tools, nodes.cluster)
        assert 3 == len(nodes.restarts)

    stored = load.stored()
    assert load.acknowledged
    assert not load.refused
    assert set(load.acknowledged) == set(stored)
    assert 1 == max(stored.values())
    steps = [record for record in records(tmp_path / "roll.jsonl") if record["record"] == "passed"]
    last_but_levels = steps[-2]
    leader_before = steps[-3]["observed"]["controller"]
    assert nodes.restarts[2][0] == str(leader_before), steps
    assert str(last_but_levels["observed"]["controller"]) != nodes.restarts[2][0], steps
    assert "ended" == kinds(tmp_path / "roll.jsonl")[-1]


def test_a_broker_that_does_not_return_stops_the_roll_and_it_goes_on_when_the_broker_is_back(
    nodes: Nodes, tmp_path: Path
) -> None:
    nodes.restart = lambda name, _release: nodes.cluster.stop(int(name))
    with ReplicatedLoad(nodes.servers) as load:
        stopped = rolling(nodes, tmp_path, "--yes", "--timeout", "20s")
        assert 3 == stopped.wait(), stopped.lines
        (found,) = [record for record in records(tmp_path / "roll.jsonl") if record["record"] == "deviation"]
        ((name, _),) = nodes.restarts
        assert ("not-returned", [name]) == (found["kind"], found["instances"])

        nodes.cluster.launch(int(name), NEWEST, settings={**nodes.settings})
        nodes.restart = nodes.restart_as_told
        done = rolling(nodes, tmp_path, "--accept-no-way-back")
        assert 0 == done.wait(), done.lines

    assert 3 == len(nodes.restarts)
    assert set(load.acknowledged) == set(load.stored())


@pytest.fixture(name="apart")
def fixture_apart(tmp_path: Path) -> Iterator[Nodes]:
    """Three controllers, 1 to 3, and two brokers, 4 and 5."""
    try:
        for release in (OLDER, NEWEST):
            class_path(f"org.apache.kafka:kafka_2.13:{release}")
    except Unavailable as missing:
        pytest.skip(f"no broker: {missing}")
    settings = {**REPLICATED, "offsets.topic.replication.factor": "2", "min.insync.replicas": "1"}
    with (
        Cluster(tmp_path / "cluster", controllers=3, others=2) as cluster,
        Nodes(cluster, settings, controllers=(1, 2, 3), brokers=(4, 5)) as nodes,
    ):
        nodes.start(OLDER)
        yield nodes


def test_controllers_without_brokers_keep_their_majority_and_the_active_one_is_last(
    apart: Nodes, tmp_path: Path
) -> None:
    """Each is killed, and its command does not wait for it."""
    client = FeatureClient(apart.servers, timeout_seconds=TIMEOUT_SECONDS)
    followers: list[tuple[str, set[int], int | None]] = []

    def restart(name: str, release: str) -> None:
        before, after = (client.describe_health().quorum for _ in range(2))
        wait_until(lambda: client.describe_health().quorum.high_watermark > after.high_watermark)
        now = client.describe_health().quorum
        follows = {node for node in apart.controllers if now.fetched.get(node, 0) > before.fetched.get(node, 0)}
        followers.append((name, {*follows, now.leader or 0}, now.leader))
        apart.cluster.kill(int(name))
        apart.launch(int(name), release)

    apart.restart = restart
    with ReplicatedLoad(apart.servers, len(apart.brokers)) as load:
        done = rolling(apart, tmp_path, "--yes", "--accept-no-way-back")
        status = done.wait()
    print(*done.lines, followers, sep="\n")

    assert 0 == status, done.lines[-10:]
    assert set(load.acknowledged) == set(load.stored())
    assert ["1", "2", "3", "4", "5"] == sorted(name for name, _ in apart.restarts)
    last, _, leader = followers[-1]
    assert str(leader) == last
    # Every controller followed the active one at the moment at which the next one was taken.
    assert all(there == {1, 2, 3} for _, there, _ in followers), followers
    text = (tmp_path / "report.md").read_text()
    assert "a controller without a broker, does not show its release" in text or any(
        "does not show its release" in line for line in done.lines
    )
    with JavaTools() as tools:
        assert "4.3-IV0" == level(tools, apart.cluster, apart.servers)


@pytest.mark.parametrize("release", [OLDER, pytest.param("1.0.2", marks=pytest.mark.exhaustive)])
def test_a_cluster_with_zookeeper_is_refused_with_what_to_do(tmp_path: Path, release: str) -> None:
    with ExitStack() as stack:
        cluster = WithZooKeeper(tmp_path, stack)
        cluster.start(0, release, {"offsets.topic.replication.factor": "1"})
        refused = RollProcess(
            *("--brokers", "--to", NEWEST, "--restart", "true", "--yes", "--bootstrap-servers", cluster.bootstrap[0]),
            *("--journal", str(tmp_path / "roll.jsonl")),
        )

        assert 1 == refused.wait(), refused.lines
        assert "expected a cluster in KRaft mode, got a broker without a metadata quorum" in refused.lines[-1]
        assert "do what plan --brokers prints" in refused.lines[-1]
