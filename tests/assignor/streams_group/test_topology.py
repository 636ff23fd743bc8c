"""The topology as a member sends it; real Java members are compared with it in ``tests/lab/integration``."""

from streams_assignor import Subtopology, Topology
from streams_assignor.streams_group import topology_fields
from streams_assignor.task_assignors.java_order import bucket_order, buckets_of_copy

CHAIN = Topology.of(
    Subtopology(sources=["b", "a"], repartition_sinks=["again", "elsewhere"]),
    Subtopology(repartition_sources=["again"], changelogs=["counts"]),
    repartition_counts={"again": 3},
    topic_configs={"counts": {"cleanup.policy": "compact,delete", "retention.ms": "9"}},
)


def subtopologies(topology, **how):
    return topology_fields(topology, **how)["subtopologies"]


def test_its_epoch_is_zero_and_its_ids_are_numbers():
    assert (0, ["0", "1"]) == (
        topology_fields(CHAIN)["epoch"],
        [each["subtopologyId"] for each in subtopologies(CHAIN)],
    )


def test_ids_are_sorted_as_texts():
    many = Topology.of(*[Subtopology(sources=[f"t{number}"]) for number in range(11)])

    assert ["0", "1", "10", "2"] == [each["subtopologyId"] for each in subtopologies(many)][:4]


def test_topics_are_sorted_and_sinks_of_other_applications_are_left_out():
    first, _ = subtopologies(CHAIN)

    assert (["a", "b"], ["again"]) == (first["sourceTopics"], first["repartitionSinkTopics"])


def test_internal_topics_have_their_configuration_in_order():
    _, second = subtopologies(CHAIN, replication_factor=3)
    (changelog,), (repartition,) = second["stateChangelogTopics"], second["repartitionSourceTopics"]

    assert ("counts", 0, 3) == (changelog["name"], changelog["partitions"], changelog["replicationFactor"])
    assert [
        ("cleanup.policy", "compact,delete"),
        ("message.timestamp.type", "CreateTime"),
        ("retention.ms", "9"),
    ] == [(each["key"], each["value"]) for each in changelog["topicConfigs"]]
    assert ("again", 3) == (repartition["name"], repartition["partitions"])


def test_a_repartition_topic_that_is_also_a_source_is_no_source():
    loop = Topology.of(Subtopology(sources=["a", "again"], repartition_sources=["again"], repartition_sinks=["again"]))

    assert ["a"] == subtopologies(loop)[0]["sourceTopics"]


def test_copartition_groups_are_indices_in_the_order_of_java():
    topology = Topology.of(
        Subtopology(sources=["orders", "customers"], repartition_sources=["again"], repartition_sinks=["again"]),
        copartition_groups=[["orders", "customers", "again"]],
    )
    (group,) = subtopologies(topology)[0]["copartitionGroups"]

    # HashSet.of("customers", "orders") in Java: [orders, customers]
    assert ([1, 0], [0], []) == (
        group["sourceTopics"],
        group["repartitionSourceTopics"],
        group["sourceTopicRegex"],
    )


def test_a_set_that_is_made_of_a_long_list_has_more_buckets():
    keys, hashes = ["a", "b"], {"a": 17, "b": 2}

    assert ["a", "b"] == bucket_order(keys, hashes, buckets_of_copy(11))
    assert ["b", "a"] == bucket_order(keys, hashes, buckets_of_copy(12))
