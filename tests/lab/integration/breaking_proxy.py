"""A proxy in front of a broker that breaks the answers to one kind of request."""

import random
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from threading import Lock, Thread
from typing import Self

HOST = b"127.0.0.1"
_SOME = random.Random(37).randbytes(300)


def _frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def _changed(seed: int) -> Callable[[bytes], Iterator[bytes]]:
    def change(answer: bytes) -> Iterator[bytes]:
        """Change some bytes behind the correlation id, others for each answer of the same size."""
        chance, changed = random.Random(seed), bytearray(answer)
        for _ in range(chance.choice((1, 2, 4, 16)) if len(changed) > 4 else 0):
            changed[chance.randrange(4, len(changed))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
        yield _frame(changed)

    return change


def _endless(answer: bytes) -> Iterator[bytes]:
    """Announce two gigabytes, and send them."""
    yield (2**31 - 1).to_bytes(4, "big") + answer
    while True:
        yield bytes(1 << 16)


def _dripping(answer: bytes) -> Iterator[bytes]:
    """Announce more than there is, and send a byte now and then for ever."""
    yield (len(answer) + 100_000).to_bytes(4, "big") + answer
    while True:
        time.sleep(0.2)
        yield b"\0"


FAULTS: Mapping[str, Callable[[bytes], Iterator[bytes] | None]] = {
    "nothing": lambda _: iter(()),
    "hangs up": lambda _: None,
    "a half, then hangs up": lambda answer: _then_none(_frame(answer)[: len(answer) // 2 + 2]),
    "truncated": lambda answer: iter([_frame(answer[: max(4, len(answer) // 2)])]),
    "empty": lambda answer: iter([_frame(answer[:4])]),
    "of no bytes": lambda _: iter([_frame(b"")]),
    "of a negative size": lambda answer: iter([b"\xff\xff\xff\xff" + answer]),
    "endless": _endless,
    "dripping": _dripping,
    "of another request": lambda answer: iter([_frame(struct.pack(">i", 0x7FFFFFF0) + answer[4:])]),
    "twice": lambda answer: iter([_frame(answer) * 2]),
    "with something behind": lambda answer: iter([_frame(answer + bytes(1000))]),
    "zeros": lambda answer: iter([_frame(answer[:4] + bytes(len(answer) - 4))]),
    "ones": lambda answer: iter([_frame(answer[:4] + b"\xff" * max(40, len(answer) - 4))]),
    "huge counts": lambda answer: iter([_frame(answer[:4] + b"\x7f\xff\xff\xff" * 20)]),
    "of HTTP": lambda _: iter([b"HTTP/1.1 400 Bad Request\r\n\r\n"]),
    "noise": lambda answer: iter([_frame(answer[:4] + _SOME)]),
} | {f"changed {seed}": _changed(seed) for seed in range(8)}
"""What each does with an answer: the bytes that are sent instead; None hangs up."""


def _then_none(sent: bytes) -> Iterator[bytes]:
    yield sent
    raise ConnectionError


class BreakingProxy:
    """Answers like the broker whose address it is given, but for the answers to one API.

    It replaces the broker's port in its answers by its own, so that clients ask nobody else.

    Args:
        broker: The address.
        broken: The API key whose answers are broken; None: no answer is.
        fault: In which way, a name in ``FAULTS``.
    """

    def __init__(self, broker: str, broken: int | None = None, fault: str = "") -> None:
        self.asked = Counter[int]()
        """How many requests there were of each API key."""
        self.broken = broken
        """Whose answers are broken now."""
        self._broker, self._fault = broker, fault
        self._port = int(broker.rpartition(":")[2])
        self._listener = socket.create_server((HOST.decode(), 0))
        self._own_port = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self._own_port}"
        self._lock = Lock()
        self._open: list[socket.socket] = []
        Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            _close(*self._open)

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                host, _, port = self._broker.rpartition(":")
                upstream = socket.create_connection((host, int(port)))
                with self._lock:
                    self._open += [client, upstream]
                keys: dict[bytes, int] = {}
                Thread(target=self._requests, args=(client, upstream, keys), daemon=True).start()
                Thread(target=self._answers, args=(upstream, client, keys), daemon=True).start()

    def _requests(self, client: socket.socket, upstream: socket.socket, keys: dict[bytes, int]) -> None:
        with suppress(OSError), client.makefile("rb") as stream:
            while size := stream.read(4):
                request = stream.read(int.from_bytes(size, "big"))
                key = int.from_bytes(request[:2], "big")
                keys[request[4:8]] = key
                self.asked[key] += 1
                upstream.sendall(size + request)
        _close(client, upstream)

    def _answers(self, upstream: socket.socket, client: socket.socket, keys: dict[bytes, int]) -> None:
        with suppress(OSError), upstream.makefile("rb") as stream:
            while size := stream.read(4):
                answer = stream.read(int.from_bytes(size, "big"))
                own = HOST + self._own_port.to_bytes(4, "big")
                answer = answer.replace(HOST + self._port.to_bytes(4, "big"), own)
                if keys.pop(answer[:4], None) != self.broken:
                    client.sendall(_frame(answer))
                    continue
                sent = FAULTS[self._fault](answer)
                if sent is None:
                    break
                for part in sent:
                    client.sendall(part)
        _close(client, upstream)


def _close(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
