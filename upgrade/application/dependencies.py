"""The needs of the artifacts of every release, from their POMs and jars: libraries, Java, and native code by platform.

Kafka's POMs are flat, so their direct dependencies are what is known here: not what those libraries need themselves.
Dependencies for tests are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from attrs import frozen

from streams_assignor.upgrade.application.scala import SCALA_ARTIFACT, scala_versions
from streams_assignor.upgrade.application.stored import (
    DEPENDENCIES,
    NoTable,
    place_of,
    stored_json,
    table_name,
    values_at,
)
from streams_assignor.upgrade.releases import Release

KAFKA_GROUP: Final = "org.apache.kafka"
STREAMS: Final = "kafka-streams"
CLIENTS: Final = "kafka-clients"
_NEEDED: Final = ("compile", "runtime")


@frozen(order=True)
class Dependency:
    """A library that an artifact of Kafka names in its POM."""

    group: str
    artifact: str
    version: str
    scope: str
    """``compile``, ``runtime``, or ``provided``: the application brings it if it uses what needs it."""
    is_optional: bool = False

    @property
    def name(self) -> str:
        """Group and artifact, which are the same in every version."""
        return f"{self.group}:{self.artifact}"

    @property
    def is_needed(self) -> bool:
        """Whether Maven gets it for an application that depends on the artifact."""
        return self.scope in _NEEDED and not self.is_optional

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        scope = {"scope": self.scope, "optional": self.is_optional}
        return {"group": self.group, "artifact": self.artifact, "version": self.version, **scope}


@frozen
class LibraryJar:
    """The facts in the jar of a library."""

    java: int
    """The oldest Java that runs all its classes; 0 if it has none."""
    natives: frozenset[str]
    """The platforms that it has native code for: ``linux-x86_64``, ``linux-x86_64-musl``, ``macos-aarch64``, ..."""


def artifacts_of(release: Release) -> tuple[str, ...]:
    """List the artifacts of Kafka that Streams applications get, sorted: clients, streams, and what those need.

    Those for Scala are among them, also where their POM could not be had.

    Raises:
        NoTable: Kafka has not published the release.

    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> artifacts_of(RELEASES["4.3.1"])
    ('kafka-clients', 'kafka-streams', 'kafka-streams-scala_2.13')
    """
    place = place_of(table_name(release))
    artifacts = {name for name, rows in _table()["java"].items() if any(values_at(rows, place))}
    return tuple(sorted(artifacts.union(f"{SCALA_ARTIFACT}_{version}" for version in scala_versions(release))))


def dependencies_of(release: Release, artifact: str = STREAMS) -> tuple[Dependency, ...]:
    """Return what an artifact of Kafka's names in its POM, sorted.

    Raises:
        NoTable: Kafka has not published the release, or not with this artifact.

    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> [f"{each.artifact} {each.version}" for each in dependencies_of(RELEASES["3.9.1"])][-2:]
    ['rocksdbjni 7.9.2', 'slf4j-api 1.7.36']
    """
    return _dependencies(table_name(release), artifact)


def needed_by(release: Release, artifact: str = STREAMS) -> tuple[Dependency, ...]:
    """Return what an application gets with an artifact, sorted: also what Kafka's own artifacts among it need.

    Raises:
        NoTable: Kafka has not published the release, or not with this artifact.

    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> [each.artifact for each in needed_by(RELEASES["4.1.0"]) if not each.group.startswith("com.fasterxml")]
    ['zstd-jni', 'kafka-clients', 'lz4-java', 'rocksdbjni', 'slf4j-api', 'snappy-java']
    """
    needed, waiting = set[Dependency](), [artifact]
    while waiting:
        for dependency in dependencies_of(release, waiting.pop()):
            if dependency.is_needed and dependency not in needed:
                needed.add(dependency)
                waiting += [dependency.artifact] if dependency.group == KAFKA_GROUP else []
    return tuple(sorted(needed))


def java_level(release: Release, artifact: str = STREAMS) -> int:
    """Return the oldest Java that runs the classes of an artifact of Kafka's.

    Raises:
        NoTable: Kafka has not published the release, or not with this artifact.

    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> [java_level(RELEASES[name]) for name in ("1.1.1", "3.9.2", "4.0.0")]
    [7, 8, 11]
    """
    return int(_of_artifact(_table()["java"], table_name(release), artifact))


def library_jar(dependency: Dependency) -> LibraryJar | None:
    """Return what the jar of a library says; None if no release names it, or only as optional.

    >>> library_jar(Dependency("org.lz4", "lz4-java", "1.8.0", "runtime")).java
    7
    """
    row = _table()["libraries"].get(dependency.name, {}).get(dependency.version)
    return row and LibraryJar(row["java"], frozenset(row["natives"]))


def natives_of(release: Release, artifact: str = STREAMS) -> Mapping[str, frozenset[str]]:
    """Return the platforms of each library with native code that an artifact needs, by group and artifact.

    Raises:
        NoTable: Kafka has not published the release, or not with this artifact.

    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> natives = natives_of(RELEASES["2.8.2"])["org.rocksdb:rocksdbjni"]
    >>> "linux-aarch64" in natives, "macos-aarch64" in natives
    (True, False)
    """
    jars = {dependency.name: library_jar(dependency) for dependency in needed_by(release, artifact)}
    return {name: jar.natives for name, jar in jars.items() if jar and jar.natives}


@frozen
class DependencyChange:
    """A library that an artifact needs in another way in another release."""

    artifact: str
    library: str
    """Group and artifact."""
    old: Dependency | None
    """None: it is new."""
    new: Dependency | None
    """None: it is gone."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        plain = {"artifact": self.artifact, "library": self.library}
        return plain | {
            name: dependency and dependency.as_json() for name, dependency in (("old", self.old), ("new", self.new))
        }


@frozen
class JavaChange:
    """An artifact of Kafka, or a library that it needs, whose classes need another Java."""

    name: str
    old: int
    new: int

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"name": self.name, "old": self.old, "new": self.new}


@frozen
class NativesChange:
    """A library with native code for other platforms than before."""

    library: str
    added: frozenset[str]
    removed: frozenset[str]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"library": self.library, "added": sorted(self.added), "removed": sorted(self.removed)}


@frozen
class DependenciesDiff:
    """The differences between the needs of two releases."""

    artifacts_added: tuple[str, ...]
    artifacts_removed: tuple[str, ...]
    libraries: tuple[DependencyChange, ...]
    java: tuple[JavaChange, ...]
    natives: tuple[NativesChange, ...]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "artifacts": {"added": list(self.artifacts_added), "removed": list(self.artifacts_removed)},
            "libraries": [library.as_json() for library in self.libraries],
            "java": [change.as_json() for change in self.java],
            "natives": [change.as_json() for change in self.natives],
        }


def compare_dependencies(old: Release, new: Release) -> DependenciesDiff:
    """Compare what the artifacts of two releases need.

    Artifacts that one of them lacks are named; what they need is not listed. Kafka's own versions are no difference.

    Raises:
        NoTable: Kafka has not published one of them.
    """
    before, after = artifacts_of(old), artifacts_of(new)
    both = [name for name in before if name in after and _is_in_table(old, name) and _is_in_table(new, name)]
    levels = (JavaChange(name, java_level(old, name), java_level(new, name)) for name in both)
    return DependenciesDiff(
        tuple(name for name in after if name not in before),
        tuple(name for name in before if name not in after),
        tuple(change for name in both for change in _library_changes(old, new, name)),
        (*(level for level in levels if level.old != level.new), *_library_levels(old, new)),
        tuple(_native_changes(old, new)),
    )


def _is_in_table(release: Release, artifact: str) -> bool:
    return any(values_at(_table()["java"][artifact], place_of(table_name(release))))


def _library_changes(old: Release, new: Release, artifact: str) -> Iterator[DependencyChange]:
    before, after = (
        {dependency.name: dependency for dependency in dependencies_of(release, artifact)} for release in (old, new)
    )
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        is_kafkas = name.startswith(f"{KAFKA_GROUP}:") and was and now
        if was != now and not (is_kafkas and was and now and was.scope == now.scope):
            yield DependencyChange(artifact, name, was, now)


def _library_levels(old: Release, new: Release) -> Iterator[JavaChange]:
    before, after = _jars(old), _jars(new)
    for name in sorted(before.keys() & after.keys()):
        if before[name].java != after[name].java:
            yield JavaChange(name, before[name].java, after[name].java)


def _native_changes(old: Release, new: Release) -> Iterator[NativesChange]:
    before, after = _jars(old), _jars(new)
    for name in sorted(before.keys() & after.keys()):
        was, now = before[name].natives, after[name].natives
        if was != now:
            yield NativesChange(name, now - was, was - now)


def _jars(release: Release) -> dict[str, LibraryJar]:
    return {dependency.name: jar for dependency in needed_by(release) if (jar := library_jar(dependency))}


def _table() -> dict[str, Any]:
    return stored_json(DEPENDENCIES)


def _of_artifact(table: Mapping[str, Mapping[str, Any]], name: str, artifact: str) -> Any:
    for value in values_at(table.get(artifact, {}), place_of(name)):
        return value
    raise NoTable(f"expected an artifact of {name} that is in the tables, got {artifact}")


@cache
def _dependencies(name: str, artifact: str) -> tuple[Dependency, ...]:
    _of_artifact(_table()["java"], name, artifact)
    place = place_of(name)
    rows = _table()["dependencies"].get(artifact, {})
    pairs = ((library.split(":"), row) for library, ranges in rows.items() for row in values_at(ranges, place))
    return tuple(
        sorted(
            Dependency(group, library, version or name, scope, bool(optional))
            for (group, library), (version, scope, *optional) in pairs
        )
    )
