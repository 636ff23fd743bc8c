"""All private names of aiokafka (0.14) that are used, and nothing else.

``PRIVATE_NAMES`` and ``COORDINATOR_NAMES`` list the attributes. ``bind`` looks each of them up, so that a release that
renames one is refused there and does not fail in a rebalance.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import wraps
from typing import Any, Final, Protocol, cast

# Modules without documentation.
from aiokafka.conn import AIOKafkaConnection
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.errors import IllegalStateError, KafkaError
from aiokafka.protocol.group import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest

from streams_assignor.clients._library_names import (
    instances_have,
    missing_attributes,
    missing_names,
    unsupported_library,
)
from streams_assignor.clients.adapter import ClusterMetadata, MemberGeneration
from streams_assignor.clients.aiokafka._private_answers import ANSWER_CLASSES, ANSWER_NAMES
from streams_assignor.clients.aiokafka._static_heartbeat import StaticHeartbeat
from streams_assignor.clients.hooks import run_before

TESTED_VERSIONS: Final = "0.13.0 to 0.14.0"
"""The lowest and the newest release that the tests were run with (``tox -e clients-lowest,clients-newest``)."""

PRIVATE_NAMES: Final = (
    "_auto_offset_reset",
    "_client._get_conn",
    "_client._maybe_wait_metadata",
    "_client._sasl_mechanism",
    "_client._sasl_plain_password",
    "_client._sasl_plain_username",
    "_client._security_protocol",
    "_coordinator",
    "_fetch_max_bytes",
    "_group_instance_id",
    "_heartbeat_interval_ms",
    "_partition_assignment_strategy",
    "_session_timeout_ms",
    "_subscription.abort_waiters",
    "_subscription.begin_reassignment",
    "_subscription.fetch_context",
    "_subscription.partitions_auto_assigned",
)
"""Attributes of an ``AIOKafkaConsumer`` that is not started."""

COORDINATOR_NAMES: Final = (
    "_cluster",
    "_on_join_complete",
    "_on_join_prepare",
    "_perform_assignment",
    "_send_req",
    "check_errors",
    "generation",
    "group_id",
    "maybe_leave_group",
    "member_id",
    "request_rejoin",
    "reset_generation",
)
"""Attributes of its coordinator, which exists only after the start: `bind` looks for them in its class."""

CONNECTION_NAMES: Final = (
    "_reader",  # an asyncio.StreamReader
)
"""The private attributes of a connection that the adapter uses."""


_MOST_BYTES: Final = 100 << 20
"""The limit of a response, beside the records of a fetch: the limit of kafka-python."""


def check_private_names(consumer: Any) -> None:
    """Raise ``UsageError`` if this release of aiokafka lacks one of the names: a rebalance would go wrong."""
    missing = missing_names(consumer, PRIVATE_NAMES)
    missing += [f"_coordinator.{name}" for name in COORDINATOR_NAMES if not instances_have(GroupCoordinator, name)]
    missing += [f"connections.{name}" for name in CONNECTION_NAMES if not instances_have(AIOKafkaConnection, name)]
    missing += missing_attributes(ANSWER_CLASSES, ANSWER_NAMES)
    if missing:
        raise unsupported_library("aiokafka", TESTED_VERSIONS, "AIOKafkaConsumer", missing)


class AiokafkaAssignment(Protocol):
    """An assignment as aiokafka passes it to the assignor of each member."""

    def partitions(self) -> list[object]:
        """Return the assigned partitions."""
        ...


def assignment_strategy(consumer: Any) -> list[object]:
    """Return the assignors of a consumer."""
    return list(consumer._partition_assignment_strategy)


def auto_offset_reset(consumer: Any) -> str:
    """Return that setting of a consumer."""
    return str(consumer._auto_offset_reset)


def session_and_heartbeat_ms(consumer: Any) -> tuple[float, float]:
    """Return these two settings of a consumer."""
    return consumer._session_timeout_ms, consumer._heartbeat_interval_ms


def login(consumer: Any) -> dict[str, Any]:
    """Return the settings with which a consumer logs in, by their names."""
    client = consumer._client
    return {
        "security_protocol": client._security_protocol,
        "sasl_mechanism": client._sasl_mechanism,
        "sasl_plain_username": client._sasl_plain_username,
        "sasl_plain_password": client._sasl_plain_password,
    }


def limit_memory(consumer: Any) -> None:
    """Close a connection whose peer announces a response of more bytes than any; aiokafka reads up to 2 GB of it.

    See docs/upstream/aiokafka.md. The connection to a bootstrap server, which is closed soon, has no limit.
    """
    connect, most = consumer._client._get_conn, _MOST_BYTES + consumer._fetch_max_bytes

    @wraps(connect)
    async def connecting(*arguments: Any, **settings: Any) -> Any:
        connection = await connect(*arguments, **settings)
        reader = connection and connection._reader
        if reader is not None and "readexactly" not in vars(reader):
            reader.readexactly = _at_most(most, reader.readexactly)
        return connection

    consumer._client._get_conn = connecting


def _at_most(most: int, read: Callable[[int], Awaitable[bytes]]) -> Callable[[int], Awaitable[bytes]]:
    async def reading(size: int) -> bytes:
        if size > most:
            raise ConnectionError(f"expected a response of at most {most:,} bytes, got one of {size:,}")
        return await read(size)

    return reading


def generation(consumer: Any) -> MemberGeneration:
    """Return the current generation of a consumer that has joined; its number is negative if the group is lost."""
    return MemberGeneration(int(consumer._coordinator.generation), str(consumer._coordinator.member_id))


def is_generation_lost(consumer: Any) -> bool:
    """Whether the group does not know the consumer, or not any more."""
    return consumer._coordinator is not None and generation(consumer).generation_id < 0


def instance_id(consumer: Any) -> str | None:
    """Return the ``group_instance_id`` of a static member, otherwise None."""
    return cast("str | None", consumer._group_instance_id)


def session_seconds(consumer: Any) -> float:
    """Return the session timeout."""
    return float(consumer._session_timeout_ms) / 1000


def check_errors(consumer: Any) -> None:
    """Raise the pending error of the coordinator, as every call that fetches records does."""
    consumer._coordinator.check_errors()


def is_assigned_manually(consumer: Any) -> bool:
    """Whether the consumer is no member, but has partitions by ``assign``, or none."""
    return not consumer._subscription.partitions_auto_assigned()


def stop_delivery(consumer: Any) -> None:
    """Return no more records until the next assignment; 0.14.0 does so only after ``on_join_prepare``.

    A consumer that has left the group for manually assigned partitions keeps those.
    """
    if not is_assigned_manually(consumer):
        consumer._subscription.begin_reassignment()


def request_rejoin(consumer: Any) -> None:
    """Rejoin in the background, with the member id."""
    consumer._coordinator.request_rejoin()


def leave_group(consumer: Any) -> None:
    """Leave the group and join it again, in the background.

    The public way is ``unsubscribe(); subscribe()``. It drops the user's listener.
    """
    consumer._coordinator.maybe_leave_group()


def fetch_context(consumer: Any) -> AbstractContextManager[None]:
    """Return a context in which the consumer counts as polled; outside it ``max_poll_interval_ms`` runs."""
    return cast(AbstractContextManager[None], consumer._subscription.fetch_context())


def abort_waiters(consumer: Any, error: KafkaError) -> None:
    """Raise an error in the calls that wait for records."""
    consumer._subscription.abort_waiters(error)


def consume_pending_error(consumer: Any) -> None:
    """Take the pending error so that asyncio does not warn; another exception was raised in its place."""
    if consumer._coordinator is not None:
        with suppress(KafkaError):
            consumer._coordinator.check_errors()


def hook_rebalance_callbacks(
    consumer: Any,
    *,
    on_join_prepare: Callable[[], Awaitable[None]],
    on_elected_leader: Callable[[ClusterMetadata, Mapping[str, bytes]], Awaitable[None]],
    on_assigned: Callable[[bytes], None],
    on_join_complete: Callable[[], Awaitable[None]],
) -> None:
    """Call these at the points of every rebalance; ``on_elected_leader`` gets all subscriptions.

    The user's own listener is not called when the generation is lost or the consumer stops. An assignor is not awaited,
    and aiokafka passes it only half of each subscription, and its assignment decoded.

    ``on_elected_leader`` runs when aiokafka has waited for the metadata of the group's topics: before, the leader does
    not know a topic that is new to it, and would leave out its tasks.
    """
    coordinator, client = consumer._coordinator, consumer._client
    perform, complete = coordinator._perform_assignment, coordinator._on_join_complete
    wait = client._maybe_wait_metadata
    elected: dict[object, Mapping[str, bytes]] = {}  # subscriptions by asyncio task: the fetcher waits, too

    async def waiting() -> None:
        await wait()
        if (subscriptions := elected.pop(asyncio.current_task(), None)) is not None:
            await on_elected_leader(coordinator._cluster, subscriptions)

    async def performing(response: Any) -> Any:
        # A member is (id, bytes), or (id, static id, bytes).
        task = asyncio.current_task()
        elected[task] = {member[0]: member[-1] for member in response.members}
        try:
            return await perform(response)
        finally:
            elected.pop(task, None)

    async def completing(generation: int, member_id: str, protocol: str, assignment: bytes) -> Any:
        on_assigned(assignment)
        result = await complete(generation, member_id, protocol, assignment)
        await on_join_complete()
        return result

    coordinator._on_join_prepare = run_before(on_join_prepare, coordinator._on_join_prepare)
    coordinator._perform_assignment = performing
    client._maybe_wait_metadata = waiting
    coordinator._on_join_complete = completing


# -- the requests of the coordinator -----------------------------------------------------------------------------------

_ACCEPTED: Final = frozenset({0, 27})
"""Error codes of a heartbeat of a member that the group knows: none, REBALANCE_IN_PROGRESS."""
_FENCED_INSTANCE_ID: Final = 82


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
    id.
    """
    coordinator = consumer._coordinator
    send, reset = coordinator._send_req, coordinator.reset_generation
    static = instance_id(consumer)
    last = generation(consumer)

    def heartbeat() -> StaticHeartbeat:
        return StaticHeartbeat(coordinator.group_id, last.generation_id, last.member_id, static or "")

    async def is_fenced() -> bool:
        """Whether another member has taken the instance id since this one was removed from the group."""
        if static is None or not last.member_id:
            return False
        return bool((await send(heartbeat())).error_code == _FENCED_INSTANCE_ID)

    @wraps(send)
    async def sending(request: Any) -> Any:
        nonlocal last
        if isinstance(request, JoinGroupRequest) and not coordinator.member_id and await is_fenced():
            on_fenced()
            raise KafkaError("this member is fenced")
        beats = isinstance(request, HeartbeatRequest)
        if beats and static is not None:
            request = heartbeat()
        sent_at, current = now(), generation(consumer)
        response = await send(request)
        code = getattr(response, "error_code", None)
        if code == _FENCED_INSTANCE_ID:
            on_fenced()
        elif beats and code in _ACCEPTED:
            on_confirmed(sent_at)
        elif isinstance(request, SyncGroupRequest) and code == 0:
            last = current
            on_joined(sent_at)
        return response

    @wraps(reset)
    def resetting() -> None:
        on_lost()
        reset()

    coordinator._send_req = sending
    coordinator.reset_generation = resetting


def unread(consumer: Any, offsets: Mapping[Any, int]) -> None:
    """Make these offsets, which were fetched and not delivered, the next ones of their partitions."""
    for partition, offset in offsets.items():
        with suppress(IllegalStateError):  # not assigned any more
            consumer.seek(partition, offset)
