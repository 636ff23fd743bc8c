"""The log of a member: one line per event on the logger ``streams_assignor``, with the same values as fields.

The fields are attributes of the ``LogRecord``: ``event``, the member (``process_id`` and, where the client library has
them, ``group_id`` and ``client_id``), and those of ``event_fields.EVENT_FIELDS``. They are numbers, words and lists of
task ids, never a password and never userdata.

Levels are Kafka's: a failure at ERROR, a delayed rejoin at WARNING, all other events at INFO.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from streams_assignor.observability.event_fields import log_fields
from streams_assignor.observability.events import Event, MemberFailed, Observer, RejoinDelayed

_LOG: Final = logging.getLogger("streams_assignor")
_LEVELS: Final[Mapping[type[Event], int]] = {MemberFailed: logging.ERROR, RejoinDelayed: logging.WARNING}
_PROCESS_ID_LENGTH: Final = 8  # enough characters of a process id for a person to recognize it


def log_observer(identity: Callable[[], Mapping[str, str]]) -> Observer:
    """Return an observer that logs; `identity` returns the fields of the member, with at least a ``process_id``."""

    def log(event: Event) -> None:
        level = _LEVELS.get(type(event), logging.INFO)
        if _LOG.isEnabledFor(level):
            member, fields = identity(), log_fields(event)
            # Both, because members without a configured client id have similar ones.
            name = " ".join(filter(None, [member.get("client_id"), member["process_id"][:_PROCESS_ID_LENGTH]]))
            _LOG.log(level, "%s %s", name, format_line(fields), extra={**member, **fields})

    return log


def format_line(fields: Mapping[str, Any]) -> str:
    """Write fields as ``key=value``; empty and unknown ones are left out.

    >>> format_line({"event": "tasks_changed", "assigned": ["0_1", "0_2"], "revoked": [], "at_ms": None})
    'tasks_changed assigned=0_1,0_2'
    """
    shown = {key: value for key, value in fields.items() if key != "event" and value not in (None, [])}
    return " ".join([fields["event"], *(f"{key}={_format_value(value)}" for key, value in shown.items())])


def _format_value(value: object) -> str:
    match value:
        case list():
            return ",".join(value)
        case float():
            return f"{value:.3f}"
    return str(value)
