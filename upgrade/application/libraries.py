"""Where a class comes from: the library of a jar, by its POMs, its manifest, or the name of its file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve, field, frozen

KAFKA_GROUP: Final = "org.apache.kafka"
POM: Final = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.properties")
MANIFEST: Final = "META-INF/MANIFEST.MF"
_FILE_NAME: Final = re.compile(r"(?P<name>.+?)-(?P<version>\d[\w.+-]*)\.\w+")
_MOST_FOLDERS: Final = 20
"""Parts of a group that are looked at."""
_LONGEST_NAME: Final = 255
"""Of a file, on any disk."""
_EXTENSION: Final = re.compile(r"(\.tar)?\.\w+$")
_KAFKA_ARTIFACT: Final = re.compile(
    r"kafka_2\.1\d|connect-(api|json|runtime|transforms|file|mirror(-client)?|basic-auth-extension)|kafka-(clients|"
    r"streams(-scala_2\.1\d|-test-utils)?|(share-|group-|transaction-)?coordinator(-common|-api)?|log4j-appender|metadata|"
    r"raft|server(-common)?|storage(-api)?|tools(-api)?)"
)
"""Artifacts that Kafka releases together: all are replaced by those of TO, and most have no POM inside."""
_DESCRIBES: Final = frozenset({"Bundle-SymbolicName", "Implementation-Title", "Automatic-Module-Name"})
"""Attributes of manifests that publishers give to a library."""
_OF_MODULES: Final = frozenset({"Bundle-SymbolicName", "Automatic-Module-Name"})
_QUARKUS_PREFIX: Final = f"{KAFKA_GROUP}."
"""Quarkus names a file GROUP.ARTIFACT-VERSION.jar."""


@frozen
class Library:
    """Where a class comes from."""

    name: str
    version: str = ""
    is_own: bool = False
    """It is of the application itself, as far as its files say."""
    group: str = ""
    """Of its POM; empty if it has none."""
    is_agent: bool = False
    """A Java agent: it changes classes while they are loaded."""

    def __str__(self) -> str:
        kind = "agent" if self.is_agent else "library"
        return "your class" if self.is_own else f"{kind} {self.name} {self.version}".rstrip()


@frozen
class JarOrigin:
    """The origin of the classes of a jar, by its files."""

    library: Library
    bundled: Mapping[str, Library] = field(factory=dict)
    """In a shaded jar: the libraries by the folder of their group. Which of a group it is cannot be told."""
    kafka: tuple[tuple[str, str], ...] = ()
    """The artifacts of Kafka that it bundles, with their versions."""
    is_kafka: bool = False
    """It is an artifact of Kafka itself."""
    has_versions: bool = False
    """A multi-release jar."""
    class_path: tuple[str, ...] = ()
    """The further jars that its manifest names."""
    main_class: str = ""
    """The class that it starts."""
    is_described: bool = False
    """It says by POM or manifest whose it is."""
    is_module: bool = False
    """Its manifest gives it a name for other modules, and no class to start: it is a library."""

    def library_of(self, name: str) -> Library:
        """Return the library of a class."""
        library, folder = self.library, ""
        for part in name.split("/", _MOST_FOLDERS)[:_MOST_FOLDERS]:
            folder += f"{part}/"
            library = self.bundled.get(folder, library)
        return library


def jar_origin(file_name: str, poms: Iterable[Mapping[str, str]], manifest: Mapping[str, str]) -> JarOrigin:
    """Tell where the classes of a jar come from; whether it is the application's own is not told here.

    Args:
        file_name: The name of its file.
        poms: The ``pom.properties`` in it: more than one in a shaded jar.
        manifest: Its main attributes.

    >>> jar_origin("spring-kafka-2.7.1.jar", [], {}).library
    Library(name='spring-kafka', version='2.7.1', is_own=False, group='', is_agent=False)
    """
    libraries = [
        Library(pom["artifactId"], pom.get("version", ""), group=pom.get("groupId", ""))
        for pom in poms
        if pom.get("artifactId")
    ]
    library = _library(file_name, libraries, manifest)
    kafka = tuple((bundled.name, bundled.version) for bundled in libraries if bundled.group == KAFKA_GROUP)
    is_agent = "Premain-Class" in manifest
    main_class = manifest.get("Start-Class") or manifest.get("Main-Class", "")
    others = {
        f"{bundled.group.replace('.', '/')}/": bundled
        for bundled in sorted(libraries, key=lambda bundled: bundled.name, reverse=True)
        if bundled.group not in {"", library.group}
    }
    return JarOrigin(
        evolve(library, is_agent=is_agent),
        others,
        kafka,
        _KAFKA_ARTIFACT.fullmatch(library.name) is not None or (bool(kafka) and len(libraries) == 1),
        manifest.get("Multi-Release", "").lower() == "true",
        tuple(manifest.get("Class-Path", "").split()),
        main_class.replace(".", "/"),
        bool(libraries) or not _DESCRIBES.isdisjoint(manifest),
        not (main_class or _OF_MODULES.isdisjoint(manifest)),
    )


def name_without_version(file_name: str) -> str:
    """Return the name of an application that the name of a jar, an archive or a folder tells.

    >>> name_without_version("orders-1.0.tar.gz"), name_without_version("orders"), name_without_version("orders.jar")
    ('orders', 'orders', 'orders')
    """
    if len(file_name) > _LONGEST_NAME:
        return file_name
    match = _FILE_NAME.fullmatch(file_name) or _FILE_NAME.fullmatch(f"{file_name}.d")
    return match["name"].removeprefix(_QUARKUS_PREFIX) if match else _EXTENSION.sub("", file_name)


def _library(file_name: str, libraries: list[Library], manifest: Mapping[str, str]) -> Library:
    """Return name and version: of the POM that fits the name of the file, of the file, or of the manifest."""
    fitting = (
        [library for library in libraries if file_name.startswith(library.name)] if len(libraries) > 1 else libraries
    )
    if fitting:
        return max(fitting, key=lambda library: len(library.name))
    if len(file_name) <= _LONGEST_NAME and (match := _FILE_NAME.fullmatch(file_name)):
        return Library(match["name"].removeprefix(_QUARKUS_PREFIX), match["version"])
    title = manifest.get("Implementation-Title") or manifest.get("Bundle-SymbolicName")
    version = manifest.get("Implementation-Version") or manifest.get("Bundle-Version", "")
    return Library(title.partition(";")[0], version) if title and version else Library(file_name)


def parse_manifest(text: str) -> dict[str, str]:
    r"""Return the main attributes of a manifest; a line that begins with a blank goes on with the one before.

    >>> parse_manifest("Class-Path: lib/a.jar l\n ib/b.jar\n\nName: x\n")
    {'Class-Path': 'lib/a.jar lib/b.jar'}
    """
    main = text.replace("\r\n", "\n").replace("\r", "\n").partition("\n\n")[0].replace("\n ", "")
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in main.splitlines())}


def parse_pom(text: str) -> dict[str, str]:
    r"""Return the entries of a ``pom.properties``.

    >>> parse_pom("#Generated\nartifactId=a\n")
    {'#Generated': '', 'artifactId': 'a'}
    """
    return {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in text.splitlines())}
