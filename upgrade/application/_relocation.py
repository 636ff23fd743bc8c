"""Copies of Kafka under other packages, which maven-shade and Gradle's shadow make, whole or in part."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.application.class_file import ClassFile, ClassHeader, ClassMember, Reference
from streams_assignor.upgrade.application.code import classes_of_any_release
from streams_assignor.upgrade.application.dependencies import CLIENTS, STREAMS

KAFKA: Final = "org/apache/kafka/"
_STREAMS_FOLDER: Final = "org/apache/kafka/streams/"
_SHADED: Final = "org/apache/kafka/shaded/"
_MARKERS: Final = (
    frozenset({f"{KAFKA}common/TopicPartition", f"{KAFKA}clients/CommonClientConfigs"}),
    frozenset({f"{KAFKA}streams/StreamsBuilder", f"{KAFKA}streams/Topology"}),
)
"""Classes that no other library has together."""
_ENOUGH: Final = 15
"""So many classes with the names of Kafka's, in packages of the same names, are a copy without the markers, too."""
_WHOLE: Final = 500
_MOST_PARTS: Final = 20
"""Parts of a package that are looked at."""
_LEAST: Final = KAFKA.count("/")
_ORIGINAL: Final = re.compile(rb"(?<!/)org/apache/kafka/[\w/$]+", re.ASCII)
_TYPE: Final = re.compile(r"L([^;]+);")


@frozen
class Copy:
    """Classes of Kafka in another folder."""

    folder: str
    original: str
    """The folder that Kafka gives them."""
    classes: frozenset[str] = field(repr=False)
    """Their original names."""

    @property
    def is_whole(self) -> bool:
        """Whether it has more classes than any library that only has the names of Kafka's."""
        return len(self.classes) >= _WHOLE

    def is_wrapper(self, contents: Iterable[bytes]) -> bool:
        """Whether classes in its folder refer to Kafka's of the same names: who moves a class moves each reference."""
        return any(name.decode() in self.classes for content in contents for name in _ORIGINAL.findall(content))

    @property
    def artifact(self) -> str:
        """Return what is copied, Kafka Streams before the clients that it needs."""
        return STREAMS if any(name.startswith(_STREAMS_FOLDER) for name in self.classes) else CLIENTS


class Relocation:
    """The names that Kafka gives to the classes of copies."""

    def __init__(self, copies: Iterable[Copy] = ()) -> None:
        self._folders = {copy.folder: copy.original for copy in copies}
        self._names: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._folders)

    def original(self, name: str) -> str:
        """Return the name that Kafka gives to a class; that of another class stays.

        >>> copy = Copy("acme/shaded/", "org/apache/kafka/", frozenset())
        >>> Relocation([copy]).original("acme/shaded/streams/KafkaStreams")
        'org/apache/kafka/streams/KafkaStreams'
        """
        if name not in self._names:
            self._names[name] = self._original(name)
        return self._names[name]

    def folder_of(self, name: str) -> str:
        """Return the folder of the copy that a class is in; empty if it is in none."""
        return self._found(name)[0]

    def _original(self, name: str) -> str:
        return self._found(name)[1]

    def _found(self, name: str) -> tuple[str, str]:
        folder = ""
        for part in name.split("/", _MOST_PARTS)[:_MOST_PARTS]:
            folder += f"{part}/"
            if folder in self._folders:
                original = self._folders[folder] + name[len(folder) :]
                if original in classes_of_any_release() or original.startswith(_SHADED):
                    return folder, original
        return "", name

    def header(self, header: ClassHeader) -> ClassHeader:
        """Return the header of a class with the names that Kafka gives."""
        superclass, *interfaces = map(self.original, (header.superclass, *header.interfaces))
        named = tuple(map(self.original, header.named))
        return evolve(header, superclass=superclass, interfaces=tuple(interfaces), named=named)

    def class_file(self, found: ClassFile) -> ClassFile:
        """Return a class with the names that Kafka gives."""
        superclass, *interfaces = map(self.original, (found.superclass, *found.interfaces))
        return evolve(
            found,
            superclass=superclass,
            interfaces=tuple(interfaces),
            members=tuple(evolve(member, descriptor=self._descriptor(member)) for member in found.members),
            references=frozenset(
                evolve(reference, owner=self.original(reference.owner), descriptor=self._descriptor(reference))
                for reference in found.references
            ),
        )

    def _descriptor(self, of: ClassMember | Reference) -> str:
        if of.descriptor not in self._names:
            self._names[of.descriptor] = _TYPE.sub(lambda found: f"L{self.original(found[1])};", of.descriptor)
        return self._names[of.descriptor]


def find_copies(names: Iterable[str]) -> list[Copy]:
    """Return the copies of Kafka's packages.

    Two packages with the same last parts are counted for what is before these: ``acme/kafka/streams/kstream`` says that
    ``org/apache/kafka/`` is in ``acme/kafka/``, if a class in it has a name of Kafka's package.

    Args:
        names: The classes of a jar.
    """
    copied: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for name in names:
        folder, _, simple = name.rpartition("/")
        packages = _packages().get(simple, ()) if not name.startswith(KAFKA) else ()
        differing = {package: _differing(folder, package) for package in packages}
        nearest = min((len(copy) for copy, _ in differing.values()), default=0)
        for package, (copy, original) in differing.items():
            if len(copy) == nearest:
                copied[copy, original].add(f"{package}/{simple}")
    found = (Copy(folder, original, frozenset(classes)) for (folder, original), classes in copied.items() if folder)
    return [
        copy for copy in found if len(copy.classes) >= _ENOUGH or any(marker <= copy.classes for marker in _MARKERS)
    ]


def _differing(folder: str, package: str) -> tuple[str, str]:
    """Return what is before the last parts that both have; of Kafka's package at least ``org/apache/kafka/``."""
    ours, kafkas = folder.split("/"), package.split("/")
    while ours and len(kafkas) > _LEAST and ours[-1] == kafkas[-1]:
        ours.pop()
        kafkas.pop()
    return "".join(f"{part}/" for part in ours), "".join(f"{part}/" for part in kafkas)


@cache
def _packages() -> Mapping[str, tuple[str, ...]]:
    """Return the packages of Kafka that have a class of a name."""
    packages: defaultdict[str, set[str]] = defaultdict(set)
    for name in classes_of_any_release():
        package, _, simple = name.rpartition("/")
        if name.startswith(KAFKA):
            packages[simple].add(package)
    return {simple: tuple(sorted(of_name)) for simple, of_name in packages.items()}
