"""The references of an application to Kafka that a release lacks, as the JVM finds them when the code runs.

The Java Virtual Machine Specification, §5.4. Whether a line ever runs is not known here: a library may ask first which
release it has.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.application.api_diff import (
    CONSTRUCTOR,
    ApiElement,
    Resolution,
    java_name,
    resolve_member,
    supertypes,
)
from streams_assignor.upgrade.application.archive import ApplicationClass
from streams_assignor.upgrade.application.bytecode import MemberRef, Place, read_code
from streams_assignor.upgrade.application.class_file import (
    ABSTRACT,
    FINAL,
    INTERFACE,
    PRIVATE,
    PROTECTED,
    PUBLIC,
    STATIC,
    THROWS,
    ClassFile,
    Reference,
    ReferenceKind,
)
from streams_assignor.upgrade.application.code import (
    JAVA,
    Code,
    KafkaClass,
    MemberId,
    classes_of_any_release,
    is_public,
)
from streams_assignor.upgrade.application.libraries import Library

_KAFKA: Final = "org/apache/kafka/"
_APPLICATION: Final = "application"
"""The place of the application's classes, where those of Kafka have an artifact."""
_BUILD_TIME: Final = frozenset({"org/springframework/aot/hint/RuntimeHintsRegistrar"})
"""A class that implements one of these runs while a native image is made."""
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
    places: tuple[Place, ...] = field(default=(), eq=False)
    """The lines, of a class of the application itself with debug information."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        library = None if self.library.is_own else self.library
        return {
            "class": java_name(self.name),
            "library": library and library.name,
            "version": (library and library.version) or None,
            **({"build_time": True} if self.is_build_time else {}),
            **({"places": [place.as_json() for place in self.places]} if self.places else {}),
        }


@frozen
class Problem(ApiElement):
    """A class or member of Kafka's, and what happens where it is used."""

    error: str
    """The class of the error that Java raises."""
    reason: str
    is_new: bool = True
    """Whether the release that the application leaves has it: if not, the code did not run before either."""
    referred_by: tuple[Referrer, ...] = field(default=(), eq=False)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            **super().as_json(),
            "error": self.error,
            "reason": self.reason,
            "new": self.is_new,
            "referred_by": [referrer.as_json() for referrer in self.referred_by],
        }


@frozen
class LinkageReport:
    """The result of the references of an application."""

    problems: tuple[Problem, ...]
    """Those of the application's own classes first, and what is new before what was missing already."""
    internal: Mapping[str, tuple[Referrer, ...]] = field(hash=False)
    """The internal classes that are still there."""
    unknown: Mapping[str, tuple[Referrer, ...]] = field(hash=False)
    """The classes with a package of Kafka that are in no table: of other artifacts."""
    signatures: Mapping[str, tuple[Referrer, ...]] = field(hash=False)
    """The classes that the release lacks and that only signatures name: nothing fails until a framework looks at the
    members of the class by reflection."""
    overrides_nothing: Mapping[ApiElement, tuple[Referrer, ...]] = field(hash=False)
    """The methods of Kafka's that classes override and that the release lacks: nothing calls these any more."""
    references: int
    """How many different classes and members of Kafka are referred to."""

    @property
    def new_problems(self) -> tuple[Problem, ...]:
        """The losses: members of the old release that the target lacks."""
        return tuple(
            problem
            for problem in self.problems
            if problem.is_new and not all(referrer.is_build_time for referrer in problem.referred_by)
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
    overrides_nothing: defaultdict[ApiElement, list[Referrer]] = defaultdict(list)
    references: set[tuple[str, str, str]] = set()
    for application_class in classes:
        is_build_time = not _BUILD_TIME.isdisjoint(supertypes(after, application_class.file.name))
        referrer = Referrer(application_class.file.name, application_class.library, is_build_time)
        for reference in application_class.file.references:
            owner = reference.owner
            if not owner.startswith(_KAFKA) or find(owner):
                continue
            references.add((owner, reference.name, reference.descriptor))
            if owner not in new and owner not in classes_of_any_release():
                unknown[owner].append(referrer)
            elif owner in new and not is_public(owner):
                internal[owner].append(referrer)
        known_problems = {evolve(problem, is_new=True) for problem in _problems(application_class.file, before, before)}
        lost = tuple(_problems(application_class.file, after, before))
        for problem in lost:
            problems[evolve(problem, is_new=problem not in known_problems)].append(referrer)
        for element in _overrides_nothing(application_class.file, before, after):
            overrides_nothing[element].append(referrer)
        for name in _named_in_signatures(application_class.file) - {problem.owner for problem in lost}:
            if name not in after and name in classes_of_any_release():
                signatures[name].append(referrer)
    ordered = (evolve(problem, referred_by=_sorted(referrers)) for problem, referrers in problems.items())
    return LinkageReport(
        tuple(sorted(ordered, key=_rank)),
        _by_name(internal),
        _by_name(unknown),
        _by_name(signatures),
        {element: _sorted(overrides_nothing[element]) for element in sorted(overrides_nothing)},
        len(references),
    )


def with_places(report: LinkageReport, contents: Mapping[str, bytes]) -> LinkageReport:
    """Return a report with the lines of what cannot be linked.

    Args:
        report: Of the references.
        contents: The class files of the application itself, by the names of their classes.
    """
    files = dict[str, list[tuple[MemberRef, Place]]]()
    for problem in report.problems:
        for referrer in problem.referred_by:
            if referrer.name in contents and referrer.name not in files:
                files[referrer.name] = [*read_code(contents[referrer.name]).references()]

    def placed(problem: Problem, referrer: Referrer) -> Referrer:
        places = (place for ref, place in files.get(referrer.name, ()) if _is_about(problem, ref, contents))
        return evolve(referrer, places=tuple(place for place in dict.fromkeys(places) if place.line))

    problems = (
        evolve(problem, referred_by=tuple(placed(problem, referrer) for referrer in problem.referred_by))
        for problem in report.problems
    )
    return evolve(report, problems=tuple(problems))


def _is_about(problem: Problem, ref: MemberRef, contents: Container[str]) -> bool:
    """Whether an instruction refers to what is missing: a class, or a member that a subclass may have inherited."""
    if not problem.member or problem.error == "AbstractMethodError":
        return ref.owner == problem.owner
    is_member = (ref.name, ref.descriptor) == (problem.member, problem.descriptor)
    return is_member and (ref.owner == problem.owner or ref.owner in contents)


def check_artifacts(classes: Iterable[ApplicationClass], code: Code) -> tuple[Problem, ...]:
    """Resolve the references of Kafka's own classes to those of its other artifacts.

    Args:
        classes: Those of Kafka's artifacts, each with its artifact as library.
        code: The classes of all of them.
    """
    problems: defaultdict[Problem, list[Referrer]] = defaultdict(list)
    known_classes = _Classes(code, lambda _: None)
    for application_class in classes:
        for problem in _problems(application_class.file, known_classes, known_classes):
            if problem.owner not in code or code[problem.owner].artifact != application_class.library.name:
                problems[problem].append(Referrer(application_class.file.name, application_class.library))
    return tuple(
        sorted((evolve(problem, referred_by=_sorted(referrers)) for problem, referrers in problems.items()), key=_rank)
    )


def _named_in_signatures(class_file: ClassFile) -> set[str]:
    descriptors = {member.descriptor for member in class_file.members}
    return {name for descriptor in descriptors for name in _NAMED.findall(descriptor)}


def _by_name(referrers_by_name: Mapping[str, list[Referrer]]) -> dict[str, tuple[Referrer, ...]]:
    return {name: _sorted(referrers) for name, referrers in sorted(referrers_by_name.items())}


def _rank(problem: Problem) -> tuple[bool, bool, str, str, str]:
    is_own = any(referrer.library.is_own for referrer in problem.referred_by)
    return not problem.is_new, not is_own, problem.owner, problem.member, problem.descriptor


def _sorted(referrers: Iterable[Referrer]) -> tuple[Referrer, ...]:
    return tuple(
        sorted(set(referrers), key=lambda referrer: (not referrer.library.is_own, str(referrer.library), referrer.name))
    )


class _Classes(Mapping[str, KafkaClass]):
    """The classes of the application, and behind them those of a release."""

    def __init__(self, code: Code, find: Find) -> None:
        self._code, self._find = code, find
        self._found: dict[str, KafkaClass | None] = {}

    def __getitem__(self, name: str) -> KafkaClass:
        if name not in self._found:
            class_file = self._find(name)
            self._found[name] = self._code.get(name) if class_file is None else _as_known(class_file)
        kafka_class = self._found[name]
        if kafka_class is None:
            raise KeyError(name)
        return kafka_class

    def __iter__(self) -> Iterator[str]:  # pragma: no cover  # a Mapping must have it; nothing goes through all classes
        return iter(self._code)

    def __len__(self) -> int:  # pragma: no cover  # as above
        return len(self._code)


def _as_known(class_file: ClassFile) -> KafkaClass:
    superclass = "" if class_file.flags & INTERFACE else class_file.superclass
    members = {(member.name, member.descriptor): member.flags for member in class_file.members}
    return KafkaClass(class_file.name, _APPLICATION, class_file.flags, superclass, class_file.interfaces, members)


def _is_of_kafka(kafka_class: KafkaClass) -> bool:
    return kafka_class.artifact not in {JAVA, _APPLICATION}


def _problems(class_file: ClassFile, classes: _Classes, old: _Classes) -> Iterator[Problem]:
    """Yield what of Kafka's a class cannot be linked with, each once."""
    seen = set[Problem]()
    for problem in (*_reference_problems(class_file, classes, old), *_inheritance_problems(class_file, classes)):
        if problem not in seen:
            seen.add(problem)
            yield problem


def _reference_problems(class_file: ClassFile, classes: _Classes, old: _Classes) -> Iterator[Problem]:
    not_made = set[str]()
    members = list[Reference]()
    for reference in sorted(class_file.references):
        owner = reference.owner
        kafka_class = classes.get(owner)
        if kafka_class is None:
            if owner.startswith(_KAFKA) and owner in classes_of_any_release():
                yield Problem(owner, "", "", "NoClassDefFoundError", "there is no such class")
        elif not _is_of_kafka(kafka_class):
            if reference.name:
                yield from _inherited_problems(class_file, reference, classes, old)
        elif not kafka_class.flags & PUBLIC and _package(class_file.name) != _package(kafka_class.name):
            yield Problem(owner, "", "", "IllegalAccessError", "the class is not public")
        elif reference.kind is ReferenceKind.INSTANCE and kafka_class.flags & (ABSTRACT | INTERFACE):
            not_made.add(owner)
            yield Problem(owner, "", "", "InstantiationError", "the class is abstract")
        elif reference.name:
            members.append(reference)
    for reference in members:
        if reference.name != CONSTRUCTOR or reference.owner not in not_made:
            yield from _member_problems(class_file, reference, classes, reference.owner)


def _inherited_problems(
    class_file: ClassFile, reference: Reference, classes: _Classes, old: _Classes
) -> Iterator[Problem]:
    """Yield what is wrong with a member that a class of the application has from one of Kafka's."""
    member = reference.name, reference.descriptor
    before = resolve_member(old, reference.owner, member)
    if before.owner and _is_of_kafka(old[before.owner]):
        yield from _member_problems(class_file, reference, classes, before.owner)


def _member_problems(class_file: ClassFile, reference: Reference, classes: _Classes, owner: str) -> Iterator[Problem]:
    """Yield what is wrong with a member; ``owner`` is the class of Kafka's that it is shown with."""
    name, descriptor = reference.name, reference.descriptor
    is_interface = bool(classes[reference.owner].flags & INTERFACE)
    resolved = resolve_member(classes, reference.owner, (name, descriptor))

    def problem(error: str, reason: str) -> Problem:
        return Problem(owner, name, descriptor, error, reason)

    if reference.kind is ReferenceKind.LAMBDA:
        others = _without_code(classes, reference.owner, [reference.owner]).keys() - {(name, descriptor)}
        if not is_interface or not resolved.owner or others:
            yield problem("AbstractMethodError", "the interface of the lambda has another method to implement")
    elif reference.kind is not ReferenceKind.FIELD and is_interface != (
        reference.kind is ReferenceKind.INTERFACE_METHOD
    ):
        became = "an interface" if is_interface else "a class"
        yield problem("IncompatibleClassChangeError", f"its class became {became}")
    elif not resolved.owner:
        if resolved.is_complete:
            error = "NoSuchFieldError" if reference.kind is ReferenceKind.FIELD else "NoSuchMethodError"
            yield problem(error, "there is no such member")
    elif reference.is_static is not None and reference.is_static != bool(resolved.flags & STATIC):
        became = "static" if resolved.flags & STATIC else "not static any more"
        yield problem("IncompatibleClassChangeError", f"it is {became}")
    elif not _is_accessible(class_file, resolved, classes):
        yield problem("IllegalAccessError", "it is not public")


def _is_accessible(class_file: ClassFile, resolved: Resolution, classes: _Classes) -> bool:
    is_near = _package(class_file.name) == _package(resolved.owner) and not resolved.flags & PRIVATE
    if resolved.flags & PUBLIC or is_near:
        return True
    return bool(resolved.flags & PROTECTED) and resolved.owner in supertypes(classes, class_file.name)


def _inheritance_problems(class_file: ClassFile, classes: _Classes) -> Iterator[Problem]:
    parent = classes.get(class_file.superclass)
    if parent and _is_of_kafka(parent) and parent.flags & (FINAL | INTERFACE):
        reason = "it is an interface" if parent.flags & INTERFACE else "it is final, and cannot be extended"
        yield Problem(parent.name, "", "", "IncompatibleClassChangeError", reason)
        return
    for name in class_file.interfaces:
        kafka_class = classes.get(name)
        if kafka_class and _is_of_kafka(kafka_class) and not kafka_class.flags & INTERFACE:
            yield Problem(name, "", "", "IncompatibleClassChangeError", "it is no interface")
            return
    parents = [classes.get(name) for name in supertypes(classes, class_file.name)]
    kafka = [ancestor for ancestor in parents if ancestor and _is_of_kafka(ancestor)]
    for member in class_file.members:
        if member.flags & (PRIVATE | STATIC) or member.name == CONSTRUCTOR or member.descriptor[0] != "(":
            continue
        for kafka_class in kafka:
            flags = kafka_class.members.get((member.name, member.descriptor), 0)
            is_seen = flags & (PUBLIC | PROTECTED) or _package(class_file.name) == _package(kafka_class.name)
            if flags & FINAL and not flags & (STATIC | PRIVATE) and is_seen:
                error, reason = "IncompatibleClassChangeError", "it is final, and cannot be overridden"
                yield Problem(kafka_class.name, member.name, member.descriptor, error, reason)
    if not class_file.flags & (ABSTRACT | INTERFACE) and None not in parents:
        for method, owner in _without_code(
            classes, class_file.name, [kafka_class.name for kafka_class in kafka]
        ).items():
            yield Problem(owner, *method, "AbstractMethodError", "the class does not implement it")
        for kafka_class in kafka:
            for method, flags in kafka_class.members.items():
                if flags & THROWS and (_selected(classes, class_file.name, method) or 0) & THROWS:
                    reason = "its default only throws, and Kafka calls it"
                    yield Problem(kafka_class.name, *method, "UnsupportedOperationException", reason)


def _overrides_nothing(class_file: ClassFile, before: _Classes, after: _Classes) -> Iterator[ApiElement]:
    """Yield the methods of Kafka's that a class overrides in the release that it leaves, and in the other one not."""
    old = [name for name in supertypes(before, class_file.name) if name in before and _is_of_kafka(before[name])]
    new = [after.get(name) for name in supertypes(after, class_file.name)][1:]
    if None in new or any(name not in after for name in old):
        return
    overridden = {member for kafka_class in new if kafka_class for member in kafka_class.members}
    own = {
        (member.name, member.descriptor)
        for member in class_file.members
        if not member.flags & (PRIVATE | STATIC) and member.descriptor[0] == "(" and member.name != CONSTRUCTOR
    }
    for name in old:
        for method in sorted((own & before[name].members.keys()) - overridden):
            if not before[name].members[method] & (PRIVATE | STATIC):
                yield ApiElement(name, *method)


def _selected(classes: _Classes, name: str, member: MemberId) -> int | None:
    """Return the flags of the method with code that Java selects (§5.4.6), a class before an interface."""
    interfaces = dict[str, int]()
    for supertype in supertypes(classes, name):
        kafka_class = classes.get(supertype)
        flags = kafka_class.members.get(member) if kafka_class else None
        if kafka_class is None or flags is None or flags & (STATIC | PRIVATE):
            continue
        if not kafka_class.flags & INTERFACE:
            return None if flags & ABSTRACT else flags
        interfaces[supertype] = flags
    overridden = {parent for other in interfaces for parent in supertypes(classes, other) if parent != other}
    selected = (flags for name, flags in interfaces.items() if not flags & ABSTRACT and name not in overridden)
    return next(selected, None)


def _without_code(classes: _Classes, name: str, types: Iterable[str]) -> dict[MemberId, str]:
    """Return the methods that types ask for and a class has no code for, with the type that declares each."""
    owners: dict[MemberId, str] = {}
    for start in types:
        for supertype in supertypes(classes, start):
            for member, flags in classes[supertype].members.items() if supertype in classes else ():
                if flags & ABSTRACT:
                    owners.setdefault(member, supertype)
    return {member: owner for member, owner in owners.items() if _selected(classes, name, member) is None}


def _package(name: str) -> str:
    return name.rpartition("/")[0]
