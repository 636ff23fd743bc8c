"""A configuration key as a value: its type, its default, its checks, and the field of an attrs class that it gives.

A field has its key in ``metadata["key"]``. Text is trimmed, numbers are parsed and lists are split at commas.
Java: ``ConfigDef``.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from attrs import field, frozen

from streams_assignor.upgrade.errors import ConfigException, quote_input

Validator = Callable[[str, Any], object]
"""Called with the key and the value; raises ``ConfigException``."""

INT_MIN: Final = -(2**31)
_MAX_VALUE: Final[Mapping[str, int]] = {"INT": 2**31 - 1, "LONG": 2**63 - 1}
_MAX_NAME_LENGTH: Final = 249
_TRIMMED: Final = "".join(map(chr, range(ord(" ") + 1)))
_HOST_PORT: Final = re.compile(r"(?:[\w.%-]+|\[[\w:.%-]+\]):(?P<port>[0-9]{1,5})", re.ASCII)


class ConfigType(enum.Enum):
    """The type of a value. Java: ``ConfigDef.Type``."""

    INT = "int"
    LONG = "long"
    STRING = "string"
    LIST = "list"
    PREFIX = "strings"
    """All keys with a prefix: a mapping from the rest of each key to its text."""


@frozen
class ConfigKey:
    """One configuration. Java: ``ConfigDef.ConfigKey``."""

    name: str
    """For a prefix, with ``*`` at the end."""
    type: ConfigType
    default: Any
    documentation: str
    """Its meaning, in Markdown."""
    check: Validator | None = None
    """Refuses values of the right type."""
    minimum: int = 0
    """The least number."""

    @property
    def is_number(self) -> bool:
        """Whether values are numbers."""
        return self.type in (ConfigType.INT, ConfigType.LONG)

    def text_field(self) -> Any:
        """Make a field of an attrs class that may be given as text, as in a properties file."""
        return self._field(_PARSERS[self.type], hash=self.type is not ConfigType.PREFIX)

    def typed_field(self) -> Any:
        """Make a field of an attrs class for a value that has its type."""
        return self._field(tuple if self.type is ConfigType.LIST else None)

    def validate(self, value: Any) -> None:
        """Refuse what Kafka refuses, with ``ConfigException``; None is a value only if it is the default."""
        if value is None and self.default is None:
            return
        if self.is_number:
            validate_number(self.name, value, self.minimum, self.type.name)
        if self.type is ConfigType.STRING and not isinstance(value, str):
            reason = f"Expected value to be a string, but it was a {type(value).__name__}"
            raise invalid_value(self.name, value, reason)
        if self.check is not None:
            self.check(self.name, value)

    def _field(self, convert: Callable[[Any], Any] | None, **field_options: Any) -> Any:
        def validate(_instance: object, _attribute: object, value: Any) -> None:
            self.validate(value)

        return field(
            default=self.default, converter=convert, validator=validate, metadata={"key": self.name}, **field_options
        )


def trim(text: str) -> str:
    r"""Remove what Kafka removes around a value: blanks and control characters. Java: ``String.trim``.

    >>> trim("\x00 a\n")
    'a'
    """
    return text.strip(_TRIMMED)


def validate_number(key: str, value: object, minimum: int = 0, java_type: str = "INT") -> None:
    """Refuse what Kafka refuses for a number; ``java_type`` is its type in Kafka."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MAX_VALUE[java_type] + (value < 0):
        raise invalid_value(key, value, f"Not a number of type {java_type}")
    if value < minimum:
        raise invalid_value(key, value, f"Value must be at least {minimum}")


def validate_one_of(key: str, value: object, accepted: Sequence[str], *, null: bool = False) -> None:
    """Refuse a value that is not in the list; with ``null``, the message names null as accepted."""
    if value not in accepted:
        raise invalid_value(key, value, f"String must be one of: {', '.join([*['null'] * null, *accepted])}")


def validate_size(key: str, value: Sequence[str], max_size: int) -> None:
    """Refuse a list that is too long."""
    if len(value) > max_size:
        raise invalid_value(key, f"[{', '.join(value)}]", f"exceeds maximum list size of [{max_size}].")


def validate_name(key: str, value: str) -> None:
    """Refuse an invalid name of a static member; it follows the rules for topics. Java: ``Topic.validate``."""
    if not re.fullmatch(rf"[a-zA-Z0-9._-]{{1,{_MAX_NAME_LENGTH}}}", value) or value in {".", ".."}:
        why = f"expected 1 to {_MAX_NAME_LENGTH} of the characters a-z A-Z 0-9 . _ - and not . or .. alone"
        raise invalid_value(key, value, why)


class EndPointFormat(enum.Enum):
    """The form of ``application.server``; see ``parse_end_point``."""

    ANY_PREFIX = "HOST:PORT, [HOST]:PORT, or either behind any other text"
    SCHEME = "HOST:PORT, [HOST]:PORT, or either behind SCHEME://"
    SCHEME_AND_NAMED_HOST = "the same, and the host is not empty (KIP-1245)"


MAX_HOST_LENGTH: Final = 0xFFFF
"""The bytes of the longest host name that an assignment can carry. Kafka's leader fails on a longer one."""
_MAX_PORT: Final = 2**31 - 1
_HOST_CHARACTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-%._:"
_SCHEME_AND_HOST: Final = re.compile(r"(?:[0-9A-Za-z%._-]*://)?\[?([0-9A-Za-z%._:-]*)\]?")
_LINE_ENDS: Final = re.compile("[\n\r\x85\u2028\u2029]")


def parse_end_point(address: str, accepted: EndPointFormat = EndPointFormat.ANY_PREFIX) -> tuple[str, int] | None:
    """Return host and port of ``application.server``; None if it is blank.

    All members of a group must find the same host in the same text: a member looks for its own host among those that
    the leader has found, and rejoins if it is not there (``FollowUpReason.END_POINT``). Where several formats accept a
    text, they find the same. ``ANY_PREFIX`` accepts what any other accepts.
    Java: ``HostInfo.buildFromEndpoint`` with ``Utils.getHost`` and ``Utils.getPort``.

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
        match = _SCHEME_AND_HOST.fullmatch(before)
        return match[1] if match else None
    before = before.removesuffix("]")
    prefix = before.rstrip(_HOST_CHARACTERS)
    return None if _LINE_ENDS.search(prefix) else before[len(prefix) :]


def parse_bootstrap_servers(text: str) -> str:
    """Return ``host:port,...`` without blanks and empty entries; ``ConfigException`` for anything else.

    Client libraries treat an invalid address differently: one connects to port 0, another retries until its timeout.
    Java: ``ClientUtils.parseAndValidateAddresses``.

    >>> parse_bootstrap_servers("a:9092, [::1]:9093,")
    'a:9092,[::1]:9093'
    """
    servers = [server for part in text.split(",") if (server := part.strip())]
    for server in servers:
        address = _HOST_PORT.fullmatch(server)
        if not (address and 0 < int(address["port"]) <= 0xFFFF):
            raise ConfigException(f"expected HOST:PORT,..., got {quote_input(server)}")
    if not servers:
        raise ConfigException("expected HOST:PORT,..., got none")
    return ",".join(servers)


def invalid_value(key: str, value: object, reason: str) -> ConfigException:
    """Make an error with the text of Kafka. Java: ``ConfigException(name, value, message)``."""
    return ConfigException(f"Invalid value {value} for configuration {key}: {reason}")


def _parse_int(value: Any) -> Any:
    try:
        return int(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _parse_list(value: str | Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",")) if value.strip() else ()
    return tuple(value)


_PARSERS: Final[Mapping[ConfigType, Callable[[Any], Any]]] = MappingProxyType(
    {
        ConfigType.INT: _parse_int,
        ConfigType.LONG: _parse_int,
        ConfigType.STRING: lambda value: trim(value) if isinstance(value, str) else value,
        ConfigType.LIST: _parse_list,
        ConfigType.PREFIX: lambda value: {name: str(text) for name, text in value.items()},
    }
)
