"""Reading offsets through scripted brokers: what is missing has a reason; tests/lab/integration has real ones."""

from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace as Answer

import pytest
from attrs import astuple
from kafka.protocol.consumer import OffsetFetchResponse

from streams_assignor.codec import TopicPartition
from streams_assignor.groups.describe.kafka_python import _offsets
from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from streams_assignor.groups.described_group import GroupOffsets
from streams_assignor.groups.offsets import OffsetRequest
from streams_assignor.upgrade.cluster.client.errors import Unreachable

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
DENIED, NOT_LEADER, CLUSTER_DENIED, STORAGE_ERROR = 29, 6, 31, 56
CHANGELOG = TopicPartition("app-s-changelog", 0)


def committed(group, error=0, **offsets):
    topics = [
        Answer(name=name, partitions=[Answer(partition_index=0, committed_offset=offset, error_code=0)])
        for name, offset in offsets.items()
    ]
    return Answer(group_id=group, error_code=error, topics=topics)


class Broker:
    """A broker of a cluster of two: topic ``a`` has a partition on each, and ``app-s-changelog`` one on the first."""

    def __init__(self, number, groups=(), latest=9, ends=None):
        self.server, self.groups, self.latest, self.sent = f"{number}:1", groups, latest, []
        self.leaders = {}
        self.log_dirs_error, self.tells_sizes, self.disk_error = 0, True, 0
        self.ends = {"a": 10, "b": 20, "app-s-changelog": 30} if ends is None else ends

    def versions_of(self, _key):
        return 0, self.latest

    def send(self, request, _deadline, **fields):
        self.sent.append((request.__name__, fields))
        return getattr(self, request.__name__)(**fields)

    def OffsetFetchRequest(self, groups=(), group_id=None, **_limits):
        names = [each.group_id for each in groups] or [group_id]
        found = [each for each in self.groups if each.group_id in names]
        if groups:
            return Answer(groups=found)
        (only,) = found  # a message of kafka-python, which takes no other attribute
        return OffsetFetchResponse(
            topics=[
                OffsetFetchResponse.OffsetFetchResponseTopic(
                    name=each.name,
                    partitions=[
                        OffsetFetchResponse.OffsetFetchResponseTopic.OffsetFetchResponsePartition(
                            partition_index=0, committed_offset=each.partitions[0].committed_offset
                        )
                    ],
                )
                for each in only.topics
            ]
        )

    def MetadataRequest(self, topics, **_fields):
        names = ["a", "b", "app-s-changelog", "other"] if topics is None else [each.name for each in topics]
        nodes = [Answer(node_id=number, host=str(number), port=1) for number in (1, 2)]
        leaders = {"a": [1, 2], "b": [-1], "app-s-changelog": [1], "other": [1], **self.leaders}
        found = [
            Answer(
                name=name,
                partitions=[
                    Answer(partition_index=number, leader_id=leader) for number, leader in enumerate(leaders[name])
                ],
            )
            for name in names
        ]
        return Answer(brokers=nodes, topics=found)

    def DescribeLogDirsRequest(self, topics):
        changelogs = [
            Answer(
                name=topic.topic,
                partitions=[
                    Answer(partition_index=number, partition_size=size, is_future_key=future)
                    for number in topic.partitions
                    for size, future in ((1000, False), (7, True))
                ],
            )
            for topic in topics
        ]
        told = Answer(error_code=self.disk_error, log_dir="/d", topics=changelogs if self.tells_sizes else [])
        return Answer(error_code=self.log_dirs_error, results=[told])

    def ListOffsetsRequest(self, topics, **_fields):
        return Answer(
            topics=[
                Answer(
                    name=topic.name,
                    partitions=[
                        Answer(
                            partition_index=each.partition_index,
                            error_code=0 if topic.name in self.ends else NOT_LEADER,
                            offset=self.ends.get(topic.name, -1),
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in topics
            ]
        )


@pytest.fixture(name="cluster", autouse=True)
def fixture_cluster(monkeypatch):
    brokers = {}

    @contextmanager
    def connect(_self, address, _deadline):
        if address not in brokers:
            raise Unreachable(f"{address}: refused")
        yield brokers[address]

    monkeypatch.setattr(GroupLookup, "_connect", connect)
    return brokers


def read(*requests, report=None):
    return GroupLookup("1:1").offsets(requests, *([report] if report else []))


def test_ends_are_those_of_partitions_that_are_committed_or_asked_for(cluster):
    cluster["1:1"] = Broker(1, [committed("app", a=3)])
    cluster["2:1"] = Broker(2)
    lines = []

    found = read(OffsetRequest(group="app", coordinator="1:1", partitions=frozenset({A1})), report=lines.append)

    assert {"app": GroupOffsets(committed={A0: 3}, ends={A0: 10, A1: 10})} == found
    assert [
        "committed offsets: coordinator 1 of 1, 1 group",
        "end offsets: leader 1 of 2, 1 partition",
        "end offsets: leader 2 of 2, 1 partition",
    ] == lines


def test_changelogs_are_found_by_their_names(cluster):
    cluster["1:1"] = Broker(1, [committed("app")])

    found = read(OffsetRequest(group="app", coordinator="1:1", reads_changelogs=True))["app"]

    assert {TopicPartition("app-s-changelog", 0): 30} == found.ends


def test_an_old_coordinator_is_asked_for_one_group_at_a_time(cluster):
    """Before 3.0 a request has one group; the answer has no name."""
    cluster["1:1"] = Broker(1, [committed("x", a=1), committed("y", a=2)], latest=7)

    found = read(*(OffsetRequest(group=name, coordinator="1:1") for name in "xy"))

    assert [{A0: 1}, {A0: 2}] == [found[name].committed for name in "xy"]
    assert [("x", 9), ("y", 9)] == [
        (fields["group_id"], fields["max_version"]) for name, fields in cluster["1:1"].sent if "Fetch" in name
    ]


def test_requests_have_a_limit(cluster, monkeypatch):
    for limit in ("_GROUPS_PER_REQUEST", "_TOPICS_PER_REQUEST", "_PARTITIONS_PER_REQUEST"):
        monkeypatch.setattr(_offsets, limit, 1)
    cluster["1:1"] = Broker(1, [committed("x", a=1), committed("y", other=2)], ends={"a": 5, "other": 6})

    found = read(*(OffsetRequest(group=name, coordinator="1:1") for name in "xy"))

    assert [{A0: 5}, {TopicPartition("other", 0): 6}] == [found[name].ends for name in "xy"]
    assert {"OffsetFetchRequest": 2, "MetadataRequest": 2, "ListOffsetsRequest": 2} == Counter(
        name for name, _ in cluster["1:1"].sent
    )


def test_what_is_missing_has_a_reason(cluster):
    """One coordinator and one leader do not answer, one partition has no leader, one group is not described."""
    denied = committed("denied", DENIED)
    partly = committed("partly", a=3, b=4)
    partly.topics[1].partitions[0].error_code = DENIED
    cluster["1:1"] = Broker(1, [denied, partly], ends={})

    found = read(
        OffsetRequest(group="denied", coordinator="1:1"),
        OffsetRequest(group="partly", coordinator="1:1", partitions=frozenset({A1, B0})),
        OffsetRequest(group="away", coordinator="3:1"),
        OffsetRequest(group="hidden", coordinator=""),
    )

    assert {A0: 3} == found["partly"].committed
    assert [{}] * 4 == [each.ends for each in found.values()]
    assert "committed offsets: TOPIC_AUTHORIZATION_FAILED" == found["denied"].failures[0]
    assert (
        "b: TOPIC_AUTHORIZATION_FAILED",
        "end offset of a: NOT_LEADER_FOR_PARTITION",
        "end offsets: 2:1: refused",
        "b-0 has no leader",
    ) == found["partly"].failures
    assert "committed offsets: 3:1: refused" == found["away"].failures[0]
    assert ("the coordinator has not described the group",) == found["hidden"].failures


def test_what_an_answer_lacks_has_a_reason(cluster):
    """A group without an answer had no lag, and a partition without one had no reason."""
    cluster["1:1"] = Broker(1, [])
    cluster["1:1"].ListOffsetsRequest = lambda **_: Answer(topics=[])

    found = read(OffsetRequest(group="app", coordinator="1:1", partitions=frozenset({A0})))["app"]

    assert ("committed offsets: 1:1 has not answered for this group", "end offset of a: no answer") == found.failures


def test_topics_that_do_not_exist_are_named_once_and_not_all(cluster, monkeypatch):
    """Such as topics that were deleted while groups have offsets of them."""
    monkeypatch.setattr(_offsets, "_MOST_FAILURES", 2)
    cluster["1:1"] = Broker(1, [committed("app")])
    missing = frozenset(TopicPartition(topic, number) for topic in ("a", "b", "other") for number in (7, 8))

    found = read(OffsetRequest(group="app", coordinator="1:1", partitions=missing))["app"]

    named = [f"no topic {name} that the user may describe has its partition" for name in "ab"]
    assert (*named, "and 1 more") == found.failures


def test_no_broker_and_no_metadata_are_reasons_too(cluster):
    request = OffsetRequest(group="app", coordinator="1:1", partitions=frozenset({A0}))
    assert ("1:1: refused",) == read(request)["app"].failures

    cluster["1:1"] = Broker(1, [committed("app")])
    cluster["1:1"].MetadataRequest = lambda **_: (_ for _ in ()).throw(Unreachable("1:1: closed"))
    assert ("leaders of partitions: 1:1: closed",) == read(request)["app"].failures


def sizes(report=lambda _line: None):
    return GroupLookup("1:1").changelog_sizes("app", report)


def test_sizes_are_those_of_the_logs_of_leaders(cluster):
    """A copy that moves to another directory is not counted."""
    cluster["1:1"] = Broker(1)
    lines = []

    assert ({CHANGELOG: 1000}, {CHANGELOG: 30}, {CHANGELOG: 30}, ()) == astuple(sizes(lines.append), recurse=False)
    assert [-2, -1] == [
        fields["topics"][0].partitions[0].timestamp for name, fields in cluster["1:1"].sent if "ListOffsets" in name
    ]
    assert ["sizes of changelogs: leader 1 of 1, 1 partition"] == lines


def test_sizes_that_are_missing_have_a_reason(cluster):
    assert ("1:1: refused",) == sizes().failures

    cluster["1:1"] = Broker(1)
    cluster["1:1"].log_dirs_error = CLUSTER_DENIED
    assert "not authorized" in sizes().failures[0]

    cluster["1:1"].log_dirs_error, cluster["1:1"].tells_sizes = 0, False  # brokers before 3.2 have no error here
    assert (
        "no size of app-s-changelog-0: a broker tells it to those who may describe the cluster",
    ) == sizes().failures

    cluster["1:1"].disk_error = STORAGE_ERROR
    assert "sizes of changelogs: 1:1, /d: KAFKA_STORAGE_ERROR" == sizes().failures[0]


def test_a_changelog_without_a_leader_has_no_size(cluster):
    cluster["1:1"] = Broker(1)
    cluster["1:1"].leaders = {"app-s-changelog": [1, -1, 2]}
    found = sizes()

    assert {CHANGELOG: 1000} == found.sizes
    assert (
        "app-s-changelog-1 has no leader",
        "sizes of changelogs: 2:1: refused",
        "no size of app-s-changelog-1 and 1 more: a broker tells it to those who may describe the cluster",
    ) == found.failures


def test_sizes_without_metadata_have_a_reason(cluster):
    cluster["1:1"] = Broker(1)
    cluster["1:1"].MetadataRequest = lambda **_: (_ for _ in ()).throw(Unreachable("1:1: closed"))

    assert ("leaders of partitions: 1:1: closed",) == sizes().failures
