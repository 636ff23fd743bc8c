"""Texts that stay secret: they do not show themselves, and the client libraries' logs are kept free of them.

kafka-python 3.0.12 and aiokafka 0.14.0 write at DEBUG what they send, and with that passwords and tokens.
"""

from __future__ import annotations

import logging
from threading import Lock
from typing import Final

_SHORTEST: Final = 4
_WHO_SHOWS_WHAT_IS_SENT: Final = (
    "kafka.protocol.parser",
    "kafka.net.connection",
    "kafka.net.transport",
    "aiokafka.conn",
)


class _Secret(str):
    """A text that does not show itself where settings are printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'[hidden]'"


class _Hiding(logging.Filter):
    """Keeps records with a secret out of a log."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets: frozenset[str] = frozenset()  # replaced, not changed: other threads log meanwhile

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        return not any(secret in said for secret in self.secrets)


_HIDING: Final = _Hiding()
_LOCK: Final = Lock()


def hidden(text: str) -> str:
    """Return the same text; from now on its ``repr`` and the logs of kafka-python and aiokafka do not show it.

    What is shorter than four characters is only hidden from ``repr``: too much else would go with it.

    >>> password = hidden("hunter2")
    >>> password == "hunter2", {"sasl_plain_password": password}
    (True, {'sasl_plain_password': '[hidden]'})
    """
    if len(text) >= _SHORTEST:
        with _LOCK:
            _HIDING.secrets |= _ways_to_write(text)
        for name in _WHO_SHOWS_WHAT_IS_SENT:
            logging.getLogger(name).addFilter(_HIDING)
    return _Secret(text)


def forget(text: str) -> None:
    """Hide a text no longer: one that is worth nothing any more."""
    with _LOCK:
        _HIDING.secrets -= _ways_to_write(text)


def _ways_to_write(text: str) -> frozenset[str]:
    """As it is, and as Python shows its bytes."""
    return frozenset({str(text), repr(text.encode())[2:-1]})
