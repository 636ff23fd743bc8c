"""The session of one member, with a clock of its own."""

import pytest

from streams_assignor.clients._session import IN_DOUBT, Session, excessive_doubt, fenced
from streams_assignor.clients.adapter import ClientAdapter
from streams_assignor.errors import FatalError
from streams_assignor.observability.events import MemberFailed
from streams_assignor.topology import Subtopology, Topology


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
    assert not session.doubt_is_excessive()


def test_doubt_for_longer_than_two_session_timeouts_is_excessive(session: Session, clock: Clock) -> None:
    session.begin(clock.now)
    clock.now += 1000  # suspended: the doubt begins when it is seen
    assert not session.doubt_is_excessive()
    clock.now += 20
    assert not session.doubt_is_excessive()
    clock.now += 0.1
    assert session.doubt_is_excessive()


def test_doubt_that_ends_begins_anew(session: Session, clock: Clock) -> None:
    session.begin(clock.now)
    for _ in range(3):
        clock.now += 15
        assert not session.doubt_is_excessive()
        session.confirm(clock.now)
        assert not session.doubt_is_excessive()


def test_a_doubt_that_was_not_seen_to_end_begins_anew(session: Session, clock: Clock) -> None:
    """The thread that reads asks only in doubt."""
    session.begin(clock.now)
    for _ in range(3):
        clock.now += 15
        assert not session.doubt_is_excessive()
        clock.now += 10
        session.confirm(clock.now)


def test_the_error_of_excessive_doubt_says_what_to_do() -> None:
    error = excessive_doubt(10)
    assert ("TimeoutException", IN_DOUBT) == (error.kafka_exception, error.code)
    assert "no heartbeat for more than 3 session timeouts of 10 s" in str(error)


def test_a_long_join_is_no_reason_for_doubt(session: Session, clock: Clock) -> None:
    """A member that keeps its tasks reads on; the coordinator waits for it as long as the slowest member takes."""
    session.begin(clock.now)
    for _ in range(100):
        clock.now += 2
        session.await_join()
        assert session.is_certain()
    session.confirm(clock.now - 9)  # the answer to an old heartbeat takes nothing away
    clock.now += 10
    assert session.is_certain()


def test_a_pause_during_a_join_is(session: Session, clock: Clock) -> None:
    """The answer to SyncGroup may have waited in the socket: only a request that is sent afterwards is a proof."""
    session.begin(clock.now)
    session.await_join()
    sent_at = session.now()
    clock.now += 10.1
    assert session.in_doubt
    session.await_join()
    assert session.in_doubt
    session.begin(sent_at)
    assert session.in_doubt
    session.confirm(session.now())
    assert session.is_certain()


def test_a_sync_group_that_is_sent_after_a_pause_is_a_proof(session: Session, clock: Clock) -> None:
    session.begin(clock.now)
    clock.now += 1000
    session.begin(session.now())
    assert session.is_certain()


def test_a_member_that_owns_nothing_keeps_nothing_while_it_joins(session: Session) -> None:
    session.await_join()
    assert not session.is_certain()
    session.begin(session.now())
    session.suspend()
    session.await_join()
    assert not session.is_certain()


def test_a_fenced_member_owns_nothing_any_more(session: Session, clock: Clock) -> None:
    session.begin(clock.now)
    session.end()
    session.confirm(session.now())
    session.await_join()
    session.begin(session.now())
    clock.now += 1000
    assert (False, False) == (session.is_certain(), session.doubt_is_excessive())  # the FatalError says more


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


def test_a_member_may_survive_excessive_doubt(
    adapter: Adapter, session: Session, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `StreamsConsumer` raises the error in `poll` as long as it lasts."""
    monkeypatch.setattr(Adapter, "fails_in_doubt", False)
    session.begin(clock.now)
    for seconds in (15, 30, 30):
        clock.now += seconds
        adapter.raise_failure()
    assert adapter.failure is None


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
