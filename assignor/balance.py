"""Evening out: clients hand tasks to clients with fewer tasks per member.

Kafka takes every ordered pair of clients, again and again, until nothing moves. Nearly all pairs cannot move anything:
whether they may depends on two numbers, one of each client. So the second of a pair is found in a tree of such
numbers, in the same order and with the same outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from attrs import define, field

from assignor.placing import Placing, Why

Move = Callable[[int, int, int], None]
"""Called with a task, the client that hands it over and the one that takes it."""


@define(eq=False)
class Circle:
    """Clients that may take from somebody: a tree over the load that each would have with one task more."""

    members: Sequence[int]
    leaves: int = field(init=False)
    tree: list[float] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Nobody has been entered yet."""
        self.leaves = 1 << (len(self.members) - 1).bit_length()
        self.tree = [inf] * (2 * self.leaves)

    def enter(self, place: int, load: float) -> None:
        """Note the load of the member at a place."""
        tree, at = self.tree, place + self.leaves
        tree[at] = load
        while at > 1:
            at >>= 1
            left, right = tree[2 * at], tree[2 * at + 1]
            tree[at] = left if left < right else right

    def first(self, place: int, load: float) -> int | None:
        """Return the first place, at ``place`` or behind it, with at most this load."""
        tree, at = self.tree, place + self.leaves
        if place >= self.leaves or tree[1] > load:
            return None
        while tree[at] > load:
            while at & 1:
                at >>= 1  # the right half of something: what follows is behind the whole
            if not at:
                return None
            at += 1
        while at < self.leaves:
            at *= 2
            if tree[at] > load:
                at += 1
        return at - self.leaves


def balance(placing: Placing, shares: list[list[int]], move: Move, circle_of: Sequence[Circle]) -> None:
    """Move tasks between ``shares`` (sorted tasks of one kind, by client) until no pair of clients may.

    ``circle_of`` says for each client who may take from it.
    """
    count, capacity = placing.count, placing.capacity
    places: list[list[tuple[Circle, int]]] = [[] for _ in count]
    for circle in {id(each): each for each in circle_of}.values():
        for place, client in enumerate(circle.members):
            circle.enter(place, (count[client] + 1) / capacity[client])
            places[client].append((circle, place))

    def hand_over(source: int, destination: int) -> bool:
        kept: list[int] = []
        given: list[int] = []
        share = shares[source]
        for at, task in enumerate(share):
            if (count[source] - 1) / capacity[source] < (count[destination] + 1) / capacity[destination]:
                kept += share[at:]
                break
            if placing.has(destination, task):
                kept.append(task)
                continue
            given.append(task)
            move(task, source, destination)
            placing.note(task, destination, Why.BALANCED, source)
            count[source] -= 1
            count[destination] += 1
        if given:
            shares[source] = kept
            shares[destination] = sorted(shares[destination] + given)
            for client in (source, destination):
                for circle, place in places[client]:
                    circle.enter(place, (count[client] + 1) / capacity[client])
        return bool(given)

    moved = True
    while moved:
        moved = False
        for source, circle in enumerate(circle_of):
            behind = 0
            while shares[source]:
                found = circle.first(behind, (count[source] - 1) / capacity[source])
                if found is None:
                    break
                moved |= hand_over(source, circle.members[found])
                behind = found + 1


def everybody(placing: Placing) -> list[Circle]:
    """Everybody may take from everybody."""
    circle = Circle(range(len(placing.clients)))
    return [circle] * len(placing.clients)


def with_its_tags(placing: Placing) -> list[Circle]:
    """Who has at least the same client tags may take: then copies of a task stay as spread out as they are."""
    having: dict[tuple[str, str], list[int]] = {}
    entries = [frozenset(client.tags.items()) for client in placing.clients]
    for client, tags in enumerate(entries):
        for entry in tags:
            having.setdefault(entry, []).append(client)
    everyone = range(len(entries))
    circles = {
        tags: Circle(
            [other for other in min((having[e] for e in tags), key=len, default=everyone) if tags <= entries[other]]
        )
        for tags in set(entries)
    }
    return [circles[tags] for tags in entries]
