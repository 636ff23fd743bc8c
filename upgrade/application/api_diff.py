"""Resolution of members through supertypes, and what differs between the public classes of two releases."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from attrs import frozen

from streams_assignor.upgrade.application.class_file import (
    ABSTRACT,
    DEPRECATED,
    FINAL,
    INTERFACE,
    PROTECTED,
    PUBLIC,
    STATIC,
    SYNTHETIC,
)
from streams_assignor.upgrade.application.code import JAVA, Code, KafkaClass, MemberId, is_public

CONSTRUCTOR: Final = "<init>"
_OBJECT: Final = "java/lang/Object"
_PRIMITIVES: Final = {
    "B": "byte",
    "C": "char",
    "D": "double",
    "F": "float",
    "I": "int",
    "J": "long",
    "S": "short",
    "V": "void",
    "Z": "boolean",
}
_NESTED: Final = re.compile(r"\$(?=[^$])")
"""The prefix of the name of a nested class; a last ``$`` is that of an object of Scala."""
_ANONYMOUS: Final = re.compile(r"\$anon|\$\d")
_TYPE: Final = re.compile(r"(?<!\[)(\[*+)(?:L([^;]+)(?:;|\Z)|([BCDFIJSVZ]))")


@frozen
class Resolution:
    """A member as the JVM finds it: in the class, or in the nearest supertype that declares it."""

    owner: str = ""
    """The class that declares it; empty if it was not found."""
    flags: int = 0
    is_complete: bool = True
    """Whether all supertypes are in the tables, so that a member that was not found does not exist."""


def resolve_member(code: Code, owner: str, member: MemberId) -> Resolution:
    """Find a member of a class of the tables. The Java Virtual Machine Specification, §5.4.3."""
    if member[0] == CONSTRUCTOR:
        flags = code[owner].members.get(member)
        return Resolution() if flags is None else Resolution(owner, flags)
    is_complete = True
    for name in supertypes(code, owner):
        kafka_class = code.get(name)
        if kafka_class is None:
            is_complete = False
        elif member in kafka_class.members:
            return Resolution(name, kafka_class.members[member])
    return Resolution(is_complete=is_complete)


def supertypes(code: Code, name: str) -> Iterator[str]:
    """Yield a class, its superclasses, then its interfaces, each once; an interface has the methods of Object too."""
    chain, interfaces, current = dict[str, None](), deque[str](), name
    while current and current not in chain:
        chain[current] = None
        kafka_class = code.get(current)
        interfaces += kafka_class.interfaces if kafka_class else ()
        current = kafka_class.superclass if kafka_class else ""
    yield from chain
    seen = {*chain}
    while interfaces:
        interface = interfaces.popleft()
        if interface not in seen:
            seen.add(interface)
            yield interface
            interfaces += code[interface].interfaces if interface in code else ()
    if _OBJECT not in seen:
        yield _OBJECT


def java_name(name: str) -> str:
    """Write the name of a class as in Java's sources.

    >>> java_name("org/apache/kafka/streams/KafkaStreams$State")
    'org.apache.kafka.streams.KafkaStreams.State'
    >>> java_name("org/apache/kafka/streams/scala/Serdes$")
    'org.apache.kafka.streams.scala.Serdes$'
    """
    return _NESTED.sub(".", name.replace("/", "."))


def member_text(name: str, descriptor: str) -> str:
    """Write a member as in Java's documentation, without packages.

    >>> member_text("close", "(JLjava/util/concurrent/TimeUnit;)Z"), member_text("x", "[I")
    ('close(long, TimeUnit)', 'x')
    """
    if not descriptor.startswith("("):
        return name
    arguments = descriptor[1 : descriptor.index(")")]
    types = (
        _PRIMITIVES.get(primitive, named.rpartition("/")[2].replace("$", ".")) + "[]" * len(brackets)
        for brackets, named, primitive in _TYPE.findall(arguments)
    )
    return f"{name}({', '.join(types)})"


def full_text(owner: str, name: str = "", descriptor: str = "") -> str:
    """Write a class or a member of it as in Java's documentation.

    >>> full_text("org/apache/kafka/streams/Topology", "<init>", "()V"), full_text("A$B")
    ('org.apache.kafka.streams.Topology#Topology()', 'A.B')
    """
    class_name = java_name(owner)
    member = class_name.rpartition(".")[2] if name == CONSTRUCTOR else name
    return f"{class_name}#{member_text(member, descriptor)}" if name else class_name


@frozen(order=True)
class ApiElement:
    """A class, or a member of it."""

    owner: str
    member: str
    """Empty for the class itself."""
    descriptor: str

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
        }


@frozen(order=True)
class ApiChange(ApiElement):
    """A public class or member that differs between two releases."""

    change: str
    """``removed``, ``added``, ``deprecated``, or what it became: ``abstract``, ``final``, ``static``, ..."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**super().as_json(), "change": self.change}


_CLASS_CHANGES: Final = ((FINAL, "final"), (ABSTRACT, "abstract"), (DEPRECATED, "deprecated"))
_MEMBER_CHANGES: Final = ((FINAL, "final"), (ABSTRACT, "abstract"), (DEPRECATED, "deprecated"), (STATIC, "static"))


def compare_api(old: Code, new: Code) -> tuple[ApiChange, ...]:
    """List what differs between the public classes and members of two releases.

    A member that moved to a supertype is still there. Members of a class that is new or gone are not listed again.
    """
    return tuple(sorted(_api_changes(old, new)))


def _api_changes(old: Code, new: Code) -> Iterator[ApiChange]:
    for name in old.keys() | new.keys():
        before, after = _visible(old, name), _visible(new, name)
        if before and after:
            yield from _class_changes(old, new, before, after)
        elif before or after:
            yield ApiChange(name, "", "", "removed" if before else "added")


def _visible(code: Code, name: str) -> KafkaClass | None:
    kafka_class = code.get(name)
    is_api = is_public(name) and not _ANONYMOUS.search(name)
    return (
        kafka_class if kafka_class and kafka_class.artifact != JAVA and kafka_class.flags & PUBLIC and is_api else None
    )


def _class_changes(old: Code, new: Code, before: KafkaClass, after: KafkaClass) -> Iterator[ApiChange]:
    name = before.name
    for flag, word in _CLASS_CHANGES:
        if after.flags & flag and not before.flags & flag:
            yield ApiChange(name, "", "", word)
    if (before.flags ^ after.flags) & INTERFACE:
        yield ApiChange(name, "", "", "interface" if after.flags & INTERFACE else "no interface")
    for member in sorted(before.members.keys() | after.members.keys()):
        flags, new_flags = before.members.get(member), after.members.get(member)
        if flags is not None and _is_api(flags):
            resolved = resolve_member(new, name, member)
            if not resolved.flags & (PUBLIC | PROTECTED):
                yield ApiChange(name, *member, "removed")
                continue
            for flag, word in _MEMBER_CHANGES:
                if resolved.flags & flag and not flags & flag:
                    yield ApiChange(name, *member, word)
            if flags & STATIC and not resolved.flags & STATIC:
                yield ApiChange(name, *member, "not static")
        elif new_flags is not None and _is_api(new_flags) and not resolve_member(old, name, member).owner:
            yield ApiChange(name, *member, "added, abstract" if new_flags & ABSTRACT else "added")


def _is_api(flags: int) -> bool:
    """Whether a member can be used from outside; bridges that a compiler made are no API."""
    return bool(flags & (PUBLIC | PROTECTED)) and not flags & SYNTHETIC
