"""The metrics of members in prometheus-client and in OpenTelemetry: both have what a plain observer records."""

from collections import defaultdict
from collections.abc import Mapping

import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry

from streams_assignor import UsageError
from streams_assignor.observability.events import (
    AssignmentComputed,
    Event,
    JoinReason,
    JoinSent,
    MemberClosed,
    MemberFailed,
    RejoinRequested,
)
from streams_assignor.observability.metrics import METRICS, InstrumentKind, Metric, MetricsObserver
from streams_assignor.observability.opentelemetry import OpenTelemetryMetrics
from streams_assignor.observability.prometheus import PrometheusMetrics
from streams_assignor.probing.follow_up import FollowUpReason
from tests.assignor.observability.event_factories import assignment_received, tasks, tasks_changed

SERIES = "messaging.consumer.group.name", "messaging.client.id"
MEMBER = dict(zip(SERIES, ("billing", "billing-1"), strict=True))
STORY: list[Event] = [
    JoinSent(reason=JoinReason.FIRST_JOIN, used_version=3, supported_version=11, subscription_size=90),
    RejoinRequested(reason=FollowUpReason.VERSION),
    JoinSent(reason=JoinReason.LOST, used_version=4, supported_version=11, subscription_size=70),
    assignment_received(active=tasks(1)),
    AssignmentComputed(subscription_sizes={"a": 4}, assignment_sizes={"a": 7}, seconds=30.0),
    tasks_changed(assigned=tasks(1)),
    tasks_changed(revoked=tasks(1)),
    tasks_changed(assigned=tasks(1)),
    MemberFailed(ValueError("no")),
    MemberClosed(lost=True),
]
Values = dict[tuple[Metric, frozenset[tuple[str, str]]], float]


class Recorded:
    """The expected values of a library in the end: sums, last values, numbers of observations."""

    def __init__(self) -> None:
        self.values: Values = defaultdict(float)

    def __call__(self, metric: Metric, value: float, attributes: Mapping[str, str]) -> None:
        series = metric, frozenset({**MEMBER, **attributes}.items())
        match metric.kind:
            case InstrumentKind.COUNTER:
                self.values[series] += value
            case InstrumentKind.GAUGE:
                self.values[series] = value
            case InstrumentKind.HISTOGRAM:
                self.values[series] += 1


def test_both_have_every_value_of_every_metric() -> None:
    expected, registry, reader = Recorded(), CollectorRegistry(), InMemoryMetricReader()
    observers = [
        MetricsObserver(expected),
        PrometheusMetrics(registry).observer("billing", "billing-1"),
        OpenTelemetryMetrics(MeterProvider([reader]).get_meter("m")).observer("billing", "billing-1"),
    ]
    for event in STORY:
        for observe in observers:
            observe(event)

    assert {*METRICS} == {metric for metric, _ in expected.values}
    assert expected.values == in_prometheus(registry, expected.values)
    assert expected.values == in_opentelemetry(reader)


def in_prometheus(registry: CollectorRegistry, wanted: Values) -> dict[object, float | None]:
    suffixes = {InstrumentKind.COUNTER: "_total", InstrumentKind.GAUGE: "", InstrumentKind.HISTOGRAM: "_count"}
    units = {"s": "_seconds", "By": "_bytes"}

    def name_of(metric: Metric) -> str:
        return metric.name.replace(".", "_") + units.get(metric.unit, "") + suffixes[metric.kind]

    return {
        (metric, labels): registry.get_sample_value(
            name_of(metric), {key.replace(".", "_"): value for key, value in labels}
        )
        for metric, labels in wanted
    }


def in_opentelemetry(reader: InMemoryMetricReader) -> dict[object, float]:
    by_name = {metric.name: metric for metric in METRICS}
    data = reader.get_metrics_data()
    assert data is not None
    found: dict[object, float] = {}
    for each in data.resource_metrics[0].scope_metrics[0].metrics:
        metric = by_name[each.name]
        assert (metric.unit, metric.description) == (each.unit, each.description)
        for point in each.data.data_points:
            attributes = dict(point.attributes or {})
            assert "kafka" == attributes.pop("messaging.system")
            found[metric, frozenset(attributes.items())] = getattr(point, "value", None) or getattr(point, "count", 0)
            assert metric.bucket_bounds == tuple(getattr(point, "explicit_bounds", ()))
    return found


def test_a_second_object_for_a_registry_is_refused_with_what_is_expected() -> None:
    registry = CollectorRegistry()
    PrometheusMetrics(registry)

    with pytest.raises(UsageError, match="expected one PrometheusMetrics for a registry, got another one"):
        PrometheusMetrics(registry)


def test_members_have_series_of_their_own() -> None:
    registry = CollectorRegistry()
    metrics = PrometheusMetrics(registry)
    for client in ("a", "b"):
        metrics.observer("billing", client)(MemberFailed(ValueError("no")))

    assert [1.0, 1.0] == [
        registry.get_sample_value(
            "kafka_streams_failures_total",
            {"messaging_consumer_group_name": "billing", "messaging_client_id": client, "error_type": "ValueError"},
        )
        for client in ("a", "b")
    ]
