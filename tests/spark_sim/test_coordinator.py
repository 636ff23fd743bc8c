"""The broker's side: generations, leaders, who waits for what."""

import pytest

from spark_sim.coordinator import Coordinator, Phase


def joined(*names, static=False):
    """A group in a new generation, and its member ids."""
    coordinator = Coordinator()
    ids = [coordinator.join(name, None, name.encode(), name if static else None) for name in names]
    assert coordinator.complete_join()
    return coordinator, ids


def stable(*names, static=False):
    """A group in which everybody has taken its answer."""
    coordinator, ids = joined(*names, static=static)
    assert coordinator.sync(ids[0], 1, {member: f"for {member}".encode() for member in ids})
    for member in ids:
        coordinator.take(member)
    return coordinator, ids


def test_the_first_to_join_leads_and_all_subscriptions_are_there_for_it():
    coordinator, (a, b) = joined("A", "B")

    assert (1, a, {a: b"A", b: b"B"}) == (coordinator.generation, coordinator.leader, coordinator.subscriptions)
    assert coordinator.sync(a, 1, {a: b"1", b: b"2"})
    assert (Phase.STABLE, {a, b}) == (coordinator.phase, coordinator.untaken)


def test_join_waits_for_every_known_member():
    coordinator, (a,) = joined("A")
    b = coordinator.join("B", None, b"")

    assert (True, False) == (coordinator.waits_for(a), coordinator.waits_for(b))
    assert not coordinator.complete_join()
    coordinator.join("A", a, b"")
    assert coordinator.complete_join()
    assert 2 == coordinator.generation


def test_nobody_waits_outside_of_a_rebalance():
    coordinator, (a,) = stable("A")

    assert not coordinator.waits_for(a)
    assert not coordinator.complete_join()


def test_the_leader_stays_leader_as_long_as_it_is_a_member():
    coordinator, (a, b) = stable("A", "B")
    for member, name in [(b, "B"), (a, "A")]:
        coordinator.join(name, member, b"more")

    assert coordinator.complete_join()
    assert a == coordinator.leader


def test_who_leaves_and_comes_back_is_a_new_member_at_the_end_of_the_line():
    coordinator, (a, b) = stable("A", "B")
    coordinator.remove(a)
    again = coordinator.join("A", a, b"")

    assert again != a
    assert (b, again) == coordinator.members
    assert b == coordinator.leader


@pytest.mark.parametrize(("elects", "name"), [("oldest", "B"), ("newest", "C"), ("C", "C"), ("B", "B"), ("D", "B")])
def test_a_leader_is_elected_when_one_goes_among_those_who_remain(elects, name):
    """Kafka's ``GroupMetadata.remove``: who joins afterwards has no chance."""
    coordinator, (a, *_) = stable("A", "B", "C")
    coordinator.elects = elects
    coordinator.remove(a)
    coordinator.join("D", None, b"")

    assert name == coordinator.leader.rpartition("-")[0]


def test_a_late_or_foreign_sync_is_refused():
    coordinator, (a, b) = joined("A", "B")

    assert not coordinator.sync(b, 1, {})
    assert not coordinator.sync(a, 0, {})
    assert (Phase.COMPLETING, set()) == (coordinator.phase, coordinator.untaken)


def test_an_answer_on_its_way_arrives_although_the_next_rebalance_has_begun_unless_its_member_joins_first():
    coordinator, (a, b) = joined("A", "B")
    coordinator.sync(a, 1, {a: b"1", b: b"2"})
    coordinator.take(a)
    coordinator.join("A", a, b"more")

    assert {b} == coordinator.untaken
    assert coordinator.waits_for(b)
    coordinator.join("B", b, b"B")
    assert set() == coordinator.untaken


def test_a_follower_with_nothing_new_to_say_gets_the_running_generation_back():
    """KAFKA-10455: it wanted a rebalance, and there is none."""
    coordinator, (_, b) = stable("A", "B")

    assert b == coordinator.join("B", b, b"B")
    assert (Phase.STABLE, {b}) == (coordinator.phase, coordinator.untaken)
    assert b"for B-2" == coordinator.take(b)


@pytest.mark.parametrize(("who", "says"), [(0, b"A"), (1, b"more")], ids=["the leader", "a follower with news"])
def test_others_who_join_a_running_generation_begin_a_rebalance(who, says):
    coordinator, ids = stable("A", "B")
    coordinator.join("AB"[who], ids[who], says)

    assert Phase.PREPARING is coordinator.phase
    assert coordinator.waits_for(ids[1 - who])


def test_who_says_the_same_while_the_leader_is_at_work_changes_nothing():
    coordinator, (_, b) = joined("A", "B")
    coordinator.join("B", b, b"B")

    assert (Phase.COMPLETING, set()) == (coordinator.phase, coordinator.untaken)


def test_a_static_member_that_comes_back_has_its_place_and_its_answer():
    """KIP-345: also if it says something else now, as long as the protocol stays the same."""
    coordinator, (a, b) = stable("A", "B", static=True)
    again = coordinator.join("A", None, b"as another release", "A")

    assert again not in {a, b}
    assert (Phase.STABLE, (again, b), again) == (coordinator.phase, coordinator.members, coordinator.leader)
    assert b"for A-1" == coordinator.take(again)
    assert b"as another release" == coordinator.subscriptions[again]


def test_a_static_member_that_comes_back_while_others_join_joins_with_them():
    coordinator, (a, b) = stable("A", "B", static=True)
    coordinator.join("B", b, b"more", "B")
    again = coordinator.join("A", None, b"A", "A")

    assert a not in coordinator.members
    assert coordinator.complete_join()
    assert (again, b) == coordinator.members


def test_a_static_member_that_comes_back_while_the_leader_is_at_work_begins_a_rebalance():
    coordinator, (_, b) = joined("A", "B", static=True)
    again = coordinator.join("B", None, b"B", "B")

    assert Phase.PREPARING is coordinator.phase
    assert not coordinator.waits_for(again)
    assert b not in coordinator.members


def test_a_static_member_whose_session_has_timed_out_is_forgotten():
    coordinator, (_, b) = stable("A", "B", static=True)
    coordinator.remove(b)
    coordinator.join("B", None, b"B", "B")

    assert Phase.PREPARING is coordinator.phase
    assert "A" == coordinator.members[0].rpartition("-")[0]


def test_an_empty_group_is_empty():
    coordinator, (a,) = joined("A")
    coordinator.remove(a)
    coordinator.remove(a)

    assert not coordinator.complete_join()
    assert (Phase.EMPTY, None) == (coordinator.phase, coordinator.leader)


def test_a_fork_goes_its_own_way():
    coordinator, (a,) = joined("A")
    coordinator.fork().remove(a)

    assert (a,) == coordinator.members
