"""Search among coarse schedules of real members: what packed states do not see (tasks, threads, topics, lags).

Breadth first over what people and machines do to a group, and nothing else: a member stops, starts as what it was or as
what comes next, or is restarted before anybody has noticed; a source topic is lost; somebody asks that all end. After
each step the group comes to rest, but the first two may also happen at once. So the first schedule found is a shortest
one, and a hunt that finds nothing has played *all* schedules of so many steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from string import ascii_uppercase
from typing import Final, NamedTuple

from attrs import evolve, frozen

from spark_sim.known.noting import Noting
from spark_sim.scenario import Instance, Scenario, Step, step
from spark_sim.shape import NORMAL, Shape
from spark_sim.steps import FIRST_WITH_SHUTDOWN
from spark_sim.world import World

HOLD: Final = Step("hold")
SETTLE: Final = Step("settle")
ELECTS: Final = ("oldest", "newest")
_AT_ONCE: Final = 2


@frozen
class Hunt:
    """Where to look: in a group whose members are ``course[0]`` and become what follows there, of this shape.

    ``steps`` is the length of the longest schedules; two steps at once count as two. ``shows`` is the property that is
    wanted to break, ``says`` a part of what is then said.
    """

    course: tuple[Instance, ...]
    shows: str
    says: str = ""
    shape: Shape = NORMAL
    members: int = 2
    steps: int = 4


@frozen
class Hunted:
    """What came of it: how many schedules were played, and a shortest one that shows what was wanted, if any does."""

    schedules: int
    example: Scenario | None = None
    said: str = ""


class _Node(NamedTuple):
    """A schedule that has been played, as a scenario and as the world after it."""

    scenario: Scenario
    world: World


def hunt(wanted: Hunt) -> Hunted:
    """Play all schedules, shorter ones first, until one shows what is wanted."""
    played = 0
    for node in _schedules(wanted):
        played += 1
        if (said := _said(node.world, wanted)) is not None:
            return Hunted(played, node.scenario, said)
    return Hunted(played)


def _schedules(wanted: Hunt) -> Iterator[_Node]:
    """Yield every schedule, once it is played, by the number of its steps."""
    begun = level = [_begun(wanted, elects) for elects in ELECTS]
    for steps in range(1, wanted.steps + 1):
        following = []
        together = begun if steps == _AT_ONCE else []
        for after in chain(
            *(_onward(wanted, node) for node in level),
            *(_at_once(wanted, node) for node in together),
        ):
            yield after
            if steps < wanted.steps:
                following.append(after)
        level = following


def _begun(wanted: Hunt, elects: str) -> _Node:
    members = tuple((name, wanted.course[0]) for name in ascii_uppercase[: wanted.members])
    steps = () if elects == ELECTS[0] else (Step("elect", mode=elects),)
    scenario = Scenario(members, steps, wanted.shape)
    world = Noting(scenario).begin()
    for each in steps:
        world.play(each)
    return _Node(scenario, world)


def _onward(wanted: Hunt, node: _Node) -> Iterator[_Node]:
    """Yield what one more step makes of a schedule."""
    for each in _possible(wanted, node):
        yield _played(node, each)


def _at_once(wanted: Hunt, node: _Node) -> Iterator[_Node]:
    """Yield what two steps make of a schedule if the group does not come to rest between them."""
    held = _played(node, HOLD)
    for first in _possible(wanted, node):
        between = _played(held, first)
        for second in _possible(wanted, between):
            yield _played(_played(between, second), SETTLE)


def _played(node: _Node, following: Step) -> _Node:
    world = node.world.fork()
    world.play(following)
    return _Node(evolve(node.scenario, steps=(*node.scenario.steps, following)), world)


def _possible(wanted: Hunt, node: _Node) -> Iterator[Step]:
    """Yield what may be done to a group next: one topic is lost at most, and nobody starts what was told to end."""
    world, before = node.world, {each.verb for each in node.scenario.steps}
    if "shutdown" in before:
        return
    for name in ascii_uppercase[: wanted.members]:
        here = next(thread.instance for thread in world.threads.values() if thread.process == name)
        place = wanted.course.index(here)
        onward = wanted.course[place + 1 : place + 2]
        if world.runs(name):
            yield step("stop", name)
            for instance in (here, *onward):
                yield step("bounce", name, to=instance, mode="fast")
            if here.release.number >= FIRST_WITH_SHUTDOWN:
                yield step("shutdown", name)
        else:
            yield step("start", name)
            yield from (step("start", name, to=instance) for instance in onward)
    if "lose" not in before:
        yield step("lose", min(wanted.shape.layout.external_topics))


def _said(world: World, wanted: Hunt) -> str | None:
    """Return what a world says of the property that is wanted, if it has broken it."""
    world.finish()
    found = (each for each in (*world.violations, *world.remarks) if each.property == wanted.shows)
    return next((str(each) for each in found if wanted.says in str(each)), None)
