"""What a simulated group runs, and how: its topology, threads, standbys, and the state that its members find.

Written as a first step of a scenario: ``with threads=2 topology=join static``. What is not said is as small as it can
be: one thread, one stateful subtopology with six tasks, no standbys, and everybody's state as far as the changelog.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from attrs import frozen

from assignor import Subtopology, Topology
from subscription_codec import TaskId, TopicPartition
from upgrade.errors import UpgradeError

TOPOLOGIES: Final[Mapping[str, Topology]] = {
    "counts": Topology.of(Subtopology(sources=["data"], changelogs=["counts-changelog"])),
    "join": Topology.of(Subtopology(sources=["left", "right"], changelogs=["join-changelog"])),
    "stateless": Topology.of(Subtopology(sources=["data"])),
    "two": Topology.of(
        Subtopology(sources=["data"], repartition_sinks=["by-key"], changelogs=["seen-changelog"]),
        Subtopology(repartition_sources=["by-key"], changelogs=["counts-changelog"]),
    ),
    "chained": Topology.of(
        Subtopology(sources=["data"], repartition_sinks=["by-key"]),
        Subtopology(repartition_sources=["by-key"], repartition_sinks=["by-count"], changelogs=["counts-changelog"]),
        Subtopology(repartition_sources=["by-count"], changelogs=["top-changelog"]),
    ),
}
"""One source topic, two that are joined in each task, no state, two subtopologies with state, three in a row."""

LIMITS: Final[Mapping[str, tuple[int, int]]] = {"threads": (1, 100), "standbys": (0, 100), "partitions": (1, 10_000)}
FAR: Final = 1_000_000
"""How far changelogs go with ``lag``: a copy that begins is further behind than ``acceptable.recovery.lag`` allows."""


@frozen(kw_only=True)
class Shape:
    """``threads`` of each process (each is a member), ``standbys`` of each task, ``partitions`` of each source topic.

    ``static``: members have a ``group.instance.id`` (KIP-345). ``lag``: changelogs are long, so who has no copy of a
    task's state has to warm up first (KIP-441), which is done when the leader looks again.
    """

    threads: int = 1
    standbys: int = 0
    topology: str = "counts"
    partitions: int = 6
    static: bool = False
    lag: bool = False

    @classmethod
    def parse(cls, words: list[str]) -> Shape:
        """Read settings such as ``threads=2`` and ``static``; ``UpgradeError`` names the one that is none.

        >>> Shape.parse(["static", "partitions=4"])
        Shape(threads=1, standbys=0, topology='counts', partitions=4, static=True, lag=False)
        """
        return cls(**dict(map(_setting, words or [""])))

    def members_of(self, process: str) -> tuple[str, ...]:
        """Return the names of the members in a process: its own, or with a number for each of several threads."""
        return (process,) if self.threads == 1 else tuple(f"{process}.{each + 1}" for each in range(self.threads))

    @property
    def layout(self) -> Topology:
        """The topology itself."""
        return TOPOLOGIES[self.topology]

    @cached_property
    def topics(self) -> dict[str, int]:
        """The topics that exist with their numbers of partitions: those that are read, with ``lag`` changelogs too."""
        sources = dict.fromkeys(self.layout.external_topics, self.partitions)
        return sources | (self.layout.changelog_partitions(sources) if self.lag else {})

    @cached_property
    def ends(self) -> dict[TopicPartition, int]:
        """How far each changelog partition that exists goes. Without ``lag`` none exists yet, so all state is empty."""
        changelogs = self.topics.keys() - self.layout.external_topics
        return {TopicPartition(topic, number): FAR for topic in changelogs for number in range(self.partitions)}

    @cached_property
    def tasks(self) -> Mapping[TaskId, frozenset[TopicPartition]]:
        """All tasks with the partitions that they read."""
        tasks = self.layout.tasks(dict.fromkeys(self.layout.external_topics, self.partitions))
        return {task: frozenset(partitions) for task, partitions in tasks.items()}

    def __str__(self) -> str:
        return " ".join(_words(self))


NORMAL: Final = Shape()
_WORDS: Final = ("static", "lag")


def _setting(word: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    if name in _WORDS and not equals:
        return name, True
    if name == "topology" and value in TOPOLOGIES:
        return name, value
    if name not in LIMITS:
        known = (*(f"{each}=NUMBER" for each in LIMITS), f"topology={'|'.join(TOPOLOGIES)}", *_WORDS)
        raise UpgradeError(f"expected some of {', '.join(known)} after with, got {word!r}")
    least, most = LIMITS[name]
    if not (value.isascii() and value.isdigit() and len(value) < 10 and least <= int(value) <= most):
        raise UpgradeError(f"expected {name}= and a number from {least} to {most}, got {word!r}")
    return name, int(value)


def _words(shape: Shape) -> Iterator[str]:
    for name in (*LIMITS, "topology"):
        if getattr(shape, name) != getattr(NORMAL, name):
            yield f"{name}={getattr(shape, name)}"
    yield from (name for name in _WORDS if getattr(shape, name))
