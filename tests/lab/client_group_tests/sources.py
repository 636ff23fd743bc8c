"""Gets the tests of a client library at test time; none of them is part of this project.

kafka-python publishes some of its tests in its source distribution. aiokafka leaves its tests out of it, so they come
from its repository, at the tag of the release.
"""

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

from tests.lab.integration.kafka_jars import Unavailable, cache_folder, pip_command

_DOWNLOAD_SECONDS: Final = 600  # pip builds the metadata of a source distribution, too


@frozen
class SourceDistribution:
    """The source distribution of a release, as the package index has it."""

    package: str
    release: str

    @property
    def described(self) -> str:
        return "its source distribution"

    def identity(self) -> str:
        """The SHA-256 of the archive."""
        return f"sha256 {hashlib.sha256(self.archive().read_bytes()).hexdigest()}"

    def archive(self) -> Path:
        """The archive; ``Unavailable`` if pip cannot get it."""
        name = f"{self.package.replace('-', '_')}-{self.release}.tar.gz"
        kept = cache_folder() / name
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
                wanted = f"{self.package}=={self.release}"
                settings = ["--quiet", "--no-deps", "--no-binary", self.package, "--dest", scratch]
                _run([*pip_command(), "download", *settings, wanted], f"the source of {wanted}")
                Path(scratch, name).replace(kept)
        return kept


@frozen
class Repository:
    """A tag of a public repository; an environment variable may name a copy of it."""

    package: str
    release: str
    url: str
    tag: str
    commit: str
    variable: str

    @property
    def described(self) -> str:
        return f"{self.tag} of {self.url}"

    def identity(self) -> str:
        """The commit, which `archive` has compared with the tag."""
        return f"commit {self.commit}"

    def archive(self) -> Path:
        """The folder of tests; ``Unavailable`` if git cannot get the tag, or if the tag is another commit."""
        kept = cache_folder() / f"{self.package}-{self.commit}-tests.tar"
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
                where, url = Path(scratch, "repository"), os.environ.get(self.variable, self.url)
                clone = ["git", "clone", "--quiet", "--bare", "--depth", "1", "--branch", self.tag, url, str(where)]
                _run(clone, f"{self.tag} of {url} (set {self.variable} to a copy)")
                git = ["git", "-C", str(where)]
                found = _run([*git, "rev-parse", f"{self.tag}^{{commit}}"], f"the commit of {self.tag}").strip()
                if found != self.commit:
                    raise Unavailable(f"expected {self.tag} of {url} to be {self.commit}, got {found}")
                packed = Path(scratch, "tests.tar")
                _run([*git, "archive", f"--output={packed}", self.tag, "tests"], f"the tests of {self.tag}")
                packed.replace(kept)
        return kept


Source = SourceDistribution | Repository


def unpack(source: Source, tests: str, target: Path, added: Mapping[str, str]) -> None:
    """Write the folder ``tests`` of the archive to ``target``, beside files that it lacks."""
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(source.archive()) as archive:
            archive.extractall(scratch, filter="data")
        shutil.copytree(Path(scratch, tests), target)
    for name, content in added.items():
        assert not (target / name).exists(), f"{name} is a file of the library"
        (target / name).write_text(content, encoding="utf-8")


def _run(command: list[str], wanted: str) -> str:
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS, env=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"cannot get {wanted}: {error}") from None
    if done.returncode:
        raise Unavailable(f"cannot get {wanted}: {' '.join(done.stderr.split())[-300:]}")
    return done.stdout
