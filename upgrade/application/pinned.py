"""Artifacts of Kafka of different releases in one application: what they miss of each other, and what keeps one old.

A framework's list of versions, or a serde that brings its own kafka-clients, keeps one artifact where it was while
another one is raised: NoSuchMethodError while the application runs, in Kafka's own classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import evolve, frozen

from upgrade.application.archive import ApplicationClass, Archives, KafkaArtifact
from upgrade.application.class_file import PRIVATE
from upgrade.application.code import JAVA, Code, KafkaClass, code_of
from upgrade.application.dependencies import CLIENTS, STREAMS
from upgrade.application.libraries import Library
from upgrade.application.linkage import Problem, check_artifacts
from upgrade.releases import NEWEST, RELEASES

_MANAGERS: Final = {
    "spring-boot": "Spring Boot",
    "spring-cloud-stream": "Spring Cloud Stream",
    "quarkus-core": "Quarkus",
    "micronaut-core": "Micronaut",
    "helidon-common": "Helidon",
}
"""Frameworks whose list of versions (BOM) names Kafka's artifacts, by their own artifact."""
_NUMBERS: Final = re.compile(r"\d+")


@frozen
class MixedArtifacts:
    """Artifacts of Kafka that are not of one release."""

    versions: Mapping[str, tuple[str, ...]]
    """Of each artifact: more than one if the files have it several times."""
    oldest: str
    """The artifact that stayed behind."""
    kept_by: tuple[str, ...]
    """What may keep it: frameworks that name its version, then libraries that need it."""
    problems: tuple[Problem, ...]
    """What Kafka's own classes refer to and do not find."""

    @property
    def is_broken(self) -> bool:
        """Whether a reference of Kafka's own fails."""
        return bool(self.problems)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "versions": {artifact: list(versions) for artifact, versions in self.versions.items()},
            "oldest": self.oldest,
            "kept_by": list(self.kept_by),
            "missing": [each.as_json() for each in self.problems],
        }


def mixed_artifacts(archives: Archives) -> MixedArtifacts | None:
    """Compare the artifacts of Kafka in the files with each other; None if they are of one release."""
    versions = {name: tuple(sorted(found)) for name, found in sorted(archives.kafka.items())}
    if len({version for found in versions.values() for version in found}) < 2:
        return None
    oldest = min(versions, key=lambda name: min(map(_numbers, versions[name])))
    first = {each.name: each for each in reversed(archives.artifacts)}
    code: dict[str, KafkaClass] = {name: known for name, known in code_of(NEWEST).items() if known.artifact == JAVA}
    for each in first.values():
        code.update(_classes(archives, each))
    referring = (
        ApplicationClass(found, Library(each.name, each.version))
        for each in first.values()
        if each.name != CLIENTS  # it refers to no other artifact
        for found in archives.kafka_classes(each)
    )
    return MixedArtifacts(versions, oldest, tuple(_keepers(archives)), check_artifacts(referring, code))


def _classes(archives: Archives, artifact: KafkaArtifact) -> Code:
    """Return the classes of an artifact: from the tables if Apache released it, else from its jar."""
    if artifact.name in {CLIENTS, STREAMS} and artifact.version in RELEASES and RELEASES[artifact.version].is_released:
        known = code_of(RELEASES[artifact.version])
        return {name: found for name, found in known.items() if found.artifact == artifact.name}
    return {
        found.name: KafkaClass(
            found.name,
            artifact.name,
            found.flags,
            found.superclass,
            found.interfaces,
            {(each.name, each.descriptor): each.flags for each in found.members if not each.flags & PRIVATE},
        )
        for found in archives.kafka_classes(artifact)
    }


def _keepers(archives: Archives) -> Iterable[str]:
    libraries = sorted(archives.libraries, key=lambda each: (each.name, each.version))
    managers = [each for each in libraries if each.name in _MANAGERS]
    needing = {each.library for each in archives.classes if not each.library.is_own}
    yield from (f"{_MANAGERS[each.name]} {each.version}, which names the version" for each in managers)
    for each in sorted(needing - {*managers}, key=lambda each: (each.name, each.version)):
        yield str(evolve(each, is_own=False))


def _numbers(version: str) -> list[int]:
    return [int(number) for number in _NUMBERS.findall(version)]
