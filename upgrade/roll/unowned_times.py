"""How long tasks have no owner in a step: through its commands, the answers of an operator, and restarts of roll.

A time begins at the last look that showed an owner: that before the command, or the intent in the journal if roll was
called again since. It ends at the look that shows another one. Nobody looks while a command runs, so it is the most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import field, frozen

from streams_assignor.upgrade.roll.group_observation import REBALANCING, GroupObservation
from streams_assignor.upgrade.roll.plan import BY_HAND, RoundAction
from streams_assignor.upgrade.roll.state import RollState

_EVERY_INSTANCE: Final = ""
"""Of a group that is started again: nobody has any task until then."""
_SURELY: Final = 1.5
"""Sessions after its command, after which a member of before that is still counted was never stopped."""


@frozen(kw_only=True)
class UnownedTimes:
    """The memory of a step."""

    last: float
    """The time of the last look."""
    touched: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False)
    """The instances that commands have touched, with the members that each had before."""
    ended_at: Mapping[str, float] = field(factory=dict, hash=False)
    """The first look after all commands of an instance."""
    owners: Mapping[str, str] = field(factory=dict, hash=False)
    """The instance of each task at the last look that showed it."""
    eager: frozenset[str] = frozenset()
    """The tasks of eager members when the group was stable last: nobody processes them while it rebalances."""
    since: Mapping[str, float] = field(factory=dict, hash=False)
    """The tasks that nobody processes, since when."""
    held: Mapping[str, str] = field(factory=dict, hash=False)
    """The member of before that has a task, if it lives: a stopped one is counted until its session times out."""
    over_s: float = 0.0
    """The longest time that is over."""
    longest_gap_s: float = 0.0
    """The longest time between two looks: so exact are times."""

    def longest_s(self, now: float) -> float:
        """Return the longest time so far; of a task that is held it is not known whether it is one."""
        return max([self.over_s, *(now - since for task, since in self.since.items() if task not in self.held)])


def track(state: RollState, times: UnownedTimes | None, seen: GroupObservation) -> UnownedTimes:
    """Return the times after a look."""
    now, touched = seen.seconds, _touched(state)
    times = times or UnownedTimes(last=now - ((state.step and state.step.seconds_before) or 0.0))
    since = dict.fromkeys(times.eager, now) if seen.state in REBALANCING else {}
    since |= dict.fromkeys(_newly_touched(state, times, touched), times.last)
    since |= times.since
    ended_at = {name: times.ended_at.get(name, now) for name in touched if _has_ended(state, name)}
    over_s, owners, eager, held = times.over_s, times.owners, times.eager, times.held
    if seen.is_stable:
        owners = seen.owners()
        eager = frozenset(task for member in seen.members if member.protocol == "eager" for task in member.active)
        session_s = _SURELY * state.plan.limits.session_timeout_s
        running = {name for name, ended in ended_at.items() if now - ended > session_s}
        before = {one: name for name, ids in touched.items() for one in ids}
        owned_by = {task: member.member_id for member in seen.members for task in member.active}
        gone = {one for one, name in before.items() if name not in running}
        held = {task: owner for task, owner in owned_by.items() if owner in gone}
        known = {*since, *(state.step.owners if state.step else ()), *owned_by}
        for task in known:
            owner = owned_by.get(task)
            if owner is None or owner in gone:
                since.setdefault(task, now)
            elif task in since:
                began = since.pop(task)
                over_s = over_s if owner in before else max(over_s, now - began)  # that of before has run all the time
    return UnownedTimes(
        last=now,
        touched=touched,
        ended_at=ended_at,
        owners=owners,
        eager=eager,
        since=since,
        held=held,
        over_s=over_s,
        longest_gap_s=max(times.longest_gap_s, now - times.last),
    )


def _touched(state: RollState) -> dict[str, tuple[str, ...]]:
    """Return the instances that commands have touched; when an operator does by hand is not known."""
    if state.step is None or state.plan.verbs == (BY_HAND,):
        return {}
    touched = {name: state.step.before.get(name, ()) for name in state.step.touched}
    starts = state.round is not None and state.round.action is RoundAction.START
    return {**touched, _EVERY_INSTANCE: ()} if starts else touched


def _newly_touched(state: RollState, times: UnownedTimes, touched: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield the tasks of instances that were touched since the last look; of a stopped group nobody has any."""
    new = {name for name, ids in touched.items() if times.touched.get(name) != ids}
    for task, owner in {**(state.step.owners if state.step else {}), **times.owners}.items():
        if owner in new or _EVERY_INSTANCE in new:
            yield task


def _has_ended(state: RollState, instance: str) -> bool:
    ended = state.step.ended if state.step else {}
    return all(ended.get(command) for command in state.commands if command[0] == instance)
