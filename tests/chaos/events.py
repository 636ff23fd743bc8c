"""What workers tell beside the events of every member, and how their lines are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import field, fields, frozen

from assignor import member_process
from assignor.member_process import KINDS


@frozen
class Owns:
    """It has exactly these partitions from now on."""

    kind: ClassVar = "owns"
    partitions: tuple[str, ...] = field(converter=tuple)


@frozen
class Assigning:
    """It leads and begins to assign, for that many seconds."""

    kind: ClassVar = "assigning"
    seconds: float


@frozen
class Fenced:
    """A commit or a transaction of it was refused."""

    kind: ClassVar = "fenced"
    error: str


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


Event = member_process.Event | Owns | Assigning | Fenced
OWN: Mapping[str, type[Event]] = {event.kind: event for event in (Owns, Assigning, Fenced)}


def from_line(line: str) -> Event:
    """Read a line of a worker; ``ValueError`` if it is something else."""
    values: dict[str, Any] = json.loads(line)
    if event := OWN.get(values.get("event", "")):
        return event(**{attribute.name: values[attribute.name] for attribute in fields(event)})
    return member_process.from_line(line)


assert not KINDS.keys() & OWN.keys()
