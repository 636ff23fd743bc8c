"""Keys of the states of a roll: without numbers that only count, and with times that are left instead of a clock's.

A key has each field of a state that is not in ``LEFT_OUT``: as it is, or what stands for it here.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from functools import cache
from typing import Any, Final

from attrs import fields

from streams_assignor.spark_sim.rolls.state import RollModelState
from streams_assignor.upgrade.roll.group_life import GroupLife
from streams_assignor.upgrade.roll.group_memory import GroupMemory
from streams_assignor.upgrade.roll.journal import CommandEnded, DeviationFound
from streams_assignor.upgrade.roll.state import RollState, StepInProgress
from streams_assignor.upgrade.roll.unowned_times import UnownedTimes

_WORDS: Final = "words for an operator"
_COUNTS: Final = "it only counts: what belongs to a step has its distance from this one"
_REPORTED: Final = "it is reported, and nothing is decided by it"
_NO_OWNER: Final = "no partition of the model has an owner, so no commit shows that a member lives"

LEFT_OUT: Final[Mapping[type, Mapping[str, str]]] = {
    RollModelState: {
        "seconds": "each time is kept as what has passed since",
        "committed_then": "kept as whether something was committed since, in `input`",
    },
    RollState: {
        "steps": _COUNTS,
        "answers": "what is remembered of members begins anew with each, so it is kept as whether there is such memory",
        "waits": "looking begins anew with each, which the phase of the watch shows",
    },
    StepInProgress: {"number": _COUNTS},
    CommandEnded: {"step": _COUNTS, "instance": "the key of it", "verb": "the key of it"}
    | dict.fromkeys(("output", "seconds"), _WORDS),
    DeviationFound: {"step": "it is the one under way, or the next one"}
    | dict.fromkeys(("expected", "observed", "likely"), _WORDS),
    GroupMemory: {"ended_at": _REPORTED},
    UnownedTimes: dict.fromkeys(("over_s", "longest_gap_s"), _REPORTED),
    GroupLife: {
        "answers": "memory of another number of answers is none",
        "committed": _NO_OWNER,
        "committed_at": _NO_OWNER,
    },
}
"""The fields that no key has, and why."""


def model_key(state: RollModelState) -> Hashable:
    """Return a key that is equal for states that go on alike."""
    there = _counted(state)
    return fields_key(
        state,
        group=state.group.state,
        input=fields_key(state.input, committed=state.input.committed > state.committed_then),
        roll=roll_key(state, there),
        watch=watch_key(state, there),
        ran=_from_here(state.roll, state.ran),
        replaced=_by_name(state.replaced, there),
    )


def roll_key(state: RollModelState, there: _Counted) -> Hashable:
    """Return a key of where the roll stands."""
    roll, step = state.roll, state.roll.step
    return fields_key(
        roll,
        plan=(roll.plan.bounced, roll.plan.begun),  # nothing else of it is changed
        rounds=tuple(each.config for each in roll.rounds) if roll.is_going_back else len(roll.rounds),
        step=step
        and fields_key(
            step,
            before=_by_name(step.before.items(), there),
            ended=frozenset((key, end and fields_key(end)) for key, end in step.ended.items()),
        ),
        deviation=roll.deviation and fields_key(roll.deviation),
        members=_by_name(roll.members.items(), there),
        joined=_counts_by_name(roll.joined.items(), there),
        accepted=_from_here(roll, roll.accepted),
        patient=_from_here(roll, roll.patient),
    )


def watch_key(state: RollModelState, there: _Counted) -> Hashable:
    """Return a key of what is remembered of looks."""
    watch, roll, now = state.watch, state.roll, state.seconds
    memory: GroupMemory | None = watch.memory
    awaited = watch.awaited
    if awaited:  # looking begins anew if the step or the waits are others than at the last look
        awaited = awaited._replace(steps=roll.steps - awaited.steps, waits=roll.waits - awaited.waits)
    return fields_key(
        watch,
        awaited=awaited,
        began=now - watch.began,
        memory=memory
        and fields_key(
            memory,
            times=_times_key(state, memory.times, there),
            offsets=memory.offsets
            and tuple((first.lag, state.input.committed > (first.committed or 0)) for first in memory.offsets.values()),
        ),
        lasting=life_key(state, there),
    )


def _times_key(state: RollModelState, times: UnownedTimes, there: _Counted) -> Hashable:
    now, surely = state.seconds, 2 * state.roll.plan.limits.session_timeout_s
    before = state.roll.step.before if state.roll.step else {}
    return fields_key(
        times,
        last=now - times.last,
        touched=frozenset((name, ids == before.get(name, ())) for name, ids in times.touched.items()),
        ended_at=frozenset((name, min(now - ended, surely)) for name, ended in times.ended_at.items()),
        since=frozenset((task, now - since) for task, since in times.since.items()),
        held=frozenset((task, there.get(owner)) for task, owner in times.held.items()),
    )


def life_key(state: RollModelState, there: _Counted) -> Hashable:
    """Return a key of what is remembered of members; one that has lived long enough has no age."""
    life, now, limits = state.watch.lasting, state.seconds, state.roll.plan.limits
    if not isinstance(life, GroupLife) or life.answers != state.roll.answers:
        return None
    long_ago = limits.session_timeout_s + limits.soak_s

    def age(then: float) -> float:
        return min(now - then, long_ago)

    return fields_key(
        life,
        counted=age(life.counted.since),  # a simulated group has one coordinator
        lives=frozenset(
            (
                there.get(member_id),
                each.seconds >= limits.soak_s or (now - each.since, now - each.until),
                state.roll.step is None and age(each.until),
            )
            for member_id, each in life.lives.items()
        ),
        known=_by_name(life.known.items(), there),
        joined=_counts_by_name(life.joined.items(), there),
    )


# -- parts ------------------------------------------------------------------------------------------------------------

_Counted = Mapping[str, int]
"""The place of each member that is counted: member ids only count."""


def _counted(state: RollModelState) -> _Counted:
    return {member_id: place for place, member_id in enumerate(state.group.coordinator.members)}


def _those(ids: Iterable[str], there: _Counted) -> frozenset[int]:
    return frozenset(there[one] for one in ids if one in there)


def _by_name(ids: Iterable[tuple[str, Iterable[str]]], there: _Counted) -> Hashable:
    return frozenset((name, _those(of_name, there)) for name, of_name in ids)


def _counts_by_name(ids: Iterable[tuple[str, Collection[str]]], there: _Counted) -> Hashable:
    return frozenset((name, len(of_name), _those(of_name, there)) for name, of_name in ids)


def _from_here(roll: RollState, places: Iterable[tuple[Any, ...]]) -> Hashable:
    """Return what belongs to steps, by their distance from the present one; of steps that are over, nothing counts."""
    number = roll.step.number if roll.step else roll.steps + 1
    return frozenset((place - number, *what) for place, *what in places if place >= number)


def fields_key(value: Any, **instead: Hashable) -> Hashable:
    """Return a key of an object: of each field that is not left out, what stands for it, or itself."""
    return tuple([instead[name] if name in instead else _plain(getattr(value, name)) for name in _kept(type(value))])  # type: ignore[arg-type]  # a class is hashable


@cache
def _kept(kind: type[Any]) -> tuple[str, ...]:
    left_out = LEFT_OUT.get(kind, {})
    return tuple(attribute.name for attribute in fields(kind) if attribute.name not in left_out)


def _plain(value: Any) -> Hashable:
    return frozenset(value.items()) if isinstance(value, Mapping) else value
