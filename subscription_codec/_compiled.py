"""The quick half of the codec: two straight-line functions per layout, written from its table and compiled once.

Walking a table costs more than the work itself for a message of a hundred bytes, so the walk is done here, when a
layout is first used, and what is left of it is a function a person might have written: print ``Pair.source``.

Rule 1: the quick half never explains. Whatever it meets that is not the usual message (too short, a count that cannot
be, a value that does not fit, a named topology, a topic beyond ASCII), it raises one of ``GIVES_UP``, and the careful
half decides.
Rule 2: it believes lengths without a look at what is left, as long as nothing is allocated for them, and compares its
place with the end once, after the last field: a slice behind the end is only short, and places never go back. Lengths
and counts are read as if they had no sign; a negative one is then larger than any blob.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final, NamedTuple

from subscription_codec._hosts import Hosts, Topics
from subscription_codec._lists import Unusual
from subscription_codec._text import JavaUtf, Utf8
from subscription_codec._wire import INT_32, Array, Integer, Struct, Uuid, Wire, uuid_of
from subscription_codec.columns import task_of
from subscription_codec.records import TaskId

GIVES_UP: Final = (Unusual, ValueError, TypeError, AttributeError, OverflowError, LookupError)


class Pair(NamedTuple):
    """The two functions of a layout, and what they were compiled from."""

    read: Callable[[bytes, int], Any]
    write: Callable[[Any], bytes]
    source: str


def pair(record: type[Any], fields: Any) -> Pair:
    """Compile the reader and the writer of a layout; ``fields`` are its (name, Kafka's name, wire type).

    The reader takes the version, which its caller had to read to find the layout; it is the first field of each.
    """
    reader, writer = _Reader(), _Writer()
    source = f"{reader.function(record, fields)}\n\n{writer.function(record, fields)}\n"
    namespace: dict[str, Any] = {**_TOOLS, "Record": record, **reader.known, **writer.known}
    exec(compile(source, f"<layout of {record.__name__}>", "exec"), namespace)  # our own text, as in attrs
    return Pair(namespace["read"], namespace["write"], source)


_NUMBERS: Final = ("subtopology", "partition")
"""What every task has on the wire; a name comes behind it from version 10 on."""

_NO_NAME: Final = bytes(4)

_TOOLS: Final = {
    "Unusual": Unusual,
    "new": tuple.__new__,
    "number": int.from_bytes,
    "task_of": task_of,
    "uuid_of": uuid_of,
}


class _Text:
    """Source text that grows, and names for what it makes on the way."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = "    "
        self.known: dict[str, Any] = {}
        self._numbers = count()

    def line(self, text: str) -> None:
        """Append a line."""
        self.lines.append(self.indent + text)

    def name(self, stem: str) -> str:
        """Return a fresh name."""
        return f"{stem}{next(self._numbers)}"

    def constant(self, stem: str, value: Any) -> str:
        """Make a value known to the source."""
        name = self.name(stem)
        self.known[name] = value
        return name

    def unusual(self, condition: str) -> None:
        """Write the lines that give up."""
        self.line(f"if {condition}:")
        self.line("    raise Unusual")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Indent what is written inside."""
        self.line(head)
        outer, self.indent = self.indent, self.indent + "    "
        yield
        self.indent = outer


class _Reader(_Text):
    """Writes ``read``. Places are the variable ``at`` (0 before its first use) and a number of bytes behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.started = False
        self.shift = 0

    def function(self, record: type[Any], fields: Any) -> str:
        """Return the source of ``read``."""
        version, *others = fields
        self.shift = version.wire.size
        for name, _, wire in others:
            self.read(wire, name)
        self.settle()
        names = {name for name, _, _ in fields}
        values = [name if name in names else repr(record._field_defaults[name]) for name in record._fields[:-1]]
        return "\n".join(
            [
                "def read(data, version):",
                *self.lines,
                "    if at > len(data):",
                "        raise Unusual",
                f"    return new(Record, ({', '.join(values)}, data[at:]))",
            ]
        )

    def place(self, more: int = 0) -> str:
        """Say where we are, ``more`` bytes on."""
        far = self.shift + more
        return f"at + {far}" if self.started and far else "at" if self.started else str(far)

    def settle(self) -> None:
        """Bring ``at`` to where we are."""
        if self.shift or not self.started:
            self.line(f"at = {self.place()}")
        self.moved()

    def moved(self) -> None:
        """Note that ``at`` is where we are."""
        self.started, self.shift = True, 0

    def slice(self, size: int) -> str:
        """Return the source of the next ``size`` bytes, and pass them."""
        text = f"data[{self.place()}:{self.place(size)}]"
        self.shift += size
        return text

    def read(self, wire: Wire[Any], to: str) -> None:
        """Write the lines that read one value into the variable ``to``."""
        match wire:
            case Integer():
                self.line(f'{to} = number({self.slice(wire.size)}, "big", signed=True)')
            case Uuid():
                self.line(f"{to} = uuid_of({self.slice(16)})")
            case Utf8(nullable=False):
                first = self.place(wire.size)
                self.line(f'end = {first} + number({self.slice(wire.size)}, "big")')
                self.line(f'{to} = str(data[{first}:end], "utf-8", "surrogateescape")')
                self.line("at = end")
                self.moved()
            case JavaUtf():
                first = self.place(2)
                self.line(f'end = {first} + number({self.slice(2)}, "big")')
                self.line(f'{to} = str(data[{first}:end], "ascii")')
                self.line("at = end")
                self.moved()
            case Topics():
                self.read(wire.inner, to)
            case Array():
                self.array(wire, to)
            case Struct(make=make) if make is TaskId:
                self.line(f'{to} = task_of(number({self.slice(8)}, "big", signed=True))')
                if len(wire.members) > len(_NUMBERS):
                    self.unusual(f'number({self.slice(4)}, "big")')
            case Struct():
                parts = [self.name("part") for _ in wire.members]
                for part, (_, member) in zip(parts, wire.members, strict=True):
                    self.read(member, part)
                self.line(f"{to} = new({self.constant('make', wire.make)}, ({', '.join(parts)}))")
            case Hosts():
                self.line(f"{to}, at = {self.constant('load', wire.load_with)}(data, {self.place()}, topics)")
                self.moved()
            case _:
                self.line(f"{to}, at = {self.constant('load', wire.load)}(data, {self.place()})")
                self.moved()

    def array(self, wire: Array[Any], to: str) -> None:
        """Write a loop."""
        items, item, left = self.name("items"), self.name("item"), self.name("left")
        self.line(f'{left} = number({self.slice(4)}, "big")')
        self.settle()
        self.unusual(f"{left} * {wire.item.size} > len(data) - at")
        self.line(f"{items} = []")
        with self.block(f"for _ in range({left}):"):
            self.read(wire.item, item)
            self.settle()
            self.line(f"{items}.append({item})")
        self.line(f"{to} = tuple({items})")


class _Writer(_Text):
    """Writes ``write``: all pieces go into a list, as many at a time as possible, and are joined at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def function(self, record: type[Any], fields: Any) -> str:
        """Return the source of ``write``."""
        self.line(f"{', '.join(record._fields)} = record")
        for name, _, wire in fields:
            if name not in record._fields:
                self.line(f"{name} = record.{name}")
            self.write(wire, name)
        self.pieces.append("trailing")
        self.flush()
        return "\n".join(["def write(record):", "    out = []", *self.lines, '    return b"".join(out)'])

    def flush(self) -> None:
        """Write the line that appends the pieces so far."""
        if self.pieces:
            self.line(f"out += ({', '.join(self.pieces)},)")
        self.pieces = []

    def write(self, wire: Wire[Any], value: str) -> None:
        """Write the lines that write one value."""
        match wire:
            case Integer():
                self.pieces.append(f'{value}.to_bytes({wire.size}, "big", signed=True)')
            case Uuid():
                self.pieces.append(f'{value}.int.to_bytes(16, "big")')
            case Utf8(nullable=False):
                text = self.name("text")
                self.line(f'{text} = {value}.encode("utf-8", "surrogateescape")')
                signed = ", signed=True" if wire.size < 4 else ""  # nobody has texts of gigabytes
                self.pieces += (f'len({text}).to_bytes({wire.size}, "big"{signed})', text)
            case JavaUtf():
                text = self.name("text")
                self.line(f'{text} = {value}.encode("ascii")')
                self.unusual(f'b"\\0" in {text}')
                self.pieces += (f'len({text}).to_bytes(2, "big")', text)
            case Topics():
                self.write(wire.inner, value)
            case Array():
                self.array(wire, value)
            case Struct(make=make) if make is TaskId:
                self.task(wire, value)
            case Struct(take=None):
                parts = [self.name("part") for _ in wire.members]
                self.line(f"{', '.join(parts)} = {value}")
                for part, (_, member) in zip(parts, wire.members, strict=True):
                    self.write(member, part)
            case _:
                self.pieces.append(f"{self.constant('dump', wire.dump)}({value})")

    def array(self, wire: Array[Any], value: str) -> None:
        """Write a loop."""
        item = self.name("item")
        self.pieces.append(f'len({value}).to_bytes(4, "big")')
        self.flush()
        with self.block(f"for {item} in {value}:"):
            self.write(wire.item, item)
            self.flush()

    def task(self, wire: Struct[Any], value: str) -> None:
        """Write the lines for a task, which is usual only without a named topology."""
        *numbers, topology = [self.name(stem) for stem in TaskId._fields]
        self.line(f"{', '.join((*numbers, topology))} = {value}")
        self.unusual(f"{topology} is not None")
        for name in numbers:
            self.write(INT_32, name)
        if len(wire.members) > len(_NUMBERS):
            self.pieces.append(repr(_NO_NAME))
