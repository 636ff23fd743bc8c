"""Tells one listener what becomes of its tasks: each change once, in order, whatever the consumer goes through."""

from __future__ import annotations

from assignor.member import Received
from assignor.observing import Moved, Observer
from assignor.task_listener import Changes, Held, Sums, TaskListener, told


class Teller:
    """Knows what the listener has been told; nothing more is told after `ends`.

    If a method of the listener raises, the others are called nevertheless; then its error comes out.
    """

    def __init__(self, listener: TaskListener, observe: Observer) -> None:
        self.held = Held()
        self._listener = listener
        self._observe = observe
        self._ended = False

    async def offset_sums(self) -> Sums:
        """Ask how far the state here is."""
        return await told(self._listener.offset_sums())

    async def has(self, received: Received) -> None:
        """These are its tasks from now on; a dropped assignment gives nothing and says nothing about copies."""
        await self._tell(Held(received.active, self.held.standby if received.dropped else received.standby))

    async def gives_up(self) -> None:
        """It lets all tasks go, as an eager member does before every rebalance; its copies stay."""
        await self._tell(Held(standby=self.held.standby))

    async def has_lost(self) -> None:
        """The group has gone on without it."""
        await self._tell(Held(standby=self.held.standby), lost=True)

    async def ends(self, *, lost: bool) -> None:
        """It leaves, or has been thrown out."""
        try:
            await self._tell(Held(), lost=lost)
        finally:
            self._ended = True

    async def _tell(self, after: Held, *, lost: bool = False) -> None:
        if self._ended:
            return
        changes, self.held = Changes.between(self.held, after, lost=lost), after
        if changes != Changes():
            self._observe(Moved(changes))
        errors: list[Exception] = []
        for call in changes.calls(self._listener):
            try:
                await told(call())
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
