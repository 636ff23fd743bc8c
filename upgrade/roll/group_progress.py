"""Whether a group goes on after a step: its tasks have owners, have their state again, and commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streams_assignor.upgrade.roll.deviations import DeviationKind
from streams_assignor.upgrade.roll.gates import GateResult, RollWatch, failed, passed, shortened, waiting
from streams_assignor.upgrade.roll.group_observation import AT_REST, GroupObservation, PartitionOffsets
from streams_assignor.upgrade.roll.state import RollState

_MARKER: Final = 1
"""The lag of a partition of which all is processed: a transaction ends with a marker, which nobody reads."""


def unowned(state: RollState, watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    """Whether each task has an owner; how long one had none, at most, is said, and no reason to stop afterwards."""
    if state.is_stopping or not seen.state:
        return None
    limit, times = state.plan.limits.max_unowned_s, watch.memory.times
    unseen = state.step.seconds_before if state.step else 0.0  # by a clock that may have jumped: it decides nothing
    not_seen = f", {unseen:.0f} s of it before roll was called again" if unseen else ""
    if unseen is None:
        unseen, not_seen = 0.0, ", and before roll was called again, for how long is not known: the clock has jumped"
    unheld = {task: since for task, since in times.since.items() if task not in times.held}
    # A member that lives has its tasks, whatever a command was to do.
    missing = unheld or {
        task: since for task, since in times.since.items() if not watch.lasting.lives_after(watch, times.held[task])
    }
    if not missing:
        longest = times.longest_s(seen.seconds)
        above = f", above {limit:g} s" if longest > limit else ""
        return passed("unowned", f"longest time without owner: {longest:.0f} s{above}{not_seen}")
    longest = max(seen.seconds - since for since in missing.values())
    up_to = "" if unheld and not unseen else "up to "
    text = f"{shortened(sorted(missing))} without owner for {up_to}{longest:.0f} s{not_seen}"
    expected = f"an owner within {limit:g} s"
    if unheld and longest - unseen > limit:
        return failed("unowned", DeviationKind.UNOWNED, text, expected)
    return waiting("unowned", DeviationKind.UNOWNED, text, expected)


def lag(state: RollState, watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    """Whether each task with state has it again: it was not far behind when its owner joined, or commits since.

    How far a store is restored meanwhile no broker shows; a task commits when all is restored. Before a step, a task
    that has processed all its input is taken for restored: its owner may have joined long ago, and written since.
    """
    if state.has_nobody:
        return None
    limit = state.plan.limits.max_lag
    expected = f"a lag of at most {limit:,}, or commits"
    if not seen.is_stable:
        return waiting("lag", None, AT_REST)
    if seen.offsets is None:
        why = f": {seen.offsets_problem}" if seen.offsets_problem else ""
        return waiting("lag", DeviationKind.LAG, f"offsets are not known{why}", expected)
    commit = _committing(watch.memory.offsets or {}, seen.offsets)
    if state.step is None:
        reading = {each.task for each in seen.offsets.values() if (each.lag or 0) > _MARKER}
        commit = commit.union(watch.memory.state_lags.keys() - reading)
    behind = {task: first.offsets for task, first in watch.memory.state_lags.items() if task not in commit}
    if far := {task: offsets for task, offsets in behind.items() if offsets is not None and offsets > limit}:
        text = (
            f"state of {shortened(sorted(far))} up to {max(far.values()):,} offsets behind when its owner joined, and "
            "nothing of it is committed since"
        )
        return waiting("lag", DeviationKind.LAG, text, expected)
    unknown = sorted(task for task, offsets in behind.items() if offsets is None)
    most = max((offsets for offsets in behind.values() if offsets), default=0)
    texts = [f"state at most {most:,} offsets behind" if len(unknown) < len(behind) or not behind else ""]
    texts += [f"state of {shortened(unknown)} not shown"] if unknown else []
    texts.append(f"input at most {max((each.lag or 0 for each in seen.offsets.values()), default=0):,} records")
    return passed("lag", "; ".join(filter(None, texts)))


def commits(state: RollState, watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    """Whether each partition that has something to commit was committed since its owner was first seen."""
    if state.has_nobody or seen.offsets is None:
        return None
    if state.step and state.step.counted(member.member_id for member in seen.members):
        return waiting("commits", None, AT_REST)
    begun, now = watch.memory.offsets or {}, seen.offsets
    # A lag that is not known now is taken for what it was.
    lags = {each: begun[each].lag if now[each].lag is None else now[each].lag for each in begun.keys() & now.keys()}
    have_some = [partition for partition, behind in lags.items() if (behind or 0) > _MARKER]
    stuck = sorted(each for each in have_some if not _advances(begun[each], now[each]))
    if stuck:
        text = f"nothing is committed of {shortened(stuck)}"
        return waiting("commits", DeviationKind.NO_COMMITS, text, "commits advance")
    if have_some:
        return passed("commits", f"{len(have_some)} partitions with records advance")
    done = sum(_advances(begun[each], now[each]) for each in lags)
    return passed(
        "commits", f"all is committed, of {done} partitions by their owners of now" if done else "nothing to commit"
    )


def _committing(begun: Mapping[str, PartitionOffsets], now: Mapping[str, PartitionOffsets]) -> frozenset[str]:
    """Return the tasks that have committed since their owners were first seen."""
    return frozenset(
        later.task for partition, later in now.items() if partition in begun and _advances(begun[partition], later)
    )


def _advances(first: PartitionOffsets, now: PartitionOffsets) -> bool:
    # Of a topic that was truncated, or made anew, the owner commits less than before.
    return now.committed is not None and now.committed != (first.committed or 0)
