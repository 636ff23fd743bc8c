"""Upgrades of live groups while members, brokers, network and clocks fail: nothing is lost, and nothing twice."""

import json
from pathlib import Path

import pytest

from tests.lab.chaos.chaos_run import run_chaos
from tests.lab.chaos.fault_schedule import INTERMEDIATE_VERSION, NEW_VERSION, OLD_VERSION, java_version
from tests.lab.chaos.outcome import Outcome
from tests.lab.chaos.report import as_json
from tests.lab.integration.clusters import NEWEST, OLDER
from tests.lab.integration.kafka_jars import Unavailable, class_path, counting
from tests.lab.integration.kafka_jars import java as needs_java

pytestmark = [pytest.mark.broker, pytest.mark.slow]

EXACTLY_ONCE, AT_LEAST_ONCE, BRIDGED = "exactly-once", "kafka-python", "confluent"
MIXED = "per-record,aiokafka,slow-reader"


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("worker", "kinds"),
    [
        pytest.param(
            AT_LEAST_ONCE,
            ["kill", "freeze", "dying-leader"],
            marks=pytest.mark.matrix(reason="the exactly-once worker has the same faults, and a coordinator that dies"),
        ),
        (EXACTLY_ONCE, ["kill", "freeze", "coordinator-kill"]),
    ],
)
def test_an_upgrade_survives_the_worst_faults(worker: str, kinds: list[str], tmp_path: Path) -> None:
    check(run(1, tmp_path, worker=worker, kinds=kinds, faults=len(kinds)))


@pytest.mark.timeout(600)
def test_a_second_instance_is_fenced_beside_a_slow_reader_and_a_commit_per_record(tmp_path: Path) -> None:
    """The slow reader falls behind without buffering more; the other members commit after each record."""
    outcome = run(2, tmp_path, worker="per-record,slow-reader", static=1, kinds=["duplicate"], minutes=0.3)

    assert [] == outcome.problems
    assert len(outcome.results) == outcome.fenced_instances > 0
    assert 0 < 2 * outcome.buffered < outcome.behind, "not slow enough"
    assert 0 < outcome.balance.produced == outcome.balance.processed


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("broker", [NEWEST, OLDER])
@pytest.mark.parametrize("worker", [AT_LEAST_ONCE, BRIDGED, EXACTLY_ONCE, MIXED])
@pytest.mark.parametrize("seed", range(11, 14))
def test_an_upgrade_survives_all_faults(seed: int, worker: str, broker: str, tmp_path: Path) -> None:
    static = 2 if worker == MIXED else 0
    check(run(seed, tmp_path, worker=worker, broker=broker, static=static))


@pytest.mark.exhaustive
@pytest.mark.java
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("java", [NEWEST, OLDER])
@pytest.mark.parametrize("worker", [AT_LEAST_ONCE, BRIDGED, EXACTLY_ONCE])
def test_an_upgrade_survives_faults_beside_kafka_streams(worker: str, java: str, tmp_path: Path) -> None:
    check(run(21, tmp_path, worker=worker, java=java))


def run(seed: int, folder: Path, worker: str, broker: str = NEWEST, java: str | None = None, **how: object) -> Outcome:
    try:
        needs_java()
        class_path(f"org.apache.kafka:kafka_2.13:{broker}")
        if java:
            for speaks in (OLD_VERSION, INTERMEDIATE_VERSION, NEW_VERSION):
                counting(java_version(speaks, java, exactly_once=worker == EXACTLY_ONCE).release)
    except Unavailable as missing:
        pytest.skip(f"no brokers or members: {missing}")
    outcome = run_chaos(seed, folder, log=print, worker=worker, broker=broker, java=java, **how)
    print(json.dumps(as_json(outcome)))
    return outcome


def check(outcome: Outcome) -> None:
    assert [] == outcome.problems
    assert len(outcome.settings.steps) == len(outcome.results)
    balance = outcome.balance
    assert 0 == balance.lost < balance.produced == balance.processed
    assert 0 == balance.duplicates or not balance.exactly_once
