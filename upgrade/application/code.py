"""The classes of every release, from its jars: kafka-clients and kafka-streams; kafka-streams-scala is not among them.

Private members are left out, as nothing outside can be linked with them, and so are the libraries inside kafka-clients
(``org.apache.kafka.shaded``). What Kafka's classes inherit from Java is there, as Java 17 has it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from attrs import field, frozen

from upgrade.application._stored import CODE, expand, place_of, stored_text, table_name
from upgrade.application.class_file import (
    ABSTRACT,
    DEPRECATED,
    FINAL,
    INTERFACE,
    PROTECTED,
    PUBLIC,
    STATIC,
    SYNTHETIC,
)
from upgrade.releases import Release

CLASS_FLAGS: Final = PUBLIC | FINAL | INTERFACE | ABSTRACT | DEPRECATED
MEMBER_FLAGS: Final = PUBLIC | PROTECTED | STATIC | FINAL | ABSTRACT | SYNTHETIC | DEPRECATED
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


def code_of(release: Release) -> Code:
    """Return the classes of a release; those of an unknown one are those of the release it is assumed to be.

    Raises:
        NoTable: Kafka has not published the release.

    >>> from upgrade.releases import RELEASES
    >>> code_of(RELEASES["4.4.0"])["org/apache/kafka/streams/KafkaStreams"].artifact
    'kafka-streams'
    """
    return _code(table_name(release))


def classes_of_any_release() -> frozenset[str]:
    """Return the names of the classes that some release has.

    >>> "org/apache/kafka/streams/kstream/TransformerSupplier" in classes_of_any_release()
    True
    """
    return _all_names()


@cache
def _all_names() -> frozenset[str]:
    lines = stored_text(CODE).split("\n")[1:]
    return frozenset(line.partition(" ")[0] for line in lines if not line.startswith((" ", "#")))


@cache
def _code(name: str) -> Code:
    header, *lines = stored_text(CODE).split("\n")
    place = place_of(name)
    sets = json.loads(header)
    present = {str(number) for number, ranges in enumerate(sets) if place in set(expand(ranges))}
    found: dict[str, KafkaClass] = {}
    artifact, members = "", dict[MemberId, int]()
    for line in lines:
        if line.startswith("#"):
            artifact = line[1:]
            continue
        owner, *words, flags, releases = line.split(" ")
        if releases not in present:
            continue
        if not owner:
            member, descriptor = words
            members[member, descriptor] = int(flags, 16)
        else:
            superclass, interfaces = words
            members = {}
            parents = tuple(interfaces.split(",")) if interfaces else ()
            found[owner] = KafkaClass(owner, artifact, int(flags, 16), superclass, parents, members)
    return found
