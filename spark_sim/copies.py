"""Which state the members of a simulated group find on their disks, and how far it is.

The threads of a process share its disk. All copies are as far as the changelog, unless that is long (``with lag``):
then a copy begins at its start, and is complete when its task has run here, or when the time has come to look again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probing.follow_up import Reason
from spark_sim.shape import FAR
from subscription_codec import TaskId

if TYPE_CHECKING:
    from spark_sim.threads import Thread
    from spark_sim.world import World

NONE: frozenset[TaskId] = frozenset()


def sums(world: World, thread: Thread) -> dict[TaskId, int]:
    """Say how far the copies are that a member tells of in its subscription."""
    stored = thread.stored if world.shape.threads == 1 else _stored(world, thread)
    if not world.shape.lag:
        return dict.fromkeys(stored, 0)
    all_of = complete(world, thread) | thread.assignor.member.previous_active
    world.restored[thread.process] = all_of
    return {task: FAR if task in all_of else 0 for task in stored}


def look_again(world: World) -> bool:
    """Let time pass until somebody is to ask for a rebalance; every copy is complete by then. False: nobody is to."""
    times = [thread.looks_again_at for thread in world.living if thread.looks_again_at is not None]
    if not times:
        return False
    world.now = max(world.now, min(times))
    for thread in world.living:
        world.restored[thread.process] = complete(world, thread) | thread.held
        if thread.looks_again_at is not None and thread.looks_again_at <= world.now:
            thread.looks_again_at = None
            thread.wants_to_join = True
            thread.waits = Reason.PROBING
            world.note("looks", thread.name)
    return True


def _stored(world: World, thread: Thread) -> frozenset[TaskId]:
    """Share the disk of a process. Since 2.6 each thread tells of what it has open, the first one of the rest too."""
    crew = world.crew(thread)
    stored = NONE.union(*(each.stored for each in crew))
    if thread.names_all_state:
        return stored
    first = next(each for each in crew if each.alive)
    if thread is not first:
        return stored & thread.held
    return stored - NONE.union(*(each.held for each in crew if each.alive and each is not thread))


def complete(world: World, thread: Thread) -> frozenset[TaskId]:
    """Return the tasks of which the process of a member has all the state there is (only with ``lag``)."""
    return world.restored.get(thread.process, NONE)
