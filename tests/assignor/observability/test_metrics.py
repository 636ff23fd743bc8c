"""The samples that the events of a member yield."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.errors import FatalError
from streams_assignor.observability.events import (
    AssignmentComputed,
    Event,
    JoinReason,
    JoinSent,
    MemberClosed,
    MemberFailed,
    MemberStarted,
    MemberStopped,
    RecordsProcessed,
    RejoinRequested,
)
from streams_assignor.observability.metrics import (
    ASSIGNMENT_DURATION,
    FAILURES,
    FOLLOW_UPS,
    GROUP_METADATA_SIZE,
    GROUP_SUPPORTED_VERSION,
    GROUP_VERSION,
    JOINS,
    LARGEST_MEMBER_METADATA,
    METRICS,
    REBALANCES,
    SUBSCRIPTION_SIZE,
    SUPPORTED,
    TASKS,
    TASKS_MOVED,
    UNASSIGNED,
    USED_VERSION,
    InstrumentKind,
    Metric,
    MetricsObserver,
)
from streams_assignor.probing.follow_up import FollowUpReason
from streams_assignor.rebalance_listener import OwnedTasks, TaskChanges
from tests.assignor.observability.event_factories import assignment_received, tasks, tasks_changed

Series = tuple[Metric, tuple[str, ...]]


class Meter:
    """A minimal metrics library with a manual clock."""

    def __init__(self) -> None:
        self.values: dict[Series, Any] = {}
        self.now = 0.0
        self.observe = MetricsObserver(self._record, lambda: self.now)

    def _record(self, metric: Metric, value: float, attributes: Mapping[str, str]) -> None:
        assert metric.attributes == tuple(attributes)
        series = metric, tuple(attributes.values())
        match metric.kind:
            case InstrumentKind.COUNTER:
                self.values[series] = self.values.get(series, 0) + value
            case InstrumentKind.GAUGE:
                self.values[series] = value
            case InstrumentKind.HISTOGRAM:
                self.values.setdefault(series, []).append(value)

    def of(self, metric: Metric) -> Any:
        """The values of a metric by attributes; its only value if it has none."""
        # A list, as another thread may add to the values meanwhile.
        found = {
            " ".join(attributes): value for (each, attributes), value in list(self.values.items()) if each is metric
        }
        return found if metric.attributes else found.get("")

    def observe_all(self, *events: Event | float) -> None:
        """Observe events; a number sets the clock."""
        for event in events:
            if isinstance(event, int | float):
                self.now = float(event)
            else:
                self.observe(event)


@pytest.fixture(name="meter")
def fixture_meter() -> Meter:
    return Meter()


def test_a_bounce_from_version_10_as_follower(meter: Meter) -> None:
    """It sends version 11, receives 10 without tasks, sends 10, and returns to 11 when all members support it."""
    meter.observe_all(
        JoinSent(reason=JoinReason.FIRST_JOIN, used_version=11, supported_version=11, subscription_size=90),
        assignment_received(
            reason=JoinReason.FIRST_JOIN,
            group_version=10,
            group_supported_version=10,
            follow_up=FollowUpReason.VERSION,
            tasks_dropped=True,
        ),
        RejoinRequested(reason=FollowUpReason.VERSION),
        JoinSent(reason=FollowUpReason.VERSION, used_version=10, supported_version=11, subscription_size=80),
        assignment_received(
            reason=FollowUpReason.VERSION, group_version=10, group_supported_version=10, active=tasks(0, 1)
        ),
        tasks_changed(assigned=tasks(0, 1)),
        assignment_received(
            group_version=10, group_supported_version=11, active=tasks(0, 1), follow_up=FollowUpReason.VERSION
        ),
    )
    assert (10, 11, 10, 11) == tuple(map(meter.of, (USED_VERSION, SUPPORTED, GROUP_VERSION, GROUP_SUPPORTED_VERSION)))

    meter.observe_all(
        RejoinRequested(reason=FollowUpReason.VERSION),
        JoinSent(reason=FollowUpReason.VERSION, used_version=11, supported_version=11, subscription_size=91),
        assignment_received(reason=FollowUpReason.VERSION, active=tasks(0, 1)),
    )
    assert (11, 11, 11, 11) == tuple(map(meter.of, (USED_VERSION, SUPPORTED, GROUP_VERSION, GROUP_SUPPORTED_VERSION)))
    assert {"first_join": 1, "version": 2, "rebalance_in_progress": 1} == meter.of(REBALANCES)
    assert {"first_join": 1, "version": 2} == meter.of(JOINS)
    assert {"version": 2} == meter.of(FOLLOW_UPS)
    assert 91 == meter.of(SUBSCRIPTION_SIZE)
    assert {"active": 2, "standby": 0, "warm_up": 0} == meter.of(TASKS)
    assert {} == meter.of(UNASSIGNED)


def test_the_time_without_tasks_includes_unstable_assignments(meter: Meter) -> None:
    meter.observe_all(
        tasks_changed(assigned=tasks(0)),
        10,
        tasks_changed(revoked=tasks(0)),
        12,
        assignment_received(follow_up=FollowUpReason.WITHHELD),
        13,
        assignment_received(tasks_dropped=True),
        14,
        assignment_received(active=tasks(1)),
        tasks_changed(assigned=tasks(1)),
        20,
        tasks_changed(lost=tasks(1)),
        27.5,
        tasks_changed(assigned=tasks(1)),
    )

    assert {"revoked": [4.0], "lost": [7.5]} == meter.of(UNASSIGNED)


def test_a_member_that_keeps_a_task_is_not_unassigned(meter: Meter) -> None:
    meter.observe_all(
        tasks_changed(assigned=tasks(0, 1)),
        1,
        tasks_changed(revoked=tasks(1)),
        5,
        tasks_changed(revoked=tasks(0), assigned=tasks(2)),
    )
    assert {} == meter.of(UNASSIGNED)


def test_a_stable_assignment_without_tasks_is_not_counted(meter: Meter) -> None:
    meter.observe_all(
        tasks_changed(assigned=tasks(0)),
        tasks_changed(revoked=tasks(0)),
        1,
        assignment_received(),
        999,
        tasks_changed(assigned=tasks(0)),
    )
    assert {} == meter.of(UNASSIGNED)


def test_replicas_are_warm_ups_only_without_configured_standbys(meter: Meter) -> None:
    meter.observe_all(assignment_received(standbys_are_warmups=True), tasks_changed(standby_added=tasks(0, 1)))
    assert {"active": 0, "standby": 0, "warm_up": 2} == meter.of(TASKS)

    meter.observe_all(
        assignment_received(standbys_are_warmups=True, active=tasks(0)),
        tasks_changed(standby_removed=tasks(0), assigned=tasks(0)),
    )
    assert {"active": 1, "standby": 0, "warm_up": 1} == meter.of(TASKS)
    assert {"standby_added": 2, "standby_removed": 1, "assigned": 1} == meter.of(TASKS_MOVED)

    other = Meter()
    other.observe_all(assignment_received(standbys_are_warmups=False), tasks_changed(standby_added=tasks(0, 1)))
    assert {"active": 0, "standby": 2, "warm_up": 0} == other.of(TASKS)


def test_only_the_leader_measures_its_group(meter: Meter) -> None:
    led = AssignmentComputed(subscription_sizes={"a": 70, "b": 90}, assignment_sizes={"a": 500, "b": 400}, seconds=0.25)
    meter.observe_all(led, assignment_received(is_leader=True))
    assert (1060, 570, [0.25]) == tuple(
        map(meter.of, (GROUP_METADATA_SIZE, LARGEST_MEMBER_METADATA, ASSIGNMENT_DURATION))
    )

    for ending in (assignment_received(is_leader=False), MemberClosed(lost=False)):
        meter.observe_all(led, ending)
        assert (0, 0) == (meter.of(GROUP_METADATA_SIZE), meter.of(LARGEST_MEMBER_METADATA))


def test_a_scheduled_follow_up_counts_when_it_is_due(meter: Meter) -> None:
    meter.observe_all(RejoinRequested(reason=FollowUpReason.PROBING, at_ms=10))
    assert {} == meter.of(FOLLOW_UPS)

    meter.observe_all(RejoinRequested(reason=FollowUpReason.PROBING))
    assert {"probing": 1} == meter.of(FOLLOW_UPS)


def test_the_events_of_a_process_are_no_samples(meter: Meter) -> None:
    for event in (MemberStarted("4.3.1", None, "an id"), RecordsProcessed("orders-0", 1, 2), MemberStopped("told to")):
        meter.observe(event)

    assert {} == meter.values


def test_a_failure_is_counted_by_the_name_of_kafkas_exception(meter: Meter) -> None:
    meter.observe_all(MemberFailed(FatalError("no", "MissingSourceTopicException")), MemberFailed(KeyError()))
    assert {"MissingSourceTopicException": 1, "KeyError": 1} == meter.of(FAILURES)


OWNED = st.builds(OwnedTasks, *[st.sets(st.integers(0, 5)).map(lambda numbers: tasks(*numbers))] * 2)


@given(st.lists(st.tuples(OWNED, st.booleans(), st.floats(0, 100))))
def test_the_gauges_match_the_tasks_and_no_time_is_counted_twice(steps: list[tuple[OwnedTasks, bool, float]]) -> None:
    meter, before, without, since = Meter(), OwnedTasks(), 0.0, None
    for held, lost, seconds in steps:
        meter.now += seconds
        changes = TaskChanges.between(before, held, lost=lost)
        if changes != TaskChanges():
            meter.observe_all(tasks_changed(**changes.by_kind()))
            assert (len(held.active), len(held.standby)) == (meter.of(TASKS)["active"], meter.of(TASKS)["standby"])
        if before.active and not held.active:
            since = meter.now
        elif held.active and since is not None:
            without, since = without + meter.now - since, None
        before = held

    assert without == pytest.approx(sum(sum(each) for each in meter.of(UNASSIGNED).values()))


def test_names_are_unique_and_have_no_unit() -> None:
    assert len(METRICS) == len({metric.name for metric in METRICS})
    assert [] == [metric.name for metric in METRICS if metric.name.endswith(("total", "seconds", "bytes"))]
    assert {InstrumentKind.HISTOGRAM} == {metric.kind for metric in METRICS if metric.bucket_bounds}
