"""Splits one configuration into those of the assignor, the member (kafka-python) and the fetcher (librdkafka).

Each key goes to one or two of them. A key that none of them can use is refused, so that no setting is silently without
effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from attrs import frozen
from kafka import KafkaConsumer

from streams_assignor.clients._settings_check import check_heartbeat, check_login, hide_secrets, unknown_settings
from streams_assignor.clients.confluent import _security
from streams_assignor.upgrade import ConfigException, StreamsConfig
from streams_assignor.upgrade.config_keys import CONFIG_KEYS, TAG_PREFIX
from streams_assignor.upgrade.group_configurations import IGNORED_SETTINGS, REPLACED_SETTINGS

_MAIN_CONSUMER: Final = "main.consumer."  # as in Kafka Streams: settings of the member alone


def _server_list(value: str) -> list[str]:
    if not isinstance(value, str):
        raise TypeError("expected HOST:PORT,... as one text")
    return [server.strip() for server in value.split(",")]


_MEMBER_KEYS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = MappingProxyType(
    {
        "bootstrap.servers": ("bootstrap_servers", _server_list),
        "metadata.broker.list": ("bootstrap_servers", _server_list),
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
"""Keys that the member uses too: name in kafka-python, and converter."""

_ADMIN_KEYS: Final = ("bootstrap_servers", "client_id", "request_timeout_ms", "retry_backoff_ms", "api_version")

_REPLICATION_FACTOR: Final = "replication.factor"
_CONSUMER_KEYS: Final = (
    "enable.auto.commit",
    "auto.commit.interval.ms",
    "on_commit",
    "group.protocol",
    _REPLICATION_FACTOR,
)
_NOT_FOR_FETCHER: Final = ("group.instance.id", *_CONSUMER_KEYS)

STREAMS_PROTOCOL: Final = "streams"
_PROTOCOLS: Final = ("classic", STREAMS_PROTOCOL)

_IGNORED_BY_STREAMS: Final[Mapping[str, str]] = MappingProxyType(
    {key: row.name for key, row in REPLACED_SETTINGS.items()}
    | {"upgrade.from": ""}  # in Kafka Streams it also lowers formats that members of ours do not write
    | {key: "" for key in CONFIG_KEYS if any(setting.concerns(key) for setting in IGNORED_SETTINGS)}
)
"""Keys that have no effect in the streams protocol, with the configuration of the group that takes their place."""

_UNSUPPORTED_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **_security.UNSUPPORTED_KEYS,
        "partition.assignment.strategy": "the Streams assignor is the only one of this consumer",
        "group.remote.assignor": "the Streams assignor is the only one of this consumer",
        "enable.auto.offset.store": "commit() takes what poll has returned; use commit(offsets=...) for other offsets",
        "test.mock.num.brokers": "the member of the group cannot find that cluster; use clients.mock_cluster",
    }
)

# The fetcher never joins: without these two it would commit by itself, and without a generation.
_NO_AUTO_COMMIT: Final = MappingProxyType({"enable.auto.commit": False, "enable.auto.offset.store": False})

# librdkafka does not fetch a partition for a second once 100,000 of its records are queued. A consumer of batches has
# read them after a tenth of that: this value triples its throughput (docs/how-to/confluent.md).
FETCH_BACKOFF: Final = MappingProxyType({"fetch.queue.backoff.ms": 10})
# Kafka Streams starts at the beginning where nothing is committed. librdkafka starts at the end, and so skips the
# records in a new partition of a growing topic before the member reads there.
RESET: Final = "auto.offset.reset"
_RESETS: Final[Mapping[str, str]] = MappingProxyType(
    dict.fromkeys(("earliest", "smallest", "beginning"), "earliest")
    | dict.fromkeys(("latest", "largest", "end"), "latest")
    | {"error": "error"}
)
_TRUE: Final = ("true", "t", "1")
_SESSION_MS: Final = 45_000
_HEARTBEAT_MS: Final = 3_000
_MAX_POLL_MS: Final = 300_000
_AUTO_COMMIT_MS: Final = 5_000
_REQUEST_MS: Final = 30_000


@frozen(repr=False)
class ConsumerSettings:
    """The configuration of each part. ``repr`` shows no values, as some are secret."""

    group_id: str
    streams_config: StreamsConfig
    """The settings of the assignor."""
    member_settings: Mapping[str, Any]
    """The settings of the kafka-python consumer, which is the member."""
    admin_settings: Mapping[str, Any]
    """The settings of the kafka-python admin client."""
    fetcher_settings: Mapping[str, Any]
    """The settings of librdkafka's consumer, which fetches the records."""
    auto_commit_interval_seconds: float | None
    """The time between automatic commits; None if the user commits."""
    on_commit: Callable[[Any, Any], None] | None
    streams_protocol: bool
    """Whether the broker assigns the tasks (KIP-1071)."""
    replication_factor: int
    """The replicas of internal topics; -1 leaves it to the brokers."""
    ignored: tuple[str, ...]
    """Keys without effect in this protocol, which are warned of."""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> ConsumerSettings:
        """Read one dictionary; ``ConfigException`` names a key that is missing or refused.

        Other keys are passed to librdkafka, which refuses those it does not know (``closest_keys``).
        """
        _check_dictionary(config)
        for key in config:
            if key in _UNSUPPORTED_KEYS:
                raise ConfigException(f"{key} cannot be used with a StreamsConsumer: {_UNSUPPORTED_KEYS[key]}")
        for key in ("bootstrap.servers", "group.id"):
            if not config.get(key) and not (key == "bootstrap.servers" and config.get("metadata.broker.list")):
                raise ConfigException(f'Missing required configuration "{key}" which has no default value.')
        streams_protocol = _group_protocol(config) == STREAMS_PROTOCOL
        streams = {key: value for key, value in config.items() if key in CONFIG_KEYS or key.startswith(TAG_PREFIX)}
        kept = {"client.rack"}  # the fetcher reads from the broker nearby
        secured = _security.member_security(config)
        member = hide_secrets({**secured, **_member(config)})
        check_login(member, {name: _MAIN_CONSUMER + name for name in member})
        check_heartbeat(
            member.get("session_timeout_ms", _SESSION_MS),
            member.get("heartbeat_interval_ms", _HEARTBEAT_MS),
            "session.timeout.ms",
            "heartbeat.interval.ms",
        )
        return cls(
            group_id=config["group.id"],
            streams_config=StreamsConfig.of(streams),
            member_settings=member,
            admin_settings={**secured, **{key: member[key] for key in _ADMIN_KEYS if key in member}},
            fetcher_settings={
                **FETCH_BACKOFF,
                **{
                    key: value
                    for key, value in config.items()
                    if key not in _NOT_FOR_FETCHER
                    and not key.startswith(_MAIN_CONSUMER)
                    and (key not in streams or key in kept)
                },
                **_NO_AUTO_COMMIT,
                **_security.fetcher_security(secured),
                RESET: _reset(config),
            },
            auto_commit_interval_seconds=_auto_commit_interval(config),
            on_commit=config.get("on_commit"),
            streams_protocol=streams_protocol,
            replication_factor=_replication_factor(config),
            ignored=tuple(key for key in _IGNORED_BY_STREAMS if key in config) if streams_protocol else (),
        )

    @property
    def max_poll_seconds(self) -> float:
        """The longest time between two polls."""
        return float(self.member_settings.get("max_poll_interval_ms", _MAX_POLL_MS)) / 1000

    @property
    def request_seconds(self) -> float:
        """The time limit of a request."""
        return float(self.member_settings.get("request_timeout_ms", _REQUEST_MS)) / 1000

    def __repr__(self) -> str:
        return f"<ConsumerSettings of group {self.group_id}>"


def _member(config: Mapping[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for key, (name, convert) in _MEMBER_KEYS.items():
        if key in config:
            settings[name] = _convert(config, key, convert)
    return settings | _member_only(
        {key.removeprefix(_MAIN_CONSUMER): value for key, value in config.items() if key.startswith(_MAIN_CONSUMER)}
    )


def _member_only(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the prefix; kafka-python refuses some of them with their values, or compares text."""
    if unknown := unknown_settings(given, KafkaConsumer.DEFAULT_CONFIG):
        raise ConfigException(f"expected settings of KafkaConsumer after {_MAIN_CONSUMER}, got {unknown}")
    for name, value in given.items():
        if type(KafkaConsumer.DEFAULT_CONFIG[name]) is int and not isinstance(value, int | float):
            raise ConfigException(f"Invalid value {value!r} for configuration {_MAIN_CONSUMER}{name}: Not a number")
    return given


def _check_dictionary(config: object) -> None:
    if not isinstance(config, Mapping):
        raise ConfigException(f"expected a dictionary of configuration keys, got a {type(config).__name__}")
    for key in config:
        if not isinstance(key, str):
            raise ConfigException(f"expected a dictionary of configuration keys, got {key!r} as one of them")


def closest_keys(config: Mapping[str, Any]) -> str:
    """Return a hint for keys that look like misspelt keys of this module; empty if there are none."""
    known_keys = [*CONFIG_KEYS, *_MEMBER_KEYS, *_CONSUMER_KEYS]
    hints = (
        f"did you mean {close} instead of {key}?"
        for key in sorted(config.keys() - known_keys)
        for close in get_close_matches(key, known_keys, n=1, cutoff=0.9)
    )
    return " ".join(hints)


def _convert(config: Mapping[str, Any], key: str, convert: Callable[[Any], Any]) -> Any:
    try:
        return convert(config[key])
    except (TypeError, ValueError) as error:
        problem = "Not a number" if convert is int else error
        raise ConfigException(f"Invalid value {config[key]} for configuration {key}: {problem}") from None


def _reset(config: Mapping[str, Any]) -> str:
    """Return the user's ``auto.offset.reset`` as Kafka's value: ``earliest`` unless set.

    librdkafka has three places for it: the last one of a dictionary counts, and ``default.topic.config`` counts most.
    """
    name, value = RESET, "earliest"
    for properties in (config, config.get("default.topic.config")):
        if isinstance(properties, Mapping):  # confluent-kafka refuses anything else
            for key in properties:
                if key in (RESET, f"topic.{RESET}"):
                    name, value = key, properties[key]
    if reset := _RESETS.get(str(value).strip().lower()):
        return reset
    raise ConfigException(
        f"Invalid value {value} for configuration {name}: expected one of {', '.join(dict.fromkeys(_RESETS.values()))}"
    )


def _group_protocol(config: Mapping[str, Any]) -> str:
    value = config.get("group.protocol", "classic")
    if (protocol := str(value).lower()) in _PROTOCOLS:
        return protocol
    raise ConfigException(f"Invalid value {value} for configuration group.protocol: expected {' or '.join(_PROTOCOLS)}")


def _replication_factor(config: Mapping[str, Any]) -> int:
    return int(_convert(config, _REPLICATION_FACTOR, int)) if _REPLICATION_FACTOR in config else -1


def ignored_setting(key: str) -> str:
    """Return what to do about a key that has no effect in the streams protocol.

    >>> ignored_setting("num.standby.replicas")
    'num.standby.replicas (set streams.num.standby.replicas of the group at the brokers)'
    """
    group_key = _IGNORED_BY_STREAMS.get(key)
    return f"{key} (set {group_key} of the group at the brokers)" if group_key else key


def _auto_commit_interval(config: Mapping[str, Any]) -> float | None:
    if str(config.get("enable.auto.commit", "false")).lower() not in _TRUE:
        return None
    key = "auto.commit.interval.ms"
    return (_convert(config, key, int) if key in config else _AUTO_COMMIT_MS) / 1000
