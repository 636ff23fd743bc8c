"""``streams-assignor group`` on groups whose broker assigns: tables and Markdown that fit 100 columns."""

import io

import pytest
from attrs import evolve
from rich.console import Console

from streams_assignor.cli.group import _cells, _tables
from streams_assignor.cli.group._output import MarkdownOutput, group_document
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.groups import BrokerGroup, DescribedSubtopology, InternalTopic, inspect_group
from streams_assignor.upgrade.topology_description import DescribedNode
from tests.assignor.groups.described_groups import (
    SUBTOPOLOGIES,
    TOPIC,
    assigned,
    broker_assigned,
    group,
    streams_group,
)

WAITING = streams_group(
    broker_assigned("a", assigned("0_0 0_1 1_0 1_1"), target=assigned("0_0 0_1", standby="1_0"), process_id="p"),
    broker_assigned(
        "b",
        assigned("0_0"),
        target=assigned("1_0 1_1"),
        epoch=2,
        end_point="host:7070",
        offset_sums={TaskId(1, 0): 12_000},
        topology_epoch=-1,
    ),
    broker_assigned("c", is_classic=True, epoch=2),
    state="Reconciling",
    epoch=3,
    assignment_epoch=2,
    configs={"streams.num.standby.replicas": "1", "streams.session.timeout.ms": "45000", "streams.unknown": "x"},
)


def drawn(raw, width=100):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(_tables.render_group(inspect_group(raw), "well"))
    return console.export_text()


@pytest.mark.parametrize("text", ["\u0663\u0663\u0663", "1" * 5000])
def test_a_setting_that_is_no_number_is_shown_as_it_is(text):
    raw = streams_group(broker_assigned("a"), configs={"streams.session.timeout.ms": text})

    assert f"session {text}" in drawn(raw, 6000)


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "output",
    [
        "epochs   group 3, assignment 2, topology 0",
        "settings standbys 1, session 45 s",
        "releases 4.1.0 or later",
        "topology 0: orders → app-by-id, 2 tasks",
        "1: app-by-id, 2 tasks, 1 changelog",
        "has to confirm its target",
        "gets standby 1_0",
        "gets active 1_0–1 from a",
        "revokes active 1_0–1",
        "revokes active 0_0",
        "topology -1",
        "classic",
        "no tasks",
        "sums 1 at 12,000",
        "! app-a (10.0.0.1, a) has not confirmed its target assignment; app-b (10.0.0.1, b) waits for",
        "! app-b (10.0.0.1, b) has topology epoch -1, the group 0",
    ],
)
def test_a_table_contains(output):
    assert output in drawn(WAITING)


def nodes():
    named = (("source", 0, ()), ("count", 1, ("store", "other")), ("rates", None, ("global",)))
    return tuple(DescribedNode("Processor", name, number, stores=stores) for name, number, stores in named)


@pytest.mark.parametrize(
    ("status", "description", "outputs"),
    [
        (
            "available",
            nodes(),
            ("1 changelog, stores other and store", "description 3 nodes, global global; --json has"),
        ),
        ("available", nodes()[:1], ("description 1 node; --json has",)),
        ("not-stored", None, ("description none: the broker has no plug-in",)),
        ("error", None, ("description unknown: the broker could not fetch it",)),
        ("not-understood", None, ("description unknown: it has a form",)),
        ("9", None, ("description 9",)),
    ],
)
def test_a_table_says_what_is_known_of_the_topology(status, description, outputs):
    raw = streams_group(broker_assigned("a"))
    broker = evolve(raw.broker, topology_description_status=status, topology_description=description)
    shown = drawn(evolve(raw, broker=broker))

    assert [] == [output for output in outputs if output not in shown]
    assert "description" not in drawn(raw), "brokers before 4.4"


def test_a_static_member_that_is_away_has_no_epoch():
    raw = streams_group(
        broker_assigned("a", assigned("0_0"), epoch=-2, instance="one"),
        state="Reconciling",
        configs={"streams.assignor.name": "", "streams.num.warmup.replicas": "2"},
        protocol="sticky",
    )
    shown = drawn(raw)

    assert ["one", "away", "has to return, or its session to end", "streams  sticky", "settings warm-ups 2\n"] == [
        output
        for output in (
            "one",
            "away",
            "has to return, or its session to end",
            "streams  sticky",
            "settings warm-ups 2\n",
        )
        if output in "\n".join(line.rstrip() for line in shown.splitlines()) + "\n"
    ]


def test_it_fits_100_columns():
    topics = tuple(f"a-topic-with-a-long-name-{number}" for number in range(7))
    many = tuple(
        DescribedSubtopology(name=str(number), source_topics=topics, changelogs=(InternalTopic(name="c"),) * 2)
        for number in range(12)
    )
    members = [
        broker_assigned(
            f"{number:022}",
            assigned(" ".join(f"{each}_{number}" for each in range(30))),
            target=assigned(" ".join(f"{each}_{(number + 1) % 9}" for each in range(30))),
        )
        for number in range(9)
    ]
    shown = drawn(streams_group(*members, subtopologies=many, state="Reconciling", assignment_epoch=2))

    assert 100 >= max(map(len, shown.splitlines()))
    assert "… and 4 more; --json has all" in shown
    assert "a-topic-with-a-long-name-3 and 3 more" in shown


def test_a_group_that_is_as_it_should_be_has_nothing_to_come():
    shown = drawn(streams_group(broker_assigned("a", assigned("0_0 0_1 1_0 1_1"))))

    assert "to come" not in shown
    assert "settings" not in shown


def test_partitions_of_kip_848_that_are_to_come():
    one, two = (TopicPartition(TOPIC, number) for number in (0, 1))
    raw = group(
        broker_assigned("a", assigned(partitions=[one, two]), target=assigned(partitions=[one])),
        broker_assigned("b", target=assigned(partitions=[two])),
        type="consumer",
        protocol="uniform",
        state="Reconciling",
        broker=BrokerGroup(epoch=1, assignment_epoch=1),
    )
    shown = drawn(raw)

    assert "epochs group 1, assignment 1" in shown
    assert "gets orders 1 from a" in shown
    assert "revokes orders 1" in shown


def test_a_member_that_the_broker_does_not_describe_has_a_row():
    """A streams group through a client library that shows no members of it, and one in an unknown state."""
    (member,) = streams_group(broker_assigned("a")).members
    raw = streams_group(evolve(member, broker_assignment=None))

    assert "–" in drawn(raw)
    assert {} == _cells.broker_facts(inspect_group(group()))
    topologyless = evolve(raw, broker=evolve(raw.broker, topology=None))
    assert "–" in drawn(topologyless)
    assert "topology" not in drawn(evolve(topologyless, members=(member,)))


def test_a_topology_without_partition_counts_shows_no_number_of_tasks():
    empty = DescribedSubtopology(name="2")
    shown = drawn(streams_group(subtopologies=(*SUBTOPOLOGIES, empty), partition_counts={}, state="Empty"))

    assert "tasks" not in shown
    assert "2: no topic" in shown


def test_all_groups_show_epochs():
    console = Console(width=100, record=True, file=io.StringIO())
    looks = [evolve(WAITING, state="Assigning"), streams_group(assignment_epoch=0, state="Empty")]
    console.print(_tables.render_overview([*map(inspect_group, looks)], console.width))
    shown = console.export_text()

    assert "epoch 3 (assignment 2)" in shown
    assert "epoch 1 " in shown


def test_markdown_has_what_is_to_come(capsys):
    MarkdownOutput(everything=False).show([inspect_group(WAITING)])

    shown = capsys.readouterr().out
    assert "| member | client | host | epoch | active | standby | warm-up | waits for |" in shown
    assert "| b | app-b-consumer | 10.0.0.1 | 2 | 0_0 |  |  | 1_0 1_1 from a |" in shown


def test_json_names_the_members_that_the_group_waits_for():
    assert ["a"] == group_document(inspect_group(WAITING))["progress"]["waiting_for"]
