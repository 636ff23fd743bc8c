"""Bounces played with real members, in every order and with every heir of a leader, until a task has two owners.

Packed states know no tasks: one way to a state is played of the many that lead there, and mostly it is one on which the
leader moves nothing that matters. Here the ways are many, and coarse: a member is bounced, and the group comes to rest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from string import ascii_uppercase
from typing import Final

from attrs import evolve, frozen

from spark_sim.properties import OWNED_ONCE
from spark_sim.scenario import Instance, Scenario, Step, step
from spark_sim.world import World

MOST_BOUNCES: Final = 500
"""All schedules of three members who are bounced once, and then some."""


@frozen
class _Played:
    """A schedule, the group after it, and how often each member has been bounced."""

    scenario: Scenario
    world: World
    places: tuple[int, ...]

    @property
    def twice(self) -> bool:
        return any(found.property == OWNED_ONCE for found in self.world.violations)


def second_owner_after_bounces(courses: Sequence[Sequence[Instance]], most: int = MOST_BOUNCES) -> Scenario | None:
    """Return a shortest schedule of bounces after which a task has had two owners, or None if there is none.

    ``courses`` say for each member what it is, one instance after the other (all as many); nobody is bounced for the
    second time before all have been for the first. No more than ``most`` bounces are played.
    """
    scenario = Scenario(tuple((name, course[0]) for name, course in zip(ascii_uppercase, courses, strict=False)))
    waiting = deque([_Played(scenario, World(scenario).begin(), (0,) * len(courses))])
    played = 0
    while waiting and played < most:
        for after in _bounced(waiting.popleft(), courses):
            if after.twice:
                return after.scenario
            played += 1
            waiting.append(after)
    return None


def _bounced(before: _Played, courses: Sequence[Sequence[Instance]]) -> Iterator[_Played]:
    """Yield what one more bounce makes of it: of whom, slow or fast, and who leads if the leader goes."""
    place = min(before.places)
    if place + 1 == len(courses[0]):
        return
    for member, name in enumerate(ascii_uppercase[: len(courses)]):
        if before.places[member] > place:
            continue
        places = tuple(each + (number == member) for number, each in enumerate(before.places))
        for mode in ("", "fast"):
            bounce = step("bounce", name, to=courses[member][place + 1], mode=mode)
            for elects in _elections(before.world, name, mode):
                steps = (*elects, bounce)
                world = before.world.fork()
                for each in steps:
                    world.play(each)
                yield _Played(evolve(before.scenario, steps=(*before.scenario.steps, *steps)), world, places)


def _elections(world: World, name: str, mode: str) -> Iterator[tuple[Step, ...]]:
    """Yield who may take over from a member that is bounced; nobody has to if it does not lead.

    Who is back before its session has timed out may be elected itself.
    """
    if world.threads[name].member_id != world.coordinator.leader:
        yield ()
        return
    for heir in world.threads:
        if heir != name or mode == "fast":
            yield (step("elect", heir),)
