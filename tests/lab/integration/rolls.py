"""Rolls of real groups: what a command template of an operator calls, and the command itself as a process.

The members are children of the test, so the template is a small program that asks it to restart, stop or start one.
"""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import pty
import re
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import Any, Self

from streams_assignor.groups import NoSuchGroup, inspect_group
from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from tests.lab.integration.peers import Group
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

ROOT = Path(__file__).parents[3]
SESSION_S = 6
_ASK = (
    "import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); "
    "s.sendall(chr(31).join(sys.argv[3:]).encode() + b'\\n'); answer = s.makefile().readline().strip(); "
    "print(answer); sys.exit(answer != 'done')"
)
_CONFIGURED = '{instance} {release} "{upgrade_from}"'
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PLEASE = re.compile(r"please (restart|stop|start) (\S+)(?: as (\S+)(?: with upgrade\.from=(\S+))?)?$")
_CLI = "from streams_assignor.cli.main import main; main()"


Configuration = tuple[str, str]
"""What an instance runs: the release, and ``upgrade.from``."""


def no_settings(_release: str) -> Mapping[str, str]:
    """Return no settings."""
    return {}


class NoAnswer(Exception):
    """A command that has done its work, and does not end by itself."""


class CommandServer:
    """What the templates of an operator call: each request is one line, which is answered when it is done.

    Args:
        do: Does what is asked, by verb and words. What it raises is the output of a command that fails.
        host: Where commands reach this process.
    """

    def __init__(self, do: Callable[..., None], host: str = "127.0.0.1") -> None:
        self.calls: list[tuple[str, ...]] = []
        self._do = do
        self._server = socket.create_server((host, 0))
        self._thread = Thread(target=self._serve, daemon=True)
        self._unanswered: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        for connection in self._unanswered:
            connection.close()

    @property
    def template(self) -> str:
        """The command for ``--restart``."""
        return self._template("restart", _CONFIGURED)

    @property
    def stop_template(self) -> str:
        """The command for ``--stop``."""
        return self._template("stop", "{instance}")

    @property
    def start_template(self) -> str:
        """The command for ``--start``."""
        return self._template("start", _CONFIGURED)

    def _template(self, verb: str, words: str) -> str:
        host, port = self._server.getsockname()
        return f'{sys.executable} -c "{_ASK}" {host} {port} {verb} {words}'

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
                    self._do(verb, *words)
                    answer = "done"
                except NoAnswer:
                    self._unanswered.append(connection.dup())
                    continue
                except Exception as error:
                    answer = f"{type(error).__name__}: {error}"
                with suppress(OSError):  # a command that was killed does not hear it
                    connection.sendall(answer.replace("\n", " ").encode() + b"\n")


class Operator(CommandServer):
    """Does to members of a group what a template says, each line once; ``restart`` may be replaced."""

    def __init__(self, group: Group, folder: Path, **settings: str) -> None:
        super().__init__(self.do)
        self.group = group
        self._folder = folder
        self.settings = settings
        """Those of every member, with {} for its name."""
        self.settings_of: Callable[[str], Mapping[str, str]] = no_settings
        """Those of members of a release."""
        self.running: dict[str, Configuration] = {}
        self.mixtures: list[frozenset[Configuration]] = []
        """What ran side by side after each start, in order, each once in a row."""
        self.restart: Callable[[str, str, str], None] = self.restart_as_told

    def start(self, name: str, release: str, upgrade_from: str = "") -> None:
        """Start a member as an instance with a state directory of its own."""
        value = {"upgrade.from": upgrade_from} if upgrade_from else {}
        state = {"state.dir": str(self._folder / "states" / name)}
        (self._folder / "states").mkdir(parents=True, exist_ok=True)
        probing = {"probing.rebalance.interval.ms": "60000"}  # the least that Kafka accepts
        settings = {key: text.format(name) for key, text in self.settings.items()}
        self.group.start(name, release, **state, **probing, **settings, **self.settings_of(release), **value)
        self.running[name] = release, upgrade_from
        if (mixture := frozenset(self.running.values())) not in self.mixtures[-1:]:
            self.mixtures.append(mixture)

    def do(self, verb: str, *words: str) -> None:
        """Do what a template says."""
        {"restart": self.restart, "stop": self.stop, "start": self.start}[verb](*words)

    def stop(self, name: str) -> None:
        """Stop a member."""
        self.group.stop(name)
        del self.running[name]

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
        self.lines: list[str] = []
        self._environment = {**os.environ, **environment}
        self._process = self._started([*prefix, sys.executable, "-c", f"{patch}\n{_CLI}", "roll", *arguments])
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _started(self, command: Sequence[str]) -> subprocess.Popen[Any]:
        environment = {**self._environment, "PYTHONUNBUFFERED": "1"}
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(command, cwd=ROOT, text=True, env=environment, **streams)

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


class TerminalRoll(RollProcess):
    """The command on a pseudo terminal: what is asked there is answered by ``type``."""

    def _started(self, command: Sequence[str]) -> subprocess.Popen[Any]:
        self._terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
        environment = {**self._environment, "TERM": "xterm"}
        streams: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        try:
            return subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, **streams)
        finally:
            os.close(theirs)

    def _read(self) -> None:
        decoder, rest = codecs.getincrementaldecoder("utf-8")("replace"), ""
        while shown := self._shown():
            *lines, rest = re.split(r"[\r\n]+", rest + decoder.decode(shown))
            # A question has no end of line.
            self.lines[:] = [*self._complete(), *(_ESCAPE.sub("", line) for line in lines), _ESCAPE.sub("", rest)]
        os.close(self._terminal)

    def _complete(self) -> list[str]:
        """All lines but the one that is being written."""
        return self.lines[:-1]

    def _shown(self) -> bytes:
        try:
            return os.read(self._terminal, 1 << 16)
        except OSError:  # nobody has the other side open any more
            return b""

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self._terminal, f"{text}\n".encode())

    def do_by_hand(self, operator: Operator) -> None:
        """Do what it asks for, until it ends."""
        done = 0
        deadline = time.monotonic() + 4 * TIMEOUT_SECONDS
        while self._process.poll() is None:
            assert time.monotonic() < deadline, self.lines[-40:]
            asked = list(filter(None, map(_PLEASE.search, self._complete())))
            for found in asked[done:]:
                verb, name, release, upgrade_from = found.groups("")
                operator.do(verb, name, *((release, upgrade_from) if verb != "stop" else ()))
                done += 1
            time.sleep(0.05)


class Rolled:
    """A group of instances of a release, and what is asked of it."""

    def __init__(self, group: Group, operator: Operator, folder: Path, origin: str) -> None:
        self.origin = origin
        self.group = group
        self.operator = operator
        self.journal = folder / "journal"
        self.report = folder / "report.md"

    def roll(
        self,
        target: str,
        *more: str,
        commands: tuple[str, ...] | None = None,
        process: type[RollProcess] = RollProcess,
        patch: str = "",
    ) -> RollProcess:
        """Start the command, which continues its journal; without ``commands`` it restarts, and does not ask."""
        given = ("--restart", self.operator.template, "--yes") if commands is None else commands
        origin = (self.group.topics.application, "--from", self.origin, "--to", target)
        files = ("--journal", str(self.journal), "--report", str(self.report))
        pace = ("--session-timeout", str(SESSION_S), "--interval", "0.5")
        servers = ("--bootstrap-servers", self.group.brokers)
        return process(*origin, *servers, *given, *files, *pace, *more, patch=patch)

    def check_nothing_is_lost(self) -> None:
        """Every record that was sent is counted once, as soon as the group has come so far."""
        self.group.eventually(lambda: self.group.lost_and_duplicated()[0] == 0, lambda: "records are lost")
        assert (0, 0) == self.group.lost_and_duplicated()

    def releases(self) -> set[str]:
        lookup = GroupLookup(self.group.brokers, {}, TIMEOUT_SECONDS)
        members = inspect_group(lookup.group(self.group.topics.application)).members
        return {str(member.subscription.candidate_releases) for member in members}


def has_joined(group: Group, names: Iterable[str]) -> bool:
    """Whether the coordinator counts members of each instance: one that starts slowly has none yet."""
    try:
        members = GroupLookup(group.brokers, {}, TIMEOUT_SECONDS).group(group.topics.application).members
    except NoSuchGroup:
        return False
    return {*names} <= {member.client_id.partition("-StreamThread-")[0] for member in members}


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
