"""The plans of an operator, as a table, and what can go wrong meanwhile.

What the operator does not choose (crashes, stale brokers, an old broker that comes at a bad moment, a member that
restarts) are ``faults`` and ``races``; what may happen at any time and is no fault is ``in_passing``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve, frozen

from spark_sim.brokers.phases import Change, Pair, Phase, Roll, Snapshot, repairs
from spark_sim.brokers.scenario import MEMBERS, Step, step
from spark_sim.brokers.world import World
from upgrade.features.dialects import DIALECTS, KAFKA_4, KIP_778, Dialect

NEWCOMER: Final = "b9"
"""The old broker that comes at a bad moment."""


@frozen
class Plan:
    """Phases one after the other.

    ``documented`` are the dialects whose documents tell an operator to do so, ``dialects`` those in which it differs
    from other plans. ``watched`` is whether a Streams group watches the level meanwhile.
    """

    name: str
    means: str
    phases: tuple[Phase, ...]
    documented: tuple[Dialect, ...] = ()
    dialects: tuple[Dialect, ...] = DIALECTS
    watched: bool = False

    def options(self, world: World, pair: Pair, place: int) -> Iterator[tuple[Step, int]]:
        """Yield what the operator may do next, and the phase that it belongs to; at the end, only repairs."""
        while place < len(self.phases) and self.phases[place].done(world, pair):
            place += 1
        if place == len(self.phases):
            yield from ((each, place) for each in repairs(world))
            return
        phase = self.phases[place]
        yield from ((each, place) for each in phase.steps(world, pair))
        if phase.open_ended:
            yield from self.options(world, pair, place + 1)

    def finished(self, world: World, pair: Pair, place: int) -> bool:
        """Whether the operator has come to the end."""
        return all(phase.done(world, pair) for phase in self.phases[place:])


_UP: Final = (Roll(), Change())
_BACK: Final = Roll(back=True)
_LOWER: Final = Change("downgrade")
_KRAFT: Final = (KIP_778, KAFKA_4)

_PLANS: Final = (
    Plan("upgrade", "bounce every node, then finalise", _UP, DIALECTS),
    Plan("early", "try to finalise all the time while nodes are bounced", (Roll(trying=True), Change())),
    Plan("back", "bounce some nodes, and back before anything is finalised", (Roll(open_ended=True), _BACK), DIALECTS),
    Plan("at_once", "finalise, bounce back, the level stays", (*_UP, _BACK)),
    Plan("lower_and_back", "finalise, lower the level, bounce back", (*_UP, _LOWER, _BACK), _KRAFT),
    Plan("hasty", "the same, not waiting until every node knows", (*_UP, Change("downgrade", patient=False), _BACK)),
    Plan("snapshot", "the same, waiting for a snapshot", (*_UP, _LOWER, Snapshot(), _BACK), dialects=_KRAFT),
    Plan("lossy", "the same, whatever is lost", (*_UP, Change("downgrade", "unsafe"), _BACK), (KIP_778,), _KRAFT),
    Plan("watched", "a group watches an upgrade", _UP, DIALECTS, watched=True),
    Plan("watched_lower", "a group watches a level that is finalised and lowered", (*_UP, _LOWER), watched=True),
)
PLANS: Final[Mapping[str, Plan]] = {plan.name: plan for plan in _PLANS}


def faults(world: World, pair: Pair, plan: Plan) -> Iterator[Step]:
    """Yield what can go wrong now."""
    for each in world.running:
        yield step("crash", each.name)
        if not each.stale:
            yield step("stale", each.name)
    if NEWCOMER not in world.processes:
        yield step("register", NEWCOMER, to=pair.origin)
    if plan.watched:
        yield from (step("restart", name) for name in MEMBERS)


def races(world: World, pair: Pair, asked: Step) -> Iterator[Step]:
    """Yield what becomes of a request to finalise if an old broker comes up at the same moment."""
    if asked.verb == "finalise" and NEWCOMER not in world.processes:
        for mode in ("", "after"):
            yield evolve(step("race", NEWCOMER, to=pair.origin, mode=mode), levels=asked.levels)


def in_passing(world: World) -> Iterator[Step]:
    """Yield what may happen at any time: who crashed returns, who is stale hears, the leader of a group asks."""
    for each in world.processes.values():
        if each.crashed and not each.own:
            yield step("start", each.name)
    for each in world.running:
        if each.stale:
            yield step("fresh", each.name)
        if world.group and each.id in world.cluster.brokers:
            yield step("ask", each.name)
