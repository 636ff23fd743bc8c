"""A connection to one broker: requests of kafka-python, and requests of this project as bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafka.errors import IncompatibleBrokerVersion, for_code

from streams_assignor.clients.kafka_python import _private_connection
from streams_assignor.clients.kafka_python._private_api import FindCoordinatorRequest
from streams_assignor.upgrade.cluster.client.answer_check import check_answer
from streams_assignor.upgrade.cluster.client.connection import CONNECTION_ERRORS, Connection, Deadline, error_text
from streams_assignor.upgrade.cluster.client.errors import ApiError, Unreachable, unreachable
from streams_assignor.upgrade.cluster.client.node_address import node_address

MAX_RESPONSE_BYTES = 100 * 2**20
"""The largest request that a broker accepts. kafka-python's own limit is below the size of a large group."""
_RECEIVE_BYTES = 1 << 16


class BrokerConnection(Connection):
    """A connection to one broker, for requests about groups; used by one thread at a time."""

    @property
    def server(self) -> str:
        """The address of the broker."""
        return self._server

    def supports(self, request_type: Any) -> bool:
        """Whether the broker knows a request."""
        return self.versions_of(request_type.API_KEY) is not None

    def send(self, request_type: Any, deadline: Deadline, **fields: Any) -> Any:
        """Send a request in the highest common version; return the response, which may contain an error code."""
        try:
            sent = self._connection.send_request(
                request_type(**fields), request_timeout_ms=max(1, int(1000 * deadline.remaining))
            )
            answer = self._wait(sent, deadline)
            check_answer(answer)
            return answer
        except IncompatibleBrokerVersion as error:
            raise Unreachable(f"{self._server} does not support {request_type.__name__}: {error}") from None
        except CONNECTION_ERRORS as error:
            raise unreachable(self._server, error_text(error)) from None

    def versions_of(self, api_key: int) -> tuple[int, int] | None:
        """Return the lowest and the highest version of an API that the broker supports; None if it has none."""
        return _private_connection.api_versions(self._connection).get(api_key)

    def exchange(self, request: bytes, seconds: float) -> bytes:
        """Send an encoded request, and return the response, from its correlation id on; ``OSError`` if none comes.

        Requests of kafka-python must not be under way.
        """
        socket = _private_connection.socket_of(self._connection)
        socket.settimeout(seconds)
        try:
            return exchange(socket, request)
        finally:
            socket.settimeout(0)

    def interrupt(self) -> None:
        """Make a thread that waits for a response fail. From any thread."""
        _private_connection.shut_down(self._connection)


def exchange(socket: Any, request: bytes) -> bytes:
    """Send a request, and return the response, from its correlation id on.

    The timeout of the socket limits the whole: a broker may send a byte now and then.
    """
    seconds = socket.gettimeout()
    deadline = Deadline(seconds)
    try:
        socket.sendall(request)
        received = bytearray()
        while len(received) < 4 or len(received) < 4 + _size_of(received):
            if not deadline.remaining:
                raise TimeoutError(f"no response within {seconds:g} s")
            socket.settimeout(deadline.remaining)
            if not (more := socket.recv(_RECEIVE_BYTES)):
                raise ConnectionError("closed by the broker")
            received += more
    finally:
        socket.settimeout(seconds)
    return bytes(received[4:])


def _size_of(received: bytearray) -> int:
    if (size := int.from_bytes(received[:4])) > MAX_RESPONSE_BYTES:
        raise ConnectionError(f"expected a response of at most {MAX_RESPONSE_BYTES:,} bytes, got one of {size:,}")
    return size


def connect_to_any(
    servers: Sequence[str], connect: Callable[[str, Deadline], BrokerConnection], deadline: Deadline
) -> BrokerConnection:
    """Return a connection to the first server that answers; ``Unreachable`` if none does."""
    errors = []
    for number, server in enumerate(servers):
        try:
            return connect(server, deadline.share(len(servers) - number))
        except Unreachable as error:
            errors.append(str(error))
    raise Unreachable("; ".join(errors) or "expected HOST:PORT,... as bootstrap servers, got none")


def find_coordinator(node: BrokerConnection, name: str, deadline: Deadline) -> str:
    """Return the address of a group's coordinator; one group a request, as old brokers accept no list."""
    answer = node.send(FindCoordinatorRequest, deadline, key=name, key_type=0, coordinator_keys=[name])
    coordinator = answer.coordinators[0] if answer.coordinators else answer
    raise_for_error(coordinator)
    return node_address(coordinator)


def raise_for_error(answer: Any) -> None:
    """Raise the error of a response, if it has one."""
    if code := answer.error_code:
        error = for_code(code)
        raise ApiError(code, error.message, getattr(answer, "error_message", None) or error.description)
