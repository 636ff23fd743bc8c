"""A group, described: members, where its upgrade stands, findings, and all of that as plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import asdict, frozen

from assignor.inspect import size
from assignor.inspect.copies import Copy, copies
from assignor.inspect.findings import find
from assignor.inspect.member import Member, read_members
from assignor.inspect.raw import CLASSIC, CONSUMER_PROTOCOL, DEFAULT_LIMIT, STREAM, RawGroup
from assignor.inspect.scene import Finding, Kind, Scene
from assignor.inspect.standing import Standing, standing
from subscription_codec import TaskId

_READABLE: Final = ("", CONSUMER_PROTOCOL)


@frozen(kw_only=True)
class Group:
    """A group as somebody outside can know it.

    Who leads is not among it: DescribeGroups does not tell. But in the process of the leader somebody is asked to
    rejoin at a given time, if anybody is (``leading_process``; of Kafka's own assignors that is certain, one of the
    application's may ask others).
    """

    raw: RawGroup
    members: tuple[Member, ...]
    copies: Mapping[TaskId, Copy]
    standing: Standing
    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings that somebody should do something about."""
        return tuple(finding for finding in self.findings if finding.kind is Kind.PROBLEM)

    @property
    def streams(self) -> bool:
        """Whether userdata is that of Kafka Streams."""
        return _is_streams(self.raw)

    @property
    def metadata_bytes(self) -> int:
        """How large the record is that the broker stores of it."""
        return size.group_bytes(self.raw)

    @property
    def limit(self) -> int:
        """How large that may be."""
        return self.raw.limit or DEFAULT_LIMIT

    @property
    def leading_process(self) -> str | None:
        """The process id of the leader, if an assignment gives it away."""
        asked = {member.sent.process_id for member in self.members if member.got.next_rebalance_ms}
        (process,) = asked if len(asked) == 1 else (None,)
        return None if process is None else str(process)

    def copies_of(self, member: Member, kind: Copy) -> tuple[TaskId, ...]:
        """List the copies of one kind that a member has."""
        return tuple(task for task in member.got.standbys if self.copies[task] is kind)

    def as_json(self) -> dict[str, Any]:
        """Return plain values; docs/guide/group.md lists them."""
        raw = self.raw
        return {
            "group": raw.name,
            "state": raw.state,
            "type": raw.type,
            "protocol_type": raw.protocol_type,
            "protocol": raw.protocol,
            "leader": None,
            "leading_process": self.leading_process,
            "upgrade": {
                **asdict(self.standing),
                "stage": self.standing.stage.name.lower().replace("_", "-"),
                "used": {str(version): number for version, number in self.standing.used.items()},
                "waiting_for": list(self.standing.waiting_for),
            },
            "metadata_bytes": self.metadata_bytes,
            "metadata_limit": self.limit,
            "metadata_limit_known": raw.limit is not None,
            "members": [self._member(member) for member in self.members],
            "findings": [
                {**asdict(finding), "kind": finding.kind.value, "members": list(finding.members)}
                for finding in self.findings
            ],
        }

    def _member(self, member: Member) -> dict[str, Any]:
        raw, sent, got = member.raw, member.sent, member.got
        return {
            "name": member.name,
            "member_id": raw.member_id,
            "client_id": raw.client_id,
            "host": raw.host,
            "group_instance_id": raw.instance_id,
            "consumer_protocol_version": sent.envelope,
            "rebalance_protocol": member.rebalance_protocol,
            "used_version": sent.used,
            "supported_version": sent.supported,
            "answered_version": got.version,
            "answered_supported_version": got.supported,
            "releases": str(sent.senders) if sent.used is not None else None,
            "last_generation": sent.generation if sent.generation >= 0 else None,
            "process_id": None if sent.process_id is None else str(sent.process_id),
            "end_point": sent.end_point,
            "tags": dict(sent.tags),
            "rack": sent.rack,
            "topics": list(sent.topics),
            "owned_partitions": list(map(str, sent.owned)),
            "partitions": list(map(str, got.partitions)),
            "active": list(map(str, got.active)),
            "standby": list(map(str, self.copies_of(member, Copy.STANDBY))),
            "warm_up": list(map(str, self.copies_of(member, Copy.WARM_UP))),
            "standby_or_warm_up": list(map(str, self.copies_of(member, Copy.EITHER))),
            "previous_active": list(map(str, sent.tasks)),
            "previous_standby": list(map(str, sent.standbys)),
            "offset_sums": None if sent.sums is None else {str(task): each for task, each in sent.sums.items()},
            "sent_error_code": sent.error_code,
            "error_code": got.error_code,
            "next_rebalance_ms": got.next_rebalance_ms,
            "levels": {**got.levels, **sent.levels},
            "metadata_bytes": size.member_bytes(raw),
            "problem": sent.problem or got.problem,
        }


def inspect(raw: RawGroup) -> Group:
    """Read all that a broker says of a group; never fails, what cannot be read becomes a finding."""
    members = read_members(raw.members, streams=_is_streams(raw)) if raw.protocol_type in _READABLE else ()
    stand = standing(members)
    return Group(
        raw=raw,
        members=members,
        copies=copies(members),
        standing=stand,
        findings=find(Scene(raw, members, stand)),
    )


def _is_streams(raw: RawGroup) -> bool:
    return raw.type == CLASSIC and raw.protocol_type == CONSUMER_PROTOCOL and raw.protocol == STREAM
