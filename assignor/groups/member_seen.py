"""A member of a live or simulated group as ``upgrade.roll`` sees it."""

from __future__ import annotations

from streams_assignor.groups.member import InspectedMember
from streams_assignor.upgrade.roll.group_observation import MemberSeen


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
