"""`Topology#describe()` of real releases (`topologies/KIND-RELEASE.txt`, printed by their jars)."""

from pathlib import Path

import pytest

from upgrade import UpgradeError
from upgrade.verdict import TopologyFeature, facts_of_topology

TEXTS = sorted((Path(__file__).parent / "topologies").glob("*.txt"))
FEATURES = {
    "plain": set(),
    "foreign-key-join": {TopologyFeature.FOREIGN_KEY_JOINS},
    "repartitioned-table": {TopologyFeature.REPARTITIONED_TABLES},
    "stream-repartition": {TopologyFeature.STATELESS_SUBTOPOLOGIES},
}
"""All of them read two topics."""


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.stem)
def test_features_are_found_in_the_texts_of_real_releases(file):
    facts = facts_of_topology(file.read_text(encoding="utf-8"))

    kind = file.stem.rpartition("-")[0].removeprefix("named-")
    assert FEATURES[kind] | {TopologyFeature.SECOND_SOURCE_TOPIC} == facts.present
    assert set(TopologyFeature) - facts.present - {TopologyFeature.SECOND_THREAD} == facts.absent


def test_texts_of_four_releases_are_there():
    assert {"1.1.1", "2.4.1", "2.8.2", "4.3.1"} == {file.stem.rpartition("-")[2] for file in TEXTS}


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
