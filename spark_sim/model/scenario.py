"""Scenarios as one line of text, the same in tests, on the command line, in Spark rows and in bug reports.

    A@1.1.1 B@1.1.1 C@1.1.1 | bounce B>2.0.1,upgrade.from=1.1 | crash A | start A | bounce fast C>2.0.1

The members stand before the first bar, in the order in which they join; the first one leads. The workload may follow
(``with threads=2 topology=join``, see ``workload``), and then the steps: ``VERBS`` lists their verbs, and
``docs/reference/scenarios.md`` describes them. After a step the group settles by itself. Between ``hold`` and
``settle`` nothing happens except the steps, which may be single protocol actions (``join A``).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, TypeVar

from attrs import evolve, frozen

from streams_assignor import Topology
from streams_assignor.spark_sim.model.workload import DEFAULT_WORKLOAD, TOPOLOGIES, Workload
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.plans import Round
from streams_assignor.upgrade.releases import Release, release_named
from streams_assignor.upgrade.streams_config import StreamsConfig


class GroupAction(NamedTuple):
    """A protocol action of a member; its text is a step of a scenario."""

    verb: str
    member: str

    def __str__(self) -> str:
        return f"{self.verb} {self.member}"


class Operands(enum.Enum):
    """The words behind a verb, and the syntax of those with a ``>``."""

    PROCESSES_AND_RELEASES = "MEMBER>RELEASE ..."
    PROCESSES_AND_OPTIONAL_RELEASES = "MEMBER[>RELEASE] ..."
    PROCESSES = "MEMBER ..."
    MEMBERS = "MEMBER ... (with threads: MEMBER.1, MEMBER.2, ...)"
    LEADER = "oldest, newest or one member"
    TOPICS = "TOPIC ..."
    NOTHING = "nothing"


_ID_NUMBER: Final = re.compile("#[1-9][0-9]*$")
"""Which member id of a process is meant: a process that was restarted leaves its earlier ones in the group."""

R = TypeVar("R")
_O = TypeVar("_O", bound=enum.Enum)


@frozen
class Verb(Generic[_O]):
    """The syntax of a step and its descriptions."""

    operands: _O
    descriptions: Mapping[str, str]
    """The description of each mode, "" for no mode."""

    @property
    def modes(self) -> tuple[str, ...]:
        """The words that may follow the verb."""
        return tuple(filter(None, self.descriptions))

    def describe(self, mode: str, started_as: Iterable[str], **lists: Iterable[str]) -> str:
        """Return the description of a mode, with the lists that it names, and what processes are started as."""
        releases = join_words(sorted(set(started_as)))
        words = {name: join_words([*items]) for name, items in lists.items()}
        return self.descriptions[mode].format(as_release=releases and f" as {releases}", **words)


def make_verb(operands: _O, description: str, **modes: str) -> Verb[_O]:
    """Return a verb with the description without a mode and those of its modes."""
    return Verb(operands, MappingProxyType({"": description, **modes}))


VERBS: Final[Mapping[str, Verb[Operands]]] = {
    "bounce": make_verb(
        Operands.PROCESSES_AND_RELEASES,
        "stop {names}, wait until its session has timed out, start it again{as_release}",
        fast="restart {names}{as_release} before the group notices that it was gone",
        leave="stop {names}, which leaves the group, and start it again{as_release}",
    ),
    "stop": make_verb(
        Operands.PROCESSES,
        "stop {names}; the group notices when the sessions time out",
        leave="stop {names}, leaving the group",
    ),
    "start": make_verb(Operands.PROCESSES_AND_OPTIONAL_RELEASES, "start {names}{as_release}"),
    "crash": make_verb(
        Operands.PROCESSES,
        "{names} crashes; the group notices when the session times out",
        mid="{names} will crash in the next rebalance, between JoinGroup and SyncGroup",
        late="{names} will crash in the rebalance after the next, between JoinGroup and SyncGroup",
    ),
    "elect": make_verb(
        Operands.LEADER,
        "when the leader goes, {names} takes over if it is in the group",
        oldest="when the leader goes, the member that is longest in the group takes over",
        newest="when the leader goes, the member that joined last takes over",
    ),
    "lose": make_verb(Operands.TOPICS, "topic {names} is deleted"),
    "find": make_verb(Operands.TOPICS, "topic {names} is created again"),
    "shutdown": make_verb(Operands.PROCESSES, "{names} requests a shutdown of the whole application"),
    "hold": make_verb(Operands.NOTHING, "from here on only the given steps happen"),
    "settle": make_verb(Operands.NOTHING, "all pending actions happen until the group is stable"),
    "join": make_verb(Operands.MEMBERS, "JoinGroup of {names}"),
    "lead": make_verb(Operands.MEMBERS, "SyncGroup of {names}, which assigns"),
    "take": make_verb(Operands.MEMBERS, "SyncGroup answers {names}"),
    "expire": make_verb(Operands.MEMBERS, "the session of {names} times out"),
    "late": make_verb(Operands.MEMBERS, "the rebalance timeout passes, and {names} has not joined"),
}
"""The steps of a scenario."""


class ScenarioError(UpgradeError):
    """A line that is not a scenario, or a step that is impossible; the message names it."""


@frozen
class Instance:
    """The release and configuration that a member runs."""

    release: Release
    upgrade_from: str | None = None
    topology: str | None = None
    """A key of ``TOPOLOGIES``; None: that of the workload."""

    @classmethod
    def of(cls, planned: Round) -> Instance:
        """Return what a round of a plan makes of a member."""
        return cls(planned.release, planned.upgrade_from)

    @classmethod
    def parse(cls, text: str) -> Instance:
        """Parse ``2.0.1`` or ``2.0.1,upgrade.from=1.1,topology=join``."""
        name, *settings = text.split(",")
        values: dict[str, str] = {}
        for setting in settings:
            key, equals, value = setting.partition("=")
            if not equals or key not in ("upgrade.from", "topology") or key in values:
                raise ScenarioError(f"expected RELEASE or RELEASE,upgrade.from=VALUE,topology=NAME, got {text!r}")
            values[key] = value
        topology = values.get("topology")
        if topology is not None and topology not in TOPOLOGIES:
            raise ScenarioError(f"expected topology={'|'.join(TOPOLOGIES)}, got {text!r}")
        instance = cls(release_named(name), values.get("upgrade.from"), topology)
        instance.config()
        return instance

    def stream_topology(self, workload: Workload) -> Topology:
        """Return the topology that it runs."""
        return TOPOLOGIES[self.topology] if self.topology else workload.stream_topology

    def config(self, workload: Workload = DEFAULT_WORKLOAD) -> StreamsConfig:
        """Return its configuration; ``ConfigException`` if its release rejects it."""
        return _streams_config(self, workload)

    def __str__(self) -> str:
        settings = (("upgrade.from", self.upgrade_from), ("topology", self.topology))
        return self.release.spelling + "".join(f",{key}={value}" for key, value in settings if value)


@frozen
class Step:
    """One step of a scenario: a verb and what it is about."""

    verb: str
    members: tuple[tuple[str, Instance | None], ...] = ()
    """Processes, members or topics, with what a process is started as."""
    mode: str = ""
    """One of the verb's ``modes``; "" for none."""

    @property
    def names(self) -> tuple[str, ...]:
        """The processes, members or topics."""
        return tuple(name for name, _ in self.members)

    @property
    def description(self) -> str:
        """The meaning of the step as text.

        >>> Scenario.parse("A@1.1 | bounce A>2.0,upgrade.from=1.1").steps[0].description
        'stop A, wait until its session has timed out, start it again as 2.0.1 with upgrade.from=1.1'
        """
        started_as = (str(instance).replace(",", " with ") for _, instance in self.members if instance is not None)
        return VERBS[self.verb].describe(self.mode, started_as, names=self.names)

    def __str__(self) -> str:
        words = [self.verb, *([self.mode] if self.mode else [])]
        return " ".join([*words, *(name + (f">{instance}" if instance else "") for name, instance in self.members)])


@frozen
class Scenario:
    """Members in joining order, the steps, and the workload; ``str`` gives the line."""

    members: tuple[tuple[str, Instance], ...]
    steps: tuple[Step, ...] = ()
    workload: Workload = DEFAULT_WORKLOAD

    @classmethod
    def parse(cls, line: str) -> Scenario:
        """Parse a line; ``ScenarioError`` names the wrong part.

        >>> str(Scenario.parse("A@2.0  B@2.0|bounce A>simulated-4"))
        'A@2.0.1 B@2.0.1 | bounce A>simulated-4'
        """
        head, *rest = line.split("|")
        members = tuple(_parse_member(word) for word in head.split())
        names = tuple(name for name, _ in members)
        if not members or len(set(names)) < len(names):
            raise ScenarioError(f"expected different members such as A@2.0.1 B@2.0.1 before the first |, got {head!r}")
        shape = DEFAULT_WORKLOAD
        if rest and rest[0].split()[:1] == ["with"]:
            shape = _parse_workload(rest.pop(0).split()[1:])
        return cls(members, tuple(_parse_step(text, names, shape) for text in rest), shape)

    @property
    def head(self) -> str:
        """The part of the line before the steps."""
        members = " ".join(f"{name}@{instance}" for name, instance in self.members)
        return members if self.workload == DEFAULT_WORKLOAD else f"{members} | with {self.workload}"

    @property
    def topologies(self) -> tuple[Topology, ...]:
        """The topologies that its members run, that of the workload first."""
        others = (instance.stream_topology(self.workload) for instance in self.instances if instance.topology)
        return tuple(dict.fromkeys((self.workload.stream_topology, *others)))

    @property
    def instances(self) -> Iterator[Instance]:
        """Everything that a process is started as."""
        for _, instance in (*self.members, *(added for step in self.steps for added in step.members)):
            if instance is not None:
                yield instance

    def with_instances(self, replaced: Callable[[Instance], Instance]) -> Scenario:
        """Return the scenario with another instance for each."""
        steps = (
            evolve(step, members=tuple((name, instance and replaced(instance)) for name, instance in step.members))
            for step in self.steps
        )
        return evolve(
            self, members=tuple((name, replaced(instance)) for name, instance in self.members), steps=tuple(steps)
        )

    def __str__(self) -> str:
        return " | ".join([self.head, *map(str, self.steps)])


def make_step(verb: str, *members: str, instance: Instance | None = None, mode: str = "") -> Step:
    """Return a step in which all members have the same instance."""
    return Step(verb, tuple((name, instance) for name in members), mode)


@lru_cache(maxsize=1000)
def _streams_config(instance: Instance, workload: Workload) -> StreamsConfig:
    """Return a checked configuration; cached, as a sweep starts many thousands of members."""
    config = workload.streams_config(instance.upgrade_from)
    config.pinned_version(instance.release)
    return config


# -- reading ---------------------------------------------------------------------------------------------------------


def _parse_member(word: str) -> tuple[str, Instance]:
    name, at, instance = word.partition("@")
    if not name or not at:
        raise ScenarioError(f"expected MEMBER@RELEASE, got {word!r}{_missing_bar(word)}")
    return name, Instance.parse(instance)


def _parse_workload(words: list[str]) -> Workload:
    try:
        return Workload.parse(words)
    except UpgradeError as error:
        raise ScenarioError(str(error)) from None


def _parse_step(text: str, processes: tuple[str, ...], workload: Workload) -> Step:
    if text.split()[:1] == ["with"]:
        raise ScenarioError(f"with stands before all other steps, got {text.strip()!r} after them")
    verb, mode, words = parse_verb(text, VERBS)
    takes = VERBS[verb].operands
    if takes is Operands.NOTHING or (takes is Operands.LEADER and mode):
        if words:
            raise ScenarioError(f"expected {f'{verb} {mode}'.strip()} without anything behind, got {text.strip()!r}")
        return Step(verb, mode=mode)
    if not words or (takes is Operands.LEADER and len(words) > 1):
        noun = "topics" if takes is Operands.TOPICS else takes.value if takes is Operands.LEADER else "members"
        raise ScenarioError(f"expected {noun} after {verb}, got {text.strip()!r}")
    allowed = _known_names(takes, processes, workload)
    if takes is Operands.LEADER and (number := _ID_NUMBER.search(words[0])):
        allowed = tuple(name + number[0] for name in allowed)
    kind = "source topic" if takes is Operands.TOPICS else "member"
    targets = (parse_target(word, verb, kind, allowed, takes.value, Instance.parse) for word in words)
    return Step(verb, tuple(targets), mode)


def _known_names(operands: Operands, processes: tuple[str, ...], workload: Workload) -> tuple[str, ...]:
    if operands is Operands.TOPICS:
        return workload.stream_topology.external_topics
    if operands in {Operands.MEMBERS, Operands.LEADER}:
        return tuple(member for process in processes for member in workload.member_names(process))
    return processes


# -- reading, in both scenario languages -----------------------------------------------------------------------------


def parse_verb(text: str, verbs: Mapping[str, Verb[Any]]) -> tuple[str, str, list[str]]:
    """Split a step into its verb, its mode ("" for none) and the words behind them."""
    verb, *words = text.split() or [""]
    if verb not in verbs:
        raise ScenarioError(f"expected one of {', '.join(verbs)}, got {text.strip()!r}")
    mode = words.pop(0) if words and words[0] in verbs[verb].modes else ""
    return verb, mode, words


def parse_target(
    word: str, verb: str, kind: str, allowed: Sequence[str], syntax: str, parse_release: Callable[[str], R]
) -> tuple[str, R | None]:
    """Parse ``NAME`` or ``NAME>RELEASE``.

    Args:
        word: The text to parse.
        verb: The verb of the step, for messages.
        kind: Its subject, for messages.
        allowed: The names that there are.
        syntax: The words behind the verb: with ``>R`` a release follows each name, with ``[>R]`` it may.
        parse_release: Parses the release.
    """
    name, arrow, release = word.partition(">")
    if name not in allowed:
        raise ScenarioError(f"no {kind} {name!r} in this scenario, only {', '.join(allowed)}{_missing_bar(word)}")
    if not arrow and ">" in syntax and "[>" not in syntax:
        raise ScenarioError(f"expected {verb} {name}>RELEASE, got {word!r}")
    if arrow and ">" not in syntax:
        raise ScenarioError(f"{verb} takes {kind}s without a release, got {word!r}")
    return name, parse_release(release) if arrow else None


def _missing_bar(word: str) -> str:
    """Return the remedy if a verb stands where a name has to: a ``|`` is missing before it."""
    return f"; is there a | missing before {word!r}?" if word in VERBS or word == "with" else ""


def join_words(words: list[str]) -> str:
    """Write a list as prose does."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
