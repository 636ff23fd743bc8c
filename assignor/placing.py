"""Who has which task while they are being assigned, in numbers, and why.

Clients and tasks are numbers here, counted in the order in which Kafka looks at them: comparing two is cheap, and the
smaller number is the one that Kafka prefers.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from enum import Enum
from uuid import UUID

from attrs import define, field

from assignor.client_state import ClientState
from subscription_codec import TaskId


class Why(Enum):
    """Why a task is where it is; ``{other}`` is the other client that has to do with it."""

    # The sticky and the fallback-prior assignor.
    KEPT = "was active here"
    STANDBY_TAKES_OVER = "was a standby here, and nobody has it active any longer"
    ALSO_HAD_IT = "was active here too, and {other} has more than its share"
    STANDBY_RELIEVES = "was a standby here, and {other} has more than its share"
    NEW = "nobody who had it may get it; the fewest tasks per member are here"
    GIVEN_UP = "{other} has more than its share; the fewest tasks per member are here"
    STAYS_STANDBY = "was a standby here"
    KEEPS_STATE = "was active here, so its state is still here"
    # The high-availability assignor.
    DEALT = "tasks are dealt to the clients in turn"
    BALANCED = "came from {other}, which had more tasks per member"
    SWAPPED = "caught up and a standby, so it is active here until {other} has caught up"
    CAUGHT_UP = "the least loaded client that has caught up; active here until {other} has caught up"
    LEAST_LAG = "nobody has caught up, and the lag is smallest here; active here until {other} has caught up"
    STATELESS = "has no state, so it is where the fewest active tasks per member are"
    STANDBY = "the least loaded client without it"
    RACKS = "came from {other}, so that less is read across racks"
    DIFFERENT_TAGS = "the least loaded client whose tags differ from those of the other copies"
    BECOMES_ACTIVE = "is to be active here, and catches up until then; {other} has it in the meantime"
    STANDBY_CAUGHT_UP = "the least loaded client that has caught up; a standby until {other} has caught up"
    STANDBY_LEAST_LAG = "nobody else has caught up, and the lag is smaller here than at {other}"
    BECOMES_STANDBY = "is to be a standby here, and catches up until then; {other} has one in the meantime"


Note = Callable[[int, int, Why, int | None], None]
"""Called where it is decided, with a task, the client that gets it, why, and the other client in it."""
Notes = dict[tuple[int, int], tuple[Why, int | None]]
"""The last reason for each task and client."""
Reasons = MutableMapping[tuple[TaskId, UUID], str]
"""Why a client has a task, in words."""


def explain(
    reasons: Reasons,
    notes: Notes,
    clients: Sequence[ClientState],
    tasks: Sequence[TaskId],
    more: Callable[[int, int], str] = lambda _client, _task: "",
) -> None:
    """Say why clients have what they have. What was noted of those who have lost a task since is left out.

    ``more`` says what else there is to say of a client and a task.
    """
    for (task, client), (why, other) in notes.items():
        if tasks[task] in clients[client].active or tasks[task] in clients[client].standby:
            name = None if other is None else clients[other].process_id
            reasons[tasks[task], clients[client].process_id] = why.value.format(other=name) + more(client, task)


@define(eq=False)
class Placing:
    """Who has what so far: ``count`` is per client, ``owner`` (who has it active) and ``standbys`` are per task.

    ``why`` has the last reason for a task to be at a client, and the other client in it; ``None`` if nobody asks.
    """

    clients: Sequence[ClientState]
    tasks: Sequence[TaskId]
    capacity: list[int]
    count: list[int]
    owner: list[int]
    standbys: list[set[int]]
    why: Notes | None = field(default=None)

    @classmethod
    def of(cls, clients: Sequence[ClientState], tasks: Sequence[TaskId], explained: bool) -> Placing:
        """Nobody has anything yet."""
        return cls(
            clients,
            tasks,
            capacity=[client.capacity for client in clients],
            count=[0] * len(clients),
            owner=[-1] * len(tasks),
            standbys=[set() for _ in tasks],
            why={} if explained else None,
        )

    def has(self, client: int, task: int) -> bool:
        """Whether a client has a task, in whichever way."""
        return self.owner[task] == client or client in self.standbys[task]

    def load(self, client: int) -> float:
        """Tasks per member, counting stateful ones only: all that is there so far."""
        return self.count[client] / self.capacity[client]

    def note(self, task: int, client: int, why: Why, other: int | None = None) -> None:
        """Remember why a task is at a client."""
        if self.why is not None:
            self.why[task, client] = why, other
