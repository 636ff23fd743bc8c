"""Java programs of the tests on the jars of a release: compiled once, and run in a small Java."""

import os
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.java_oracle import compile_java
from tests.lab.integration.kafka_jars import Unavailable, class_path, java, jvm

STARTED = Path(__file__).parent / "application/java/Started.java"


@cache
def jars_of(release: str) -> str:
    """The class path of Kafka Streams; without it the test is skipped."""
    try:
        java()
        return class_path(f"org.apache.kafka:kafka-streams:{release}")
    except Unavailable as missing:
        pytest.skip(f"no Kafka Streams {release}: {missing}")


@cache
def _compiled(source: Path, release: str) -> "TemporaryDirectory[str]":
    """Removed when Python ends."""
    folder = TemporaryDirectory(prefix=source.stem)
    compile_java([source], folder.name, jars_of(release))
    return folder


def lines_of(
    source: Path,
    jars: str,
    *arguments: object,
    compiled_with: str = "2.4.1",
    beside: Iterable[object] = (),
) -> list[str]:
    """The lines that a program prints with some jars, and with what is ``beside`` it on the class path."""
    paths = os.pathsep.join(map(str, (_compiled(source, compiled_with).name, *beside, jars)))
    command = [*jvm(paths, "256m", "off"), source.stem, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    assert 0 == done.returncode, done.stdout[-2000:] + done.stderr
    return done.stdout.splitlines()
