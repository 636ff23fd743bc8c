"""Libraries that wrap Kafka Streams: what they do by themselves, and which Kafka they link.

The rows of ``wrappers.toml`` are read from their jars and POMs (``python -m tests.lab.releases wrappers``).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.hazards._application import Application, Setting, version_number
from streams_assignor.upgrade.hazards._behaviours import BESIDE
from streams_assignor.upgrade.hazards._hazard import Hazard, HazardSubject, Severity
from streams_assignor.upgrade.hazards.conditions import Answer, Ask, HasLibrary, Uses
from streams_assignor.upgrade.hazards.usual_conditions import ON_DISK, setting
from streams_assignor.upgrade.releases import Release

PASSIVE_LIBRARIES: Final = frozenset(
    {
        "micrometer-core",
        "quarkus-kafka-streams",
        "spring-boot",
        "spring-boot-autoconfigure",
        "spring-boot-kafka",
        "spring-cloud-stream-binder-kafka-streams",
        "spring-kafka",
    }
)
"""Their references say nothing: they call what the application gives them, or asks for."""
CLEAN_UP_CLASSES: Final = ("org/springframework/kafka/core/CleanupConfig",)
"""An application that names one of them may say itself whether closing deletes its stores."""
CLEAN_UP: Final = "clean-up-config"
"""The fact that it does."""
_TABLE: Final = "wrappers.toml"
_BUILDS: Final = ("build-with-properties", "build-without-properties")
_SPRING_BOOT: Final = ("spring-boot-kafka", "spring-boot-autoconfigure")
_DECIDES_CLEAN_UP: Final = (*_SPRING_BOOT, "spring-kafka")
"""Spring Boot gives spring-kafka a configuration of its own since 2.4; since 4.0 a module of its own does."""
_CLEAN_UP_KEY: Final = "spring.kafka.streams.cleanup.on-"
_DELETES_AS_ASKED: Final = setting(f"{_CLEAN_UP_KEY}startup", "true") | setting(f"{_CLEAN_UP_KEY}shutdown", "true")
_KEEPS_AS_ASKED: Final = setting(f"{_CLEAN_UP_KEY}shutdown", "false")


@frozen
class WrapperLine:
    """A line of a wrapper."""

    library: str
    line: str
    release: str
    """The release that was read."""
    kafka: str = ""
    """The Kafka that it links, or manages; empty: its POM does not say."""
    shows: tuple[str, ...] = ()
    """Its calls for every application: values of ``CodeFact``."""
    deletes_stores: bool | None = None
    """Whether closing deletes local stores, unless it is told otherwise; None: it does not decide that."""
    sets: Mapping[str, str] = field(factory=dict, hash=False)
    """The values that it gives to keys which the application does not set; empty: one of its own configuration."""


_BINDER: Final = "spring-cloud-stream-binder-kafka-streams"
_CONSUMED_IS_COPIED_SINCE: Final = (3, 7)


@cache
def wrapper_lines() -> Mapping[tuple[str, str], WrapperLine]:
    """Return the rows by library and line.

    >>> wrapper_lines()["spring-kafka", "2.6"].deletes_stores
    True
    """
    table = tomllib.loads(files("streams_assignor.upgrade.hazards").joinpath(_TABLE).read_text(encoding="utf-8"))
    return {
        (library, line): WrapperLine(
            library,
            line,
            row["release"],
            row.get("kafka", ""),
            tuple(row.get("shows", ())),
            row.get("deletes-stores"),
            row.get("sets", {}),
        )
        for library, lines in table.items()
        for line, row in lines.items()
    }


def wrapper_for(library: str, version: str, target: Release) -> WrapperLine | None:
    """Return the newest line of a wrapper that is newer than a version and made for a release, or for one before it.

    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> wrapper_for("spring-kafka", "2.7.14", RELEASES["3.9.2"]).line
    '3.3'
    """
    made = [
        row
        for (name, _), row in wrapper_lines().items()
        if name == library and row.kafka and version_number(row.kafka)[:2] <= target.number[:2]
    ]
    newest = max(made, key=lambda row: version_number(row.release), default=None)
    return newest if newest and version_number(newest.release) > version_number(version) else None


def _wrappers_in(application: Application) -> Iterator[tuple[str, WrapperLine]]:
    """Yield the wrappers of an application with their versions, as far as the table has their lines."""
    for library, version in application.all_libraries.items():
        if wrapper := wrapper_lines().get((library, _line(version))):
            yield f"{library} {version}", wrapper


def _unread_lines_in(application: Application) -> Iterator[tuple[str, str]]:
    """Yield the wrappers of which the table has other lines only, with their versions."""
    for library, version in application.all_libraries.items():
        if library in _wrappers() and (library, _line(version)) not in wrapper_lines():
            yield library, version


@cache
def _wrappers() -> frozenset[str]:
    return frozenset(library for library, _ in wrapper_lines())


def _line(version: str) -> str:
    return ".".join(map(str, version_number(version)[:2]))


def with_wrappers(application: Application) -> Application:
    """Return an application with what its wrappers do by themselves."""
    shown = application.code.shown if application.code else {}
    builds_itself = any(shown.get(fact) for fact in _BUILDS)
    calls: dict[str, str] = {}
    sets: dict[str, Setting] = {}
    for name, wrapper in _wrappers_in(application):
        sets |= {key: Setting(value, name) for key, value in wrapper.sets.items()}
        if not builds_itself:
            calls |= dict.fromkeys(wrapper.shows, f"{name} does it for every application")
    return evolve(application, wrapped={**application.wrapped, **sets}, calls=calls)


def wrapper_hazards(applications: Iterable[Application], target: Release) -> Iterator[Hazard]:
    """Yield the hazards of the wrappers of an application: any upgrade meets them."""
    given = list(applications)
    wrappers = {name: wrapper for application in given for name, wrapper in _wrappers_in(application)}
    by_library = {wrapper.library: (name, wrapper) for name, wrapper in wrappers.items()}
    deciding = (by_library[library] for library in _DECIDES_CLEAN_UP if library in by_library)
    name, decides = next((candidate for candidate in deciding if candidate[1].deletes_stores is not None), ("", None))
    is_boot = decides is not None and decides.library in _SPRING_BOOT
    is_asked = is_boot and any(
        _DELETES_AS_ASKED.look(application).answer is not Answer.NO for application in given if application.settings
    )
    if decides and (decides.deletes_stores or is_asked):
        there = HasLibrary((decides.library,))
        deletes = _DELETES_AS_ASKED | ~_KEEPS_AS_ASKED if decides.deletes_stores else _DELETES_AS_ASKED
        yield Hazard(
            name="wrapper-deletes-stores",
            about=HazardSubject.STORES,
            severity=Severity.WAITS,
            applies_to=f"{name}, unless you give it a CleanupConfig",
            when=(there & deletes if is_boot else there)
            & ON_DISK
            & ~(Uses(CLEAN_UP, "CleanupConfig") & Ask("which CleanupConfig you give it")),
            symptom="each close (with Spring Boot's on-startup: each start) deletes the local stores"
            " (KafkaStreams#cleanUp), so each bounced member restores all",
            remedy="give it CleanupConfig(false, false), or spring.kafka.streams.cleanup.on-shutdown=false of Spring "
            "Boot, in a bounce before the upgrade; it is the default since spring-kafka 2.7 and Spring Boot 2.5",
            source=f"CleanupConfig and KafkaProperties of {decides.library} {decides.release}",
        )
    for library, version in dict.fromkeys(unread for application in given for unread in _unread_lines_in(application)):
        lines = ", ".join(wrapper.line for wrapper in wrapper_lines().values() if wrapper.library == library)
        yield Hazard(
            name=f"{library}-line-not-read",
            about=HazardSubject.CODE,
            severity=Severity.CHANGES,
            applies_to=f"{library} {version}".rstrip(),
            when=HasLibrary((library,)) & Ask(f"what this line of {library} calls, sets and deletes by itself"),
            symptom="nothing is known of this line: what it calls and sets for every application, whether closing "
            "deletes local stores, and which Kafka it links",
            remedy=f"read its release notes and its POM; known are the lines {lines}",
            source=f"{_TABLE} of this release",
        )
    yield from _mixed_artifacts(given, target)
    yield from (row for row in BESIDE if any(row.when.look(each).answer is Answer.YES for each in given))
    has_binder = any(_BINDER in each.all_libraries for each in applications)
    if has_binder and target.known_number >= _CONSUMED_IS_COPIED_SINCE:
        yield Hazard(
            name="binder-drops-consumed",
            about=HazardSubject.CODE,
            severity=Severity.CHANGES,
            applies_to="Spring Cloud Stream's binder before 4.1.1",
            when=HasLibrary((_BINDER,), before=(4, 1, 1)),
            symptom="from 3.7 on the TimestampExtractor and the name of a binding are ignored: "
            "Consumed#withTimestampExtractor and withName return a new Consumed, and the binder drops it",
            remedy="take the binder 4.1.1 or later",
            source="issue 2922 of spring-cloud-stream",  # not run with jars
        )
    for name, wrapper in wrappers.items():
        if wrapper.kafka and version_number(wrapper.kafka)[:2] < target.known_number[:2]:
            yield Hazard(
                name=f"{wrapper.library}-links-older-kafka",
                about=HazardSubject.CODE,
                severity=Severity.CHANGES,
                applies_to=name,
                when=HasLibrary((wrapper.library,)),
                symptom=f"its line was built for Kafka {wrapper.kafka}: it may call what is gone (--app)",
                remedy=_newer(name, wrapper, target),
                source=f"POM of {wrapper.library} {wrapper.release}",
            )


def _mixed_artifacts(applications: Sequence[Application], target: Release) -> Iterator[Hazard]:
    """Yield what a build can do: Kafka's artifacts are of several releases. Nothing if the files are those of TO."""
    code = next((application.code for application in applications if application.code), None)
    has_target = code is not None and code.libraries.get("kafka-streams") == target.name
    if code is None or not has_target or code.mixed:
        mixed = code.mixed if code else ""
        asked = f"whether anything needs what {mixed} lacks" if mixed else "which the new build has (--app)"
        yield Hazard(
            name="mixed-artifacts",
            about=HazardSubject.CODE,
            severity=Severity.STOPS,
            applies_to=f"{mixed or 'artifacts of Kafka that a framework or a serde keeps'} beside Kafka Streams",
            when=Ask(asked),
            is_certain=bool(mixed),
            symptom="NoSuchMethodError, NoClassDefFoundError or AbstractMethodError of Kafka's classes",
            remedy=f"give all artifacts of Kafka the release {target}, in the dependency management of the build",
            source="issue 1055 of spring-cloud-stream-binder-kafka",
        )


def _newer(name: str, wrapper: WrapperLine, target: Release) -> str:
    """Name the line that the remedies of missing classes name, too."""
    newer = wrapper_for(wrapper.library, name.rpartition(" ")[2], target)
    if newer and newer.line != wrapper.line:
        return f"take {newer.library} {newer.line}, which is made for Kafka {newer.kafka}"
    return f"test it: no newer line of {wrapper.library} is known that is made for Kafka {target.line} or before"
