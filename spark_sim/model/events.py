"""Events of a run as data: the sweep counts them, ``replay`` prints them, and equal runs have equal digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from attrs import asdict, frozen

from streams_assignor.codec import TaskId


class GroupEvent(NamedTuple):
    """One event of a simulated group."""

    at: int
    """The simulated time in milliseconds."""
    generation: int
    kind: str
    """A key of ``EVENT_TEMPLATES``."""
    member: str
    values: tuple[object, ...] = ()
    """The values for the template of its kind."""

    @property
    def text(self) -> str:
        """The event without its time and member. Assignments below version 3 have no supported version."""
        return EVENT_TEMPLATES[self.kind].format(*self.values).replace(" (supported -1)", "")

    def as_json(self) -> dict[str, object]:
        """Return the event as plain values."""
        return {**self._asdict(), "text": self.text}

    def __str__(self) -> str:
        return f"{self.at / 1000:7.1f}s  gen {self.generation:<3} {self.member:<3} {self.text}"


@frozen
class TraceEvent:
    """One event of a simulated cluster or streams group, which have no time; the fields are keys of the JSON output."""

    kind: str
    who: str
    """The node, member or member id; "" for the cluster or group."""
    text: str

    def as_json(self) -> dict[str, object]:
        """Return the event as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.who:<4} {self.text}"


EVENT_TEMPLATES: Final = {
    "started": "starts as {}",
    "stopped": "stops",
    "crashed": "crashes",
    "left": "leaves the group",
    "expired": "its session times out",
    "rebalance_timeout": "has not joined in time, and is removed from the group",
    "topic_lost": "topic is gone",
    "topic_found": "topic is back",
    "shutdown_requested": "requests the shutdown of the application",
    "probing_rebalance": "rejoins for a probing rebalance",
    "joined": "joins, sends version {}, supports {}",
    "unchanged": "sends nothing new, and gets the current generation back",
    "leads": "leads a group of {}",
    "assigned": "receives version {} (supported {}): active {}, standby {}",
    "dropped": "receives version {} (supported {}) and drops the assignment",
    "not_subscribed": "does not subscribe to {}: takes nothing, and rejoins",
    "rejoins": "changes to version {} and rejoins ({})",
    "revoked": "revokes {}, and rejoins so that other members can get it",
    "follows": "rejoins, because {} ({})",
    "failed": "FAILS: {}",
    "ended": "shuts down as requested: {}",
    "remark": "REMARK {}: {}",
    "violation": "VIOLATION {}: {}",
}
"""Kind => text, with a place for each value."""


def format_tasks(tasks: Iterable[TaskId]) -> str:
    """Write tasks as Kafka does: ``0_0,0_3``, or ``-`` for none."""
    return _format_tasks(frozenset(tasks))


@lru_cache(maxsize=4096)
def _format_tasks(tasks: frozenset[TaskId]) -> str:
    return ",".join(map(str, sorted(tasks))) or "-"


def events_digest(events: Iterable[GroupEvent]) -> str:
    """Return a short hash of all events of a run."""
    return hashlib.sha256("\n".join(map(repr, events)).encode()).hexdigest()[:16]
