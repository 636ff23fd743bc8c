"""A result has one set of names: of its class, of the tables and of the JSON files."""

import json

import attrs
import pytest
from attrs import evolve

from streams_assignor.spark_sim.jobs.table import field_columns
from streams_assignor.spark_sim.regressions.regression_search import RegressionKey, RegressionResult
from streams_assignor.spark_sim.search.cell_result import DEVIATION_COLUMNS, UpgradeResult
from streams_assignor.spark_sim.sweep.broker_units import BrokerCellKey, BrokerCellResult
from streams_assignor.spark_sim.sweep.tables.schema import COUNTEREXAMPLES, DEVIATIONS, KINDS, RESULT_TYPES, UPGRADES
from streams_assignor.upgrade import Plan, Upgrade, release_named

UPGRADE = Upgrade(release_named("2.0.1"), release_named("2.4.1"), Plan.ONE_BOUNCE)
VALUES = {"bigint": 7, "boolean": True, "string": "text", "array<string>": frozenset("ab")}
CELLS = {
    UpgradeResult: UPGRADE,
    BrokerCellResult: BrokerCellKey("3.9.2", "4.3.1", "kip-584", "upgrade", ("1", "2"), 1),
    RegressionResult: RegressionKey("B1", ("1.1.1", "2.0.1"), affected=True),
}
# Together in ``faults``, and a number instead of the classes.
ELSEWHERE = {"crashes", "rebalance_timeouts", "spurious_joins", "wait_for_quiescence", "schedule_classes"}
each_type = pytest.mark.parametrize("result_type", RESULT_TYPES)


def full_result(result_type):
    """A result in which no value is that of the default."""
    values = {each.name: VALUES[each.type] for each in field_columns(result_type)}
    result = result_type(CELLS[result_type], **values | {"schedules": 10**30})
    if result_type is UpgradeResult:
        kept = UpgradeResult.of_row(UPGRADE, result.row(DEVIATION_COLUMNS), DEVIATION_COLUMNS)
        result = evolve(result, deviations={"mistaken": kept})
    return result


@each_type
def test_every_field_of_a_result_is_a_column_of_kinds_and_a_key_of_its_record(result_type):
    names = {each.name for each in attrs.fields(result_type)} - {"cell", "deviations"}
    record = full_result(result_type).as_record()

    assert names <= {each.name for each in KINDS.columns}
    assert names - record.keys() == (ELSEWHERE if result_type is UpgradeResult else set())


@each_type
def test_a_result_is_the_same_after_it_was_stored(result_type):
    result = full_result(result_type)
    deviations = getattr(result, "deviations", None)
    row = KINDS.row({"kind_id": "k", "position": 0} | result.row())
    again = result_type.of_row(result.cell, row)

    assert result == result_type.of_json(result.cell, json.loads(result.to_json()))
    assert result == (evolve(again, deviations=deviations) if deviations else again)
    assert result.cell == result_type.parse_cell(
        UPGRADES.row({"position": 0, "suite": "s", "documented": True, "kind_id": "k"} | result.cell_row())
    )


def test_a_deviation_has_the_same_columns_in_its_table_and_in_the_record_of_its_upgrade():
    result = full_result(UpgradeResult)
    (row,) = result.as_record()["deviations"].values()

    assert {each.name for each in DEVIATIONS.columns} == row.keys() | {"kind_id", "deviation"}
    assert row == {name: result.row()[name] for name in row}
    assert {"property", "message", "example"} <= row.keys() & {each.name for each in COUNTEREXAMPLES.columns}


@each_type
def test_a_stored_result_that_lacks_a_column_is_an_error(result_type):
    plain = json.loads(full_result(result_type).to_json())
    del plain["transitions"]

    with pytest.raises(KeyError, match="transitions"):
        result_type.of_json(CELLS[result_type], plain)


def test_what_is_no_part_of_the_example_has_a_rule_for_merging():
    without = {each.name for each in attrs.fields(UpgradeResult) if "merge" not in each.metadata}

    assert {"cell", "property", "message", "example"} == without
