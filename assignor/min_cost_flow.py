"""Sending units through a network as cheaply as can be: the minimum-cost flow from several nodes to one sink.

How it works. Every node has a price: the least that a unit pays from there to the sink. (1) Prices are found from the
sink backwards, only as far as somebody still has something to send. (2) As much as possible is sent at these prices,
along arcs that cost exactly what the price falls by, on the ways with the fewest arcs. (3) What was sent may have to
give way to something better: an arc in use can be used backwards, for its money back. Nothing is sent that would have
to be undone for less, so there are only a few rounds for each price that a unit can have, however many units there are.

Costs are whole numbers from 0 on. Equal networks give equal flows. (The primal-dual method of Ford and Fulkerson, with
Dinic's blocking flows. Java: ``Graph``, which looks for one cycle of negative cost at a time.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from typing import Final

EVERYTHING: Final = 1 << 62
"""The capacity of an arc that takes all there is."""

_STEPS: Final = 40
"""Ways are compared by cost, then by arcs: one number, with so many bits for the arcs."""
_FAR: Final = 1 << 200
_NOWHERE: Final = -1


class Network:
    """Nodes are numbers from 0 on. Beside each arc that was put in stands, with the next number, the way back on it."""

    def __init__(self, nodes: int) -> None:
        self._out: list[list[int]] = [[] for _ in range(nodes)]
        self._to: list[int] = []
        self._left: list[int] = []
        self._cost: list[int] = []
        self._price = [0] * nodes
        self._steps = [0] * nodes
        self._at = [0] * nodes

    def arc(self, tail: int, head: int, capacity: int = EVERYTHING, cost: int = 0) -> int:
        """Put in an arc; its number is for ``flow``."""
        number = len(self._to)
        self._to += (head, tail)
        self._left += (capacity, 0)
        self._cost += (cost, -cost)
        self._out[tail].append(number)
        self._out[head].append(number + 1)
        return number

    def flow(self, arc: int) -> int:
        """How much goes through an arc."""
        return self._left[arc + 1]

    def send(self, supplies: Mapping[int, int], sink: int) -> None:
        """Send so many units from each node to the sink, once. There has to be room for all of them."""
        waiting = {node: units for node, units in supplies.items() if units}
        while waiting:
            self._reprice(waiting, sink)
            self._at = [0] * len(self._out)
            rest = {node: units - self._push(node, units, sink) for node, units in waiting.items()}
            waiting = {node: units for node, units in rest.items() if units}

    def _reprice(self, waiting: Iterable[int], sink: int) -> None:
        """Find the prices, and how many arcs the cheapest way has; beyond those who wait, that is left open."""
        out, to, left, cost, prices = self._out, self._to, self._left, self._cost, self._price
        rise = [_FAR] * len(out)
        rise[sink] = now = 0
        by_rise: dict[int, list[int]] = {0: [sink]}
        rises = [0]
        missing = set(waiting)
        while missing:
            if not rises:
                raise ValueError("more is to be sent than there is room for; this should never happen")
            now = heappop(rises)
            for node in by_rise.pop(now):
                if rise[node] < now:
                    continue  # there was a better way
                missing.discard(node)
                price = prices[node]
                for arc in out[node]:
                    if left[arc ^ 1]:
                        before = to[arc]
                        then = now + 1 + (price - cost[arc] - prices[before] << _STEPS)
                        if then < rise[before]:
                            rise[before] = then
                            if then in by_rise:
                                by_rise[then].append(before)
                            else:
                                by_rise[then] = [before]
                                heappush(rises, then)
        self._steps = [much & (1 << _STEPS) - 1 if much <= now else _NOWHERE for much in rise]
        if most := now >> _STEPS:
            self._price = [price + min(most, much >> _STEPS) for price, much in zip(prices, rise, strict=True)]

    def _push(self, start: int, units: int, sink: int) -> int:
        """Send up to so many units from a node, at its price; return how many."""
        left, to, node, waiting = self._left, self._to, start, units
        path: list[int] = []
        while True:
            if node == sink:
                much = min(waiting, min([left[arc] for arc in path]))
                for arc in path:
                    left[arc] -= much
                    left[arc ^ 1] += much
                waiting -= much
                if not waiting:
                    return units
                full = next(place for place, arc in enumerate(path) if not left[arc])
                node = to[path[full] ^ 1]
                del path[full:]
            elif (arc := self._onward(node)) != _NOWHERE:
                path.append(arc)
                node = to[arc]
            elif path:
                node = to[path.pop() ^ 1]
                self._at[node] += 1
            else:
                return units - waiting

    def _onward(self, node: int) -> int:
        """Return the first arc from a node that leads on along a cheapest way and has room."""
        arcs, price, step = self._out[node], self._price[node], self._steps[node] - 1
        to, left, cost, prices, steps = self._to, self._left, self._cost, self._price, self._steps
        for place in range(self._at[node], len(arcs)):
            arc = arcs[place]
            after = to[arc]
            if left[arc] and steps[after] == step and cost[arc] + prices[after] == price:
                self._at[node] = place
                return arc
        self._at[node] = len(arcs)
        return _NOWHERE
