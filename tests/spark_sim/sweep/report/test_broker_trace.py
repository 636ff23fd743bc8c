"""A run, step by step."""

import json
from functools import reduce

import pytest

from streams_assignor.spark_sim.brokers.actions import apply_step, check_final_state, initial_state
from streams_assignor.spark_sim.brokers.parser import parse_scenario
from streams_assignor.spark_sim.brokers.scenario import VERBS, BrokerScenario
from streams_assignor.spark_sim.sweep.traces import trace_broker_scenario
from tests.spark_sim.brokers.test_parser import EVERY_STEP

UNSAFE = "1@4.1 level 4.1-IV1 | bounce 1>4.2 | finalize 4.2-IV1 | downgrade 4.1-IV1 | bounce 1>4.1"


def test_each_step_has_its_words_its_meaning_and_what_happened():
    story = trace_broker_scenario(parse_scenario(UNSAFE))

    assert [*UNSAFE.split(" | "), "the end"] == [chapter.step for chapter in story.steps]
    assert "the operator downgrades to 4.1-IV1, unless something would be lost" == story.steps[3].meaning
    assert ["finalized: 4.1-IV1"] == [event.text for event in story.steps[3].events]
    assert "violated: eventually: every node is in the cluster" == story.steps[-1].meaning
    assert "unsafe" == story.verdict


def test_no_event_is_lost_between_the_chapters():
    scenario = parse_scenario(UNSAFE)
    final = check_final_state(reduce(apply_step, scenario.steps, initial_state(scenario)))

    assert final.events == trace_broker_scenario(scenario).events


def test_it_is_plain_values_for_machines():
    plain = json.loads(json.dumps(trace_broker_scenario(parse_scenario(UNSAFE)).as_json()))

    assert (UNSAFE, "unsafe", {"metadata.version": 27}) == tuple(
        plain[key] for key in ("scenario", "verdict", "finalized")
    )
    assert ["property", "member", "text", "code"] == list(plain["violations"][0])
    assert {"kind", "who", "text"} == plain["steps"][1]["events"][0].keys()


def test_a_good_end_says_so_and_a_group_is_mentioned():
    story = trace_broker_scenario(parse_scenario("1@4.1 level 4.1-IV1 dialect kip-778 watch group.version"))

    assert "a cluster that speaks KIP-778, and a Streams group watches group.version" == story.steps[0].meaning
    assert ("safe", "every property holds") == (story.verdict, story.steps[-1].meaning)


@pytest.mark.parametrize("step", parse_scenario(EVERY_STEP).steps, ids=str)
def test_every_step_has_a_meaning_without_a_gap(step):
    assert "{" not in step.description
    assert all(name in step.description for name, _ in step.nodes)
    assert isinstance(parse_scenario(EVERY_STEP), BrokerScenario)
    assert step.verb in VERBS
