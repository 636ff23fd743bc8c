"""The coordinator of one group, for a member that speaks the streams protocol (KIP-1071).

kafka-python has no such member. Its connections are used for security, FindCoordinator and Metadata; heartbeats and
commits are encoded by this project.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka import KafkaConsumer
from kafka.errors import KafkaConnectionError, for_code

from streams_assignor.clients.kafka_python import _offset_commit
from streams_assignor.clients.kafka_python._commit_connection import CommitConnection
from streams_assignor.clients.kafka_python._private_api import DescribeConfigsRequest, MetadataRequest
from streams_assignor.clients.kafka_python.broker_connection import BrokerConnection, connect_to_any, find_coordinator
from streams_assignor.codec import StreamsAssignorError
from streams_assignor.codec.streams_group import HEARTBEAT, decode_message, encode_message
from streams_assignor.upgrade.cluster.client.connection import Deadline
from streams_assignor.upgrade.cluster.client.errors import ApiError, ClusterError
from streams_assignor.upgrade.cluster.client.node_address import node_address
from streams_assignor.upgrade.input_values import InvalidInput, parse_number

CommitIdentity = tuple[str, int, str]
"""Group, member epoch and member id."""

SESSION_TIMEOUT_KEY: Final = "streams.session.timeout.ms"
"""The group's configuration at the brokers."""

_RETRIABLE_CODES: Final = frozenset({14, 15, 16})  # COORDINATOR_LOAD_IN_PROGRESS, _NOT_AVAILABLE, NOT_COORDINATOR
_SAID_OF_TOPICS: Final = frozenset({0, 3})  # it exists, or not
_NO_ANSWER: Final = -1  # UNKNOWN_SERVER_ERROR
_COMMIT_SECONDS: Final = 10.0
_OFFSETS_SINCE: Final = 1  # version of the heartbeat: brokers before 4.4 refuse those that have task offsets
_GROUP_RESOURCE: Final = 32  # DescribeConfigs' type of resource
_CORRELATION_ID: Final = bytes(4)  # always the same: one request at a time
_NO_TAGS: Final = b"\0"
_HEADER_BYTES: Final = 5  # of a response: the correlation id and no tagged fields


class CoordinatorUnavailable(KafkaConnectionError):  # type: ignore[misc]  # kafka-python has no type information
    """The coordinator is unknown or has not answered: the request may be repeated."""


class HeartbeatUnsupported(StreamsAssignorError):
    """The coordinator does not know the request."""


class GroupCoordinator:
    """Requests to the coordinator of a group; one thread uses it, any thread may close it.

    Args:
        group: the group.
        settings: those of kafka-python's consumer.

    A request connects first, if necessary; ``CoordinatorUnavailable`` if that fails, or if no answer comes.
    """

    def __init__(self, group: str, settings: Mapping[str, Any]) -> None:
        self._group = group
        self._settings = settings
        self.client_id: Final = str(settings.get("client_id", KafkaConsumer.DEFAULT_CONFIG["client_id"]))
        self._servers: Sequence[str] = settings["bootstrap_servers"]
        self._known_brokers: Sequence[str] = ()
        self._connection: BrokerConnection | None = None

    @property
    def address(self) -> str | None:
        """The address of the coordinator; None if it is unknown."""
        return None if (connection := self._connection) is None else connection.server

    def heartbeat(self, fields: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a heartbeat, and return the answer, which may be an error.

        ``HeartbeatUnsupported`` if the broker does not have the request.
        """
        connection = self._connected(Deadline(seconds))
        supported = connection.versions_of(HEARTBEAT.key)
        if supported is None or supported[0] > HEARTBEAT.request.latest:
            raise HeartbeatUnsupported(connection.server)
        version = min(supported[1], HEARTBEAT.request.latest)
        if version < _OFFSETS_SINCE:
            fields = {**fields, "taskOffsets": None}
        body = encode_message(HEARTBEAT.request, version, fields)
        answer = self._exchange(connection, self._framed(HEARTBEAT.key, version, body), seconds)
        return decode_message(HEARTBEAT.response, version, answer[_HEADER_BYTES:])

    def commit(
        self, identity: CommitIdentity, offsets: Mapping[tuple[str, int], tuple[int, str]], seconds: float
    ) -> int:
        """Commit as a member; return the first error code, 0 for success."""
        connection = self._connected(Deadline(seconds))
        group, epoch, member_id = identity
        request = _offset_commit.encode_epoch_request(self.client_id, group, epoch, member_id, offsets)
        answer = self._exchange(connection, request, seconds)
        try:
            codes = _offset_commit.epoch_error_codes(answer, len(offsets))
        except ValueError as error:
            self.forget()
            raise CoordinatorUnavailable(f"{connection.server}: {error}") from error
        return next(filter(None, codes), 0)

    def partition_counts(self, topics: Iterable[str], seconds: float) -> dict[str, int]:
        """Return the number of partitions of each topic that exists; another error of a topic is no answer."""
        deadline = Deadline(seconds)
        wanted = [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(topics)]
        answer = self._send(MetadataRequest, deadline, topics=wanted, allow_auto_topic_creation=False)
        described = {topic.name: topic for topic in answer.topics if topic.partitions or topic.error_code}
        for name in sorted(topics):
            if (code := described[name].error_code if name in described else _NO_ANSWER) not in _SAID_OF_TOPICS:
                raise CoordinatorUnavailable(f"{name}: {for_code(code).message}")
        return {name: len(topic.partitions) for name, topic in described.items() if not topic.error_code}

    def session_timeout_ms(self, seconds: float) -> int | None:
        """Return the group's session timeout; None if this user may not read it, or the broker does not tell it."""
        deadline = Deadline(seconds)
        if not self._connected(deadline).supports(DescribeConfigsRequest):
            return None
        resource = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=_GROUP_RESOURCE, resource_name=self._group, configuration_keys=[SESSION_TIMEOUT_KEY]
        )
        answer = self._send(DescribeConfigsRequest, deadline, resources=[resource])
        values = [config.value for result in answer.results if not result.error_code for config in result.configs]
        try:
            return parse_number(values[0]) if values and values[0] else None
        except InvalidInput:
            return None

    def forget(self) -> None:
        """Look the coordinator up again for the next request."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def interrupt(self) -> None:
        """Make a request under way fail. From any thread."""
        if (connection := self._connection) is not None:
            connection.interrupt()

    def close(self) -> None:
        """Close the connection."""
        self.forget()

    def commit_connection(self, identity: Callable[[], CommitIdentity | None]) -> CommitConnection:
        """Return the connection on which the user's thread commits as this member."""
        return _EpochCommitConnection(self, identity)

    def connect(self, address: str, seconds: float) -> BrokerConnection:
        """Return a further connection to a broker."""
        return BrokerConnection(address, self._settings, Deadline(seconds))

    def _framed(self, api_key: int, version: int, body: bytes) -> bytes:
        client_id = self.client_id.encode()
        numbers = api_key.to_bytes(2) + version.to_bytes(2) + _CORRELATION_ID
        request = numbers + len(client_id).to_bytes(2) + client_id + _NO_TAGS + body
        return len(request).to_bytes(4) + request

    def _exchange(self, connection: BrokerConnection, request: bytes, seconds: float) -> bytes:
        try:
            return connection.exchange(request, seconds)
        except (OSError, ValueError) as error:
            self.forget()
            raise CoordinatorUnavailable(f"{connection.server}: {str(error) or type(error).__name__}") from error

    def _send(self, request_type: Any, deadline: Deadline, **fields: Any) -> Any:
        try:
            return self._connected(deadline).send(request_type, deadline, **fields)
        except ClusterError as error:
            self.forget()
            raise CoordinatorUnavailable(str(error)) from error

    def _connected(self, deadline: Deadline) -> BrokerConnection:
        if self._connection is None:
            try:
                self._connection = self._find(deadline)
            except ClusterError as error:
                if isinstance(error, ApiError) and error.code not in _RETRIABLE_CODES:
                    raise for_code(error.code)(str(error)) from error
                raise CoordinatorUnavailable(str(error)) from error
        return self._connection

    def _find(self, deadline: Deadline) -> BrokerConnection:
        """Ask any broker for the coordinator: those of the configuration, and those that were known."""
        servers = list(dict.fromkeys([*self._servers, *self._known_brokers]))
        with connect_to_any(servers, self._connect_until, deadline) as node:
            address = find_coordinator(node, self._group, deadline)
            self._known_brokers = tuple(node.describe_brokers(deadline).addresses.values())
        return self._connect_until(address, deadline)

    def _connect_until(self, address: str, deadline: Deadline) -> BrokerConnection:
        return BrokerConnection(address, self._settings, deadline)


class _Address(NamedTuple):
    host: str
    port: int


class _EpochCommitConnection(CommitConnection):
    """Commits of the user's thread, as a member with an epoch."""

    def __init__(self, coordinator: GroupCoordinator, identity: Callable[[], CommitIdentity | None]) -> None:
        super().__init__(coordinator)
        self._coordinator = coordinator
        self._current_identity = identity

    def _identity(self) -> tuple[str, int, str, str | None] | None:
        identity = self._current_identity()
        return None if identity is None else (*identity, None)

    def _node(self) -> _Address | None:
        if (address := self._coordinator.address) is None:
            return None
        host, _, port = address.rpartition(":")
        return _Address(host.removeprefix("[").removesuffix("]"), int(port))  # the brackets of an IPv6 address

    def _connect(self, node: _Address, seconds: float) -> tuple[Any, Any]:
        connection = self._coordinator.connect(node_address(node), seconds)
        return connection, connection

    def _disconnect(self, connection: Any) -> None:
        connection.interrupt()
        connection.close()

    def _exchange(
        self,
        connection: Any,
        _: Any,
        identity: tuple[str, int, str, str | None],
        offsets: Mapping[tuple[str, int], tuple[int, str]],
    ) -> Iterable[int]:
        request = _offset_commit.encode_epoch_request(self._coordinator.client_id, *identity[:3], offsets)
        return _offset_commit.epoch_error_codes(connection.exchange(request, _COMMIT_SECONDS), len(offsets))
