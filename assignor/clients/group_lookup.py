"""kafka-python (3.x): groups as raw bytes, by the requests of Kafka's own tools (FindCoordinator, DescribeGroups).

``describe_groups`` of its admin client decodes what members sent and cannot be undone, so this file asks by itself, on
the connection of ``upgrade.features.connection``. Every call opens its own connections and closes them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import evolve, field, frozen
from kafka.errors import IncompatibleBrokerVersion, KafkaError, for_code
from kafka.protocol.admin import DescribeConfigsRequest, DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from assignor.inspect import NoSuchGroup, RawGroup, RawMember, topics_of
from assignor.inspect.raw import CLASSIC, DEAD, LIMIT_KEY, OFFSETS_TOPIC, SECONDS
from upgrade.features.connection import Connection, Deadline, Nodes
from upgrade.features.rpc import ClusterError, Refused, Unreachable

_LARGEST_ANSWER: Final = 100 * 2**20
"""In bytes, as much as a broker takes itself. kafka-python's own limit is below what one group may have."""

_TOPIC: Final = 2  # DescribeConfigs' type of resource
_NOT_FOUND: Final = 69
_LATER: Final = frozenset({14, 15, 16})  # coordinator is loading, is not there, is another one
_PAUSE: Final = 0.2  # seconds before asking again
_AT_ONCE: Final = 100  # groups in one request


class _Node(Connection):
    """A connection to a broker that is asked about groups."""

    @property
    def server(self) -> str:
        """Its address."""
        return self._server

    def ask(self, kind: Any, deadline: Deadline, **fields: Any) -> Any:
        """Send a request in the highest version that both sides know, and return the answer, with errors in it."""
        try:
            sent = self._connection.send_request(kind(**fields), request_timeout_ms=max(1, int(1000 * deadline.left)))
            return self._wait(sent, deadline)
        except IncompatibleBrokerVersion as error:
            raise Unreachable(f"{self._server} does not support {kind.__name__}: {error}") from None
        except (KafkaError, OSError, ValueError) as error:
            raise Unreachable(f"{self._server}: {' '.join(str(error).split()) or type(error).__name__}") from None


@frozen
class GroupLookup:
    """Where to ask; ``settings`` are kafka-python's and are never shown, ``seconds`` limits every call.

    What goes wrong is an ``upgrade.features.rpc.ClusterError``.
    """

    bootstrap: str
    settings: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    seconds: float = SECONDS

    def group(self, name: str) -> RawGroup:
        """Look a group up, with the partitions of its topics and the limit of its size; ``NoSuchGroup``."""
        deadline = Deadline(self.seconds)
        with self._to_any(deadline) as node:
            found = self._described(node, name, deadline)
            return _with_surroundings([found], node, deadline)[0]

    def groups(self) -> list[RawGroup]:
        """Look up all groups of the cluster that one may see, sorted by name."""
        deadline = Deadline(self.seconds)
        with self._to_any(deadline) as node:
            found = [group for address in _nodes(node, deadline) for group in self._of_broker(address, deadline)]
            return _with_surroundings(sorted(found, key=lambda group: group.name), node, deadline)

    def _described(self, node: _Node, name: str, deadline: Deadline) -> RawGroup:
        while True:
            try:
                with self._to(_coordinator(node, name, deadline), deadline) as coordinator:
                    return _describe(coordinator, name, deadline)
            except Refused as refused:
                if refused.code not in _LATER or deadline.left <= _PAUSE:
                    raise
                time.sleep(_PAUSE)

    def _of_broker(self, address: str, deadline: Deadline) -> list[RawGroup]:
        with self._to(address, deadline) as node:
            listed = {group.name: group for group in _listed(node, deadline)}
            classic = [name for name, group in listed.items() if group.type == CLASSIC]
            described: dict[str, RawGroup] = {}
            for start in range(0, len(classic), _AT_ONCE):
                answer = node.ask(DescribeGroupsRequest, deadline, groups=classic[start : start + _AT_ONCE])
                # One that cannot be described (any more) is shown as it was listed.
                described |= {each.group_id: _group(each) for each in answer.groups if not each.error_code}
            return [described.get(name, group) for name, group in listed.items()]

    def _to_any(self, deadline: Deadline) -> _Node:
        servers = [server for each in self.bootstrap.split(",") if (server := each.strip())]
        why = []
        for number, server in enumerate(servers):
            try:
                return self._to(server, deadline.share(len(servers) - number))
            except Unreachable as error:
                why.append(str(error))
        raise Unreachable("; ".join(why) or "expected HOST:PORT,... as bootstrap servers, got none")

    def _to(self, address: str, deadline: Deadline) -> _Node:
        return _Node(address, {**self.settings, "receive_message_max_bytes": _LARGEST_ANSWER}, deadline)


def _nodes(node: _Node, deadline: Deadline) -> Iterable[str]:
    nodes: Nodes = node.brokers(deadline)
    return nodes.addresses.values()


def _coordinator(node: _Node, name: str, deadline: Deadline) -> str:
    """Ask where the coordinator of a group is; one group a request, as all brokers understand it."""
    answer = node.ask(FindCoordinatorRequest, deadline, key=name, key_type=0, coordinator_keys=[name])
    found = answer.coordinators[0] if answer.coordinators else answer
    _check(found)
    return f"[{found.host}]:{found.port}" if ":" in found.host else f"{found.host}:{found.port}"


def _describe(node: _Node, name: str, deadline: Deadline) -> RawGroup:
    (found,) = node.ask(DescribeGroupsRequest, deadline, groups=[name]).groups
    if found.error_code not in (0, _NOT_FOUND):
        _check(found)
    if found.error_code == 0 and found.group_state != DEAD:
        return _group(found)
    # Brokers answer for what is no classic group as for what is not there. Its coordinator knows better.
    for listed in _listed(node, deadline):
        if listed.name == name:
            return listed
    raise NoSuchGroup(f"no group {name!r} at {node.server}, its coordinator")


def _listed(node: _Node, deadline: Deadline) -> list[RawGroup]:
    answer = node.ask(ListGroupsRequest, deadline)
    _check(answer)
    return [
        RawGroup(
            name=each.group_id,
            state=each.group_state or "",
            type=(each.group_type or CLASSIC).lower(),
            protocol_type=each.protocol_type,
        )
        for each in answer.groups
    ]


def _group(found: Any) -> RawGroup:
    return RawGroup(
        name=found.group_id,
        state=found.group_state,
        protocol_type=found.protocol_type,
        protocol=found.protocol_data,
        members=tuple(
            RawMember(
                member_id=each.member_id,
                instance_id=each.group_instance_id,
                client_id=each.client_id,
                host=each.client_host,
                subscription=bytes(each.member_metadata or b""),
                assignment=bytes(each.member_assignment or b""),
            )
            for each in found.members
        ),
    )


def _with_surroundings(groups: Iterable[RawGroup], node: _Node, deadline: Deadline) -> list[RawGroup]:
    """Add what else may be known: nobody has to be allowed to see topics and settings to see a group."""
    found = list(groups)
    topics = {group.name: topics_of(group.members) for group in found}
    sizes = dict(_partitions(node, set().union(*topics.values()), deadline))
    limit = _limit(node, deadline)
    return [
        evolve(group, limit=limit, partitions={each: sizes[each] for each in topics[group.name] if each in sizes})
        for group in found
    ]


def _partitions(node: _Node, topics: Iterable[str], deadline: Deadline) -> Iterator[tuple[str, int]]:
    names = sorted(topics)
    if not names:
        return
    wanted = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    try:
        answer = node.ask(MetadataRequest, deadline, topics=wanted, allow_auto_topic_creation=False)
    except ClusterError:
        return
    for each in answer.topics:
        if not each.error_code:
            yield each.name, len(each.partitions)


def _limit(node: _Node, deadline: Deadline) -> int | None:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=_TOPIC, resource_name=OFFSETS_TOPIC, configuration_keys=[LIMIT_KEY]
    )
    try:
        answer = node.ask(DescribeConfigsRequest, deadline, resources=[resource])
    except ClusterError:
        return None
    values = [each.value for result in answer.results if not result.error_code for each in result.configs]
    return int(values[0]) if values else None


def _check(answer: Any) -> None:
    """Raise the error that an answer carries."""
    if code := answer.error_code:
        error = for_code(code)
        raise Refused(code, error.message, getattr(answer, "error_message", None) or error.description)
