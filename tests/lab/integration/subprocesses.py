"""Other programs as child processes: what they print is what a test waits for, and none is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce
from threading import Thread
from typing import Self

from streams_assignor.demo.member_process import EventLine
from streams_assignor.demo.member_settings import MemberSettings
from streams_assignor.demo.model import MemberStatus
from streams_assignor.observability.event_fields import parse_line

TIMEOUT_SECONDS = (
    240  # seconds; on a quiet machine nothing here takes more than ten, on a busy one it has taken a hundred
)
_EXIT_TIMEOUT_SECONDS = 20  # seconds, where the exit status does not matter
_POLL_SECONDS = 0.03


def wait_until(happened: Callable[[], bool], *alive: "Subprocess") -> None:
    """Return as soon as it has happened. `alive` must not end before."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not happened():
        ended = [child.name for child in alive if child.ended]
        problem = (
            f"{ended} ended" if ended else f"not within {TIMEOUT_SECONDS} s" if time.monotonic() > deadline else ""
        )
        if problem and not happened():  # it may have, just before
            received = (f"--- {child.name}: {' | '.join(child.lines[-30:])}" for child in alive)
            raise AssertionError("\n".join([problem, *received]))
        time.sleep(_POLL_SECONDS)


class Subprocess:
    """A process and its lines. It ends with its standard input, so it ends with us, however we end."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self.lines: list[str] = []
        self.ended = False
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C is ours to hand on
        )
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(_EXIT_TIMEOUT_SECONDS)

    def stop(self, patience: float = TIMEOUT_SECONDS) -> int:
        """End it, and all it has started, by force after so many seconds; returns the exit status."""
        self._process.stdin.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        status = self._process.wait()
        self._reader.join()
        return status

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process: SIGSTOP freezes it, SIGCONT lets it go on."""
        self._process.send_signal(number)

    def _read(self) -> None:
        with self._process.stdout as lines:
            for line in lines:
                self.lines.append(line.rstrip("\n"))
        self.ended = True


class PythonMember(Subprocess):
    """``streams-assignor member``."""

    def __init__(self, settings: MemberSettings) -> None:
        command = "from streams_assignor.cli.main import main; main()"
        super().__init__(
            "the Python member", [sys.executable, "-c", command, "member", *settings.command_line_arguments()]
        )

    @property
    def events(self) -> list[EventLine]:
        return [parse_line(line) for line in self.lines]

    @property
    def status(self) -> MemberStatus:
        return reduce(MemberStatus.after, self.events, MemberStatus(name=self.name))

    @property
    def tasks(self) -> set[str]:
        """Its active tasks; none while it rebalances."""
        return set() if self.status.rejoining else set(self.status.active)


class JavaMember(Subprocess):
    """Kafka Streams, as `java/Counting.java` reports it."""

    @property
    def tasks(self) -> set[str]:
        """Its active tasks; none while it rebalances."""
        owned = [line.split()[1:] for line in self.lines if line.split()[:1] == ["owns"]]
        return set(owned[-1]) if owned else set()


JavaStreams = Callable[[str], JavaMember]  # starts one of a given release
