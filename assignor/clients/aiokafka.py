"""aiokafka (0.14): plug the Streams assignor into an ``AIOKafkaConsumer``.

The same shape as `assignor.clients.kafka_python`, with these differences, all of them aiokafka's (run with 0.14.0):

* Everything runs in the event loop. An admin may block, so a leader asks it on a thread while the coordinator waits.
* It knows only the eager protocol. Beside cooperative members that is safe: ours gives everything up before it rejoins,
  and what the others keep stands in their bytes, which this file hands over whole (aiokafka would drop it).
* With two assignors it sends four JoinGroups instead of one, so `bind` wants to be the only one.
* Without partitions, and with nobody who asks for records, it cannot rejoin after ``max_poll_interval_ms`` (#1187).
  Who has no partitions cannot sit on any, so as long as that is so it counts as busy.
* It turns every exception of an assignor into a ``KafkaError``, raises it once, and never the original; and it only
  logs those of listeners. So what ends a member, and what a task listener raises, is put in its place.

What only its coordinator can do is private there; all of that is at the end of this file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import wraps
from typing import Any, ClassVar, cast

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError

from assignor.clients.plugged import Plugged, partition_counts
from assignor.cluster import Cluster

Call = Callable[..., Awaitable[Any]]


class StreamsPartitionAssignor(Plugged):
    """The Streams assignor for one consumer: pass it as ``partition_assignment_strategy=[streams]``, then `bind`.

    Its arguments: see ``Plugged``. Everything is called in the event loop of the consumer, methods of the listener may
    be ``async def``, and may use the consumer. What ends the member (``FatalError``) comes out of ``start``, ``getone``
    and ``getmany`` and of every later one; what a listener raises comes out of one of them, once.
    """

    cooperative: ClassVar[bool] = False

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        """Take the arguments of ``Plugged``."""
        super().__init__(*arguments, **settings)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listening = False
        self._complaint: Exception | None = None
        self._one_at_a_time = asyncio.Lock()
        self._without_partitions = ExitStack()
        self._known: Cluster | None = None
        self._subscriptions: Mapping[str, bytes] = {}

    def bind(self, consumer: AIOKafkaConsumer) -> None:
        """Tell it which consumer to let rejoin, before that is started; ``ValueError`` if it cannot work with it."""
        if _strategy(consumer) != [self]:
            raise ValueError(
                "expected a consumer with this assignor, and no other, as its partition_assignment_strategy, "
                f"got {_strategy(consumer)}"
            )
        self.consumer = consumer
        consumer.start = self._guarded(consumer.start, self._starting)
        consumer.getone = self._guarded(consumer.getone)
        consumer.getmany = self._guarded(consumer.getmany)
        consumer.stop = _after(self._ending, consumer.stop)

    # -- what aiokafka calls ------------------------------------------------------------------------------------------

    def metadata(self, topics: Iterable[str]) -> bytes:
        """Write this member's subscription, for JoinGroup."""
        if self.consumer is None:
            raise RuntimeError("call bind(consumer) before the consumer is started")
        if not self._listening:
            _listen(self.consumer, self)
            self._listening = True
        return self.subscription(topics)

    def assign(self, cluster: Any, members: Mapping[str, Any]) -> dict[str, bytes]:  # noqa: ARG002  # aiokafka's names
        """Answer all members as their leader, for SyncGroup, with what was found out and heard before."""
        assert self._known is not None, "looked up just before"
        return self.answers(self._known, self._subscriptions)

    def on_assignment(self, assignment: Any) -> None:
        """Take the leader's answer, and rejoin if the negotiation of the version asks for it."""
        self._busy(with_nothing=not assignment.partitions())
        self._generation = _generation(self.consumer)
        self.take(assignment.encode())

    # -- what Plugged asks for ----------------------------------------------------------------------------------------

    def rejoin(self) -> None:
        """Let the consumer rejoin in the background."""
        self._soon(lambda: _rejoin(self.consumer))

    def leave_and_join(self) -> None:
        """Let it leave the group and join it again, in the background."""
        self._soon(lambda: _leave(self.consumer))

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call something in the loop."""
        self._soon(lambda: asyncio.get_running_loop().call_later(seconds, call))

    def _soon(self, call: Callable[[], object]) -> None:
        # The thread that watches features may outlive the loop.
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)

    # -- what happens in its coordinator ------------------------------------------------------------------------------

    async def _before_join(self, *, lost: bool) -> None:
        async with self._one_at_a_time:
            await self._heard(self.before_join(lost=lost))

    async def _is_to_lead(self, cluster: Any, subscriptions: Mapping[str, bytes]) -> None:
        self._subscriptions = subscriptions
        known = partition_counts(cluster, self.core.topology.source_topics)
        self._known = await asyncio.to_thread(self.look_up, known)
        await asyncio.sleep(self._sync_grace_seconds)

    async def _joined(self) -> None:
        async with self._one_at_a_time:
            await self._heard(self.joined())

    async def _heard(self, telling: Awaitable[None]) -> None:
        try:
            await telling
        except Exception as error:
            self._complaint = error
            _wake(self.consumer, KafkaError(f"the task listener has failed: {error!r}"))

    def _busy(self, *, with_nothing: bool) -> None:
        self._without_partitions.close()
        if with_nothing:
            self._without_partitions.enter_context(_asking_for_records(self.consumer))

    # -- what its user calls ------------------------------------------------------------------------------------------

    async def _starting(self) -> None:
        self._loop = asyncio.get_running_loop()
        # aiokafka has no coordinator to listen to before the first join is under way, which wants sums.
        await self.before_join(lost=False)
        if self._admin and self.core.topology.repartition_topics:
            # Every member creates what is missing: a consumer that looks for a topic makes the broker create it, with
            # the wrong number of partitions, or waits for it in vain.
            await asyncio.to_thread(self.look_up, {})

    async def _ending(self) -> None:
        async with self._one_at_a_time:
            self._without_partitions.close()
            _forget_errors(self.consumer)
            await self.ends(lost=_has_lost(self.consumer))

    def _guarded(self, theirs: Call, before: Callable[[], Awaitable[None]] | None = None) -> Call:
        """Raise what has ended the member, or what its listener has raised, wherever aiokafka says that it failed."""

        @wraps(theirs)
        async def ours(*arguments: Any, **settings: Any) -> Any:
            self._raise()
            if before:
                await before()
            try:
                return await theirs(*arguments, **settings)
            except KafkaError:
                self._raise()
                raise

        return ours

    def _raise(self) -> None:
        if self.failure:
            raise self.failure
        complaint, self._complaint = self._complaint, None
        if complaint:
            raise complaint


def _after(first: Callable[[], Awaitable[None]], theirs: Call) -> Call:
    @wraps(theirs)
    async def both() -> None:
        try:
            await first()
        finally:
            await theirs()

    return both


# What follows is all that touches what aiokafka keeps private.


def _strategy(consumer: Any) -> list[object]:
    return list(consumer._partition_assignment_strategy)


def _generation(consumer: Any) -> int:
    return int(consumer._coordinator.generation)


def _has_lost(consumer: Any) -> bool:
    """Whether the group does not know the consumer (any more)."""
    return consumer._coordinator is not None and _generation(consumer) < 0


def _rejoin(consumer: Any) -> None:
    consumer._coordinator.request_rejoin()


def _leave(consumer: Any) -> None:
    """``unsubscribe(); subscribe()`` would be the public way, but it forgets the user's listener."""
    consumer._coordinator.maybe_leave_group()


def _asking_for_records(consumer: Any) -> AbstractContextManager[None]:
    """Look busy: idle is who has been outside of this for ``max_poll_interval_ms``."""
    return cast(AbstractContextManager[None], consumer._subscription.fetch_context())


def _wake(consumer: Any, error: KafkaError) -> None:
    """Let those who wait for records have this error."""
    consumer._subscription.abort_waiters(error)


def _forget_errors(consumer: Any) -> None:
    """Let nobody complain that an error was never looked at: what came out in its place was."""
    if consumer._coordinator is not None:
        with suppress(KafkaError):
            consumer._coordinator.check_errors()


def _listen(consumer: Any, streams: StreamsPartitionAssignor) -> None:
    """Hear of rebalances beside the user's own listener, which aiokafka tells neither of a loss nor of the end.

    And hear everything that members say, before an assignor is asked: it would get half of it, and could not wait.
    """
    coordinator = consumer._coordinator
    prepare, perform, complete = (
        coordinator._on_join_prepare,
        coordinator._perform_assignment,
        coordinator._on_join_complete,
    )

    async def preparing(*arguments: Any) -> Any:
        await streams._before_join(lost=_has_lost(consumer))
        return await prepare(*arguments)

    async def performing(response: Any) -> Any:
        # A member is (id, bytes), or (id, static id, bytes).
        await streams._is_to_lead(coordinator._cluster, {member[0]: member[-1] for member in response.members})
        return await perform(response)

    async def completing(*arguments: Any) -> Any:
        done = await complete(*arguments)
        await streams._joined()
        return done

    coordinator._on_join_prepare = preparing
    coordinator._perform_assignment = performing
    coordinator._on_join_complete = completing
