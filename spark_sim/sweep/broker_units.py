"""Upgrades of brokers as work units: one for each pair of releases, dialect, kind of nodes and operator plan."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final, NamedTuple

from attrs import field, frozen

from streams_assignor.spark_sim.brokers.model import BrokerCell, BrokerExploration, explore
from streams_assignor.spark_sim.brokers.operator_program import ReleasePair
from streams_assignor.spark_sim.brokers.parser import FIRST_FEATURE_LINE, kraft_release, parse_scenario
from streams_assignor.spark_sim.brokers.plans import PLANS
from streams_assignor.spark_sim.brokers.scenario import DIALECTS_BY_NAME
from streams_assignor.spark_sim.jobs.table import NO_COLUMN, Row, column
from streams_assignor.spark_sim.model.scenario import ScenarioError
from streams_assignor.spark_sim.search.cell_result import SAFE, CellResult
from streams_assignor.spark_sim.sweep.traces import Trace, trace_broker_scenario
from streams_assignor.spark_sim.sweep.work_units import WorkUnit
from streams_assignor.upgrade.cluster.brokers.protocol_versions import NEWEST_OF_LINE, broker_release
from streams_assignor.upgrade.cluster.features.dialects import KIP_584

FEATURE_LINES: Final = tuple(
    line for line in NEWEST_OF_LINE if not line.startswith("0.") and broker_release(line).number >= FIRST_FEATURE_LINE
)
"""The release lines whose features can be finalized, the oldest first."""

MAX_NODES: Final = 5


class BrokerCellKey(NamedTuple):
    """A cell by names, which can be pickled and written."""

    origin: str
    target: str
    dialect: str
    plan: str
    nodes: tuple[str, ...]
    faults: int

    @property
    def broker_cell(self) -> BrokerCell:
        """The cell itself."""
        pair = ReleasePair(broker_release(self.origin), broker_release(self.target))
        return BrokerCell(pair, DIALECTS_BY_NAME[self.dialect], PLANS[self.plan], self.nodes, self.faults)

    def __str__(self) -> str:
        return f"{self.origin} to {self.target}, {self.dialect}, nodes {' '.join(self.nodes)}: {self.plan}"


@frozen(kw_only=True)
class BrokerCellResult(CellResult):
    """The result of one cell of brokers; the numbers are those of ``brokers.model.BrokerExploration``."""

    cell: BrokerCellKey = field(kw_only=False, metadata=NO_COLUMN)
    terminal_states: int = column("bigint", "brokers: states in which nothing is left to do", default=0)
    completed: int = column("bigint", "brokers: terminal states in which the plan is complete", default=0)
    refused_requests: int = column("bigint", "brokers: refused updates of features", default=0)
    rejected_nodes: int = column("bigint", "brokers: nodes whose registration was rejected", default=0)
    stalled_example: str | None = column(
        "string", "brokers: a scenario in which the plan is not completed", default=None
    )

    @property
    def is_documented(self) -> bool:
        """Whether Kafka's documentation promises that the cell is safe."""
        return DIALECTS_BY_NAME[self.cell.dialect] in PLANS[self.cell.plan].documented

    @property
    def is_vacuous(self) -> bool:
        """Whether the operator neither completed the plan nor met a refusal: then the cell shows nothing."""
        return self.verdict == SAFE and not self.completed and not self.refused_requests

    def cell_row(self) -> Row:
        """Return the cell as columns of the table ``upgrades``."""
        cell = self.cell
        return {
            "from": cell.origin,
            "to": cell.target,
            "from_release": cell.origin,
            "to_release": cell.target,
            "plan": cell.plan,
            "dialect": cell.dialect,
            "nodes": list(cell.nodes),
            "faults": cell.faults,
        }

    @staticmethod
    def parse_cell(row: Row) -> BrokerCellKey:
        """Return the cell of a row of the table ``upgrades``."""
        return BrokerCellKey(row["from"], row["to"], row["dialect"], row["plan"], tuple(row["nodes"]), row["faults"])

    def as_record(self) -> dict[str, Any]:
        """Return the result as ``matrix.json`` has it: the nodes as one text."""
        return super().as_record() | {"nodes": " ".join(self.cell.nodes)}


@frozen
class BrokerUnit(WorkUnit):
    """Explores one cell of brokers."""

    result_type = BrokerCellResult

    cell: BrokerCellKey

    @property
    def key(self) -> str:
        """A short name."""
        return "-".join((*self.cell[:4], str(len(self.cell.nodes))))

    @property
    def cost(self) -> float:
        """The estimated work, in moves of packed states: half a second for three nodes and one fault."""
        return 3_500 * 3.2 ** len(self.cell.nodes) * 3.0**self.cell.faults

    def result(self) -> BrokerCellResult:
        """Explore the cell."""
        return broker_result(self.cell, explore(self.cell.broker_cell))

    def trace(self, example: str) -> Trace[Any]:
        """Return the trace of a counterexample."""
        return trace_broker_scenario(parse_scenario(example))


def broker_result(key: BrokerCellKey, explored: BrokerExploration) -> BrokerCellResult:
    """Return the result of an exploration."""
    violation = explored.violation
    return BrokerCellResult(
        key,
        states=explored.states,
        transitions=explored.transitions,
        schedules=explored.schedules,
        terminal_states=explored.terminal_states,
        completed=explored.completed,
        refused_requests=explored.refused_requests,
        rejected_nodes=explored.rejected_nodes,
        violations=explored.violating_states,
        property=violation.property if violation else None,
        message=str(violation) if violation else None,
        example=str(explored.example) if explored.example else None,
        stalled_example=str(explored.stalled_example) if explored.stalled_example else None,
    )


# -- which cells there are -------------------------------------------------------------------------------------------


def cell_keys(origin: str, target: str, *, nodes: int = 3, faults: int = 1) -> Iterator[BrokerCellKey]:
    """Yield the cells of a pair: each dialect and plan, with combined nodes, and with separate controllers.

    Raises:
        UpgradeError: This is no upgrade of brokers that can finalize features.
    """
    before, after = kraft_release(origin), kraft_release(target)
    if nodes > MAX_NODES:
        raise ScenarioError(f"expected at most {MAX_NODES} nodes, as all their states are tried, got {nodes}")
    if before.newest >= after.newest:
        raise ScenarioError(f"expected an upgrade to levels that are new, but {after} has none that {before} has not")
    for name, dialect in DIALECTS_BY_NAME.items():
        for plan in PLANS.values():
            if dialect in plan.dialects:
                for roles in _node_layouts(nodes)[: 1 if dialect is KIP_584 else 2]:
                    yield BrokerCellKey(before.spelling, after.spelling, name, plan.name, roles, faults)


def all_line_pairs() -> Iterator[tuple[str, str]]:
    """Yield every line with every later one."""
    yield from combinations(FEATURE_LINES, 2)


def _node_layouts(nodes: int) -> tuple[tuple[str, ...], ...]:
    """Return the nodes: all of them broker and controller, or controllers and one broker."""
    numbers = range(1, nodes + 1)
    return tuple(map(str, numbers)), (*(f"c{number}" for number in numbers), f"b{nodes + 1}")
