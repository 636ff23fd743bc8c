"""An abstract run of the instructions of a method: the values that it may have, and the events that concern settings.

Both branches of a condition count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from attrs import frozen

from streams_assignor.upgrade.application.bytecode import (
    ClassConstant,
    ConstantPool,
    Dynamic,
    Handle,
    MemberRef,
    Method,
)
from streams_assignor.upgrade.application.class_file import STATIC, instruction_length
from streams_assignor.upgrade.application.flow_values import (
    LOST,
    MAX_ATOMS,
    MAX_DEPTH,
    NULL,
    Atom,
    Builder,
    Const,
    Event,
    FieldOf,
    Foreign,
    Function,
    Into,
    Made,
    Param,
    Returned,
    StaticField,
    Store,
    Unknown,
    Value,
    const,
    joined,
    named,
)
from streams_assignor.upgrade.errors import UpgradeError

MAX_STEPS: Final = 200_000
"""Instructions of one method that are looked at, with repetitions."""
MAX_WORK: Final = 1_000_000
"""Instructions of one application that are looked at, with repetitions."""
_MAX_PARTS: Final = 8


class NotFollowed(UpgradeError):
    """A method that cannot be followed."""


class WorkLimit:
    """How much work is left."""

    def __init__(self, left: int) -> None:
        self._left = left

    def spend(self, steps: int = 1) -> None:
        """Take some steps.

        Raises:
            NotFollowed: There is none left.
        """
        if self.is_spent:
            raise NotFollowed
        self._left -= steps

    def note(self, steps: int = 1) -> None:
        """Take some steps that are made already."""
        self._left -= steps

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self._left <= 0


@frozen
class Signature:
    """A descriptor in parts."""

    parameters: tuple[str, ...]
    result: str


_TYPE: Final = re.compile(r"(?<!\[)\[*+(?:[BCDFIJSZ]|L[^;]+(?:;|\Z))")


@cache
def signature(descriptor: str) -> Signature:
    """Return the types of a descriptor."""
    parameters, _, result = descriptor[1:].partition(")")
    return Signature(tuple(_TYPE.findall(parameters)), result)


def _size(type_name: str) -> int:
    return 2 if type_name in {"J", "D"} else 1


# The stack before and after an instruction, for those of which only that matters: how many slots it takes and gives.
_EFFECTS: Final[Mapping[int, tuple[int, int]]] = {
    0x00: (0, 0),
    **dict.fromkeys((0x2E, 0x30, 0x33, 0x34, 0x35), (2, 1)),
    **dict.fromkeys((0x2F, 0x31), (2, 2)),
    **dict.fromkeys((0x4F, 0x51, 0x54, 0x55, 0x56), (3, 0)),
    **dict.fromkeys((0x50, 0x52), (4, 0)),
    **{0x60 + 4 * row + kind: ((2, 1), (4, 2))[kind % 2] for row in range(5) for kind in range(4)},
    **{0x74 + kind: ((1, 1), (2, 2))[kind % 2] for kind in range(4)},
    **dict.fromkeys((120, 122, 124), (2, 1)),
    **dict.fromkeys((121, 123, 125), (3, 2)),
    **{opcode: ((2, 1), (4, 2))[opcode % 2] for opcode in range(0x7E, 0x84)},
    **dict.fromkeys((0x85, 0x87, 0x8C, 0x8D), (1, 2)),
    **dict.fromkeys((0x86, 0x8B), (1, 1)),
    **dict.fromkeys((0x88, 0x89, 0x8E, 0x90), (2, 1)),
    **dict.fromkeys((0x8A, 0x8F), (2, 2)),
    **dict.fromkeys((0x94, 0x97, 0x98), (4, 1)),
    **dict.fromkeys((0x95, 0x96), (2, 1)),
    0xBE: (1, 1),
    0xC1: (1, 1),
    0xC2: (1, 0),
    0xC3: (1, 0),
}
_KEEPS: Final = frozenset((0x91, 0x92, 0x93, 0xC0))
"""Narrowing of numbers and casts: the value stays."""
_CONSTANTS: Final[Mapping[int, tuple[str, int]]] = {
    **{0x03 + number: (str(number), 1) for number in range(-1, 6)},
    0x09: ("0", 2),
    0x0A: ("1", 2),
    **{0x0B + number: (f"{number}.0", 1) for number in range(3)},
    0x0E: ("0.0", 2),
    0x0F: ("1.0", 2),
}
# Each permutation of the top of the stack: how many slots it takes, and which of them it gives, from the lowest one.
_SHUFFLES: Final[Mapping[int, tuple[int, tuple[int, ...]]]] = {
    0x57: (1, ()),
    0x58: (2, ()),
    0x59: (1, (0, 0)),
    0x5A: (2, (1, 0, 1)),
    0x5B: (3, (2, 0, 1, 2)),
    0x5C: (2, (0, 1, 0, 1)),
    0x5D: (3, (1, 2, 0, 1, 2)),
    0x5E: (4, (2, 3, 0, 1, 2, 3)),
    0x5F: (2, (1, 0)),
}
_LDC, _LDC_W, _LDC2_W, _AALOAD, _AASTORE, _IINC, _WIDE = 0x12, 0x13, 0x14, 0x32, 0x53, 0x84, 0xC4
_GOTO, _GOTO_W, _TABLESWITCH, _LOOKUPSWITCH = 0xA7, 0xC8, 0xAA, 0xAB
_GETSTATIC, _PUTSTATIC, _GETFIELD, _PUTFIELD = 0xB2, 0xB3, 0xB4, 0xB5
_INVOKESTATIC, _INVOKEDYNAMIC = 0xB8, 0xBA
_CONDITIONS: Final = {**dict.fromkeys((*range(0x99, 0x9F), 0xC6, 0xC7), 1), **dict.fromkeys(range(0x9F, 0xA7), 2)}
_RETURNS: Final = {0xAC: 1, 0xAD: 2, 0xAE: 1, 0xAF: 2, 0xB0: 1, 0xB1: 0}
_ATHROW: Final = 0xBF
_INVOKE_STATIC: Final = 6
"""The kind of a reference to a static method."""
_NEW_INVOKE_SPECIAL: Final = 8
"""The kind of a reference to a constructor: what it makes is passed to it."""
_LOADS: Final = range(0x15, 0x1A)
_STORES: Final = range(0x36, 0x3B)
_BOXES: Final = frozenset(
    f"java/lang/{name}"
    for name in ("Integer", "Long", "Short", "Byte", "Character", "Double", "Float", "Boolean", "String")
)
_CONCATENATIONS: Final = {("java/lang/String", "concat"), ("kotlin/jvm/internal/Intrinsics", "stringPlus")}
_SAME_TEXT: Final = frozenset(
    {
        "valueOf",
        "toString",
        "intern",
        "trim",
        "strip",
        "intValue",
        "longValue",
        "booleanValue",
        "doubleValue",
        "getName",
        "boxToInteger",
        "boxToLong",
        "boxToBoolean",
        "boxToDouble",
        "boxToShort",
        "boxToFloat",
        "toInteger",
        "toLong",
        "name",
    }
)


@frozen
class State:
    """Stack and local variables at a place."""

    stack: tuple[Value, ...]
    slots: Mapping[int, Value]


def _joined(one: Value, other: Value) -> Value:
    if one == other:
        return one
    both = one | other
    return both if len(both) <= MAX_ATOMS else LOST


def _join(one: State, other: State) -> State:
    if len(one.stack) != len(other.stack):
        raise NotFollowed
    stack = tuple(_joined(*pair) for pair in zip(one.stack, other.stack, strict=True))
    slots = {slot: _joined(value, other.slots[slot]) for slot, value in one.slots.items() if slot in other.slots}
    return State(stack, slots)


Call = Callable[["MethodRun", MemberRef, "bool", tuple[Value, ...], int], Value]
"""Tells what a call does, and returns its result: the run, the method, whether it is static, arguments and place."""


class MethodRun:
    """An abstract run of one method.

    Args:
        method: The method.
        pool: The constants of its class.
        is_own: Whether a class is one of the application.
        call: The entry of the table of calls.
        work: The budget that is left for all methods.
    """

    def __init__(
        self, method: Method, pool: ConstantPool, is_own: Callable[[str], bool], call: Call, work: WorkLimit
    ) -> None:
        self.method, self._pool, self.is_own, self._call = method, pool, is_own, call
        self._work, self._steps = work, WorkLimit(MAX_STEPS)
        self.ref = method.ref
        self.events: list[Event] = []
        self.exits = set[int]()
        self.ways: dict[int, set[int]] = {}
        """The blocks that follow each block, by their first instructions."""
        self._stack: list[Value] = []
        self._slots: dict[int, Value] = {}

    def run(self) -> list[Event]:
        """Return what the method does, in the order of its instructions.

        Raises:
            NotFollowed: It is too large, or has instructions of before Java 6.
        """
        states = self._fixpoint()
        self.events, self.exits = [], set()
        for start in sorted(states):
            self.ways[start] = {target for target, _ in self._block(start, states[start], states)}
        return self.events

    def is_always_done(self, at: int) -> bool:
        """Whether the method does not return without the instruction at a place."""
        block = max(start for start in self.ways if start <= at)
        waiting, seen = [0], {block}
        while waiting:
            start = waiting.pop()
            if start in seen:
                continue
            if start in self.exits:
                return False
            seen.add(start)
            waiting += self.ways[start]
        return True

    def _fixpoint(self) -> dict[int, State]:
        leaders = self._leaders()
        states = {0: State((), self._parameters())}
        waiting = [0]
        while waiting:
            start = waiting.pop()
            for target, state in self._block(start, states[start], leaders):
                before = states.get(target)
                after = state if before is None else _join(before, state)
                if after != before:
                    states[target] = after
                    if target not in waiting:
                        waiting.append(target)
        return states

    def _parameters(self) -> dict[int, Value]:
        types = signature(self.method.descriptor).parameters
        if not self.method.flags & STATIC:
            types = ("this", *types)
        slots, slot = dict[int, Value](), 0
        for index, type_name in enumerate(types):
            slots[slot] = frozenset({Param(self.ref, index)})
            slot += _size(type_name)
        return slots

    def _leaders(self) -> frozenset[int]:
        code = self.method.code
        leaders = {0, *(handler for _, _, handler, _ in self.method.handlers)}
        at = 0
        while at < len(code):
            size = instruction_length(code, at, 0)
            targets = tuple(self._targets(at))
            leaders.update(targets)
            if targets or code[at] in _RETURNS or code[at] == _ATHROW:
                leaders.add(at + size)
            at += size
        return frozenset(leaders)

    def _targets(self, at: int) -> Iterator[int]:
        code, opcode = self.method.code, self.method.code[at]
        if opcode in _CONDITIONS or opcode == _GOTO:
            yield at + self._s2(at + 1)
        elif opcode == _GOTO_W:
            yield at + self._s4(at + 1)
        elif opcode in {_TABLESWITCH, _LOOKUPSWITCH}:
            operands = at + 4 - at % 4
            yield at + self._s4(operands)
            if opcode == _TABLESWITCH:
                low, high = self._s4(operands + 4), self._s4(operands + 8)
                places = range(operands + 12, operands + 12 + 4 * (high - low + 1), 4)
            else:
                places = range(operands + 12, operands + 12 + 8 * self._s4(operands + 4), 8)
            for place in places:
                if place + 4 > len(code):
                    raise NotFollowed
                yield at + self._s4(place)

    def _s2(self, at: int) -> int:
        return int.from_bytes(self.method.code[at : at + 2], "big", signed=True)

    def _s4(self, at: int) -> int:
        return int.from_bytes(self.method.code[at : at + 4], "big", signed=True)

    def _u2(self, at: int) -> int:
        return int.from_bytes(self.method.code[at : at + 2], "big")

    def _block(
        self, start: int, state: State, leaders: frozenset[int] | Mapping[int, State]
    ) -> Iterator[tuple[int, State]]:
        """Run the instructions up to the next branch; yield where it goes on, with the state there."""
        code, at = self.method.code, start
        self._stack, self._slots = list(state.stack), dict(state.slots)
        caught: tuple[object, ...] = ()
        while at < len(code):
            if at != start and at in leaders:
                yield at, self._state()
                return
            handlers = tuple(handler for first, last, handler, _ in self.method.handlers if first <= at < last)
            if handlers and (handlers, id(self._slots)) != caught:
                caught = handlers, id(self._slots)
                for handler in handlers:
                    yield handler, State((LOST,), self._slots)
            opcode = code[at]
            if opcode in _RETURNS:
                if _RETURNS[opcode]:
                    self.events.append(Returned(self._pop(_RETURNS[opcode])[0]))
                self.exits.add(start)
                return
            if opcode == _ATHROW:
                return
            targets = tuple(self._targets(at))
            if targets:
                self._pop(_CONDITIONS.get(opcode, 0 if opcode in {_GOTO, _GOTO_W} else 1))
                for target in targets:
                    yield target, self._state()
                if opcode in _CONDITIONS:
                    yield at + 3, self._state()
                return
            self._work.spend()
            self._steps.spend()
            self._step(opcode, at)
            at += instruction_length(code, at, 0)

    def _state(self) -> State:
        return State(tuple(self._stack), self._slots)

    def _pop(self, slots: int) -> list[Value]:
        if slots > len(self._stack):
            raise NotFollowed
        if not slots:
            return []
        taken = self._stack[-slots:]
        del self._stack[-slots:]
        return taken

    def _push(self, value: Value, size: int = 1) -> None:
        self._stack.append(value)
        if size == 2:
            self._stack.append(NULL)

    def _step(self, opcode: int, at: int) -> None:
        code = self.method.code
        if opcode == _WIDE:
            opcode, index = code[at + 1], self._u2(at + 2)
        else:
            index = code[at + 1] if at + 1 < len(code) else 0
        if opcode in _EFFECTS:
            takes, gives = _EFFECTS[opcode]
            kept = self._pop(takes)
            widened = kept[0] if opcode == 0x85 else LOST
            if gives:
                self._push(widened, gives)
        elif opcode in _CONSTANTS:
            text, size = _CONSTANTS[opcode]
            self._push(const(text), size)
        elif opcode == 0x01:
            self._push(NULL)
        elif opcode == 0x10:
            self._push(const(int.from_bytes(code[at + 1 : at + 2], "big", signed=True)))
        elif opcode == 0x11:
            self._push(const(self._s2(at + 1)))
        elif opcode in {_LDC, _LDC_W, _LDC2_W}:
            self._push(
                _constant(self._pool.value(index if opcode == _LDC else self._u2(at + 1))),
                2 if opcode == _LDC2_W else 1,
            )
        elif opcode in _SHUFFLES:
            takes, order = _SHUFFLES[opcode]
            taken = self._pop(takes)
            self._stack += [taken[place] for place in order]
        elif opcode in _LOADS:
            self._load(index, opcode - 0x15)
        elif 0x1A <= opcode <= 0x2D:
            self._load((opcode - 0x1A) % 4, (opcode - 0x1A) // 4)
        elif opcode in _STORES:
            self._store(index, opcode - 0x36)
        elif 0x3B <= opcode <= 0x4E:
            self._store((opcode - 0x3B) % 4, (opcode - 0x3B) // 4)
        elif opcode == _IINC:
            self._slots = {**self._slots, index: LOST}
        elif opcode == _AALOAD:
            array, _ = self._pop(2)
            self._push(self.derived("element", at, array))
        elif opcode == _AASTORE:
            array, _, value = self._pop(3)
            self.events.append(Into(array, value, at))
        elif opcode in _KEEPS:
            pass
        elif opcode in {0xBB, 0xBD, 0xBC, 0xC5}:
            self._make(opcode, at)
        elif _GETSTATIC <= opcode <= _PUTFIELD:
            self._field(opcode, self._pool.value(self._u2(at + 1)), at)
        elif opcode == _INVOKEDYNAMIC:
            self._dynamic(self._pool.value(self._u2(at + 1)), at)
        elif 0xB6 <= opcode <= 0xB9:
            self._invoke(self._pool.value(self._u2(at + 1)), is_static=opcode == _INVOKESTATIC, at=at)
        else:
            raise NotFollowed

    def _load(self, slot: int, kind: int) -> None:
        self._push(self._slots.get(slot, LOST), 2 if kind in {1, 3} else 1)

    def _store(self, slot: int, kind: int) -> None:
        size = 2 if kind in {1, 3} else 1
        self._slots = {**self._slots, slot: self._pop(size)[0]}

    def _make(self, opcode: int, at: int) -> None:
        name = "" if opcode == 0xBC else self._pool.value(self._u2(at + 1)).name
        takes = 0 if opcode == 0xBB else self.method.code[at + 3] if opcode == 0xC5 else 1
        self._pop(takes)
        is_array = opcode != 0xBB
        self._push(self.made(f"[{name}" if is_array and not name.startswith("[") else name, at))

    def made(self, type_name: str, at: int) -> Value:
        """Return the object that a place makes."""
        return frozenset({Made(self.ref, at, type_name)})

    def derived(self, type_name: str, at: int, *sources: Value) -> Value:
        """Return an object that has what others have."""
        value = self.made(type_name, at)
        for source in sources:
            if source:
                self.events.append(Into(value, source, at))
        return value

    def _field(self, opcode: int, ref: MemberRef, at: int) -> None:
        size = _size(ref.descriptor)
        is_static = opcode in {_GETSTATIC, _PUTSTATIC}
        value = self._pop(size)[0] if opcode in {_PUTSTATIC, _PUTFIELD} else NULL
        base = None if is_static else self._pop(1)[0]
        if opcode in {_PUTSTATIC, _PUTFIELD}:
            if self.is_own(ref.owner):
                self.events.append(Store(base, ref.owner, ref.name, value))
            return
        if not self.is_own(ref.owner):
            known = _known_field(ref)
            self._push(frozenset({Foreign(self.ref, at, f"{ref.owner}#{ref.name}")}) if known is None else known, size)
        elif base is None:
            self._push(frozenset({StaticField(ref.owner, ref.name)}), size)
        else:
            self._push(named(FieldOf(base, ref.owner, ref.name)), size)

    def _arguments(self, descriptor: str, *, is_static: bool) -> tuple[Value, ...]:
        sizes = [_size(type_name) for type_name in signature(descriptor).parameters]
        taken = self._pop(sum(sizes) + (not is_static))
        arguments = list[Value]()
        if not is_static:
            arguments.append(taken.pop(0))
        for size in sizes:
            arguments.append(taken[0])
            del taken[:size]
        return tuple(arguments)

    def _invoke(self, ref: MemberRef, *, is_static: bool, at: int) -> None:
        arguments = self._arguments(ref.descriptor, is_static=is_static)
        result = signature(ref.descriptor).result
        value = self.call(ref, arguments, is_static=is_static, at=at)
        if result != "V":
            self._push(value, _size(result))

    def call(self, ref: MemberRef, arguments: tuple[Value, ...], *, is_static: bool, at: int) -> Value:
        """Return the result of a call, and note what it does."""
        value = self._text(ref, arguments, at)
        return self._call(self, ref, is_static, arguments, at) if value is None else value

    def _dynamic(self, call: Dynamic, at: int) -> None:
        arguments = self._arguments(call.descriptor, is_static=True)
        if call.bootstrap.name == "makeConcatWithConstants":
            self._push(self._concatenated(call, arguments))
            return
        handles = [argument for argument in call.arguments if isinstance(argument, Handle)]
        if handles and call.bootstrap.owner == "java/lang/invoke/LambdaMetafactory":
            handle = handles[0]
            made = (self.made(handle.member.owner, at),) if handle.kind == _NEW_INVOKE_SPECIAL else ()
            self._push(named(Function(handle.member, (*made, *arguments), handle.kind == _INVOKE_STATIC)))
        else:
            self._push(frozenset({Foreign(self.ref, at, call.bootstrap.name)}))

    def _concatenated(self, call: Dynamic, arguments: tuple[Value, ...]) -> Value:
        parts, waiting, recipe = list[Value](), list(arguments), call.arguments[0]
        for text in re.split("([\x01\x02])", recipe):
            if text in {"\x01", "\x02"}:
                parts.append(waiting.pop(0) if text == "\x01" else LOST)
            elif text:
                parts.append(const(text))
        return joined(parts)

    def _text(self, ref: MemberRef, arguments: tuple[Value, ...], at: int) -> Value | None:
        """Return the result of what is done with texts and boxes; None for other calls."""
        if ref.owner in {"java/lang/StringBuilder", "java/lang/StringBuffer", "scala/collection/mutable/StringBuilder"}:
            return self._build(ref, arguments, at)
        if (ref.owner, ref.name) in _CONCATENATIONS:
            return joined(arguments)
        is_text = ref.owner in _BOXES or ref.owner in {
            "java/lang/Object",
            "java/lang/Class",
            "scala/runtime/BoxesRunTime",
            "java/lang/Number",
            "java/util/Objects",
        }
        if is_text and ref.name in _SAME_TEXT and len(arguments) == 1:
            if (ref.name == "valueOf" and ref.descriptor.startswith("(Z)")) or ref.name == "boxToBoolean":
                return frozenset(
                    Const({"0": "false", "1": "true"}.get(atom.text, atom.text)) if isinstance(atom, Const) else atom
                    for atom in arguments[0]
                )
            return arguments[0]
        return None

    def _build(self, ref: MemberRef, arguments: tuple[Value, ...], at: int) -> Value | None:
        receiver, *others = arguments
        if ref.name == "<init>":
            is_text = others and "String;" in ref.descriptor
            self._replace(receiver, frozenset({Builder(self.ref, at, tuple(others) if is_text else ())}))
            return NULL
        if ref.name == "append" and len(others) == 1:
            builders = frozenset(
                _appended(atom, others[0], is_flag="(Z)" in ref.descriptor) if isinstance(atom, Builder) else Unknown()
                for atom in receiver
            )
            self._replace(receiver, builders)
            return builders
        if ref.name == "toString":
            parts = [joined(atom.parts) if isinstance(atom, Builder) else LOST for atom in receiver]
            return frozenset[Atom]().union(*parts) if len(parts) <= MAX_ATOMS else LOST
        self._replace(receiver, LOST)
        return LOST

    def _replace(self, old: Value, new: Value) -> None:
        """Put what an object has become everywhere where it is."""
        self._stack = [new if value == old else value for value in self._stack]
        self._slots = {slot: new if value == old else value for slot, value in self._slots.items()}


def _appended(builder: Builder, value: Value, *, is_flag: bool) -> Atom:
    parts = (*builder.parts, LOST if is_flag else value)
    grown = Builder(builder.method, builder.at, parts)
    return Unknown() if len(parts) > _MAX_PARTS or grown.depth > MAX_DEPTH else grown


def _constant(value: object) -> Value:
    if isinstance(value, ClassConstant):
        return const(value.name.replace("/", "."))
    return const(value) if isinstance(value, (str, int, float)) else LOST


def _known_field(ref: MemberRef) -> Value | None:
    if ref.owner == "java/lang/Boolean" and ref.name in {"TRUE", "FALSE"}:
        return const(ref.name.lower())
    return NULL if ref.name in {"MODULE$", "INSTANCE", "Companion"} else None
