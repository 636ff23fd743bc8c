"""The tables of ``upgrade.application`` from Kafka's jars: one Maven, one Java, and a reader of class files."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape
from zipfile import ZipFile

from tests.java_oracle import compile_java
from tests.lab.integration.kafka_jars import Unavailable, cache_folder, java, jvm, program
from upgrade.application.class_file import INTERFACE, PRIVATE, ClassFile, read_class
from upgrade.application.code import CLASS_FLAGS, JAVA, MEMBER_FLAGS
from upgrade.application.configuration import CONFIGS
from upgrade.application.values import KNOWN_VALIDATORS
from upgrade.releases import RELEASES

ARTIFACTS: Final = ("kafka-clients", "kafka-streams")
FOLDER: Final = Path(__file__).parents[3] / "upgrade/application/tables"
PUBLISHED: Final = tuple(
    sorted((name for name, each in RELEASES.items() if each.is_released), key=lambda name: RELEASES[name].number)
)
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_SLF4J: Final = ("org.slf4j", "slf4j-api", "1.7.36")
_ZSTD: Final = ("com.github.luben", "zstd-jni", "1.5.6-10")
"""Their classes are loaded with the configurations. The limits of zstd's levels are the same in all its releases."""
_SOURCES: Final = (
    Path(__file__).parent / "java" / "ConfigTables.java",
    Path(__file__).parents[2] / "java" / "Json.java",
)
_POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>tests</groupId>
<artifactId>tests</artifactId><version>1</version><packaging>pom</packaging><build><plugins><plugin>
<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version>
<configuration><outputDirectory>{}</outputDirectory><artifactItems>{}</artifactItems></configuration>
</plugin></plugins></build></project>
"""
_ITEM: Final = "<artifactItem><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></artifactItem>"
_SECONDS: Final = 1_800
Rows = dict[str, dict[str, Any]]
"""The configuration of a release: the facts of each key, by configuration."""


def fetch_jars(releases: Sequence[str]) -> Path:
    """Return a folder with the jars of releases.

    Raises:
        Unavailable: There is no Maven, or it does not get them.
    """
    folder = cache_folder() / "application-tables"
    wanted = [("org.apache.kafka", artifact, name) for name in releases for artifact in ARTIFACTS]
    items = [each for each in (*wanted, _SLF4J, _ZSTD) if not (folder / f"{each[1]}-{each[2]}.jar").exists()]
    if items:
        with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
            pom = Path(scratch, "pom.xml")
            pom.write_text(_POM.format(escape(str(folder)), "".join(_ITEM.format(*each) for each in items)))
            command = [program("mvn"), "-B", "-q", "-Dstyle.color=never", "-f", str(pom), _COPY]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
        if done.returncode:
            why = next((line for line in done.stdout.splitlines() if "ERROR" in line), "it does not say why")
            raise Unavailable(f"Maven does not get the jars (is there a network?): {why[:300]}")
    return folder


def ask_configurations(releases: Sequence[str], folder: Path, trials: Path | None = None) -> dict[str, Any]:
    """Run ``ConfigTables.java`` once for all releases; return what it printed for each."""
    java()
    further = [str(folder / f"{name}-{version}.jar") for _, name, version in (_SLF4J, _ZSTD)]
    jars = {
        name: os.pathsep.join([*(str(folder / f"{each}-{name}.jar") for each in ARTIFACTS), *further])
        for name in releases
    }
    with tempfile.TemporaryDirectory(prefix="config-tables-") as classes:
        compile_java(_SOURCES, classes)
        command = jvm(classes, "512m", "off")
        command += ["ConfigTables"] if trials is None else [f"-DTRIALS={trials}", "ConfigTables"]
        command += [f"{name}={path}" for name, path in jars.items()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    if done.returncode:
        raise RuntimeError(f"ConfigTables failed: {done.stderr[-1500:]}")
    answers = map(json.loads, filter(None, done.stdout.splitlines()))
    return {answer["release"]: answer for answer in answers}


def derive_configurations(releases: Sequence[str], folder: Path) -> dict[str, tuple[Rows, dict[str, Any]]]:
    """Return the keys of each release, and what Streams overrides."""
    return {name: _configuration(answer) for name, answer in ask_configurations(releases, folder).items()}


def _configuration(answer: Mapping[str, Any]) -> tuple[Rows, dict[str, Any]]:
    here, elsewhere = answer["tables"], answer["elsewhere"]
    keys = {
        config: {
            key: row
            | {
                "validator": _validator(row["validator"]),
                "varies": row["default"] != elsewhere[config][key]["default"],
            }
            for key, row in here[config].items()
        }
        for config in CONFIGS
        if config in here
    }
    return keys, here["overrides"]


def _validator(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Leave out what a class of Kafka's own checks: two pieces of code cannot be compared by their names."""
    if found is None or found["class"] in KNOWN_VALIDATORS:
        return found and {name: value for name, value in found.items() if name != "accepts"}
    return {"class": "code", "accepts": found["accepts"]}


def derive_code(releases: Sequence[str], folder: Path) -> Iterator[tuple[str, str, ClassFile]]:
    """Yield release, artifact and class for each class of Kafka, without the libraries that it contains."""
    read: dict[tuple[str, int, int], ClassFile] = {}  # most classes are the same in the next release
    for release in releases:
        for artifact in ARTIFACTS:
            with ZipFile(folder / f"{artifact}-{release}.jar") as jar:
                for entry in jar.infolist():
                    if not entry.filename.startswith("org/apache/kafka/") or "/shaded/" in entry.filename:
                        continue
                    if not entry.filename.endswith(".class"):
                        continue
                    key = entry.filename, entry.CRC, entry.file_size
                    if key not in read:
                        read[key] = _without_private(read_class(jar.read(entry)))
                    yield release, artifact, read[key]


def _without_private(found: ClassFile) -> ClassFile:
    """Leave out what nothing outside a class and its nested ones can be linked with."""
    members = [
        each
        for each in found.members
        if not each.flags & PRIVATE and not each.name.startswith(("access$", "lambda$", "$", "<clinit>"))
    ]
    return ClassFile(found.name, found.flags, found.superclass, found.interfaces, tuple(members), found.java)


def java_supertypes(names: Iterable[str]) -> Iterator[ClassFile]:
    """Yield the classes of ``java.base`` with these names, and their supertypes."""
    modules = Path(program("java")).resolve().parents[1] / "jmods" / "java.base.jmod"
    if not modules.exists():
        raise Unavailable(f"no {modules} (install a JDK)")
    wanted, done = {name for name in names if name.startswith("java/")}, set[str]()
    with ZipFile(modules) as module:
        while wanted - done:
            name = min(wanted - done)
            done.add(name)
            found = _without_private(read_class(module.read(f"classes/{name}.class")))
            wanted |= {each for each in (found.superclass, *found.interfaces) if each}
            yield found


def code_rows(
    found: Iterable[tuple[str, str, ClassFile]], releases: Sequence[str]
) -> dict[tuple[str, ...], dict[tuple[str, ...], set[int]]]:
    """Return the rows of each artifact and class, with the places of the releases that have them."""
    places = {name: place for place, name in enumerate(releases)}
    rows: dict[tuple[str, ...], dict[tuple[str, ...], set[int]]] = defaultdict(lambda: defaultdict(set))
    foreign = set[str]()
    for release, artifact, each in found:
        _add(rows[artifact, each.name], each, {places[release]})
        foreign.update(name for name in (each.superclass, *each.interfaces) if name.startswith("java/"))
    for each in java_supertypes(foreign):
        _add(rows[JAVA, each.name], each, set(places.values()))
    return rows


def _add(rows: dict[tuple[str, ...], set[int]], each: ClassFile, places: set[int]) -> None:
    superclass = "" if each.flags & INTERFACE else each.superclass
    rows[each.name, superclass, ",".join(each.interfaces), f"{each.flags & CLASS_FLAGS:x}"] |= places
    for member in each.members:
        rows["", member.name, member.descriptor, f"{member.flags & MEMBER_FLAGS:x}"] |= places


def code_text(rows: Mapping[tuple[str, ...], Mapping[tuple[str, ...], set[int]]]) -> str:
    """Return the stored form: the sets of releases, then the rows of each class with the number of its set."""
    sets = sorted({_ranges(each) for found in rows.values() for each in found.values()})
    numbers = {ranges: number for number, ranges in enumerate(sets)}
    lines, last = [json.dumps(sets, separators=(",", ":"))], ""
    for (artifact, _), found in sorted(rows.items()):
        if artifact != last:
            lines.append(f"#{artifact}")
            last = artifact
        # The rows of the class itself, and then those of its members, which have no name in front.
        ordered = sorted(found, key=lambda row: (not row[0], row))
        lines += [f"{' '.join(row)} {numbers[_ranges(found[row])]}" for row in ordered]
    return "\n".join(lines)


def _ranges(places: Iterable[int]) -> str:
    """Write sorted places.

    >>> _ranges({0, 1, 2, 5})
    '0-2,5'
    """
    parts: list[list[int]] = []
    for place in sorted(places):
        if parts and parts[-1][1] == place - 1:
            parts[-1][1] = place
        else:
            parts.append([place, place])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def configuration_text(found: Mapping[str, tuple[Rows, dict[str, Any]]], releases: Sequence[str]) -> str:
    """Return the stored form: for each key and constant its values, by the releases that have them."""
    configs: dict[str, dict[str, dict[str, set[int]]]] = {config: {} for config in CONFIGS}
    overrides: dict[str, dict[str, set[int]]] = {}
    for place, name in enumerate(releases):
        keys, constants = found[name]
        for config, rows in keys.items():
            for key, row in rows.items():
                _note(configs[config].setdefault(key, {}), row, place)
        for constant, value in constants.items():
            _note(overrides.setdefault(constant, {}), value, place)
    stored = {
        "releases": list(releases),
        "configs": {config: _by_ranges(rows) for config, rows in configs.items()},
        "overrides": _by_ranges(overrides),
    }
    return json.dumps(stored, separators=(",", ":"), sort_keys=True)


def _note(rows: dict[str, set[int]], value: Any, place: int) -> None:
    rows.setdefault(json.dumps(value, sort_keys=True), set()).add(place)


def _by_ranges(rows: Mapping[str, Mapping[str, set[int]]]) -> dict[str, dict[str, Any]]:
    return {
        key: {_ranges(places): json.loads(value) for value, places in values.items()} for key, values in rows.items()
    }


def write_tables(releases: Sequence[str] = PUBLISHED) -> dict[str, int]:
    """Derive and write the tables; return the bytes of each file."""
    from upgrade.application._stored import CODE, CONFIGURATION

    folder = fetch_jars(releases)
    texts = {
        CONFIGURATION: configuration_text(derive_configurations(releases, folder), releases),
        CODE: code_text(code_rows(derive_code(releases, folder), releases)),
    }
    FOLDER.mkdir(exist_ok=True)
    for name, text in texts.items():
        (FOLDER / name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return {name: (FOLDER / name).stat().st_size for name in texts}
