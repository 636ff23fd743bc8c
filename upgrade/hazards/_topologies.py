"""Two ``Topology#describe()`` texts compared: which tasks are renumbered, and which changelogs are orphaned.

A task id is SUBTOPOLOGY_PARTITION, and the number of a subtopology follows from the order in which the program builds
it. The name of a changelog is APPLICATION-STORE-changelog, so that a store with another name starts empty. Generated
names (``KSTREAM-AGGREGATE-STATE-STORE-0000000002``) contain a count of the operators before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import frozen

from upgrade.topology_description import DescribedNode, parse_topology_description

_GENERATED: Final = re.compile(r"-\d{10}(?:-|$)")


@frozen
class DescribedSubtopology:
    """One subtopology that has tasks."""

    number: int
    sources: frozenset[str]
    """The topics that it reads, a pattern as one."""
    sinks: frozenset[str]
    stores: frozenset[str]


@frozen
class TopologyChange:
    """What changes for the tasks and changelogs of a group that starts with the second topology."""

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

    @property
    def is_compatible(self) -> bool:
        """Whether a group can be rolled from one topology to the other without a change of task ids or changelogs."""
        changed = self.renumbered or self.removed or self.added or self.orphaned or self.empty or self.topics
        return not (changed or self.subscribed_before or self.subscribed_after)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "compatible": self.is_compatible,
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

    def lines(self) -> Iterator[str]:
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
        for topics, leads, others in (
            (self.subscribed_after, "new", "old"),
            (self.subscribed_before, "old", "new"),
        ):
            if topics:
                yield (
                    f"topologies: only {leads} members subscribe to {', '.join(topics)}: while one of them leads, "
                    f"{others} members are assigned what they do not subscribe to, and rejoin without end (up to 2.3 "
                    f"they fail); while one of the {others} leads, no member reads it"
                )
        yield "topologies: do not roll: stop the group, then start it with the new topology (--offline)"


def parse_subtopologies(text: str, name: str = "the text") -> tuple[DescribedSubtopology, ...]:
    """Read the subtopologies of a ``Topology#describe()`` text; ``name`` is its name in the error.

    Raises:
        UpgradeError: It is no such text.
    """
    by_number: dict[int, list[DescribedNode]] = {}
    for node in parse_topology_description(text, name):
        if node.subtopology is not None:
            by_number.setdefault(node.subtopology, []).append(node)
    return tuple(_subtopology(number, nodes) for number, nodes in by_number.items())


def _subtopology(number: int, nodes: list[DescribedNode]) -> DescribedSubtopology:
    return DescribedSubtopology(
        number,
        frozenset(topic for node in nodes if node.kind == "Source" for topic in node.topics),
        frozenset(topic for node in nodes if node.kind == "Sink" for topic in node.topics),
        frozenset(store for node in nodes for store in node.stores),
    )


def compare_topologies(
    before: tuple[DescribedSubtopology, ...], after: tuple[DescribedSubtopology, ...]
) -> TopologyChange:
    """Return what changes from one topology to the other.

    A subtopology's counterpart is the one with the most stores, sources and sinks in common; with a tie, the one with
    the same number.
    """
    pairs = _counterparts(before, after)
    renumbered = {old.number: new.number for old, new in pairs if old.number != new.number}
    old_stores, new_stores = (frozenset().union(*(each.stores for each in side)) for side in (before, after))
    produced = frozenset().union(*(each.sinks for each in before))
    read = [frozenset().union(*(each.sources for each in side)) for side in (before, after)]
    return TopologyChange(
        dict(sorted(renumbered.items())),
        tuple(each.number for each in before if each not in {old for old, _ in pairs}),
        tuple(each.number for each in after if each not in {new for _, new in pairs}),
        tuple(sorted(old_stores - new_stores)),
        tuple(sorted(new_stores - old_stores)),
        tuple(sorted(name for old, new in pairs if old.number != new.number for name in old.stores & new.stores)),
        tuple(sorted((produced & read[0]) - read[1])),
        tuple(sorted(read[0] - read[1])),
        tuple(sorted(read[1] - read[0])),
    )


def _counterparts(
    before: tuple[DescribedSubtopology, ...], after: tuple[DescribedSubtopology, ...]
) -> list[tuple[DescribedSubtopology, DescribedSubtopology]]:
    """Pair subtopologies that have something in common, the most alike first."""

    def likeness(old: DescribedSubtopology, new: DescribedSubtopology) -> int:
        same = 2 * len(old.stores & new.stores) + len(old.sources & new.sources) + len(old.sinks & new.sinks)
        return 4 * same + len(_without_counts(old) & _without_counts(new))

    scored = sorted(
        ((likeness(old, new), old.number == new.number, -old.number, old, new) for old in before for new in after),
        key=lambda row: row[:3],
        reverse=True,
    )
    pairs: list[tuple[DescribedSubtopology, DescribedSubtopology]] = []
    for alike, _, _, old, new in scored:
        if alike and all(old is not one and new is not other for one, other in pairs):
            pairs.append((old, new))
    return pairs


def _without_counts(one: DescribedSubtopology) -> set[str]:
    """Return its names without the counts in generated ones, which change with every operator before them."""
    return {_GENERATED.sub("-", name) for names in (one.sources, one.sinks, one.stores) for name in names}


def _changelog(store: str) -> str:
    return f"APPLICATION-{store}-changelog"
