"""kafka-python (3.x): plug the Streams assignor into a ``KafkaConsumer``.

``partition_assignment_strategy`` takes an instance, userdata travels both ways, and `metadata` is asked for at every
rejoin; so this file only hands bytes over.  Some things kafka-python does not offer in public: to rejoin while keeping
the member id, to leave and join again from a callback, to do something later, to look at topics without creating them,
and to hear of a rebalance beside the user's own listener.  All are at the end of this file.

What kafka-python does with exceptions (run with 3.0.12): those of `metadata`, `assign` and `on_assignment` come out of
the ``poll`` under way, and the next ``poll`` goes on as if nothing had happened.  A member that must die may not, so a
failure is remembered, and every later ``poll`` raises it again.

A bug to know about (3.0.12): a join that completes *between* two polls is thrown away and begun anew, so short polls
with pauses never get an assignment.  Poll with a timeout longer than a rebalance, and do not dawdle in between.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from kafka import KafkaConsumer
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol

from assignor.clients.plugged import Plugged, partition_counts
from subscription_codec import TopicPartition


class StreamsPartitionAssignor(Plugged, AbstractPartitionAssignor):  # type: ignore[misc]  # no type information
    """The Streams assignor for one consumer: pass it as ``partition_assignment_strategy=[streams]``, then `bind`.

    Its arguments: see ``Plugged``. Everything is called on the client's I/O thread, which must not wait for the
    consumer itself: methods of the listener that commit are ``async def`` and await ``consumer.commit_async``.
    What ends the member (`FatalError`) comes out of ``poll``, and out of every later one.
    """

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """Say whether this member keeps its partitions while it rejoins (KIP-429)."""
        cooperative = self.core.member.cooperative
        return [RebalanceProtocol.COOPERATIVE if cooperative else RebalanceProtocol.EAGER]

    def bind(self, consumer: KafkaConsumer) -> None:
        """Tell it which consumer to let rejoin; ``ValueError`` if that consumer cannot work with this assignor."""
        if self not in consumer.config["partition_assignment_strategy"]:
            raise ValueError("this consumer does not have this assignor in its partition_assignment_strategy")
        if self.core.topology.repartition_topics:
            if consumer.subscription():
                raise ValueError(
                    "call bind(consumer) before subscribe: a consumer that has been told its topics makes the broker "
                    "create those between subtopologies, with the wrong number of partitions"
                )
            _never_create_topics(consumer)
        self.consumer = consumer
        _listen(consumer, self)

    def named(self) -> dict[str, str]:
        """Beside its process, its group and its client id, as soon as it is bound."""
        config = self.consumer.config if self.consumer else {}
        return {**super().named(), **{key: str(config[key]) for key in ("group_id", "client_id") if key in config}}

    def metadata(self, topics: Iterable[str]) -> bytes:
        """Write this member's subscription, for JoinGroup."""
        # Without a consumer the first probing would fail; better to say so at the first poll.
        if self.consumer is None:
            raise RuntimeError("call bind(consumer) before the first poll")
        return self.subscription(topics, [TopicPartition(*partition) for partition in self.consumer.assignment() or ()])

    def assign(self, cluster: Any, members: Iterable[Any]) -> dict[str, bytes]:
        """Answer all members as their leader, for SyncGroup."""
        subscriptions = {member.member_id: member.metadata.encode() for member in members}
        topics = sorted({topic for member in members for topic in member.metadata.topics})
        plan = self.answers(self.look_up(partition_counts(cluster, topics)), subscriptions)
        time.sleep(self._sync_grace_seconds)
        return plan

    def on_assignment(self, assignment: Any, generation: int) -> None:
        """Take the leader's answer, and rejoin if the negotiation of the version asks for it."""
        self._generation = generation
        self.take(assignment.encode())

    def rejoin(self) -> None:
        """Let the next ``poll`` rejoin."""
        _rejoin(self.consumer)

    def leave_and_join(self) -> None:
        """Let the next ``poll`` leave the group and join it again."""
        _leave(self.consumer)

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call something on the I/O thread."""
        _call_later(self.consumer, seconds, call)


# What follows is all that touches what kafka-python keeps private.


def _never_create_topics(consumer: Any) -> None:
    """Make ``allow_auto_create_topics=False`` true: 3.0.12 takes that setting and passes it on to nobody."""
    consumer._coordinator._manager.cluster.config["allow_auto_create_topics"] = False


def _call_later(consumer: Any, seconds: float, call: Callable[[], None]) -> None:
    """Call something on the I/O thread, which alone may set its timers.

    Those take a function, but nothing else that can be called.
    """
    manager = consumer._coordinator._manager

    def set_timer() -> None:
        manager._net.call_later(seconds, lambda: call())

    manager.call_soon(set_timer)


def _rejoin(consumer: Any) -> None:
    consumer._coordinator.request_rejoin()


def _leave(consumer: Any) -> None:
    """``unsubscribe(); subscribe()`` would be the public way, but it blocks, and callbacks may not."""
    coordinator = consumer._coordinator
    coordinator._manager.call_soon(coordinator.maybe_leave_group_async)


def _listen(consumer: Any, streams: Plugged) -> None:
    """Hear of rebalances beside the user's own listener.

    A listener of ours would take its place, and hears nothing where no partition comes or goes: only standbys change.
    """
    coordinator = consumer._coordinator

    def lost() -> bool:
        return bool(coordinator._generation.is_lost())

    async def before_join() -> None:
        _forget_late_answers(coordinator)
        await streams.before_join(lost=lost())

    _prepare_again_after_a_loss(coordinator)
    _see_a_join_to_its_end(coordinator)
    _before(coordinator, "_on_join_prepare_async", before_join)
    _after(coordinator, "_on_join_complete_async", streams.joined)
    _before(coordinator, "_on_close_prepare_async", lambda: streams.ends(lost=lost()))


def _prepare_again_after_a_loss(coordinator: Any) -> None:
    """Let who is thrown out in the middle of a join lose its partitions before the next one.

    Java: ``AbstractCoordinator.resetStateAndRejoin``. 3.0.12 prepares once for all attempts: thrown out between two of
    them, it claims partitions that others have by now, and gives them up as if they were its own.
    """
    theirs = coordinator.reset_generation

    def ours(*arguments: Any, **settings: Any) -> None:
        is_member = coordinator._generation.has_member_id()  # not yet, if the broker only hands out an id (KIP-394)
        theirs(*arguments, **settings)
        if is_member:
            coordinator.rejoining = False

    coordinator.reset_generation = ours


def _see_a_join_to_its_end(coordinator: Any) -> None:
    """Let a poll go on with the join that an earlier one has begun.

    Java: ``AbstractCoordinator.joinFuture``. 3.0.12 asks again whether the member has to rejoin. A leader that joined
    because partitions were new has to no more, once it has shared them out: if the poll's time was over before the
    answer to SyncGroup came, it had no tasks, sent no heartbeats, and that for ever.
    """
    theirs = coordinator.need_rejoin
    coordinator.need_rejoin = lambda: coordinator._join_task is not None or theirs()


def _forget_late_answers(coordinator: Any) -> None:
    """Let no answer about committed offsets wait for the next who asks for the same partitions.

    3.0.12 keeps one that came after its ``poll`` had ended; a partition that was away for 79 s began 79 s back.
    """
    coordinator._offset_fetch_futures.clear()


def _before(coordinator: Any, name: str, call: Callable[[], Awaitable[None]]) -> None:
    theirs = getattr(coordinator, name)

    async def both(*arguments: Any, **settings: Any) -> None:
        try:
            await call()
        finally:
            await theirs(*arguments, **settings)

    setattr(coordinator, name, both)


def _after(coordinator: Any, name: str, call: Callable[[], Awaitable[None]]) -> None:
    theirs = getattr(coordinator, name)

    async def both(*arguments: Any, **settings: Any) -> None:
        try:
            await theirs(*arguments, **settings)
        finally:
            await call()

    setattr(coordinator, name, both)
