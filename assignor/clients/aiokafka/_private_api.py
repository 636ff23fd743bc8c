"""All private names of aiokafka (0.14) that are used, and nothing else.

Verified with 0.14.0. ``PRIVATE_NAMES`` lists the attributes; a test looks each of them up on a real consumer, so that a
release that renames one fails there and not in a rebalance.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any, Final, Protocol, cast

from aiokafka.errors import KafkaError

from assignor.clients.adapter import ClusterMetadata, MemberAssignment, MemberGeneration
from assignor.clients.hooks import run_before

PRIVATE_NAMES: Final = (
    "_auto_offset_reset",
    "_client._sasl_mechanism",
    "_client._sasl_plain_password",
    "_client._sasl_plain_username",
    "_client._security_protocol",
    "_coordinator._cluster.partitions_for_topic",
    "_coordinator._on_join_complete",
    "_coordinator._on_join_prepare",
    "_coordinator._perform_assignment",
    "_coordinator.check_errors",
    "_coordinator.generation",
    "_coordinator.maybe_leave_group",
    "_coordinator.member_id",
    "_coordinator.request_rejoin",
    "_heartbeat_interval_ms",
    "_partition_assignment_strategy",
    "_session_timeout_ms",
    "_subscription.abort_waiters",
    "_subscription.fetch_context",
)
"""Attributes of a started ``AIOKafkaConsumer``."""


class AiokafkaAssignment(MemberAssignment, Protocol):
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


def generation(consumer: Any) -> MemberGeneration:
    """Return the current generation of a consumer that has joined; its number is negative if the group is lost."""
    return MemberGeneration(int(consumer._coordinator.generation), str(consumer._coordinator.member_id))


def is_generation_lost(consumer: Any) -> bool:
    """Whether the group does not know the consumer, or not any more."""
    return consumer._coordinator is not None and generation(consumer).generation_id < 0


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
    on_join_complete: Callable[[], Awaitable[None]],
) -> None:
    """Await three coroutines at these points of every rebalance; ``on_elected_leader`` gets all subscriptions.

    The user's own listener is not called when the generation is lost or the consumer stops. An assignor is not awaited,
    and aiokafka passes it only half of each subscription.
    """
    coordinator = consumer._coordinator
    perform, complete = coordinator._perform_assignment, coordinator._on_join_complete

    async def performing(response: Any) -> Any:
        # A member is (id, bytes), or (id, static id, bytes).
        await on_elected_leader(coordinator._cluster, {member[0]: member[-1] for member in response.members})
        return await perform(response)

    async def completing(*arguments: Any) -> Any:
        result = await complete(*arguments)
        await on_join_complete()
        return result

    coordinator._on_join_prepare = run_before(on_join_prepare, coordinator._on_join_prepare)
    coordinator._perform_assignment = performing
    coordinator._on_join_complete = completing
