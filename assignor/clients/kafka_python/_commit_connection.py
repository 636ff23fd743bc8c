"""A connection on which one thread commits by itself, to save time.

A commit through kafka-python's I/O thread wakes that thread, passes its event loop six times, and wakes the caller
again. On an idle broker that takes longer than the request itself.

Only a commit that the coordinator accepts counts here. After anything else the caller commits through the I/O thread,
which repeats the request and handles what is wrong. The connection is made when commits are frequent and closed when
they are not, so it is never idle for long.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from streams_assignor.clients.kafka_python import _offset_commit, _private_api, _private_connection
from streams_assignor.clients.kafka_python.broker_connection import exchange

log = logging.getLogger(__name__)

FREQUENT_SECONDS: Final = 1.0
"""Time between two commits below which they get this connection."""

RECONNECT_SECONDS: Final = 30.0
"""Time after an error during which no other attempt is made."""


class CommitConnection:
    """Commits as the member of a consumer; used by one thread at a time, closed by any."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._last_commit_at = self._failed_at = float("-inf")
        self._connection: tuple[Any, Any] | None = None
        self._address: tuple[str, int] | None = None

    def commit(self, offsets: Mapping[tuple[str, int], tuple[int, str]], seconds: float) -> bool:
        """Commit, and wait for the answer; return whether the coordinator has accepted all of it."""
        now = time.monotonic()
        last, self._last_commit_at = self._last_commit_at, now
        identity, node = self._identity(), self._node()
        if now - last > FREQUENT_SECONDS or identity is None or node is None:
            self.close()
            return False
        if now - self._failed_at < RECONNECT_SECONDS:
            return False
        try:
            return not any(self._exchange(*self._connected(node, seconds), identity, offsets))
        except Exception as error:  # whatever it is, the member's own connection decides
            log.info("commits use the connection of the member again, as their own one has failed: %s", error)
            self._failed_at = now
            self.close()
            return False

    def close(self) -> None:
        """Close the connection; a thread that waits for an answer gets none."""
        opened, self._connection, self._address = self._connection, None, None
        if opened is not None:
            self._disconnect(opened[0])

    def _connected(self, node: Any, seconds: float) -> tuple[Any, Any]:
        """Return the connection to this broker and its socket."""
        address = node.host, node.port
        if (opened := self._connection) is not None and self._address == address:
            return opened
        self.close()
        opened = self._connect(node, seconds)
        self._connection, self._address = opened, address
        return opened

    # -- the consumer -------------------------------------------------------------------------------------------------

    def _identity(self) -> tuple[str, int, str, str | None] | None:
        """Return group, generation, member id and instance id; None if the member may not commit now."""
        return _private_api.commit_identity(self._consumer)

    def _node(self) -> Any:
        """Return the coordinator, with ``host`` and ``port``; None if it is unknown."""
        return _private_api.coordinator_node(self._consumer)

    def _connect(self, node: Any, seconds: float) -> tuple[Any, Any]:
        return _private_connection.connect(self._consumer, node, seconds)

    def _disconnect(self, connection: Any) -> None:
        _private_connection.disconnect(connection)

    def _exchange(
        self,
        connection: Any,
        socket: Any,
        identity: tuple[str, int, str, str | None],
        offsets: Mapping[tuple[str, int], tuple[int, str]],
    ) -> Iterable[int]:
        """Commit, and return the error codes."""
        request = _offset_commit.encode_request(connection.config["client_id"], *identity, offsets)
        return _offset_commit.error_codes(exchange(socket, request), len(offsets))
