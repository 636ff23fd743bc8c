"""How a simulated group comes to rest: all moves that are left, in the one order that coarse steps have.

Everybody has joined before the first generation begins, and everybody has heard its answer before anybody rejoins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_sim import copies
from spark_sim.coordinator import Phase
from spark_sim.properties import ENDLESS, Violation, always

if TYPE_CHECKING:
    from spark_sim.world import World

MOST_REBALANCES: Final = 20
"""More rebalances than this after one step count as endless: a healthy step needs at most a handful."""


def settle(world: World) -> None:
    """Let time pass until nobody wants to join and nobody in the group is gone."""
    rebalances = 0
    while rebalances < MOST_REBALANCES:
        if _hear(world):
            continue
        if _join(world):
            rebalances += 1
        elif gone := world.gone:
            world.expire(gone)
            world.complete()
        elif not copies.look_again(world):
            break
    else:
        world.report([Violation(ENDLESS, "", f"more than {MOST_REBALANCES} rebalances after one step")])
    world.most_rebalances = max(world.most_rebalances, rebalances)


def _hear(world: World) -> bool:
    """Let the leader answer, or everybody hear its answer: nobody's LeaveGroup is faster than another's answer.

    Who is eager or new hears first, as it begins at once with what others may still have to give up (KIP-429).
    """
    group = world.coordinator
    if group.phase is Phase.COMPLETING:
        leader = next((thread for thread in world.living if thread.member_id == group.leader), None)
        if leader is not None:
            world.lead(leader)
        return leader is not None
    answered = [thread for thread in world.generation if thread.member_id in group.untaken]
    keeping = any(thread.cooperative for thread in answered)
    newest_first = answered[::-1]
    hearing = sorted(newest_first, key=lambda thread: thread.cooperative) if keeping else answered
    for thread in hearing:
        before = thread.owned
        world.take(thread)
        # Who gets nothing new makes no second owner; in a large group that is nearly everybody.
        if keeping and (world.violations or not thread.owned <= before):
            world.report(always(world))
    if answered:
        world.report(always(world))
    for thread in answered:
        world.leave_to_rejoin(thread)
    return bool(answered)


def _join(world: World) -> bool:
    """Let those join who want to, and then all others that the group waits for. False: nobody joins."""
    joining = [thread for thread in world.living if thread.wants_to_join]
    for thread in joining:
        world.join(thread)
    for thread in world.living:
        if world.coordinator.waits_for(thread.member_id):
            joining.append(thread)
            world.join(thread)
    world.complete()
    return bool(joining)
