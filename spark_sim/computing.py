"""What a worker does: it computes a slice, and knows neither Spark nor what else there is.

A failing run is a row, a failing exploration a result, so that one of them never costs the others.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import cache
from typing import Final

from spark_sim.cell_result import CellResult
from spark_sim.jobs import Job, Slice
from spark_sim.recalling import forget
from spark_sim.results import SliceResult, digest_of
from spark_sim.runs import Run, run_all, summarise
from spark_sim.scenario import Scenario
from spark_sim.shrink import with_smallest_example

REPEATED: Final = 100
"""One run in so many is done twice."""

ERROR: Final = "error"
FAILED: Final = "always: the simulation does not fail"
REPEATABLE: Final = "always: the same scenario gives the same history"


def compute(work: Slice) -> tuple[list[Run], SliceResult]:
    """Do the jobs of a slice: a row for each run, whatever happens in it, and a sum for each job."""
    _freeze_memory()
    rows, sums = list[Run](), list[CellResult]()
    for job in work.jobs:
        found = list(_repeated(job, work.key, _rows(job, work.key)))
        sums.append(with_smallest_example(_found(job).plus(summarise(job.upgrade, found))))
        rows += found
    return rows, SliceResult(work.key, tuple(sums), digest_of(map(repr, (*rows, *sums))))


def _found(job: Job) -> CellResult:
    """Return what a job knows without real members; if it fails, that is what there is to know."""
    try:
        return job.found()
    except Exception as error:  # whatever it is, the other thousand cells are still worth having
        return CellResult(job.upgrade, violated=FAILED, message=f"{type(error).__name__}: {error}")


def _rows(job: Job, key: str) -> list[Run]:
    try:
        return list(run_all(job.scenarios(), job.upgrade, key))
    except Exception:  # runs share beginnings, so this says nothing about which of them failed: run each by itself
        return [_alone(job, key, line) for line in sorted(map(str, job.scenarios()))]


def _alone(job: Job, key: str, line: str) -> Run:
    """Run one scenario by itself, from the line that ``replay`` takes; if the simulation fails, the row says so."""
    try:
        (row,) = run_all([Scenario.parse(line)], job.upgrade, key)
    except Exception as error:
        return _error(job, key, line, FAILED, f"{type(error).__name__}: {error}")
    return row


def _repeated(job: Job, key: str, rows: list[Run]) -> Iterator[Run]:
    """Do one run in a hundred again, by itself; two that differ are an error."""
    for place, row in enumerate(rows):
        if place % REPEATED == 0:
            forget()
        again = row if place % REPEATED else _alone(job, key, row.scenario)
        differs = f"digest {row.digest}, and by itself {again.digest}"
        yield row if row == again else _error(job, key, row.scenario, REPEATABLE, differs)


def _error(job: Job, key: str, scenario: str, violated: str, message: str) -> Run:
    upgrade = job.upgrade
    return Run(
        origin=upgrade.origin.name,
        target=upgrade.target.name,
        plan=upgrade.plan.value,
        upgrade_from=upgrade.upgrade_from,
        slice=key,
        scenario=scenario,
        verdict=ERROR,
        property=violated,
        message=message,
        generations=0,
        max_rebalances=0,
        probes=0,
        moved=0,
        unowned_task_ms=0,
        member_bytes=0,
        group_bytes=0,
        digest="",
    )


@cache
def _freeze_memory() -> None:
    """Once a process: leave what was imported alone, or each collection would copy the pages it shares with others."""
    gc.collect()
    gc.freeze()
