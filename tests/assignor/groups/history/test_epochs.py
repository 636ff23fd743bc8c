"""Groups whose broker assigns in an audit: target and current assignments over time, and what follows from them."""

from itertools import combinations
from random import Random

import pytest

from tests.assignor.groups.described_groups import of_range
from tests.assignor.groups.history.epochs import (
    ALONE,
    GROUP,
    JOINED,
    TOPIC_ID,
    current,
    gone,
    key,
    streams_epoch,
    streams_member,
    target,
    targets,
    topology,
)
from tests.assignor.groups.history.histories import Played, generation
from tests.assignor.groups.history.segments import NOW, record


def intervals(played):
    """Task, role, member, and the seconds from and until."""
    return sorted(
        (
            row["task"],
            row["role"],
            row["member"],
            (row["from_time"] - NOW) // 1000,
            None if row["until_time"] is None else (row["until_time"] - NOW) // 1000,
        )
        for row in played.rows["tasks"]
    )


MOVED = (
    *ALONE,
    *JOINED,
    current("B", 2, at=60_000),
    current("A", 1, "0_0", 63_000, revoking="0_1"),
    current("A", 2, "0_0", 64_000),
    current("B", 2, "0_1", 67_000),
)


def test_a_task_that_moves_has_no_owner_until_the_next_one_gets_it():
    """The broker's target has one at any time; the members did not."""
    assert intervals(Played(*MOVED)) == [
        ("0_0", "active", "A", 0, None),
        ("0_1", "active", "A", 0, 64),
        ("0_1", "active", "B", 67, None),
        ("0_1", "awaited", "B", 60, 67),
        ("0_1", "to-revoke", "A", 60, 64),
        ("0_1", "unowned", "", 64, 67),
    ]


def test_an_epoch_is_complete_when_all_members_have_come_to_its_target():
    played = Played(*MOVED)

    assert (7000, 0, [], "Stable") == tuple(
        played.last[key] for key in ("duration_ms", "assignment_ms", "pending", "state")
    )
    assert "Stable" == played.group.state


def test_an_epoch_that_the_next_one_interrupts_is_not_complete():
    played = Played(*ALONE, *JOINED, current("B", 2, at=60_000), *gone("A", 70_000), streams_epoch(3, 70_000))

    first, second, third = played.rows["generations"]
    assert (0, "Stable") == (first["duration_ms"], first["state"])
    assert (None, ["A", "B"], "Reconciling") == (second["duration_ms"], second["pending"], second["state"])
    assert (None, ["B"], "Assigning") == (third["assignment_ms"], third["pending"], third["state"])


def test_a_target_assignment_that_the_broker_delays_is_timed():
    played = Played(streams_member("A"), streams_epoch(1), *targets(1, 3000, A="0_0"), current("A", 1, "0_0", 3000))

    assert (3000, 3000) == (played.last["assignment_ms"], played.last["duration_ms"])


def test_roles_of_tasks_are_told_apart():
    played = Played(
        *(streams_member("A"), streams_epoch(1), target("A", "0_0", standby="0_1"), *targets(1)),
        current("A", 1, standby="0_2", warm_up="0_3", at=1000),
    )

    assert {role for _, role, *_ in intervals(played)} == {
        *("awaited", "standby", "awaited-standby", "to-revoke-standby", "warm-up", "to-revoke-warm-up")
    }


def test_a_member_that_leaves_ends_its_intervals():
    played = Played(*ALONE, *gone("A", 9000), streams_epoch(2, 9000))

    assert intervals(played) == [
        ("0_0", "active", "A", 0, 9),
        ("0_0", "unowned", "", 9, None),
        ("0_1", "active", "A", 0, 9),
        ("0_1", "unowned", "", 9, None),
    ]
    assert ("Empty", "Empty") == (played.last["state"], played.group.state)


def test_two_members_with_a_task_own_it_twice():
    played = Played(
        *ALONE,
        *(streams_member("B"), streams_epoch(2, 1000), *targets(2, 1000, A="0_0", B="0_1")),
        current("B", 2, "0_1", 2000),
        current("A", 2, "0_0", 5000),
    )

    assert ("0_1", "owned-twice", "A B", 2, 5) in intervals(played)


def test_a_partition_of_a_share_group_may_have_two_members():
    facts = {"rackId": None, "clientId": "c", "clientHost": "h", "subscribedTopicNames": ["orders"]}
    given = [{"topicId": TOPIC_ID, "partitions": [0]}]
    has = {"memberEpoch": 1, "previousMemberEpoch": 0, "state": 0, "assignedPartitions": given}
    members = [record(10, key(name), facts) for name in "AB"]
    played = Played(
        *members,
        record(11, GROUP, {"epoch": 1, "metadataHash": 5}),
        *(record(13, key(name), {"topicPartitions": given}) for name in "AB"),
        record(12, GROUP, {"assignmentEpoch": 1}),
        *(record(14, key(name), has) for name in "AB"),
    )

    assert ["active", "active"] == [row["role"] for row in played.rows["tasks"]]
    assert "Stable" == played.last["state"]


def test_a_static_member_that_is_away_works_on_nothing_and_returns_under_another_id():
    static = {"instanceId": "pod-1"}
    played = Played(
        *(streams_member("A", **static), streams_epoch(1), *targets(1, A="0_0"), current("A", 1, "0_0")),
        current("A", -2, "0_0", 10_000),
        *gone("A", 40_000),
        *(streams_member("B", 40_000, **static), target("B", "0_0", 40_000)),
        current("B", 1, "0_0", 40_000),
    )

    assert intervals(played) == [
        ("0_0", "active", "pod-1", 0, 10),
        ("0_0", "active", "pod-1", 40, None),
        ("0_0", "awaited", "pod-1", 10, 40),
        ("0_0", "unowned", "", 10, 40),
    ]
    assert ([], "Stable") == (played.last["pending"], played.last["state"])


def test_a_record_of_the_same_epoch_is_no_other_rebalance():
    """Brokers of 4.4 write it again when a description of the topology is stored."""
    played = Played(*ALONE, streams_epoch(1, 5000, storedDescriptionTopologyEpoch=0))

    assert [1] == [row["generation"] for row in played.rows["generations"]]


def test_a_group_to_which_the_broker_assigns_no_task_is_not_ready():
    member = streams_member("A"), current("A", 1)
    unready = streams_epoch(1, validated=-1)

    assert "NotReady" == Played(*member, unready, *targets(1, A="")).last["state"]
    assert "Reconciling" == Played(*member, unready, *targets(1, A="0_0")).last["state"], "early releases do not say"


def test_members_have_what_only_a_broker_knows_of_them():
    end_point = {"host": "h", "port": 7}
    played = Played(
        topology(epoch=3),
        streams_member("A", userEndpoint=end_point, topologyEpoch=3, rackId="r", instanceId="pod-1"),
        streams_epoch(1),
    )

    (row,) = played.rows["members"]
    assert ("h:7", 3, "r", "4.4.0 or later", None) == tuple(
        row[name] for name in ("end_point", "topology_epoch", "rack", "releases", "is_classic")
    )


def test_partitions_of_kip_848_have_names_that_become_known_later():
    """They are in commits only, from 4.1 on; so an interval has its name when it ends."""
    facts = {"instanceId": None, "rackId": None, "clientId": "c", "clientHost": "h", "serverAssignor": "uniform"}
    more = {"subscribedTopicNames": ["orders"], "subscribedTopicRegex": None, "rebalanceTimeoutMs": 1}
    given = [{"topicId": TOPIC_ID, "partitions": [0]}]
    has = {"memberEpoch": 1, "previousMemberEpoch": 0, "state": 1, "assignedPartitions": []}
    commit = {"offset": 7, "leaderEpoch": 0, "metadata": "", "commitTimestamp": NOW, "topicId": TOPIC_ID}
    played = Played(
        record(5, key("A"), facts | more),
        record(3, GROUP, {"epoch": 1}),
        record(7, key("A"), {"topicPartitions": []}),
        record(6, GROUP, {"assignmentEpoch": 1}),
        record(8, key("A"), {**has, "partitionsPendingRevocation": given}),
        record(1, {"group": "app", "topic": "orders", "partition": 0}, commit, NOW, 4),
        record(8, key("A"), {**has, "partitionsPendingRevocation": []}, NOW + 5000),
    )

    assert intervals(played) == [
        ("orders-0", "active", "A", 0, 5),
        ("orders-0", "to-revoke", "A", 0, 5),
        ("orders-0", "unowned", "", 5, None),
    ]
    assert (5000, "Stable", False) == (
        played.last["duration_ms"],
        played.last["state"],
        played.rows["members"][0]["is_classic"],
    )


@pytest.mark.parametrize(
    ("topics", "regex", "task"),
    [(["orders"], None, "orders-0"), (["orders"], "or.*", f"{TOPIC_ID}-0"), (["orders", "b"], None, f"{TOPIC_ID}-0")],
)
def test_the_only_topic_of_a_group_has_its_name(topics, regex, task):
    """Brokers of 4.1 and 4.2 write it nowhere else if a client commits by name."""
    facts = {"instanceId": None, "rackId": None, "clientId": "c", "clientHost": "h", "serverAssignor": "uniform"}
    more = {"subscribedTopicNames": topics, "subscribedTopicRegex": regex, "rebalanceTimeoutMs": 1}
    played = Played(
        record(5, key("A"), facts | more),
        record(3, GROUP, {"epoch": 1}),
        record(7, key("A"), {"topicPartitions": [{"topicId": TOPIC_ID, "partitions": [0]}]}),
        record(6, GROUP, {"assignmentEpoch": 1}),
    )

    assert [task] == [row["task"] for row in played.rows["tasks"]]


def test_a_group_that_changes_its_type_ends_all_intervals():
    played = Played(
        generation(4, of_range("A", (0,)), protocol="range"),
        *(streams_member("A", 3000), streams_epoch(5, 3000), *targets(5, 3000, A="0_0"), current("A", 5, "0_0", 3000)),
        generation(6, of_range("A", (1,)), protocol="range", at=9000),
    )

    assert intervals(played) == [
        ("0_0", "active", "A", 3, 9),
        ("orders-0", "active", "consumer-A", 0, 3),
        ("orders-1", "active", "consumer-A", 9, None),
    ]


def test_records_of_members_without_an_epoch_are_followed():
    """As after a compaction, or where a copy begins."""
    played = Played(*targets(7, A="0_0"), current("A", 7, at=1000), current("A", 7, "0_0", 3000))

    assert intervals(played) == [("0_0", "active", "A", 3, None), ("0_0", "awaited", "A", 0, 3)]
    assert {0, 7} == {row["from_generation"] for row in played.rows["tasks"]}, "0 before any record has an epoch"
    assert [] == played.rows["generations"]


def random_records(random):
    """Records of a streams group in any order, as damage or a compaction could leave them."""
    at, number = 0, 0
    for _ in range(random.randrange(40)):
        at += random.choice((0, 0, 1000, 70_000))
        member, kind = random.choice("ABC"), random.randrange(9)
        active, standby, revoking = (
            " ".join(sorted({f"0_{random.randrange(4)}" for _ in range(random.randrange(4))})) for _ in range(3)
        )
        match kind:
            case 0:
                yield streams_member(member, at, instanceId=random.choice((None, "x")))
            case 1:
                number += random.choice((0, 1, 1, 2))
                yield streams_epoch(number, at, validated=random.choice((-1, 0)))
            case 2:
                yield target(member, active, at, standby=standby)
            case 3:
                yield from targets(number, at)
            case 4 | 5:
                epoch = random.choice((number, number - 1, -2))
                yield current(member, epoch, active, at, standby=standby, revoking=revoking)
            case 6:
                yield from gone(member, at, kinds=random.sample((22, 21, 19), random.randrange(1, 4)))
            case 7:
                yield topology(random.randrange(2), at=at)
            case 8:
                yield record(17, GROUP, None, NOW + at)


def overlap(one, other):
    """Whether two intervals have a moment in common; an open one never ends."""
    ends = [float("inf") if each["until_time"] is None else each["until_time"] for each in (one, other)]
    return one["from_time"] < ends[1] and other["from_time"] < ends[0]


@pytest.mark.unmeasured
@pytest.mark.parametrize("seed", range(10))
def test_a_task_is_either_owned_or_not_whatever_the_records_are(seed):
    random = Random(seed)
    for _ in range(15):
        rows = Played(*random_records(random)).rows["tasks"]
        assert all(row["until_time"] is None or row["until_time"] > row["from_time"] for row in rows)
        for one, other in combinations(rows, 2):
            if one["task"] == other["task"] and overlap(one, other):
                roles = {one["role"], other["role"]}
                assert roles != {"active", "unowned"}
                assert len(roles) == 2 or one["member_id"] != other["member_id"]
