"""A release that is written into copies of the tables, as the jars of a next line or patch release would say it."""

import json
import shutil
from runpy import run_path

import pytest
from attrs import evolve

from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
from streams_assignor.upgrade.releases import NEWEST
from tests.lab.releases.adopt import (
    BEHAVIOUR_FILE,
    LEVELS_FILE,
    RELEASES_FILE,
    ROOT,
    STORED_LEVELS,
    TABLES,
    Misplaced,
    adopt,
    review,
)
from tests.lab.releases.bytecode import ClassChange
from tests.lab.releases.codec import CodecAnswers
from tests.lab.releases.derive import Derivation

MAJOR, MINOR, PATCH = NEWEST.number
NEXT_LINE = f"{MAJOR}.{MINOR + 1}"
NEXT, NEXT_PATCH = f"{NEXT_LINE}.0", f"{NEWEST.line}.{PATCH + 1}"
LEVELS = json.loads((ROOT / STORED_LEVELS).read_text())[NEWEST.name]
NEWEST_LEVEL = NEWEST_CATALOG.latest_production.number
CHANGE = ClassChange("internals.StreamsPartitionAssignor", ("f()",))


def of_next_line():
    """One more released level, and ``share.version`` 9."""
    kept = [row for row in LEVELS if not row.endswith(" false") and not row.startswith("supported")]
    supported = [row for row in LEVELS if row.startswith("supported") and "metadata" not in row and "share" not in row]
    return [
        *kept,
        f"metadata {NEWEST_LEVEL + 1} {NEXT_LINE}-IV0 true true",
        f"supported metadata.version 7 {NEWEST_LEVEL + 1}",
        *(f"feature share.version {level} {NEWEST_LEVEL + 1}" for level in range(3, 10)),
        "supported share.version 0 9",
        "feature new.version 0 7",
        f"feature new.version 1 {NEWEST_LEVEL + 1}",
        "supported new.version 0 1",
        *supported,
        "feature test.feature.version 1 15",
    ]


def derived(release, *, changes=(), **row):
    return Derivation(release, row, evolve(NEWEST.behaviour, **row), changes, CodecAnswers(NEWEST.name))


@pytest.fixture(name="root")
def fixture_root(tmp_path):
    for path in TABLES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    return tmp_path


def test_a_new_line_has_a_row_in_every_table(root):
    values = (*NEWEST.upgrade_from, NEWEST.line)
    adopt(derived(NEXT, upgrade_from=values), of_next_line(), root)
    rows = run_path(str(root / BEHAVIOUR_FILE))["behaviour_of"]((MAJOR, MINOR + 1, 0))
    levels = (root / LEVELS_FILE).read_text()

    assert f'"{NEWEST.line}.0", "{NEXT}"' in (root / RELEASES_FILE).read_text()
    assert values == rows.upgrade_from
    assert f'({NEWEST_LEVEL + 1}, "{NEXT_LINE}-IV0", True),' in levels
    assert f'"{NEXT}": (\n' in levels
    assert f'"{NEWEST.name}": (' in levels
    catalog = run_path(str(root / LEVELS_FILE))["CATALOGS"][NEXT_LINE]
    assert (0, 9) == catalog.supported_range("share.version")
    assert {"share.version": 9, "new.version": 1}.items() <= catalog.default_levels(NEWEST_LEVEL + 1).items()
    assert 0 == catalog.default_levels(NEWEST_LEVEL)["new.version"]
    stored = json.loads((root / STORED_LEVELS).read_text())
    assert [NEWEST.name, NEXT] == list(stored)[-2:]
    assert not [row for row in stored[NEXT] if "test.feature" in row]


def test_a_patch_release_extends_its_line(root):
    adopt(derived(NEXT_PATCH), LEVELS, root)

    assert f'"{NEWEST.line}.0-{PATCH + 1}"' in (root / RELEASES_FILE).read_text()
    assert (ROOT / BEHAVIOUR_FILE).read_text() == (root / BEHAVIOUR_FILE).read_text()
    assert run_path(str(root / LEVELS_FILE))["CATALOGS"][NEWEST.line].release == NEXT_PATCH
    assert [NEXT_PATCH] == list(json.loads((root / STORED_LEVELS).read_text()))[-1:]


def test_a_patch_release_with_another_level_replaces_the_row_of_its_line(root):
    levels = [row.replace("supported streams.version 0 1", "supported streams.version 0 0") for row in LEVELS]
    adopt(derived(NEXT_PATCH), levels, root)
    catalog = run_path(str(root / LEVELS_FILE))["CATALOGS"][NEWEST.line]

    assert (NEXT_PATCH, (0, 0)) == (catalog.release, catalog.supported_range("streams.version"))


def test_a_release_of_the_tables_changes_nothing(root):
    adopt(derived(NEWEST.name), LEVELS, root)

    assert [(ROOT / path).read_text() for path in TABLES] == [(root / path).read_text() for path in TABLES]


def test_a_table_that_looks_otherwise_is_an_error(root):
    (root / RELEASES_FILE).write_text("_KAFKA_RELEASES = ()\n")

    with pytest.raises(Misplaced, match="expected a text that matches"):
        adopt(derived(NEXT), of_next_line(), root)


def test_the_review_names_what_the_jars_cannot_decide():
    found = list(review(derived(NEXT, changes=(CHANGE,)), of_next_line()))

    assert "read the 1 classes above" in found[0]
    assert any("new.version is new" in each for each in found)
    assert any(f"upgrade guide of Streams for {NEXT_LINE}" in each for each in found)
    assert any(f"derive {NEXT} --bounce" in each for each in found)


def test_another_default_of_a_known_level_is_left_to_review():
    levels = [row.replace("feature share.version 1 28", "feature share.version 1 27") for row in LEVELS]

    assert any("BOOTSTRAPS of share.version is" in each for each in review(derived(NEXT_PATCH), levels))


def test_the_review_of_a_patch_release_is_short():
    unlike = evolve(derived(NEXT_PATCH), codec=evolve(CodecAnswers(NEWEST.name), newly={"accepted, now X": 1}))

    assert ["decide", "python", "python", "streams-assignor", "a"] == [
        each.split()[0] for each in review(unlike, LEVELS)
    ]
