"""Says on standard error what a command is doing, when that takes longer than ten seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Final

from streams_assignor.formats.text import sanitize

FIRST_SECONDS: Final = 10.0
MOST_SECONDS: Final = 60.0
"""Between two lines; at first each comes after twice the time."""
STEP: Final = "streams-assignor.step"
"""The key of ``step`` in ``click.Context.meta``."""


class _Step:
    """The present work of the command of this process."""

    text = ""


def step(text: str) -> None:
    """Say what the command is doing from now on; empty while it shows that itself, or waits for its user."""
    _Step.text = text


@contextmanager
def shown_steps(wait: Callable[[Event, float], bool] = Event.wait) -> Iterator[None]:
    """Print the step of each moment while a command runs: after 10, 20, 40, 80, 140, ... seconds.

    Lines are the same on a terminal and elsewhere, where they show that a job of a scheduler is alive.

    Args:
        wait: Waits for an event for so many seconds, and returns whether it is there.
    """
    ended, began = Event(), time.monotonic()

    def print_steps() -> None:
        due = FIRST_SECONDS
        while not wait(ended, began + due - time.monotonic()):
            if (text := _Step.text) and sys.stderr:  # None: the shell has closed it
                with suppress(OSError, ValueError):
                    print(f"{sanitize(text)} ({due:.0f} s)", file=sys.stderr, flush=True)
            due += min(due, MOST_SECONDS)

    thread = Thread(target=print_steps, daemon=True)
    with suppress(RuntimeError):  # Python in a browser has no threads, and no lines
        thread.start()
    try:
        yield
    finally:
        step("")
        ended.set()
        if thread.ident is not None:
            thread.join()
