"""``python -m tests.lab.fuzz.files --seconds N``: mutated files for the readers of an application and of a roll.

Each mutant is read, or refused with an error of this project, with work that grows with its bytes (``tests.work``). The
seed and the number of a mutant decide it, so a failure comes again: it is printed, and its bytes are in a file.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from zipfile import ZIP_STORED

from attrs import frozen

from streams_assignor.upgrade.application.archive import Archives
from streams_assignor.upgrade.application.class_file import read_class, read_header
from streams_assignor.upgrade.application.setting_files import combined_settings
from streams_assignor.upgrade.roll.journal import JournalLine, read_journal
from streams_assignor.upgrade.topology_description import parse_topology_description
from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_containers import docker, layout, tarred, zipped
from tests.upgrade.roll.fake_group import Operator
from tests.work import work

MOST_CALLS_AT_ALL, MOST_CALLS_PER_BYTE = 60_000, 200
"""What is remembered once, and the limit of each byte: a copy of a class is read, looked up and read again."""
_NUMBERS = (b"\0", b"\xff", b"\x7f", b"\xff\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\1\0")
_WORDS = (b"PK\3\4", b"PK\1\2", b"PK\5\6", b"${", b"&a ", b"*a", b": ", b"- ", b"\n", b"\\", b"\\u00", b"[", b"{", b'"')
_MOST_BYTES = 1 << 15


@frozen
class Reader:
    """A reader, and files that it reads."""

    read: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def _class() -> bytes:
    written = ClassBytes("com/example/A", "B", ["C"], java=11).field("f", "[Lorg/apache/kafka/common/Metric;")
    written.calls("org/apache/kafka/streams/KafkaStreams", "close").lambda_of("F", "apply", "()V")
    caught = ("java/lang/LinkageError", "java/lang/NoSuchMethodError", None)
    return written.method("m", code=b"\xaa\0\0\0" + bytes(16) + b"\xbf", caught=caught).attribute("Deprecated").bytes()


def _archives() -> Iterator[bytes]:
    manifest = b"Multi-Release: true\nClass-Path: a.jar\nMain-Class: com.example.A\n"
    pom = b"groupId=com.example\nartifactId=a\nversion=1\n"
    files = {
        "META-INF/MANIFEST.MF": manifest,
        "META-INF/maven/com.example/a/pom.properties": pom,
        "com/example/A.class": _class(),
        "META-INF/versions/11/com/example/A.class": _class(),
    }
    jar = zipped(files, ZIP_STORED)
    yield jar
    distribution = {"a-1/lib/a-1.jar": jar, "a-1/bin/a": b"java -jar a.jar com.example.A", "a-1/A.class": _class()}
    yield from (tarred(distribution), zipped(distribution, ZIP_STORED), gzip.compress(tarred(distribution), 0))
    layer = tarred({"app/a.jar": jar, "app/.wh.b": b""})
    yield from (tarred(docker(layer, layer, command=["java", "-jar", "a.jar"])), tarred(layout(layer)))


def _read_archive(content: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        with Archives([Path(file.name)]):
            pass


def _settings(name: str) -> Callable[[bytes], object]:
    return lambda content: combined_settings([(name, content.decode("utf-8", "replace"))])


def _journal() -> bytes:
    operator = Operator()
    operator.go()
    return "".join(JournalLine("2026-11-26T12:00:00+00:00", record).text() for record in operator.records).encode()


_YAML = b"""\
spring:
  kafka: &a {streams: {application-id: x, properties: {"processing.guarantee": exactly_once}}}
---
on: !!str 1
data: &a
  application.yml: |
    spring.kafka.streams.properties.num.standby.replicas: ${X:1}
env: [{name: KAFKA_A, value: "1"}, *a]
"""
_PROPERTIES = (
    b"application.id = a\\\n  b\nprocessing.guarantee:exactly_once\\u005fv2\n#!x\n%prod.kafka-streams.a=${X:${Y:z}}\n"
)
_TOPOLOGY = b"""\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [orders, b])
      --> KSTREAM-AGGREGATE-0000000001
    Processor: KSTREAM-AGGREGATE-0000000001 (stores: [KSTREAM-AGGREGATE-STATE-STORE-0000000002])
      --> none
      <-- KSTREAM-SOURCE-0000000000
"""
READERS: Mapping[str, Reader] = {
    "class": Reader(lambda content: (read_header(content), read_class(content, with_references=True)), (_class(),)),
    "archive": Reader(_read_archive, tuple(_archives())),
    "yaml": Reader(_settings("application.yml"), (_YAML,)),
    "properties": Reader(_settings("application.properties"), (_PROPERTIES,)),
    "topology": Reader(lambda content: parse_topology_description(content.decode("utf-8", "replace")), (_TOPOLOGY,)),
    "journal": Reader(read_journal, (_journal(),)),
}


def mutant(seeds: tuple[bytes, ...], draws: random.Random) -> bytes:
    """Return a changed copy of a seed."""
    content = bytearray(draws.choice(seeds))
    for _ in range(draws.choice((1, 1, 2, 4, 16))):
        at, size = draws.randrange(len(content) + 1), draws.choice((1, 2, 4, 16, 64, 512))
        piece = bytes(content[at : at + size])
        match draws.randrange(7):
            case 0:
                content[at : at + 1] = bytes([draws.randrange(256)])
            case 1:
                number = draws.choice(_NUMBERS)
                content[at : at + len(number)] = number
            case 2:
                content[at:at] = draws.choice(_WORDS)
            case 3:
                del content[at : at + size]
            case 4:
                content[at:at] = piece * draws.choice((1, 2, 8, 64))
            case 5:
                other, start = draws.choice(seeds), draws.randrange(1 << 16)
                content[at : at + size] = other[start % len(other) :][:size]
            case 6:
                content[at : at + 1] = bytes([content[at] ^ 1 << draws.randrange(8)]) if at < len(content) else b""
    return bytes(content[:_MOST_BYTES])


def problem(reader: Reader, content: bytes) -> str:
    """Read a file; return what is wrong with how it was read, or nothing."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            calls = work(reader.read, content)
    except Exception:  # no error about input: these are refusals
        return traceback.format_exc(limit=-4)
    limit = MOST_CALLS_AT_ALL + MOST_CALLS_PER_BYTE * len(content)
    return f"{calls:,} calls for {len(content):,} bytes" if calls > limit else ""


def run(name: str, seed: int, number: int) -> tuple[bytes, str]:
    """Return a mutant by its seed and number, and what is wrong with it."""
    reader = READERS[name]
    content = mutant(reader.seeds, random.Random(f"{name} {seed} {number}"))
    return content, problem(reader, content)


def main() -> int:
    """Read mutants until the time is over; status 1 if something is wrong with one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    parser.add_argument("--only", choices=READERS, action="append")
    given = parser.parse_args()
    ends, counts, number, wrong = time.monotonic() + given.seconds, Counter[str](), 0, set[str]()
    while time.monotonic() < ends:
        for name in given.only or READERS:
            content, text = run(name, given.seed, number)
            counts[name] += 1
            if text and (last := text.strip().rpartition("\n")[2]) not in wrong:
                wrong.add(last)
                path = Path(tempfile.gettempdir(), f"wrong-{name}-{given.seed}-{number}")
                path.write_bytes(content)
                print(f"{name}, seed {given.seed}, number {number}, {path}:\n{text}", flush=True)
        number += 1
    print(f"seed {given.seed}: {dict(counts)}, {len(wrong)} kinds of failures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
