"""The memory between looks at one step of a roll of a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from attrs import field, frozen

from streams_assignor.upgrade.roll.group_observation import GroupObservation, PartitionOffsets, StateBehind
from streams_assignor.upgrade.roll.state import RollState
from streams_assignor.upgrade.roll.unowned_times import UnownedTimes, track

_Owned = TypeVar("_Owned", PartitionOffsets, StateBehind)


@frozen(kw_only=True)
class GroupMemory:
    """The memory of the looks at a step."""

    times: UnownedTimes
    """Since the step began."""
    ended_at: float | None = None
    """The first look after its commands, however often they are run again; None: they have not ended."""
    offsets: Mapping[str, PartitionOffsets] | None = field(default=None, hash=False)
    """The first ones of each partition with its present owner, after the commands or before a step; None: not read."""
    state_lags: Mapping[str, StateBehind] = field(factory=dict, hash=False)
    """The first ones that are known of each task with its present owner: what is written later is no lag of before."""


def remember(state: RollState, memory: GroupMemory | None, seen: GroupObservation) -> GroupMemory:
    """Return what is remembered after a look."""
    times = track(state, memory.times if memory else None, seen)
    memory = memory or GroupMemory(times=times)
    offsets, state_lags, ended_at = memory.offsets, memory.state_lags, memory.ended_at
    if ended_at is None and state.step and state.commands_ended:
        ended_at = seen.seconds - (state.step.seconds_before or 0.0)
    if (state.step is None or state.commands_ended) and seen.offsets is not None:
        offsets = _first_of_owner(offsets or {}, seen.offsets)
        shown = {task: first for task, first in state_lags.items() if first.offsets is not None}
        state_lags = _first_of_owner(shown, seen.state_lags)
    return GroupMemory(times=times, ended_at=ended_at, offsets=offsets, state_lags=state_lags)


def renew(memory: GroupMemory) -> GroupMemory:
    """Return what is still remembered of a step when looking begins anew, as after an answer."""
    return GroupMemory(times=memory.times, ended_at=memory.ended_at)


def _first_of_owner(before: Mapping[str, _Owned], now: Mapping[str, _Owned]) -> dict[str, _Owned]:
    """Return what there is now as it was first seen, with the same owner."""
    return {
        name: first if (first := before.get(name)) and first.owner == seen.owner else seen for name, seen in now.items()
    }
