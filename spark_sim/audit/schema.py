"""The tables of an audit in the types of the pipeline: Arrow, Spark and the documentation derive from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from streams_assignor.groups.history.tables import AUDIT_TABLES, AuditColumn
from streams_assignor.spark_sim.jobs.table import Column, Table, columns_of


def _columns(columns: Iterable[AuditColumn]) -> tuple[Column, ...]:
    return columns_of(
        *((name, type_ if isinstance(type_, str) else _columns(type_), comment) for name, type_, comment in columns)
    )


TABLES: Final[Mapping[str, Table]] = {
    name: Table(name, table.comment, table.key, _columns(table.columns)) for name, table in AUDIT_TABLES.items()
}
