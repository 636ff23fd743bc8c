"""Local processes that compute partitions.

They ignore Ctrl-C, which the driver handles, and exit when the driver exits.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spark_sim.pipeline.sink import StagedResults
from spark_sim.pipeline.work_units import Partition, PartitionResult
from spark_sim.pipeline.worker import Log, SweepExecutor, compute_partition


@contextmanager
def local_executor(log: Log) -> Iterator[SweepExecutor]:
    """Provide a process for each core of this machine."""
    count = len(os.sched_getaffinity(0))
    log(f"{count} processes of this machine, without Spark; rows become JSON lines")
    with worker_pool(count) as pool:
        yield SweepExecutor(
            pool, _compute_batch, one_partition_per_batch=True, cores=lambda: count, cancel=_terminate_workers
        )


def _compute_batch(batch: Sequence[Partition], folder: Path) -> StagedResults:
    return [_compute_into(partition, folder) for partition in batch]


def _compute_into(partition: Partition, folder: Path) -> tuple[PartitionResult, Path | None]:
    rows, result = compute_partition(partition)
    if not rows:
        return result, None
    file = folder / f"{partition.key}.jsonl"
    file.write_text("".join(json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return result, file


def worker_pool(count: int) -> Executor:
    """Return a pool of so many processes."""
    return _SigintFreePool(count, multiprocessing.get_context("spawn"), _exit_with_parent)


def _terminate_workers() -> None:
    """Terminate the processes of the pool, which then fails all its futures.

    No future is cancelled, because Python 3.11's pool fails on cancelled futures when its processes are gone.
    """
    for child in multiprocessing.active_children():
        child.terminate()


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
    """Exit when the driver is killed; otherwise the worker would wait for its next partition for ever."""
    driver = multiprocessing.parent_process()

    def watch() -> None:
        if driver is not None:
            driver.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
