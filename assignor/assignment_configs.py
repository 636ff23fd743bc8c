"""What a task assignor is configured with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import field, frozen

from upgrade.config import check_number


def _number(key: str, least: int = 0, kind: str = "INT") -> dict[str, Any]:
    return {"key": key, "least": least, "kind": kind}


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
    """

    acceptable_recovery_lag: int = field(default=10_000, metadata=_number("acceptable.recovery.lag", kind="LONG"))
    max_warmup_replicas: int = field(default=2, metadata=_number("max.warmup.replicas", least=1))
    num_standby_replicas: int = field(default=0, metadata=_number("num.standby.replicas"))
    probing_rebalance_interval_ms: int = field(
        default=600_000, metadata=_number("probing.rebalance.interval.ms", least=60_000, kind="LONG")
    )
    rack_aware_assignment_tags: tuple[str, ...] = field(default=(), converter=_in_this_order)

    def __attrs_post_init__(self) -> None:
        """Refuse what Kafka refuses."""
        for attribute in self.__attrs_attrs__:
            if attribute.metadata:
                check_number(value=getattr(self, attribute.name), **attribute.metadata)
