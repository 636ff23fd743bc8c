"""The methods of an application together: which calls reach which methods, and what names of values may be.

``value_flow`` runs each method by itself; parameters, fields and results of own methods are names there. They are
resolved here, over all methods.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from attrs import field, frozen

from streams_assignor.upgrade.application.bytecode import CodeFile, MemberRef, Method, read_code
from streams_assignor.upgrade.application.class_file import DAMAGE, PRIVATE, STATIC, InvalidClass
from streams_assignor.upgrade.application.flow_values import (
    LOST,
    Applied,
    Atom,
    Builder,
    Const,
    Event,
    FieldOf,
    Filled,
    Foreign,
    Function,
    Into,
    Invoke,
    Joined,
    Made,
    OfFramework,
    Param,
    Passed,
    Put,
    Result,
    ResultOf,
    Returned,
    StaticField,
    Store,
    Unknown,
    Used,
    Value,
)
from streams_assignor.upgrade.application.known_calls import PLAIN, is_for_streams, known_call, may_have_settings
from streams_assignor.upgrade.application.source_names import source_class, source_method
from streams_assignor.upgrade.application.value_flow import MAX_WORK, MethodRun, NotFollowed, WorkLimit

MAX_DEPTH: Final = 24
"""Names that lead to other names."""
MAX_LEAVES: Final = 200
MAX_CALLS_ABOVE: Final = 3
"""Calls of calls whose arguments are told apart."""
MAX_CALLS_INSIDE: Final = 1
"""Calls inside a call whose arguments are told apart from those of other calls."""
MAX_NAMES: Final = 1_000_000
"""Names of one application that are resolved, with repetitions: the rest may be anything."""
MAX_BYTES: Final = 1 << 25
"""Of class files: most applications have far less than a tenth of it."""
MAX_CALLERS: Final = 100
"""Calls of one method whose arguments are told apart."""
_T = TypeVar("_T")
_PROPERTIES: Final = b"java/util/Properties"
_KAFKA: Final = b"org/apache/kafka/"
_SINGLETONS: Final = frozenset({"MODULE$", "INSTANCE"})
_NO_LEAVES: Final[frozenset[Atom]] = frozenset()


@frozen(cache_hash=True)
class CallFrame:
    """The arguments of a call, and those of the call around it."""

    method: MemberRef
    arguments: tuple[Value, ...]
    outer: CallFrame | None
    at: CodePlace | None = field(eq=False)

    @property
    def level(self) -> int:
        """How many calls are around it."""
        return self.outer.level + 1 if self.outer else 0


@frozen
class CodePlace:
    """An instruction of a method."""

    method: Method
    code: CodeFile = field(eq=False)
    at: int

    def __str__(self) -> str:
        return f"your class {self.code.place(self.method, self.at)}"


class OwnMethods:
    """The own classes, and what their methods do.

    Args:
        classes: The content of the application's own classes, by their names.
        original: Returns the name that Kafka gives to a class of a copy of Kafka; that of another class stays.
    """

    def __init__(self, classes: Mapping[str, bytes], original: Callable[[str], str]) -> None:
        self._classes, self._original = classes, original
        self._files: dict[str, CodeFile | None] = {}
        self._subtypes: defaultdict[str, list[str]] = defaultdict(list)
        self._methods: dict[MemberRef, Method] = {}
        self._above: dict[str, list[str]] = {}
        self._reached_by: dict[MemberRef, list[MemberRef]] = {}
        self.facts: list[tuple[Event, CodePlace]] = []
        self._returned: defaultdict[MemberRef, list[Value]] = defaultdict(list)
        self._calls: defaultdict[MemberRef, list[CallFrame]] = defaultdict(list)
        self._static: defaultdict[tuple[str, str], list[Value]] = defaultdict(list)
        self._stores: defaultdict[tuple[str, str], list[Store]] = defaultdict(list)
        self._stores_in: defaultdict[MemberRef, list[Store]] = defaultdict(list)
        self._constructed_in: defaultdict[MemberRef, list[Invoke]] = defaultdict(list)
        self._constructor: dict[Atom, Invoke] = {}
        self._applied: list[tuple[Applied, CodePlace]] = []
        self._abstract: list[tuple[Invoke, CodePlace]] = []
        """Calls of own methods that each class below has itself."""
        self._of_others = _NO_LEAVES
        """Objects that others make, and what collections give that have such."""
        self._given = _NO_LEAVES
        """Objects that others get, and may change."""
        self._known: dict[Atom, frozenset[Atom]] = {}
        self._known_in_calls: dict[tuple[Atom, CallFrame], frozenset[Atom]] = {}
        self._circles: dict[Atom, int] = {}
        """Names that are not known yet: where the circle begins that they are in."""
        self._first = 0
        self.not_followed: dict[str, None] = {}
        self.unsure: set[CodePlace] = set()
        self._instructions, self.names = WorkLimit(MAX_WORK), WorkLimit(MAX_NAMES)

        for name in self._classes:
            if code := self._file(name):
                self._methods.update((method.ref, method) for method in code.methods if method.owner == name)
                for supertype in (code.superclass, *code.interfaces):
                    self._subtypes[supertype].append(name)
        self._run_classes()
        self._apply_functions()

    def _run_classes(self) -> None:
        """Note what the methods do, those of the classes about settings first."""
        size = 0
        for name in sorted(self._classes, key=lambda name: not _is_about_settings(self._classes[name])):
            size += len(self._classes[name])
            if size > MAX_BYTES or self._instructions.is_spent:
                self.not_followed["your classes are too many to look at all of them"] = None
                break
            self._run_methods(name)

    def _apply_functions(self) -> None:
        """Note the calls of lambdas by what they are passed to, and which own objects others get."""
        for event, place in self._applied:
            for atom in self.leaves(event.function):
                if isinstance(atom, Function) and atom.ref in self._methods:
                    ref, captured = atom.ref, atom.captured
                elif isinstance(atom, Made) and atom.type in self._classes:
                    ref = MemberRef(atom.type, event.ref.name, event.ref.descriptor)
                    captured = (frozenset({atom}),)
                else:
                    self.facts += ((each, place) for each in _of_others(event, atom))
                    continue
                call = CallFrame(ref, (*captured, *event.arguments), None, place)
                self._calls[ref].append(call)
        self._of_others = self._objects_of_others()
        for invoked, place in self._abstract:
            if self._may_be_of_others(invoked.arguments[0]):
                text = f"{invoked.ref.owner}#{invoked.ref.name}"
                self.facts += (
                    (Used(value, text, invoked.at, is_changed=True), place) for value in invoked.arguments[1:]
                )
        used = [event.value for event, _ in self.facts if isinstance(event, Used) and event.is_changed]
        self._given = _NO_LEAVES.union(*map(self.leaves, used))
        self._known.clear()
        self._known_in_calls.clear()

    def _objects_of_others(self) -> frozenset[Atom]:
        """Return what code of others makes, and the collections and elements that may be it."""
        if not self._abstract:
            return _NO_LEAVES
        holders = defaultdict[Atom, set[Atom]](set)
        for event, _ in self.facts:
            if isinstance(event, Into):
                containers = self.leaves(event.container)
                for content in self.leaves(event.content):
                    holders[content] |= containers
        made = (atom for atom in [*holders] if _is_made_by_others(atom))
        return frozenset(closure(made, lambda atom: holders.get(atom, ())))

    def _may_be_of_others(self, value: Value) -> bool:
        return any(_is_made_by_others(atom) or atom in self._of_others for atom in self.leaves(value))

    def _is_abstract(self, ref: MemberRef) -> bool:
        """Whether an own class leaves a method to those below it: classes of others may be there, too."""
        return ref.owner in self._classes and ref not in self._methods

    def _file(self, name: str) -> CodeFile | None:
        if name not in self._files:
            try:
                self._files[name] = read_code(self._classes[name])
            except InvalidClass:
                self._files[name] = None
                self.not_followed[f"your class {source_class(name)} cannot be read"] = None
        return self._files[name]

    def _run_methods(self, name: str) -> None:
        code = self._file(name)
        for method in code.methods if code else ():
            assert code is not None
            run = MethodRun(method, code.pool, self._classes.__contains__, self._call, self._instructions)
            try:
                events = run.run()
            except (NotFollowed, AttributeError, *DAMAGE):
                self.not_followed[f"{CodePlace(method, code, 0)} cannot be followed"] = None
                continue
            for event in events:
                place = CodePlace(method, code, getattr(event, "at", 0))
                if isinstance(event, Put) and not run.is_always_done(event.at):
                    self.unsure.add(place)
                self._note(event, place)

    def _note(self, event: Event, place: CodePlace) -> None:
        method = place.method.ref
        if isinstance(event, Returned):
            self._returned[method].append(event.value)
        elif isinstance(event, Store):
            key = event.owner, event.name
            if event.base is None:
                self._static[key].append(event.value)
            else:
                self._stores[key].append(event)
                self._stores_in[method].append(event)
        elif isinstance(event, Invoke):
            ref = event.ref
            if event.arguments and self._is_abstract(ref):
                self._abstract.append((event, place))
            if event.arguments and not self._implementations(ref):
                self._applied.append((Applied(ref, event.arguments[0], event.arguments[1:], event.at), place))
            self._calls[ref].append(CallFrame(ref, event.arguments, None, place))
            if ref.name == "<init>":
                self._constructed_in[method].append(event)
                self._constructor.update((atom, event) for atom in event.arguments[0] if isinstance(atom, Made))
        elif isinstance(event, Applied):
            self._applied.append((event, place))
        else:
            self.facts.append((event, place))

    def _call(
        self,
        run: MethodRun,
        ref: MemberRef,
        is_static: bool,
        arguments: tuple[Value, ...],
        at: int,
    ) -> Value:
        """Tell what a call does; a method that an own class inherits is that of the class which has it."""
        if ref.owner in self._classes:
            ref = MemberRef(self._declaring(ref), ref.name, ref.descriptor)
            if not is_static and self._returns_itself(ref):
                known_call(run, ref, is_static, arguments, at)
                return arguments[0]
        else:
            ref = MemberRef(self._original(ref.owner), ref.name, ref.descriptor)
        return known_call(run, ref, is_static, arguments, at)

    def _declaring(self, ref: MemberRef) -> str:
        """Return the own type that has the method, or else the nearest one of others above it."""
        others = list[str]()
        for name in self._types_above(ref.owner):
            code = self._file(name) if name in self._classes else None
            if code is None:
                others.append(name)
            elif (ref.name, ref.descriptor) in code.declared:
                return name
        return min(others, key=lambda name: name == "java/lang/Object", default=ref.owner)

    def _types_above(self, name: str) -> list[str]:
        """Return a type and its supertypes, as far as they are known."""

        def above(name: str) -> Iterable[str]:
            code = self._file(name) if name in self._classes else None
            return filter(None, (code.superclass, *code.interfaces)) if code else ()

        if name not in self._above:
            self._above[name] = list(closure([name], above))
            self.names.note(len(self._above[name]))
        return self._above[name]

    def _implementations(self, ref: MemberRef) -> list[MemberRef]:
        """Return the methods of own classes that a call may reach."""
        if ref not in self._reached_by:
            types = closure([ref.owner], lambda name: self._subtypes.get(name, ()))
            self.names.note(len(types))
            refs = [MemberRef(name, ref.name, ref.descriptor) for name in types]
            self._reached_by[ref] = [each for each in refs if each in self._methods]
        return self._reached_by[ref]

    def _returns_itself(self, ref: MemberRef) -> bool:
        """Whether a method is one of a builder: all that it returns is its own object."""
        method = self._methods.get(ref)
        returned = re.findall(b"(?s).\xb0", method.code) if method and ref.descriptor.endswith(";") else []
        return bool(returned) and all(each == b"\x2a\xb0" for each in returned)

    def returned_to_others(self) -> Iterator[tuple[frozenset[str], frozenset[Atom]]]:
        """Yield what methods return that others call, each with the annotations that it has."""
        for ref, values in [*self._returned.items()]:
            if not values or PLAIN.fullmatch(ref.descriptor):
                continue
            annotations = self._annotations(ref.owner, ref.name, ref.descriptor)
            if annotations or not self.callers(ref):
                yield annotations, self.leaves(frozenset().union(*values))

    def given_by(self, type_name: str) -> frozenset[Atom]:
        """Return what the methods of an own type return: it may be a map, an iterator or a function for others."""
        owners = self._types_above(type_name) if type_name in self._classes else ()
        methods = (method for owner in owners if owner in self._classes for method in self._instance_methods(owner))
        return _NO_LEAVES.union(*(self.leaves(value) for method in methods for value in self._returned[method.ref]))

    def held_in_fields(self) -> Iterator[tuple[frozenset[Atom], frozenset[Atom]]]:
        """Yield own objects, and what they have in fields that are not only for their own methods."""
        for (owner, name), stores in [*self._stores.items()]:
            if self._is_open(owner, name):
                yield from ((self.leaves(store.base or LOST), self.leaves(store.value)) for store in stores)

    def made_by_others(self, type_name: str) -> bool:
        """Whether code of others makes objects of a type, or a part of them, and may put settings there."""
        types = self._types_above(type_name) if type_name in self._classes else [type_name]
        return any(may_have_settings(self._original(name)) for name in types if name not in self._classes)

    def _instance_methods(self, owner: str) -> Iterator[Method]:
        code = self._file(owner)
        return (method for method in code.methods if not method.flags & STATIC) if code else iter(())

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield each class with the texts that it has."""
        for name in self._classes:
            if code := self._file(name):
                yield from ((name, text) for text in code.pool.texts.values())

    def callers(self, method: MemberRef) -> list[CallFrame]:
        """Return the calls that may reach a method."""
        refs = [MemberRef(owner, method.name, method.descriptor) for owner in self._types_above(method.owner)]
        calls = [call for ref in refs for call in self._calls.get(ref, ()) if not _is_forwarder(call.at)]
        self.names.note(len(calls))
        return [CallFrame(method, call.arguments, None, call.at) for call in calls]

    def leaves(self, value: Value, frame: CallFrame | None = None, depth: int = 0) -> frozenset[Atom]:
        """Return what a value may be: constants, objects, and what comes from others."""
        found = _NO_LEAVES.union(*(self._leaf(atom, frame, depth) for atom in value)) if value else _NO_LEAVES
        return found if len(found) <= MAX_LEAVES else LOST

    def _leaf(self, atom: Atom, frame: CallFrame | None, depth: int) -> frozenset[Atom]:
        if isinstance(atom, (Const, Made, Foreign, OfFramework, Unknown, Function)):
            return frozenset({atom})
        if depth > MAX_DEPTH or self.names.is_spent:
            return LOST
        if frame is not None and _depends((frozenset({atom}),)):
            return self._of_call(atom, frame, depth)
        if atom not in self._known:
            self.names.note()
            self._known[atom] = self._circle(atom, depth)
        else:
            self._first = min(self._first, self._circles.get(atom, self._first))
        return self._known[atom]

    def _of_call(self, atom: Atom, frame: CallFrame, depth: int) -> frozenset[Atom]:
        """Resolve a name in a call, once unless it depends on a circle that is not known yet."""
        if (atom, frame) in self._known_in_calls:
            return self._known_in_calls[atom, frame]
        self.names.note()
        before, self._first = self._first, len(self._circles)
        found = self._resolve(atom, frame, depth + 1)
        if self._first >= len(self._circles):
            self._known_in_calls[atom, frame] = found
        self._first = min(before, self._first)
        return found

    def _circle(self, atom: Atom, depth: int) -> frozenset[Atom]:
        """Resolve a name; of names in a circle, only the first one is known then: the others lack what it has."""
        order, before = len(self._circles), self._first
        self._circles[atom] = self._first = order
        self._known[atom] = _NO_LEAVES
        found = self._resolve(atom, None, depth + 1)
        self._circles[atom] = self._first
        while self._first == order < len(self._circles):
            del self._known[self._circles.popitem()[0]]
        self._first = min(before, self._first)
        return found

    def _resolve(self, atom: Atom, frame: CallFrame | None, depth: int) -> frozenset[Atom]:
        if isinstance(atom, Param):
            return self._parameter(atom, frame, depth)
        if isinstance(atom, StaticField):
            return self._static_field(atom, depth)
        if isinstance(atom, FieldOf):
            return self._field(atom, frame, depth)
        if isinstance(atom, Result):
            targets = self._implementations(atom.ref)
            found = [
                self.leaves(value, _inner(target, atom.arguments, frame), depth)
                for target in targets
                for value in self._returned[target]
            ]
            is_left = targets and atom.arguments and self._is_abstract(atom.ref)
            if is_left and self._may_be_of_others(atom.arguments[0]):
                found.append(_foreign(atom.ref, f"{atom.ref.owner}#{atom.ref.name}"))
            if targets or not atom.arguments:
                return _NO_LEAVES.union(*found) if targets else _foreign(atom.ref, source_class(atom.ref.owner))
            return self._result_of(ResultOf(atom.arguments[0], atom.arguments[1:]), frame, depth)
        if isinstance(atom, ResultOf):
            return self._result_of(atom, frame, depth)
        assert isinstance(atom, (Joined, Builder))
        return self._text(atom.parts, frame, depth)

    def _result_of(self, atom: ResultOf, frame: CallFrame | None, depth: int) -> frozenset[Atom]:
        """Return what a function returns that is a value."""
        found = list[frozenset[Atom]]()
        for function in self.leaves(atom.function, frame, depth):
            if not isinstance(function, Function):
                return LOST
            arguments = (*function.captured, *atom.arguments)
            if function.ref.name == "<init>":
                found.append(self.leaves(arguments[0], frame, depth))
            elif function.ref not in self._methods:
                return LOST
            target = _inner(function.ref, arguments, frame)
            found += [self.leaves(value, target, depth) for value in self._returned[function.ref]]
        return _NO_LEAVES.union(*found)

    def _parameter(self, atom: Param, frame: CallFrame | None, depth: int) -> frozenset[Atom]:
        frames = [frame] if frame and frame.method == atom.method else self.callers(atom.method)
        words = f"a parameter of {source_class(atom.method.owner)}, {source_method(atom.method.name)}"
        other = _foreign(atom.method, words, atom.index)
        if not frames:
            only = self._only_object(atom)
            return self.leaves(only, None, depth) if only else other
        return _NO_LEAVES.union(
            *(
                self.leaves(each.arguments[atom.index], each.outer, depth)
                if atom.index < len(each.arguments)
                else other
                for each in frames
            )
        )

    def _only_object(self, atom: Param) -> Value:
        """Return the field of the only object of a class, if a method is one of it: Scala and Kotlin have such."""
        method = self._methods.get(atom.method)
        is_object = atom.index == 0 and method is not None and not method.flags & STATIC
        code = self._file(atom.method.owner) if is_object else None
        names = _SINGLETONS.intersection(code.fields) if code else ()
        return frozenset(StaticField(atom.method.owner, name) for name in names)

    def _static_field(self, atom: StaticField, depth: int) -> frozenset[Atom]:
        for owner in self._types_above(atom.owner):
            if values := self._static[owner, atom.name]:
                others = self._from_others(atom, Filled) if self._annotations(owner, atom.name) else _NO_LEAVES
                return others.union(*(self.leaves(value, None, depth) for value in values))
        return self._from_others(atom)

    def _field(self, atom: FieldOf, frame: CallFrame | None, depth: int) -> frozenset[Atom]:
        """Return what a field may be: what the constructor of its object puts there, or else any other method."""
        bases = self.leaves(atom.base, frame, depth)
        found = list[frozenset[Atom]]()
        owners = self._types_above(atom.owner)
        others = self._from_others(atom, Filled) if self._is_filled(bases, owners, atom.name) else _NO_LEAVES
        for base in bases:
            made = self._constructor.get(base)
            values = list(self._constructed(made, owners, atom.name, None, depth)) if made else []
            if not values:
                found.clear()
                break
            found += values
        if found:
            return others.union(*found)
        stores = [store for owner in owners for store in self._stores[owner, atom.name]]
        if not stores:
            return self._from_others(atom)
        return others.union(*(self.leaves(store.value, None, depth) for store in stores))

    def _from_others(self, atom: FieldOf | StaticField, kind: type[Foreign] = Foreign) -> frozenset[Atom]:
        text = f"the field {source_class(atom.owner)}.{source_method(atom.name)}"
        return frozenset({kind(MemberRef(atom.owner, atom.name, ""), 0, text, is_given=kind is Foreign)})

    def _is_filled(self, bases: frozenset[Atom], owners: list[str], name: str) -> bool:
        """Whether others may put something into a field: they have made its object, or get it.

        One that a framework has made with its constructor also has what that puts there; but for what it injects.
        """
        if bases & self._given or any(
            isinstance(base, Unknown) or (isinstance(base, Foreign) and not base.is_given) for base in bases
        ):
            return True
        is_given = any(isinstance(base, Foreign) for base in bases)
        return is_given and any(self._is_open(owner, name) for owner in owners)

    def _is_open(self, owner: str, name: str) -> bool:
        """Whether a field is not only for the methods of its class."""
        code = self._file(owner) if owner in self._classes else None
        if code is None or name not in code.fields:
            return False
        returned = (
            atom
            for method in code.methods
            for value in self._returned.get(method.ref, ())
            for atom in value
            if isinstance(atom, FieldOf)
        )
        is_private = code.fields[name] & PRIVATE
        return not is_private or bool(self._annotations(owner, name)) or any(atom.name == name for atom in returned)

    def _annotations(self, owner: str, name: str, descriptor: str = "") -> frozenset[str]:
        code = self._file(owner) if owner in self._classes else None
        return code.annotations.get((name, descriptor), frozenset()) if code else frozenset()

    def _constructed(
        self, made: Invoke, owners: list[str], name: str, outer: CallFrame | None, depth: int
    ) -> Iterator[frozenset[Atom]]:
        """Yield what a constructor, and those that it calls for the same object, put into a field."""
        if depth > MAX_DEPTH:
            return
        frame = CallFrame(made.ref, made.arguments, outer, None)
        for store in self._stores_in[made.ref]:
            if store.name == name and store.owner in owners:
                yield self.leaves(store.value, frame, depth + 1)
        itself = frozenset({Param(made.ref, 0)})
        for inner in (inner for inner in self._constructed_in[made.ref] if inner.arguments[0] == itself):
            yield from self._constructed(inner, owners, name, frame, depth + 1)

    def _text(self, parts: Iterable[Value], frame: CallFrame | None, depth: int) -> frozenset[Atom]:
        texts = [""]
        for part in parts:
            ends = self.leaves(part, frame, depth)
            are_known = all(isinstance(end, Const) for end in ends)
            if not ends or not are_known or len(texts) * len(ends) > MAX_LEAVES:
                return LOST
            texts = [text + end.text for text in texts for end in ends if isinstance(end, Const)]
        return frozenset(map(Const, texts))

    def frames(self, method: MemberRef, values: tuple[Value, ...], depth: int = 0) -> Iterator[CallFrame | None]:
        """Yield the calls of a method on which values depend; None if they depend on none."""
        is_told_apart = depth < MAX_CALLS_ABOVE and not self.names.is_spent and _depends(values)
        callers = self.callers(method) if is_told_apart else []
        if not callers or len(callers) > MAX_CALLERS:
            yield None
        for call in callers if len(callers) <= MAX_CALLERS else ():
            assert call.at is not None
            for outer in self.frames(call.at.method.ref, call.arguments, depth + 1):
                yield CallFrame(method, call.arguments, outer, call.at)


def _is_forwarder(place: CodePlace | None) -> bool:
    """Whether a call is the only thing that a static method of Scala does, for the object with the same name."""
    method = place.method if place else None
    return method is not None and method.name != "<clinit>" and bool(method.flags & STATIC) and not method.lines


def _foreign(ref: MemberRef, text: str, at: int = 0) -> frozenset[Atom]:
    return frozenset({Foreign(ref, at, text, is_given=True)})


def _is_made_by_others(atom: Atom) -> bool:
    return isinstance(atom, Unknown) or (isinstance(atom, Foreign) and not atom.is_given and not atom.is_plain)


def _of_others(event: Applied, function: Atom) -> Iterator[Event]:
    """Yield what a function of others does with its arguments, or one that is not known."""
    ref = function.ref if isinstance(function, Function) else event.ref
    for value in event.arguments:
        if is_for_streams(ref):
            yield Passed(value, is_streams=True, at=event.at)
        else:
            yield Used(value, f"{ref.owner}#{ref.name}", event.at, is_changed=True)


def _depends(values: Iterable[Value]) -> bool:
    """Whether values are made of parameters of their method."""
    return any(isinstance(atom, Param) or _depends(atom.parts_of_names) for value in values for atom in value)


def _inner(method: MemberRef, arguments: tuple[Value, ...], outer: CallFrame | None) -> CallFrame | None:
    """Return a call inside another one; None if it is too far inside to be told from other calls of the method."""
    return None if outer and outer.level >= MAX_CALLS_INSIDE else CallFrame(method, arguments, outer, None)


def closure(start: Iterable[_T], following: Callable[[_T], Iterable[_T]]) -> dict[_T, None]:
    """Return things and all that follows them, each once, the nearest first."""
    found, waiting = dict[_T, None](), deque(start)
    while waiting:
        thing = waiting.popleft()
        if thing not in found:
            found[thing] = None
            waiting.extend(following(thing))
    return found


def _is_about_settings(content: bytes) -> bool:
    return _PROPERTIES in content or _KAFKA in content
