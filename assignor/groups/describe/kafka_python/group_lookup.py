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

from streams_assignor.clients.kafka_python._private_api import (
    DescribeGroupsRequest,
    ListGroupsRequest,
)
from streams_assignor.clients.kafka_python.broker_connection import (
    MAX_RESPONSE_BYTES,
    BrokerConnection,
    connect_to_any,
    find_coordinator,
    raise_for_error,
)
from streams_assignor.formats.text import join_names
from streams_assignor.groups import (
    LOOKUP_TIMEOUT_SECONDS,
    ClusterGroups,
    DescribedGroup,
    DescribedGroupMember,
    NoSuchGroup,
)
from streams_assignor.groups.describe.kafka_python._facts import group_settings, offline_partitions, with_facts
from streams_assignor.groups.describe.kafka_python._offsets import read_changelog_sizes, read_offsets
from streams_assignor.groups.describe.kafka_python._requests import REQUESTS
from streams_assignor.groups.describe.kafka_python._requests import described_group as broker_assigned_group
from streams_assignor.groups.described_group import CLASSIC, CONSUMER, DEAD, EMPTY, STREAMS, UNKNOWN_TYPE
from streams_assignor.groups.offsets import ChangelogSizes, GroupOffsets, OffsetRequest
from streams_assignor.upgrade.cluster.client.connection import Deadline
from streams_assignor.upgrade.cluster.client.errors import ApiError, ClusterError, Unreachable

_GROUP_ID_NOT_FOUND: Final = 69
_SINCE: Final[Mapping[str, str]] = {
    CONSUMER: "groups of type consumer (KIP-848: Kafka 3.7 or later)",
    STREAMS: "groups of type streams (KIP-1071: Kafka 4.1 or later)",
}
_NOT_DESCRIBED: Final = "the coordinator lists this group, and shows no members of it"
_RETRIABLE_CODES: Final = frozenset({14, 15, 16})  # COORDINATOR_LOAD_IN_PROGRESS, _NOT_AVAILABLE, NOT_COORDINATOR
_RETRY_SECONDS: Final = 0.2
_GROUPS_PER_REQUEST: Final = 100
_BROKER_SHARE: Final = 0.8  # of the time; the rest is for the metadata of topics


@frozen(kw_only=True)
class _BrokerGroups:
    """The answer of one broker about the groups that it coordinates."""

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

    def changelog_sizes(self, group: str, report: Callable[[str], object] = lambda _line: None) -> ChangelogSizes:
        """Return how much the changelogs of a group hold, as far as brokers answer; ``report`` as in ``offsets``."""
        deadline = Deadline(self.timeout_seconds)
        try:
            with self._connect_to_any(deadline) as node:
                return read_changelog_sizes(group, node, self._connect, deadline, report)
        except ClusterError as error:
            return ChangelogSizes(failures=(str(error),))

    def group_settings(self) -> Mapping[int, Mapping[str, str]]:
        """Return what each broker says of configurations of groups.

        These are the limits, and ``group.consumer.migration.policy``. A broker that does not answer, or that the user
        may not describe, has none.
        """
        deadline = Deadline(self.timeout_seconds)
        with self._connect_to_any(deadline) as node:
            brokers = sorted(node.describe_brokers(deadline).addresses.items())
        return {
            broker: self._settings_at(broker, address, deadline.share(len(brokers) - number))
            for number, (broker, address) in enumerate(brokers)
        }

    def _settings_at(self, broker: int, address: str, deadline: Deadline) -> Mapping[str, str]:
        try:
            with self._connect(address, deadline) as node:
                return group_settings(node, broker, deadline)
        except ClusterError:
            return {}  # the caller names the brokers of which nothing is known

    def cluster_id(self) -> str:
        """Return the id of the cluster; empty if its brokers do not say it."""
        deadline = Deadline(self.timeout_seconds)
        with self._connect_to_any(deadline) as node:
            return node.describe_brokers(deadline).cluster_id

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
        was_away = False
        while True:
            try:
                with self._connect(find_coordinator(node, name, deadline), deadline) as coordinator:
                    return evolve(_describe(coordinator, name, deadline), coordinator_was_away=was_away)
            except (ApiError, Unreachable) as failure:
                if not _may_succeed(failure) or deadline.remaining <= _RETRY_SECONDS:
                    raise
                was_away = True
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
        codes = {answer.error_code, *(error.code for _, error in groups if isinstance(error, ApiError))}
        return _BrokerGroups(
            groups=tuple(group if error is None else evolve(group, error=_text(error)) for group, error in groups),
            failure=f"{address}: {_text(failure)}" if (failure := _error_of(answer)) else "",
            may_succeed=not codes.isdisjoint(_RETRIABLE_CODES),
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
    """Describe a group as ``groups`` does; what is the error of a group there is raised."""
    answer = coordinator.send(ListGroupsRequest, deadline)
    if answer.error_code in _RETRIABLE_CODES:
        raise_for_error(answer)
    listed = [group for group in _listed_groups(answer) if group.name == name]
    # A user may be allowed to describe a group and not to list it.
    for group, error in _describe_listed(coordinator, listed or [DescribedGroup(name=name, state=DEAD)], deadline):
        if error is not None:
            raise error
        if listed or group.state != DEAD:
            return group
    raise_for_error(answer)
    raise NoSuchGroup(f"no group {name!r} at {coordinator.server}, its coordinator{_unsupported_types(coordinator)}")


def _unsupported_types(node: BrokerConnection) -> str:
    """Name the types of groups that a broker cannot have; empty if it can have all."""
    missing = [text for group_type, text in _SINCE.items() if not node.supports(REQUESTS[group_type])]
    return f"; this broker does not support {join_names(missing)}" if missing else ""


_Described = tuple[DescribedGroup, ClusterError | None]
"""A group, and why it is not described."""


def _describe_listed(
    node: BrokerConnection, listed: Sequence[DescribedGroup], deadline: Deadline
) -> Iterator[_Described]:
    """Yield each listed group as the request of its type describes it; one that was deleted since is left out.

    Brokers before 3.8 list no types. And a broker of another make may describe a group of any type as a classic one
    without members. So another request is tried if that of classic groups shows no members of a group that has some.
    """
    for group_type in sorted({group.type for group in listed}):
        groups = [group for group in listed if group.type == group_type]
        for start in range(0, len(groups), _GROUPS_PER_REQUEST):
            batch = groups[start : start + _GROUPS_PER_REQUEST]
            described = _describe_batch(node, CLASSIC if group_type == UNKNOWN_TYPE else group_type, batch, deadline)
            for group, found in zip(batch, described, strict=True):
                if group_type in (CLASSIC, UNKNOWN_TYPE) and _shows_no_members(found):
                    found = _described_by_another_request(node, group, deadline) or _without_members(group, found)
                if not _is_unknown(found):
                    yield found


def _is_unknown(described: _Described) -> bool:
    """Whether the coordinator does not know a group, as one of the type of the request."""
    return isinstance(described[1], ApiError) and described[1].code == _GROUP_ID_NOT_FOUND


def _shows_no_members(described: _Described) -> bool:
    group, error = described
    return _is_unknown(described) or (error is None and not group.members and group.state != EMPTY)


def _described_by_another_request(
    node: BrokerConnection, group: DescribedGroup, deadline: Deadline
) -> _Described | None:
    for group_type, request in REQUESTS.items():
        if node.supports(request):
            (described,) = _describe_batch(node, group_type, [group], deadline)
            if described[1] is None and described[0].members:
                return described
    return None


def _without_members(listed: DescribedGroup, described: _Described) -> _Described:
    """Return what is known of a group if no request shows a member of it."""
    is_gone = _is_unknown(described) and listed.type == CLASSIC
    if is_gone or (described[1] is None and described[0].state != DEAD):
        return described
    return evolve(listed, error="" if listed.state in (EMPTY, DEAD) else _NOT_DESCRIBED), None


def _describe_batch(
    node: BrokerConnection, group_type: str, listed: Sequence[DescribedGroup], deadline: Deadline
) -> list[_Described]:
    """Return each listed group as the request of a type describes it."""
    if group_type != CLASSIC and group_type not in REQUESTS:
        return [
            (group if group.state in (EMPTY, DEAD) else evolve(group, error=_unknown_type(group_type)), None)
            for group in listed
        ]
    try:
        answer = _send_described(node, group_type, [group.name for group in listed], deadline)
    except ClusterError as error:
        return [(group, error) for group in listed]
    described = {result.group_id: result for result in answer.groups}
    return [_converted(node, group_type, group, described.get(group.name)) for group in listed]


def _converted(node: BrokerConnection, group_type: str, listed: DescribedGroup, description: Any) -> _Described:
    if description is None:
        return listed, Unreachable(f"the answer of {node.server} does not have it")
    if error := _error_of(description):
        return listed, error
    is_classic = group_type == CLASSIC
    shown = _described_group(description) if is_classic else broker_assigned_group(description, group_type)
    return evolve(shown, coordinator=node.server), None


def _send_described(node: BrokerConnection, group_type: str, names: Sequence[str], deadline: Deadline) -> Any:
    if group_type == CLASSIC:
        return node.send(DescribeGroupsRequest, deadline, groups=names)
    asked = {"include_topology_description": True} if group_type == STREAMS else {}
    return node.send(REQUESTS[group_type], deadline, group_ids=names, include_authorized_operations=True, **asked)


def _unknown_type(group_type: str) -> str:
    return f"expected a group of type classic, {', '.join(REQUESTS)}, got {group_type}"


def _listed_groups(answer: Any) -> list[DescribedGroup]:
    return [
        DescribedGroup(
            name=group.group_id,
            state=group.group_state or "",
            type=(group.group_type or UNKNOWN_TYPE).lower(),
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


def _error_of(answer: Any) -> ApiError | None:
    try:
        raise_for_error(answer)
    except ApiError as error:
        return error
    return None


def _text(error: ClusterError) -> str:
    return f"{error.name}: {error.message}" if isinstance(error, ApiError) else str(error)
