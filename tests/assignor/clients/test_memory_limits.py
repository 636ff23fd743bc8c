"""Peers that announce a response of gigabytes, to the clients of the adapters; the commands: test_connection.py."""

import asyncio
import socket
from contextlib import suppress
from threading import Thread
from types import SimpleNamespace

import pytest

from streams_assignor.clients.aiokafka import _private_api as aiokafka_api
from streams_assignor.clients.kafka_python import KafkaPythonAdmin
from streams_assignor.clients.leader_lookup import LookupFailed


def test_an_admin_reads_little_of_a_peer_that_sends_without_end() -> None:
    """It read gigabytes before it looked at the length in the first four bytes."""
    sent = []

    def send_without_end(listener: socket.socket) -> None:
        with listener.accept()[0] as peer, suppress(OSError):
            peer.recv(4096)
            peer.sendall(b"\x7f\xff\xff\xff")
            while len(sent) < 1000:
                peer.sendall(bytes(1 << 20))
                sent.append(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = Thread(target=send_without_end, args=(listener,))
        sender.start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        admin = KafkaPythonAdmin("billing", bootstrap_servers=address, bootstrap_timeout_ms=500)
        with pytest.raises(LookupFailed):
            admin.partition_counts(["orders"])
        sender.join()

    assert len(sent) < 100


def test_a_response_of_gigabytes_closes_the_connection_of_aiokafka() -> None:
    """Its consumer read all of it: 6 GB on a few connections."""

    async def read(size: int) -> tuple[bytes, bytes]:
        reader = asyncio.StreamReader()
        reader.feed_data(b"size" + bytes(100))

        async def connect(_node: int) -> SimpleNamespace:
            return SimpleNamespace(_reader=reader)

        consumer = SimpleNamespace(_client=SimpleNamespace(_get_conn=connect), _fetch_max_bytes=1000)
        aiokafka_api.limit_memory(consumer)
        await consumer._client._get_conn(1)
        connection = await consumer._client._get_conn(1)
        return await connection._reader.readexactly(4), await connection._reader.readexactly(size)

    assert (b"size", bytes(100)) == asyncio.run(read(100))
    with pytest.raises(ConnectionError, match="of at most 104,858,600 bytes, got one of 104,858,601"):
        asyncio.run(read((100 << 20) + 1001))
