"""An inspected group: its members, upgrade status and findings, and their JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from streams_assignor.codec import TaskId
from streams_assignor.groups import record_size
from streams_assignor.groups._messages import upgrade_text
from streams_assignor.groups.broker_assigned.json_form import broker_group_json, broker_member_json
from streams_assignor.groups.check import Finding, FindingSeverity, GroupView
from streams_assignor.groups.checks import finding_text, run_checks
from streams_assignor.groups.described_group import (
    CLASSIC,
    CONSUMER_PROTOCOL,
    DEFAULT_MAX_MESSAGE_BYTES,
    WITHOUT_METADATA,
    DescribedGroup,
    GroupOffsets,
)
from streams_assignor.groups.member import InspectedMember, decode_members
from streams_assignor.groups.standbys import StandbyKind, classify_standbys
from streams_assignor.protocol import PROTOCOL_NAME
from streams_assignor.upgrade.release_detection import (
    KAFKA_RELEASES,
    CandidateReleases,
    first_streams_release,
    newer_release_like,
    streams_protocol_releases,
)
from streams_assignor.upgrade.releases import Release

_CONSUMER_PROTOCOL_TYPES: Final = ("", CONSUMER_PROTOCOL)


@frozen
class InspectedGroup(GroupView):
    """All that a broker's description of a group shows. The leader's member id is not part of it, but for Connect."""

    standby_kinds: Mapping[TaskId, StandbyKind]
    """For each task with a standby or warm-up replica."""

    findings: tuple[Finding, ...]
    """Problems first."""

    offsets: GroupOffsets | None = None
    """None if they were not read; ``offsets.lag_summary`` says what follows from them."""

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings that need action."""
        return tuple(finding for finding in self.findings if finding.severity is FindingSeverity.PROBLEM)

    @property
    def is_streams(self) -> bool:
        """Whether the members run Kafka Streams and send metadata; not so in a group of KIP-1071."""
        return _is_streams(self.described)

    @property
    def has_tasks(self) -> bool:
        """Whether tasks are assigned, by the leader or by the broker (KIP-1071)."""
        return self.is_streams or self.is_streams_group

    @property
    def metadata_bytes(self) -> int | None:
        """Size of the record with all metadata of the group, in bytes.

        None if there is no such record, as in groups whose broker assigns or without members, or it is not shown.
        """
        raw = self.described
        has_record = raw.type == CLASSIC and raw.members and raw.state not in WITHOUT_METADATA
        return self.record_bytes if has_record else None

    @property
    def max_message_bytes(self) -> int:
        """Limit of that size, in bytes; Kafka's default if it is unknown."""
        return self.described.max_message_bytes or DEFAULT_MAX_MESSAGE_BYTES

    @property
    def leading_process(self) -> str | None:
        """The process id of the leader, if an assignment shows it; None otherwise.

        Kafka's own assignors schedule a later rebalance only in the leader's process. A custom one may choose another.
        """
        scheduled = {member.subscription.process_id for member in self.members if member.assignment.next_rebalance_ms}
        (process_id,) = scheduled if len(scheduled) == 1 else (None,)
        return None if process_id is None else str(process_id)

    def standbys_of(self, member: InspectedMember, kind: StandbyKind) -> tuple[TaskId, ...]:
        """List the replicas of one kind on a member."""
        marked = member.assignment.warm_ups if kind is StandbyKind.WARM_UP else ()
        return (*marked, *(task for task in member.assignment.standbys if self.standby_kinds[task] is kind))

    def releases_of(self, member: InspectedMember) -> str | None:
        """Return the releases that a member may run, as far as the group shows them."""
        if member.subscription.used_version is not None:
            return str(member.subscription.candidate_releases)
        return streams_protocol_releases(**_shown_of(member)) if self.is_streams_group else None

    def possible_releases(self, member: InspectedMember) -> tuple[Release, ...]:
        """Return each release that a member may run, without ``upgrade.from`` if that explains it; none: not known."""
        candidates = self.candidates_of(member)
        return candidates.unpinned or candidates.pinned

    def candidates_of(self, member: InspectedMember) -> CandidateReleases:
        """Return the releases that can have sent what a member has sent: its metadata, or in a streams group more."""
        if not self.is_streams_group:
            return member.subscription.candidate_releases
        first = first_streams_release(**_shown_of(member))
        return CandidateReleases(tuple(release for release in KAFKA_RELEASES if release.number >= first.number))

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form; docs/reference/group.md lists the keys."""
        raw, status = self.described, self.upgrade_status
        return {
            "group": raw.name,
            "state": raw.state,
            "type": raw.type,
            "protocol_type": raw.protocol_type,
            "protocol": raw.protocol,
            "error": raw.error or None,
            "coordinator": raw.coordinator or None,
            **broker_group_json(raw),
            "leading_process": self.leading_process,
            "upgrade": {
                "stage": status.stage.name.lower().replace("_", "-"),
                "text": upgrade_text(status),
                "used": {str(version): number for version, number in status.used.items()},
                "common": status.common,
                "waiting_for": list(status.waiting_for),
            },
            "metadata_bytes": self.metadata_bytes,
            "metadata_limit": None if self.metadata_bytes is None else self.max_message_bytes,
            "metadata_limit_known": self.metadata_bytes is not None and raw.max_message_bytes is not None,
            "members": [self._member_json(member) for member in self.members],
            "findings": [
                {
                    "kind": finding.severity.value,
                    "code": finding.code,
                    "text": finding_text(finding),
                    "members": list(finding.members),
                }
                for finding in self.findings
            ],
        }

    def _member_json(self, member: InspectedMember) -> dict[str, Any]:
        raw, sent, got = member.described, member.subscription, member.assignment
        return {
            "name": member.name,
            "label": member.label,
            "member_id": raw.member_id,
            "client_id": raw.client_id,
            "host": raw.host,
            "group_instance_id": raw.group_instance_id,
            "consumer_protocol_version": sent.consumer_protocol_version,
            "rebalance_protocol": member.rebalance_protocol,
            "used_version": sent.used_version,
            "supported_version": sent.supported_version,
            "answered_version": got.used_version,
            "answered_supported_version": got.supported_version,
            "releases": self.releases_of(member),
            "last_generation": sent.generation if sent.generation >= 0 else None,
            "process_id": None if sent.process_id is None else str(sent.process_id),
            "end_point": sent.user_end_point,
            "tags": dict(sent.client_tags),
            "rack": sent.rack,
            "topics": list(sent.topics),
            "owned_partitions": list(map(str, sent.owned_partitions)),
            "partitions": list(map(str, got.partitions)),
            "active": list(map(str, got.active)),
            "standby": list(map(str, self.standbys_of(member, StandbyKind.STANDBY))),
            "warm_up": list(map(str, self.standbys_of(member, StandbyKind.WARM_UP))),
            "standby_or_warm_up": list(map(str, self.standbys_of(member, StandbyKind.EITHER))),
            "previous_active": list(map(str, sent.previous_active)),
            "previous_standby": list(map(str, sent.previous_standby)),
            "offset_sums": None
            if sent.offset_sums is None
            else {str(task): offset_sum for task, offset_sum in sent.offset_sums.items()},
            "sent_error_code": sent.error_code,
            "error_code": got.error_code,
            "next_rebalance_ms": got.next_rebalance_ms,
            "levels": {**got.levels, **sent.levels},
            **broker_member_json(raw.broker_assignment, self.reconciliations.get(member.name), self.described.type),
            "metadata_bytes": record_size.member_record_bytes(raw),
            "problem": sent.problem or got.problem,
        }


def _shown_of(member: InspectedMember) -> dict[str, bool]:
    """Return what a member of a streams group shows of its release."""
    raw, assignment = member.described, member.described.broker_assignment
    sends_offsets = bool(assignment and (assignment.offset_sums or assignment.end_offset_sums))
    return {"is_static": raw.group_instance_id is not None, "sends_offsets": sends_offsets}


def inspect_group(described: DescribedGroup, assume: Release | None = None) -> InspectedGroup:
    """Inspect a described group; never raises: metadata that cannot be decoded becomes a finding.

    Args:
        described: The group.
        assume: The stand-in release of members that support a version above all of the table; None: nothing is assumed.
    """
    members = _decode_members(described, assume)
    return InspectedGroup(described, members, classify_standbys(members), run_checks(GroupView(described, members)))


def _decode_members(described: DescribedGroup, assume: Release | None) -> tuple[InspectedMember, ...]:
    if described.type != CLASSIC or described.protocol_type in _CONSUMER_PROTOCOL_TYPES:
        assumed = newer_release_like(assume) if assume else None
        return decode_members(described.members, streams=_is_streams(described), assumed=assumed)
    return ()


def _is_streams(raw: DescribedGroup) -> bool:
    return raw.type == CLASSIC and raw.protocol_type == CONSUMER_PROTOCOL and raw.protocol == PROTOCOL_NAME
