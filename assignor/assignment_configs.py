"""What a task assignor is configured with."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from attrs import frozen

from upgrade.config import MOST_TAGS, RACK_AWARE_STRATEGIES, StreamsConfig
from upgrade.values import ANY_NUMBER, check_number, check_one_of, check_size, row


def _number(key: str, default: int | None, least: int = 0, kind: str = "INT") -> Any:
    return row(key, default, partial(check_number, least=least, kind=kind))


def _in_this_order(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(tags)


@frozen(kw_only=True)
class AssignmentConfigs:
    """What a group is configured with. Kafka's defaults, Kafka's refusals. Java: ``AssignmentConfigs``.

    ``acceptable_recovery_lag`` (``acceptable.recovery.lag``): who is at most that many records behind has caught up.
    ``max_warmup_replicas`` (``max.warmup.replicas``): how many tasks warm up at a time, beside the standbys.
    ``num_standby_replicas`` (``num.standby.replicas``): standbys of each stateful task.
    ``probing_rebalance_interval_ms`` (``probing.rebalance.interval.ms``): when to look again whether warm-ups are done.
    ``rack_aware_assignment_tags`` (``rack.aware.assignment.tags``): client tags to spread the copies of a task over.
    ``rack_aware_assignment_strategy`` (``rack.aware.assignment.strategy``): ``none``, ``min_traffic`` or
    ``balance_subtopology``, whether and how to look at racks.
    ``rack_aware_traffic_cost`` (``rack.aware.assignment.traffic_cost``): what a partition costs that is read from
    another rack; ``None``: each assignor has a default of its own.
    ``rack_aware_non_overlap_cost`` (``rack.aware.assignment.non_overlap_cost``): what it costs to move a task for that.
    """

    acceptable_recovery_lag: int = _number("acceptable.recovery.lag", 10_000, kind="LONG")
    max_warmup_replicas: int = _number("max.warmup.replicas", 2, least=1)
    num_standby_replicas: int = _number("num.standby.replicas", 0)
    probing_rebalance_interval_ms: int = _number("probing.rebalance.interval.ms", 600_000, least=60_000, kind="LONG")
    rack_aware_assignment_tags: tuple[str, ...] = row(
        "rack.aware.assignment.tags", (), partial(check_size, most=MOST_TAGS), convert=_in_this_order
    )
    rack_aware_assignment_strategy: str = row(
        "rack.aware.assignment.strategy", "none", partial(check_one_of, accepted=RACK_AWARE_STRATEGIES)
    )
    rack_aware_traffic_cost: int | None = _number("rack.aware.assignment.traffic_cost", None, least=ANY_NUMBER)
    rack_aware_non_overlap_cost: int | None = _number("rack.aware.assignment.non_overlap_cost", None, least=ANY_NUMBER)

    @classmethod
    def of(cls, config: StreamsConfig) -> AssignmentConfigs:
        """Take from a member's configuration what task assignors look at."""
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
