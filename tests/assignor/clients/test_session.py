"""The session of one member, with a clock of its own."""

import pytest

from assignor.clients._session import IN_DOUBT, Session, fenced
from assignor.clients.adapter import ClientAdapter
from assignor.errors import FatalError
from assignor.observability.events import MemberFailed
from assignor.topology import Subtopology, Topology


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(name="clock")
def fixture_clock() -> Clock:
    return Clock()


@pytest.fixture(name="session")
def fixture_session(clock: Clock) -> Session:
    session = Session(clock)
    session.timeout_seconds = 10
    return session


def test_a_member_that_has_not_joined_delivers_nothing_and_is_not_in_doubt(session: Session) -> None:
    assert (False, False) == (session.is_certain(), session.in_doubt)


def test_a_session_counts_from_the_time_a_heartbeat_was_sent(session: Session, clock: Clock) -> None:
    session.begin(clock.now)
    clock.now += 9
    sent_at = session.now()
    clock.now += 10.5  # the process was suspended while the answer was on its way
    session.confirm(sent_at)
    assert (False, True) == (session.is_certain(), session.in_doubt)
    session.confirm(session.now())
    assert (True, False) == (session.is_certain(), session.in_doubt)


def test_an_older_heartbeat_does_not_set_a_session_back(session: Session, clock: Clock) -> None:
    session.begin(clock.now)
    session.confirm(clock.now - 20)
    assert session.is_certain()


def test_a_heartbeat_from_before_a_rejoin_confirms_nothing(session: Session, clock: Clock) -> None:
    session.begin(clock.now)
    session.suspend()
    session.confirm(clock.now)
    clock.now += 1000  # a rejoin may take as long as the slowest member
    assert (False, False) == (session.is_certain(), session.in_doubt)
    assert session.excessive_doubt() is None


def test_doubt_for_longer_than_two_session_timeouts_is_an_error(session: Session, clock: Clock) -> None:
    session.begin(clock.now)
    clock.now += 1000  # suspended: the doubt begins when it is seen
    assert session.excessive_doubt() is None
    clock.now += 20
    assert session.excessive_doubt() is None
    clock.now += 0.1
    assert (error := session.excessive_doubt())
    assert ("TimeoutException", IN_DOUBT) == (error.kafka_exception, error.code)
    assert "no heartbeat for more than 3 session timeouts of 10 s" in str(error)


def test_doubt_that_ends_begins_anew(session: Session, clock: Clock) -> None:
    session.begin(clock.now)
    for _ in range(3):
        clock.now += 15
        assert session.excessive_doubt() is None
        session.confirm(clock.now)
        assert session.excessive_doubt() is None


class Adapter(ClientAdapter):
    def rejoin(self) -> None:
        raise NotImplementedError

    leave_and_join = call_later = rejoin  # type: ignore[assignment]


@pytest.fixture(name="events")
def fixture_events() -> list[object]:
    return []


@pytest.fixture(name="adapter")
def fixture_adapter(session: Session, events: list[object]) -> Adapter:
    adapter = Adapter(Topology.of(Subtopology(sources=["orders"])), observer=events.append)
    adapter.session = session
    return adapter


def test_excessive_doubt_terminates_the_member(
    adapter: Adapter, session: Session, clock: Clock, events: list[object]
) -> None:
    session.begin(clock.now)
    for seconds in (5, 6, 21):
        adapter.raise_failure()
        clock.now += seconds
    for _ in range(2):
        with pytest.raises(FatalError, match="TimeoutException"):
            adapter.raise_failure()
        session.confirm(clock.now)  # too late
    assert [MemberFailed(adapter.failure)] == events


def test_a_fenced_member_delivers_nothing_and_raises_for_ever(
    adapter: Adapter, session: Session, clock: Clock, events: list[object]
) -> None:
    session.begin(clock.now)
    adapter.on_fenced("one")
    adapter.on_fenced("one")
    assert not session.is_certain()
    for _ in range(2):
        with pytest.raises(FatalError, match=r"FencedInstanceIdException: .*group.instance.id 'one'"):
            adapter.raise_failure()
    assert [MemberFailed(adapter.failure)] == events
    assert "FencedInstanceIdException" == fenced("one").code
