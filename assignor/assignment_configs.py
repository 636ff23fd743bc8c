"""What a task assignor is configured with."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import field, frozen

from upgrade import ConfigException


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

    acceptable_recovery_lag: int = field(default=10_000, metadata={"key": "acceptable.recovery.lag", "least": 0})
    max_warmup_replicas: int = field(default=2, metadata={"key": "max.warmup.replicas", "least": 1})
    num_standby_replicas: int = field(default=0, metadata={"key": "num.standby.replicas", "least": 0})
    probing_rebalance_interval_ms: int = field(
        default=600_000, metadata={"key": "probing.rebalance.interval.ms", "least": 60_000}
    )
    rack_aware_assignment_tags: tuple[str, ...] = field(default=(), converter=_in_this_order)

    def __attrs_post_init__(self) -> None:
        """Refuse what Kafka refuses."""
        for attribute in self.__attrs_attrs__:
            if attribute.metadata:
                _check(attribute.metadata["key"], getattr(self, attribute.name), attribute.metadata["least"])


def _check(key: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigException(f"Invalid value {value} for configuration {key}: Not a number")
    if value < least:
        raise ConfigException(f"Invalid value {value} for configuration {key}: Value must be at least {least}")
