"""Local processes that compute work units; each commits a task at a time to a folder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from streams_assignor.spark_sim.jobs.engine import Processes
from streams_assignor.spark_sim.sweep.tables.engine import SweepJob
from streams_assignor.spark_sim.sweep.tables.local import LocalTables, commit_task
from streams_assignor.spark_sim.sweep.worker import UnitTask


class LocalSweep(SweepJob):
    """A sweep in processes of this machine."""

    def __init__(self, engine: Processes, folder: Path) -> None:
        self.engine: Processes = engine
        self.store = LocalTables(folder)
        self.compute = partial(_commit_batch, folder)

    def refuse_earlier_driver(self) -> None:
        """Do nothing: the folder is locked."""


def _commit_batch(folder: Path, tasks: Sequence[UnitTask]) -> list[tuple[str, str]]:
    return [committed for task in tasks for committed in commit_task(task, folder)]
