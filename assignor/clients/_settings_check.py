"""Checks of settings that client libraries accept when they are made, and fail on later or never.

The names are those of kafka-python and aiokafka, which have them in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from streams_assignor.upgrade import ConfigException
from streams_assignor.upgrade.redaction import redact

SECRET_SETTINGS: Final = ("sasl_plain_password", "ssl_password")
_LOGIN_SETTINGS: Final = ("sasl_plain_username", "sasl_plain_password")
_PASSWORD_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_HEARTBEATS_PER_SESSION: Final = 3  # as Kafka recommends


def check_heartbeat(
    session_ms: float,
    heartbeat_ms: float,
    session_key: str = "session_timeout_ms",
    heartbeat_key: str = "heartbeat_interval_ms",
) -> None:
    """Raise ``ConfigException`` if a session would end before its first heartbeat. Java: ``Heartbeat``."""
    if session_ms <= heartbeat_ms:
        remedy = f"{session_ms // _HEARTBEATS_PER_SESSION:.0f}"
        raise ConfigException(
            f"Invalid value {session_ms} for configuration {session_key}: expected more than {heartbeat_key}, "
            f"which is {heartbeat_ms}; set {heartbeat_key} to {remedy}, a third of the session timeout, or less"
        )


def check_login(settings: Mapping[str, Any], names: Mapping[str, str] | None = None) -> None:
    """Raise ``ConfigException``, without the value, for a user name or password that is missing or no text.

    ``names`` are those that the user has given the settings, if they differ.
    """
    mechanism = settings.get("sasl_mechanism")
    if not str(settings.get("security_protocol")).startswith("SASL") or mechanism not in _PASSWORD_MECHANISMS:
        return
    for name in _LOGIN_SETTINGS:
        value, key = settings.get(name), (names or {}).get(name, name)
        if value is None:
            raise ConfigException(f"expected {key} as text for the SASL mechanism {mechanism}, got none: set it")
        if not isinstance(value, str):
            raise ConfigException(
                f"expected {key} as text for the SASL mechanism {mechanism}, got a value of type "
                f"{type(value).__name__}: put it in quotes"
            )


def hide_secrets(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same settings; ``repr`` and the logs of the client libraries do not show passwords."""
    hidden = {name: redact(settings[name]) for name in SECRET_SETTINGS if isinstance(settings.get(name), str)}
    return {**settings, **hidden}


def unknown_settings(names: Iterable[str], allowed: Iterable[str]) -> str:
    """Return the names that are not known, each with the closest known one; empty if there are none."""
    allowed = list(allowed)
    return ", ".join(
        f"{name} (did you mean {close[0]}?)" if (close := get_close_matches(name, allowed, n=1)) else name
        for name in sorted(set(names).difference(allowed))
    )
