"""From subtopologies and partition counts to tasks and internal topics."""

import pytest

from assignor import Subtopology, Topology
from subscription_codec import TaskId, TopicPartition

COUNTING = Topology.of(
    Subtopology(sources=["orders", "customers"], repartition_sinks=["by-region"]),
    Subtopology(repartition_sources=["by-region"], changelogs=["counts-changelog"]),
)


def test_a_subtopology_has_as_many_tasks_as_its_largest_source_has_partitions():
    tasks = COUNTING.tasks({"orders": 2, "customers": 3})

    assert [TaskId(0, 0), TaskId(0, 1), TaskId(0, 2), TaskId(1, 0), TaskId(1, 1), TaskId(1, 2)] == sorted(tasks)
    assert (TopicPartition("customers", 2),) == tasks[TaskId(0, 2)]
    assert (TopicPartition("customers", 0), TopicPartition("orders", 0)) == tasks[TaskId(0, 0)]


def test_a_repartition_topic_takes_the_count_of_those_who_write_to_it():
    assert 3 == COUNTING.with_internal_topics({"orders": 2, "customers": 3})["by-region"]


def test_a_repartition_topic_that_exists_keeps_its_count():
    assert 5 == COUNTING.with_internal_topics({"orders": 2, "customers": 3, "by-region": 5})["by-region"]


def test_chained_repartition_topics_are_found_in_any_order():
    chain = Topology.of(
        Subtopology(repartition_sources=["b"]),
        Subtopology(repartition_sources=["a"], repartition_sinks=["b"]),
        Subtopology(sources=["in"], repartition_sinks=["a"]),
    )

    assert {"in": 4, "a": 4, "b": 4} == chain.with_internal_topics({"in": 4})


def test_a_subtopology_without_all_its_sources_has_no_tasks():
    assert {} == COUNTING.tasks({"orders": 2})


def test_a_changelog_has_a_partition_for_each_task():
    assert {"counts-changelog": 3} == COUNTING.changelog_partitions({"orders": 2, "customers": 3})


def test_all_inputs_are_subscribed():
    assert ("by-region", "customers", "orders") == COUNTING.source_topics


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([Subtopology(sources=["a"]), Subtopology(sources=["a"])], "'a' is read by subtopologies 0 and 1"),
        ([Subtopology(changelogs=["a"])], "subtopology 0 reads no topic"),
    ],
)
def test_a_topology_that_cannot_be_is_refused(parts, text):
    with pytest.raises(ValueError, match=text):
        Topology.of(*parts)


def test_a_text_is_not_a_list_of_topics():
    with pytest.raises(TypeError, match="got the text 'orders'"):
        Subtopology(sources="orders")
