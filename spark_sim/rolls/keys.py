"""Keys of the states of a roll: without numbers that only count, and with times that are left instead of a clock's."""

from __future__ import annotations

from collections.abc import Hashable

from spark_sim.rolls.state import RollModelState
from upgrade.roll.group_life import GroupLife
from upgrade.roll.group_memory import GroupMemory
from upgrade.roll.state import RollState
from upgrade.roll.unowned_times import UnownedTimes


def model_key(state: RollModelState) -> Hashable:
    """Return a key that is equal for states that go on alike."""
    return (
        state.group.state,
        (state.input.flow, state.input.committed > state.committed_then),
        roll_key(state.roll),
        _before_key(state),
        watch_key(state),
        state.budget,
        ran_key(state),
        state.died,
        _replaced_key(state),
        state.excused,
        state.consented,
        state.is_disturbed,
        state.faults_at_turn,
        state.wrong,
        state.final,
        state.stuck,
    )


def roll_key(roll: RollState) -> Hashable:
    step = roll.step
    number = step.number if step else roll.steps + 1
    return (
        roll.plan.bounced,
        roll.plan.begun,
        tuple(each.config for each in roll.rounds) if roll.is_going_back else len(roll.rounds),
        roll.at,
        frozenset(roll.configs.items()),
        roll.stopped,
        roll.suspects,
        roll.done,
        None
        if step is None
        else (
            step.instances,
            step.unchecked,
            step.absent,
            frozenset(step.owners.items()),
            step.expectation,
            frozenset((key, end.status if end else -1, end.how if end else "") for key, end in step.ended.items()),
        ),
        roll.confirmed,
        roll.consents,
        None if roll.deviation is None else (roll.deviation.kind, roll.deviation.instances, roll.deviation.options),
        frozenset((place - number, kind) for place, kind in roll.accepted),
        frozenset((place - number, kind) for place, kind in roll.patient),
        roll.wants,
        roll.is_going_back,
        roll.is_paused,
        roll.outcome,
    )


def watch_key(state: RollModelState) -> Hashable:
    watch, memory = state.watch, state.watch.memory
    # Whether looking begins anew with the next look is decided by the phase that was seen last.
    waits = state.roll.waits - (watch.phase[4] if len(watch.phase) > 4 and isinstance(watch.phase[4], int) else 0)
    phase = (watch.phase[:2], watch.phase[3:4], watch.phase[5:], waits)
    if not isinstance(memory, GroupMemory):
        return phase, life_key(state)
    joined = {instance: len(ids) for instance, ids in memory.joined.items()}
    return (
        phase,
        state.seconds - watch.began,
        frozenset(joined.items()),
        _times_key(state, memory.times),
        life_key(state),
        frozenset((task, first.offsets) for task, first in memory.state_lags.items()),
        _offsets_key(state, memory),
    )


def _times_key(state: RollModelState, times: UnownedTimes) -> Hashable:
    now, surely = state.seconds, 2 * state.roll.plan.limits.session_timeout_s
    return (
        frozenset((task, now - since) for task, since in times.since.items()),
        frozenset(times.touched),
        frozenset((name, min(now - ended, surely)) for name, ended in times.ended_at.items()),
        frozenset(times.owners.items()),
        frozenset(times.held),
        times.eager,
    )


def life_key(state: RollModelState) -> Hashable:
    """Return a key of what is remembered of members; one that has lived long enough has no age.

    Left out are the offsets that were committed at the last look: no partition of the model has an owner.
    """
    life, now = state.watch.lasting, state.seconds
    if not isinstance(life, GroupLife) or life.answers != state.roll.answers:
        return None
    limits, seen = state.roll.plan.limits, state.look(sees_leader=False)
    long_ago = limits.session_timeout_s + limits.soak_s

    def age(then: float | None) -> float | None:
        return None if then is None else min(now - then, long_ago)

    running = {member.member_id for member in state.group.running_members}
    return (
        life.in_step,
        age(life.stable_since),
        frozenset(
            (
                member_id.rpartition("-")[0],
                member_id in running,
                each.seconds >= limits.soak_s or (now - each.since, now - each.until),
                state.roll.step is None and age(each.until),
            )
            for member_id, each in life.lives.items()
        ),
        frozenset((name, seen.incarnations(name) <= ids) for name, ids in life.known.items()),
        frozenset((name, len(ids), seen.incarnations(name) <= ids) for name, ids in life.joined.items()),
        life.was_hidden,
    )


def _before_key(state: RollModelState) -> Hashable:
    """Return which members that are counted are those of before the step."""
    seen, step = state.look(sees_leader=False), state.roll.step
    running = {member.member_id for member in state.group.running_members}
    return step and frozenset(
        (name, one in ids, one in running) for name, ids in step.before.items() for one in seen.incarnations(name)
    )


def _replaced_key(state: RollModelState) -> Hashable:
    seen = state.look(sees_leader=False)
    return frozenset((name, seen.incarnations(name) <= before) for name, before in state.replaced)


def _offsets_key(state: RollModelState, memory: GroupMemory) -> Hashable:
    now = state.input.committed
    if memory.offsets is None:
        return None
    return tuple((first.lag, now > (first.committed or 0)) for first in memory.offsets.values())


def ran_key(state: RollModelState) -> Hashable:
    number = state.roll.step.number if state.roll.step else state.roll.steps + 1
    return frozenset((place - number, *what) for place, *what in state.ran if place >= number)
