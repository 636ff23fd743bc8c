"""Rows of tables: what has no column is an error, as Arrow would drop it without a word."""

import pytest
from attrs import field, frozen

from streams_assignor.spark_sim.jobs.table import NO_COLUMN, Table, column, columns_of, field_columns, row_of, values_of

EVENTS = columns_of(("at", "bigint", "time"), ("text", "string", "words"))
RUNS = Table(
    "runs", "Runs.", ("name",), columns_of(("name", "string", "n"), ("note?", "string", "n"), ("events", EVENTS, "e"))
)
ROW = {"name": "a", "note": None, "events": [{"at": 1, "text": "begins"}]}


@frozen
class Counted:
    """A class whose instances are rows."""

    cell: str = field(metadata=NO_COLUMN)
    names: frozenset = column("array<string>", "names", write=sorted, read=frozenset)
    count: int = column("bigint", "number", default=0)


def test_a_row_has_all_columns():
    assert ROW == RUNS.row({"name": "a", "events": ROW["events"]}) == RUNS.row(ROW)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (ROW | {"nmae": "b"}, "the table runs has no column nmae"),
        ({"events": []}, "a row of the table runs lacks name"),
        (ROW | {"name": None}, "a row of the table runs lacks name"),
        (ROW | {"events": [{"at": 1}]}, "a row of the table runs.events lacks text"),
        (ROW | {"events": [{"at": 1, "text": "", "who": ""}]}, "the table runs.events has no column who"),
    ],
)
def test_a_row_that_lacks_a_column_or_has_another_value_is_an_error(values, text):
    with pytest.raises(TypeError, match=text):
        RUNS.row(values)


def test_a_field_is_its_column():
    counted = Counted("x", names=frozenset("ba"), count=2)

    assert ["names", "count"] == [each.name for each in field_columns(Counted)]
    assert {"names": ["a", "b"], "count": 2} == row_of(counted)
    assert counted == Counted("x", **values_of(Counted, row_of(counted)))
    assert {"count": 2} == row_of(counted, ["count"]) == values_of(Counted, {"count": 2}, ["count"])
    with pytest.raises(KeyError, match="names"):
        values_of(Counted, {"count": 2})


def test_a_field_that_is_forgotten_as_a_column_is_an_error():
    @frozen
    class Forgotten(Counted):
        more: int = 0

    with pytest.raises(TypeError, match=r"expected Forgotten\.more to be a column\(\)"):
        field_columns(Forgotten)


def test_an_apostrophe_in_a_comment_is_no_end_of_it():
    """Spark refused the schema of ``generations``."""
    (named,) = columns_of(("name", "string", "the member's name"))

    assert r"`name` STRING NOT NULL COMMENT 'the member\'s name'" == named.ddl()
