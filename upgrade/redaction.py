"""Keeps passwords and tokens out of ``repr``, out of errors and out of the logs of the client libraries.

kafka-python 3.0.12 and aiokafka 0.14.0 log their requests at DEBUG, with passwords and tokens. A broker, or its
authenticator, may repeat a password in the text of an error, which they raise and log. A secret is known here by its
value, not by a pattern, which is what libraries for redaction have.
"""

from __future__ import annotations

import json
import logging
import re
from threading import Lock
from typing import Final

_MIN_LENGTH: Final = 4
_PAYLOAD_LOGGERS: Final = (
    "kafka.protocol.parser",
    "kafka.net.connection",
    "kafka.net.transport",
    "aiokafka.conn",
)
_LIBRARIES: Final = ("kafka.", "aiokafka")
_HIDDEN: Final = "[hidden]"
_USER: Final = r"""[^\s/?\#@:=]* : (?! @ | \d+ (?: [/?\#;,\s'"] | $ ) )"""
_IN_ADDRESS: Final = re.compile(rf"(?x) :// {_USER}")
_AS_VALUE: Final = re.compile(rf"(?x) = {_USER}")
"""A user's name before a password, which is no port."""
_PARAMETER: Final = re.compile(
    r"""(?ix) [?&;] (?: (?= [^\s=&;]*+ = ) (?= [^=]* (?: key | secret | token | password | signature ) )
    (?P<name> [^=]* = ) [^\s&;'"]+ | [^\s=&;]*+ )"""
)
"""A parameter, with its value if that is to be hidden. A name of anything else is passed over, and read once."""


class _Secret(str):
    """A text with a ``repr`` that hides it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"'{_HIDDEN}'"


class _RedactionFilter(logging.Filter):
    """Drops log records that contain a secret, and hides the secret in those that report an error."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets: frozenset[str] = frozenset()  # replaced, never changed: other threads may be logging

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        hidden = hide(message)
        if hidden == message:
            return True
        record.msg, record.args = hidden, None
        return record.levelno >= logging.WARNING


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
        loggers = [name for name in logging.root.manager.loggerDict if name.startswith(_LIBRARIES)]
        for name in {*_PAYLOAD_LOGGERS, *loggers}:
            logging.getLogger(name).addFilter(_REDACTION_FILTER)
    return _Secret(text)


def hide(text: str) -> str:
    """Return a text from outside without the secrets that `redact` knows.

    >>> _ = redact("hunter2")
    >>> hide("wrong password hunter2")
    'wrong password [hidden]'
    """
    for secret in sorted(_REDACTION_FILTER.secrets, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return text


def hide_credentials(text: str) -> str:
    """Return a text without the credentials in its URIs.

    >>> hide_credentials("s3://AKIA:hunter2@bucket/x cannot be read")
    's3://AKIA:[hidden]@bucket/x cannot be read'
    >>> hide_credentials("no server answers at sc://h:15002/;user_id=me;token=hunter2")
    'no server answers at sc://h:15002/;user_id=me;token=[hidden]'
    >>> hide_credentials("expected NAME=RELEASE: the member B@2.8 is there")  # our own words behind = and :
    'expected NAME=RELEASE: the member B@2.8 is there'
    """
    text = "\n".join(map(_without_passwords, text.split("\n")))
    return _PARAMETER.sub(lambda found: f"{found[0][0]}{name}{_HIDDEN}" if (name := found["name"]) else found[0], text)


def _without_passwords(line: str) -> str:
    """Return a line without the passwords before each ``@``; behind ``=`` no blank follows the user's name."""
    *befores, rest = line.split("@")
    shown = []
    for before in befores:
        text, word = f"{before}@", len(before) - len(re.split(r"\s", before)[-1])
        found = [_IN_ADDRESS.search(text), _AS_VALUE.search(text, word)]
        ends = [each.end() for each in found if each]
        shown.append(f"{text[: min(ends)]}{_HIDDEN}@" if ends else text)
    return f"{''.join(shown)}{rest}"


def stop_redacting(text: str) -> None:
    """Allow a text in logs again, for example an expired token."""
    with _LOCK:
        _REDACTION_FILTER.secrets -= _spellings(text)


def _spellings(text: str) -> frozenset[str]:
    """Return the text as it is, and as it is quoted in Python and JSON."""
    quoted = {repr(str(text))[1:-1], json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    return frozenset({str(text), repr(text.encode())[2:-1], *quoted})
