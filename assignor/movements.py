"""Who has a task until the client that is to have it has caught up.

How it works. A task whose client is far behind goes to one that has caught up (from 3.2 on to the one that is least
behind, if nobody has), and its client keeps it as a standby to warm up, as long as warm-up replicas remain. Standbys
likewise. Tasks that the fewest clients are caught up on come first.

Kafka looks through all clients for each task; here only those are looked at whose lag differs from the usual one. Where
the usual one is good enough, nearly everybody will do, and ``LoadQueue`` has the least loaded of them.
Java: ``TaskMovement``.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from attrs import define, field, frozen

from assignor.java_order import queue_order
from assignor.lags import Lags
from assignor.load_queue import LoadQueue
from assignor.placing import Placing, Why


@frozen
class Rules:
    """What differs between the releases of Kafka that have this assignor.

    ``client_tags``: there are standbys by client tags; ``min_lag_candidates``: a task may go to a client that has
    not caught up but is less behind; ``heap_array_order``: tasks move in the order of the array inside Java's priority
    queue (its iterator's), not in the order of priority.
    """

    client_tags: bool = True
    min_lag_candidates: bool = True
    heap_array_order: bool = False


def move(placing: Placing, lags: Lags, rules: Rules, warmups: int) -> bool:
    """Move tasks to clients that have caught up; return whether any moved, so whether to look again later on."""
    mover = _Mover(placing, lags, rules, LoadQueue(placing), warmups)
    actives = mover.in_order((placing.owner[task], task) for task in lags.differing)
    for client, task in actives:
        mover.move_active(task, client)
    mover.queue = LoadQueue(placing)
    standbys = ((client, task) for task in lags.differing for client in placing.standbys[task])
    moved = [
        mover.move_standby(task, client) for client, task in mover.in_order(p for p in standbys if p not in mover.warm)
    ]
    return bool(actives) or any(moved)


@define(eq=False)
class _Mover:
    """``warmups`` are left; ``warm`` are those handed out for actives."""

    placing: Placing
    lags: Lags
    rules: Rules
    queue: LoadQueue
    warmups: int
    warm: set[tuple[int, int]] = field(factory=set)

    def in_order(self, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return those pairs of client and task that should move, in the order in which they do."""
        by_task, tasks = self.lags.differing, len(self.placing.tasks)
        moving = [pair for pair in sorted(pairs) if self._should_move(*pair)]
        keys = [by_task[task].number * tasks + task for _, task in moving]
        return [moving[at] for at in queue_order(keys, self.rules.heap_array_order)]

    def move_active(self, task: int, client: int) -> None:
        """Give a task of ``client`` to another one, which there is."""
        lags, standbys = self.lags.differing[task], self.placing.standbys[task]
        ready = [other for other in standbys if lags.has_caught_up(other)]
        if (other := self.queue.poll(ready.__contains__, ready)) is not None:
            self._swap(task, client, other, Why.SWAPPED)
        elif (other := self._least_loaded(task)) is not None:
            self._move(task, client, other, Why.CAUGHT_UP)
        elif (other := next(lags.by_lag())) in standbys:
            self._swap(task, client, other, Why.LEAST_LAG)
        else:
            self._move(task, client, other, Why.LEAST_LAG)
        self.queue.offer(other, client)

    def move_standby(self, task: int, client: int) -> bool:
        """Give a standby of ``client`` to another one that has nothing of the task, if there is one."""
        placing = self.placing
        other, why = self._least_loaded(task), Why.STANDBY_CAUGHT_UP
        if other is None and self.rules.min_lag_candidates:
            other, why = self._less_behind(task, client), Why.STANDBY_LEAST_LAG
        if other is None:
            return False
        placing.standbys[task].add(other)
        placing.note(task, other, why, client)
        if self._warm_up():
            placing.note(task, client, Why.BECOMES_STANDBY, other)
        else:
            placing.standbys[task].discard(client)
            placing.count[client] -= 1
        placing.count[other] += 1
        self.queue.offer(other, client)
        return True

    def _should_move(self, client: int, task: int) -> bool:
        lags = self.lags.differing[task]
        if lags.has_caught_up(client):
            return False
        return lags.least < lags.lag(client) if self.rules.min_lag_candidates else lags.number > 0

    def _swap(self, task: int, client: int, other: int, why: Why) -> None:
        placing = self.placing
        placing.owner[task] = other
        placing.standbys[task].remove(other)
        placing.standbys[task].add(client)
        placing.note(task, other, why, client)
        placing.note(task, client, Why.BECOMES_ACTIVE, other)

    def _move(self, task: int, client: int, other: int, why: Why) -> None:
        placing = self.placing
        placing.owner[task] = other
        placing.note(task, other, why, client)
        if self._warm_up():
            placing.standbys[task].add(client)
            placing.note(task, client, Why.BECOMES_ACTIVE, other)
            self.warm.add((client, task))
        else:
            placing.count[client] -= 1
        placing.count[other] += 1

    def _warm_up(self) -> bool:
        self.warmups -= 1
        return self.warmups >= 0

    def _least_loaded(self, task: int) -> int | None:
        """Return the least loaded client that has caught up and has nothing of the task."""
        lags, has = self.lags.differing[task], self.placing.has

        def wanted(client: int) -> bool:
            return lags.has_caught_up(client) and not has(client, task)

        return self.queue.poll(wanted, None if lags.others_caught_up else [*filter(wanted, lags.caught_up)])

    def _less_behind(self, task: int, client: int) -> int | None:
        """Return who is least behind and has nothing of the task, if that is less than ``client`` is behind."""
        before = takewhile(client.__ne__, self.lags.differing[task].by_lag())
        return next((other for other in before if not self.placing.has(other, task)), None)
