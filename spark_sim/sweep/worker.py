"""The work of a worker: it computes the units of one task, and knows neither Spark nor the other tasks.

A failing run is a row and a failing exploration is a result, so one failure never costs the others. Too little memory
is neither, because equal units have equal results on all machines: it ends the sweep, which more memory resumes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from attrs import frozen

from streams_assignor.spark_sim.jobs.table import row_of
from streams_assignor.spark_sim.model.member import clear_memo
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.search.cell_result import DETERMINISTIC, SIMULATION_FAILS, CellResult, UpgradeResult
from streams_assignor.spark_sim.search.shrink import shrink_example
from streams_assignor.spark_sim.sweep.runs import Run, run_scenarios, summarize
from streams_assignor.spark_sim.sweep.tables.schema import UNITS
from streams_assignor.spark_sim.sweep.traces import trace_rows
from streams_assignor.spark_sim.sweep.work_units import WorkUnit

REPEAT_EVERY: Final = 100
"""One run in so many is repeated, to check that it is deterministic."""
MAX_UNITS_PER_CHUNK: Final = 1_000
MAX_RUNS_PER_CHUNK: Final = 1_000
"""Rows that a worker has in memory before it hands them on."""


@frozen
class UnitTask:
    """The contents of one task: units with their keys."""

    sweep_id: str
    sweep: str
    units: tuple[tuple[str, WorkUnit], ...]

    @property
    def cost(self) -> float:
        """The sum of the costs of the units."""
        return sum(unit.cost for _, unit in self.units)


def unit_rows(task: UnitTask) -> Iterator[dict[str, Any]]:
    """Yield the row of each unit of a task, whatever fails."""
    for key, unit in task.units:
        rows, result = compute_unit(key, unit)
        values = {
            "unit_key": key,
            "sweep_id": task.sweep_id,
            "sweep": task.sweep,
            "result": result.to_json(),
            "runs": list(map(row_of, rows)),
            "trace": _trace_rows(unit, result),
        }
        yield UNITS.row(values)


def row_chunks(task: UnitTask) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a task in lists, because a message or row group of its own costs more than a small unit."""
    chunk, runs = list[dict[str, Any]](), 0
    for row in unit_rows(task):
        chunk.append(row)
        runs += len(row["runs"])
        if len(chunk) >= MAX_UNITS_PER_CHUNK or runs >= MAX_RUNS_PER_CHUNK:
            yield chunk
            chunk, runs = [], 0
    if chunk:
        yield chunk


def compute_unit(key: str, unit: WorkUnit) -> tuple[list[Run], CellResult]:
    """Compute a unit: a row for each run, and its result."""
    _freeze_heap()
    try:
        rows = list(_check_determinism(unit, key, _run_rows(unit, key)))
        result = _explore(unit)
        if isinstance(result, UpgradeResult):
            result = shrink_example(result.merge(summarize(result.cell, rows)))
    except MemoryError:
        raise MemoryError(f"the unit {key} needs more memory than its worker has") from None
    return rows, result


def _trace_rows(unit: WorkUnit, result: CellResult) -> list[dict[str, Any]]:
    """Return the trace of the counterexample; it is empty if there is none, or if the simulation fails on it."""
    deviating = result.deviations.values() if isinstance(result, UpgradeResult) else ()
    example = next((violating.example for violating in (result, *deviating) if violating.example), None)
    try:
        return trace_rows(unit.trace(example).steps) if example else []
    except Exception:  # the result has the error already
        return []


def _explore(unit: WorkUnit) -> CellResult:
    """Return what a unit finds without simulated members; if it fails, the result contains the error."""
    try:
        return unit.result()
    except MemoryError:
        raise
    except Exception as error:  # whatever it is, the other cells are still worth having
        return unit.result_type(unit.cell, property=SIMULATION_FAILS, message=f"{type(error).__name__}: {error}")


def _run_rows(unit: WorkUnit, key: str) -> list[Run]:
    try:
        return list(run_scenarios(unit.scenarios(), unit.cell, key))
    except MemoryError:
        raise
    except Exception:  # runs share prefixes, so the failing one is unknown: run each by itself
        return [_run_alone(unit, key, line) for line in sorted(map(str, unit.scenarios()))]


def _run_alone(unit: WorkUnit, key: str, line: str) -> Run:
    """Run one scenario by itself, from the line that ``replay`` takes; if the simulation fails, the row says so."""
    try:
        (row,) = run_scenarios([Scenario.parse(line)], unit.cell, key)
    except MemoryError:
        raise
    except Exception as error:
        return Run.failed(unit.cell, key, line, SIMULATION_FAILS, f"{type(error).__name__}: {error}")
    return row


def _check_determinism(unit: WorkUnit, key: str, rows: list[Run]) -> Iterator[Run]:
    """Repeat one run in a hundred by itself; two that differ are an error."""
    for place, row in enumerate(rows):
        if place % REPEAT_EVERY == 0:
            clear_memo()
        again = row if place % REPEAT_EVERY else _run_alone(unit, key, row.scenario)
        differs = f"digest {row.digest}, and by itself {again.digest}"
        yield row if row == again else Run.failed(unit.cell, key, row.scenario, DETERMINISTIC, differs)


@cache
def _freeze_heap() -> None:
    """Exempt the imported modules from garbage collection, once a process, so that shared pages are not copied."""
    gc.collect()
    gc.freeze()
