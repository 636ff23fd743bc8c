"""The tables of an audit in the types of the pipeline: Arrow, Spark and the documentation derive from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from assignor.audit.tables import AUDIT_TABLES
from spark_sim.pipeline.tables.schema import Table, columns_of

TABLES: Final[Mapping[str, Table]] = {
    name: Table(name, table.comment, table.key, columns_of(*table.columns)) for name, table in AUDIT_TABLES.items()
}
