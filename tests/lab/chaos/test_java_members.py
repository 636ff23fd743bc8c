"""A process of Kafka Streams in a run: what it is told, and how its lines are read."""

import pytest
from attrs import evolve

from tests.lab.chaos.java_members import configuration, event
from tests.lab.chaos.worker_events import WorkerSettings, owns

SETTINGS = WorkerSettings(
    kind="kafka-python",
    bootstrap_servers="b:1",
    group="g",
    topic="data",
    output="out",
    name="C",
    session_ms=3000,
    release="3.9.2",
    state="/state",
)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("owns 0_0 0_12", owns(["data-0", "data-12"])),
        ("owns", owns([])),
        ("died in state ERROR", {"event": "failed", "error": "in state ERROR"}),
        ("hosts a:1=data-0", None),
        ("[main] WARN something", None),
        ("", None),
    ],
)
def test_lines_of_java_members_mean_the_same(line, meant):
    assert meant == event(line, "data")


@pytest.mark.parametrize(("release", "name"), [("2.6.3", "exactly_once_beta"), ("3.0.2", "exactly_once_v2")])
def test_transactions_are_fenced_by_generation_under_any_name(release, name):
    assert name == configuration(evolve(SETTINGS, kind="exactly-once", release=release))["processing.guarantee"]
    assert "processing.guarantee" not in configuration(evolve(SETTINGS, release=release))


def test_upgrade_from_is_passed_to_java_members():
    assert "2.0" == configuration(evolve(SETTINGS, upgrade_from="2.0"))["upgrade.from"]
    assert "upgrade.from" not in configuration(SETTINGS)
