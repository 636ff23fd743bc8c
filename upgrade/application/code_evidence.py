"""The class files of an application as facts with which the conditions of hazards are compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from streams_assignor.upgrade.application.api_diff import full_text, java_name
from streams_assignor.upgrade.application.archive import ApplicationClass, Archives
from streams_assignor.upgrade.application.code import Code, code_of
from streams_assignor.upgrade.application.code_settings import settings_in_code
from streams_assignor.upgrade.application.dependencies import STREAMS, needed_by
from streams_assignor.upgrade.application.facts import decisive_references
from streams_assignor.upgrade.application.libraries import Library
from streams_assignor.upgrade.application.linkage import LinkageReport, Problem, check_references
from streams_assignor.upgrade.application.needs import OF_BROKERS, left_out
from streams_assignor.upgrade.application.rocksdb import ROCKSDB, lacks, rocksdb_code, rocksdb_version
from streams_assignor.upgrade.hazards import (
    BORROWED_LIBRARY,
    CLEAN_UP,
    CLEAN_UP_CLASSES,
    MISSING_LIBRARY,
    PASSIVE_LIBRARIES,
    CodeFacts,
    Lacking,
)
from streams_assignor.upgrade.releases import RELEASES, Release

_KAFKA_STREAMS: Final = "org/apache/kafka/streams/KafkaStreams"
_OF_TOPOLOGIES: Final = re.compile(
    r"org/apache/kafka/streams/((scala/)?(StreamsBuilder|kstream/\w+)|Topology|processor/TopologyBuilder)"
)
"""The types that a class refers to which builds a topology, or a part of it."""
_FRAMEWORKS: Final = frozenset({"micronaut-kafka-streams"})
"""Libraries beside the passive ones that make a ``KafkaStreams`` of the settings which the files have."""
_UNIMPLEMENTED: Final = "AbstractMethodError"
_SETTER: Final = "org/apache/kafka/streams/state/RocksDBConfigSetter"


def code_facts(
    source: str,
    archives: Archives,
    report: LinkageReport,
    origin: Release,
    target: Release,
    code: Callable[[Release], Code] = code_of,
) -> CodeFacts:
    """Return what the class files of an application show.

    Args:
        source: The names of the files.
        archives: The files, still open.
        report: The result of its references in the target release.
        origin: The release that it leaves.
        target: The release that it goes to.
        code: Returns the classes of a release, with those for Scala if the application uses them.
    """
    in_order = sorted(archives.libraries, key=str)  # of a set: equal files have equal plans
    libraries = {library.name: library.version for library in in_order if not library.is_own}
    artifacts = {artifact.name: artifact.version for artifact in archives.artifacts}
    uses = decisive_references(archives.classes, code(origin), archives.find)
    own: dict[str, tuple[str, ...]] = {}
    by_libraries: dict[str, tuple[str, ...]] = {}
    for fact, evidence in uses.found.items():
        active = [use for use in evidence if use.referrer.library.name not in PASSIVE_LIBRARIES]
        own[fact.value] = tuple(str(use) for use in active if use.referrer.library.is_own)
        by_libraries[fact.value] = tuple(str(use) for use in active if not use.referrer.library.is_own)
    if named := [name for class_name in CLEAN_UP_CLASSES for name in archives.own_classes_naming(class_name)]:
        own[CLEAN_UP] = tuple(f"your class {java_name(name)} refers to CleanupConfig" for name in named)
    borrowed = MISSING_LIBRARY if target.name in archives.kafka.get(STREAMS, ()) else BORROWED_LIBRARY
    own[borrowed] = tuple(_borrowed(archives, origin, target, archives.own_classes_naming, "your class"))
    by_libraries[borrowed] = tuple(_borrowed(archives, origin, target, archives.unclear_classes_naming, "class"))
    makers = dict.fromkeys(
        application_class.library
        for application_class in archives.classes
        for reference in application_class.file.references
        if reference.owner == _KAFKA_STREAMS and reference.name == "<init>"
    )
    setter = [problem for problem in report.new_problems if problem.owner == _SETTER]
    return CodeFacts(
        source,
        shown=own,
        by_libraries=by_libraries,
        has_libraries=archives.sees_libraries,
        lacking=tuple(_lacking(archives, report.new_problems, origin, target, code)),
        rocksdb=(
            *_lacking(archives, setter, origin, target, code),
            *_lacking_of_rocksdb(archives.classes, origin, target),
        ),
        java=max((java for library, java in archives.java.items() if library.is_own), default=0),
        libraries=libraries | artifacts,
        makes_streams=any(library.is_own for library in makers),
        builds_topology=any(
            _OF_TOPOLOGIES.fullmatch(reference.owner)
            for application_class in archives.classes
            if application_class.library.is_own
            for reference in application_class.file.references
        ),
        streams_of_libraries=tuple(library.name for library in makers if _is_unknown(library)),
        has_own_classes=archives.own_classes > 0,
        setting_files=archives.setting_files,
        unread=archives.unread,
        agents=tuple(f"{library} is there" for library in in_order if library.is_agent),
        settings=settings_in_code(archives.own_contents(), archives.original_name),
    )


def _is_unknown(library: Library) -> bool:
    """Whether nothing is known of the settings that a library gives to its Kafka Streams."""
    return not library.is_own and library.name not in {*PASSIVE_LIBRARIES, *_FRAMEWORKS}


def _borrowed(
    archives: Archives, origin: Release, target: Release, naming: Callable[[tuple[str, ...]], list[str]], what: str
) -> Iterator[str]:
    """Yield the classes that use a library which only the release that the application leaves brings.

    If the files have the release that it goes to, a library that is there is the application's own.
    """
    has_target = target.name in archives.kafka.get(STREAMS, ())
    present = {library.name for library in archives.libraries} | archives.kafka.keys() if has_target else set[str]()
    of_brokers = OF_BROKERS if origin.number < (3, 0) <= target.number else ()
    for artifact, packages in (*left_out(needed_by(origin), needed_by(target)), *of_brokers):
        for name in naming(packages) if artifact not in present else ():
            yield f"{what} {java_name(name)} refers to {artifact}, which Kafka Streams {target} does not bring"


def _lacking_of_rocksdb(classes: Iterable[ApplicationClass], origin: Release, target: Release) -> Iterator[Lacking]:
    """Yield what RocksDB lacks in the version of a later release, with the first release on the way that does."""
    waiting = [
        (application_class, ref)
        for application_class in classes
        for ref in sorted(ref for ref in application_class.file.references if ref.owner.startswith(ROCKSDB))
        if not lacks(rocksdb_code(origin), ref)
    ]
    for release in _lines_between(origin, target) if waiting else ():
        after, left = rocksdb_code(release), []
        for application_class, ref in waiting:
            if lacks(after, ref):
                name = full_text(ref.owner, ref.name, ref.descriptor)
                gone = f"{name}: RocksDB {rocksdb_version(release)} does not have it"
                yield Lacking(
                    f"{application_class.library} {java_name(application_class.file.name)}: {gone}", release.number
                )
            else:
                left.append((application_class, ref))
        waiting = left


def _lacking(
    archives: Archives,
    problems: Iterable[Problem],
    origin: Release,
    target: Release,
    code: Callable[[Release], Code],
) -> Iterator[Lacking]:
    """Yield what the release that the application goes to lacks, with the first release on the way that does."""
    waiting = dict.fromkeys(problems)
    names = {referrer.name for problem in waiting for referrer in problem.referred_by}
    classes = [application_class for application_class in archives.classes if application_class.file.name in names]
    for release in _lines_between(origin, target):
        problems = set(_problems(classes, code(origin), code(release), archives)) if waiting else set()
        for problem in [problem for problem in waiting if problem in problems]:
            del waiting[problem]
            is_unimplemented = problem.error == _UNIMPLEMENTED
            yield from (Lacking(text, release.number, is_unimplemented) for text in _sentences(problem))


def _problems(classes: Iterable[ApplicationClass], old: Code, new: Code, archives: Archives) -> tuple[Problem, ...]:
    return check_references(classes, old, new, archives.find).new_problems


def _sentences(problem: Problem) -> Iterator[str]:
    first, *others = problem.referred_by
    more = f" and {len(others)} more" if others else ""
    yield f"{first.library} {java_name(first.name)}{more}: {problem.text}: {problem.reason}"


def _lines_between(origin: Release, target: Release) -> Iterator[Release]:
    """Yield the first release of each line on the way, and the target."""
    seen = set[str]()
    for release in RELEASES.values():
        is_between = origin.number < release.number < target.number
        if release.is_released and is_between and release.line not in seen and release.line != origin.line:
            seen.add(release.line)
            yield release
    yield target
