"""Damaged tables: a flipped bit is an error, never another table."""

import random
from collections import Counter

import pytest

from streams_assignor.spark_sim.audit._report_data import group_data
from streams_assignor.spark_sim.audit.sources import SourceError
from streams_assignor.spark_sim.audit.sources.preserved import _batches
from streams_assignor.spark_sim.sweep.tables.local import LocalTables
from streams_assignor.spark_sim.sweep.tables.parquet import TablesError, read_file, write_parquet
from streams_assignor.spark_sim.sweep.tables.schema import UNITS

FLIPS = 400
ROWS = [
    {
        "unit_key": f"unit-{number}",
        "sweep_id": "one",
        "sweep": "{}",
        "result": f'{{"runs": {number}}}',
        "runs": [],
        "trace": [],
    }
    for number in range(50)
]


def flipped(whole, bit):
    """Return the bytes with another bit of this number."""
    changed = bytearray(whole)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def row_of(table):
    """Return a row with values that are as empty as the table allows."""
    values = {"string": "", "binary": b"", "bigint": 0, "boolean": False, "double": 0.0}
    return {
        each.name: None if each.is_nullable else values.get(each.type, []) if isinstance(each.type, str) else []
        for each in table.columns
    }


@pytest.fixture
def units(tmp_path):
    file = tmp_path / "units" / "batch=1" / "part-0.parquet"
    write_parquet(file, UNITS, iter([ROWS]))
    return file


def test_a_flipped_bit_of_a_unit_table_is_an_error_and_never_another_table(units):
    """Of 40 flipped bits, 3 gave other tables."""
    whole, store, seen = units.read_bytes(), LocalTables(units.parents[2]), Counter()
    names = [each.name for each in UNITS.columns]
    keys = [row["unit_key"] for row in ROWS]
    expected = list(store.units(names, keys))
    for bit in random.Random(8).sample(range(8 * len(whole)), FLIPS):
        units.write_bytes(flipped(whole, bit))
        try:
            found = list(store.units(names, keys))
        except TablesError:
            seen["error"] += 1
        else:
            assert found == expected, bit
            seen["same"] += 1
    assert seen["error"] > FLIPS / 4


def test_a_table_without_rows_is_read_as_one(tmp_path):
    """PyArrow 18, the lowest that the metadata allows, raised an error: no sweep without counterexamples ended."""
    file = tmp_path / "units.parquet"
    write_parquet(file, UNITS, [])

    assert [] == list(read_file(file, UNITS))


def test_a_damaged_page_of_preserved_records_is_an_error_that_names_the_file(tmp_path):
    from streams_assignor.spark_sim.audit.records import RECORDS

    file = tmp_path / "records.parquet"
    write_parquet(file, RECORDS, iter([[row_of(RECORDS) | {"partition": 1, "key": b"of a group"}]]))
    file.write_bytes(file.read_bytes().replace(b"of a group", b"of a grouq", 1))

    with pytest.raises(SourceError, match=r"records\.parquet cannot be read"):
        list(_batches((file,), ("partition", "offset", "timestamp", "key", "value")))


def test_a_damaged_page_of_an_audit_is_an_error_of_its_report(tmp_path):
    from streams_assignor.spark_sim.audit.schema import TABLES

    for name, table in TABLES.items():
        write_parquet(tmp_path / name / "part-0.parquet", table, [])
    members = TABLES["members"]
    file = tmp_path / "members" / "part-0.parquet"
    write_parquet(file, members, iter([[row_of(members) | {"group": "payment"}]]))
    assert ["payment"] == [each.group for each in group_data(tmp_path)]

    file.write_bytes(file.read_bytes().replace(b"payment", b"paymens", 1))
    with pytest.raises(OSError, match="CRC"):
        list(group_data(tmp_path))
