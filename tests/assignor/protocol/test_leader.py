"""The leader's step, by its seven numbered parts: subscriptions of all members in, assignments of all members out."""

from uuid import UUID

import pytest
from attrs import evolve

from streams_assignor import ClusterSnapshot, FatalError, Subtopology, Topology
from streams_assignor.codec import (
    IMMEDIATELY,
    LATEST_OFFSET,
    NO_FOLLOW_UP,
    HostInfo,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
)
from streams_assignor.codec.consumer_protocol import (
    ConsumerSubscription,
    decode_leader_userdata,
    encode_member_userdata,
    group_by_topic,
)
from streams_assignor.config import AssignmentConfigs
from streams_assignor.probing import AssignmentContent, VersionAnswer
from streams_assignor.probing.model import AssignorError
from streams_assignor.probing.rules import BY_NAME, KIP_268
from streams_assignor.protocol.internal_topics import plan_internal_topics
from streams_assignor.protocol.leader import LeaderSettings, perform_assignment
from streams_assignor.task_assignors.high_availability import HighAvailabilityTaskAssignor
from streams_assignor.task_assignors.task_assignment import KafkaStreamsAssignment, TaskAssignment
from streams_assignor.upgrade import OURS, release_named

TOPOLOGY = Topology.of(Subtopology(sources=["orders"], changelogs=["counts"]))
SIZES = {"orders": 4, "counts": 4}
ENDS = {TopicPartition("counts", number): 100 for number in range(4)}
CLUSTER = ClusterSnapshot(partitions=SIZES, end_offsets=ENDS, now_ms=1_000)
T0, T1, T2, T3 = (TaskId(0, number) for number in range(4))
ORDERS = [TopicPartition("orders", number) for number in range(4)]


def settings_of(release=OURS, **given):
    fields = {
        "rules": BY_NAME[release.rule_set],
        "supported_version": release.supported_version,
        "topology": TOPOLOGY,
        "process_id": UUID(int=1),
        "behaviour": release.behaviour,
    }
    return LeaderSettings(**{**fields, **given})


def joined(process=1, version=11, supported=11, owned=(), **fields):
    envelope = ConsumerSubscription(("orders",), owned_partitions=group_by_topic(owned), version=3)
    return encode_member_userdata(envelope, Subscription(version, supported, UUID(int=process), **fields))


def answers_to(subscriptions, settings=None, cluster=CLUSTER, **given):
    settings = settings or settings_of()
    done = perform_assignment(settings, cluster, subscriptions, **given)
    return {member: decode_leader_userdata(encoded)[1] for member, encoded in done.assignments.items()}


def active(answers):
    return {member: sorted(set(answer.active_tasks)) for member, answer in answers.items()}


# -- 1: decode the subscriptions -----------------------------------------------------------------------------------


def test_1_bytes_that_cannot_be_decoded_end_the_leader_and_name_the_member():
    with pytest.raises(FatalError, match="unable to decode subscription data of member b: "):
        answers_to({"a": joined(), "b": joined(2)[:-3]})


def test_1_a_member_with_a_future_version_is_read_up_to_its_versions():
    answers = answers_to({"a": joined(), "b": joined(2, version=11, supported=11)}, settings_of(supported_version=10))

    assert {10} == {answer.version for answer in answers.values()}


# -- 2: decide the versions ----------------------------------------------------------------------------------------


def test_2_all_members_get_the_lowest_used_version_and_the_lowest_supported_one():
    answers = answers_to({"a": joined(), "b": joined(2, version=8, supported=9)})

    assert {(8, 9)} == {(answer.version, answer.supported_version) for answer in answers.values()}


def test_2_an_upgrade_completes_once_all_members_support_the_version_of_the_leader():
    ready = {"a": joined(1, 10, 11), "b": joined(2, 10, 11)}

    assert perform_assignment(settings_of(), CLUSTER, ready).completes
    assert not perform_assignment(settings_of(), CLUSTER, {**ready, "c": joined(3, 10, 10)}).completes


def test_2_a_request_to_shut_down_is_sent_to_all_members_without_tasks():
    answers = answers_to({"a": joined(), "b": joined(2, error_code=4)})

    assert [((), 4)] * 2 == [(answer.active_tasks, answer.error_code) for answer in answers.values()]


@pytest.mark.parametrize(("complete", "code"), [(True, 1), (False, 0)])
def test_2_a_missing_source_topic_is_an_error_once_all_topics_are_known(complete, code):
    cluster = ClusterSnapshot(partitions={}, topics_complete=complete)
    answer = answers_to({"a": joined()}, cluster=cluster)["a"]

    assert (code, ()) == (answer.error_code, answer.active_tasks)


@pytest.mark.parametrize(
    ("release", "members", "error"),
    [
        ("1.1.1", {"a": joined(1, 3, 3), "b": joined(2, 2, 3)}, "TaskAssignmentException: .* version=3"),
        (
            "2.0.1",
            {"a": joined(1, 4, 4), "b": joined(2, 2, 3)},
            "IllegalStateException: a member sent a version above 3",
        ),
        ("3.9.2", {"a": joined(1, 11, 10)}, "IllegalArgumentException: a member sent version 11 and claims to support"),
    ],
)
def test_2_versions_that_do_not_fit_together_end_the_leader(release, members, error):
    with pytest.raises(FatalError, match=error):
        answers_to(members, settings_of(release_named(release)))


# -- 3: plan the internal topics -----------------------------------------------------------------------------------


def test_3_the_tasks_are_those_of_the_plan():
    plan = plan_internal_topics(TOPOLOGY, {"orders": 2})

    assert {"a": [T0, T1]} == active(answers_to({"a": joined()}, plan=plan))


def test_3_topics_that_do_not_fit_end_the_leader():
    with pytest.raises(FatalError, match=r"counts \(expected 4, actual 3\)"):
        answers_to({"a": joined()}, cluster=ClusterSnapshot(partitions={**SIZES, "counts": 3}))


# -- 4: assign tasks to processes ----------------------------------------------------------------------------------


def test_4_members_with_one_process_id_share_the_tasks_of_a_process():
    answers = answers_to({"a": joined(1), "b": joined(1), "c": joined(2)})

    assert [1, 1, 2] == sorted(len(tasks) for tasks in active(answers).values())
    assert {T0, T1, T2, T3} == {task for tasks in active(answers).values() for task in tasks}


class Wrong:
    """An assignor of the application that assigns a task twice."""

    def assign(self, state):
        return TaskAssignment({each: KafkaStreamsAssignment(each, active=[T0]) for each in state.clients})


def test_4_an_invalid_assignment_ends_the_leader():
    with pytest.raises(
        FatalError, match="StreamsException: Task assignment returned an error: ACTIVE_TASK_ASSIGNED_MU"
    ):
        answers_to({"a": joined(1), "b": joined(2)}, settings_of(task_assignor=Wrong()))


def test_4_without_end_offsets_tasks_stay_where_they_ran():
    ran = {
        "a": joined(1, task_offset_sums=(TaskOffsetSum(T3, LATEST_OFFSET), TaskOffsetSum(T2, LATEST_OFFSET))),
        "b": joined(2, task_offset_sums=(TaskOffsetSum(T0, LATEST_OFFSET), TaskOffsetSum(T1, LATEST_OFFSET))),
    }
    settings = settings_of(task_assignor=HighAvailabilityTaskAssignor())

    assert {"a": [T2, T3], "b": [T0, T1]} == active(answers_to(ran, settings, evolve(CLUSTER, end_offsets=None)))


def test_4_a_group_of_members_that_get_no_tasks_has_no_processes():
    """Up to 2.3 a member with a future version gets none; the leader itself has left."""
    settings = settings_of(release_named("2.0.1"))

    assert {"b": []} == active(answers_to({"b": joined(2, version=4, supported=4)}, settings))


# -- 5: assign the tasks of each process to its members -------------------------------------------------------------


def test_5_a_stateful_task_goes_to_the_member_that_has_its_state():
    answers = answers_to(
        {"a": joined(1, task_offset_sums=(TaskOffsetSum(T3, 100),)), "b": joined(1), "c": joined(1), "d": joined(1)}
    )

    assert [T3] == active(answers)["a"]


def test_5_leaders_of_2_4_and_2_5_leave_each_task_with_the_member_that_owns_it():
    """In every process, although it could also deal them out in turn."""
    owns = {"a": (1, 3), "b": (1, 0), "c": (2, 2), "d": (2, 1)}
    group = {name: joined(process, 5, 5, owned=[ORDERS[number]]) for name, (process, number) in owns.items()}
    settings = settings_of(release_named("2.4.1"))

    assert {"a": [T3], "b": [T0], "c": [T2], "d": [T1]} == active(answers_to(group, settings))
    assert {"a": [T0, T2], "b": [T1, T3]} == active(answers_to({name: joined(1, 5, 5) for name in "ab"}, settings))


def test_5_leaders_from_2_6_to_3_0_end_for_a_reported_task_without_a_lag():
    gone = joined(2, version=8, supported=8, task_offset_sums=(TaskOffsetSum(TaskId(7, 0), 1),))
    settings = settings_of(release_named("2.8.2"))

    with pytest.raises(FatalError, match="IllegalStateException: Tried to lookup lag for unknown task 7_0"):
        answers_to({"a": joined(1, 8, 8), "b": gone}, settings)
    assert {"a", "b"} == answers_to(
        {"a": joined(), "b": joined(2, task_offset_sums=(TaskOffsetSum(TaskId(7, 0), 1),))}
    ).keys()


def test_5_while_a_leader_of_2_0_probes_it_returns_the_previous_tasks():
    settings = settings_of(release_named("2.0.1"))
    before = {
        "a": joined(1, 3, 3, prev_tasks=(T0, T1), standby_tasks=(T2,)),
        "b": joined(2, version=4, supported=4),
    }
    answer = answers_to(before, settings)["a"]

    assert ([T0, T1], [T2]) == ([*answer.active_tasks], [task for task, _ in answer.standby_tasks])


# -- 6: withhold tasks that other members still own -----------------------------------------------------------------


def test_6_a_task_is_not_granted_before_its_owner_has_revoked_it():
    answers = answers_to({"a": joined(1, owned=ORDERS), "b": joined(2)})

    assert (2, 0) == tuple(len(set(answer.active_tasks)) for answer in answers.values())
    assert [NO_FOLLOW_UP, IMMEDIATELY] == [answer.next_rebalance_ms for answer in answers.values()]


def test_6_a_leader_before_2_4_withholds_nothing():
    answers = answers_to(
        {"a": joined(1, 4, 4, owned=ORDERS), "b": joined(2, 4, 4)}, settings_of(release_named("2.3.1"))
    )

    assert [2, 2] == [len(set(answer.active_tasks)) for answer in answers.values()]


def test_6_a_claim_on_a_partition_that_no_task_reads_withholds_nothing():
    answers = answers_to({"a": joined(1, owned=[TopicPartition("gone", 0)]), "b": joined(2)})

    assert [2, 2] == [len(set(answer.active_tasks)) for answer in answers.values()]


# -- 7: encode the assignments --------------------------------------------------------------------------------------


def test_7_equal_groups_get_equal_bytes():
    subscriptions = {"a": joined(1), "b": joined(2), "c": joined(3)}
    first, second = (
        perform_assignment(settings_of(), CLUSTER, given).assignments
        for given in (subscriptions, dict(reversed(subscriptions.items())))
    )

    assert [*first.items()] == [*second.items()]


def test_7_every_answer_names_the_hosts_of_the_group():
    answers = answers_to({"a": joined(1, user_end_point="a:1"), "b": joined(2)})

    for answer in answers.values():
        ((host, partitions),) = answer.partitions_by_host
        assert (HostInfo("a", 1), {task.partition for task in active(answers)["a"]}) == (
            host,
            {each.partition for each in partitions},
        )


def test_7_an_answer_without_tasks_names_no_hosts():
    """KIP-268: a member whose version is not known gets an empty assignment."""
    settings = settings_of(rules=KIP_268, supported_version=10, configs=AssignmentConfigs(num_standby_replicas=1))
    known = {name: joined(at, 10, 10, user_end_point=f"{name}:1") for at, name in enumerate("ab", 1)}
    answers = answers_to({**known, "new": joined(3)}, settings)

    assert [True, True, False] == [bool(each.partitions_by_host) for each in answers.values()]
    assert [True, True, False] == [bool(each.standby_partitions_by_host) for each in answers.values()]


@pytest.mark.parametrize(
    ("settings", "content"),
    [({"rules": KIP_268}, AssignmentContent.EMPTY), ({}, AssignmentContent.REGULAR)],
)
def test_2_the_answers_to_members_of_an_unknown_version_are_told_apart(settings, content):
    members = {"known": joined(1, 10, 10), "new": joined(2, 11, 11)}
    probed = perform_assignment(settings_of(supported_version=10, **settings), CLUSTER, members).probed

    assert {"new": VersionAnswer(10, 10, content)} == probed
    assert {} == perform_assignment(settings_of(), CLUSTER, members).probed


def test_2_so_is_an_error_code_for_them():
    members = {"old": joined(1, 2), "new": joined(2, 11, 11)}
    probed = perform_assignment(settings_of(supported_version=10), CLUSTER, members).probed

    assert {"new": VersionAnswer(10, 10, AssignmentContent.ERROR, AssignorError.ASSIGNMENT_ERROR)} == probed


def test_7_the_merged_bytes_of_all_members_follow_the_last_field():
    subscriptions = {"a": joined(1, trailing=b"one"), "b": joined(2, trailing=b"two")}

    assert {b"one+two"} == {each.trailing for each in answers_to(subscriptions, merge=b"+".join).values()}
    assert {b""} == {each.trailing for each in answers_to(subscriptions).values()}


TOO_LONG = "x" * 70_000


def test_7_an_answer_that_no_layout_can_write_ends_a_leader_before_2_7():
    settings = settings_of(release_named("2.5.1"), topology=Topology.of(Subtopology(sources=[TOO_LONG])))

    with pytest.raises(FatalError, match="TaskAssignmentException: cannot write an assignment: "):
        answers_to({"a": joined(1, 6, 6)}, settings, ClusterSnapshot(partitions={TOO_LONG: 1}))


def test_7_later_leaders_send_an_error_code_to_all_members_instead():
    settings = settings_of(topology=Topology.of(Subtopology(sources=[TOO_LONG])))
    answers = answers_to({"a": joined(1), "b": joined(2)}, settings, ClusterSnapshot(partitions={TOO_LONG: 1}))

    assert [((), AssignorError.ASSIGNMENT_ERROR)] * 2 == [
        (answer.active_tasks, answer.error_code) for answer in answers.values()
    ]
