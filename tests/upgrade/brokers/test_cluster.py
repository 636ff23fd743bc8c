"""A cluster in the middle of a roll."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.upgrade.brokers.observed import KRAFT
from tests.upgrade.brokers.test_config import config
from upgrade.brokers.cluster import RollingCluster
from upgrade.brokers.config import BrokerConfig
from upgrade.brokers.versions import broker_release, version_named
from upgrade.errors import UpgradeError

OLD = config("2.0")
HELD_BACK = config("2.8", ibp="2.0")
RAISED = config("2.8")


def test_all_understand_each_other_while_the_protocol_is_held_back():
    assert [(), (), ()] == [cluster.deaf for cluster in RollingCluster.of(OLD).roll(HELD_BACK)]


def test_old_brokers_do_not_know_the_protocol_of_the_first_new_one():
    """KIP-584: "if they leave the IBP configuration key unset, it will default to the latest version"."""
    one, two, three = RollingCluster.of(OLD).roll(RAISED)

    assert (("B", "A"), ("C", "A")) == one.deaf
    assert (("C", "A"), ("C", "B")) == two.deaf
    assert () == three.deaf


def test_new_brokers_understand_both_protocols():
    assert [(), (), ()] == [cluster.deaf for cluster in RollingCluster.of(HELD_BACK).roll(RAISED)]


def test_a_broker_without_zookeeper_does_not_know_what_was_spoken_before_3_3():
    found = BrokerConfig.of(broker_release("4.0"), KRAFT)

    assert [False, True, True] == [found.knows(version_named(name)) for name in ("3.3-IV2", "3.3-IV3", "4.0")]


def test_a_bounced_broker_keeps_its_log():
    cluster = RollingCluster.of(OLD).write("A").bounce("A", HELD_BACK)

    assert [("A", "2.8"), ("B", "2.0"), ("C", "2.0")] == [(b.name, b.config.release.name) for b in cluster.brokers]
    assert [1, 1, 1] == [len(broker.log) for broker in cluster.brokers]


def test_a_broker_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(UpgradeError, match="no broker 'X'; there are A, B, C"):
        RollingCluster.of(OLD).bounce("X", OLD)


def test_s8_replicas_keep_what_the_leader_wrote():
    """ "If a replica receives the new version before it has updated its own (...) it will nevertheless take the version
    that was written by the leader"."""
    old = config("2.1", draft=True, ibp="2.1", pmv="2.0", lmf="2.0")
    new = config("2.1", draft=True, ibp="2.1", pmv="2.1", lmf="2.0")
    cluster = RollingCluster.of(old).bounce("B", new).write("A").write("B").write("C")

    for broker in cluster.brokers:
        assert ["2.0-IV1", "2.1-IV2", "2.0-IV1"] == [entry.schema.name for entry in broker.log]


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.booleans()), max_size=12))
def test_s8_all_replicas_are_equal_however_the_roll_goes(history):
    cluster = RollingCluster.of(HELD_BACK)
    for name, bounce in history:
        cluster = cluster.bounce(name, RAISED) if bounce else cluster.write(name)

    assert 1 == len({broker.log for broker in cluster.brokers})


def test_before_the_protocol_is_raised_one_can_go_back_and_loses_nothing():
    *_, cluster = RollingCluster.of(OLD).write("A").roll(HELD_BACK)
    found = cluster.write("A").downgrade(OLD.release)

    assert (True, (), ()) == (found.possible, found.against, found.lost)


def test_one_broker_that_has_raised_it_is_enough_to_close_the_way():
    cluster = RollingCluster.of(HELD_BACK).bounce("B", RAISED).write("A").write("B")
    found = cluster.downgrade(OLD.release)

    assert not found.possible
    assert ("B writes what 2.8-IV1 brought, 2.0 knows no more than 2.0-IV1",) == found.against
    assert ["2.8-IV1"] == [entry.schema.name for entry in found.lost]


def test_below_2_1_offsets_and_groups_would_be_lost():
    """Upgrade notes of 2.1: "it will not be possible to downgrade to a version prior to 2.1"."""
    cluster = RollingCluster.of(config("2.1")).write("A")

    assert 1 == len(cluster.downgrade(broker_release("2.0")).lost)


def test_groups_of_2_3_are_unreadable_for_2_2_too():
    """Not in the notes: 2.2 throws IllegalStateException for GroupMetadataValue 3 (source of 2.2)."""
    cluster = RollingCluster.of(config("2.3")).write("A")

    assert 1 == len(cluster.downgrade(broker_release("2.2")).lost)


def test_a_closed_way_need_not_lose_anything():
    """KIP-778 of going back all the same: "in practice (...) for many versions it can often be done"."""
    found = RollingCluster.of(config("2.8")).write("A").downgrade(broker_release("2.7"))

    assert (False, ()) == (found.possible, found.lost)


def test_a_newer_message_format_is_unreadable():
    cluster = RollingCluster.of(config("0.11.0", ibp="0.11.0")).write("A")

    assert 1 == len(cluster.downgrade(broker_release("0.10.2")).lost)
