"""What happened in a run, as data: the sweep counts it, ``replay`` tells it, and two equal runs have equal digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from subscription_codec import TaskId


class Event(NamedTuple):
    """One thing that happened. ``at`` is simulated time in ms, ``values`` depend on ``kind`` (see ``TEXTS``)."""

    at: int
    generation: int
    kind: str
    member: str
    values: tuple[object, ...] = ()

    @property
    def text(self) -> str:
        """What it says, without when and who. Below version 3 an answer does not say what is supported."""
        return TEXTS[self.kind].format(*self.values).replace(" (supported -1)", "")

    def __str__(self) -> str:
        return f"{self.at / 1000:7.1f}s  gen {self.generation:<3} {self.member:<3} {self.text}"


TEXTS = {
    "started": "starts as {}",
    "stopped": "stops",
    "crashed": "crashes",
    "left": "leaves the group",
    "expired": "its session times out",
    "joined": "joins, sends version {}, supports {}",
    "leads": "leads a group of {}",
    "assigned": "gets version {} (supported {}): active {}, standby {}",
    "dropped": "gets version {} (supported {}) and drops the assignment",
    "rejoins": "changes to version {} and rejoins ({})",
    "revoked": "gives up {}, and rejoins so that others can have it",
    "follows": "rejoins, because {} ({})",
    "died": "DIES: {}",
    "violation": "VIOLATION {}: {}",
}


def tasks_text(tasks: Iterable[TaskId]) -> str:
    """Write tasks as Kafka does: ``0_0,0_3``, or ``-`` for none."""
    return ",".join(map(str, sorted(tasks))) or "-"


def digest(events: Iterable[Event]) -> str:
    """Return a short hash of a whole history."""
    return hashlib.sha256("\n".join(map(repr, events)).encode()).hexdigest()[:16]
