"""Rolling restarts of real groups by the script of docs/how-to/group.md, and what the coordinator stored meanwhile.

``python -m tests.lab.integration.rolling_restarts`` runs all of it and prints a line for each restart.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread
from typing import Self

from attrs import frozen

from tests.lab.integration.applications import TASKS, Application, settle
from tests.lab.integration.brokers import a_broker
from tests.lab.integration.group_log import Generation, timed_generations
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, JavaMember

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "group.md"
PODS = ("pod-1", "pod-2", "pod-3")
INTERVAL_SECONDS = 1.0
_RESTART = """\
import socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    server.sendall(sys.argv[1].encode() + b"\\n")
    assert server.recv(1) == b"."
"""
_STREAMS_ASSIGNOR = """\
#!/bin/sh
{python} -c 'from streams_assignor.cli.main import main; main()' "$@"
status=$?
date +%s.%N >> {ends}
exit $status
"""


@frozen
class Run:
    """One run of the script: a release, a session timeout, a signal, and the instances in the order of restarts."""

    release: str
    session_seconds: int
    signal: signal.Signals
    pods: tuple[str, ...]
    static: bool = False
    """Whether the instances have a ``group.instance.id``: then they come back without a rebalance."""


RUNS = tuple(
    Run(release, seconds, number, (*PODS, *PODS[:2]))
    for release, seconds, number in (
        ("2.8.2", 6, signal.SIGTERM),
        ("4.3.1", 6, signal.SIGKILL),
        ("3.9.2", 45, signal.SIGTERM),
        ("3.4.1", 45, signal.SIGKILL),
    )
)
"""Twenty restarts."""
STATIC_RUN = Run("3.9.2", 45, signal.SIGKILL, (*PODS, *PODS[:2]), static=True)


@frozen
class Restart:
    """When what happened, in seconds since 1970."""

    pod: str
    stopped: float
    started: float
    back: float
    """When the coordinator stored a generation with all instances and tasks, the restarted one with a new member id."""

    ended: float
    """When the wait for it ended."""

    @property
    def late(self) -> float:
        """By how many seconds the wait ended later; negative: too early."""
        return self.ended - self.back


def script() -> str:
    """The script of the page."""
    (found,) = re.findall(r"^```sh\n(#!/bin/sh\n.+?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return found


class Pods:
    """The instances of an application, restarted on request."""

    def __init__(self, application: Application, run: Run, folder: Path) -> None:
        self._application, self._run, self._folder = application, run, folder
        self.members: dict[str, JavaMember] = {}
        self.restarts: list[tuple[str, float, float]] = []
        for pod in PODS:
            self.start(pod)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:
            for member in self.members.values():
                stack.push(member)

    def start(self, pod: str) -> None:
        """Start an instance without waiting for it."""
        seconds = self._run.session_seconds
        self.members[pod] = self._application.java(
            self._run.release,
            self._folder / pod,
            **{
                "client.id": pod,
                "session.timeout.ms": 1000 * seconds,
                "heartbeat.interval.ms": min(3000, 1000 * seconds // 3),
                "num.standby.replicas": 1,
                **({"group.instance.id": pod} if self._run.static else {}),
            },
        )

    def restart(self, pod: str) -> None:
        """End an instance by the signal of the run, and start it again, under load."""
        self._application.send(10)
        member, stopped = self.members[pod], time.time()
        member.signal(self._run.signal)
        member.stop()
        self.start(pod)
        self.restarts.append((pod, stopped, time.time()))

    @contextmanager
    def command(self) -> Iterator[str]:
        """Yield a command that restarts the instance with the given name."""
        address = str(self._folder / "restart.sock")
        program = self._folder / "restart.py"
        program.write_text(_RESTART.format(address=address))
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(address)
            server.listen()
            Thread(target=self._serve, args=[server], daemon=True).start()
            yield shlex.join([sys.executable, str(program)])
            server.shutdown(socket.SHUT_RDWR)

    def _serve(self, server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection, connection.makefile() as lines:
                self.restart(lines.readline().strip())
                connection.sendall(b".")


def roll(broker: str, run: Run, folder: Path) -> list[Restart]:
    """Restart the instances of a group by the script; raise AssertionError if it does not succeed."""
    application = Application(broker)
    ends = folder / "ends"
    streams_assignor = folder / "streams-assignor"
    streams_assignor.write_text(_STREAMS_ASSIGNOR.format(python=sys.executable, ends=ends))
    streams_assignor.chmod(0o755)
    with Pods(application, run, folder) as pods:
        settle(*pods.members.values())
        with pods.command() as command:
            environment = os.environ | {
                "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
                "KAFKA_BOOTSTRAP_SERVERS": broker,
                "RESTART": command,
            }
            done = subprocess.run(
                ["sh", "-c", script(), "rolling-restart.sh", application.name, *run.pods],
                env=environment,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_SECONDS * len(run.pods),
            )
        assert 0 == done.returncode, done.stdout + done.stderr
        stored = timed_generations(broker, application.name)
    waits = [float(line) for line in ends.read_text().splitlines()][1:]
    return [
        Restart(pod, stopped, started, back(stored, pod, stopped), ended)
        for (pod, stopped, started), ended in zip(pods.restarts, waits, strict=True)
    ]


def back(stored: Sequence[tuple[float, Generation]], pod: str, stopped: float) -> float:
    """When the first generation was stored after a stop that has everything, and another member of that instance."""
    before = {seat.member_id for at, each in stored if at < stopped for seat in each.members if seat.name == pod}
    return next(
        at
        for at, each in stored
        if at >= stopped
        and sorted(PODS) == sorted(seat.name for seat in each.members)
        and not any(seat.member_id in before for seat in each.members)
        and sorted(TASKS) == sorted(task for seat in each.members for task in seat.active)
    )


def main() -> None:
    """Run all and print a line for each restart."""
    late: list[float] = []
    with a_broker() as broker:
        for run in (*RUNS, STATIC_RUN):
            with tempfile.TemporaryDirectory() as folder:
                for each in roll(broker, run, Path(folder)):
                    late.append(each.late)
                    print(
                        f"{run.release}  session {run.session_seconds} s  {run.signal.name}  {each.pod}"
                        f"{' (static)' if run.static else ''}: "
                        f"back after {each.back - each.started:.1f} s, wait ended {each.late:+.2f} s",
                        flush=True,
                    )
    early, too_late = sum(each < 0 for each in late), sum(each > 2 * INTERVAL_SECONDS for each in late)
    print(
        f"{len(late)} restarts, {early} too early, {too_late} late by more than two intervals, most {max(late):.2f} s"
    )


if __name__ == "__main__":
    main()
