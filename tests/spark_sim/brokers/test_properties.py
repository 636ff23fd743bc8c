"""Each property can fail: a check that nothing violates checks nothing."""

from attrs import evolve

from streams_assignor.spark_sim.brokers import properties
from streams_assignor.spark_sim.brokers._metadata_log import MetadataLog
from streams_assignor.spark_sim.brokers._watching_group import WatchingGroup
from streams_assignor.spark_sim.brokers.actions import run_scenario
from streams_assignor.spark_sim.brokers.parser import parse_scenario
from streams_assignor.spark_sim.brokers.properties import (
    GROUP_LEVEL_NEVER_DECREASES,
    NODES_SUPPORT_LEVELS,
    PROPERTIES,
    SAFE_DOWNGRADE_LOSES_NOTHING,
    UNSAFE_DOWNGRADE_LOSES_NEWER_ONLY,
    always,
)

STATE = run_scenario(parse_scenario("1@4.3.1 b2@4.3.1 level 4.2-IV1 watch metadata.version | ask 1"))


def violated(state, before=STATE):
    return [violation.property for violation in always(before, state)]


def with_log(dialect, *, unsafe):
    """A log in which 4.3-IV0 was raised to and left again, whatever the dialect has to say about it."""
    log = MetadataLog.initial(29).with_level(29, 30, unsafe=False).with_level(30, 29, unsafe=unsafe)
    return evolve(run_scenario(parse_scenario(f"1@4.3.1 level 4.2-IV1 dialect {dialect}")), log=log)


def test_a_good_world_violates_nothing():
    assert [] == violated(STATE)


def test_a_node_that_stays_without_the_level_is_seen():
    raised = evolve(STATE, cluster=evolve(STATE.cluster, finalized={"metadata.version": 31}))

    assert [NODES_SUPPORT_LEVELS, NODES_SUPPORT_LEVELS] == violated(raised)


def test_kraft_version_is_not_required():
    raised = evolve(STATE.cluster, finalized={"metadata.version": 29, "kraft.version": 2})

    assert [] == violated(evolve(STATE, cluster=raised))


def test_a_safe_downgrade_that_drops_something_is_seen():
    assert [SAFE_DOWNGRADE_LOSES_NOTHING] == violated(with_log("kip-778", unsafe=False))
    assert [] == violated(with_log("kip-778", unsafe=True))


def test_a_lossy_downgrade_that_keeps_what_is_newer_is_seen():
    assert UNSAFE_DOWNGRADE_LOSES_NEWER_ONLY in violated(with_log("kafka-4", unsafe=True))


def test_a_group_that_forgets_everything_is_seen():
    forgetful = evolve(STATE, group=WatchingGroup.watching("metadata.version"))

    assert [GROUP_LEVEL_NEVER_DECREASES] * 3 == violated(forgetful)


def test_all_properties_are_listed():
    names = {
        value
        for value in vars(properties).values()
        if isinstance(value, str) and value.startswith(("always: ", "eventually: "))
    }

    assert names == set(PROPERTIES)
