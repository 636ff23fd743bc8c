"""The code of an application on another release: references, Kafka's artifacts, libraries and Java."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen

from streams_assignor.codec.errors import require_type
from streams_assignor.upgrade.application.api_diff import java_name
from streams_assignor.upgrade.application.archive import Archives
from streams_assignor.upgrade.application.code import Code, code_of
from streams_assignor.upgrade.application.code_evidence import code_facts
from streams_assignor.upgrade.application.compilation import refused_by_compilers
from streams_assignor.upgrade.application.dependencies import STREAMS, java_level, needed_by
from streams_assignor.upgrade.application.libraries import Library
from streams_assignor.upgrade.application.linkage import LinkageReport, Problem, Referrer, check_references, with_places
from streams_assignor.upgrade.application.needs import Need, check_needs
from streams_assignor.upgrade.application.pinned import MixedArtifacts, mixed_artifacts
from streams_assignor.upgrade.application.raised_libraries import RaisedLibrary, raised_libraries
from streams_assignor.upgrade.application.replacements import Replacement, overloads, replacement
from streams_assignor.upgrade.application.scala import SCALA_ARTIFACT, scala_jar, scala_versions
from streams_assignor.upgrade.application.settings import KnownClasses
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import CodeFacts, CodeSettings
from streams_assignor.upgrade.releases import RELEASES, Release, ResolvedRelease, resolve_release

_INVISIBLE: Final = "reflection, native images, agents besides, names of metrics, and whether a line ever runs"
_SCALA_LIBRARY: Final = "scala-library"
_SCALA: Final = "org/apache/kafka/streams/scala/"
_MOST_OVERLOADS: Final = 3


@frozen
class RelocatedKafka:
    """A copy of Kafka under another package."""

    package: str
    artifact: str
    library: Library
    is_read: bool
    """It is the application's Kafka; else it stays as it is, whatever release the application takes."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        plain = {"package": self.package, "artifact": self.artifact, "library": str(self.library)}
        return {**plain, "read_as_kafka": self.is_read}


@frozen
class CodeReport:
    """The class files of an application beside two releases."""

    paths: tuple[str, ...]
    target: str
    seen: int
    """How many class files were read, without Kafka's own."""
    kafka: Mapping[str, tuple[str, ...]]
    """The versions of each artifact of Kafka in the files."""
    libraries: tuple[Library, ...]
    damaged: tuple[str, ...]
    known_classes: KnownClasses
    linkage: LinkageReport
    facts: CodeFacts
    relocated: tuple[RelocatedKafka, ...]
    mixed: MixedArtifacts | None
    needs: tuple[Need, ...]
    java: int
    """The Java that the newest class of the application needs; 0 without classes."""
    java_library: str
    """Where that class is."""
    needed_java: int
    """The Java that the release needs."""
    class_path: tuple[str, ...]
    """Jars that manifests name and that were not read."""
    suggestions: Mapping[str, tuple[str, ...]]
    """For losses without a replacement: methods of the same name that the release has, by the text of a problem."""
    scala_jar: str
    """The release whose kafka-streams-scala was read; empty if the application does not use it, or TO has none."""
    is_downgrade: bool
    """Whether the release is older than the one that the application leaves."""
    raised: tuple[RaisedLibrary, ...]
    """The libraries whose references the release lacks."""
    refused_by_compilers: tuple[str, ...]
    """The known errors of a compiler that linkage does not show; there may be more."""

    @property
    def blocked(self) -> str:
        """Why members do not work; empty if they do, as far as references decide."""
        if self.linkage.new_problems:
            return f"the code refers to what {self.target} lacks, see below"
        return "Kafka's artifacts in the files do not fit together, see below" if self.is_mixed_after else ""

    def origin(self, named: ResolvedRelease) -> ResolvedRelease:
        """Return the release that the application leaves: the patch level is that of its files if the name has none."""
        versions = self.kafka.get(STREAMS, ())
        open_levels = {release.name for release in (*named.candidates, *named.older)}
        is_told = len(versions) == 1 and len(open_levels) > 1 and versions[0] in open_levels
        return resolve_release(versions[0]) if is_told else named

    def notes(self, origin: ResolvedRelease, target: ResolvedRelease) -> Iterator[str]:
        """Say what the Kafka in the files is to the two releases of the plan."""
        versions = self.kafka.get(STREAMS, ())
        ends = {release.name for end in (origin, target) for release in end.candidates}
        if versions and ends.isdisjoint(versions):
            found = f"{STREAMS} in the files is {', '.join(versions)}"
            yield f"{found}, neither {origin.release} nor {target.release}: are these the files of this upgrade?"

    @property
    def is_mixed_after(self) -> bool:
        """Whether the files have Kafka Streams of the release already, beside another artifact that does not fit."""
        streams = self.kafka.get(STREAMS, ())
        return self.mixed is not None and self.mixed.is_broken and self.target in streams

    @property
    def not_seen(self) -> tuple[str, ...]:
        """The facts that class files do not show."""
        parts = [_INVISIBLE]
        if not self.facts.has_own_classes:
            parts.append("your own classes: nothing says which are yours (--own)")
        if not self.known_classes.has_libraries:
            parts.append("its libraries: there are none in the files")
        if self.scala_jar not in {"", self.target}:
            parts.append(
                f"{SCALA_ARTIFACT} of {self.target}: its jar could not be had, that of {self.scala_jar} was read"
            )
        if self.class_path:
            parts.append(f"{len(self.class_path)} jars that a manifest names, such as {self.class_path[0]}")
        return tuple(parts)

    def replacement_of(self, problem: Problem) -> Replacement | None:
        """Return what to call instead; None on the way to an older release, which lacks what came later."""
        return None if self.is_downgrade else replacement(problem.text)

    def problem_as_json(self, problem: Problem) -> dict[str, Any]:
        """Return a problem as plain values, with what to call instead."""
        substitute = self.replacement_of(problem)
        candidates = list(self.suggestions.get(problem.text, ()))
        instead = {"replacement": substitute and substitute.as_json(), "candidates": candidates}
        return {**problem.as_json(), "text": problem.text, **instead}

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "missing": [self.problem_as_json(problem) for problem in self.linkage.problems],
            "application": {
                "paths": list(self.paths),
                "classes": self.seen,
                "references": self.linkage.references,
                "kafka": {artifact: list(versions) for artifact, versions in self.kafka.items()},
                "mixed": self.mixed and self.mixed.as_json(),
                "relocated": [copy.as_json() for copy in self.relocated],
                "libraries": [{"name": library.name, "version": library.version or None} for library in self.libraries],
                "needs": [need.as_json() for need in self.needs],
                "raised": [library.as_json() for library in self.raised],
                "java": {"application": self.java or None, "of": self.java_library or None, "needed": self.needed_java},
                "internal": _by_class(self.linkage.internal),
                "unknown": _by_class(self.linkage.unknown),
                "signatures": _by_class(self.linkage.signatures),
                "overrides_nothing": [
                    {**element.as_json(), "referred_by": [referrer.as_json() for referrer in referrers]}
                    for element, referrers in self.linkage.overrides_nothing.items()
                ],
                "uses": {name: list(uses) for name, uses in sorted(self.facts.shown.items()) if uses},
                "damaged": list(self.damaged),
                "not_seen": list(self.not_seen),
                "refused_by_compilers": list(self.refused_by_compilers),
            },
        }


def _by_class(referrers_by_class: Mapping[str, tuple[Referrer, ...]]) -> list[dict[str, Any]]:
    return [
        {"class": java_name(name), "referred_by": [referrer.as_json() for referrer in referrers]}
        for name, referrers in referrers_by_class.items()
    ]


def judge_code(paths: Sequence[Path], origin: Release, target: Release, own: Sequence[str] = ()) -> CodeReport:
    """Read the class files of an application and compare them with two releases.

    Args:
        paths: Jars, tars, images of containers, class files and folders.
        origin: The release that the application leaves.
        target: The release that it goes to.
        own: The application's own parts, as the user says: names of jars, packages or classes, with ``*``.

    Raises:
        UpgradeError: A path cannot be read, or Kafka has not published a release.
    """
    require_type("paths", paths, Sequence)
    for path in paths:
        require_type("a path", path, Path)
    for argument, release in (("origin", origin), ("target", target)):
        require_type(argument, release, Release, use="release_named finds one by its name")
    try:
        with Archives(paths, java_level(target), own) as archives:
            scala = _scala(archives)
            old, new = _code(origin, scala), _code(target, scala)
            linkage = check_references(archives.classes, old, new, archives.find)
            facts = code_facts(
                ", ".join(map(str, paths)), archives, linkage, origin, target, partial(_code, scala=scala)
            )
            mixed = mixed_artifacts(archives)
            facts = evolve(facts, mixed=mixed.of_others if mixed else "")
            linkage = with_places(linkage, archives.own_contents())
            compiler = refused_by_compilers(
                linkage,
                (old, new),
                (needed_by(origin), needed_by(target)),
                facts.settings or CodeSettings(),
                archives.own_classes_naming,
            )
            refused = tuple(dict.fromkeys(compiler))
    except OSError as error:
        raise UpgradeError(f"cannot read {error.filename or 'an archive'}: {error.strerror or error}") from error
    if not (archives.seen or archives.artifacts or archives.relocated or archives.damaged):
        raise UpgradeError(f"expected class files of an application in {', '.join(map(str, paths))}, got none")
    kafka = {artifact: tuple(sorted(versions)) for artifact, versions in sorted(archives.kafka.items())}
    newest = max(archives.java, key=lambda library: (archives.java[library], library.is_own), default=None)
    return CodeReport(
        tuple(map(str, paths)),
        target.name,
        archives.seen,
        kafka,
        tuple(sorted((library for library in archives.libraries if not library.is_own), key=str)),
        tuple(archives.damaged),
        KnownClasses(archives.names, has_libraries=archives.sees_libraries),
        linkage,
        facts,
        tuple(
            RelocatedKafka(java_name(copy.folder.rstrip("/")), copy.artifact, copy.library, copy.is_read)
            for copy in sorted(archives.relocated, key=lambda copy: copy.folder)
        ),
        mixed,
        _needs(archives, origin, target, has_new_kafka=target.name in kafka.get(STREAMS, ())),
        archives.java[newest] if newest else 0,
        str(newest) if newest else "",
        _needed_java(target, scala),
        tuple(sorted(archives.class_path)),
        dict(_suggestions(linkage, new, with_replaced=target.number < origin.number)),
        scala_jar(target, scala) if scala in scala_versions(target) else "",
        target.number < origin.number,
        raised_libraries(linkage.new_problems, target),
        refused,
    )


def release_of_files(paths: Sequence[Path], own: Sequence[str] = ()) -> str:
    """Return the version of kafka-streams in the files of an application.

    Raises:
        UpgradeError: A path cannot be read, or the files have none, or several.
    """
    try:
        with Archives(paths, own=own) as archives:
            versions = sorted(archives.kafka.get(STREAMS, ()))
    except OSError as error:
        raise UpgradeError(f"cannot read {error.filename or 'an archive'}: {error.strerror or error}") from error
    if len(versions) != 1:
        files = ", ".join(map(str, paths))
        raise UpgradeError(f"expected kafka-streams of one release in {files}, got {', '.join(versions) or 'none'}")
    return versions[0]


def _code(release: Release, scala: str) -> Code:
    """Return the classes of a release, with those for Scala if it has them for this version."""
    return code_of(release, scala if scala in scala_versions(release) else "", with_tests=True)


def _scala(archives: Archives) -> str:
    """Return the version of Scala whose Streams API the application uses; empty if it uses none."""
    if not any(
        ref.owner.startswith(_SCALA)
        for application_class in archives.classes
        for ref in application_class.file.references
    ):
        return ""
    for name in archives.kafka:
        if name.startswith(f"{SCALA_ARTIFACT}_"):
            return name.rpartition("_")[2]
    versions = [library.version for library in archives.libraries if library.name == _SCALA_LIBRARY]
    return ".".join(versions[0].split(".")[:2]) if versions else "2.13"


def _needed_java(target: Release, scala: str) -> int:
    """Return the oldest Java of the release: some jars for Scala need a newer one (KAFKA-20046)."""
    if scala not in scala_versions(target):
        return java_level(target)
    read = RELEASES[scala_jar(target, scala)]
    return max(java_level(target), java_level(read, f"{SCALA_ARTIFACT}_{scala}"))


def _needs(archives: Archives, origin: Release, target: Release, *, has_new_kafka: bool) -> tuple[Need, ...]:
    """Return the libraries that the release needs and the files do not have so; none for a thin jar."""
    if not archives.sees_libraries:
        return ()
    return check_needs(archives.libraries, needed_by(origin), needed_by(target), has_new_kafka=has_new_kafka)


def _suggestions(linkage: LinkageReport, code: Code, *, with_replaced: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    for problem in linkage.problems:
        is_missing = problem.error == "NoSuchMethodError" and (with_replaced or not replacement(problem.text))
        candidates = tuple(overloads(code, problem.owner, problem.member)) if is_missing else ()
        if candidates:
            yield problem.text, candidates[:_MOST_OVERLOADS]
