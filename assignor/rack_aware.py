"""Rack-aware optimisation (KIP-925): tasks change clients so that less is read across racks, and few of them move.

How it works. Every client keeps its number of tasks. The cost of an assignment (``Costs``) is made as small as it can
be; of several assignments with that cost one is taken in which the fewest tasks move; of tasks that are alike those
with the greater ids move, to what is free in the order of clients.

* ``min_traffic``: clients of one rack are alike, so tasks only change racks; who leaves makes room for who comes.
* ``balance_subtopology``: besides, no client may have more of a subtopology than its share of all tasks, rounded up. So
  tasks may change clients within a rack too, or go where they cost more.
* Standbys, with either: all copies of all tasks at once, no two of them in one place. (Kafka lets two clients at a time
  exchange standbys, in up to four rounds, so it may stop before the least cost.) With client tags the copies of a task
  must not come to have fewer different tags. What one copy may do then depends on the others: each goes by where they
  are now; of copies that moved and do not go together all but one are held, and it is done again; until nothing moves.

Java: ``RackAwareTaskAssignor``, ``MinTrafficGraphConstructor``, ``BalanceSubtopologyGraphConstructor``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, takewhile
from math import ceil
from typing import Final

from attrs import define, field

from assignor.assignment_configs import AssignmentConfigs
from assignor.client_state import ClientState
from assignor.rack_moves import Reads, Seated, Sorts, Tags, move_between
from assignor.racks import Costs, Racks, Replicas
from assignor.rearranging import Move
from subscription_codec import TaskId

ROUNDS: Final = 4
"""So often a standby may move under client tags, as in Kafka."""


@define(eq=False)
class RackAware:
    """A group of clients in racks, all of which are known (``Racks.why_not`` has nothing to say)."""

    clients: Sequence[ClientState]
    racks: Racks
    balanced: bool
    _rack: list[int] = field(init=False)
    _names: dict[str, int] = field(init=False)
    _known: dict[tuple[int, tuple[tuple[int, int], ...]], Reads] = field(factory=dict, init=False)

    @classmethod
    def of(
        cls,
        clients: Sequence[ClientState],
        tasks: Iterable[TaskId],
        stateful: Iterable[TaskId],
        config: AssignmentConfigs,
        racks: Racks | None,
    ) -> RackAware | None:
        """Make one, if racks count: if that is configured, and they are known."""
        processes = [client.process_id for client in clients]
        if racks is None or racks.why_not(config, processes, tasks, stateful):
            return None
        return cls(clients, racks, config.rack_aware_assignment_strategy == "balance_subtopology")

    def __attrs_post_init__(self) -> None:
        """Number the racks of the clients, in order of name."""
        names = [self.racks.rack_of(client.process_id) for client in self.clients]
        self._names = {name: number for number, name in enumerate(sorted(set(names)))}
        self._rack = [self._names[name] for name in names]

    def actives(
        self, ids: Sequence[TaskId], owners: list[int], costs: Costs, barred: Sequence[Collection[int]] = ()
    ) -> list[Move]:
        """Rearrange active tasks, in ``owners``; return what moved. Nobody gets a task that is ``barred`` there."""
        reads = self._reads(ids, self.racks.partitions)
        if not self.balanced and not any(barred):
            moves = self._change_racks(owners, reads, costs)
        else:
            groups, room = self._shares(ids, owners, any(barred)) if self.balanced else ([0] * len(ids), [])
            tasks = [
                Seated(task, [owner], reads[task], barred[task] if barred else (), groups[task])
                for task, owner in enumerate(owners)
            ]
            moves = move_between(tasks, self._by_rack(), costs, room)
        for task, _, client in moves:
            owners[task] = client
        return moves

    def standbys(
        self,
        ids: Sequence[TaskId],
        actives: Sequence[Collection[int]],
        standbys: Sequence[set[int]],
        costs: Costs,
        by_tags: bool = False,
    ) -> list[Move]:
        """Rearrange standbys; return what moved. ``actives`` and ``standbys`` are the clients that have a task so."""
        wanting = [task for task, places in enumerate(standbys) if places]
        reads = dict(zip(wanting, self._reads([ids[task] for task in wanting], self.racks.changelogs), strict=True))
        if not by_tags:
            moves = move_between(
                [Seated(task, sorted(standbys[task]), reads[task], actives[task]) for task in wanting],
                self._by_rack(),
                costs,
            )
            _follow(moves, standbys)
            return moves
        sorts = self._by_rack_and_tags()

        def once_more(_turn: int) -> list[Move]:
            copies = [_Copies(task, actives[task], standbys[task], reads[task], sorts) for task in wanting]
            moves = _move_copies(copies, sorts, costs)
            _follow(moves, standbys)
            return moves

        return [*chain.from_iterable(takewhile(bool, map(once_more, range(ROUNDS))))]

    def _reads(self, ids: Sequence[TaskId], replicas: Mapping[TaskId, Replicas]) -> list[Reads]:
        """What each task reads; the same object for what is the same."""
        found = []
        for task in ids:
            near = Counter(self._names[rack] for racks in replicas[task] for rack in {*racks} if rack in self._names)
            key = len(replicas[task]), tuple(sorted(near.items()))
            if key not in self._known:
                self._known[key] = Reads(len(replicas[task]), dict(key[1]))
            found.append(self._known[key])
        return found

    def _by_rack(self) -> Sorts:
        return Sorts(self._rack, range(len(self._names)), [frozenset()] * len(self._names))

    def _by_rack_and_tags(self) -> Sorts:
        sorts: dict[tuple[int, Tags], int] = {}
        of_client = [
            sorts.setdefault((rack, frozenset(client.tags.items())), len(sorts))
            for rack, client in zip(self._rack, self.clients, strict=True)
        ]
        return Sorts(of_client, [rack for rack, _ in sorts], [tags for _, tags in sorts])

    def _change_racks(self, owners: Sequence[int], reads: Sequence[Reads], costs: Costs) -> list[Move]:
        """Let tasks go from rack to rack, each of them taken for one large client; then to what is free there."""
        racks = range(len(self._names))
        tasks = [Seated(task, [self._rack[owner]], reads[task]) for task, owner in enumerate(owners)]
        changes = move_between(tasks, Sorts(racks, racks, [frozenset()] * len(racks)), costs)
        free: defaultdict[int, list[int]] = defaultdict(list)
        for task, left, _ in changes:
            free[left].append(owners[task])
        places = {rack: iter(sorted(clients)) for rack, clients in free.items()}
        return [(task, owners[task], next(places[rack])) for task, _, rack in changes]

    def _shares(self, ids: Sequence[TaskId], owners: Sequence[int], keeping: bool) -> tuple[list[int], list[list[int]]]:
        """Number the subtopologies, and say how many tasks of each a client may have (``keeping``: or has now)."""
        names: dict[tuple[str, int], int] = {}
        groups = [names.setdefault((task.topology or "", task.subtopology), len(names)) for task in ids]
        sizes, counts = Counter(groups), Counter(owners)
        has = Counter(zip(groups, owners, strict=True)) if keeping else Counter[tuple[int, int]]()
        # In floating point as in Java: where that rounds up by accident, there is room for one more.
        room = [
            [
                max(ceil(counts[client] * 1.0 / len(ids) * sizes[group]), has[group, client])
                for client in range(len(self.clients))
            ]
            for group in range(len(names))
        ]
        return groups, room


@define(eq=False)
class _Copies:
    """The copies of a task, which have some client tags between them. ``pinned`` are those that must not move."""

    task: int
    actives: Collection[int]
    standbys: Collection[int]
    reads: Reads
    sorts: Sorts
    pinned: set[int] = field(factory=set)

    def seated(self) -> Iterator[Seated]:
        """Each standby that may move, to clients with which there are not fewer tags, if the other copies stay."""
        everybody = {*self.actives, *self.standbys}
        tags = self._tags(everybody)
        for client in sorted({*self.standbys} - self.pinned):
            others = everybody - {client}
            may = partial(self._may, self._tags(others), len(tags))
            yield Seated(self.task, [client], self.reads, others, may=may)

    def _may(self, others: Tags, least: int, sort: int) -> bool:
        return len(others | self.sorts.tags[sort]) >= least

    def _tags(self, clients: Collection[int]) -> Tags:
        return frozenset().union(*(self.sorts.tags[self.sorts.of_client[client]] for client in clients))

    def saving(self, move: Move) -> int:
        """How many partitions fewer a standby reads from another rack."""
        left, taken = (self.reads.far(self.sorts.rack[self.sorts.of_client[client]]) for client in move[1:])
        return left - taken

    def go_together(self, moves: Sequence[Move]) -> bool:
        """Whether the copies may move so: to different places, and without loss of tags."""
        before = {*self.actives, *self.standbys}
        after = before - {left for _, left, _ in moves} | {taken for _, _, taken in moves}
        return len(after) == len(before) and len(self._tags(after)) >= len(self._tags(before))


def _move_copies(copies: Sequence[_Copies], sorts: Sorts, costs: Costs) -> list[Move]:
    """Let copies move; where several of a task do that do not go together, all but the most useful have to stay."""
    while True:
        moves = move_between([seated for each in copies for seated in each.seated()], sorts, costs)
        by_task: defaultdict[int, list[Move]] = defaultdict(list)
        for move in moves:
            by_task[move[0]].append(move)
        apart = [each for each in copies if not each.go_together(by_task[each.task])]
        if not apart:
            return moves
        for each in apart:
            _, *others = sorted(by_task[each.task], key=each.saving, reverse=True)
            each.pinned.update(left for _, left, _ in others)


def _follow(moves: Sequence[Move], standbys: Sequence[set[int]]) -> None:
    for task, left, _ in moves:
        standbys[task].remove(left)
    for task, _, taken in moves:
        standbys[task].add(taken)
