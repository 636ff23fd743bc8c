"""The heartbeat of a static member, which aiokafka (0.14) lacks; from its modules without documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiokafka.protocol.api import RequestStruct, Response
from aiokafka.protocol.group import HeartbeatRequest
from aiokafka.protocol.types import Int16, Int32, Schema, String


class _HeartbeatResponse_v3(Response):  # type: ignore[misc]  # untyped; named as those of aiokafka
    API_KEY = 12
    API_VERSION = 3
    SCHEMA = Schema(("throttle_time_ms", Int32), ("error_code", Int16))


class _HeartbeatRequest_v3(RequestStruct):  # type: ignore[misc]  # as above
    API_KEY = 12
    API_VERSION = 3
    RESPONSE_TYPE = _HeartbeatResponse_v3
    SCHEMA = Schema(
        ("group", String("utf-8")),
        ("generation_id", Int32),
        ("member_id", String("utf-8")),
        ("group_instance_id", String("utf-8")),
    )


class StaticHeartbeat(HeartbeatRequest):  # type: ignore[misc]  # untyped
    """A heartbeat with the instance id (KIP-345), which 0.14.0 does not send: only so a broker fences a member.

    Without it a fenced member gets UNKNOWN_MEMBER_ID, joins again, and fences the member that has fenced it.
    """

    def __init__(self, group: str, generation_id: int, member_id: str, instance_id: str) -> None:
        super().__init__(group, generation_id, member_id)
        self._fields = group, generation_id, member_id, instance_id

    def prepare(self, versions: Mapping[int, tuple[int, int]]) -> Any:
        """Return the request in version 3; older brokers (before 2.3) have no static members."""
        lowest, newest = versions.get(self.API_KEY, (0, 0))
        with_instance = lowest <= _HeartbeatRequest_v3.API_VERSION <= newest
        return _HeartbeatRequest_v3(*self._fields) if with_instance else super().prepare(versions)
