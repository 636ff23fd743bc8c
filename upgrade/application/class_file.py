"""A reader of class files: what a class declares, and what it refers to. The Java Virtual Machine Specification, §4.

Only what an instruction, a supertype or a bootstrap method uses is a reference: a name in a descriptor or in the list
of inner classes is never linked.
"""

from __future__ import annotations

import enum
import sys
from collections import Counter, deque
from collections.abc import Iterator
from operator import itemgetter
from struct import Struct, error
from typing import Final

from attrs import field, frozen

from streams_assignor.upgrade.errors import UpgradeError, quote_input

PUBLIC, PRIVATE, PROTECTED, STATIC, FINAL = 0x1, 0x2, 0x4, 0x8, 0x10
INTERFACE, ABSTRACT, SYNTHETIC = 0x200, 0x400, 0x1000
DEPRECATED: Final = 0x20000
"""No flag of a class file: it has the attribute ``Deprecated``."""
THROWS: Final = 0x40000
"""No flag of a class file: the only way out of the method is an exception; with references only."""
MAGIC: Final = b"\xca\xfe\xba\xbe"


class InvalidClass(UpgradeError):
    """Bytes that are no class file."""


class ReferenceKind(enum.Enum):
    """The target of a reference."""

    CLASS = "class"
    INSTANCE = "instance"
    """A class of which the code makes an object."""
    FIELD = "field"
    METHOD = "method"
    INTERFACE_METHOD = "interface method"
    LAMBDA = "lambda"
    """An interface that a lambda or a method reference implements; the name and descriptor are those of its method."""


@frozen(order=True)
class Reference:
    """A name that the JVM resolves when an instruction with it runs for the first time."""

    owner: str
    """The class in the form of the JVM: ``org/apache/kafka/streams/KafkaStreams``."""
    name: str = ""
    """Empty for a class."""
    descriptor: str = ""
    kind: ReferenceKind = field(default=ReferenceKind.CLASS, order=False)
    is_static: bool | None = field(default=None, order=False)
    """Whether the instruction is one for static members; None for a class or a lambda."""


@frozen
class ClassMember:
    """A field or a method that a class declares."""

    name: str
    descriptor: str
    """Begins with a bracket for a method."""
    flags: int


@frozen
class ClassFile:
    """A class."""

    name: str
    flags: int
    superclass: str
    """Empty for ``java/lang/Object`` and for a module."""
    interfaces: tuple[str, ...]
    members: tuple[ClassMember, ...]
    java: int
    """The oldest Java that runs it."""
    references: frozenset[Reference] = frozenset()
    """Without those whose linkage errors the code itself catches: a probe for a release, a switch over an enum."""


@frozen
class ClassHeader:
    """The place of a class among others, read without its members."""

    name: str
    superclass: str
    interfaces: tuple[str, ...]
    java: int
    named: tuple[str, ...]
    """The classes that its constants name; arrays in the form of the JVM."""


_U2, _U4 = Struct(">H").unpack_from, Struct(">I").unpack_from
_I4: Final = Struct(">i").unpack_from
_PAIR: Final = Struct(">HH").unpack_from
_FOUR: Final = Struct(">HHHH").unpack_from
_SIZES: Final = {
    3: 5,
    4: 5,
    5: 9,
    6: 9,
    7: 3,
    8: 3,
    9: 5,
    10: 5,
    11: 5,
    12: 5,
    15: 4,
    16: 3,
    17: 5,
    18: 5,
    19: 3,
    20: 3,
}
"""Bytes of a constant by its tag, with the tag."""
_UTF8, _LONG, _DOUBLE, _CLASS, _METHOD_HANDLE, _DYNAMIC = 1, 5, 6, 7, 15, 18
_FIELD, _METHOD, _INTERFACE_METHOD = 9, 10, 11
_MAX_CODE: Final = 0xFFFF
"""The bytes of a method (§4.7.3)."""
_POOL: Final = 10
"""Where the constants begin."""
_MEMBER_KINDS: Final = {
    _FIELD: ReferenceKind.FIELD,
    _METHOD: ReferenceKind.METHOD,
    _INTERFACE_METHOD: ReferenceKind.INTERFACE_METHOD,
}
_STATIC_HANDLES: Final = (2, 4, 6)
_JAVA_1: Final = 44
"""The class file version before that of Java 1.1."""
_METAFACTORY: Final = "java/lang/invoke/LambdaMetafactory"
_ALL_KINDS: Final = tuple(ReferenceKind)
_GUARDS: Final = {
    "java/lang/NoSuchFieldError": (ReferenceKind.FIELD,),
    "java/lang/NoSuchMethodError": (ReferenceKind.METHOD, ReferenceKind.INTERFACE_METHOD),
    "java/lang/NoClassDefFoundError": _ALL_KINDS,
    "java/lang/IncompatibleClassChangeError": _ALL_KINDS,
    "java/lang/LinkageError": _ALL_KINDS,
}
"""Code that catches one of these expects that what it refers to may be missing."""


def _lengths() -> bytes:
    """Return the bytes of each instruction; 0: it decides itself or does not exist."""
    lengths = bytearray([1] * 0xCA + [0] * 0x36)
    twos = (0x10, 0x12, *range(0x15, 0x1A), *range(0x36, 0x3B), 0xA9, 0xBC)
    threes = (0x11, 0x13, 0x14, 0x84, *range(0x99, 0xA9), *range(0xB2, 0xB9), 0xBB, 0xBD, 0xC0, 0xC1, 0xC6, 0xC7)
    others = {0xB9: 5, 0xBA: 5, 0xC5: 4, 0xC8: 5, 0xC9: 5, 0xAA: 0, 0xAB: 0, 0xC4: 0}
    for length, opcodes in ((2, twos), (3, threes)):
        for opcode in opcodes:
            lengths[opcode] = length
    for opcode, length in others.items():
        lengths[opcode] = length
    return bytes(lengths)


_LENGTHS: Final = _lengths()
_LDC, _TABLESWITCH, _LOOKUPSWITCH, _WIDE, _IINC = 0x12, 0xAA, 0xAB, 0xC4, 0x84
WITH_CONSTANT: Final = frozenset((0x12, 0x13, 0x14, *range(0xB2, 0xBC), 0xBD, 0xC0, 0xC1, 0xC5))
"""The instructions that name a constant."""
_STATIC_OPCODES: Final = (0xB2, 0xB3, 0xB8)
_NEW: Final = 0xBB
_ATHROW: Final = 0xBF
_EXITS: Final = frozenset((*range(0xAC, 0xB2), _ATHROW))
"""All ways to return, and the one to throw."""
DAMAGE: Final = (IndexError, KeyError, OverflowError, TypeError, ValueError, error)
"""The exceptions of damaged bytes; OverflowError where a place has 32 bits, as in a browser."""


def read_class(content: bytes, *, with_references: bool = False) -> ClassFile:
    """Read a class file.

    Raises:
        InvalidClass: It is none, or a damaged one.
    """
    if content[:4] != MAGIC:
        raise InvalidClass(f"expected a class file, got {quote_input(content[:4])} at its beginning")
    try:
        return _Reader(content).read(with_references=with_references)
    except DAMAGE:
        raise InvalidClass("expected a class file, got a damaged one") from None


def read_header(content: bytes) -> ClassHeader:
    """Read what a class extends, and which classes it names; far faster than ``read_class``.

    Raises:
        InvalidClass: It is none, or a damaged one.
    """
    if content[:4] != MAGIC:
        raise InvalidClass(f"expected a class file, got {quote_input(content[:4])} at its beginning")
    try:
        pool, classes, at = constant_places(content)
        texts: dict[int, str] = {}
        names = {place: _class_text(content, pool, place, texts) for place in classes}
        _, this, parent, count = _FOUR(content, at)
        parents = [_U2(content, at + 8 + 2 * number)[0] for number in range(count)]
        superclass = names[pool[parent]] if parent else ""
        return ClassHeader(
            names[pool[this]],
            superclass,
            tuple(names[pool[place]] for place in parents),
            _java(content),
            tuple(dict.fromkeys(names.values())),
        )
    except DAMAGE:
        raise InvalidClass("expected a class file, got a damaged one") from None


def constant_places(content: bytes) -> tuple[list[int], list[int], int]:
    """Return the place of each constant (0: none), the places of those that name classes, and the end of all."""
    at, number, sizes, classes = _POOL, 1, _SIZES, list[int]()
    count = content[8] << 8 | content[9]
    pool = [0] * count
    while number < count:
        pool[number] = at
        tag = content[at]
        if tag == _UTF8:
            at += 3 + (content[at + 1] << 8 | content[at + 2])
        else:
            if tag == _CLASS:
                classes.append(at)
            elif tag in {_LONG, _DOUBLE}:  # they take two places
                number += 1
            at += sizes[tag]
        number += 1
    return pool, classes, at


def _class_text(content: bytes, pool: list[int], at: int, texts: dict[int, str]) -> str:
    """Return the text of the constant that names a class; ``texts`` has those that were decoded, by their places."""
    place = pool[content[at + 1] << 8 | content[at + 2]]
    if place not in texts:
        texts[place] = sys.intern(_decoded(content, place))  # most classes name the same ones
    return texts[place]


def _decoded(content: bytes, place: int) -> str:
    if content[place] != _UTF8:
        raise ValueError("no text")
    start = place + 3
    return str(content[start : start + (content[place + 1] << 8 | content[place + 2])], "utf-8", "replace")


def _element(name: str) -> str:
    """Return the class of the elements of an array; empty if they have a primitive type."""
    element = name.lstrip("[")
    return element[1:-1] if element.startswith("L") else ""


def instruction_length(content: bytes, at: int, start: int) -> int:
    """Return the bytes of an instruction.

    Args:
        content: Where it is.
        at: Its place.
        start: The place of the first instruction of its method.

    Raises:
        ValueError: There is no such instruction.
    """
    opcode = content[at]
    if length := _LENGTHS[opcode]:
        return length
    if opcode == _WIDE:
        return 6 if content[at + 1] == _IINC else 4
    padding = 4 - (at - start) % 4
    operands = at + padding
    if opcode == _LOOKUPSWITCH:
        (pairs,) = _U4(content, operands + 4)
        return padding + 8 + 8 * int(pairs)
    if opcode == _TABLESWITCH:
        (low,), (high,) = _I4(content, operands + 4), _I4(content, operands + 8)
        return padding + 12 + 4 * max(0, int(high) - int(low) + 1)
    raise ValueError("no instruction")


def _java(content: bytes) -> int:
    return max(1, int(_U2(content, 6)[0]) - _JAVA_1)


class _Reader:
    """The content of one class file."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._places, _, self._at = constant_places(content)
        self._texts: dict[int, str] = {}
        self._names: dict[str, str] = {}
        self._found: set[Reference] = set()
        self._bootstraps: list[tuple[int, tuple[int, ...]]] = []
        self._dynamic: set[int] = set()
        self._used: set[tuple[int, bool | None, bool]] = set()

    def read(self, *, with_references: bool) -> ClassFile:
        flags = self._u2()
        name, superclass = self._class_name(self._u2()), self._class_name(self._u2())
        interfaces = tuple(self._class_name(self._u2()) for _ in range(self._u2()))
        members = tuple(self._members(with_code=with_references))
        flags |= self._attributes(with_code=with_references)
        java = _java(self._content)
        if with_references:
            self._found.update(Reference(name) for name in (superclass, *interfaces) if name)
            self._find_dynamic()
        return ClassFile(name, flags, superclass, interfaces, members, java, frozenset(self._found))

    def _constant(self, index: int) -> tuple[int, int]:
        """Return the tag of a constant and the place of its bytes."""
        at = self._places[index]
        if not at:
            raise ValueError("no constant")
        return self._content[at], at + 1

    def _u2(self) -> int:
        (value,) = _U2(self._content, self._at)
        self._at += 2
        return int(value)

    def _u4(self) -> int:
        (value,) = _U4(self._content, self._at)
        self._at += 4
        return int(value)

    def _text(self, index: int) -> str:
        if index not in self._texts:
            self._texts[index] = _decoded(self._content, self._places[index])
        return self._texts[index]

    def _class_name(self, index: int) -> str:
        """Return the name of a class; of an array that of its elements, and nothing for those of a primitive type."""
        if not index:
            return ""
        tag, at = self._constant(index)
        if tag != _CLASS:
            raise ValueError("no class")
        name = self._text(_U2(self._content, at)[0])
        if name not in self._names:
            self._names[name] = _element(name) if name.startswith("[") else name
        return self._names[name]

    def _members(self, *, with_code: bool) -> Iterator[ClassMember]:
        for _ in ("fields", "methods"):
            for _ in range(self._u2()):
                flags, name, descriptor = self._u2(), self._text(self._u2()), self._text(self._u2())
                flags |= self._attributes(with_code=with_code)
                yield ClassMember(name, descriptor, flags)

    def _attributes(self, *, with_code: bool) -> int:
        """Pass over attributes, and read those that matter; return ``DEPRECATED`` and ``THROWS``, or 0."""
        flags = 0
        for _ in range(self._u2()):
            name = self._text(self._u2())
            end = self._u4()
            end += self._at
            if end > len(self._content):
                raise ValueError("too short")
            if name == "Deprecated":
                flags |= DEPRECATED
            elif with_code and name == "Code":
                flags |= self._read_code(end)
            elif with_code and name == "BootstrapMethods":
                self._read_bootstraps(end)
            self._at = end
        return flags

    def _read_bootstraps(self, limit: int) -> None:
        for _ in range(self._u2()):
            handle, count = self._u2(), self._u2()
            if self._at + 2 * count > limit:
                raise ValueError("longer than its attribute")
            self._bootstraps.append((handle, tuple(self._u2() for _ in range(count))))

    def _read_code(self, limit: int) -> int:
        """Find what instructions refer to; return ``THROWS`` or 0."""
        content, exits = self._content, set[int]()
        at = self._at + 8
        (size,) = _U4(content, self._at + 4)
        start, end = at, at + size
        if size > _MAX_CODE or end + 2 > limit or end + 2 + 8 * _U2(content, end)[0] > limit:
            raise ValueError("longer than its attribute")
        guards = deque(sorted(self._handlers(start, end), key=itemgetter(0)))
        guarded: Counter[ReferenceKind] = Counter()
        while at < end:
            while guards and guards[0][0] <= at:
                _, step, kinds = guards.popleft()
                guarded.update(dict.fromkeys(kinds, step))
            opcode = content[at]
            if opcode in _EXITS:
                exits.add(opcode)
            elif opcode in WITH_CONSTANT:
                index = content[at + 1] if opcode == _LDC else _U2(content, at + 1)[0]
                if not guarded[_MEMBER_KINDS.get(self._constant(index)[0], ReferenceKind.CLASS)]:
                    self._use(index, is_static=opcode in _STATIC_OPCODES, is_new=opcode == _NEW)
            at += _LENGTHS[opcode] or instruction_length(content, at, start)
        if at != end:
            raise ValueError("an instruction without its end")
        return THROWS if exits == {_ATHROW} else 0

    def _handlers(self, start: int, end: int) -> Iterator[tuple[int, int, tuple[ReferenceKind, ...]]]:
        """Add the exceptions that are caught; yield where guards of linkage errors begin (1) and end (-1)."""
        (handlers,) = _U2(self._content, end)
        for place in range(end + 2, end + 2 + 8 * handlers, 8):
            first, last, _, index = _FOUR(self._content, place)
            if caught := self._class_name(index):
                self._found.add(Reference(caught))
                kinds = _GUARDS.get(caught, ())
                if kinds and first < last:
                    yield from ((start + first, 1, kinds), (start + last, -1, kinds))

    def _use(self, index: int, *, is_static: bool | None, is_new: bool = False) -> None:
        """Add what a constant refers to, if it refers to anything."""
        if (index, is_static, is_new) in self._used:
            return
        self._used.add((index, is_static, is_new))
        tag, at = self._constant(index)
        if tag == _CLASS:
            if name := self._class_name(index):
                self._found.add(Reference(name, kind=ReferenceKind.INSTANCE if is_new else ReferenceKind.CLASS))
        elif tag in _MEMBER_KINDS:
            owner_index, pair = _PAIR(self._content, at)
            if owner := self._class_name(owner_index):
                name, descriptor = self._name_and_type(pair)
                is_array = self._text(_U2(self._content, self._constant(owner_index)[1])[0]).startswith("[")
                if not is_array:
                    self._found.add(Reference(owner, name, descriptor, _MEMBER_KINDS[tag], is_static))
        elif tag == _METHOD_HANDLE:
            kind, (target,) = self._content[at], _U2(self._content, at + 1)
            self._use(target, is_static=kind in _STATIC_HANDLES)
        elif tag == _DYNAMIC:
            self._dynamic.add(index)

    def _name_and_type(self, index: int) -> tuple[str, str]:
        name, descriptor = _PAIR(self._content, self._constant(index)[1])
        return self._text(name), self._text(descriptor)

    def _find_dynamic(self) -> None:
        """Add what bootstrap methods refer to, and the interfaces of lambdas."""
        for _, arguments in self._bootstraps:
            for argument in arguments:
                self._use(argument, is_static=None)
        for index in self._dynamic:
            bootstrap, pair = _PAIR(self._content, self._constant(index)[1])
            handle, arguments = self._bootstraps[bootstrap]
            (method,) = _U2(self._content, self._constant(handle)[1] + 1)
            (owner,) = _U2(self._content, self._constant(method)[1])
            if self._class_name(owner) == _METAFACTORY and arguments:
                name, descriptor = self._name_and_type(pair)
                interface = descriptor.rpartition(")")[2]
                implemented = self._text(_U2(self._content, self._constant(arguments[0])[1])[0])
                self._found.add(Reference(interface[1:-1], name, implemented, ReferenceKind.LAMBDA))
