"""Local processes that compute work units."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from spark_sim.sweep.tables.engine import SweepEngine
from spark_sim.sweep.tables.local import LocalTables, commit_task
from spark_sim.sweep.worker import UnitTask
from spark_sim.worker_pool import WorkerPool


class LocalEngine(SweepEngine):
    """A process for each core of this machine; each commits a task at a time."""

    one_task_per_batch = True

    def __init__(self, folder: Path, pool: WorkerPool) -> None:
        self.store = LocalTables(folder)
        self.pool: WorkerPool = pool
        self.compute = partial(_commit_batch, folder)

    def cores(self) -> int:
        """Return the number of processes."""
        return _available_cores()

    def refuse_earlier_driver(self) -> None:
        """Do nothing: the folder is locked."""

    def cancel(self) -> None:
        """Terminate the processes of the pool, which then fails all its futures."""
        self.pool.terminate()


@contextmanager
def local_engine(folder: Path) -> Iterator[LocalEngine]:
    """Provide a process for each core of this machine; they start with the first task."""
    with WorkerPool(_available_cores()) as pool:
        yield LocalEngine(folder, pool)


def _available_cores() -> int:
    return len(os.sched_getaffinity(0))


def _commit_batch(folder: Path, tasks: Sequence[UnitTask]) -> list[tuple[str, str]]:
    return [committed for task in tasks for committed in commit_task(task, folder)]
