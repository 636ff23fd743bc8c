"""Calls one listener for each change of its member's tasks: once, and in order."""

from __future__ import annotations

from streams_assignor.observability.events import Observer, TasksChanged
from streams_assignor.protocol.member import ReceivedAssignment
from streams_assignor.rebalance_listener import (
    OffsetSums,
    OwnedTasks,
    TaskChanges,
    TaskRebalanceListener,
    await_if_needed,
)


class ListenerNotifier:
    """Compares the member's tasks with those announced so far, and announces the difference.

    Nothing is announced after `close`. If a method of the listener raises, the remaining ones are called, then the
    first exception is raised again.
    """

    def __init__(self, listener: TaskRebalanceListener, observe: Observer) -> None:
        self.owned_tasks = OwnedTasks()
        """The tasks that the listener knows about."""
        self._listener = listener
        self._observe = observe
        self._closed = False

    async def offset_sums(self) -> OffsetSums:
        """Return how far the local state is; None if not known."""
        return await await_if_needed(self._listener.offset_sums())

    async def tasks_received(self, received: ReceivedAssignment) -> None:
        """Announce the tasks of an assignment; a dropped assignment has no active tasks and keeps the standby tasks."""
        await self._notify(
            OwnedTasks(received.active, self.owned_tasks.standby if received.dropped else received.standby)
        )

    async def tasks_released(self) -> None:
        """Announce that all active tasks are revoked, as an eager member does before every rebalance."""
        await self._notify(OwnedTasks(standby=self.owned_tasks.standby))

    async def tasks_lost(self) -> None:
        """Announce that all active tasks are lost: the group has rebalanced without the member."""
        await self._notify(OwnedTasks(standby=self.owned_tasks.standby), lost=True)

    async def close(self, *, lost: bool) -> None:
        """Announce the end of all tasks: revoked when the member leaves the group, ``lost`` if the group removed it."""
        try:
            await self._notify(OwnedTasks(), lost=lost)
        finally:
            self._closed = True

    async def _notify(self, after: OwnedTasks, *, lost: bool = False) -> None:
        if self._closed:
            return
        changes, self.owned_tasks = TaskChanges.between(self.owned_tasks, after, lost=lost), after
        if changes != TaskChanges():
            self._observe(TasksChanged(changes))
        errors: list[Exception] = []
        for call in changes.callbacks(self._listener):
            try:
                await await_if_needed(call())
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
