"""The types of configuration values, as fields of an attrs class with the checks of Kafka.

A field has its key in ``metadata["key"]``. Values may be text, as in a properties file: they are trimmed, numbers are
parsed and lists are split at commas. Java: ``ConfigDef``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import field

from upgrade.errors import ConfigException, quote_input

Validator = Callable[[str, Any], object]
"""Called with the key and the value; raises ``ConfigException``."""

INT_MIN: Final = -(2**31)
_MAX_VALUE: Final[Mapping[str, int]] = {"INT": 2**31 - 1, "LONG": 2**63 - 1}
_MAX_NAME_LENGTH: Final = 249
_TRIMMED: Final = "".join(map(chr, range(ord(" ") + 1)))
_HOST_PORT: Final = re.compile(r"(?:[\w.%-]+|\[[\w:.%-]+\]):(?P<port>[0-9]{1,5})", re.ASCII)


def number_field(key: str, default: int | None, minimum: int = 0, java_type: str = "INT") -> Any:
    """Make a field for a number that is at least ``minimum``; ``java_type`` is its type in Kafka."""
    return config_field(key, default, lambda _, value: validate_number(key, value, minimum, java_type), _parse_int)


def text_field(key: str, default: str | None = "", check: Validator | None = None) -> Any:
    """Make a field for a string."""

    def check_text(_key: str, value: object) -> None:
        if not isinstance(value, str):
            raise invalid_value(key, value, f"Expected value to be a string, but it was a {type(value).__name__}")
        if check is not None:
            check(key, value)

    return config_field(key, default, check_text, lambda value: trim(value) if isinstance(value, str) else value)


def trim(text: str) -> str:
    r"""Remove what Kafka removes around a value: blanks and control characters. Java: ``String.trim``.

    >>> trim("\x00 a\n")
    'a'
    """
    return text.strip(_TRIMMED)


def list_field(key: str, max_size: int) -> Any:
    """Make a field for a list of at most ``max_size`` names."""
    return config_field(key, (), lambda _, value: validate_size(key, value, max_size), _parse_list)


def prefix_field(prefix: str, check: Validator) -> Any:
    """Make a field for all keys with a prefix: a mapping from the rest of each key to its text."""

    def copied(value: Mapping[str, object]) -> dict[str, str]:
        return {name: str(each) for name, each in value.items()}

    return config_field(f"{prefix}*", {}, check, copied, hash=False)


def config_field(
    key: str, default: Any, check: Validator, convert: Callable[[Any], Any] | None = None, **field_options: Any
) -> Any:
    """Make a field of any type; None is a value only if it is the default."""

    def validate(_instance: object, _attribute: object, value: Any) -> None:
        if value is not None or default is not None:
            check(key, value)

    return field(default=default, converter=convert, validator=validate, metadata={"key": key}, **field_options)


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


def parse_bootstrap_servers(text: str) -> str:
    """Return ``host:port,...`` without blanks and empty entries; ``ConfigException`` for anything else.

    Client libraries treat an invalid address differently: one connects to port 0, another retries until its timeout.
    Java: ``ClientUtils.parseAndValidateAddresses``.

    >>> parse_bootstrap_servers("a:9092, [::1]:9093,")
    'a:9092,[::1]:9093'
    """
    found = [server for each in text.split(",") if (server := each.strip())]
    for server in found:
        address = _HOST_PORT.fullmatch(server)
        if not (address and 0 < int(address["port"]) <= 0xFFFF):
            raise ConfigException(f"expected HOST:PORT,..., got {quote_input(server)}")
    if not found:
        raise ConfigException("expected HOST:PORT,..., got none")
    return ",".join(found)


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
        return tuple(each.strip() for each in value.split(",")) if value.strip() else ()
    return tuple(value)
