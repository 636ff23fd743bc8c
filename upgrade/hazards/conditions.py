"""Conditions of hazards in three values: what a file shows, what it rules out, and what it does not decide.

A condition is compared with an ``Application``. ``a & b``, ``a | b`` and ``~a`` combine conditions as Kleene's logic
does; ``a.or_else(b)`` asks for ``b`` if ``a`` cannot tell.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.hazards._application import Application, GroupFacts, Number, Setting, version_number
from streams_assignor.upgrade.hazards._evidence import Subject, contradictions, witnesses
from streams_assignor.upgrade.topology_description import DescribedNode

UNSET: Final = " is not set in "
"""Between a key and the files."""
_PLACEHOLDER: Final = "${"
_CONFIG: Final = "--config"
_APP: Final = "--app"
_TOPOLOGY: Final = "--topology"
_GROUP: Final = "--group"
MAIN_CONSUMER: Final = ("main.consumer.", "consumer.", "")
PRODUCER: Final = ("producer.", "")
STREAMS: Final = ("",)
EVERYWHERE: Final = (
    "main.consumer.",
    "restore.consumer.",
    "global.consumer.",
    "consumer.",
    "producer.",
    "admin.",
    "",
)
"""The names of a key that Streams and all its clients have; any of them counts."""


class Answer(enum.Enum):
    """Whether a hazard concerns an application. The values are those of ``plan --json``."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"

    @classmethod
    def in_order(cls) -> tuple[Answer, Answer, Answer]:
        """Return the answers in the order of a plan."""
        return cls.YES, cls.UNKNOWN, cls.NO


_OPPOSITE: Final = {Answer.YES: Answer.NO, Answer.NO: Answer.YES, Answer.UNKNOWN: Answer.UNKNOWN}


@frozen
class Concern:
    """The answer, and how it is known."""

    answer: Answer
    evidence: tuple[str, ...] = ()
    """The lines, classes or nodes that show it."""
    decided_by: tuple[str, ...] = ()
    """For an unknown answer: what would decide it."""
    read: tuple[str, ...] = ()
    """The inputs that were read for it, with their forms."""
    contradicted_by: tuple[str, ...] = ()
    """The inputs that could still contradict the evidence; a "no" has none."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "concerns": self.answer.value,
            "because": list(self.evidence),
            "decided_by": list(self.decided_by),
            "read": list(self.read),
            "contradicted_by": list(self.contradicted_by),
        }


def _yes(*evidence: str) -> Concern:
    return Concern(Answer.YES, evidence)


def _no(*evidence: str) -> Concern:
    return Concern(Answer.NO, evidence)


def _unknown(*decided_by: str) -> Concern:
    return Concern(Answer.UNKNOWN, decided_by=decided_by)


def _with_witnesses(concern: Concern, application: Application, subject: Subject) -> Concern:
    """Return an answer with what was read for it, and with what could still contradict it."""
    could = (*concern.contradicted_by, *contradictions(application, subject))
    return evolve(concern, read=witnesses(application, subject), contradicted_by=could)


def _settled(concern: Concern) -> Concern:
    """Return unknown instead of a "no" that something could still contradict."""
    if concern.answer is Answer.NO and concern.contradicted_by:
        return evolve(concern, answer=Answer.UNKNOWN, decided_by=concern.contradicted_by)
    return concern


def join_concerns(answer: Answer, parts: Iterable[Concern]) -> Concern:
    """Return the concern of several parts, with all that they know."""
    concerns = list(parts)
    joined = (
        dict.fromkeys(text for concern in concerns for text in getattr(concern, name))
        for name in ("evidence", "decided_by", "read", "contradicted_by")
    )
    evidence, decided_by, read, contradicted_by = map(tuple, joined)
    return Concern(
        answer,
        _without_repeats(evidence),
        decided_by if answer is Answer.UNKNOWN else (),
        read,
        contradicted_by,
    )


def _without_repeats(evidence: Iterable[str]) -> tuple[str, ...]:
    """Return what shows something, with the keys that a file does not set in one text."""
    keys_by_text: dict[str, list[str]] = {}
    for text in evidence:
        key, unset, source = text.partition(UNSET)
        keys_by_text.setdefault(f"{unset}{source}" if unset else text, []).append(key if unset else "")
    return tuple(f"{' or '.join(keys)}{text}" if any(keys) else text for text, keys in keys_by_text.items())


def any_concern(concerns: list[Concern]) -> Concern:
    """Return the concern of an application that may run in several ways: yes if one of them says so."""
    return _combined(concerns, Answer.YES)


class Condition:
    """Something that holds for an application, does not, or cannot be told."""

    def concern(self, application: Application) -> Concern:
        """Compare it with what is known of an application: "no" only if nothing could contradict that."""
        return _settled(self.look(application))

    def look(self, application: Application) -> Concern:
        """Return what is seen, also a "no" that something could contradict."""
        raise NotImplementedError

    def __and__(self, other: Condition) -> Condition:
        return AllOf((self, other))

    def __or__(self, other: Condition) -> Condition:
        return AnyOf((self, other))

    def __invert__(self) -> Condition:
        return NotThat(self)

    def or_else(self, other: Condition) -> Condition:
        """Return a condition that asks for ``other`` if this one cannot tell."""
        return FirstKnown((self, other))


@frozen
class AllOf(Condition):
    """Each part holds: one that does not is enough for no, and the unknown ones decide."""

    parts: tuple[Condition, ...]

    def look(self, application: Application) -> Concern:
        """Compare all parts."""
        return _combined([part.look(application) for part in self.parts], Answer.NO)


@frozen
class AnyOf(Condition):
    """Some part holds."""

    parts: tuple[Condition, ...]

    def look(self, application: Application) -> Concern:
        """Compare all parts."""
        return _combined([part.look(application) for part in self.parts], Answer.YES)


def _combined(concerns: list[Concern], deciding: Answer) -> Concern:
    """Return the concern with the answer that decides alone; else what is unknown; else all.

    Of several that decide, one that nothing could contradict counts. An unknown fact could contradict another.
    """
    alone = sorted((concern for concern in concerns if concern.answer is deciding), key=_is_contradicted)
    unknown = [concern for concern in concerns if concern.answer is Answer.UNKNOWN]
    if alone and _is_contradicted(alone[0]):
        further = (text for concern in unknown for text in concern.decided_by)
        return evolve(alone[0], contradicted_by=tuple(dict.fromkeys((*alone[0].contradicted_by, *further))))
    if alone:
        return alone[0]
    if unknown:
        open_ones = map(_settled, concerns)
        return join_concerns(Answer.UNKNOWN, [concern for concern in open_ones if concern.answer is Answer.UNKNOWN])
    return join_concerns(_OPPOSITE[deciding], concerns)


def _is_contradicted(concern: Concern) -> bool:
    return bool(concern.contradicted_by)


@frozen
class NotThat(Condition):
    """The part does not hold."""

    part: Condition

    def look(self, application: Application) -> Concern:
        """Turn the answer around; what shows it stays, and what could contradict it."""
        concern = self.part.look(application)
        return evolve(concern, answer=_OPPOSITE[concern.answer])


@frozen
class Presumed(Condition):
    """The part holds unless something shows that it does not."""

    part: Condition
    why: str

    def look(self, application: Application) -> Concern:
        """Take what is unknown as yes."""
        concern = self.part.look(application)
        return _yes(self.why) if concern.answer is Answer.UNKNOWN else concern


@frozen
class FirstKnown(Condition):
    """The first part that can tell decides."""

    parts: tuple[Condition, ...]

    def look(self, application: Application) -> Concern:
        """Ask one part after the other; a later one that says yes contradicts a "no"."""
        concerns = [part.look(application) for part in self.parts]
        known = (concern for concern in concerns if concern.answer is not Answer.UNKNOWN)
        first = next(known, join_concerns(Answer.UNKNOWN, concerns))
        if first.answer is not Answer.NO:
            return first
        against = (text for concern in known if concern.answer is Answer.YES for text in concern.evidence)
        could = (f"{'; '.join(first.evidence)}, but {text}" for text in against)
        return evolve(first, contradicted_by=(*first.contradicted_by, *could))


@frozen
class Always(Condition):
    """Holds for every application."""

    why: str

    def look(self, application: Application) -> Concern:  # noqa: ARG002 - the same for all
        """Return yes."""
        return _yes(self.why)


@frozen
class Ask(Condition):
    """No file decides it: the operator has to look."""

    what: str
    """The deciding question: ``whether ...``, ``which ...``."""

    def look(self, application: Application) -> Concern:  # noqa: ARG002 - no file decides
        """Return unknown."""
        return _unknown(self.what)


@frozen
class Sets(Condition):
    """A setting: a key that is set, or is set to a value."""

    key: str
    values: tuple[str, ...] = ()
    """The values that count, which are shown; empty: any."""
    prefixes: tuple[str, ...] = STREAMS
    """With ``EVERYWHERE`` any of the names counts, else the first one that is set."""
    fits: Callable[[str], bool] | None = field(default=None, eq=False)
    """Which values count, if they are no list; they are not shown."""
    what: str = ""
    """The subject of ``fits``, behind the key: ``with blanks``."""

    def look(self, application: Application) -> Concern:
        """Look for the key in the file, and in what wrappers set."""
        every = self.prefixes == EVERYWHERE
        names = [(prefix + self.key,) for prefix in EVERYWHERE] if every else [_names(self.prefixes, self.key)]
        settings = [setting for alternative in names for setting in application.settings_of(alternative)]
        if settings:
            concern = _combined([self._of(setting) for setting in settings], Answer.YES)
        else:
            concern = self._unset(application)
        is_there = concern.answer is Answer.YES and not self._looks_at_value  # nothing takes a key away again
        return concern if is_there else _with_witnesses(concern, application, Subject.SETTINGS)

    def _unset(self, application: Application) -> Concern:
        could = contradictions(application, Subject.SETTINGS)
        if could and application.settings is None:
            return _unknown(f"{_CONFIG} ({self.key})")
        source = application.settings or application.code
        unset = _no(f"{self.key}{UNSET}{source.source if source else 'any file'}")
        if application.settings and application.settings.elsewhere:
            return evolve(unset, answer=Answer.UNKNOWN, decided_by=could)
        return unset

    @property
    def _looks_at_value(self) -> bool:
        return bool(self.values) or self.fits is not None

    def _of(self, setting: Setting) -> Concern:
        """Look at one value."""
        if not setting.reaches_kafka:
            return _unknown(f"whether {setting.where}, which names {self.key}, is for Kafka Streams")
        value = setting.value.strip()
        placeholder = _unknown(f"what value {self.key} has: {setting.where} has a placeholder")
        if self._looks_at_value and _PLACEHOLDER in value:
            return placeholder
        default = " as the default of a placeholder" if setting.is_default else ""
        could = (f"what the placeholder of {setting.where} stands for",) if setting.is_default else ()
        if value in self.values:
            return Concern(Answer.YES, (f"{setting.where}: {self.key}={value}{default}",), contradicted_by=could)
        if self._looks_at_value and not (self.fits and self.fits(value)):
            expected = self.what or f"to {' or '.join(self.values)}"
            return placeholder if default else _no(f"{setting.where} does not set {self.key} {expected}")
        text = f"{setting.where} sets {self.key}{self.what and f' {self.what}'}{default}"
        if not self._looks_at_value:
            could = (f"whether {setting.where} is reached",) if setting.is_conditional else ()
        return Concern(Answer.YES, (text,), contradicted_by=could)


def _names(prefixes: Iterable[str], key: str) -> tuple[str, ...]:
    return tuple(prefix + key for prefix in prefixes)


@frozen
class Uses(Condition):
    """The code refers to something of Kafka's: the value of a ``CodeFact``."""

    fact: str
    words: str
    """Its kind, as in Java's sources."""
    own_only: bool = False
    """Only the application's own classes count, which its files always have."""

    def look(self, application: Application) -> Concern:
        """Look at the application's own classes first; a library alone shows nothing."""
        code = application.code
        if code and (own := code.shown.get(self.fact)):
            return _yes(*own[:1])
        if by_wrapper := application.calls.get(self.fact):
            return _yes(f"{by_wrapper}: {self.words}")
        if code is None:
            return _unknown(f"{_APP} ({self.words})")
        if self.own_only and (unclear := code.by_libraries.get(self.fact)):
            return _unknown(f"whether it is yours (--own): {unclear[0]}")
        if self.own_only:
            none = _no(f"none of your classes in {code.source} refers to {self.words}")
            return _with_witnesses(none, application, Subject.CODE)
        if by_library := code.by_libraries.get(self.fact):
            return _unknown(f"whether you use what {by_library[0]}")
        if not code.has_libraries:
            return _unknown(f"{_APP} with your libraries, which {code.source} does not have ({self.words})")
        return _with_witnesses(_no(f"nothing in {code.source} refers to {self.words}"), application, Subject.CODE)


@frozen
class Observes(Condition):
    """Something besides the application looks into Kafka: a Java agent, or a library."""

    libraries: str
    """The pattern of their names."""
    what: str
    """The deciding question if the files show none."""
    with_agents: bool = True
    """Whether a Java agent counts, too."""

    def look(self, application: Application) -> Concern:
        """Look for agents in settings and archives, and for the libraries."""
        sources = (application.settings, application.code) if self.with_agents else ()
        shown = [agent for source in sources if source for agent in source.agents]
        versions = application.all_libraries.items()
        shown += (f"{name} {version} is there" for name, version in versions if re.fullmatch(self.libraries, name))
        return _yes(*shown) if shown else _unknown(self.what)


@frozen
class Lacks(Condition):
    """The code refers to what is gone since some releases: from the first one to before the second."""

    since: Number
    before: Number
    rocksdb: bool = False
    """Only what a ``RocksDBConfigSetter`` is linked with counts."""
    unimplemented: bool = False
    """Only methods of interfaces count that a class of the code does not implement."""

    def look(self, application: Application) -> Concern:
        """Look for what a release on the way lacks."""
        code = application.code
        if code is None:
            return _unknown(_APP)
        lacking = code.rocksdb if self.rocksdb else code.lacking
        kept = (each for each in lacking if each.is_unimplemented or not self.unimplemented)
        if gone := [reference.text for reference in kept if self.since <= reference.since < self.before]:
            return _yes(gone[0] if len(gone) == 1 else f"{gone[0]}; and {len(gone) - 1} more")
        if not code.has_libraries:
            return _unknown(f"{_APP} with your libraries, which {code.source} does not have")
        still = _no(f"all of this that {code.source} refers to is still there")
        return _with_witnesses(still, application, Subject.CODE)


@frozen
class RunsOnJavaBefore(Condition):
    """The members run on an older Java, which classes for a newer one rule out."""

    java: int

    def look(self, application: Application) -> Concern:
        """Look at the version of the class files."""
        code = application.code
        if code and code.java >= self.java:
            return _no(f"{code.source} has classes of Java {code.java}")
        return _unknown(*([] if code else [f"{_APP} (the Java of your classes)"]), "which Java runs your members")


@frozen
class HasLibrary(Condition):
    """The archive has a library in some versions."""

    names: tuple[str, ...]
    since: Number = ()
    before: Number = ()

    def look(self, application: Application) -> Concern:
        """Look for it among the libraries."""
        code, libraries = application.code, application.all_libraries
        for name in self.names:
            version = libraries.get(name)
            if version is None:
                continue
            number = version_number(version)
            if not number:
                return _unknown(f"the version of {name}, which its file does not name")
            if self.since <= number and (not self.before or number < self.before):
                return _yes(f"{name} {version} is there")
            return _with_witnesses(_no(f"{name} {version} is there"), application, Subject.CODE)
        if code is None:
            return _unknown(f"{_APP} (the version of {self.names[0]})")
        if not code.has_libraries:
            return _unknown(f"{_APP} with your libraries (the version of {self.names[0]})")
        return _with_witnesses(_no(f"{code.source} does not have {self.names[0]}"), application, Subject.CODE)


@frozen
class Brokers(Condition):
    """The brokers are of some releases: one of them is enough."""

    since: Number = ()
    before: Number = ()

    def look(self, application: Application) -> Concern:
        """Look at the oldest and the newest broker."""
        brokers = application.group.brokers if application.group else None
        if brokers is None:
            return _unknown(f"{_GROUP} (the release of the brokers)")
        if any(self._is_inside(release) for release in brokers):
            return _unknown("which patch release the brokers have")
        oldest, newest = brokers
        fits = self.since <= newest and (not self.before or oldest < self.before)
        text = " to ".join(dict.fromkeys(".".join(map(str, release)) for release in brokers))
        return (_yes if fits else _no)(f"the brokers are of {text}")

    def _is_inside(self, number: Number) -> bool:
        """Whether a limit is inside a line of which the patch release is not known."""
        limits = (limit for limit in (self.since, self.before) if len(limit) > len(number))
        return any(limit[: len(number)] == number for limit in limits)


@frozen
class InGroup(Condition):
    """A live group has something."""

    words: str
    of: Callable[[GroupFacts], bool | None] = field(eq=False)

    def look(self, application: Application) -> Concern:
        """Look at the group."""
        group = application.group
        holds = self.of(group) if group else None
        if group is None or holds is None:
            return _unknown(f"{_GROUP} ({self.words})")
        return _yes(f"group {group.name} has {self.words}") if holds else _no(f"group {group.name} has no {self.words}")


Nodes = tuple[DescribedNode, ...]


@frozen
class InTopology(Condition):
    """The topology has something."""

    words: str
    of: Callable[[Nodes], str | None] = field(eq=False)
    """Returns the node, store or topic that shows it; empty: there is none; None: the text can hide it."""

    def look(self, application: Application) -> Concern:
        """Look at the nodes."""
        topology = application.topology
        if topology is None:
            return _unknown(f"{_TOPOLOGY} ({self.words})")
        name = self.of(topology.nodes)
        if name is None:
            return _unknown(f"whether {topology.source} has {self.words}: names of your own hide it")
        return _yes(f"{topology.source} has {name}") if name else _no(f"{topology.source} has no {self.words}")
