"""Answers of a coordinator, as dicts with Kafka's field names; each is encoded and decoded on its way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve

from streams_assignor import Subtopology, Topology
from streams_assignor.codec import TaskId
from streams_assignor.codec.streams_group import HEARTBEAT, decode_message, encode_message
from streams_assignor.streams_group import MemberProfile, StreamsGroupMember, StreamsTasks, topology_fields

TOPOLOGY = Topology.of(Subtopology(sources=["orders"], changelogs=["counts"]))
PROFILE = MemberProfile(
    group_id="billing",
    member_id="m",
    process_id="p",
    rebalance_timeout_ms=300_000,
    topology=topology_fields(TOPOLOGY),
)


def new_member(**profile: Any) -> StreamsGroupMember:
    return StreamsGroupMember(evolve(PROFILE, **profile))


def tasks(*names: str) -> frozenset[TaskId]:
    return frozenset(map(TaskId.parse, names))


def response(
    epoch: int = 1,
    active: Iterable[str] | None = None,
    standby: Iterable[str] = (),
    *,
    error: int = 0,
    message: str | None = None,
    statuses: Mapping[int, str] | None = None,
    interval_ms: int = 5_000,
) -> dict[str, Any]:
    """The answer to a heartbeat; without ``active`` the assignment is as before."""
    assigned: dict[str, Any] = dict.fromkeys(("activeTasks", "standbyTasks", "warmupTasks"))
    if active is not None:
        assigned = StreamsTasks.of(tasks(*active), tasks(*standby)).fields()
    fields = {
        "throttleTimeMs": 0,
        "errorCode": error,
        "errorMessage": message,
        "memberId": "m",
        "memberEpoch": epoch,
        "heartbeatIntervalMs": interval_ms,
        "acceptableRecoveryLag": 0,
        "taskOffsetIntervalMs": 0,
        "status": None
        if statuses is None
        else [{"statusCode": code, "statusDetail": detail} for code, detail in statuses.items()],
        **assigned,
        "endpointInformationEpoch": 0,
        "partitionsByUserEndpoint": None,
    }
    return decode_message(HEARTBEAT.response, 0, encode_message(HEARTBEAT.response, 0, fields))


def send(member: StreamsGroupMember) -> tuple[StreamsGroupMember, dict[str, Any]]:
    """Send a heartbeat: its fields as a broker reads them."""
    member, fields = member.next_request()
    raw = encode_message(HEARTBEAT.request, 0, fields)
    return member, decode_message(HEARTBEAT.request, 0, raw)


def owned(fields: Mapping[str, Any]) -> dict[str, list[int]] | None:
    """The active tasks in a heartbeat, by subtopology."""
    found = fields["activeTasks"]
    return None if found is None else {each["subtopologyId"]: each["partitions"] for each in found}


def stable_member(*active: str, epoch: int = 1, **profile: Any) -> StreamsGroupMember:
    """A member that owns these tasks."""
    member, _ = send(new_member(**profile).subscribe())
    member = member.on_response(response(epoch, active)).on_callback_completed()
    return send(member)[0]
