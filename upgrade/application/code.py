"""The classes of every release, from its jars: kafka-clients, kafka-streams, its test utilities and that for Scala.

Private members are left out, unless another release has them for others, and so are the libraries inside kafka-clients
(``org.apache.kafka.shaded``). Members that Kafka's classes inherit from Java are there, as Java 17 has them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping
from functools import cache, cached_property
from itertools import groupby
from typing import Final

from attrs import field, frozen

from streams_assignor.upgrade.application.class_file import (
    ABSTRACT,
    DEPRECATED,
    FINAL,
    INTERFACE,
    PRIVATE,
    PROTECTED,
    PUBLIC,
    STATIC,
    SYNTHETIC,
    THROWS,
)
from streams_assignor.upgrade.application.scala import scala_jar, scala_places
from streams_assignor.upgrade.application.stored import (
    CODE,
    SCALA_CODE,
    TEST_UTILS_CODE,
    contains,
    expand,
    place_of,
    stored_configuration,
    stored_text,
    table_name,
)
from streams_assignor.upgrade.releases import Release

CLASS_FLAGS: Final = PUBLIC | FINAL | INTERFACE | ABSTRACT | DEPRECATED
MEMBER_FLAGS: Final = PUBLIC | PRIVATE | PROTECTED | STATIC | FINAL | ABSTRACT | SYNTHETIC | DEPRECATED | THROWS
"""``THROWS`` is there for the default methods that Kafka's own classes call."""
JAVA: Final = "java"
"""The place of Java's classes, where those of Kafka have an artifact."""
_ROOT: Final = "org/apache/kafka/"
_CLIENTS: Final = (
    r"clients/(admin|consumer|producer)|server/(authorizer|policy|quota|telemetry)|common(/(acl|annotation|config"
    r"(/provider)?|errors|header|metrics(/stats)?|quota|resource|security/(auth|oauthbearer|plain|scram|"
    r"token/delegation)|serialization))?"
)
_PUBLIC: Final = re.compile(rf"{_ROOT}(({_CLIENTS})/[^/]+|streams/(?!(.*/)?internals/).+)")
"""The classes of Kafka's Javadoc."""
MemberId = tuple[str, str]
"""Name and descriptor."""


@frozen
class KafkaClass:
    """A class in one release."""

    name: str
    artifact: str
    flags: int
    superclass: str
    interfaces: tuple[str, ...]
    members: Mapping[MemberId, int] = field(hash=False, repr=False)
    """The flags of each member."""

    @property
    def supertypes(self) -> tuple[str, ...]:
        """The superclass, if there is one, and the interfaces."""
        return (self.superclass, *self.interfaces) if self.superclass else self.interfaces


Code = Mapping[str, KafkaClass]
"""The classes of one release by name."""


def is_public(name: str) -> bool:
    """Whether a class is in a package of Kafka's Javadoc; the others are internal, and change without notice.

    >>> is_public("org/apache/kafka/streams/KafkaStreams"), is_public("org/apache/kafka/common/utils/Time")
    (True, False)
    """
    return _PUBLIC.fullmatch(name) is not None


def code_of(release: Release, scala: str = "", *, with_tests: bool = False) -> Code:
    """Return the classes of a release; those of an unknown one are those of the release it is assumed to be.

    Args:
        release: One that Kafka has published.
        with_tests: With those of kafka-streams-test-utils, if it has them.
        scala: A version of Scala (``2.13``), if the classes of kafka-streams-scala are wanted too; ``scala_jar`` says
            of which release they are.

    Raises:
        NoTable: Kafka has not published the release, or not for this version of Scala.

    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> code_of(RELEASES["4.4.0"])["org/apache/kafka/streams/KafkaStreams"].artifact
    'kafka-streams'
    >>> code_of(RELEASES["4.1.0"], "2.13")["org/apache/kafka/streams/scala/StreamsBuilder"].artifact
    'kafka-streams-scala'
    """
    name = table_name(release)
    tests = _tests_code(name) if with_tests else {}
    of_scala = _scala_code(scala, scala_jar(release, scala)) if scala else {}
    return {**_code(name), **of_scala, **tests} if of_scala or tests else _code(name)


def classes_of_any_release() -> frozenset[str]:
    """Return the names of the classes that some release has, those for Scala among them.

    >>> "org/apache/kafka/streams/kstream/TransformerSupplier" in classes_of_any_release()
    True
    """
    return _all_names()


def release_of_classes(names: Collection[str]) -> str:
    """Return the releases that have the most of some classes, if possible no others: ``2.8.0`` or ``2.8.0 to 2.8.2``.

    >>> release_of_classes(["org/apache/kafka/streams/kstream/KStreamBuilder"])
    '0.10.0.0 to 1.1.1'
    """
    places = _places_of_classes()
    having = Counter(place for name in names for place in places.get(name, ()))
    sizes = _class_counts()
    best = max(having.values(), default=0)
    if not best:
        return ""
    most = [place for place, number in having.items() if number == best]
    fitting = [place for place in most if sizes[place] == best] or most
    releases: list[str] = stored_configuration()["releases"]
    first, last = releases[min(fitting)], releases[max(fitting)]
    return first if first == last else f"{first} to {last}"


@cache
def _places_of_classes() -> Mapping[str, tuple[int, ...]]:
    """Return the places of the releases that have each class of Kafka for Java."""
    sets, rows = _stored_classes(CODE)
    return {row.name: tuple(place for *_, number in row.headers for place in expand(sets[int(number)])) for row in rows}


@cache
def _class_counts() -> Counter[int]:
    return Counter(place for places in _places_of_classes().values() for place in places)


@cache
def _all_names() -> frozenset[str]:
    return frozenset(row.name for table in (CODE, SCALA_CODE, TEST_UTILS_CODE) for row in _stored_classes(table)[1])


@cache
def _code(name: str) -> Code:
    return classes_at(CODE, place_of(name))


@cache
def _tests_code(name: str) -> Code:
    return classes_at(TEST_UTILS_CODE, place_of(name))


@cache
def _scala_code(scala: str, name: str) -> Code:
    return classes_at(SCALA_CODE, scala_places().index((scala, place_of(name))))


def classes_at(table: str, place: int) -> Code:
    """Return the classes that a stored table has at a place."""
    sets, rows = _stored_classes(table)
    present = frozenset(str(number) for number, ranges in enumerate(sets) if contains(ranges, place))
    return {
        row.name: KafkaClass(
            row.name,
            row.artifact,
            int(flags, 16),
            superclass,
            tuple(interfaces.split(",")) if interfaces else (),
            _Members(row.members, present),
        )
        for row in rows
        for superclass, interfaces, flags, number in row.headers
        if number in present
    }


class _Members(Mapping[MemberId, int]):
    """The members of a class in one release: most classes are never asked for them."""

    def __init__(self, text: str, present: Container[str]) -> None:
        self._text = text
        self._present = present

    @cached_property
    def _flags(self) -> dict[MemberId, int]:
        rows = (line[1:].split(" ") for line in self._text.splitlines())
        return {(name, text): int(flags, 16) for name, text, flags, number in rows if number in self._present}

    def __getitem__(self, member: MemberId) -> int:
        return self._flags[member]

    def __iter__(self) -> Iterator[MemberId]:
        return iter(self._flags)

    def __len__(self) -> int:
        return len(self._flags)


@frozen
class _StoredClass:
    """A class of a table, with a header for each set of releases in which it is alike."""

    artifact: str
    name: str
    headers: tuple[list[str], ...]
    members: str
    """Those of all releases, one a line."""


@cache
def _stored_classes(table: str) -> tuple[list[str], tuple[_StoredClass, ...]]:
    """Return the sets of releases that the rows of a table name by number, and its classes."""
    sets, text = stored_text(table).split("\n", 1)
    classes, artifact = list[_StoredClass](), ""
    for name, blocks in groupby(re.split(r"\n(?! )", text), lambda block: block.split(None, 1)[0]):
        if name.startswith("#"):
            artifact = name[1:]
        else:
            headers, _, (*_, members) = zip(*(block.partition("\n") for block in blocks), strict=True)
            classes.append(_StoredClass(artifact, name, tuple(header.split(" ")[1:] for header in headers), members))
    return json.loads(sets), tuple(classes)
