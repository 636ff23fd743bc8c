"""Build the site: the sources of the page, this Python code with what it depends on, and Pyodide from npm.

The site has the files of the installed packages, so the page and this command line are the same code. Pyodide's version
and integrity are in ``lock.json``; other bytes are refused.
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
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any, Final

from attrs import frozen

import assignor
from assignor.formats.page import SHARED
from subscription_codec import StreamsAssignorError

PAGES: Final = Path(__file__).parent / "pages"
MANIFEST: Final = "site.json"
"""The file that says which files a site has; a folder without it is no site."""
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
    "style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types own-files"
)
"""For the page and its worker: files of the site only, and no text becomes a script."""
PACKAGES: Final = ("subscription_codec", "probing", "upgrade", "assignor", "spark_sim")
DEPENDENCIES: Final = ("attrs", "click")
"""The distributions that the commands of the page import; those with compiled parts, and rich, are not among them."""
OPTIONAL: Final = ("pyyaml",)
"""The page reads YAML if this command line does."""
_CODE: Final = frozenset({".py", ".toml", ".gz"})
_LEFT_OUT: Final = (
    "assignor/cli/assign",
    "assignor/cli/audit/",
    "assignor/cli/bounce",
    "assignor/cli/conform",
    "assignor/cli/member",
    "assignor/cli/report",
    "assignor/cli/sweep",
    "assignor/cli/web",
    "assignor/clients/",
    "assignor/demo/",
    "assignor/groups/describe/",
    "assignor/observability/",
    "assignor/testing",
    "assignor/web/",
    "click/shell_completion",
    "click/testing",
    "spark_sim/audit/_report",
    "spark_sim/audit/_spark_source",
    "spark_sim/audit/follow",
    "spark_sim/packed/compiled/",
)
"""Members, live groups, sweeps, reports: the page has no such commands, and needs not load them."""
_ARCHIVE: Final = "python.zip"
_PYODIDE: Final = "pyodide"
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive: the same tree is the same bytes."""
_NPM_SECONDS: Final = 600


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
    """What the page loads, of a package with much more."""
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


def python_archive() -> bytes:
    """Return the code of the page as a zip archive: this tree, and the distributions it depends on."""
    files = {**dict(_own_files(Path(assignor.__file__).parents[1])), **dict(_distribution_files())}
    return _zip(sorted((name, content) for name, content in files.items() if not name.startswith(_LEFT_OUT)))


def _own_files(root: Path) -> Iterator[tuple[str, bytes]]:
    for package in PACKAGES:
        for path in _files_below(root / package):
            if path.suffix in _CODE:
                yield path.relative_to(root).as_posix(), path.read_bytes()


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


def _zip(files: Iterable[tuple[str, bytes]]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, _EARLIEST), content, zipfile.ZIP_DEFLATED, 9)
    return sink.getvalue()


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


def site(package: bytes, lock: PyodideLock | None = None) -> dict[str, bytes]:
    """Return the files of the site by their paths.

    Args:
        package: The npm package of Pyodide.
        lock: What it must be; the project's own lock without it.

    Raises:
        BuildError: The package is another one.
    """
    lock = lock or PyodideLock.read()
    files = pyodide_files(package, lock) | {_ARCHIVE: python_archive()}
    versions = {name: metadata.version(name) for name in _installed()}
    values = {
        "policy": CONTENT_SECURITY_POLICY,
        "version": metadata.version("streams-assignor"),
        "parts": f"Pyodide {lock.version} ({lock.licence})"
        + "".join(f", {name} {version}" for name, version in versions.items()),
    }
    files |= {path.name: _filled(path, values) for path in page_sources()}
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
    if out.suffix == ".zip":
        out.write_bytes(_zip(sorted(files.items())))
        return
    if out.exists() and not (out / MANIFEST).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise BuildError(f"expected a new or empty folder, or a site to replace, got {out} with other files")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
        draft = Path(scratch, "site")
        for name, content in files.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if out.exists():
            out.rename(Path(scratch, "old"))
        draft.rename(out)


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
