"""The changes of a step of a scenario, as the lines of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from streams_assignor.spark_sim.model.events import TraceEvent
from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.streams_groups._actions import apply_step
from streams_assignor.spark_sim.streams_groups._world import World, initial_world
from streams_assignor.spark_sim.streams_groups.properties import always, changed_returns, eventually
from streams_assignor.spark_sim.streams_groups.scenario import GroupScenario, GroupStep
from streams_assignor.spark_sim.streams_groups.tasks import NO_TASKS
from streams_assignor.streams_group import StreamsGroupMember


@frozen
class TracedRun:
    """A finished run."""

    world: World
    steps: tuple[tuple[GroupStep, tuple[TraceEvent, ...]], ...]
    violations: tuple[Violation, ...]
    """First those of *always* after each step, then those of *eventually* at the end, if the last step lets the group
    settle."""
    final_events: tuple[TraceEvent, ...]
    """The violations of *eventually*."""
    is_settled: bool
    """Whether the last step has let the group settle."""


def trace_run(scenario: GroupScenario) -> TracedRun:
    """Run a scenario and record what each step changes.

    Raises:
        ScenarioError: A step is not possible.
    """
    world, steps = initial_world(scenario), []
    violations: dict[Violation, None] = {}
    for step in scenario.steps:
        after = apply_step(world, step)
        seen = (*changed_returns(world, after), *always(after))
        new = [violation for violation in seen if violation not in violations]
        violations.update(dict.fromkeys(new))
        steps.append((step, (*_changes(world, after), *_violation_events(new))))
        world = after
    is_settled = bool(scenario.steps) and scenario.steps[-1].verb == "settle"
    final = tuple(eventually(world)) if is_settled else ()
    return TracedRun(world, tuple(steps), (*violations, *final), tuple(_violation_events(final)), is_settled)


def _violation_events(violations: Sequence[Violation]) -> Iterator[TraceEvent]:
    """Yield the events of violations."""
    return (TraceEvent("violation", each.member, f"{each.property}: {each.text}") for each in violations)


def _changes(before: World, after: World) -> Iterator[TraceEvent]:
    if before.group.epoch != after.group.epoch:
        yield TraceEvent("epoch", "", f"the group is in epoch {after.group.epoch}")
    for member_id in before.group.members.keys() - after.group.members.keys():
        yield TraceEvent("expired", member_id, "is no longer a member")
    for member_id, target in after.group.targets.items():
        if target != before.group.targets.get(member_id, NO_TASKS):
            yield TraceEvent("target", member_id, f"has the target {target}")
    for member_id, registered in after.group.members.items():
        old = before.group.members.get(member_id)
        if old is None or (old.state, old.assigned, old.epoch) != (
            registered.state,
            registered.assigned,
            registered.epoch,
        ):
            text = f"is {registered.state.name} in epoch {registered.epoch}, assigned {registered.assigned}"
            revoking = f", has to revoke {registered.pending_revocation}" if registered.pending_revocation else ""
            yield TraceEvent("coordinator", member_id, f"{text}{revoking}")
    for name, member in after.members.items():
        if member.tasks != before.members[name].tasks:
            yield TraceEvent("tasks", name, f"has {member.tasks}")
        if (now := _state(member.client)) != _state(before.members[name].client):
            yield TraceEvent("state", name, now)
    for name, reason in after.failed[len(before.failed) :]:
        yield TraceEvent("failed", name, f"fails: {reason}")


def _state(client: StreamsGroupMember | None) -> str:
    return "does not run" if client is None else f"is {client.state.name}"
