"""A story is the run, no more and no less, in the order in which a person wants it."""

import pytest

from spark_sim.model.scenario import VERBS, Scenario
from spark_sim.model.simulation import Simulation
from spark_sim.sweep.report._trace_view import group_by_generation
from spark_sim.sweep.traces import trace

RUNS = [
    "A@2.0.1",
    "A@1.1.1 B@1.1.1 | bounce fast A>2.0.1 | bounce B>2.0.1",
    "A@2.0.1 B@2.0.1 C@2.0.1 | elect newest | crash mid B | bounce A>simulated-4 C>simulated-4 | start B>simulated-4",
    "A@1.1.1 B@1.1.1 | stop A B | start A>2.0.1 B>2.0.1",
]


@pytest.mark.parametrize("line", RUNS)
def test_the_chapters_together_are_the_whole_run(line):
    reported = [event for chapter in trace(Scenario.parse(line)).steps for event in chapter.events]

    assert Simulation(Scenario.parse(line)).run().events == reported


@pytest.mark.parametrize("line", RUNS)
def test_there_is_a_chapter_for_the_start_each_step_and_the_end(line):
    reported = [chapter.step for chapter in trace(Scenario.parse(line)).steps]

    assert [*line.split(" | "), "the end"] == reported


@pytest.mark.parametrize("line", RUNS)
def test_every_generation_of_the_run_is_shown_once(line):
    story = trace(Scenario.parse(line))
    led = [event.generation for event in story.events if event.kind == "leads"]
    reported = [each.number for chapter in story.steps for each in group_by_generation(chapter.events) if _leader(each)]

    assert led == reported


def _leader(generation):
    return [name for name, part in generation.parts.items() if part.leads]


def test_every_step_has_a_description():
    assert all(
        {"", *verb.modes} == verb.descriptions.keys() and all(verb.descriptions.values()) for verb in VERBS.values()
    )


def test_a_step_says_what_its_members_are_started_as():
    (step,) = Scenario.parse("A@1.1 B@1.1 | bounce fast A>2.0,upgrade.from=1.1 B>2.0").steps

    assert "restart A and B as 2.0.1 and 2.0.1 with upgrade.from=1.1 before the group notices" in step.description


def test_a_leader_that_fails_on_what_it_reads_does_so_in_its_generation():
    chapter = trace(Scenario.parse("A@1.1.1 B@1.1.1 | bounce fast B>2.0.1")).steps[1]
    first = next(group_by_generation(chapter.events))

    assert (2, True, True) == (first.number, first.parts["A"].leads, "version=3" in first.parts["A"].failed)
    assert 1 == len(first.violations)


def test_a_probe_is_a_version_sent_a_lower_one_received_and_a_rejoin():
    chapter = trace(Scenario.parse("A@2.0.1 B@2.0.1 | bounce fast B>simulated-4")).steps[1]
    part = next(group_by_generation(chapter.events)).parts["B"]

    assert (4, 4, 3) == (part.sent, part.knows, part.received)
    assert "version 3" in part.rejoins


def test_the_machine_readable_story_names_what_was_violated():
    plain = trace(Scenario.parse(RUNS[1])).as_json()

    assert "unsafe" == plain["verdict"]
    assert "always: no member receives a version it cannot read" == plain["violations"][0]["property"]
    assert Simulation(Scenario.parse(RUNS[1])).run().events[0].text == plain["steps"][0]["events"][0]["text"]
