"""The last decision of a group, computed again from the subscriptions that its members have sent.

A forecast is computed from what members sent before the step. Subscriptions of the step decide: other offsets, other
process ids. So the decision that was made is compared with the one that the release of its leader makes of the same
subscriptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import evolve, frozen

from streams_assignor.groups import InspectedGroup
from streams_assignor.spark_sim.forecast.observation import ObservedGroup, ObservedProcess
from streams_assignor.spark_sim.forecast.possibilities import MOST_LEADERS, difference, with_patch_levels, with_standbys
from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.task_assignor import BUILT_IN
from streams_assignor.upgrade.releases import OURS


@frozen(kw_only=True)
class Recomputation:
    """How a decision compares with the one that is computed again."""

    leaders: tuple[str, ...] = ()
    """The processes that decide so if they lead."""
    difference: str = ""
    """How the decision differs from that of every possible leader; empty if one decides so, or it is not known."""
    unknown: str = ""
    """Why it cannot be computed; empty if it can."""
    by_process: bool = False
    """Whether threads were not compared: how their process's tasks are given to them depends on what is not shown."""


def recompute(observed: ObservedGroup, instances: Mapping[str, Instance]) -> Recomputation:
    """Compute the last decision of a group again.

    Args:
        observed: The group.
        instances: The configuration of each of its processes, by name, up to the patch level.
    """
    observed = with_standbys(observed)
    exact = _recompute(observed, instances, by_process=False)
    if not exact.difference:
        return exact
    by_process = _recompute(observed, instances, by_process=True)
    return exact if by_process.difference else evolve(by_process, by_process=True)


def _recompute(observed: ObservedGroup, instances: Mapping[str, Instance], *, by_process: bool) -> Recomputation:
    leaders: list[str] = []
    differences: list[str] = []
    blind: list[str] = []
    highest = max(member.subscription.used_version or 0 for member in observed.group.members)
    for process in _possible_leaders(observed, instances):
        instance = instances[process.name]
        leader = process.threads[0]
        found = [
            difference(observed, leader, of_patch_level, name, now_ms=0, by_process=by_process)
            for of_patch_level in with_patch_levels(leader, instance)
            for name in (BUILT_IN if instance.release == OURS else (None,))
        ]
        if None in found:
            leaders.append(process.name)
        elif instance.release.supported_version < highest:
            blind.append(f"{process.name}, which may lead, cannot read version {highest} and draws a process id for it")
        else:
            differences += [text for text in found[:1] if text]
    if leaders:
        return Recomputation(leaders=tuple(leaders))
    if blind:
        return Recomputation(unknown=blind[0])
    return Recomputation(difference=min(differences, key=len))


def _possible_leaders(observed: ObservedGroup, instances: Mapping[str, Instance]) -> Iterator[ObservedProcess]:
    """Yield the processes that may lead: the one that schedules a rebalance; of many, one of each configuration."""
    leading = observed.group.leading_process
    tried: set[Instance] = set()
    for process in observed.processes:
        may_lead = leading in (None, str(process.process_id))
        if may_lead and (len(observed.processes) <= MOST_LEADERS or instances[process.name] not in tried):
            tried.add(instances[process.name])
            yield process


def offset_drift(before: InspectedGroup, after: InspectedGroup) -> int | None:
    """Return the most by which an offset sum differs from the one that the process has sent of the task before.

    None if there is none to compare: members send offset sums since version 7, and of stores that they do not run.
    """
    known = dict(_offset_sums(before))
    drifts = [abs(offset_sum - known[place]) for place, offset_sum in _offset_sums(after) if place in known]
    return max(drifts, default=None)


def _offset_sums(group: InspectedGroup) -> Iterator[tuple[object, int]]:
    for member in group.members:
        sent = member.subscription
        for task, offset_sum in (sent.offset_sums or {}).items():
            if offset_sum >= 0:
                yield (sent.process_id, task), offset_sum
