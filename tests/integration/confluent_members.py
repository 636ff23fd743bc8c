"""Processes with a ``StreamsConsumer`` as members of an application, and what they have read."""

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.integration.applications import SESSION_MS, Application
from tests.integration.children import Child, wait_until

ROOT = Path(__file__).parents[2]


class ConfluentMember(Child):
    """``confluent_worker``, with what it has said."""

    def __init__(self, application: Application, *, output: str | None = None, **config: Any) -> None:
        given = {
            "source": application.source,
            "changelogs": [f"{application.name}-store-changelog"],
            "output": output,
            "transactional_id": f"copy-{uuid4().hex[:8]}",
            "config": {
                "bootstrap.servers": application._broker,
                "group.id": application.name,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": 500,
                "log_level": 0,
                **config,
            },
        }
        command = [sys.executable, "-m", "tests.integration.confluent_worker", json.dumps(given)]
        super().__init__("StreamsConsumer", ["env", "--chdir", str(ROOT), *command])

    @property
    def in_doubt(self) -> bool:
        """Whether somebody else may have read again what it has read: it lost tasks, or a commit was refused."""
        return bool(self.said("lost") or self.said("refused"))

    @property
    def tasks(self) -> set[str]:
        """Its active tasks."""
        owned = self.said("owns")
        return set(owned[-1]) if owned else set()

    def said(self, what: str) -> list[list[str]]:
        """The words behind each line that begins so."""
        return [line.split()[1:] for line in self.lines if line.split()[:1] == [what]]

    def signal(self, number: signal.Signals) -> None:
        os.kill(self._process.pid, number)

    def wait_for(self, what: str, more_than: int = 0) -> None:
        wait_until(lambda: len(self.said(what)) > more_than, self)


def pairs(lines: Iterable[str], what: str) -> Iterator[tuple[int, int]]:
    """Partition and offset of each such line; one that SIGKILL has cut off was not said."""
    for line in lines:
        match line.split():
            case [said, partition, offset] if said == what:
                yield int(partition), int(offset)


def read_by(members: Iterable[ConfluentMember]) -> Counter[tuple[int, int]]:
    """How often each record (partition, offset) was read."""
    return Counter(record for member in members for record in pairs(member.lines, "read"))
