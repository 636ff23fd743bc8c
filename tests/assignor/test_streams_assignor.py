"""``StreamsPartitionAssignor`` in groups that exchange real bytes."""

from uuid import UUID

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor import FatalError, StreamsAssignor, Subtopology, Topology
from streams_assignor.codec import (
    Assignment,
    FutureSubscription,
    HostInfo,
    Subscription,
    TaskId,
    TopicPartition,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    decode_consumer_assignment,
    decode_consumer_subscription,
    encode_consumer_assignment,
    encode_consumer_subscription,
)
from streams_assignor.probing import RejoinMode
from streams_assignor.upgrade import ConfigException, StreamsConfig, release_named
from tests.group import Group

OURS_AT_3 = release_named("streams-assignor-3")
ORDERS = Topology.of(Subtopology(sources=["orders"], changelogs=["orders-changelog"]))
JOINED = Topology.of(
    Subtopology(sources=["left", "right"], repartition_sinks=["between"]),
    Subtopology(repartition_sources=["between"], changelogs=["store"]),
)


def owned(received):
    return {name: set(each.partitions) for name, each in received.items()}


def userdata(encoded):
    return decode_consumer_subscription(encoded).user_data


def test_every_partition_has_one_owner():
    received = Group(JOINED, {"left": 3, "right": 2, "between": 3}, a="2.0.1", b="2.0.1").rebalance()

    owners = [partition for each in owned(received).values() for partition in each]
    assert sorted(owners) == sorted(
        TopicPartition(topic, number)
        for topic, count in [("between", 3), ("left", 3), ("right", 2)]
        for number in range(count)
    )
    assert not any(each.dropped or each.rejoin for each in received.values())


def test_tasks_keep_their_partitions_together_in_the_order_of_the_wire():
    received = Group(JOINED, {"left": 3, "right": 2}, a="2.0.1").rebalance()["a"]

    assert frozenset({TopicPartition("left", 1), TopicPartition("right", 1)}) == received.active[TaskId(0, 1)]


def test_standbys_go_to_another_process_and_keep_their_partitions():
    group = Group(ORDERS, {"orders": 2})
    for number, name in enumerate("abc", 1):
        group.add(name, process=number, num_standby_replicas=1)
    received = group.rebalance()

    assert {TaskId(0, 0), TaskId(0, 1)} == {task for each in received.values() for task in each.standby}
    assert not [name for name, each in received.items() if each.standby.keys() & each.active.keys()]


def test_hosts_say_where_partitions_are_served():
    group = Group(ORDERS, {"orders": 2})
    group.add("a", process=1, application_server="a.example:80")
    group.add("b", process=2)
    received = group.rebalance()

    assert {HostInfo("a.example", 80): set(received["a"].partitions)} == received["b"].hosts


def test_members_of_one_process_share_its_tasks():
    group = Group(ORDERS, {"orders": 4})
    group.add("a-1", process=1)
    group.add("a-2", process=1)
    group.add("b-1", process=2)
    received = group.rebalance()

    assert {"a-1": 2, "a-2": 1, "b-1": 1} == {name: len(each.active) for name, each in received.items()}


def test_tasks_stay_when_nothing_changes():
    group = Group(ORDERS, {"orders": 7}, a="2.0.1", b="2.0.1", c="2.0.1")

    assert owned(group.rebalance()) == owned(group.rebalance(leader="c"))


@given(st.permutations(["a", "b", "c"]))
def test_equal_groups_get_equal_bytes_whatever_the_order(names):
    group = Group(ORDERS, {"orders": 5}, a="2.0.1", b="2.0.1", c="2.0.1")
    subscriptions = {name: member.subscription() for name, member in group.members.items()}
    leader = group.members["a"]

    assert leader.assign({"orders": 5}, subscriptions) == leader.assign(
        {"orders": 5}, {name: subscriptions[name] for name in names}
    )


def test_version_probing_goes_down_and_up_again():
    group = Group(ORDERS, {"orders": 3}, old="streams-assignor-3", new="simulated-4")
    first = group.rebalance()

    assert RejoinMode.KEEP_MEMBER_ID is first["new"].rejoin
    assert first["old"].rejoin is None
    assert {"old": 3, "new": 3} == group.versions
    group.rebalance()
    group.add("old", "simulated-4", process=1)
    group.rebalance(leader="new")
    assert {"old": 4, "new": 4} == group.versions
    assert {4} == {received.version for received in group.rebalance(leader="new").values()}


def test_a_2_0_leader_gives_a_newer_member_nothing_and_the_others_what_they_had():
    group = Group(ORDERS, {"orders": 3}, old="2.0.1")
    before = group.rebalance()
    group.add("new", "simulated-4", process=2)
    received = group.rebalance()

    assert owned(before)["old"] == owned(received)["old"]
    assert ((), (3, 3)) == (received["new"].partitions, (received["new"].version, received["new"].supported_version))


def test_two_bounces_with_upgrade_from_stay_on_version_2_until_the_second():
    group = Group(ORDERS, {"orders": 3}, a="1.1.1", b="1.1.1")
    group.add("a", process=1, upgrade_from="1.1")
    assert {2} == {received.version for received in group.rebalance(leader="b").values()}
    group.add("b", process=2, upgrade_from="1.1")
    group.add("a", process=1)
    assert {2} == {received.version for received in group.rebalance(leader="b").values()}
    group.add("b", process=2)
    assert {11} == {received.version for received in group.rebalance(leader="b").values()}


def test_without_upgrade_from_the_old_leader_fails_as_it_does_in_kafka():
    group = Group(ORDERS, {"orders": 3}, old="1.1.1", new="2.0.1")

    with pytest.raises(FatalError) as caught:
        group.rebalance(leader="old")
    assert "TaskAssignmentException: unable to decode subscription data: version=3" == str(caught.value)


def test_without_upgrade_from_a_member_of_0_10_0_fails_on_version_2():
    group = Group(ORDERS, {"orders": 3}, new="1.1.0", old="0.10.0.1")

    with pytest.raises(FatalError, match="TaskAssignmentException: Unknown assignment data version"):
        group.rebalance(leader="new")


def test_a_wrong_upgrade_from_fails_at_the_start():
    with pytest.raises(ConfigException):
        StreamsAssignor(ORDERS, StreamsConfig(upgrade_from="1.1"), release=release_named("1.1.1"))


def beside_version_2_and_the_future(release):
    """The answer of a leader of a release to a group that no rule covers."""
    group = Group(ORDERS, {"orders": 1}, old="1.1.1", leader=release)
    future = encode_consumer_subscription(
        ConsumerSubscription(("orders",), encode_subscription(FutureSubscription(9, 9)))
    )
    subscriptions = {name: member.subscription() for name, member in group.members.items()}
    return group.members["leader"].assign({"orders": 1}, subscriptions | {"future": future})


@pytest.mark.parametrize("release", ["2.0.1", "2.3.1", "streams-assignor-3"])
def test_a_member_from_the_future_beside_one_that_cannot_probe_kills_the_leader(release):
    with pytest.raises(FatalError, match="IllegalStateException: a member sent a version above"):
        beside_version_2_and_the_future(release)


def test_a_member_from_the_future_beside_one_that_cannot_probe_gives_error_3_if_the_version_carries_it():
    answers = beside_version_2_and_the_future("simulated-4")

    read = [
        decode_assignment(decode_consumer_assignment(each).user_data, supported_version=4) for each in answers.values()
    ]
    assert [(4, 3, ())] * 3 == [(each.version, each.error_code, each.active_tasks) for each in read]


def test_kafka_8649_the_next_subscription_of_a_2_0_member_fails():
    group = Group(ORDERS, {"orders": 3}, new="2.1.1", old="2.0.1")
    group.rebalance(leader="new")

    with pytest.raises(FatalError, match="IllegalArgumentException: version must be between 1 and 3; was: 4"):
        group.members["old"].subscription()


@pytest.mark.parametrize("encoded", [b"", b"\0\0\0", bytes(40)])
def test_a_leader_fails_on_a_subscription_that_is_none(encoded):
    group = Group(ORDERS, {"orders": 1}, a="2.0.1")

    with pytest.raises(FatalError, match="unable to decode subscription data of member x"):
        group.members["a"].assign({"orders": 1}, {"x": encoded})


@pytest.mark.parametrize(
    ("assignment", "text"),
    [
        (Assignment(version=4, supported_version=4), "Unable to decode"),
        (Assignment(version=3, supported_version=4), "above our latest"),
        (
            Assignment(version=3, supported_version=3, active_tasks=(TaskId(0, 0),)),
            "Number of assigned partitions 0",
        ),
        (None, "Failed to decode AssignmentInfo"),
    ],
)
def test_a_member_fails_on_an_assignment_that_it_cannot_take_and_nothing_has_changed(assignment, text):
    member = StreamsAssignor(ORDERS, process_id=UUID(int=1), release=OURS_AT_3)
    before = member.member
    encoded = encode_consumer_assignment(ConsumerAssignment((), encode_assignment(assignment) if assignment else b"\0"))

    with pytest.raises(FatalError, match=text):
        member.on_assignment(encoded)
    assert before == member.member


@pytest.mark.parametrize(("code", "kafka"), [(1, "MissingSourceTopicException"), (3, "TaskAssignmentException")])
def test_a_member_fails_on_an_error_code(code, kafka):
    """Error codes were once ignored, and the member took the empty assignment for a real one."""
    member = StreamsAssignor(ORDERS, release=release_named("simulated-4"))
    error = Assignment(version=4, supported_version=4, error_code=code)

    with pytest.raises(FatalError, match=f"error code {code}") as caught:
        member.on_assignment(encode_consumer_assignment(ConsumerAssignment((), encode_assignment(error))))
    assert kafka == caught.value.kafka_exception


def test_a_member_fails_on_a_client_tag_that_cannot_be_written():
    member = StreamsAssignor(ORDERS, StreamsConfig(client_tags={"zone": "\ud800"}))

    with pytest.raises(FatalError, match="IllegalArgumentException: cannot write the subscription: client_tags"):
        member.subscription()


@pytest.mark.parametrize(("me", "where"), [(1, "assigned_partitions"), (2, "standby_tasks")])
def test_a_leader_fails_on_a_topic_that_cannot_be_written_wherever_it_stands(me, where):
    """The envelope was once written outside of the try, and its error was no FatalError."""
    topology = Topology.of(Subtopology(sources=["x" * 70_000], changelogs=["c"]))
    config = StreamsConfig(num_standby_replicas=1)
    leader = StreamsAssignor(topology, config, process_id=UUID(int=me), release=OURS_AT_3)
    other = StreamsAssignor(topology, process_id=UUID(int=3 - me), release=OURS_AT_3)

    with pytest.raises(FatalError, match=where):
        leader.assign({"x" * 70_000: 1}, {"a": leader.subscription(["t"]), "b": other.subscription(["t"])})


def test_a_topic_that_cannot_be_written_is_an_assignment_error_where_one_can_be_sent():
    leader = StreamsAssignor(Topology.of(Subtopology(sources=["x" * 70_000])))

    answers = leader.assign({"x" * 70_000: 1}, {"a": leader.subscription(["t"])})

    assert 3 == decode_assignment(decode_consumer_assignment(answers["a"]).user_data).error_code


@pytest.mark.parametrize("end_point", ["nonsense", "a:b", "a:99999", "a:" + "9" * 5000, ":1", "\udcff:1"])
def test_nonsense_in_another_members_endpoint_does_not_stop_the_leader(end_point):
    member = StreamsAssignor(ORDERS)
    foreign = Subscription(3, 3, UUID(int=7), user_end_point=end_point)
    encoded = encode_consumer_subscription(ConsumerSubscription(("orders",), encode_subscription(foreign)))

    answers = member.assign({"orders": 2}, {"me": member.subscription(), "foreign": encoded})

    assert {"me", "foreign"} == answers.keys()


def test_a_member_reports_the_state_it_has_on_disk_as_standby_tasks():
    member = StreamsAssignor(ORDERS, stored=[TaskId(0, 1)], release=OURS_AT_3)

    assert (TaskId(0, 1),) == decode_subscription(userdata(member.subscription())).standby_tasks


def test_stateless_tasks_leave_nothing_behind():
    stateless = Topology.of(Subtopology(sources=["orders"]))
    group = Group(stateless, {"orders": 1}, a="2.0.1", b="2.0.1")
    group.rebalance()

    assert not any(member.member.stored for member in group.members.values())


def test_an_unknown_topic_leaves_the_group_without_tasks():
    assert {"a": set()} == owned(Group(ORDERS, {}, a="2.0.1").rebalance())


def test_a_group_in_which_all_send_a_future_version_gets_empty_assignments_from_an_eager_leader():
    future = encode_consumer_subscription(
        ConsumerSubscription(("orders",), encode_subscription(FutureSubscription(9, 9)))
    )
    group = Group(ORDERS, {"orders": 2}, leader="2.3.1")

    answers = group.members["leader"].assign({"orders": 2}, {"a": future, "b": future})

    decoded = [decode_assignment(decode_consumer_assignment(answer).user_data) for answer in answers.values()]
    assert [()] * 2 == [each.active_tasks for each in decoded]


def test_a_future_member_of_todays_group_gets_real_tasks():
    group = Group(ORDERS, {"orders": 4}, a="streams-assignor-3")
    encoded = encode_consumer_subscription(
        ConsumerSubscription(("orders",), encode_subscription(FutureSubscription(9, 9)))
    )

    answers = group.members["a"].assign({"orders": 4}, {"a": group.members["a"].subscription(), "future": encoded})

    answer = decode_assignment(decode_consumer_assignment(answers["future"]).user_data)
    assert (3, 3, 2) == (answer.version, answer.supported_version, len(answer.active_tasks))


def test_a_simulated_old_member_sends_the_bytes_of_a_real_one():
    """Found in captures: 1.1.1 in version 1 leaves out nothing; its end point stands behind version 1."""
    config = StreamsConfig(upgrade_from="0.10.0", application_server="a:1")
    member = StreamsAssignor(ORDERS, config, release=release_named("1.1.1"))

    record = decode_subscription(userdata(member.subscription()))

    assert (1, bytes.fromhex("00000003613a31")) == (record.version, record.trailing)


def test_a_simulated_old_leader_answers_with_the_bytes_of_a_real_one():
    config = StreamsConfig(upgrade_from="0.10.0")
    leader = StreamsAssignor(ORDERS, config, release=release_named("1.1.1"))

    answers = leader.assign({"orders": 1}, {"a": leader.subscription()})

    assert bytes(4) == decode_assignment(decode_consumer_assignment(answers["a"]).user_data).trailing


def test_a_leader_of_2_1_or_later_answers_a_missing_source_topic_with_error_code_1():
    leader = StreamsAssignor(ORDERS, release=release_named("2.3.1"))
    answers = leader.assign({}, {"a": leader.subscription()})

    answer = decode_assignment(decode_consumer_assignment(answers["a"]).user_data)

    assert (4, 1, ()) == (answer.version, answer.error_code, answer.active_tasks)
    with pytest.raises(FatalError, match="error code 1") as caught:
        leader.on_assignment(answers["a"])
    assert "INCOMPLETE_SOURCE_TOPIC_METADATA" == caught.value.kafka_exception


def test_an_earlier_leader_leaves_out_the_tasks_of_a_missing_source_topic():
    leader = StreamsAssignor(ORDERS, release=release_named("2.0.1"))

    received = leader.on_assignment(leader.assign({}, {"a": leader.subscription()})["a"])

    assert {} == received.active


STATE_BESIDE_NONE = Topology.of(
    Subtopology(sources=["clicks"]), Subtopology(sources=["orders"], changelogs=["orders-changelog"])
)


def led_after_2_2_2(topology, release):
    """A pinned leader of ``release`` receives the tasks that a member of 2.2.2 ran."""
    group = Group(topology, {"clicks": 1, "orders": 1}, a="2.2.2")
    group.rebalance()
    group.add("b", release, process=2, upgrade_from="2.2")
    return group.answers(leader="b")


@pytest.mark.parametrize("release", ["2.6.0", "2.8.2", "3.0.2"])
def test_a_leader_of_2_6_to_3_0_fails_on_a_task_without_state_that_an_eager_member_names(release):
    """Found in captures: the way out of 2.2.2, as the guides have it, ended with the first restart."""
    with pytest.raises(FatalError, match="Tried to lookup lag for unknown task 0_0") as caught:
        led_after_2_2_2(STATE_BESIDE_NONE, release)

    assert "IllegalStateException" == caught.value.kafka_exception


@pytest.mark.parametrize(
    ("topology", "release"),
    [
        (STATE_BESIDE_NONE, "2.5.1"),
        (STATE_BESIDE_NONE, "3.1.0"),
        (Topology.of(Subtopology(sources=["clicks"])), "2.8.2"),
    ],
)
def test_others_have_no_use_for_such_a_lag(topology, release):
    assert {"a", "b"} == led_after_2_2_2(topology, release).keys()


def test_a_leader_of_2_1_to_2_3_sends_future_members_nothing_of_a_missing_topic():
    """Found with a damaged capture: if there are no others, there is no answer, and that was a KeyError."""
    leader = StreamsAssignor(ORDERS, release=release_named("2.1.1"))
    encoded = encode_consumer_subscription(
        ConsumerSubscription(("orders",), encode_subscription(FutureSubscription(9, 9)))
    )

    assert {} == leader.assign({}, {"future": encoded})


def test_a_restored_member_sends_what_it_had():
    running = StreamsAssignor(ORDERS)
    state = evolve(running.member, previous_active=frozenset({TaskId(0, 3)}))
    other = StreamsAssignor(ORDERS)
    other.restore(state)
    sent = decode_subscription(decode_consumer_subscription(other.subscription()).user_data)

    assert sent.process_id == running.member.process_id
    assert {TaskId(0, 3)} == {each.task for each in sent.task_offset_sums}
