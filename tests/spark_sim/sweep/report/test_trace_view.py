"""The trace of a run, and its drawing: all that happened, no more and no less, in the order in which one reads it."""

import pytest

from streams_assignor.spark_sim.brokers.parser import parse_scenario as parse_broker_scenario
from streams_assignor.spark_sim.model.scenario import VERBS, Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.streams_groups.parser import parse_scenario as parse_group_scenario
from streams_assignor.spark_sim.sweep.report.trace_view import trace_view
from streams_assignor.spark_sim.sweep.traces import trace, trace_broker_scenario, trace_group_scenario, trace_rows

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


def drawn(line):
    return trace_view(trace(Scenario.parse(line)).as_json()["steps"])


def rows_of(view):
    return [row for step in view["steps"] for row in step["rows"]]


@pytest.mark.parametrize("line", RUNS)
def test_every_generation_of_the_run_is_shown_once_with_its_leader(line):
    led = [f"generation {event.generation}" for event in trace(Scenario.parse(line)).events if event.kind == "leads"]
    leaders = ("leader", "leader")

    assert led == [
        row["title"] for row in rows_of(drawn(line)) if any(leaders in marks for marks in row["cells"].values())
    ]


def test_every_step_has_a_description():
    assert all(
        {"", *verb.modes} == verb.descriptions.keys() and all(verb.descriptions.values()) for verb in VERBS.values()
    )


def test_a_step_says_what_its_members_are_started_as():
    (step,) = Scenario.parse("A@1.1 B@1.1 | bounce fast A>2.0,upgrade.from=1.1 B>2.0").steps

    assert "restart A and B as 2.0.1 and 2.0.1 with upgrade.from=1.1 before the group notices" in step.description


def test_a_leader_that_fails_on_what_it_reads_does_so_in_its_generation():
    row = drawn("A@1.1.1 B@1.1.1 | bounce fast B>2.0.1")["steps"][1]["rows"][0]

    assert "generation 2" == row["title"]
    assert ("leader", "leader") in row["cells"]["A"]
    assert row["cells"]["A"][-1][0] == "failed"
    assert "version=3" in row["cells"]["A"][-1][1]
    assert ["A: always: no member receives a version it cannot read"] == [
        text.partition(": Task")[0] for text in row["violations"]
    ]


def test_a_probe_is_a_lower_version_than_the_member_sent_and_a_rejoin():
    row = drawn("A@2.0.1 B@2.0.1 | bounce fast B>simulated-4")["steps"][1]["rows"][0]

    assert ("version", "sends v4, supports v4") in row["cells"]["B"]
    assert ("turn", "gets v3, probed") in row["cells"]["B"]
    assert row["cells"]["B"][-1][1].startswith("changes to version 3 and rejoins")


def test_a_probe_is_one_although_the_members_move_one_by_one():
    """The version that a member sent was forgotten at the end of the step."""
    line = "A@2.0.1 B@2.0.1 | hold | stop leave B | join A | lead A | take A | start B>simulated-4 | settle"
    texts = [text for row in rows_of(drawn(line)) for marks in row["cells"].values() for _, text in marks]

    assert "gets v3, probed" in texts


def test_a_lower_version_before_probing_existed_is_no_probe():
    row = drawn("A@1.1.1 B@1.1.1 | bounce A>2.0.1,upgrade.from=1.1")
    texts = [text for each in rows_of(row) for marks in each["cells"].values() for _, text in marks]

    assert {"gets v2"} == {text for text in texts if text.startswith("gets")}


def test_versions_before_the_supported_version_was_sent_have_none():
    texts = [text for marks in drawn("A@0.10.0.1")["steps"][0]["rows"][0]["cells"].values() for _, text in marks]

    assert "sends v1, supports v1" in texts or "sends v1" in texts


def test_a_remark_is_no_violation():
    rows = rows_of(drawn("A@2.8 B@2.8 C@2.8 | elect oldest | bounce A>3.9"))

    assert any("standby" in text for row in rows for text in row.get("remarks", ()))
    assert [] == [row for row in rows if "violations" in row]


def test_nodes_are_lanes_and_what_is_of_all_is_the_one_without_a_name():
    line = "1@3.9 2@3.9 level 3.9 | bounce 1>4.3 2>4.3 | race finalize 4.3 3@3.9"
    story = trace_broker_scenario(parse_broker_scenario(line))
    view = trace_view(story.as_json()["steps"])

    assert ["", "1", "2", "3"] == view["lanes"]
    assert {"": [("version", "finalized: 4.3-IV0")]}.items() <= view["steps"][2]["rows"][0]["cells"].items()
    assert len(story.events) == sum(len(marks) for row in rows_of(view) for marks in row["cells"].values())


def test_a_row_of_nodes_ends_where_one_of_them_comes_again():
    events = [{"kind": "stopped", "who": who, "text": str(place)} for place, who in enumerate("1121")]
    (step,) = trace_view([{"step": "x", "meaning": "y", "events": events}])["steps"]

    assert [
        {"1": [("event", "0"), ("event", "1")], "2": [("event", "2")]},
        {"1": [("event", "3")]},
    ] == [row["cells"] for row in step["rows"]]


def test_a_violation_of_a_cluster_is_shown_in_the_step_that_brings_it():
    line = "1@4.1 level 4.1-IV1 | bounce 1>4.2 | finalize 4.2-IV1 | downgrade 4.1-IV1 | bounce 1>4.1"
    view = trace_view(trace_broker_scenario(parse_broker_scenario(line)).as_json()["steps"])

    assert ["the end"] == [step["step"] for step in view["steps"] for row in step["rows"] if "violations" in row]
    assert view["steps"][-1]["rows"][0]["violations"][0].startswith("1: ")


def test_a_streams_group_goes_from_epoch_to_epoch_and_member_ids_stand_with_their_member():
    line = "A@4.3.1 B@4.3.1 group 4.3.1 tasks=4 | start A | settle | start B | settle"
    view = trace_view(trace_group_scenario(parse_group_scenario(line)).as_json()["steps"])

    assert ["A", "B"] == view["lanes"]
    assert ["epoch 1", "epoch 2"] == [row["title"] for row in rows_of(view) if "title" in row]
    assert ("event", "A#1 has the target 0_0 0_1 0_2 0_3") in view["steps"][2]["rows"][0]["cells"]["A"]


def test_the_events_of_a_streams_group_are_rows_of_the_table_of_counterexamples():
    steps = trace_group_scenario(parse_group_scenario("A@4.3.1 group 4.3.1 | start A")).steps

    (_, started, _) = trace_rows(steps)
    assert [str(event) for event in steps[1].events] == [
        f"{event['subject']:<4} {event['text']}" for event in started["events"]
    ]


def test_the_machine_readable_story_names_what_was_violated():
    plain = trace(Scenario.parse(RUNS[1])).as_json()

    assert "unsafe" == plain["verdict"]
    assert "always: no member receives a version it cannot read" == plain["violations"][0]["property"]
    assert Simulation(Scenario.parse(RUNS[1])).run().events[0].text == plain["steps"][0]["events"][0]["text"]
