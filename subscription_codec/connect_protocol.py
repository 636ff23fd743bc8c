"""What workers of Kafka Connect send in JoinGroup and get in SyncGroup: the protocol type ``connect``.

Java: ``ConnectProtocol`` (version 0, protocol ``default``) and ``IncrementalCooperativeConnectProtocol`` (KIP-415,
version 1, protocols ``compatible`` and ``sessioned``; the latter sends 2 in the same layout).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from subscription_codec._messages import decode_by_reference
from subscription_codec.errors import BadVersion
from subscription_codec.layout import Field, Layout
from subscription_codec.wire._flexible import List
from subscription_codec.wire.text import Utf8
from subscription_codec.wire.types import INT_32, INT_64, Array, Bytes, Integer, Struct

CONNECTOR_TASK: Final = -1
"""The number that stands for the connector itself among the numbers of its tasks."""


class ConnectorTasks(NamedTuple):
    """One connector with the numbers of its tasks; ``CONNECTOR_TASK`` is the connector itself."""

    connector: str
    tasks: tuple[int, ...]


class WorkerSubscription(NamedTuple):
    """What a worker sends."""

    version: int = 0
    url: str | None = None
    config_offset: int = -1
    """How far it has read the topic of configurations."""

    allocation: bytes | None = None
    """Its last assignment, encoded; from version 1 on."""

    trailing: bytes = b""


class WorkerAssignment(NamedTuple):
    """What a worker gets."""

    version: int = 0
    error_code: int = 0
    leader: str | None = None
    """The member id of the leader."""

    leader_url: str | None = None
    config_offset: int = -1
    assigned: Sequence[ConnectorTasks] | None = ()
    revoked: Sequence[ConnectorTasks] | None = ()
    """What it has to give up; from version 1 on."""

    scheduled_delay: int = 0
    """Milliseconds until the tasks of a worker that left are given to others; from version 1 on."""

    trailing: bytes = b""


_TASKS: Final = Struct("ConnectorTasks", ConnectorTasks, connector=Utf8(2), tasks=Array(INT_32))
_ASSIGNED: Final = List(_TASKS, 4, nullable=True)
_VERSION: Final = Field("version", "version", Integer(2))
_CONFIG_OFFSET: Final = Field("config_offset", "config-offset", INT_64)
_SUBSCRIPTION_V0: Final = (_VERSION, Field("url", "url", Utf8(2, nullable=True)), _CONFIG_OFFSET)
_ASSIGNMENT_V0: Final = (
    _VERSION,
    Field("error_code", "error", Integer(2)),
    Field("leader", "leader", Utf8(2, nullable=True)),
    Field("leader_url", "leader-url", Utf8(2, nullable=True)),
    _CONFIG_OFFSET,
    Field("assigned", "assignment", _ASSIGNED),
)
_SUBSCRIPTION_LAYOUTS: Final = (
    Layout(WorkerSubscription, *_SUBSCRIPTION_V0),
    Layout(WorkerSubscription, *_SUBSCRIPTION_V0, Field("allocation", "allocation", Bytes(4, nullable=True))),
)
_ASSIGNMENT_V1: Final = (
    *_ASSIGNMENT_V0,
    Field("revoked", "revoked", _ASSIGNED),
    Field("scheduled_delay", "delay", INT_32),
)
_ASSIGNMENT_LAYOUTS: Final = (Layout(WorkerAssignment, *_ASSIGNMENT_V0), Layout(WorkerAssignment, *_ASSIGNMENT_V1))
"""By version; one above them is read as the last, with its new fields in ``trailing``."""


def decode_worker_subscription(subscription: bytes) -> WorkerSubscription:
    """Decode what a worker of Kafka Connect sends; ``DecodeError`` for malformed bytes.

    >>> decode_worker_subscription(bytes.fromhex("0000 0008 687474703a2f2f61 0000000000000007")).url
    'http://a'
    """
    record: WorkerSubscription = _decode(subscription, _SUBSCRIPTION_LAYOUTS)
    return record


def decode_worker_assignment(assignment: bytes) -> WorkerAssignment:
    """Decode what a worker of Kafka Connect gets; ``DecodeError`` for malformed bytes."""
    record: WorkerAssignment = _decode(assignment, _ASSIGNMENT_LAYOUTS)
    return record


def _decode(message: bytes, layouts: Sequence[Layout]) -> Any:
    version = int.from_bytes(message[:2], "big", signed=True)
    if version < 0:
        raise BadVersion(f"Connect protocol version {version}; the lowest is 0", 0, "version")
    return decode_by_reference(message, layouts[min(version, len(layouts) - 1)])
