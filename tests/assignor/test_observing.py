"""An observer only looks on."""

import logging

import pytest

from assignor.errors import FatalError
from assignor.observing import Died, Ended, Event, harmless, together
from probing.follow_up import Reason
from tests.assignor.events import an_assignment


def test_an_observer_that_raises_hurts_nobody_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def failing(event: Event) -> None:
        heard.append(event)
        raise LookupError

    heard: list[Event] = []
    observe = harmless(failing)
    with caplog.at_level(logging.ERROR, "assignor"):
        for _ in range(3):
            observe(Ended(lost=False))

    assert [Ended(lost=False)] * 3 == heard
    assert 1 == len(caplog.records)


def test_several_observers_do_not_hurt_each_other_and_each_is_complained_of(caplog: pytest.LogCaptureFixture) -> None:
    def failing(_event: Event) -> None:
        raise LookupError

    heard: list[Event] = []
    observe = together(failing, heard.append, failing)
    with caplog.at_level(logging.ERROR, "assignor"):
        for _ in range(2):
            observe(Ended(lost=True))

    assert [Ended(lost=True)] * 2 == heard
    assert 2 == len(caplog.records)


@pytest.mark.parametrize(
    ("follow_up", "dropped", "settled"),
    [
        (None, False, True),
        (Reason.PROBING, False, True),
        (Reason.WITHHELD, False, False),
        (Reason.VERSION, False, False),
        (Reason.VERSION, True, False),
        (None, True, False),
    ],
)
def test_an_answer_is_settled_if_nothing_has_to_follow_at_once(
    follow_up: Reason | None, dropped: bool, settled: bool
) -> None:
    assert settled == an_assignment(follow_up=follow_up, dropped=dropped).settled


def test_a_death_has_the_name_that_kafka_gives_it() -> None:
    assert ["StreamsException", "KeyError"] == [
        Died(FatalError("no", "StreamsException")).kafka,
        Died(KeyError()).kafka,
    ]
