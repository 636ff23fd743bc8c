"""Kafka's own codec as an oracle: the classes of a kafka-streams jar answer questions about bytes."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any, Self

from tests.lab.integration.kafka_jars import class_path, java, jvm, program

RELEASES = ["2.0.1", "2.8.2", "3.9.2", "4.3.1"]  # metadata versions up to 3, 9, 11 and 11
_SOURCES = Path(__file__).parent / "java"


class Oracle:
    """`CodecOracle`, or another one, on the jar of a release; entering it raises `Unavailable` if one is missing."""

    def __init__(self, release: str, main: str = "CodecOracle", artifact: str = "kafka-streams") -> None:
        self.release, self.main, self.artifact = release, main, artifact
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        java(), program("javac")  # before Maven is asked for a lot
        jars = class_path(f"org.apache.kafka:{self.artifact}:{self.release}")
        command = [*jvm(f"{_compiled().name}{os.pathsep}{jars}", "512m", "off"), self.main]
        with ExitStack() as stack:
            self._output = stack.enter_context(tempfile.TemporaryFile("w+"))
            self._process = stack.enter_context(
                subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._output, encoding="ascii"
                )
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenPipeError):
            self._process.stdin.close()  # it ends with its input
        self._process.kill()  # it has nothing to put in order
        self._stack.close()

    def ask(self, questions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """One answer for each question, in their order."""
        lines = [json.dumps(question) for question in questions]
        writer = Thread(target=self._write, args=(lines,), daemon=True)  # while we read: a pipe holds little
        writer.start()
        answers = [self._answer(line) for line in lines]
        writer.join()
        return answers

    def decode(self, kind: str, all_encoded: Iterable[bytes]) -> list[dict[str, Any]]:
        """``{"fields": {...}}``, or ``{"error": class, "message": ...}``, for each blob."""
        return self.ask({"op": "decode", "kind": kind, "hex": encoded.hex()} for encoded in all_encoded)

    def reencode(self, kind: str, all_encoded: Iterable[bytes]) -> list[dict[str, Any]]:
        """``{"hex": ...}``, or ``{"error": class, "message": ...}``, for each blob."""
        return self.ask({"op": "reencode", "kind": kind, "hex": encoded.hex()} for encoded in all_encoded)

    def _write(self, lines: Iterable[str]) -> None:
        with suppress(OSError, ValueError):  # it has failed or is closed; the reader reports that
            for line in lines:
                self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def _answer(self, question: str) -> dict[str, Any]:
        answer = self._process.stdout.readline()
        if not answer:
            self._output.seek(0)
            raise RuntimeError(f"oracle of {self.release} failed on {question[:300]}: {self._output.read()[-2000:]}")
        return json.loads(answer)


@cache
def _compiled() -> "tempfile.TemporaryDirectory[str]":
    """Once for all releases, as it finds everything by reflection; removed when Python ends."""
    folder = tempfile.TemporaryDirectory(prefix="codec-oracle-")
    compile_java(sorted(_SOURCES.glob("*.java")), folder.name)
    return folder


def compile_java(sources: Sequence[Path], folder: str, jars: str = "") -> None:
    """Classes of Java 17, the oldest that the tests run on."""
    command = [program("javac"), "-nowarn", "--release", "17", "-d", folder, "-cp", jars, *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert 0 == done.returncode, done.stderr


def as_java_keeps_it(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields to compare: sets and maps where Java has them, so neither order nor duplicates count."""
    maps = {"standbyTasks", *_MAPS} if "activeTasks" in fields else _MAPS
    return {name: _kept(value, name in maps, name in _SETS) for name, value in fields.items()}


_MAPS = {"taskOffsetSums", "clientTags", "partitionsByHost", "standbyPartitionsByHost"}
_SETS = {"prevTasks", "standbyTasks"}


def _kept(value: Any, is_map: bool, is_set: bool) -> Any:
    if value is None:  # what 2.0 to 2.4 have of a member from the future
        return None
    if is_map:
        return {_key(key): set(map(_key, held)) if isinstance(held, list) else held for key, held in value}
    return set(map(_key, value)) if is_set else value


def _key(item: Any) -> Any:
    return tuple(item) if isinstance(item, list) else item
