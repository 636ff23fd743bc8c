"""Other programs as child processes: what they print is what a test waits for, and none is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce
from threading import Condition, Thread
from typing import Self

from assignor.bouncing.story import MemberStatus
from assignor.member_process import Event, MemberSettings, from_line

PATIENCE = 60  # seconds; on a quiet machine nothing here takes more than ten
_news = Condition()


def wait_until(happened: Callable[[], bool], *alive: "Child") -> None:
    """Return as soon as it has happened; looks whenever a child has printed or ended. `alive` must not end before."""
    deadline = time.monotonic() + PATIENCE
    with _news:
        while not happened():
            heard = "\n".join(f"--- {child.name}: {' | '.join(child.lines[-30:])}" for child in alive)
            for child in alive:
                assert not child.ended, f"{child.name} has ended\n{heard}"
            assert _news.wait(max(0, deadline - time.monotonic())), f"not within {PATIENCE} s\n{heard}"


class Child:
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
        self.stop()

    def stop(self) -> int:
        """End it, and all it has started; returns the exit status."""
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        status = self._process.wait()
        self._reader.join()
        return status

    def _read(self) -> None:
        with self._process.stdout as lines:
            for line in lines:
                with _news:
                    self.lines.append(line.rstrip("\n"))
                    _news.notify_all()
        with _news:
            self.ended = True
            _news.notify_all()


class PythonMember(Child):
    """``streams-assignor member``."""

    def __init__(self, settings: MemberSettings) -> None:
        command = "from assignor.cli import main; main()"
        super().__init__("the Python member", [sys.executable, "-c", command, "member", *settings.arguments()])

    @property
    def events(self) -> list[Event]:
        return [from_line(line) for line in self.lines]

    @property
    def status(self) -> MemberStatus:
        return reduce(MemberStatus.after, self.events, MemberStatus(name=self.name))

    @property
    def tasks(self) -> set[str]:
        """Its active tasks; none while it rebalances."""
        return set() if self.status.rejoining else set(self.status.active)


class JavaMember(Child):
    """Kafka Streams, as `java/Counting.java` tells of it."""

    @property
    def tasks(self) -> set[str]:
        """Its active tasks; none while it rebalances."""
        owned = [line.split()[1:] for line in self.lines if line.split()[:1] == ["owns"]]
        return set(owned[-1]) if owned else set()


JavaStreams = Callable[[str], JavaMember]  # starts one of a given release
