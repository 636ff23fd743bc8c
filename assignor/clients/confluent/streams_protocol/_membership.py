"""The member of a streams group (KIP-1071): drives a ``StreamsGroupMember``, whose coordinator assigns the tasks.

Threads:

* The member's thread sends heartbeats and commits to the coordinator, one request at a time. It queues the callbacks of
  the member in ``callbacks``.
* The user's thread runs them in ``StreamsConsumer.poll``. Heartbeats continue meanwhile, but the member acknowledges
  no assignment before the listener has returned.

The coordinator's session timeout is a configuration of the group. The member reads it, as it must know until when it
certainly owns its tasks (``session``). Until the first read has succeeded, only the heartbeat interval is certain,
which is shorter.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Condition
from typing import Any, Final, NamedTuple

import kafka
from kafka.errors import for_code

from streams_assignor.clients._session import Session
from streams_assignor.clients.adapter import MemberGeneration
from streams_assignor.clients.confluent._errors import as_fatal_error, kafka_exception
from streams_assignor.clients.confluent._membership import Call, Membership
from streams_assignor.clients.confluent._record_buffer import Offsets
from streams_assignor.clients.confluent.streams_protocol._tasks import OwnedTaskNotifier, TaskPartitions
from streams_assignor.clients.confluent.streams_protocol.view import StreamsGroupView
from streams_assignor.clients.kafka_python.group_coordinator import (
    CommitIdentity,
    CoordinatorUnavailable,
    GroupCoordinator,
    HeartbeatUnsupported,
)
from streams_assignor.errors import FatalError
from streams_assignor.observability.events import MemberClosed, MemberFailed, Observer
from streams_assignor.rebalance_listener import TaskRebalanceListener
from streams_assignor.streams_group import (
    CallbackKind,
    HeartbeatErrorReaction,
    HeartbeatTimer,
    MemberFailure,
    StatusTimer,
    StreamsGroupMember,
    offset_fields,
)
from streams_assignor.streams_group.rules import HINTS, UNSUPPORTED_VERSION, error_rule, status_rule
from streams_assignor.topology import Topology

log = logging.getLogger(__name__)

_SESSION_SECONDS: Final = 45.0  # the brokers' default, for users that may not read the group's configuration
_OFFSET_INTERVAL_MS: Final = 60_000  # streams.task.offset.interval.ms, unless the coordinator says another one
_REQUESTS_PER_SESSION: Final = 3
_CHECK_SECONDS: Final = 1.0
_MIN_LOOKUP_SECONDS: Final = 1.0
_MAX_LOOKUP_SECONDS: Final = 5.0
_COMMIT_ATTEMPTS: Final = 3
_COMMIT_PAUSE_SECONDS: Final = 0.005  # between two requests: commits of a fast loop are merged into fewer of them
_STALE_MEMBER_EPOCH: Final = 113
_FENCING_CODES: Final = frozenset({25, 110})  # UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH
_NOT_COORDINATOR_CODES: Final = frozenset({15, 16})


class _Commit(NamedTuple):
    """See ``Committer``."""

    offsets: Offsets
    answered: Callable[[BaseException | None], None]
    allowed: Callable[[], bool]


class StreamsMembership(Membership):
    """One member of a streams group, from `start` to `stop`.

    Args:
        coordinator: the coordinator of the group.
        member: before it joins.
        topology: what the member sends.
        listener: called on the user's thread, which runs ``callbacks``.
        observe: receives the events of this member.
        request_seconds: the time limit of a request.
        parts: see ``Membership``.
    """

    def __init__(
        self,
        coordinator: GroupCoordinator,
        member: StreamsGroupMember,
        topology: Topology,
        listener: TaskRebalanceListener,
        *,
        observe: Observer,
        request_seconds: float,
        **parts: Any,
    ) -> None:
        super().__init__(member.profile.group_id, **parts)
        self.member = member
        self._session = Session()
        self._session.timeout_seconds = _SESSION_SECONDS
        self._ownership = Session()  # as `_session`, but not suspended while the group is not ready
        self._ownership.timeout_seconds = _SESSION_SECONDS
        self._coordinator = coordinator
        self._observe = observe
        self._request_seconds = request_seconds
        self._partitions = TaskPartitions(topology)
        self._tasks = OwnedTaskNotifier(listener, self._partitions, observe)
        self._commit_connection = coordinator.commit_connection(self._identity)
        self._generation: MemberGeneration | None = None
        self._timer = HeartbeatTimer()
        self._status_timer = StatusTimer()
        self._commits: deque[_Commit] = deque()
        self._next_commit = time.monotonic()
        self._condition = Condition()
        self._callback_queued = self._callbacks_discarded = self._error_queued = False
        self._looked_up: frozenset[str] = frozenset()
        self._lookup_timer = HeartbeatTimer()  # of its backoff only
        self._session_read_from: str | None = None
        self._pending_failure: FatalError | None = None
        self._leave_count = 0
        self._offset_interval_ms, self._offsets_due_ms = _OFFSET_INTERVAL_MS, 0
        self._next_periodic_call = time.monotonic()

    # -- for the consumer ---------------------------------------------------------------------------------------------

    @property
    def view(self) -> StreamsGroupView:
        """See ``Membership``."""
        return StreamsGroupView(self)

    @property
    def session(self) -> Session:
        """See ``Membership``."""
        return self._session

    @property
    def generation(self) -> MemberGeneration | None:
        """See ``Membership``."""
        return self._generation

    def discard_callbacks(self) -> None:
        """See ``Membership``."""
        self._commit_connection.close()
        with self._condition:
            self._callbacks_discarded = True
            self._condition.notify_all()

    def is_alive(self, seconds: float) -> bool:
        """See ``Membership``. A request that is under way ends with the time for leaving."""
        if self._stop_deadline_passed():
            self._coordinator.interrupt()
        return super().is_alive(seconds)

    def _interrupt(self) -> None:
        with self._condition:
            self._condition.notify_all()

    def _on_failure(self, failure: FatalError) -> None:
        self._observe(MemberFailed(failure))

    def _send_commit(
        self, offsets: Offsets, answered: Callable[[BaseException | None], None], allowed: Callable[[], bool]
    ) -> None:
        with self._condition:
            if self._thread.is_alive():
                self._commits.append(_Commit(offsets, answered, allowed))
                self._condition.notify_all()
                return
        answered(kafka.errors.KafkaConnectionError("the member has left its group"))

    def _commit_now(self, offsets: Offsets, seconds: float) -> bool:
        return self._commit_connection.commit(offsets, seconds)

    def _identity(self) -> CommitIdentity | None:
        """Return what a commit is sent with; None if the member may not commit now."""
        member = self.member
        if member.epoch <= 0 or not member.sends_heartbeats:
            return None
        return member.profile.group_id, member.epoch, member.profile.member_id

    # -- on the user's thread -----------------------------------------------------------------------------------------

    def _run_callback(self, leave_count: int) -> None:
        """Run the first callback of the member; it goes on also after an exception of the listener."""
        with self._condition:
            if self._callbacks_discarded or not self.member.callbacks:
                return
            callback = self.member.callbacks[0]
        late = self._leave_count > leave_count or not self._ownership.is_certain()
        try:
            self._tasks.run(callback, late=late)
        finally:
            with self._condition:
                self._callback_queued = False
                if self.member.callbacks:  # not discarded in the meantime
                    self.member = self.member.on_callback_completed()
                self._condition.notify_all()

    def _close_tasks(self) -> None:
        """The member is gone: give up what the listener still owns."""
        self._observe(MemberClosed(bool(self._tasks.owned.active)))
        self._tasks.close()

    # -- on the member's thread ---------------------------------------------------------------------------------------

    def _run(self) -> None:
        failure: Exception | None = None
        try:
            self.member = self.member.subscribe()
            while job := self._next_job():
                job()
        except Exception as error:
            failure = error
        self._session.end()
        self._coordinator.close()
        self._refuse_commits()
        self.callbacks.append(self._close_tasks)
        if failure is not None:
            self.fail(as_fatal_error(failure), failure)

    def _next_job(self) -> Call | None:
        """Wait for what has to be sent next; None at the end of the membership."""
        with self._condition:
            while True:
                self._follow_user()
                self._report_failure()
                if self._is_finished():
                    return None
                self._queue_callback()
                seconds = self._seconds_to_heartbeat()
                if seconds <= 0:
                    return self._heartbeat
                if topics := self._topics_to_look_up():
                    wait = (self._lookup_timer.backoff_ends_ms - _now_ms()) / 1000
                    if wait <= 0:
                        return partial(self._look_up, topics)
                    seconds = min(seconds, wait)
                if self._commits:  # last, because the answer to a commit queues the next one
                    wait = self._next_commit - time.monotonic()
                    if wait <= 0:
                        self._next_commit = time.monotonic() + _COMMIT_PAUSE_SECONDS
                        return partial(self._commit, self._commits.popleft())
                    seconds = min(seconds, wait)
                self._condition.wait(min(seconds, _CHECK_SECONDS, self._poll_watchdog.max_poll_seconds / 4))

    def _follow_user(self) -> None:
        """Leave if the user has closed the consumer, or has not polled for too long."""
        if self._stopping.is_set():
            self.member = self.member.leave()
            return
        if self._poll_watchdog.expired() and self.member.sends_heartbeats:
            self._note_expiry()
            self._leave_count += 1
            self._suspend()
            self.member = self.member.on_poll_expired()
        if self._periodic_call and time.monotonic() >= self._next_periodic_call:
            interval, call = self._periodic_call
            self._next_periodic_call = time.monotonic() + interval
            self.callbacks.append(call)

    def _is_finished(self) -> bool:
        if not self._stopping.is_set():
            return False
        if self._stop_deadline_passed() or self._timer.failures:
            return True  # the session timeout removes the member
        never_joined = self._generation is None and self._coordinator.address is None
        return never_joined or not (self.member.sends_heartbeats or self.member.callbacks)

    def _queue_callback(self) -> None:
        """Queue the next callback of the member, unless topics have to be looked up first."""
        while self._callbacks_discarded and self.member.callbacks:
            self.member = self.member.on_callback_completed()
        if self.member.callbacks and not self._callback_queued and not self._topics_to_look_up():
            self._looked_up = frozenset()
            self._callback_queued = True
            self.callbacks.append(partial(self._run_callback, self._leave_count))

    def _topics_to_look_up(self) -> frozenset[str]:
        """Return the topics without which the next callback cannot be queued."""
        callback = self.member.callbacks[0] if self.member.callbacks else None
        if callback is None or callback.kind is not CallbackKind.ASSIGN or self._callback_queued:
            return frozenset()
        return self._partitions.topics_to_look_up(callback.assignment) - self._looked_up

    def _look_up(self, topics: frozenset[str]) -> None:
        try:
            counts = self._coordinator.partition_counts(topics, self._lookup_seconds())
        except CoordinatorUnavailable as error:
            log.warning("group %s: the partitions of topics are not known: %s", self._group, error)
            self._lookup_timer = self._lookup_timer.on_failed(_now_ms())
        else:
            self._partitions.update(counts)
            self._looked_up, self._lookup_timer = topics, HeartbeatTimer()

    def _lookup_seconds(self) -> float:
        """Return the time limit of a lookup: heartbeats wait for it."""
        return min(max(self._timer.interval_ms / 1000, _MIN_LOOKUP_SECONDS), _MAX_LOOKUP_SECONDS)

    def _seconds_to_heartbeat(self) -> float:
        due = self._timer.due_at_ms(self.member)
        return _CHECK_SECONDS if due is None else (due - _now_ms()) / 1000

    def _heartbeat(self) -> None:
        with self._condition:
            self.member, fields = self.member.next_request()
        sent_ms, sent_at = _now_ms(), self._session.now()
        if fields["topology"] is not None or (sent_ms >= self._offsets_due_ms and self.member.epoch > 0):
            fields["taskOffsets"] = offset_fields(self._tasks.offset_sums())
            self._offsets_due_ms = sent_ms + self._offset_interval_ms
        self._timer = self._timer.on_sent(sent_ms)
        seconds = min(self._request_seconds, self._session.timeout_seconds / _REQUESTS_PER_SESSION)
        try:
            response = self._coordinator.heartbeat(fields, seconds)
        except HeartbeatUnsupported as error:
            rule = error_rule(UNSUPPORTED_VERSION)
            self._fail_with(MemberFailure(rule.java_exception, f"{error}: {HINTS[UNSUPPORTED_VERSION]}"))
        except CoordinatorUnavailable as error:
            log.info("group %s: %s", self._group, error)
            with self._condition:
                self.member = self.member.on_disconnect()
            self._timer = self._timer.on_failed(_now_ms())
        else:
            with self._condition:
                self.member = self.member.on_response(response)
            if code := response["errorCode"]:
                self._on_error(code, response["errorMessage"] or "")
            else:
                self._timer = self._timer.on_answered(sent_ms, response["heartbeatIntervalMs"])
                self._offset_interval_ms = response["taskOffsetIntervalMs"] or self._offset_interval_ms
                self._read_session_timeout()
                self._on_accepted(sent_at)

    def _on_accepted(self, sent_at: float) -> None:
        member = self.member
        if member.epoch > 0 and member.sends_heartbeats:
            self._generation = MemberGeneration(member.epoch, member.profile.member_id)
            proven_at = sent_at - self._unproven_seconds()
            self._ownership.begin(proven_at)
            if member.target is None or member.target.group_ready:
                self._session.begin(proven_at)
            else:
                self._session.suspend()
        for status in member.statuses:
            log.warning("group %s: %s: %s", self._group, status_rule(status.code).name, status.detail)
        self._status_timer, failure = self._status_timer.check(member, _now_ms(), self._timer.interval_ms)
        if failure and not (self._pending_failure or self.failure):
            self._leave_with(failure)

    def _on_error(self, code: int, message: str) -> None:
        rule = error_rule(code)
        log.info("group %s: heartbeat: %s: %s", self._group, rule.name, message)
        self._timer = self._timer.on_failed(_now_ms())
        match rule.reaction:
            case HeartbeatErrorReaction.REJOIN:
                self._suspend()
                self._timer = self._timer.on_removed()
            case HeartbeatErrorReaction.FIND_COORDINATOR:
                self._coordinator.forget()
            case HeartbeatErrorReaction.REPORT if not self._error_queued:
                self._error_queued = True
                self.callbacks.append(partial(self._raise_once, code, message))
            case HeartbeatErrorReaction.FAIL if failure := self.member.failure:
                self._fail_with(failure)

    def _raise_once(self, code: int, message: str) -> None:
        self._error_queued = False
        raise kafka_exception(code, message)

    def _suspend(self) -> None:
        """Other members may own the tasks: nothing may be read until the member has joined again."""
        self._session.suspend()
        self._ownership.suspend()

    def _leave_with(self, failure: MemberFailure) -> None:
        """Fail as a Java member does for a status of the group: it revokes its tasks, and leaves."""
        self._session.end()
        self._pending_failure = FatalError(failure.message, failure.java_exception)
        with self._condition:
            self.member = self.member.leave()

    def _fail_with(self, failure: MemberFailure) -> None:
        """Fail for an error of the coordinator: the tasks are lost."""
        self._suspend()
        self._pending_failure = FatalError(failure.message, failure.java_exception)
        with self._condition:
            self.member = self.member.on_failure(failure)

    def _report_failure(self) -> None:
        """Make the user's polls raise the failure once the tasks are given up: callbacks behind it would not run."""
        if self._pending_failure and not (self.member.sends_heartbeats or self.member.callbacks):
            self.fail(self._pending_failure)
            self._pending_failure = None

    def _read_session_timeout(self) -> None:
        """Read the session timeout of the group, once for each address; after a failure, with the next heartbeat."""
        address = self._coordinator.address
        if self._session_read_from == address:
            return
        try:
            milliseconds = self._coordinator.session_timeout_ms(self._lookup_seconds())
        except CoordinatorUnavailable as error:
            log.warning("group %s: its session timeout is not known: %s", self._group, error)
            return
        self._session_read_from = address
        seconds = _SESSION_SECONDS if milliseconds is None else milliseconds / 1000
        for session in (self._session, self._ownership):
            if seconds < session.timeout_seconds:
                session.suspend()  # what was proven with the longer timeout is too late
            session.timeout_seconds = seconds

    def _unproven_seconds(self) -> float:
        """Return the part of the assumed session timeout that may be wrong.

        Before the first read only the heartbeat interval is certain: brokers accept no shorter session timeout.
        """
        if self._session_read_from is not None:
            return 0
        return max(self._session.timeout_seconds - self._timer.interval_ms / 1000, 0)

    def _commit(self, commit: _Commit) -> None:
        error: BaseException | None = None
        try:
            self._send_with_newest_epoch(commit)
        except kafka.errors.KafkaError as failure:
            error = failure
        commit.answered(error)

    def _send_with_newest_epoch(self, commit: _Commit) -> None:
        """Commit; if the coordinator has a newer epoch, a heartbeat returns it. ``KafkaError`` if it has failed."""
        code = 0
        for _ in range(_COMMIT_ATTEMPTS):
            if not commit.allowed() or (identity := self._identity()) is None:
                raise kafka.errors.CommitFailedError("the partitions are not assigned to this member any more")
            code = self._coordinator.commit(identity, commit.offsets, self._request_seconds)
            if code != _STALE_MEMBER_EPOCH:
                break
            self._heartbeat()
        if code in _NOT_COORDINATOR_CODES:
            self._coordinator.forget()
        if code in _FENCING_CODES:
            self._timer = self._timer.without_backoff()  # a heartbeat finds out
        if code:
            raise for_code(code)(f"a commit of group {self._group}")

    def _refuse_commits(self) -> None:
        with self._condition:
            waiting, self._commits = list(self._commits), deque()
        for commit in waiting:
            commit.answered(kafka.errors.KafkaConnectionError("the member has left its group"))


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
