"""Packages of npm for tests: a made-up Pyodide, and the real ones."""

import base64
import hashlib
import io
import json
import tarfile
import zipfile

import pytest
from attrs import evolve

from streams_assignor.web.build import BuildError, PyodideLock, fetch_pyodide

LOCK = PyodideLock.read()
AXE = PyodideLock(
    "axe-core",
    "4.14.1",
    "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
    "MPL-2.0",
    ("axe.min.js",),
    "package.json",
)
"""Finds what a screen reader cannot read."""


def integrity(package):
    return "sha512-" + base64.b64encode(hashlib.sha512(package).digest()).decode()


def made_up(**changed):
    """A package with the files of Pyodide, and its lock; None leaves a file out."""
    contents = {name: name.encode() for name in LOCK.files}
    contents["python_stdlib.zip"] = zipped({"abc.py": b"abc", "json/__init__.py": b"json", "pdb.py": b"pdb"})
    contents[LOCK.lock] = json.dumps({"info": {"python": "3.14.2"}, "packages": {"rich": {}}}).encode()
    contents |= changed
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as archive:
        for name, content in contents.items():
            if content is not None:
                member = tarfile.TarInfo(f"package/{name}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    package = sink.getvalue()
    return package, evolve(LOCK, integrity=integrity(package))


def zipped(files):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return sink.getvalue()


def made_up_compiler(*_):
    """Its compiled part: a module of either archive."""
    return {"stdlib/abc.pyc": b"compiled abc", "code/click/core.pyc": b"compiled core"}


def code_of(files):
    """The code in the archive of a site."""
    with tarfile.open(fileobj=io.BytesIO(files["python.tar.xz"])) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def stdlib_of(files):
    """The standard library of a site."""
    with zipfile.ZipFile(io.BytesIO(files["pyodide/python_stdlib.zip"])) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def fetched(lock):
    """The package that a lock names; the test is skipped without npm or a network."""
    try:
        return fetch_pyodide(lock)
    except BuildError as error:
        pytest.skip(f"needs npm and its network: {error}")
