"""What an operator does, phase by phase: each phase offers the steps that may come next, in every order.

Roll()               bounce every node to the newer release, one by one
Change()             finalise the newer release's level of metadata.version
Change("downgrade")  lower it again
Snapshot()           wait until every node has written its metadata down
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from attrs import frozen

from spark_sim.brokers.nodes import Process, newest_level
from spark_sim.brokers.scenario import Level, Step, step
from spark_sim.brokers.world import World
from upgrade.brokers.versions import BrokerRelease
from upgrade.features.levels import METADATA


@frozen
class Pair:
    """From which release to which; a cluster starts at the newest level of the older one."""

    origin: BrokerRelease
    target: BrokerRelease

    @property
    def low(self) -> Level:
        """The newest level of the older release."""
        return METADATA, newest_level(self.origin)

    @property
    def high(self) -> Level:
        """The newest level of the newer release."""
        return METADATA, newest_level(self.target)


class Phase(Protocol):
    """Something that the operator does, in one step or many; an ``open_ended`` one may be given up at any time."""

    @property
    def open_ended(self) -> bool: ...

    def done(self, world: World, pair: Pair) -> bool:
        """Whether there is nothing left of it to do."""
        ...

    def steps(self, world: World, pair: Pair) -> Iterator[Step]:
        """Yield the steps that may come next."""
        ...


@frozen
class Roll:
    """Stop each node and start it as another release, one by one, in any order; ``back`` to the older release.

    With ``trying`` the operator tries to finalise in the middle of it.
    """

    back: bool = False
    trying: bool = False
    open_ended: bool = False

    def done(self, world: World, pair: Pair) -> bool:
        """All nodes run as the release."""
        return all(each.runs and each.release == self._to(pair) for each in own(world))

    def steps(self, world: World, pair: Pair) -> Iterator[Step]:
        """Stop one if all run; start those that do not."""
        to = self._to(pair)
        down = [each for each in own(world) if not each.runs]
        for each in down:
            yield step("start", each.name, to=to if each.release != to else None)
            if each.crashed and each.release != to:
                yield step("start", each.name)
        if not down:
            yield from (step("stop", each.name) for each in own(world) if each.release != to)
        if self.trying:
            yield step("finalise", level=pair.high)

    def _to(self, pair: Pair) -> BrokerRelease:
        return pair.origin if self.back else pair.target


@frozen
class Change:
    """Raise metadata.version to the newer release's level, or lower it again; clear out who is in the way.

    Who is ``patient`` also waits until every node has loaded what was lowered, as KIP-778 says.
    """

    verb: str = "finalise"
    mode: str = ""
    patient: bool = True
    open_ended: bool = False

    def done(self, world: World, pair: Pair) -> bool:
        """The level is there, and if it is a lower one, every node knows."""
        reached = world.cluster.level_of(METADATA) == self._level(pair)[1]
        waits = self.verb == "downgrade" and self.patient
        return reached and (not waits or all(each.loaded == len(world.log.entries) for each in own(world)))

    def steps(self, world: World, pair: Pair) -> Iterator[Step]:
        """Ask for it, and then wait; or take away a newcomer that has not the level."""
        yield from repairs(world)
        if world.cluster.level_of(METADATA) != self._level(pair)[1]:
            yield step(self.verb, level=self._level(pair), mode=self.mode)
        for each in world.processes.values():
            if not each.own and each.release != pair.target:
                if each.runs:
                    yield step("stop", each.name)
                elif each.id in world.cluster.brokers:
                    yield step("unregister", each.name)

    def _level(self, pair: Pair) -> Level:
        return pair.high if self.verb == "finalise" else pair.low


@frozen
class Snapshot:
    """Wait until every node has written a snapshot of its metadata."""

    open_ended: bool = False

    def done(self, world: World, _pair: Pair) -> bool:
        """All nodes have one that is up to date."""
        return all(each.runs and each.compacted == len(world.log.entries) for each in own(world))

    def steps(self, world: World, _pair: Pair) -> Iterator[Step]:
        """Wait."""
        yield from repairs(world)
        yield Step("snapshot")


def own(world: World) -> list[Process]:
    """Return the nodes of the cluster, without who came later."""
    return [each for each in world.processes.values() if each.own]


def repairs(world: World) -> Iterator[Step]:
    """Yield what brings back a node that does not run, as the release that it was."""
    return (step("start", each.name) for each in own(world) if not each.runs)
