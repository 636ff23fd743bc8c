"""The tests of the pure packages in Pyodide, CPython 3.14 compiled to WebAssembly, under Node.

``python -m tests.assignor.web.in_node [PYTEST_ARGUMENT]...`` needs node, npm and uv. Without arguments it runs the
examples of ``PURE``; tests that start processes or threads, or need compiled libraries, do not run there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Final

from streams_assignor.web.build import BuildError, PyodideLock, fetch_pyodide, pyodide_files

ROOT: Final = Path(__file__).parents[3]
PURE: Final = (
    *("tests/subscription_codec", "tests/probing", "tests/upgrade", "tests/assignor/protocol"),
    *("tests/assignor/streams_group", "tests/assignor/task_assignor", "tests/assignor/task_assignors"),
    *("tests/assignor/groups", "tests/assignor/test_topology.py", "tests/assignor/test_streams_assignor.py"),
    # Clients, segments and what their tests have tested: they need compiled libraries.
    *("--ignore=tests/assignor/groups/describe", "--ignore=tests/assignor/groups/history"),
    *("--ignore=tests/upgrade/cluster/client", "--ignore=tests/upgrade/hazards/test_table.py"),
    "--ignore=tests/subscription_codec/test_kio.py",  # kio needs crc32c
)
COPIED: Final = ("attrs", "click", "kafka-python", "markdown-it-py", "mdurl", "pyyaml", "rich")
"""Distributions whose installed files do: what they have compiled, they do without."""
FETCHED: Final = ("hypothesis>=6.150,<7", "pytest>=9,<10")
"""Those that are not: newer releases of Hypothesis have compiled parts."""
_PLATFORM: Final = ("--python-version", "3.14", "--only-binary", ":all:", "--python-platform", "wasm32-pyodide2024")
_MARKS: Final = "not (bench or broker or clock or exhaustive or java or matrix or slow)"
_OPTIONS: Final = (
    *("-q", "-ra", "--tb=line", "--import-mode=importlib", "-o", "addopts=", "-o", "timeout=", "-o", "strict=false"),
    *("-p", "no:cacheprovider", "-p", "no:threadexception", "-p", "tests.assignor.web.in_pyodide", "-m", _MARKS),
)


def copy_packages(folder: Path) -> None:
    """Copy the pure files of installed distributions."""
    for name in COPIED:
        for each in metadata.distribution(name).files or ():
            if ".." not in each.parts and each.suffix not in {".so", ".pyc"}:
                path = folder / each
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(each.read_binary())


def main(arguments: list[str]) -> int:
    lock = PyodideLock.read()
    try:
        files = pyodide_files(fetch_pyodide(lock), lock)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        uv = [shutil.which("uv") or "uv", "pip", "install", "--quiet", "--target", str(folder / "packages")]
        subprocess.run([*uv, *_PLATFORM, *FETCHED], check=True)
        copy_packages(folder / "packages")
        script = Path(__file__).with_suffix(".mjs")
        command = [
            "node",
            script,
            folder / "pyodide",
            folder / "packages",
            ROOT,
            *_OPTIONS,
            *(arguments or PURE),
        ]
        return subprocess.run(list(map(str, command)), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
