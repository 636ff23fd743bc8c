"""Puts the completed commits of kafka-python into the order in which they were called."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any


class _Slot:
    """The place of one commit in the order of calls."""

    __slots__ = ("callback", "completed")

    def __init__(self, callback: Callable[..., object]) -> None:
        self.callback = callback
        self.completed: tuple[Any, ...] | None = None


class CommitQueue(deque[Any]):
    """Completed commits in the order of their calls; those that wait for an earlier one are not in it yet."""

    def __init__(self) -> None:
        super().__init__()
        self._slots: deque[_Slot] = deque()
        self._lock = Lock()  # a commit completes on the I/O thread, or on the user's thread if it fails at once

    def reserve(self, callback: Callable[..., object]) -> _Slot:
        """Return the slot that replaces a callback."""
        self._slots.append(slot := _Slot(callback))
        return slot

    def cancel(self, slot: _Slot) -> None:
        """Drop the slot of a commit that was not sent."""
        with self._lock:
            self._slots.remove(slot)
            self._release()

    def appendleft(self, completed: tuple[Any, ...]) -> None:
        """Take a commit that is complete: its slot or callback, offsets, and result."""
        slot, *rest = completed
        if not isinstance(slot, _Slot):  # without a callback of the user
            self.append(completed)
            return
        with self._lock:
            slot.completed = (slot.callback, *rest)
            self._release()

    def _release(self) -> None:
        while self._slots and (completed := self._slots[0].completed):
            self._slots.popleft()
            self.append(completed)
