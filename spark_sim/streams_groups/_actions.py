"""Applies the steps of a scenario (``scenario.VERBS``), and lists the steps that the protocol takes by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from attrs import evolve

from streams_assignor.spark_sim.model.scenario import ScenarioError
from streams_assignor.spark_sim.streams_groups._coordinator import (
    GROUP_ID_NOT_FOUND,
    HeartbeatRequest,
    HeartbeatResponse,
    accepts_commit,
    fence_member,
    heartbeat,
)
from streams_assignor.spark_sim.streams_groups._members import SimulatedThread, has_duplicates
from streams_assignor.spark_sim.streams_groups._world import LateCommit, World, initial_world
from streams_assignor.spark_sim.streams_groups.group import NO_GROUP, Record
from streams_assignor.spark_sim.streams_groups.group import CoordinatorMemberState as GroupMemberState
from streams_assignor.spark_sim.streams_groups.rules import rules_of
from streams_assignor.spark_sim.streams_groups.scenario import GroupScenario, GroupStep
from streams_assignor.streams_group import CallbackKind, StreamsMemberState

MAX_SETTLE_STEPS: Final = 1_000


def apply_step(world: World, step: GroupStep) -> World:
    """Return the world after a step.

    Raises:
        ScenarioError: The step is not possible now.
    """
    if step not in possible_steps(world, step.verb):
        names = sorted({possible.name for possible in possible_steps(world, step.verb)})
        expected = ", ".join(names) or "another step"
        raise ScenarioError(f"{step} is not possible here: expected {expected}, got {step.name or step.verb}")
    return apply_possible_step(world, step)


def apply_possible_step(world: World, step: GroupStep) -> World:
    """Return the world after a step that is possible."""
    return _note_failures(_with_overtaken(world, _ACTIONS[step.verb](world, step.name)))


def run_scenario(scenario: GroupScenario) -> World:
    """Run a whole scenario."""
    world = initial_world(scenario)
    for step in scenario.steps:
        world = apply_step(world, step)
    return world


def protocol_steps(world: World) -> Iterator[GroupStep]:
    """Yield the steps that happen without an operator and without a fault, in an order that is fixed."""
    for verb in ("receive", "callback", "heartbeat"):
        yield from possible_steps(world, verb)
    yield from (GroupStep("start", member.name) for member in world.members.values() if _has_to_restart(member))
    yield from possible_steps(world, "expire")


def effective_steps(world: World) -> Iterator[tuple[GroupStep, World]]:
    """Yield the steps of the protocol that change something, and what follows them.

    A rebalance timeout ends if nothing else happens: it is much longer than everything else.
    """
    has_changed = False
    for step in protocol_steps(world):
        after = apply_possible_step(world, step)
        if after.key != world.key:
            has_changed = True
            yield step, after
    if not has_changed:
        for step in possible_steps(world, "linger"):
            yield step, apply_possible_step(world, step)


def settling(world: World) -> Iterator[tuple[GroupStep, World]]:
    """Yield each step of the protocol until nothing changes, with what follows it.

    Raises:
        ScenarioError: It does not end.
    """
    for _ in range(MAX_SETTLE_STEPS):
        changed = next(effective_steps(world), None)
        if changed is None:
            return
        yield changed
        _, world = changed
    raise ScenarioError(f"the group does not settle: expected at most {MAX_SETTLE_STEPS} steps, got more")


def settle(world: World) -> World:
    """Let the protocol go on until nothing changes; ``ScenarioError`` if it does not end."""
    for _, after in settling(world):
        world = after
    return world


def possible_steps(world: World, verb: str) -> Iterator[GroupStep]:
    """Yield the steps with a verb that are possible now."""
    return (GroupStep(verb, name) for name in _POSSIBLE[verb](world))


# -- what is possible ------------------------------------------------------------------------------------------------


def _where(condition: Callable[[World, SimulatedThread], bool]) -> Callable[[World], Iterator[str]]:
    return lambda world: (member.name for member in world.members.values() if condition(world, member))


def _has_to_restart(member: SimulatedThread) -> bool:
    return member.client is None and member.restarts


def _can_stop(_: World, member: SimulatedThread) -> bool:
    return member.is_in_group and member.response is None


def _session_can_end(world: World) -> Iterator[str]:
    """Yield the member ids whose sessions end for sure, as nothing sends heartbeats for them."""
    for member_id in world.group.members:
        member = world.member_with_id(member_id)
        if member is None or not (member.client and member.client.sends_heartbeats):
            yield member_id


def _is_known(world: World, member: SimulatedThread) -> bool:
    return member.can_send and member.member_id in world.group.members


def _can_linger(world: World, member: SimulatedThread) -> bool:
    return _is_known(world, member) and world.group.members[member.member_id].state is GroupMemberState.UNREVOKED_TASKS


def _no_names(_: World) -> Iterator[str]:
    yield ""


_POSSIBLE: Final[Mapping[str, Callable[[World], Iterator[str]]]] = {
    "start": _where(lambda _, member: member.client is None),
    "stop": _where(_can_stop),
    "restart": _where(_can_stop),
    "update": _where(_can_stop),
    "heartbeat": _where(lambda _, member: member.can_send),
    "callback": _where(lambda _, member: bool(member.client and member.client.callbacks)),
    "receive": _where(lambda _, member: member.response is not None),
    "expire": _session_can_end,
    "crash": _where(lambda _, member: member.client is not None),
    "stall": _where(_can_stop),
    "lose-request": _where(lambda _, member: member.can_send),
    "lose-response": _where(lambda _, member: member.can_send),
    "slow-response": _where(lambda _, member: member.can_send),
    "delay": _where(lambda _, member: member.can_send),
    "arrive": lambda world: (request.member_id for request in world.late),
    "delay-commit": _where(lambda _, member: member.can_commit and bool(member.running)),
    "arrive-commit": lambda world: (commit.member_id for commit in world.commits),
    "silence": _where(_is_known),
    "linger": _where(_can_linger),
    "retire": lambda world: iter([""] if world.classic_members else []),
    "failover": _no_names,
    "roll": lambda world: iter([""] if world.next_release not in ("", world.config.rules.release) else []),
    "settle": _no_names,
}


# -- members ---------------------------------------------------------------------------------------------------------


def _start(world: World, name: str) -> World:
    return world.with_member(world.members[name].started(world.free_member_id(name)))


def _stop(world: World, name: str) -> World:
    return world.with_member(world.members[name].left())


def _restart(world: World, name: str) -> World:
    return world.with_member(evolve(world.members[name].left(), restarts=True))


def _update(world: World, name: str) -> World:
    after = _restart(world, name)
    member = after.members[name]
    return after.with_member(evolve(member, topology_epoch=member.topology_epoch + 1))


def _crash(world: World, name: str) -> World:
    return world.with_member(world.members[name].crashed())


def _callback(world: World, name: str) -> World:
    member = world.members[name]
    assert member.client is not None, "it has a callback; this should never happen"
    callback, after = member.client.callbacks[0], member.completed_callback()
    failed = after.client is None and callback.kind is CallbackKind.ASSIGN and has_duplicates(callback.assignment)
    reasons = ((name, "it got a task twice"),) if failed else ()
    return evolve(world.with_member(after), failed=(*world.failed, *reasons))


def _note_failures(world: World) -> World:
    """Remove the members that cannot go on."""
    for member in world.members.values():
        if member.client is not None and member.client.state is StreamsMemberState.FATAL:
            assert member.client.failure is not None, "the state has a reason; this should never happen"
            reason = member.client.failure.message
            world = evolve(world.with_member(member.crashed()), failed=(*world.failed, (member.name, reason)))
    return world


# -- messages --------------------------------------------------------------------------------------------------------


def _exchange(world: World, name: str) -> World:
    after = _slow_response(world, name)
    return _receive(after, name) if after.members[name].response is not None else after


def _slow_response(world: World, name: str) -> World:
    member, request = world.members[name].sent()
    records, response = _answer(world, request)
    if member.client is not None:
        member = evolve(member, response=response)
    return world.with_records(records).with_member(member)


def _answer(world: World, request: HeartbeatRequest) -> tuple[tuple[Record, ...], HeartbeatResponse]:
    if world.classic_members:
        message = "Group group is not a streams group."
        return (), HeartbeatResponse(0, error=GROUP_ID_NOT_FOUND, message=message)
    return heartbeat(world.group, request, world.config)


def _receive(world: World, name: str) -> World:
    member = world.members[name]
    assert member.response is not None, "an answer is on its way; this should never happen"
    return world.with_member(member.received(member.response))


def _lose_request(world: World, name: str) -> World:
    member, _ = world.members[name].sent()
    return world.with_member(member.disconnected())


def _lose_response(world: World, name: str) -> World:
    after = _slow_response(world, name)
    return after.with_member(after.members[name].disconnected())


def _delay(world: World, name: str) -> World:
    member, request = world.members[name].sent()
    return evolve(world.with_member(member.disconnected()), late=(*world.late, request))


def _arrive(world: World, member_id: str) -> World:
    place = next(place for place, request in enumerate(world.late) if request.member_id == member_id)
    records, _ = _answer(world, world.late[place])
    return evolve(world, late=world.late[:place] + world.late[place + 1 :]).with_records(records)


def _delay_commit(world: World, name: str) -> World:
    member = world.members[name]
    assert member.client is not None, "it has tasks; this should never happen"
    commit = LateCommit(member.member_id, member.client.epoch, member.running)
    return evolve(world, commits=(*world.commits, commit))


def _with_overtaken(before: World, after: World) -> World:
    """Note which tasks of late commits another member has taken in a step; one that is fenced takes nothing."""
    if not after.commits:
        return after
    registered = after.group.members
    taken = {
        member.member_id: (member.running - before.members[name].running) & registered[member.member_id].assigned.active
        for name, member in after.members.items()
        if member.member_id in registered
    }
    commits = (
        evolve(commit, overtaken=commit.overtaken | commit.tasks & tasks)
        for commit in after.commits
        for tasks in [frozenset().union(*(new for member_id, new in taken.items() if member_id != commit.member_id))]
    )
    return evolve(after, commits=tuple(commits))


def _arrive_commit(world: World, member_id: str) -> World:
    place = next(place for place, commit in enumerate(world.commits) if commit.member_id == member_id)
    commit, rules = world.commits[place], world.config.rules
    overwritten = tuple(
        (member_id, f"a commit of epoch {commit.epoch} is accepted for {task}, which another member has taken since")
        for task in sorted(commit.overtaken)
        if accepts_commit(world.group, member_id, commit.epoch, task, rules)
    )
    commits = world.commits[:place] + world.commits[place + 1 :]
    return evolve(world, commits=commits, overwritten=(*world.overwritten, *overwritten))


# -- the coordinator -------------------------------------------------------------------------------------------------


def _expire(world: World, member_id: str) -> World:
    return world.with_records(fence_member(world.group, member_id))


def _silence(world: World, name: str) -> World:
    return _expire(world, world.members[name].member_id)


def _failover(world: World, _name: str) -> World:
    """The new coordinator has the records, and answers to no earlier heartbeat."""
    members = {
        name: member.disconnected() if member.response is not None else member for name, member in world.members.items()
    }
    return evolve(world, members=members, late=(), commits=(), group=NO_GROUP.replay(world.group.records))


def _roll(world: World, name: str) -> World:
    return _failover(evolve(world, config=evolve(world.config, rules=rules_of(world.next_release))), name)


_ACTIONS: Final[Mapping[str, Callable[[World, str], World]]] = {
    "start": _start,
    "stop": _stop,
    "restart": _restart,
    "update": _update,
    "heartbeat": _exchange,
    "callback": _callback,
    "receive": _receive,
    "expire": _expire,
    "crash": _crash,
    "stall": lambda world, name: world.with_member(world.members[name].stalled()),
    "lose-request": _lose_request,
    "lose-response": _lose_response,
    "slow-response": _slow_response,
    "delay": _delay,
    "arrive": _arrive,
    "delay-commit": _delay_commit,
    "arrive-commit": _arrive_commit,
    "silence": _silence,
    "linger": _silence,
    "retire": lambda world, _: evolve(world, classic_members=world.classic_members - 1),
    "failover": _failover,
    "roll": _roll,
    "settle": lambda world, _: settle(world),
}
