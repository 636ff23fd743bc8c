"""The look-ups of a leader before it assigns, against an admin that remembers what it was asked."""

import pytest

from streams_assignor import streams_assignor
from streams_assignor.clients.leader_lookup import LookupFailed, snapshot_cluster
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TopicPartition
from streams_assignor.errors import FatalError
from streams_assignor.protocol import leader
from streams_assignor.protocol.internal_topics import plan_internal_topics
from streams_assignor.streams_assignor import StreamsAssignor
from streams_assignor.topology import Subtopology, Topology
from streams_assignor.upgrade import StreamsConfig, release_named
from streams_assignor.upgrade.redaction import redact

TOPOLOGY = Topology.of(
    Subtopology(sources=["orders"], repartition_sinks=["by-customer"]),
    Subtopology(repartition_sources=["by-customer"], changelogs=["counts"]),
    Subtopology(sources=["table"], changelogs=["table"]),
)


class Admin:
    """A cluster with some topics; ``failing`` names what it cannot find out."""

    def __init__(self, *failing, **topics):
        self.topics = topics
        self.failing = failing
        self.created = {}

    def _try(self, what):
        if what in self.failing:
            raise LookupFailed(what)

    def partition_counts(self, topics):
        self._try("partitions")
        return {topic: self.topics[topic] for topic in topics if topic in self.topics}

    def create(self, topics):
        self.created = {topic.name: topic.partitions for topic in topics}

    def end_offsets(self, partitions):
        self._try("ends")
        return dict.fromkeys(partitions, 100)

    def committed_offsets(self, partitions):
        self._try("committed")
        return dict.fromkeys(partitions, 40)

    def replica_racks(self, topics):
        self._try("racks")
        return {TopicPartition(topic, 0): {"r"} for topic in topics}


def looked_up(admin, strategy="none", **known):
    return looked_up_and_planned(admin, strategy, **known)[0]


def looked_up_and_planned(admin, strategy="none", **known):
    config = StreamsConfig(rack_aware_assignment_strategy=strategy)
    core = StreamsAssignor(TOPOLOGY, config, release=release_named("3.9.2"))
    return snapshot_cluster(core, known, admin, now_ms=7)


def test_missing_internal_topics_are_created_and_need_no_offsets():
    admin = Admin(orders=2, table=1)

    cluster = looked_up(admin)

    assert {"by-customer": 2, "counts": 2} == admin.created
    assert (
        ClusterSnapshot(partitions={"orders": 2, "table": 1}, end_offsets={TopicPartition("table", 0): 40}, now_ms=7)
        == cluster
    )


def test_offsets_are_those_of_changelogs_and_commits_where_a_source_is_one():
    admin = Admin(**{"orders": 1, "table": 1, "by-customer": 1, "counts": 1})

    cluster = looked_up(admin)

    assert {TopicPartition("counts", 0): 100, TopicPartition("table", 0): 40} == cluster.end_offsets
    assert {} == admin.created


def test_a_leader_assigns_without_offsets_after_a_failed_lookup():
    for failing in ("ends", "committed"):
        cluster = looked_up(Admin(failing, orders=2, table=1))

        assert (None, True) == (cluster.end_offsets, cluster.topics_complete)


def test_a_failed_topic_lookup_leaves_the_topics_incomplete():
    cluster = looked_up(Admin("partitions"), orders=2)

    assert ClusterSnapshot(partitions={"orders": 2}, topics_complete=False, now_ms=7) == cluster


def test_racks_are_looked_up_if_they_count():
    topics = {"orders": 1, "table": 1, "by-customer": 1, "counts": 1}

    assert {} == looked_up(Admin(**topics)).replica_racks
    assert topics.keys() == {topic for topic, _ in looked_up(Admin(**topics), "min_traffic").replica_racks}
    assert {} == looked_up(Admin("racks", **topics), "min_traffic").replica_racks


def test_nothing_is_created_for_a_topology_that_does_not_fit():
    admin = Admin(**{"orders": 2, "table": 1, "by-customer": 5})

    assert looked_up(admin).end_offsets is None
    assert {} == admin.created


def test_what_the_consumer_knows_counts_where_the_admin_knows_nothing():
    assert 3 == looked_up(Admin(table=1), orders=3).partitions["orders"]


def test_a_failed_lookup_is_logged(caplog):
    """A leader under load kept all tasks where they were for ten minutes, and its log had no reason."""
    topics = {"orders": 1, "table": 1, "by-customer": 1, "counts": 1}
    for failing in ("partitions", "ends", "racks"):
        looked_up(Admin(failing, **topics), "min_traffic")

    assert [
        "could not look up topics (partitions): the leader knows those of its consumer only",
        "could not look up offsets of changelogs (ends): the leader assigns without lags",
        "could not look up racks of replicas (racks): the leader assigns without them",
    ] == [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(("call", "topic"), [("end_offsets", "counts"), ("committed_offsets", "table")])
def test_offsets_that_an_answer_lacks_are_not_taken_for_none(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, call: str, topic: str
) -> None:
    admin = Admin(**{"orders": 1, "table": 1, "by-customer": 1, "counts": 1})
    monkeypatch.setattr(admin, call, lambda _partitions: {})

    assert looked_up(admin).end_offsets is None
    assert f"(no offset of partition 0 of {topic} in the answers): the leader assigns without lags" in caplog.text


@pytest.mark.parametrize("kind", [FatalError, LookupFailed])
def test_an_error_hides_a_password_that_a_broker_has_repeated(kind: type[Exception]) -> None:
    redact("hunter2-of-the-lookup")

    assert "KafkaError: no [hidden]" in str(kind("KafkaError: no hunter2-of-the-lookup"))


def test_a_leader_plans_the_internal_topics_once_a_rebalance(monkeypatch):
    """It planned them twice, or looked the plan up in a cache of four groups."""
    planned = []
    for module in (streams_assignor, leader):
        monkeypatch.setattr(
            module,
            "plan_internal_topics",
            lambda *given, **how: planned.append(given) or plan_internal_topics(*given, **how),
        )
    member = StreamsAssignor(TOPOLOGY)
    cluster, plan = snapshot_cluster(member, {}, Admin(orders=2, table=1), now_ms=7)

    answers = member.assign(cluster, {"a": member.subscription()}, plan)

    assert 1 == len(planned)
    assert answers == member.assign(cluster, {"a": member.subscription()})


def test_a_leader_has_no_plan_of_topics_that_are_unknown_or_do_not_fit():
    assert looked_up_and_planned(Admin("partitions"), orders=2)[1] is None
    assert looked_up_and_planned(Admin(**{"orders": 2, "table": 1, "by-customer": 5}))[1] is None
