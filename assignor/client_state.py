"""What a task assignor knows of one client (a process with one or more members) and what it gives it.

Java: ``ClientState``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from attrs import define, field

from subscription_codec import RUNNING as RUNNING
from subscription_codec import UNKNOWN_SUM, TaskId

UNKNOWN_LAG: Final = UNKNOWN_SUM
"""The lag where a client's offset is not known. This offset sum and ``RUNNING`` are lags as well."""

NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})


@define(eq=False)
class ClientState:
    """One client: ``capacity`` is its number of members, tasks are in sets.

    ``previous_active``, ``previous_standby``, ``lags`` and ``tags`` go in, ``active`` and ``standby`` come out.

    ``lags`` says, for stateful tasks, how far the client is behind: records to restore, ``RUNNING`` or
    ``UNKNOWN_LAG``. In a large group nearly everybody is at the start of nearly every task; then let all clients
    share one mapping, each below its own: ``ChainMap(own, shared)``. ``tags`` are its ``client.tag.*``.
    """

    process_id: UUID
    capacity: int
    previous_active: frozenset[TaskId] = frozenset()
    previous_standby: frozenset[TaskId] = frozenset()
    active: set[TaskId] = field(factory=set)
    standby: set[TaskId] = field(factory=set)
    lags: Mapping[TaskId, int] = NOTHING
    tags: Mapping[str, str] = NOTHING

    @property
    def tasks(self) -> set[TaskId]:
        """Everything it has been given so far."""
        return self.active | self.standby

    @property
    def load(self) -> float:
        """Tasks per member."""
        return (len(self.active) + len(self.standby)) / self.capacity

    @property
    def full(self) -> bool:
        """Whether it has at least as many tasks as members."""
        return len(self.active) + len(self.standby) >= self.capacity

    def has_more_available_than(self, other: ClientState) -> bool:
        """Whether a task is better placed here: less load, or the same and more members."""
        return (self.load, -self.capacity) < (other.load, -other.capacity)


def signed_order(process_id: UUID) -> tuple[int, int]:
    """Order process ids as Java orders UUIDs: two signed 64-bit halves, unlike Python's own order."""
    high, low = divmod(process_id.int, 1 << 64)
    return high - (high >> 63 << 64), low - (low >> 63 << 64)


def in_order(clients: Iterable[ClientState]) -> list[ClientState]:
    """Sort clients, so that the order they came in decides nothing."""
    return sorted(clients, key=lambda client: signed_order(client.process_id))
