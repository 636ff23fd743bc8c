"""Rolls of real groups: what a command template of an operator calls, and the command itself as a process.

The members are children of the test, so the template is a small program that asks it to restart one.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import Any, Self

from tests.lab.integration.peers import Group
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

ROOT = Path(__file__).parents[3]
SESSION_S = 6
_ASK = (
    "import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); "
    "s.sendall(chr(31).join(sys.argv[3:]).encode() + b'\\n'); answer = s.makefile().readline().strip(); "
    "print(answer); sys.exit(answer != 'done')"
)
_CLI = "from assignor.cli.main import main; main()"


class RestartServer:
    """What a template of an operator calls: each request is one line, which is answered when it is done.

    Args:
        restart: Restarts an instance, by name, release and upgrade.from; may be replaced. What it raises is the output
            of a command that fails.
        host: Where commands reach this process.
    """

    def __init__(self, restart: Callable[[str, str, str], None], host: str = "127.0.0.1") -> None:
        self.calls: list[tuple[str, ...]] = []
        self.restart = restart
        self._server = socket.create_server((host, 0))
        self._thread = Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    @property
    def template(self) -> str:
        """The command for ``--restart``."""
        host, port = self._server.getsockname()
        return f'{sys.executable} -c "{_ASK}" {host} {port} restart {{instance}} {{release}} "{{upgrade_from}}"'

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection:
                verb, *words = connection.makefile().readline().rstrip("\n").split("\x1f")
                self.calls.append((verb, *words))
                try:
                    self.restart(*words)
                    answer = "done"
                except Exception as error:
                    answer = f"{type(error).__name__}: {error}"
                with suppress(OSError):  # a command that was killed does not hear it
                    connection.sendall(answer.replace("\n", " ").encode() + b"\n")


class Operator(RestartServer):
    """Restarts members of a group."""

    def __init__(self, group: Group, folder: Path, **settings: str) -> None:
        super().__init__(self.restart_as_told)
        self.group = group
        self._folder = folder
        self.settings = settings
        """Those of every member, with {} for its name."""

    def start(self, name: str, release: str, upgrade_from: str = "") -> None:
        """Start a member as an instance with a state directory of its own."""
        value = {"upgrade.from": upgrade_from} if upgrade_from else {}
        state = {"state.dir": str(self._folder / "states" / name)}
        (self._folder / "states").mkdir(parents=True, exist_ok=True)
        probing = {"probing.rebalance.interval.ms": "60000"}  # the least that Kafka accepts
        settings = {key: text.format(name) for key, text in self.settings.items()}
        self.group.start(name, release, **state, **probing, **settings, **value)

    def restart_as_told(self, name: str, release: str, upgrade_from: str) -> None:
        """Restart a member with the release of the step."""
        if name in self.group.members:
            self.group.stop(name)
        self.start(name, release, upgrade_from)


class RollProcess:
    """The command as a process.

    Args:
        arguments: Those after ``roll``.
        patch: Python that runs before it.
        prefix: What stands before the command.
        environment: Variables beside those of this process.
    """

    def __init__(
        self,
        *arguments: str,
        patch: str = "",
        prefix: Sequence[str] = (),
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._process = subprocess.Popen(
            [*prefix, sys.executable, "-c", f"{patch}\n{_CLI}", "roll", *arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
        )
        self.lines: list[str] = []
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            self.lines.extend(line.rstrip("\n") for line in iter(lines.readline, ""))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self, seconds: float = 4 * TIMEOUT_SECONDS) -> int:
        """Return the exit status; it is killed after so many seconds."""
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"no end: {self.lines[-20:]}") from None
        self._reader.join(TIMEOUT_SECONDS)
        return status

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(TIMEOUT_SECONDS)

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def until(self, text: str) -> None:
        """Wait until a line has a text."""
        deadline = time.monotonic() + 2 * TIMEOUT_SECONDS
        while not any(text in line for line in self.lines):
            assert time.monotonic() < deadline, f"no {text!r} in {self.lines}"
            assert self._process.poll() is None or any(text in line for line in self.lines), self.lines
            time.sleep(0.05)


class Load:
    """Records that are sent and counted until the end of a block, by the counting members of a group."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._stopping = False
        self._thread = Thread(target=self._send, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = True
        self._thread.join()

    def _send(self) -> None:
        while not self._stopping:
            self._group._send()
            time.sleep(0.2)


def records(journal: Path) -> list[Mapping[str, Any]]:
    """The records of a journal as plain values."""
    return [json.loads(line) for line in journal.read_text().splitlines()]


def kinds(journal: Path) -> list[str]:
    return [record["record"] for record in records(journal)]
