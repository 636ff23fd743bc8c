"""What workers of Kafka Connect send in JoinGroup and get in SyncGroup: the protocol type ``connect``.

Java: ``ConnectProtocol`` (version 0, protocol ``default``) and ``IncrementalCooperativeConnectProtocol`` (KIP-415,
version 1, protocols ``compatible`` and ``sessioned``; the latter sends 2 in the same layout).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from streams_assignor.codec.errors import BadVersion
from streams_assignor.codec.wire.schema import NOT_FLEXIBLE, Schema
from streams_assignor.codec.wire.structs import Field, Struct
from streams_assignor.codec.wire.text import Utf8
from streams_assignor.codec.wire.types import INT_16, INT_32, INT_64, Array, Bytes

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


_TASKS: Final = Array(
    Struct("ConnectorTasks", Field("connector", Utf8(2)), Field("tasks", Array(INT_32)), make=ConnectorTasks)
)
_VERSION: Final = Field("version", INT_16)
_CONFIG_OFFSET: Final = Field("config-offset", INT_64, "config_offset")
_SUBSCRIPTION: Final = Schema(
    "ConnectWorkerSubscription",
    (
        _VERSION,
        Field("url", Utf8(2), nullable=0),
        _CONFIG_OFFSET,
        Field("allocation", Bytes(4), since=1, nullable=1),
    ),
    latest=1,
    flexible=NOT_FLEXIBLE,
    record=WorkerSubscription,
)
_ASSIGNMENT: Final = Schema(
    "ConnectWorkerAssignment",
    (
        _VERSION,
        Field("error", INT_16, "error_code"),
        Field("leader", Utf8(2), nullable=0),
        Field("leader-url", Utf8(2), "leader_url", nullable=0),
        _CONFIG_OFFSET,
        Field("assignment", _TASKS, "assigned", nullable=0),
        Field("revoked", _TASKS, since=1, nullable=1),
        Field("delay", INT_32, "scheduled_delay", since=1),
    ),
    latest=1,
    flexible=NOT_FLEXIBLE,
    record=WorkerAssignment,
)


def decode_worker_subscription(subscription: bytes) -> WorkerSubscription:
    """Decode what a worker of Kafka Connect sends; ``DecodeError`` for malformed bytes.

    >>> decode_worker_subscription(bytes.fromhex("0000 0008 687474703a2f2f61 0000000000000007")).url
    'http://a'
    """
    record: WorkerSubscription = _decode(subscription, _SUBSCRIPTION)
    return record


def decode_worker_assignment(assignment: bytes) -> WorkerAssignment:
    """Decode what a worker of Kafka Connect gets; ``DecodeError`` for malformed bytes."""
    record: WorkerAssignment = _decode(assignment, _ASSIGNMENT)
    return record


def _decode(message: bytes, schema: Schema) -> Any:
    """Decode a message; a version above the known ones is read as the latest, with its new fields in ``trailing``."""
    version = int.from_bytes(message[:2], "big", signed=True)
    if version < 0:
        raise BadVersion(f"Connect protocol version {version}; the lowest is 0", 0, "version")
    return schema.layouts[min(version, schema.latest)].decode(message)
