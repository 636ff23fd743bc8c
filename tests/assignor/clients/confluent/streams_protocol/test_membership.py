"""The membership of a streams group with a coordinator that answers as the test says."""

from threading import Event
from types import SimpleNamespace

import kafka
import pytest
from confluent_kafka import KafkaError, KafkaException

from streams_assignor import FatalError, Subtopology, Topology
from streams_assignor.clients.confluent import _membership
from streams_assignor.clients.confluent.streams_protocol._membership import _Commit
from streams_assignor.clients.kafka_python.group_coordinator import CoordinatorUnavailable, HeartbeatUnsupported
from streams_assignor.codec import TaskId
from streams_assignor.observability.events import MemberClosed, MemberFailed
from streams_assignor.streams_group import StreamsMemberState
from tests.assignor.clients.confluent.streams_protocol.fake_coordinator import (
    TIMEOUT_SECONDS,
    FakeCoordinator,
    User,
    until,
)
from tests.assignor.clients.confluent.test_fetcher import records
from tests.assignor.clients.recording_listener import RecordingListener
from tests.assignor.streams_group.coordinator import owned, response

OFFSETS = {("orders", 0): (7, "")}


def stable(user: User, *tasks: str) -> None:
    """Wait until it has these tasks and has acknowledged them."""
    user.poll_until(lambda: user.tasks == set(tasks) and user.membership.member.state is StreamsMemberState.STABLE)


def test_it_joins_acknowledges_its_tasks_and_leaves():
    coordinator = FakeCoordinator("0_0", "0_1")
    with User(coordinator) as user:
        stable(user, "0_0", "0_1")
        assert 60 == user.membership.session.timeout_seconds
        assert user.membership.session.is_certain()
        assert (1, "m") == (user.membership.generation.generation_id, user.membership.generation.member_id)
    user.run_callbacks()

    assert [0, 1, -1] == list(dict.fromkeys(each["memberEpoch"] for each in coordinator.requests))
    assert {"0": [0, 1]} in [owned(each) for each in coordinator.requests]
    assert ["assigned", "revoked"] == user.listener.callback_names
    assert MemberClosed(lost=False) == user.events[-1]
    assert coordinator.closed
    assert not user.membership.session.is_certain()


def test_without_the_right_to_read_it_assumes_the_default_session_timeout():
    coordinator = FakeCoordinator("0_0")
    coordinator.session_ms = None
    with User(coordinator) as user:
        stable(user, "0_0")

        assert 45 == user.membership.session.timeout_seconds


def test_an_answer_counts_although_the_session_timeout_cannot_be_read():
    coordinator = FakeCoordinator("0_0")
    coordinator.sessions.extend([CoordinatorUnavailable("cut"), CoordinatorUnavailable("cut"), 30_000])
    with User(coordinator) as user:
        stable(user, "0_0")
        until(lambda: user.membership.session.timeout_seconds == 30)

    assert 1 == sum(each["memberEpoch"] == 0 for each in coordinator.requests)
    assert ["assigned", "revoked"] == user.listener.callback_names[:2]


def test_an_unknown_session_timeout_is_only_known_to_be_longer_than_the_heartbeat_interval():
    """A group of 6 s would give the tasks of a member that assumes 45 s to another one."""
    coordinator = FakeCoordinator("0_0")
    coordinator.sessions.append(CoordinatorUnavailable("cut"))
    coordinator.interval_ms = 5_000
    with User(coordinator) as user:
        session = user.membership.session
        before = session.now()
        until(lambda: session.certain_until > before)

        assert session.certain_until <= session.now() + 5


def test_a_session_timeout_of_another_coordinator_that_is_shorter_counts_at_once():
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        stable(user, "0_0")
        coordinator.session_ms, coordinator.server = 30_000, "broker:2"
        session = user.membership.session
        until(lambda: session.timeout_seconds == 30)
        until(session.is_certain)

        assert session.certain_until <= session.now() + 30


def test_after_a_lost_connection_it_sends_its_tasks_again():
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        stable(user, "0_0")
        before = len(coordinator.requests)
        coordinator.answers.append(CoordinatorUnavailable("cut"))
        user.poll_until(lambda: {"0": [0]} in [owned(each) for each in coordinator.requests[before:]])


def test_a_fenced_member_loses_its_tasks_and_rejoins():
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        stable(user, "0_0")
        coordinator.tasks, coordinator.epoch = ("0_1",), 5
        coordinator.answers.append(response(error=110))
        until(lambda: not user.membership.session.is_certain())
        stable(user, "0_1")

        assert ["assigned", "lost", "assigned"] == user.listener.callback_names
        assert 5 == user.membership.generation.generation_id


def test_tasks_that_are_given_up_after_the_session_are_lost():
    """The process was suspended in the meantime, so the revocation comes late."""
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        stable(user, "0_0")
        coordinator.answers.append(response(2, [], interval_ms=60_000))
        until(lambda: len(user.membership.callbacks) == 1)
        user.membership._ownership.suspend()
        user.poll_until(lambda: not user.tasks)

        assert ["assigned", "lost"] == user.listener.callback_names


def test_no_record_is_returned_while_the_group_is_not_ready():
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        stable(user, "0_0")
        coordinator.statuses = {3: "counts is missing"}
        until(lambda: not user.membership.session.is_certain())
        coordinator.statuses = {}
        user.poll_until(user.membership.session.is_certain)

        assert ["assigned"] == user.listener.callback_names


@pytest.mark.parametrize(("code", "exception"), [(2, "TopologyException"), (4, "StreamsException")])
def test_a_fatal_status_makes_it_revoke_and_leave(code, exception):
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        stable(user, "0_0")
        coordinator.answers.append(response(1, interval_ms=20, statuses={code: "why"}))
        for _ in range(2):
            with pytest.raises(FatalError, match="why") as raised:
                user.poll_until(lambda: False)
        assert -1 == coordinator.requests[-1]["memberEpoch"]
        assert exception == raised.value.kafka_exception
        assert ["assigned", "revoked"] == user.listener.callback_names
        assert MemberFailed(raised.value) in user.events
        with pytest.raises(FatalError):
            user.membership.require_joined()
        user.membership.callbacks.clear()


def test_a_fatal_error_makes_it_lose_its_tasks():
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        stable(user, "0_0")
        coordinator.answers.append(response(error=30, message="not you"))
        with pytest.raises(FatalError, match="not you"):
            user.poll_until(lambda: False)

        assert ["assigned", "lost"] == user.listener.callback_names
        assert user.membership.view.failure is user.membership.failure
        user.membership.callbacks.clear()


@pytest.mark.parametrize(
    ("answer", "message"),
    [(HeartbeatUnsupported("broker:1"), "broker:1: .* Kafka 4.2"), (ValueError("odd bytes"), "odd bytes")],
)
def test_an_answer_that_it_cannot_work_with_ends_it(answer, message):
    coordinator = FakeCoordinator()
    coordinator.answers.append(answer)
    with User(coordinator) as user:
        with pytest.raises(FatalError, match=message):
            user.poll_until(lambda: False)
        user.membership.callbacks.clear()


def test_a_refused_topic_is_reported_once_until_the_user_polls():
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        stable(user, "0_0")
        before = len(coordinator.requests)
        coordinator.answers.extend(response(error=29, message="orders") for _ in range(2))
        until(lambda: len(coordinator.requests) > before + 2)
        with pytest.raises(KafkaException, match="orders"):
            user.run_callbacks()
        user.run_callbacks()

        assert {"0_0"} == user.tasks


@pytest.mark.parametrize(("code", "forgotten"), [(16, 1), (14, 0)])
def test_only_another_coordinator_is_looked_up(code, forgotten):
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        stable(user, "0_0")
        before = len(coordinator.requests)
        coordinator.answers.append(response(error=code))
        until(lambda: len(coordinator.requests) > before + 1)

        assert forgotten == coordinator.forgotten


# -- commits -----------------------------------------------------------------------------------------------------------


def test_a_commit_has_the_member_id_and_the_epoch():
    coordinator = FakeCoordinator("0_0")
    user = User(coordinator)
    with pytest.raises(kafka.errors.CommitFailedError):
        user.membership.commit(OFFSETS, TIMEOUT_SECONDS)
    with user:
        stable(user, "0_0")
        user.membership.commit(OFFSETS, TIMEOUT_SECONDS)

    assert [(("billing", 1, "m"), OFFSETS)] == coordinator.commits


def test_a_commit_with_a_stale_epoch_is_repeated_with_that_of_a_heartbeat():
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        stable(user, "0_0")
        coordinator.commit_codes.append(113)
        coordinator.epoch = 2
        user.membership.commit(OFFSETS, TIMEOUT_SECONDS)

        assert 2 == coordinator.commits[-1][0][1]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (25, kafka.errors.UnknownMemberIdError),
        (16, kafka.errors.NotCoordinatorError),
        (CoordinatorUnavailable("cut"), CoordinatorUnavailable),
    ],
)
def test_a_refused_commit_is_reported(code, error):
    coordinator = FakeCoordinator("0_0")
    answered = []
    with User(coordinator) as user:
        stable(user, "0_0")
        coordinator.commit_codes.append(code)
        user.membership._send_commit(OFFSETS, answered.append, lambda: True)
        until(lambda: bool(answered))

        assert isinstance(answered[0], error)


def test_a_commit_of_partitions_that_have_gone_is_not_sent():
    coordinator = FakeCoordinator("0_0")
    answered = []
    with User(coordinator) as user:
        stable(user, "0_0")
        user.membership._send_commit(OFFSETS, answered.append, lambda: False)
        until(lambda: bool(answered))
    user.membership._send_commit(OFFSETS, answered.append, lambda: True)

    assert [kafka.errors.CommitFailedError, kafka.errors.KafkaConnectionError] == list(map(type, answered))
    assert [] == coordinator.commits


def test_a_commit_waits_for_the_pause_after_the_last_one_and_heartbeats_go_on():
    """A loop that commits each 500 records sent a request per millisecond, and took 1.2 times the CPU of a Consumer."""
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        stable(user, "0_0")
        user.membership._next_commit = float("inf")
        user.membership._send_commit(OFFSETS, print, lambda: True)
        before = len(coordinator.requests)
        until(lambda: len(coordinator.requests) > before + 1)
        early = list(coordinator.commits)
        user.membership._next_commit = 0
        until(lambda: bool(coordinator.commits))

    assert [] == early
    assert user.membership._next_commit > 0


def test_commits_that_wait_at_the_end_are_answered():
    answered = []
    user = User(FakeCoordinator("0_0"))
    user.membership._commits.append(_Commit(OFFSETS, answered.append, lambda: True))
    user.membership._refuse_commits()

    assert [kafka.errors.KafkaConnectionError] == list(map(type, answered))


def test_commits_that_always_wait_do_not_delay_a_heartbeat():
    """The session of a member that commits each record ended, so that for a moment two members owned its tasks."""
    membership = User(FakeCoordinator("0_0")).membership
    membership._commits.append(_Commit(OFFSETS, print, lambda: True))
    membership.member = membership.member.subscribe()

    assert membership._heartbeat == membership._next_job()


def test_commits_under_way_are_answered_before_a_task_is_given_up():
    """A commit behind another one waits for its answer; whoever has the task next starts from what is committed."""
    coordinator, finishing, sent = FakeCoordinator("0_0"), Event(), []
    fetcher, _ = records({0: 5})
    user = User(coordinator, listener=fetcher)
    committer = user.membership.committer

    def commit(_identity, offsets, _seconds):
        assert finishing.wait(TIMEOUT_SECONDS)
        sent.append((dict(offsets), [*fetcher.tasks], len(coordinator.requests)))
        return 0

    def finish(*, lost):
        assert not lost
        finishing.set()
        committer.finish(TIMEOUT_SECONDS, AssertionError())

    coordinator.commit, fetcher._finish_commits = commit, finish
    with user:
        user.poll_until(lambda: bool(fetcher.tasks))
        coordinator.answers.append(response(2, []))
        until(lambda: bool(user.membership.callbacks))
        for offset in (7, 8):
            committer.commit({("orders", 0): (offset, "")})
        user.poll_until(lambda: {} in [owned(each) for each in coordinator.requests[1:]])

    given_up = [owned(each) for each in coordinator.requests].index({}, 1)
    assert [{("orders", 0): (offset, "")} for offset in (7, 8)] == [offsets for offsets, _, _ in sent]
    assert all(tasks and requests <= given_up for _, tasks, requests in sent)


def test_nothing_is_committed_outside_the_group():
    coordinator = FakeCoordinator()
    user = User(coordinator)

    assert coordinator.identity() is None
    assert not user.membership._commit_now(OFFSETS, 1)


def test_a_commit_that_does_not_wait_for_the_next_heartbeat_has_its_offsets():
    user = User(FakeCoordinator())
    user.membership._commit_connection = SimpleNamespace(commit=lambda *given: given)

    assert (OFFSETS, 1) == user.membership._commit_now(OFFSETS, 1)


class Restored(RecordingListener):
    """Has a part of one task on its disk."""

    def offset_sums(self):
        return {TaskId(0, 0): 7, TaskId(0, 1): -2}


def test_it_reports_the_offsets_of_tasks_when_it_joins_and_in_the_interval_of_the_coordinator():
    coordinator = FakeCoordinator("0_0")
    with User(coordinator, listener=Restored()) as user:
        user.poll_until(lambda: len(coordinator.requests) > 3)
        sent = [request["taskOffsets"] for request in coordinator.requests[:4]]
        user.membership._offsets_due_ms = 0
        known = len(coordinator.requests)
        user.poll_until(lambda: len(coordinator.requests) > known + 1)
        later = [request["taskOffsets"] for request in coordinator.requests[known:]]

    assert [[{"subtopologyId": "0", "partition": 0, "offset": 7}], None, None, None] == sent
    assert sent[0] in later


# -- the user ----------------------------------------------------------------------------------------------------------


def test_a_user_that_does_not_poll_makes_it_leave_and_rejoin():
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        stable(user, "0_0")
        watchdog = user.membership._poll_watchdog
        usual, watchdog.max_poll_seconds = watchdog.max_poll_seconds, 0
        until(lambda: coordinator.requests[-1]["memberEpoch"] == -1)
        watchdog.max_poll_seconds = usual
        assert not user.membership.session.is_certain()
        stable(user, "0_0")

        assert ["assigned", "lost", "assigned"] == user.listener.callback_names


def test_a_user_that_polls_and_can_read_nothing_is_told_that_it_leaves():
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        stable(user, "0_0")
        watchdog = user.membership._poll_watchdog
        watchdog.waits_for = lambda: "the committed offsets of data-0 were not told (_TIMED_OUT)"
        usual, watchdog.max_poll_seconds = watchdog.max_poll_seconds, 0
        until(lambda: coordinator.requests[-1]["memberEpoch"] == -1)
        watchdog.max_poll_seconds = usual
        with pytest.raises(KafkaException) as raised:
            user.run_callbacks()
        stable(user, "0_0")

        assert KafkaError._TIMED_OUT == raised.value.args[0].code()
        assert "data-0 were not told (_TIMED_OUT) for max.poll.interval.ms, its member leaves" in str(raised.value)
        assert ["assigned", "lost", "assigned"] == user.listener.callback_names


def test_it_goes_on_after_an_exception_of_the_listener():
    class Failing(RecordingListener):
        def on_tasks_assigned(self, tasks):
            super().on_tasks_assigned(tasks)
            raise ZeroDivisionError

    listener = Failing()
    with User(FakeCoordinator("0_0"), listener=listener) as user:
        with pytest.raises(ZeroDivisionError):
            user.poll_until(lambda: False)
        until(lambda: user.membership.member.state is StreamsMemberState.STABLE)


def test_a_periodic_call_is_queued_again_and_again():
    calls = []
    with User(FakeCoordinator("0_0"), periodic_call=(0.01, lambda: calls.append(1))) as user:
        user.poll_until(lambda: len(calls) > 2)


def test_a_member_that_reaches_no_broker_ends_at_once():
    coordinator = FakeCoordinator()
    coordinator.answers.extend(CoordinatorUnavailable("cut") for _ in range(1_000))
    with User(coordinator):
        until(lambda: len(coordinator.requests) > 1)

    assert coordinator.closed


def test_a_callback_that_is_discarded_is_not_run():
    coordinator = FakeCoordinator("0_0")
    with User(coordinator) as user:
        until(lambda: bool(user.membership.callbacks))
        call = user.membership.callbacks.popleft()
        user.membership.discard_callbacks()
        call()

    assert [] == user.listener.callback_names
    assert -1 == coordinator.requests[-1]["memberEpoch"]


def test_partitions_are_looked_up_where_sources_differ_in_size():
    coordinator = FakeCoordinator("0_0", "0_1")
    coordinator.counts.extend([CoordinatorUnavailable("cut"), {"orders": 2, "customers": 1}])
    topology = Topology.of(Subtopology(sources=["orders", "customers"]))
    with User(coordinator, topology=topology) as user:
        stable(user, "0_0", "0_1")
        read = sorted(str(each) for inputs in user.listener.owned_tasks.active.values() for each in inputs)

    assert ["customers-0", "orders-0", "orders-1"] == read


def test_heartbeats_and_commits_go_on_while_partitions_cannot_be_looked_up():
    coordinator = FakeCoordinator("0_0")
    coordinator.counts.append(CoordinatorUnavailable("cut"))
    topology = Topology.of(Subtopology(sources=["orders", "customers"]))
    answered = []
    with User(coordinator, topology=topology) as user:
        until(lambda: coordinator.lookups.count("partition_counts") > 1)
        before = len(coordinator.requests)
        user.membership._send_commit(OFFSETS, answered.append, lambda: True)
        until(lambda: bool(answered) and len(coordinator.requests) > before + 10)

        assert [None] == answered
        assert len(coordinator.lookups) < len(coordinator.requests)
        coordinator.counts.append({"orders": 1, "customers": 1})
        stable(user, "0_0")


def test_a_request_under_way_ends_with_the_time_for_leaving(monkeypatch):
    monkeypatch.setattr(_membership, "_STOP_TIMEOUT_SECONDS", 0.01)
    coordinator = FakeCoordinator("0_0")

    def answer(_fields):
        assert coordinator.interrupted.wait(TIMEOUT_SECONDS)
        raise CoordinatorUnavailable("interrupted")

    with User(coordinator) as user:
        stable(user, "0_0")
        before = len(coordinator.requests)
        coordinator.answers.append(answer)
        until(lambda: len(coordinator.requests) > before)

    assert coordinator.closed
