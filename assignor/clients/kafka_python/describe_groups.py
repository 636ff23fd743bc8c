"""Describes groups as raw bytes through kafka-python, with the requests of Kafka's own tools.

``describe_groups`` of its admin client decodes the bytes of members and drops them, so this module sends
FindCoordinator and DescribeGroups itself, on connections of ``upgrade.features.client.connection``. Every call opens
its own connections and closes them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import field, frozen
from kafka.errors import IncompatibleBrokerVersion, KafkaError, for_code

from assignor.clients.kafka_python._private_api import (
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    ListGroupsRequest,
    MetadataRequest,
)
from assignor.inspect import DescribedGroup, DescribedGroupMember, NoSuchGroup, subscribed_topics, with_topic_metadata
from assignor.inspect.described_group import CLASSIC, DEAD, LOOKUP_TIMEOUT_SECONDS, MAX_MESSAGE_BYTES_KEY, OFFSETS_TOPIC
from upgrade.features.client.connection import ClusterNodes, Connection, Deadline
from upgrade.features.client.errors import ApiError, ClusterError, Unreachable

_MAX_RESPONSE_BYTES: Final = 100 * 2**20
"""The largest request that a broker accepts. kafka-python's own limit is below the size of a large group."""

_TOPIC_RESOURCE: Final = 2  # DescribeConfigs' type of resource
_GROUP_ID_NOT_FOUND: Final = 69
_RETRIABLE_CODES: Final = frozenset({14, 15, 16})  # COORDINATOR_LOAD_IN_PROGRESS, _NOT_AVAILABLE, NOT_COORDINATOR
_RETRY_SECONDS: Final = 0.2
_GROUPS_PER_REQUEST: Final = 100


class _BrokerConnection(Connection):
    """A connection to one broker, for requests about groups."""

    @property
    def server(self) -> str:
        """The address of the broker."""
        return self._server

    def send(self, request_type: Any, deadline: Deadline, **fields: Any) -> Any:
        """Send a request in the highest common version; return the response, which may contain an error code."""
        try:
            sent = self._connection.send_request(
                request_type(**fields), request_timeout_ms=max(1, int(1000 * deadline.remaining))
            )
            return self._wait(sent, deadline)
        except IncompatibleBrokerVersion as error:
            raise Unreachable(f"{self._server} does not support {request_type.__name__}: {error}") from None
        except (KafkaError, OSError, ValueError) as error:
            raise Unreachable(f"{self._server}: {' '.join(str(error).split()) or type(error).__name__}") from None


@frozen
class GroupLookup:
    """Describes the groups of one cluster; ``settings`` are kafka-python's, and ``repr`` does not show them.

    Every call is limited to ``timeout_seconds`` and raises ``upgrade.features.model.rpc.ClusterError``.
    """

    bootstrap_servers: str
    settings: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    timeout_seconds: float = LOOKUP_TIMEOUT_SECONDS

    def group(self, name: str) -> DescribedGroup:
        """Return a group, with the partition counts of its topics and the limit of its record; ``NoSuchGroup``."""
        deadline = Deadline(self.timeout_seconds)
        with self._connect_to_any(deadline) as node:
            found = self._describe_at_coordinator(node, name, deadline)
            return _with_topic_metadata([found], node, deadline)[0]

    def groups(self) -> list[DescribedGroup]:
        """Return all groups of the cluster that the user may describe, sorted by name."""
        deadline = Deadline(self.timeout_seconds)
        with self._connect_to_any(deadline) as node:
            found = [
                group
                for address in _broker_addresses(node, deadline)
                for group in self._groups_of_broker(address, deadline)
            ]
            return _with_topic_metadata(sorted(found, key=lambda group: group.name), node, deadline)

    def _describe_at_coordinator(self, node: _BrokerConnection, name: str, deadline: Deadline) -> DescribedGroup:
        while True:
            try:
                with self._connect(_find_coordinator(node, name, deadline), deadline) as coordinator:
                    return _describe(coordinator, name, deadline)
            except ApiError as refused:
                if refused.code not in _RETRIABLE_CODES or deadline.remaining <= _RETRY_SECONDS:
                    raise
                time.sleep(_RETRY_SECONDS)

    def _groups_of_broker(self, address: str, deadline: Deadline) -> list[DescribedGroup]:
        with self._connect(address, deadline) as node:
            listed = {group.name: group for group in _list_groups(node, deadline)}
            classic = [name for name, group in listed.items() if group.type == CLASSIC]
            described: dict[str, DescribedGroup] = {}
            for start in range(0, len(classic), _GROUPS_PER_REQUEST):
                answer = node.send(DescribeGroupsRequest, deadline, groups=classic[start : start + _GROUPS_PER_REQUEST])
                # A group that cannot be described (any more) is returned as it was listed.
                described |= {each.group_id: _described_group(each) for each in answer.groups if not each.error_code}
            return [described.get(name, group) for name, group in listed.items()]

    def _connect_to_any(self, deadline: Deadline) -> _BrokerConnection:
        servers = [server for each in self.bootstrap_servers.split(",") if (server := each.strip())]
        errors = []
        for number, server in enumerate(servers):
            try:
                return self._connect(server, deadline.share(len(servers) - number))
            except Unreachable as error:
                errors.append(str(error))
        raise Unreachable("; ".join(errors) or "expected HOST:PORT,... as bootstrap servers, got none")

    def _connect(self, address: str, deadline: Deadline) -> _BrokerConnection:
        return _BrokerConnection(address, {**self.settings, "receive_message_max_bytes": _MAX_RESPONSE_BYTES}, deadline)


def _broker_addresses(node: _BrokerConnection, deadline: Deadline) -> Iterable[str]:
    nodes: ClusterNodes = node.describe_brokers(deadline)
    return nodes.addresses.values()


def _find_coordinator(node: _BrokerConnection, name: str, deadline: Deadline) -> str:
    """Return the address of a group's coordinator; one group a request, as old brokers accept no list."""
    answer = node.send(FindCoordinatorRequest, deadline, key=name, key_type=0, coordinator_keys=[name])
    found = answer.coordinators[0] if answer.coordinators else answer
    _raise_for_error(found)
    return f"[{found.host}]:{found.port}" if ":" in found.host else f"{found.host}:{found.port}"


def _describe(node: _BrokerConnection, name: str, deadline: Deadline) -> DescribedGroup:
    (found,) = node.send(DescribeGroupsRequest, deadline, groups=[name]).groups
    if found.error_code not in (0, _GROUP_ID_NOT_FOUND):
        _raise_for_error(found)
    if found.error_code == 0 and found.group_state != DEAD:
        return _described_group(found)
    # Brokers describe a group that is not classic as one that does not exist. The list of its coordinator has it.
    for listed in _list_groups(node, deadline):
        if listed.name == name:
            return listed
    raise NoSuchGroup(f"no group {name!r} at {node.server}, its coordinator")


def _list_groups(node: _BrokerConnection, deadline: Deadline) -> list[DescribedGroup]:
    answer = node.send(ListGroupsRequest, deadline)
    _raise_for_error(answer)
    return [
        DescribedGroup(
            name=each.group_id,
            state=each.group_state or "",
            type=(each.group_type or CLASSIC).lower(),
            protocol_type=each.protocol_type,
        )
        for each in answer.groups
    ]


def _described_group(found: Any) -> DescribedGroup:
    return DescribedGroup(
        name=found.group_id,
        state=found.group_state,
        protocol_type=found.protocol_type,
        protocol=found.protocol_data,
        members=tuple(
            DescribedGroupMember(
                member_id=each.member_id,
                group_instance_id=each.group_instance_id,
                client_id=each.client_id,
                host=each.client_host,
                subscription=bytes(each.member_metadata or b""),
                assignment=bytes(each.member_assignment or b""),
            )
            for each in found.members
        ),
    )


def _with_topic_metadata(
    groups: Iterable[DescribedGroup], node: _BrokerConnection, deadline: Deadline
) -> list[DescribedGroup]:
    """Add partition counts and the record limit, as far as the user may describe topics and settings."""
    found = list(groups)
    topics = set[str]().union(*(subscribed_topics(group.members) for group in found))
    return with_topic_metadata(
        found, dict(_partition_counts(node, topics, deadline)), _max_message_bytes(node, deadline)
    )


def _partition_counts(node: _BrokerConnection, topics: Iterable[str], deadline: Deadline) -> Iterator[tuple[str, int]]:
    names = sorted(topics)
    if not names:
        return
    wanted = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    try:
        answer = node.send(MetadataRequest, deadline, topics=wanted, allow_auto_topic_creation=False)
    except ClusterError:
        return
    for each in answer.topics:
        if not each.error_code:
            yield each.name, len(each.partitions)


def _max_message_bytes(node: _BrokerConnection, deadline: Deadline) -> int | None:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=_TOPIC_RESOURCE, resource_name=OFFSETS_TOPIC, configuration_keys=[MAX_MESSAGE_BYTES_KEY]
    )
    try:
        answer = node.send(DescribeConfigsRequest, deadline, resources=[resource])
    except ClusterError:
        return None
    values = [each.value for result in answer.results if not result.error_code for each in result.configs]
    return int(values[0]) if values else None


def _raise_for_error(answer: Any) -> None:
    """Raise the error of a response, if it has one."""
    if code := answer.error_code:
        error = for_code(code)
        raise ApiError(code, error.message, getattr(answer, "error_message", None) or error.description)
