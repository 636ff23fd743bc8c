"""The log of a member: a line for every event on the logger ``assignor``, with its facts as fields for machines.

The fields are attributes of the ``LogRecord``: ``event``, who it is (``process_id`` and, where the client library says
them, ``group_id`` and ``client_id``), and those of the event. They are numbers, words and lists of task ids, never a
password and never userdata.

Levels as in Kafka, which tells of joins, assignments, lost partitions and probing at INFO, and of a death at ERROR.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from assignor.observing import Assigned, Cause, Died, Ended, Event, JoinSent, Led, Moved, Observer, Rejoining
from probing.follow_up import Reason
from subscription_codec import TaskId

_LOG: Final = logging.getLogger("assignor")
_SHORT: Final = 8  # characters of a process id that a person can keep in mind


def observer(named: Callable[[], Mapping[str, str]]) -> Observer:
    """Return an observer that logs; `named` says whose events they are, with at least a ``process_id``."""

    def log(event: Event) -> None:
        level = logging.ERROR if isinstance(event, Died) else logging.INFO
        if _LOG.isEnabledFor(level):
            who, said = named(), fields_of(event)
            # Client ids are alike where nobody has chosen them.
            name = " ".join(filter(None, [who.get("client_id"), who["process_id"][:_SHORT]]))
            _LOG.log(level, "%s %s", name, line_of(said), extra={**who, **said})

    return log


def line_of(said: Mapping[str, Any]) -> str:
    """Write fields for a person to read; what is empty or not known is left out.

    >>> line_of({"event": "assigned", "generation": 3, "active": ["0_1", "0_2"], "standby": [], "follow_up": None})
    'assigned generation=3 active=0_1,0_2'
    """
    known = {key: value for key, value in said.items() if key != "event" and value not in (None, [])}
    return " ".join([said["event"], *(f"{key}={_word(value)}" for key, value in known.items())])


def fields_of(event: Event) -> dict[str, Any]:
    """Return the facts of an event; the values are what JSON knows.

    >>> fields_of(JoinSent(cause=Cause.FIRST_JOIN, used=2, latest=11, size=88))
    {'event': 'join_sent', 'cause': 'first_join', 'used_version': 2, 'latest_version': 11, 'subscription_bytes': 88}
    """
    return {"event": _EVENTS[type(event)], **_facts(event)}


_EVENTS: Final[Mapping[type[Event], str]] = {
    JoinSent: "join_sent",
    Led: "led",
    Assigned: "assigned",
    Moved: "moved",
    Rejoining: "rejoining",
    Died: "died",
    Ended: "ended",
}


def _facts(event: Event) -> dict[str, Any]:
    match event:
        case JoinSent(cause=cause, used=used, latest=latest, size=size):
            return {**_why(cause), "used_version": used, "latest_version": latest, "subscription_bytes": size}
        case Led(heard=heard, said=said, seconds=seconds):
            sums = {"subscription_bytes": sum(heard.values()), "assignment_bytes": sum(said.values())}
            return {"members": len(heard), "seconds": seconds, **sums, "largest_bytes": event.largest_bytes}
        case Assigned():
            return _assigned(event)
        case Moved(changes=changes):
            return {change: _names(tasks) for change, tasks in changes.named().items()}
        case Rejoining(cause=cause, leaves=leaves, at_ms=at_ms):
            return {**_why(cause), "leaves": leaves, "at_ms": at_ms}
        case Died(error=error):
            return {"error_type": event.kafka, "error": str(error)}
        case _:
            return {"lost": event.lost}


def _assigned(event: Assigned) -> dict[str, Any]:
    return {
        **_why(event.cause),
        "generation": event.generation,
        "leads": event.leads,
        "group_version": event.version,
        "supported_version": event.supported,
        "active": _names(event.active),
        "warm_up" if event.warming else "standby": _names(event.standby),
        "dropped": event.dropped,
        "follow_up": event.follow_up and event.follow_up.name.lower(),
    }


def _why(cause: Cause | Reason) -> dict[str, str]:
    return {"cause": cause.name.lower()}


def _names(tasks: Iterable[TaskId]) -> list[str]:
    return [str(task) for task in sorted(tasks)]


def _word(value: object) -> str:
    match value:
        case list():
            return ",".join(value)
        case float():
            return f"{value:.3f}"
    return str(value)
