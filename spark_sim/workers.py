"""Processes of this machine that compute slices: deaf to Ctrl-C, which is for the sweep, and gone when the sweep is."""

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

from spark_sim.computing import compute
from spark_sim.jobs import Slice
from spark_sim.runner import Runner, Tell, Written


@contextmanager
def in_processes(tell: Tell) -> Iterator[Runner]:
    """Use every core of this machine."""
    count = len(os.sched_getaffinity(0))
    tell(f"{count} processes of this machine, without Spark; rows become JSON lines")
    with workers(count) as pool:
        yield Runner(pool, _compute_wave, alone=True, cores=lambda: count, cancel=_end_workers)


def _compute_wave(wave: Sequence[Slice], to: Path) -> Written:
    written: Written = []
    for work in wave:
        rows, result = compute(work)
        file = to / f"{work.key}.jsonl"
        file.write_text("".join(json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        written.append((result, file))
    return written


def workers(count: int) -> Executor:
    """Return a pool of so many processes."""
    return _Workers(count, multiprocessing.get_context("spawn"), _end_with_the_sweep)


def _end_workers() -> None:
    """End the processes of a pool, which then fails what it has not done: left alone, they would do more first.

    No future is cancelled, as Python 3.11's pool trips over those when its processes are gone.
    """
    for child in multiprocessing.active_children():
        child.terminate()


class _Workers(ProcessPoolExecutor):
    """Starts its processes in ``submit``, while Ctrl-C is held back; that is inherited, so they never hear it."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do as every pool does; a Ctrl-C of this moment is heard at its end."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_the_sweep() -> None:
    """Watch the sweep from a worker: if it is killed, the worker would wait for its next slice for ever."""
    sweep = multiprocessing.parent_process()

    def watch() -> None:
        if sweep is not None:
            sweep.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
