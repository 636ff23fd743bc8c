"""Kafka in containers, by testcontainers: the published image, or one of the same layout that is made here.

``apache/kafka`` is pulled with the release as its tag. Where no registry answers, or it lacks the release, an image is
made of Kafka's jars and of the Java and the shell of this machine. A container shares the network of the machine, and
one folder under the same name. So a node has the same settings and addresses in a container and as a process, and nodes
of both kinds can be in one cluster.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any, Self

from docker import DockerClient as Engine
from docker.errors import APIError, DockerException
from requests.exceptions import RequestException  # the engine's client is built on it
from testcontainers.core import docker_client
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

from tests.lab.integration.kafka_jars import Unavailable, cache_folder, class_path, program
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

PUBLISHED = os.environ.get("STREAMS_ASSIGNOR_KAFKA_IMAGE", "apache/kafka")
"""The image of each release, without its tag. Another one, such as that of a mirror, needs the same layout."""

RELEASES = ("3.7.2", "3.9.2", "4.2.2", "4.3.1", "4.4.0")
"""The releases of the tests; 3.7 is the first one with an image."""

_LOCAL = "streams-assignor/kafka"
_BIN = "/opt/kafka/bin"
SERVER, STORAGE = f"{_BIN}/kafka-server-start.sh", f"{_BIN}/kafka-storage.sh"
_JAVA = "/opt/java/openjdk"
_SCRIPT = f"""\
#!/bin/sh
exec {_JAVA}/bin/java $KAFKA_HEAP_OPTS $KAFKA_JVM_PERFORMANCE_OPTS -Dorg.slf4j.simpleLogger.logFile=System.out \\
  -cp '/opt/kafka/libs/*' {{main}} "$@"
"""
_SCRIPTS = {SERVER: _SCRIPT.format(main="kafka.Kafka"), STORAGE: _SCRIPT.format(main="kafka.tools.StorageTool")}
_MODULES = (
    *("java.base", "java.desktop", "java.logging", "java.management", "java.naming", "java.rmi", "java.scripting"),
    *("java.security.jgss", "java.security.sasl", "java.sql", "java.xml", "jdk.crypto.ec", "jdk.management"),
    *("jdk.unsupported", "jdk.zipfs"),
)
_ALSO_LINKED = (
    *("libstdc++.so.6", "libgcc_s.so.1", "libm.so.6"),
    *("libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libresolv.so.2"),
)
_DOCKERFILE = "FROM scratch\nCOPY root/ /\nCOPY libs/ /opt/kafka/libs/\n"
_SMALL_JAVA = {
    "KAFKA_HEAP_OPTS": "-Xmx384m",
    "KAFKA_JVM_PERFORMANCE_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "LOG_DIR": "/tmp/logs",  # the published image logs into files too, in a folder of its own user
}
PROBLEMS = (DockerException, RequestException)


@cache
def engine() -> Engine:
    """Return a client of the container engine; ``Unavailable`` if none can share the network of this machine."""
    try:
        client = docker_client.DockerClient().client
        facts = client.info()
    except PROBLEMS as error:
        raise Unavailable(f"no container engine answers (install Docker; {_words(error)})") from None
    elsewhere = facts["OperatingSystem"] == "Docker Desktop" or "name=rootless" in facts["SecurityOptions"]
    if elsewhere or sys.platform != "linux":
        raise Unavailable("the containers of this engine do not share the network of this machine")
    return client


@cache
def image(release: str) -> str | None:
    """Return the image of a release: it is there already, pulled, or made; None without an engine.

    Warns if there is an engine and no image: the caller counts on it.
    """
    try:
        client, published, local = engine(), f"{PUBLISHED}:{release}", f"{_LOCAL}:{release}-{_layout()}"
    except Unavailable:
        return None
    for name, find in ((published, client.images.get), (published, client.images.pull), (local, client.images.get)):
        with suppress(*PROBLEMS):
            find(name)
            return name
    try:
        _make(client, release, local)
    except (Unavailable, *PROBLEMS) as error:
        warnings.warn(f"no image of Kafka {release} can be pulled or made ({_words(error)})", stacklevel=2)
        return None
    return local


class Container:
    """A program of an image with one folder of this machine, and what it prints; as ``subprocesses.Subprocess``."""

    def __init__(self, name: str, image: str, command: Sequence[str], folder: Path) -> None:
        self.name = f"{name} in {image}"
        self.lines: list[str] = []
        self.ended = False
        self._status: int | None = None
        if image.startswith(_LOCAL):
            testcontainers_config.ryuk_disabled = True  # the image of what removes containers cannot be pulled either
        self._container = (
            DockerContainer(image)
            .with_envs(**_SMALL_JAVA)
            .with_volume_mapping(str(folder), str(folder), "rw")
            .with_command(list(command[1:]))
            .with_kwargs(
                entrypoint=[command[0]], network_mode="host", user=f"{os.getuid()}:{os.getgid()}", working_dir="/tmp"
            )
        )
        try:
            self._container.start()
        except PROBLEMS as error:
            raise Unavailable(f"no container of {image} starts ({_words(error)})") from None
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(0)

    @property
    def running(self) -> Any:
        """The container as the engine's client has it."""
        return self._container.get_wrapped_container()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program: SIGSTOP freezes it, SIGCONT lets it go on."""
        try:
            self.running.kill(signal=number.name)
        except APIError as error:
            raise ProcessLookupError(f"{self.name} has ended") from error

    def stop(self, patience: float = TIMEOUT_SECONDS) -> int:
        """End it, by force after so many seconds, and remove it; returns the exit status."""
        if self._status is None:
            self.running.stop(timeout=int(patience))
        return self.wait()

    def wait(self) -> int:
        """Return its exit status once it has ended, and remove it."""
        if self._status is None:
            self._status = int(self.running.wait(timeout=TIMEOUT_SECONDS)["StatusCode"])
            self._reader.join()
            self._container.stop()
        return self._status

    def _read(self) -> None:
        rest = ""
        for part in self.running.logs(stream=True, follow=True):
            *lines, rest = (rest + part.decode(errors="replace")).split("\n")
            self.lines += lines
        self.lines += [rest] if rest else []
        self.ended = True


# -- an image of the published layout ---------------------------------------------------------------------------------


def _make(client: Engine, release: str, tag: str) -> None:
    jars = class_path(f"org.apache.kafka:kafka_2.13:{release}").split(os.pathsep)
    root = cache_folder() / f"image_{_layout()}"
    if not root.exists():
        with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
            _make_root(Path(scratch, "root"))
            with suppress(OSError):  # another run was faster
                Path(scratch, "root").rename(root)
    with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
        shutil.copytree(root, Path(scratch, "root"), copy_function=os.link)
        Path(scratch, "libs").mkdir()
        for jar in jars:
            shutil.copy(jar, Path(scratch, "libs"))
        Path(scratch, "Dockerfile").write_text(_DOCKERFILE)
        client.images.build(path=scratch, tag=tag, rm=True)


@cache
def _layout() -> str:
    """Return a name for what an image has beside the jars."""
    home = Path(program("java")).resolve()
    return hashlib.sha256(repr((_SCRIPTS, _MODULES, _ALSO_LINKED, _DOCKERFILE, str(home))).encode()).hexdigest()[:12]


def _make_root(root: Path) -> None:
    """Make what is beside the jars: Java, a shell, what both are linked to, and the two scripts."""
    java = root / _JAVA[1:]
    java.parent.mkdir(parents=True)
    stripped = ("--strip-debug", "--no-man-pages", "--no-header-files")
    _run(program("jlink"), "--add-modules", ",".join(_MODULES), *stripped, "--output", str(java))
    copy_files({*linked(["/bin/sh", str(java / "bin" / "java"), *map(str, java.rglob("*.so"))]), "/bin/sh"}, root)
    for name, text in _SCRIPTS.items():
        script = root / name[1:]
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(text)
        script.chmod(0o755)
    for name in ("tmp", "proc", "sys", "dev", "etc"):
        (root / name).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)


def linked(files: Iterable[str]) -> set[str]:
    """Return the libraries of this machine that files are linked to, and those that jars and wheels bring none of."""
    found = set[str]()
    for file in files:
        listed = subprocess.run([program("ldd", "install the C library's tools"), file], capture_output=True, text=True)
        found |= {word for line in listed.stdout.splitlines() for word in line.split() if word.startswith("/")}
    beside = {Path(file).parent for file in found if Path(file).name.startswith("libc.so")}
    plus = [folder / name for folder in beside for name in _ALSO_LINKED]
    return {file for file in found if not file.startswith(str(cache_folder()))} | {str(f) for f in plus if f.exists()}


def copy_files(files: Iterable[str], root: Path) -> None:
    """Copy files of this machine to the same places below another root."""
    for file in files:
        target = root / file[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    if done.returncode:
        raise Unavailable(f"{command[0]}: {done.stdout}{done.stderr}")


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
