"""The configuration of task assignors."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from attrs import frozen

from upgrade.config_types import INT_MIN, config_field, validate_number, validate_one_of, validate_size
from upgrade.streams_config import MAX_TAGS, RACK_AWARE_STRATEGIES, StreamsConfig


def _number_option(key: str, default: int | None, least: int = 0, kind: str = "INT") -> Any:
    return config_field(key, default, partial(validate_number, minimum=least, java_type=kind))


def _as_tuple(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(tags)


@frozen(kw_only=True)
class AssignmentConfigs:
    """Configuration of a task assignor, with Kafka's defaults and validation. Java: ``AssignmentConfigs``.

    Raises ``ConfigException`` for a value that Kafka rejects. The comment of each field names its configuration.
    """

    acceptable_recovery_lag: int = _number_option("acceptable.recovery.lag", 10_000, kind="LONG")
    """``acceptable.recovery.lag``: a process with at most this lag (records) has caught up."""
    max_warmup_replicas: int = _number_option("max.warmup.replicas", 2, least=1)
    """``max.warmup.replicas``: the number of tasks that warm up at a time, besides the standbys."""
    num_standby_replicas: int = _number_option("num.standby.replicas", 0)
    """``num.standby.replicas``: the number of standbys of each stateful task."""
    probing_rebalance_interval_ms: int = _number_option(
        "probing.rebalance.interval.ms", 600_000, least=60_000, kind="LONG"
    )
    """``probing.rebalance.interval.ms``: the time until the follow-up rebalance that checks the warm-ups."""
    rack_aware_assignment_tags: tuple[str, ...] = config_field(
        "rack.aware.assignment.tags", (), partial(validate_size, max_size=MAX_TAGS), convert=_as_tuple
    )
    """``rack.aware.assignment.tags``: the client tags over which the replicas of a task are spread."""
    rack_aware_assignment_strategy: str = config_field(
        "rack.aware.assignment.strategy", "none", partial(validate_one_of, accepted=RACK_AWARE_STRATEGIES)
    )
    """``rack.aware.assignment.strategy``: ``none``, ``min_traffic`` or ``balance_subtopology``."""
    rack_aware_traffic_cost: int | None = _number_option("rack.aware.assignment.traffic_cost", None, least=INT_MIN)
    """``rack.aware.assignment.traffic_cost``: the cost of a partition that is read from another rack; None for the
    default of the assignor."""
    rack_aware_non_overlap_cost: int | None = _number_option(
        "rack.aware.assignment.non_overlap_cost", None, least=INT_MIN
    )
    """``rack.aware.assignment.non_overlap_cost``: the cost of moving a task because of racks; None likewise."""

    @classmethod
    def of(cls, config: StreamsConfig) -> AssignmentConfigs:
        """Return the part of a member's configuration that task assignors use."""
        return cls(
            acceptable_recovery_lag=config.acceptable_recovery_lag,
            max_warmup_replicas=config.max_warmup_replicas,
            num_standby_replicas=config.num_standby_replicas,
            probing_rebalance_interval_ms=config.probing_rebalance_interval_ms,
            rack_aware_assignment_tags=config.rack_aware_assignment_tags,
            rack_aware_assignment_strategy=config.rack_aware_assignment_strategy,
            rack_aware_traffic_cost=config.rack_aware_assignment_traffic_cost,
            rack_aware_non_overlap_cost=config.rack_aware_assignment_non_overlap_cost,
        )
