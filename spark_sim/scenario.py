"""One line describes a situation: the same text in tests, on the command line, in Spark rows and in bug reports.

    A@1.1.1 B@1.1.1 C@1.1.1 | bounce B>2.0.1,upgrade.from=1.1 | crash A | start A | bounce fast C>2.0.1

Before the first bar stand the members in the order in which they join; the first one leads. Then come the steps:

    bounce [fast|leave] M>R ...   stop each member and start it as release R, one after the other
    stop [leave] M ...            stop members; without ``leave`` the group notices when their sessions time out
    start M[>R] ...               start members together, as what they were last or as R
    crash [mid|late] M ...        members die at once, or between JoinGroup and SyncGroup of the next rebalance (mid) or
                                  of the one after it (late: a probed member rejoins there)
    elect oldest|newest           who becomes leader when the leader has gone

``fast``: the member is back before the group has noticed that it was gone. A release may carry ``,upgrade.from=V``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import frozen

from upgrade.config import StreamsConfig
from upgrade.errors import UpgradeError
from upgrade.releases import Release, release_named

MODES: Final[Mapping[str, tuple[str, ...]]] = {
    "bounce": ("fast", "leave"),
    "stop": ("leave",),
    "start": (),
    "crash": ("mid", "late"),
    "elect": ("oldest", "newest"),
}
_NEEDS_RELEASE: Final = frozenset({"bounce"})
_TAKES_RELEASE: Final = frozenset({"bounce", "start"})


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

    def config(self) -> StreamsConfig:
        """Return its configuration; ``ConfigException`` if its release refuses it."""
        config = StreamsConfig(upgrade_from=self.upgrade_from)
        config.pinned_version(self.release)
        return config

    def __str__(self) -> str:
        return self.release.name + (f",upgrade.from={self.upgrade_from}" if self.upgrade_from else "")


@frozen
class Step:
    """One step: a verb, its mode (``""`` for none), and the members with what they are started as."""

    verb: str
    members: tuple[tuple[str, Instance | None], ...] = ()
    mode: str = ""

    def __str__(self) -> str:
        words = [self.verb, *([self.mode] if self.mode else [])]
        return " ".join([*words, *(name + (f">{instance}" if instance else "") for name, instance in self.members)])


@frozen
class Scenario:
    """Members in joining order and the steps; ``str`` gives the line back."""

    members: tuple[tuple[str, Instance], ...]
    steps: tuple[Step, ...] = ()

    @classmethod
    def parse(cls, line: str) -> Scenario:
        """Read a line; ``ScenarioError`` says which part is wrong.

        >>> str(Scenario.parse("A@2.0  B@2.0|bounce A>simulated-4"))
        'A@2.0.1 B@2.0.1 | bounce A>simulated-4'
        """
        head, *rest = line.split("|")
        members = tuple(_member(word) for word in head.split())
        names = [name for name, _ in members]
        if not members or len(set(names)) < len(names):
            raise ScenarioError(f"expected different members such as A@2.0.1 B@2.0.1 before the first |, got {head!r}")
        return cls(members, tuple(_step(text, names) for text in rest))

    def __str__(self) -> str:
        head = " ".join(f"{name}@{instance}" for name, instance in self.members)
        return " | ".join([head, *map(str, self.steps)])


def step(verb: str, *members: str, to: Instance | None = None, mode: str = "") -> Step:
    """Make a step in which all members get the same instance."""
    return Step(verb, tuple((name, to) for name in members), mode)


def _member(word: str) -> tuple[str, Instance]:
    name, at, instance = word.partition("@")
    if not name or not at:
        raise ScenarioError(f"expected MEMBER@RELEASE, got {word!r}")
    return name, Instance.parse(instance)


def _step(text: str, known: Iterable[str]) -> Step:
    verb, *words = text.split() or [""]
    if verb not in MODES:
        raise ScenarioError(f"expected one of {', '.join(MODES)}, got {text.strip()!r}")
    mode = words.pop(0) if words and words[0] in MODES[verb] else ""
    if verb == "elect":
        if words or not mode:
            raise ScenarioError(f"expected elect oldest or elect newest, got {text.strip()!r}")
        return Step(verb, mode=mode)
    if not words:
        raise ScenarioError(f"expected members after {verb}, got {text.strip()!r}")
    return Step(verb, tuple(_target(verb, word, known) for word in words), mode)


def _target(verb: str, word: str, known: Iterable[str]) -> tuple[str, Instance | None]:
    name, arrow, instance = word.partition(">")
    if name not in known:
        raise ScenarioError(f"no member {name!r} in this scenario, only {', '.join(known)}")
    if bool(arrow) is False and verb in _NEEDS_RELEASE:
        raise ScenarioError(f"expected {verb} {name}>RELEASE, got {word!r}")
    if arrow and verb not in _TAKES_RELEASE:
        raise ScenarioError(f"{verb} takes members without a release, got {word!r}")
    return name, Instance.parse(instance) if arrow else None
