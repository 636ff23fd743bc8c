"""The image of ``Containerfile``: built on ``python:slim``, or on this machine's Python where no registry answers.

Beside a private engine there is no index either, so the wheels are downloaded before.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from docker import DockerClient as Engine

from tests.lab.integration.containers import PROBLEMS, copy_files, engine, linked
from tests.lab.integration.kafka_jars import Unavailable, cache_folder, pip_command

ROOT = Path(__file__).parents[3]
TAG = "streams-assignor/operator"
_LOCAL = "streams-assignor/python"
_EXTRAS = "confluent,tables,yaml"
_BUILD_SECONDS = 1200
_LEFT_OUT = shutil.ignore_patterns("site-packages", "test", "tests", "idlelib", "tkinter", "__pycache__", "config-*")
_DOCKERFILE = "FROM scratch\nCOPY root/ /\nENV PATH={path}\n"


def build() -> str:
    """Build the image, and return its tag; ``Unavailable`` without an engine."""
    client = engine()
    with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
        context = Path(scratch)
        shutil.copy(ROOT / "Containerfile", context)
        for line in (ROOT / ".dockerignore").read_text().splitlines():
            source = ROOT / line.removeprefix("!")
            if line.startswith("!") and source.exists():
                copy = shutil.copytree if source.is_dir() else shutil.copy
                copy(source, context / source.name)
        base = re.search("^ARG PYTHON=(.+)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)[1]
        arguments = {} if _is_there(client, base) else _local(client, context / "wheels")
        client.images.build(
            path=scratch, dockerfile="Containerfile", tag=TAG, rm=True, buildargs=arguments, timeout=_BUILD_SECONDS
        )
    return TAG


def _is_there(client: Engine, base: str) -> bool:
    for find in (client.images.get, client.images.pull):
        with suppress(*PROBLEMS):
            find(base)
            return True
    return False


def _local(client: Engine, wheels: Path) -> dict[str, str]:
    """Make the base image, put the wheels into the context of the build, and return its arguments."""
    download_wheels()
    shutil.copytree(_wheels(), wheels)
    prefix, path = Path(sys.base_prefix), f"{sys.base_prefix}/bin:/bin"
    with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
        root = Path(scratch, "root")
        python = root / str(prefix)[1:]
        shutil.copytree(prefix / "lib", python / "lib", symlinks=True, ignore=_LEFT_OUT)
        (python / "bin").mkdir()
        shutil.copy(Path(sys.executable).resolve(), python / "bin" / "python")
        files = ["/bin/sh", str(python / "bin" / "python"), *map(str, python.rglob("*.so*"))]
        copy_files({*linked(files), "/bin/sh"}, root)
        (root / "tmp").mkdir(mode=0o777)
        (root / "tmp").chmod(0o1777)
        Path(scratch, "Dockerfile").write_text(_DOCKERFILE.format(path=path))
        client.images.build(path=scratch, tag=_LOCAL, rm=True)
    return {"PYTHON": _LOCAL, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/source/wheels"}


def _wheels() -> Path:
    """Return the folder of the wheels for these dependencies and this Python."""
    wanted = (ROOT / "setup.cfg").read_bytes() + (ROOT / "pyproject.toml").read_bytes()
    return cache_folder() / f"wheels_{hashlib.sha256(wanted + sys.version.encode()).hexdigest()[:12]}"


def download_wheels() -> None:
    """Download the wheels that the image needs, for this Python, unless they are there; ``Unavailable``."""
    if _wheels().exists():
        return
    with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
        command = [*pip_command(), "download", "--quiet", "--only-binary=:all:", "--dest", f"{scratch}/w"]
        # The project itself is built in the image; pip also asks for what it is built with.
        command += [f"{ROOT}[{_EXTRAS}]", "setuptools>=77"]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=_BUILD_SECONDS)
        if done.returncode:
            raise Unavailable(f"pip cannot download the wheels of the image: {done.stderr.strip()[-300:]}")
        with suppress(OSError):  # another run was faster
            Path(scratch, "w").rename(_wheels())
