"""A story is the run, no more and no less, in the order in which a person wants it."""

import pytest

from spark_sim.scenario import MODES, Scenario
from spark_sim.story import EXPLAINED, generations, meaning_of, tell
from spark_sim.world import World

RUNS = [
    "A@2.0.1",
    "A@1.1.1 B@1.1.1 | bounce fast A>2.0.1 | bounce B>2.0.1",
    "A@2.0.1 B@2.0.1 C@2.0.1 | elect newest | crash mid B | bounce A>simulated-4 C>simulated-4 | start B>simulated-4",
    "A@1.1.1 B@1.1.1 | stop A B | start A>2.0.1 B>2.0.1",
]


@pytest.mark.parametrize("line", RUNS)
def test_the_chapters_together_are_the_whole_run(line):
    told = [event for chapter in tell(Scenario.parse(line)).chapters for event in chapter.events]

    assert World(Scenario.parse(line)).run().events == told


@pytest.mark.parametrize("line", RUNS)
def test_there_is_a_chapter_for_the_start_each_step_and_the_end(line):
    told = [chapter.step for chapter in tell(Scenario.parse(line)).chapters]

    assert [*line.split(" | "), "the end"] == told


@pytest.mark.parametrize("line", RUNS)
def test_every_generation_of_the_run_is_told_once(line):
    story = tell(Scenario.parse(line))
    led = [event.generation for event in story.world.events if event.kind == "leads"]
    told = [each.number for chapter in story.chapters for each in generations(chapter.events) if _leader(each)]

    assert led == told


def _leader(generation):
    return [name for name, part in generation.parts.items() if part.leads]


def test_every_step_that_can_be_written_can_be_explained():
    written = {(verb, mode) for verb, modes in MODES.items() for mode in (*modes, "")}

    assert written == EXPLAINED.keys()


def test_a_step_says_what_its_members_are_started_as():
    (step,) = Scenario.parse("A@1.1 B@1.1 | bounce fast A>2.0,upgrade.from=1.1 B>2.0").steps

    assert "restart A and B as 2.0.1 and 2.0.1 with upgrade.from=1.1 before the group notices" in meaning_of(step)


def test_a_leader_that_dies_of_what_it_reads_does_so_in_its_generation():
    chapter = tell(Scenario.parse("A@1.1.1 B@1.1.1 | bounce fast B>2.0.1")).chapters[1]
    first = next(generations(chapter.events))

    assert (2, True, True) == (first.number, first.parts["A"].leads, "version=3" in first.parts["A"].died)
    assert 1 == len(first.violations)


def test_a_probe_is_a_version_sent_a_lower_one_received_and_a_rejoin():
    chapter = tell(Scenario.parse("A@2.0.1 B@2.0.1 | bounce fast B>simulated-4")).chapters[1]
    part = next(generations(chapter.events)).parts["B"]

    assert (4, 4, 3) == (part.sent, part.knows, part.received)
    assert "version 3" in part.rejoins


def test_the_machine_readable_story_names_what_was_violated():
    plain = tell(Scenario.parse(RUNS[1])).as_json()

    assert "unsafe" == plain["verdict"]
    assert "always: nobody receives a version it cannot read" == plain["violations"][0]["property"]
    assert World(Scenario.parse(RUNS[1])).run().events[0].text == plain["steps"][0]["events"][0]["text"]
