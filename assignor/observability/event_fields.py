"""The table of events: the name and fields of each in logs, and its name and keys in JSON lines.

Log fields have the names of the attributes. The JSON names and keys are those that ``streams-assignor member`` has
always printed; programs depend on them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from streams_assignor.codec import TaskId
from streams_assignor.observability.events import (
    AssignmentComputed,
    AssignmentReceived,
    Event,
    JoinSent,
    MemberClosed,
    MemberFailed,
    MemberStarted,
    MemberStopped,
    RecordsProcessed,
    RejoinDelayed,
    RejoinRequested,
    TasksChanged,
)
from streams_assignor.probing import VersionAnswer
from streams_assignor.probing.follow_up import FollowUpReason
from streams_assignor.rebalance_listener import PartitionsByTask
from streams_assignor.upgrade.input_values import parse_json

_ABSENT: Final = object()
"""Read instead of a value: this event has no such log field."""


class EventField(NamedTuple):
    """One value of an event."""

    read: Callable[[Any], Any]
    """Takes the event; returns what JSON can hold."""

    log: str | None
    """The name of the field in a log line; None if the value is not logged."""

    key: str | None = None
    """JSON key; None: not in the JSON line."""


class EventFormat(NamedTuple):
    """How one type of event is written."""

    line: str | None
    """Value of the JSON key ``event``; None: no JSON line."""

    fields: tuple[EventField, ...]

    has_line: Callable[[Any], bool] = lambda _event: True
    """Whether this event gets a JSON line, if its type has one."""

    meaning: str = ""
    """The meaning in the JSON line, if it is not that of the type."""


def _attribute(name: str, key: str | None = None, *, log: bool = True) -> EventField:
    return EventField(lambda event: getattr(event, name), name if log else None, key)


def _reason(event: Any) -> str:
    return str(event.reason.name.lower())


def _task_names(tasks: Iterable[TaskId]) -> list[str]:
    """Write task ids in order."""
    return [str(task) for task in sorted(tasks)]


def _partitions(tasks: PartitionsByTask) -> set[str]:
    return {f"{partition.topic}-{partition.partition}" for partitions in tasks.values() for partition in partitions}


def _error_line(event: MemberFailed) -> str:
    """Write an error in one line that contains the name of its exception."""
    text = str(event.error)
    named = text if event.exception_name in text else f"{event.exception_name}: {text}"
    return " ".join(named.split())


def _negotiates(event: RejoinRequested) -> bool:
    """Return whether the rejoin is due now and follows from the assignment."""
    return event.at_ms is None and isinstance(event.reason, FollowUpReason) and event.reason != FollowUpReason.PROBING


def _change(kind: str) -> EventField:
    return EventField(lambda event: _task_names(getattr(event.changes, kind)) or _ABSENT, kind)


def _probe_answer(read: Callable[[VersionAnswer], Any]) -> Callable[[AssignmentComputed], Any]:
    """Return what reads an answer of version probing: a leader answers all members that it does not support alike."""
    return lambda event: read(next(iter(event.probed.values())))


EVENT_FIELDS: Final[Mapping[type[Event], EventFormat]] = {
    MemberStarted: EventFormat(
        "started",
        tuple(_attribute(name, name) for name in ("release", "upgrade_from", "process_id")),
    ),
    JoinSent: EventFormat(
        "subscribed",
        (
            EventField(_reason, "reason"),
            _attribute("used_version", "used"),
            _attribute("supported_version", "supported"),
            EventField(lambda event: event.subscription_size, "subscription_bytes"),
        ),
    ),
    AssignmentComputed: EventFormat(
        "probed",
        (
            EventField(lambda event: len(event.subscription_sizes), "members"),
            _attribute("seconds"),
            EventField(lambda event: sum(event.subscription_sizes.values()), "subscription_bytes"),
            EventField(lambda event: sum(event.assignment_sizes.values()), "assignment_bytes"),
            _attribute("largest_member_bytes"),
            EventField(lambda event: sorted(event.probed) or _ABSENT, "probed", "members"),
            EventField(_probe_answer(lambda answer: answer.version), None, "version"),
            EventField(_probe_answer(lambda answer: answer.supported_version), None, "supported"),
            EventField(_probe_answer(lambda answer: answer.content.name.lower()), None, "content"),
        ),
        has_line=lambda event: bool(event.probed),
        meaning="The member, as the leader, answered members that sent a version which it does not support.",
    ),
    AssignmentReceived: EventFormat(
        "assigned",
        (
            EventField(_reason, "reason"),
            _attribute("generation", "generation"),
            _attribute("member_id", "member_id", log=False),
            _attribute("is_leader", "leader"),
            _attribute("group_version", "version"),
            _attribute("group_supported_version", "supported"),
            EventField(lambda event: _task_names(event.active), "active", "active"),
            EventField(lambda event: _ABSENT if event.standbys_are_warmups else _task_names(event.standby), "standby"),
            EventField(lambda event: _task_names(event.standby) if event.standbys_are_warmups else _ABSENT, "warm_up"),
            EventField(lambda event: _task_names(event.standby), None, "standby"),
            _attribute("tasks_dropped", "dropped"),
            EventField(lambda event: event.follow_up and event.follow_up.name.lower(), "follow_up"),
            _attribute("rejoins_immediately", "rejoin", log=False),
        ),
    ),
    RejoinRequested: EventFormat(
        "rejoin",
        (
            EventField(_reason, "reason"),
            _attribute("leaves_group"),
            _attribute("at_ms"),
            EventField(lambda event: "leave_and_join" if event.leaves_group else "keep_member_id", None, "how"),
        ),
        has_line=_negotiates,
        meaning="The member rejoins immediately, as its assignment demands.",
    ),
    RejoinDelayed: EventFormat(
        "rejoin_delayed",
        (
            EventField(_reason, "reason", "reason"),
            EventField(lambda event: event.reason.value, "cause", "cause"),
            _attribute("repeats", "repeats"),
            _attribute("seconds", "seconds"),
        ),
    ),
    TasksChanged: EventFormat(
        "revoked",
        (
            *map(_change, ("revoked", "lost", "standby_removed", "assigned", "standby_added")),
            EventField(
                lambda event: sorted(_partitions(event.changes.revoked) | _partitions(event.changes.lost)),
                None,
                "partitions",
            ),
        ),
        has_line=lambda event: bool(event.changes.revoked or event.changes.lost),
        meaning="The member revoked or lost these partitions.",
    ),
    RecordsProcessed: EventFormat(
        "processed",
        (_attribute("partition", "partition"), _attribute("first", "from"), _attribute("last", "to")),
    ),
    MemberFailed: EventFormat(
        "failed",
        (
            EventField(lambda event: event.exception_name, "error_type"),
            EventField(lambda event: str(event.error), "error"),
            EventField(_error_line, None, "error"),
        ),
    ),
    MemberClosed: EventFormat(None, (_attribute("lost"),)),
    MemberStopped: EventFormat("stopped", (_attribute("reason", "reason"),)),
}

LINE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    line_fields.line: tuple(field.key for field in line_fields.fields if field.key)
    for line_fields in EVENT_FIELDS.values()
    if line_fields.line
}
"""JSON keys of each event that has a JSON line, beside ``event`` and ``time``."""


def log_name(event_type: type[Event]) -> str:
    """Return the value of the log field ``event``: the name of the class in snake case.

    >>> log_name(JoinSent)
    'join_sent'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event_type.__name__).lower()


def log_fields(event: Event) -> dict[str, Any]:
    """Return the log fields of an event; lists of tasks that do not apply are left out.

    >>> from streams_assignor.observability.events import JoinReason
    >>> log_fields(
    ...     JoinSent(reason=JoinReason.FIRST_JOIN, used_version=2, supported_version=11, subscription_size=88)
    ... )
    {'event': 'join_sent', 'reason': 'first_join', 'used_version': 2, 'supported_version': 11, 'subscription_bytes': 88}
    """
    written = EVENT_FIELDS[type(event)]
    values = {field.log: field.read(event) for field in written.fields if field.log}
    return {"event": log_name(type(event)), **{name: value for name, value in values.items() if value is not _ABSENT}}


def json_line(event: Event, time: float) -> str | None:
    """Write an event as a line of JSON without the newline; None if it has no line.

    >>> json_line(RecordsProcessed("orders-0", 3, 5), time=1.5)
    '{"event": "processed", "time": 1.5, "partition": "orders-0", "from": 3, "to": 5}'
    """
    written = EVENT_FIELDS[type(event)]
    if written.line is None or not written.has_line(event):
        return None
    keys = {field.key: field.read(event) for field in written.fields if field.key}
    return json.dumps({"event": written.line, "time": time, **keys})


def parse_line(line: str) -> dict[str, Any]:
    """Read a line that ``json_line`` wrote.

    Raises:
        ValueError: if it is something else.

    >>> parse_line('{"event": "rejoin", "time": 1.5, "how": "keep_member_id"}')["how"]
    'keep_member_id'
    """
    try:
        values: dict[str, Any] = parse_json(line)
        if values.keys() >= {*LINE_KEYS[values["event"]]}:
            return values
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    raise ValueError(f"not an event of a member: {line.strip()[:200]!r}")
