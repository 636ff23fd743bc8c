"""The coordinator: generations, leaders, pending joins and responses."""

import pytest

from streams_assignor.spark_sim.model.coordinator import Coordinator, GroupPhase


def joined(*names, static=False):
    """A group in a new generation, and its member ids."""
    coordinator = Coordinator()
    ids = [coordinator.join(name, None, name.encode(), name if static else None) for name in names]
    assert coordinator.complete_join_phase()
    return coordinator, ids


def stable(*names, static=False):
    """A stable group without pending responses."""
    coordinator, ids = joined(*names, static=static)
    assert coordinator.on_leader_sync(ids[0], 1, {member: f"for {member}".encode() for member in ids})
    for member in ids:
        coordinator.sync_response(member)
    return coordinator, ids


def test_the_first_member_leads_and_gets_all_subscriptions():
    coordinator, (a, b) = joined("A", "B")

    assert (1, a, {a: b"A", b: b"B"}) == (coordinator.generation, coordinator.leader, coordinator.subscriptions)
    assert coordinator.on_leader_sync(a, 1, {a: b"1", b: b"2"})
    assert (GroupPhase.STABLE, {a, b}) == (coordinator.phase, coordinator.pending_sync_responses)


def test_join_waits_for_every_known_member():
    coordinator, (a,) = joined("A")
    b = coordinator.join("B", None, b"")

    assert (True, False) == (coordinator.is_join_pending(a), coordinator.is_join_pending(b))
    assert not coordinator.complete_join_phase()
    coordinator.join("A", a, b"")
    assert coordinator.complete_join_phase()
    assert 2 == coordinator.generation


def test_no_join_is_pending_outside_of_a_rebalance():
    coordinator, (a,) = stable("A")

    assert not coordinator.is_join_pending(a)
    assert not coordinator.complete_join_phase()


def test_the_leader_stays_leader_as_long_as_it_is_a_member():
    coordinator, (a, b) = stable("A", "B")
    for member, name in [(b, "B"), (a, "A")]:
        coordinator.join(name, member, b"more")

    assert coordinator.complete_join_phase()
    assert a == coordinator.leader


def test_a_member_that_leaves_and_rejoins_is_the_newest_one():
    coordinator, (a, b) = stable("A", "B")
    coordinator.remove_member(a)
    again = coordinator.join("A", a, b"")

    assert again != a
    assert (b, again) == coordinator.members
    assert b == coordinator.leader


@pytest.mark.parametrize(("elects", "name"), [("oldest", "B"), ("newest", "C"), ("C", "C"), ("B", "B"), ("D", "B")])
def test_a_leader_is_elected_from_the_remaining_members(elects, name):
    """Kafka's ``GroupMetadata.remove``: a member that joins later is no candidate."""
    coordinator, (a, *_) = stable("A", "B", "C")
    coordinator.election_rule = elects
    coordinator.remove_member(a)
    coordinator.join("D", None, b"")

    assert name == coordinator.leader.rpartition("-")[0]


@pytest.mark.parametrize(("elects", "place"), [("B", 0), ("B#1", 0), ("B#2", 1), ("B#3", 2), ("B#4", 0)])
def test_of_several_ids_of_a_process_the_numbered_one_is_elected(elects, place):
    coordinator, (a, b) = stable("A", "B")
    ids = [b, coordinator.join("B", None, b""), coordinator.join("B", None, b"")]
    coordinator.election_rule = elects
    coordinator.remove_member(a)

    assert ids[place] == coordinator.leader


def test_a_late_or_foreign_sync_is_rejected():
    coordinator, (a, b) = joined("A", "B")

    assert not coordinator.on_leader_sync(b, 1, {})
    assert not coordinator.on_leader_sync(a, 0, {})
    assert (GroupPhase.COMPLETING_REBALANCE, set()) == (coordinator.phase, coordinator.pending_sync_responses)


def test_a_pending_response_survives_the_next_rebalance_unless_its_member_joins_first():
    coordinator, (a, b) = joined("A", "B")
    coordinator.on_leader_sync(a, 1, {a: b"1", b: b"2"})
    coordinator.sync_response(a)
    coordinator.join("A", a, b"more")

    assert {b} == coordinator.pending_sync_responses
    assert coordinator.is_join_pending(b)
    coordinator.join("B", b, b"B")
    assert set() == coordinator.pending_sync_responses


def test_a_follower_with_an_unchanged_subscription_gets_the_current_generation_back():
    """KAFKA-10455: it wanted a rebalance, and there is none."""
    coordinator, (_, b) = stable("A", "B")

    assert b == coordinator.join("B", b, b"B")
    assert (GroupPhase.STABLE, {b}) == (coordinator.phase, coordinator.pending_sync_responses)
    assert b"for B-2" == coordinator.sync_response(b)


@pytest.mark.parametrize(("index", "subscription"), [(0, b"A"), (1, b"more")], ids=["leader", "follower"])
def test_a_new_subscription_or_the_leader_starts_a_rebalance(index, subscription):
    coordinator, ids = stable("A", "B")
    coordinator.join("AB"[index], ids[index], subscription)

    assert GroupPhase.PREPARING_REBALANCE is coordinator.phase
    assert coordinator.is_join_pending(ids[1 - index])


def test_an_unchanged_subscription_changes_nothing_while_the_leader_assigns():
    coordinator, (_, b) = joined("A", "B")
    coordinator.join("B", b, b"B")

    assert (GroupPhase.COMPLETING_REBALANCE, set()) == (coordinator.phase, coordinator.pending_sync_responses)


def test_a_static_member_that_rejoins_keeps_its_place_and_assignment():
    """KIP-345: also with another subscription, as long as the protocol stays the same."""
    coordinator, (a, b) = stable("A", "B", static=True)
    again = coordinator.join("A", None, b"as another release", "A")

    assert again not in {a, b}
    assert (GroupPhase.STABLE, (again, b), again) == (coordinator.phase, coordinator.members, coordinator.leader)
    assert b"for A-1" == coordinator.sync_response(again)
    assert b"as another release" == coordinator.subscriptions[again]


def test_a_static_member_that_rejoins_during_the_join_phase_joins_with_the_others():
    coordinator, (a, b) = stable("A", "B", static=True)
    coordinator.join("B", b, b"more", "B")
    again = coordinator.join("A", None, b"A", "A")

    assert a not in coordinator.members
    assert coordinator.complete_join_phase()
    assert (again, b) == coordinator.members


def test_a_static_member_that_rejoins_while_the_leader_assigns_starts_a_rebalance():
    coordinator, (_, b) = joined("A", "B", static=True)
    again = coordinator.join("B", None, b"B", "B")

    assert GroupPhase.PREPARING_REBALANCE is coordinator.phase
    assert not coordinator.is_join_pending(again)
    assert b not in coordinator.members


def test_a_static_member_whose_session_has_expired_is_removed():
    coordinator, (_, b) = stable("A", "B", static=True)
    coordinator.remove_member(b)
    coordinator.join("B", None, b"B", "B")

    assert GroupPhase.PREPARING_REBALANCE is coordinator.phase
    assert "A" == coordinator.members[0].rpartition("-")[0]


def test_an_empty_group_is_empty():
    coordinator, (a,) = joined("A")
    coordinator.remove_member(a)
    coordinator.remove_member(a)

    assert not coordinator.complete_join_phase()
    assert (GroupPhase.EMPTY, None) == (coordinator.phase, coordinator.leader)


def test_a_fork_is_independent():
    coordinator, (a,) = joined("A")
    coordinator.fork().remove_member(a)

    assert (a,) == coordinator.members
