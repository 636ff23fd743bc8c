"""The metrics of members as those of prometheus-client: ``pip install 'streams-assignor[prometheus]'``.

Names are those of ``METRICS`` with underscores, the unit behind them; each series has the labels
``messaging_consumer_group_name`` and ``messaging_client_id``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from streams_assignor.errors import UsageError
from streams_assignor.observability.metrics import METRICS, InstrumentKind, Metric, MetricsObserver
from streams_assignor.upgrade.extras import importing

with importing("prometheus_client"):
    from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

_UNITS: Final[Mapping[str, str]] = {"s": "seconds", "By": "bytes"}
"""Those that Prometheus has in a name; the others count things."""
_MEMBER_LABELS: Final = ("messaging.consumer.group.name", "messaging.client.id")


class PrometheusMetrics:
    """The metrics of all members of a process: one object for each registry.

    Args:
        registry: Where they are registered.

    Raises:
        UsageError: The registry has metrics of these names.
    """

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        try:
            self._series = {metric: _register(metric, registry) for metric in METRICS}
        except ValueError as error:
            raise UsageError(f"expected one PrometheusMetrics for a registry, got another one ({error})") from None

    def observer(self, group_id: str, client_id: str) -> MetricsObserver:
        """Return the observer of one member, for ``observer=`` of its assignor."""

        def record(metric: Metric, value: float, attributes: Mapping[str, str]) -> None:
            labels = (attributes[name] for name in metric.attributes)
            self._series[metric](group_id, client_id, *labels)(value)

        return MetricsObserver(record)


def _register(metric: Metric, registry: CollectorRegistry) -> Callable[..., Callable[[float], None]]:
    """Return the function that takes the values of the labels and returns the one that takes a value."""
    name, unit = _name(metric.name), _UNITS.get(metric.unit, "")
    labels = [_name(label) for label in (*_MEMBER_LABELS, *metric.attributes)]
    match metric.kind:
        case InstrumentKind.COUNTER:
            counter = Counter(name, metric.description, labels, unit=unit, registry=registry)
            return lambda *values: counter.labels(*values).inc
        case InstrumentKind.GAUGE:
            gauge = Gauge(name, metric.description, labels, unit=unit, registry=registry)
            return lambda *values: gauge.labels(*values).set
        case InstrumentKind.HISTOGRAM:
            bounds = metric.bucket_bounds
            histogram = Histogram(name, metric.description, labels, unit=unit, registry=registry, buckets=bounds)
            return lambda *values: histogram.labels(*values).observe


def _name(name: str) -> str:
    return name.replace(".", "_")
