"""What happens to a member, as values for metrics, logs and tests: one observer hears of everything.

``TaskListener`` is for the application, which has to do something; an observer only looks on. The adapters call it in
the order of events, on the thread or in the loop that rebalances (``Rejoining`` and ``Died`` perhaps on another): it
must be quick. ``assignor.metrics`` makes numbers of events, ``assignor.event_log`` lines.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable
from typing import Final

from attrs import frozen

from assignor.task_listener import Changes, Tasks
from probing.follow_up import Reason


class Cause(enum.Enum):
    """Why a member joins, where it is not for a ``Reason`` of the negotiation."""

    FIRST_JOIN = "it is new in the group"
    LOST = "the group has gone on without it"
    HANDED_OVER = "it has given up what others wait for"
    FEATURES = "the features of the cluster have risen"
    FAILURE = "it has failed, and is not to go on as before"
    ASKED = "the group has asked for it"


@frozen(kw_only=True)
class JoinSent:
    """Its subscription goes out with JoinGroup; ``size`` is in bytes, of the whole consumer-protocol structure."""

    cause: Cause | Reason
    used: int
    latest: int
    size: int


@frozen(kw_only=True)
class Led:
    """It has answered a group as its leader: ``heard`` and ``said`` are the bytes of each member, by member id."""

    heard: dict[str, int]
    said: dict[str, int]
    seconds: float

    @property
    def total_bytes(self) -> int:
        """What the broker has to keep in one record, beside names: that of a large group may be refused as too large.

        >>> Led(heard={"a": 2, "b": 5}, said={"a": 7, "b": 1}, seconds=0.1).total_bytes
        15
        """
        return sum(self.heard.values()) + sum(self.said.values())

    @property
    def largest_bytes(self) -> int:
        """The part of the member with most.

        >>> Led(heard={"a": 2, "b": 5}, said={"a": 7, "b": 1}, seconds=0.1).largest_bytes
        9
        """
        return max((heard + self.said.get(member, 0) for member, heard in self.heard.items()), default=0)


@frozen(kw_only=True)
class Assigned:
    """It has taken the leader's answer (``member.Received`` has more); `dropped`: it took nothing but the version.

    `warming`: its standbys are warm-ups, as no standby was asked for; else nobody but the leader can tell them apart
    (KIP-441). `follow_up` says why there has to be another rebalance.
    """

    cause: Cause | Reason
    generation: int
    leads: bool
    version: int
    supported: int
    active: Tasks
    standby: Tasks
    dropped: bool
    warming: bool = False
    follow_up: Reason | None = None

    @property
    def settled(self) -> bool:
        """Whether the answer stands for a while: it was no probe, and no other rebalance has to come at once."""
        return not self.dropped and self.follow_up in (None, Reason.PROBING)


@frozen
class Moved:
    """Its tasks change, which the listener is about to hear."""

    changes: Changes


@frozen(kw_only=True)
class Rejoining:
    """It wants another rebalance: now, or at a time in milliseconds since 1970."""

    cause: Cause | Reason
    leaves: bool = False
    at_ms: int | None = None


@frozen
class Died:
    """It ends of this; ``kafka`` is the exception that Kafka throws at this point, or the name of what it is here."""

    error: Exception

    @property
    def kafka(self) -> str:
        """A name for counting.

        >>> Died(ValueError("no")).kafka
        'ValueError'
        """
        return str(getattr(self.error, "kafka", type(self.error).__name__))


@frozen
class Ended:
    """It leaves the group for good, or (`lost`) has been out of it before."""

    lost: bool


Event = JoinSent | Led | Assigned | Moved | Rejoining | Died | Ended
Observer = Callable[[Event], None]

_LOG: Final = logging.getLogger("assignor")


def harmless(observer: Observer) -> Observer:
    """Return an observer that never raises: what `observer` raises first is logged, and the rest of it is lost."""
    failed = False

    def observe(event: Event) -> None:
        nonlocal failed
        try:
            observer(event)
        except Exception:
            if not failed:
                failed = True
                _LOG.exception("an observer has failed; this is logged once")

    return observe


def together(*observers: Observer) -> Observer:
    """Return one observer for several, each of which hears of everything, whatever the others raise."""
    each_harmless = [harmless(observer) for observer in observers]

    def observe(event: Event) -> None:
        for each in each_harmless:
            each(event)

    return observe
