"""The known facts of an application: those with which the conditions of hazards are compared.

Each part is None if nobody named a file for it. Nothing here reads files: ``upgrade.application`` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import field, frozen

from streams_assignor.upgrade.topology_description import DescribedNode

Number = tuple[int, ...]
BORROWED_LIBRARY: Final = "borrowed-library"
"""The fact that own classes use a library which only the release that the application leaves brings."""
MISSING_LIBRARY: Final = "missing-library"
"""The same, where the files have the new release already, and not the library."""
UNKNOWN_VALUE: Final = "${}"
"""A placeholder that stands for any other."""
_DIGITS: Final = re.compile(r"\d+")


@frozen
class Setting:
    """A value of a key, and where it is."""

    value: str = field(repr=False)
    where: str
    """The line of a file, or the library that sets it."""
    reaches_kafka: bool = True
    """False: nobody knows, as the file has the key at the end of another name."""
    is_default: bool = False
    """Whether it is what a placeholder stands for unless something else sets it."""
    is_conditional: bool = False
    """Whether there are ways through the code on which nothing sets it."""


@frozen
class SettingFacts:
    """The settings of an application; what is not among them has its default."""

    source: str
    """The names of the files."""
    values: Mapping[str, Setting] = field(hash=False, repr=False)
    """By Kafka's names, with the prefixes of Streams; and what decides about a wrapper, by its own names."""
    below_others: Mapping[str, Setting] = field(factory=dict, hash=False, repr=False)
    """Keys of Kafka at the end of other names, by Kafka's names."""
    read: tuple[str, ...] = ()
    """Each file with the form in which it was read."""
    elsewhere: tuple[str, ...] = ()
    """Why a file does not say which keys are set: it imports others, or was not read."""
    is_of_framework: bool = False
    """Whether Spring Boot, Quarkus or Micronaut reads them, and with them profiles and the environment."""
    shows: frozenset[str] = frozenset()
    """``environment``, ``command line`` and ``folder``: what the files have besides."""
    agents: tuple[str, ...] = ()
    """The lines by which Java gets an agent."""


@frozen
class LoadedFile:
    """A file of settings that own classes load."""

    name: str
    """The last part of its path; empty if no constant names it."""
    where: str
    """The class, the method and the line."""


@frozen
class CodeSettings:
    """The settings of Kafka that own classes make.

    With an instance all own classes were looked at. ``not_followed`` says what that could not tell.
    """

    values: Mapping[str, tuple[Setting, ...]] = field(factory=dict, hash=False, repr=False)
    """By Kafka's names, with the prefixes of Streams: each place, with ``UNKNOWN_VALUE`` where the value is not known.
    ``where`` is the class, the method and the line."""
    loads: tuple[LoadedFile, ...] = ()
    """The files that it loads: with those that the user names, nothing else comes from there."""
    not_followed: tuple[str, ...] = ()
    """Why any other key may be set, too: ``class X#m line 12 takes keys from System#getenv``."""


@frozen
class Lacking:
    """A class or member of Kafka's that the code refers to, and that is gone."""

    text: str
    """The class that refers to it, and what it refers to."""
    since: Number
    """The first release on the way that lacks it."""
    is_unimplemented: bool = False
    """It is a method that an interface has, and that a class of the code has no body for."""


@frozen
class CodeFacts:
    """The evidence of the class files of an application."""

    source: str
    """The names of the files."""
    shown: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False)
    """The uses of the application's own classes: the value of a ``CodeFact``, and each class with what it uses."""
    by_libraries: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False)
    """The same of its libraries: one that can do something does not show that the application asks for it."""
    has_libraries: bool = False
    """Whether the libraries are in the files: without them nobody knows what those use."""
    lacking: tuple[Lacking, ...] = ()
    rocksdb: tuple[Lacking, ...] = ()
    """The same of RocksDB's classes, and of ``RocksDBConfigSetter``."""
    java: int = 0
    """The Java that the newest class of the application itself needs; 0: there is none."""
    libraries: Mapping[str, str] = field(factory=dict, hash=False)
    """The versions of libraries, and of the artifacts of Kafka."""
    settings: CodeSettings | None = None
    """None: nothing looked for settings in the classes."""
    has_own_classes: bool = False
    """Whether a class of the application itself was read; without one the files say nothing about it."""
    makes_streams: bool = False
    """Whether an own class calls the constructor of ``KafkaStreams``: its settings go through there."""
    builds_topology: bool = False
    """Whether an own class refers to the DSL or to ``Topology``: else what it uses is in classes that are not here."""
    streams_of_libraries: tuple[str, ...] = ()
    """The libraries that do, but for frameworks which take the settings from files."""
    setting_files: tuple[str, ...] = ()
    """The files of a framework's settings beside own classes, which it reads if nothing else sets a key."""
    unread: tuple[str, ...] = ()
    """Which parts of the files were not read, with the reason: they may have anything."""
    agents: tuple[str, ...] = ()
    """The Java agents among the files."""
    mixed: str = ""
    """The artifacts of Kafka that are not of the release of Kafka Streams; empty if all fit."""


@frozen
class ApplicationTopology:
    """The text of ``Topology#describe()``."""

    source: str
    nodes: tuple[DescribedNode, ...] = field(repr=False)


@frozen
class GroupFacts:
    """The live group in its cluster; None: it was not seen."""

    name: str
    has_static_members: bool | None = None
    has_standbys: bool | None = None
    brokers: tuple[Number, Number] | None = None
    """The oldest and the newest release of the brokers."""
    is_streams_group: bool | None = None
    """Whether brokers assign its tasks (KIP-1071)."""
    lacks_topics: bool | None = None
    """Whether a topic that it reads does not exist."""


@frozen
class Application:
    """The evidence of the files of an application and its cluster; None: they were not named."""

    settings: SettingFacts | None = None
    code: CodeFacts | None = None
    topology: ApplicationTopology | None = None
    group: GroupFacts | None = None
    libraries: Mapping[str, str] = field(factory=dict, hash=False)
    """The versions of libraries that the user names, beside those of the files."""
    wrapped: Mapping[str, Setting] = field(factory=dict, hash=False)
    """The values that a wrapper, or a plan, gives to keys which no file sets."""
    calls: Mapping[str, str] = field(factory=dict, hash=False)
    """The calls of a wrapper by itself: the value of a ``CodeFact``, and which one does."""

    def __bool__(self) -> bool:
        return any((self.settings, self.code, self.topology, self.group, self.libraries))

    @property
    def all_libraries(self) -> dict[str, str]:
        """The versions of libraries, as the user says or else as the files do."""
        return {**(self.code.libraries if self.code else {}), **self.libraries}

    def settings_of(self, names: Iterable[str]) -> tuple[Setting, ...]:
        """Return the values of a key that may count: the first of its names in each place; a wrapper's without any."""
        places: list[Mapping[str, tuple[Setting, ...]]] = []
        if self.settings:
            places += (_as_several(self.settings.values), _as_several(self.settings.below_others))
        if self.code and self.code.settings:
            places.append(self.code.settings.values)
        listed = list(names)
        for candidates in (places, [_as_several(self.wrapped)]):
            first = [next((place[name] for name in listed if name in place), ()) for place in candidates]
            if found := tuple(setting for settings in first for setting in settings):
                return found
        return ()


def _as_several(values: Mapping[str, Setting]) -> dict[str, tuple[Setting, ...]]:
    return {name: (setting,) for name, setting in values.items()}


def version_number(version: str) -> Number:
    """Return the numbers at the beginning of a version.

    >>> version_number("2.6.13.RELEASE"), version_number("3.0.0-rc1"), version_number("")
    ((2, 6, 13), (3, 0, 0), ())
    """
    numbers: list[int] = []
    for part in version.replace("-", ".").split("."):
        if not _DIGITS.fullmatch(part):
            break
        numbers.append(int(part))
    return tuple(numbers)
