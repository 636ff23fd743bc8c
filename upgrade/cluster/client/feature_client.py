"""Feature versions of a live cluster: describe and update.

Every call opens its own connections and closes them, so a client outlives restarts of brokers. Sockets are in
``connection``, which says why kafka-python's admin client is not used; the values are in ``model.rpc``.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from attrs import field, frozen

from streams_assignor.upgrade.cluster.client.connection import (
    ClusterNodes,
    Connection,
    Deadline,
    QuorumState,
    ReplicaState,
)
from streams_assignor.upgrade.cluster.client.errors import ApiError, FeatureUpdateFailed, NoSuchNode, Unreachable
from streams_assignor.upgrade.cluster.features.dialects import Code
from streams_assignor.upgrade.cluster.features.feature_cache import NO_EPOCH
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, FeatureUpdate, Listener

DEFAULT_TIMEOUT_SECONDS: Final = 60.0
"""How long a call may take; Java: ``default.api.timeout.ms``."""

_CONNECTION_SECONDS: Final = 10.0  # Java: socket.connection.setup.timeout.ms
_RETRY_SECONDS: Final = 0.1  # between two attempts to find the active controller


@frozen
class ClusterHealth:
    """The facts for a rolling restart of the nodes of a cluster."""

    quorum: QuorumState
    replicas: ReplicaState
    features: Mapping[int, FeatureMetadata]
    """Of each broker that answered."""


@frozen
class FeatureClient:
    """A client of one cluster, through its brokers or, with ``Listener.CONTROLLER``, through its controllers.

    Every error is a ``ClusterError``.
    """

    bootstrap: str
    """The addresses to begin with, as ``HOST:PORT,...``."""
    listener: Listener = Listener.BROKER
    settings: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    """Settings of kafka-python, such as ``security_protocol``; never shown."""
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    """The limit of every call."""

    def describe(self, node: int | None = None) -> FeatureMetadata:
        """Return the supported and finalized features from one node.

        Java: ``describeFeatures``, which never returns if the node does not exist.

        Args:
            node: The id of the node; None for a random broker (KIP-584), or the bootstrap server if that broker cannot
                be reached; of controllers, None for the active one.

        Raises:
            NoSuchNode: The cluster has no such node now.
        """
        deadline = Deadline(self.timeout_seconds)
        if node is None and self.listener is Listener.CONTROLLER:
            with self._connect_to_controller(deadline) as connection:
                return connection.describe_features(self.listener, deadline)
        with self._connect_to_any(deadline) as connection:
            nodes = self._nodes(connection, deadline)
            if node is None:
                described = next(self._describe_reachable(nodes, 1, deadline), None)
                return described or connection.describe_features(self.listener, deadline)
        return self._describe(nodes, node, deadline)

    def describe_newest(self) -> FeatureMetadata:
        """Return the answer with the highest epoch, of all brokers that can be reached: the others are stale."""
        deadline = Deadline(self.timeout_seconds)
        with self._connect_to_any(deadline) as connection:
            nodes = self._nodes(connection, deadline)
            answers = self._describe_reachable(nodes, len(nodes.addresses), deadline)
            newest = max(answers, key=_epoch, default=None)
            return newest or connection.describe_features(self.listener, deadline)

    def describe_nodes(self) -> Mapping[int, FeatureMetadata]:
        """Return the features from every node that the cluster has now."""
        deadline = Deadline(self.timeout_seconds)
        with self._connect_to_any(deadline) as connection:
            nodes = self._nodes(connection, deadline)
        return {node: self._describe(nodes, node, deadline) for node in sorted(nodes.addresses)}

    def describe_health(self) -> ClusterHealth:
        """Return what a rolling restart of the nodes has to know: brokers, replicas, metadata and levels.

        Brokers and replicas are those that a broker sees which has all committed metadata: another one would still show
        the state before a restart. For a moment after each change there may be none: then all are asked again.

        Raises:
            Unreachable: No broker answers, or none has all committed metadata.
        """
        deadline = Deadline(self.timeout_seconds)
        while (health := self._health(deadline)) is None:
            if deadline.remaining <= _RETRY_SECONDS:
                raise Unreachable(f"{self.bootstrap}: no broker answered that has all committed metadata")
            time.sleep(_RETRY_SECONDS)
        return health

    def _health(self, deadline: Deadline) -> ClusterHealth | None:
        with self._connect_to_any(deadline) as connection:
            nodes = self._nodes(connection, deadline)
            quorum = connection.describe_quorum(deadline)
        replicas, features = None, {}
        for number, node in enumerate(sorted(nodes.addresses)):
            limit = deadline.share(len(nodes.addresses) - number + 1).at_most(_CONNECTION_SECONDS)
            with suppress(Unreachable), self._connect(nodes, node, limit) as connection:
                features[node] = connection.describe_features(self.listener, limit)
                if replicas is None and quorum.has_committed(node):
                    replicas = connection.describe_replicas(limit)
        return ClusterHealth(quorum, replicas, features) if replicas else None

    def describe_stored_topics(self) -> frozenset[str]:
        """Return the topics that are stored on the brokers that answer, also those that this user may not describe."""
        deadline = Deadline(self.timeout_seconds)
        with self._connect_to_any(deadline) as connection:
            nodes = self._nodes(connection, deadline)
        topics: set[str] = set()
        for number, node in enumerate(sorted(nodes.addresses)):
            limit = deadline.share(len(nodes.addresses) - number + 1).at_most(_CONNECTION_SECONDS)
            with suppress(Unreachable), self._connect(nodes, node, limit) as connection:
                topics |= connection.describe_stored_topics(limit)
        return frozenset(topics)

    def update(self, updates: Mapping[str, FeatureUpdate], *, dry_run: bool = False) -> None:
        """Change finalized levels. Java: ``updateFeatures``.

        Args:
            updates: The update of each feature.
            dry_run: Check whether the levels could be changed, without changing them.

        Raises:
            FeatureUpdateFailed: An update was refused.
            OutcomeUnknown: The answer was lost: the levels may have been changed; ``describe`` shows it.
        """
        deadline = Deadline(self.timeout_seconds)
        try:
            results = self._update(updates, deadline, dry_run)
        except ApiError as error:
            results = dict.fromkeys(updates, error)
        if any(results.values()):
            raise FeatureUpdateFailed(results)

    def _update(
        self, updates: Mapping[str, FeatureUpdate], deadline: Deadline, dry_run: bool
    ) -> Mapping[str, ApiError | None]:
        refused: ApiError | None = None
        while refused is None or deadline.remaining > _RETRY_SECONDS:
            try:
                with self._connect_to_controller(deadline) as connection:
                    if refused is not None and deadline.remaining <= _RETRY_SECONDS:
                        break  # a request without time for its answer leaves the outcome open
                    return connection.update_features(updates, deadline, dry_run=dry_run)
            except ApiError as error:
                if error.code != Code.NOT_CONTROLLER.value:
                    raise
                refused = error  # nothing has been changed: try the next controller
            except Unreachable:
                if refused is None:
                    raise
                break
            time.sleep(_RETRY_SECONDS)
        raise refused

    def _describe(self, nodes: ClusterNodes, node: int, deadline: Deadline) -> FeatureMetadata:
        with self._connect(nodes, node, deadline) as connection:
            return connection.describe_features(self.listener, deadline)

    def _describe_reachable(self, nodes: ClusterNodes, number: int, deadline: Deadline) -> Iterator[FeatureMetadata]:
        """Yield the answers of so many random nodes, without those that cannot be reached.

        Each gets an equal share of the time that is left, and one share is left over.
        """
        for asked, node in enumerate(random.sample(sorted(nodes.addresses), number)):
            limit = deadline.share(number - asked + 1).at_most(_CONNECTION_SECONDS)
            with suppress(Unreachable):
                yield self._describe(nodes, node, limit)

    def _connect_to_any(self, deadline: Deadline) -> Connection:
        """Connect to the first bootstrap server that answers; each gets an equal share of the time that is left."""
        servers = [server for part in self.bootstrap.split(",") if (server := part.strip())]
        why = []
        for number, server in enumerate(servers):
            try:
                return Connection(server, self.settings, deadline.share(len(servers) - number))
            except Unreachable as error:
                why.append(str(error))
        raise Unreachable("; ".join(why) or "expected HOST:PORT,... as bootstrap servers, got none")

    def _connect_to_controller(self, deadline: Deadline) -> Connection:
        """Connect to the (active) controller; during an election, wait for it.

        Until they have elected another one, the other nodes name the one that is gone.
        """
        while True:
            with self._connect_to_any(deadline) as connection:
                nodes = self._nodes(connection, deadline)
            problem = Unreachable(f"{self.bootstrap}: no active controller within {self.timeout_seconds:g} s")
            if nodes.controller in nodes.addresses:
                try:
                    return self._connect(nodes, nodes.controller, deadline.at_most(_CONNECTION_SECONDS))
                except Unreachable as error:
                    problem = error
            if deadline.remaining <= _RETRY_SECONDS:
                raise problem
            time.sleep(_RETRY_SECONDS)

    def _connect(self, nodes: ClusterNodes, node: int, deadline: Deadline) -> Connection:
        if node not in nodes.addresses:
            there = ", ".join(map(str, sorted(nodes.addresses)))
            raise NoSuchNode(f"there is no {self.listener.value} {node} now; there are {there}")
        return Connection(nodes.addresses[node], self.settings, deadline)

    def _nodes(self, connection: Connection, deadline: Deadline) -> ClusterNodes:
        if self.listener is Listener.BROKER:
            return connection.describe_brokers(deadline)
        return connection.describe_controllers(deadline)


def _epoch(answer: FeatureMetadata) -> int:
    return NO_EPOCH if answer.epoch is None else answer.epoch
