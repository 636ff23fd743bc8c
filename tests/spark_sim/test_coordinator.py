"""The broker's side: generations, leaders, sessions."""

from spark_sim.coordinator import Coordinator, Phase


def joined(coordinator, *names, now=0):
    ids = [coordinator.join(name, None, name.encode(), now) for name in names]
    return ids, coordinator.complete_join()


def test_the_first_to_join_leads_and_gets_all_subscriptions():
    coordinator = Coordinator()
    (a, b), generation = joined(coordinator, "A", "B")

    assert (1, a, {a: b"A", b: b"B"}) == (generation.generation, generation.leader, generation.subscriptions)
    assert coordinator.sync(a, 1)
    assert Phase.STABLE is coordinator.phase


def test_join_waits_for_every_known_member():
    coordinator = Coordinator()
    (a,), _ = joined(coordinator, "A")
    coordinator.join("B", None, b"", 0)

    assert (a,) == coordinator.waits_for
    assert coordinator.complete_join() is None
    coordinator.join("A", a, b"", 0)
    assert 2 == coordinator.complete_join().generation


def test_a_member_that_is_not_heard_of_loses_its_session():
    coordinator = Coordinator(session_timeout_ms=100)
    (a, b), _ = joined(coordinator, "A", "B")
    coordinator.heartbeat(b, 50)

    assert (a,) == coordinator.expire(100)
    assert (Phase.PREPARING, (b,)) == (coordinator.phase, coordinator.waits_for)


def test_the_leader_stays_leader_as_long_as_it_is_a_member():
    coordinator = Coordinator()
    (a, b), _ = joined(coordinator, "A", "B")
    for member, name in [(b, "B"), (a, "A")]:
        coordinator.join(name, member, b"", 0)

    assert a == coordinator.complete_join().leader


def test_who_leaves_and_comes_back_is_a_new_member_at_the_end_of_the_line():
    coordinator = Coordinator()
    (a, b), _ = joined(coordinator, "A", "B")
    coordinator.leave(a)
    again = coordinator.join("A", a, b"", 0)
    coordinator.join("B", b, b"", 0)

    assert again != a
    assert (b, again) == coordinator.members
    assert b == coordinator.complete_join().leader


def test_the_newest_can_be_elected_instead_of_the_oldest():
    coordinator = Coordinator()
    coordinator.elects_newest = True
    (_, b), generation = joined(coordinator, "A", "B")

    assert b == generation.leader


def test_a_late_or_foreign_sync_is_refused():
    coordinator = Coordinator()
    (a, b), _ = joined(coordinator, "A", "B")

    assert not coordinator.sync(b, 1)
    assert not coordinator.sync(a, 0)
    assert Phase.COMPLETING is coordinator.phase


def test_an_empty_group_is_empty():
    coordinator = Coordinator()
    (a,), _ = joined(coordinator, "A")
    coordinator.leave(a)
    coordinator.leave(a)

    assert coordinator.complete_join() is None
    assert (Phase.EMPTY, None) == (coordinator.phase, coordinator.leader)


def test_a_fork_goes_its_own_way():
    coordinator = Coordinator()
    (a,), _ = joined(coordinator, "A")
    coordinator.fork().leave(a)

    assert (a,) == coordinator.members
