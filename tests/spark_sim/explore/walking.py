"""A group of packed parts and a world of real members, walked side by side."""

from collections.abc import Iterator
from random import Random
from string import ascii_uppercase

from spark_sim.explore.moves import Move
from spark_sim.explore.packed import Packed
from spark_sim.explore.parts import ANSWERED, COMPLETING, CONTENT, JOINED, OUTSIDE, RESTLESS
from spark_sim.explore.paths import Group
from spark_sim.explore.search import LEAD
from spark_sim.explore.situation import PHASE
from spark_sim.properties import OWNED_ONCE, Violation
from spark_sim.scenario import Scenario, step
from spark_sim.world import World

NOBODYS = {OWNED_ONCE}
"""What exploration only suspects: it knows nothing of tasks."""
PROTOCOL = {"join", "lead", "take"}
UNIQUE_SINCE = 8
"""The first subscription version that is different every time; below it a member may have nothing new to say."""


def moves_of(group: Group) -> Iterator[tuple[int, Move, Violation | None]]:
    """Yield what each member can do, and what it dies of; of the elections those that a scenario can name."""
    packed = group.packed
    view = packed.situation(group.parts, group.group).view
    for member, number in enumerate(group.parts):
        row = packed.row(view, number)
        yield from ((member, move, None) for move in row.moves)
        yield from ((member, move, violation) for move, violation in row.deaths)
        for move in row.elections:
            after = packed.played(group.parts, group.group, member, move)[0]
            for each in after:
                for _, elected in packed.electable(each):
                    part = packed.parts.values[elected]
                    if part.ghosts[0].leads if part.ghosts else part.leads:
                        yield member, move._replace(elects=(each, elected)), None
    if view.group.phase == COMPLETING and (led := packed.led(group.parts)) is not None:
        yield 0, LEAD, led if isinstance(led, Violation) else None


def begin(packed: Packed) -> tuple[Group, World]:
    group = Group.at(packed, 0)
    names = ascii_uppercase[: len(group.parts)]
    members = tuple((name, group.instance(member)) for member, name in enumerate(names))
    world = World(Scenario(members)).begin()
    world.play(step("hold"))
    return group, world


def seen_packed(group: Group) -> list[tuple]:
    """What can be compared: phase, and of every process version, membership, answers, leadership."""
    found = [group.group // PHASE % 4 if any(tally_known(group, part) for part in group.parts) else "empty"]
    for number in group.parts:
        part = group.packed.parts.values[number]
        version = group.packed.tables.speakers.values[part.version] if part.runs else None
        found.append(
            (
                part.runs,
                (version.used, version.state) if version else None,
                part.known,
                part.status == JOINED,
                part.status == ANSWERED,
                part.leads,
                part.word if part.status == CONTENT else None,
                len(part.ghosts),
                [ghost.leads for ghost in part.ghosts],
            )
        )
    return found


def tally_known(group: Group, number: int) -> bool:
    part = group.packed.parts.values[number]
    return part.known or bool(part.ghosts)


def seen_world(group: Group, world: World) -> list[tuple]:
    coordinator = world.coordinator
    phases = {"PREPARING": 0, "COMPLETING": 1, "STABLE": 2}
    found = [phases.get(coordinator.phase.name, "empty") if coordinator.members else "empty"]
    for member, number in enumerate(group.parts):
        part = group.packed.parts.values[number]
        name = ascii_uppercase[member]
        thread = world.threads[name]
        known = thread.alive and thread.member_id in coordinator.members
        ghosts = [each for each in world.gone if each.rpartition("-")[0] == name]
        version = thread.assignor.member.version
        joins = known and coordinator.phase.name in {"PREPARING", "COMPLETING"}
        found.append(
            (
                thread.alive,
                (version.used, version.state) if thread.alive else None,
                known,
                joins and not coordinator.waits_for(thread.member_id),
                known and thread.member_id in coordinator.untaken,
                known and coordinator.leader == thread.member_id,
                thread.received if part.status == CONTENT else None,
                len(ghosts),
                [coordinator.leader == each for each in ghosts],
            )
        )
    return found


def walk(packed: Packed, random: Random, most: int) -> tuple[int, str]:
    """Walk until a death, the end or ``most`` moves; return how far, and how it ended. Differences are errors."""
    group, world = begin(packed)
    told = [str(world.scenario), "hold"]
    for made in range(most):
        moves = list(moves_of(group))
        if not moves:
            return made, "end"
        # An operator as quick as the protocol would be done before anything has happened.
        calm = [each for each in moves if each[1].verb in PROTOCOL]
        member, move, violation = random.choice(calm if calm and random.random() < 0.8 else moves)
        part = packed.parts.values[group.parts[member]]
        version = packed.tables.used(part.version) if part.runs else 0
        for each in group.make(move, None if move.verb == "lead" else member):
            told.append(str(each))
            world.play(each)
        line = " | ".join(told)
        if violation:
            assert violation.property in {each.property for each in world.violations}, line
            return made, "death"
        assert NOBODYS.issuperset(each.property for each in world.violations), line
        if any(event.kind == "unheard" for event in world.events):
            assert part.status == RESTLESS, line
            assert version < UNIQUE_SINCE, line
            return made, "unheard"
        assert seen_packed(group) == seen_world(group, world), line
        for number, thread in zip(group.parts, map(world.threads.get, ascii_uppercase), strict=False):
            if packed.parts.values[number].status in {OUTSIDE, RESTLESS}:
                assert thread.wants_to_join, line
    return most, "tired"
