"""The configuration of a member, with the names, defaults and checks of Kafka: one field per key.

Java: ``StreamsConfig``; ``ConsumerConfig`` for ``client.rack`` and ``group.instance.id``; ``configure`` of
``StreamsPartitionAssignor`` for ``application.server``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, TypedDict

from attrs import frozen

from upgrade.config_types import (
    INT_MIN,
    invalid_value,
    list_field,
    number_field,
    parse_end_point,
    prefix_field,
    text_field,
    validate_name,
    validate_one_of,
)
from upgrade.errors import ConfigException, quote_input
from upgrade.release_behaviour import CURRENT, UPGRADE_FROM
from upgrade.releases import Release

RACK_AWARE_STRATEGIES: Final = ("none", *CURRENT.rack_strategies)
MAX_TAGS: Final = 5
MAX_TAG_KEY_LENGTH: Final = 20
MAX_TAG_VALUE_LENGTH: Final = 30
_TAG_PREFIX: Final = "client.tag."
_GROUP_PROTOCOL: Final = "group.protocol"
_CLASSIC: Final = "classic"


def _check_end_point(_key: str, address: str) -> None:
    """Accept what any release accepts: the release of the member is not known here."""
    parse_end_point(address)


def _check_strategy(key: str, value: str) -> None:
    validate_one_of(key, value, RACK_AWARE_STRATEGIES)


def _check_upgrade_from(key: str, value: object) -> None:
    """Accept what any release accepts: the release of the member is not known here."""
    validate_one_of(key, value, UPGRADE_FROM, null=True)


def _check_tags(_key: str, tags: Mapping[str, str]) -> None:
    if len(tags) > MAX_TAGS:
        raise ConfigException(f"At most {MAX_TAGS} client tags can be specified using {_TAG_PREFIX} prefix.")
    for key, value in tags.items():
        if not key.strip():
            raise ConfigException(f"Invalid config `{_TAG_PREFIX}` (missing client tag key).")
        if not value.strip():
            raise invalid_value(_TAG_PREFIX + key, "[]", "Tag value cannot be empty.")
        if _utf16_length(key) > MAX_TAG_KEY_LENGTH:
            raise invalid_value(_TAG_PREFIX + key, key, f"Tag key exceeds maximum length of {MAX_TAG_KEY_LENGTH}.")
        if _utf16_length(value) > MAX_TAG_VALUE_LENGTH:
            raise invalid_value(
                _TAG_PREFIX + key, value, f"Tag value exceeds maximum length of {MAX_TAG_VALUE_LENGTH}."
            )


def _check_group_protocol(value: object) -> None:
    """Refuse the streams protocol, in which brokers assign: it is no configuration of an assignor."""
    if str(value).lower() != _CLASSIC:
        raise invalid_value(
            _GROUP_PROTOCOL,
            value,
            "Expected classic, as here a client assigns. For a member of a streams group use "
            "assignor.clients.confluent.StreamsConsumer.",
        )


def _utf16_length(text: str) -> int:
    """Return the length of a text in Java."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _unknown_keys(unknown: Sequence[str], known: Sequence[str]) -> ConfigException:
    meant = [match for key in unknown for match in get_close_matches(key.replace("_", "."), known, n=1)]
    perhaps = f" (did you mean {', '.join(dict.fromkeys(meant))}?)" if meant else ""
    return ConfigException(f"unknown configuration {quote_input(unknown)}{perhaps}; known are {', '.join(known)}")


@frozen(kw_only=True)
class StreamsConfig:
    """The configuration of a member; ``StreamsConfig.of`` makes one from dotted names.

    Each attribute has the name of its key, with underscores.

    Raises:
        ConfigException: Kafka refuses a value.
    """

    acceptable_recovery_lag: int = number_field("acceptable.recovery.lag", 10_000, java_type="LONG")
    application_server: str = text_field("application.server", check=_check_end_point)
    client_rack: str = text_field("client.rack")
    client_tags: Mapping[str, str] = prefix_field(_TAG_PREFIX, _check_tags)
    """The keys that begin with ``client.tag.``, without this prefix."""
    group_instance_id: str | None = text_field("group.instance.id", None, validate_name)
    max_warmup_replicas: int = number_field("max.warmup.replicas", 2, minimum=1)
    num_standby_replicas: int = number_field("num.standby.replicas", 0)
    probing_rebalance_interval_ms: int = number_field(
        "probing.rebalance.interval.ms", 600_000, minimum=60_000, java_type="LONG"
    )
    rack_aware_assignment_non_overlap_cost: int | None = number_field(
        "rack.aware.assignment.non_overlap_cost", None, minimum=INT_MIN
    )
    rack_aware_assignment_strategy: str = text_field("rack.aware.assignment.strategy", "none", _check_strategy)
    rack_aware_assignment_tags: tuple[str, ...] = list_field("rack.aware.assignment.tags", MAX_TAGS)
    rack_aware_assignment_traffic_cost: int | None = number_field(
        "rack.aware.assignment.traffic_cost", None, minimum=INT_MIN
    )
    upgrade_from: str | None = text_field("upgrade.from", None, _check_upgrade_from)

    def __attrs_post_init__(self) -> None:
        """Refuse values that contradict each other."""
        for tag in self.rack_aware_assignment_tags:
            if tag not in self.client_tags:
                why = f"[{tag}] which doesn't have corresponding tag set via [{_TAG_PREFIX}] prefix."
                tags = f"[{', '.join(self.rack_aware_assignment_tags)}]"
                raise invalid_value("rack.aware.assignment.tags", tags, f"Contains invalid value {why}")

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> StreamsConfig:
        """Read dotted names; numbers and lists may be text.

        Raises:
            ConfigException: Kafka refuses a value, or a key is unknown here.

        >>> StreamsConfig.of({"upgrade.from": "1.1", "num.standby.replicas": "1"}).num_standby_replicas
        1
        >>> StreamsConfig.of({"client.tag.zone": "a"}).client_tags
        {'zone': 'a'}
        """
        tags = {key.removeprefix(_TAG_PREFIX): value for key, value in settings.items() if key.startswith(_TAG_PREFIX)}
        plain = {key: value for key, value in settings.items() if not key.startswith(_TAG_PREFIX)}
        _check_group_protocol(plain.pop(_GROUP_PROTOCOL, _CLASSIC))
        known = {attribute.metadata["key"]: attribute.name for attribute in cls.__attrs_attrs__}
        if unknown := sorted(plain.keys() - known.keys()):
            raise _unknown_keys(unknown, sorted(known))
        return cls(client_tags=tags, **{known[key]: value for key, value in plain.items()})

    def end_point(self, release: Release) -> tuple[str, int] | None:
        """Return host and port as a member of ``release`` reads them; None if no end point is configured.

        Raises:
            ConfigException: A member of that release does not start with this value.
        """
        return parse_end_point(self.application_server, release.behaviour.end_point_format)

    def pinned_version(self, release: Release) -> int | None:
        """Return the version that ``upgrade.from`` makes a member of ``release`` send; None if it sets none.

        Raises:
            ConfigException: A member of that release does not start with this value.
        """
        outcome = release.startup_outcome(self.upgrade_from)
        if outcome.exception:
            raise ConfigException(outcome.text)
        return release.pinned_version(self.upgrade_from)


StreamsSettings = TypedDict(
    "StreamsSettings",
    {
        "acceptable.recovery.lag": int | str,
        "application.server": str,
        "client.rack": str,
        "group.instance.id": str | None,
        "max.warmup.replicas": int | str,
        "num.standby.replicas": int | str,
        "probing.rebalance.interval.ms": int | str,
        "rack.aware.assignment.non_overlap_cost": int | str | None,
        "rack.aware.assignment.strategy": str,
        "rack.aware.assignment.tags": str | list[str] | tuple[str, ...],
        "rack.aware.assignment.traffic_cost": int | str | None,
        "upgrade.from": str | None,
    },
    total=False,
)
"""A dictionary of Kafka's dotted names, as ``StreamsConfig.of`` reads it, so that a type checker rejects a wrong name.

The names that begin with ``client.tag.`` are open and cannot be listed: pass those to ``StreamsConfig.of``.
"""


def as_streams_config(config: StreamsConfig | StreamsSettings | None) -> StreamsConfig:
    """Return the configuration as a ``StreamsConfig``: a dictionary is read, None stands for the defaults.

    Raises ``ConfigException`` for a value or a name that is not a configuration.
    """
    if isinstance(config, StreamsConfig):
        return config
    if config is None or isinstance(config, Mapping):
        return StreamsConfig.of(config or {})
    raise ConfigException(
        f"expected a StreamsConfig or a dictionary of Kafka's dotted names, got a {type(config).__name__}"
    )
