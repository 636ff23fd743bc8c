"""A member of a live or simulated group as ``upgrade.roll`` sees it."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from streams_assignor.groups._group import InspectedGroup
from streams_assignor.groups.described_group import STREAMS, DescribedGroup, DescribedGroupMember
from streams_assignor.groups.member import InspectedMember, decode_members
from streams_assignor.upgrade.roll.group_observation import GroupEpochs, MemberSeen


def members_seen(group: InspectedGroup, instance_of: Callable[[DescribedGroupMember], str]) -> tuple[MemberSeen, ...]:
    """Return the members of a group, also of one whose metadata is not shown, each with its instance of the plan."""
    members = group.members or decode_members(group.described.members, streams=False)
    seen = ((member, member_seen(member, instance_of(member.described))) for member in members)
    if group.described.type != STREAMS:
        return tuple(found for _, found in seen)
    return tuple(_of_streams_group(group, member, found) for member, found in seen)


def epochs_seen(group: DescribedGroup) -> GroupEpochs | None:
    """Return the epochs of a streams group; None of another one."""
    broker = group.broker
    if broker is None or broker.topology is None:
        return None
    return GroupEpochs(broker.epoch, broker.assignment_epoch, broker.topology.epoch)


def _of_streams_group(group: InspectedGroup, member: InspectedMember, seen: MemberSeen) -> MemberSeen:
    assignment = member.described.broker_assignment
    assert assignment
    return evolve(
        seen,
        candidates=group.candidates_of(member),
        rejoins=not group.reconciliations[member.name].is_complete,
        epoch=assignment.epoch,
        topology_epoch=assignment.topology_epoch,
    )


def member_seen(member: InspectedMember, instance: str) -> MemberSeen:
    """Return what metadata and assignment of a member show; ``instance`` is the one of the plan that it belongs to."""
    sent, got = member.subscription, member.assignment
    return MemberSeen(
        member_id=member.described.member_id,
        instance=instance,
        process=str(sent.process_id or ""),
        label=member.label,
        candidates=sent.candidate_releases,
        used_version=sent.used_version,
        supported_version=sent.supported_version,
        protocol=member.rebalance_protocol,
        rejoins=member.is_about_to_rejoin,
        is_static=member.described.group_instance_id is not None,
        is_scheduled=bool(got.next_rebalance_ms),
        active=frozenset(map(str, got.active)),
        problem=sent.problem or got.problem or "",
    )
