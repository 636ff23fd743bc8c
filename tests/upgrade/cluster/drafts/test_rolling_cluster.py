"""A cluster in the middle of a roll."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.upgrade.cluster.brokers.config import BrokerConfig
from streams_assignor.upgrade.cluster.brokers.protocol_versions import broker_release, version_named
from streams_assignor.upgrade.cluster.drafts.rolling_cluster import RollingCluster
from streams_assignor.upgrade.errors import UpgradeError
from tests.upgrade.cluster.brokers.observed import KRAFT
from tests.upgrade.cluster.brokers.test_config import config

OLD = config("2.0")
HELD_BACK = config("2.8", ibp="2.0")
RAISED = config("2.8")


def test_all_brokers_are_compatible_while_the_protocol_is_pinned():
    assert [(), (), ()] == [cluster.incompatible_pairs for cluster in RollingCluster.of(OLD).roll(HELD_BACK)]


def test_old_brokers_do_not_know_the_protocol_of_the_first_new_one():
    """KIP-584: "if they leave the IBP configuration key unset, it will default to the latest version"."""
    one, two, three = RollingCluster.of(OLD).roll(RAISED)

    assert (("B", "A"), ("C", "A")) == one.incompatible_pairs
    assert (("C", "A"), ("C", "B")) == two.incompatible_pairs
    assert () == three.incompatible_pairs


def test_new_brokers_understand_both_protocols():
    assert [(), (), ()] == [cluster.incompatible_pairs for cluster in RollingCluster.of(HELD_BACK).roll(RAISED)]


def test_a_broker_without_zookeeper_does_not_support_versions_before_3_3():
    found = BrokerConfig.of(broker_release("4.0"), KRAFT)

    assert [False, True, True] == [found.supports(version_named(name)) for name in ("3.3-IV2", "3.3-IV3", "4.0")]


def test_a_bounced_broker_keeps_its_log():
    cluster = RollingCluster.of(OLD).write("A").bounce("A", HELD_BACK)

    assert [("A", "2.8"), ("B", "2.0"), ("C", "2.0")] == [(b.name, b.config.release.name) for b in cluster.brokers]
    assert [1, 1, 1] == [len(broker.log) for broker in cluster.brokers]


def test_an_unknown_broker_is_refused_with_the_known_ones():
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


def test_before_the_protocol_is_raised_a_downgrade_loses_nothing():
    *_, cluster = RollingCluster.of(OLD).write("A").roll(HELD_BACK)
    found = cluster.write("A").downgrade(OLD.release)

    assert (True, (), ()) == (found.is_possible, found.objections, found.unreadable_entries)


def test_one_broker_with_the_new_protocol_prevents_a_downgrade():
    cluster = RollingCluster.of(HELD_BACK).bounce("B", RAISED).write("A").write("B")
    found = cluster.downgrade(OLD.release)

    assert not found.is_possible
    assert ("B writes schemas of 2.8-IV1, 2.0 supports at most 2.0-IV1",) == found.objections
    assert ["2.8-IV1"] == [entry.schema.name for entry in found.unreadable_entries]


def test_below_2_1_offsets_and_groups_would_be_lost():
    """Upgrade notes of 2.1: "it will not be possible to downgrade to a version prior to 2.1"."""
    cluster = RollingCluster.of(config("2.1")).write("A")

    assert 1 == len(cluster.downgrade(broker_release("2.0")).unreadable_entries)


def test_groups_of_2_3_are_unreadable_for_2_2_too():
    """Not in the notes: 2.2 throws IllegalStateException for GroupMetadataValue 3 (source of 2.2)."""
    cluster = RollingCluster.of(config("2.3")).write("A")

    assert 1 == len(cluster.downgrade(broker_release("2.2")).unreadable_entries)


def test_an_impossible_downgrade_need_not_lose_anything():
    """KIP-778 of going back all the same: "in practice (...) for many versions it can often be done"."""
    found = RollingCluster.of(config("2.8")).write("A").downgrade(broker_release("2.7"))

    assert (False, ()) == (found.is_possible, found.unreadable_entries)


def test_a_newer_message_format_is_unreadable():
    cluster = RollingCluster.of(config("0.11.0", ibp="0.11.0")).write("A")

    assert 1 == len(cluster.downgrade(broker_release("0.10.2")).unreadable_entries)
