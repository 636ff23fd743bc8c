"""The configuration of a member: Kafka's own dotted names, Kafka's defaults, Kafka's refusals.

Java: ``StreamsConfig``, and ``configure`` of ``StreamsPartitionAssignor`` for ``application.server``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import field, frozen

from upgrade.errors import ConfigException
from upgrade.releases import PINNED_VERSIONS, Release


@frozen(kw_only=True)
class StreamsConfig:
    """What a member is configured with. Make one from dotted names with ``StreamsConfig.of``."""

    application_server: str = field(default="", metadata={"key": "application.server"})
    num_standby_replicas: int = field(default=0, metadata={"key": "num.standby.replicas"})
    upgrade_from: str | None = field(default=None, metadata={"key": "upgrade.from"})

    def __attrs_post_init__(self) -> None:
        """Refuse what Kafka refuses."""
        check_number("num.standby.replicas", self.num_standby_replicas)
        _check_one_of(self.upgrade_from, tuple(PINNED_VERSIONS))
        if self.application_server:
            split_host(self.application_server)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> StreamsConfig:
        """Read Kafka's dotted names; numbers may come as text, and a name that is unknown here is refused.

        >>> StreamsConfig.of({"upgrade.from": "1.1", "num.standby.replicas": "1"}).num_standby_replicas
        1
        """
        keys = {attribute.metadata["key"]: attribute.name for attribute in cls.__attrs_attrs__}
        if unknown := sorted(settings.keys() - keys.keys()):
            raise ConfigException(f"unknown configuration {', '.join(unknown)}; known are {', '.join(sorted(keys))}")
        return cls(**{keys[key]: _number(value) if key in _NUMBERS else value for key, value in settings.items()})

    def pinned_version(self, release: Release) -> int | None:
        """Return the version that ``upgrade.from`` makes a member of ``release`` send; None if it does not say.

        Releases before 0.10.2.2, 0.11.0.3, 1.0.2 and 1.1.1 have no such configuration and ignore it.
        """
        if self.upgrade_from is None or not release.upgrade_from:
            return None
        _check_one_of(self.upgrade_from, release.upgrade_from)
        return PINNED_VERSIONS[self.upgrade_from]


_NUMBERS: Final = frozenset({"num.standby.replicas"})


def _check_one_of(value: str | None, accepted: tuple[str, ...]) -> None:
    if value is not None and value not in accepted:
        raise ConfigException(_invalid("upgrade.from", value, f"String must be one of: null, {', '.join(accepted)}"))


def check_number(key: str, value: object, least: int = 0, kind: str = "INT") -> None:
    """Refuse what Kafka refuses for a number; ``kind`` is its type there."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigException(_invalid(key, value, f"Not a number of type {kind}"))
    if value < least:
        raise ConfigException(_invalid(key, value, f"Value must be at least {least}"))


def split_host(address: str) -> tuple[str, int]:
    """Split ``host:port``; ``ConfigException`` if it is something else."""
    host, _, port = address.rpartition(":")
    if not host:
        raise ConfigException(f"Error parsing host address {address}. Expected format host:port.")
    # The length first: Python refuses to convert thousands of digits with an error of its own.
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 0xFFFF):
        raise ConfigException(f"Invalid port supplied in {address} for config application.server")
    return host, int(port)


def _number(value: Any) -> Any:
    try:
        return int(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _invalid(key: str, value: object, why: str) -> str:
    return f"Invalid value {value} for configuration {key}: {why}"
