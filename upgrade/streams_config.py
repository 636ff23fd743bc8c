"""The configuration of a member, with Kafka's names, defaults and checks: one field for each of ``CONFIG_KEYS``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, TypedDict

from attrs import frozen

from streams_assignor.upgrade.config_keys import CONFIG_KEYS, TAG_PREFIX
from streams_assignor.upgrade.config_types import invalid_value, parse_end_point
from streams_assignor.upgrade.errors import ConfigException, quote_input
from streams_assignor.upgrade.releases import Release

_GROUP_PROTOCOL: Final = "group.protocol"
_CLASSIC: Final = "classic"


def _check_group_protocol(value: object) -> None:
    """Refuse the streams protocol, in which brokers assign: it is no configuration of an assignor."""
    if str(value).lower() != _CLASSIC:
        raise invalid_value(
            _GROUP_PROTOCOL,
            value,
            "Expected classic, as here a client assigns. For a member of a streams group use "
            "streams_assignor.clients.confluent.StreamsConsumer.",
        )


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

    acceptable_recovery_lag: int = CONFIG_KEYS["acceptable.recovery.lag"].text_field()
    application_server: str = CONFIG_KEYS["application.server"].text_field()
    client_rack: str = CONFIG_KEYS["client.rack"].text_field()
    client_tags: Mapping[str, str] = CONFIG_KEYS[f"{TAG_PREFIX}*"].text_field()
    """The keys that begin with ``client.tag.``, without this prefix."""
    group_instance_id: str | None = CONFIG_KEYS["group.instance.id"].text_field()
    max_warmup_replicas: int = CONFIG_KEYS["max.warmup.replicas"].text_field()
    num_standby_replicas: int = CONFIG_KEYS["num.standby.replicas"].text_field()
    probing_rebalance_interval_ms: int = CONFIG_KEYS["probing.rebalance.interval.ms"].text_field()
    rack_aware_assignment_non_overlap_cost: int | None = CONFIG_KEYS[
        "rack.aware.assignment.non_overlap_cost"
    ].text_field()
    rack_aware_assignment_strategy: str = CONFIG_KEYS["rack.aware.assignment.strategy"].text_field()
    rack_aware_assignment_tags: tuple[str, ...] = CONFIG_KEYS["rack.aware.assignment.tags"].text_field()
    rack_aware_assignment_traffic_cost: int | None = CONFIG_KEYS["rack.aware.assignment.traffic_cost"].text_field()
    upgrade_from: str | None = CONFIG_KEYS["upgrade.from"].text_field()

    def __attrs_post_init__(self) -> None:
        """Refuse values that contradict each other."""
        for tag in self.rack_aware_assignment_tags:
            if tag not in self.client_tags:
                why = f"[{tag}] which doesn't have corresponding tag set via [{TAG_PREFIX}] prefix."
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
        tags = {key.removeprefix(TAG_PREFIX): value for key, value in settings.items() if key.startswith(TAG_PREFIX)}
        plain = {key: value for key, value in settings.items() if not key.startswith(TAG_PREFIX)}
        _check_group_protocol(plain.pop(_GROUP_PROTOCOL, _CLASSIC))
        attributes = {attribute.metadata["key"]: attribute.name for attribute in cls.__attrs_attrs__}
        if unknown := sorted(plain.keys() - attributes.keys()):
            raise _unknown_keys(unknown, sorted(attributes))
        return cls(client_tags=tags, **{attributes[key]: value for key, value in plain.items()})

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

A type checker reads literals alone, so it cannot be made of ``CONFIG_KEYS``.
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
