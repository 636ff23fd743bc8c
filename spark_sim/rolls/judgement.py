"""Faults of a decision, or of the end of a roll: the simulated group beside what the roll says of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streams_assignor.spark_sim.rolls.rolled_group import RolledGroup, is_shown_as
from streams_assignor.spark_sim.rolls.state import InputFlow, RollModelState
from streams_assignor.upgrade.roll import engine
from streams_assignor.upgrade.roll.deviations import DeviationKind
from streams_assignor.upgrade.roll.group_observation import NO_MEMBERS, STABLE, GroupObservation
from streams_assignor.upgrade.roll.plan import RoundAction

_NEVER_STOPPED: Final = (DeviationKind.MEMBER_GONE, DeviationKind.NOT_RETURNED, DeviationKind.FAILED_AFTER_JOIN)
_OTHER_CONFIG: Final = (
    DeviationKind.OLD_RELEASE,
    DeviationKind.OTHER_RELEASE,
    DeviationKind.MISSING_UPGRADE_FROM,
    DeviationKind.WRONG_VALUE,
    DeviationKind.VALUE_REMAINS,
)


def unready(state: RollModelState, number: int) -> str:
    """Return why a step must not begin or has not passed, or a round is not over; empty if nothing speaks against it.

    Args:
        state: The state in which roll decides that.
        number: The step. A deviation that an operator accepts there does not count.
    """
    accepted = {kind for place, kind, *_ in state.roll.accepted if place == number}
    return next((text for kinds, text in _closed(state) if not accepted.intersection(kinds)), "")


def begun_wrongly(state: RollModelState, decision: engine.BeginStep) -> str:
    """Return why a step must not begin; empty if nothing speaks against it. The group is not looked at."""
    roll, roll_round = state.roll, decision.round
    has_to_ask = bool(roll_round.needs) or not roll_round.has_way_back
    if not roll.confirmed or (has_to_ask and roll.at not in roll.consents):
        return f"{roll_round.text}: nobody was asked"
    if len(decision.instances) > roll.plan.batch and not roll_round.at_once:
        return f"{len(decision.instances)} instances at a time"
    return ""


def _closed(state: RollModelState) -> Iterator[tuple[tuple[DeviationKind, ...], str]]:
    """Yield what is not as it has to be, with the deviations that it can be called."""
    seen, roll = state.look(sees_leader=False), state.roll
    roll_round, step = roll.round, roll.step
    assert roll_round
    touched = step.instances if step else ()
    is_stopping = roll_round.action is RoundAction.STOP
    unsure = set(step.absent) if step else set[str]()
    stopped = roll.stopped.union(touched) if is_stopping else roll.stopped.difference(touched)
    running = [name for name in roll.plan.names if name not in stopped]
    is_over = step is None and not roll.remaining
    if not seen.state:
        yield (DeviationKind.NOT_VISIBLE,), seen.problem
        return
    if seen.state != STABLE and (running or seen.state not in NO_MEMBERS):
        yield (DeviationKind.NOT_STABLE,), f"the group is {seen.state}"
    if is_stopping:
        for name in touched:
            if seen.of(name):
                yield (DeviationKind.STILL_RUNNING,), f"{name} is a member"
        return
    for name, before in state.replaced:
        is_restarted = name not in touched and name in roll.restarted
        if is_restarted and not seen.incarnations(name) <= before:
            yield (DeviationKind.MEMBER_REPLACED, DeviationKind.CRASH_LOOP), f"{name} has started again by itself"
    for name in state.died.intersection(touched):
        yield _NEVER_STOPPED, f"{name} has died, and nothing was waited for"
    for name in running:
        if name not in unsure and len(seen.of(name)) < roll.plan.members_of(name):
            yield _NEVER_STOPPED, f"{name} has too few members"
        if len(seen.of(name)) > roll.plan.members_of(name):
            yield (DeviationKind.SECOND_PROCESS, DeviationKind.STILL_RUNNING), f"{name} has too many members"
    for name in touched or running:
        for member in seen.of(name):
            if step and member.member_id in step.before.get(name, ()):
                yield (DeviationKind.STILL_RUNNING,), f"a member of {name} is that of before"
            if (step or is_over) and not is_shown_as(roll_round.config, state.group.sends(member.member_id)):
                yield _OTHER_CONFIG, f"{name} runs {state.group.runs(name)}"
    if running and seen.state == STABLE:
        yield from _of_tasks(state, seen)
        if step:
            yield from _of_input(state)


def _of_tasks(state: RollModelState, seen: GroupObservation) -> Iterator[tuple[tuple[DeviationKind, ...], str]]:
    owned = [task for member in seen.members for task in member.active]
    if len(owned) > len(set(owned)):
        yield (DeviationKind.TWO_OWNERS,), "a task has two owners"
    tasks = {str(task) for task in state.group.workload.partitions_by_task}
    if missing := sorted(tasks.difference(owned)):
        yield (DeviationKind.UNOWNED,), f"nobody owns {', '.join(missing)}"
    if any(member.rejoins for member in seen.members):
        yield (DeviationKind.NOT_STABLE,), "a member rejoins at once"
    # A round may be over meanwhile, if an instance has failed since the last step: the next step waits for it.
    if (state.roll.step or state.roll.remaining) and any(member.is_scheduled for member in seen.members):
        yield (DeviationKind.PROBING,), "a probing rebalance is scheduled"
    sent = [member.used_version or 0 for member in seen.members]
    read = [member.supported_version or 0 for member in seen.members if member.supported_version]
    if state.roll.step and sent and read and max(sent) > min(read):
        yield (DeviationKind.VERSIONS,), f"version {max(sent)} is sent, and {min(read)} read"


def _of_input(state: RollModelState) -> Iterator[tuple[tuple[DeviationKind, ...], str]]:
    flow = state.input.flow
    if flow is InputFlow.HIDDEN:
        yield (DeviationKind.LAG,), flow.value
    if flow in (InputFlow.BEHIND, InputFlow.STUCK) and state.input.committed <= state.committed_then:
        yield (DeviationKind.NO_COMMITS, DeviationKind.LAG), flow.value


def wrong_outcome(state: RollModelState) -> str:
    """Return how the group differs from what the roll says; empty if it does not.

    It is not judged if somebody has been told, or has turned back before anything was done.
    """
    assert state.final
    plan, group = state.roll.plan, state.group
    turned_at_once = not state.roll.is_going_back and not state.roll.begun_rounds
    if state.consented or turned_at_once:
        return ""
    wanted = plan.rounds[-1].config if state.final.outcome == engine.FINISHED else plan.rounds[0].before
    settled = group.settled()
    seen = settled.look(state.seconds, sees_leader=False)
    for process in plan.names:
        runs = group.runs(process)
        if runs in (wanted, None) and _is_counted(group, process):
            continue
        members = seen.of(process)
        if len(members) < plan.members_of(process):
            return f"{state.final.outcome}, and {process} does not run"
        if not all(is_shown_as(wanted, settled.sends(member.member_id)) for member in members):
            return f"{state.final.outcome}, and {process} runs {runs}"
    return ""


def _is_counted(group: RolledGroup, process: str) -> bool:
    """Whether each thread of a process runs, or is counted as a member although it does not."""
    counted = {one.rpartition("-")[0] for one in group.coordinator.members}
    return all(group.members[name].running or name in counted for name in group.workload.member_names(process))
