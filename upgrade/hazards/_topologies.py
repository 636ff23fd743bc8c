"""Two ``Topology#describe()`` texts compared: which tasks are renumbered, and which changelogs are orphaned.

A task id is SUBTOPOLOGY_PARTITION, and the number of a subtopology follows from the order in which the program builds
it. The name of a changelog is APPLICATION-STORE-changelog, so that a store with another name starts empty. Generated
names (``KSTREAM-AGGREGATE-STATE-STORE-0000000002``) contain a count of the operators before them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from typing import Any, Final

from attrs import frozen

from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.group_configurations import KEPT_BY
from streams_assignor.upgrade.topology_description import DescribedNode, parse_topology_description

MAX_SUBTOPOLOGIES: Final = 2_500
"""The most of a topology: each may have something in common with each of another one."""
_WAY_OF_STREAMS_GROUPS: Final = (
    f"a streams group keeps its topology, also while it is empty ({KEPT_BY}), and a member with another one ends "
    "(InvalidRequestException: Topology updates are not supported yet): stop all members; start them with "
    "group.protocol=classic and the new topology; stop them; wait until the group is empty (group wait NAME empty); "
    "start them with group.protocol=streams (plan --to-protocol streams --topologies OLD NEW). This keeps the "
    "committed offsets; to delete the group, or another application.id, loses them"
)
"""Run with 4.4.0: of 8,427 committed records none was processed again; after a deletion of the group all were."""
_GENERATED: Final = re.compile(r"-\d{10}(?:-|$)")


@frozen
class ParsedSubtopology:
    """One subtopology that has tasks."""

    number: int
    sources: frozenset[str]
    """The topics that it reads, a pattern as one."""
    sinks: frozenset[str]
    stores: frozenset[str]


@frozen
class TopologyChange:
    """The changes of tasks and changelogs of a group that starts with the second topology."""

    renumbered: Mapping[int, int]
    """Subtopologies with another number: the old one and the new one; their tasks have other ids."""
    removed: tuple[int, ...]
    """Subtopologies without a counterpart in the second topology."""
    added: tuple[int, ...]
    orphaned: tuple[str, ...]
    """Stores that the second topology does not have: their changelogs stay behind."""
    empty: tuple[str, ...]
    """Stores that only the second topology has: they start empty."""
    misplaced: tuple[str, ...]
    """Stores of renumbered subtopologies: the directories of their tasks have other names, and they are restored."""
    topics: tuple[str, ...]
    """Internal topics that the second topology no longer reads: records left in them are not processed."""
    subscribed_before: tuple[str, ...] = ()
    """Topics that only members with the first topology subscribe to."""
    subscribed_after: tuple[str, ...] = ()
    """Topics that only members with the second topology subscribe to."""
    in_streams_group: bool | None = False
    """Whether brokers assign the tasks (KIP-1071), which keep the topology of an empty group, too; None: unknown."""

    @property
    def is_compatible(self) -> bool:
        """Whether a group can be rolled from one topology to the other without a change of task ids or changelogs."""
        changed = self.renumbered or self.removed or self.added or self.orphaned or self.empty or self.topics
        return not (changed or self.subscribed_before or self.subscribed_after)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "compatible": self.is_compatible,
            "way": self.way,
            "renumbered": [{"from": old, "to": new} for old, new in self.renumbered.items()],
            "removed": list(self.removed),
            "added": list(self.added),
            "orphaned_changelogs": [_changelog(store) for store in self.orphaned],
            "empty_stores": list(self.empty),
            "restored_stores": list(self.misplaced),
            "abandoned_topics": list(self.topics),
            "subscribed_before": list(self.subscribed_before),
            "subscribed_after": list(self.subscribed_after),
        }

    def is_undecided(self, *, rolled: bool) -> bool:
        """Whether the protocol of the group, which nothing shows, decides if it may go to the second topology."""
        return not self.is_compatible and not rolled and self.in_streams_group is None

    def is_refused(self, *, rolled: bool) -> bool:
        """Whether the group must not go to the second topology: member by member (``rolled``), or all at once."""
        return not self.is_compatible and (rolled or self.in_streams_group is True)

    @property
    def way(self) -> str:
        """How a group gets from one topology to the other; empty if it may be rolled."""
        if self.is_compatible:
            return ""
        if not self.in_streams_group:
            return "do not roll: stop the group, then start it with the new topology (--offline)"
        return _WAY_OF_STREAMS_GROUPS

    def lines(self) -> Iterator[str]:
        """Write the change, one fact a line, and how a group gets there."""
        yield from self.facts()
        if not self.is_compatible:
            yield from self._while_both_run()
            yield f"topologies: {self.way}"
            if self.in_streams_group is None:
                yield f"topologies: if the members have group.protocol=streams: {_WAY_OF_STREAMS_GROUPS}"

    def _while_both_run(self) -> Iterator[str]:
        for topics, leads, others in (
            (self.subscribed_after, "new", "old"),
            (self.subscribed_before, "old", "new"),
        ):
            if topics and not self.in_streams_group:
                yield (
                    f"topologies: only {leads} members subscribe to {', '.join(topics)}: while one of them leads, "
                    f"{others} members are assigned what they do not subscribe to, and rejoin without end (up to 2.3 "
                    f"they fail); while one of the {others} leads, no member reads it"
                )

    def facts(self) -> Iterator[str]:
        """Write the change, one fact a line."""
        if self.is_compatible:
            yield "topologies: the same tasks, changelogs and internal topics"
            return
        for old, new in self.renumbered.items():
            yield f"topologies: tasks {old}_* become {new}_*: old and new members mean different work by one task id"
        for number in self.removed:
            yield f"topologies: tasks {number}_* have no counterpart"
        for number in self.added:
            yield f"topologies: tasks {number}_* are new"
        for store in self.misplaced:
            yield f"topologies: store {store} is restored from its changelog, as its task has another id"
        for store in self.orphaned:
            why = "; its name is generated, so name the store" if _GENERATED.search(store) else ""
            yield f"topologies: {_changelog(store)} is orphaned: no store has this name any more{why}"
        for store in self.empty:
            yield f"topologies: store {store} starts empty"
        for topic in self.topics:
            yield f"topologies: {topic} is read no more: process its records before the bounce"


def parse_subtopologies(text: str, name: str = "the text") -> tuple[ParsedSubtopology, ...]:
    """Read the subtopologies of a ``Topology#describe()`` text; ``name`` is its name in the error.

    Raises:
        UpgradeError: It is no such text, or has more than ``MAX_SUBTOPOLOGIES``.
    """
    by_number: dict[int, list[DescribedNode]] = {}
    for node in parse_topology_description(text, name):
        if node.subtopology is not None:
            by_number.setdefault(node.subtopology, []).append(node)
    if len(by_number) > MAX_SUBTOPOLOGIES:
        raise UpgradeError(f"{name}: expected at most {MAX_SUBTOPOLOGIES:,} sub-topologies, got {len(by_number):,}")
    return tuple(_subtopology(number, nodes) for number, nodes in by_number.items())


def _subtopology(number: int, nodes: list[DescribedNode]) -> ParsedSubtopology:
    return ParsedSubtopology(
        number,
        frozenset(topic for node in nodes if node.kind == "Source" for topic in node.topics),
        frozenset(topic for node in nodes if node.kind == "Sink" for topic in node.topics),
        frozenset(store for node in nodes for store in node.stores),
    )


def compare_topologies(before: tuple[ParsedSubtopology, ...], after: tuple[ParsedSubtopology, ...]) -> TopologyChange:
    """Return what changes from one topology to the other.

    A subtopology's counterpart is the one with the most stores, sources and sinks in common; with a tie, the one with
    the same number.
    """
    pairs = _counterparts(before, after)
    paired = [{subtopology.number for subtopology in side} for side in zip(*pairs, strict=True)] or [
        set[int](),
        set[int](),
    ]
    renumbered = {old.number: new.number for old, new in pairs if old.number != new.number}
    old_stores, new_stores = (
        frozenset().union(*(subtopology.stores for subtopology in side)) for side in (before, after)
    )
    produced = frozenset().union(*(subtopology.sinks for subtopology in before))
    read_topics = [frozenset().union(*(subtopology.sources for subtopology in side)) for side in (before, after)]
    return TopologyChange(
        dict(sorted(renumbered.items())),
        tuple(subtopology.number for subtopology in before if subtopology.number not in paired[0]),
        tuple(subtopology.number for subtopology in after if subtopology.number not in paired[1]),
        tuple(sorted(old_stores - new_stores)),
        tuple(sorted(new_stores - old_stores)),
        tuple(sorted(name for old, new in pairs if old.number != new.number for name in old.stores & new.stores)),
        tuple(sorted((produced & read_topics[0]) - read_topics[1])),
        tuple(sorted(read_topics[0] - read_topics[1])),
        tuple(sorted(read_topics[1] - read_topics[0])),
    )


_Pair = tuple[ParsedSubtopology, ParsedSubtopology]
_Mark = tuple[str, str]
"""A common property of two subtopologies: a kind and a name."""


def _counterparts(before: tuple[ParsedSubtopology, ...], after: tuple[ParsedSubtopology, ...]) -> list[_Pair]:
    """Pair subtopologies that have something in common, the most alike first.

    Each old one proposes its candidates, the most alike first. The best of all proposals is taken next, so the pairs
    come in the order of all pairs sorted, and only the candidates of one old one are sorted at a time.
    """
    by_mark: dict[_Mark, list[int]] = {}
    for at, new in enumerate(after):
        for mark in _marks(new):
            by_mark.setdefault(mark, []).append(at)
    proposals: list[tuple[int, bool, int, _Pair, Iterator[tuple[int, ParsedSubtopology]]]] = []

    def propose(old: ParsedSubtopology, rest: Iterator[tuple[int, ParsedSubtopology]]) -> None:
        if (proposal := next(rest, None)) is not None:
            alike, new = proposal
            heappush(proposals, (-alike, new.number != old.number, old.number, (old, new), rest))

    for old in before:
        propose(old, _candidates(old, after, by_mark))
    pairs: dict[int, _Pair] = {}
    while proposals:
        *_, (old, new), rest = heappop(proposals)
        if pairs.setdefault(new.number, (old, new))[0] is not old:
            propose(old, rest)
    return list(pairs.values())


def _candidates(
    old: ParsedSubtopology, after: tuple[ParsedSubtopology, ...], by_mark: Mapping[_Mark, list[int]]
) -> Iterator[tuple[int, ParsedSubtopology]]:
    """Yield the new ones that have something in common with an old one, and how much, the most alike first."""
    likeness: Counter[int] = Counter()
    for mark, weight in _marks(old).items():
        for at in by_mark.get(mark, ()):
            likeness[at] += weight
    for at in sorted(likeness, key=lambda at: (-likeness[at], after[at].number != old.number, at)):
        yield likeness[at], after[at]


def _marks(subtopology: ParsedSubtopology) -> dict[_Mark, int]:
    """Return the marks of a subtopology with their weights.

    Generated names count little without their counts, which change with every operator before them.
    """
    weights = {"store": 8, "source": 4, "sink": 4}
    names = {"store": subtopology.stores, "source": subtopology.sources, "sink": subtopology.sinks}
    marks = {(kind, name): weights[kind] for kind, of_kind in names.items() for name in of_kind}
    return marks | {("any", _GENERATED.sub("-", name)): 1 for of_kind in names.values() for name in of_kind}


def _changelog(store: str) -> str:
    return f"APPLICATION-{store}-changelog"
