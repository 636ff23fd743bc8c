"""What each step of a scenario does to a world: something happens, and the group comes to rest unless it is held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attrs import evolve

from spark_sim.resting import settle
from spark_sim.scenario import MODES, VERBS, Move, ScenarioError, Step, Takes

if TYPE_CHECKING:
    from spark_sim.world import World

FIRST_WITH_SHUTDOWN: Final = (2, 8)
"""The first release whose members can ask that the whole application ends (KIP-663)."""


def play(world: World, step: Step) -> None:
    """Play a step; ``ScenarioError`` if it cannot happen now."""
    if VERBS[step.verb] is Takes.MEMBERS:
        for name in step.names:
            world.make(Move(step.verb, name))
    else:
        _happen(world, step)
    if step.verb != "elect":
        _rest(world)


def _rest(world: World) -> None:
    if not world.held:
        settle(world)


def _happen(world: World, step: Step) -> None:
    leave = step.mode == "leave"
    match step.verb:
        case "elect":
            world.coordinator.elects = step.mode or step.names[0]
        case "hold" | "settle":
            world.held = step.verb == "hold"
        case "bounce":
            for name, instance in step.members:
                world.stop(name, "stopped", leave=leave)
                if step.mode != "fast":
                    _rest(world)
                world.start(name, instance)
                _rest(world)
        case "start":
            for name, instance in step.members:
                _expect(world, step, name, running=False)
                world.start(name, instance)
        case "crash" if step.mode:
            for name in step.names:
                world.doom(name, MODES["crash"].index(step.mode) + 1)
        case "stop" | "crash":
            for name in step.names:
                _expect(world, step, name, running=True)
                world.stop(name, "stopped" if step.verb == "stop" else "crashed", leave=leave)
        case "shutdown":
            for name in step.names:
                _expect(world, step, name, running=True)
                _ask_for_the_end(world, name)
        case _:
            _topics(world, step)


def _expect(world: World, step: Step, name: str, *, running: bool) -> None:
    """Hold a line of single moves to what is possible; a coarse step with nothing to do does nothing."""
    if world.held and running != world.runs(name):
        raise ScenarioError(f"{step.verb} {name}: {name} {'does not run' if running else 'runs already'}")


def _ask_for_the_end(world: World, process: str) -> None:
    asking = next((thread for thread in world.living if thread.process == process), None)
    if asking is None:
        return
    release = asking.instance.release
    if release.of_kafka and release.number < FIRST_WITH_SHUTDOWN:
        raise ScenarioError(f"shutdown {process}: expected a release from 2.8 on, {process} runs {release}")
    asking.assignor.request_shutdown()
    asking.wants_to_join = True
    world.shutdown_wanted = True
    world.note("asked", asking.name)


def _topics(world: World, step: Step) -> None:
    """Topics go and come; it is the leader who sees that, and rejoins."""
    topics = world.shape.topics
    present = dict(world.cluster.partitions)
    for name in step.names:
        present.pop(name, None)
        if step.verb == "find":
            present[name] = topics[name]
        world.note("lost" if step.verb == "lose" else "found", name)
    world.cluster = evolve(world.cluster, partitions=present)
    for thread in world.living:
        thread.wants_to_join |= thread.member_id is not None and thread.member_id == world.coordinator.leader
