"""The configuration of task assignors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from attrs import frozen

from streams_assignor.upgrade.config_keys import CONFIG_KEYS
from streams_assignor.upgrade.streams_config import StreamsConfig


@frozen(kw_only=True)
class AssignmentConfigs:
    """Configuration of a task assignor, with Kafka's defaults and validation. Java: ``AssignmentConfigs``.

    ``upgrade.config_keys`` has the meaning of each key. Raises ``ConfigException`` for a value that Kafka rejects.
    """

    acceptable_recovery_lag: int = CONFIG_KEYS["acceptable.recovery.lag"].typed_field()
    max_warmup_replicas: int = CONFIG_KEYS["max.warmup.replicas"].typed_field()
    num_standby_replicas: int = CONFIG_KEYS["num.standby.replicas"].typed_field()
    probing_rebalance_interval_ms: int = CONFIG_KEYS["probing.rebalance.interval.ms"].typed_field()
    rack_aware_assignment_tags: tuple[str, ...] = CONFIG_KEYS["rack.aware.assignment.tags"].typed_field()
    rack_aware_assignment_strategy: str = CONFIG_KEYS["rack.aware.assignment.strategy"].typed_field()
    rack_aware_traffic_cost: int | None = CONFIG_KEYS["rack.aware.assignment.traffic_cost"].typed_field()
    rack_aware_non_overlap_cost: int | None = CONFIG_KEYS["rack.aware.assignment.non_overlap_cost"].typed_field()

    @classmethod
    def of(cls, config: StreamsConfig) -> AssignmentConfigs:
        """Return the part of a member's configuration that task assignors use."""
        return cls.of_keys(
            {field.metadata["key"]: getattr(config, field.name) for field in attrs.fields(StreamsConfig)}
        )

    @classmethod
    def of_keys(cls, values: Mapping[str, Any]) -> AssignmentConfigs:
        """Return a configuration from dotted names, with the defaults for those that are missing."""
        names = {field.metadata["key"]: field.name for field in attrs.fields(cls)}
        return cls(**{names[key]: value for key, value in values.items() if key in names})
