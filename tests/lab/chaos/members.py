"""The workers of a run as processes: started, listened to, frozen, killed."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import NamedTuple

from attrs import asdict

from tests.lab.chaos.worker_events import EventLine, WorkerSettings, parse_worker_line

_COMMAND = (sys.executable, "-m", "tests.lab.chaos.worker")
STOP_SECONDS = 15.0


class WorkerOutput(NamedTuple):
    """What a worker has told; `event` is None when it has ended."""

    seconds: float
    name: str
    life: int
    event: EventLine | None


class Worker:
    """One life of a member: a process. What it tells goes into a queue, with the time at which it was heard."""

    def __init__(
        self,
        settings: WorkerSettings,
        life: int,
        received: queue.SimpleQueue[WorkerOutput],
        log: Path,
        prefix: Sequence[str] = (),
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.settings = settings
        self.life = life
        self.asked_to_end = False
        self._received = received
        self._events = log.with_suffix(".events")
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [*prefix, *self._command()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **environment},
                start_new_session=True,  # Ctrl-C is ours to hand on
            )
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def send_command(self, words: str) -> None:
        """Write a line to it; who is dead or frozen may miss it."""
        with suppress(OSError, ValueError):
            self._process.stdin.write(f"{words}\n")
            self._process.stdin.flush()

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    def kill(self) -> None:
        self.asked_to_end = True
        self.signal(signal.SIGKILL)
        self._finish()

    def request_stop(self) -> None:
        self.asked_to_end = True
        self.signal(signal.SIGTERM)

    def stop(self, seconds: float = STOP_SECONDS) -> bool:
        """Let it leave the group; False if it had to be killed after a while."""
        self.request_stop()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        self._finish()
        return True

    def _command(self) -> Sequence[str]:
        return [*_COMMAND, json.dumps(asdict(self.settings))]

    def _event(self, line: str) -> EventLine | None:
        """What a line says; None if nothing that matters here."""
        try:
            return parse_worker_line(line)
        except ValueError as error:
            return {"event": "failed", "error": str(error)}

    def _finish(self) -> None:
        self._process.wait()
        self._reader.join()
        with suppress(OSError):
            self._process.stdin.close()

    def _read(self) -> None:
        name = self.settings.name
        with self._process.stdout as lines, self._events.open("a") as events:
            for line in lines:
                seconds = time.monotonic()
                events.write(line)
                if event := self._event(line):
                    self._received.put(WorkerOutput(seconds, name, self.life, event))
        self._process.wait()
        self._received.put(WorkerOutput(time.monotonic(), name, self.life, None))
