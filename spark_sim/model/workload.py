"""The workload of a simulated group: its topology, threads, standbys, and how far its state stores are.

It is written as the first step of a scenario: ``with threads=2 topology=join static``. The defaults are minimal: one
thread, one stateful subtopology with six tasks, no standbys, and state stores that are caught up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from attrs import frozen

from streams_assignor import Subtopology, Topology
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.task_assignor import TaskAssignor
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.streams_config import StreamsConfig

TOPOLOGIES: Final[Mapping[str, Topology]] = {
    "counts": Topology.of(Subtopology(sources=["data"], changelogs=["counts-changelog"])),
    "wider": Topology.of(Subtopology(sources=["data", "more"], changelogs=["counts-changelog"])),
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
"""Name => topology: one source topic, one more beside it, two joined ones, no state, two stateful subtopologies, and
three in a chain."""

SETTING_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "threads": (1, 100),
    "standbys": (0, 100),
    "partitions": (1, 10_000),
}
LONG_CHANGELOG_END: Final = 1_000_000
"""The end offset of changelogs with ``lag``: a new store lags by more than ``acceptable.recovery.lag`` allows."""


@frozen(kw_only=True)
class Workload:
    """The workload of every member of a group; ``str`` gives its text in a scenario."""

    threads: int = 1
    """Stream threads of each process; each is a member."""
    standbys: int = 0
    """Standbys of each task."""
    topology: str = "counts"
    """A key of ``TOPOLOGIES``."""
    partitions: int = 6
    """Partitions of each source topic."""
    static: bool = False
    """Whether members have a ``group.instance.id`` (KIP-345)."""
    ephemeral: bool = False
    """Whether the state of a process is lost when it stops: stores in memory, or a disk that does not outlive it."""
    lag: bool = False
    """Whether changelogs are long: a new state store has to warm up (KIP-441), until the next probing rebalance."""

    @classmethod
    def parse(cls, words: list[str]) -> Workload:
        """Parse settings such as ``threads=2`` and ``static``; ``UpgradeError`` names an unknown one.

        >>> Workload.parse(["static", "partitions=4"])
        Workload(threads=1, standbys=0, topology='counts', partitions=4, static=True, ephemeral=False, lag=False)
        """
        return cls(**dict(map(_parse_setting, words or [""])))

    def member_names(self, process: str) -> tuple[str, ...]:
        """Return the names of a process's members: its own name, or one with a number for each of several threads."""
        return (process,) if self.threads == 1 else tuple(f"{process}.{thread + 1}" for thread in range(self.threads))

    @property
    def stream_topology(self) -> Topology:
        """The topology by its name."""
        return TOPOLOGIES[self.topology]

    def streams_config(self, upgrade_from: str | None) -> StreamsConfig:
        """Return the configuration of a member."""
        return StreamsConfig(upgrade_from=upgrade_from, num_standby_replicas=self.standbys)

    def task_assignor(self, release: Release) -> TaskAssignor | None:  # noqa: ARG002 - an observed group has one
        """Return what places the tasks if a member of a release leads; None for the default of the release."""
        return None

    @property
    def has_persistent_state(self) -> bool:
        """Whether a process finds its state stores again when it starts."""
        return not self.ephemeral and any(subtopology.stateful for subtopology in self.stream_topology.subtopologies)

    @cached_property
    def partition_counts(self) -> dict[str, int]:
        """Topic => number of partitions, of the topics that exist: source topics, and with ``lag`` changelogs."""
        sources = dict.fromkeys(self.stream_topology.external_topics, self.partitions)
        return sources | (self.stream_topology.changelog_partitions(sources) if self.lag else {})

    @cached_property
    def end_offsets(self) -> dict[TopicPartition, int]:
        """Changelog partition => end offset. Without ``lag`` no changelog exists yet, so all state is empty."""
        changelogs = self.partition_counts.keys() - self.stream_topology.external_topics
        return {
            TopicPartition(topic, number): LONG_CHANGELOG_END
            for topic in changelogs
            for number in range(self.partitions)
        }

    @cached_property
    def partitions_by_task(self) -> Mapping[TaskId, frozenset[TopicPartition]]:
        """Task => the partitions that it reads."""
        tasks = self.stream_topology.tasks(dict.fromkeys(self.stream_topology.external_topics, self.partitions))
        return {task: frozenset(partitions) for task, partitions in tasks.items()}

    def __str__(self) -> str:
        return " ".join(_format_settings(self))


DEFAULT_WORKLOAD: Final = Workload()
_FLAGS: Final = ("static", "ephemeral", "lag")


def _parse_setting(word: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    if name in _FLAGS and not equals:
        return name, True
    if name == "topology" and value in TOPOLOGIES:
        return name, value
    if name not in SETTING_RANGES:
        accepted = (*(f"{setting}=NUMBER" for setting in SETTING_RANGES), f"topology={'|'.join(TOPOLOGIES)}", *_FLAGS)
        raise UpgradeError(f"expected some of {', '.join(accepted)} after with, got {word!r}")
    least, most = SETTING_RANGES[name]
    if not (value.isascii() and value.isdigit() and len(value) < 10 and least <= int(value) <= most):
        raise UpgradeError(f"expected {name}= and a number from {least} to {most}, got {word!r}")
    return name, int(value)


def _format_settings(workload: Workload) -> Iterator[str]:
    for name in (*SETTING_RANGES, "topology"):
        if getattr(workload, name) != getattr(DEFAULT_WORKLOAD, name):
            yield f"{name}={getattr(workload, name)}"
    yield from (name for name in _FLAGS if getattr(workload, name))
