"""A history of records: generations, members, tasks and commits, for every type of group."""

from itertools import groupby, pairwise
from random import Random

import pytest
from attrs import evolve, frozen

from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartitions,
    encode_consumer_assignment,
    encode_consumer_subscription,
)
from streams_assignor.codec.coordinator import RECORD_TYPES, encode_key, encode_value
from streams_assignor.groups.history import history as history_module
from streams_assignor.groups.history.history import PartitionHistory
from streams_assignor.groups.history.log_segment import LogRecord
from streams_assignor.groups.history.record_columns import CommitRun, Commits, PlacedRun, RecordColumns
from streams_assignor.groups.history.tables import valid_text
from tests.assignor.groups.described_groups import of_range
from tests.assignor.groups.history.histories import (
    ALL,
    NOW,
    SESSION_MS,
    Played,
    alone,
    commit,
    deleted,
    generation,
    log,
    member,
    pair,
)
from tests.assignor.groups.history.segments import COMMIT, Pair, record
from tests.subscription_codec.coordinator_draws import draw_fields

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def test_a_generation_has_versions_tasks_and_times():
    played = Played(generation(1, *pair()), generation(3, *pair(used=8, supported=8), at=9000))
    first, last = played.rows["generations"]

    assert (first["until"], last["until"], last["skipped"], first["duration_ms"]) == (NOW + 9000, None, 1, 20)
    assert (last["used_versions"], last["tasks"], last["leader"][:5]) == ([8], 2, "app-A")
    assert (len(played.rows["generations"]), played.group.members, played.group.state) == (2, 2, "Stable")


def test_records_before_version_two_have_no_duration():
    value = {"protocolType": "consumer", "generation": 1, "protocol": "stream", "leader": None, "members": []}
    played = Played(record(2, {"group": "app"}, value, version=1))

    assert played.last["duration_ms"] is None


@pytest.mark.parametrize("used", [6, 11])
def test_tasks_that_move_are_counted_with_their_state(used):
    before = member("A", active=ALL, owned=ALL), member("B")
    after = member("A", used), member("B", used, active="0_0", had="0_0")
    last = Played(generation(1, *before), generation(2, *after)).last

    assert (last["tasks_moved"], last["tasks_moved_without_state"], last["tasks_revoked"]) == (1, 0, 1)


def test_the_order_of_two_owners_is_no_move():
    first, second = member("A", active="0_0"), member("B", active="0_0")

    assert Played(generation(1, first, second), generation(2, second, first)).last["tasks_moved"] == 0


def test_a_task_moves_when_its_next_owner_gets_it():
    """A cooperative group revokes it in one generation and assigns it in the next."""
    before = member("A", active=ALL, owned=ALL), member("B")
    between = member("A", active="0_0", owned=ALL), member("B")
    played = Played(generation(1, *before), generation(2, *between), generation(3, *pair()))

    assert [(row["tasks_revoked"], row["tasks_moved"]) for row in played.rows["generations"]] == [
        (0, 0),
        (1, 0),
        (0, 1),
    ]


def test_a_static_member_that_restarts_keeps_its_tasks():
    old, new = member("A", active=ALL, instance="pod-0"), member("A2", active=ALL, instance="pod-0")

    assert Played(generation(1, old), generation(2, new)).last["tasks_moved"] == 0


def test_a_probe_and_a_schedule_are_shown():
    last = Played(generation(1, member("B", used=9, supported=9, answered=3), alone(next_ms=NOW + 5))).last

    assert (last["probing"], last["rejoins"], last["next_rebalance_ms"]) == (True, 1, NOW + 5)


def test_the_life_of_a_member_has_a_beginning_and_an_end():
    first, second = pair()
    third = evolve(member("C", active="0_1"), client_id=second.client_id)
    played = Played(
        generation(1, first, second),
        generation(2, first, third, at=1000),
        generation(3, first, at=30_000),
        generation(4, at=90_000),
    )

    assert played.lives == [
        ("42000000", "joined", "restarted"),
        ("43000000", "restarted", "timed-out"),
        ("41000000", "joined", "gone"),
    ]


def sent(row):
    return [(each["from_generation"], each["used_version"], each["supported_version"]) for each in row["versions"]]


def test_the_versions_that_a_member_sent_are_intervals_of_generations():
    first, second = pair(used=8, supported=11)
    played = Played(
        generation(1, first, second),
        generation(2, first, second, at=1000),
        generation(3, *pair(used=11), at=2000),
        generation(4, first, at=3000),
    )
    versions = {row["name"]: sent(row) for row in played.rows["members"]}

    assert versions == {"41000000": [(1, 8, 11), (3, 11, 11), (4, 8, 11)], "42000000": [(1, 8, 11), (3, 11, 11)]}
    assert played.rows["members"][0]["versions"][1]["from_time"] == NOW + 2000


def test_a_subscription_that_cannot_be_read_is_no_other_version():
    first, second = pair(used=8, supported=11)
    unreadable = evolve(first, subscription=b"?")
    played = Played(
        generation(1, first, second), generation(2, unreadable, second, at=1000), generation(3, first, second, at=2000)
    )

    assert [(1, 8, 11)] == sent(played.rows["members"][0])


def test_a_member_whose_subscription_cannot_be_read_had_no_state():
    first, second = pair()
    moved = evolve(member("B", active=ALL), subscription=b"?")
    played = Played(generation(1, first, second), generation(2, moved, at=1000))

    assert (1, 1) == (played.last["tasks_moved"], played.last["tasks_moved_without_state"])


def test_a_plain_consumer_has_sent_no_versions():
    assert Played(generation(1, of_range("A", (0,)), protocol="range")).rows["members"][0]["versions"] == []


def test_members_of_the_first_record_were_present_before():
    assert Played(generation(5, alone())).lives == [("41000000", "present", "present")]


def test_a_static_member_is_replaced_within_a_generation():
    old = member("A", active=ALL, instance="pod-0")
    new = evolve(old, member_id="new")
    played = Played(generation(1, old), generation(1, new, at=500))

    assert [(row["member_id"], row["ended"], row["last_time"]) for row in played.rows["members"]] == [
        (old.member_id, "restarted", NOW + 500),
        ("new", "present", None),
    ]
    assert len(played.rows["generations"]) == 1
    assert {row["member_id"] for row in played.rows["tasks"]} == {old.member_id, "new"}


def test_a_generation_that_is_written_twice_with_other_members_loses_none():
    """It cannot happen in Kafka, but damaged or mixed segments have it."""
    first, second = pair()
    played = Played(generation(1, first), generation(1, second), generation(2, second), generation(2), generation(2))

    assert played.lives == [("41000000", "joined", "gone"), ("42000000", "joined", "gone")]
    assert [row["members"] for row in played.rows["generations"]] == [1, 1, 0, 0]


def test_duplicate_member_ids_count_once():
    assert Played(generation(1, alone(), alone())).last["members"] == 1


def test_a_group_that_goes_back_is_read_on():
    played = Played(generation(5, *pair()), generation(-1, *pair(), at=-5000), generation(3, alone()))

    assert [row["generation"] for row in played.rows["generations"]] == [5, -1, 3]
    assert [row["skipped"] for row in played.rows["generations"]] == [0, 0, 3]


def test_a_tombstone_ends_a_group():
    played = Played(generation(1), deleted(at=5))

    assert (played.group.state, played.group.last_time) == ("Dead", NOW + 5)
    assert played.history.counts["tombstones"] == 1


def test_tasks_have_owners_over_time_and_intervals_without():
    before = member("A", active=ALL, standby="0_2"), member("B")
    after = member("A", active="0_0"), member("B")
    played = Played(generation(1, *before), generation(2, *after, at=1000), generation(3, *before, at=4000))

    intervals = {
        (row["task"], row["role"], row["from_time"] - NOW, row["until_time"] and row["until_time"] - NOW)
        for row in played.rows["tasks"]
    }
    assert intervals == {
        ("0_0", "active", 0, None),
        ("0_1", "active", 0, 1000),
        ("0_1", "unowned", 1000, 4000),
        ("0_1", "active", 4000, None),
        ("0_2", "standby", 0, 1000),
        ("0_2", "standby", 4000, None),
    }


def test_a_task_with_two_owners_is_owned_twice():
    rows = Played(generation(1, member("A", active="0_0"), member("B", active="0_0"))).rows["tasks"]

    assert [row["member"] for row in rows if row["role"] == "owned-twice"] == ["41000000 42000000"]


def test_plain_consumers_have_partitions_instead_of_tasks():
    rows = Played(generation(1, of_range("A", (0, 3)), protocol="range")).rows["tasks"]

    assert sorted(row["task"] for row in rows) == ["orders-0", "orders-3"]


def test_members_of_another_protocol_type_stay_opaque():
    worker = evolve(member("A"), subscription=b"\xff", assignment=b"\xfe")
    played = Played(generation(1, worker, protocolType="connect", protocol="sessioned", leader=None))

    assert (played.last["protocol_type"], played.last["tasks"], played.last["used_versions"]) == ("connect", 0, [])
    assert played.codes == []


def test_commits_are_summed_up_by_generation():
    played = Played(
        commit(0, 5, at=-100),
        generation(1, alone()),
        commit(0, 6, at=100),
        commit(0, 9, at=5000),
        commit(0, None, at=6000),
        commit(1, None, at=6000),
        commit(1, 7, at=6001),
        generation(2, alone()),
    )

    assert [
        (row["generation"], row["partition"], row["commits"], row["deleted"], row["first_offset"], row["last_offset"])
        for row in played.rows["commits"]
    ] == [(None, 0, 1, 0, 5, 5), (1, 0, 2, 1, 6, 9), (1, 1, 1, 1, 7, 7)]
    assert [row["longest_gap_ms"] for row in played.rows["commits"]] == [0, 4900, 1]


def test_commits_without_timestamps_have_no_gap():
    played = Played(commit(0, 5, at=-NOW - 1), commit(0, 6), commit(0, 7, at=-NOW - 1))

    assert played.rows["commits"][0]["longest_gap_ms"] == 0


def test_a_committed_offset_that_goes_back_is_found_by_partition():
    played = Played(generation(1, alone()), commit(0, 9), commit(0, 5), commit(1, 6))

    assert [(row["code"], row["text"]) for row in played.rows["findings"]] == [
        ("offset-moved-back", "the committed offset of orders-0 went back 1 times")
    ]
    assert Played(commit(0, 9), commit(0, 5)).rows["findings"][0]["generation"] == 0


def test_commits_can_be_left_out():
    played = Played(commit(0), generation(1, alone()), reads_commits=False)

    assert (played.rows["commits"], played.history.counts["OffsetCommit"]) == ([], 1)


def transaction(kind, producer=7, commits=2):
    pairs = [commit(0, 100 + each) for each in range(commits)]
    records = [LogRecord(at, one.time, one.key, one.value, producer) for at, one in enumerate(pairs)]
    return [*records, LogRecord(9, NOW, bytes(2) + kind.to_bytes(2, "big"), b"", producer, is_control=True)]


def test_the_commits_of_a_transaction_count_when_it_commits():
    played = Played(records=transaction(COMMIT))

    assert (played.rows["commits"][0]["commits"], played.history.counts["commit markers"]) == (2, 1)


def test_the_commits_of_an_aborted_transaction_do_not_count():
    played = Played(records=transaction(0))

    assert (played.rows["commits"], played.history.counts["abort markers"]) == ([], 1)


def test_commits_of_an_open_transaction_do_not_count():
    assert Played(records=transaction(COMMIT)[:2]).rows["commits"] == []


def test_open_transactions_are_counted():
    played = Played(records=transaction(COMMIT)[:2])

    assert played.history.counts["commits of open transactions"] == 2


@pytest.mark.parametrize("key", [None, b"\0\0\0", b"\0\0\0\2", b"\0\0\xff\xff"])
def test_a_damaged_marker_ends_no_transaction(key):
    """It counted as the marker of an aborted one, and the commits were dropped."""
    records = transaction(COMMIT)
    played = Played(records=[*records[:2], records[2]._replace(key=key), records[2]])

    assert (played.history.counts["undecodable"], played.rows["commits"][0]["commits"]) == (1, 2)
    assert "ends no transaction" in played.history.problems[0]


def test_open_transactions_have_a_limit(monkeypatch):
    monkeypatch.setattr(history_module, "_MOST_OPEN", 2)
    played = Played(records=transaction(COMMIT, commits=5) + transaction(COMMIT, 8))

    assert played.history.counts["dropped transactional commits"] == 3
    assert sum(row["commits"] for row in played.rows["commits"]) == 4


def test_unknown_types_and_versions_are_counted():
    future = commit(0)
    played = Played(
        Pair((99).to_bytes(2, "big") + b"?", b"!"),
        Pair(future.key, (77).to_bytes(2, "big")),
        Pair(None, b""),
        *[Pair(b"\0", b"")] * 150,
        generation(1, alone()),
    )

    assert (played.history.counts["unknown type 99"], played.history.counts["undecodable"]) == (1, 152)
    assert "type 99, from offset 0 on, are not decoded" in played.history.problems[0]
    assert "offset 1 is not decoded" in played.history.problems[1]
    assert (len(played.history.problems), len(played.rows["generations"])) == (100, 1)


def consumer(name, topics=("orders",), instance=None):
    facts = {"instanceId": instance, "rackId": "r", "clientId": name, "clientHost": "h", "serverAssignor": "uniform"}
    more = {"subscribedTopicNames": list(topics), "subscribedTopicRegex": None, "rebalanceTimeoutMs": 300_000}
    return record(5, {"groupId": "app", "memberId": name}, facts | more)


def epoch(number, at=0):
    return record(3, {"groupId": "app"}, {"epoch": number}, NOW + at)


def target(name, *partitions):
    given = [{"topicId": TOPIC_ID, "partitions": list(partitions)}]
    return record(7, {"groupId": "app", "memberId": name}, {"topicPartitions": given})


def topic_names(number=4):
    topics = [{"topicId": TOPIC_ID, "topicName": "orders", "numPartitions": 2, "partitionMetadata": []}]
    return record(number, {"groupId": "app"}, {"topics": topics})


def test_the_epochs_of_a_consumer_group_are_its_generations():
    key = {"groupId": "app", "memberId": "B"}
    played = Played(
        *(topic_names(), consumer("A"), epoch(1), target("A", 0, 1)),
        *(consumer("B", instance="pod-1"), epoch(2, 1000), target("A", 0), target("B", 1)),
        record(6, {"groupId": "app"}, {"assignmentEpoch": 2}),
        *(record(5, key, None), record(7, key, None), epoch(3, 60_000), target("A", 0, 1)),
    )

    assert [(row["type"], row["generation"], row["members"], row["cause"]) for row in played.rows["generations"]] == [
        ("consumer", 1, 1, "group-started"),
        ("consumer", 2, 2, "member-joined"),
        ("consumer", 3, 1, "member-timed-out"),
    ]
    assert {row["task"] for row in played.rows["tasks"]} == {"orders-0", "orders-1"}
    assert (played.last["protocol"], played.group.type) == ("uniform", "consumer")


@pytest.mark.parametrize(
    ("given", "cause", "assumed"),
    [
        ({}, "member-left", "within the session timeout, assumed to be 45 s)"),
        ({"assumed_session_ms": 20_000}, "member-left", "within the session timeout, assumed to be 20 s)"),
        ({"assumed_session_ms": 6_000}, "member-gone", ""),
    ],
)
def test_a_member_of_a_consumer_group_that_committed_lately_left(given, cause, assumed):
    """With a session of 6 s all killed and frozen members had left, "within the session timeout"."""
    key = {"groupId": "app", "memberId": "B"}
    played = Played(
        *(topic_names(), consumer("A"), consumer("B"), epoch(1), target("A", 0), target("B", 1)),
        *(commit(1, at=50_000), record(5, key, None), epoch(2, 60_000), target("A", 0, 1)),
        **given,
    )

    assert played.causes[-1] == (cause, "likely")
    assert assumed in played.last["detail"]


def confirmed(name, at, epoch=1):
    """The record that a coordinator writes when a member confirms its assignment, with that heartbeat."""
    value = {"memberEpoch": epoch, "previousMemberEpoch": epoch - 1, "state": 0}
    nothing = {"assignedPartitions": [], "partitionsPendingRevocation": []}
    return record(8, {"groupId": "app", "memberId": name}, value | nothing, NOW + at)


@pytest.mark.parametrize(
    ("of_the_other", "of_its_own", "cause"),
    [
        # It confirmed an assignment less than a session before it was gone. It was "left or timed out".
        ((), (confirmed("B", 50_000),), "member-left"),
        # It is idle. It was "timed out", as the other one commits.
        ((commit(0, at=55_000),), (commit(1, at=5000),), "member-gone"),
        ((commit(0, at=55_000),), (), "member-gone"),
        # A static member that leaves for a while confirms nothing.
        ((), (confirmed("B", 50_000, -2),), "member-gone"),
        # It committed regularly, until its session began; and until long before that, as one that had nothing to do.
        ((commit(0, at=55_000),), [commit(1, at=each) for each in (3000, 6000, 9000, 12_000)], "member-timed-out"),
        ((commit(0, at=55_000),), [commit(1, at=each) for each in (14_100, 14_200, 14_300)], "member-timed-out"),
        ((commit(0, at=155_000),), [commit(1, at=each) for each in (100, 200, 300, 400)], "member-gone"),
        # Without records no member commits.
        ((), [commit(1, at=each) for each in (3000, 6000, 9000, 12_000)], "member-gone"),
    ],
)
def test_a_member_of_a_consumer_group_is_gone_unless_records_tell_why(of_the_other, of_its_own, cause):
    """A coordinator writes the same records of a member that leaves and of one whose session has ended."""
    key = {"groupId": "app", "memberId": "B"}
    last = max([60_000, *(5000 + each.time - NOW for each in of_the_other)])
    played = Played(
        *(topic_names(), consumer("A"), consumer("B"), epoch(1), target("A", 0), target("B", 1)),
        *(*of_its_own, *of_the_other, record(8, key, None), record(5, key, None), epoch(2, last), target("A", 0, 1)),
    )

    assert played.causes[-1] == (cause, "likely")


def test_commits_of_the_next_owner_are_those_of_the_next_epoch():
    """They were counted in the epoch before, as those of the killed member, which seemed to have left."""
    key = {"groupId": "app", "memberId": "B"}
    played = Played(
        *(topic_names(), consumer("A"), consumer("B"), epoch(1), target("A", 0), target("B", 1), commit(1, at=9000)),
        *(record(5, key, None), epoch(2, 60_000), target("A", 0, 1), commit(1, at=61_000), epoch(3, 62_000)),
    )

    assert [1, 2] == [row["generation"] for row in played.rows["commits"]]
    assert ("member-gone", "likely") == played.causes[1]


def test_a_member_that_leaves_a_consumer_group_had_its_partitions_until_then():
    """Its target assignment is deleted before the record of the next epoch, and was missing in the last one."""
    key = {"groupId": "app", "memberId": "B"}
    played = Played(
        *(topic_names(), consumer("A"), consumer("B"), epoch(1), target("A", 0), target("B", 1)),
        *(record(7, key, None), record(5, key, None), epoch(2, 60_000), target("A", 0, 1)),
    )

    assert [row["tasks"] for row in played.rows["generations"]] == [2, 2]


def commit_with_id(partition, at=0):
    key = {"group": "app", "topic": "orders", "partition": partition}
    value = {"offset": 7, "leaderEpoch": 0, "metadata": "", "commitTimestamp": NOW + at, "topicId": TOPIC_ID}
    return record(1, key, value, NOW + at, 4)


def test_the_names_of_topics_come_from_commits():
    """Brokers from 4.1 on write them nowhere else."""
    records = consumer("A"), consumer("B"), epoch(1), target("A", 0), target("B", 1), commit_with_id(1, 50_000)
    key = {"groupId": "app", "memberId": "B"}
    played = Played(*records, record(7, key, None), record(5, key, None), epoch(2, 60_000), target("A", 0, 1))

    assert {row["task"] for row in played.rows["tasks"]} == {"orders-0", "orders-1"}
    assert played.causes[-1] == ("member-left", "likely")


def test_topics_without_a_known_name_keep_their_id():
    rows = Played(consumer("A"), epoch(1), target("A", 0)).rows["tasks"]

    assert [row["task"] for row in rows] == [f"{TOPIC_ID}-0"]


def test_a_consumer_group_that_is_deleted_is_dead():
    played = Played(consumer("A"), epoch(1), record(3, {"groupId": "app"}, None), record(4, {"groupId": "app"}, None))

    assert (played.group.state, len(played.rows["generations"])) == ("Dead", 1)


def test_tombstones_alone_say_of_which_type_a_group_was():
    played = Played(record(11, {"groupId": "app"}, None))

    assert (played.group.type, played.rows["generations"], played.group.state) == ("share", [], "Dead")


def test_the_rest_of_a_converted_group_does_not_change_its_type():
    played = Played(generation(4, alone()), record(3, {"groupId": "app"}, None))

    assert (played.group.type, played.group.state) == ("classic", "Stable")


def test_a_share_group_has_epochs():
    facts = {"rackId": None, "clientId": "c", "clientHost": "h", "subscribedTopicNames": ["orders"]}
    state = [{"topicId": TOPIC_ID, "topicName": "orders", "partitions": [0]}]
    initialized = {"initializingTopics": [], "initializedTopics": state, "deletingTopics": []}
    given = {"topicPartitions": [{"topicId": TOPIC_ID, "partitions": [0]}]}
    key = {"groupId": "app", "memberId": "A"}
    played = Played(
        record(10, key, facts),
        record(11, {"groupId": "app"}, {"epoch": 1, "metadataHash": 5}),
        record(13, key, given),
        record(15, {"groupId": "app"}, initialized),
    )

    assert (played.last["type"], [row["task"] for row in played.rows["tasks"]]) == ("share", ["orders-0"])


def streams(number=1):
    facts = {"instanceId": None, "rackId": None, "clientId": "c", "clientHost": "h", "rebalanceTimeoutMs": 1}
    more = {"topologyEpoch": 0, "processId": "p-1", "userEndpoint": None, "clientTags": []}
    tasks = [{"subtopologyId": "0", "partitions": [0, 1]}], [{"subtopologyId": "0", "partitions": [2]}]
    given = {"activeTasks": tasks[0], "standbyTasks": tasks[1], "warmupTasks": []}
    key = {"groupId": "app", "memberId": "A"}
    return (
        record(19, key, facts | more),
        record(17, {"groupId": "app"}, {"epoch": number, "metadataHash": 5}),
        record(21, key, given),
    )


def test_a_streams_group_has_epochs_with_tasks():
    played = Played(*streams())

    assert {(row["task"], row["role"]) for row in played.rows["tasks"]} == {
        ("0_0", "awaited"),
        ("0_1", "awaited"),
        ("0_2", "awaited-standby"),
    }
    assert (played.last["type"], played.rows["members"][0]["process_id"]) == ("streams", "p-1")


def topology(*sources, repartition=()):
    names = ("replicationFactor", "partitions")
    subtopology = {
        "subtopologyId": "0",
        "sourceTopics": [*sources],
        "repartitionSourceTopics": [
            {"name": each, **dict.fromkeys(names, 1), "topicConfigs": []} for each in repartition
        ],
        "sourceTopicRegex": [],
        "stateChangelogTopics": [],
        "repartitionSinkTopics": [],
        "copartitionGroups": [],
    }
    return record(23, {"groupId": "app"}, {"epoch": 0, "subtopologies": [subtopology]})


def other_member_that_is_gone_later(*between):
    metadata = {"instanceId": None, "rackId": None, "clientId": "c", "clientHost": "h", "rebalanceTimeoutMs": 300_000}
    more = {"topologyEpoch": 0, "processId": "p-2", "userEndpoint": None, "clientTags": []}
    key = {"groupId": "app", "memberId": "D0mU8HO4RSaQvoRUEoWQnQ"}
    given = {"activeTasks": [{"subtopologyId": "0", "partitions": [3]}], "standbyTasks": [], "warmupTasks": []}
    later = record(17, {"groupId": "app"}, {"epoch": 2, "metadataHash": 5}, NOW + 60_000)
    return (
        record(19, key, metadata | more),
        *streams(),
        record(21, key, given),
        *between,
        record(21, key, None),
        record(19, key, None),
        later,
    )


def test_a_member_of_a_streams_group_that_committed_lately_has_left():
    """It commits for the topics of the topology, as its tasks have no topics."""
    played = Played(topology("orders"), *other_member_that_is_gone_later(commit_with_id(3, 50_000)))

    assert played.causes[-1] == ("member-left", "likely")
    assert "left: D0mU8HO4 (committed" in played.last["detail"]
    assert [row["topics"] for row in played.rows["members"]] == [["orders"], ["orders"]]


def test_a_member_of_a_streams_group_leaves_when_it_closes():
    """Unlike one of a classic group, so silence is no evidence for a timeout."""
    played = Played(topology("orders", repartition=["by-id"]), *other_member_that_is_gone_later())

    assert played.causes[-1] == ("member-gone", "likely")
    assert played.rows["members"][0]["topics"] == ["by-id", "orders"]


def test_a_classic_group_that_is_converted_keeps_its_members():
    played = Played(
        generation(4, of_range("A", (0,)), protocol="range"),
        deleted(),
        *(consumer("consumer-A"), epoch(4), consumer("B"), epoch(5)),
    )

    assert [row["cause"] for row in played.rows["generations"]] == ["group-started", "group-converted", "member-joined"]
    assert [row["began"] for row in played.rows["members"]] == ["present", "joined"]


def test_a_group_that_is_converted_back_completes_its_epoch_first():
    played = Played(consumer("consumer-A"), epoch(4), generation(5, of_range("consumer-A"[9:], (0,)), protocol="range"))

    assert [(row["type"], row["generation"]) for row in played.rows["generations"]] == [("consumer", 4), ("classic", 5)]


def test_records_of_two_types_complete_the_epoch_of_the_first():
    played = Played(consumer("A"), epoch(4), *streams(7))

    assert [row["type"] for row in played.rows["generations"]] == ["consumer", "streams"]


def hostile(random):
    """A record of any type; its fields are random, its bytes may be damaged."""
    kind = RECORD_TYPES[random.choice(list(RECORD_TYPES))]
    version = random.randrange(kind.value.latest + 1)
    key = draw_fields(random, kind.key, 0)
    key.update((name, random.choice("gh")) for name in ("group", "groupId") if name in key)
    raw_key = encode_key(kind, key)
    value = draw_fields(random, kind.value, version)
    if kind.number == 2:
        value["generation"] = random.choice((-1, 0, 1, 2, (1 << 31) - 1))
        value["members"] = [hostile_member(random, version) for _ in range(random.randrange(4))]
        value["protocolType"], value["protocol"] = random.choice(
            (("consumer", "stream"), ("consumer", "range"), ("x", None))
        )
    raw_value = None if random.random() < 0.15 else encode_value(kind, version, value)
    if raw_value and random.random() < 0.3:
        raw_value = damaged(random, raw_value)
    if random.random() < 0.05:
        raw_key = damaged(random, raw_key)
    return raw_key, raw_value


def hostile_member(random, version):
    one = member(
        random.choice("ABC"),
        used=random.choice((1, 6, 11)),
        supported=11,
        active=random.choice(("", "0_0", ALL)),
        next_ms=random.choice((-1, 0, 5, (1 << 63) - 1)),
        error=random.choice((0, 5)),
        instance=random.choice((None, "pod-0")),
    )
    userdata = one.subscription, one.assignment
    facts = {
        "memberId": one.member_id,
        "clientId": one.client_id,
        "clientHost": one.host,
        "sessionTimeout": random.choice((-1, 0, SESSION_MS)),
        "subscription": damaged(random, userdata[0]) if random.random() < 0.5 else userdata[0],
        "assignment": damaged(random, userdata[1]) if random.random() < 0.5 else userdata[1],
    }
    if version >= 1:
        facts["rebalanceTimeout"] = -1
    if version >= 3:
        facts["groupInstanceId"] = one.group_instance_id
    return facts


def damaged(random, raw):
    out = bytearray(raw)
    for _ in range(random.choice((1, 1, 5))):
        out[random.randrange(len(out))] = random.randrange(256)
    return bytes(out[: random.choice((None, None, random.randrange(len(out))))])


def test_any_record_is_read_or_counted():
    """3000 random records of two groups, one in three damaged, times going back and forth."""
    random = Random(41)
    for _ in range(30):
        pairs = [hostile(random) for _ in range(100)]
        times = [random.choice((-1, 0, NOW, NOW + each, 253_402_300_799_999)) for each in range(100)]
        records = [
            LogRecord(at, time, key, value, random.choice((-1, -1, 5)), is_control=random.random() < 0.02)
            for at, ((key, value), time) in enumerate(zip(pairs, times, strict=True))
        ]
        played = Played(records=records)
        check_rows(played)


def check_rows(played):
    """All numbers fit the columns, and each member that began has ended once."""
    for rows in played.rows.values():
        for row in rows:
            assert all(-(1 << 63) <= each < 1 << 63 for each in row.values() if isinstance(each, int))
            assert all(valid_text(each) == each for each in row.values() if isinstance(each, str))
    assert sum(row["last_time"] is None for row in played.rows["members"]) == sum(
        group.members for group in played.history.groups.values()
    )


def test_names_that_are_not_utf_8_can_be_written():
    """Damaged bytes: Kafka itself writes UTF-8 only."""
    one = generation(1, alone())
    pairs = [commit(0), consumer("Z" * 9), epoch(1), one, commit(0)]
    broken = [
        Pair(
            each.key.replace(b"orders", b"\xb5rders"),
            each.value.replace(b"ZZZ", b"\xffZZ").replace(b"10.0", b"1\xb5.0"),
            NOW,
        )
        for each in pairs
    ]
    broken[0] = Pair(broken[0].key.replace(b"app", b"a\xffp"), broken[0].value, NOW)
    played = Played(*broken)

    check_rows(played)
    assert "a\ufffdp" in [group.group for group in played.history.groups.values()]
    assert {"/1\ufffd.0.0.1", "h"} == {row["host"] for row in played.rows["members"]}


def test_userdata_of_a_later_version_has_its_numbers_only():
    later = b"\x00\x00\x00\x63\x00\x00\x00\x64"
    sent = encode_consumer_subscription(ConsumerSubscription(("orders",), later))
    got = encode_consumer_assignment(ConsumerAssignment((TopicPartitions("orders", (0,)),), later))
    played = Played(generation(1, evolve(alone(), subscription=sent, assignment=got)))
    (row,) = played.rows["generations"]

    assert ([99], [100]) == (row["used_versions"], row["supported_versions"])
    assert row["tasks"] == 0


@frozen
class SummedCommits(Commits):
    """Records that are commits, summed up by their keys."""

    data: bytes
    pairs: list[tuple[int, Pair]]

    def records(self):
        return (LogRecord(offset, one.time, one.key, one.value) for offset, one in self.pairs)

    def runs(self):
        by_key = {}
        for offset, one in self.pairs:
            by_key.setdefault(one.key, []).append((offset, one.time, int.from_bytes(one.value[2:10], "big")))
        return [self._placed(key, *zip(*commits, strict=True)) for key, commits in by_key.items()]

    def _placed(self, key, records, times, offsets):
        value = next(one.value for _, one in self.pairs if one.key == key)
        places = self.data.index(key), self.data.index(key) + len(key), self.data.index(value)
        gaps = [after - before for before, after in pairwise(times)]
        back = sum(after < before for before, after in pairwise(offsets))
        known = next((offset for offset in offsets if offset >= 0), -1)
        ends = records[0], times[0], times[-1], max(times), offsets[0], known, offsets[-1]
        run = CommitRun(*ends, len(times), max(gaps, default=0), back)
        return PlacedRun(*places, places[2] + len(value), -1, run)


@frozen
class Columns(RecordColumns):
    """Records as a compiled scanner gives them."""

    pairs: list[Pair]

    def parts(self):
        is_commit = lambda numbered: numbered[1].key[:2] == b"\x00\x01" and bool(numbered[1].value)  # noqa: E731
        for commits, numbered in groupby(enumerate(self.pairs), is_commit):
            part = SummedCommits({"OffsetCommit": len(kept := list(numbered))}, self.data, kept)
            yield from [part] if commits else part.records()

    def split(self, bucket_of):
        return {bucket_of(b""): self}


def columns_of(pairs):
    data = b"".join(one.key + (one.value or b"") for one in pairs)
    return Columns(data, pairs[0].time, max(one.time for one in pairs), list(pairs))


def test_columns_of_records_give_the_same_rows_as_records():
    pairs = [generation(1, alone()), commit(0), commit(0, 110, at=5), commit(1), Pair(b"\x00\x01\x00", b"", NOW)]
    pairs += [record(1, {"group": "app", "topic": "orders", "partition": 0}, None, NOW + 9), generation(2, at=20)]
    played, columns = Played(*pairs), Played(records=[columns_of(pairs)])

    assert played.rows == columns.rows
    assert played.history.counts == columns.history.counts
    assert [row["deleted"] for row in columns.rows["commits"]] == [1, 0]
    assert columns.history.problems == played.history.problems
    assert next(iter(columns_of(pairs).records())).key == pairs[0].key


def test_group_metadata_is_handed_on_with_its_fields():
    seen = []
    Played(generation(1, alone()), commit(0), deleted(at=5), on_group_metadata=lambda *each: seen.append(each))
    (group, time, value), end = seen

    assert (group, time, value["generation"]) == ("app", NOW, 1)
    assert end == ("app", NOW + 5, None)


def life(group, *, tombstones=True):
    """All records of a group that ran once: a generation, a commit, no members, and its tombstones."""
    gone = [commit(0, None, group=group), deleted(group)] if tombstones else []
    return [generation(1, alone(), group=group), commit(0, group=group), generation(2, group=group), *gone]


def keeping(monkeypatch, number, *pairs):
    monkeypatch.setattr(history_module, "MOST_GONE", number)
    return Played(*pairs)


def test_a_group_of_which_nothing_is_left_is_complete_and_not_kept(monkeypatch):
    """Each group that ever was took 8 KB, also if it was deleted."""
    names = [f"run-{number}" for number in range(5)]
    pairs = [pair for name in names for pair in life(name)]
    played, whole = keeping(monkeypatch, 2, *pairs), keeping(monkeypatch, 9, *pairs)

    assert names[3:] == list(played.history.groups)
    assert names == [each.group for each in played.complete]
    assert whole.complete == played.complete
    for table, rows in whole.rows.items():
        assert sorted(map(repr, rows)) == sorted(map(repr, played.rows[table]))


@pytest.mark.parametrize("kept", [0, 1, 9])
def test_a_group_is_complete_when_all_its_rows_were_yielded(monkeypatch, kept):
    """The rows of its close came later: the summary of a deleted group had neither them nor its findings."""
    monkeypatch.setattr(history_module, "MOST_GONE", kept)
    seen: list[tuple[str, str]] = []
    history = PartitionHistory(on_complete=lambda group: seen.append(("complete", group.group)))
    pairs = [pair for name in "abc" for pair in life(name)]
    for rows in (history.read(log(*pairs)), history.close()):
        seen += ((table, row["group"]) for table, row in rows)

    for name in "abc":
        own = [what for what, group in seen if group == name]
        assert own[-1] == "complete"
        assert own.count("generations") == 2
        assert own.count("complete") == 1


def test_a_group_with_an_offset_is_kept(monkeypatch):
    pairs = [*life("a", tombstones=False), deleted("a")]

    assert ["a"] == list(keeping(monkeypatch, 0, *pairs).history.groups)
    assert [] == list(keeping(monkeypatch, 0, *pairs, commit(0, None, group="a")).history.groups)


def test_a_group_that_comes_back_begins_anew(monkeypatch):
    played = keeping(monkeypatch, 0, *life("a"), *life("a", tombstones=False))

    assert ["a"] == list(played.history.groups)
    assert [("a", "Dead"), ("a", "Empty")] == [(each.group, each.state) for each in played.complete]
    assert [1, 2, 1, 2] == [row["generation"] for row in played.rows["generations"]]


def test_a_group_that_comes_back_soon_goes_on(monkeypatch):
    played = keeping(monkeypatch, 1, *life("a"), *life("a", tombstones=False), *life("b"))

    assert ["a", "b"] == list(played.history.groups)
    assert ["a", "b"] == [each.group for each in played.complete]


def test_a_tombstone_of_a_complete_group_is_a_trace_of_it(monkeypatch):
    later = commit(7, None, 9_000, "a")
    played = keeping(monkeypatch, 0, *life("a"), later)

    assert [(NOW, False), (NOW + 9_000, True)] == [(each.last_time, each.is_trace) for each in played.complete]
    assert not played.history.groups


def test_commits_in_columns_follow_a_group_that_came_back(monkeypatch):
    """The columns find the group of a commit by its key, and that must not be the group of before."""
    monkeypatch.setattr(history_module, "MOST_GONE", 0)
    pairs = [*life("a"), *life("a", tombstones=False), commit(0, 101, group="a")]
    played, columns = Played(*pairs), Played(records=[columns_of(pairs)])

    assert [100, 100, 101] == [row["last_offset"] for row in played.rows["commits"] if not row["deleted"]]
    assert played.rows == columns.rows
    assert played.history.counts == columns.history.counts


def test_the_intervals_of_tasks_have_an_order_that_no_hash_decides():
    """Two audits of the same segments had the same rows in different orders, so an audit that was repeated differed."""
    tasks = sorted(f"0_{number}" for number in range(20))
    all_of_them = member("A", active=" ".join(tasks))
    played = Played(generation(1, all_of_them), generation(2, member("B"), at=1), generation(3, at=2))

    found = [(row["role"], row["task"]) for row in played.rows["tasks"]]
    assert [*(("active", task) for task in tasks), *(("unowned", task) for task in tasks)] == found
