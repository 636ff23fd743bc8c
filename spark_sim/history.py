"""What happened in a run, as data: the sweep counts it, ``replay`` tells it, and two equal runs have equal digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
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
    "late": "has not joined in time, and is put out of the group",
    "lost": "topic is gone",
    "found": "topic is back",
    "asked": "asks that the whole application ends",
    "looks": "rejoins to see whether warm-ups are done",
    "joined": "joins, sends version {}, supports {}",
    "unheard": "has said nothing new, and gets the running generation back",
    "leads": "leads a group of {}",
    "assigned": "gets version {} (supported {}): active {}, standby {}",
    "dropped": "gets version {} (supported {}) and drops the assignment",
    "rejoins": "changes to version {} and rejoins ({})",
    "revoked": "gives up {}, and rejoins so that others can have it",
    "follows": "rejoins, because {} ({})",
    "died": "DIES: {}",
    "ended": "ends as it is told: {}",
    "remark": "REMARK {}: {}",
    "violation": "VIOLATION {}: {}",
}


def tasks_text(tasks: Iterable[TaskId]) -> str:
    """Write tasks as Kafka does: ``0_0,0_3``, or ``-`` for none."""
    return _text(frozenset(tasks))


@lru_cache(maxsize=4096)
def _text(tasks: frozenset[TaskId]) -> str:
    return ",".join(map(str, sorted(tasks))) or "-"


def digest(events: Iterable[Event]) -> str:
    """Return a short hash of a whole history."""
    return hashlib.sha256("\n".join(map(repr, events)).encode()).hexdigest()[:16]
