"""The values that the places of a method may have, and the events that concern settings.

A value is a set of ``Atom``: constants, objects by the place that makes them, and names that ``own_methods`` resolves
over all methods (parameters, fields, results of own methods). Where nothing is known of a value, it is ``LOST``.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from streams_assignor.upgrade.application.bytecode import MemberRef

MAX_ATOMS: Final = 8
"""More possible values of one place are not told apart."""
MAX_DEPTH: Final = 4
"""Of names inside names: the field of the result of a method of a parameter ..."""


@frozen(cache_hash=True)
class Atom:
    """One thing that a value may be."""

    @property
    def parts_of_names(self) -> tuple[Value, ...]:
        """The values of which it is made, if it is a name."""
        return ()

    @property
    def depth(self) -> int:
        """How many names are inside each other."""
        return 1 + max((atom.depth for value in self.parts_of_names for atom in value), default=0)


Value = frozenset[Atom]
_GIVEN: Final = frozenset(("", "element", "given"))


@frozen(cache_hash=True)
class Const(Atom):
    """A text, a number or the name of a class, as Kafka would read it."""

    text: str


@frozen(cache_hash=True)
class Param(Atom):
    """A parameter of a method; that of an instance method is 0 for the object itself."""

    method: MemberRef
    index: int


@frozen(cache_hash=True)
class Made(Atom):
    """An object that a place makes."""

    method: MemberRef
    at: int
    type: str

    @property
    def may_be_another(self) -> bool:
        """Whether it stands for what a collection gives: perhaps an object that another place has made."""
        return self.type in _GIVEN


@frozen(cache_hash=True)
class StaticField(Atom):
    """A static field of an own class."""

    owner: str
    name: str


@frozen(cache_hash=True)
class FieldOf(Atom):
    """A field of an object of an own class."""

    base: Value
    owner: str
    name: str

    @property
    def parts_of_names(self) -> tuple[Value, ...]:
        return (self.base,)


@frozen(cache_hash=True)
class Result(Atom):
    """The result of a method of an own class."""

    ref: MemberRef
    arguments: tuple[Value, ...]

    @property
    def parts_of_names(self) -> tuple[Value, ...]:
        return self.arguments


@frozen(cache_hash=True)
class ResultOf(Atom):
    """The result of a function that is a value."""

    function: Value
    arguments: tuple[Value, ...]

    @property
    def parts_of_names(self) -> tuple[Value, ...]:
        return (self.function, *self.arguments)


@frozen(cache_hash=True)
class Joined(Atom):
    """Texts one after the other."""

    parts: tuple[Value, ...]

    @property
    def parts_of_names(self) -> tuple[Value, ...]:
        return self.parts


@frozen(cache_hash=True)
class Builder(Atom):
    """A StringBuilder with what was appended so far."""

    method: MemberRef
    at: int
    parts: tuple[Value, ...]

    @property
    def parts_of_names(self) -> tuple[Value, ...]:
        return self.parts


@frozen(cache_hash=True)
class Function(Atom):
    """A lambda or a method reference."""

    ref: MemberRef
    captured: tuple[Value, ...]
    """The values that it captures from the method that makes it, the object itself first."""
    is_static: bool

    @property
    def parts_of_names(self) -> tuple[Value, ...]:
        return self.captured


@frozen(cache_hash=True)
class Foreign(Atom):
    """A result of code of others, or what it gives to a parameter."""

    method: MemberRef
    at: int
    text: str
    is_given: bool = False
    """Whether a parameter gets it: an object that a framework makes with its constructor, perhaps."""
    is_plain: bool = False
    """Whether it is a number or a text."""


@frozen(cache_hash=True)
class Filled(Foreign):
    """Values of others in a field, beside those of own methods."""


@frozen(cache_hash=True)
class OfFramework(Atom):
    """The settings that a framework has read from its file."""

    method: MemberRef
    at: int


@frozen(cache_hash=True)
class Unknown(Atom):
    """Nothing is known."""


LOST: Final[Value] = frozenset({Unknown()})
NULL: Final[Value] = frozenset()


def const(text: object) -> Value:
    """Return the value of a constant."""
    return frozenset({Const(str(text))})


# The actions of a method. ``at`` is the place of the instruction.


@frozen
class Put:
    """A key gets a value."""

    receiver: Value
    key: Value
    value: Value
    at: int
    is_map: bool = True
    """Whether the type of the receiver is a map, and not only has a method with such a name."""


@frozen
class Into:
    """The content of a value becomes part of another one."""

    container: Value
    content: Value
    at: int = 0
    is_map: bool = False
    """Whether a map gets keys."""


@frozen
class Store:
    """A field gets a value; ``base`` is None for a static one."""

    base: Value | None
    owner: str
    name: str
    value: Value


@frozen
class Returned:
    """The method returns a value."""

    value: Value


@frozen
class Invoke:
    """An own method is called."""

    ref: MemberRef
    arguments: tuple[Value, ...]
    at: int


@frozen
class Applied:
    """A method of an interface is called for a function that is a value."""

    ref: MemberRef
    function: Value
    arguments: tuple[Value, ...]
    at: int


@frozen
class Passed:
    """Settings are passed to Kafka Streams, or to another client."""

    value: Value
    is_streams: bool
    at: int


@frozen
class Load:
    """An object gets what a file has."""

    receiver: Value
    source: Value
    at: int


@frozen
class Used:
    """Code of others gets a value, and may do anything with it."""

    value: Value
    text: str
    at: int
    is_changed: bool
    """Whether it may be changed there."""


Event = Put | Into | Store | Returned | Invoke | Applied | Passed | Load | Used


def named(atom: Atom) -> Value:
    """Return the value of a name, unless it has too many others inside."""
    return LOST if atom.depth > MAX_DEPTH else frozenset({atom})


def joined(parts: list[Value] | tuple[Value, ...]) -> Value:
    """Return texts one after the other; constants become one constant."""
    texts = [""]
    for part in parts:
        if not part or not all(isinstance(atom, Const) for atom in part):
            return named(Joined(tuple(parts)))
        texts = [text + atom.text for text in texts for atom in part if isinstance(atom, Const)]
        if len(texts) > MAX_ATOMS:
            return LOST
    return frozenset(map(Const, texts))
