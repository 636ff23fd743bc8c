"""The settings of Kafka that the classes of an application make.

Constants are followed into ``Properties``, maps, pairs and builders, through fields, parameters and results of the
application's own methods, in Java, Kotlin and Scala. They are settings of Kafka Streams if the map reaches its
constructor, or if only Streams has the key. Where a map gets keys that nothing here knows (the environment, a library,
a parameter that others give), any key may be set.

Not followed: reflection, arithmetic and text methods, what is kept in collections by its place, and libraries.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from streams_assignor.upgrade.application.configuration import CONFIGS, keys_of_any_release
from streams_assignor.upgrade.application.flow_values import (
    Atom,
    Const,
    Filled,
    Foreign,
    Into,
    Load,
    Made,
    OfFramework,
    Passed,
    Put,
    Unknown,
    Used,
)
from streams_assignor.upgrade.application.own_methods import CodePlace, OwnMethods, closure
from streams_assignor.upgrade.application.setting_names import OPEN_PREFIXES, WITHOUT_DEFINITION, key_at_end, scope
from streams_assignor.upgrade.application.source_names import source_class, source_method
from streams_assignor.upgrade.hazards import UNKNOWN_VALUE, CodeSettings, LoadedFile, Setting

_NO_BEANS: Final = re.compile(
    r".*Mapping|.*Operation|GET|PUT|POST|DELETE|PATCH|HEAD|OPTIONS|Get|Put|Post|Delete|Patch|Head|Options|Json\w+|"
    r"(Before|After|Parameterized|Repeated)?(Test|Each|All)|.*Handler|.*Listener|Scheduled|Deprecated|.*[Nn]ull(able)?"
)
"""Annotations of methods whose results are no beans: those of any other may be given to whoever asks for them."""
_TEXTS: Final = frozenset({"java/io/StringReader", "java/io/ByteArrayInputStream", "java/io/CharArrayReader"})
_FILE: Final = re.compile(r"(?:.*[/\\:])?([^/\\:]+\.(?:properties|props|xml|conf|config|cfg|ya?ml|json|txt|env|ini))")


def settings_in_code(classes: Mapping[str, bytes], original: Callable[[str], str] = str) -> CodeSettings:
    """Return the settings that classes make.

    Args:
        classes: The content of the application's own classes, by their names.
        original: Returns the name that Kafka gives to a class of a copy of Kafka; that of another class stays.
    """
    return _Judge(OwnMethods(classes, original)).settings()


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


class _ResolvedPut(NamedTuple):
    receivers: frozenset[Atom]
    keys: frozenset[Atom]
    values: frozenset[Atom]
    place: CodePlace
    is_sure: bool
    is_map: bool


class _Judge:
    """Turns the facts of an application into its settings."""

    def __init__(self, application: OwnMethods) -> None:
        self._application = application
        self._content: defaultdict[Atom, dict[Atom, CodePlace]] = defaultdict(dict)
        self._values_in: defaultdict[Atom, set[Atom]] = defaultdict(set)
        self._values: defaultdict[str, dict[Setting, None]] = defaultdict(dict)
        self._loads: dict[LoadedFile, None] = {}

    def settings(self) -> CodeSettings:
        """Tell which settings reach Kafka Streams."""
        leaves, facts = self._application.leaves, self._application.facts
        reached = dict[Atom, CodePlace]()
        others, given = set[Atom](), set[Atom]()
        puts = list[_ResolvedPut]()
        changes = list[tuple[frozenset[Atom], CodePlace, bool]]()
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
        other_clients = closure(others, self._content.__getitem__)
        for receivers, keys, values, place, is_sure, _ in puts:
            is_reached = not receivers.isdisjoint(reached) or not receivers.isdisjoint(given)
            is_other = not is_reached and bool(receivers) and all(atom in other_clients for atom in receivers)
            if not is_other:
                self._set(keys, values, place, is_reached=is_reached, is_sure=is_sure)
        holders = self._holders()
        settings: list[Atom] = [atom for atom in reached if isinstance(atom, Made) and not atom.may_be_another]
        holding = closure(settings, holders.__getitem__)
        self._use(holders, holding)
        for event, place in facts:
            if isinstance(event, Load) and not leaves(event.receiver).isdisjoint(reached):
                self._load(event, place)
        not_followed = self._application.not_followed
        if self._application.names.is_spent:
            not_followed["your classes need too much work to be followed"] = None
        else:
            not_followed |= dict.fromkeys(self._hidden(changes, reached, holding))
        for atom, place in reached.items():
            if isinstance(atom, Const) and is_key(atom.text):
                self._values[atom.text][Setting(UNKNOWN_VALUE, str(place))] = None
            elif isinstance(atom, Made) and self._application.made_by_others(atom.type):
                not_followed[f"{place} takes settings from {source_class(atom.type)}"] = None
            elif isinstance(atom, Foreign):
                not_followed[f"{place} takes settings from {source_text(atom.text)}"] = None
            elif isinstance(atom, Unknown):
                not_followed[f"{place} makes settings in a way that is not followed"] = None
        self._mention()
        settings_by_key = {key: tuple(settings) for key, settings in sorted(self._values.items())}
        return CodeSettings(settings_by_key, tuple(self._loads), tuple(not_followed))

    def _holders(self) -> defaultdict[Atom, list[Atom]]:
        """Return for each thing the collections and own objects that have it, as a key, a value or an element."""
        holders = defaultdict[Atom, list[Atom]](list)
        for held in (self._content, self._values_in):
            for holder, contents in held.items():
                for content in contents:
                    holders[content].append(holder)
        for objects, values in self._application.held_in_fields():
            for value in values:
                holders[value] += objects
        return holders

    def _hidden(
        self,
        changes: Iterable[tuple[frozenset[Atom], CodePlace, bool]],
        reached: Mapping[Atom, CodePlace],
        holding: Mapping[Atom, None],
    ) -> Iterator[str]:
        """Yield what may change settings under another name: what a collection gives, and what is not followed."""
        returned = list(self._application.returned_to_others())
        are_given_away = any(atom in holding for _, atoms in returned for atom in atoms)
        beans = {
            atom for annotations, atoms in returned if not all(map(_NO_BEANS.fullmatch, annotations)) for atom in atoms
        }
        for receivers, place, is_map in changes:
            for atom in receivers.difference(reached):
                if isinstance(atom, Made):
                    may_be_settings = atom in holding if atom.may_be_another else is_map and atom in beans
                else:
                    is_injected = isinstance(atom, Foreign) and not isinstance(atom, Filled) and are_given_away
                    may_be_settings = is_map and (is_injected or isinstance(atom, Unknown))
                if may_be_settings:
                    yield f"{place} changes a map that is not followed"

    def _mention(self) -> None:
        """Add the keys in texts that are put nowhere: a framework or a library may take them from there."""
        keys = dict[str, str]()
        for name, text in self._application.texts():
            if text not in keys:
                keys[text] = ""
                for line in text.splitlines():
                    key = key_at_end(line.partition("=")[0].strip())
                    if _is_of_streams(key) and key not in self._values:
                        keys[text] = key
            if key := keys[text]:
                setting = Setting(UNKNOWN_VALUE, f"your class {source_class(name)}", reaches_kafka=False)
                self._values[key][setting] = None

    def _flow(self, containers: Iterable[Atom], contents: Iterable[Atom], place: CodePlace) -> None:
        for container in containers:
            for content in contents:
                self._application.names.note()
                if content != container:
                    self._content[container].setdefault(content, place)

    def _close(self, reached: dict[Atom, CodePlace]) -> None:
        """Add all that the atoms have, and what own objects among them give to others."""
        waiting, types = list(reached), set[str]()
        while waiting:
            holder = waiting.pop()
            contents = dict(self._content[holder])
            if isinstance(holder, Made) and holder.type not in types:
                types.add(holder.type)
                contents |= dict.fromkeys(self._application.given_by(holder.type), reached[holder])
            for atom, place in contents.items():
                if atom not in reached:
                    reached[atom] = place
                    waiting.append(atom)

    def _put(self, event: Put, place: CodePlace) -> Iterator[_ResolvedPut]:
        application = self._application
        keys = application.leaves(event.key)
        may_be_kafkas = Unknown() in keys or any(isinstance(key, Const) and is_key(key.text) for key in keys)
        values = (event.key, event.value) if may_be_kafkas else ()
        for frame in application.frames(place.method.ref, values):
            parts = [application.leaves(value, frame) for value in (event.receiver, event.key, event.value)]
            is_sure = place not in application.unsure
            yield _ResolvedPut(parts[0], parts[1], parts[2], (frame and frame.at) or place, is_sure, event.is_map)

    def _set(
        self, keys: frozenset[Atom], values: frozenset[Atom], place: CodePlace, *, is_reached: bool, is_sure: bool
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

    def _load(self, event: Load, place: CodePlace) -> None:
        sources = closure(self._application.leaves(event.source), self._content.__getitem__)
        if any(isinstance(atom, Made) and atom.type in _TEXTS for atom in sources):
            self._application.not_followed[f"{place} loads settings from a text"] = None
        names = [match[1] for atom in sources if isinstance(atom, Const) and (match := _FILE.fullmatch(atom.text))]
        self._loads[LoadedFile(names[0] if len(names) == 1 else "", str(place))] = None

    def _use(self, holders: Mapping[Atom, list[Atom]], holding: Mapping[Atom, None]) -> None:
        """Note the keys, and the settings, that others get, by themselves or in a collection."""
        used = defaultdict[Atom, list[CodePlace]](list)
        for event, place in self._application.facts:
            if isinstance(event, Used):
                for atom in self._application.leaves(event.value):
                    used[atom].append(place)
                    if event.is_changed and atom in holding:
                        self._application.not_followed[f"{place} passes settings to {source_text(event.text)}"] = None
        for key in {atom.text for atom in {*used, *holders} if isinstance(atom, Const) and is_key(atom.text)}:
            start: list[Atom] = [Const(key)]
            for holder in closure(start, lambda atom: holders.get(atom, ())):
                for place in used.get(holder, ()):
                    setting = Setting(UNKNOWN_VALUE, str(place), reaches_kafka=_is_of_streams(key))
                    self._values[key][setting] = None


def source_text(text: str) -> str:
    """Return the name of a method of others, as a source has it."""
    owner, sign, name = text.partition("#")
    return f"{source_class(owner)}#{source_method(name)}" if sign else text
