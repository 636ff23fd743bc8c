"""The list of properties says which engines check each, and each engine finds all of its own."""

import re
from pathlib import Path

import pytest
from attrs import evolve

from streams_assignor.protocol.member import Member
from streams_assignor.spark_sim.model import violations
from streams_assignor.spark_sim.model.properties import PROPERTIES, Engine
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.packed import explore
from streams_assignor.spark_sim.packed.any_size import explore_any_size
from tests.each import for_each
from tests.spark_sim.packed.cells import cell

SCENARIOS = Path(__file__).parents[3] / "docs/reference/scenarios.md"
SEARCHED = {
    violations.SINGLE_OWNER: cell("2.3.1", "2.4.1", faults=(1, 0), wait_for_quiescence=True),
    violations.READABLE_VERSION: cell("1.1.1", "2.0.1", members=2),
    violations.NO_MEMBER_FAILS: cell("2.0.1", "2.1.1", members=2),
    violations.REBALANCING_TERMINATES: cell("kip-268", "2.1.0", faults=(1, 1), wait_for_quiescence=True),
}
MUTATED = {
    violations.EVERY_TASK_OWNED: cell("2.0.1", "2.2.2", members=2, wait_for_quiescence=True),
    violations.COMMON_VERSION_REACHED: cell("2.4.1", "3.9.2", members=2, wait_for_quiescence=True),
}
RUNS = {
    violations.SINGLE_OWNER: "A@2.0.1 B@2.0.1 | with threads=2 | bounce fast B>2.4.1,upgrade.from=2.3",
    violations.READABLE_VERSION: "A@1.1.1 B@1.1.1 | bounce B>2.0.1",
    violations.NO_MEMBER_FAILS: "A@2.0.1 B@2.0.1 | with threads=2 topology=join | bounce fast B>2.4.1,upgrade.from=2.3",
    violations.EVERY_MEMBER_ASSIGNED: (
        "A@2.1.1 B@2.1.1 | hold | stop B | start B>2.4.1,upgrade.from=2.2 | lose data | settle"
    ),
    violations.TASK_PARTITIONS_MATCH: "A@2.3.0 B@2.3.0 | with topology=two | bounce fast B>2.4.1,upgrade.from=2.3",
    violations.EVERY_TASK_OWNED: "A@3.9.2 B@3.9.2 | bounce B>3.9.2,topology=wider",
    violations.REBALANCE_REQUEST_HONORED: "B@2.6.0 A@2.6.0 | with threads=2 lag | elect A.2 | stop B | start B",
    violations.SHUTDOWN_COMPLETES: "A@2.4.1 B@4.3.1 | shutdown B",
    violations.REBALANCING_TERMINATES: "A@3.9.2 B@3.9.2 | with topology=wider | bounce B>3.9.2,topology=counts",
}


def of(engine):
    return {name for name, engines in PROPERTIES.items() if engine in engines}


def check_searches(name, asked):
    found = explore_any_size(asked, 1)

    assert name in {each.property for each in explore(asked, confirm=name == violations.SINGLE_OWNER).counterexamples}
    assert name == found.violation.property


def test_every_property_is_in_the_list():
    named = {text for text in vars(violations).values() if isinstance(text, str) and re.match("always: |event", text)}

    assert named - violations.ADVISORY_PROPERTIES == set(PROPERTIES) == of(Engine.RUNS)


def test_the_documentation_says_which_the_searches_check():
    text = SCENARIOS.read_text(encoding="utf-8")
    rows = re.findall(r"^\|[^|]*\| (.*?)(?: \(.*?)? \| (yes|of any size) \|$", text, re.MULTILINE)

    assert of(Engine.EXACT) == {name for name, checked in rows if checked == "yes"}
    assert of(Engine.ANY_SIZE) == {name for name, _ in rows}


@for_each(SEARCHED.items())
def test_the_searches_find_each_of_theirs(case):
    check_searches(*case)


def test_the_searches_find_what_no_release_violates(monkeypatch):
    """A mutant: no member rejoins because of its answer."""
    right = Member.on_assignment

    def stays(member, *given, **options):
        after, received = right(member, *given, **options)
        return after, evolve(received, rejoin=None)

    monkeypatch.setattr(Member, "on_assignment", stays)
    for case in MUTATED.items():
        check_searches(*case)
    (of_a_run,) = explore(MUTATED[violations.COMMON_VERSION_REACHED]).counterexamples
    assert (of_a_run.property, of_a_run.confirmed) == (violations.COMMON_VERSION_REACHED, True)


@pytest.mark.slow
def test_a_request_that_the_coordinator_may_ignore_is_found(monkeypatch):
    """A mutant: members that may send a higher version do not rejoin, but others do so with what they have sent."""
    right = Member.on_assignment

    def stays(member, *given, **options):
        after, received = right(member, *given, **options)
        higher = after.version.used_version > member.version.used_version
        return (member, evolve(received, rejoin=None)) if higher else (after, received)

    asked = cell("2.4.1", "2.6.0", members=2, wait_for_quiescence=True)
    assert explore_any_size(asked, 1).safe
    monkeypatch.setattr(Member, "on_assignment", stays)
    assert explore_any_size(asked, 1).violation.property == violations.REBALANCE_REQUEST_HONORED


def test_the_searches_know_no_others():
    assert of(Engine.EXACT) == {*SEARCHED, *MUTATED}
    assert of(Engine.ANY_SIZE) == {*SEARCHED, *MUTATED, violations.REBALANCE_REQUEST_HONORED}


@for_each(RUNS.items())
def test_runs_find_each_of_theirs(case):
    name, line = case

    assert name in {each.property for each in Simulation(Scenario.parse(line)).run().violations}


def test_the_other_property_of_runs_needs_the_mutant():
    assert of(Engine.RUNS) - RUNS.keys() == {violations.COMMON_VERSION_REACHED}
