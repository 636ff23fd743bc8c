"""Observers and properties of events."""

import logging

import pytest

from streams_assignor.errors import FatalError
from streams_assignor.observability.events import Event, MemberClosed, MemberFailed, combine_observers, isolate_errors
from streams_assignor.probing.follow_up import FollowUpReason
from tests.assignor.observability.event_factories import assignment_received


def test_an_exception_of_an_observer_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def failing(event: Event) -> None:
        observed.append(event)
        raise LookupError

    observed: list[Event] = []
    observe = isolate_errors(failing)
    with caplog.at_level(logging.ERROR, "streams_assignor"):
        for _ in range(3):
            observe(MemberClosed(lost=False))

    assert [MemberClosed(lost=False)] * 3 == observed
    assert 1 == len(caplog.records)


def test_combined_observers_are_isolated_and_each_failure_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def failing(_event: Event) -> None:
        raise LookupError

    observed: list[Event] = []
    observe = combine_observers(failing, observed.append, failing)
    with caplog.at_level(logging.ERROR, "streams_assignor"):
        for _ in range(2):
            observe(MemberClosed(lost=True))

    assert [MemberClosed(lost=True)] * 2 == observed
    assert 2 == len(caplog.records)


@pytest.mark.parametrize(
    ("follow_up", "dropped", "stable"),
    [
        (None, False, True),
        (FollowUpReason.PROBING, False, True),
        (FollowUpReason.WITHHELD, False, False),
        (FollowUpReason.VERSION, False, False),
        (FollowUpReason.VERSION, True, False),
        (None, True, False),
    ],
)
def test_an_assignment_is_stable_without_an_immediate_follow_up(
    follow_up: FollowUpReason | None, dropped: bool, stable: bool
) -> None:
    assert stable == assignment_received(follow_up=follow_up, tasks_dropped=dropped).is_stable


def test_a_failure_has_the_name_of_kafkas_exception() -> None:
    assert ["StreamsException", "KeyError"] == [
        MemberFailed(FatalError("no", "StreamsException")).exception_name,
        MemberFailed(KeyError()).exception_name,
    ]
