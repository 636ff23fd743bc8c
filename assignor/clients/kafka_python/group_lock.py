"""A lock in the cluster: membership in a group of its own, which the leader of that group holds.

The coordinator counts members on all hosts, and forgets one that is silent for its session. A group has one leader: its
first member, as long as that rejoins. So whoever joins and does not lead leaves again. No topic, offset or transaction
is made, and an empty group vanishes by itself. All brokers since 0.10.1 have the requests.

A process that is suspended, or that no coordinator answers, for longer than its session loses the lock. It takes it
again as soon as it can. No clock tells how long a machine was suspended: ``check`` asks the coordinator, waits for the
lock, and raises if another process has it. A command that was started before goes on, and another process may have had
it in between.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from threading import Event, Thread
from types import TracebackType
from typing import Any, Final, Self

from streams_assignor.clients.kafka_python._private_api import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from streams_assignor.clients.kafka_python.broker_connection import (
    BrokerConnection,
    connect_to_any,
    find_coordinator,
    raise_for_error,
)
from streams_assignor.codec import StreamsAssignorError
from streams_assignor.upgrade.cluster.client.connection import Deadline
from streams_assignor.upgrade.cluster.client.errors import ApiError, ClusterError

PROTOCOL_TYPE: Final = "streams-assignor-lock"
_PROTOCOL: Final = "lock"
SESSION_SECONDS: Final = 10.0
_HEARTBEAT_SECONDS: Final = 2.0
_REQUEST_SECONDS: Final = 5.0
_RETRY_SECONDS: Final = 0.2
_NAP_SECONDS: Final = 0.02
_MOVED_CODES: Final = frozenset({14, 15, 16})
"""COORDINATOR_LOAD_IN_PROGRESS, _NOT_AVAILABLE, NOT_COORDINATOR"""
_UNKNOWN_MEMBER_ID: Final = 25
_ILLEGAL_GENERATION: Final = 22
_REBALANCE_IN_PROGRESS: Final = 27
_MEMBER_ID_REQUIRED: Final = 79
_GONE: Final = frozenset({_UNKNOWN_MEMBER_ID, _ILLEGAL_GENERATION})
_RETRIABLE_CODES: Final = _MOVED_CODES | _GONE | {_REBALANCE_IN_PROGRESS}
_REGAIN_SECONDS: Final = 120.0
"""How long is waited for a lock that was lost while no coordinator answered."""


class LockHeld(StreamsAssignorError):
    """Another process holds the lock."""


class LockLost(StreamsAssignorError):
    """The lock is not held any more."""


class _Forgotten(StreamsAssignorError):
    """The coordinator does not know this member any more."""

    def __init__(self) -> None:
        super().__init__("the coordinator has forgotten this process, because it was silent")


class GroupLock:
    """A lock; a context manager, which takes it and gives it back.

    Args:
        servers: Bootstrap servers, separated by commas.
        settings: Those of kafka-python.
        name: The name of the group.
        holder: The description of this process for others.

    Raises:
        LockHeld: Another process holds it.
        ClusterError: No coordinator answers, or this user may not join the group.
    """

    def __init__(self, servers: str, settings: Mapping[str, Any], name: str, holder: bytes) -> None:
        self._servers = servers.split(",")
        self._settings = settings
        self.name: Final = name
        self._holder = holder
        self._connection: BrokerConnection | None = None
        self._member_id = ""
        self._generation = -1
        self._lost = ""  # why it is not held now
        self._taken = ""  # that another process has it
        self._sent = self._answered = time.monotonic()  # the last request, and the last one of which an answer shows it
        self._ended = Event()
        self._wakes = Event()
        self._thread = Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Self:
        try:
            self._join(Deadline(3 * SESSION_SECONDS))
        except LockHeld:
            self._leave()
            raise
        except ClusterError:
            self._disconnect()
            raise
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._wakes.set()
        self._thread.join(2 * _REQUEST_SECONDS)
        if not self._thread.is_alive():
            self._leave()

    def check(self) -> None:
        """Raise ``LockLost`` if the lock is not held: before each thing that nobody else may do at the same time."""
        deadline, since = Deadline(_REGAIN_SECONDS), time.monotonic()
        self._wakes.set()
        while (why := self._why_lost()) or self._answered < since:
            if self._taken or not deadline.remaining:
                raise LockLost(f"the lock {self.name} is lost: {why or 'no coordinator answers'}")
            time.sleep(_NAP_SECONDS)

    def _why_lost(self) -> str:
        """Say why the lock is not held; empty if it is."""
        silent = time.monotonic() - self._answered
        if silent > SESSION_SECONDS:
            self._lost = self._lost or f"no coordinator has answered for {silent:.0f} s"
        return self._taken or self._lost

    def _keep(self) -> None:
        """Send heartbeats, rejoin when another process has joined, and take the lock again when it was lost."""
        while not self._ended.is_set():
            self._wakes.wait(_RETRY_SECONDS if self._lost else _HEARTBEAT_SECONDS)
            self._wakes.clear()
            try:
                if self._lost:
                    # With its member id: a coordinator that has restarted may count it still, and a second member of
                    # this process would not lead.
                    self._generation = -1
                    self._join(Deadline(3 * SESSION_SECONDS))
                    self._lost = ""
                else:
                    self._heartbeat(Deadline(_REQUEST_SECONDS))
            except _Forgotten as error:
                self._lost = str(error)
            except LockHeld as error:
                self._taken = str(error)
                return
            except ClusterError as error:
                self._disconnect()
                if time.monotonic() - self._answered > SESSION_SECONDS:
                    self._lost = str(error)

    def _heartbeat(self, deadline: Deadline) -> None:
        answer = self._send(
            HeartbeatRequest,
            deadline,
            group_id=self.name,
            generation_id=self._generation,
            member_id=self._member_id,
            group_instance_id=None,
        )
        if answer.error_code == _REBALANCE_IN_PROGRESS:
            self._join(Deadline(SESSION_SECONDS))
            return
        if answer.error_code in _GONE:
            raise _Forgotten
        raise_for_error(answer)
        self._answered = self._sent

    def _join(self, deadline: Deadline) -> None:
        """Join until this member leads a generation; ``LockHeld`` if another one does."""
        while True:
            try:
                answer = self._joined(deadline)
                if not answer.error_code:
                    self._answered = self._sent
                    return
                if answer.error_code in _GONE and self._generation >= 0:
                    raise _Forgotten
                if answer.error_code not in _RETRIABLE_CODES or not deadline.remaining:
                    raise_for_error(answer)
                if answer.error_code in _MOVED_CODES:
                    self._disconnect()
            except ApiError:
                raise
            except ClusterError:
                self._disconnect()
                if not deadline.remaining:
                    raise
            time.sleep(_RETRY_SECONDS)

    def _joined(self, deadline: Deadline) -> Any:
        """Join and synchronize once; return the answer that has an error, or the last one if this member leads."""
        session_ms = int(1000 * SESSION_SECONDS)
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name=_PROTOCOL, metadata=self._holder)
        fields: dict[str, Any] = {
            "group_id": self.name,
            "session_timeout_ms": session_ms,
            "rebalance_timeout_ms": session_ms,
            "group_instance_id": None,
            "protocol_type": PROTOCOL_TYPE,
            "protocols": [protocol],
        }
        answer = self._send(JoinGroupRequest, deadline, member_id=self._member_id, **fields)
        if answer.error_code == _MEMBER_ID_REQUIRED:
            self._member_id = answer.member_id
            answer = self._send(JoinGroupRequest, deadline, member_id=self._member_id, **fields)
        if answer.error_code == _UNKNOWN_MEMBER_ID:
            self._member_id = ""
        if answer.error_code:
            return answer
        self._member_id, generation = answer.member_id, answer.generation_id
        if answer.leader != self._member_id:
            raise LockHeld(f"another process holds the lock {self.name}")
        assignment = SyncGroupRequest.SyncGroupRequestAssignment
        synchronized = self._send(
            SyncGroupRequest,
            deadline,
            group_id=self.name,
            generation_id=generation,
            member_id=self._member_id,
            group_instance_id=None,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=_PROTOCOL,
            assignments=[assignment(member_id=member.member_id, assignment=b"") for member in answer.members],
        )
        if not synchronized.error_code:
            self._generation = generation
        return synchronized

    def _leave(self) -> None:
        """Leave the group; if that fails, the session ends by itself."""
        identity = LeaveGroupRequest.MemberIdentity
        members = [identity(member_id=self._member_id, group_instance_id=None, reason="released")]
        try:
            self._send(
                LeaveGroupRequest,
                Deadline(_REQUEST_SECONDS),
                group_id=self.name,
                member_id=self._member_id,
                members=members,
            )
        except ClusterError:
            pass
        finally:
            self._disconnect()

    def _send(self, request_type: Any, deadline: Deadline, **fields: Any) -> Any:
        self._sent = time.monotonic()
        return self._request(request_type, deadline, **fields)

    def _request(self, request_type: Any, deadline: Deadline, **fields: Any) -> Any:
        if self._connection is None:
            with connect_to_any(self._servers, self._connect, deadline) as node:
                address = find_coordinator(node, self.name, deadline)
            self._connection = self._connect(address, deadline)
        return self._connection.send(request_type, deadline, **fields)

    def _connect(self, address: str, deadline: Deadline) -> BrokerConnection:
        return BrokerConnection(address, self._settings, deadline)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
