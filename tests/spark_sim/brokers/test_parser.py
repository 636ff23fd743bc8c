"""The line of a broker scenario: its meaning, its canonical form, and the errors of an invalid one."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.spark_sim.brokers.parser import is_broker_scenario, parse_scenario
from streams_assignor.spark_sim.brokers.scenario import (
    DIALECTS_BY_NAME,
    GROUP_MEMBERS,
    VERBS,
    BrokerOperands,
    BrokerScenario,
    ClusterStep,
    level_text,
)
from streams_assignor.upgrade.cluster.brokers.protocol_versions import broker_release
from streams_assignor.upgrade.errors import UpgradeError

HEAD = "1@3.9.2 c2@3.9.2 b3@3.9.2 level 3.9-IV0 dialect kip-778 watch group.version"
EVERY_STEP = (
    f"{HEAD} | bounce 1>4.3.1 c2>4.3.1 | stop 1 | start 1 c2>4.0 | crash 1 c2 | register 4@3.9.2 b5@4.0 | unregister 4 "
    "| elect c2 | finalize 4.0-IV1 group.version=1 | downgrade 4.0-IV0 | downgrade unsafe 3.9-IV0 | snapshot "
    "| race 6@3.9.2 finalize 4.1-IV1 | race finalize 4.1-IV1 7@3.9.2 8@3.9.2 "
    "| stale 1 b3 | fresh 1 | ask b3 | restart A C"
)


def test_a_scenario_is_written_as_it_was_read():
    assert EVERY_STEP == str(parse_scenario(EVERY_STEP))


def test_every_verb_and_mode_stands_in_it():
    steps = parse_scenario(EVERY_STEP).steps

    assert {(verb, mode) for verb, found in VERBS.items() for mode in found.descriptions} == {
        (step.verb, step.mode) for step in steps
    }


def test_names_of_levels_become_exact_ones_and_blanks_do_not_matter():
    line = "  1@3.9   level  3.9|finalize 4.1  "

    assert "1@3.9 level 3.9-IV0 | finalize 4.1-IV1" == str(parse_scenario(line))


RELEASES = st.sampled_from(["3.9.2", "4.0", "4.3.1"]).map(broker_release)
LEVELS = st.lists(
    st.one_of(
        st.integers(1, 30).map(lambda number: ("metadata.version", number)),
        st.tuples(st.sampled_from(["group.version", "nope"]), st.integers(0, 3)),
    ),
    min_size=1,
    max_size=2,
    unique_by=lambda level: level[0],
).map(tuple)


@st.composite
def scenarios(draw):
    """Any scenario whose nodes are brokers and controllers, and whose group watches."""
    names = [str(number) for number in range(1, draw(st.integers(2, 4)))]
    nodes = tuple((name, draw(RELEASES)) for name in names)
    steps = []
    for number in range(draw(st.integers(0, 4))):
        verb = draw(st.sampled_from(list(VERBS)))
        takes = VERBS[verb].operands
        new = f"b{10 + number}"
        releases = {
            BrokerOperands.NODES_TO_RELEASE: RELEASES,
            BrokerOperands.NODES_WITH_OPTIONAL_RELEASE: st.none() | RELEASES,
        }.get(takes, st.none())
        targets = {
            BrokerOperands.NEW_NODES: st.just([new]),
            BrokerOperands.RACE: st.just([new]),
            BrokerOperands.MEMBERS: st.lists(st.sampled_from(GROUP_MEMBERS), min_size=1, max_size=2),
            BrokerOperands.NODE: st.lists(st.sampled_from(names), min_size=1, max_size=1),
            BrokerOperands.LEVELS: st.just([]),
            BrokerOperands.NOTHING: st.just([]),
        }.get(takes, st.lists(st.sampled_from(names), min_size=1, max_size=3))
        brings = takes in (BrokerOperands.NEW_NODES, BrokerOperands.RACE)
        found = tuple((name, draw(RELEASES if brings else releases)) for name in draw(targets))
        levels = draw(LEVELS) if takes in (BrokerOperands.LEVELS, BrokerOperands.RACE) else ()
        steps.append(ClusterStep(verb, found, levels, draw(st.sampled_from(["", *VERBS[verb].modes]))))
        names += [new] * brings
    return BrokerScenario(
        nodes, draw(LEVELS), draw(st.sampled_from(list(DIALECTS_BY_NAME.values()))), "watched", tuple(steps)
    )


@given(scenarios())
def test_what_is_written_is_read_as_the_same(scenario):
    assert scenario == parse_scenario(str(scenario))


WORDS = st.lists(
    st.sampled_from(
        [*VERBS, "1@3.9", "1", "1>4.0", "|", "level", "3.9", "dialect", "kip-584", "watch", "x", "unsafe", "A"]
    ),
    max_size=12,
).map(" ".join)


@given(st.one_of(st.text(), WORDS, WORDS.map("1@3.9 level 3.9 | ".__add__)))
def test_any_text_is_a_scenario_or_refused(text):
    with suppress(UpgradeError):
        scenario = parse_scenario(text)
        assert scenario == parse_scenario(str(scenario))


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("", "expected nodes and a level such as 1@3.9.2 level 3.9-IV0, got ''"),
        ("level 3.9", "expected nodes and a level"),
        ("1@3.9", "expected nodes and a level"),
        ("1@3.9 level", "expected different levels after level, such as 4.0-IV1 or group.version=1, got nothing"),
        ("1@3.9 level 3.9 level 3.9", "expected level once before the first |"),
        ("1@3.9 level 3.9 3.8", "expected different levels after level"),
        ("1@3.9 level 2.8", "expected a level of metadata.version, 3.0-IV1 or later, got 2.8"),
        ("1@3.9 level 9.9", "Version 9.9 is not a valid version"),
        ("1@3.9 level group.version=x", "expected FEATURE=NUMBER with a number from 0 to 32767, got 'group.version=x'"),
        ("1@3.9 level =1", "expected FEATURE=NUMBER"),
        ("1@3.9 level a=40000", "expected FEATURE=NUMBER"),
        ("1 level 3.9", "expected NODE@RELEASE such as 1@3.9.2, c1@3.9.2 or b1@3.9.2, got '1'"),
        ("A@3.9 level 3.9", "expected NODE@RELEASE"),
        ("1@3.9 b1@3.9 level 3.9", "expected nodes with different numbers, got 1 twice"),
        ("1@2.8 level 3.9", "expected a release of Kafka that can finalize its features, 3.3 or later, got 2.8"),
        ("1@9.9 level 3.9", "unknown release of brokers '9.9'"),
        ("b1@3.9 level 3.9", "expected at least one controller, such as 1@3.9.2 or c1@3.9.2, got only brokers"),
        ("1@3.9 level 3.9 dialect", "expected one word after dialect, got nothing"),
        ("1@3.9 level 3.9 dialect x", "expected one of kip-584, kip-778, kafka-4 after dialect, got 'x'"),
        ("1@3.9 level 3.9 watch", "expected one word after watch, got nothing"),
        ("c1@3.9 level 3.9 dialect kip-584", "in kip-584 every node is a broker"),
        ("1@3.9 level 3.9 |", "expected one of bounce, stop"),
        ("1@3.9 level 3.9 | fly 1", "got 'fly 1'"),
        ("1@3.9 level 3.9 | bounce", "expected N>R ... after bounce, got nothing"),
        ("1@3.9 level 3.9 | bounce 1", "expected bounce 1>RELEASE, got '1'"),
        ("1@3.9 level 3.9 | stop 2", "no node '2' in this scenario, only 1"),
        ("1@3.9 level 3.9 | stop 1>4.0", "stop takes nodes without a release, got '1>4.0'"),
        ("1@3.9 level 3.9 | elect 1 1", "expected one word after elect, got '1 1'"),
        ("1@3.9 level 3.9 | snapshot 1", "expected nothing after snapshot, got '1'"),
        ("1@3.9 level 3.9 | finalize", "expected different levels after finalize"),
        ("1@3.9 level 3.9 | register 1@3.9", "expected nodes with different numbers, got 1 twice"),
        (
            "1@3.9 level 3.9 | register c2@3.9",
            "expected a broker such as 4@3.9.2, as the controllers of a cluster are fixed",
        ),
        ("1@3.9 level 3.9 | race 2@3.9", "expected race N@R finalize L or race finalize L N@R, got '2@3.9'"),
        ("1@3.9 level 3.9 | race 2@3.9 4.0 finalize", "expected race N@R finalize L or race finalize L N@R"),
        ("1@3.9 level 3.9 | race finalize 4.0", "expected N@R finalize L ... after race, got nothing"),
        ("1@3.9 level 3.9 | ask 1", "there is no Streams group: expected watch FEATURE before the first |"),
        ("1@3.9 level 3.9 | restart A", "there is no Streams group"),
        ("1@3.9 level 3.9 watch x | restart D", "expected one of A, B, C after restart, got 'D'"),
    ],
)
def test_what_is_wrong_is_named(line, named):
    with pytest.raises(UpgradeError) as refused:
        parse_scenario(line)

    assert named in str(refused.value)


def test_a_node_that_comes_can_be_named_afterwards():
    line = "1@3.9 level 3.9-IV0 | register 2@3.9 | stop 2"

    assert line == str(parse_scenario(line))


@pytest.mark.parametrize(
    ("line", "about"),
    [("1@3.9 level 3.9", True), ("A@2.0 B@2.0 | bounce A>2.0", False), ("1@2.0 | start level", False)],
)
def test_a_broker_scenario_is_recognized_by_its_level(line, about):
    assert about is is_broker_scenario(line)


def test_a_level_without_a_name_is_a_number():
    assert "metadata.version=99" == level_text(("metadata.version", 99))
