"""The table of ``upgrade.application.environment``: constant arguments of the calls that read the environment.

The disassembly of ``javap``. An argument that a method gets from its callers is looked for in the same class.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

from attrs import frozen

from streams_assignor.upgrade.application.class_file import read_class
from tests.lab.integration.kafka_jars import program
from tests.lab.releases.ranges import by_ranges, note

_READERS: Final = {
    "java/lang/System.getProperty:(Ljava/lang/String;)Ljava/lang/String;",
    "java/lang/System.getProperty:(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;",
    "java/lang/Boolean.getBoolean:(Ljava/lang/String;)Z",
    "java/lang/Integer.getInteger:(Ljava/lang/String;)Ljava/lang/Integer;",
    "java/lang/Integer.getInteger:(Ljava/lang/String;I)Ljava/lang/Integer;",
    "java/lang/Long.getLong:(Ljava/lang/String;)Ljava/lang/Long;",
    "java/lang/Long.getLong:(Ljava/lang/String;J)Ljava/lang/Long;",
    "java/lang/System.getenv:(Ljava/lang/String;)Ljava/lang/String;",
    "java/lang/System.getenv:()Ljava/util/Map;",
    "java/lang/System.getProperties:()Ljava/util/Properties;",
}
_NAMES: Final = tuple({each.partition(":")[0].rpartition(".")[2].encode() for each in _READERS})
ALL: Final = "*"
"""What a call without a name reads."""
_METHOD: Final = re.compile(r"  (?!\s).*(?:\)|static \{\}).*;")
_DESCRIPTOR: Final = re.compile(r"    descriptor: (?P<descriptor>\(.*)")
_INSTRUCTION: Final = re.compile(r"\s+\d+: (?P<opcode>\w+)(?P<operands>[^/\n]*)(?://\s(?P<comment>.*))?")
_CALL: Final = re.compile(r"(?:Interface)?Method (?P<target>\S+)")
_ARGUMENT: Final = re.compile(r"\[*(?:L[^;]+;|[BCDFIJSZ])")
_LOCAL: Final = re.compile(r"[ail]load(?:_| +)(?P<number>\d+)")


@frozen
class EnvironmentRead:
    """A call that reads the environment."""

    reader: str
    """The class that calls."""
    is_property: bool
    """A system property; else a variable of the environment."""
    name: str
    default: str | None


@frozen
class _Call:
    target: str
    arguments: tuple[Any, ...]
    """Text, the number of a local variable, or None."""


@frozen
class _Method:
    name: str
    descriptor: str
    is_static: bool
    calls: tuple[_Call, ...]


def derive_environment(jars: Iterable[tuple[str, str, Path]]) -> dict[str, set[EnvironmentRead]]:
    """Return what each release reads.

    Args:
        jars: Release, artifact and path of each.
    """
    contents: dict[bytes, list[str]] = defaultdict(list)
    for release, _, path in jars:
        with ZipFile(path) as jar:
            for entry in jar.infolist():
                name = entry.filename
                if not name.startswith("org/apache/kafka/") or "/shaded/" in name or not name.endswith(".class"):
                    continue
                content = jar.read(entry)
                if any(each in content for each in _NAMES):
                    contents[content].append(release)
    reading = [content for content in contents if _reads(content)]
    found: dict[str, set[EnvironmentRead]] = defaultdict(set)
    for content, text in zip(reading, _disassemble(reading), strict=True):
        for each in reads_of(text):
            for release in contents[content]:
                found[release].add(each)
    return found


def _reads(content: bytes) -> bool:
    references = read_class(content, with_references=True).references
    return any(f"{each.owner}.{each.name}:{each.descriptor}" in _READERS for each in references)


def _disassemble(contents: Iterable[bytes]) -> list[str]:
    """Return the text of ``javap`` for each class file, from one run."""
    with tempfile.TemporaryDirectory(prefix="environment-") as folder:
        paths = []
        for number, content in enumerate(contents):
            paths.append(str(Path(folder, f"{number}.class")))
            Path(paths[-1]).write_bytes(content)
        command = [program("javap"), "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-p", "-s", "-c", *paths]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    return re.split(r"^(?:Warning.*\n)?Compiled from ", done.stdout, flags=re.MULTILINE)[1:]


def reads_of(text: str) -> Iterator[EnvironmentRead]:
    """Yield what a class reads, from its disassembly.

    Raises:
        ValueError: The name of what is read is no constant.
    """
    head = re.search(r"(?:class|interface|enum) (org\.apache\.kafka\.[\w.$]+)", text)
    reader = head[1] if head else "?"
    methods = list(_methods(text))
    for method in methods:
        for call in method.calls:
            if call.target not in _READERS:
                continue
            is_property = "getenv" not in call.target
            if not call.arguments:
                yield EnvironmentRead(reader, is_property, ALL, None)
                continue
            for name, *default in _constants(call, method, methods):
                if not isinstance(name, str):
                    raise ValueError(f"expected a constant as the name of what {reader}#{method.name} reads")
                yield EnvironmentRead(reader, is_property, name, default[0] if default else None)


def _constants(call: _Call, method: _Method, methods: Sequence[_Method]) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of a call; those that are parameters of its method as the callers in the class give them."""
    if not any(isinstance(each, int) for each in call.arguments):
        yield call.arguments
        return
    offset = 0 if method.is_static else 1
    for caller in methods:
        for each in caller.calls:
            if each.target == f"{method.name}:{method.descriptor}":
                yield tuple(each.arguments[one - offset] if isinstance(one, int) else one for one in call.arguments)


def _methods(text: str) -> Iterator[_Method]:
    head, descriptor, calls, pushed = "", "", list[_Call](), list[Any]()
    for line in [*text.splitlines(), "  end();"]:
        if _METHOD.fullmatch(line):
            if head:
                before, _, name = head.partition("(")[0].rpartition(" ")
                yield _Method(name, descriptor, " static " in f" {before} ", tuple(calls))
            head, descriptor, calls, pushed = line.strip(), "", [], []
        elif found := _DESCRIPTOR.fullmatch(line):
            descriptor = found["descriptor"]
        elif found := _INSTRUCTION.fullmatch(line):
            comment = found["comment"] or ""
            if found["opcode"].startswith("invoke") and (target := _CALL.match(comment)):
                arguments = _ARGUMENT.findall(target["target"].partition("(")[2].partition(")")[0])
                taken = pushed[-len(arguments) :] if arguments else []
                calls.append(_Call(target["target"], tuple([None] * (len(arguments) - len(taken)) + taken)))
                pushed.append(None)
            else:
                pushed.append(_pushed(found["opcode"] + found["operands"], comment))


def _pushed(instruction: str, comment: str) -> Any:
    """Return the text or the number of the local variable that an instruction pushes; None for others."""
    if instruction.startswith("ldc") and comment.startswith("String"):
        return comment.removeprefix("String").removeprefix(" ").replace("\\'", "'").replace('\\"', '"')
    found = _LOCAL.match(instruction.strip())
    return int(found["number"]) if found else None


def environment_text(found: dict[str, set[EnvironmentRead]], releases: Sequence[str]) -> str:
    """Return the stored form: defaults and readers of properties and variables, by the releases that have them."""
    rows: dict[str, dict[str, dict[str, set[int]]]] = {"properties": {}, "variables": {}}
    for place, release in enumerate(releases):
        by_name: dict[tuple[str, str], list[EnvironmentRead]] = defaultdict(list)
        for each in found.get(release, ()):
            by_name["properties" if each.is_property else "variables", each.name].append(each)
        for (kind, name), reads in by_name.items():
            defaults = sorted({each.default for each in reads if each.default is not None})
            row = {"defaults": defaults, "readers": sorted({each.reader for each in reads})}
            note(rows[kind].setdefault(name, {}), row, place)
    return json.dumps({kind: by_ranges(each) for kind, each in rows.items()}, separators=(",", ":"), sort_keys=True)
