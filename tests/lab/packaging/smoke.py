"""Build the distributions, check them, and install each of them into an empty environment of each Python.

``python -m tests.lab.packaging.smoke`` needs build and twine (``tox -e package`` has them) and the registry that pip is
set up for. A Python that is not on this machine is reported as not run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from glob import glob
from pathlib import Path
from typing import Final
from zipfile import ZipFile

import click

ROOT: Final = Path(__file__).parents[3]
TESTED: Final = Path(__file__).parent / "tested.txt"
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
PACKAGE: Final = "streams_assignor"
NAMESAKE: Final = "probing"
"""A distribution of the index whose import package once overwrote one of ours."""
COMMANDS: Final = (
    ("--version",),
    ("plan", "2.8", "4.3"),
    ("release", "4.3"),
    ("replay", "A@2.0.1 B@2.0.1 | bounce A>2.3.1"),
)
"""What a user tries first; each has to end with status 0."""


class Failed(Exception):
    """A check that failed; the message names the command and its output."""


def unexpected_files(wheel: Path) -> list[str]:
    """List the files of a wheel that are outside the package, or are tests or documentation."""
    with ZipFile(wheel) as archive:
        return sorted(name for name in archive.namelist() if not _is_expected(Path(name)))


def _is_expected(path: Path) -> bool:
    """Whether a file belongs into a wheel.

    >>> _is_expected(Path("streams_assignor/testing.py")), _is_expected(Path("assignor/testing.py"))
    (True, False)
    """
    if path.parts[0].endswith(".dist-info"):
        return True
    is_test = {"tests", "docs"} & set(path.parts) or path.name.startswith(("test_", "conftest"))
    return path.parts[0] == PACKAGE and not is_test


def missing_files(wheel: Path) -> list[str]:
    """List the Python files and the data files of the package that a wheel lacks."""
    wanted = {
        name
        for name in glob(f"{PACKAGE}/**", root_dir=ROOT / "src", recursive=True)  # noqa: PTH207
        if Path(name).suffix in {".css", ".gz", ".html", ".js", ".json", ".mjs", ".py", ".svg", ".toml", ".typed"}
    }
    with ZipFile(wheel) as archive:
        return sorted(wanted - set(archive.namelist()))


def build(folder: Path) -> tuple[Path, Path]:
    """Build sdist and wheel (from the sdist), and check their metadata; return the wheel and the sdist."""
    _run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)])
    distributions = sorted(folder.iterdir())
    _run([sys.executable, "-m", "twine", "check", "--strict", *map(str, distributions)])
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def check_contents(wheel: Path, sdist: Path) -> None:
    """Raise ``Failed`` if a distribution has too many or too few files."""
    if wrong := unexpected_files(wheel):
        raise Failed(f"{wheel.name} contains {wrong[:5]}; expected only {PACKAGE}")
    if lacks := missing_files(wheel):
        raise Failed(f"{wheel.name} lacks {lacks[:5]}")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if lacking := {"LICENSE", "README.md", "setup.cfg", "pyproject.toml", f"src/{PACKAGE}/codec/py.typed"} - names:
        raise Failed(f"{sdist.name} lacks {sorted(lacking)}")


def try_on(python: str, distribution: Path, folder: Path) -> None:
    """Install a distribution with the tested dependencies into a new environment, and run ``COMMANDS`` there."""
    environment = folder / f"{Path(python).name}-{distribution.name}"
    _run([python, "-m", "venv", str(environment)])
    programs = environment / "bin"
    _run([str(programs / "python"), "-m", "pip", "install", "--quiet", "-c", str(TESTED), str(distribution)])
    for arguments in COMMANDS:
        _run([str(programs / "streams-assignor"), *arguments], folder)
    _run([str(programs / "python"), "-m", "pip", "check"])
    shutil.rmtree(environment)


def try_beside_namesake(python: str, wheel: Path, folder: Path) -> None:
    """Install the wheel before and after ``NAMESAKE``: both can be imported, and each has its own files."""
    for number, order in enumerate(((str(wheel), NAMESAKE), (NAMESAKE, str(wheel)))):
        environment = folder / f"beside-{number}"
        _run([python, "-m", "venv", str(environment)])
        program = str(environment / "bin" / "python")
        for distribution in order:
            _run([program, "-m", "pip", "install", "--quiet", "-c", str(TESTED), distribution])
        _run(
            [
                program,
                "-c",
                f"import {NAMESAKE}; from {PACKAGE} import StreamsAssignor; from {PACKAGE}.probing import decide",
            ]
        )
        _run([program, "-m", "pip", "check"])
        shutil.rmtree(environment)


def interpreter(version: str) -> str | None:
    """Return a Python of a version that starts; None if there is none."""
    found = shutil.which(f"python{version}")
    candidates = filter(None, (found, *_of_pyenv(version)))
    return next((path for path in candidates if _starts_as(path, version)), None)


def _of_pyenv(version: str) -> Iterator[str]:
    return map(str, (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}"))


def _starts_as(path: str, version: str) -> bool:
    program = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([path, "-c", program], capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.strip() == version


def _run(command: list[str], folder: Path | None = None) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(command)} ended with status {done.returncode}: {(done.stdout + done.stderr)[-1500:]}")


def check_all(pythons: Iterable[str]) -> None:
    """Build, check, and try both distributions with each Python that there is."""
    with tempfile.TemporaryDirectory(prefix="distributions-") as scratch:
        wheel, sdist = build(Path(scratch, "dist"))
        check_contents(wheel, sdist)
        click.echo(f"{wheel.name} and {sdist.name}: built; metadata and contents are right")
        for version in pythons:
            python = interpreter(version)
            if python is None:
                click.echo(f"Python {version}: not run, there is no python{version} on this machine")
                continue
            try_beside_namesake(python, wheel, Path(scratch))
            click.echo(f"Python {version}: {wheel.name} beside {NAMESAKE}, in both orders")
            for distribution in (wheel, sdist):
                try_on(python, distribution, Path(scratch))
                click.echo(f"Python {version}: {distribution.name} is installed, {len(COMMANDS)} commands ran")


@click.command(help="Build, check and try the distributions.")
@click.option("--python", "pythons", multiple=True, default=PYTHONS, show_default=True, help="May be repeated.")
def main(pythons: tuple[str, ...]) -> None:
    try:
        check_all(pythons)
    except Failed as failed:
        raise click.ClickException(str(failed)) from None


if __name__ == "__main__":
    main()
