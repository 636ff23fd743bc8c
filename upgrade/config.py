"""The configuration of a member: Kafka's own dotted names, Kafka's defaults, Kafka's refusals. One row per key.

Java: ``StreamsConfig``; ``ConsumerConfig`` for ``client.rack`` and ``group.instance.id``; ``configure`` of
``StreamsPartitionAssignor`` for ``application.server``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from upgrade.errors import ConfigException, shown
from upgrade.releases import UPGRADE_FROM, Release
from upgrade.values import (
    ANY_NUMBER,
    by_prefix,
    check_name,
    check_number,
    check_one_of,
    invalid,
    names,
    number,
    split_host,
    text,
)

__all__ = ["RACK_AWARE_STRATEGIES", "StreamsConfig", "check_number", "split_host"]

RACK_AWARE_STRATEGIES: Final = ("none", "min_traffic", "balance_subtopology")
MOST_TAGS: Final = 5
LONGEST_TAG_KEY: Final = 20
LONGEST_TAG_VALUE: Final = 30
_TAG: Final = "client.tag."


def _check_host(_key: str, address: str) -> None:
    if address:
        split_host(address)


def _check_strategy(key: str, value: str) -> None:
    check_one_of(key, value, RACK_AWARE_STRATEGIES)


def _check_upgrade_from(key: str, value: object) -> None:
    """A release may accept less; which one it is comes later."""
    check_one_of(key, value, UPGRADE_FROM, null=True)


def _check_tags(_key: str, tags: Mapping[str, str]) -> None:
    if len(tags) > MOST_TAGS:
        raise ConfigException(f"At most {MOST_TAGS} client tags can be specified using {_TAG} prefix.")
    for key, value in tags.items():
        if not key.strip():
            raise ConfigException(f"Invalid config `{_TAG}` (missing client tag key).")
        if not value.strip():
            raise invalid(_TAG + key, "[]", "Tag value cannot be empty.")
        if _units(key) > LONGEST_TAG_KEY:
            raise invalid(_TAG + key, key, f"Tag key exceeds maximum length of {LONGEST_TAG_KEY}.")
        if _units(value) > LONGEST_TAG_VALUE:
            raise invalid(_TAG + key, value, f"Tag value exceeds maximum length of {LONGEST_TAG_VALUE}.")


def _units(text: str) -> int:
    """Return the length of a text in Java."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@frozen(kw_only=True)
class StreamsConfig:
    """What a member is configured with. Make one from dotted names with ``StreamsConfig.of``.

    An attribute is named like its key, with underscores. ``client_tags`` has what follows ``client.tag.`` in the keys
    that begin with it. Raises ``ConfigException`` for what Kafka refuses.
    """

    acceptable_recovery_lag: int = number("acceptable.recovery.lag", 10_000, kind="LONG")
    application_server: str = text("application.server", check=_check_host)
    client_rack: str = text("client.rack")
    client_tags: Mapping[str, str] = by_prefix(_TAG, _check_tags)
    group_instance_id: str | None = text("group.instance.id", None, check_name)
    max_warmup_replicas: int = number("max.warmup.replicas", 2, least=1)
    num_standby_replicas: int = number("num.standby.replicas", 0)
    probing_rebalance_interval_ms: int = number("probing.rebalance.interval.ms", 600_000, least=60_000, kind="LONG")
    rack_aware_assignment_non_overlap_cost: int | None = number(
        "rack.aware.assignment.non_overlap_cost", None, least=ANY_NUMBER
    )
    rack_aware_assignment_strategy: str = text("rack.aware.assignment.strategy", "none", _check_strategy)
    rack_aware_assignment_tags: tuple[str, ...] = names("rack.aware.assignment.tags", MOST_TAGS)
    rack_aware_assignment_traffic_cost: int | None = number(
        "rack.aware.assignment.traffic_cost", None, least=ANY_NUMBER
    )
    upgrade_from: str | None = text("upgrade.from", None, _check_upgrade_from)

    def __attrs_post_init__(self) -> None:
        """Refuse what does not go together."""
        for tag in self.rack_aware_assignment_tags:
            if tag not in self.client_tags:
                why = f"[{tag}] which doesn't have corresponding tag set via [{_TAG}] prefix."
                tags = f"[{', '.join(self.rack_aware_assignment_tags)}]"
                raise invalid("rack.aware.assignment.tags", tags, f"Contains invalid value {why}")

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> StreamsConfig:
        """Read Kafka's dotted names; numbers and lists may come as text, and a name that is unknown here is refused.

        >>> StreamsConfig.of({"upgrade.from": "1.1", "num.standby.replicas": "1"}).num_standby_replicas
        1
        >>> StreamsConfig.of({"client.tag.zone": "a"}).client_tags
        {'zone': 'a'}
        """
        tags = {key.removeprefix(_TAG): value for key, value in settings.items() if key.startswith(_TAG)}
        plain = {key: value for key, value in settings.items() if not key.startswith(_TAG)}
        known = {attribute.metadata["key"]: attribute.name for attribute in cls.__attrs_attrs__}
        if unknown := sorted(plain.keys() - known.keys()):
            raise ConfigException(f"unknown configuration {shown(unknown)}; known are {', '.join(sorted(known))}")
        return cls(client_tags=tags, **{known[key]: value for key, value in plain.items()})

    def pinned_version(self, release: Release) -> int | None:
        """Return the version that ``upgrade.from`` makes a member of ``release`` send; None if it does not say.

        ``ConfigException`` if a member of that release does not start with it.
        """
        outcome = release.accepts(self.upgrade_from)
        if outcome.exception:
            raise ConfigException(outcome.text)
        return release.pinned_version(self.upgrade_from)
