"""The settings of Kafka that the classes of an application make.

Constants are followed into ``Properties``, maps, pairs and builders, through fields, parameters and results of the
application's own methods, in Java, Kotlin and Scala. They are settings of Kafka Streams if the map reaches its
constructor, or if only Streams has the key. Where a map gets keys that nothing here knows (the environment, a library,
a parameter that others give), any key may be set.

Not followed: reflection, arithmetic and text methods, what is kept in collections by its place, and libraries.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

from attrs import field, frozen

from streams_assignor.upgrade.application.bytecode import CodeFile, MemberRef, Method, read_code
from streams_assignor.upgrade.application.class_file import DAMAGE, STATIC, InvalidClass
from streams_assignor.upgrade.application.configuration import CONFIGS, keys_of_any_release
from streams_assignor.upgrade.application.known_calls import known_call
from streams_assignor.upgrade.application.setting_names import OPEN_PREFIXES, WITHOUT_DEFINITION, scope
from streams_assignor.upgrade.application.source_names import source_class, source_method
from streams_assignor.upgrade.application.value_flow import (
    LOST,
    MAX_WORK,
    Applied,
    Atom,
    Builder,
    Const,
    Event,
    FieldOf,
    Foreign,
    Function,
    Into,
    Invoke,
    Joined,
    Load,
    Made,
    MethodRun,
    NotFollowed,
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
    WorkLimit,
)
from streams_assignor.upgrade.hazards import UNKNOWN_VALUE, CodeSettings, LoadedFile, Setting

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
_FILE: Final = re.compile(r"(?:.*[/\\:])?([^/\\:]+\.(?:properties|props|xml|conf|config|cfg|ya?ml|json|txt|env|ini))")
_NO_LEAVES: Final[frozenset[Atom]] = frozenset()


@frozen(cache_hash=True)
class _Frame:
    """The arguments of a call, and those of the call around it."""

    method: MemberRef
    arguments: tuple[Value, ...]
    outer: _Frame | None
    at: _Place | None = field(eq=False)

    @property
    def level(self) -> int:
        """How many calls are around it."""
        return self.outer.level + 1 if self.outer else 0


@frozen
class _Place:
    method: Method
    code: CodeFile = field(eq=False)
    at: int

    def __str__(self) -> str:
        return f"your class {self.code.place(self.method, self.at)}"


def settings_in_code(classes: Mapping[str, bytes], original: Callable[[str], str] = str) -> CodeSettings:
    """Return the settings that classes make.

    Args:
        classes: The content of the application's own classes, by their names.
        original: Returns the name that Kafka gives to a class of a copy of Kafka; that of another class stays.
    """
    return _Application(classes, original).settings()


def is_key(name: str) -> bool:
    """Whether a text is the name of a setting of Kafka, with or without a prefix of Streams.

    >>> is_key("producer.acks"), is_key("orders")
    (True, False)
    """
    plain, configs = scope(name)
    if plain.startswith(tuple(OPEN_PREFIXES)) or plain in WITHOUT_DEFINITION:
        return True
    return any(plain in keys_of_any_release(config) for config in configs)


def _is_of_streams(name: str) -> bool:
    """Whether only Kafka Streams has a setting of this name."""
    plain, configs = scope(name)
    if configs != CONFIGS or plain in WITHOUT_DEFINITION:
        return True
    return plain in keys_of_any_release("streams") and not any(
        plain in keys_of_any_release(config) for config in CONFIGS if config != "streams"
    )


class _Application:
    """The own classes, and what their methods do."""

    def __init__(self, classes: Mapping[str, bytes], original: Callable[[str], str]) -> None:
        self._classes, self._original = classes, original
        self._files: dict[str, CodeFile | None] = {}
        self._subtypes: defaultdict[str, list[str]] = defaultdict(list)
        self._methods: dict[MemberRef, Method] = {}
        self._above: dict[str, list[str]] = {}
        self._reached_by: dict[MemberRef, list[MemberRef]] = {}
        self._facts: list[tuple[Event, _Place]] = []
        self._returned: defaultdict[MemberRef, list[Value]] = defaultdict(list)
        self._calls: defaultdict[MemberRef, list[_Frame]] = defaultdict(list)
        self._static: defaultdict[tuple[str, str], list[Value]] = defaultdict(list)
        self._stores: defaultdict[tuple[str, str], list[Value]] = defaultdict(list)
        self._stores_in: defaultdict[MemberRef, list[Store]] = defaultdict(list)
        self._constructed_in: defaultdict[MemberRef, list[Invoke]] = defaultdict(list)
        self._constructor: dict[Atom, Invoke] = {}
        self._applied: list[tuple[Applied, _Place]] = []
        self._known: dict[Atom, frozenset[Atom]] = {}
        self._known_in_calls: dict[tuple[Atom, _Frame], frozenset[Atom]] = {}
        self._circles: dict[Atom, int] = {}
        """Names that are not known yet: where the circle begins that they are in."""
        self._first = 0
        self.not_followed: dict[str, None] = {}
        self._unsure: set[_Place] = set()
        self._instructions, self.names = WorkLimit(MAX_WORK), WorkLimit(MAX_NAMES)

    def settings(self) -> CodeSettings:
        """Look at all classes."""
        for name in self._classes:
            if code := self._file(name):
                self._methods.update((method.ref, method) for method in code.methods if method.owner == name)
                for supertype in (code.superclass, *code.interfaces):
                    self._subtypes[supertype].append(name)
        self._run_classes()
        self._apply_functions()
        return _Judge(self).settings()

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
        """Note the calls of lambdas by what they are passed to."""
        for event, place in self._applied:
            for atom in self.leaves(event.function):
                if isinstance(atom, Function):
                    ref, captured = atom.ref, atom.captured
                elif isinstance(atom, Made):
                    ref = MemberRef(atom.type, event.ref.name, event.ref.descriptor)
                    captured = (frozenset({atom}),)
                else:
                    continue
                call = _Frame(ref, (*captured, *event.arguments), None, place)
                self._calls[ref].append(call)
        self._known.clear()
        self._known_in_calls.clear()

    def _file(self, name: str) -> CodeFile | None:
        if name not in self._files:
            try:
                self._files[name] = read_code(self._classes[name])
            except InvalidClass:
                self._files[name] = None
        return self._files[name]

    def _run_methods(self, name: str) -> None:
        code = self._file(name)
        for method in code.methods if code else ():
            assert code is not None
            run = MethodRun(method, code.pool, self._classes.__contains__, self._call, self._instructions)
            try:
                events = run.run()
            except (NotFollowed, AttributeError, *DAMAGE):
                self.not_followed[f"{_Place(method, code, 0)} cannot be followed"] = None
                continue
            for event in events:
                place = _Place(method, code, getattr(event, "at", 0))
                if isinstance(event, Put) and not run.is_always_done(event.at):
                    self._unsure.add(place)
                self._note(event, place)

    def _note(self, event: Event, place: _Place) -> None:
        method = place.method.ref
        if isinstance(event, Returned):
            self._returned[method].append(event.value)
        elif isinstance(event, Store):
            key = event.owner, event.name
            if event.base is None:
                self._static[key].append(event.value)
            else:
                self._stores[key].append(event.value)
                self._stores_in[method].append(event)
        elif isinstance(event, Invoke):
            ref = event.ref
            if event.arguments and not self._implementations(ref):
                self._applied.append((Applied(ref, event.arguments[0], event.arguments[1:], event.at), place))
            self._calls[ref].append(_Frame(ref, event.arguments, None, place))
            if ref.name == "<init>":
                self._constructed_in[method].append(event)
                self._constructor.update((atom, event) for atom in event.arguments[0] if isinstance(atom, Made))
        elif isinstance(event, Applied):
            self._applied.append((event, place))
        else:
            self._facts.append((event, place))

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
            self._above[name] = list(_closure([name], above))
            self.names.note(len(self._above[name]))
        return self._above[name]

    def _implementations(self, ref: MemberRef) -> list[MemberRef]:
        """Return the methods of own classes that a call may reach."""
        if ref not in self._reached_by:
            types = _closure([ref.owner], lambda name: self._subtypes.get(name, ()))
            self.names.note(len(types))
            refs = [MemberRef(name, ref.name, ref.descriptor) for name in types]
            self._reached_by[ref] = [each for each in refs if each in self._methods]
        return self._reached_by[ref]

    def _returns_itself(self, ref: MemberRef) -> bool:
        """Whether a method is one of a builder: all that it returns is its own object."""
        method = self._methods.get(ref)
        returned = re.findall(b"(?s).\xb0", method.code) if method and ref.descriptor.endswith(";") else []
        return bool(returned) and all(each == b"\x2a\xb0" for each in returned)

    def callers(self, method: MemberRef) -> list[_Frame]:
        """Return the calls that may reach a method."""
        refs = [MemberRef(owner, method.name, method.descriptor) for owner in self._types_above(method.owner)]
        calls = [call for ref in refs for call in self._calls.get(ref, ()) if not _is_forwarder(call.at)]
        self.names.note(len(calls))
        return [_Frame(method, call.arguments, None, call.at) for call in calls]

    def leaves(self, value: Value, frame: _Frame | None = None, depth: int = 0) -> frozenset[Atom]:
        """Return what a value may be: constants, objects, and what comes from others."""
        found = _NO_LEAVES.union(*(self._leaf(atom, frame, depth) for atom in value)) if value else _NO_LEAVES
        return found if len(found) <= MAX_LEAVES else LOST

    def _leaf(self, atom: Atom, frame: _Frame | None, depth: int) -> frozenset[Atom]:
        if isinstance(atom, (Const, Made, Foreign, OfFramework, Unknown, Function)):
            return frozenset({atom})
        self.names.note()
        if depth > MAX_DEPTH or self.names.is_spent:
            return LOST
        if frame is not None and _depends((frozenset({atom}),)):
            return self._of_call(atom, frame, depth)
        if atom not in self._known:
            self._known[atom] = self._circle(atom, depth)
        else:
            self._first = min(self._first, self._circles.get(atom, self._first))
        return self._known[atom]

    def _of_call(self, atom: Atom, frame: _Frame, depth: int) -> frozenset[Atom]:
        """Resolve a name in a call, once unless it depends on a circle that is not known yet."""
        if (atom, frame) in self._known_in_calls:
            return self._known_in_calls[atom, frame]
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

    def _resolve(self, atom: Atom, frame: _Frame | None, depth: int) -> frozenset[Atom]:
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
            if targets or not atom.arguments:
                return _NO_LEAVES.union(*found) if targets else _foreign(atom.ref, source_class(atom.ref.owner))
            return self._result_of(ResultOf(atom.arguments[0], atom.arguments[1:]), frame, depth)
        if isinstance(atom, ResultOf):
            return self._result_of(atom, frame, depth)
        assert isinstance(atom, (Joined, Builder))
        return self._text(atom.parts, frame, depth)

    def _result_of(self, atom: ResultOf, frame: _Frame | None, depth: int) -> frozenset[Atom]:
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

    def _parameter(self, atom: Param, frame: _Frame | None, depth: int) -> frozenset[Atom]:
        frames = [frame] if frame and frame.method == atom.method else self.callers(atom.method)
        words = f"a parameter of {source_class(atom.method.owner)}, {source_method(atom.method.name)}"
        other = _foreign(atom.method, words, atom.index)
        if not frames:
            return other
        return _NO_LEAVES.union(
            *(
                self.leaves(each.arguments[atom.index], each.outer, depth)
                if atom.index < len(each.arguments)
                else other
                for each in frames
            )
        )

    def _static_field(self, atom: StaticField, depth: int) -> frozenset[Atom]:
        for owner in self._types_above(atom.owner):
            if values := self._static[owner, atom.name]:
                return _NO_LEAVES.union(*(self.leaves(value, None, depth) for value in values))
        return _foreign(MemberRef(atom.owner, atom.name, ""), f"the field {source_class(atom.owner)}.{atom.name}")

    def _field(self, atom: FieldOf, frame: _Frame | None, depth: int) -> frozenset[Atom]:
        """Return what a field may be: what the constructor of its object puts there, or else any other method."""
        bases = self.leaves(atom.base, frame, depth)
        found = list[frozenset[Atom]]()
        owners = self._types_above(atom.owner)
        for base in bases:
            made = self._constructor.get(base)
            values = list(self._constructed(made, owners, atom.name, None, depth)) if made else []
            if not values:
                found.clear()
                break
            found += values
        if found:
            return _NO_LEAVES.union(*found)
        stores = [value for owner in owners for value in self._stores[owner, atom.name]]
        if not stores:
            return _foreign(MemberRef(atom.owner, atom.name, ""), f"the field {source_class(atom.owner)}.{atom.name}")
        return _NO_LEAVES.union(*(self.leaves(value, None, depth) for value in stores))

    def _constructed(
        self, made: Invoke, owners: list[str], name: str, outer: _Frame | None, depth: int
    ) -> Iterator[frozenset[Atom]]:
        """Yield what a constructor, and those that it calls for the same object, put into a field."""
        if depth > MAX_DEPTH:
            return
        frame = _Frame(made.ref, made.arguments, outer, None)
        for store in self._stores_in[made.ref]:
            if store.name == name and store.owner in owners:
                yield self.leaves(store.value, frame, depth + 1)
        itself = frozenset({Param(made.ref, 0)})
        for inner in (inner for inner in self._constructed_in[made.ref] if inner.arguments[0] == itself):
            yield from self._constructed(inner, owners, name, frame, depth + 1)

    def _text(self, parts: Iterable[Value], frame: _Frame | None, depth: int) -> frozenset[Atom]:
        texts = [""]
        for part in parts:
            ends = self.leaves(part, frame, depth)
            are_known = all(isinstance(end, Const) for end in ends)
            if not ends or not are_known or len(texts) * len(ends) > MAX_LEAVES:
                return LOST
            texts = [text + end.text for text in texts for end in ends if isinstance(end, Const)]
        return frozenset(map(Const, texts))

    def frames(self, method: MemberRef, values: tuple[Value, ...], depth: int = 0) -> Iterator[_Frame | None]:
        """Yield the calls of a method on which values depend; None if they depend on none."""
        is_told_apart = depth < MAX_CALLS_ABOVE and not self.names.is_spent and _depends(values)
        callers = self.callers(method) if is_told_apart else []
        if not callers or len(callers) > MAX_CALLERS:
            yield None
        for call in callers if len(callers) <= MAX_CALLERS else ():
            assert call.at is not None
            for outer in self.frames(call.at.method.ref, call.arguments, depth + 1):
                yield _Frame(method, call.arguments, outer, call.at)


def _is_forwarder(place: _Place | None) -> bool:
    """Whether a call is the only thing that a static method of Scala does, for the object with the same name."""
    return place is not None and bool(place.method.flags & STATIC) and len(place.method.lines) == 0


def _foreign(ref: MemberRef, text: str, at: int = 0) -> frozenset[Atom]:
    return frozenset({Foreign(ref, at, text)})


def _depends(values: Iterable[Value]) -> bool:
    """Whether values are made of parameters of their method."""
    return any(isinstance(atom, Param) or _depends(atom.parts_of_names) for value in values for atom in value)


def _inner(method: MemberRef, arguments: tuple[Value, ...], outer: _Frame | None) -> _Frame | None:
    """Return a call inside another one; None if it is too far inside to be told from other calls of the method."""
    return None if outer and outer.level >= MAX_CALLS_INSIDE else _Frame(method, arguments, outer, None)


def _closure(start: Iterable[_T], following: Callable[[_T], Iterable[_T]]) -> dict[_T, None]:
    """Return things and all that follows them, each once, the nearest first."""
    found, waiting = dict[_T, None](), deque(start)
    while waiting:
        thing = waiting.popleft()
        if thing not in found:
            found[thing] = None
            waiting.extend(following(thing))
    return found


class _ResolvedPut(NamedTuple):
    receivers: frozenset[Atom]
    keys: frozenset[Atom]
    values: frozenset[Atom]
    place: _Place
    is_sure: bool
    is_map: bool


class _Judge:
    """Turns the facts of an application into its settings."""

    def __init__(self, application: _Application) -> None:
        self._application = application
        self._content: defaultdict[Atom, dict[Atom, _Place]] = defaultdict(dict)
        self._values_in: defaultdict[Atom, set[Atom]] = defaultdict(set)
        self._values: defaultdict[str, dict[Setting, None]] = defaultdict(dict)
        self._loads: dict[LoadedFile, None] = {}

    def settings(self) -> CodeSettings:
        """Tell which settings reach Kafka Streams."""
        leaves, facts = self._application.leaves, self._application._facts
        reached = dict[Atom, _Place]()
        others, given = set[Atom](), set[Atom]()
        puts = list[_ResolvedPut]()
        changes = list[tuple[frozenset[Atom], _Place, bool]]()
        for event, place in facts:
            if isinstance(event, Into):
                containers = leaves(event.container)
                self._flow(containers, leaves(event.content), place)
                if event.is_map:
                    changes.append((containers, place, True))
            elif isinstance(event, Passed):
                atoms = leaves(event.value)
                if event.is_streams:
                    reached |= dict.fromkeys(atoms, place)
                else:
                    others |= atoms
            elif isinstance(event, Load):
                changes.append((leaves(event.receiver), place, True))
            elif isinstance(event, Put):
                puts += self._put(event, place)
        for receivers, keys, values, place, _, is_map in puts:
            unknown = frozenset(key for key in keys if not isinstance(key, Const))
            self._flow(receivers, unknown, place)
            for receiver in receivers:
                self._values_in[receiver] |= {atom for atom in values if isinstance(atom, Made)}
            if unknown:
                changes.append((receivers, place, is_map))
            if any(isinstance(key, Const) and _is_of_streams(key.text) for key in keys):
                reached |= {atom: place for atom in receivers if atom not in reached and isinstance(atom, Made)}
                given |= {atom for atom in receivers if isinstance(atom, Foreign)}
            reached |= {atom: place for atom in receivers if isinstance(atom, OfFramework)}
        self._close(reached)
        other_clients = _closure(others, self._content.__getitem__)
        for receivers, keys, values, place, is_sure, _ in puts:
            is_reached = not receivers.isdisjoint(reached) or not receivers.isdisjoint(given)
            is_other = not is_reached and bool(receivers) and all(atom in other_clients for atom in receivers)
            if not is_other:
                self._set(keys, values, place, is_reached=is_reached, is_sure=is_sure)
        for event, place in facts:
            if isinstance(event, Load) and not leaves(event.receiver).isdisjoint(reached):
                self._load(event, place)
            elif isinstance(event, Used):
                self._use(event, place, reached)
        not_followed = self._application.not_followed
        if self._application.names.is_spent:
            not_followed["your classes need too much work to be followed"] = None
        else:
            not_followed |= dict.fromkeys(self._hidden(changes, reached))
        for atom, place in reached.items():
            if isinstance(atom, Const) and is_key(atom.text):
                self._values[atom.text][Setting(UNKNOWN_VALUE, str(place))] = None
            elif isinstance(atom, Foreign):
                not_followed[f"{place} takes settings from {source_text(atom.text)}"] = None
            elif isinstance(atom, Unknown):
                not_followed[f"{place} makes settings in a way that is not followed"] = None
        settings_by_key = {key: tuple(settings) for key, settings in sorted(self._values.items())}
        return CodeSettings(settings_by_key, tuple(self._loads), tuple(not_followed))

    def _hidden(
        self, changes: Iterable[tuple[frozenset[Atom], _Place, bool]], reached: Mapping[Atom, _Place]
    ) -> Iterator[str]:
        """Yield what may change settings under another name: what a collection gives, and what is not followed."""
        holders = defaultdict[Atom, list[Atom]](list)
        for held in (self._content, self._values_in):
            for holder, contents in held.items():
                for content in contents:
                    holders[content].append(holder)
        settings: list[Atom] = [atom for atom in reached if isinstance(atom, Made) and not atom.may_be_another]
        holding = _closure(settings, holders.__getitem__)
        for receivers, place, is_map in changes:
            if any(
                atom in holding
                if isinstance(atom, Made) and atom.may_be_another
                else is_map and isinstance(atom, Unknown)
                for atom in receivers
                if atom not in reached
            ):
                yield f"{place} changes a map that is not followed"

    def _flow(self, containers: Iterable[Atom], contents: Iterable[Atom], place: _Place) -> None:
        for container in containers:
            for content in contents:
                self._application.names.note()
                if content != container:
                    self._content[container].setdefault(content, place)

    def _close(self, reached: dict[Atom, _Place]) -> None:
        """Add all that the atoms have."""
        waiting = list(reached)
        while waiting:
            for atom, place in self._content[waiting.pop()].items():
                if atom not in reached:
                    reached[atom] = place
                    waiting.append(atom)

    def _put(self, event: Put, place: _Place) -> Iterator[_ResolvedPut]:
        application = self._application
        keys = application.leaves(event.key)
        may_be_kafkas = Unknown() in keys or any(isinstance(key, Const) and is_key(key.text) for key in keys)
        values = (event.key, event.value) if may_be_kafkas else ()
        for frame in application.frames(place.method.ref, values):
            parts = [application.leaves(value, frame) for value in (event.receiver, event.key, event.value)]
            is_sure = place not in application._unsure
            yield _ResolvedPut(parts[0], parts[1], parts[2], (frame and frame.at) or place, is_sure, event.is_map)

    def _set(
        self, keys: frozenset[Atom], values: frozenset[Atom], place: _Place, *, is_reached: bool, is_sure: bool
    ) -> None:
        names = [key.text for key in keys if isinstance(key, Const) and is_key(key.text)]
        known = len(keys) == 1 and values and all(isinstance(value, Const) for value in values)
        texts = [value.text for value in values if isinstance(value, Const)] if known else [UNKNOWN_VALUE]
        for name in names:
            for text in sorted(texts):
                setting = Setting(
                    text, str(place), reaches_kafka=is_reached, is_conditional=not is_sure or len(names) > 1
                )
                self._values[name][setting] = None

    def _load(self, event: Load, place: _Place) -> None:
        sources = dict.fromkeys(self._application.leaves(event.source), place)
        self._close(sources)
        names = [match[1] for atom in sources if isinstance(atom, Const) and (match := _FILE.fullmatch(atom.text))]
        self._loads[LoadedFile(names[0] if len(names) == 1 else "", str(place))] = None

    def _use(self, event: Used, place: _Place, reached: Mapping[Atom, _Place]) -> None:
        atoms = dict.fromkeys(self._application.leaves(event.value), place)
        if event.is_changed and any(isinstance(atom, Made) and atom in reached for atom in atoms):
            self._application.not_followed[f"{place} passes settings to {source_text(event.text)}"] = None
        self._close(atoms)
        for atom in atoms:
            if isinstance(atom, Const) and is_key(atom.text):
                setting = Setting(UNKNOWN_VALUE, str(place), reaches_kafka=_is_of_streams(atom.text))
                self._values[atom.text][setting] = None


def source_text(text: str) -> str:
    """Return the name of a method of others, as a source has it."""
    owner, sign, name = text.partition("#")
    return f"{source_class(owner)}#{source_method(name)}" if sign else text


def _is_about_settings(content: bytes) -> bool:
    return _PROPERTIES in content or _KAFKA in content
