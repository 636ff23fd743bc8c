"""The class files of an application: jars, tars, images, jars inside them, and folders. Nothing is run.

Of each class its supertypes and the classes that it names are read. Those that refer to one of Kafka's, or to a class
that extends one of Kafka's, are read completely.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from attrs import evolve, field, frozen

from streams_assignor.upgrade.application._containers import Container, open_container, open_folder
from streams_assignor.upgrade.application._entry import ArchiveEntry, Unreadable, file_entry
from streams_assignor.upgrade.application._ownership import SCRIPT, Jar, Ownership, root_of
from streams_assignor.upgrade.application._relocation import Copy, Relocation, find_copies
from streams_assignor.upgrade.application.class_file import (
    ClassFile,
    ClassHeader,
    InvalidClass,
    read_class,
    read_header,
)
from streams_assignor.upgrade.application.code import classes_of_any_release, release_of_classes
from streams_assignor.upgrade.application.libraries import (
    MANIFEST,
    POM,
    JarOrigin,
    Library,
    jar_origin,
    name_without_version,
    parse_manifest,
    parse_pom,
)
from streams_assignor.upgrade.input_values import MAX_FILE_BYTES, InvalidInput, open_input, read_input

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
_ARCHIVES: Final = (".jar", ".war", ".ear", ".zip", ".tar", ".tar.gz", ".tgz")
_UNREAD: Final = (".7z", ".aar", ".jar.pack.gz", ".rar", ".tar.bz2", ".tar.xz", ".tar.zst", ".tbz2", ".txz")
"""Other archives, which may have classes, too."""
_CLASSES: Final = (".class", ".classdata")
"""An agent hides its classes from the application's class loader with the second name."""
_CLASS_ROOTS: Final = re.compile(r"(?:(?:BOOT|WEB)-INF/classes|inst)/")
_OWN_ROOTS: Final = re.compile(r"(?:BOOT|WEB)-INF/classes/")
_VERSIONS: Final = re.compile(r"META-INF/versions/(\d{1,4})/")
_NO_CLASSES: Final = ("module-info", "package-info")
_KAFKA_VERSIONS: Final = {
    "kafka/kafka-version.properties": "kafka-clients",
    "kafka/kafka-streams-version.properties": "kafka-streams",
}
_SCALA_PROPERTIES: Final = "library.properties"
"""Scala's library has its version there."""
_DESCRIPTIONS: Final = ("META-INF/", "kafka/")
"""Where a jar says what it is."""
_APPLICATION_FOLDER: Final = "app"
"""Quarkus has the classes of the application there, and its libraries in other folders."""
_SETTINGS: Final = re.compile(
    r"(?:.*/)?(?:(?:application|bootstrap)(?:-[^/]*)?\.(?:properties|ya?ml)|META-INF/microprofile-config\.properties)"
)
"""Files of settings that Spring Boot, Quarkus and Micronaut read."""
_MAX_SCRIPT_BYTES: Final = 1 << 16


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
    entries: tuple[ArchiveEntry, ...] = field(default=(), repr=False, eq=False)
    """Empty if a shaded jar bundles it."""


@frozen
class RelocatedCopy:
    """A copy of Kafka under another package."""

    folder: str
    artifact: str
    library: Library
    """The library, or the application, that has it."""
    is_read: bool
    """The application's own classes have or use it, so it is their Kafka; else it stays as it is."""


@frozen
class _Parent:
    """The container that a jar is in."""

    jar: Jar | None = None
    """None for what the user names."""
    depth: int = 0
    file_names: frozenset[str] = frozenset()

    def owns(self, name: str, origin: JarOrigin) -> bool:
        """Whether a jar in it is the application's own by its place and its name."""
        if self.jar is None:
            return not origin.is_module
        *folders, file_name = name.split("/")
        if folders[-1:] == [_APPLICATION_FOLDER] or (self.jar.name.endswith(".ear") and not folders):
            return True
        names = {self.jar.origin.library.name, *map(name_without_version, (self.jar.name, *folders[:1]))}
        return self.jar.is_own and not names.isdisjoint((origin.library.name, name_without_version(file_name)))


_TOP: Final = _Parent()


@frozen
class _Place:
    """Where a class file is."""

    entry: ArchiveEntry
    path: str
    """Its name in messages."""
    jar: Jar
    in_root: bool = False
    """It is in a folder of classes that only an application has."""
    version: int = 0
    """The Java from which on a multi-release jar has it; 0 for the others."""


@frozen
class _Seen:
    header: ClassHeader
    place: _Place
    is_about_kafka: bool
    """It names a class of Kafka's, or one of RocksDB's, which Kafka brings."""


class Archives:
    """The classes below some paths; a context manager, as jars stay open.

    Args:
        paths: Jars, tars, images of containers, class files and folders.
        java: The Java that they run on at least: of a multi-release jar, older variants of a class are left out.
        own: The application's own parts, as the user says: names of jars, packages or classes, with ``*``.

    Raises:
        InvalidInput: A path is no jar, tar, class or folder, or exceeds a limit.
        OSError: It cannot be read.
    """

    def __init__(self, paths: Iterable[Path], java: int = OLDEST_JAVA, own: Sequence[str] = ()) -> None:
        self._paths = tuple(paths)
        self._java = java
        self._stack = ExitStack()
        self._entries = self._bytes = self._names = 0
        self._all: dict[str, list[_Seen]] = {}
        self._found: dict[str, ClassFile | None] = {}
        self._ownership = Ownership(own)
        self._jars: list[Jar] = []
        self.classes: tuple[ApplicationClass, ...] = ()
        """Those that refer to a class of Kafka or RocksDB, or to one that extends Kafka's, without their own."""
        self.own_classes = 0
        """How many classes are the application's own; without one the files say nothing about it."""
        self.libraries: set[Library] = set()
        self.java: dict[Library, int] = {}
        """The Java that the newest class of each library needs."""
        self.artifacts: list[KafkaArtifact] = []
        self._copies: list[tuple[Copy, Jar]] = []
        self._relocation = Relocation()
        self.relocated: list[RelocatedCopy] = []
        self.class_path: set[str] = set()
        """Further jars that manifests of the application name and that are not among the files."""
        self._settings: list[tuple[Jar, str]] = []
        self.damaged: list[str] = []
        """Class files, jars and links that cannot be read."""
        self.seen = 0
        """How many class files there are, without Kafka's own."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for path in self._paths:
                self._read_path(path, stack)
            self._decide_own()
            self._decide_copies()
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
        return bool(self.kafka) or any(jar.has_classes and not jar.is_own for jar in self._jars)

    @property
    def names(self) -> frozenset[str]:
        """The names of all classes, without Kafka's own."""
        return frozenset(self._all)

    @property
    def setting_files(self) -> tuple[str, ...]:
        """The files of a framework's settings in the application's own jars and folders."""
        return tuple(path for jar, path in self._settings if jar.is_own)

    @property
    def unread(self) -> tuple[str, ...]:
        """The parts that may have further classes and were not read."""
        return (*self.damaged, *sorted(self.class_path))

    def find(self, name: str) -> ClassFile | None:
        """Return a class of the application or its libraries; None if it is not among them, or damaged."""
        if name not in self._found:
            variants = self._all.get(name)
            self._found[name] = None if variants is None else self._read(variants[0].place, with_references=False)
        return self._found[name]

    def own_contents(self) -> dict[str, bytes]:
        """Return the content of the classes that are of the application itself, or may be, by their names."""
        first = ((name, variants[0].place) for name, variants in self._all.items())
        return {
            name: place.entry.content() or b""
            for name, place in first
            if self._library(place, name).is_own or place.jar.is_unclear
        }

    def original_name(self, name: str) -> str:
        """Return the name that Kafka gives to a class of a copy of Kafka; that of another class stays."""
        return self._relocation.original(name)

    def own_classes_naming(self, beginning: str | tuple[str, ...]) -> list[str]:
        """Return the classes of the application itself that name a class with such a beginning, in order."""
        return self._naming(beginning, lambda place, name: self._library(place, name).is_own)

    def unclear_classes_naming(self, beginning: str | tuple[str, ...]) -> list[str]:
        """Return the same of jars of which nothing says whose they are."""
        return self._naming(beginning, lambda place, _: place.jar.is_unclear)

    def _naming(self, beginning: str | tuple[str, ...], is_wanted: Callable[[_Place, str], bool]) -> list[str]:
        return sorted(
            name
            for name, variants in self._all.items()
            if any(
                is_wanted(variant.place, name) and any(named.startswith(beginning) for named in variant.header.named)
                for variant in variants
            )
        )

    def kafka_classes(self, artifact: KafkaArtifact) -> Iterator[ClassFile]:
        """Yield the classes of an artifact of Kafka, without the libraries that it contains."""
        for entry in artifact.entries:
            name = entry.name
            if name.startswith(_KAFKA) and "/shaded/" not in name and name.endswith(".class"):
                class_file = _read_class(entry)
                if class_file:
                    yield class_file

    def _read_path(self, path: Path, stack: ExitStack) -> None:
        if path.is_dir():
            self._read_container(open_folder(path, MAX_TOTAL_BYTES, stack), path.name, str(path), stack)
        elif path.suffix == ".class":
            jar = Jar(path.name, JarOrigin(Library(path.name)), is_own=True)
            self._jars.append(jar)
            self._add(read_input(path), _Place(file_entry(path, path.name), str(path), jar))
        else:
            file = stack.enter_context(open_input(path))
            container = open_container(file, str(path), MAX_TOTAL_BYTES, stack)
            self._read_container(container, path.name, str(path), stack)

    def _read_nested(self, entry: ArchiveEntry, path: str, stack: ExitStack, parent: _Parent) -> None:
        if parent.depth > MAX_DEPTH:
            raise InvalidInput(f"expected at most {MAX_DEPTH} levels of jars inside jars, got {path}")
        if entry.is_packed:
            self._expand(entry, MAX_JAR_BYTES)
        file = entry.open()
        if file is None:
            self._note_unread(entry, path, parent)
            return
        try:
            container = open_container(stack.enter_context(file), path, MAX_TOTAL_BYTES, stack)
        except Unreadable:
            self.damaged.append(path)
            return
        self._read_container(container, entry.name, path, stack, parent)

    def _note_unread(self, entry: ArchiveEntry, path: str, parent: _Parent) -> None:
        """Note what cannot be read, unless it is a link to a file that is read in its own place."""
        if entry.link.rpartition("/")[2] not in parent.file_names:
            self.damaged.append(path)

    def _read_container(
        self, container: Container, name: str, path: str, stack: ExitStack, parent: _Parent = _TOP
    ) -> None:
        self._count(len(container.entries))
        file_name = name.rpartition("/")[2]
        origin = self._origin(container, file_name)
        if container.is_jar and origin.is_kafka:
            self.artifacts.append(KafkaArtifact(origin.library.name, origin.library.version, container.entries))
            return
        has_roots = any(_OWN_ROOTS.match(entry.name) for entry in container.entries)
        is_own = not origin.library.is_agent and (has_roots or parent.owns(name, origin))
        jar = Jar(
            file_name,
            origin,
            is_own=is_own,
            is_named=parent is _TOP and not origin.library.is_agent,
            has_roots=has_roots,
        )
        self._jars.append(jar)
        self._ownership.add_command(container.command)
        copies = _copies(container) if container.is_jar else []
        self._copies += ((copy, jar) for copy in copies)
        copied = Relocation(copies)
        file_names = frozenset(entry.name.rpartition("/")[2] for entry in container.entries)
        jar.has_jars = any(entry.name.endswith(_ARCHIVES) for entry in container.entries)
        inside = _Parent(jar, parent.depth + (container.is_jar or parent is not _TOP), file_names)
        for entry in container.entries:
            below = f"{path}{'!' if container.is_jar else ''}/{entry.name}"
            if entry.name.endswith(_CLASSES):
                self._add_entry(entry, below, jar, copied if container.is_jar else None, inside)
            elif entry.name.endswith(_ARCHIVES):
                self._read_nested(entry, below, stack, inside)
            elif entry.name.endswith((*_UNREAD, "/")):
                self.damaged.append(below)
            elif _SETTINGS.fullmatch(entry.name):
                self._settings.append((jar, below))
            elif not container.is_jar and entry.size <= _MAX_SCRIPT_BYTES and SCRIPT.fullmatch(entry.name):
                self._ownership.add_command(self._text(entry))

    def _origin(self, container: Container, name: str) -> JarOrigin:
        if not container.is_jar:
            return JarOrigin(Library(name_without_version(name)))
        poms, manifest, kafka = list[dict[str, str]](), dict[str, str](), list[tuple[str, str]]()
        scala = ""
        for entry in container.entries:
            if entry.name == _SCALA_PROPERTIES:
                scala = parse_pom(self._text(entry)).get("version.number", "")
            elif not entry.name.startswith(_DESCRIPTIONS):
                continue
            elif POM.fullmatch(entry.name):
                poms.append(parse_pom(self._text(entry)))
            elif entry.name == MANIFEST:
                manifest = parse_manifest(self._text(entry))
            elif artifact := _KAFKA_VERSIONS.get(entry.name):
                kafka.append((artifact, parse_pom(self._text(entry)).get("version", "")))
        described = jar_origin(name, poms, manifest)
        bundled = {**described.bundled, "scala/": Library("scala-library", scala)} if scala else described.bundled
        return evolve(described, kafka=tuple(dict.fromkeys((*described.kafka, *kafka))), bundled=bundled)

    def _add_entry(self, entry: ArchiveEntry, path: str, jar: Jar, copied: Relocation | None, parent: _Parent) -> None:
        """Add a class; ``copied`` is None for loose files, whose paths do not begin with the package."""
        name, version, in_root = entry.name, 0, False
        if copied is not None:
            if variant := _VERSIONS.match(name):
                if not jar.origin.has_versions:
                    return  # Java does not look there
                version, name = int(variant[1]), name[variant.end() :]
            in_root = _OWN_ROOTS.match(name) is not None
            name = _CLASS_ROOTS.sub("", name, count=1)
            class_name = name.rpartition(".")[0]
            is_bundled = bool(jar.origin.kafka) and name.startswith(_KAFKA)
            if _is_kafkas(class_name) or is_bundled or copied.original(class_name) != class_name:
                return
        if name.rpartition("/")[2].partition(".")[0] in _NO_CLASSES:
            return
        self._expand(entry, MAX_FILE_BYTES)
        content = entry.content()
        if content is None:
            self._note_unread(entry, path, parent)
        else:
            self._add(content, _Place(entry, path, jar, in_root, version))

    def _expand(self, entry: ArchiveEntry, limit: int) -> None:
        """Count what is going to be read."""
        if entry.size > limit:
            raise InvalidInput(f"expected at most {limit:,} bytes, got {entry.name} with {entry.size:,}")
        self._bytes += entry.size
        if self._bytes > MAX_TOTAL_BYTES:
            raise InvalidInput(f"expected archives that expand to at most {MAX_TOTAL_BYTES:,} bytes, got more")

    def _count(self, entries: int) -> None:
        self._entries += entries
        if self._entries > MAX_ENTRIES:
            raise InvalidInput(f"expected at most {MAX_ENTRIES:,} entries in all archives, got more")

    def _text(self, entry: ArchiveEntry) -> str:
        self._expand(entry, MAX_FILE_BYTES)
        content = entry.content()
        if content is None:
            self.damaged.append(entry.name)
        return (content or b"").decode("utf-8", "replace")

    def _add(self, content: bytes, place: _Place) -> None:
        """Add a class, unless it is damaged or one of Kafka's own."""
        self.seen += 1
        try:
            header = read_header(content)
        except InvalidClass:
            self.damaged.append(place.path)
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
        place.jar.has_classes = True
        if (place.in_root or not place.jar.has_roots) and (root := root_of(header.name)):
            place.jar.roots.add(root)

    def _decide_own(self) -> None:
        """Decide which classes are the application's own, now that all are known."""
        self._ownership.decide(
            self._jars, {name: [seen.place.jar for seen in variants] for name, variants in self._all.items()}
        )
        for name, variants in self._all.items():
            is_own = False
            for variant in variants:
                library = self._library(variant.place, name)
                is_own |= library.is_own
                variant.place.jar.is_own |= library.is_own
                if not variant.place.version:
                    jar_library = evolve(variant.place.jar.origin.library, is_own=library.is_own)
                    self.java[jar_library] = max(self.java.get(jar_library, 0), variant.header.java)
            self.own_classes += is_own
        present = {jar.name for jar in self._jars}
        for jar in self._jars:
            if jar.has_classes or not jar.has_jars:
                self.libraries |= {jar.library, *jar.origin.bundled.values()}
            if jar.is_own:  # those of libraries are often left over from their own build
                self.class_path.update(path for path in jar.origin.class_path if path.rpartition("/")[2] not in present)
        if self._ownership.unmatched:
            patterns = ", ".join(sorted(self._ownership.unmatched))
            raise InvalidInput(f"--own: expected the name of a jar, a package or a class in the files, got {patterns}")

    def _decide_copies(self) -> None:
        """Read as Kafka the copies that the application's own classes have or name; others stay as they are."""
        copies = Relocation(copy for copy, _ in self._copies)
        folders = {
            copies.folder_of(named)
            for name, variants in (self._all.items() if copies else ())
            for variant in variants
            if self._library(variant.place, name).is_own
            for named in variant.header.named
        }
        used = {jar for copy, jar in self._copies if jar.is_own or copy.folder in folders}
        unused = {jar for _, jar in self._copies} - used
        for jar in self._jars:
            if jar not in unused:
                self.artifacts += (KafkaArtifact(*artifact) for artifact in jar.origin.kafka)
        for copy, jar in self._copies:
            is_read = jar in used
            self.relocated.append(RelocatedCopy(copy.folder, copy.artifact, jar.library, is_read))
            if is_read and copy.artifact not in {artifact for artifact, _ in jar.origin.kafka}:
                self.artifacts.append(KafkaArtifact(copy.artifact, release_of_classes(copy.classes)))
        self._relocation = Relocation(copy for copy, jar in self._copies if jar in used)
        if self._relocation:
            for variants in self._all.values():
                variants[:] = [self._with_original_names(variant) for variant in variants]

    def _with_original_names(self, seen: _Seen) -> _Seen:
        header = self._relocation.header(seen.header)
        is_about_kafka = seen.is_about_kafka or any(name.startswith(_REFERRED) for name in header.named)
        return evolve(seen, header=header, is_about_kafka=is_about_kafka)

    def _read(self, place: _Place, *, with_references: bool = True) -> ClassFile | None:
        """Read a class again, with the names that Kafka gives; None if it is damaged."""
        found = _read_class(place.entry, with_references=with_references)
        return self._relocation.class_file(found) if found and self._relocation else found

    def _library(self, place: _Place, name: str) -> Library:
        return self._ownership.library_of(place.jar, name, in_root=place.in_root)

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
                        self.damaged.append(variant.place.path)
                        continue
                    references = (
                        ref for ref in class_file.references if ref.owner.startswith(_REFERRED) or ref.owner in derived
                    )
                    library = self._library(variant.place, class_file.name)
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


def _copies(container: Container) -> list[Copy]:
    """Return the copies of Kafka in a jar, without wrappers of it that have the names of its classes, as Vert.x has."""
    entries = {
        _CLASS_ROOTS.sub("", entry.name, count=1).removesuffix(".class"): entry
        for entry in container.entries
        if entry.name.endswith(".class")
    }
    found = find_copies(entries)
    relocation, within = Relocation(found), defaultdict[str, list[ArchiveEntry]](list)
    for name in entries if found else ():
        within[relocation.folder_of(name)].append(entries[name])
    return [copy for copy in found if copy.is_whole or not copy.is_wrapper(_contents(within[copy.folder]))]


def _contents(entries: Iterable[ArchiveEntry]) -> Iterator[bytes]:
    return (entry.content() or b"" for entry in entries if entry.size <= MAX_FILE_BYTES)


def _read_class(entry: ArchiveEntry, *, with_references: bool = True) -> ClassFile | None:
    """Read a class again; None if it is damaged."""
    try:
        return read_class(entry.content() or b"", with_references=with_references)
    except InvalidClass:
        return None


def _is_kafkas(name: str) -> bool:
    return name.startswith(_KAFKA) and (name in classes_of_any_release() or name.startswith(f"{_KAFKA}shaded/"))
