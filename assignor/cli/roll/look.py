"""One look at a live group, as a roll sees it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from streams_assignor.cli.group.watch import error_text
from streams_assignor.cli.roll._secrets import without_secrets
from streams_assignor.cli.roll.instances import InstanceNames
from streams_assignor.formats.text import join_names
from streams_assignor.groups import InspectedGroup, NoSuchGroup, inspect_group
from streams_assignor.groups.described_group import DEAD, STABLE
from streams_assignor.groups.member_seen import epochs_seen, members_seen
from streams_assignor.groups.offsets import active_state_lags, offset_request, partition_lags
from streams_assignor.upgrade.cluster.client.errors import ClusterError
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.roll.group_observation import GroupObservation, PartitionOffsets, StateBehind

if TYPE_CHECKING:
    from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup


@frozen
class LiveLook:
    """A look, and the group of which it is; None: it was not described."""

    seen: GroupObservation
    group: InspectedGroup | None = None


def look_at(
    lookup: GroupLookup,
    name: str,
    names: InstanceNames,
    assume: Release | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> LiveLook:
    """Describe a group, with its offsets while it is stable. A failure is part of the look.

    Its time is that of the description: who is counted then has lived within the session before it.
    """
    try:
        group = inspect_group(lookup.group(name), assume=assume)
    except NoSuchGroup:
        return LiveLook(GroupObservation(seconds=clock(), state=DEAD))
    except ClusterError as error:
        return LiveLook(GroupObservation(seconds=clock(), state="", problem=without_secrets(error_text(error))))
    raw, seconds = group.described, clock()
    if raw.hides_members:
        return LiveLook(GroupObservation(seconds=seconds, state="", problem=without_secrets(raw.error)))
    offsets: Mapping[str, PartitionOffsets] | None = None
    state_lags: Mapping[str, StateBehind] = {}
    offsets_problem = ""
    if group.has_tasks and group.members and raw.state == STABLE:
        request = offset_request(group, of_active_state=True)
        read = lookup.offsets([request], lambda _line: None)[request.group]
        group = evolve(group, offsets=read)
        offsets, state_lags = _offsets(group), _state_lags(group)
        offsets_problem = without_secrets(join_names(read.failures)) if offsets is None else ""
    leading = group.leading_process
    leaders = {names.of(member.described) for member in group.members if str(member.subscription.process_id) == leading}
    observation = GroupObservation(
        seconds=seconds,
        state=raw.state,
        epochs=epochs_seen(raw),
        members=members_seen(group, names.of),
        offsets=offsets,
        state_lags=state_lags,
        offsets_problem=offsets_problem,
        leader=leaders.pop() if len(leaders) == 1 else None,
        coordinator=raw.coordinator,
        coordinator_was_away=raw.coordinator_was_away,
    )
    return LiveLook(observation, group)


def _offsets(group: InspectedGroup) -> Mapping[str, PartitionOffsets] | None:
    """Return the offsets of all partitions with an owner; None if one could not be read."""
    assert group.offsets
    owned = [(lag, lag.member) for lag in partition_lags(group) if lag.member]
    has_ends = all(lag.end is not None for lag, _ in owned)
    if group.offsets.failures and not (has_ends and group.offsets.committed):
        return None
    return {
        str(lag.partition): PartitionOffsets(
            committed=lag.committed,
            end=lag.end,
            task="" if lag.task is None else str(lag.task),
            owner=owner.described.member_id,
        )
        for lag, owner in owned
    }


def _state_lags(group: InspectedGroup) -> Mapping[str, StateBehind]:
    return {str(lag.task): StateBehind(lag.member.described.member_id, lag.lag) for lag in active_state_lags(group)}
