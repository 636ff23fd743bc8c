"""One configuration, read for three: the assignor, the member of the group (kafka-python), the records (librdkafka).

Each key has one home or two. What nobody could honour is refused, so that no setting is silently without effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs
from attrs import frozen

from assignor.clients.confluent import security
from upgrade import ConfigException, StreamsConfig

_TAG: Final = "client.tag."
_STREAMS: Final = frozenset(attribute.metadata["key"] for attribute in attrs.fields(StreamsConfig))


def _servers(value: str) -> list[str]:
    if not isinstance(value, str):
        raise TypeError("expected HOST:PORT,... as one text")
    return [server.strip() for server in value.split(",")]


_MEMBER: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = MappingProxyType(
    {
        "bootstrap.servers": ("bootstrap_servers", _servers),
        "metadata.broker.list": ("bootstrap_servers", _servers),
        "group.id": ("group_id", str),
        "group.instance.id": ("group_instance_id", str),
        "client.id": ("client_id", str),
        "client.rack": ("client_rack", str),
        "session.timeout.ms": ("session_timeout_ms", int),
        "heartbeat.interval.ms": ("heartbeat_interval_ms", int),
        "max.poll.interval.ms": ("max_poll_interval_ms", int),
        "socket.timeout.ms": ("request_timeout_ms", int),
        "metadata.max.age.ms": ("metadata_max_age_ms", int),
        "retry.backoff.ms": ("retry_backoff_ms", int),
        "reconnect.backoff.ms": ("reconnect_backoff_ms", int),
        "reconnect.backoff.max.ms": ("reconnect_backoff_max_ms", int),
    }
)
"""What the member has to know too, with its name there."""

_ADMIN: Final = ("bootstrap_servers", "client_id", "request_timeout_ms", "retry_backoff_ms")

_OURS: Final = ("enable.auto.commit", "auto.commit.interval.ms", "on_commit", "group.protocol")
_NOT_FOR_RECORDS: Final = ("group.instance.id", *_OURS)

_REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        **security.REFUSED,
        "partition.assignment.strategy": "the Streams assignor is the only one of this consumer",
        "group.remote.assignor": "the Streams assignor is the only one of this consumer",
        "enable.auto.offset.store": "commit() takes what poll has handed out; use commit(offsets=...) for others",
        "test.mock.num.brokers": "the member of the group could not find that cluster; use clients.mock_cluster",
    }
)

# The reading side never joins: without these two it would commit by itself, and without a generation.
_NEVER_BY_ITSELF: Final = MappingProxyType({"enable.auto.commit": False, "enable.auto.offset.store": False})

# librdkafka leaves a partition alone for a second once 100,000 of its records wait, and who reads in batches has read
# them after a tenth of that: three times the records with this one (docs/guide/confluent.md).
FETCH_AGAIN: Final = MappingProxyType({"fetch.queue.backoff.ms": 10})
_TRUE: Final = ("true", "t", "1")
_SESSION_MS: Final = 45_000
_MAX_POLL_MS: Final = 300_000
_AUTO_COMMIT_MS: Final = 5_000
_REQUEST_MS: Final = 30_000


@frozen(repr=False)
class Settings:
    """What each of them is given; it never shows values, some are secret."""

    group: str
    streams: StreamsConfig
    member: Mapping[str, Any]
    admin: Mapping[str, Any]
    records: Mapping[str, Any]
    auto_commit_seconds: float | None
    on_commit: Callable[[Any, Any], None] | None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Settings:
        """Read one dictionary; ``ConfigException`` names a key that is missing, refused or not understood.

        Keys that are not ours are librdkafka's, which refuses those it does not know.
        """
        for key in config:
            if key in _REFUSED:
                raise ConfigException(f"{key} cannot be used with a StreamsConsumer: {_REFUSED[key]}")
        for key in ("bootstrap.servers", "group.id"):
            if not config.get(key) and not (key == "bootstrap.servers" and config.get("metadata.broker.list")):
                raise ConfigException(f'Missing required configuration "{key}" which has no default value.')
        if config.get("group.protocol", "classic") != "classic":
            raise ConfigException(
                f"Invalid value {config['group.protocol']} for configuration group.protocol: "
                "expected classic, as only there a client assigns"
            )
        streams = {key: value for key, value in config.items() if key in _STREAMS or key.startswith(_TAG)}
        kept = {"client.rack"}  # the broker nearby is for reading, too
        secured = security.member_security(config)
        member = {**secured, **_member(config)}
        return cls(
            group=config["group.id"],
            streams=StreamsConfig.of(streams),
            member=member,
            admin={**secured, **{key: member[key] for key in _ADMIN if key in member}},
            records={
                **FETCH_AGAIN,
                **{
                    key: value
                    for key, value in config.items()
                    if key not in _NOT_FOR_RECORDS and (key not in streams or key in kept)
                },
                **_NEVER_BY_ITSELF,
                **security.records_security(secured),
            },
            auto_commit_seconds=_auto_commit(config),
            on_commit=config.get("on_commit"),
        )

    @property
    def session_seconds(self) -> float:
        """How long the group waits for a heartbeat."""
        return float(self.member.get("session_timeout_ms", _SESSION_MS)) / 1000

    @property
    def max_poll_seconds(self) -> float:
        """How long a user may not poll."""
        return float(self.member.get("max_poll_interval_ms", _MAX_POLL_MS)) / 1000

    @property
    def request_seconds(self) -> float:
        """How long a request may take."""
        return float(self.member.get("request_timeout_ms", _REQUEST_MS)) / 1000

    def __repr__(self) -> str:
        return f"<Settings of group {self.group}>"


def _member(config: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, (name, convert) in _MEMBER.items():
        if key in config:
            found[name] = _read(config, key, convert)
    return found


def _read(config: Mapping[str, Any], key: str, convert: Callable[[Any], Any]) -> Any:
    try:
        return convert(config[key])
    except (TypeError, ValueError) as error:
        what = "Not a number" if convert is int else error
        raise ConfigException(f"Invalid value {config[key]} for configuration {key}: {what}") from None


def _auto_commit(config: Mapping[str, Any]) -> float | None:
    if str(config.get("enable.auto.commit", "false")).lower() not in _TRUE:
        return None
    key = "auto.commit.interval.ms"
    return (_read(config, key, int) if key in config else _AUTO_COMMIT_MS) / 1000
