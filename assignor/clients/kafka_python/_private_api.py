"""All names of kafka-python (3.x) that are private or undocumented, and nothing else.

Verified with 3.0.12. ``PRIVATE_NAMES`` lists the attributes; a test looks each of them up on a real consumer, so that a
release that renames one fails there and not in a rebalance.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, Protocol

# Modules without documentation.
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.errors import CommitFailedError, FencedInstanceIdError, KafkaConnectionError
from kafka.protocol.admin import DescribeConfigsRequest, DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from assignor.clients.hooks import run_after, run_before

__all__ = [
    "PRIVATE_NAMES",
    "AbstractPartitionAssignor",
    "DescribeConfigsRequest",
    "DescribeGroupsRequest",
    "FindCoordinatorRequest",
    "JoiningMember",
    "ListGroupsRequest",
    "MetadataRequest",
    "RebalanceProtocol",
    "call_later",
    "call_soon",
    "disable_auto_topic_creation",
    "hook_heartbeats",
    "hook_rebalance_callbacks",
    "interrupt_bootstrap",
    "is_generation_lost",
    "last_heartbeat",
    "leave_group",
    "request_rejoin",
    "send_commit",
]

PRIVATE_NAMES: Final = (
    "_coordinator._generation.has_member_id",
    "_coordinator._generation.is_lost",
    "_coordinator._join_task",
    "_coordinator._manager._net.call_later",
    "_coordinator._manager.call_soon",
    "_coordinator._manager.cluster.config",
    "_coordinator._offset_fetch_futures.clear",
    "_coordinator._on_close_prepare_async",
    "_coordinator._on_join_complete_async",
    "_coordinator._on_join_prepare_async",
    "_coordinator._send_heartbeat_request",
    "_coordinator._send_offset_commit_request",
    "_coordinator.coordinator_unknown",
    "_coordinator.heartbeat.last_receive",
    "_coordinator.heartbeat.received_heartbeat",
    "_coordinator.heartbeat.sent_heartbeat",
    "_coordinator.lookup_coordinator",
    "_coordinator.maybe_leave_group_async",
    "_coordinator.need_rejoin",
    "_coordinator.rejoining",
    "_coordinator.request_rejoin",
    "_coordinator.reset_generation",
)
"""Attributes of a ``KafkaConsumer``."""


class _Encodable(Protocol):
    topics: list[str]

    def encode(self) -> bytes: ...


class JoiningMember(Protocol):
    """A member as kafka-python passes it to the assignor of the leader."""

    member_id: str
    metadata: _Encodable


def disable_auto_topic_creation(consumer: Any) -> None:
    """Make ``allow_auto_create_topics=False`` effective: 3.0.12 accepts that setting and does not pass it on."""
    consumer._coordinator._manager.cluster.config["allow_auto_create_topics"] = False


def call_soon(consumer: Any, call: Callable[[], object]) -> None:
    """Call something on the I/O thread; from any thread."""
    consumer._coordinator._manager.call_soon(call)


def call_later(consumer: Any, seconds: float, call: Callable[[], None]) -> None:
    """Call something on the I/O thread after so many seconds; from any thread.

    Only the I/O thread may set its timers, and a timer accepts a function but no other callable.
    """
    net = consumer._coordinator._manager._net
    call_soon(consumer, lambda: net.call_later(seconds, lambda: call()))


def request_rejoin(consumer: Any) -> None:
    """Make the next ``poll`` rejoin, with the member id."""
    consumer._coordinator.request_rejoin()


def leave_group(consumer: Any) -> None:
    """Leave the group soon, and join it in the next ``poll``.

    The public way is ``unsubscribe(); subscribe()``. It blocks, which a callback must not.
    """
    call_soon(consumer, consumer._coordinator.maybe_leave_group_async)


def last_heartbeat(consumer: Any) -> float:
    """Return when the broker last answered a heartbeat, in seconds of ``time.monotonic()``."""
    return float(consumer._coordinator.heartbeat.last_receive)


def is_generation_lost(consumer: Any) -> bool:
    """Whether the group has removed the member, or the member has left."""
    return bool(consumer._coordinator._generation.is_lost())


def hook_rebalance_callbacks(
    consumer: Any,
    *,
    on_join_prepare: Callable[[], Awaitable[None]],
    on_join_complete: Callable[[], Awaitable[None]],
    on_close: Callable[[], Awaitable[None]],
) -> None:
    """Call three coroutines on the I/O thread at these points of every rebalance.

    A ``ConsumerRebalanceListener`` cannot do it: it would replace the one of the user, and is not called when only
    standby tasks change.
    """
    coordinator = consumer._coordinator
    _prepare_join_after_lost_generation(coordinator)
    _resume_pending_join(coordinator)

    async def preparing() -> None:
        _clear_offset_fetch_futures(coordinator)
        await on_join_prepare()

    coordinator._on_join_prepare_async = run_before(preparing, coordinator._on_join_prepare_async)
    coordinator._on_join_complete_async = run_after(coordinator._on_join_complete_async, on_join_complete)
    coordinator._on_close_prepare_async = run_before(on_close, coordinator._on_close_prepare_async)


def _prepare_join_after_lost_generation(coordinator: Any) -> None:
    """Make a member that is removed in the middle of a join lose its partitions before the next attempt.

    3.0.12 prepares once for all attempts. A member that is removed between two of them claims partitions that other
    members own by then, and revokes them as if they were its own. Java: ``AbstractCoordinator.resetStateAndRejoin``.
    """
    original = coordinator.reset_generation

    def reset_generation(*arguments: Any, **settings: Any) -> None:
        is_member = coordinator._generation.has_member_id()  # False while the broker only assigns an id (KIP-394)
        original(*arguments, **settings)
        if is_member:
            coordinator.rejoining = False

    coordinator.reset_generation = reset_generation


def _resume_pending_join(coordinator: Any) -> None:
    """Make a poll continue the join that an earlier poll has started.

    3.0.12 checks again whether the member has to rejoin. That is no longer so for a leader that joined because
    partitions were new and has assigned them. If the poll's time was over before the SyncGroup response arrived, such a
    leader never had tasks and never sent a heartbeat. Java: ``AbstractCoordinator.joinFuture``.
    """
    original = coordinator.need_rejoin
    coordinator.need_rejoin = lambda: coordinator._join_task is not None or original()


def _clear_offset_fetch_futures(coordinator: Any) -> None:
    """Drop responses about committed offsets that arrived after their ``poll`` had ended.

    3.0.12 keeps them for the next request about the same partitions: a partition that other members owned for 79 s
    started 79 s back.
    """
    coordinator._offset_fetch_futures.clear()


def hook_heartbeats(
    consumer: Any,
    *,
    sent: Callable[[], None],
    answered: Callable[[], None],
    fenced: Callable[[Exception], None],
) -> None:
    """Call three functions on the I/O thread: for each heartbeat, for each that confirms the membership, if fenced.

    3.0.12 only logs FENCED_INSTANCE_ID and sends no heartbeat any more: the member would read on until it is removed,
    beside the one that has its identity. Java: ``AbstractCoordinator.HeartbeatThread`` raises from the next poll.
    """
    coordinator = consumer._coordinator
    heartbeat, send = coordinator.heartbeat, coordinator._send_heartbeat_request
    originals = heartbeat.sent_heartbeat, heartbeat.received_heartbeat

    def sent_heartbeat() -> None:
        originals[0]()
        sent()

    def received_heartbeat() -> None:
        originals[1]()
        answered()

    async def send_heartbeat_request() -> Any:
        try:
            return await send()
        except FencedInstanceIdError as error:
            fenced(error)
            raise

    heartbeat.sent_heartbeat, heartbeat.received_heartbeat = sent_heartbeat, received_heartbeat
    coordinator._send_heartbeat_request = send_heartbeat_request


def interrupt_bootstrap(client: Any) -> None:
    """Make the constructor of a consumer that waits for a broker raise; ``client`` is what ``kafka_client`` returned.

    ``client.close()`` would wait for the I/O thread, for ever if that is about to start.
    """
    with suppress(RuntimeError):  # it is closed
        client._manager.call_soon(client._manager.close)


def send_commit(
    consumer: Any, offsets: Any, answered: Callable[[BaseException | None], None], allowed: Callable[[], bool]
) -> None:
    """Send one commit unless ``allowed`` has become false; ``answered`` is called on the I/O thread, with the error.

    The public ``commit_async`` reports the result in a later ``poll``, the latest first, and may send the offsets of
    one generation in the next one if the coordinator has moved.
    """
    coordinator = consumer._coordinator

    async def send() -> None:
        if coordinator.coordinator_unknown():
            await coordinator.lookup_coordinator()
        if not allowed():
            raise CommitFailedError("the partitions are not assigned to this member any more")
        await coordinator._send_offset_commit_request(offsets)

    try:
        future = coordinator._manager.call_soon(send)
    except RuntimeError as closed:
        answered(KafkaConnectionError(str(closed)))
        return
    future.add_both(lambda result: answered(result if isinstance(result, BaseException) else None))
