"""The tables of a sweep: names, comments and keys. The columns of results and runs are those of their classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import evolve

from streams_assignor.spark_sim.jobs.table import Column, Table, columns_of, field_columns
from streams_assignor.spark_sim.regressions.regression_search import RegressionResult
from streams_assignor.spark_sim.search.cell_result import DEVIATION_COLUMNS, CellResult, UpgradeResult
from streams_assignor.spark_sim.sweep.broker_units import BrokerCellResult
from streams_assignor.spark_sim.sweep.runs import UNIT_KEY, Run

RESULT_TYPES: Final[tuple[type[CellResult], ...]] = (UpgradeResult, BrokerCellResult, RegressionResult)


def _result_columns() -> tuple[Column, ...]:
    """Return the columns of all results; those that not all of them have may be null."""
    columns: dict[str, Column] = {column.name: column for column in CellResult.columns()}
    for result_column in (column for result_type in RESULT_TYPES for column in result_type.columns()):
        columns.setdefault(result_column.name, evolve(result_column, is_nullable=True))
    return tuple(columns.values())


KIND_ID: Final = (
    "kind_id",
    "string",
    "the kind: digest of the computing code, the parameters and the behaviour",
)
RUN_COLUMNS: Final = field_columns(Run)
_EXPLORED: Final = {column.name: column for column in UpgradeResult.columns(DEVIATION_COLUMNS)}

_EVENT: Final = columns_of(
    ("at", "bigint", "simulated time in ms; 0 for brokers"),
    ("generation", "bigint", "generation of the group; 0 for brokers"),
    ("subject", "string", "the member or node"),
    ("kind", "string", "the kind of the event"),
    ("text", "string", "the event in words"),
    ("values", "string", "the values of the event, as a JSON list"),
)
_TRACE: Final = columns_of(
    ("step", "string", "the step, as in the scenario"),
    ("meaning", "string", "the step in words"),
    ("events", _EVENT, "what happened, in order"),
)

UNITS: Final = Table(
    "units",
    "The finished work, one row for each work unit, of which the other tables are made. A unit that was computed twice "
    "has two equal rows.",
    ("unit_key",),
    columns_of(
        UNIT_KEY,
        ("sweep_id", "string", "digest of what is swept, and how"),
        ("sweep", "string", "what is swept, and how, as JSON"),
        ("result", "string", "the result of the unit, as JSON"),
        ("runs", RUN_COLUMNS, "the runs of simulated members"),
        ("trace", _TRACE, "the trace of the counterexample; empty without one"),
    ),
)
UPGRADES: Final = Table(
    "upgrades",
    "One row for each upgrade of the matrix (or search for a known bug), with the kind that has its result.",
    ("position",),
    columns_of(
        ("position", "bigint", "place in the matrix, from 0"),
        ("suite", "string", "upgrades (of Streams groups), brokers or regressions (--matrix history)"),
        ("from", "string", "the release before, as matrix.json names it"),
        ("to", "string", "the release after, as matrix.json names it"),
        ("from_release", "string", "release before the upgrade"),
        ("to_release", "string", "release after the upgrade"),
        ("plan?", "string", "one_bounce, two_bounces or offline; of brokers the name of the plan"),
        ("upgrade_from?", "string", "upgrade.from of the first bounce"),
        ("documented", "boolean", "whether it is the plan of Kafka documentation"),
        KIND_ID,
        ("dialect?", "string", "brokers: the protocol of feature versions"),
        ("nodes?", "array<string>", "brokers: the nodes of the cluster"),
        ("faults?", "bigint", "brokers: the most faults in one schedule"),
        ("bug?", "string", "regressions: the bug"),
        ("instances?", "array<string>", "regressions: what each member runs, from the first release to the last"),
        ("affected?", "boolean", "regressions: whether Kafka has the bug there"),
    ),
)
KINDS: Final = Table(
    "kinds",
    "One row for each kind: upgrades that differ only in the names of their releases have one kind.",
    ("kind_id",),
    (
        *columns_of(
            KIND_ID, ("position", "bigint", "an upgrade of the kind: its releases are those of the counterexamples")
        ),
        *_result_columns(),
    ),
)
RUNS: Final = Table(
    "runs",
    "One row for each run of simulated members, with real bytes. Kinds that share an exploration share its runs.",
    ("kind_id", "unit_key", "scenario"),
    (*columns_of(KIND_ID), *RUN_COLUMNS),
)
COUNTEREXAMPLES: Final = Table(
    "counterexamples",
    "One row for each shortest violating scenario.",
    ("kind_id", "deviation"),
    (
        *columns_of(
            KIND_ID, ("deviation?", "string", "how the operator deviates from the plan; null if the plan is followed")
        ),
        *(_EXPLORED[name] for name in ("property", "message", "example")),
        *columns_of(("trace", _TRACE, "the scenario step by step")),
    ),
)
DEVIATIONS: Final = Table(
    "deviations",
    "One row for each operator who does not follow the plan; the verdict of the plan does not depend on it.",
    ("kind_id", "deviation"),
    (
        *columns_of(KIND_ID, ("deviation", "string", "interrupted, rolled_back, mistaken or never_removed")),
        *_EXPLORED.values(),
    ),
)
TABLES: Final[Mapping[str, Table]] = {
    table.name: table for table in (KINDS, RUNS, COUNTEREXAMPLES, DEVIATIONS, UPGRADES)
}
"""The tables of a finished sweep, in the order in which they are written."""
