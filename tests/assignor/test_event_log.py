"""The lines that a member logs."""

import json
import logging
from typing import Any

import pytest

from assignor import event_log
from assignor.errors import FatalError
from assignor.event_log import fields_of
from assignor.observing import Cause, Died, Ended, Event, JoinSent, Led, Rejoining
from probing.follow_up import Reason
from tests.assignor.events import an_assignment, moved, tasks

WHO = {"process_id": "1b4e28ba-2fa1", "client_id": "c-1"}
EVENTS: list[tuple[Event, dict[str, Any]]] = [
    (
        JoinSent(cause=Cause.LOST, used=3, latest=11, size=90),
        {"event": "join_sent", "cause": "lost", "used_version": 3, "latest_version": 11, "subscription_bytes": 90},
    ),
    (
        Led(heard={"a-secret": 4, "b": 5}, said={"a-secret": 7, "b": 1}, seconds=0.25),
        {
            "event": "led",
            "members": 2,
            "seconds": 0.25,
            "subscription_bytes": 9,
            "assignment_bytes": 8,
            "largest_bytes": 11,
        },
    ),
    (
        an_assignment(active=tasks(10, 9), standby=tasks(1), follow_up=Reason.PROBING),
        {
            "event": "assigned",
            "cause": "asked",
            "generation": 3,
            "leads": False,
            "group_version": 11,
            "supported_version": 11,
            "active": ["0_9", "0_10"],
            "standby": ["0_1"],
            "dropped": False,
            "follow_up": "probing",
        },
    ),
    (
        moved(lost=tasks(1, 0), standby_added=tasks(2)),
        {"event": "moved", "lost": ["0_0", "0_1"], "standby_added": ["0_2"]},
    ),
    (
        Rejoining(cause=Reason.PROBING, at_ms=17),
        {"event": "rejoining", "cause": "probing", "leaves": False, "at_ms": 17},
    ),
    (
        Died(FatalError("no topic", "MissingSourceTopicException")),
        {
            "event": "died",
            "error_type": "MissingSourceTopicException",
            "error": "MissingSourceTopicException: no topic",
        },
    ),
    (Ended(lost=True), {"event": "ended", "lost": True}),
]


@pytest.mark.parametrize(("event", "expected"), EVENTS, ids=[fields["event"] for _, fields in EVENTS])
def test_a_line_has_the_facts_as_fields_and_in_words(
    event: Event, expected: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "assignor"):
        event_log.observer(lambda: WHO)(event)

    (record,) = caplog.records
    assert {**WHO, **expected}.items() <= vars(record).items()
    assert record.getMessage().startswith(f"c-1 1b4e28ba {expected['event']}")
    assert ("assignor", "ERROR" if expected["event"] == "died" else "INFO") == (record.name, record.levelname)
    assert expected == json.loads(json.dumps(fields_of(event)))
    assert ("seconds=0.250 " in record.getMessage()) == (expected["event"] == "led")
    assert "a-secret" not in record.getMessage()


def test_copies_are_called_warm_ups_where_they_can_be_nothing_else() -> None:
    fields = fields_of(an_assignment(standby=tasks(1), warming=True))
    assert (["0_1"], False) == (fields["warm_up"], "standby" in fields)


def test_nothing_is_worked_out_that_nobody_wants_but_a_death_is_told(caplog: pytest.LogCaptureFixture) -> None:
    def named() -> dict[str, str]:
        asked.append(1)
        return {"process_id": "1b4e"}

    asked: list[int] = []
    log = event_log.observer(named)
    with caplog.at_level(logging.WARNING, "assignor"):
        log(Ended(lost=False))
        assert [] == asked
        log(Died(KeyError("x")))

    assert ["1b4e died error_type=KeyError error='x'"] == [record.getMessage() for record in caplog.records]
