"""Build the site: the sources of the page, this Python code with what it depends on, and Pyodide from npm.

The site has the files of the installed packages, so the page and this command line are the same code. Pyodide's version
and integrity are in ``lock.json``; other bytes are refused. The modules that a first plan loads are compiled, for
compiling is most of the time that a browser would need; the rest are sources, which are smaller.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any, Final

from attrs import frozen

import streams_assignor
from streams_assignor.codec import StreamsAssignorError
from streams_assignor.formats.page import SHARED

PAGES: Final = Path(__file__).parent / "pages"
SAMPLES: Final = Path(__file__).parent / "samples"
"""Small files of users, to try the page with."""
MANIFEST: Final = "site.json"
"""The file that says which files a site has; a folder without it is no site."""
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
    "style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types own-files"
)
"""For the page and its worker: files of the site only, and no text becomes a script."""
DEPENDENCIES: Final = ("attrs", "click")
"""The distributions that the commands of the page import; those with compiled parts, and rich, are not among them."""
OPTIONAL: Final = ("pyyaml",)
"""The page reads YAML if this command line does."""
_CODE: Final = frozenset({".py", ".toml", ".gz"})
_LEFT_OUT: Final = (
    "streams_assignor/cli/_capture_verdict",
    "streams_assignor/cli/assign",
    "streams_assignor/cli/audit/",
    "streams_assignor/cli/bounce",
    "streams_assignor/cli/conform",
    "streams_assignor/cli/group/",
    "streams_assignor/cli/member",
    "streams_assignor/cli/report",
    "streams_assignor/cli/roll/",
    "streams_assignor/cli/sweep",
    "streams_assignor/cli/web",
    "streams_assignor/clients/",
    "streams_assignor/demo/",
    "streams_assignor/groups/describe/",
    "streams_assignor/observability/",
    "streams_assignor/testing",
    "streams_assignor/web/",
    "click/shell_completion",
    "click/_winconsole",
    "click/testing",
    "streams_assignor/spark_sim/audit/_report",
    "streams_assignor/spark_sim/audit/_spark_source",
    "streams_assignor/spark_sim/audit/api",
    "streams_assignor/spark_sim/audit/follow",
    "streams_assignor/spark_sim/audit/sources/spark_files",
    "streams_assignor/spark_sim/sweep/spark/_data_source",
    "streams_assignor/spark_sim/sweep/spark/api",
    "streams_assignor/spark_sim/sweep/spark/executor",
    "streams_assignor/spark_sim/sweep/spark/files",
    "streams_assignor/spark_sim/sweep/spark/session",
    "streams_assignor/spark_sim/sweep/spark/tables",
    "streams_assignor/spark_sim/sweep/spark/target",
    "streams_assignor/upgrade/cluster/client/connection",
    "streams_assignor/upgrade/cluster/client/feature_",
    "streams_assignor/upgrade/cluster/drafts/",
)
"""Members, live groups, sweeps, reports, Spark: the page has no such commands, and needs not load them."""
_STDLIB_LEFT_OUT: Final = (
    *("__hello__", "__phello__", "_pyio", "_pyrepl", "antigravity", "asyncio/__main__", "bdb", "cProfile", "cmd"),
    *("code.", "compileall", "ctypes", "doctest", "fileinput", "ftplib", "http/cookie", "http/server", "imaplib"),
    *("importlib/_bootstrap", "logging/config", "logging/handlers", "mailbox", "multiprocessing/sharedctypes"),
    *("netrc", "nturl2path", "optparse", "pdb", "pickletools", "plistlib", "poplib", "profile", "pstats", "pty"),
    *("pyclbr", "pydoc", "pyodide/console", "rlcompleter", "shelve", "smtplib", "socketserver", "sqlite3"),
    *("statistics", "symtable", "tabnanny", "this", "timeit", "trace.", "tty", "unittest", "wave", "webbrowser"),
    *("wsgiref", "xmlrpc", "zipapp"),
)
"""Terminals, debuggers, servers, formats that nothing here reads, and sources of frozen modules."""
_ARCHIVE: Final = "python.tar.xz"
_PYODIDE: Final = "pyodide"
_STDLIB: Final = f"{_PYODIDE}/python_stdlib.zip"
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive: the same tree is the same bytes."""
_NPM_SECONDS: Final = 600
_NODE_SECONDS: Final = 600


class BuildError(StreamsAssignorError):
    """The site cannot be built; the message names what was expected, and what to do."""


@frozen
class PyodideLock:
    """The pinned package of npm."""

    name: str
    version: str
    integrity: str
    licence: str
    files: tuple[str, ...]
    """The files that the page loads, of a package with many more."""
    lock: str
    """Pyodide's own list of packages, of which the page needs none."""

    @classmethod
    def read(cls) -> PyodideLock:
        """Read ``lock.json``."""
        fields: dict[str, Any] = json.loads((Path(__file__).parent / "lock.json").read_text("utf-8"))
        return cls(**{**fields, "files": tuple(fields["files"])})

    @property
    def spec(self) -> str:
        """The package as npm names it."""
        return f"{self.name}@{self.version}"


def fetch_pyodide(lock: PyodideLock) -> bytes:
    """Return the package, fetched by npm.

    Raises:
        BuildError: There is no npm, or it cannot fetch the package.
    """
    npm = shutil.which("npm")
    instead = f"or give the package as a file: --pyodide {lock.name}-{lock.version}.tgz"
    if npm is None:
        raise BuildError(f"expected npm, which fetches {lock.spec}, found none in PATH; install Node.js, {instead}")
    with tempfile.TemporaryDirectory(prefix="streams-assignor-") as folder:
        command = [npm, "pack", lock.spec, "--silent", "--pack-destination", folder]
        try:
            done = subprocess.run(
                command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_NPM_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise BuildError(f"npm has not fetched {lock.spec} within {_NPM_SECONDS} seconds; {instead}") from None
        packed = sorted(Path(folder).iterdir())
        if done.returncode or len(packed) != 1:
            lines = (done.stderr or done.stdout).strip().splitlines() or [f"status {done.returncode}"]
            raise BuildError(f"npm cannot fetch {lock.spec}: {lines[0]}; is the network there? {instead}")
        return packed[0].read_bytes()


def pyodide_files(package: bytes, lock: PyodideLock) -> dict[str, bytes]:
    """Return what the page needs of the package.

    Raises:
        BuildError: These are not the pinned bytes.
    """
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(package).digest()).decode()
    if integrity != lock.integrity:
        raise BuildError(f"expected {lock.spec} with integrity {lock.integrity}, got {integrity}")
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        files = {name: _member(archive, name, lock) for name in (*lock.files, lock.lock)}
    # Without packages in it, there is nothing that Pyodide could ask another server for.
    files[lock.lock] = _json({"info": json.loads(files[lock.lock])["info"], "packages": {}})
    return {f"{_PYODIDE}/{name}": content for name, content in files.items()}


def _member(archive: tarfile.TarFile, name: str, lock: PyodideLock) -> bytes:
    path = f"package/{name}"
    member = archive.extractfile(path) if path in archive.getnames() else None
    if member is None:
        raise BuildError(f"expected {name} in {lock.spec}, which has none")
    return member.read()


def code_files() -> dict[str, bytes]:
    """Return the code of the page by its paths: this tree, and the distributions it depends on."""
    files = {**dict(_own_files(Path(streams_assignor.__file__).parent)), **dict(_distribution_files())}
    return {name: content for name, content in files.items() if not name.startswith(_LEFT_OUT)}


def _is_needed(name: str) -> bool:
    """Say whether a file of the standard library is a part of the site."""
    return not name.startswith(_STDLIB_LEFT_OUT)


def _own_files(root: Path) -> Iterator[tuple[str, bytes]]:
    for path in _files_below(root):
        if path.suffix in _CODE:
            yield path.relative_to(root.parent).as_posix(), path.read_bytes()


def _files_below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield from _files_below(path)
        else:
            yield path


def _distribution_files() -> Iterator[tuple[str, bytes]]:
    for name in _installed():
        for file in metadata.distribution(name).files or ():
            if file.suffix == ".py" and ".." not in file.parts:
                yield PurePosixPath(file).as_posix(), file.read_binary()


def _installed() -> list[str]:
    return [*DEPENDENCIES, *(name for name in OPTIONAL if list(metadata.distributions(name=name)))]


def compile_loaded(pyodide: Mapping[str, bytes], code: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what a first plan loads, compiled by Pyodide itself: ``stdlib/`` or ``code/`` and the path of a module.

    Raises:
        BuildError: There is no Node.js, or the plan fails in it.
    """
    node = shutil.which("node")
    if node is None:
        raise BuildError("expected node, which compiles the code of the page, found none in PATH; install Node.js")
    with tempfile.TemporaryDirectory(prefix="streams-assignor-") as name:
        folder = Path(name)
        _write(pyodide, folder)
        _write(code, folder / "code")
        out = folder / "out"
        out.mkdir()
        script = Path(__file__).with_name("compile.mjs")
        command = [node, *map(str, (script, folder / _PYODIDE, folder / "code", out))]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_NODE_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise BuildError(f"node has not compiled the code of the page within {_NODE_SECONDS} seconds") from None
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            raise BuildError(
                f"node cannot compile the code of the page: {lines[-1]}; Pyodide needs Node.js 20 or newer"
            )
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in _files_below(out)}


def _with_compiled(files: Mapping[str, bytes], compiled: Mapping[str, bytes], root: str) -> dict[str, bytes]:
    """Return files in which what is compiled below ``root`` stands in the place of its source."""
    done = {name.removeprefix(root): content for name, content in compiled.items() if name.startswith(root)}
    sources = {name.removesuffix("c") for name in done}
    return {name: content for name, content in files.items() if name not in sources} | done


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _zip(files: Iterable[tuple[str, bytes]]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, _EARLIEST), content, zipfile.ZIP_DEFLATED, 9)
    return sink.getvalue()


def _unzip(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def _tar(files: Mapping[str, bytes]) -> bytes:
    """Return one compressed stream, which is a quarter smaller than a zip archive; like lies beside like."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:xz", preset=COMPRESSION) as archive:
        for name in sorted(files, key=lambda name: (PurePosixPath(name).suffix, name)):
            member = tarfile.TarInfo(name)
            member.size = len(files[name])
            archive.addfile(member, io.BytesIO(files[name]))
    return sink.getvalue()


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


COMPRESSION: Final = 6
"""The level of xz: higher ones take longer, and save nothing here."""
Compiler = Callable[[Mapping[str, bytes], Mapping[str, bytes]], Mapping[str, bytes]]
"""As ``compile_loaded``."""


def site(package: bytes, lock: PyodideLock | None = None, compiler: Compiler = compile_loaded) -> dict[str, bytes]:
    """Return the files of the site by their paths.

    Args:
        package: The npm package of Pyodide.
        lock: Its digest; the project's own lock without it.
        compiler: Compiles some of its code.

    Raises:
        BuildError: The package is another one, or its code cannot be compiled.
    """
    lock = lock or PyodideLock.read()
    files, code = pyodide_files(package, lock), code_files()
    compiled = compiler(files, code)
    stdlib = {name: content for name, content in _unzip(files[_STDLIB]).items() if _is_needed(name)}
    files[_STDLIB] = _zip(sorted(_with_compiled(stdlib, compiled, "stdlib/").items()))
    files[_ARCHIVE] = _tar(_with_compiled(code, compiled, "code/"))
    versions = {name: metadata.version(name) for name in _installed()}
    values = {
        "policy": CONTENT_SECURITY_POLICY,
        "version": metadata.version("streams-assignor"),
        "parts": f"Pyodide {lock.version} ({lock.licence})"
        + "".join(f", {name} {version}" for name, version in versions.items()),
    }
    files |= {path.name: _filled(path, values) for path in page_sources()}
    files |= {path.relative_to(SAMPLES.parent).as_posix(): path.read_bytes() for path in _files_below(SAMPLES)}
    digest = hashlib.sha256(b"".join(hashlib.sha256(files[name]).digest() for name in sorted(files))).hexdigest()
    # Its bytes change with any file, which is how a browser sees that there is another version.
    cached = {"cache": f"streams-assignor-{digest[:16]}", "files": ["./", *sorted(files.keys() - {"sw.js"})]}
    files["sw.js"] = b"const SITE = " + json.dumps(cached).encode() + b";\n" + files["sw.js"]
    files[MANIFEST] = _json(
        {
            **{key: values[key] for key in ("version", "parts")},
            "files": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())},
        }
    )
    return files


def page_sources() -> list[Path]:
    """Return the sources of the page: its own, and the modules and styles that it shares with pages of one file."""
    shared = (path for path in SHARED.iterdir() if path.suffix in {".css", ".mjs"})
    return sorted([*PAGES.iterdir(), *shared], key=lambda path: path.name)


def _filled(path: Path, values: Mapping[str, str]) -> bytes:
    """Return a source of the page; only the page itself has places for values."""
    content = path.read_bytes()
    for name, value in values.items() if path.suffix == ".html" else ():
        content = content.replace(f"{{{{ {name} }}}}".encode(), value.encode())
    return content


def write_site(files: Mapping[str, bytes], out: Path) -> None:
    """Write a site into a folder, or as an archive if the name ends with ``.zip``; an earlier site is replaced.

    Raises:
        BuildError: The folder has something else.
    """
    require_own_site(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix == ".zip":
        out.write_bytes(_zip(sorted(files.items())))
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
        draft = Path(scratch, "site")
        _write(files, draft)
        if out.exists():
            out.rename(Path(scratch, "old"))
        draft.rename(out)


def require_own_site(out: Path) -> None:
    """Refuse to write a site where something else is; ``BuildError`` names it."""
    if not out.exists() or (out.is_dir() and out.suffix != ".zip" and not any(out.iterdir())):
        return
    try:
        if out.suffix == ".zip":
            with zipfile.ZipFile(out) as archive:
                there, manifest = {*archive.namelist()}, archive.read(MANIFEST)
        else:
            there = {path.relative_to(out).as_posix() for path in _files_below(out)}
            manifest = (out / MANIFEST).read_bytes()
        others = there - {MANIFEST, *json.loads(manifest)["files"]}
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
        others = {out.name}
    if others:
        kind = "file" if out.suffix == ".zip" else "or empty folder"
        raise BuildError(f"expected a new {kind}, or a site to replace, got {out} with {min(others)}")


def read_site(folder: Path) -> dict[str, bytes]:
    """Return the files of a site in a folder.

    Raises:
        BuildError: It is none, or a file is missing or changed.
    """
    try:
        manifest = (folder / MANIFEST).read_bytes()
        expected: dict[str, str] = json.loads(manifest)["files"]
        files = {name: (folder / name).read_bytes() for name in expected}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BuildError(f"expected a folder of streams-assignor web --out, got {folder}: {error}") from None
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != expected[name]:
            raise BuildError(f"expected the files that {folder / MANIFEST} names, but {name} is another one")
    return {**files, MANIFEST: manifest}
