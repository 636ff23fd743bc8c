"""Columns are written down once: they are the fields of a run, and the records of results."""

from typing import get_type_hints

from spark_sim.pipeline.runs import RUNS_TABLE, Run

SQL = {str: ("STRING", False), str | None: ("STRING", True), int: ("INT", False)}
COLUMNS = RUNS_TABLE.columns


def test_the_columns_are_the_fields_of_a_run_in_their_order_and_with_their_types():
    fields = [(name, *SQL[python]) for name, python in get_type_hints(Run).items()]

    assert fields == [(column.name, column.sql.removeprefix("BIG"), column.is_nullable) for column in COLUMNS]


def test_no_comment_ends_the_comment_of_the_ddl():
    assert [] == [column.name for column in COLUMNS if "'" in column.comment]
    assert len(COLUMNS) == RUNS_TABLE.ddl().count(" COMMENT '")
