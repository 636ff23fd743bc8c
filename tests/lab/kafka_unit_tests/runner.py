"""Runs test classes of Kafka in a JVM: Kafka's jars, unmodified, and an agent that replaces bodies of methods.

Kafka's tests and its test utilities come from the ``-test.jar`` that Kafka publishes for each release.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import frozen

from tests.lab.integration.kafka_jars import cache_folder, class_path, jvm, program
from tests.lab.kafka_unit_tests.suites import STREAMS_GROUPS

ROOT: Final = Path(__file__).parents[3]
JAVA: Final = Path(__file__).parent / "java"
SHARED_JAVA: Final = Path(__file__).parents[2] / "java"
_KAFKA: Final = "org.apache.kafka"
_TEST_LIBRARIES: Final = (
    "org.junit.platform:junit-platform-console-standalone:1.13.1",
    "org.mockito:mockito-core:5.14.2",
    "org.mockito:mockito-junit-jupiter:5.14.2",
    "net.bytebuddy:byte-buddy:1.15.4",
    "net.bytebuddy:byte-buddy-agent:1.15.4",
    "org.hamcrest:hamcrest:3.0",
)
_TEST_LIBRARIES_BEFORE_3: Final = ("junit:junit:4.13.2", "org.easymock:easymock:4.3")
_SINCE: Final = {"Kip924.java": "3.8", "Leader.java": "3.8", "StreamsGroups.java": STREAMS_GROUPS}
"""Sources that need classes of this release: the public interface of task assignors, the broker's task assignor."""
_RUN_SECONDS: Final = 1800  # a slow control on a busy machine


@frozen
class TestResult:
    """One test of Kafka, or a class that could not be set up."""

    __test__ = False  # pytest would collect it

    suite: str
    """The name of the test class."""
    test: str
    """The method, with the number of its parameters."""
    name: str
    """The values of its parameters."""
    outcome: str
    """``passed``, ``failed`` or ``skipped``."""
    calls: int
    """The number of questions that it asked Python."""
    why: str


def jars(release: str) -> list[Path]:
    """The class path of Kafka's tests; ``Unavailable`` says what is missing."""
    kafka = [f"{_KAFKA}:{name}:{release}{kind}" for name in _own_jars(release) for kind in ("", ":test")]
    libraries = (*_TEST_LIBRARIES, *(_TEST_LIBRARIES_BEFORE_3 if release < "3" else ()))
    return [Path(each) for each in class_path(*kafka, *libraries).split(os.pathsep)]


def checksums(release: str) -> dict[str, str]:
    """The SHA-256 of Kafka's own jars among them."""
    own = {f"{name}-{release}{kind}.jar" for name in _own_jars(release) for kind in ("", "-test")}
    return {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in jars(release) if jar.name in own}


def _own_jars(release: str) -> tuple[str, ...]:
    both = ("kafka-streams", "kafka-clients")
    return both if release < STREAMS_GROUPS else (*both, "kafka-group-coordinator")


def run(
    release: str, test_classes: Sequence[str], replaced: Mapping[str, str], *, canary: bool = False
) -> list[TestResult]:
    """Run test classes with these methods replaced; in a canary, every replaced method fails instead."""
    agent = _agent(release)
    kafka = os.pathsep.join(map(str, jars(release)))
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "results.jsonl")
        command = jvm(f"{agent}{os.pathsep}{kafka}", "2g", "off")
        python = json.dumps([sys.executable, "-m", "tests.lab.kafka_unit_tests.answers"])
        options = [f"-Dbridge.python={python}", f"-Dbridge.canary={str(canary).lower()}"]
        if release < "3":
            options.append("--add-opens=java.base/java.lang=ALL-UNNAMED")  # for mocks of EasyMock
        if replaced:
            pairs = ",".join(f"{method}={handler}" for method, handler in replaced.items())
            options.append(f"-javaagent:{agent}={pairs}")
        command[1:1] = options
        done = subprocess.run(
            [*command, "Suites", str(found), *test_classes],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_RUN_SECONDS,
        )
        assert 0 == done.returncode, done.stdout[-3000:]
        return [TestResult(**json.loads(line)) for line in found.read_text(encoding="utf-8").splitlines()]


def _agent(release: str) -> Path:
    """The bridge as a jar, compiled for the release; kept until one of its sources changes."""
    sources = [path for path in sorted(JAVA.glob("*.java")) if release >= _SINCE.get(path.name, "")]
    shared = SHARED_JAVA / "Json.java"
    content = b"".join(path.read_bytes() for path in (*sources, shared))
    agent = cache_folder() / f"kafka-unit-tests_{release}_{hashlib.sha256(content).hexdigest()[:12]}.jar"
    if not agent.exists():
        with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
            kafka = os.pathsep.join(map(str, jars(release)))
            settings = ["-nowarn", "-proc:none", "--release", "17", "-d", f"{scratch}/classes", "-cp", kafka]
            done = subprocess.run(
                [program("javac"), *settings, *map(str, (*sources, shared))],
                capture_output=True,
                text=True,
                timeout=500,
            )
            assert 0 == done.returncode, done.stderr
            with zipfile.ZipFile(f"{scratch}/agent.jar", "w") as jar:
                jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: Agent\n")
                for path in sorted(Path(scratch, "classes").glob("*.class")):
                    jar.write(path, path.name)
            with suppress(OSError):  # another run was faster
                Path(scratch, "agent.jar").rename(agent)
    return agent
