"""What the events of a member are in numbers."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor.errors import FatalError
from assignor.metrics import (
    ASSIGNING,
    DEATHS,
    FOLLOW_UPS,
    GROUP,
    GROUP_SIZE,
    GROUP_SUPPORTED,
    JOINS,
    LARGEST,
    LATEST,
    METRICS,
    REBALANCES,
    SUBSCRIPTION,
    TASKS,
    TASKS_MOVED,
    UNASSIGNED,
    USED,
    Kind,
    Measuring,
    Metric,
)
from assignor.observing import Cause, Died, Ended, Event, JoinSent, Led, Rejoining
from assignor.task_listener import Changes, Held
from probing.follow_up import Reason
from tests.assignor.events import an_assignment, moved, tasks

Series = tuple[Metric, tuple[str, ...]]


class Meter:
    """A metrics library as small as can be, and a clock that is set by hand."""

    def __init__(self) -> None:
        self.values: dict[Series, Any] = {}
        self.now = 0.0
        self.observe = Measuring(self._record, lambda: self.now)

    def _record(self, metric: Metric, value: float, attributes: Mapping[str, str]) -> None:
        assert metric.attributes == tuple(attributes)
        series = metric, tuple(attributes.values())
        match metric.kind:
            case Kind.COUNTER:
                self.values[series] = self.values.get(series, 0) + value
            case Kind.GAUGE:
                self.values[series] = value
            case Kind.HISTOGRAM:
                self.values.setdefault(series, []).append(value)

    def of(self, metric: Metric) -> Any:
        """Its values by their attributes; if it has none, its value."""
        # A list, as another thread may add to the values meanwhile.
        found = {
            " ".join(attributes): value for (each, attributes), value in list(self.values.items()) if each is metric
        }
        return found if metric.attributes else found.get("")

    def hear(self, *events: Event | float) -> None:
        """Take in events, at the times between them."""
        for event in events:
            if isinstance(event, int | float):
                self.now = float(event)
            else:
                self.observe(event)


@pytest.fixture(name="meter")
def fixture_meter() -> Meter:
    return Meter()


def test_a_bounce_from_version_10_as_follower(meter: Meter) -> None:
    """It starts with version 11, is answered with nothing but 10, comes down, and rises when all have come."""
    meter.hear(
        JoinSent(cause=Cause.FIRST_JOIN, used=11, latest=11, size=90),
        an_assignment(cause=Cause.FIRST_JOIN, version=10, supported=10, follow_up=Reason.VERSION, dropped=True),
        Rejoining(cause=Reason.VERSION),
        JoinSent(cause=Reason.VERSION, used=10, latest=11, size=80),
        an_assignment(cause=Reason.VERSION, version=10, supported=10, active=tasks(0, 1)),
        moved(assigned=tasks(0, 1)),
        an_assignment(version=10, supported=11, active=tasks(0, 1), follow_up=Reason.VERSION),
    )
    assert (10, 11, 10, 11) == tuple(map(meter.of, (USED, LATEST, GROUP, GROUP_SUPPORTED)))

    meter.hear(
        Rejoining(cause=Reason.VERSION),
        JoinSent(cause=Reason.VERSION, used=11, latest=11, size=91),
        an_assignment(cause=Reason.VERSION, active=tasks(0, 1)),
    )
    assert (11, 11, 11, 11) == tuple(map(meter.of, (USED, LATEST, GROUP, GROUP_SUPPORTED)))
    assert {"first_join": 1, "version": 2, "asked": 1} == meter.of(REBALANCES)
    assert {"first_join": 1, "version": 2} == meter.of(JOINS)
    assert {"version": 2} == meter.of(FOLLOW_UPS)
    assert 91 == meter.of(SUBSCRIPTION)
    assert {"active": 2, "standby": 0, "warm_up": 0} == meter.of(TASKS)
    assert {} == meter.of(UNASSIGNED)


def test_the_time_without_tasks_goes_on_through_answers_that_are_followed_by_others(meter: Meter) -> None:
    meter.hear(
        moved(assigned=tasks(0)),
        10,
        moved(revoked=tasks(0)),
        12,
        an_assignment(follow_up=Reason.WITHHELD),
        13,
        an_assignment(dropped=True),
        14,
        an_assignment(active=tasks(1)),
        moved(assigned=tasks(1)),
        20,
        moved(lost=tasks(1)),
        27.5,
        moved(assigned=tasks(1)),
    )

    assert {"revoked": [4.0], "lost": [7.5]} == meter.of(UNASSIGNED)


def test_who_keeps_a_task_is_never_without(meter: Meter) -> None:
    meter.hear(moved(assigned=tasks(0, 1)), 1, moved(revoked=tasks(1)), 5, moved(revoked=tasks(0), assigned=tasks(2)))
    assert {} == meter.of(UNASSIGNED)


def test_who_is_not_needed_misses_nothing(meter: Meter) -> None:
    meter.hear(moved(assigned=tasks(0)), moved(revoked=tasks(0)), 1, an_assignment(), 999, moved(assigned=tasks(0)))
    assert {} == meter.of(UNASSIGNED)


def test_copies_are_warm_ups_only_where_no_standby_is_asked_for(meter: Meter) -> None:
    meter.hear(an_assignment(warming=True), moved(standby_added=tasks(0, 1)))
    assert {"active": 0, "standby": 0, "warm_up": 2} == meter.of(TASKS)

    meter.hear(an_assignment(warming=True, active=tasks(0)), moved(standby_removed=tasks(0), assigned=tasks(0)))
    assert {"active": 1, "standby": 0, "warm_up": 1} == meter.of(TASKS)
    assert {"standby_added": 2, "standby_removed": 1, "assigned": 1} == meter.of(TASKS_MOVED)

    other = Meter()
    other.hear(an_assignment(warming=False), moved(standby_added=tasks(0, 1)))
    assert {"active": 0, "standby": 2, "warm_up": 0} == other.of(TASKS)


def test_a_leader_measures_its_group_and_nobody_else_does(meter: Meter) -> None:
    led = Led(heard={"a": 70, "b": 90}, said={"a": 500, "b": 400}, seconds=0.25)
    meter.hear(led, an_assignment(leads=True))
    assert (1060, 570, [0.25]) == tuple(map(meter.of, (GROUP_SIZE, LARGEST, ASSIGNING)))

    for ending in (an_assignment(leads=False), Ended(lost=False)):
        meter.hear(led, ending)
        assert (0, 0) == (meter.of(GROUP_SIZE), meter.of(LARGEST))


def test_a_follow_up_that_is_put_off_counts_when_its_time_has_come(meter: Meter) -> None:
    meter.hear(Rejoining(cause=Reason.PROBING, at_ms=10))
    assert {} == meter.of(FOLLOW_UPS)

    meter.hear(Rejoining(cause=Reason.PROBING))
    assert {"probing": 1} == meter.of(FOLLOW_UPS)


def test_a_death_is_counted_by_the_name_that_kafka_gives_it(meter: Meter) -> None:
    meter.hear(Died(FatalError("no", "MissingSourceTopicException")), Died(KeyError()))
    assert {"MissingSourceTopicException": 1, "KeyError": 1} == meter.of(DEATHS)


HELD = st.builds(Held, *[st.sets(st.integers(0, 5)).map(lambda numbers: tasks(*numbers))] * 2)


@given(st.lists(st.tuples(HELD, st.booleans(), st.floats(0, 100))))
def test_the_gauges_say_what_it_has_and_no_time_is_counted_twice(steps: list[tuple[Held, bool, float]]) -> None:
    meter, before, without, since = Meter(), Held(), 0.0, None
    for held, lost, seconds in steps:
        meter.now += seconds
        changes = Changes.between(before, held, lost=lost)
        if changes != Changes():
            meter.hear(moved(**changes.named()))
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
    assert {Kind.HISTOGRAM} == {metric.kind for metric in METRICS if metric.bounds}
