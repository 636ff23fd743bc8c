"""Keeps passwords and tokens out of ``repr`` and out of the logs of the client libraries.

kafka-python 3.0.12 and aiokafka 0.14.0 log their requests at DEBUG, with passwords and tokens.
"""

from __future__ import annotations

import logging
from threading import Lock
from typing import Final

_MIN_LENGTH: Final = 4
_PAYLOAD_LOGGERS: Final = (
    "kafka.protocol.parser",
    "kafka.net.connection",
    "kafka.net.transport",
    "aiokafka.conn",
)


class _Secret(str):
    """A text with a ``repr`` that hides it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'[hidden]'"


class _RedactionFilter(logging.Filter):
    """Drops log records that contain a secret."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets: frozenset[str] = frozenset()  # replaced, never changed: other threads may be logging

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        return not any(secret in message for secret in self.secrets)


_REDACTION_FILTER: Final = _RedactionFilter()
_LOCK: Final = Lock()


def redact(text: str) -> str:
    """Return the same text with a ``repr`` that hides it, and drop log records of the client libraries that contain it.

    A text of fewer than four characters is hidden in ``repr`` only, because it would match too many records.

    >>> password = redact("hunter2")
    >>> password == "hunter2", {"sasl_plain_password": password}
    (True, {'sasl_plain_password': '[hidden]'})
    """
    if len(text) >= _MIN_LENGTH:
        with _LOCK:
            _REDACTION_FILTER.secrets |= _spellings(text)
        for name in _PAYLOAD_LOGGERS:
            logging.getLogger(name).addFilter(_REDACTION_FILTER)
    return _Secret(text)


def stop_redacting(text: str) -> None:
    """Allow a text in logs again, for example an expired token."""
    with _LOCK:
        _REDACTION_FILTER.secrets -= _spellings(text)


def _spellings(text: str) -> frozenset[str]:
    """Return the text itself and the ``repr`` of its bytes."""
    return frozenset({str(text), repr(text.encode())[2:-1]})
