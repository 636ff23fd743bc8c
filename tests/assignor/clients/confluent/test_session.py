"""How long a member owns its tasks for certain."""

import math

import pytest

from assignor.clients.confluent import _session
from assignor.clients.confluent._session import Session

SECONDS = 10.0


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture(name="clock")
def fixture_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(_session, "now", clock)
    return clock


@pytest.fixture(name="session")
def fixture_session(clock: Clock) -> Session:
    session = Session(SECONDS)
    session.join_began(lost=False)
    clock.time += 1
    session.assigned()
    return session


def test_nothing_is_in_doubt_before_the_first_assignment(clock: Clock) -> None:
    session = Session(SECONDS)
    clock.time += 1000
    assert not session.in_doubt
    session.heartbeat_answered()
    assert math.inf == session.expires_at


def test_a_heartbeat_proves_something_about_the_time_when_it_was_sent(session: Session, clock: Clock) -> None:
    """Its answer may have waited in the socket while this process was suspended."""
    session.heartbeat_sent()
    clock.time += SECONDS
    session.heartbeat_answered()
    assert session.in_doubt
    session.heartbeat_sent()
    session.heartbeat_answered()
    assert not session.in_doubt


def test_doubt_becomes_an_error_after_twice_the_session_timeout(session: Session, clock: Clock) -> None:
    clock.time += SECONDS
    assert session.in_doubt
    clock.time += 2 * SECONDS
    assert not session.in_long_doubt
    clock.time += 0.1
    assert session.in_long_doubt


def test_a_long_join_is_no_reason_for_doubt(session: Session, clock: Clock) -> None:
    session.join_began(lost=False)
    for _ in range(100):
        clock.time += SECONDS / 5
        session.tick(joining=True)
        assert not session.in_doubt
    session.assigned()
    assert clock.time + SECONDS == session.expires_at


def test_a_pause_during_a_join_is(session: Session, clock: Clock) -> None:
    """The assignment may have waited in the socket: only a heartbeat proves that the member is still in the group."""
    session.join_began(lost=False)
    clock.time += SECONDS + 1
    assert session.in_doubt
    session.tick(joining=True)
    assert session.in_doubt
    session.assigned()
    assert session.in_doubt
    session.heartbeat_sent()
    session.heartbeat_answered()
    assert not session.in_doubt


def test_a_member_that_owns_nothing_is_not_in_doubt(session: Session, clock: Clock) -> None:
    clock.time += 1000
    session.join_began(lost=True)
    assert not session.in_doubt
    session.assigned()
    assert clock.time + SECONDS == session.expires_at


def test_a_fenced_member_owns_nothing_any_more(session: Session) -> None:
    session.fence()
    session.heartbeat_sent()
    session.heartbeat_answered()
    session.join_began(lost=True)
    session.assigned()
    assert session.in_doubt
    assert not session.in_long_doubt  # the FatalError says more
