"""From subtopologies and partition counts to tasks and internal topics."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor import Subtopology, Topology, UsageError
from streams_assignor.codec import TaskId, TopicPartition

COUNTING = Topology.of(
    Subtopology(sources=["orders", "customers"], repartition_sinks=["by-region"]),
    Subtopology(repartition_sources=["by-region"], changelogs=["counts-changelog"]),
)


@st.composite
def topologies(draw):
    """A topology of up to five subtopologies with the sizes of its external topics.

    They read what others write in any way, also in circles and with two writers, but something flows into each: it has
    sources of its own or reads from one before it.
    """
    numbers = range(draw(st.integers(1, 5)))
    one = st.sampled_from(numbers)
    sourced = {0, *draw(st.sets(one))}
    links = {(draw(st.integers(0, number - 1)), number) for number in numbers if number not in sourced}
    links |= draw(st.sets(st.tuples(one, one), max_size=5))
    names = {link: f"{link[0]}-to-{link[1]}" for link in sorted(links)}
    written = {(link[0], name) for link, name in names.items()}
    explicit = {}
    if names:
        any_name = st.sampled_from(list(names.values()))
        written |= draw(st.sets(st.tuples(one, any_name), max_size=3))
        explicit = draw(st.dictionaries(any_name, st.integers(1, 9)))
    sizes = {number: draw(st.lists(st.integers(1, 9), min_size=1, max_size=2)) for number in sorted(sourced)}
    parts = [
        Subtopology(
            sources=[f"in-{number}-{each}" for each in range(len(sizes.get(number, [])))],
            repartition_sources=[name for link, name in names.items() if link[1] == number],
            repartition_sinks=[name for writer, name in written if writer == number],
            changelogs=[f"store-{number}"] if draw(st.booleans()) else [],
        )
        for number in numbers
    ]
    partitions = {f"in-{number}-{each}": size for number in sizes for each, size in enumerate(sizes[number])}
    return Topology.of(*parts, repartition_counts=explicit), partitions


def test_a_subtopology_has_as_many_tasks_as_its_largest_source_has_partitions():
    tasks = COUNTING.tasks({"orders": 2, "customers": 3})

    assert [TaskId(0, 0), TaskId(0, 1), TaskId(0, 2), TaskId(1, 0), TaskId(1, 1), TaskId(1, 2)] == sorted(tasks)
    assert (TopicPartition("customers", 2),) == tasks[TaskId(0, 2)]
    assert (TopicPartition("customers", 0), TopicPartition("orders", 0)) == tasks[TaskId(0, 0)]


def test_a_repartition_topic_takes_the_count_of_the_subtopologies_that_write_to_it():
    assert 3 == COUNTING.with_repartition_topics({"orders": 2, "customers": 3})["by-region"]


def test_a_repartition_topic_that_exists_keeps_its_count():
    assert 5 == COUNTING.with_repartition_topics({"orders": 2, "customers": 3, "by-region": 5})["by-region"]


def test_chained_repartition_topics_are_found_in_any_order():
    chain = Topology.of(
        Subtopology(repartition_sources=["b"]),
        Subtopology(repartition_sources=["a"], repartition_sinks=["b"]),
        Subtopology(sources=["in"], repartition_sinks=["a"]),
    )

    assert {"in": 4, "a": 4, "b": 4} == chain.with_repartition_topics({"in": 4})


def test_a_subtopology_without_all_its_sources_has_no_tasks():
    assert {} == COUNTING.tasks({"orders": 2})


def test_a_changelog_has_a_partition_for_each_task():
    assert {"counts-changelog": 3} == COUNTING.changelog_partitions({"orders": 2, "customers": 3})


def test_all_inputs_are_subscribed():
    assert ("by-region", "customers", "orders") == COUNTING.source_topics


def test_subtopologies_may_write_what_the_other_reads():
    circle = Topology.of(
        Subtopology(sources=["left"], repartition_sources=["back"], repartition_sinks=["forth"]),
        Subtopology(sources=["right"], repartition_sources=["forth"], repartition_sinks=["back"]),
    )

    assert {"left": 2, "right": 3, "forth": 3, "back": 3} == circle.with_repartition_topics({"left": 2, "right": 3})


def test_what_depends_on_a_missing_topic_in_a_circle_stays_out():
    circle = Topology.of(
        Subtopology(sources=["left"], repartition_sources=["back"], repartition_sinks=["forth"]),
        Subtopology(sources=["right"], repartition_sources=["forth"], repartition_sinks=["back", "out"]),
        Subtopology(repartition_sources=["out"]),
    )

    assert {"left": 2} == circle.with_repartition_topics({"left": 2})


def test_an_explicit_count_stays_whatever_the_sources_have():
    chosen = Topology.of(*COUNTING.subtopologies, repartition_counts={"by-region": 8})

    assert 8 == chosen.with_repartition_topics({"orders": 2, "customers": 3})["by-region"]


def test_a_sink_without_a_reader_is_no_internal_topic():
    assert {"in": 2} == Topology.of(Subtopology(sources=["in"], repartition_sinks=["out"])).with_repartition_topics(
        {"in": 2}
    )


def test_a_source_that_serves_as_changelog_needs_no_topic():
    table = Topology.of(Subtopology(sources=["table"], changelogs=["table"]))

    assert {} == table.changelog_partitions({"table": 2})
    assert () == table.internal_topics


def test_topics_are_external_or_internal():
    assert ("customers", "orders") == COUNTING.external_topics
    assert ("by-region",) == COUNTING.repartition_topics
    assert ("by-region", "counts-changelog") == COUNTING.internal_topics


def test_a_topology_with_explicit_counts_can_be_a_key():
    chosen = Topology.of(*COUNTING.subtopologies, repartition_counts={"by-region": 8})

    assert {chosen: 1} == {Topology.of(*COUNTING.subtopologies, repartition_counts={"by-region": 8}): 1}
    assert chosen != COUNTING


USAGE = "use Topology.of(Subtopology(sources=[...]), ...)"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Topology(Subtopology(sources=["a"])), f"expected several subtopologies, got a Subtopology: {USAGE}"),
        (lambda: Topology("a"), f"expected several subtopologies, got a str: {USAGE}"),
        (lambda: Topology.of(["a"]), f"expected subtopologies, got a list as one of them: {USAGE}"),
        (lambda: Topology.of(), f"expected at least one subtopology, got none: {USAGE}"),
        (
            lambda: Topology.of(Subtopology(sources=["a"]), Subtopology(sources=["a"])),
            "topic 'a' is read by subtopologies 0 and 1: make one subtopology of both",
        ),
        (
            lambda: Topology.of(Subtopology(changelogs=["a"])),
            "subtopology 0 reads no topic: set its sources or repartition_sources",
        ),
        (
            lambda: Topology.of(Subtopology(sources=["a"]), Subtopology(repartition_sources=["r"])),
            "subtopology 1 reads repartition topic 'r', which no subtopology writes: add it to the repartition_sinks "
            "of its writer, or move it to sources if another application writes it",
        ),
        (lambda: Subtopology(sources="a"), "expected a list of topic names, got the text 'a': use ['a']"),
        (lambda: Subtopology(changelogs=None), "expected a list of topic names, got a NoneType"),
        (lambda: Subtopology(sources=[1]), "expected a list of topic names, got 1 as one of them"),
        (lambda: Subtopology(sources=[""]), "expected a list of topic names, got '' as one of them"),
    ],
)
def test_a_topology_that_cannot_be_is_refused_with_the_remedy(make, text):
    with pytest.raises(UsageError) as error:
        make()
    assert text == str(error.value)


def test_a_list_of_subtopologies_equals_the_same_ones_as_arguments():
    assert COUNTING == Topology(list(COUNTING.subtopologies))
    assert {COUNTING: 1} == {Topology(list(COUNTING.subtopologies)): 1}


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ({"repartition_counts": {"orders": 2}}, "topic 'orders' is no repartition topic, its count cannot be set"),
        ({"topic_configs": {"orders": {}}}, "topic 'orders' is no internal topic, its configuration cannot be set"),
        ({"topic_configs": ["by-region"]}, "expected a dictionary of topic names and configurations, got a list"),
        (
            {"topic_configs": {"by-region": {"retention.ms": 9}}},
            "expected a dictionary of texts as the configuration of topic 'by-region', got {'retention.ms': 9}",
        ),
        (
            {"topic_configs": {"by-region": "compact"}},
            "expected a dictionary of texts as the configuration of topic 'by-region', got 'compact'",
        ),
        ({"repartition_counts": {"by-region": 0}}, "expected at least 1 partition for topic 'by-region', got 0"),
        ({"repartition_counts": {"by-region": "2"}}, "expected at least 1 partition for topic 'by-region', got '2'"),
        (
            {"repartition_counts": [("by-region", 2)]},
            "expected a dictionary of topic names and partition counts, got a list",
        ),
        (
            {"copartition_groups": [{"orders", "elsewhere"}]},
            "topic 'elsewhere' is to be co-partitioned, but no subtopology reads it",
        ),
        ({"copartition_groups": ["orders"]}, "expected a list of topic names, got the text 'orders': use ['orders']"),
    ],
)
def test_rules_about_topics_that_they_cannot_be_about_are_refused(rules, text):
    with pytest.raises(UsageError) as error:
        Topology.of(*COUNTING.subtopologies, **rules)
    assert text == str(error.value)


def test_an_empty_group_asks_for_nothing():
    assert COUNTING == Topology.of(*COUNTING.subtopologies, copartition_groups=[set(), iter([])])


@given(topologies(), st.data())
def test_counts_do_not_depend_on_the_order_of_subtopologies(drawn, data):
    topology, partitions = drawn
    shuffled = Topology.of(
        *data.draw(st.permutations(topology.subtopologies)), repartition_counts=topology.repartition_counts
    )

    assert topology.with_repartition_topics(partitions) == shuffled.with_repartition_topics(partitions)


@given(topologies())
def test_a_repartition_topic_is_as_large_as_the_largest_source_of_its_writers(drawn):
    topology, partitions = drawn
    counts = topology.with_repartition_topics(partitions)

    for topic in set(topology.repartition_topics) - topology.repartition_counts.keys():
        writers = [each for each in topology.subtopologies if topic in each.repartition_sinks]
        assert max(counts[source] for writer in writers for source in writer.inputs) == counts[topic]


@given(topologies())
def test_nothing_is_larger_than_what_flows_into_it(drawn):
    # The same counts by walking upstream from each topic, to whatever has a count of its own.
    topology, partitions = drawn
    given_counts = {**topology.repartition_counts, **partitions}
    counts = topology.with_repartition_topics(partitions)

    for topic in topology.repartition_topics:
        upstream = {topic}
        while (
            more := {
                source
                for each in topology.subtopologies
                if set(each.repartition_sinks) & (upstream - given_counts.keys())
                for source in each.inputs
            }
            - upstream
        ):
            upstream |= more
        assert max(given_counts[each] for each in upstream & given_counts.keys()) == counts[topic]


@given(topologies(), st.data())
def test_counting_again_finds_nothing_new(drawn, data):
    topology, partitions = drawn
    some = {topic: partitions[topic] for topic in data.draw(st.sets(st.sampled_from(sorted(partitions))))}
    counts = topology.with_repartition_topics(some)

    assert counts == topology.with_repartition_topics(counts)


@given(topologies(), st.data())
def test_a_missing_topic_removes_no_task_of_subtopologies_that_do_not_need_it(drawn, data):
    topology, partitions = drawn
    some = {topic: partitions[topic] for topic in data.draw(st.sets(st.sampled_from(sorted(partitions))))}

    assert topology.with_repartition_topics(some).items() <= topology.with_repartition_topics(partitions).items()
    assert topology.tasks(some).items() <= topology.tasks(partitions).items()
