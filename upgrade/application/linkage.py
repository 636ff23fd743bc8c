"""What of Kafka's an application refers to and a release lacks, as the JVM finds it when the code runs.

The Java Virtual Machine Specification, §5.4. Whether a line ever runs is not known here: a library may ask first which
release it has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import evolve, field, frozen

from upgrade.application.api_diff import CONSTRUCTOR, java_name, member_text, resolve_member, supertypes
from upgrade.application.archive import ApplicationClass, Library
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
from upgrade.application.code import JAVA, Code, MemberId, classes_of_any_release, is_public

_KAFKA: Final = "org/apache/kafka/"
_OBJECT: Final = "java/lang/Object"
Find = Callable[[str], ClassFile | None]
"""Returns a class of the application or its libraries."""


@frozen
class Referrer:
    """A class that refers to something."""

    name: str
    library: Library

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        known = None if self.library.is_own else self.library
        return {
            "class": java_name(self.name),
            "library": known and known.name,
            "version": (known and known.version) or None,
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
        name = java_name(self.owner)
        member = name.rpartition(".")[2] if self.member == CONSTRUCTOR else self.member
        return f"{name}#{member_text(member, self.descriptor)}" if self.member else name

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
    references: int
    """How many different classes and members of Kafka are referred to."""

    @property
    def new_problems(self) -> tuple[Problem, ...]:
        """What the release that the application leaves has, and the one that it goes to lacks."""
        return tuple(each for each in self.problems if each.is_new)


def check_references(classes: Iterable[ApplicationClass], old: Code, new: Code, find: Find) -> LinkageReport:
    """Resolve each reference to a class or member of Kafka's.

    Args:
        classes: Those that name one of Kafka's.
        old: The classes of the release that the application leaves.
        new: Those of the release that it goes to.
        find: Returns the other classes of the application.
    """
    problems: defaultdict[Problem, list[Referrer]] = defaultdict(list)
    internal: defaultdict[str, list[Referrer]] = defaultdict(list)
    unknown: defaultdict[str, list[Referrer]] = defaultdict(list)
    references: set[Reference] = set()
    for each in classes:
        referrer = Referrer(each.file.name, each.library)
        for reference in each.file.references:
            owner = reference.owner
            if not owner.startswith(_KAFKA) or find(owner):
                continue
            references.add(reference)
            if owner not in new and owner not in classes_of_any_release():
                unknown[owner].append(referrer)
            elif owner in new and not is_public(owner):
                internal[owner].append(referrer)
        before = {evolve(found, is_new=True) for found in _problems(each.file, old, find)}
        for found in _problems(each.file, new, find):
            problems[evolve(found, is_new=found not in before)].append(referrer)
    ordered = (evolve(found, referred_by=_sorted(those)) for found, those in problems.items())
    return LinkageReport(
        tuple(sorted(ordered, key=_rank)),
        {name: _sorted(those) for name, those in sorted(internal.items())},
        {name: _sorted(those) for name, those in sorted(unknown.items())},
        len(references),
    )


def _rank(problem: Problem) -> tuple[bool, bool, str, str, str]:
    own = any(each.library.is_own for each in problem.referred_by)
    return not problem.is_new, not own, problem.owner, problem.member, problem.descriptor


def _sorted(referrers: Iterable[Referrer]) -> tuple[Referrer, ...]:
    return tuple(sorted(set(referrers), key=lambda each: (not each.library.is_own, str(each.library), each.name)))


def _problems(found: ClassFile, code: Code, find: Find) -> Iterator[Problem]:
    """Yield what of Kafka's a class cannot be linked with, each once."""
    seen = set[Problem]()
    for problem in (*_reference_problems(found, code, find), *_inheritance_problems(found, code, find)):
        if problem not in seen:
            seen.add(problem)
            yield problem


def _reference_problems(found: ClassFile, code: Code, find: Find) -> Iterator[Problem]:
    for reference in found.references:
        if not reference.owner.startswith(_KAFKA) or find(reference.owner):
            continue
        known = code.get(reference.owner)
        if known is None:
            if reference.owner in classes_of_any_release():
                yield Problem(reference.owner, "", "", "NoClassDefFoundError", "there is no such class")
            continue
        if not known.flags & PUBLIC and _package(found.name) != _package(known.name):
            yield Problem(reference.owner, "", "", "IllegalAccessError", "the class is not public")
        elif reference.name:
            yield from _member_problems(found, reference, code)


def _member_problems(found: ClassFile, reference: Reference, code: Code) -> Iterator[Problem]:
    owner, name, descriptor = reference.owner, reference.name, reference.descriptor
    is_interface = bool(code[owner].flags & INTERFACE)
    resolved = resolve_member(code, owner, (name, descriptor))

    def problem(error: str, reason: str) -> Problem:
        return Problem(owner, name, descriptor, error, reason)

    if reference.kind is Kind.LAMBDA:
        others = set(_abstract(code, [owner])) - {(name, descriptor)}
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
    elif not resolved.flags & (PUBLIC | PROTECTED) and _package(found.name) != _package(resolved.owner):
        yield problem("IllegalAccessError", "it is not public")


def _inheritance_problems(found: ClassFile, code: Code, find: Find) -> Iterator[Problem]:
    parent = code.get(found.superclass) if found.superclass.startswith(_KAFKA) else None
    if parent and parent.flags & (FINAL | INTERFACE):
        reason = "it is an interface" if parent.flags & INTERFACE else "it is final, and cannot be extended"
        yield Problem(parent.name, "", "", "IncompatibleClassChangeError", reason)
        return
    for name in found.interfaces:
        if name.startswith(_KAFKA) and name in code and not code[name].flags & INTERFACE:
            yield Problem(name, "", "", "IncompatibleClassChangeError", "it is no interface")
            return
    hierarchy = _Hierarchy.of(found, code, find)
    for member in found.members:
        if member.flags & (PRIVATE | STATIC) or member.name == CONSTRUCTOR or member.descriptor[0] != "(":
            continue
        for name in hierarchy.kafka:
            flags = code[name].members.get((member.name, member.descriptor), 0)
            if flags & FINAL and not flags & STATIC:
                error, reason = "IncompatibleClassChangeError", "it is final, and cannot be overridden"
                yield Problem(name, member.name, member.descriptor, error, reason)
    if not found.flags & (ABSTRACT | INTERFACE) and hierarchy.is_complete:
        for (name, descriptor), owner in _abstract(code, hierarchy.kafka).items():
            if (name, descriptor) not in hierarchy.implemented:
                yield Problem(owner, name, descriptor, "AbstractMethodError", "the class does not implement it")


@frozen
class _Hierarchy:
    """The supertypes of a class of the application."""

    kafka: tuple[str, ...]
    """Those of Kafka."""
    implemented: frozenset[MemberId] = field(repr=False)
    """The methods that have code in some supertype or in the class itself."""
    is_complete: bool
    """Whether all supertypes were seen."""

    @classmethod
    def of(cls, found: ClassFile, code: Code, find: Find) -> _Hierarchy:
        kafka, implemented, is_complete = dict[str, None](), set[MemberId](), True
        waiting, seen = [found.name], set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen or not name:
                continue
            seen.add(name)
            own = found if name == found.name else find(name)
            if own:
                implemented |= {
                    (each.name, each.descriptor) for each in own.members if not each.flags & (ABSTRACT | STATIC)
                }
                waiting += [own.superclass, *own.interfaces]
            elif known := code.get(name):
                if known.artifact != JAVA:
                    kafka[name] = None
                implemented |= {member for member, flags in known.members.items() if not flags & (ABSTRACT | STATIC)}
                waiting += known.supertypes
            else:
                is_complete = False
        return cls(tuple(kafka), frozenset(implemented), is_complete)


def _abstract(code: Code, names: Iterable[str]) -> dict[MemberId, str]:
    """Return the abstract methods of types and their supertypes, with the type that declares each."""
    found: dict[MemberId, str] = {}
    implemented: set[MemberId] = {*code[_OBJECT].members} if _OBJECT in code else set()
    for start in names:
        for name in supertypes(code, start):
            for member, flags in code[name].members.items() if name in code else ():
                if flags & ABSTRACT:
                    found.setdefault(member, name)
                elif not flags & STATIC:
                    implemented.add(member)
    return {member: owner for member, owner in found.items() if member not in implemented}


def _package(name: str) -> str:
    return name.rpartition("/")[0]
