"""An error that comes again and again, as in an outage, is logged once, then with growing intervals.

Both clients of a ``StreamsConsumer`` report every failed attempt to reach a broker, and a program that commits in a
loop adds the failure of each commit.
"""

from __future__ import annotations

import logging
import re
import time
from threading import Lock
from typing import Final, NamedTuple

LIBRDKAFKA: Final = "streams_assignor.librdkafka"
"""The logger of librdkafka's lines, unless the user's configuration has another one."""

_LOGGERS: Final = (
    LIBRDKAFKA,
    "streams_assignor.clients.confluent._consumer",
    "streams_assignor.clients.confluent._membership",
    "kafka.client",
    "kafka.cluster",
    "kafka.coordinator",
    "kafka.coordinator.heartbeat",
    "kafka.net.connection",
    "kafka.net.manager",
    "kafka.net.transport",
)
_FIRST_SECONDS: Final = 10.0
_MOST_SECONDS: Final = 600.0
_MOST_KINDS: Final = 200
_NUMBER: Final = re.compile(r"\d+")


class _Repeats(NamedTuple):
    """A kind of line: when it was written, and what is left out since then."""

    written_at: float
    interval: float
    left_out: int
    seen_at: float


class RepeatedErrors(logging.Filter):
    """Leaves out warnings and errors that differ in numbers at most from one written a short time ago.

    The time is ten seconds at first and doubles up to ten minutes; it is ten seconds again if the line has not come for
    as long. A line says how many were left out.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[str, str], _Repeats] = {}
        self._lock = Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is written."""
        if record.levelno < logging.WARNING:
            return True
        message, now = record.getMessage(), time.monotonic()
        kind = record.name, _NUMBER.sub("", message)[:200]
        with self._lock:
            if (before := self._kinds.get(kind)) is None or now - before.seen_at > before.interval:
                if len(self._kinds) >= _MOST_KINDS:
                    self._kinds.clear()
                self._kinds[kind] = _Repeats(now, _FIRST_SECONDS, 0, now)
                return True
            if now - before.written_at < before.interval:
                self._kinds[kind] = _Repeats(before.written_at, before.interval, before.left_out + 1, now)
                return False
            self._kinds[kind] = _Repeats(now, min(2 * before.interval, _MOST_SECONDS), 0, now)
        record.msg, record.args = f"{message} ({before.left_out} more of these were left out)", None
        return True

    def forget(self) -> None:
        """Write the next line of each kind."""
        with self._lock:
            self._kinds.clear()


_FILTER: Final = RepeatedErrors()


def limit_repeated_errors() -> None:
    """Limit the lines of both clients and of this project, and begin anew: for each consumer that is made."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)
    _FILTER.forget()
