"""A new topology is rolled out under a running group: members of the old one do not subscribe to all topics.

Real members of 3.9.2 do the same: tests/lab/integration/test_two_topologies.py.
"""

import pytest

from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import EVERY_TASK_OWNED, NO_MEMBER_FAILS, REBALANCING_TERMINATES

WIDER = "topology=wider"


def violated(line):
    return {each.property for each in Simulation(Scenario.parse(line)).run().violations}


@pytest.mark.parametrize("release", ["2.4.1", "2.8.2", "3.9.2", "4.3.1"])
def test_an_old_member_under_a_new_leader_rejoins_without_end(release):
    simulation = Simulation(Scenario.parse(f"A@{release},{WIDER} B@{release}")).run()

    assert REBALANCING_TERMINATES in {each.property for each in simulation.violations}
    assert any("does not subscribe to more: takes nothing" in event.text for event in simulation.events)


@pytest.mark.parametrize("release", ["1.1.1", "2.0.1", "2.3.1"])
def test_up_to_2_3_an_old_member_under_a_new_leader_fails(release):
    assert {NO_MEMBER_FAILS} == violated(f"A@{release},{WIDER} B@{release}")


@pytest.mark.parametrize("release", ["2.0.1", "3.9.2"])
def test_under_an_old_leader_the_group_is_quiet_and_no_member_reads_the_new_topic(release):
    simulation = Simulation(Scenario.parse(f"A@{release} B@{release} | bounce B>{release},{WIDER}")).run()

    assert [EVERY_TASK_OWNED] == [each.property for each in simulation.violations]
    assert "no member reads more" == simulation.violations[0].text


@pytest.mark.parametrize("release", ["2.0.1", "2.3.1", "3.9.2"])
def test_a_group_that_was_stopped_takes_the_new_topology(release):
    new = f"{release},{WIDER}"

    assert set() == violated(f"A@{release} B@{release} | stop A B | start A>{new} B>{new}")


def test_a_new_member_under_an_old_leader_with_a_removed_topic_rejoins_without_end():
    assert REBALANCING_TERMINATES in violated("A@3.9.2 B@3.9.2 | with topology=wider | bounce B>3.9.2,topology=counts")
