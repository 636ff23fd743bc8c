"""Artifacts of Kafka of different releases in one application: what they miss of each other, and what keeps one old.

A framework's list of versions, or a serde that brings its own kafka-clients, keeps one artifact where it was while
another one is raised: NoSuchMethodError while the application runs, in Kafka's own classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import evolve, frozen

from streams_assignor.upgrade.application.archive import ApplicationClass, Archives, KafkaArtifact
from streams_assignor.upgrade.application.class_file import PRIVATE
from streams_assignor.upgrade.application.code import JAVA, Code, KafkaClass, code_of
from streams_assignor.upgrade.application.dependencies import CLIENTS, STREAMS
from streams_assignor.upgrade.application.libraries import Library
from streams_assignor.upgrade.application.linkage import Problem, check_artifacts
from streams_assignor.upgrade.releases import NEWEST, RELEASES

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
    """The possible reasons of its version: frameworks that name its version, then libraries that need it."""
    problems: tuple[Problem, ...]
    """The unresolved references of Kafka's own classes."""

    @property
    def is_broken(self) -> bool:
        """Whether a reference of Kafka's own fails."""
        return bool(self.problems)

    @property
    def of_others(self) -> str:
        """The artifacts of another release than Kafka Streams, and kafka-clients of another line; empty: none."""
        of_streams = self.versions.get(STREAMS, ())
        lines = {_line(version) for version in of_streams}
        others = ((name, version) for name, of_artifact in self.versions.items() for version in of_artifact)
        return ", ".join(
            f"{name} {version}"
            for name, version in others
            if of_streams and (_line(version) not in lines if name == CLIENTS else version not in of_streams)
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "versions": {artifact: list(versions) for artifact, versions in self.versions.items()},
            "oldest": self.oldest,
            "kept_by": list(self.kept_by),
            "missing": [problem.as_json() for problem in self.problems],
        }


def mixed_artifacts(archives: Archives) -> MixedArtifacts | None:
    """Compare the artifacts of Kafka in the files with each other; None if they are of one release."""
    versions = {name: tuple(sorted(of_artifact)) for name, of_artifact in sorted(archives.kafka.items())}
    if len({version for of_artifact in versions.values() for version in of_artifact}) < 2:
        return None
    oldest = min(versions, key=lambda name: min(map(_numbers, versions[name])))
    first = {artifact.name: artifact for artifact in reversed(archives.artifacts)}
    code: dict[str, KafkaClass] = {
        name: kafka_class for name, kafka_class in code_of(NEWEST).items() if kafka_class.artifact == JAVA
    }
    for artifact in first.values():
        code.update(_classes(archives, artifact))
    referring = (
        ApplicationClass(class_file, Library(artifact.name, artifact.version))
        for artifact in first.values()
        if artifact.name != CLIENTS  # it refers to no other artifact
        for class_file in archives.kafka_classes(artifact)
    )
    return MixedArtifacts(versions, oldest, tuple(_keepers(archives)), check_artifacts(referring, code))


def _classes(archives: Archives, artifact: KafkaArtifact) -> Code:
    """Return the classes of an artifact: from the tables if Apache released it, else from its jar."""
    if artifact.name in {CLIENTS, STREAMS} and artifact.version in RELEASES and RELEASES[artifact.version].is_released:
        classes = code_of(RELEASES[artifact.version])
        return {name: kafka_class for name, kafka_class in classes.items() if kafka_class.artifact == artifact.name}
    return {
        class_file.name: KafkaClass(
            class_file.name,
            artifact.name,
            class_file.flags,
            class_file.superclass,
            class_file.interfaces,
            {
                (member.name, member.descriptor): member.flags
                for member in class_file.members
                if not member.flags & PRIVATE
            },
        )
        for class_file in archives.kafka_classes(artifact)
    }


def _keepers(archives: Archives) -> Iterable[str]:
    libraries = sorted(archives.libraries, key=lambda library: (library.name, library.version))
    managers = [library for library in libraries if library.name in _MANAGERS]
    needing = {
        application_class.library for application_class in archives.classes if not application_class.library.is_own
    }
    yield from (f"{_MANAGERS[manager.name]} {manager.version}, which names the version" for manager in managers)
    for library in sorted(needing - {*managers}, key=lambda library: (library.name, library.version)):
        yield str(evolve(library, is_own=False))


def _line(version: str) -> tuple[int, ...]:
    return tuple(_numbers(version)[:2])


def _numbers(version: str) -> list[int]:
    return [int(number) for number in _NUMBERS.findall(version)]
