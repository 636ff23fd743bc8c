"""The columns are written down once: here, that they are the fields of a run and can be said in SQL."""

from typing import get_type_hints

from spark_sim.runs import Run
from spark_sim.schema import COLUMNS, ddl, markdown

SQL = {str: ("STRING", False), str | None: ("STRING", True), int: ("INT", False)}


def test_the_columns_are_the_fields_of_a_run_in_their_order_and_with_their_types():
    fields = [(name, *SQL[python]) for name, python in get_type_hints(Run).items()]

    assert fields == [(column.name, column.sql.removeprefix("BIG"), column.nullable) for column in COLUMNS]


def test_no_meaning_ends_its_comment_in_the_ddl():
    assert [] == [column.name for column in COLUMNS if "'" in column.meaning]
    assert len(COLUMNS) == ddl().count(" COMMENT '")


def test_the_documentation_has_a_line_for_each_column():
    named = [line.split("`")[1] for line in markdown().splitlines()[2:]]

    assert [column.name for column in COLUMNS] == named
