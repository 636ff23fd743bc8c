"""Explores many cells, in the processes of this machine.

Each cell is a search that takes a second or so and needs all its states at hand, so there is nothing to spread but the
cells, and no rows but one for each: not work for Spark.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import combinations
from typing import Final, NamedTuple

from spark_sim.brokers.phases import Pair
from spark_sim.brokers.plans import PLANS
from spark_sim.brokers.reading import FIRST_LINE, kraft_release
from spark_sim.brokers.results import Row
from spark_sim.brokers.scenario import BY_NAME
from spark_sim.brokers.search import Cell, explore
from spark_sim.scenario import ScenarioError
from upgrade.brokers.versions import NEWEST_OF_LINE, broker_release
from upgrade.features.dialects import KIP_584

LINES: Final = tuple(
    line for line in NEWEST_OF_LINE if not line.startswith("0.") and broker_release(line).number >= FIRST_LINE
)
"""The release lines whose features can be finalised, the oldest first."""

MOST_NODES: Final = 5


class Key(NamedTuple):
    """A cell by names, which travel between processes."""

    origin: str
    target: str
    dialect: str
    plan: str
    nodes: tuple[str, ...]
    faults: int

    @property
    def cell(self) -> Cell:
        """The cell itself."""
        pair = Pair(broker_release(self.origin), broker_release(self.target))
        return Cell(pair, BY_NAME[self.dialect], PLANS[self.plan], self.nodes, self.faults)


def keys(origin: str, target: str, *, nodes: int = 3, faults: int = 1) -> Iterator[Key]:
    """Yield the cells of a pair: each dialect and plan, with nodes of both roles, and with a broker of its own.

    ``UpgradeError`` if this is no upgrade of brokers that can finalise features.
    """
    before, after = kraft_release(origin), kraft_release(target)
    if nodes > MOST_NODES:
        raise ScenarioError(f"expected at most {MOST_NODES} nodes, as all their states are tried, got {nodes}")
    if before.newest >= after.newest:
        raise ScenarioError(f"expected an upgrade to levels that are new, but {after} has none that {before} has not")
    for name, dialect in BY_NAME.items():
        for plan in PLANS.values():
            if dialect in plan.dialects:
                for roles in _roles(nodes)[: 1 if dialect is KIP_584 else 2]:
                    yield Key(before.name, after.name, name, plan.name, roles, faults)


def all_pairs() -> Iterator[tuple[str, str]]:
    """Yield every line with every later one."""
    yield from combinations(LINES, 2)


def _roles(nodes: int) -> tuple[tuple[str, ...], ...]:
    """Return the nodes: all of them broker and controller, or controllers and one broker."""
    numbers = range(1, nodes + 1)
    return tuple(map(str, numbers)), (*(f"c{number}" for number in numbers), f"b{nodes + 1}")


def row_of(key: Key) -> Row:
    """Explore a cell."""
    return Row.of(explore(key.cell))


def _ignore(_: Row) -> None:
    pass


def run(wanted: Sequence[Key], on_row: Callable[[Row], None] = _ignore) -> list[Row]:
    """Explore cells, the rows in their order; ``on_row`` hears of each as soon as it is there."""
    count = min(len(os.sched_getaffinity(0)), len(wanted))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, context, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        futures = [pool.submit(row_of, key) for key in wanted]
        try:
            for future in as_completed(futures):
                on_row(future.result())
        except BaseException:  # also Ctrl-C: left alone, the processes would go on with what they have
            for child in multiprocessing.active_children():
                child.terminate()
            raise
        return [future.result() for future in futures]
