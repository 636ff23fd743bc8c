"""The class files of an application: jars, jars inside them, and folders. Nothing is run or unpacked to disk.

Of each class its supertypes and the classes that it names are read. Those that refer to one of Kafka's, or to a class
that extends one of Kafka's, are read completely.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from zipfile import ZipFile, ZipInfo

from attrs import evolve, frozen

from upgrade.application._zip_files import entry_content, open_zip
from upgrade.application.class_file import ClassFile, ClassHeader, InvalidClass, read_class, read_header
from upgrade.application.code import classes_of_any_release
from upgrade.application.libraries import MANIFEST, POM, JarOrigin, Library, jar_origin, parse_manifest, parse_pom
from upgrade.input_values import MAX_FILE_BYTES, InvalidInput, read_input

MAX_ENTRIES: Final = 500_000
MAX_JAR_BYTES: Final = 1 << 29
"""The largest jar inside another: it is read into memory."""
MAX_TOTAL_BYTES: Final = 1 << 31
"""The most that all archives may expand to."""
MAX_NAMES: Final = 10_000_000
"""The most classes that all classes may name, each counted once a class: a jar of 100 MB has 650,000."""
MAX_DEPTH: Final = 3
"""Jars inside jars: those of Spring Boot have one level, a war in an ear two."""
OLDEST_JAVA: Final = 8
_KAFKA: Final = "org/apache/kafka/"
_ROCKSDB: Final = "org/rocksdb/"
_REFERRED: Final = (_KAFKA, _ROCKSDB)
_MENTIONS: Final = (_KAFKA.encode(), _ROCKSDB.encode())
_JARS: Final = (".jar", ".war", ".ear", ".zip")
_CLASSES: Final = (".class", ".classdata")
"""An agent hides its classes from the application's class loader with the second name."""
_CLASS_ROOTS: Final = re.compile(r"(?:(?:BOOT|WEB)-INF/classes|inst)/")
_VERSIONS: Final = re.compile(r"META-INF/versions/(\d{1,4})/")
_NO_CLASSES: Final = ("module-info", "package-info")
_KAFKA_VERSIONS: Final = {
    "kafka/kafka-version.properties": "kafka-clients",
    "kafka/kafka-streams-version.properties": "kafka-streams",
}
_DESCRIPTIONS: Final = ("META-INF/", "kafka/")
"""Where a jar says what it is."""
_COPIES: Final = {
    "kafka-clients": ("common/TopicPartition", "clients/CommonClientConfigs"),
    "kafka-streams": ("streams/StreamsBuilder", "streams/Topology"),
}
"""Classes by which a copy of Kafka under another package is found."""
_APPLICATION_FOLDER: Final = "app"
"""Quarkus has the classes of the application there, and its libraries in other folders."""


@frozen
class ApplicationClass:
    """A class and where it comes from."""

    file: ClassFile
    library: Library


@frozen
class KafkaArtifact:
    """An artifact of Kafka among the files; its classes are read only if another one has another version."""

    name: str
    version: str
    jar: ZipFile | None = None
    """None if a shaded jar bundles it."""


@frozen
class _Place:
    """Where a class file is."""

    archive: ZipFile | Path
    entry: ZipInfo | None
    origin: JarOrigin
    version: int = 0
    """The Java from which on a multi-release jar has it; 0 for the others."""


@frozen
class _Seen:
    header: ClassHeader
    place: _Place
    is_about_kafka: bool
    """It names a class of Kafka's, or one of RocksDB's, which Kafka brings."""


def _files_below(folder: Path) -> list[Path]:
    """List files of a folder; ``OSError`` for what cannot be read, which ``rglob`` would leave out."""

    def refuse(error: OSError) -> None:
        raise error

    return sorted(Path(root, name) for root, _, names in os.walk(folder, onerror=refuse) for name in names)


class Archives:
    """The classes below some paths; a context manager, as jars stay open.

    Args:
        paths: Jars, class files and folders.
        java: The Java that they run on at least: of a multi-release jar, older variants of a class are left out.

    Raises:
        InvalidInput: A path is no jar, class or folder, or exceeds a limit.
        OSError: It cannot be read.
    """

    def __init__(self, paths: Iterable[Path], java: int = OLDEST_JAVA) -> None:
        self._paths = tuple(paths)
        self._java = java
        self._stack = ExitStack()
        self._entries = self._bytes = self._names = 0
        self._all: dict[str, list[_Seen]] = {}
        self._found: dict[str, ClassFile | None] = {}
        self.classes: tuple[ApplicationClass, ...] = ()
        """Those that refer to a class of Kafka or RocksDB, or to one that extends Kafka's, without their own."""
        self.libraries: set[Library] = set()
        self.java: dict[Library, int] = {}
        """The Java that the newest class of each library needs."""
        self.artifacts: list[KafkaArtifact] = []
        self.relocated: dict[str, tuple[str, Library]] = {}
        """The folders of copies of Kafka under another package, with the artifact and the library that has it."""
        self.class_path: set[str] = set()
        """Further jars that manifests of the application name; they are not read."""
        self.damaged: list[str] = []
        """Class files and jars that cannot be read."""
        self.seen = 0
        """How many class files there are, without Kafka's own."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for path in self._paths:
                self._read_path(path, stack)
            self.classes = tuple(self._relevant())
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def kafka(self) -> dict[str, set[str]]:
        """The versions of each artifact of Kafka in the files."""
        versions: dict[str, set[str]] = {}
        for artifact in self.artifacts:
            versions.setdefault(artifact.name, set()).add(artifact.version)
        return versions

    @property
    def sees_libraries(self) -> bool:
        """Whether libraries are among the files: an application without any is a thin jar."""
        return bool(self.kafka) or any(not library.is_own for library in self.libraries)

    @property
    def names(self) -> frozenset[str]:
        """The names of all classes, without Kafka's own."""
        return frozenset(self._all)

    def find(self, name: str) -> ClassFile | None:
        """Return a class of the application or its libraries; None if it is not among them, or damaged."""
        if name not in self._found:
            variants = self._all.get(name)
            self._found[name] = None if variants is None else self._read(variants[0].place, with_references=False)
        return self._found[name]

    def own_classes_naming(self, beginning: str | tuple[str, ...]) -> list[str]:
        """Return the classes of the application itself that name a class with such a beginning, in order."""
        return sorted(
            own
            for own, variants in self._all.items()
            if any(
                variant.place.origin.library.is_own and any(name.startswith(beginning) for name in variant.header.named)
                for variant in variants
            )
        )

    def kafka_classes(self, artifact: KafkaArtifact) -> Iterator[ClassFile]:
        """Yield the classes of an artifact of Kafka, without the libraries that it contains."""
        if artifact.jar is None:
            return
        origin = JarOrigin(Library(artifact.name, artifact.version))
        for entry in artifact.jar.infolist():
            if entry.filename.startswith(_KAFKA) and "/shaded/" not in entry.filename:
                class_file = (
                    self._read(_Place(artifact.jar, entry, origin)) if entry.filename.endswith(".class") else None
                )
                if class_file:
                    yield class_file

    def _read_path(self, path: Path, stack: ExitStack) -> None:
        if path.is_dir():
            origin = JarOrigin(Library(path.name, is_own=True))
            for file in _files_below(path):
                if file.suffix in _CLASSES and file.is_file():
                    self._count(1)
                    self._add(read_input(file), _Place(file, None, origin))
                elif file.suffix in _JARS and file.is_file():
                    self._read_jar(file, stack, None if file.parent.name == _APPLICATION_FOLDER else origin.library)
        elif path.suffix == ".class":
            self._add(read_input(path), _Place(path, None, JarOrigin(Library(path.name, is_own=True))))
        else:
            self._read_jar(path, stack, None)

    def _read_jar(self, path: Path, stack: ExitStack, parent: Library | None) -> None:
        jar = open_zip(path, str(path))
        if jar is None:
            raise InvalidInput(f"expected a jar, a class file or a folder, got {path}")
        self._read_entries(stack.enter_context(jar), path.name, str(path), stack, 0, parent)

    def _read_nested(
        self, jar: ZipFile, entry: ZipInfo, path: str, stack: ExitStack, depth: int, parent: Library
    ) -> None:
        if depth > MAX_DEPTH:
            raise InvalidInput(f"expected at most {MAX_DEPTH} levels of jars inside jars, got {path}")
        nested = open_zip(BytesIO(self._content(jar, entry, path, MAX_JAR_BYTES)), path)
        if nested is None:
            self.damaged.append(path)
            return
        name = entry.filename.rpartition("/")[2]
        self._read_entries(stack.enter_context(nested), name, path, stack, depth, parent)

    def _read_entries(
        self, jar: ZipFile, name: str, path: str, stack: ExitStack, depth: int, parent: Library | None
    ) -> None:
        entries = [entry for entry in jar.infolist() if not entry.is_dir()]
        self._count(len(entries))
        origin = self._origin(jar, name, entries, parent)
        if origin.is_kafka:
            self.artifacts.append(KafkaArtifact(origin.library.name, origin.library.version, jar))
            return
        self.artifacts += (KafkaArtifact(*artifact) for artifact in origin.kafka)
        self.libraries |= {origin.library, *origin.bundled.values()}
        if origin.library.is_own:  # those of libraries are often left over from their own build
            self.class_path.update(origin.class_path)
        copies = tuple(self._copies([entry.filename for entry in entries], origin))
        for entry in entries:
            if entry.filename.endswith(_CLASSES):
                self._add_entry(jar, entry, origin, copies)
            elif entry.filename.endswith(_JARS):
                self._read_nested(jar, entry, f"{path}!/{entry.filename}", stack, depth + 1, origin.library)

    def _origin(self, jar: ZipFile, name: str, entries: list[ZipInfo], parent: Library | None) -> JarOrigin:
        poms, manifest, kafka = list[dict[str, str]](), dict[str, str](), list[tuple[str, str]]()
        for entry in entries:
            if not entry.filename.startswith(_DESCRIPTIONS):
                continue
            if POM.fullmatch(entry.filename):
                poms.append(parse_pom(self._text(jar, entry)))
            elif entry.filename == MANIFEST:
                manifest = parse_manifest(self._text(jar, entry))
            elif artifact := _KAFKA_VERSIONS.get(entry.filename):
                kafka.append((artifact, parse_pom(self._text(jar, entry)).get("version", "")))
        jar_description = jar_origin(name, poms, manifest, parent=parent)
        return evolve(jar_description, kafka=tuple(dict.fromkeys((*jar_description.kafka, *kafka))))

    def _copies(self, names: list[str], origin: JarOrigin) -> Iterator[str]:
        """Yield the folders that have Kafka's classes under another package (maven-shade, Gradle's shadow)."""
        present = {*names}
        for artifact, (first, *others) in _COPIES.items():
            for name in names:
                folder = name.removesuffix(f"{first}.class")
                if folder not in {name, _KAFKA} and all(f"{folder}{other}.class" in present for other in others):
                    self.relocated.setdefault(_CLASS_ROOTS.sub("", folder), (artifact, origin.library))
                    yield folder

    def _add_entry(self, jar: ZipFile, entry: ZipInfo, origin: JarOrigin, copies: tuple[str, ...]) -> None:
        path, version = entry.filename, 0
        if variant := _VERSIONS.match(path):
            if not origin.has_versions:
                return  # Java does not look there
            version, path = int(variant[1]), path[variant.end() :]
        name = _CLASS_ROOTS.sub("", path, count=1).rpartition(".")[0]
        is_copy = any(entry.filename.startswith(folder) for folder in copies)
        is_bundled = bool(origin.kafka) and name.startswith(_KAFKA)
        if name.rpartition("/")[2] not in _NO_CLASSES and not (_is_kafkas(name) or is_bundled or is_copy):
            self._add(self._content(jar, entry), _Place(jar, entry, origin, version))

    def _content(self, jar: ZipFile, entry: ZipInfo, name: str = "", limit: int = MAX_FILE_BYTES) -> bytes:
        """Return the content of an entry; empty if it is damaged."""
        if entry.file_size > limit:
            raise InvalidInput(f"expected at most {limit:,} bytes, got {entry.filename} with {entry.file_size:,}")
        self._bytes += entry.file_size
        if self._bytes > MAX_TOTAL_BYTES:
            raise InvalidInput(f"expected archives that expand to at most {MAX_TOTAL_BYTES:,} bytes, got more")
        content = entry_content(jar, entry)
        if content is None and not name:
            self.damaged.append(entry.filename)
        return content or b""

    def _count(self, entries: int) -> None:
        self._entries += entries
        if self._entries > MAX_ENTRIES:
            raise InvalidInput(f"expected at most {MAX_ENTRIES:,} entries in all archives, got more")

    def _text(self, jar: ZipFile, entry: ZipInfo) -> str:
        return self._content(jar, entry).decode("utf-8", "replace")

    def _add(self, content: bytes, place: _Place) -> None:
        """Add a class, unless it is damaged or one of Kafka's own."""
        if not content:
            return
        self.seen += 1
        try:
            header = read_header(content)
        except InvalidClass:
            self.damaged.append(_name_of(place))
            return
        if _is_kafkas(header.name):
            self.seen -= 1
            return
        self._names += len(header.named)
        if self._names > MAX_NAMES:
            raise InvalidInput(f"expected classes that name at most {MAX_NAMES:,} classes, got more")
        self._all.setdefault(header.name, []).append(
            _Seen(header, place, any(mention in content for mention in _MENTIONS))
        )
        if not place.version:
            library = place.origin.library
            self.java[library] = max(self.java.get(library, 0), header.java)

    def _relevant(self) -> Iterator[ApplicationClass]:
        """Yield the classes from which a reference can lead to one of Kafka's, each variant of one."""
        derived = self._derived()
        for name, variants in self._all.items():
            if name.startswith(_ROCKSDB):
                continue  # it comes with Kafka, in the version of the release
            newest = max(
                (variant.place.version for variant in variants if variant.place.version <= self._java), default=0
            )
            for variant in variants:
                if variant.place.version < newest:
                    continue
                if variant.is_about_kafka or not derived.isdisjoint(variant.header.named):
                    class_file = self._read(variant.place)
                    if class_file is None:
                        self.damaged.append(_name_of(variant.place))
                        continue
                    references = (
                        ref for ref in class_file.references if ref.owner.startswith(_REFERRED) or ref.owner in derived
                    )
                    library = variant.place.origin.library_of(class_file.name)
                    yield ApplicationClass(evolve(class_file, references=frozenset(references)), library)

    def _derived(self) -> set[str]:
        """Return the classes that extend or implement one of Kafka's."""
        subtypes: defaultdict[str, list[str]] = defaultdict(list)
        waiting = list[str]()
        for name, variants in self._all.items():
            for variant in variants:
                for parent in (variant.header.superclass, *variant.header.interfaces):
                    subtypes[parent].append(name)
                    if parent.startswith(_KAFKA) and parent not in self._all:
                        waiting.append(name)
        derived = set[str]()
        while waiting:
            name = waiting.pop()
            if name not in derived:
                derived.add(name)
                waiting += subtypes[name]
        return derived

    def _read(self, place: _Place, *, with_references: bool = True) -> ClassFile | None:
        """Read a class again; None if it is damaged."""
        archive = place.archive
        if isinstance(archive, Path):
            content: bytes | None = read_input(archive)
        else:
            assert place.entry is not None
            content = entry_content(archive, place.entry)
        try:
            return read_class(content or b"", with_references=with_references)
        except InvalidClass:
            return None


def _name_of(place: _Place) -> str:
    return str(place.archive) if place.entry is None else place.entry.filename


def _is_kafkas(name: str) -> bool:
    return name.startswith(_KAFKA) and (name in classes_of_any_release() or name.startswith(f"{_KAFKA}shaded/"))
