"""`roll --brokers` on a real cluster of three nodes, under load: from 3.9.2 to 4.3.1, and a broker that stays away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.integration.broker_rolls import Nodes, ReplicatedLoad
from tests.lab.integration.clusters import NEWEST, OLDER, Cluster, JavaTools
from tests.lab.integration.kafka_jars import Unavailable, class_path
from tests.lab.integration.rolls import RollProcess, kinds, records
from tests.lab.integration.test_broker_upgrade import level

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
        *("--brokers", "--to", NEWEST, "--restart", nodes.operator.template, "--journal", str(folder / "roll.jsonl")),
        *("--bootstrap-servers", nodes.servers, "--report", str(folder / "report.md"), *more),
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
