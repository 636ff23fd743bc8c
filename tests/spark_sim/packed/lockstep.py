"""A packed group and a simulation in lockstep."""

from collections.abc import Iterator
from random import Random
from string import ascii_uppercase

from streams_assignor.spark_sim.model.scenario import Scenario, make_step
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import SINGLE_OWNER, Violation
from streams_assignor.spark_sim.packed.actions import PackedAction
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.model import LEAD
from streams_assignor.spark_sim.packed.paths import NamedGroup
from streams_assignor.spark_sim.packed.process_state import (
    ASSIGNED,
    COMPLETING,
    JOINED,
    NOT_A_MEMBER,
    REJOIN_NEEDED,
    SYNC_RESPONSE_PENDING,
)
from streams_assignor.spark_sim.packed.view import PHASE

NOBODYS = {SINGLE_OWNER}
"""What the packed model only suspects, as it has no tasks."""
PROTOCOL = {"join", "lead", "take"}
UNIQUE_SINCE = 8
"""The first version whose subscriptions always differ; below it a rejoining member may send an equal one."""


def moves_of(group: NamedGroup) -> Iterator[tuple[int, PackedAction, Violation | None]]:
    """Yield the actions of each member and their failures; of the elections those that a scenario can name."""
    packed = group.encoding
    view = packed.summary(group.states, group.group_fields).view
    for member, number in enumerate(group.states):
        row = packed.action_row(view, number)
        yield from ((member, move, None) for move in row.actions)
        yield from ((member, move, violation) for move, violation in row.failures)
        for move in row.elections:
            after = packed.apply(group.states, group.group_fields, member, move)[0]
            for each in after:
                for _, elected in packed.elections[each]:
                    part = packed.process_states.values[elected]
                    if part.orphaned_ids[0].leads if part.orphaned_ids else part.leads:
                        yield member, move._replace(elects=(each, elected)), None
    if view.group.phase == COMPLETING and (led := packed.leader_result(group.states)) is not None:
        yield 0, LEAD, led if isinstance(led, Violation) else None


def begin(packed: Encoding) -> tuple[NamedGroup, Simulation]:
    group = NamedGroup.at(packed, 0)
    names = ascii_uppercase[: len(group.states)]
    members = tuple((name, group.instance(member)) for member, name in enumerate(names))
    simulation = Simulation(Scenario(members)).begin()
    simulation.play(make_step("hold"))
    return group, simulation


def seen_packed(group: NamedGroup) -> list[tuple]:
    """The facts that can be compared: phase, and of every process version, membership, answers, leadership."""
    found = [group.group_fields // PHASE % 4 if any(tally_known(group, part) for part in group.states) else "empty"]
    for number in group.states:
        part = group.encoding.process_states.values[number]
        version = group.encoding.protocol_table.version_states.values[part.version] if part.running else None
        found.append(
            (
                part.running,
                (version.used, version.state) if version else None,
                part.is_member,
                part.status == JOINED,
                part.status == SYNC_RESPONSE_PENDING,
                part.leads,
                part.payload if part.status == ASSIGNED else None,
                len(part.orphaned_ids),
                [orphan.leads for orphan in part.orphaned_ids],
            )
        )
    return found


def tally_known(group: NamedGroup, number: int) -> bool:
    part = group.encoding.process_states.values[number]
    return part.is_member or bool(part.orphaned_ids)


def seen_simulation(group: NamedGroup, simulation: Simulation) -> list[tuple]:
    coordinator = simulation.coordinator
    phases = {"PREPARING_REBALANCE": 0, "COMPLETING_REBALANCE": 1, "STABLE": 2}
    found = [phases.get(coordinator.phase.name, "empty") if coordinator.members else "empty"]
    for member, number in enumerate(group.states):
        part = group.encoding.process_states.values[number]
        name = ascii_uppercase[member]
        thread = simulation.members[name]
        known = thread.running and thread.member_id in coordinator.members
        orphans = [each for each in simulation.orphaned_ids if each.rpartition("-")[0] == name]
        version = thread.assignor.member.version
        joins = known and coordinator.phase.name in {"PREPARING_REBALANCE", "COMPLETING_REBALANCE"}
        found.append(
            (
                thread.running,
                (version.used_version, version.state) if thread.running else None,
                known,
                joins and not coordinator.is_join_pending(thread.member_id),
                known and thread.member_id in coordinator.pending_sync_responses,
                known and coordinator.leader == thread.member_id,
                thread.received_version if part.status == ASSIGNED else None,
                len(orphans),
                [coordinator.leader == each for each in orphans],
            )
        )
    return found


def due_packed(group: NamedGroup, moves: list[tuple[int, PackedAction, Violation | None]]) -> set[tuple[str, str]]:
    """The protocol's actions of members, except timeouts of rebalances, whose number is limited."""
    return {
        (move.verb, "" if move.verb == "lead" else group.names[member])
        for member, move, _ in moves
        if move.verb in {*PROTOCOL, "expire"}
    }


def due_simulation(group: NamedGroup, simulation: Simulation) -> set[tuple[str, str]]:
    """The same; an assigned member that rejoins for the sake of tasks does so spuriously in a packed group."""
    states = dict(zip(group.names, map(group.encoding.process_states.values.__getitem__, group.states), strict=True))
    return {
        (each.verb, "" if each.verb == "lead" else each.member)
        for each in simulation.enabled_actions()
        if each.verb != "late" and not (each.verb == "join" and states[each.member].status == ASSIGNED)
    }


def walk(packed: Encoding, random: Random, most: int) -> tuple[int, str]:
    """Take random actions until a failure, the end or ``most`` of them; return how many, and how it ended."""
    group, simulation = begin(packed)
    steps = [str(simulation.scenario), "hold"]
    for made in range(most):
        moves = list(moves_of(group))
        assert due_packed(group, moves) == due_simulation(group, simulation), " | ".join(steps)
        if not moves:
            return made, "end"
        # An operator as quick as the protocol would be done before anything has happened.
        calm = [each for each in moves if each[1].verb in PROTOCOL]
        member, move, violation = random.choice(calm if calm and random.random() < 0.8 else moves)
        part = packed.process_states.values[group.states[member]]
        version = packed.protocol_table.used_version(part.version) if part.running else 0
        for each in group.apply(move, None if move.verb == "lead" else member):
            steps.append(str(each))
            simulation.play(each)
        line = " | ".join(steps)
        if violation:
            assert violation.property in {each.property for each in simulation.violations}, line
            return made, "death"
        assert NOBODYS.issuperset(each.property for each in simulation.violations), line
        if any(event.kind == "unchanged" for event in simulation.events):
            assert part.status == REJOIN_NEEDED, line
            assert version < UNIQUE_SINCE, line
            return made, "unchanged"
        assert seen_packed(group) == seen_simulation(group, simulation), line
        for number, thread in zip(group.states, map(simulation.members.get, ascii_uppercase), strict=False):
            if packed.process_states.values[number].status in {NOT_A_MEMBER, REJOIN_NEEDED}:
                assert thread.rejoin_needed, line
    return most, "tired"
