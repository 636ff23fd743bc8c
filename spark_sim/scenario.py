"""One line describes a situation: the same text in tests, on the command line, in Spark rows and in bug reports.

    A@1.1.1 B@1.1.1 C@1.1.1 | bounce B>2.0.1,upgrade.from=1.1 | crash A | start A | bounce fast C>2.0.1

Before the first bar stand the members in the order in which they join; the first one leads. After it may stand what
the group runs (``with threads=2 topology=join``, see ``shape``). Then come the steps: the table ``VERBS`` has all of
them, ``docs/guide/scenarios.md`` tells what each does. After a step the group comes to rest by itself; between ``hold``
and ``settle`` nothing happens but what the line says, one move of the protocol after the other (``join A``).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from attrs import frozen

from spark_sim.shape import NORMAL, Shape
from upgrade.config import StreamsConfig
from upgrade.errors import UpgradeError
from upgrade.releases import Release, release_named


class Move(NamedTuple):
    """One thing that the protocol can do next; its text is a step of a scenario."""

    verb: str
    member: str

    def __str__(self) -> str:
        return f"{self.verb} {self.member}"


class Takes(enum.Enum):
    """What stands behind a verb."""

    MOVED = "MEMBER>RELEASE ..."
    STARTED = "MEMBER[>RELEASE] ..."
    PROCESSES = "MEMBER ..."
    MEMBERS = "MEMBER ... (with threads: MEMBER.1, MEMBER.2, ...)"
    LEADER = "oldest, newest or one member"
    TOPICS = "TOPIC ..."
    NOTHING = "nothing"


VERBS: Final[Mapping[str, Takes]] = {
    "bounce": Takes.MOVED,
    "stop": Takes.PROCESSES,
    "start": Takes.STARTED,
    "crash": Takes.PROCESSES,
    "elect": Takes.LEADER,
    "lose": Takes.TOPICS,
    "find": Takes.TOPICS,
    "shutdown": Takes.PROCESSES,
    "hold": Takes.NOTHING,
    "settle": Takes.NOTHING,
    "join": Takes.MEMBERS,
    "lead": Takes.MEMBERS,
    "take": Takes.MEMBERS,
    "expire": Takes.MEMBERS,
    "late": Takes.MEMBERS,
}
_MODES: Final = {
    "bounce": ("fast", "leave"),
    "stop": ("leave",),
    "crash": ("mid", "late"),
    "elect": ("oldest", "newest"),
}
MODES: Final[Mapping[str, tuple[str, ...]]] = {verb: _MODES.get(verb, ()) for verb in VERBS}
"""The words that may stand between a verb and its members."""


class ScenarioError(UpgradeError):
    """A line that is not a scenario; the message names the part."""


@frozen
class Instance:
    """What a member runs as."""

    release: Release
    upgrade_from: str | None = None

    @classmethod
    def parse(cls, text: str) -> Instance:
        """Read ``2.0.1`` or ``2.0.1,upgrade.from=1.1``."""
        name, comma, setting = text.partition(",")
        key, equals, value = setting.partition("=")
        if comma and (key != "upgrade.from" or not equals):
            raise ScenarioError(f"expected RELEASE or RELEASE,upgrade.from=VALUE, got {text!r}")
        instance = cls(release_named(name), value if comma else None)
        instance.config()
        return instance

    def config(self, shape: Shape = NORMAL) -> StreamsConfig:
        """Return its configuration; ``ConfigException`` if its release refuses it."""
        return _config(self, shape.standbys)

    def __str__(self) -> str:
        return self.release.name + (f",upgrade.from={self.upgrade_from}" if self.upgrade_from else "")


@frozen
class Step:
    """One step: a verb, its mode (``""`` for none), and the members with what they are started as (or topics)."""

    verb: str
    members: tuple[tuple[str, Instance | None], ...] = ()
    mode: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The members, or topics."""
        return tuple(name for name, _ in self.members)

    def __str__(self) -> str:
        words = [self.verb, *([self.mode] if self.mode else [])]
        return " ".join([*words, *(name + (f">{instance}" if instance else "") for name, instance in self.members)])


@frozen
class Scenario:
    """Members in joining order, the steps, and what the group runs; ``str`` gives the line back."""

    members: tuple[tuple[str, Instance], ...]
    steps: tuple[Step, ...] = ()
    shape: Shape = NORMAL

    @classmethod
    def parse(cls, line: str) -> Scenario:
        """Read a line; ``ScenarioError`` says which part is wrong.

        >>> str(Scenario.parse("A@2.0  B@2.0|bounce A>simulated-4"))
        'A@2.0.1 B@2.0.1 | bounce A>simulated-4'
        """
        head, *rest = line.split("|")
        members = tuple(_member(word) for word in head.split())
        names = tuple(name for name, _ in members)
        if not members or len(set(names)) < len(names):
            raise ScenarioError(f"expected different members such as A@2.0.1 B@2.0.1 before the first |, got {head!r}")
        shape = NORMAL
        if rest and rest[0].split()[:1] == ["with"]:
            shape = _shape(rest.pop(0).split()[1:])
        return cls(members, tuple(_step(text, names, shape) for text in rest), shape)

    @property
    def head(self) -> str:
        """All that stands before the steps."""
        members = " ".join(f"{name}@{instance}" for name, instance in self.members)
        return members if self.shape == NORMAL else f"{members} | with {self.shape}"

    def __str__(self) -> str:
        return " | ".join([self.head, *map(str, self.steps)])


def step(verb: str, *members: str, to: Instance | None = None, mode: str = "") -> Step:
    """Make a step in which all members get the same instance."""
    return Step(verb, tuple((name, to) for name in members), mode)


@lru_cache(maxsize=1000)
def _config(instance: Instance, standbys: int) -> StreamsConfig:
    """Make the configuration of all who are started alike; a sweep starts many thousands."""
    config = StreamsConfig(upgrade_from=instance.upgrade_from, num_standby_replicas=standbys)
    config.pinned_version(instance.release)
    return config


# -- reading ---------------------------------------------------------------------------------------------------------


def _member(word: str) -> tuple[str, Instance]:
    name, at, instance = word.partition("@")
    if not name or not at:
        raise ScenarioError(f"expected MEMBER@RELEASE, got {word!r}")
    return name, Instance.parse(instance)


def _shape(words: list[str]) -> Shape:
    try:
        return Shape.parse(words)
    except UpgradeError as error:
        raise ScenarioError(str(error)) from None


def _step(text: str, processes: tuple[str, ...], shape: Shape) -> Step:
    verb, *words = text.split() or [""]
    if verb == "with":
        raise ScenarioError(f"with stands before all other steps, got {text.strip()!r} after them")
    if verb not in VERBS:
        raise ScenarioError(f"expected one of {', '.join(VERBS)}, got {text.strip()!r}")
    mode = words.pop(0) if words and words[0] in MODES[verb] else ""
    takes = VERBS[verb]
    if takes is Takes.NOTHING or (takes is Takes.LEADER and mode):
        if words:
            raise ScenarioError(f"expected {f'{verb} {mode}'.strip()} without anything behind, got {text.strip()!r}")
        return Step(verb, mode=mode)
    if not words or (takes is Takes.LEADER and len(words) > 1):
        what = "topics" if takes is Takes.TOPICS else takes.value if takes is Takes.LEADER else "members"
        raise ScenarioError(f"expected {what} after {verb}, got {text.strip()!r}")
    known = _known(takes, processes, shape)
    return Step(verb, tuple(_target(verb, takes, word, known) for word in words), mode)


def _known(takes: Takes, processes: tuple[str, ...], shape: Shape) -> tuple[str, ...]:
    if takes is Takes.TOPICS:
        return shape.layout.external_topics
    if takes in {Takes.MEMBERS, Takes.LEADER}:
        return tuple(member for process in processes for member in shape.members_of(process))
    return processes


def _target(verb: str, takes: Takes, word: str, known: tuple[str, ...]) -> tuple[str, Instance | None]:
    name, arrow, instance = word.partition(">")
    kind = "source topic" if takes is Takes.TOPICS else "member"
    if name not in known:
        raise ScenarioError(f"no {kind} {name!r} in this scenario, only {', '.join(known)}")
    if not arrow and takes is Takes.MOVED:
        raise ScenarioError(f"expected {verb} {name}>RELEASE, got {word!r}")
    if arrow and takes not in {Takes.MOVED, Takes.STARTED}:
        raise ScenarioError(f"{verb} takes {kind}s without a release, got {word!r}")
    return name, Instance.parse(instance) if arrow else None
