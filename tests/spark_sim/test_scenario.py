"""One line describes a situation, and gives itself back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sim.scenario import MODES, Instance, Scenario, ScenarioError, Step
from upgrade import ConfigException, UnknownRelease
from upgrade.releases import RELEASES

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


@st.composite
def steps(draw):
    verb = draw(st.sampled_from(sorted(MODES)))
    mode = draw(st.sampled_from(MODES[verb] if verb == "elect" else ("", *MODES[verb])))
    if verb == "elect":
        return Step(verb, mode=mode)
    instances = {"bounce": st.builds(Instance, st.sampled_from(list(RELEASES.values())))}
    instances["start"] = st.none() | instances["bounce"]
    members = st.tuples(st.sampled_from("AB"), instances.get(verb, st.none()))
    return Step(verb, tuple(draw(st.lists(members, min_size=1, max_size=3))), mode)


@given(st.lists(steps(), max_size=4))
def test_any_scenario_survives_its_line(some):
    scenario = Scenario((("A", Instance(RELEASES["2.0.1"])), ("B", Instance(RELEASES["1.1.1"], "0.10.0"))), tuple(some))

    assert scenario == Scenario.parse(str(scenario))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("", "expected different members"),
        ("A@2.0 A@2.0", "expected different members"),
        ("A", "expected MEMBER@RELEASE, got 'A'"),
        ("A@2.0 | jump A", "expected one of bounce, stop, start, crash, elect, got 'jump A'"),
        ("A@2.0 |", "expected one of"),
        ("A@2.0 | bounce", "expected members after bounce"),
        ("A@2.0 | bounce A", "expected bounce A>RELEASE"),
        ("A@2.0 | bounce B>2.0", "no member 'B' in this scenario, only A"),
        ("A@2.0 | crash A>2.0", "crash takes members without a release"),
        ("A@2.0 | elect", "expected elect oldest or elect newest"),
        ("A@2.0 | elect oldest A", "expected elect oldest or elect newest"),
        ("A@2.0,upgrade.to=1.1", "expected RELEASE or RELEASE,upgrade.from=VALUE"),
    ],
)
def test_what_is_no_scenario_is_refused_by_its_part(line, text):
    with pytest.raises(ScenarioError, match=text.replace(".", r"\.")):
        Scenario.parse(line)


def test_an_unknown_release_or_a_value_that_it_refuses_is_said_at_once():
    with pytest.raises(UnknownRelease):
        Scenario.parse("A@7.0")
    with pytest.raises(ConfigException):
        Scenario.parse("A@1.1.1,upgrade.from=1.0")
