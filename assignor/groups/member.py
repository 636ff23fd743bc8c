"""One member of an inspected group: its last subscription and assignment, and what follows from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.groups.decoded import (
    AssignmentSeen,
    SubscriptionSeen,
    assigned_by_broker,
    assignment_seen,
    known_to_broker,
    subscription_seen,
)
from streams_assignor.groups.described_group import DescribedGroupMember
from streams_assignor.groups.member_names import member_label, member_name
from streams_assignor.groups.rejoin import RejoinCause, rejoin_causes
from streams_assignor.upgrade.releases import Release

UNKNOWN_PROTOCOL: Final = "unknown"


@frozen(kw_only=True)
class InspectedMember:
    """A member of an inspected group."""

    name: str
    """Short: the instance id, the beginning of the broker's UUID, or the member id.

    It is unique in what ``with_unique_names`` returns.
    """

    described: DescribedGroupMember
    subscription: SubscriptionSeen
    assignment: AssignmentSeen
    rejoin_causes: tuple[RejoinCause, ...] = field(init=False)
    """Why the member rejoins immediately; empty if it does not."""

    @rejoin_causes.default
    def _find_rejoin_causes(self) -> tuple[RejoinCause, ...]:
        return rejoin_causes(self.subscription, self.assignment)

    @property
    def label(self) -> str:
        """The name for people: instance id or client id, host, and the beginning of the UUID if it is not static.

        It does not depend on the other members, so it is the same in every description.
        """
        return member_label(self.described)

    @property
    def is_about_to_rejoin(self) -> bool:
        """Whether the member rejoins immediately."""
        return bool(self.rejoin_causes)

    @property
    def rebalance_protocol(self) -> str:
        """``eager``, ``cooperative`` or ``unknown``. Userdata does not contain it; it is inferred.

        Consumers before 2.4 (envelope 0) and members with ``upgrade.from`` up to 1.1 are eager. A member that rejoins
        with owned partitions is cooperative (KIP-429). One that rejoins without may have had none, so that one
        description never shows that a member of 2.4 to 3.9 has ``upgrade.from`` of 2.0 to 2.3: JoinGroup names
        assignors, not their protocols, and both kinds write the same fields. Suspended tasks of an eager member since
        2.6 tell no more: a cooperative one that had nothing active reports tasks on disk alike.
        """
        if self.subscription.owned_partitions:
            return "cooperative"
        candidates = self.subscription.candidate_releases
        if self.subscription.consumer_protocol_version == 0 or candidates.is_pinned:
            return "eager"
        return candidates.rebalance_protocol or UNKNOWN_PROTOCOL


def decode_members(
    members: Iterable[DescribedGroupMember], *, streams: bool, assumed: Release | None = None
) -> tuple[InspectedMember, ...]:
    """Decode all members, sorted by client id and member id; userdata only if the group runs Kafka Streams.

    Those that support a version above all of the table are taken for the ``assumed`` release, if one is given.
    """
    return with_unique_names(_decoded(raw, streams, assumed) for raw in members)


def _decoded(raw: DescribedGroupMember, streams: bool, assumed: Release | None) -> InspectedMember:
    assignment = raw.broker_assignment
    if assignment:
        sent, got = known_to_broker(assignment), assigned_by_broker(assignment.current)
    else:
        sent, got = subscription_seen(raw.subscription, streams), assignment_seen(raw.assignment, streams)
        sent = evolve(sent, assumed=assumed) if assumed else sent
    return InspectedMember(name=member_name(raw), described=raw, subscription=sent, assignment=got)


def with_unique_names(members: Iterable[InspectedMember]) -> tuple[InspectedMember, ...]:
    """Return the members of a group sorted by client id and member id; the name is the member id if not unique."""
    ordered = sorted(members, key=lambda member: _sort_key(member.described))
    if len({member.name for member in ordered}) == len(ordered):
        return tuple(ordered)
    counts = Counter(member.name for member in ordered)
    return tuple(
        member if counts[member.name] == 1 else evolve(member, name=member.described.member_id) for member in ordered
    )


def _sort_key(raw: DescribedGroupMember) -> tuple[str, str, str]:
    return raw.client_id, raw.group_instance_id or "", raw.member_id
