"""Scenario language of brokers: one line describes a cluster and the steps that happen to it.

    1@3.9.2 2@3.9.2 3@3.9.2 level 3.9-IV0 | bounce 1>4.3.1 2>4.3.1 3>4.3.1 | finalize 4.3-IV0

The head before the first bar lists the nodes: ``1`` is broker and controller, ``c1`` a controller only, ``b1`` a broker
only (in KIP-584 all nodes are brokers, and one of them is the controller). Then come the finalized levels (``level``),
optionally the dialect (``dialect kip-584``, ``kip-778`` or ``kafka-4``, the default), and optionally a feature that a
Streams group of the members A, B and C watches (``watch FEATURE``). ``VERBS`` lists the steps.

A level is one of metadata.version by name (``4.0-IV1``, ``4.0`` for its newest) or ``FEATURE=NUMBER``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from attrs import frozen

from streams_assignor.spark_sim.model.scenario import Verb, make_verb
from streams_assignor.upgrade.cluster.brokers.protocol_versions import VERSIONS, BrokerRelease
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.dialects import DIALECTS, KAFKA_4, Dialect

DIALECTS_BY_NAME: Final[Mapping[str, Dialect]] = dict(zip(("kip-584", "kip-778", "kafka-4"), DIALECTS, strict=True))
DIALECT_NAMES: Final[Mapping[Dialect, str]] = {dialect: name for name, dialect in DIALECTS_BY_NAME.items()}
GROUP_MEMBERS: Final = ("A", "B", "C")
"""The members of the Streams group that watches a feature; A is the first leader."""

Level = tuple[str, int]
_LEVEL_NAMES: Final = {version.level: version.name for version in VERSIONS}


class BrokerOperands(Enum):
    """The operands after a verb and its mode."""

    NODES_TO_RELEASE = "N>R ..."
    NODES_WITH_OPTIONAL_RELEASE = "N[>R] ..."
    NODES = "N ..."
    NODE = "N"
    NEW_NODES = "N@R ..."
    LEVELS = "L ..."
    RACE = "N@R finalize L ..."
    MEMBERS = "M ..."
    NOTHING = ""


VERBS: Final[Mapping[str, Verb[BrokerOperands]]] = {
    "bounce": make_verb(BrokerOperands.NODES_TO_RELEASE, "stop {nodes} and start again{as_release}"),
    "stop": make_verb(BrokerOperands.NODES, "stop {nodes}"),
    "start": make_verb(BrokerOperands.NODES_WITH_OPTIONAL_RELEASE, "start {nodes}{as_release}"),
    "crash": make_verb(BrokerOperands.NODES, "{nodes} crash simultaneously"),
    "register": make_verb(BrokerOperands.NEW_NODES, "a new broker starts: {nodes}{as_release}"),
    "unregister": make_verb(BrokerOperands.NODES, "the operator unregisters {nodes}"),
    "elect": make_verb(BrokerOperands.NODE, "{nodes} becomes the active controller"),
    "finalize": make_verb(BrokerOperands.LEVELS, "the operator finalizes {levels}"),
    "downgrade": make_verb(
        BrokerOperands.LEVELS,
        "the operator downgrades to {levels}, unless something would be lost",
        unsafe="the operator downgrades to {levels}, even if something is lost",
    ),
    "race": make_verb(
        BrokerOperands.RACE,
        "broker {nodes}{as_release} starts while the operator finalizes {levels}; its registration comes before",
        after="broker {nodes}{as_release} starts while the operator finalizes {levels}; its registration comes after",
    ),
    "stale": make_verb(BrokerOperands.NODES, "{nodes} stop receiving metadata updates"),
    "fresh": make_verb(BrokerOperands.NODES, "{nodes} receive metadata updates again"),
    "snapshot": make_verb(BrokerOperands.NOTHING, "every node writes a snapshot of the metadata"),
    "ask": make_verb(BrokerOperands.NODE, "the leader of the Streams group requests the finalized levels from {nodes}"),
    "restart": make_verb(
        BrokerOperands.MEMBERS, "members {nodes} of the Streams group restart one by one without state"
    ),
}
"""The steps. A race is written in the order in which the controller handles it: ``race finalize L N@R`` is "after"."""


@frozen
class ClusterStep:
    """One step: a verb, its mode, nodes (or members) with the release of their next start, and levels."""

    verb: str
    nodes: tuple[tuple[str, BrokerRelease | None], ...] = ()
    levels: tuple[Level, ...] = ()
    mode: str = ""

    def __str__(self) -> str:
        sign = "@" if self.adds_nodes else ">"
        nodes = [name + (f"{sign}{release.spelling}" if release else "") for name, release in self.nodes]
        levels = list(map(level_text, self.levels))
        match self.verb, self.mode:
            case "race", "":
                words = [*nodes, "finalize", *levels]
            case "race", _:
                words = ["finalize", *levels, *nodes]
            case _:
                words = [*filter(None, [self.mode]), *nodes, *levels]
        return " ".join([self.verb, *words])

    @property
    def adds_nodes(self) -> bool:
        """Whether its nodes are new."""
        return VERBS[self.verb].operands in (BrokerOperands.NEW_NODES, BrokerOperands.RACE)

    @property
    def description(self) -> str:
        """The meaning of the step as text.

        >>> ClusterStep("downgrade", levels=(("metadata.version", 25),)).description
        'the operator downgrades to 4.0-IV3, unless something would be lost'
        """
        return VERBS[self.verb].describe(
            self.mode,
            (str(release) for _, release in self.nodes if release),
            nodes=(name for name, _ in self.nodes),
            levels=map(level_text, self.levels),
        )


@frozen
class BrokerScenario:
    """A parsed scenario; ``str`` returns its line."""

    nodes: tuple[tuple[str, BrokerRelease], ...]
    levels: tuple[Level, ...]
    dialect: Dialect = KAFKA_4
    watched_feature: str = ""
    """The feature that a Streams group watches; "" without a group."""
    steps: tuple[ClusterStep, ...] = ()

    @property
    def head(self) -> str:
        """The part of the line before the first bar."""
        words = [f"{name}@{release.spelling}" for name, release in self.nodes]
        words += ["level", *map(level_text, self.levels)]
        words += ["dialect", DIALECT_NAMES[self.dialect]] if self.dialect is not KAFKA_4 else []
        words += ["watch", self.watched_feature] if self.watched_feature else []
        return " ".join(words)

    def __str__(self) -> str:
        return " | ".join([self.head, *map(str, self.steps)])


def make_step(
    verb: str, *names: str, to: BrokerRelease | None = None, level: Level | None = None, mode: str = ""
) -> ClusterStep:
    """Return a step in which all nodes get the same release."""
    return ClusterStep(verb, tuple((name, to) for name in names), () if level is None else (level,), mode)


def node_id(name: str) -> int:
    """Return the node id of a node's name."""
    return int(name.lstrip("bc"))


def level_text(level: Level) -> str:
    """Return the text of a level in a scenario.

    >>> level_text(("metadata.version", 25)), level_text(("group.version", 1))
    ('4.0-IV3', 'group.version=1')
    """
    feature, number = level
    return _LEVEL_NAMES[number] if feature == METADATA_VERSION and number in _LEVEL_NAMES else f"{feature}={number}"
