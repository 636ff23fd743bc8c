"""The class files of an application: jars, jars inside them, and folders. Nothing is run or unpacked to disk.

Only classes that name one of Kafka's are read; the others are read when a supertype is looked for.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from struct import Struct
from types import TracebackType
from typing import BinaryIO, Final, Self
from zipfile import BadZipFile, ZipFile, ZipInfo

from attrs import evolve, frozen

from upgrade.application.class_file import ClassFile, InvalidClass, read_class
from upgrade.application.code import classes_of_any_release
from upgrade.input_values import MAX_FILE_BYTES, InvalidInput, open_input, read_input

MAX_ENTRIES: Final = 500_000
MAX_DIRECTORY_BYTES: Final = 1 << 25
"""The largest list of entries of a jar: each takes some ten times as much memory."""
MAX_JAR_BYTES: Final = 1 << 29
"""The largest jar inside another: it is read into memory."""
MAX_TOTAL_BYTES: Final = 1 << 31
"""The most that all archives may expand to."""
MAX_DEPTH: Final = 3
"""Jars inside jars: those of Spring Boot have one level, a war in an ear two."""
_KAFKA: Final = "org/apache/kafka/"
_MENTION: Final = _KAFKA.encode()
_GROUP: Final = "org.apache.kafka"
_JARS: Final = (".jar", ".war", ".ear", ".zip")
_END_MAGIC: Final = b"PK\x05\x06"
_END: Final = Struct("<4sHHHHIIH")
"""The end of a zip file: magic, four counts, size and place of the list of entries, size of the comment."""
_MAX_COMMENT: Final = 0xFFFF
_CLASS_ROOTS: Final = re.compile(r"(?:(?:BOOT|WEB)-INF/classes|META-INF/versions/\d+)/")
_FILE_NAME: Final = re.compile(r"(?P<name>.+?)-(?P<version>\d[\w.+-]*)\.\w+")
_POM: Final = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.properties")
_KAFKA_ARTIFACT: Final = re.compile(
    r"kafka_2\.1\d|connect-(api|json|runtime|transforms|file|mirror(-client)?|basic-auth-extension)|kafka-(clients|"
    r"streams(-scala_2\.1\d|-test-utils)?|(share-|group-|transaction-)?coordinator(-common|-api)?|log4j-appender|metadata|"
    r"raft|server(-common)?|storage(-api)?|tools(-api)?)"
)
"""Artifacts that Kafka releases together: all are replaced by those of TO, and most have no POM inside."""
_KAFKA_VERSIONS: Final = {
    "kafka/kafka-version.properties": "kafka-clients",
    "kafka/kafka-streams-version.properties": "kafka-streams",
}
_APPLICATION_FOLDER: Final = "app"
"""Quarkus has the classes of the application there, and its libraries in other folders."""


@frozen
class Library:
    """Where a class comes from."""

    name: str
    version: str = ""
    is_own: bool = False
    """It is of the application itself, as far as its files say."""

    def __str__(self) -> str:
        return "your class" if self.is_own else f"library {self.name} {self.version}".rstrip()


@frozen
class ApplicationClass:
    """A class and where it comes from."""

    file: ClassFile
    library: Library


def _files_below(folder: Path) -> list[Path]:
    """List files of a folder; ``OSError`` for what cannot be read, which ``rglob`` would leave out."""

    def refuse(error: OSError) -> None:
        raise error

    return sorted(Path(root, name) for root, _, names in os.walk(folder, onerror=refuse) for name in names)


class Archives:
    """The classes below some paths; a context manager, as jars stay open.

    Raises:
        InvalidInput: A path is no jar, class or folder, or exceeds a limit.
        OSError: It cannot be read.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = tuple(paths)
        self._stack = ExitStack()
        self._entries = 0
        self._bytes = 0
        self._places: dict[str, tuple[ZipFile | Path, ZipInfo | None, Library]] = {}
        self.classes: dict[str, ApplicationClass] = {}
        """Those that name a class of Kafka, without Kafka's own."""
        self.libraries: set[Library] = set()
        self.kafka: dict[str, set[str]] = {}
        """The versions of each artifact of Kafka in the files."""
        self.damaged: list[str] = []
        """Class files that cannot be read."""
        self.seen = 0
        """How many class files there are, without Kafka's own."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for path in self._paths:
                self._read_path(path, stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def names(self) -> frozenset[str]:
        """The names of all classes, without Kafka's own."""
        return frozenset(self._places)

    def find(self, name: str) -> ClassFile | None:
        """Return a class of the application or its libraries; None if it is not among them, or damaged."""
        if known := self.classes.get(name):
            return known.file
        if name not in self._places:
            return None
        archive, entry, _ = self._places[name]
        try:
            content = read_input(archive) if isinstance(archive, Path) else self._content(archive, entry)
            return read_class(content)
        except InvalidClass:
            return None

    def _read_path(self, path: Path, stack: ExitStack) -> None:
        if path.is_dir():
            for each in _files_below(path):
                if each.suffix == ".class" and each.is_file():
                    self._count(1)
                    self._add(read_input(each), each, None, Library(path.name, is_own=True))
                elif each.suffix in _JARS and each.is_file():
                    self._read_jar(each, stack, is_own=each.parent.name == _APPLICATION_FOLDER)
        elif path.suffix == ".class":
            self._add(read_input(path), path, None, Library(path.name, is_own=True))
        else:
            self._read_jar(path, stack, is_own=True)

    def _read_jar(self, path: Path, stack: ExitStack, *, is_own: bool) -> None:
        try:
            with open_input(path) as file:
                _check_directory(file, str(path))
            jar = stack.enter_context(ZipFile(path))
        except BadZipFile:
            raise InvalidInput(f"expected a jar, a class file or a folder, got {path}") from None
        self._read_entries(jar, path.name, str(path), stack, depth=0, is_own=is_own)

    def _read_entries(self, jar: ZipFile, name: str, path: str, stack: ExitStack, *, depth: int, is_own: bool) -> None:
        entries = jar.infolist()
        self._count(len(entries))
        poms = [self._properties(jar, each) for each in entries if _POM.fullmatch(each.filename)]
        library = evolve(_library(name, poms), is_own=is_own)
        if _KAFKA_ARTIFACT.fullmatch(library.name) or [each.get("groupId") for each in poms] == [_GROUP]:
            self._note_kafka(library.name, library.version)
            return
        for each in entries:
            if artifact := _KAFKA_VERSIONS.get(each.filename):
                self._note_kafka(artifact, self._properties(jar, each).get("version", ""))
        self.libraries.add(library)
        for each in entries:
            if each.filename.endswith(".class"):
                self._add(self._content(jar, each), jar, each, library)
            elif each.filename.endswith(_JARS) and not each.is_dir():
                self._read_nested(jar, each, f"{path}!/{each.filename}", stack, depth + 1)

    def _read_nested(self, jar: ZipFile, entry: ZipInfo, path: str, stack: ExitStack, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise InvalidInput(f"expected at most {MAX_DEPTH} levels of jars inside jars, got {path}")
        content = self._content(jar, entry, MAX_JAR_BYTES)
        _check_directory(BytesIO(content), path)
        try:
            nested = stack.enter_context(ZipFile(BytesIO(content)))
        except BadZipFile:
            self.damaged.append(path)
            return
        name = entry.filename.rpartition("/")[2]
        self._read_entries(nested, name, path, stack, depth=depth, is_own=False)

    def _content(self, jar: ZipFile, entry: ZipInfo | None, limit: int = MAX_FILE_BYTES) -> bytes:
        """Return the content of an entry; empty if it is damaged."""
        assert entry is not None
        if entry.file_size > limit:
            raise InvalidInput(f"expected at most {limit:,} bytes, got {entry.filename} with {entry.file_size:,}")
        self._bytes += entry.file_size
        if self._bytes > MAX_TOTAL_BYTES:
            raise InvalidInput(f"expected archives that expand to at most {MAX_TOTAL_BYTES:,} bytes, got more")
        try:
            return jar.read(entry)
        except (BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError):
            self.damaged.append(entry.filename)  # another method of compression, a password, ...
            return b""

    def _count(self, entries: int) -> None:
        self._entries += entries
        if self._entries > MAX_ENTRIES:
            raise InvalidInput(f"expected at most {MAX_ENTRIES:,} entries in all archives, got more")

    def _properties(self, jar: ZipFile, entry: ZipInfo) -> dict[str, str]:
        lines = self._content(jar, entry).decode("latin-1").splitlines()
        return {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}

    def _note_kafka(self, artifact: str, version: str) -> None:
        self.kafka.setdefault(artifact, set()).add(version)

    def _add(self, content: bytes, archive: ZipFile | Path, entry: ZipInfo | None, library: Library) -> None:
        """Add a class, unless it is one of Kafka's own."""
        name = None if entry is None else _CLASS_ROOTS.sub("", entry.filename).removesuffix(".class")
        if name is not None and _is_kafkas(name):
            return
        self.seen += 1
        if name is not None:
            self._places.setdefault(name, (archive, entry, library))
        if entry is not None and _MENTION not in content:
            return
        try:
            found = read_class(content, with_references=True)
        except InvalidClass:
            self.damaged.append(str(archive) if entry is None else entry.filename)
            return
        if not _is_kafkas(found.name):
            self._places.setdefault(found.name, (archive, entry, library))
            self.classes.setdefault(found.name, ApplicationClass(found, library))


def _check_directory(file: BinaryIO, name: str) -> None:
    """Refuse a jar whose list of entries is too long, before it is read; ``zipfile`` reads all of it at once."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END.size - _MAX_COMMENT))
    end = file.read()
    at = end.rfind(_END_MAGIC)
    if 0 <= at <= len(end) - _END.size:
        *_, directory, _, _ = _END.unpack_from(end, at)
        if directory > MAX_DIRECTORY_BYTES:
            raise InvalidInput(
                f"expected a list of entries of at most {MAX_DIRECTORY_BYTES:,} bytes, got {name} with more"
            )


def _is_kafkas(name: str) -> bool:
    return name.startswith(_KAFKA) and (name in classes_of_any_release() or name.startswith(f"{_KAFKA}shaded/"))


def _library(file_name: str, poms: list[dict[str, str]]) -> Library:
    """Return name and version of a jar: of its only POM, or of its file.

    >>> _library("spring-kafka-2.7.1.jar", [])
    Library(name='spring-kafka', version='2.7.1', is_own=False)
    """
    if len(poms) == 1 and poms[0].get("artifactId"):
        return Library(poms[0]["artifactId"], poms[0].get("version", ""))
    if found := _FILE_NAME.fullmatch(file_name):
        return Library(found["name"], found["version"])
    return Library(file_name)
