"""The configuration keys of a member, one row a key: its type, default, checks and documentation.

``StreamsConfig``, ``AssignmentConfigs``, the keys of ``assign`` and the tables of the pages are made of these rows.
Java: ``StreamsConfig``; ``ConsumerConfig`` for ``client.rack`` and ``group.instance.id``; ``configure`` of
``StreamsPartitionAssignor`` for ``application.server``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from streams_assignor.upgrade.config_types import (
    INT_MIN,
    ConfigKey,
    ConfigType,
    invalid_value,
    parse_end_point,
    validate_name,
    validate_one_of,
    validate_size,
)
from streams_assignor.upgrade.errors import ConfigException
from streams_assignor.upgrade.release_behaviour import CURRENT, UPGRADE_FROM

RACK_AWARE_STRATEGIES: Final = ("none", *CURRENT.rack_strategies)
TAG_PREFIX: Final = "client.tag."
MAX_TAGS: Final = 5
MAX_TAG_KEY_LENGTH: Final = 20
MAX_TAG_VALUE_LENGTH: Final = 30


def _check_end_point(_key: str, address: str) -> None:
    """Accept what any release accepts: the release of the member is not known here."""
    parse_end_point(address)


def _check_strategy(key: str, value: str) -> None:
    validate_one_of(key, value, RACK_AWARE_STRATEGIES)


def _check_upgrade_from(key: str, value: object) -> None:
    """Accept what any release accepts: the release of the member is not known here."""
    validate_one_of(key, value, UPGRADE_FROM, null=True)


def _check_rack_tags(key: str, tags: Sequence[str]) -> None:
    validate_size(key, tags, MAX_TAGS)


def _check_tags(_key: str, tags: Mapping[str, str]) -> None:
    if len(tags) > MAX_TAGS:
        raise ConfigException(f"At most {MAX_TAGS} client tags can be specified using {TAG_PREFIX} prefix.")
    for key, value in tags.items():
        if not key.strip():
            raise ConfigException(f"Invalid config `{TAG_PREFIX}` (missing client tag key).")
        if not value.strip():
            raise invalid_value(TAG_PREFIX + key, "[]", "Tag value cannot be empty.")
        if _utf16_length(key) > MAX_TAG_KEY_LENGTH:
            raise invalid_value(TAG_PREFIX + key, key, f"Tag key exceeds maximum length of {MAX_TAG_KEY_LENGTH}.")
        if _utf16_length(value) > MAX_TAG_VALUE_LENGTH:
            raise invalid_value(TAG_PREFIX + key, value, f"Tag value exceeds maximum length of {MAX_TAG_VALUE_LENGTH}.")


def _utf16_length(text: str) -> int:
    """Return the length of a text in Java."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


_ROWS: Final = (
    ConfigKey(
        "acceptable.recovery.lag",
        ConfigType.LONG,
        10_000,
        "a process with at most this lag, in records, has caught up (KIP-441)",
    ),
    ConfigKey(
        "application.server",
        ConfigType.STRING,
        "",
        "`host:port` that other members find in `received_assignment.hosts`; `[host]:port` and `scheme://host:port` "
        "mean the same, as in Kafka. Our own release refuses what Kafka 4.4 refuses: any other text before the host, "
        "and a host without a name (KIP-1245)",
        _check_end_point,
    ),
    ConfigKey("client.rack", ConfigType.STRING, "", "the rack of the member: reads stay in it if they can (KIP-925)"),
    ConfigKey(
        f"{TAG_PREFIX}*",
        ConfigType.PREFIX,
        {},
        "tags of the process: standbys are distributed over their values (KIP-708)",
        _check_tags,
    ),
    ConfigKey(
        "group.instance.id",
        ConfigType.STRING,
        None,
        "the name of a static member (KIP-345); set it on the consumer too",
        validate_name,
    ),
    ConfigKey(
        "max.warmup.replicas",
        ConfigType.INT,
        2,
        "how many tasks warm up at a time, besides the standbys (KIP-441)",
        minimum=1,
    ),
    ConfigKey("num.standby.replicas", ConfigType.INT, 0, "standbys per stateful task, each on another process"),
    ConfigKey(
        "probing.rebalance.interval.ms",
        ConfigType.LONG,
        600_000,
        "the time until the follow-up rebalance that checks the warm-ups (KIP-441)",
        minimum=60_000,
    ),
    ConfigKey(
        "rack.aware.assignment.non_overlap_cost",
        ConfigType.INT,
        None,
        "the cost of moving a task because of racks; none: that of the task assignor (KIP-925)",
        minimum=INT_MIN,
    ),
    ConfigKey(
        "rack.aware.assignment.strategy",
        ConfigType.STRING,
        "none",
        "how tasks get a process in the rack of their partitions: `min_traffic` (since 3.6), `balance_subtopology` "
        "(since 3.7), or not at all (KIP-925)",
        _check_strategy,
    ),
    ConfigKey(
        "rack.aware.assignment.tags",
        ConfigType.LIST,
        (),
        "the tags over which the replicas of a task are distributed (KIP-708)",
        _check_rack_tags,
    ),
    ConfigKey(
        "rack.aware.assignment.traffic_cost",
        ConfigType.INT,
        None,
        "the cost of a partition that is read from another rack; none: that of the task assignor (KIP-925)",
        minimum=INT_MIN,
    ),
    ConfigKey(
        "upgrade.from",
        ConfigType.STRING,
        None,
        "the release before the upgrade, in the first of two rolling bounces (KIP-268)",
        _check_upgrade_from,
    ),
)

CONFIG_KEYS: Final[Mapping[str, ConfigKey]] = MappingProxyType({row.name: row for row in _ROWS})
"""The keys by name."""
