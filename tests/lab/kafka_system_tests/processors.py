"""The processes of a system test: Kafka's test classes in JVMs, and members of this project that print the same lines.

A processor is started, stopped and started again; a line is awaited from a mark in its output on.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.lab.integration.kafka_jars import class_path, jvm
from tests.lab.integration.nodes import UNTIL_END_OF_INPUT
from tests.lab.integration.subprocesses import Subprocess

WAIT_SECONDS: Final = 120
"""Kafka's tests wait for 60 s on machines of their own."""
_LOOK_SECONDS: Final = 0.05
_KAFKA: Final = "org.apache.kafka"
_TESTS: Final = f"{_KAFKA}.streams.tests"
_GENERATION: Final = r"Successfully joined group with generation (?:Generation\{generationId=)?(\d+)"
_STARTED: Final = "StreamsTest instance started"


class SystemTestFailed(AssertionError):
    """A line did not come, or came although it must not."""


class Processor:
    """One process of a test, over all its restarts."""

    def __init__(self, name: str, command: Callable[[Path], list[str]], folder: Path) -> None:
        self.name = name
        self.settings: dict[str, str] = {}
        """The properties of the next start."""
        self._command = command
        self._folder = folder / name
        self._earlier: list[str] = []
        self._process: Subprocess | None = None
        self._starts = 0
        self.started_at = 0
        """The mark of its last start."""
        self.awaited = 0
        """The number of lines that have been awaited and have come."""

    @property
    def lines(self) -> list[str]:
        """All that it has printed, over all restarts."""
        return self._since(0)

    @property
    def mark(self) -> int:
        """The place after its last line."""
        return len(self._earlier) + len(self._process.lines if self._process else ())

    def _since(self, mark: int) -> list[str]:
        """Its lines from a mark on; some classes print a line for each record, so no others are copied."""
        running = self._process.lines[max(0, mark - len(self._earlier)) :] if self._process else ()
        return [*self._earlier[mark:], *running]

    def start(self, until: str = _STARTED) -> int:
        """Start it; return the mark of its first line as soon as it has printed a line."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._starts += 1
        properties = self._folder / f"streams-{self._starts}.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in self.settings.items()))
        self.started_at = mark = self.mark
        self._process = Subprocess(self.name, [*UNTIL_END_OF_INPUT, *self._command(properties)])
        self.wait_for(until, mark)
        return mark

    def start_until(self, pattern: str) -> None:
        """Start it, and wait for a line; ``verify_running`` of kafkatest."""
        self.wait_for(pattern, self.start())

    def stop_until(self, pattern: str) -> None:
        """Stop it, and look for a line; ``verify_stopped`` of kafkatest."""
        mark = self.mark
        self.stop()
        self.wait_for(pattern, mark)

    def stop(self) -> None:
        """End it by SIGTERM, in its own time."""
        if self._process:
            self._process.stop(WAIT_SECONDS)
            self._keep()

    def kill(self) -> None:
        """End it at once."""
        if self._process:
            with suppress(ProcessLookupError):
                os.killpg(self._process._process.pid, signal.SIGKILL)
            self._process.stop()
            self._keep()

    def _keep(self) -> None:
        self._earlier, self._process = self.lines, None

    def use(self, command: Callable[[Path], list[str]], **settings: str | None) -> None:
        """Another program from the next start on, and other settings; None removes one."""
        self._command = command
        self.set(settings)

    def set(self, settings: Mapping[str, str | None]) -> None:
        """Change settings from the next start on; None removes one."""
        for key, value in settings.items():
            if value is None:
                self.settings.pop(key, None)
            else:
                self.settings[key] = value

    def found(self, pattern: str, since: int = 0) -> list[str]:
        """Its lines from a mark on in which a pattern occurs."""
        return [line for line in self._since(since) if re.search(pattern, line)]

    @property
    def generations(self) -> list[int]:
        """The generations that it has joined, in order."""
        found = (re.search(_GENERATION, line) for line in self.lines)
        return [int(each[1]) for each in found if each]

    def wait_for(self, pattern: str, since: int, times: int = 1, seconds: float = WAIT_SECONDS) -> list[str]:
        """Wait until a pattern has occurred so many times from a mark on; return these lines."""
        deadline = time.monotonic() + seconds
        found: list[str] = []
        while True:
            ended = self._process is None or self._process.ended
            lines = self._since(since)
            since += len(lines)
            found += [line for line in lines if re.search(pattern, line)]
            if len(found) >= times:
                self.awaited += 1
                return found
            if ended:
                raise SystemTestFailed(f"{self.name} has ended without {pattern!r}: {self._last_words()}")
            if time.monotonic() > deadline:
                raise SystemTestFailed(f"{self.name} did not print {pattern!r} within {seconds:.0f} s")
            time.sleep(_LOOK_SECONDS)

    def forbid(self, pattern: str, since: int = 0) -> None:
        """Fail if a pattern has occurred."""
        if found := self.found(pattern, since):
            raise SystemTestFailed(f"{self.name} printed {found[0][:300]!r}")

    def _last_words(self) -> str:
        problems = self.found("Exception|Error")
        return " | ".join((problems or self.lines)[-3:])[:600]


def java_class(name: str, release: str, *arguments: str, jars: str = "") -> Callable[[Path], list[str]]:
    """The command of a test class: of the test jar of its release, on the jars of this or another release."""
    return lambda properties: [
        *jvm(_class_path(release, jars or release), "256m", "info"),
        f"{_TESTS}.{name}",
        str(properties),
        *arguments,
    ]


def _class_path(release: str, jars: str) -> str:
    names = ("kafka-streams", "kafka-clients")
    tests = [f"{_KAFKA}:{name}:{release}:test" for name in names]
    main = [f"{_KAFKA}:{name}:{jars}" for name in names]
    # Test jars have generated messages too; those of another release must not hide the ones of the jars.
    return class_path(*tests, *main) if release == jars else class_path(*main, *tests)


def python_member(application: str, *arguments: str) -> Callable[[Path], list[str]]:
    """The command of a member of this project that takes the place of a test class."""
    return lambda properties: [
        *(sys.executable, "-m", "tests.lab.kafka_system_tests.member", application, str(properties)),
        *arguments,
    ]
