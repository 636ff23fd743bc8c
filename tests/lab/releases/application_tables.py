"""The tables of ``upgrade.application`` from Kafka's jars: one Maven, one Java, and a reader of class files."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

from attrs import evolve

from streams_assignor.upgrade.application.broker_configuration import BROKER
from streams_assignor.upgrade.application.class_file import INTERFACE, PRIVATE, THROWS, ClassFile, read_class
from streams_assignor.upgrade.application.code import CLASS_FLAGS, JAVA, MEMBER_FLAGS
from streams_assignor.upgrade.application.configuration import CONFIGS
from streams_assignor.upgrade.application.dependencies import Dependency
from streams_assignor.upgrade.application.rocksdb import ROCKSDB, ROCKSDB_ARTIFACT
from streams_assignor.upgrade.application.scala import SCALA_ARTIFACT
from streams_assignor.upgrade.application.stored import (
    BROKERS,
    CODE,
    CONFIGURATION,
    DEPENDENCIES,
    ENVIRONMENT,
    ROCKSDB_CODE,
    SCALA_CODE,
    TEST_UTILS_CODE,
)
from streams_assignor.upgrade.application.values import KNOWN_VALIDATORS
from streams_assignor.upgrade.releases import RELEASES
from streams_assignor.upgrade.upgrade_from import line_number
from tests.java_oracle import compile_java
from tests.lab.integration.kafka_jars import Unavailable, class_path, java, jvm, program
from tests.lab.releases.artifacts import KAFKA, Artifact, copy_artifacts, tables_folder
from tests.lab.releases.dependency_tables import (
    ReleaseArtifact,
    dependencies_text,
    derive_artifacts,
    derive_libraries,
    scala_releases,
)
from tests.lab.releases.environment_tables import derive_environment, environment_text
from tests.lab.releases.published import published_releases
from tests.lab.releases.ranges import by_ranges, note, ranges_text

ARTIFACTS: Final = ("kafka-clients", "kafka-streams")
FOLDER: Final = Path(__file__).parents[3] / "upgrade/application/tables"
PUBLISHED: Final = tuple(
    sorted((name for name, each in RELEASES.items() if each.is_released), key=lambda name: RELEASES[name].number)
)
_FIRST_OF_BROKERS: Final = (2, 0)
_FIRST_OF_2_13: Final = (2, 4)
BROKER_CONFIGS: Final = (BROKER,)
NEWEST_OF_LINES: Final = tuple(
    {line_number(name)[:2]: name for name in PUBLISHED if line_number(name)[:2] >= _FIRST_OF_BROKERS}.values()
)
"""The releases whose brokers the table has: keys rarely change within a line."""
_SLF4J: Final = Artifact("org.slf4j", "slf4j-api", "1.7.36")
_ZSTD: Final = Artifact("com.github.luben", "zstd-jni", "1.5.6-10")
"""Their classes are loaded with the configurations. The limits of zstd's levels are the same in all its releases."""
_SOURCES: Final = (
    Path(__file__).parent / "java" / "ConfigTables.java",
    Path(__file__).parents[2] / "java" / "Json.java",
)
_SECONDS: Final = 1_800
TEST_UTILS: Final = "kafka-streams-test-utils"
_GENERATED: Final = (
    *(
        "<clinit>",
        "access$",
        "lambda$",
        "$anonfun$",
        "$deserializeLambda$",
        "$assertionsDisabled",
        "$VALUES",
        "$values",
    ),
    *("$SwitchMap$", "$SWITCH_TABLE$"),
)
"""What compilers add for a class and its nested ones. Other names with such a sign are those of Scala that every class
may call: operators, traits (``$init$``), default arguments of constructors (``$lessinit$greater$default$1``)."""
Rows = dict[str, dict[str, Any]]
"""The configuration of a release: the facts of each key, by configuration."""


def fetch_jars(releases: Sequence[str]) -> Path:
    """Return a folder with the jars of releases.

    Raises:
        Unavailable: There is no Maven, or it does not get them.
    """
    folder = tables_folder()
    copy_artifacts([*(Artifact(KAFKA, each, name) for name in releases for each in ARTIFACTS), _SLF4J, _ZSTD], folder)
    return folder


def ask_configurations(
    releases: Sequence[str], folder: Path, trials: Path | None = None, *, is_built: bool = False
) -> dict[str, Any]:
    """Run ``ConfigTables.java`` once for all releases; return what it printed for each.

    Args:
        releases: Their names.
        folder: Where their jars are.
        trials: A file of values to try, instead of the tables.
        is_built: Try each value in a whole configuration, not with the checks of its key.
    """
    further = [str(folder / each.file_name) for each in (_SLF4J, _ZSTD)]
    jars = {
        name: os.pathsep.join([*(str(folder / f"{each}-{name}.jar") for each in ARTIFACTS), *further])
        for name in releases
    }
    return _ask(jars, trials, is_built=is_built)


def _ask(jars: Mapping[str, str], trials: Path | None = None, *, is_built: bool = False) -> dict[str, Any]:
    java()
    with tempfile.TemporaryDirectory(prefix="config-tables-") as classes:
        compile_java(_SOURCES, classes)
        command = jvm(classes, "512m", "off")
        command += (
            ["ConfigTables"]
            if trials is None
            else [f"-DTRIALS={trials}", f"-DBUILD={str(is_built).lower()}", "ConfigTables"]
        )
        command += [f"{name}={path}" for name, path in jars.items()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    if done.returncode:
        raise RuntimeError(f"ConfigTables failed: {done.stderr[-1500:]}")
    answers = map(json.loads, filter(None, done.stdout.splitlines()))
    return {answer["release"]: answer for answer in answers}


def derive_broker_configurations(releases: Sequence[str]) -> dict[str, tuple[Rows, dict[str, Any]]]:
    """Return the keys of the broker of each release; one Java for each, as each has a whole class path.

    Raises:
        Unavailable: There is no Maven, or it does not get the jars.
    """
    paths = {name: class_path(f"{KAFKA}:kafka_{_scala_of(name)}:{name}") for name in releases}
    answers = {name: _ask({name: path})[name] for name, path in paths.items()}
    return {name: (_configuration(answer, BROKER_CONFIGS)[0], {}) for name, answer in answers.items()}


def _scala_of(release: str) -> str:
    return "2.13" if line_number(release)[:2] >= _FIRST_OF_2_13 else "2.12"


def derive_configurations(releases: Sequence[str], folder: Path) -> dict[str, tuple[Rows, dict[str, Any]]]:
    """Return the keys of each release, and what Streams overrides."""
    return {name: _configuration(answer) for name, answer in ask_configurations(releases, folder).items()}


def _configuration(answer: Mapping[str, Any], configs: Iterable[str] = CONFIGS) -> tuple[Rows, dict[str, Any]]:
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
        for config in configs
        if config in here
    }
    return keys, here["overrides"]


def _validator(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Leave out what a class of Kafka's own checks: two pieces of code cannot be compared by their names."""
    if found is None or found["class"] in KNOWN_VALIDATORS:
        return found and {name: value for name, value in found.items() if name != "accepts"}
    return {"class": "code", "accepts": found["accepts"]}


def derive_code(
    jars: Iterable[tuple[str, str, Path]], folder: str = "org/apache/kafka/", *, with_references: bool = False
) -> Iterator[tuple[str, str, ClassFile]]:
    """Yield release, artifact and class for each class of Kafka in some jars, without the libraries that they contain.

    Args:
        jars: Release, artifact and path of each.
        folder: Where the classes are.
        with_references: Also read the code of methods.
    """
    read: dict[tuple[str, int, int], ClassFile] = {}  # most classes are the same in the next release
    for release, artifact, path in jars:
        with ZipFile(path) as jar:
            for entry in jar.infolist():
                if not entry.filename.startswith(folder) or "/shaded/" in entry.filename:
                    continue
                if not entry.filename.endswith(".class"):
                    continue
                key = entry.filename, entry.CRC, entry.file_size
                if key not in read:
                    read[key] = _without_generated(read_class(jar.read(entry), with_references=with_references))
                yield release, artifact, read[key]


def java_jars(releases: Iterable[str], folder: Path) -> list[tuple[str, str, Path]]:
    """List the jars of clients and streams."""
    return [(name, artifact, folder / f"{artifact}-{name}.jar") for name in releases for artifact in ARTIFACTS]


def scala_jars(jars: Iterable[tuple[str, str]], folder: Path) -> list[tuple[str, str, Path]]:
    """List the jars for some versions of Scala and releases; each is a release of its own."""
    return [
        (f"{scala}:{name}", SCALA_ARTIFACT, folder / f"{SCALA_ARTIFACT}_{scala}-{name}.jar") for scala, name in jars
    ]


def test_utils_text(releases: Sequence[str], folder: Path) -> str:
    """Return the stored form of kafka-streams-test-utils; a release whose jar is missing has that of the one before."""
    published, jars = {*published_releases(TEST_UTILS)}, list[tuple[str, str, Path]]()
    last: Artifact | None = None
    files = {name: Artifact(KAFKA, TEST_UTILS, name) for name in releases if name in published}
    copy_artifacts(files.values(), folder)
    for name in releases:
        last = files.get(name, last)
        if last:
            jars.append((name, TEST_UTILS, folder / last.file_name))
    return code_text(code_rows(derive_code(jars), releases))


def rocksdb_text(artifacts: Iterable[ReleaseArtifact], folder: Path) -> str:
    """Return the stored form of RocksDB's classes: its versions stand where Kafka's classes have releases."""
    named = {each.release: library for each in artifacts for library in each.dependencies if _is_rocksdb(library)}
    versions = list(dict.fromkeys(named[name].version for name in PUBLISHED if name in named))
    files = [Artifact("org.rocksdb", ROCKSDB_ARTIFACT, each) for each in versions]
    copy_artifacts(files, folder)
    jars = [(each.version, each.name, folder / each.file_name) for each in files]
    return code_text(code_rows(derive_code(jars, ROCKSDB), versions))


def _is_rocksdb(library: Dependency) -> bool:
    return library.artifact == ROCKSDB_ARTIFACT


def _without_generated(found: ClassFile) -> ClassFile:
    """Leave out what the compiler adds for a class and its nested ones."""
    members = [each for each in found.members if not each.name.startswith(_GENERATED)]
    return evolve(found, members=tuple(members))


def with_throwing(found: Iterable[tuple[str, str, ClassFile]]) -> Iterator[tuple[str, str, ClassFile]]:
    """Yield classes whose ``THROWS`` says: a default method that only throws, and that Kafka's own code calls.

    A call of a decorator, which has the same type, is none: it only passes on that somebody else calls.
    """
    for _, of_release in groupby(found, key=itemgetter(0)):
        rows = list(of_release)
        classes = {each.name: each for _, _, each in rows}
        called = {
            (declaring, reference.name, reference.descriptor)
            for each in classes.values()
            for reference in each.references
            for declaring in supertypes_of(classes, reference.owner)
            if declaring not in supertypes_of(classes, each.name)
        }
        for release, artifact, each in rows:
            members = [
                member
                if each.flags & INTERFACE and (each.name, member.name, member.descriptor) in called
                else evolve(member, flags=member.flags & ~THROWS)
                for member in each.members
            ]
            yield release, artifact, evolve(each, members=tuple(members))


def supertypes_of(classes: Mapping[str, ClassFile], name: str) -> frozenset[str]:
    """Return a class and its supertypes among some classes."""
    types, waiting = set[str](), [name]
    while waiting:
        each = waiting.pop()
        if each in classes and each not in types:
            types.add(each)
            waiting += [classes[each].superclass, *classes[each].interfaces]
    return frozenset(types)


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
            found = _without_generated(read_class(module.read(f"classes/{name}.class")))
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
    return {key: _without_private(members) for key, members in rows.items()}


def _without_private(rows: Mapping[tuple[str, ...], set[int]]) -> dict[tuple[str, ...], set[int]]:
    """Leave out members that are private in every release: nothing outside was ever linked with them."""
    seen = {row[1:3] for row in rows if not row[0] and not int(row[3], 16) & PRIVATE}
    return {row: places for row, places in rows.items() if row[0] or row[1:3] in seen}


def _add(rows: dict[tuple[str, ...], set[int]], each: ClassFile, places: set[int]) -> None:
    superclass = "" if each.flags & INTERFACE else each.superclass
    rows[each.name, superclass, ",".join(each.interfaces), f"{each.flags & CLASS_FLAGS:x}"] |= places
    for member in each.members:
        rows["", member.name, member.descriptor, f"{member.flags & MEMBER_FLAGS:x}"] |= places


def code_text(rows: Mapping[tuple[str, ...], Mapping[tuple[str, ...], set[int]]]) -> str:
    """Return the stored form: the sets of releases, then the rows of each class with the number of its set."""
    sets = sorted({ranges_text(each) for found in rows.values() for each in found.values()})
    numbers = {ranges: number for number, ranges in enumerate(sets)}
    lines, last = [json.dumps(sets, separators=(",", ":"))], ""
    for (artifact, _), found in sorted(rows.items()):
        if artifact != last:
            lines.append(f"#{artifact}")
            last = artifact
        # The rows of the class itself, and then those of its members, which have no name in front.
        ordered = sorted(found, key=lambda row: (not row[0], row))
        lines += [f"{' '.join(row)} {numbers[ranges_text(found[row])]}" for row in ordered]
    return "\n".join(lines)


def configuration_text(
    found: Mapping[str, tuple[Rows, dict[str, Any]]], releases: Sequence[str], configs_named: Iterable[str] = CONFIGS
) -> str:
    """Return the stored form: for each key and constant its values, by the releases that have them."""
    configs: dict[str, dict[str, dict[str, set[int]]]] = {config: {} for config in configs_named}
    overrides: dict[str, dict[str, set[int]]] = {}
    for place, name in enumerate(releases):
        keys, constants = found[name]
        for config, rows in keys.items():
            for key, row in rows.items():
                note(configs[config].setdefault(key, {}), row, place)
        for constant, value in constants.items():
            note(overrides.setdefault(constant, {}), value, place)
    stored = {
        "releases": list(releases),
        "configs": {config: by_ranges(rows) for config, rows in configs.items()},
        "overrides": by_ranges(overrides),
    }
    return json.dumps(stored, separators=(",", ":"), sort_keys=True)


def brokers_text(releases: Sequence[str] = NEWEST_OF_LINES) -> str:
    """Return the stored form of the configuration of brokers."""
    return configuration_text(derive_broker_configurations(releases), releases, BROKER_CONFIGS)


def write_tables(releases: Sequence[str] = PUBLISHED) -> dict[str, int]:
    """Derive and write the tables; return the bytes of each file."""
    folder = fetch_jars(releases)
    scala = scala_releases(releases)
    artifacts = derive_artifacts(releases, scala)
    jars = scala_jars(((version, name) for version, names in scala.items() for name in names), folder)
    texts = {
        CONFIGURATION: configuration_text(derive_configurations(releases, folder), releases),
        BROKERS: brokers_text(),
        CODE: code_text(
            code_rows(with_throwing(derive_code(java_jars(releases, folder), with_references=True)), releases)
        ),
        SCALA_CODE: code_text(code_rows(derive_code(jars), [place for place, _, _ in jars])),
        ENVIRONMENT: environment_text(derive_environment(java_jars(releases, folder)), releases),
        ROCKSDB_CODE: rocksdb_text(artifacts, folder),
        TEST_UTILS_CODE: test_utils_text(releases, folder),
        DEPENDENCIES: dependencies_text(artifacts, derive_libraries(artifacts), releases),
    }
    FOLDER.mkdir(exist_ok=True)
    for name, text in texts.items():
        (FOLDER / name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return {name: (FOLDER / name).stat().st_size for name in texts}
