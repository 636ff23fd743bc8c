"""The code of the classes that assign in two releases, method by method: which methods a reader has to look at.

The disassembly of ``javap`` without what a compiler may choose (offsets, indices of constants, numbers of lambdas) and
without Kafka's packages, so that a class that only moved is no difference.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from attrs import frozen

from tests.lab.integration.kafka_jars import program

CLASSES: Final = re.compile(
    r"""org/apache/kafka/(?:
        streams/processor/internals/Streams?PartitionAssignor
      | streams/processor/internals/StreamsRebalanceListener
      | streams/processor/internals/assignment/\w+
      | streams/processor/assignment/(?:assignors/)?\w+
      | streams/internals/UpgradeFromValues
      | streams/internals/generated/SubscriptionInfoData
      | coordinator/group/streams/(?:(?:Current|Target)AssignmentBuilder|AssignmentRefiner\w*|assignor/\w+)
    )(?:\$[\w$]+)?\.class""",
    re.VERBOSE,
)
"""The classes that decide about a rebalance, in members and in the coordinator of streams groups, with nested ones."""

Methods = Mapping[str, str]
"""The code of each member of a class by its signature."""

_MEMBER = re.compile(r"  \S.*;|  static \{\};")
_INSTRUCTION = re.compile(r"\s+(?P<at>-?\w+): (?P<opcode>\w+)(?P<operands>[^/\n]*)(?P<comment>//.*)?")
_HANDLER = re.compile(r"\s+\d+\s+\d+\s+\d+\s+(?P<type>.+)")
_CHOSEN = re.compile(r"#\d+|(?<=lambda\$)(\w+)\$\d+|(?<=access\$)\d+|\borg([./])apache\2kafka\2(?:[a-z]\w*\2)*")
_JUMP = re.compile("if|goto|jsr")


@frozen
class ClassChange:
    """One class that differs; the signatures of members that are new, gone or have other code."""

    name: str
    members: tuple[str, ...]
    only_in: str = ""
    """The release that has the class, if only one has it."""

    def __str__(self) -> str:
        about = f"only in {self.only_in}" if self.only_in else "; ".join(self.members)
        return f"{self.name}: {about}"


def class_changes(old: Mapping[str, Methods], new: Mapping[str, Methods], names: tuple[str, str]) -> list[ClassChange]:
    """List the classes that differ, by name; ``names`` are the releases.

    >>> class_changes({"A": {"f": "1", "g": "1"}}, {"A": {"f": "2", "g": "1"}, "B": {}}, ("4.2.1", "4.2.2"))
    [ClassChange(name='A', members=('f',), only_in=''), ClassChange(name='B', members=(), only_in='4.2.2')]
    """
    found = []
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            found.append(ClassChange(name, (), names[name in new]))
            continue
        before, after = old[name], new[name]
        members = sorted(each for each in before.keys() | after.keys() if before.get(each) != after.get(each))
        if members:
            found.append(ClassChange(name, tuple(members)))
    return found


def disassemble(jar: Path) -> dict[str, Methods]:
    """Return the members of each of ``CLASSES`` in a jar."""
    with ZipFile(jar) as archive:
        names = [
            name.removesuffix(".class").replace("/", ".") for name in archive.namelist() if CLASSES.fullmatch(name)
        ]
    command = [program("javap"), "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-p", "-c", "-constants"]
    done = subprocess.run([*command, "-cp", str(jar), *names], capture_output=True, text=True, timeout=300, check=True)
    return dict(_classes(done.stdout))


def _classes(text: str) -> Iterator[tuple[str, Methods]]:
    for part in re.split(r"^Compiled from .*\n", text, flags=re.MULTILINE)[1:]:
        head, *lines = part.splitlines()
        name = re.search(r"org\.apache\.kafka\.(?:streams|coordinator\.group)\.([\w.$]+)", head)
        if name:
            yield name[1], members_of(lines)


def members_of(lines: list[str]) -> Methods:
    """Read the members of a class.

    >>> members_of(["  int f(int);", "    Code:", "       3: ldc_w   #31    // String x", "       6: goto 40", "}"])
    {'int f(int);': 'ldc String x\\ngoto'}
    """
    found: dict[str, list[str]] = {}
    code: list[str] = []
    for line in lines:
        if _MEMBER.fullmatch(line):
            # Lambdas without their numbers share a name; in the order of the file they are one member.
            code = found.setdefault(_without_choices(line.strip()), [])
        elif instruction := _code_of(line):
            code.append(instruction)
    return {name: "\n".join(code) for name, code in found.items()}


def _code_of(line: str) -> str:
    """Return what an instruction, a case of a switch or an exception handler does; empty for other lines."""
    if handler := _HANDLER.fullmatch(line):
        return f"catch {handler['type']}"
    found = _INSTRUCTION.fullmatch(line)
    if found is None:
        return ""
    at, opcode, comment = found["at"], found["opcode"], (found["comment"] or "").removeprefix("//")
    if opcode.isdigit():  # "       1: 36", a case and where it jumps
        return f"case {at}"
    operands = "" if _JUMP.match(opcode) or "#" in found["operands"] else found["operands"]
    words = (opcode.removesuffix("_w"), operands, _without_choices(comment))
    return " ".join(" ".join(words).split())


def _without_choices(text: str) -> str:
    return _CHOSEN.sub(lambda found: found[1] or "", text)
