"""The table of ``upgrade.application.dependencies``: POMs, class file versions, and the headers of native code."""

from __future__ import annotations

import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from struct import unpack_from
from typing import Any, Final
from xml.etree import ElementTree
from zipfile import ZipFile, ZipInfo

from attrs import frozen

from streams_assignor.upgrade.application.dependencies import CLIENTS, STREAMS, Dependency
from streams_assignor.upgrade.application.scala import SCALA_ARTIFACT
from tests.lab.integration.kafka_jars import cache_folder
from tests.lab.releases.artifacts import KAFKA, Artifact, copy_artifacts, tables_folder
from tests.lab.releases.published import published_releases
from tests.lab.releases.ranges import by_ranges, note

SCALA_VERSIONS: Final = ("2.11", "2.12", "2.13")
_NAMESPACE: Final = "{http://maven.apache.org/POM/4.0.0}"
_JAVA_1: Final = 44
_NATIVE: Final = re.compile(r".*\.(so|dll|dylib|jnilib|a)")
_ELF: Final = {
    (3, 1): "x86",
    (8, 1): "mips",
    (8, 2): "mips64",
    (18, 1): "sparc",
    (20, 1): "ppc",
    (21, 2): "ppc64",
    (22, 2): "s390x",
    (40, 1): "arm",
    (43, 2): "sparc64",
    (62, 2): "x86_64",
    (183, 2): "aarch64",
    (243, 2): "riscv64",
    (258, 2): "loongarch64",
}
"""The processor of a file of Unix by the number of its machine and its class: 1 has 32 bits, 2 has 64."""
_LITTLE_ENDIAN: Final = {"mips": "mipsel", "mips64": "mips64el", "ppc64": "ppc64le"}
"""Processors that exist in both orders of bytes."""
_PE: Final = {0x14C: "x86", 0x8664: "x86_64", 0xAA64: "aarch64"}
_MACH: Final = {7: "x86", 0x01000007: "x86_64", 0x0100000C: "aarch64", 18: "ppc", 0x01000012: "ppc64"}
_XCOFF: Final = {0x01DF: "ppc", 0x01F7: "ppc64"}
_SYSTEMS: Final = ("android", "freebsd", "sunos")
"""Systems with files of the form of Linux, which only the path tells."""


@frozen
class ReleaseArtifact:
    """An artifact of Kafka's in one release."""

    release: str
    name: str
    java: int
    dependencies: tuple[Dependency, ...]


def scala_releases(releases: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return those of some releases that the registry has for each version of Scala."""
    wanted = set(releases)
    return {
        scala: tuple(name for name in published_releases(f"{SCALA_ARTIFACT}_{scala}") if name in wanted)
        for scala in SCALA_VERSIONS
    }


def derive_artifacts(releases: Sequence[str], scala: Mapping[str, Iterable[str]]) -> list[ReleaseArtifact]:
    """Read the POMs and the class file versions of what applications get of Kafka."""
    folder = tables_folder()
    waiting = {(name, artifact) for name in releases for artifact in (CLIENTS, STREAMS)}
    waiting |= {(name, f"{SCALA_ARTIFACT}_{version}") for version, names in scala.items() for name in names}
    found: dict[tuple[str, str], ReleaseArtifact] = {}
    while waiting:
        files = [Artifact(KAFKA, artifact, name, kind) for name, artifact in sorted(waiting) for kind in ("pom", "jar")]
        copy_artifacts(files, folder)
        for name, artifact in waiting:
            dependencies = read_pom((folder / f"{artifact}-{name}.pom").read_text(encoding="utf-8"))
            java = java_of(folder / f"{artifact}-{name}.jar")
            found[name, artifact] = ReleaseArtifact(name, artifact, java, tuple(dependencies))
        needed = {(each.version, each.artifact) for row in found.values() for each in row.dependencies if _is_own(each)}
        waiting = needed - found.keys()
    return [found[key] for key in sorted(found)]


def _is_own(each: Dependency) -> bool:
    return each.group == KAFKA and each.is_needed


def read_pom(text: str) -> Iterator[Dependency]:
    """Yield the dependencies of a POM, without those for tests; it must be a flat one, as all of Kafka's are.

    Raises:
        ValueError: It has a parent, properties or managed versions.
    """
    root = ElementTree.fromstring(text)
    for name in ("parent", "properties", "dependencyManagement"):
        if root.find(_NAMESPACE + name) is not None:
            raise ValueError(f"expected a flat POM, got one with <{name}>")
    for each in root.iterfind(f"{_NAMESPACE}dependencies/{_NAMESPACE}dependency"):
        words = {name: each.findtext(_NAMESPACE + name, "") for name in ("groupId", "artifactId", "version", "scope")}
        if not words["version"] or "$" in "".join(words.values()):
            raise ValueError(f"expected a flat POM, got {words}")
        scope, is_optional = words["scope"] or "compile", each.findtext(f"{_NAMESPACE}optional") == "true"
        if scope != "test":
            yield Dependency(words["groupId"], words["artifactId"], words["version"], scope, is_optional)


def java_of(path: Path) -> int:
    """Return the oldest Java that runs all classes of a jar; classes for newer ones only are left out."""
    with ZipFile(path) as jar:
        versions = [
            unpack_from(">H", jar.open(entry).read(8), 6)[0]
            for entry in jar.infolist()
            if entry.filename.endswith(".class")
            and not entry.filename.startswith("META-INF/")
            and not entry.filename.endswith("module-info.class")
        ]
    return max(versions, default=_JAVA_1) - _JAVA_1


def natives_in(path: Path) -> list[str]:
    """Return the platforms of the native code in a jar, as its headers tell them."""
    with ZipFile(path) as jar:
        files = [entry for entry in jar.infolist() if _NATIVE.fullmatch(entry.filename)]
        return sorted({platform for entry in files for platform in _platforms(jar, entry)})


def _platforms(jar: ZipFile, entry: ZipInfo) -> Iterator[str]:
    with jar.open(entry) as file:
        head = file.read(4096)
    yield from platforms(head, entry.filename)


def platforms(head: bytes, path: str) -> Iterator[str]:
    """Yield the platforms of a native file from its first bytes; its path tells only what they do not.

    Raises:
        ValueError: It is of no known form.
    """
    if head.startswith(b"\x7fELF"):
        order = "<" if head[5] == 1 else ">"
        (machine,) = unpack_from(f"{order}H", head, 18)
        system = next((each for each in _SYSTEMS if each in path.lower()), "linux")
        name = _ELF[machine, head[4]]
        name = _LITTLE_ENDIAN.get(name, name) if order == "<" else name
        yield f"{system}-{name}" + ("-musl" if "musl" in path else "")
    elif head.startswith(b"MZ"):
        (at,) = unpack_from("<I", head, 0x3C)
        yield f"windows-{_PE[unpack_from('<H', head, at + 4)[0]]}"
    elif head[:4] in {b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe"}:
        yield f"macos-{_MACH[unpack_from('<I', head, 4)[0]]}"
    elif head.startswith(b"\xca\xfe\xba\xbe"):  # one file for several processors
        (count,) = unpack_from(">I", head, 4)
        yield from (f"macos-{_MACH[unpack_from('>I', head, 8 + 20 * each)[0]]}" for each in range(count))
    elif (magic := unpack_from(">H", head)[0]) in _XCOFF:
        yield f"aix-{_XCOFF[magic]}"
    else:
        raise ValueError(f"expected native code, got {head[:4]!r} in {path}")


def derive_libraries(found: Iterable[ReleaseArtifact]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return Java and platforms of each version of each library that the artifacts name, by group and artifact."""
    libraries: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    named = {each for row in found for each in row.dependencies if each.group != KAFKA and not each.is_optional}
    with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
        folder = Path(scratch)
        copy_artifacts(sorted({Artifact(each.group, each.artifact, each.version) for each in named}), folder)
        for each in sorted(named):
            path = folder / f"{each.artifact}-{each.version}.jar"
            libraries[each.name][each.version] = {"java": java_of(path), "natives": natives_in(path)}
    return libraries


def dependencies_text(found: Iterable[ReleaseArtifact], libraries: Mapping[str, Any], releases: Sequence[str]) -> str:
    """Return the stored form: for each artifact its Java and its libraries, by the releases that have them.

    The version of a library of Kafka's own is empty where it is that of the artifact.
    """
    java: dict[str, dict[str, set[int]]] = {}
    dependencies: dict[str, dict[str, dict[str, set[int]]]] = {}
    for each in found:
        place = releases.index(each.release)
        note(java.setdefault(each.name, {}), each.java, place)
        for library in each.dependencies:
            version = "" if (library.group, library.version) == (KAFKA, each.release) else library.version
            row = [version, library.scope, *([1] if library.is_optional else [])]
            note(dependencies.setdefault(each.name, {}).setdefault(library.name, {}), row, place)
    stored = {
        "java": by_ranges(java),
        "dependencies": {name: by_ranges(rows) for name, rows in dependencies.items()},
        "libraries": libraries,
    }
    return json.dumps(stored, separators=(",", ":"), sort_keys=True)
