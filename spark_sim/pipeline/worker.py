"""What a worker does: it computes one partition, and knows neither Spark nor the other partitions.

A failing run is a row and a failing exploration is a result, so one failure never costs the others.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from functools import cache
from pathlib import Path
from typing import Final

from attrs import frozen

from spark_sim.model.member import clear_memo
from spark_sim.model.scenario import Scenario
from spark_sim.pipeline.runs import Run, run_scenarios, summarise
from spark_sim.pipeline.sink import StagedResults
from spark_sim.pipeline.work_units import Partition, PartitionResult, WorkUnit, digest_of
from spark_sim.search.cell_result import DETERMINISTIC, SIMULATION_FAILS, CellResult, UpgradeResult
from spark_sim.search.shrink import shrink_example

REPEAT_EVERY: Final = 100
"""One run in so many is repeated, to check that it is deterministic."""

Log = Callable[[str], None]
"""Prints a line for the user."""


@frozen
class SweepExecutor:
    """Where the batches of a sweep are computed: ``spark`` and ``local`` provide one each."""

    pool: Executor
    """Runs ``compute_batch``."""
    compute_batch: Callable[[Sequence[Partition], Path], StagedResults]
    """Computes partitions, and writes the rows of each into a file in the folder."""
    one_partition_per_batch: bool
    cores: Callable[[], int]
    """The cores that are available now: those of a cluster arrive one after the other."""
    cancel: Callable[[], None]
    """Makes all batches fail soon."""
    completed: Callable[[], StagedResults] = list
    """Finished partitions of batches that are still running."""


def compute_partition(partition: Partition) -> tuple[list[Run], PartitionResult]:
    """Compute the units of a partition: a row for each run and a result for each unit, whatever fails."""
    _freeze_heap()
    rows, results = list[Run](), list[CellResult]()
    for unit in partition.units:
        found = list(_check_determinism(unit, partition.key, _run_rows(unit, partition.key)))
        result = _explore(unit)
        if isinstance(result, UpgradeResult):
            result = shrink_example(result.merge(summarise(result.cell, found)))
        results.append(result)
        rows += found
    return rows, PartitionResult(partition.key, tuple(results), digest_of(map(repr, (*rows, *results))))


def _explore(unit: WorkUnit) -> CellResult:
    """Return what a unit finds without simulated members; if it fails, the result contains the error."""
    try:
        return unit.result()
    except Exception as error:  # whatever it is, the other cells are still worth having
        return unit.result_type(unit.cell, violated=SIMULATION_FAILS, message=f"{type(error).__name__}: {error}")


def _run_rows(unit: WorkUnit, key: str) -> list[Run]:
    try:
        return list(run_scenarios(unit.scenarios(), unit.cell, key))
    except Exception:  # runs share prefixes, so the failing one is unknown: run each by itself
        return [_run_alone(unit, key, line) for line in sorted(map(str, unit.scenarios()))]


def _run_alone(unit: WorkUnit, key: str, line: str) -> Run:
    """Run one scenario by itself, from the line that ``replay`` takes; if the simulation fails, the row says so."""
    try:
        (row,) = run_scenarios([Scenario.parse(line)], unit.cell, key)
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
