"""A simulated cluster: the model of ``upgrade.features`` with processes, disks and faults around it.

There is no second model: who may register, which update is accepted, what a node does with a level that it lacks, what
a downgrade drops and what a broker answers is asked of ``upgrade.features``. When it is asked is said in ``steps``, and
in ``rest``: after every step the cluster comes to rest. A world is a value, and a step gives another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from attrs import evolve, field, frozen

from spark_sim.brokers.group import Group
from spark_sim.brokers.metadata_log import MetadataLog
from spark_sim.brokers.nodes import Process, Processes, Role, supports
from spark_sim.brokers.scenario import BrokerScenario, level_text
from spark_sim.properties import Violation
from spark_sim.scenario import ScenarioError
from upgrade.features.cluster import Cluster, Event, Node, Outcome, What, lacks
from upgrade.features.dialects import Asked
from upgrade.features.discovery import Copies
from upgrade.features.levels import METADATA

EXITED: Final = "exited"
VIOLATION: Final = "violation"


@frozen
class Told:
    """One thing that happened: its kind, the node or member ("" for the cluster), and the words."""

    kind: str
    who: str
    text: str

    def __str__(self) -> str:
        return f"{self.who:<4} {self.text}"


@frozen(eq=False, kw_only=True)
class World:
    """A cluster between two steps, with the whole history of what happened and what was violated."""

    cluster: Cluster
    processes: Processes
    log: MetadataLog
    copies: Copies = field(factory=Copies)
    group: Group | None = None
    events: tuple[Told, ...] = ()
    violations: tuple[Violation, ...] = ()

    @property
    def running(self) -> Iterator[Process]:
        """Nodes that run, by their order in the scenario."""
        return (process for process in self.processes.values() if process.runs)

    def is_in(self, process: Process) -> bool:
        """Whether a node runs and the cluster has it, in each of its roles."""
        known = [self.cluster.brokers] * process.serves + [self.cluster.controllers] * process.votes
        return process.runs and all(process.id in group and group[process.id].live for group in known)

    def process(self, number: int) -> Process:
        """Find a node by its id."""
        return next(process for process in self.processes.values() if process.id == number)

    # -- the next world ------------------------------------------------------------------------------------------

    def note(self, kind: str, who: str, text: str) -> World:
        """Remember that something happened."""
        return evolve(self, events=(*self.events, Told(kind, who, text)))

    def having(self, *processes: Process) -> World:
        """Replace or add nodes."""
        return evolve(self, processes={**self.processes, **{process.name: process for process in processes}})

    def after(self, outcome: Outcome) -> World:
        """Take what the model says has happened; who exits runs no more, in none of its roles."""
        world = evolve(self, cluster=outcome.cluster)
        for event in outcome.events:
            world = world._heard(event)
        return world

    def _heard(self, event: Event) -> World:
        who = "" if event.node is None else self.process(event.node).name
        text = f"{event.what.value}: {event.text}" if event.text else event.what.value
        world = self.note(event.what.name.lower(), who, text)
        return world.without(who) if event.what is What.EXITED else world

    def without(self, name: str, *, meant: bool = True, crashed: bool = False) -> World:
        """Return the cluster after the end of a node; ``meant`` is whether it should still run."""
        process = self.processes[name]
        world = self.having(evolve(process, runs=False, meant=meant, crashed=crashed))
        return evolve(world, cluster=_without(self.cluster, process.id))

    def report(self, found: Iterable[Violation]) -> World:
        """Add violations that are new."""
        world = self
        for violation in found:
            if violation not in world.violations:
                world = world.note(VIOLATION, violation.member, f"VIOLATION {violation.property}: {violation.text}")
                world = evolve(world, violations=(*world.violations, violation))
        return world


def _without(cluster: Cluster, number: int) -> Cluster:
    """Stop all that a node is. A broker stays registered, except in ZooKeeper, where its own node goes with it."""

    def stopped(group: Iterable[tuple[int, Node]]) -> dict[int, Node]:
        return {each: evolve(node, live=node.live and each != number) for each, node in group}

    brokers = stopped(cluster.brokers.items())
    if cluster.in_zookeeper:
        brokers.pop(number, None)
    return evolve(
        cluster,
        brokers=brokers,
        controllers=stopped(cluster.controllers.items()),
        arriving={each: node for each, node in cluster.arriving.items() if each != number},
        active=None if cluster.active == number else cluster.active,
    )


def begun(scenario: BrokerScenario) -> World:
    """Return the cluster of a scenario as it stands before the first step: everybody runs and knows everything.

    ``ScenarioError`` if a node does not support what is said to be finalised.
    """
    in_zookeeper = scenario.dialect.asked is Asked.LIVE_BROKERS
    levels = dict(scenario.levels)
    if METADATA not in levels:
        raise ScenarioError("expected a level of metadata.version after level, such as 3.9-IV0")
    log = MetadataLog.started(levels[METADATA])
    end = len(log.entries)
    processes = {
        name: Process(name, _role(name, in_zookeeper), release, runs=True, loaded=end, compacted=end)
        for name, release in scenario.nodes
    }
    nodes = {each.name: Node(each.id, supports(each.release, scenario.dialect)) for each in processes.values()}
    for name, node in nodes.items():
        for feature, level in lacks(node, levels).items():
            raise ScenarioError(f"{name}@{processes[name].release} does not support {level_text((feature, level))}")
    voters = {each.id: nodes[each.name] for each in processes.values() if each.votes and not in_zookeeper}
    brokers = {each.id: nodes[each.name] for each in processes.values() if each.serves}
    quorum: Any = voters.keys()  # mypy does not know what frozenset takes as a converter
    cluster = Cluster(
        dialect=scenario.dialect,
        brokers=brokers,
        controllers=voters,
        quorum=quorum,
        finalized=levels,
        epoch=1,
    )
    group = Group.watching(scenario.watched) if scenario.watched else None
    return World(cluster=cluster, processes=processes, log=log, group=group)


def _role(name: str, in_zookeeper: bool) -> Role:
    if in_zookeeper or name.startswith("b"):
        return Role.BROKER
    return Role.CONTROLLER if name.startswith("c") else Role.BOTH
