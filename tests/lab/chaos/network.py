"""A network that can be cut: each member in a network namespace of its own, on one bridge with the brokers.

A cut takes the member's port off the bridge: nothing is refused, packets are just never answered, as with a broken
switch. Needs Linux, ``ip`` (iproute2) and root.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import Self

_SUBNET = "10.213.{}.{}"


class NetworkUnavailable(Exception):
    """This machine does not let us have a network of our own; the message says why."""


class Network:
    """A bridge, and the namespaces that were plugged into it; gone at the end of the block, whatever happens."""

    def __init__(self) -> None:
        self._id = os.getpid() % 100_000
        self._subnet = os.getpid() % 250
        self._bridge = f"cb{self._id}"
        self._members: dict[str, int] = {}
        self.host = _SUBNET.format(self._subnet, 1)
        """Where this process, and the brokers it starts, can be reached from every namespace."""

    def __enter__(self) -> Self:
        try:
            _ip("link", "add", self._bridge, "type", "bridge")
            _ip("addr", "add", f"{self.host}/24", "dev", self._bridge)
            _ip("link", "set", self._bridge, "up")
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            output = getattr(error, "stderr", "") or str(error)
            raise NetworkUnavailable(f"no network namespaces here ({output.strip()})") from None
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._members:
            _ip("netns", "del", self._namespace(name), check=False)
            _ip("link", "del", self._port(name), check=False)
        _ip("link", "del", self._bridge, check=False)

    def inside(self, name: str) -> Sequence[str]:
        """What to put before a command to run it as this member; the first time makes its namespace."""
        namespace = self._namespace(name)
        if name not in self._members:
            self._members[name] = number = len(self._members) + 1
            port, address = self._port(name), _SUBNET.format(self._subnet, number + 1)
            _ip("netns", "add", namespace)
            _ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace)
            _ip("link", "set", port, "master", self._bridge, "up")
            _ip("-n", namespace, "addr", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", namespace, "link", "set", device, "up")
        return ["ip", "netns", "exec", namespace]

    def cut(self, name: str) -> None:
        _ip("link", "set", self._port(name), "nomaster")

    def mend(self, name: str) -> None:
        _ip("link", "set", self._port(name), "master", self._bridge)

    def _namespace(self, name: str) -> str:
        return f"chaos{self._id}-{name}"

    def _port(self, name: str) -> str:
        return f"cv{self._id}{name}"


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=True, text=True, timeout=20)
