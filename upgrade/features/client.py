"""Feature versions of a live cluster: describe and update.

Every call opens its own connections and closes them, so a client may be kept as long as one likes, and a broker that
has been restarted meanwhile is no news.  Bytes and sockets are in ``connection``, the values in ``rpc``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from attrs import field, frozen

from upgrade.features.connection import Connection, Deadline, Nodes
from upgrade.features.dialects import Code
from upgrade.features.rpc import Described, FeatureUpdate, Listener, NoSuchNode, Refused, Unreachable, UpdateRefused

SECONDS: Final = 60.0
"""How long a call may take; Java: ``default.api.timeout.ms``."""

_PAUSE: Final = 0.1  # seconds between two looks for an active controller


@frozen
class FeatureClient:
    """One cluster, asked through its brokers or, with `Listener.CONTROLLER`, through its controllers.

    ``bootstrap`` is ``HOST:PORT,...``; ``settings`` are kafka-python's (``security_protocol`` and the like) and are
    never shown; ``seconds`` limits every call. What goes wrong is an `rpc.ClusterError`.
    """

    bootstrap: str
    listener: Listener = Listener.BROKER
    settings: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    seconds: float = SECONDS

    def describe(self, node: int | None = None) -> Described:
        """Ask one node what it supports and what is finalised; without a number, any broker or the active controller.

        Java: ``describeFeatures``, which waits for ever for a node that is not there; here that is `NoSuchNode`.
        """
        deadline = Deadline(self.seconds)
        if node is None and self.listener is Listener.CONTROLLER:
            with self._to_controller(deadline) as connection:
                return connection.features(self.listener, deadline)
        with self._to_any(deadline) as connection:
            nodes = self._nodes(connection, deadline)
            if node is None:
                return connection.features(self.listener, deadline)
        return self._describe(nodes, node, deadline)

    def describe_nodes(self) -> Mapping[int, Described]:
        """Ask every node that is there now."""
        deadline = Deadline(self.seconds)
        with self._to_any(deadline) as connection:
            nodes = self._nodes(connection, deadline)
        return {node: self._describe(nodes, node, deadline) for node in sorted(nodes.addresses)}

    def update(self, updates: Mapping[str, FeatureUpdate], *, dry_run: bool = False) -> None:
        """Change finalised levels or, with ``dry_run``, ask whether they could be; `UpdateRefused` if not.

        `OutcomeUnknown` if the answer was lost: they may have been changed, `describe` will tell. Java:
        ``updateFeatures``.
        """
        deadline = Deadline(self.seconds)
        try:
            results = self._update(updates, deadline, dry_run)
        except Refused as error:
            results = dict.fromkeys(updates, error)
        if any(results.values()):
            raise UpdateRefused(results)

    def _update(
        self, updates: Mapping[str, FeatureUpdate], deadline: Deadline, dry_run: bool
    ) -> Mapping[str, Refused | None]:
        refused: Refused | None = None
        while refused is None or deadline.left > _PAUSE:
            try:
                with self._to_controller(deadline) as connection:
                    return connection.update(updates, deadline, dry_run=dry_run)
            except Refused as error:
                if error.code != Code.NOT_CONTROLLER.value:
                    raise
                refused = error  # nothing has been changed, and there is, or will be, another controller
            except Unreachable:
                if refused is None:
                    raise
                break
            time.sleep(_PAUSE)
        raise refused

    def _describe(self, nodes: Nodes, node: int, deadline: Deadline) -> Described:
        with self._to(nodes, node, deadline) as connection:
            return connection.features(self.listener, deadline)

    def _to_any(self, deadline: Deadline) -> Connection:
        """Connect to the first bootstrap server that answers; a silent one leaves time for the others."""
        servers = [server for each in self.bootstrap.split(",") if (server := each.strip())]
        why = []
        for number, server in enumerate(servers):
            try:
                return Connection(server, self.settings, deadline.share(len(servers) - number))
            except Unreachable as error:
                why.append(str(error))
        raise Unreachable("; ".join(why) or "expected HOST:PORT,... as bootstrap servers, got none")

    def _to_controller(self, deadline: Deadline) -> Connection:
        """Connect to the (active) controller as soon as there is one; in an election there is none."""
        while True:
            with self._to_any(deadline) as connection:
                nodes = self._nodes(connection, deadline)
            if nodes.controller in nodes.addresses:
                return self._to(nodes, nodes.controller, deadline)
            if deadline.left <= _PAUSE:
                raise Unreachable(f"{self.bootstrap}: no active controller within {self.seconds:g} s")
            time.sleep(_PAUSE)

    def _to(self, nodes: Nodes, node: int, deadline: Deadline) -> Connection:
        if node not in nodes.addresses:
            there = ", ".join(map(str, sorted(nodes.addresses)))
            raise NoSuchNode(f"there is no {self.listener.value} {node} now; there are {there}")
        return Connection(nodes.addresses[node], self.settings, deadline)

    def _nodes(self, connection: Connection, deadline: Deadline) -> Nodes:
        if self.listener is Listener.BROKER:
            return connection.brokers(deadline)
        return connection.controllers(deadline)
