"""A leader and topics: those that are missing, those it has to create, those that do not fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor import FatalError, Subtopology, Topology
from streams_assignor.codec import TaskId
from streams_assignor.protocol.internal_topics import (
    InternalTopicPlan,
    NewTopic,
    create_internal_topics,
    plan_internal_topics,
)
from streams_assignor.upgrade.release_behaviour import behaviour_of
from tests.assignor.test_topology import topologies

BEFORE_2_0, KAFKA_2_0, SINCE_2_1 = map(behaviour_of, [(1, 1, 1), (2, 0, 1), (2, 1)])

COUNTING = Topology.of(
    Subtopology(sources=["orders", "customers"], repartition_sinks=["app-by-region-repartition"]),
    Subtopology(repartition_sources=["app-by-region-repartition"], changelogs=["app-counts-changelog"]),
)
BOTH = {"orders": 2, "customers": 3}


def joined(*groups, counts=None, left=("left",), inner=("a", "b")):
    """External topics and repartition topics that all meet in one subtopology; "a" is written from 3 partitions, "b"
    from 5.
    """
    return Topology.of(
        Subtopology(sources=["three"], repartition_sinks=["a"]),
        Subtopology(sources=["five"], repartition_sinks=["b"]),
        Subtopology(sources=left, repartition_sources=inner),
        repartition_counts=counts,
        copartition_groups=groups,
    )


SIZES = {"three": 3, "five": 5, "left": 4, "right": 4, "other": 2}


class Recorder:
    def __init__(self):
        self.calls = []

    def create(self, topics):
        self.calls.append(topics)


def test_it_counts_everything_and_says_what_to_create():
    prepared = plan_internal_topics(COUNTING, BOTH)

    assert {**BOTH, "app-by-region-repartition": 3} == prepared.partitions
    assert {"app-counts-changelog": 3} == prepared.changelogs
    assert [("app-by-region-repartition", 3), ("app-counts-changelog", 3)] == [
        (topic.name, topic.partitions) for topic in prepared.new_topics
    ]
    assert ((), 0) == (prepared.missing_sources, prepared.error_code)


def test_internal_topics_are_configured_as_kafka_does():
    # Printed by RepartitionTopicConfig and Unwindowed(Unversioned)ChangelogTopicConfig of 2.8.2, 3.9.2 and 4.3.1.
    repartition, changelog = plan_internal_topics(COUNTING, BOTH).new_topics

    assert {
        "cleanup.policy": "delete",
        "message.timestamp.type": "CreateTime",
        "retention.ms": "-1",
        "segment.bytes": "52428800",
    } == repartition.config
    assert {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"} == changelog.config


def test_a_missing_source_topic_is_error_code_1_since_2_1():
    assert InternalTopicPlan(missing_sources=("orders",), error_code=1) == plan_internal_topics(
        COUNTING, {"customers": 3}
    )


@pytest.mark.parametrize("rules", [BEFORE_2_0, KAFKA_2_0])
def test_before_2_1_what_needs_a_missing_topic_is_left_out(rules):
    side = Topology.of(*COUNTING.subtopologies, Subtopology(sources=["side"], changelogs=["app-side-changelog"]))

    prepared = plan_internal_topics(side, {"customers": 3, "side": 1}, rules)

    assert (("orders",), 0) == (prepared.missing_sources, prepared.error_code)
    assert [TaskId(2, 0)] == list(prepared.tasks)
    assert ["app-side-changelog"] == [topic.name for topic in prepared.new_topics]


@pytest.mark.parametrize("rules", [BEFORE_2_0, KAFKA_2_0, SINCE_2_1])
@pytest.mark.parametrize(
    "lost",
    [
        [Subtopology(repartition_sources=["a"], repartition_sinks=["a"])],
        [
            Subtopology(repartition_sources=["a"], repartition_sinks=["b"]),
            Subtopology(repartition_sources=["b"], repartition_sinks=["a"]),
        ],
    ],
)
def test_repartition_topics_that_cannot_be_counted_end_it_instead_of_an_endless_loop(lost, rules):
    # KAFKA-10689: leaders up to 2.6.1, and of 2.7.0, never came back.
    with pytest.raises(FatalError, match=r"^TaskAssignmentException: cannot count the partitions of"):
        plan_internal_topics(Topology.of(Subtopology(sources=["in"]), *lost), {"in": 1}, rules)


def test_external_topics_of_a_group_force_the_repartition_topics():
    prepared = plan_internal_topics(joined({"left", "a", "b"}), SIZES)

    assert {"a": 4, "b": 4} == {topic: prepared.partitions[topic] for topic in "ab"}


def test_a_group_of_repartition_topics_takes_the_largest():
    prepared = plan_internal_topics(joined({"a", "b"}), SIZES)

    assert {"a": 5, "b": 5} == {topic: prepared.partitions[topic] for topic in "ab"}


def test_topics_in_no_group_differ():
    prepared = plan_internal_topics(joined(), SIZES)

    assert {"a": 3, "b": 5} == {topic: prepared.partitions[topic] for topic in "ab"}


@pytest.mark.parametrize("counts", [{"a": 2}, {"b": 2}, {"a": 2, "b": 2}])
def test_an_explicit_count_decides_for_a_group_of_repartition_topics(counts):
    prepared = plan_internal_topics(joined({"a", "b"}, counts=counts), SIZES)

    assert {"a": 2, "b": 2} == {topic: prepared.partitions[topic] for topic in "ab"}


def test_an_explicit_count_counts_without_a_group():
    prepared = plan_internal_topics(joined(counts={"a": 7}), SIZES)

    assert {"a": 7, "b": 5} == {topic: prepared.partitions[topic] for topic in "ab"}


@pytest.mark.parametrize(
    ("topology", "text"),
    [
        (joined({"left", "other"}, left=["left", "other"]), "left has 4, other has 2"),
        (joined({"a", "b"}, counts={"a": 2, "b": 4}), "a has 2, b has 4"),
        (joined({"left", "a"}, counts={"a": 2}), "a has 2, left has 4"),
    ],
)
def test_a_group_that_cannot_be_even_is_a_topology_exception(topology, text):
    with pytest.raises(FatalError) as caught:
        plan_internal_topics(topology, SIZES)

    assert f"TopologyException: co-partitioned topics differ in partitions: {text}" == str(caught.value)


def test_external_topics_are_compared_where_there_is_no_repartition_topic():
    # Leaders of 3.9.2 and 4.3.1 do not look then, and join what does not fit.
    side_by_side = Topology.of(Subtopology(sources=["left", "other"]), copartition_groups=[{"left", "other"}])

    with pytest.raises(FatalError, match=r"^TopologyException: co-partitioned topics differ"):
        plan_internal_topics(side_by_side, SIZES)


def test_up_to_1_1_it_is_called_topology_builder_exception():
    with pytest.raises(FatalError, match=r"^TopologyBuilderException: ") as caught:
        plan_internal_topics(joined({"left", "other"}, left=["left", "other"]), SIZES, BEFORE_2_0)

    assert "TopologyBuilderException" == caught.value.kafka_exception


def test_before_2_1_a_missing_topic_of_a_group_is_fatal():
    # Java: CopartitionedTopicsValidator.validate of 2.0.1, "Topic not found".
    with pytest.raises(FatalError, match=r"^TopologyException: co-partitioned topics do not exist: left$"):
        plan_internal_topics(joined({"left", "a"}), {"three": 3, "five": 5}, KAFKA_2_0)


def test_before_2_1_a_group_waits_for_its_slowest():
    prepared = plan_internal_topics(joined({"a", "b"}), {"three": 3, "left": 4}, KAFKA_2_0)

    assert () == prepared.new_topics
    assert {TaskId(0, number) for number in range(3)} == set(prepared.tasks)


def test_a_foreign_key_join_gets_its_counts_though_both_halves_wait_for_each_other():
    # Each half writes what the other reads; left and right have different sizes, which only this join allows.
    prepared = plan_internal_topics(
        Topology.of(
            Subtopology(sources=["left"], repartition_sources=["response"], repartition_sinks=["registration"]),
            Subtopology(sources=["right"], repartition_sources=["registration"], repartition_sinks=["response"]),
            copartition_groups=[{"left", "response"}, {"right", "registration"}],
        ),
        {"left": 2, "right": 3},
    )

    assert {"left": 2, "response": 2, "right": 3, "registration": 3} == prepared.partitions


def test_a_source_that_serves_as_changelog_is_not_created():
    table = Topology.of(Subtopology(sources=["table"], changelogs=["table", "app-other-changelog"]))

    prepared = plan_internal_topics(table, {"table": 2})

    assert ["app-other-changelog"] == [topic.name for topic in prepared.new_topics]
    assert table.is_stateful(TaskId(0, 0))


def test_topics_that_exist_and_fit_are_left_alone():
    prepared = plan_internal_topics(COUNTING, {**BOTH, "app-by-region-repartition": 3, "app-counts-changelog": 3})

    assert () == prepared.new_topics


@pytest.mark.parametrize(
    ("existing", "text"),
    [
        ({"app-by-region-repartition": 2}, r"app-by-region-repartition \(expected 3, actual 2\)"),
        ({"app-counts-changelog": 4}, r"app-counts-changelog \(expected 3, actual 4\)"),
        (
            {"app-counts-changelog": 4, "app-by-region-repartition": 2},
            r"app-by-region-repartition \(expected 3, actual 2\), app-counts-changelog \(expected 3, actual 4\)",
        ),
    ],
)
def test_an_internal_topic_of_another_size_has_to_be_reset(existing, text):
    with pytest.raises(FatalError, match=f"^StreamsException: .* {text}; clean up with the application reset tool"):
        plan_internal_topics(COUNTING, {**BOTH, **existing})


def test_all_topics_are_created_at_once():
    admin = Recorder()

    create_internal_topics(
        plan_internal_topics(Topology.of(Subtopology(sources=["in"], changelogs=["out"])), {"in": 2}), admin
    )

    assert [(NewTopic("out", 2, {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}),)] == admin.calls


def test_an_admin_is_not_bothered_for_nothing():
    admin = Recorder()

    create_internal_topics(plan_internal_topics(Topology.of(Subtopology(sources=["in"])), {"in": 2}), admin)
    create_internal_topics(plan_internal_topics(COUNTING, {}), admin)

    assert [] == admin.calls


@given(topologies())
def test_preparing_changes_no_task_where_nothing_is_co_partitioned(drawn):
    topology, partitions = drawn

    assert topology.tasks(partitions) == plan_internal_topics(topology, partitions).tasks


@given(topologies())
def test_once_created_everything_fits(drawn):
    topology, partitions = drawn
    first = plan_internal_topics(topology, partitions)

    created = {topic.name: topic.partitions for topic in first.new_topics}
    again = plan_internal_topics(topology, {**partitions, **created})

    assert () == again.new_topics
    assert (first.tasks, first.partitions, first.changelogs) == (again.tasks, again.partitions, again.changelogs)
    assert set(topology.internal_topics) == created.keys()


@given(topologies(), st.data())
def test_a_group_is_even_afterwards(drawn, data):
    topology, partitions = drawn
    if topology.repartition_topics:
        group = data.draw(st.sets(st.sampled_from(topology.repartition_topics), min_size=1))
        free = Topology.of(*topology.subtopologies, copartition_groups=[group])
        prepared = plan_internal_topics(free, partitions)

        loose = plan_internal_topics(Topology.of(*topology.subtopologies), partitions).partitions
        assert {max(loose[topic] for topic in group)} == {prepared.partitions[topic] for topic in group}


def test_a_new_topic_has_the_configuration_of_the_topology():
    counting = [Subtopology(sources=["orders"], changelogs=["counts"])]
    topology = Topology.of(*counting, topic_configs={"counts": {"retention.ms": "9"}})
    (topic,) = plan_internal_topics(topology, {"orders": 1}).new_topics

    assert {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime", "retention.ms": "9"} == topic.config
