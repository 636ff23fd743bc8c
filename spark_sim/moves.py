"""The moves of a simulated group: which are possible, why others are not, and how one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_sim.coordinator import Phase
from spark_sim.properties import always
from spark_sim.scenario import Move, ScenarioError

if TYPE_CHECKING:
    from spark_sim.threads import Thread
    from spark_sim.world import World

VERBS: Final = ("join", "lead", "take", "expire", "late")


def possible(world: World) -> tuple[Move, ...]:
    """List the moves that can be made now, but for a JoinGroup without a reason."""
    return tuple(
        Move(verb, member)
        for verb in VERBS
        for member in world.threads
        if not obstacle(world, Move(verb, member)) and (verb != "join" or _has_to_join(world, world.threads[member]))
    )


def obstacle(world: World, move: Move) -> str:
    """Say why a move cannot be made now; "" if it can.

    More can be made than is listed as possible: a member of a stable group may join although it does not have to.
    """
    name, thread, group = move.member, world.threads[move.member], world.coordinator
    if move.verb == "expire":
        return "" if _gone_of(world, name) else f"no session of {name} has been left alone"
    if not thread.alive:
        return f"{name} does not run"
    match move.verb:
        case "join":
            nudges = group.phase is Phase.STABLE and thread.member_id in group.members
            return "" if nudges or _has_to_join(world, thread) else f"{name} has joined"
        case "lead":
            if group.phase is not Phase.COMPLETING:
                return f"the group is {group.phase.name}, not {Phase.COMPLETING.name}"
            return "" if group.leader == thread.member_id else f"{name} does not lead"
        case "take":
            return "" if thread.member_id in group.untaken else f"{name} has no answer to take"
        case _:
            return "" if group.waits_for(thread.member_id) else f"nobody waits for {name}"


def make(world: World, move: Move) -> None:
    """Make a move; ``ScenarioError`` if it cannot be made now."""
    if why := obstacle(world, move):
        others = ", ".join(map(str, possible(world))) or "nothing"
        raise ScenarioError(f"expected one of the moves that are possible ({others}), got {move}: {why}")
    thread = world.threads[move.member]
    match move.verb:
        case "join":
            world.join(thread)
        case "lead":
            world.lead(thread)
        case "take":
            world.take(thread)
            world.report(always(world))
            world.leave_to_rejoin(thread)
        case "expire":
            world.expire(_gone_of(world, move.member)[:1])
        case _:
            world.be_late(thread)
    world.complete()


def _has_to_join(world: World, thread: Thread) -> bool:
    return thread.wants_to_join or world.coordinator.waits_for(thread.member_id)


def _gone_of(world: World, name: str) -> list[str]:
    return [member_id for member_id in world.gone if member_id.rpartition("-")[0] == name]
