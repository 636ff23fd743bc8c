"""How far each client is behind on each task, without a cell for each pair of them.

Most clients do not know most tasks: they are all equally far behind, at the start. So a task has one usual lag, and a
list of the clients that have another one.
"""

from __future__ import annotations

from collections import ChainMap, Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Final

from attrs import define

from assignor.client_state import NOTHING, RUNNING, ClientState
from assignor.errors import FatalError
from subscription_codec import TaskId

UNBOUNDED: Final = (1 << 63) - 1
"""``acceptable.recovery.lag`` of a group in which everybody counts as caught up (Java: ``Long.MAX_VALUE``)."""


@define(eq=False)
class TaskLags:
    """The lags of one task: ``usual``, but for clients in ``special``.

    ``caught_up`` are those of ``special`` who have caught up, ``others_caught_up`` says whether all others have, of
    whom there may be none. ``number`` is how many have caught up, ``least`` the smallest lag that anybody has.
    """

    clients: int
    usual: int
    special: dict[int, int]
    caught_up: set[int]
    others_caught_up: bool
    number: int
    least: int

    @classmethod
    def of(cls, clients: int, acceptable: int, usual: int, special: dict[int, int]) -> TaskLags:
        """Find out who has caught up; ``special`` is not empty."""
        others = clients - len(special)
        caught_up = {client for client, lag in special.items() if _acceptable(lag, acceptable)}
        others_caught_up = bool(others) and _acceptable(usual, acceptable)
        least = min(special.values())
        return cls(
            clients,
            usual,
            special,
            caught_up,
            others_caught_up,
            len(caught_up) + (others if others_caught_up else 0),
            min(least, usual) if others else least,
        )

    def lag(self, client: int) -> int:
        """The lag of one client."""
        return self.special.get(client, self.usual)

    def has_caught_up(self, client: int) -> bool:
        """Whether a client has caught up."""
        return client in self.caught_up or (self.others_caught_up and client not in self.special)

    def by_lag(self) -> Iterator[int]:
        """All clients, the least behind first; of equals the one that comes first."""
        special, usual = self.special, self.usual
        ordered = sorted((lag, client) for client, lag in special.items())
        yield from (client for lag, client in ordered if lag < usual)
        yield from (client for client in range(self.clients) if client not in special)
        yield from (client for lag, client in ordered if lag > usual)


def _acceptable(lag: int, acceptable: int) -> bool:
    return lag == RUNNING or 0 <= lag <= acceptable or acceptable == UNBOUNDED


@define(eq=False)
class Lags:
    """The lags of a group. Clients and tasks are numbers, as in ``Placing``.

    ``differing`` has the tasks that not everybody has the same lag of; nobody is ahead on the others.
    """

    usual: list[int]
    differing: dict[int, TaskLags]

    def of(self, client: int, task: int) -> int:
        """The lag of one client."""
        return self.differing[task].lag(client) if task in self.differing else self.usual[task]


def read(clients: Sequence[ClientState], tasks: Sequence[TaskId], acceptable: int) -> Lags:
    """Gather the lags that the clients have. A lag that is missing ends the leader, as it does in Kafka."""
    split = [_split(client.lags) for client in clients]
    bases = {id(base): base for _, base in split}
    most_used = Counter(id(base) for _, base in split).most_common(1)[0][0]
    usual = _column(bases[most_used], tasks)
    differing = {name: _differing(_column(base, tasks), usual) for name, base in bases.items()}
    special: defaultdict[int, dict[int, int]] = defaultdict(dict)
    number = {task: at for at, task in enumerate(tasks)}
    for client, (own, base) in enumerate(split):
        for at, lag in differing[id(base)]:
            special[at][client] = lag
        for task, lag in own.items():
            if (its := number.get(task)) is None:
                continue  # it is stateless, or gone
            if lag != usual[its]:
                special[its][client] = lag
            else:
                special[its].pop(client, None)
    _check(clients, tasks, usual, special)
    number_of_clients = len(clients)
    return Lags(
        usual,
        {task: TaskLags.of(number_of_clients, acceptable, usual[task], lags) for task, lags in special.items() if lags},
    )


_MISSING: Final = -(1 << 63)


def _check(
    clients: Sequence[ClientState], tasks: Sequence[TaskId], usual: list[int], special: Mapping[int, dict[int, int]]
) -> None:
    missing = {at for at, lag in enumerate(usual) if lag == _MISSING and len(special.get(at, ())) < len(clients)}
    missing |= {at for at, lags in special.items() if _MISSING in lags.values()}
    if missing:
        raise FatalError(f"a client has no lag of task {tasks[min(missing)]}, which has state", "IllegalStateException")


def _split(lags: Mapping[TaskId, int]) -> tuple[Mapping[TaskId, int], Mapping[TaskId, int]]:
    """What is a client's own, and what it may share with others."""
    if not isinstance(lags, ChainMap):
        return NOTHING, lags
    *own, base = lags.maps
    return own[0] if len(own) == 1 else ChainMap(*own), base


def _column(lags: Mapping[TaskId, int], tasks: Sequence[TaskId]) -> list[int]:
    """All its lags, in the order of the tasks. It often has them in that order already, which is quickly seen."""
    return [*lags.values()] if [*lags] == tasks else [*map(lags.get, tasks, repeat(_MISSING))]


_BLOCK: Final = 128


def _differing(column: list[int], usual: list[int]) -> list[tuple[int, int]]:
    """Where a column differs: block by block, for nearly all of them are equal and that is quickly seen."""
    return [
        (at, column[at])
        for start in range(0, len(column), _BLOCK)
        if column[start : start + _BLOCK] != usual[start : start + _BLOCK]
        for at in range(start, min(start + _BLOCK, len(column)))
        if column[at] != usual[at]
    ]
