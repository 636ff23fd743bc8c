"""Reads ``application.server`` as the releases of Kafka do.

All members of a group must find the same host in the same text: a member looks for its own host among those that the
leader has found, and rejoins if it is not there (``FollowUpReason.END_POINT``).
Java: ``HostInfo.buildFromEndpoint`` with ``Utils.getHost`` and ``Utils.getPort``.
"""

from __future__ import annotations

import re
from typing import Final

from upgrade.config_types import trim
from upgrade.errors import ConfigException, quote_input
from upgrade.release_behaviour import EndPointFormat

MAX_HOST_LENGTH: Final = 0xFFFF
"""The bytes of the longest host name that an assignment can carry. Kafka's leader fails on a longer one."""
_MAX_PORT: Final = 2**31 - 1
_HOST_CHARACTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-%._:"
_SCHEME_AND_HOST: Final = re.compile(r"(?:[0-9A-Za-z%._-]*://)?\[?([0-9A-Za-z%._:-]*)\]?")
_LINE_ENDS: Final = re.compile("[\n\r\x85\u2028\u2029]")


def parse_end_point(address: str, accepted: EndPointFormat = EndPointFormat.ANY_PREFIX) -> tuple[str, int] | None:
    """Return host and port of ``application.server``; None if it is blank.

    Where several formats accept a text, they find the same. ``ANY_PREFIX`` accepts what any other accepts.

    Raises:
        ConfigException: Kafka refuses it, or the host has more than ``MAX_HOST_LENGTH`` characters.

    >>> parse_end_point("http://[::1]:8080")
    ('::1', 8080)
    """
    if not trim(address):
        return None
    before, colon, digits = address.rpartition(":")
    host = _find_host(before, accepted) if colon and digits.isascii() and digits.isdigit() else None
    if host is None or (accepted is EndPointFormat.SCHEME_AND_NAMED_HOST and not host):
        raise ConfigException(f"Error parsing host address {quote_input(address)}. Expected format host:port.")
    # Check the length first: int() raises its own error for thousands of digits.
    port = digits.lstrip("0") or "0"
    if len(port) > len(str(_MAX_PORT)) or int(port) > _MAX_PORT:
        raise ConfigException(f"Invalid port supplied in {quote_input(address)} for config application.server")
    if len(host) > MAX_HOST_LENGTH:
        raise ConfigException(
            f"expected a host name of at most {MAX_HOST_LENGTH} characters in application.server, got {len(host)}"
        )
    return host, int(port)


def _find_host(before: str, accepted: EndPointFormat) -> str | None:
    """Return the host in the text before the port, in linear time; None if there is none."""
    if accepted is not EndPointFormat.ANY_PREFIX:
        found = _SCHEME_AND_HOST.fullmatch(before)
        return found[1] if found else None
    before = before.removesuffix("]")
    prefix = before.rstrip(_HOST_CHARACTERS)
    return None if _LINE_ENDS.search(prefix) else before[len(prefix) :]
