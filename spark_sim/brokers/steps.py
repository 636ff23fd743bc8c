"""What each step of a scenario does to a cluster; the words of it are in ``scenario.VERBS``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from attrs import evolve

from spark_sim.brokers.group import Group
from spark_sim.brokers.nodes import Process, Role, supports
from spark_sim.brokers.properties import always, eventually, lacked_by
from spark_sim.brokers.rest import at_rest, dealt_with, elected
from spark_sim.brokers.scenario import BrokerScenario, Step, level_text
from spark_sim.brokers.world import World, begun
from spark_sim.scenario import ScenarioError
from upgrade.brokers.versions import BrokerRelease
from upgrade.features.cluster import What
from upgrade.features.dialects import Dialect, Kind
from upgrade.features.levels import METADATA
from upgrade.features.protection import start_broker, start_controller, unregister
from upgrade.features.update import Request, Update, update


def begin(scenario: BrokerScenario) -> World:
    """Return the cluster of a scenario before its first step."""
    return at_rest(begun(scenario))


def play(world: World, step: Step) -> World:
    """Play one step and let the cluster come to rest; ``UpgradeError`` if there is nobody who could do that."""
    after = at_rest(_PLAY[step.verb](world, step))
    return after.report(always(world, after))


def finish(world: World) -> World:
    """Judge the cluster as it stands now."""
    return world.report(eventually(world))


def run(scenario: BrokerScenario) -> World:
    """Play a whole scenario, to the end even after a violation."""
    world = begin(scenario)
    for step in scenario.steps:
        world = play(world, step)
    return finish(world)


# -- nodes -----------------------------------------------------------------------------------------------------------


def _stop(world: World, name: str, kind: str = "stopped") -> World:
    if not world.processes[name].runs:
        return world.having(evolve(world.processes[name], meant=False))
    text = "stops" if kind == "stopped" else "crashes"
    return world.note(kind, name, text).without(name, meant=False, crashed=kind == "crashed")


def _start(world: World, name: str, release: BrokerRelease | None) -> World:
    world = _stop(world, name)
    process = world.processes[name]
    process = evolve(process, release=release or process.release, runs=True, meant=True, crashed=False, stale=False)
    world = world.having(process).note("started", name, f"starts as {process.release}")
    if process.votes and not world.cluster.in_zookeeper:
        world = _start_controller(world, process)
    if process.serves and world.processes[name].runs:
        world = world.after(start_broker(world.cluster, process.id, supports(process.release, world.cluster.dialect)))
    return world


def _start_controller(world: World, process: Process) -> World:
    """Let it replay the levels in its log one by one, and then what is finalised now."""
    cluster, ranges = world.cluster, supports(process.release, world.cluster.dialect)
    for level in world.log.levels_from(process.begins_at(cluster.dialect)):
        then = start_controller(evolve(cluster, finalized={METADATA: level}), process.id, ranges)
        if What.EXITED in then.happened:
            return world.after(evolve(then, cluster=cluster))
    return world.after(start_controller(cluster, process.id, ranges))


def _bounce(world: World, step: Step) -> World:
    for name, release in step.nodes:
        stopped = at_rest(_stop(world, name))
        world = at_rest(_start(stopped.report(always(world, stopped)), name, release))
    return world


def _starts(world: World, step: Step) -> World:
    for name, release in step.nodes:
        world = _start(world, name, release)
    return world


def _stops(world: World, step: Step) -> World:
    for name, _ in step.nodes:
        world = at_rest(_stop(world, name))
    return world


def _crash(world: World, step: Step) -> World:
    for name, _ in step.nodes:
        world = _stop(world, name, "crashed")
    return world


def _come(world: World, step: Step) -> World:
    """Let new brokers come up, each with the latest snapshot of the controllers on its empty disk."""
    compacted = max(process.compacted for process in world.processes.values())
    for name, release in step.nodes:
        assert release is not None, "a newcomer has a release; this should never happen"
        entries = len(world.log.entries)
        newcomer = Process(name, Role.BROKER, release, own=False, loaded=entries, compacted=compacted)
        world = _start(world.having(newcomer), name, release)
    return world


def _unregister(world: World, step: Step) -> World:
    for name, _ in step.nodes:
        world = world.after(unregister(world.cluster, world.processes[name].id))
    return world


def _elect(world: World, step: Step) -> World:
    return elected(world, world.processes[step.nodes[0][0]].id)


# -- levels ----------------------------------------------------------------------------------------------------------


def _finalise(world: World, step: Step) -> World:
    return _request(world, step, Kind.UPGRADE)


def _downgrade(world: World, step: Step) -> World:
    return _request(world, step, Kind.UNSAFE if step.mode == "unsafe" else Kind.SAFE)


def _request(world: World, step: Step, kind: Kind) -> World:
    cluster = world.cluster
    if cluster.active is None:
        return world.note("unanswered", "", "there is no active controller to ask")
    code = code_of(cluster.dialect, kind)
    answer = update(cluster, Request(tuple(Update(feature, level, code) for feature, level in step.levels)))
    for feature, result in {"": answer.top, **answer.results}.items():
        if not result.ok:
            world = world.note("refused", "", f"{feature}{': ' * bool(feature)}{result.code.name} {result.message}")
    if answer.cluster is cluster:
        return world
    written = [level for level in step.levels if not answer.results or answer.results[level[0]].ok]
    world = world.note("finalized", "", f"finalised: {', '.join(map(level_text, written))}")
    world = evolve(world, cluster=answer.cluster).report(lacked_by(answer.cluster))
    before, after = cluster.level_of(METADATA), answer.cluster.level_of(METADATA)
    if before == after:
        return world
    return evolve(world, log=world.log.changed(before, after, unsafe=cluster.dialect.kind(code) is Kind.UNSAFE))


def code_of(dialect: Dialect, kind: Kind) -> int:
    """Return what a request says; KIP-584 has one way to lower a level, whatever is lost by it."""
    codes = {known: code for code, known in dialect.kinds.items()}
    return codes.get(kind, codes[Kind.SAFE])


def _race(world: World, step: Step) -> World:
    """Let brokers come up, and then deal with their registration and the request in the order of the scenario."""
    world = _come(world, step)
    if not step.mode:
        for name, _ in step.nodes:
            if world.processes[name].runs:
                world = dealt_with(world, world.processes[name].id)
    return _request(world, step, Kind.UPGRADE)


# -- who hears what --------------------------------------------------------------------------------------------------


def _stale(world: World, step: Step) -> World:
    return world.having(*(evolve(world.processes[name], stale=step.verb == "stale") for name, _ in step.nodes))


def _snapshot(world: World, _step: Step) -> World:
    return world.having(*(evolve(process, compacted=process.loaded) for process in world.running))


def _ask(world: World, step: Step) -> World:
    ((name, _),) = step.nodes
    node = world.cluster.brokers.get(world.processes[name].id)
    if world.group is None or node is None or not world.processes[name].runs:
        raise ScenarioError(f"{name} does not answer: expected a broker that runs")
    answer = world.copies.answer(node)
    known = answer.finalized.get(world.group.feature, 0)
    told = world.note("asked", name, f"answers with {world.group.feature} {known or 'none'} (epoch {answer.epoch})")
    return _with_group(told, world.group.asks(answer))


def _restart(world: World, step: Step) -> World:
    for name, _ in step.nodes:
        if world.group is not None:
            world = _with_group(world.note("restarted", name, "restarts"), world.group.restarted(name))
    return world


def _with_group(world: World, group: Group) -> World:
    """Take the group after a rebalance, if there was one, and say who knows more now."""
    before = world.group.levels if world.group else {}
    for name, level in group.levels.items():
        if level != before.get(name):
            world = world.note("learned", name, f"uses {group.feature} {level or 'none'}")
    return evolve(world, group=group)


_PLAY: Final[Mapping[str, Callable[[World, Step], World]]] = {
    "bounce": _bounce,
    "stop": _stops,
    "start": _starts,
    "crash": _crash,
    "register": _come,
    "unregister": _unregister,
    "elect": _elect,
    "finalise": _finalise,
    "downgrade": _downgrade,
    "race": _race,
    "stale": _stale,
    "fresh": _stale,
    "snapshot": _snapshot,
    "ask": _ask,
    "restart": _restart,
}
