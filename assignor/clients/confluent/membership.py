"""The member of the group: a kafka-python consumer on a thread of its own, that reads nothing.

It joins, answers heartbeats while the user works, and commits; its partitions are paused. What the application is to do
about it waits in a queue (`news`) until the user's thread comes by (``StreamsConsumer.poll``), and where the group has
to wait for that, it waits: a member rejoins when the user's ``revoked`` or ``lost`` has returned. If the user does not
come for ``max.poll.interval.ms``, the member leaves, as Kafka's do, and comes back with the user.

Two threads of kafka-python's matter here: ours, which polls without a pause (see ``clients.kafka_python``), and its I/O
thread, on which all callbacks run and which may never wait.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
from functools import partial
from threading import Event, Lock, Thread
from types import MappingProxyType
from typing import Any, Final

import kafka
from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.future import Future

from assignor.clients.confluent.errors import as_fatal, as_kafka_error, is_passing
from assignor.clients.confluent.group_metadata import Generation
from assignor.clients.kafka_python import StreamsPartitionAssignor
from assignor.errors import FatalError
from assignor.task_listener import Sums, TaskListener, Tasks

log = logging.getLogger(__name__)

Call = Callable[[], None]
Offsets = Mapping[kafka.TopicPartition, kafka.OffsetAndMetadata]

# A poll that ends while a join is under way may lose it, so poll long then; otherwise short, to close soon.
_JOINING_MS: Final = 1000
_STABLE_MS: Final = 200
_CLOSE_MS: Final = 5000
_STOP_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 1.0
_DOUBT_SECONDS: Final = 0.01
_RETRY_SECONDS: Final = 0.05
_QUIET: Final[Mapping[str, Any]] = MappingProxyType({"enable_auto_commit": False, "metrics_enabled": False})


class Membership:
    """One member, from `start` to `stop`.

    `followers` are told of tasks on the user's thread: whoever drains `news` there; `holds` says whether they have any.
    `progress` changes whenever the user has come by; `regularly` is what that thread is to do every so many seconds.
    ``failure`` is what has ended the membership, if anything.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        make: Callable[[TaskListener], Assignor],
        followers: TaskListener,
        *,
        holds: Callable[[], bool],
        progress: Callable[[], object],
        session_seconds: float,
        max_poll_seconds: float,
        regularly: tuple[float, Call] | None = None,
    ) -> None:
        self.news: deque[Call] = deque()
        self.failure: FatalError | None = None
        self.departures = 0
        self.in_doubt = False
        """No heartbeat was answered for a session: others may have our tasks, so nothing may be read."""
        self.assignor = make(_Relay(self, followers))
        self.assignor.membership = self
        self._settings = settings
        self._away = _Away(progress, max_poll_seconds)
        self._holds = holds
        self._session_seconds = session_seconds
        self._stopped_at = 0.0
        self._regularly = regularly
        self._consumer: Any = None
        self._stopping = Event()
        self._abandoned = False
        self._waiting: set[Future] = set()
        self._lock = Lock()
        self._thread = Thread(target=self._run, name="streams-membership", daemon=True)

    def start(self) -> None:
        """Begin to join; nothing is waited for."""
        self._thread.start()

    def stop(self) -> None:
        """Begin to leave the group; the last `news` are yet to come. From any thread."""
        self._stopped_at = time.monotonic()
        self._stopping.set()

    def is_alive(self, seconds: float) -> bool:
        """Whether it has not left yet; wait so long for that. Who has not even reached a broker need not leave."""
        self._thread.join(seconds)
        return self._thread.is_alive() and self._consumer is not None

    def abandon(self) -> None:
        """Nobody will look at `news` again."""
        with self._lock:
            self._abandoned = True
            waiting, self._waiting = self._waiting, set()
        for done in waiting:
            self._wake(done)

    @property
    def generation(self) -> Generation | None:
        """The last one this member was in; None before the first."""
        return self.assignor.generation

    def commit(self, offsets: Offsets, seconds: float) -> None:
        """Commit as this member in this generation; ``kafka.errors.KafkaError`` if the broker does not take it.

        A commit in the middle of a rebalance that lets this member keep its partitions waits for its end.
        """
        deadline = time.monotonic() + seconds
        while True:
            try:
                self._joined().commit(dict(offsets), timeout_ms=max(1, int(1000 * (deadline - time.monotonic()))))
                return
            except kafka.errors.RebalanceInProgressError:
                if time.monotonic() + _RETRY_SECONDS > deadline or self._has_stopped():
                    raise
                time.sleep(_RETRY_SECONDS)

    def commit_later(self, offsets: Offsets, done: Callable[[BaseException | None], None]) -> None:
        """Commit without waiting; `done` is called on the user's thread, with what went wrong if anything did."""

        def answered(_: object, answer: object) -> None:
            self.news.append(partial(done, answer if isinstance(answer, BaseException) else None))

        self._joined().commit_async(dict(offsets), callback=answered)

    def _joined(self) -> Any:
        if self.failure:
            raise self.failure
        if self._consumer is None or self.generation is None:
            raise kafka.errors.CommitFailedError("this member has not joined its group yet")
        return self._consumer

    # -- on the member's thread -----------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._consumer = KafkaConsumer(partition_assignment_strategy=[self.assignor], **_QUIET, **self._settings)
            try:
                self._take_part(self._consumer)
            finally:
                self._consumer.close(timeout_ms=_CLOSE_MS)
        except Exception as error:  # whatever it is, the user has to hear of it
            self.fail(as_fatal(error), error)

    def fail(self, failure: FatalError, cause: Exception | None = None) -> None:
        """Let the user hear of it, now and whenever he comes by; the first failure counts."""
        if self.failure is None:
            failure.__cause__ = cause
            self.failure = failure
            self.news.append(self._fail)
            self.assignor.died(failure)

    def _take_part(self, consumer: Any) -> None:
        self.assignor.bind(consumer)
        consumer.subscribe(self.assignor.core.topology.source_topics, listener=_Idle(consumer))
        _call_soon(consumer, self._look)
        if self._regularly:
            _call_soon(consumer, partial(self._remind, *self._regularly))
        while not self._may_leave():
            try:
                consumer.poll(timeout_ms=_JOINING_MS if self.assignor.joining else _STABLE_MS)
            except Exception as error:
                if self.assignor.failure or not is_passing(error):
                    raise
                log.warning("group %s: %s", self._settings["group_id"], as_kafka_error(error))

    def _may_leave(self) -> bool:
        """In the middle of a join nothing can be committed, so what is held is held until its end, if that is near."""
        waits = self.assignor.joining and self._holds()
        return self._has_stopped() if waits else self._stopping.is_set()

    def _has_stopped(self) -> bool:
        """Whether it was time enough to end in peace."""
        return self._stopping.is_set() and time.monotonic() > self._stopped_at + _STOP_SECONDS

    def _fail(self) -> None:
        self.news.append(self._fail)
        assert self.failure is not None, "set before this was queued"
        raise self.failure

    # -- on the I/O thread ----------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Leave if the user has not come by for too long; find out whether the group has gone on without us."""
        if self._stopping.is_set():
            return
        if self._away.has_begun():
            log.warning(
                "group %s: the consumer was not polled for max.poll.interval.ms, its member leaves",
                self._settings["group_id"],
            )
            self.departures += 1
            self.assignor.leave_and_join()
        self.in_doubt = self._is_in_doubt()
        if self.in_doubt and not self.news:
            self.news.append(_nothing)  # with news there, nothing is handed out without a look at `in_doubt`
        often = min(_LOOK_SECONDS, self._away.most_seconds / 4)
        self.assignor.call_later(_DOUBT_SECONDS if self.in_doubt else often, self._look)

    def _is_in_doubt(self) -> bool:
        """Whether a session has passed since the broker last knew us, most likely because this process was stopped."""
        return not self.assignor.joining and self.is_out(self.assignor.assigned_at)

    def is_out(self, since: float) -> bool:
        """Whether the group does not know us any more, or has heard nothing for a session, counted from `since`."""
        heard = max(_last_heartbeat(self._consumer), since)
        return _is_lost(self._consumer) or time.monotonic() - heard > self._session_seconds

    def _remind(self, seconds: float, call: Call) -> None:
        """Let the user's thread do once in a while what it is to do regularly."""
        self.news.append(call)
        self.assignor.call_later(seconds, partial(self._remind, seconds, call))

    @property
    def away(self) -> bool:
        """Whether the member has left because the user did not come by."""
        return self._away.left

    async def on_users_thread(self, call: Call) -> None:
        """Let the user's thread call something, and go on when it has, or when this closes."""
        done = Future()
        with self._lock:
            if self._abandoned:
                return
            self._waiting.add(done)
        self.news.append(partial(self._do, call, done))
        await done

    def _do(self, call: Call, done: Future) -> None:
        """On the user's thread."""
        try:
            call()
        finally:
            with self._lock:
                waited = done in self._waiting
                self._waiting.discard(done)
            if waited:
                self._wake(done)

    def _wake(self, done: Future) -> None:
        _call_soon(self._consumer, partial(done.success, None))


class Assignor(StreamsPartitionAssignor):
    """Knows the member's generation, and does not join before the user has come back."""

    membership: Membership
    generation: Generation | None = None
    joining = True
    assigned_at = 0.0

    async def before_join(self, *, lost: bool) -> None:
        """Tell what is given up, and wait for that."""
        self.joining = True
        await super().before_join(lost=lost)
        if self.membership.away:
            await self.membership.on_users_thread(_nothing)

    def on_assignment(self, assignment: Any, generation: int) -> None:
        """Take the leader's answer; from now on commits name this generation."""
        super().on_assignment(assignment, generation)
        self.generation = Generation(generation, self.consumer.group_metadata().member_id)
        self.assigned_at = time.monotonic()
        self.joining = bool(self.received and self.received.rejoin)


class _Relay(TaskListener):
    """Stands for the user's thread on the I/O thread: what it is told is done there."""

    def __init__(self, membership: Membership, followers: TaskListener) -> None:
        self._membership = membership
        self._followers = followers

    def assigned(self, tasks: Tasks) -> Awaitable[None]:
        return self._tell(lambda: self._followers.assigned(tasks))

    def revoked(self, tasks: Tasks) -> Awaitable[None]:
        before, now = self._membership.departures, time.monotonic()

        def give_up() -> Any:
            # The user may come so late that the member has left or was thrown out, and others have these tasks.
            late = self._membership.departures > before or self._membership.is_out(now)
            return self._followers.lost(tasks) if late else self._followers.revoked(tasks)

        return self._tell(give_up)

    def lost(self, tasks: Tasks) -> Awaitable[None]:
        return self._tell(lambda: self._followers.lost(tasks))

    def standby_added(self, tasks: Tasks) -> Awaitable[None]:
        return self._tell(lambda: self._followers.standby_added(tasks))

    def standby_removed(self, tasks: Tasks) -> Awaitable[None]:
        return self._tell(lambda: self._followers.standby_removed(tasks))

    def offset_sums(self) -> Sums | Awaitable[Sums]:
        try:
            return self._followers.offset_sums()
        except Exception as error:  # the user's mistake, so the user's to hear: the member goes on without
            self._membership.news.append(partial(_throw, error))
            return None

    def _tell(self, call: Callable[[], Any]) -> Awaitable[None]:
        return self._membership.on_users_thread(call)


class _Away:
    """Whether the user has been away for too long, seen from what he leaves unchanged."""

    def __init__(self, progress: Callable[[], object], most_seconds: float) -> None:
        self.most_seconds = most_seconds
        self._progress = progress
        self._seen: object = None
        self._since = time.monotonic()
        self._left_at: object = None

    @property
    def left(self) -> bool:
        """Has left, and not come back."""
        return self._left_at is not None and self._left_at == self._progress()

    def has_begun(self) -> bool:
        """Look; True once for each absence."""
        now, progress = time.monotonic(), self._progress()
        if progress != self._seen:
            self._seen, self._since, self._left_at = progress, now, None
        if self._left_at is not None or now - self._since < self.most_seconds:
            return False
        self._left_at = progress
        return True


class _Idle(ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no type information
    """Keeps kafka-python from reading: librdkafka does that. A position saves it from asking for one."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    def on_partitions_assigned(self, assigned: Set[Any]) -> None:
        for partition in assigned:
            self._consumer.seek(partition, 0)
        self._consumer.pause(*assigned)

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        """Nothing to do."""


def _throw(error: Exception) -> None:
    raise error


def _nothing(*_: object) -> None:
    """Do nothing."""


# What follows is all that touches what kafka-python keeps private.


def _call_soon(consumer: Any, call: Call) -> None:
    """Call something on the I/O thread, from any other."""
    consumer._coordinator._manager.call_soon(call)


def _last_heartbeat(consumer: Any) -> float:
    """Return when the broker last answered one, in ``time.monotonic()``."""
    return float(consumer._coordinator.heartbeat.last_receive)


def _is_lost(consumer: Any) -> bool:
    """Whether it knows that the group has thrown it out, or has left."""
    return bool(consumer._coordinator._generation.is_lost())
