"""Minimum-cost flow from several nodes to one sink: the primal-dual method of Ford and Fulkerson, with blocking flows.

How it works. The potential of a node is the least cost of a unit from there to the sink. (1) Potentials are computed
from the sink backwards, until all nodes with units left are reached. (2) A blocking flow (Dinic) sends as many units as
possible along arcs whose cost is the difference of potentials, on paths with the fewest arcs. (3) Later rounds may use
an arc backwards, at its negative cost. There are only a few rounds for each potential, however many units there are.

A library (ortools 9.15, networkx 3.7) would return other optima, and so leaders would differ. The flow takes at most
31 % of the time of a rack-aware assignment.

Costs are integers from 0 on. Equal networks give equal flows. Java: ``StateGraph``, which cancels one negative cycle at
a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from operator import neg
from typing import Final

UNLIMITED: Final = 1 << 62
"""The capacity of an arc without a limit."""

_STEPS: Final = 40
"""Paths are compared by cost, then by their number of arcs, in one integer: so many bits are for the arcs."""
_INFINITE: Final = 1 << 200
_NO_ARC: Final = -1
"""No arc is admissible; as a number of steps: the sink is not reached."""


class Network:
    """A network of nodes 0, 1, ... The reverse of each arc has the next arc number."""

    def __init__(self, nodes: int) -> None:
        self._out: list[list[int]] = [[] for _ in range(nodes)]
        self._to: list[int] = []
        self._residual: list[int] = []
        self._cost: list[int] = []
        self._potential = [0] * nodes
        self._steps = [0] * nodes
        self._next_arc = [0] * nodes

    def arc(self, tail: int, head: int, capacity: int = UNLIMITED, cost: int = 0) -> int:
        """Add an arc and return its number."""
        number = len(self._to)
        self._to += (head, tail)
        self._residual += (capacity, 0)
        self._cost += (cost, -cost)
        self._out[tail].append(number)
        self._out[head].append(number + 1)
        return number

    def arcs(self, tail: int, heads: Sequence[int], capacities: Sequence[int], costs: Sequence[int]) -> int:
        """Add an arc to each of the heads, in this order, and return the number of the first; see ``flows``."""
        first, size = len(self._to), 2 * len(heads)
        columns = [tail] * size, [0] * size, [0] * size
        columns[0][0::2], columns[1][0::2], columns[2][0::2] = heads, capacities, costs
        columns[2][1::2] = map(neg, costs)
        for attribute, column in zip((self._to, self._residual, self._cost), columns, strict=True):
            attribute += column
        self._out[tail] += range(first, first + size, 2)
        out = self._out
        for head, number in zip(heads, range(first + 1, first + size, 2), strict=True):
            out[head].append(number)
        return first

    def flows(self, first: int, number: int) -> list[int]:
        """Return the flows through so many arcs that ``arcs`` has added."""
        return self._residual[first + 1 : first + 2 * number : 2]

    def flow(self, arc: int) -> int:
        """Return the flow through an arc."""
        return self._residual[arc + 1]

    def send_flow(self, supplies: Mapping[int, int], sink: int) -> None:
        """Send so many units from each node to the sink; call it once. There has to be capacity for all of them."""
        waiting = {node: units for node, units in supplies.items() if units}
        while waiting:
            self._update_potentials(waiting, sink)
            self._next_arc = [0] * len(self._out)
            rest = {node: units - self._augment(node, units, sink) for node, units in waiting.items()}
            waiting = {node: units for node, units in rest.items() if units}

    def _update_potentials(self, waiting: Iterable[int], sink: int) -> None:
        """Compute potentials and numbers of arcs of the cheapest paths, as far as nodes with units left need them."""
        out, to, residual, cost, potential = self._out, self._to, self._residual, self._cost, self._potential
        distance = [_INFINITE] * len(out)
        distance[sink] = level = 0
        by_distance: dict[int, list[int]] = {0: [sink]}
        levels = [0]
        missing = set(waiting)
        while missing:
            if not levels:
                raise ValueError("more is to be sent than there is room for; this should never happen")
            level = heappop(levels)
            for node in by_distance.pop(level):
                if distance[node] < level:
                    continue  # there was a cheaper path
                missing.discard(node)
                node_potential, least = potential[node], level + 1
                for arc in out[node]:
                    before = to[arc]
                    if distance[before] > least and residual[arc ^ 1]:  # no path is shorter than that
                        reduced_cost = node_potential - cost[arc] - potential[before]
                        through = least + (reduced_cost << _STEPS)
                        if through < distance[before]:
                            distance[before] = through
                            if through in by_distance:
                                by_distance[through].append(before)
                            else:
                                by_distance[through] = [before]
                                heappush(levels, through)
        self._steps = [reached & (1 << _STEPS) - 1 if reached <= level else _NO_ARC for reached in distance]
        if most := level >> _STEPS:
            self._potential = [
                old + min(most, reached >> _STEPS) for old, reached in zip(potential, distance, strict=True)
            ]

    def _augment(self, start: int, units: int, sink: int) -> int:
        """Send up to so many units from a node at its potential; return how many were sent."""
        residual, to, node, waiting = self._residual, self._to, start, units
        path: list[int] = []
        while True:
            if node == sink:
                amount = min(waiting, min([residual[arc] for arc in path]))
                for arc in path:
                    residual[arc] -= amount
                    residual[arc ^ 1] += amount
                waiting -= amount
                if not waiting:
                    return units
                full = next(place for place, arc in enumerate(path) if not residual[arc])
                node = to[path[full] ^ 1]
                del path[full:]
            elif (arc := self._admissible_arc(node)) != _NO_ARC:
                path.append(arc)
                node = to[arc]
            elif path:
                node = to[path.pop() ^ 1]
                self._next_arc[node] += 1
            else:
                return units - waiting

    def _admissible_arc(self, node: int) -> int:
        """Return the first arc of a node on a cheapest path with capacity left."""
        arcs, node_potential, step = self._out[node], self._potential[node], self._steps[node] - 1
        to, residual, cost, potential, steps = self._to, self._residual, self._cost, self._potential, self._steps
        for place in range(self._next_arc[node], len(arcs)):
            arc = arcs[place]
            after = to[arc]
            if residual[arc] and steps[after] == step and cost[arc] + potential[after] == node_potential:
                self._next_arc[node] = place
                return arc
        self._next_arc[node] = len(arcs)
        return _NO_ARC
