"""One member of the simulated group: a thread of a process, with the real assignor, and what the world knows of it."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from functools import lru_cache
from uuid import UUID

from attrs import define, field

from assignor.eras import Names
from probing.follow_up import Reason
from spark_sim.recalling import RecallingAssignor
from spark_sim.scenario import Instance
from spark_sim.shape import Shape
from subscription_codec import TaskId

FIRST_WITH_INSTANCE_ID = (2, 3)
"""``group.instance.id`` (KIP-345)."""


@define(eq=False)
class Thread:
    """One member; ``process`` is the name of its process, its own name if that has no other thread.

    It dies in the ``doomed_in``-th rebalance from now (0: it does not). ``owned`` are the tasks that it is working on,
    ``held`` those of its last assignment, standbys included. ``waits`` says why it has asked for another rebalance at
    once, ``leaves`` that it is to leave the group before; ``looks_again_at`` is when (simulated ms) it will ask for
    one. ``ended``: it has shut down as it was told.
    """

    name: str
    process: str
    instance: Instance
    assignor: RecallingAssignor
    instance_id: str | None = None
    member_id: str | None = None
    alive: bool = True
    ended: bool = False
    doomed_in: int = 0
    wants_to_join: bool = True
    leaves: bool = False
    owned: frozenset[TaskId] = frozenset()
    held: frozenset[TaskId] = frozenset()
    received: int | None = None
    waits: Reason | None = None
    looks_again_at: int | None = None
    sendable: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.sendable = self.assignor.used_version

    @classmethod
    def started(
        cls,
        name: str,
        process: str,
        instance: Instance,
        shape: Shape,
        process_id: UUID,
        stored: Iterable[TaskId],
    ) -> Thread:
        """Start a member that finds the state of some tasks."""
        static = shape.static and instance.release.number >= FIRST_WITH_INSTANCE_ID
        assignor = copy(_fresh(instance, shape, process_id, frozenset(stored)))
        return cls(name, process, instance, assignor, instance_id=name if static else None)

    @property
    def cooperative(self) -> bool:
        """Whether it keeps its tasks while it rejoins."""
        return self.assignor.member.cooperative

    @property
    def stored(self) -> frozenset[TaskId]:
        """The tasks of which it has seen state."""
        return self.assignor.member.stored

    @property
    def names_all_state(self) -> bool:
        """Whether it names the state of all its process, whichever thread has it open (up to 2.5)."""
        return self.assignor.member.era.names is not Names.STATEFUL

    def end(self) -> None:
        """Be gone."""
        self.alive = False
        self.owned = frozenset()

    def fork(self) -> Thread:
        """Return an independent copy; what an assignor remembers is a value, so a shallow copy of it is enough."""
        twin = copy(self)
        twin.assignor = copy(self.assignor)
        return twin


@lru_cache(maxsize=1 << 8)
def _fresh(instance: Instance, shape: Shape, process_id: UUID, stored: frozenset[TaskId]) -> RecallingAssignor:
    return RecallingAssignor(
        shape.layout, instance.config(shape), process_id=process_id, release=instance.release, stored=stored
    )
