"""Local processes that compute work units.

They ignore Ctrl-C, which the driver handles, and exit when the driver exits.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from spark_sim.pipeline.tables.engine import SweepEngine
from spark_sim.pipeline.tables.local import LocalTables, commit_task
from spark_sim.pipeline.worker import UnitTask


class LocalEngine(SweepEngine):
    """A process for each core of this machine; each commits a task at a time."""

    one_task_per_batch = True

    def __init__(self, folder: Path, pool: Executor) -> None:
        self.store = LocalTables(folder)
        self.pool = pool
        self.compute = partial(_commit_batch, folder)

    def cores(self) -> int:
        """Return the number of processes."""
        return _available_cores()

    def refuse_earlier_driver(self) -> None:
        """Do nothing: the folder is locked."""

    def cancel(self) -> None:
        """Terminate the processes of the pool, which then fails all its futures.

        No future is cancelled, because Python 3.11's pool fails on cancelled futures when its processes are gone.
        """
        for child in multiprocessing.active_children():
            child.terminate()


@contextmanager
def local_engine(folder: Path) -> Iterator[LocalEngine]:
    """Provide a process for each core of this machine; they start with the first task."""
    with worker_pool(_available_cores()) as pool:
        yield LocalEngine(folder, pool)


def _available_cores() -> int:
    return len(os.sched_getaffinity(0))


def _commit_batch(folder: Path, tasks: Sequence[UnitTask]) -> list[tuple[str, str]]:
    return [found for task in tasks for found in commit_task(task, folder)]


def worker_pool(count: int) -> Executor:
    """Return a pool of so many processes."""
    return _SigintFreePool(count, multiprocessing.get_context("spawn"), _exit_with_parent)


class _SigintFreePool(ProcessPoolExecutor):
    """Starts its processes in ``submit`` while SIGINT is blocked; they inherit that, so they never receive it."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call; a SIGINT of this moment is delivered at its end."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _exit_with_parent() -> None:
    """Exit when the driver is killed; otherwise the worker would wait for its next task for ever."""
    driver = multiprocessing.parent_process()

    def watch() -> None:
        if driver is not None:
            driver.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
