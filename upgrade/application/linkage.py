"""What of Kafka's an application refers to and a release lacks, as the JVM finds it when the code runs.

The Java Virtual Machine Specification, §5.4. Whether a line ever runs is not known here: a library may ask first which
release it has.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import evolve, field, frozen

from upgrade.application.api_diff import CONSTRUCTOR, Resolution, full_text, java_name, resolve_member, supertypes
from upgrade.application.archive import ApplicationClass
from upgrade.application.class_file import (
    ABSTRACT,
    FINAL,
    INTERFACE,
    PRIVATE,
    PROTECTED,
    PUBLIC,
    STATIC,
    ClassFile,
    Kind,
    Reference,
)
from upgrade.application.code import JAVA, Code, KafkaClass, MemberId, classes_of_any_release, is_public
from upgrade.application.libraries import Library

_KAFKA: Final = "org/apache/kafka/"
_APPLICATION: Final = "application"
"""The place of the application's classes, where those of Kafka have an artifact."""
_BUILD_TIME: Final = frozenset({"org/springframework/aot/hint/RuntimeHintsRegistrar"})
"""What implements one of these runs while a native image is made."""
_NAMED: Final = re.compile(r"L(org/apache/kafka/[^;]+);")
Find = Callable[[str], ClassFile | None]
"""Returns a class of the application or its libraries."""


@frozen
class Referrer:
    """A class that refers to something."""

    name: str
    library: Library
    is_build_time: bool = False
    """It runs while a native image is made, not in a member."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        known = None if self.library.is_own else self.library
        return {
            "class": java_name(self.name),
            "library": known and known.name,
            "version": (known and known.version) or None,
            **({"build_time": True} if self.is_build_time else {}),
        }


@frozen
class Problem:
    """A class or member of Kafka's, and what happens where it is used."""

    owner: str
    member: str
    """Empty for a class."""
    descriptor: str
    error: str
    """The class of the error that Java raises."""
    reason: str
    is_new: bool = True
    """Whether the release that the application leaves has it: if not, the code did not run before either."""
    referred_by: tuple[Referrer, ...] = field(default=(), eq=False)

    @property
    def text(self) -> str:
        """Class and member as in Java's sources."""
        return full_text(self.owner, self.member, self.descriptor)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "class": java_name(self.owner),
            "member": self.member or None,
            "descriptor": self.descriptor or None,
            "error": self.error,
            "reason": self.reason,
            "new": self.is_new,
            "referred_by": [each.as_json() for each in self.referred_by],
        }


@frozen
class LinkageReport:
    """What the references of an application come to."""

    problems: tuple[Problem, ...]
    """Those of the application's own classes first, and what is new before what was missing already."""
    internal: Mapping[str, tuple[Referrer, ...]] = field(hash=False)
    """The internal classes that are still there."""
    unknown: Mapping[str, tuple[Referrer, ...]] = field(hash=False)
    """The classes with a package of Kafka that are in no table: of other artifacts."""
    signatures: Mapping[str, tuple[Referrer, ...]] = field(hash=False)
    """The classes that the release lacks and that only signatures name: nothing fails until a framework looks at the
    members of the class by reflection."""
    references: int
    """How many different classes and members of Kafka are referred to."""

    @property
    def new_problems(self) -> tuple[Problem, ...]:
        """What the release that the application leaves has, and the one that it goes to lacks."""
        return tuple(
            each
            for each in self.problems
            if each.is_new and not all(referrer.is_build_time for referrer in each.referred_by)
        )


def check_references(classes: Iterable[ApplicationClass], old: Code, new: Code, find: Find) -> LinkageReport:
    """Resolve each reference to a class or member of Kafka's.

    Args:
        classes: Those that name one of Kafka's.
        old: The classes of the release that the application leaves.
        new: Those of the release that it goes to.
        find: Returns the other classes of the application.
    """
    before, after = _Classes(old, find), _Classes(new, find)
    problems: defaultdict[Problem, list[Referrer]] = defaultdict(list)
    internal: defaultdict[str, list[Referrer]] = defaultdict(list)
    unknown: defaultdict[str, list[Referrer]] = defaultdict(list)
    signatures: defaultdict[str, list[Referrer]] = defaultdict(list)
    references: set[tuple[str, str, str]] = set()
    for each in classes:
        is_build_time = not _BUILD_TIME.isdisjoint(supertypes(after, each.file.name))
        referrer = Referrer(each.file.name, each.library, is_build_time)
        for reference in each.file.references:
            owner = reference.owner
            if not owner.startswith(_KAFKA) or find(owner):
                continue
            references.add((owner, reference.name, reference.descriptor))
            if owner not in new and owner not in classes_of_any_release():
                unknown[owner].append(referrer)
            elif owner in new and not is_public(owner):
                internal[owner].append(referrer)
        known = {evolve(found, is_new=True) for found in _problems(each.file, before, before)}
        lost = tuple(_problems(each.file, after, before))
        for found in lost:
            problems[evolve(found, is_new=found not in known)].append(referrer)
        for name in _named_in_signatures(each.file) - {found.owner for found in lost}:
            if name not in after and name in classes_of_any_release():
                signatures[name].append(referrer)
    ordered = (evolve(found, referred_by=_sorted(those)) for found, those in problems.items())
    return LinkageReport(
        tuple(sorted(ordered, key=_rank)),
        _by_name(internal),
        _by_name(unknown),
        _by_name(signatures),
        len(references),
    )


def check_artifacts(classes: Iterable[ApplicationClass], code: Code) -> tuple[Problem, ...]:
    """Resolve the references of Kafka's own classes to those of its other artifacts.

    Args:
        classes: Those of Kafka's artifacts, each with its artifact as library.
        code: The classes of all of them.
    """
    problems: defaultdict[Problem, list[Referrer]] = defaultdict(list)
    known = _Classes(code, lambda _: None)
    for each in classes:
        for found in _problems(each.file, known, known):
            if found.owner not in code or code[found.owner].artifact != each.library.name:
                problems[found].append(Referrer(each.file.name, each.library))
    return tuple(sorted((evolve(found, referred_by=_sorted(those)) for found, those in problems.items()), key=_rank))


def _named_in_signatures(found: ClassFile) -> set[str]:
    return {name for each in found.members for name in _NAMED.findall(each.descriptor)}


def _by_name(found: Mapping[str, list[Referrer]]) -> dict[str, tuple[Referrer, ...]]:
    return {name: _sorted(those) for name, those in sorted(found.items())}


def _rank(problem: Problem) -> tuple[bool, bool, str, str, str]:
    own = any(each.library.is_own for each in problem.referred_by)
    return not problem.is_new, not own, problem.owner, problem.member, problem.descriptor


def _sorted(referrers: Iterable[Referrer]) -> tuple[Referrer, ...]:
    return tuple(sorted(set(referrers), key=lambda each: (not each.library.is_own, str(each.library), each.name)))


class _Classes(Mapping[str, KafkaClass]):
    """The classes of the application, and behind them those of a release."""

    def __init__(self, code: Code, find: Find) -> None:
        self._code, self._find = code, find
        self._found: dict[str, KafkaClass | None] = {}

    def __getitem__(self, name: str) -> KafkaClass:
        if name not in self._found:
            own = self._find(name)
            self._found[name] = self._code.get(name) if own is None else _as_known(own)
        found = self._found[name]
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:  # pragma: no cover  # a Mapping must have it; nothing goes through all classes
        return iter(self._code)

    def __len__(self) -> int:  # pragma: no cover  # as above
        return len(self._code)


def _as_known(found: ClassFile) -> KafkaClass:
    superclass = "" if found.flags & INTERFACE else found.superclass
    members = {(each.name, each.descriptor): each.flags for each in found.members}
    return KafkaClass(found.name, _APPLICATION, found.flags, superclass, found.interfaces, members)


def _is_of_kafka(found: KafkaClass) -> bool:
    return found.artifact not in {JAVA, _APPLICATION}


def _problems(found: ClassFile, classes: _Classes, old: _Classes) -> Iterator[Problem]:
    """Yield what of Kafka's a class cannot be linked with, each once."""
    seen = set[Problem]()
    for problem in (*_reference_problems(found, classes, old), *_inheritance_problems(found, classes)):
        if problem not in seen:
            seen.add(problem)
            yield problem


def _reference_problems(found: ClassFile, classes: _Classes, old: _Classes) -> Iterator[Problem]:
    not_made = set[str]()
    members = list[Reference]()
    for reference in sorted(found.references):
        owner = reference.owner
        known = classes.get(owner)
        if known is None:
            if owner.startswith(_KAFKA) and owner in classes_of_any_release():
                yield Problem(owner, "", "", "NoClassDefFoundError", "there is no such class")
        elif not _is_of_kafka(known):
            if reference.name:
                yield from _inherited_problems(found, reference, classes, old)
        elif not known.flags & PUBLIC and _package(found.name) != _package(known.name):
            yield Problem(owner, "", "", "IllegalAccessError", "the class is not public")
        elif reference.kind is Kind.INSTANCE and known.flags & (ABSTRACT | INTERFACE):
            not_made.add(owner)
            yield Problem(owner, "", "", "InstantiationError", "the class is abstract")
        elif reference.name:
            members.append(reference)
    for reference in members:
        if reference.name != CONSTRUCTOR or reference.owner not in not_made:
            yield from _member_problems(found, reference, classes, reference.owner)


def _inherited_problems(found: ClassFile, reference: Reference, classes: _Classes, old: _Classes) -> Iterator[Problem]:
    """Yield what is wrong with a member that a class of the application has from one of Kafka's."""
    member = reference.name, reference.descriptor
    before = resolve_member(old, reference.owner, member)
    if before.owner and _is_of_kafka(old[before.owner]):
        yield from _member_problems(found, reference, classes, before.owner)


def _member_problems(found: ClassFile, reference: Reference, classes: _Classes, owner: str) -> Iterator[Problem]:
    """Yield what is wrong with a member; ``owner`` is the class of Kafka's that it is shown with."""
    name, descriptor = reference.name, reference.descriptor
    is_interface = bool(classes[reference.owner].flags & INTERFACE)
    resolved = resolve_member(classes, reference.owner, (name, descriptor))

    def problem(error: str, reason: str) -> Problem:
        return Problem(owner, name, descriptor, error, reason)

    if reference.kind is Kind.LAMBDA:
        others = _without_code(classes, reference.owner, [reference.owner]).keys() - {(name, descriptor)}
        if not is_interface or not resolved.owner or others:
            yield problem("AbstractMethodError", "the interface of the lambda has another method to implement")
    elif reference.kind is not Kind.FIELD and is_interface != (reference.kind is Kind.INTERFACE_METHOD):
        became = "an interface" if is_interface else "a class"
        yield problem("IncompatibleClassChangeError", f"its class became {became}")
    elif not resolved.owner:
        if resolved.is_complete:
            error = "NoSuchFieldError" if reference.kind is Kind.FIELD else "NoSuchMethodError"
            yield problem(error, "there is no such member")
    elif reference.is_static is not None and reference.is_static != bool(resolved.flags & STATIC):
        became = "static" if resolved.flags & STATIC else "not static any more"
        yield problem("IncompatibleClassChangeError", f"it is {became}")
    elif not _is_accessible(found, resolved, classes):
        yield problem("IllegalAccessError", "it is not public")


def _is_accessible(found: ClassFile, resolved: Resolution, classes: _Classes) -> bool:
    is_near = _package(found.name) == _package(resolved.owner) and not resolved.flags & PRIVATE
    if resolved.flags & PUBLIC or is_near:
        return True
    return bool(resolved.flags & PROTECTED) and resolved.owner in supertypes(classes, found.name)


def _inheritance_problems(found: ClassFile, classes: _Classes) -> Iterator[Problem]:
    parent = classes.get(found.superclass)
    if parent and _is_of_kafka(parent) and parent.flags & (FINAL | INTERFACE):
        reason = "it is an interface" if parent.flags & INTERFACE else "it is final, and cannot be extended"
        yield Problem(parent.name, "", "", "IncompatibleClassChangeError", reason)
        return
    for name in found.interfaces:
        known = classes.get(name)
        if known and _is_of_kafka(known) and not known.flags & INTERFACE:
            yield Problem(name, "", "", "IncompatibleClassChangeError", "it is no interface")
            return
    parents = [classes.get(name) for name in supertypes(classes, found.name)]
    kafka = [each for each in parents if each and _is_of_kafka(each)]
    for member in found.members:
        if member.flags & (PRIVATE | STATIC) or member.name == CONSTRUCTOR or member.descriptor[0] != "(":
            continue
        for known in kafka:
            flags = known.members.get((member.name, member.descriptor), 0)
            is_seen = flags & (PUBLIC | PROTECTED) or _package(found.name) == _package(known.name)
            if flags & FINAL and not flags & (STATIC | PRIVATE) and is_seen:
                error, reason = "IncompatibleClassChangeError", "it is final, and cannot be overridden"
                yield Problem(known.name, member.name, member.descriptor, error, reason)
    if not found.flags & (ABSTRACT | INTERFACE) and None not in parents:
        for wanted, owner in _without_code(classes, found.name, [each.name for each in kafka]).items():
            yield Problem(owner, *wanted, "AbstractMethodError", "the class does not implement it")


def _has_code(classes: _Classes, name: str, member: MemberId) -> bool:
    """Whether a method of a class has code, as Java selects it (§5.4.6): a class goes before an interface."""
    interfaces = dict[str, int]()
    for each in supertypes(classes, name):
        known = classes.get(each)
        flags = known.members.get(member) if known else None
        if known is None or flags is None or flags & (STATIC | PRIVATE):
            continue
        if not known.flags & INTERFACE:
            return not flags & ABSTRACT
        interfaces[each] = flags
    return any(
        not flags & ABSTRACT and not any(each != other and each in supertypes(classes, other) for other in interfaces)
        for each, flags in interfaces.items()
    )


def _without_code(classes: _Classes, name: str, types: Iterable[str]) -> dict[MemberId, str]:
    """Return the methods that types ask for and a class has no code for, with the type that declares each."""
    found: dict[MemberId, str] = {}
    for start in types:
        for each in supertypes(classes, start):
            for member, flags in classes[each].members.items() if each in classes else ():
                if flags & ABSTRACT:
                    found.setdefault(member, each)
    return {member: owner for member, owner in found.items() if not _has_code(classes, name, member)}


def _package(name: str) -> str:
    return name.rpartition("/")[0]
