"""A cluster comes to rest: somebody is elected, brokers that wait are dealt with, and everybody hears of everything.

Except those that are stale: they hear nothing until they are told to or start again.
"""

from __future__ import annotations

from attrs import evolve

from spark_sim.brokers.nodes import Process, catalog_of
from spark_sim.brokers.world import World
from upgrade.features.cluster import Cluster, What
from upgrade.features.dialects import Start
from upgrade.features.protection import elect, give_up, learn, register


def at_rest(world: World) -> World:
    """Let time pass until nothing happens any more."""
    while True:
        before = world
        world = _hear(_deal_with_arrivals(elected(world)))
        if world.cluster == before.cluster:
            return world


def candidates(cluster: Cluster) -> list[int]:
    """Return who could be the active controller: in KRaft the live voters, if they are a majority."""
    if cluster.in_zookeeper:
        return sorted(number for number, node in cluster.brokers.items() if node.live)
    live = sorted(number for number, node in cluster.controllers.items() if node.live)
    return live if 2 * len(live) > len(cluster.quorum) else []


def elected(world: World, number: int | None = None) -> World:
    """Make a node the active controller: this one, or if none can stay it the first of those that can be."""
    able = candidates(world.cluster)
    if not able:
        return evolve(world, cluster=evolve(world.cluster, active=None))
    if number is None and world.cluster.active is not None:
        return world
    number = number or able[0]
    cluster = elect(world.cluster, number)
    process = world.process(number)
    world = evolve(world, cluster=evolve(cluster, catalog=catalog_of(process.release)))
    return world.note("elected", process.name, "becomes the active controller")


def dealt_with(world: World, number: int) -> World:
    """Let the controller deal with a broker that waits, if there is a controller; in ZooKeeper a broker comes first."""
    if world.cluster.active is None and not world.cluster.in_zookeeper:
        return world
    outcome = register(world.cluster, number)
    if What.REFUSED in outcome.happened and _was_refused(world, number):
        return world  # it is fenced and tries again and again; once is enough to say so
    return world.after(outcome)


def _was_refused(world: World, number: int) -> bool:
    name = world.process(number).name
    return next((told.kind == "refused" for told in reversed(world.events) if told.who == name), False)


def _deal_with_arrivals(world: World) -> World:
    for number in sorted(world.cluster.arriving):
        world = dealt_with(world, number)
        if number in world.cluster.arriving and world.cluster.active is not None:
            world = _turned_away(world, number)
    return world


def _turned_away(world: World, number: int) -> World:
    match world.cluster.dialect.start:
        case Start.RETRIES:
            return world.after(give_up(world.cluster, number))
        case Start.EXITS:
            return world.after(learn(world.cluster, number))
        case _:
            return world


def _hear(world: World) -> World:
    for process in list(world.running):
        if not process.stale and _is_known(world.cluster, process):
            world = world.after(learn(world.cluster, process.id))
            if world.processes[process.name].runs:
                world = _caught_up(world, process)
    return world


def _is_known(cluster: Cluster, process: Process) -> bool:
    return process.id in cluster.controllers or (process.id in cluster.brokers and process.id not in cluster.arriving)


def _caught_up(world: World, process: Process) -> World:
    world = world.having(evolve(process, loaded=len(world.log.entries)))
    if process.id not in world.cluster.brokers:
        return world
    copies, _ = world.copies.hear(world.cluster, process.id)
    return evolve(world, copies=copies)
