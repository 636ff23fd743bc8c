"""What exploration says, held against real members and bytes: the same moves, made in ``spark_sim.world``."""

from __future__ import annotations

from attrs import evolve

from spark_sim.properties import OWNED_ONCE, always
from spark_sim.scenario import Move, Scenario, ScenarioError, step
from spark_sim.world import World


def confirmed(scenario: Scenario, broken: str) -> bool | None:
    """Say whether a property does not hold there either; None if the moves cannot be made there."""
    try:
        world = World(scenario).run()
    except ScenarioError:
        return None
    return any(violation.property == broken for violation in world.violations)


def second_owner(led: Scenario) -> Scenario | None:
    """Let members take what a leader has just answered, eager ones first; return the line if a task has two owners."""
    world = World(led).begin()
    try:
        for each in led.steps:
            world.play(each)
    except ScenarioError:
        return None
    taken = []
    for thread in sorted(world.living, key=lambda each: each.cooperative):
        take = Move("take", thread.name)
        if take not in world.moves():
            continue
        world.make(take)
        taken.append(step(take.verb, take.member))
        if any(violation.property == OWNED_ONCE for violation in always(world)):
            return evolve(led, steps=(*led.steps, *taken))
    return None
