"""All names of kafka-python (3.x) that are private or undocumented, and nothing else.

Those of its connections are in ``_private_connection``.

``PRIVATE_NAMES`` lists the attributes. ``bind`` looks each of them up, so that a release that renames one is refused
there and does not fail in a rebalance.
"""

# mypy: implicit-reexport
from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from functools import wraps
from typing import Any, Final, Protocol

# Modules without documentation.
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    KafkaConnectionError,
    KafkaError,
    KafkaProtocolError,
    RebalanceInProgressError,
    UnknownTopicOrPartitionError,
)
from kafka.protocol.admin import (
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    DescribeLogDirsRequest,
    ListGroupsRequest,
)
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListOffsetsRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from streams_assignor.clients._library_names import missing_attributes, missing_names, unsupported_library
from streams_assignor.clients.hooks import AsyncCall, run_after, run_before
from streams_assignor.clients.kafka_python._commit_queue import CommitQueue
from streams_assignor.clients.kafka_python._private_connection import (
    CONNECTION_CLASSES,
    CONNECTION_NAMES,
    MANAGER_NAMES,
)
from streams_assignor.codec import DecodeError
from streams_assignor.codec.consumer_protocol import decode_consumer_assignment
from streams_assignor.upgrade.cluster.client.answer_check import check_answer

TESTED_VERSIONS: Final = "3.0.0 to 3.0.12"
"""The lowest and the newest release that the tests were run with (``tox -e clients-lowest,clients-newest``)."""

PRIVATE_NAMES: Final = (
    "_coordinator._do_heartbeat",
    "_coordinator._do_join_and_sync_async",
    "_coordinator._generation.has_member_id",
    "_coordinator._generation.is_lost",
    "_coordinator._handle_offset_commit_response",
    "_coordinator._handle_offset_fetch_response",
    "_coordinator._join_task",
    "_coordinator._manager._net.call_later",
    "_coordinator._manager.call_soon",
    "_coordinator._manager.cluster.broker_metadata",
    "_coordinator._manager.cluster.config.allow_auto_create_topics",
    "_coordinator._offset_fetch_futures.clear",
    "_coordinator._on_close_prepare_async",
    "_coordinator._on_join_complete_async",
    "_coordinator._on_join_prepare_async",
    "_coordinator._perform_assignment",
    "_coordinator._process_join_group_response",
    "_coordinator._process_sync_group_response",
    "_coordinator._send_heartbeat_request",
    "_coordinator._send_offset_commit_request",
    "_coordinator._send_offset_fetch_request",
    "_coordinator.commit_offsets_async",
    "_coordinator.completed_offset_commits.appendleft",
    "_coordinator.completed_offset_commits.popleft",
    "_coordinator.config.session_timeout_ms",
    "_coordinator.coordinator_id",
    "_coordinator.coordinator_unknown",
    "_coordinator.generation_if_stable",
    "_coordinator.group_id",
    "_coordinator.group_instance_id",
    "_coordinator.lookup_coordinator",
    "_coordinator.maybe_leave_group_async",
    "_coordinator.need_rejoin",
    "_coordinator.poll",
    "_coordinator.rejoin_needed",
    "_coordinator.rejoining",
    "_coordinator.request_rejoin",
    "_coordinator.reset_generation",
    "_coordinator.stable",
    "_coordinator.time_to_next_poll",
    "_fetcher.fetch_records",
    "_subscription.is_fetchable",
    "_subscription.partitions_auto_assigned",
)
"""Attributes of a ``KafkaConsumer``, also those that are only assigned; the last name may be a key of a dictionary."""

_FIRST_WITH_GROUPS: Final = 8
"""The version of OffsetFetch that has several groups."""
_OVERDUE_SECONDS: Final = 0.1
"""The least wait of a round of ``poll`` for records."""


def check_private_names(consumer: Any) -> None:
    """Raise ``UsageError`` if this release of kafka-python lacks one of the names: a rebalance would go wrong."""
    missing = missing_names(consumer, (*PRIVATE_NAMES, *MANAGER_NAMES))
    missing += missing_attributes(CONNECTION_CLASSES, CONNECTION_NAMES)
    if missing:
        raise unsupported_library("kafka-python", TESTED_VERSIONS, "KafkaConsumer", missing)


class _DecodedSubscription(Protocol):
    topics: list[str]


class JoiningMember(Protocol):
    """A member as kafka-python passes it to the assignor of the leader."""

    metadata: _DecodedSubscription


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


def withdraw_rejoin(consumer: Any) -> None:
    """Take back ``request_rejoin``, also that of the consumer itself after a revocation."""
    consumer._coordinator.rejoin_needed = False


def leave_group(consumer: Any) -> None:
    """Leave the group soon, and join it in the next ``poll``.

    The public way is ``unsubscribe(); subscribe()``. It blocks, which a callback must not.
    """
    call_soon(consumer, consumer._coordinator.maybe_leave_group_async)


def is_generation_lost(consumer: Any) -> bool:
    """Whether the group has removed the member, or the member has left."""
    return bool(consumer._coordinator._generation.is_lost())


def hook_rebalance_callbacks(
    consumer: Any,
    *,
    on_join_prepare: Callable[[], Awaitable[None]],
    on_elected_leader: Callable[[Mapping[str, bytes]], None],
    on_assigned: Callable[[bytes], None],
    on_join_complete: Callable[[], Awaitable[None]],
    on_unsubscribed_topics: Callable[[set[str], int, str], None],
    on_close: Callable[[], Awaitable[None]],
) -> None:
    """Call functions and coroutines on the I/O thread at these points of every rebalance.

    A ``ConsumerRebalanceListener`` cannot do it: it would replace the one of the user, and is not called when only
    standby tasks change. ``on_elected_leader`` gets the subscriptions of all members and ``on_assigned`` the assignment
    of this one, as bytes: kafka-python passes an assignor only what it has decoded.
    """
    coordinator = consumer._coordinator
    _prepare_join_after_lost_generation(coordinator)
    _resume_pending_join(coordinator)
    _call_commit_callbacks_in_order(coordinator)
    _wait_while_heartbeat_is_overdue(coordinator)

    async def preparing() -> None:
        _clear_offset_fetch_futures(coordinator)
        await on_join_prepare()

    coordinator._on_join_prepare_async = run_before(preparing, coordinator._on_join_prepare_async)
    coordinator._on_join_complete_async = run_after(
        _report_assignment(consumer, on_assigned, on_unsubscribed_topics), on_join_complete
    )
    coordinator._perform_assignment = _report_subscriptions(coordinator._perform_assignment, on_elected_leader)
    coordinator._on_close_prepare_async = run_before(on_close, coordinator._on_close_prepare_async)


def _report_subscriptions(
    original: Callable[..., Any], report: Callable[[Mapping[str, bytes]], None]
) -> Callable[..., Any]:
    """Return ``_perform_assignment`` that reports the subscriptions before they are decoded."""

    @wraps(original)
    def performing(leader_id: str, protocol: str, members: Any) -> Any:
        report({member.member_id: member.metadata for member in members})
        return original(leader_id, protocol, members)

    return performing


def _report_assignment(
    consumer: Any, on_assigned: Callable[[bytes], None], on_unsubscribed_topics: Callable[[set[str], int, str], None]
) -> AsyncCall:
    """Return ``_on_join_complete_async`` that reports the bytes of the assignment, or its unsubscribed topics.

    3.0.12 refuses such topics: it rejoins at once, and again for the next assignment (cooperative), or raises a
    ``ValueError`` (eager).
    """
    original = consumer._coordinator._on_join_complete_async

    @wraps(original)
    async def completing(generation: int, member_id: str, protocol: str, assignment: bytes) -> Any:
        try:
            assigned = {topic for topic, _ in decode_consumer_assignment(assignment).assigned_partitions}
        except DecodeError:  # kafka-python raises its own error from one poll, and later ones would wait for ever
            request_rejoin(consumer)
            return await original(generation, member_id, protocol, assignment)
        if unsubscribed := assigned.difference(consumer.subscription() or ()):
            on_unsubscribed_topics(unsubscribed, generation, member_id)
            return None
        on_assigned(assignment)
        return await original(generation, member_id, protocol, assignment)

    return completing


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

    3.0.12 checks again whether the member has to rejoin. This no longer holds for a leader that joined because
    partitions were new and has assigned them. If the poll's time was over before the SyncGroup response arrived, such a
    leader never had tasks and never sent a heartbeat. Java: ``AbstractCoordinator.joinFuture``.
    """
    original = coordinator.need_rejoin
    coordinator.need_rejoin = lambda: coordinator._join_task is not None or original()


def _call_commit_callbacks_in_order(coordinator: Any) -> None:
    """Make the callbacks of ``commit_async`` run in the order of its calls.

    3.0.12 puts each completed commit at the end of the queue from which the next one is taken, so callbacks that wait
    for the same ``poll`` run in reverse. It also fails a sixth commit at once while five are in flight, so even the
    order of completion is not that of the calls. Java: ``ConsumerCoordinator.completedOffsetCommits``.
    """
    queue = coordinator.completed_offset_commits = CommitQueue()
    commit = coordinator.commit_offsets_async

    @wraps(commit)
    def committing(offsets: Any, callback: Callable[..., object] | None = None) -> Any:
        if callback is None:
            return commit(offsets)
        slot = queue.reserve(callback)
        try:
            return commit(offsets, callback=slot)
        except BaseException:
            queue.cancel(slot)
            raise

    coordinator.commit_offsets_async = committing


def _wait_while_heartbeat_is_overdue(coordinator: Any) -> None:
    """Make ``poll`` wait between its rounds while no heartbeat is answered.

    3.0.12 waits for records until the next heartbeat is due. While one is overdue that is no time at all: ``poll`` runs
    a thousand rounds a second, and each adds a callback with its error to the Fetch request in flight. A network cut of
    five seconds took 10 to 20 MB. A response still ends the wait; heartbeats do not depend on it.
    """
    original = coordinator.time_to_next_poll
    coordinator.time_to_next_poll = lambda: max(original(), _OVERDUE_SECONDS)


def session_seconds(consumer: Any) -> float:
    """Return the session timeout; the default depends on the broker."""
    return float(consumer._coordinator.config["session_timeout_ms"]) / 1000


def hook_session(
    consumer: Any,
    *,
    now: Callable[[], float],
    on_joined: Callable[[float], None],
    on_confirmed: Callable[[float], None],
    on_lost: Callable[[], None],
    on_fenced: Callable[[], None],
) -> None:
    """Call ``on_joined`` and ``on_confirmed`` with the time at which an accepted SyncGroup or heartbeat was sent.

    ``on_lost`` and ``on_fenced`` report that the group has removed the member, or that another member has its instance
    id. All are called on the I/O thread. 3.0.12 only logs that a heartbeat was fenced, sends no more, and continues to
    deliver.
    """
    coordinator = consumer._coordinator
    _require_answers(coordinator)
    send_heartbeat, reset = coordinator._send_heartbeat_request, coordinator.reset_generation
    process_sync = _without_null(coordinator._process_sync_group_response, also_of_errors=False)
    handle_commit = coordinator._handle_offset_commit_response
    join = coordinator._do_join_and_sync_async
    clock_ahead = 0.0  # of `now` before the time of kafka-python, which stands still while the machine sleeps

    @wraps(join)
    async def joining(*arguments: Any, **settings: Any) -> Any:
        nonlocal clock_ahead
        clock_ahead = now() - time.monotonic()
        return await join(*arguments, **settings)

    @wraps(send_heartbeat)
    async def sending_heartbeat() -> None:
        sent_at = now()
        try:
            await send_heartbeat()
        except RebalanceInProgressError:  # the coordinator knows the member
            on_confirmed(sent_at)
            raise
        on_confirmed(sent_at)

    @wraps(process_sync)
    def processing_sync(response: Any, sent_at: float) -> Any:
        assignment = process_sync(response, sent_at)
        on_joined(sent_at + clock_ahead)
        return assignment

    @wraps(handle_commit)
    def committed(*arguments: Any) -> None:
        try:
            handle_commit(*arguments)
        except FencedInstanceIdError:
            on_fenced()
            raise

    @wraps(reset)
    def resetting(*arguments: Any, **settings: Any) -> None:
        on_lost()
        reset(*arguments, **settings)

    coordinator.reset_generation = resetting
    coordinator._process_join_group_response = _without_null(coordinator._process_join_group_response)
    coordinator._process_sync_group_response = processing_sync
    coordinator._send_heartbeat_request = _reporting_fence(sending_heartbeat, on_fenced)
    coordinator._handle_offset_commit_response = committed
    coordinator._do_join_and_sync_async = _reporting_fence(joining, on_fenced)


def _require_answers(coordinator: Any) -> None:
    """Make an answer that lacks a partition an error, and one of OffsetFetch that says that the partition is unknown.

    3.0.12 takes the one and the other for "no committed offset", and a commit that is not answered for made.
    """
    fetch, handle_fetch = coordinator._send_offset_fetch_request, coordinator._handle_offset_fetch_response
    handle_commit = coordinator._handle_offset_commit_response
    answered = set[tuple[str, int]]()

    @wraps(handle_fetch)
    def handling_fetch(response: Any) -> Any:
        nonlocal answered
        groups = response.groups if response.API_VERSION >= _FIRST_WITH_GROUPS else [response]
        rows = [(topic.name, row) for group in groups for topic in group.topics for row in topic.partitions]
        answered = {(topic, row.partition_index) for topic, row in rows}
        for topic, row in rows:
            if row.error_code == UnknownTopicOrPartitionError.errno:
                raise KafkaProtocolError(f"the coordinator does not know partition {row.partition_index} of {topic}")
        return handle_fetch(response)

    @wraps(fetch)
    async def fetching(partitions: Any) -> Any:
        offsets = await fetch(partitions)
        _require_all(partitions, answered, "OffsetFetch")  # no other answer comes in between
        return offsets

    @wraps(handle_commit)
    def handling_commit(offsets: Any, send_time: float, response: Any) -> None:
        handle_commit(offsets, send_time, response)
        rows = [(topic.name, row.partition_index) for topic in response.topics for row in topic.partitions]
        _require_all(offsets, rows, "OffsetCommit")

    coordinator._send_offset_fetch_request = fetching
    coordinator._handle_offset_fetch_response = handling_fetch
    coordinator._handle_offset_commit_response = handling_commit


def _require_all(asked: Iterable[tuple[str, int]], answered: Collection[tuple[str, int]], request: str) -> None:
    if missing := {tuple(partition) for partition in asked}.difference(answered):
        topic, number = min(missing)
        raise KafkaProtocolError(f"expected partition {number} of {topic} in the answer to {request}, got none")


def _without_null(process: Callable[..., Any], *, also_of_errors: bool = True) -> Callable[..., Any]:
    """Refuse a response with null where the schema has a value: a member sends a member id of null for ever.

    The assignment of an error is not read, and in one of librdkafka's mock cluster it is null.
    """

    @wraps(process)
    def processing(response: Any, *arguments: Any, **settings: Any) -> Any:
        try:
            if also_of_errors or not response.error_code:
                check_answer(response)
        except ValueError as error:
            raise KafkaProtocolError(str(error)) from None
        return process(response, *arguments, **settings)

    return processing


def _reporting_fence(original: AsyncCall, on_fenced: Callable[[], None]) -> AsyncCall:
    @wraps(original)
    async def hooked(*arguments: Any, **settings: Any) -> Any:
        try:
            return await original(*arguments, **settings)
        except FencedInstanceIdError:
            on_fenced()
            raise

    return hooked


def hook_delivery(consumer: Any, *, before_poll: Callable[[], None], may_deliver: Callable[[], bool]) -> None:
    """Call ``before_poll`` in every round of ``poll``, and return no record unless ``may_deliver``.

    A record that is not returned stays the next one of its partition. ``may_deliver`` is also asked after a poll has
    waited, and for every record of an iterator. A consumer with manually assigned partitions is no member, so nothing
    withholds its records.
    """
    coordinator, fetcher, subscription = consumer._coordinator, consumer._fetcher, consumer._subscription
    poll, fetch, is_fetchable = coordinator.poll, fetcher.fetch_records, subscription.is_fetchable

    def is_manual() -> bool:
        return not subscription.partitions_auto_assigned()

    @wraps(poll)
    def polling(*arguments: Any, **settings: Any) -> Any:
        before_poll()
        try:
            return poll(*arguments, **settings)
        except KafkaError:
            before_poll()  # a failure of the member explains the error
            raise

    @wraps(fetch)
    def fetching(*arguments: Any, **settings: Any) -> Any:
        if not (may_deliver() or is_manual()):
            return {}, True  # "idle": poll waits for a moment
        return fetch(*arguments, **settings)

    coordinator.poll = polling
    fetcher.fetch_records = fetching
    subscription.is_fetchable = lambda partition: (may_deliver() or is_manual()) and is_fetchable(partition)


def send_heartbeat(consumer: Any) -> None:
    """Send a heartbeat now, whatever the interval; from any thread."""
    coordinator = consumer._coordinator
    if coordinator.stable():
        call_soon(consumer, coordinator._do_heartbeat)


def _clear_offset_fetch_futures(coordinator: Any) -> None:
    """Drop responses about committed offsets that arrived after their ``poll`` had ended.

    3.0.12 keeps them for the next request about the same partitions: a partition that other members owned for 79 s
    started 79 s back.
    """
    coordinator._offset_fetch_futures.clear()


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


def commit_identity(consumer: Any) -> tuple[str, int, str, str | None] | None:
    """Return group, generation, member id and instance id; None if the member may not commit now."""
    coordinator = consumer._coordinator
    generation = coordinator.generation_if_stable()
    if generation is None:
        return None
    return coordinator.group_id, generation.generation_id, generation.member_id, coordinator.group_instance_id


def coordinator_node(consumer: Any) -> Any:
    """Return the broker that is the coordinator, with ``host`` and ``port``; None if it is unknown."""
    coordinator = consumer._coordinator
    return coordinator._manager.cluster.broker_metadata(coordinator.coordinator_id)
