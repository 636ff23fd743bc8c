"""The schema of all results of sweeps: tables whose columns are written down once.

A ``Table`` makes the records of JSON files and reads them back, and makes the DDL of Parquet files and the tables of
the documentation. Each kind of sweep defines its tables beside its results.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from attrs import frozen

from spark_sim.search.cell_result import UpgradeResult
from upgrade.plans import Plan, Upgrade
from upgrade.releases import release_named

R = TypeVar("R")


def _unchanged(value: Any) -> Any:
    return value


@frozen
class Column(Generic[R]):
    """One column of a table.

    Without ``get``, the value is that of ``field``, or of the attribute that has the column's name.
    """

    name: str
    field: str | None = None
    """The field of the result that holds the value; None if the value is derived."""
    get: Callable[[R], Any] | None = None
    decode: Callable[[Any], Any] = _unchanged
    """Makes the field's value of a JSON value."""
    is_optional: bool = False
    """Whether files of older sweeps lack the column; the field then keeps its default."""
    sql: str = "STRING"
    """The type in Spark SQL."""
    comment: str = ""
    """The meaning, in Parquet files and in the documentation."""
    is_nullable: bool = False

    def value(self, result: R) -> Any:
        """Return the value of the column."""
        return self.get(result) if self.get else attrgetter(self.field or self.name)(result)


def stored(name: str, field: str = "", **options: Any) -> Column[Any]:
    """Return a column that holds a field of the result."""
    return Column(name, field or name, **options)


def schedule_columns(**options: Any) -> tuple[Column[Any], Column[Any]]:
    """Return the columns of the number of schedules: text, because few JSON readers hold 200 digits, and log10."""

    def text(result: Any) -> str | None:
        return None if result.schedules is None else str(result.schedules)

    def log10(result: Any) -> float | None:
        return round(math.log10(result.schedules), 3) if result.schedules else None

    def decode(value: Any) -> int | None:
        return None if value is None else int(value)

    return Column("schedules", "schedules", text, decode, **options), Column("schedules_log10", get=log10)


@frozen
class Table(Generic[R]):
    """The columns of some results, in the order of the records."""

    columns: tuple[Column[R], ...]

    def record(self, result: R) -> dict[str, Any]:
        """Return the record of a result."""
        return {column.name: column.value(result) for column in self.columns}

    def fields(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a result, as a record has them.

        Raises:
            KeyError: A column is missing.
        """
        return {
            each.field: each.decode(record[each.name])
            for each in self.columns
            if each.field and (each.name in record or not each.is_optional)
        }

    def json_lines(self, results: Iterable[R]) -> str:
        """Return a JSON list with one record a line."""
        return json_lines(map(self.record, results))

    def ddl(self) -> str:
        """Return the schema as Spark SQL reads it."""
        return ", ".join(
            f"{each.name} {each.sql}{'' if each.is_nullable else ' NOT NULL'} COMMENT '{each.comment}'"
            for each in self.columns
        )


# -- sweeps over upgrades of Streams groups --------------------------------------------------------------------------


def _note(result: UpgradeResult) -> str | None:
    return "; ".join(each.note for each in (result.upgrade.origin, result.upgrade.target) if each.note) or None


def _class_names(count: int) -> frozenset[str]:
    """Return as many names as there were: the records keep only the number of the classes."""
    return frozenset(f"class {number}" for number in range(count))


DEVIATION_TABLE: Final[Table[UpgradeResult]] = Table(
    (
        Column("verdict"),
        stored("property", "violated"),
        *map(stored, ("message", "example", "states", "transitions")),
        *schedule_columns(),
    )
)
"""One operator deviation, inside a record of ``UPGRADE_MATRIX``."""

UPGRADE_MATRIX: Final[Table[UpgradeResult]] = Table(
    (
        Column("from", get=lambda result: result.upgrade.display_names[0]),
        Column("to", get=lambda result: result.upgrade.display_names[1]),
        Column("plan", get=lambda result: result.upgrade.plan.value),
        Column("upgrade_from", get=attrgetter("upgrade.upgrade_from")),
        Column("verdict"),
        Column("conditions", get=lambda result: list(result.conditions)),
        *map(stored, ("runs", "violations", "max_rebalances", "example")),
        *(stored(name, is_optional=True) for name in ("states", "transitions")),
        *schedule_columns(is_optional=True),
        stored("members", is_optional=True),
        stored("faults", is_optional=True, decode=lambda value: value or {}),
        stored("moved", "moved_tasks", is_optional=True),
        *(stored(name, is_optional=True) for name in ("unowned_task_ms", "member_bytes", "group_bytes")),
        Column(
            "kinds", "schedule_classes", lambda result: len(result.schedule_classes), _class_names, is_optional=True
        ),
        stored("kinds_possible", "possible_schedule_classes", is_optional=True),
        Column(
            "variants",
            get=lambda result: {name: DEVIATION_TABLE.record(each) for name, each in result.deviations.items()},
        ),
        Column("documented", get=attrgetter("is_documented")),
        stored("probes"),
        stored("property", "violated"),
        stored("message"),
        Column("from_release", get=attrgetter("upgrade.origin.name")),
        Column("to_release", get=attrgetter("upgrade.target.name")),
        Column("note", get=_note),
    )
)
"""``matrix.json`` of a sweep over upgrades."""


def parse_upgrade_result(record: Mapping[str, Any]) -> UpgradeResult:
    """Return the result of a record of ``UPGRADE_MATRIX``.

    Raises:
        KeyError: A column is missing.
    """
    origin, target = release_named(record["from_release"]), release_named(record["to_release"])
    upgrade = Upgrade(origin, target, Plan(record["plan"]), record["upgrade_from"], (record["from"], record["to"]))
    deviations = {
        name: UpgradeResult(upgrade, **DEVIATION_TABLE.fields(each))
        for name, each in record.get("variants", {}).items()
    }
    return UpgradeResult(upgrade, **UPGRADE_MATRIX.fields(record), deviations=deviations)


def json_lines(records: Iterable[Any]) -> str:
    r"""Return a JSON list with one record a line.

    >>> json_lines([{"a": 1}, {"a": 2}])
    '[\n{"a": 1},\n{"a": 2}\n]\n'
    """
    return "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in records) + "\n]\n"
