"""Kafka's own jars, from the registry that Maven is set up for; kept in Maven's repository, found again by a cache."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import escape

JAVA = Path(__file__).parent / "java"
_BUILD_CLASSPATH = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>tests</artifactId><version>1</version>
<packaging>pom</packaging><dependencies>{}</dependencies></project>
"""
_DEPENDENCY = """\
<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>
"""
_CLASSIFIER = "<classifier>{}</classifier>"
_LOGGER = "org.slf4j:slf4j-simple:1.7.36"  # no log line leaves Kafka's jars without one
_MAVEN_SECONDS = 300  # for javac too: on a quiet machine it takes five


class Unavailable(Exception):
    """What is missing, and how to get it."""


def cache_folder() -> Path:
    given = os.environ.get("STREAMS_ASSIGNOR_CACHE")
    folder = Path(given) if given else Path.home() / ".cache" / "streams-assignor"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def program(name: str, remedy: str = "install Maven and a JDK, 17 or later") -> str:
    """Where a program is: of the JDK, Maven, or another one."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=str(Path(home, "bin"))) if home else None
    if found := found or shutil.which(name):
        return found
    raise Unavailable(f"no {name!r} on PATH ({remedy})")


def pip_command() -> list[str]:
    """The command of pip for this Python: its own, or one that uv brings for the moment."""
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    uv = program("uv", "this Python has no pip: install pip into it, or uv")
    return [uv, "run", "--quiet", "--no-project", "--python", sys.executable, "--with", "pip", "python", "-m", "pip"]


@cache
def java() -> str:
    """A Java runtime that is new enough for all of it."""
    found = program("java")
    output = subprocess.run([found, "-version"], capture_output=True, text=True, timeout=60).stderr
    version = re.search(r'version "(\d+)', output)
    if not version or int(version[1]) < 17:
        raise Unavailable(f"{output.splitlines()[:1]} is not Java 17 or later (install a newer JDK, or set JAVA_HOME)")
    return found


def class_path(*coordinates: str) -> str:
    """The class path of each ``GROUP:ARTIFACT:VERSION`` or ``...:CLASSIFIER`` with all it needs at run time."""
    name, more = coordinates[0].replace(":", "_"), hashlib.sha256("\n".join(coordinates).encode()).hexdigest()[:12]
    known = cache_folder() / (f"{name}_{more}.classpath" if len(coordinates) > 1 else f"{name}.classpath")
    if known.exists() and all(map(os.path.exists, known.read_text().split(os.pathsep))):
        return known.read_text()
    maven = program("mvn")
    with (cache_folder() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two Mavens do not share a repository well
        return _resolved(maven, coordinates, known)


def _dependency(coordinates: str) -> str:
    group, artifact, version, *classifier = map(escape, coordinates.split(":"))
    return _DEPENDENCY.format(group, artifact, version, "".join(map(_CLASSIFIER.format, classifier)))


def _resolved(maven: str, coordinates: tuple[str, ...], known: Path) -> str:
    wanted = ", ".join(coordinates)
    dependencies = "".join(map(_dependency, (*coordinates, _LOGGER)))
    with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
        pom, found = Path(scratch, "pom.xml"), Path(scratch, "classpath")
        pom.write_text(_POM.format(dependencies))
        settings = ["-Dstyle.color=never", "-DincludeScope=runtime", f"-Dmdep.outputFile={found}"]
        command = [maven, "-B", "-q", "-f", str(pom), *settings, _BUILD_CLASSPATH]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_MAVEN_SECONDS, errors="replace")
        except subprocess.TimeoutExpired:
            raise Unavailable(f"Maven did not get {wanted} within {_MAVEN_SECONDS} s") from None
        if done.returncode or not found.exists():
            why = next((line for line in done.stdout.splitlines() if "ERROR" in line), "it does not say why")
            raise Unavailable(f"Maven cannot get {wanted} (is there a network?): {why[:300]}")
        found.replace(known)
    return known.read_text()


def counting(release: str) -> list[str]:
    """The command that runs `Counting` on a release of Kafka Streams, up to its arguments (`Early` before 1.0)."""
    return driver("Early" if release.startswith("0.") else "Counting", release)


def driver(name: str, release: str) -> list[str]:
    """The command that runs one of the programs in ``java/`` on a release of Kafka Streams, up to its arguments."""
    jars = class_path(f"org.apache.kafka:kafka-streams:{release}")
    sources = b"".join((JAVA / f"{each}.java").read_bytes() for each in ("Instance", "Counting", "Early", name))
    classes = cache_folder() / f"{name}_{release}_{hashlib.sha256(sources).hexdigest()[:12]}"
    if not classes.exists():
        with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
            where = ["-d", f"{scratch}/classes", "-cp", jars, "-sourcepath", str(JAVA), str(JAVA / f"{name}.java")]
            subprocess.run([program("javac"), "-nowarn", "--release", "11", *where], check=True, timeout=_MAVEN_SECONDS)
            with suppress(OSError):  # another run was faster
                Path(scratch, "classes").rename(classes)
    return [*jvm(f"{classes}{os.pathsep}{jars}", "128m", "warn"), name]


def jvm(class_path: str, heap: str, log_level: str) -> list[str]:
    """A small Java that starts fast and says everything on standard output."""
    log = "-Dorg.slf4j.simpleLogger"
    settings = [f"{log}.logFile=System.out", f"{log}.defaultLogLevel={log_level}"]
    return [java(), f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *settings, "-cp", class_path]
