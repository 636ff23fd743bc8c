"""The libraries and the Java that a release needs, beside those of an application's files."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import frozen

from streams_assignor.upgrade.application.dependencies import KAFKA_GROUP, Dependency
from streams_assignor.upgrade.application.libraries import Library

_CONNECT: Final = "org/apache/kafka/connect/"
PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "connect-api": tuple(
        f"{_CONNECT}{name}/"
        for name in (
            *("components", "connector", "data", "errors", "header", "health", "rest", "sink", "source", "storage"),
            *("transforms", "util"),
        )
    ),
    "connect-json": (f"{_CONNECT}json/",),
    "jackson-databind": ("com/fasterxml/jackson/databind/",),
    "jackson-datatype-jdk8": ("com/fasterxml/jackson/datatype/jdk8/",),
    "javax.ws.rs-api": ("javax/ws/rs/",),
    "log4j": ("org/apache/log4j/",),
    "lz4": ("net/jpountz/",),
    "lz4-java": ("net/jpountz/",),
    "slf4j-api": ("org/slf4j/",),
    "slf4j-log4j12": ("org/slf4j/impl/",),
    "snappy-java": ("org/xerial/snappy/",),
    "zkclient": ("org/I0Itec/zkclient/",),
    "zstd-jni": ("com/github/luben/zstd/",),
}
"""Where the classes of libraries are that some release brings and a later one does not, or not to compile with."""
OF_BROKERS: Final = (("zookeeper", ("org/apache/zookeeper/",)),)
"""The same of the broker's artifact (``kafka_2.13``), for tests: since 3.0 its POM brings it at run time only."""
_NUMBERS: Final = re.compile(r"\d+")


class NeedStatus(enum.Enum):
    """The fault of a library that Kafka needs."""

    MISSING = "missing"
    OLDER = "older"
    TWICE = "under other coordinates"
    """A build tool sees two libraries, and puts both on the class path."""


@frozen
class Need:
    """A library that the release needs and the files do not have in this way."""

    dependency: Dependency
    status: NeedStatus
    found: Library | None = None

    @property
    def text(self) -> str:
        """The findings and their consequences."""
        needed = f"{self.dependency.name} {self.dependency.version}"
        if self.found is None:
            return f"{needed} is not in the files"
        have = f"{self.found.group and f'{self.found.group}:'}{self.found.name} {self.found.version}".rstrip()
        if self.status is NeedStatus.OLDER:
            return f"the files have {have}, {needed} is needed"
        return f"the files have {have}, {needed} is needed: exclude the first, or both are on the class path"

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        found = self.found and {
            "group": self.found.group or None,
            "name": self.found.name,
            "version": self.found.version,
        }
        return {"library": self.dependency.as_json(), "status": self.status.value, "found": found}


def check_needs(
    libraries: Iterable[Library],
    old: Iterable[Dependency],
    new: Iterable[Dependency],
    *,
    has_new_kafka: bool,
) -> tuple[Need, ...]:
    """Return what a release needs and the libraries of an application are not.

    Args:
        libraries: Those of the files.
        old: The needs of the old release: a build tool replaces those together with Kafka.
        new: The needs of the target release.
        has_new_kafka: Whether the files have that release: if so, what is missing will be missing.
    """
    by_name: dict[str, list[Library]] = {}
    for library in libraries:
        by_name.setdefault(library.name, []).append(library)
    before = {(dependency.artifact, dependency.version) for dependency in old}
    return tuple(
        need
        for dependency in sorted(new)
        if dependency.group != KAFKA_GROUP
        for need in _needs(dependency, by_name, before, has_new_kafka=has_new_kafka)
    )


def left_out(old: Iterable[Dependency], new: Iterable[Dependency]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the libraries that a release does not bring any more: the artifact, and the packages of its classes.

    One that has other coordinates and the same classes is not among them.
    """
    still = [PACKAGES.get(dependency.artifact, dependency.artifact) for dependency in new]
    for dependency in sorted(old):
        packages = PACKAGES.get(dependency.artifact)
        if packages and packages not in still:
            yield dependency.artifact, packages


def _needs(
    needed: Dependency, by_name: Mapping[str, list[Library]], before: set[tuple[str, str]], *, has_new_kafka: bool
) -> Iterator[Need]:
    present = by_name.get(needed.artifact, [])
    if not present and has_new_kafka:
        yield Need(needed, NeedStatus.MISSING)
    packages = PACKAGES.get(needed.artifact)
    others = (name for name in PACKAGES if name != needed.artifact and PACKAGES[name] == packages)
    for library in (*present, *(library for name in others for library in by_name.get(name, ()))):
        is_replaced = not has_new_kafka and (library.name, library.version) in before
        if library.group not in {"", needed.group} or (library.name != needed.artifact and not is_replaced):
            yield Need(needed, NeedStatus.TWICE, library)
        elif _is_older(library.version, needed.version) and not is_replaced:
            is_beside = any(_is_older(library.version, other.version) for other in present)
            yield Need(needed, NeedStatus.TWICE if is_beside else NeedStatus.OLDER, library)


def _is_older(version: str, needed: str) -> bool:
    """Compare the numbers of two versions.

    >>> _is_older("1.8.0", "1.10.1"), _is_older("2.0", "2.0.0-RC1"), _is_older("", "1")
    (True, False, False)
    """
    have, want = ([int(number) for number in _NUMBERS.findall(text)][:4] for text in (version, needed))
    size = min(len(have), len(want))
    return have[:size] < want[:size]
