"""That each property can fail: a check that nothing violates checks nothing."""

from attrs import evolve

from spark_sim.brokers import properties
from spark_sim.brokers.group import Group
from spark_sim.brokers.metadata_log import MetadataLog
from spark_sim.brokers.properties import NEVER_BACK, NEWER_LOST, NOTHING_LOST, PROPERTIES, STAYS, always
from spark_sim.brokers.reading import read_scenario
from spark_sim.brokers.steps import run

WORLD = run(read_scenario("1@4.3.1 b2@4.3.1 level 4.2-IV1 watch metadata.version | ask 1"))


def violated(world, before=WORLD):
    return [violation.property for violation in always(before, world)]


def with_log(dialect, *, unsafe):
    """A log in which 4.3-IV0 was raised to and left again, whatever the dialect has to say about it."""
    log = MetadataLog.started(29).changed(29, 30, unsafe=False).changed(30, 29, unsafe=unsafe)
    return evolve(run(read_scenario(f"1@4.3.1 level 4.2-IV1 dialect {dialect}")), log=log)


def test_a_good_world_violates_nothing():
    assert [] == violated(WORLD)


def test_a_node_that_stays_without_the_level_is_seen():
    raised = evolve(WORLD, cluster=evolve(WORLD.cluster, finalized={"metadata.version": 31}))

    assert [STAYS, STAYS] == violated(raised)


def test_nobody_is_held_to_the_version_of_the_quorum():
    raised = evolve(WORLD.cluster, finalized={"metadata.version": 29, "kraft.version": 2})

    assert [] == violated(evolve(WORLD, cluster=raised))


def test_a_safe_downgrade_that_drops_something_is_seen():
    assert [NOTHING_LOST] == violated(with_log("kip-778", unsafe=False))
    assert [] == violated(with_log("kip-778", unsafe=True))


def test_a_lossy_downgrade_that_keeps_what_is_newer_is_seen():
    assert NEWER_LOST in violated(with_log("kafka-4", unsafe=True))


def test_a_group_that_forgets_everything_is_seen():
    forgetful = evolve(WORLD, group=Group.watching("metadata.version"))

    assert [NEVER_BACK] * 3 == violated(forgetful)


def test_all_properties_are_listed():
    names = {
        value
        for value in vars(properties).values()
        if isinstance(value, str) and value.startswith(("always: ", "eventually: "))
    }

    assert names == set(PROPERTIES)
