"""One line describes a situation, and gives itself back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.spark_sim.model.scenario import VERBS, Instance, Operands, Scenario, ScenarioError, Step
from streams_assignor.spark_sim.model.workload import SETTING_RANGES, TOPOLOGIES, Workload
from streams_assignor.upgrade import ConfigException, UnknownRelease
from streams_assignor.upgrade.releases import RELEASES

LINE = (
    "A@1.1.1 B@1.1.1 | bounce fast B>2.0.1,upgrade.from=1.1 A>2.0.1 | crash mid A | start A B>2.0.1 | elect newest "
    "| stop leave A"
)


def test_a_scenario_gives_its_line_back():
    assert LINE == str(Scenario.parse(LINE))


def test_the_parts_of_a_line():
    scenario = Scenario.parse("A@2.0 B@2.0.1|bounce A>simulated-4|crash B")

    assert ("A", Instance(RELEASES["2.0.1"])) == scenario.members[0]
    assert Step("bounce", (("A", Instance(RELEASES["simulated-4"])),)) == scenario.steps[0]
    assert Step("crash", (("B", None),)) == scenario.steps[1]


INSTANCES = st.builds(
    Instance,
    st.sampled_from(list(RELEASES.values())),
    topology=st.none() | st.sampled_from(sorted(TOPOLOGIES)),
)
SHAPES = st.builds(
    Workload,
    **{name: st.integers(*limits) for name, limits in SETTING_RANGES.items()},
    topology=st.sampled_from(sorted(TOPOLOGIES)),
    static=st.booleans(),
    ephemeral=st.booleans(),
    lag=st.booleans(),
)


@st.composite
def steps(draw, shape):
    verb = draw(st.sampled_from(sorted(VERBS)))
    takes = VERBS[verb].operands
    mode = draw(st.sampled_from(("", *VERBS[verb].modes)))
    if takes is Operands.NOTHING or (takes is Operands.LEADER and mode):
        return Step(verb, mode=mode)
    names = {Operands.TOPICS: shape.stream_topology.external_topics, Operands.MEMBERS: shape.member_names("A")}
    names[Operands.LEADER] = names[Operands.MEMBERS]
    instances = {
        Operands.PROCESSES_AND_RELEASES: INSTANCES,
        Operands.PROCESSES_AND_OPTIONAL_RELEASES: st.none() | INSTANCES,
    }
    members = st.tuples(st.sampled_from(names.get(takes, "AB")), instances.get(takes, st.none()))
    most = 1 if takes is Operands.LEADER else 3
    return Step(verb, tuple(draw(st.lists(members, min_size=1, max_size=most))), mode)


@given(SHAPES, st.data())
def test_any_scenario_survives_its_line(shape, data):
    members = (("A", Instance(RELEASES["2.0.1"])), ("B", Instance(RELEASES["1.1.1"], "0.10.0")))
    scenario = Scenario(members, tuple(data.draw(st.lists(steps(shape), max_size=4))), shape)

    assert scenario == Scenario.parse(str(scenario))


def test_the_workload_stands_before_the_steps():
    scenario = Scenario.parse("A@2.0 | with topology=join threads=2 static partitions=6 | join A.2")

    assert Workload(threads=2, topology="join", static=True) == scenario.workload
    assert "A@2.0.1 | with threads=2 topology=join static | join A.2" == str(scenario)
    assert "A@2.0.1 | with threads=2 topology=join static" == scenario.head


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("", "expected different members"),
        ("A@2.0 A@2.0", "expected different members"),
        ("A", "expected MEMBER@RELEASE, got 'A'"),
        ("A@2.0 | jump A", "expected one of bounce, stop, start, crash, elect, lose"),
        ("A@2.0 |", "expected one of"),
        ("A@2.0 | bounce", "expected members after bounce"),
        ("A@2.0 | bounce A", "expected bounce A>RELEASE"),
        ("A@2.0 | bounce B>2.0", "no member 'B' in this scenario, only A"),
        ("A@2.0 | crash A>2.0", "crash takes members without a release"),
        ("A@2.0 | elect", "expected oldest, newest or one member after elect"),
        ("A@2.0 B@2.0 | elect A B", "expected oldest, newest or one member after elect"),
        ("A@2.0 | elect B", "no member 'B'"),
        ("A@2.0 | elect A#0", "no member 'A#0' in this scenario, only A"),
        ("A@2.0 | crash A#2", "no member 'A#2' in this scenario, only A"),
        ("A@2.0 | elect oldest A", "expected elect oldest without anything behind, got 'elect oldest A'"),
        ("A@2.0 | hold A", "expected hold without anything behind, got 'hold A'"),
        ("A@2.0 | lose", "expected topics after lose"),
        ("A@2.0 | with topology=join | lose data", "no source topic 'data' in this scenario, only left, right"),
        ("A@2.0 | with threads=2 | join A", "no member 'A' in this scenario, only A.1, A.2"),
        ("A@2.0 | with threads=2 | stop A.1", "no member 'A.1' in this scenario, only A"),
        ("A@2.0 | with threads=0", "expected threads= and a number from 1 to 100, got 'threads=0'"),
        ("A@2.0 | with threads=1000000000000", "expected threads= and a number from 1 to 100"),
        ("A@2.0 | with threads=00000005199", "expected threads= and a number from 1 to 100"),
        ("A@2.0 | with threads=two", "expected threads= and a number from 1 to 100, got 'threads=two'"),
        ("A@2.0 | with topology=star", "expected some of threads=NUMBER, standbys=NUMBER, partitions=NUMBER"),
        ("A@2.0 | with static=1", "got 'static=1'"),
        ("A@2.0 | with", "expected some of threads=NUMBER"),
        ("A@2.0 | stop A | with static", "with stands before all other steps"),
        ("A@2.0,upgrade.to=1.1", "expected RELEASE or RELEASE,upgrade.from=VALUE"),
        ("A@2.0,topology", "expected RELEASE or RELEASE,upgrade.from=VALUE,topology=NAME"),
        ("A@2.0,topology=two,topology=two", "expected RELEASE or RELEASE,upgrade.from=VALUE,topology=NAME"),
        ("A@2.0,topology=three", "expected topology=counts|wider|join|stateless|two|chained"),
    ],
)
def test_a_wrong_line_is_rejected_by_its_part(line, text):
    with pytest.raises(ScenarioError, match=text.replace(".", r"\.")):
        Scenario.parse(line)


def test_an_unknown_release_or_a_value_that_it_rejects_is_reported_at_once():
    with pytest.raises(UnknownRelease):
        Scenario.parse("A@7.0")
    with pytest.raises(ConfigException):
        Scenario.parse("A@1.1.1,upgrade.from=1.0")
