"""The table of requirements: one list of rows, each with a test, and no test with a row of another table."""

import importlib
import re
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(name="table")
def fixture_table(monkeypatch):
    """The list of requirements; docs/ is not a package."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("blocks.requirements")


def test_the_table_has_the_rows_of_the_list_and_no_other(table):
    shown = [line.split(" | ")[0].removeprefix("| ") for line in table.requirements().splitlines()[2:]]

    assert [each.row for each in table.REQUIREMENTS] == shown


def test_every_requirement_has_a_test(table):
    assert [] == table.missing_rows()


def test_no_test_has_a_row_of_another_table(table):
    assert [] == table.foreign_rows()


def test_a_missing_and_a_foreign_row_are_found(table, monkeypatch):
    """The table had rows of bugs, B12 to B19, because every test that was named so counted."""
    first, *others = table.REQUIREMENTS
    monkeypatch.setattr(table, "REQUIREMENTS", (*others, table.Requirement("B12", "a bug of Kafka Streams")))

    assert ["B12"] == table.missing_rows()
    assert {first.row} == {test.row for test in table.foreign_rows()}


def test_the_rows_of_the_four_texts_are_numbered_without_gaps(table):
    rows = [(each.row[0], int(each.row[1:])) for each in table.REQUIREMENTS]
    numbers = {letter: [number for _, number in found] for letter, found in groupby(rows, key=lambda row: row[0])}

    assert {"KIP-584", "older diff of KIP-584", "KIP-778", "draft of persistent.metadata.version"} == {
        table.text_of(each.row) for each in table.REQUIREMENTS
    }
    assert all(list(range(1, len(found) + 1)) == found for found in numbers.values())
    assert len(set(rows)) == len(rows)


def test_no_two_tests_have_the_same_name():
    names = [
        name
        for path in sorted(Path(__file__).parent.rglob("test_*.py"))
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]

    assert len(set(names)) == len(names)
