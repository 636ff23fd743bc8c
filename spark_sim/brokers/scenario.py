"""One line describes a cluster and what happens to it: in tests, on the command line and in every counter-example.

    1@3.9.2 2@3.9.2 3@3.9.2 level 3.9-IV0 | bounce 1>4.3.1 2>4.3.1 3>4.3.1 | finalise 4.3-IV0

Before the first bar stand the nodes: ``1`` is broker and controller, ``c1`` a controller only, ``b1`` a broker only (in
KIP-584 all are brokers, and one of them is the controller). Then what is finalised (``level``), and if they are not the
usual: how the cluster speaks (``dialect kip-584``, ``kip-778``, ``kafka-4``) and a feature that a Streams group of the
members A, B and C watches (``watch FEATURE``). ``VERBS`` has the steps.

A level is one of metadata.version by name (``4.0-IV1``, ``4.0`` for its newest) or ``FEATURE=NUMBER``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from attrs import frozen

from spark_sim.story import anded
from upgrade.brokers.versions import VERSIONS, BrokerRelease
from upgrade.features.dialects import DIALECTS, KAFKA_4, Dialect
from upgrade.features.levels import METADATA

BY_NAME: Final[Mapping[str, Dialect]] = dict(zip(("kip-584", "kip-778", "kafka-4"), DIALECTS, strict=True))
NAMES: Final[Mapping[Dialect, str]] = {dialect: name for name, dialect in BY_NAME.items()}
MEMBERS: Final = ("A", "B", "C")
"""The Streams group that watches a feature; A leads first."""

Level = tuple[str, int]
_LEVEL_NAMES: Final = {version.level: version.name for version in VERSIONS}


class Takes(Enum):
    """What follows a verb and its mode."""

    MOVED = "N>R ..."
    STARTED = "N[>R] ..."
    NODES = "N ..."
    NODE = "N"
    NEWCOMERS = "N@R ..."
    LEVELS = "L ..."
    RACERS = "N@R finalise L ..."
    MEMBERS = "M ..."
    NOTHING = ""


@frozen
class Verb:
    """How a step is written, and what it means: by mode, ``""`` for none."""

    takes: Takes
    means: Mapping[str, str]

    @property
    def modes(self) -> tuple[str, ...]:
        """The words that may follow the verb."""
        return tuple(filter(None, self.means))


def _verb(takes: Takes, means: str, **modes: str) -> Verb:
    return Verb(takes, MappingProxyType({"": means, **modes}))


VERBS: Final[Mapping[str, Verb]] = {
    "bounce": _verb(Takes.MOVED, "stop {nodes} and start again{as_release}"),
    "stop": _verb(Takes.NODES, "stop {nodes}"),
    "start": _verb(Takes.STARTED, "start {nodes}{as_release}"),
    "crash": _verb(Takes.NODES, "{nodes} crash, all at once"),
    "register": _verb(Takes.NEWCOMERS, "a further broker comes: {nodes}{as_release}"),
    "unregister": _verb(Takes.NODES, "the operator takes {nodes} out of the registration"),
    "elect": _verb(Takes.NODE, "{nodes} becomes the active controller"),
    "finalise": _verb(Takes.LEVELS, "the operator finalises {levels}"),
    "downgrade": _verb(
        Takes.LEVELS,
        "the operator lowers to {levels}, unless something would be lost",
        unsafe="the operator lowers to {levels}, whatever is lost",
    ),
    "race": _verb(
        Takes.RACERS,
        "broker {nodes}{as_release} comes up while the operator finalises {levels}, and is registered before that",
        after="broker {nodes}{as_release} comes up while the operator finalises {levels}, and is dealt with after that",
    ),
    "stale": _verb(Takes.NODES, "{nodes} hear of no more changes"),
    "fresh": _verb(Takes.NODES, "{nodes} hear of all changes again"),
    "snapshot": _verb(Takes.NOTHING, "every node writes a snapshot of the metadata"),
    "ask": _verb(Takes.NODE, "the leader of the Streams group asks {nodes} for what is finalised"),
    "restart": _verb(Takes.MEMBERS, "members {nodes} of the Streams group restart one by one, and remember nothing"),
}
"""The steps. A race is written in the order in which it is dealt with: ``race finalise L N@R`` is "after"."""


@frozen
class Step:
    """One step: a verb, its mode, nodes (or members) with what they are started as, and levels."""

    verb: str
    nodes: tuple[tuple[str, BrokerRelease | None], ...] = ()
    levels: tuple[Level, ...] = ()
    mode: str = ""

    def __str__(self) -> str:
        sign = "@" if self.brings else ">"
        nodes = [name + (f"{sign}{release}" if release else "") for name, release in self.nodes]
        levels = list(map(level_text, self.levels))
        match self.verb, self.mode:
            case "race", "":
                words = [*nodes, "finalise", *levels]
            case "race", _:
                words = ["finalise", *levels, *nodes]
            case _:
                words = [*filter(None, [self.mode]), *nodes, *levels]
        return " ".join([self.verb, *words])

    @property
    def brings(self) -> bool:
        """Whether its nodes are new ones."""
        return VERBS[self.verb].takes in (Takes.NEWCOMERS, Takes.RACERS)

    @property
    def meaning(self) -> str:
        """What it means, in words.

        >>> Step("downgrade", levels=(("metadata.version", 25),)).meaning
        'the operator lowers to 4.0-IV3, unless something would be lost'
        """
        releases = sorted({str(release) for _, release in self.nodes if release})
        return (
            VERBS[self.verb]
            .means[self.mode]
            .format(
                nodes=anded([name for name, _ in self.nodes]),
                as_release=f" as {anded(releases)}" if releases else "",
                levels=anded(list(map(level_text, self.levels))),
            )
        )


@frozen
class BrokerScenario:
    """The nodes, what is finalised, the dialect, the watched feature ("" for none), the steps; ``str`` is the line."""

    nodes: tuple[tuple[str, BrokerRelease], ...]
    levels: tuple[Level, ...]
    dialect: Dialect = KAFKA_4
    watched: str = ""
    steps: tuple[Step, ...] = ()

    @property
    def head(self) -> str:
        """The part before the first bar."""
        words = [f"{name}@{release}" for name, release in self.nodes]
        words += ["level", *map(level_text, self.levels)]
        words += ["dialect", NAMES[self.dialect]] if self.dialect is not KAFKA_4 else []
        words += ["watch", self.watched] if self.watched else []
        return " ".join(words)

    def __str__(self) -> str:
        return " | ".join([self.head, *map(str, self.steps)])


def step(verb: str, *names: str, to: BrokerRelease | None = None, level: Level | None = None, mode: str = "") -> Step:
    """Make a step in which all nodes get the same release."""
    return Step(verb, tuple((name, to) for name in names), () if level is None else (level,), mode)


def number_of(name: str) -> int:
    """Return the node id in a name."""
    return int(name.lstrip("bc"))


def level_text(level: Level) -> str:
    """Write a level as a scenario has it.

    >>> level_text(("metadata.version", 25)), level_text(("group.version", 1))
    ('4.0-IV3', 'group.version=1')
    """
    feature, number = level
    return _LEVEL_NAMES[number] if feature == METADATA and number in _LEVEL_NAMES else f"{feature}={number}"
