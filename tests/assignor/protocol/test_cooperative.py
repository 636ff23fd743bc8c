"""Cooperative rebalancing (KIP-429), warm-ups (KIP-441) and what else newer metadata carries, in real bytes."""

from collections import Counter
from itertools import permutations
from uuid import UUID

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from streams_assignor import FatalError, StreamsAssignor, Subtopology, Topology
from streams_assignor.codec import (
    LATEST_OFFSET,
    NO_FOLLOW_UP,
    OFFSET_UNKNOWN,
    ClientTag,
    HostInfo,
    TaskId,
    TopicPartition,
    decode_assignment,
    decode_subscription,
)
from streams_assignor.codec.consumer_protocol import (
    decode_consumer_assignment,
    decode_consumer_subscription,
    flatten_by_topic,
)
from streams_assignor.probing import RejoinMode
from streams_assignor.probing.follow_up import FollowUpReason
from streams_assignor.task_assignor import (
    BUILT_IN,
    KafkaStreamsAssignment,
    TaskAssignment,
    identity_assignment,
)
from streams_assignor.upgrade import StreamsConfig, release_named
from streams_assignor.upgrade.plans import (
    deals_tasks_without_lags,
    documented_upgrade,
    order_by_capability,
    takes_tasks_from_eager_members,
)
from streams_assignor.upgrade.releases import NEWEST_OF_LINE
from streams_assignor.upgrade.upgrade_from import StartupOutcome, implies_eager
from tests.draws import examples
from tests.group import Group

COUNTS = Topology.of(Subtopology(sources=["orders"], changelogs=["counts"]))
MIXED = Topology.of(
    Subtopology(sources=["orders"], changelogs=["counts"]),
    Subtopology(sources=["clicks"]),
)
SIZES = {"orders": 4, "clicks": 4, "counts": 4}
COOPERATIVE = ["2.4.1", "2.5.1", "2.6.3", "3.1.2", "3.9.2", "4.3.1"]


def an_assignor(release="3.9.2", topology=COUNTS, process=1, **config):
    return StreamsAssignor(
        topology, StreamsConfig(**config), process_id=UUID(int=process), release=release_named(release)
    )


def decoded(encoded):
    return decode_subscription(decode_consumer_subscription(encoded).user_data)


def answered(encoded):
    return decode_assignment(decode_consumer_assignment(encoded).user_data)


def active(received):
    return {name: set(each.active) for name, each in received.items()}


# -- what a member may keep --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", COOPERATIVE)
def test_a_task_moves_only_after_its_owner_has_given_it_up(release):
    group = Group(COUNTS, SIZES, a=release)
    before = group.settle()["a"].active.keys()
    group.add("b", release, process=2)

    waiting = group.rebalance(leader="a")
    moved = before - waiting["a"].active.keys()
    after = group.rebalance(leader="a")

    assert 2 == len(moved)
    assert set() == set(waiting["b"].active)
    assert moved == set(after["b"].active)


@pytest.mark.parametrize("release", COOPERATIVE)
@settings(max_examples=examples(20))
@given(st.data())
def test_no_task_ever_has_two_owners_and_in_the_end_each_has_one(release, data):
    """Members come and go at random, and learn of their assignment in any order."""
    group = Group(MIXED, SIZES, a=release)
    owned = {"a": set()}
    for step in range(data.draw(st.integers(1, 4))):
        if len(group.members) > 1 and data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(sorted(group.members)))
            del group.members[gone], owned[gone]
        else:
            name = f"m{step}"
            group.add(name, release, process=100 + step, num_standby_replicas=data.draw(st.integers(0, 1)))
            owned[name] = set()
        leader = data.draw(st.sampled_from(sorted(group.members)))
        for _ in range(10):
            answers = group.answers(leader)
            gave_up = rejoins = False
            for name in data.draw(st.permutations(sorted(group.members))):
                received = group.members[name].on_assignment(answers[name])
                gave_up |= bool(owned[name] - set(received.partitions))
                rejoins |= received.rejoin is not None
                owned[name] = set(received.partitions)
                twice = [
                    each for each, count in Counter(one for its in owned.values() for one in its).items() if count > 1
                ]
                assert [] == twice
            if not gave_up and not rejoins:
                break
        else:
            raise AssertionError("still rebalancing after 10 generations")
        assert 8 == sum(map(len, owned.values()))


def test_a_member_that_waits_for_a_task_rejoins_immediately():
    group = Group(COUNTS, SIZES, a="3.9.2")
    group.settle()
    group.add("b", "3.9.2", process=2)

    received = group.rebalance(leader="a")

    assert (FollowUpReason.WITHHELD, RejoinMode.KEEP_MEMBER_ID) == (received["b"].follow_up, received["b"].rejoin)
    assert (None, None) == (received["a"].follow_up, received["a"].rejoin)


def test_up_to_2_5_no_assignment_has_a_next_rebalance():
    """The owner rejoins by itself when it has given something up; version 6 cannot carry a time."""
    group = Group(COUNTS, SIZES, a="2.5.1")
    group.settle()
    group.add("b", "2.5.1", process=2)

    assert {None} == {each.follow_up for each in group.rebalance(leader="a").values()}


@pytest.mark.parametrize(
    ("release", "configured", "kept"),
    [("2.3.1", None, 0), ("2.4.1", None, 4), ("2.4.1", "2.3", 0), ("3.9.2", "2.3", 0), ("3.9.2", "2.4", 4)],
)
def test_upgrade_from_up_to_2_3_is_eager(release, configured, kept):
    group = Group(COUNTS, SIZES)
    member = group.add("a", release, process=1, upgrade_from=configured)
    group.rebalance()

    envelope = decode_consumer_subscription(member.subscription())

    assert kept == len(flatten_by_topic(envelope.owned_partitions))


def test_a_consumer_that_knows_only_the_eager_protocol_stays_eager():
    member = StreamsAssignor(COUNTS, release=release_named("3.9.2"), cooperative=False)
    member.on_assignment(member.assign({"orders": 1}, {"a": member.subscription()})["a"])

    assert () == decode_consumer_subscription(member.subscription()).owned_partitions


def test_a_member_that_lost_its_tasks_does_not_claim_them():
    group = Group(COUNTS, SIZES, a="3.9.2")
    group.settle()
    member = group.members["a"]

    member.on_partitions_lost()
    encoded = member.subscription()

    assert () == decode_consumer_subscription(encoded).owned_partitions
    assert {OFFSET_UNKNOWN} == set(decoded(encoded).task_offset_sums.as_dict().values())


@pytest.mark.parametrize(
    ("release", "standby_before", "interim"),
    [
        ("2.5.1", True, False),
        ("2.6.3", False, True),
        ("3.5.1", False, True),
        ("3.5.2", False, False),
        ("3.9.2", True, True),
    ],
)
def test_state_is_kept_open_while_a_task_waits_for_its_owner(release, standby_before, interim):
    """KAFKA bug #14149: up to 3.5.1 every waiting member gets a standby, needed or not."""
    group = Group(COUNTS, {"orders": 1, "counts": 1}, a=release)
    group.settle()
    group.add("b", release, process=2, task_assignor=_Giving(2))
    if standby_before:
        group.members["b"]._member = evolve(group.members["b"].member, stored=frozenset({TaskId(0, 0)}))

    waiting = group.rebalance(leader="b")["b"]

    assert {} == waiting.active
    assert interim == (TaskId(0, 0) in waiting.standby)


class _Giving:
    """Gives every task to one process."""

    def __init__(self, process):
        self.process_id = UUID(int=process)

    def assign(self, state):
        return TaskAssignment.of(
            KafkaStreamsAssignment(each, state.tasks if each == self.process_id else ()) for each in state.clients
        )


# -- content of a subscription -------------------------------------------------------------------------------------


def test_offset_sums_say_what_runs_and_what_is_stored_but_nothing_of_stateless_tasks():
    """A leader of 2.6 fails on a task in the sums that has no state."""
    group = Group(MIXED, SIZES, a="3.9.2")
    group.settle()
    member = group.members["a"]

    sums = decoded(
        member.subscription(offset_sums={TaskId(0, 0): 7, TaskId(0, 9): 12, TaskId(1, 9): 3})
    ).task_offset_sums

    running = {TaskId(0, partition): LATEST_OFFSET for partition in range(4)}
    assert running | {TaskId(0, 9): 12} == sums.as_dict()


def test_without_sums_the_position_of_what_is_stored_is_unknown():
    member = StreamsAssignor(COUNTS, release=release_named("3.9.2"), stored=[TaskId(0, 2)])

    assert {TaskId(0, 2): OFFSET_UNKNOWN} == decoded(member.subscription()).task_offset_sums.as_dict()


def test_below_version_7_todays_members_name_only_tasks_with_state():
    group = Group(MIXED, SIZES, a="2.4.1")
    member = group.add("b", "3.9.2", process=2)
    group.settle(leader="a")

    sent = decoded(member.subscription())
    assert 5 == sent.version
    assert {0} == {task.subtopology for task in sent.prev_tasks}


@pytest.mark.parametrize("release", ["2.6.3", "3.9.2"])
@pytest.mark.parametrize(("configured", "version"), [("1.1", 2), ("2.3", None)])
def test_an_eager_member_since_2_6_has_suspended_its_tasks_before_it_reports_them(release, configured, version):
    group = Group(MIXED, SIZES)
    member = group.add("a", release, process=1, upgrade_from=configured)
    group.rebalance()

    sent = decoded(member.subscription(offset_sums={TaskId(0, 0): 7, TaskId(0, 9): 12, TaskId(1, 0): 3}))

    state = {TaskId(0, partition): OFFSET_UNKNOWN for partition in range(4)} | {TaskId(0, 0): 7, TaskId(0, 9): 12}
    assert (version or member.supported_version) == sent.version
    assert () == tuple(sent.prev_tasks)
    assert sorted(state) == [*sent.standby_tasks, *(task for task, _ in sent.task_offset_sums)]
    assert dict(sent.task_offset_sums) == (state if version is None else {})


@pytest.mark.parametrize(("release", "kept"), [("2.6.3", 0), ("3.1.2", 0), ("3.2.3", 2), ("3.9.2", 2)])
def test_an_eager_leader_before_3_2_moves_all_tasks_to_a_member_of_2_3(release, kept):
    """Version 4 has no offsets, so its own suspended tasks have an unknown lag, and those of the other one run.

    Seen in a real group: ``tests/lab/integration/test_suspended_tasks.py``.
    """
    group = Group(COUNTS, SIZES)
    group.add("a", release, process=1, upgrade_from="2.3")
    group.settle()
    group.add("b", "2.3.1", process=2)

    assert {"a": kept, "b": 4 - kept} == {name: len(tasks) for name, tasks in active(group.settle(leader="a")).items()}


EAGER_UPGRADES = [
    hop
    for pair in permutations([release for release in NEWEST_OF_LINE.values() if release.is_released], 2)
    if (hop := documented_upgrade(*pair)).upgrade_from and implies_eager(hop.upgrade_from)
]


def starves_its_own_members(hop):
    """Return whether a newer member that joins two older ones, and leads, gets nothing of their large tasks."""
    older, newer = order_by_capability(hop.origin, hop.target)
    group = Group(COUNTS, SIZES, old1=older.name, old2=older.name)
    group.cluster = evolve(group.cluster, end_offsets=dict.fromkeys(group.cluster.end_offsets, 100_000))
    group.settle()
    group.add("new", newer.name, process=3, upgrade_from=hop.upgrade_from)
    group.settle(leader="new")
    return not active(group.settle(leader="new"))["new"]


@pytest.mark.unmeasured
def test_leaders_starve_their_own_eager_members_where_a_plan_names_it_as_a_hazard():
    starving = {hop for hop in EAGER_UPGRADES if starves_its_own_members(hop)}

    assert starving == {hop for hop in EAGER_UPGRADES if takes_tasks_from_eager_members(hop.origin, hop.target)}
    assert {"2.6", "2.7", "2.8", "3.0", "3.1"} == {hop.target.line for hop in starving if hop.target.number >= (2, 4)}


BY_LAG = [release for release in NEWEST_OF_LINE.values() if release.is_released and release.behaviour.lag_based]


def tasks_of_a_second_member(release, configured):
    """Return how many large tasks it gets at once that the first one has, and reports as it ran them."""
    group = Group(COUNTS, SIZES)
    group.cluster = evolve(group.cluster, end_offsets=dict.fromkeys(group.cluster.end_offsets, 100_000))
    first = group.add("a", release, process=1, upgrade_from=configured)
    received = group.settle()
    second = group.add("b", release, process=2, upgrade_from=configured)
    stored = dict.fromkeys(received["a"].active, 99_999)
    answers = first.assign(group.cluster, {"a": first.subscription(offset_sums=stored), "b": second.subscription()})
    return len(answered(answers["b"]).active_tasks)


@pytest.mark.parametrize("configured", ["1.1", "2.3"])
def test_new_members_with_a_pinned_version_are_dealt_tasks_where_a_plan_names_it_as_a_hazard(configured):
    """Seen in a real group: ``tests/lab/integration/test_suspended_tasks.py``."""
    possible = [release for release in BY_LAG if release.startup_outcome(configured).outcome is StartupOutcome.STARTS]
    dealt = {release.line: tasks_of_a_second_member(release.name, configured) for release in possible}

    origin = release_named(configured)
    assert dealt == {release.line: 2 * deals_tasks_without_lags(origin, release) for release in possible}
    assert ({"2.6", "2.7", "2.8", "3.0", "3.1"} if configured == "1.1" else set()) == {
        line for line, number in dealt.items() if number
    }


def test_an_eager_member_of_ours_reports_the_tasks_that_it_ran():
    group = Group(COUNTS, SIZES)
    member = group.add("a", process=1, upgrade_from="2.3")
    group.rebalance()

    assert {LATEST_OFFSET} == set(dict(decoded(member.subscription()).task_offset_sums).values())


@pytest.mark.parametrize(("release", "named"), [("2.3.1", 8), ("2.4.1", 0)])
def test_before_2_6_members_name_all_tasks_or_in_the_cooperative_protocol_none(release, named):
    group = Group(MIXED, SIZES, a=release)
    group.settle()

    assert named == len(decoded(group.members["a"].subscription()).prev_tasks)


def test_no_subscription_equals_the_one_before():
    member = an_assignor()

    assert [1, 2, 3] == [decoded(member.subscription()).unique_field for _ in range(3)]
    for _ in range(124):
        member.subscription()
    assert -128 == decoded(member.subscription()).unique_field


def test_tags_and_rack_travel():
    encoded = an_assignor(client_tags={"zone": "a", "cluster": "k"}, client_rack="r1").subscription()

    assert (ClientTag("cluster", "k"), ClientTag("zone", "a")) == tuple(decoded(encoded).client_tags)
    assert "r1" == decode_consumer_subscription(encoded).rack_id


@pytest.mark.parametrize(
    ("release", "envelope"), [("2.3.1", 0), ("2.4.1", 1), ("3.3.2", 1), ("3.4.1", 3), ("4.3.1", 3)]
)
def test_the_envelope_is_that_of_the_releases_consumer(release, envelope):
    assert envelope == decode_consumer_subscription(an_assignor(release).subscription()).version


# -- what a leader answers -------------------------------------------------------------------------------------------


def test_hosts_of_standbys_are_sent_since_version_6():
    group = Group(COUNTS, SIZES)
    group.add("a", "3.9.2", process=1, application_server="a:1", num_standby_replicas=1)
    group.add("b", "3.9.2", process=2, application_server="b:2", num_standby_replicas=1)
    received = group.settle()

    for one, other in [("a", "b:2"), ("b", "a:1")]:
        host, port = other.split(":")
        standby = {each for inputs in received["a" if one == "b" else "b"].standby.values() for each in inputs}
        assert standby == received[one].standby_hosts[HostInfo(host, int(port))]


def test_a_leader_that_cannot_get_offsets_leaves_everything_and_tries_again_later():
    group = Group(COUNTS, SIZES, a="3.9.2", b="3.9.2")
    before = active(group.settle())
    group.cluster = evolve(group.cluster, end_offsets=None, now_ms=1_000)

    received = group.rebalance(leader="b")

    assert before == active(received)
    assert {"a": None, "b": 601_000} == {name: each.rejoin_at_ms for name, each in received.items()}
    assert (FollowUpReason.PROBING, None) == (received["b"].follow_up, received["b"].rejoin)


def test_only_one_member_of_the_leaders_process_looks_for_warm_ups():
    group = Group(COUNTS, SIZES)
    for name, process in {"a1": 1, "a2": 1, "b": 2}.items():
        group.add(name, "3.9.2", process=process)
    group.settle()
    group.cluster = evolve(group.cluster, end_offsets=None)

    received = group.rebalance(leader="a2")

    assert ["a1"] == [name for name, each in received.items() if each.rejoin_at_ms is not None]


def test_a_task_warms_up_before_it_moves():
    """KIP-441: the new member restores first, and gets the task when it has caught up."""
    group = Group(COUNTS, {"orders": 2, "counts": 2}, a="3.9.2")
    group.settle()
    group.cluster = evolve(group.cluster, end_offsets=dict.fromkeys(group.cluster.end_offsets, 100_000), now_ms=5_000)
    group.add("b", "3.9.2", process=2)

    warming = group.rebalance(leader="a")
    assert {TaskId(0, 0), TaskId(0, 1)} == set(warming["a"].active)
    warm_up = set(warming["b"].standby)
    assert 1 == len(warm_up)
    assert 605_000 == warming["a"].rejoin_at_ms

    sums = {"a": {}, "b": dict.fromkeys(warm_up, 99_990)}
    for _ in range(2):
        subscriptions = {name: member.subscription(offset_sums=sums[name]) for name, member in group.members.items()}
        answers = group.members["a"].assign(group.cluster, subscriptions)
        done = {name: member.on_assignment(answers[name]) for name, member in group.members.items()}
    assert warm_up == set(done["b"].active)


def test_a_missing_offset_ends_the_leader_as_it_does_in_kafka():
    group = Group(COUNTS, SIZES, a="3.9.2")
    group.cluster = evolve(group.cluster, end_offsets={})

    with pytest.raises(FatalError, match="IllegalStateException: Could not get end offset for counts-0"):
        group.rebalance()


def test_a_static_member_that_came_back_at_another_endpoint_makes_the_group_rebalance():
    """The coordinator hands a static member its old assignment, in which its new endpoint is missing (KAFKA-9747)."""
    group = Group(COUNTS, SIZES)
    group.add("a", "3.9.2", process=1, application_server="a:1", group_instance_id="a")
    group.add("b", "3.9.2", process=2, application_server="b:2", group_instance_id="b")
    group.settle()
    answers = group.answers()
    moved = group.add("b", "3.9.2", process=2, application_server="b:3", group_instance_id="b")

    received = moved.on_assignment(answers["b"])

    assert (FollowUpReason.END_POINT, RejoinMode.KEEP_MEMBER_ID) == (received.follow_up, received.rejoin)
    settled = group.settle()
    assert HostInfo("b", 3) in settled["a"].hosts


@pytest.mark.parametrize("leader", ["a", "b", "c"])
@pytest.mark.parametrize("release", ["2.8.2", "3.9.2", "4.3.1"])
def test_a_group_settles_with_end_points_in_every_form(release, leader):
    """A scheme or brackets were part of the host: members of Kafka did not find theirs, and rejoined without end."""
    group = Group(COUNTS, SIZES)
    group.add("a", release, process=1, application_server="PLAINTEXT://a:1")
    group.add("b", process=2, application_server="http://[::1]:2")
    group.add("c", process=3, application_server="[c]:3")
    group.settle(leader=leader)

    received = group.rebalance(leader=leader)

    assert {HostInfo("a", 1), HostInfo("::1", 2), HostInfo("c", 3)} == set(received["a"].hosts)
    assert not any(each.rejoin for each in received.values())


def test_a_changed_version_comes_before_all_other_reasons():
    group = Group(COUNTS, SIZES, a="2.4.1")
    group.settle()
    group.add("b", "3.9.2", process=2)

    assert FollowUpReason.VERSION is group.rebalance(leader="a")["b"].follow_up


@pytest.mark.parametrize("release", ["2.8.2", "4.3.1"])
def test_one_member_can_end_the_whole_application(release):
    group = Group(COUNTS, SIZES, a=release, b=release)
    group.settle()
    group.members["b"].request_shutdown()
    answers = group.answers(leader="a")

    assert {4} == {answered(encoded).error_code for encoded in answers.values()}
    for name, member in group.members.items():
        with pytest.raises(FatalError, match="SHUTDOWN_REQUESTED"):
            member.on_assignment(answers[name])


def test_a_leader_before_2_8_does_not_know_of_shutdowns():
    group = Group(COUNTS, SIZES, a="2.7.2", b="2.8.2")
    group.settle(leader="a")
    group.members["b"].request_shutdown()

    assert {0} == {answered(encoded).error_code for encoded in group.answers(leader="a").values()}


CHAINED = Topology.of(Subtopology(sources=["in"], repartition_sinks=["r"]), Subtopology(repartition_sources=["r"]))


def test_since_2_7_an_assignment_error_is_sent_to_all_members():
    group = Group(CHAINED, {"in": 2, "r": 5}, a="3.9.2")

    with pytest.raises(FatalError, match="StreamsException"):  # that one is no TaskAssignmentException
        group.rebalance()
    circle = Topology.of(Subtopology(repartition_sources=["r"], repartition_sinks=["r"]))
    group = Group(circle, {}, a="3.9.2", b="2.6.3")
    assert {(11, 3)} == {
        (answered(encoded).version, answered(encoded).error_code) for encoded in group.answers(leader="a").values()
    }
    with pytest.raises(FatalError, match="no topic that exists leads there"):
        group.answers(leader="b")


# -- task assignors of one's own -------------------------------------------------------------------------------------


def test_an_application_places_its_tasks_itself():
    group = Group(COUNTS, SIZES)
    group.add("a", process=1, task_assignor=_Giving(2))
    group.add("b", process=2)

    assert {"a": 0, "b": 4} == {name: len(each.active) for name, each in group.rebalance().items()}


def test_an_application_sees_the_tasks_that_co_partitioning_makes():
    """The state was once made of the topics alone, without what makes repartition topics even."""
    topology = Topology.of(
        Subtopology(sources=["small"], repartition_sinks=["r"]),
        Subtopology(repartition_sources=["r"], sources=["large"]),
        copartition_groups=[["r", "large"]],
    )
    group = Group(topology, {"small": 1, "large": 3})
    group.add("a", "3.9.2", process=1, task_assignor=_Giving(1))

    assert {TopicPartition("r", 2), TopicPartition("large", 2)} == group.rebalance()["a"].active[TaskId(1, 2)]


@pytest.mark.parametrize("release", ["3.9.2", "streams-assignor"])
def test_tasks_go_where_their_partitions_are(release):
    """KIP-925: every partition has a replica in one of two racks, every member is in one of them."""
    racks = {
        TopicPartition(topic, partition): {"even" if partition % 2 == 0 else "odd"}
        for topic in ("orders", "counts")
        for partition in range(4)
    }
    group = Group(COUNTS, SIZES)
    for number, rack in enumerate(("odd", "even"), 1):
        group.add(
            rack,
            release,
            process=number,
            client_rack=rack,
            rack_aware_assignment_strategy="min_traffic",
            rack_aware_assignment_traffic_cost=10,  # the sticky assignor would not move a task for less
            rack_aware_assignment_non_overlap_cost=1,
        )
    group.cluster = evolve(group.cluster, replica_racks=racks)

    received = group.settle()

    assert {"odd": {1, 3}, "even": {0, 2}} == {
        name: {task.partition for task in each.active} for name, each in received.items()
    }
    group.cluster = evolve(group.cluster, replica_racks={})  # unknown: the racks may have been anything before
    assert 4 == sum(len(each.active) for each in group.settle().values())


class _Waiting:
    """Leaves everything as it is and has the second process look again in a minute."""

    def assign(self, state):
        kept = identity_assignment(state).assignments
        later = {process: 60_000 if process == UUID(int=2) else None for process in kept}
        return TaskAssignment(
            {process: evolve(share, follow_up_rebalance_ms=later[process]) for process, share in kept.items()}
        )


def test_an_application_asks_for_a_follow_up_rebalance():
    group = Group(COUNTS, SIZES)
    group.add("a", "3.9.2", process=1, task_assignor=_Waiting())
    group.add("b", "3.9.2", process=2)
    group.cluster = evolve(group.cluster, now_ms=1_000)

    assert {"a": None, "b": 61_000} == {name: each.rejoin_at_ms for name, each in group.rebalance().items()}


class _NoProcess:
    """Assigns nothing to any process, not even the empty assignment that each has to have."""

    def assign(self, _state):
        return TaskAssignment.of([])


def test_a_wrong_assignment_of_the_application_ends_the_leader():
    group = Group(COUNTS, SIZES)
    group.add("a", "3.9.2", process=1, task_assignor=_NoProcess())

    with pytest.raises(FatalError, match=r"StreamsException: .*MISSING_PROCESS_ID"):
        group.rebalance()


def test_our_own_members_can_be_configured_to_balance_by_lag():
    group = Group(COUNTS, SIZES)
    group.add("a", process=1, task_assignor=BUILT_IN["high-availability"])
    group.add("b", process=2)

    assert {"a": 2, "b": 2} == {name: len(each.active) for name, each in group.settle(leader="a").items()}


def test_a_fallback_that_was_chosen_asks_the_leaders_process_to_look_again():
    """As the fallback assignor does; it once asked the first process, whichever process led."""
    group = Group(COUNTS, SIZES)
    for name, process in {"a": 1, "b": 2}.items():
        group.add(name, "3.9.2", process=process, task_assignor=BUILT_IN["fallback-prior"])
    group.settle(leader="b")

    assert {"a": False, "b": True} == {
        name: each.rejoin_at_ms is not None for name, each in group.rebalance(leader="b").items()
    }


def test_a_group_without_changelogs_needs_no_end_offsets():
    """A new member gets its share also while a broker is away: there is nothing that Kafka would look up."""
    group = Group(Topology.of(Subtopology(sources=["orders"])), {"orders": 4}, a="3.9.2")
    group.settle()
    group.cluster = evolve(group.cluster, end_offsets=None)
    group.add("b", "3.9.2", process=2)

    received = group.settle()
    assert {"a": 2, "b": 2} == {name: len(each.active) for name, each in received.items()}
    assert {None} == {each.rejoin_at_ms for each in received.values()}


def test_a_next_rebalance_is_none_unless_a_member_asks():
    group = Group(COUNTS, SIZES, a="3.9.2")
    group.settle()

    assert {NO_FOLLOW_UP} == {answered(encoded).next_rebalance_ms for encoded in group.answers().values()}


def test_topic_partitions_of_unequal_sources_stay_with_their_task():
    joined = Topology.of(Subtopology(sources=["orders", "clicks"], changelogs=["counts"]))
    group = Group(joined, {"orders": 4, "clicks": 2, "counts": 4}, a="3.9.2", b="3.9.2")

    received = group.settle()

    its = {task: inputs for each in received.values() for task, inputs in each.active.items()}
    assert {TopicPartition("orders", 1), TopicPartition("clicks", 1)} == its[TaskId(0, 1)]
    assert {TopicPartition("orders", 3)} == its[TaskId(0, 3)]
