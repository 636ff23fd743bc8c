"""`Topology#describe()` of real releases (`topologies/KIND-RELEASE.txt`, printed by their jars)."""

from pathlib import Path

import pytest

from upgrade import UpgradeError
from upgrade.verdict import TopologyFeature, facts_of_topology

TEXTS = sorted((Path(__file__).parent / "topologies").glob("*.txt"))
FEATURES = {
    "foreign-key-join": {TopologyFeature.FOREIGN_KEY_JOINS},
    "named-foreign-key-join": {TopologyFeature.FOREIGN_KEY_JOINS},
    "repartitioned-table": {TopologyFeature.REPARTITIONED_TABLES},
    "named-repartitioned-table": {TopologyFeature.REPARTITIONED_TABLES},
}


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.stem)
def test_features_are_found_in_the_texts_of_real_releases(file):
    facts = facts_of_topology(file.read_text(encoding="utf-8"))

    assert FEATURES.get(file.stem.rpartition("-")[0], set()) == facts.present
    assert set(TopologyFeature) - facts.present == facts.absent


def test_texts_of_four_releases_are_there():
    assert {"1.1.1", "2.4.1", "2.8.2", "4.3.1"} == {file.stem.rpartition("-")[2] for file in TEXTS}


def test_both_features_in_one_text():
    text = "\n".join(file.read_text(encoding="utf-8") for file in TEXTS)

    assert frozenset() == facts_of_topology(text).absent


@pytest.mark.parametrize("text", ["", "\n", "hello\nworld", '{"topology": 1}'])
def test_another_text_is_an_error_that_names_what_was_expected(text):
    with pytest.raises(UpgradeError, match=r"expected the text of Topology#describe\(\)"):
        facts_of_topology(text)
