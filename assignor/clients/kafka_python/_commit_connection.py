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
from collections.abc import Mapping
from typing import Any, Final

from assignor.clients.kafka_python import _offset_commit, _private_api

log = logging.getLogger(__name__)

FREQUENT_SECONDS: Final = 1.0
"""Time between two commits below which they get this connection."""

RECONNECT_SECONDS: Final = 30.0
"""Time after an error during which no other attempt is made."""

_RECEIVE_BYTES: Final = 1 << 16


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
        identity, node = _private_api.commit_identity(self._consumer), _private_api.coordinator_node(self._consumer)
        if now - last > FREQUENT_SECONDS or identity is None or node is None:
            self.close()
            return False
        if now - self._failed_at < RECONNECT_SECONDS:
            return False
        try:
            connection, socket = self._connected(node, seconds)
            request = _offset_commit.encode_request(connection.config["client_id"], *identity, offsets)
            return not any(_offset_commit.error_codes(_exchange(socket, request)))
        except Exception as error:  # whatever it is, the member's own connection decides
            log.info("commits use the connection of the member again, as their own one has failed: %s", error)
            self._failed_at = now
            self.close()
            return False

    def close(self) -> None:
        """Close the connection; a thread that waits for an answer gets none."""
        found, self._connection, self._address = self._connection, None, None
        if found is not None:
            _private_api.disconnect(found[0])

    def _connected(self, node: Any, seconds: float) -> tuple[Any, Any]:
        """Return the connection to this broker and its socket."""
        address = node.host, node.port
        if (found := self._connection) is not None and self._address == address:
            return found
        self.close()
        found = _private_api.connect(self._consumer, node, seconds)
        self._connection, self._address = found, address
        return found


def _exchange(socket: Any, request: bytes) -> bytes:
    """Send a request, and return the response, from its correlation id on."""
    socket.sendall(request)
    received = b""
    while len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4]):
        if not (more := socket.recv(_RECEIVE_BYTES)):
            raise ConnectionError("closed by the broker")
        received += more
    return received[4:]
