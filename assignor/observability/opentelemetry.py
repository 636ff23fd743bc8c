"""The metrics of members as those of OpenTelemetry: ``pip install 'streams-assignor[opentelemetry]'``.

It needs the API alone; SDK and exporter are the application's. Names, units and bounds of buckets are those of
``METRICS``; each point has ``messaging.system``, ``messaging.consumer.group.name`` and ``messaging.client.id``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams_assignor.observability.metrics import METRICS, InstrumentKind, Metric, MetricsObserver
from streams_assignor.upgrade.extras import importing

with importing("opentelemetry"):
    from opentelemetry.metrics import Meter, get_meter


class OpenTelemetryMetrics:
    """The metrics of all members of a process.

    Args:
        meter: The maker of the instruments; None: the meter ``streams-assignor`` of the global provider.
    """

    def __init__(self, meter: Meter | None = None) -> None:
        made_by = meter or get_meter("streams-assignor")
        self._writers = {metric: _instrument(metric, made_by) for metric in METRICS}

    def observer(self, group_id: str, client_id: str) -> MetricsObserver:
        """Return the observer of one member, for ``observer=`` of its assignor."""
        member = {
            "messaging.system": "kafka",
            "messaging.consumer.group.name": group_id,
            "messaging.client.id": client_id,
        }

        def record(metric: Metric, value: float, attributes: Mapping[str, str]) -> None:
            self._writers[metric](value, {**member, **attributes})

        return MetricsObserver(record)


def _instrument(metric: Metric, meter: Meter) -> Callable[[float, Mapping[str, str]], None]:
    """Return the function that takes a value and its attributes."""
    name, unit, description = metric.name, metric.unit, metric.description
    match metric.kind:
        case InstrumentKind.COUNTER:
            return meter.create_counter(name, unit, description).add
        case InstrumentKind.GAUGE:
            return meter.create_gauge(name, unit, description).set
        case InstrumentKind.HISTOGRAM:
            bounds = list(metric.bucket_bounds)
            return meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=bounds).record
