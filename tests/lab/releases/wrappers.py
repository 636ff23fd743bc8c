"""The table of libraries that wrap Kafka Streams, from their published jars and POMs.

``python -m tests.lab.releases wrappers`` writes it. One release of each line is read: the newest that was there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

from attrs import field, frozen

from streams_assignor.upgrade.application.archive import Archives
from streams_assignor.upgrade.application.code import code_of
from streams_assignor.upgrade.application.facts import CodeFact, decisive_references
from streams_assignor.upgrade.releases import NEWEST
from tests.lab.releases.artifacts import Artifact, copy_artifacts, tables_folder

TABLE: Final = Path(__file__).parents[3] / "upgrade/hazards/wrappers.toml"
_BY_ITSELF: Final = (CodeFact.BUILD_WITH_PROPERTIES, CodeFact.BUILD_WITHOUT_PROPERTIES)
"""What a wrapper does with every application; the rest it does if it is asked to."""
_TWO_FLAGS: Final = re.compile(rb"\x2a([\x03\x04])([\x03\x04])\xb7..\xb1", re.DOTALL)
"""``this(onStart, onStop)``: aload_0, two constants, invokespecial, return."""
_TWO_FIELDS: Final = re.compile(rb"\x2a([\x03\x04])\xb5..\x2a([\x03\x04])\xb5..\xb1", re.DOTALL)
"""``onStartup = ...; onShutdown = ...;`` at the end of a constructor."""
_TRUE: Final = b"\x04"
_BYTE_ARRAYS: Final = "org.apache.kafka.common.serialization.Serdes$ByteArraySerde"


@frozen
class WrapperSource:
    """A library, the releases that are read, and where its facts are."""

    name: str
    group: str
    releases: tuple[str, ...]
    bom: tuple[str, str] = ("", "")
    """The artifact of the group whose POM says which Kafka it links, and the property or artifact; empty: its own."""
    clean_up: str = ""
    """The class whose constructor says whether local state is deleted when Kafka Streams is closed."""
    sets: Mapping[str, str] = field(factory=dict)
    """The values that it gives to keys which the application does not set; empty: one of its own configuration."""
    set_by: str = ""
    """The class that does."""


SPRING_BOOT: Final = "org/springframework/boot/autoconfigure/kafka/KafkaProperties$Cleanup.class"
BOOT_4: Final = "org/springframework/boot/kafka/autoconfigure/KafkaProperties"
SOURCES: Final = (
    WrapperSource(
        "spring-kafka",
        "org.springframework.kafka",
        (
            *("2.1.13.RELEASE", "2.2.14.RELEASE", "2.3.14.RELEASE", "2.4.13.RELEASE", "2.5.17.RELEASE", "2.6.5"),
            *("2.7.14", "2.8.11", "2.9.13", "3.0.17", "3.1.10", "3.2.10", "3.3.15", "4.0.8"),
        ),
        clean_up="org/springframework/kafka/core/CleanupConfig.class",
    ),
    WrapperSource(
        "spring-boot-autoconfigure",
        "org.springframework.boot",
        (
            *("2.1.18.RELEASE", "2.3.12.RELEASE", "2.4.13", "2.5.15", "2.6.15", "2.7.18", "3.0.13", "3.1.12", "3.2.12"),
            *("3.3.13", "3.4.13", "3.5.6"),
        ),
        bom=("spring-boot-dependencies", "kafka.version"),
        clean_up=SPRING_BOOT,
    ),
    WrapperSource(
        "spring-boot-kafka",
        "org.springframework.boot",
        ("4.0.1",),
        bom=("spring-boot-dependencies", "kafka.version"),
        clean_up=f"{BOOT_4}$Cleanup.class",
    ),
    WrapperSource(
        "spring-cloud-stream-binder-kafka-streams",
        "org.springframework.cloud",
        ("2.1.4.RELEASE", "3.0.13.RELEASE", "3.1.6", "4.0.5", "4.2.1", "5.0.4"),
        sets={"default.key.serde": _BYTE_ARRAYS, "default.value.serde": _BYTE_ARRAYS, "replication.factor": ""},
        set_by="KafkaStreamsBinderSupportAutoConfiguration.class",
    ),
    WrapperSource(
        "quarkus-kafka-streams",
        "io.quarkus",
        ("2.16.12.Final", "3.8.6", "3.15.3", "3.33.2"),
        bom=("quarkus-bom", "kafka-streams"),
    ),
)


def derive_wrappers(sources: Sequence[WrapperSource] = SOURCES) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the lines of each library with the facts of one release.

    Raises:
        Unavailable: There is no Maven, or it does not get the files.
    """
    folder = tables_folder()
    copy_artifacts([each for source in sources for each in _artifacts(source)], folder)
    return {source.name: {_line(name): _facts(source, name, folder) for name in source.releases} for source in sources}


def _artifacts(source: WrapperSource) -> Iterator[Artifact]:
    for release in source.releases:
        yield Artifact(source.group, source.name, release)
        yield Artifact(source.group, source.bom[0] or source.name, release, "pom")


def _line(release: str) -> str:
    return ".".join(release.split(".")[:2])


def _facts(source: WrapperSource, release: str, folder: Path) -> dict[str, Any]:
    jar = folder / f"{source.name}-{release}.jar"
    pom = (folder / f"{source.bom[0] or source.name}-{release}.pom").read_text(encoding="utf-8")
    found: dict[str, Any] = {"release": release}
    if kafka := linked_kafka(pom, source.bom[1]):
        found["kafka"] = kafka
    if shows := list(_shows(jar)):
        found["shows"] = shows
    with ZipFile(jar) as files:
        if source.clean_up in files.namelist():
            found["deletes-stores"] = deletes_stores(files.read(source.clean_up))
        if source.sets:
            (name,) = (each for each in files.namelist() if each.endswith(f"/{source.set_by}"))
            content = files.read(name)
            found["sets"] = {key: value for key, value in source.sets.items() if key.encode() in content}
    return found


def linked_kafka(pom: str, name: str) -> str:
    """Return the release of Kafka that a POM names, by a property or by a dependency; empty if it names none.

    >>> linked_kafka("<kafka.version>3.6.2</kafka.version>", "kafka.version")
    '3.6.2'
    """
    artifact = "kafka-clients" if "." in name or not name else name
    managed = rf"<artifactId>{artifact}</artifactId>\s*<version>([\d.]+)</version>"
    found = re.search(rf"<{re.escape(name)}>([\d.]+)<", pom) if "." in name else None
    return found[1] if (found := found or re.search(managed, pom)) else ""


def _shows(jar: Path) -> Iterator[str]:
    with Archives([jar]) as archives:
        uses = decisive_references(archives.classes, code_of(NEWEST), archives.find)
    yield from (fact.value for fact in _BY_ITSELF if fact in uses.found)


def deletes_stores(content: bytes) -> bool:
    """Whether a class of clean-up settings says that closing deletes local state, unless it is told otherwise."""
    found = _TWO_FLAGS.search(content) or _TWO_FIELDS.search(content)
    return bool(found and found[2] == _TRUE)


def wrappers_text(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Write the table."""
    lines = [
        "# Libraries that wrap Kafka Streams, by line: the release that was read, the Kafka that it links, what it",
        "# calls for every application, whether closing deletes local stores, and the keys that it sets.",
        "# Written by `python -m tests.lab.releases wrappers` from their jars and POMs.",
    ]
    for name, rows in found.items():
        lines += ["", f"[{name}]", *(f'"{line}" = {_inline(row)}' for line, row in rows.items())]
    return "\n".join(lines) + "\n"


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_inline(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


def _key(name: str) -> str:
    return f'"{name}"' if "." in name else name
