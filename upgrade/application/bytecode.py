"""The code of a class: its methods with their instructions, lines, and what its constants are.

``class_file`` reads what a class declares and refers to; this reads what its methods do, which only the application's
own classes are asked for. The Java Virtual Machine Specification, §4 and §6.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from struct import Struct
from typing import Any, Final

from attrs import field, frozen

from streams_assignor.upgrade.application.class_file import (
    DAMAGE,
    MAGIC,
    WITH_CONSTANT,
    InvalidClass,
    constant_places,
    instruction_length,
)
from streams_assignor.upgrade.application.source_names import source_class, source_method
from streams_assignor.upgrade.errors import quote_input

_U2, _U4 = Struct(">H").unpack_from, Struct(">I").unpack_from
_NUMBERS: Final[Mapping[int, Struct]] = {3: Struct(">i"), 4: Struct(">f"), 5: Struct(">q"), 6: Struct(">d")}
_LDC: Final = 0x12
_ANNOTATIONS: Final = "RuntimeVisibleAnnotations"
_UTF8, _CLASS, _STRING = 1, 7, 8
_MEMBERS: Final = (9, 10, 11)
_METHOD_HANDLE, _DYNAMIC, _INVOKE_DYNAMIC = 15, 17, 18
_SMAP_LINE: Final = re.compile(r"(?<!\d)(\d{1,9})(?:#\d{1,9})?(?:,(\d{1,9}))?:(\d{1,9})(?:,(\d{1,9}))?(?!\d)")


@frozen
class MemberRef:
    """A field or a method that an instruction names."""

    owner: str
    name: str
    descriptor: str


@frozen
class ClassConstant:
    """A class as a constant: ``Foo.class``."""

    name: str


@frozen
class Handle:
    """A method handle: what a lambda or a method reference calls."""

    kind: int
    member: MemberRef


@frozen
class Dynamic:
    """A call that a bootstrap method links: a lambda, a concatenation."""

    name: str
    descriptor: str
    bootstrap: MemberRef
    arguments: tuple[Any, ...]


@frozen
class Method:
    """A method with code."""

    owner: str
    name: str
    descriptor: str
    flags: int
    code: bytes = field(repr=False)
    handlers: tuple[tuple[int, int, int, str], ...] = ()
    """First instruction, the one behind the last, the handler, and the exception."""
    lines: tuple[tuple[int, int], ...] = ()
    """Place of an instruction and line from there on, in order."""

    @property
    def ref(self) -> MemberRef:
        """Its name."""
        return MemberRef(self.owner, self.name, self.descriptor)

    def line(self, at: int) -> int | None:
        """Return the line of an instruction; None if the compiler left it out."""
        place = bisect_right(self.lines, (at, 1 << 16)) - 1
        return self.lines[place][1] if place >= 0 else None


@frozen
class Place:
    """A line of a source file."""

    class_name: str
    """As its source has it."""
    method: str
    file: str
    """Empty if the compiler left it out."""
    line: int | None

    def __str__(self) -> str:
        where = " ".join(filter(None, (self.file, f"line {self.line}" if self.line else "")))
        name = f"{self.class_name}, {self.method}"
        return f"{name} ({where})" if where else name

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"class": self.class_name, "method": self.method, "file": self.file or None, "line": self.line}


@frozen
class CodeFile:
    """A class with its code."""

    name: str
    superclass: str
    interfaces: tuple[str, ...]
    source: str
    """The name of its source file; empty if the compiler left it out."""
    enclosing: tuple[str, str]
    """The class and the method that a local class or a lambda is in; empty if there are none."""
    methods: tuple[Method, ...]
    declared: frozenset[tuple[str, str]]
    """Name and descriptor of all its methods, also of those without code."""
    fields: Mapping[str, int]
    """The flags of its fields."""
    annotations: Mapping[tuple[str, str], frozenset[str]]
    """The last names of the annotations that frameworks see, of each method and field (whose descriptor is empty)."""
    pool: ConstantPool = field(eq=False, repr=False)

    def place(self, method: Method, at: int) -> Place:
        """Return the line of an instruction; a lambda is part of what is around it."""
        owner, around = self.enclosing
        return Place(
            source_class(owner or self.name), source_method(around or method.name), self.source, method.line(at)
        )

    def references(self) -> Iterator[tuple[MemberRef, Place]]:
        """Yield the classes, whose members are empty, and the members that instructions name."""
        for method in self.methods:
            at, code = 0, method.code
            while at < len(code):
                if code[at] in WITH_CONSTANT:
                    index = code[at + 1] if code[at] == _LDC else code[at + 1] << 8 | code[at + 2]
                    for ref in _named(self.pool.value(index)):
                        yield ref, self.place(method, at)
                at += instruction_length(code, at, 0)


def _named(value: Any) -> Iterator[MemberRef]:
    if isinstance(value, MemberRef):
        yield value
    elif isinstance(value, ClassConstant):
        yield MemberRef(value.name.strip("[").removeprefix("L").removesuffix(";"), "", "")
    elif isinstance(value, Handle):
        yield value.member
    elif isinstance(value, Dynamic):
        yield MemberRef(value.descriptor.rpartition(")")[2][1:-1], value.name, "")
        for argument in value.arguments:
            yield from _named(argument)


class ConstantPool:
    """The constants of a class file."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._places, _, self.end = constant_places(content)
        self.bootstraps: tuple[tuple[Handle, tuple[int, ...]], ...] = ()
        self._values: dict[int, Any] = {}

    def text(self, index: int) -> str:
        """Return a text."""
        place = self._places[index]
        if self._content[place] != _UTF8:
            raise ValueError("no text")
        (size,) = _U2(self._content, place + 1)
        return str(self._content[place + 3 : place + 3 + size], "utf-8", "replace")

    @cached_property
    def texts(self) -> dict[int, str]:
        """All texts, also those of annotations."""
        return {
            index: self.text(index)
            for index, place in enumerate(self._places)
            if place and self._content[place] == _UTF8
        }

    def value(self, index: int) -> Any:
        """Return a constant: a text, a number, or one of the classes of this module."""
        if index not in self._values:
            self._values[index] = self._value(index)
        return self._values[index]

    def class_name(self, index: int) -> str:
        """Return the name of a class, empty for none."""
        return self.text(self._u2(index)) if index else ""

    def _u2(self, index: int, offset: int = 1) -> int:
        return int(_U2(self._content, self._places[index] + offset)[0])

    def _value(self, index: int) -> Any:
        place = self._places[index]
        tag = self._content[place]
        if tag in _NUMBERS:
            return _NUMBERS[tag].unpack_from(self._content, place + 1)[0]
        if tag == _STRING:
            return self.text(self._u2(index))
        if tag == _CLASS:
            return ClassConstant(self.class_name(index))
        if tag in _MEMBERS:
            return MemberRef(self.class_name(self._u2(index)), *self.name_and_type(self._u2(index, 3)))
        if tag == _METHOD_HANDLE:
            return Handle(self._content[place + 1], self.value(self._u2(index, 2)))
        if tag in {_DYNAMIC, _INVOKE_DYNAMIC}:
            handle, arguments = self.bootstraps[self._u2(index)]
            name, descriptor = self.name_and_type(self._u2(index, 3))
            return Dynamic(name, descriptor, handle.member, tuple(self.value(each) for each in arguments))
        return None

    def name_and_type(self, index: int) -> tuple[str, str]:
        """Return the name and the descriptor of a member."""
        return self.text(self._u2(index)), self.text(self._u2(index, 3))


def read_code(content: bytes) -> CodeFile:
    """Read a class file with its code.

    Raises:
        InvalidClass: It is none, or a damaged one.
    """
    if content[:4] != MAGIC:
        raise InvalidClass(f"expected a class file, got {quote_input(content[:4])} at its beginning")
    try:
        return _Reader(content).read()
    except DAMAGE:
        raise InvalidClass("expected a class file, got a damaged one") from None


class _Reader:
    """A place in the content of a class file."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._pool = ConstantPool(content)
        self._at = self._pool.end

    def read(self) -> CodeFile:
        pool = self._pool
        self._u2()
        name, superclass = pool.class_name(self._u2()), pool.class_name(self._u2())
        interfaces = tuple(pool.class_name(self._u2()) for _ in range(self._u2()))
        methods, declared = list[Method](), set[tuple[str, str]]()
        fields, annotations = dict[str, int](), dict[tuple[str, str], frozenset[str]]()
        for _ in range(self._u2()):
            flags, member, _ = self._u2(), pool.text(self._u2()), self._u2()
            fields[member] = flags
            for attribute, at, end in self._attributes():
                if attribute == _ANNOTATIONS:
                    annotations[member, ""] = frozenset(self._annotations(at, end))
        for _ in range(self._u2()):
            flags, method, descriptor = self._u2(), pool.text(self._u2()), pool.text(self._u2())
            declared.add((method, descriptor))
            for attribute, at, end in self._attributes():
                if attribute == "Code":
                    methods.append(self._method(name, flags, method, descriptor, at, end))
                elif attribute == _ANNOTATIONS:
                    annotations[method, descriptor] = frozenset(self._annotations(at, end))
        source, smap, enclosing = "", "", ("", "")
        for attribute, at, end in self._attributes():
            if attribute == "SourceFile":
                source = pool.text(_U2(self._content, at)[0])
            elif attribute == "EnclosingMethod":
                owner, pair = Struct(">HH").unpack_from(self._content, at)
                enclosing = pool.class_name(owner), pool.name_and_type(pair)[0] if pair else ""
            elif attribute == "SourceDebugExtension":
                smap = str(self._content[at:end], "utf-8", "replace")
            elif attribute == "BootstrapMethods":
                pool.bootstraps = tuple(self._bootstraps(at))
        of_caller = callers_lines(smap)
        with_lines = tuple(_with_lines(method, of_caller) for method in methods)
        return CodeFile(
            *(name, superclass, interfaces, source, enclosing, with_lines, frozenset(declared), fields, annotations),
            pool,
        )

    def _u2(self) -> int:
        self._at += 2
        return int(_U2(self._content, self._at - 2)[0])

    def _attributes(self, limit: int = 0) -> Iterator[tuple[str, int, int]]:
        """Yield name, first byte and end of each attribute, none longer than what it is in, and pass over them."""
        for _ in range(self._u2()):
            name = self._pool.text(self._u2())
            (size,) = _U4(self._content, self._at)
            start = self._at + 4
            self._at = start + int(size)
            if self._at > (limit or len(self._content)):
                raise ValueError("too short")
            end = self._at
            yield name, start, end
            self._at = end

    def _method(self, owner: str, flags: int, name: str, descriptor: str, at: int, limit: int) -> Method:
        (size,) = _U4(self._content, at + 4)
        start = at + 8
        end = start + int(size)
        (count,) = _U2(self._content, end)
        if end + 2 + 8 * count > limit:
            raise ValueError("longer than its attribute")
        handlers = tuple(
            (first, last, handler, self._pool.class_name(caught))
            for first, last, handler, caught in (
                Struct(">HHHH").unpack_from(self._content, end + 2 + 8 * number) for number in range(count)
            )
        )
        self._at = end + 2 + 8 * count
        lines = list[tuple[int, int]]()
        for attribute, place, table_end in self._attributes(limit):
            if attribute == "LineNumberTable":
                (rows,) = _U2(self._content, place)
                rows = min(rows, (table_end - place) // 4)
                lines += (Struct(">HH").unpack_from(self._content, place + 2 + 4 * number) for number in range(rows))
        return Method(owner, name, descriptor, flags, self._content[start:end], handlers, tuple(sorted(lines)))

    def _annotations(self, at: int, end: int) -> Iterator[str]:
        """Yield the last names of annotations: of all classes that are named there, and so also of nested ones."""
        for place in range(at + 2, end - 1):
            text = self._pool.texts.get(_U2(self._content, place)[0], "")
            if text.startswith("L") and text.endswith(";"):
                yield re.split("[/$;]", text)[-2]

    def _bootstraps(self, at: int) -> Iterator[tuple[Handle, tuple[int, ...]]]:
        (count,) = _U2(self._content, at)
        at += 2
        for _ in range(count):
            handle, size = Struct(">HH").unpack_from(self._content, at)
            arguments = Struct(f">{size}H").unpack_from(self._content, at + 4)
            yield self._pool.value(handle), arguments
            at += 4 + 2 * size


def callers_lines(smap: str) -> list[tuple[int, int, int]]:
    """Return first line, last line, and the line of the call, for code that Kotlin has inlined.

    A class file numbers these lines behind the end of its source. KotlinDebug (JSR 45) has the lines of the calls.
    """
    debug = f"\n{smap}".partition("\n*S KotlinDebug\n*F")[2].partition("\n*L")[2]
    lines, is_whole, _ = debug.partition("\n*E")
    ranges = list[tuple[int, int, int]]()
    for call, _, first, size in _SMAP_LINE.findall(lines) if is_whole else ():
        ranges.append((int(first), int(first) + max(1, int(size or 1)) - 1, int(call)))
    return ranges


def _with_lines(method: Method, of_caller: list[tuple[int, int, int]]) -> Method:
    if not of_caller:
        return method
    lines = tuple(
        (at, next((call for first, last, call in of_caller if first <= line <= last), line))
        for at, line in method.lines
    )
    return Method(method.owner, method.name, method.descriptor, method.flags, method.code, method.handlers, lines)
