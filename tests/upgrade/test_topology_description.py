"""`Topology#describe()` of real releases (`topologies/KIND-RELEASE.txt`, printed by their jars)."""

import html
import json
from pathlib import Path

import pytest

from streams_assignor.upgrade import UpgradeError
from streams_assignor.upgrade.topology_description import parse_topology_description
from streams_assignor.upgrade.verdict import TopologyFeature, facts_of_topology

TEXTS = sorted((Path(__file__).parent / "topologies").glob("*.txt"))
FEATURES = {
    "plain": set(),
    "foreign-key-join": {TopologyFeature.FOREIGN_KEY_JOINS},
    "repartitioned-table": {TopologyFeature.REPARTITIONED_TABLES},
    "stream-repartition": {TopologyFeature.STATELESS_SUBTOPOLOGIES},
    "table-dynamic": {TopologyFeature.REPARTITIONED_TABLES},
    "stream-leftjoin": {TopologyFeature.STATELESS_SUBTOPOLOGIES},
    "many-names": {TopologyFeature.REPARTITIONED_TABLES, TopologyFeature.STATELESS_SUBTOPOLOGIES},
}
"""All of them read two topics."""


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.stem)
def test_features_are_found_in_the_texts_of_real_releases(file):
    facts = facts_of_topology(file.read_text(encoding="utf-8"))

    kind = file.stem.rpartition("-")[0].removeprefix("named-")
    assert FEATURES[kind] | {TopologyFeature.SECOND_SOURCE_TOPIC} == facts.present
    assert set(TopologyFeature) - facts.present - {TopologyFeature.SECOND_THREAD} == facts.absent


def test_texts_of_several_releases_are_there():
    assert {"1.1.1", "2.4.1", "2.8.2", "3.9.2", "4.3.1"} <= {file.stem.rpartition("-")[2] for file in TEXTS}


def test_all_features_in_one_text():
    text = "\n".join(file.read_text(encoding="utf-8") for file in TEXTS if "plain" not in file.stem)
    text += "\nSub-topology: 7\n    Source: a (topics: [a])\n"

    assert frozenset() == facts_of_topology(text).absent


@pytest.mark.parametrize(
    ("sources", "several"),
    [
        (["[orders]"], False),
        (["[orders]", "[orders]"], False),
        (["[orders, returns]"], True),
        (["[orders]", "[returns]"], True),
        (["orders-.*"], True),
    ],
)
def test_source_topics_are_counted(sources, several):
    """A pattern has no brackets in the text, and matches any number of topics."""
    lines = [f"    Source: source-{number} (topics: {topics})" for number, topics in enumerate(sources)]
    found = facts_of_topology("\n".join(["Topologies:", "   Sub-topology: 0", *lines]))

    assert several == (TopologyFeature.SECOND_SOURCE_TOPIC in found.present)


def test_a_global_store_is_no_subtopology_with_tasks():
    text = """Topologies:
   Sub-topology: 0
    Source: a (topics: [orders])
   Sub-topology: 1 for global store (will not generate tasks)
    Source: b (topics: [rates])
    Processor: c (stores: [rates-store])
"""

    assert frozenset() == facts_of_topology(text).present


@pytest.mark.parametrize("text", ["", "\n", "hello\nworld", '{"topology": 1}'])
def test_another_text_is_an_error_that_names_what_was_expected(text):
    with pytest.raises(UpgradeError, match=r"expected the text of Topology#describe\(\)"):
        facts_of_topology(text)


def test_a_file_of_settings_that_is_named_by_mistake_is_not_shown():
    with pytest.raises(UpgradeError) as error:
        facts_of_topology("ssl.key.password=hunter2")

    assert "hunter2" not in str(error.value)


# -- no line is dropped ----------------------------------------------------------------------------------------------

DYNAMIC = Path(__file__).parent / "topologies" / "table-dynamic-3.9.2.txt"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("    Sink: out (topic)", "'Sink: NAME (topic: ...)' or 'Sink: NAME (extractor class: ...)'"),
        ("    Source: in", "'Source: NAME (topics: [...])'"),
        ("    Processor: count (stores:", "'Processor: NAME (stores: [...])'"),
        ("   Sub-topology: one", "'Sub-topology: NUMBER'"),
    ],
)
def test_a_line_that_is_not_understood_is_an_error_with_its_number(line, expected):
    text = f"Topologies:\n   Sub-topology: 0\n    Source: a (topics: [orders])\n{line}\n"

    with pytest.raises(UpgradeError) as raised:
        parse_topology_description(text, "t.txt")

    assert f"t.txt, line 4: expected {expected}, received {line.strip()!r}" == str(raised.value)


def test_a_text_that_begins_in_the_middle_is_an_error():
    with pytest.raises(UpgradeError, match=r"line 1: expected 'Sub-topology: NUMBER' before it, received 'Source: a"):
        parse_topology_description("    Source: a (topics: [orders])\n   Sub-topology: 1\n")


@pytest.mark.parametrize("kept", [slice(0, 3), slice(3, None)])
def test_a_part_of_a_text_is_an_error(kept):
    """Otherwise it would prove that there are no stores."""
    lines = ["Sub-topology: 0", " Source: A (topics: [t])", "  --> B", " Sink: B (topic: u)", "  <-- A"]
    part = "\n".join(["Sub-topology: 0", *lines[kept]])

    with pytest.raises(UpgradeError, match=r"expected a whole text, received one that names '[AB]' in an arrow only"):
        parse_topology_description(part)


def test_a_sink_with_an_extractor_keeps_its_predecessors():
    """They became those of the sink before it, and a repartitioned table was not seen."""
    sinks = [node for node in parse_topology_description(DYNAMIC.read_text(encoding="utf-8")) if node.kind == "Sink"]

    assert [("KTABLE-SELECT-0000000003",), ("KSTREAM-FILTER-0000000009",)] == [each.predecessors for each in sinks]
    assert [1, 0] == [len(each.topics) for each in sinks]


def test_names_may_have_blanks_and_the_words_of_the_text():
    text = """Topologies:
   Sub-topology: 0
    Source: a source (topics: [i])
      --> Sink: of (topic: b)
    Processor: my Sub-topology: 3 for global store (stores: [Source: s])
      --> none
    Sink: Sink: of (topic: b) (topic: o)
      <-- a source
"""
    source, processor, sink = parse_topology_description(text)

    assert ("a source", 0) == (source.name, source.subtopology)
    assert ("my Sub-topology: 3 for global store", 0, ("Source: s",)) == (
        processor.name,
        processor.subtopology,
        processor.stores,
    )
    assert ("Sink: of (topic: b)", ("o",), ("a source",)) == (sink.name, sink.topics, sink.predecessors)


@pytest.mark.parametrize("name", ["my-filter", "filtered", "KSTREAM-FILTER-of-mine"])
def test_a_word_in_a_name_of_the_user_does_not_hide_a_repartitioned_table(name):
    text = DYNAMIC.read_text(encoding="utf-8").replace("KTABLE-SELECT-0000000003", name)

    assert TopologyFeature.REPARTITIONED_TABLES in facts_of_topology(text).present


def _logged(text):
    return "".join(f"2026-11-25 10:00:00,123 INFO  [main] App - {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "pasted",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
        lambda text: "".join(f" * {line.strip()}\n" for line in text.splitlines()),
        lambda text: "".join(f"{line.strip()}\n" for line in text.splitlines()),
        lambda text: text.replace("    ", "\t"),
        lambda text: json.dumps(text),
        lambda text: html.escape(text),
        lambda text: f"```\n{text}```\n",
        _logged,
    ],
    ids=["windows", "quoted", "comment", "without indentation", "tabs", "json", "html", "markdown", "log"],
)
def test_a_text_is_read_as_people_paste_it(pasted):
    text = DYNAMIC.read_text(encoding="utf-8")

    assert parse_topology_description(text) == parse_topology_description(pasted(text))


def test_a_number_that_is_too_large_is_refused_with_its_line():
    with pytest.raises(UpgradeError, match=r"^describe.txt, line 2: expected a number from 0 to 2147483647, got '9999"):
        parse_topology_description(f"Topologies:\n   Sub-topology: {'9' * 5_000}\n", "describe.txt")
