"""All names of kafka-python's connections (3.x) that are private or undocumented, and nothing else.

``CONNECTION_NAMES`` lists the attributes of their classes, ``MANAGER_NAMES`` those by which a consumer leads to them;
``_private_api`` looks each of them up.
"""

from __future__ import annotations

import time
from contextlib import suppress
from socket import SHUT_RDWR
from typing import Any, Final

from kafka import KafkaConsumer

# Modules without documentation.
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.protocol.consumer import OffsetCommitRequest

from streams_assignor.clients.kafka_python import _offset_commit
from streams_assignor.upgrade.cluster.client.connection import reading_in_parts

try:
    from kafka.net.backend.selector import NetworkSelector
    from kafka.net.backend.transport import KafkaTCPTransport
except ModuleNotFoundError:  # before 3.1
    from kafka.net.selector import NetworkSelector
    from kafka.net.transport import KafkaTCPTransport

MANAGER_NAMES: Final = (
    "_coordinator._manager.broker_version_data",
    "_coordinator._manager.config",
)
"""Attributes of a ``KafkaConsumer``."""

CONNECTION_NAMES: Final = (
    "KafkaConnection.broker_version_data",
    "KafkaConnection.connection_made",
    "KafkaConnection.initialize",
    "KafkaConnection.net",
    "KafkaConnection.transport",
    "KafkaConnectionManager._build_transport",
    "KafkaTCPTransport._sock",
)
"""Attributes of a connection, in its classes."""

CONNECTION_CLASSES: Final = (KafkaConnection, KafkaConnectionManager, KafkaTCPTransport)


def new_client(**settings: Any) -> Any:
    """Return what ``kafka_client`` of a consumer or admin client does, with a limit of memory for its connections.

    See docs/upstream/kafka-python.md.
    """
    client = KafkaConsumer.DEFAULT_CONFIG["kafka_client"](**settings)
    _read_in_parts(client._manager)
    return client


def read_in_parts(consumer: Any) -> None:
    """Limit the memory of the connections that this consumer makes from now on."""
    _read_in_parts(consumer._coordinator._manager)


def _read_in_parts(manager: Any) -> None:
    if "_build_transport" not in vars(manager):
        manager._build_transport = reading_in_parts(manager._build_transport)


def interrupt_bootstrap(client: Any) -> None:
    """Make the constructor of a consumer that waits for a broker raise; ``client`` is its `new_client`.

    ``client.close()`` would wait for the I/O thread, for ever if that is about to start.
    """
    with suppress(RuntimeError):  # it is closed
        client._manager.call_soon(client._manager.close)


def connect(consumer: Any, node: Any, seconds: float) -> tuple[Any, Any]:
    """Connect to a broker and log in as the consumer does; return the connection and its socket.

    The connection belongs to the calling thread: nothing else reads from it, or sends. ``KafkaError`` or ``OSError`` if
    it fails, or if the broker does not understand ``_offset_commit``.
    """
    manager, deadline = consumer._coordinator._manager, time.monotonic() + seconds
    settings = {**manager.config, "metrics": None}
    net = NetworkSelector()  # run by this thread, and only here
    connection = KafkaConnection(net, broker_version_data=manager.broker_version_data, **settings)

    async def connecting() -> None:
        transport = await KafkaConnectionManager(net, **settings)._build_transport(node, timeout_at=deadline)
        connection.connection_made(transport)
        await connection.initialize(timeout_at=deadline)
        await connection

    try:
        net.run(connecting)
        connection.broker_version_data.api_version(OffsetCommitRequest, *[_offset_commit.VERSION] * 2)
        socket = socket_of(connection)
        socket.settimeout(seconds)
    except BaseException:
        disconnect(connection)
        raise
    return connection, socket


def api_versions(connection: Any) -> dict[int, tuple[int, int]]:
    """Return the lowest and the highest version of each API that the broker of a connection supports."""
    return dict(connection.broker_version_data.api_versions)


def socket_of(connection: Any) -> Any:
    """Return the socket of a connection that is ready; ``ConnectionError`` if it is closed."""
    if connection.transport is None:
        raise ConnectionError("the connection is closed")
    return connection.transport._sock


def shut_down(connection: Any) -> None:
    """Make a thread that reads from a connection fail. From any thread."""
    with suppress(OSError, AttributeError):  # the other thread may close it at the same time
        socket_of(connection).shutdown(SHUT_RDWR)


def disconnect(connection: Any) -> None:
    """Close a connection of `connect`. From any thread."""
    connection.close()
    connection.net.close()
