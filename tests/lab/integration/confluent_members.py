"""Processes with a ``StreamsConsumer`` as members of an application, and what they have read."""

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.lab.integration.applications import Application, settled
from tests.lab.integration.subprocesses import Subprocess, wait_until

ROOT = Path(__file__).parents[3]


class ConfluentMember(Subprocess):
    """``confluent_worker``, with its output."""

    def __init__(
        self,
        application: Application,
        *,
        output: str | None = None,
        sleeps_in: int | None = None,
        transactional_id: str | None = None,
        **config: Any,
    ) -> None:
        given = {
            "source": application.source,
            "changelogs": [f"{application.name}-store-changelog"],
            "output": output,
            "sleeps_in": sleeps_in,
            "transactional_id": transactional_id or f"copy-{uuid4().hex[:8]}",
            "config": {
                "bootstrap.servers": application._broker,
                "group.id": application.name,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": application.session_timeout_ms,
                "heartbeat.interval.ms": 500,
                "log_level": 0,
                **config,
            },
        }
        command = [sys.executable, "-m", "tests.lab.integration.confluent_worker", json.dumps(given)]
        super().__init__("StreamsConsumer", ["env", "--chdir", str(ROOT), *command])

    @property
    def maybe_fenced(self) -> bool:
        """Whether another member may have read again what it has read: it lost tasks, or a commit was refused."""
        return bool(self.output_lines("lost") or self.output_lines("refused"))

    @property
    def tasks(self) -> set[str]:
        """Its active tasks."""
        owned = self.output_lines("owns")
        return set(owned[-1]) if owned else set()

    @property
    def generation(self) -> int | None:
        """The one it is in; None while it joins."""
        last = next((line for line in reversed(self.lines) if line.startswith("join")), "joins")
        return int(last.removeprefix("joined ")) if last != "joins" else None

    def output_lines(self, what: str) -> list[list[str]]:
        """The words behind each line that begins so."""
        return [line.split()[1:] for line in self.lines if line.split()[:1] == [what]]

    def signal(self, number: signal.Signals) -> None:
        os.kill(self._process.pid, number)

    def wait_for(self, what: str, more_than: int = 0) -> None:
        wait_until(lambda: len(self.output_lines(what)) > more_than, self)


def wait_until_stable(*members: ConfluentMember) -> None:
    """Wait until they share the tasks and no member is in the middle of a rebalance."""

    def at_rest() -> bool:
        generations = {member.generation for member in members}
        return len(generations) == 1 and None not in generations and settled(*members)

    wait_until(at_rest, *members)


def read_by(members: Iterable[ConfluentMember]) -> Counter[tuple[int, int]]:
    """How often each record (partition, offset) was read."""
    return Counter((int(words[0]), int(words[1])) for member in members for words in member.output_lines("read"))


def read_behind_a_commit(members: Sequence[ConfluentMember]) -> set[tuple[int, int]]:
    """The records that a member read though they had been committed when it got their partition."""
    commits = [
        (int(words[0]), int(words[1]), float(words[2]))
        for member in members
        for words in member.output_lines("committed")
    ]
    found = set()
    for member in members:
        committed: dict[int, int] = {}
        for line in member.lines:
            match line.split():
                case ["begins", partition, seconds]:
                    before = [end for number, end, at in commits if number == int(partition) and at < float(seconds)]
                    committed[int(partition)] = max(before, default=0)
                case ["read", partition, offset] if int(offset) < committed[int(partition)]:
                    found.add((int(partition), int(offset)))
    return found
