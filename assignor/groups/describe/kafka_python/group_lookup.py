"""Describes groups as raw bytes through kafka-python, with the requests of Kafka's own tools.

``describe_groups`` of its admin client decodes the bytes of members and drops them, so this module sends
FindCoordinator and DescribeGroups itself, on connections of ``upgrade.cluster.client.connection``. Every call opens
its own connections and closes them. Retries share one deadline between all brokers, which a library for retries such as
tenacity does not divide.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from attrs import evolve, field, frozen
from kafka.errors import for_code

from assignor.clients.kafka_python._broker_connection import (
    MAX_RESPONSE_BYTES,
    BrokerConnection,
    connect_to_any,
    find_coordinator,
    raise_for_error,
)
from assignor.clients.kafka_python._private_api import (
    DescribeGroupsRequest,
    ListGroupsRequest,
)
from assignor.formats.text import join_names
from assignor.groups import (
    LOOKUP_TIMEOUT_SECONDS,
    ClusterGroups,
    DescribedGroup,
    DescribedGroupMember,
    NoSuchGroup,
)
from assignor.groups.describe.kafka_python._facts import offline_partitions, with_facts
from assignor.groups.describe.kafka_python._offsets import read_offsets
from assignor.groups.describe.kafka_python._requests import REQUESTS
from assignor.groups.describe.kafka_python._requests import described_group as broker_assigned_group
from assignor.groups.described_group import CLASSIC, CONSUMER, DEAD, EMPTY, STREAMS
from assignor.groups.offsets import GroupOffsets, OffsetRequest
from upgrade.cluster.client.connection import Deadline
from upgrade.cluster.client.errors import ApiError, ClusterError, Unreachable
from upgrade.redaction import hide

_GROUP_ID_NOT_FOUND: Final = 69
_SINCE: Final[Mapping[str, str]] = {
    CONSUMER: "groups of type consumer (KIP-848: Kafka 3.7 or later)",
    STREAMS: "groups of type streams (KIP-1071: Kafka 4.1 or later)",
}
_NOT_DESCRIBED: Final = "the coordinator lists this group, and does not describe it as a classic one"
_RETRIABLE_CODES: Final = frozenset({14, 15, 16})  # COORDINATOR_LOAD_IN_PROGRESS, _NOT_AVAILABLE, NOT_COORDINATOR
_RETRY_SECONDS: Final = 0.2
_GROUPS_PER_REQUEST: Final = 100
_BROKER_SHARE: Final = 0.8  # of the time; the rest is for the metadata of topics


@frozen(kw_only=True)
class _BrokerGroups:
    """What one broker returned of the groups that it coordinates."""

    groups: tuple[DescribedGroup, ...] = ()
    failure: str = ""
    """Why groups may be missing."""

    may_succeed: bool = False
    """Whether a retry helps."""


@frozen
class GroupLookup:
    """Describes the groups of one cluster; ``settings`` are kafka-python's, and ``repr`` does not show them.

    Every call is limited to ``timeout_seconds`` and raises ``upgrade.cluster.features.rpc.ClusterError``.
    """

    bootstrap_servers: str
    settings: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    timeout_seconds: float = LOOKUP_TIMEOUT_SECONDS

    def group(self, name: str) -> DescribedGroup:
        """Return a group, with the partition counts of its topics and the limit of its record; ``NoSuchGroup``.

        A coordinator that moves, loads its groups or does not answer is retried until the timeout.
        """
        deadline = Deadline(self.timeout_seconds)
        with self._connect_to_any(deadline) as node:
            group = self._describe_at_coordinator(node, name, deadline)
            return with_facts([group], node, deadline)[0]

    def groups(self) -> ClusterGroups:
        """Return all groups of the cluster that the user may list, as far as brokers answer.

        A listed group that cannot be described has an ``error``. Brokers that load their groups are retried until the
        timeout; a broker that does not answer, which leaves time for the others, is a failure in the result.
        """
        deadline = Deadline(self.timeout_seconds)
        with self._connect_to_any(deadline) as node:
            brokers = node.describe_brokers(deadline).addresses
            answers = self._groups_of_brokers(brokers, Deadline(_BROKER_SHARE * deadline.remaining))
            failures = [f"broker {broker}: {answer.failure}" for broker, answer in answers.items() if answer.failure]
            if failures and len(failures) == len(answers) and not any(answer.groups for answer in answers.values()):
                raise Unreachable("; ".join(failures))
            named = {group.name: group for answer in answers.values() for group in answer.groups}
            groups = [group for _, group in sorted(named.items())]
            try:
                groups = with_facts(groups, node, deadline)
            except ClusterError as error:
                failures.append(f"the topics of the groups are not known: {error}")
            return ClusterGroups(groups=tuple(groups), failures=(*failures, *offline_partitions(node, deadline)))

    def offsets(
        self, requests: Sequence[OffsetRequest], report: Callable[[str], object] = lambda _line: None
    ) -> Mapping[str, GroupOffsets]:
        """Return committed and end offsets of groups, by name, as far as brokers answer.

        ``report`` is called with a line before each broker.
        """
        deadline = Deadline(self.timeout_seconds)
        try:
            with self._connect_to_any(deadline) as node:
                return read_offsets(requests, node, self._connect, deadline, report)
        except ClusterError as error:
            return {request.group: GroupOffsets(failures=(str(error),)) for request in requests}

    def names(self) -> tuple[str, ...]:
        """Return the names of the groups that the user may list, as far as brokers answer."""
        deadline = Deadline(self.timeout_seconds)
        with self._connect_to_any(deadline) as node:
            addresses = [*node.describe_brokers(deadline).addresses.values()]
        names = list[str]()
        for number, address in enumerate(addresses):
            with (
                suppress(ClusterError),
                self._connect(address, deadline.share(len(addresses) - number)) as broker,
            ):
                names += [group.name for group in _listed_groups(broker.send(ListGroupsRequest, deadline))]
        return tuple(names)

    def _describe_at_coordinator(self, node: BrokerConnection, name: str, deadline: Deadline) -> DescribedGroup:
        while True:
            try:
                with self._connect(find_coordinator(node, name, deadline), deadline) as coordinator:
                    return _describe(coordinator, name, deadline)
            except (ApiError, Unreachable) as failure:
                if not _may_succeed(failure) or deadline.remaining <= _RETRY_SECONDS:
                    raise
                time.sleep(_RETRY_SECONDS)

    def _groups_of_brokers(self, brokers: Mapping[int, str], deadline: Deadline) -> Mapping[int, _BrokerGroups]:
        """Ask each broker; ask again those that cannot answer yet, until the deadline."""
        answers: dict[int, _BrokerGroups] = {}
        pending = dict(brokers)
        while pending:
            for number, (broker, address) in enumerate(pending.items()):
                answers[broker] = self._groups_of_broker(address, deadline.share(len(pending) - number))
            pending = {broker: address for broker, address in pending.items() if answers[broker].may_succeed}
            if deadline.remaining <= _RETRY_SECONDS:
                break
            if pending:
                time.sleep(_RETRY_SECONDS)
        return answers

    def _groups_of_broker(self, address: str, deadline: Deadline) -> _BrokerGroups:
        try:
            with self._connect(address, deadline) as node:
                answer = node.send(ListGroupsRequest, deadline)
                groups = tuple(_describe_listed(node, _listed_groups(answer), deadline))
        except ClusterError as error:
            return _BrokerGroups(failure=str(error))
        error_code = answer.error_code
        return _BrokerGroups(
            groups=tuple(group for group, _ in groups),
            failure=f"{address}: {_error_text(answer)}" if error_code else "",
            may_succeed=error_code in _RETRIABLE_CODES or any(code in _RETRIABLE_CODES for _, code in groups),
        )

    def _connect_to_any(self, deadline: Deadline) -> BrokerConnection:
        servers = [server for part in self.bootstrap_servers.split(",") if (server := part.strip())]
        return connect_to_any(servers, self._connect, deadline)

    def _connect(self, address: str, deadline: Deadline) -> BrokerConnection:
        return BrokerConnection(address, {**self.settings, "receive_message_max_bytes": MAX_RESPONSE_BYTES}, deadline)


def _may_succeed(failure: ClusterError) -> bool:
    """Return whether the coordinator may answer later: it moves, loads its groups, or its broker restarts."""
    return failure.code in _RETRIABLE_CODES if isinstance(failure, ApiError) else isinstance(failure, Unreachable)


def _describe(coordinator: BrokerConnection, name: str, deadline: Deadline) -> DescribedGroup:
    """Describe a group as one of the type that its coordinator lists, whatever DescribeGroups says of other types."""
    answer = coordinator.send(ListGroupsRequest, deadline)
    if answer.error_code in _RETRIABLE_CODES:
        raise_for_error(answer)
    listed = next((group for group in _listed_groups(answer) if group.name == name), None)
    if listed is not None and listed.type != CLASSIC:
        return _describe_by_type(coordinator, listed, deadline)
    described = _only(coordinator.send(DescribeGroupsRequest, deadline, groups=[name]).groups, coordinator)
    if described.error_code not in (0, _GROUP_ID_NOT_FOUND):
        raise_for_error(described)
    if described.error_code == 0 and described.group_state != DEAD:
        return evolve(_described_group(described), coordinator=coordinator.server)
    raise_for_error(answer)  # the group may be of another type
    if listed is not None:  # a broker that does not list types
        return evolve(listed, error="" if listed.state in (EMPTY, DEAD) else _NOT_DESCRIBED)
    raise NoSuchGroup(f"no group {name!r} at {coordinator.server}, its coordinator{_unsupported_types(coordinator)}")


def _only(groups: Sequence[Any], coordinator: BrokerConnection) -> Any:
    if len(groups) != 1:
        raise Unreachable(f"{coordinator.server}: expected the description of one group, got {len(groups)}")
    return groups[0]


def _unsupported_types(node: BrokerConnection) -> str:
    """Name the types of groups that a broker cannot have; empty if it can have all."""
    missing = [text for group_type, text in _SINCE.items() if not node.supports(REQUESTS[group_type])]
    return f"; this broker does not support {join_names(missing)}" if missing else ""


def _describe_by_type(coordinator: BrokerConnection, listed: DescribedGroup, deadline: Deadline) -> DescribedGroup:
    """Describe a listed group that is not classic; one of a type that is unknown here is returned as it was listed."""
    if listed.type not in REQUESTS:
        return evolve(listed, error="" if listed.state in (EMPTY, DEAD) else _unknown_type(listed.type))
    described = _only(_send_described(coordinator, listed.type, [listed.name], deadline).groups, coordinator)
    if described.error_code == _GROUP_ID_NOT_FOUND:
        raise NoSuchGroup(f"no group {listed.name!r} at {coordinator.server}, its coordinator")
    raise_for_error(described)
    return evolve(broker_assigned_group(described, listed.type), coordinator=coordinator.server)


def _send_described(node: BrokerConnection, group_type: str, names: Sequence[str], deadline: Deadline) -> Any:
    if group_type == CLASSIC:
        return node.send(DescribeGroupsRequest, deadline, groups=names)
    asked = {"include_topology_description": True} if group_type == STREAMS else {}
    return node.send(REQUESTS[group_type], deadline, group_ids=names, include_authorized_operations=True, **asked)


def _describe_listed(
    node: BrokerConnection, listed: Sequence[DescribedGroup], deadline: Deadline
) -> Iterator[tuple[DescribedGroup, int]]:
    """Yield each listed group, described if that is possible, with the error code of its description."""
    for group_type in sorted({group.type for group in listed}):
        groups = [group for group in listed if group.type == group_type]
        for start in range(0, len(groups), _GROUPS_PER_REQUEST):
            yield from _describe_batch(node, group_type, groups[start : start + _GROUPS_PER_REQUEST], deadline)


def _describe_batch(
    node: BrokerConnection, group_type: str, listed: Sequence[DescribedGroup], deadline: Deadline
) -> Iterator[tuple[DescribedGroup, int]]:
    if group_type != CLASSIC and group_type not in REQUESTS:
        yield from ((evolve(group, error=_unknown_type(group_type)), 0) for group in listed)
        return
    names = [group.name for group in listed]
    try:
        answer = _send_described(node, group_type, names, deadline)
    except ClusterError as error:
        yield from ((evolve(group, error=str(error)), 0) for group in listed)
        return
    described = {result.group_id: result for result in answer.groups}
    for group in listed:
        description = described.get(group.name)
        if description is None:
            yield evolve(group, error=f"the answer of {node.server} does not have it"), 0
        elif description.error_code == _GROUP_ID_NOT_FOUND:
            continue  # it was deleted in the meantime
        elif description.error_code:
            yield evolve(group, error=_error_text(description)), description.error_code
        else:
            shown = (
                _described_group(description)
                if group_type == CLASSIC
                else broker_assigned_group(description, group_type)
            )
            yield evolve(shown, coordinator=node.server), 0


def _unknown_type(group_type: str) -> str:
    return f"expected a group of type classic, {', '.join(REQUESTS)}, got {group_type}"


def _listed_groups(answer: Any) -> list[DescribedGroup]:
    return [
        DescribedGroup(
            name=group.group_id,
            state=group.group_state or "",
            type=(group.group_type or CLASSIC).lower(),
            protocol_type=group.protocol_type,
        )
        for group in answer.groups
    ]


def _described_group(group: Any) -> DescribedGroup:
    return DescribedGroup(
        name=group.group_id,
        state=group.group_state,
        protocol_type=group.protocol_type,
        protocol=group.protocol_data,
        members=tuple(
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                host=member.client_host,
                subscription=bytes(member.member_metadata or b""),
                assignment=bytes(member.member_assignment or b""),
            )
            for member in group.members
        ),
    )


def _error_text(answer: Any) -> str:
    error = for_code(answer.error_code)
    return hide(f"{error.message}: {getattr(answer, 'error_message', None) or error.description}")
