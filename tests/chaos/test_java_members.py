"""A process of Kafka Streams in a run: what it is told, and how its lines are read."""

import pytest
from attrs import evolve

from assignor.member_process import Failed
from tests.chaos.events import Owns, WorkerSettings
from tests.chaos.java_members import configuration, event

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
        ("owns 0_0 0_12", Owns(["data-0", "data-12"])),
        ("owns", Owns([])),
        ("died in state ERROR", Failed("in state ERROR")),
        ("hosts a:1=data-0", None),
        ("[main] WARN something", None),
        ("", None),
    ],
)
def test_its_lines_mean_what_those_of_the_others_do(line, meant):
    assert meant == event(line, "data")


@pytest.mark.parametrize(("release", "name"), [("2.6.3", "exactly_once_beta"), ("3.0.2", "exactly_once_v2")])
def test_its_transactions_are_fenced_by_generation_whatever_that_is_called(release, name):
    assert name == configuration(evolve(SETTINGS, kind="exactly-once", release=release))["processing.guarantee"]
    assert "processing.guarantee" not in configuration(evolve(SETTINGS, release=release))


def test_it_is_told_what_it_comes_from():
    assert "2.0" == configuration(evolve(SETTINGS, upgrade_from="2.0"))["upgrade.from"]
    assert "upgrade.from" not in configuration(SETTINGS)
