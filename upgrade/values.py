"""What may stand behind a configuration key: Kafka's types as rows of an attrs class, and Kafka's refusals.

A row has its key in ``metadata["key"]``. Values may come as text, as from a properties file: trimmed, numbers parsed,
lists cut at commas. Java: ``ConfigDef``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import field

from upgrade.errors import ConfigException, shown

Check = Callable[[str, Any], object]
"""Gets the key and the value, and raises ``ConfigException``."""

ANY_NUMBER: Final = -(2**31)
_LARGEST: Final[Mapping[str, int]] = {"INT": 2**31 - 1, "LONG": 2**63 - 1}
_LONGEST_NAME: Final = 249
_SERVER: Final = re.compile(r"(?:[\w.%-]+|\[[\w:.%-]+\]):(?P<port>[0-9]{1,5})", re.ASCII)


def number(key: str, default: int | None, least: int = 0, kind: str = "INT") -> Any:
    """Make a row for a number from ``least`` on; ``kind`` is its type in Kafka."""
    return row(key, default, lambda _, value: check_number(key, value, least, kind), _from_text)


def text(key: str, default: str | None = "", check: Check | None = None) -> Any:
    """Make a row for a string."""

    def check_text(_key: str, value: object) -> None:
        if not isinstance(value, str):
            raise invalid(key, value, f"Expected value to be a string, but it was a {type(value).__name__}")
        if check is not None:
            check(key, value)

    return row(key, default, check_text, lambda value: value.strip() if isinstance(value, str) else value)


def names(key: str, most: int) -> Any:
    """Make a row for a list of at most ``most`` names."""
    return row(key, (), lambda _, value: check_size(key, value, most), _split)


def by_prefix(prefix: str, check: Check) -> Any:
    """Make a row for all keys that begin alike: a mapping from what follows ``prefix`` to texts."""

    def copied(value: Mapping[str, object]) -> dict[str, str]:
        return {name: str(each) for name, each in value.items()}

    return row(f"{prefix}*", {}, check, copied, hash=False)


def row(key: str, default: Any, check: Check, convert: Callable[[Any], Any] | None = None, **more: Any) -> Any:
    """Make a row for anything; None is a value only where it is the default."""

    def validate(_instance: object, _attribute: object, value: Any) -> None:
        if value is not None or default is not None:
            check(key, value)

    return field(default=default, converter=convert, validator=validate, metadata={"key": key}, **more)


def check_number(key: str, value: object, least: int = 0, kind: str = "INT") -> None:
    """Refuse what Kafka refuses for a number; ``kind`` is its type there."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _LARGEST[kind] + (value < 0):
        raise invalid(key, value, f"Not a number of type {kind}")
    if value < least:
        raise invalid(key, value, f"Value must be at least {least}")


def check_one_of(key: str, value: object, accepted: Sequence[str], *, null: bool = False) -> None:
    """Refuse a value that is not in the list; ``null``: nothing at all is accepted too."""
    if value not in accepted:
        raise invalid(key, value, f"String must be one of: {', '.join([*['null'] * null, *accepted])}")


def check_size(key: str, value: Sequence[str], most: int) -> None:
    """Refuse a list that is too long."""
    if len(value) > most:
        raise invalid(key, f"[{', '.join(value)}]", f"exceeds maximum list size of [{most}].")


def check_name(key: str, value: str) -> None:
    """Refuse what is not the name of a static member: those of topics are the rule. Java: ``Topic.validate``."""
    if not re.fullmatch(rf"[a-zA-Z0-9._-]{{1,{_LONGEST_NAME}}}", value) or value in {".", ".."}:
        why = f"expected 1 to {_LONGEST_NAME} of the characters a-z A-Z 0-9 . _ - and not . or .. alone"
        raise invalid(key, value, why)


def split_host(address: str) -> tuple[str, int]:
    """Split ``host:port``; ``ConfigException`` if it is something else."""
    host, _, port = address.rpartition(":")
    if not host:
        raise ConfigException(f"Error parsing host address {address}. Expected format host:port.")
    # The length first: Python refuses to convert thousands of digits with an error of its own.
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 0xFFFF):
        raise ConfigException(f"Invalid port supplied in {address} for config application.server")
    return host, int(port)


def server_list(text: str) -> str:
    """Return ``host:port,...`` without blanks and empty places; ``ConfigException`` if it is something else.

    Clients make different things of what is none: one looks for port 0, another asks until its time is over. Java
    refuses it too: ``ClientUtils.parseAndValidateAddresses``.

    >>> server_list("a:9092, [::1]:9093,")
    'a:9092,[::1]:9093'
    """
    found = [server for each in text.split(",") if (server := each.strip())]
    for server in found:
        address = _SERVER.fullmatch(server)
        if not (address and 0 < int(address["port"]) <= 0xFFFF):
            raise ConfigException(f"expected HOST:PORT,..., got {shown(server)}")
    if not found:
        raise ConfigException("expected HOST:PORT,..., got none")
    return ",".join(found)


def invalid(key: str, value: object, why: str) -> ConfigException:
    """Make a refusal in Kafka's words. Java: ``ConfigException(name, value, message)``."""
    return ConfigException(f"Invalid value {value} for configuration {key}: {why}")


def _from_text(value: Any) -> Any:
    try:
        return int(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _split(value: str | Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(each.strip() for each in value.split(",")) if value.strip() else ()
    return tuple(value)
