"""Processes that compute for a command.

They ignore Ctrl-C, which the command handles, and never outlive it: when the command ends, however it does, they exit.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from types import TracebackType
from typing import Any


class WorkerPool(ProcessPoolExecutor):
    """So many processes; used in a ``with`` statement, an exception such as that of Ctrl-C terminates them.

    They are started in ``submit`` while SIGINT is blocked, and inherit that, so they never receive it.
    """

    def __init__(self, count: int) -> None:
        self._other_children = frozenset(multiprocessing.active_children())
        super().__init__(count, multiprocessing.get_context("spawn"), _exit_with_parent)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Wait for the processes to end."""
        if error is not None:
            self.terminate()
        return super().__exit__(kind, error, trace)

    def terminate(self) -> None:
        """Terminate the processes whatever they compute; the pool then fails its futures.

        No future is cancelled, because Python 3.11's pool fails on cancelled futures when its processes are gone.
        """
        for child in multiprocessing.active_children():
            if child not in self._other_children:
                child.terminate()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call; a SIGINT of this moment is delivered at its end."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _exit_with_parent() -> None:
    """Exit when the command is killed; otherwise the worker would wait for its next task for ever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
