"""The event lines of workers: those of every member, and those of `OWN_KEYS`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from streams_assignor.observability.event_fields import LINE_KEYS, parse_line

EventLine = Mapping[str, Any]

OWN_KEYS: Mapping[str, str] = {
    "owns": "partitions",
    "assigning": "seconds",
    "fenced": "error",
    "buffered": "records",
    "heap": "blocks",
}
"""The key of each event that only workers have."""

SLOW_READER = "slow-reader"
"""The worker that reads more slowly than its topic grows, until it is told to keep up."""

PLAIN = "-plain"
"""The end of the names of workers whose consumer has an assignor of its library."""

assert not LINE_KEYS.keys() & OWN_KEYS.keys()


def owns(partitions: Iterable[str]) -> EventLine:
    """The member has exactly these partitions from now on."""
    return {"event": "owns", "partitions": [*partitions]}


def assigning(seconds: float) -> EventLine:
    """The member leads and begins to assign, which takes at least so many seconds."""
    return {"event": "assigning", "seconds": seconds}


def fenced(error: str) -> EventLine:
    """A commit or a transaction of the member was refused."""
    return {"event": "fenced", "error": error}


def buffered(records: int) -> EventLine:
    """The client library has queued so many records of one partition."""
    return {"event": "buffered", "records": records}


def heap(blocks: int) -> EventLine:
    """Python has allocated so many blocks of memory."""
    return {"event": "heap", "blocks": blocks}


def parse_worker_line(line: str) -> EventLine:
    """Read a line of a worker; ``ValueError`` if it is something else."""
    values: Any = json.loads(line)
    if isinstance(values, dict) and OWN_KEYS.get(values.get("event", "")) in values:
        return values
    return parse_line(line)


@frozen(kw_only=True)
class WorkerSettings:
    """What a worker is told, as one JSON argument.

    ``batch_seconds`` is how long confluent-kafka gathers a batch: so long that a rebalance comes in the middle of it.
    With ``state`` it is a process of Kafka Streams, which keeps its state there; the kind says what it guarantees.
    """

    kind: str
    bootstrap_servers: str
    group: str
    topic: str
    output: str
    name: str
    session_ms: int
    release: str
    upgrade_from: str | None = None
    instance_id: str | None = None
    batch_seconds: float = 0.5
    state: str | None = None
    protocol: str = "classic"
    """``group.protocol`` of a process of Kafka Streams, or of a ``StreamsConsumer``."""
    beside: str = ""
    """The client id of a process beside the member; empty: it is the member."""

    @property
    def client_id(self) -> str:
        """What the group shows."""
        return self.beside or self.name
