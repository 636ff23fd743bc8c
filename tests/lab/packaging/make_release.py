"""One command for a release: version, changelog, checks, commit and tag. Nothing is pushed or uploaded.

The entry of the changelog is made of the fragments; if it was written before, they go to its end. ``python -m
tests.lab.packaging.make_release 0.2.0 --dry-run`` does all of it in a clone and shows the result (``tox -e
release -- 0.2.0 --dry-run`` has the tools). Without ``--dry-run`` the finished commit and its tag are fetched from that
clone, and what is to be uploaded goes to ``dist``, so a step that fails changes nothing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from configparser import ConfigParser
from pathlib import Path
from typing import Final

import click

ROOT: Final = Path(__file__).parents[3]
DISTRIBUTIONS: Final = "dist"
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")
_SETTING: Final = re.compile(r"^version = .*$", re.MULTILINE)


class Refused(Exception):
    """A release that cannot be made; the message names what was expected and what is there."""


def numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers.

    Raises:
        Refused: It is no version of this project.

    >>> numbers("0.10.0") > numbers("0.9.1")
    True
    """
    if not _VERSION.fullmatch(version):
        raise Refused(f"expected a version such as 0.2.0, got {version!r}")
    return tuple(map(int, version.split(".")))


def current_version(root: Path) -> str:
    """Return the version of setup.cfg."""
    configuration = ConfigParser()
    configuration.read(root / "setup.cfg")
    return configuration["metadata"]["version"]


def set_version(root: Path, version: str) -> None:
    """Write a version to setup.cfg."""
    path = root / "setup.cfg"
    path.write_text(_SETTING.sub(f"version = {version}", path.read_text(), count=1))


def require_releasable(root: Path, version: str) -> None:
    """Raise ``Refused`` unless the tree is committed, the version is new and there is something to release."""
    tags = _git(root, "tag", "--list").split()
    newest = max([numbers(tag[1:]) for tag in tags if _VERSION.fullmatch(tag[1:])], default=None)
    current = current_version(root)
    if numbers(version) < numbers(current):
        raise Refused(f"expected a version from {current} on, got {version}")
    if newest and numbers(version) <= newest:
        raise Refused(f"expected a version above the newest tag v{'.'.join(map(str, newest))}, got {version}")
    if changed := _git(root, "status", "--porcelain"):
        raise Refused(f"expected a tree without changes, got:\n{changed}")
    if not has_entry(root, version) and not fragments(root):
        raise Refused("expected fragments in docs/changelog.d, got none: there is nothing to release")


def fragments(root: Path) -> list[Path]:
    """Return the files with the changes that are in no entry yet."""
    return [path for path in sorted((root / "docs" / "changelog.d").glob("*.md")) if path.name != "README.md"]


def has_entry(root: Path, version: str) -> bool:
    """Return whether the changelog has an entry of this version."""
    lines = (root / "docs" / "changelog.md").read_text().splitlines()
    return any(line.split()[:2] == ["##", version] for line in lines)


def move_fragments(root: Path, version: str) -> None:
    """Move the fragments to the end of the entry of this version, which scriv refuses to touch once it is written."""
    changelog = root / "docs" / "changelog.md"
    text = changelog.read_text()
    begin = re.search(rf"^## {re.escape(version)}\b", text, re.MULTILINE)
    assert begin, "it has an entry"
    next_entry = re.compile(r"^(<a id=|## )", re.MULTILINE).search(text, begin.end())
    end = next_entry.start() if next_entry else len(text)
    items = "\n".join(path.read_text().strip() for path in fragments(root))
    changelog.write_text(
        f"{text[:end].rstrip()}\n\n### Since this entry was written\n\n{items}\n\n{text[end:]}".rstrip() + "\n"
    )
    for path in fragments(root):
        path.unlink()


def write_release(root: Path, version: str) -> None:
    """Set the version, collect the changelog, build and check what is uploaded, commit and tag."""
    set_version(root, version)
    if not has_entry(root, version):
        _run(root, sys.executable, "-m", "scriv", "collect")
    elif fragments(root):
        move_fragments(root, version)
    _git(root, "add", "--all", "setup.cfg", "docs/changelog.md", "docs/changelog.d")
    build_distributions(root, version)
    _git(root, "commit", "--quiet", "--allow-empty", "--message", f"Release {version}")
    _git(root, "tag", "--annotate", "--message", f"streams-assignor {version}", f"v{version}")


def build_distributions(root: Path, version: str) -> None:
    """Build wheel, sdist and the web page of the wheel as an archive."""
    folder = root / DISTRIBUTIONS
    _run(root, sys.executable, "-m", "build", "--outdir", str(folder), str(root))
    _run(root, sys.executable, "-m", "twine", "check", "--strict", *sorted(map(str, folder.iterdir())))
    (wheel,) = folder.glob("*.whl")
    with tempfile.TemporaryDirectory(prefix="release-") as name:
        python = Path(name, "bin", "python")
        _run(root, sys.executable, "-m", "venv", name)
        _run(root, str(python), "-m", "pip", "install", "--quiet", f"{wheel}[yaml]")
        page = folder / f"streams-assignor-web-{version}.zip"
        # From elsewhere: the page is made of the wheel, not of the tree.
        _run(Path(name), str(python), "-m", "streams_assignor", "web", "--out", str(page))


def make_release(root: Path, version: str, *, dry_run: bool) -> str:
    """Make a release in a clone, take it over unless it is a dry run, and describe it."""
    require_releasable(root, version)
    with tempfile.TemporaryDirectory(prefix="release-clone-") as folder:
        clone = Path(folder, "clone")
        _run(root, "git", "clone", "--quiet", "--shared", str(root), str(clone))
        for key in ("user.name", "user.email"):
            _git(clone, "config", key, _git(root, "config", key).strip())
        write_release(clone, version)
        summary = _git(clone, "show", "--stat", "--format=%s%n", "HEAD")
        added = _git(clone, "show", "--format=", "--unified=0", "HEAD", "--", "docs/changelog.md")
        if not dry_run:
            # By its commit: a tag that follows it is fetched only once the commit is there.
            _git(root, "pull", "--quiet", "--ff-only", "--no-rebase", str(clone), f"refs/tags/v{version}")
            _git(root, "fetch", "--quiet", str(clone), f"refs/tags/v{version}:refs/tags/v{version}")
            shutil.copytree(clone / DISTRIBUTIONS, root / DISTRIBUTIONS, dirs_exist_ok=True)
        built = sorted(path.name for path in (clone / DISTRIBUTIONS).iterdir())
    lines = [line[1:] for line in added.splitlines() if line.startswith("+") and not line.startswith("+++")]
    after = (
        "dry run: nothing is changed"
        if dry_run
        else f"committed and tagged v{version}; push both, then upload these files of {DISTRIBUTIONS}"
    )
    return "\n".join((summary.strip(), "", "\n".join(lines).strip(), "", *built, after))


def _git(root: Path, *arguments: str) -> str:
    return _run(root, "git", *arguments)


def _run(root: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"{' '.join(command)} ended with status {done.returncode}: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


@click.command(help="Make a release: version, changelog, checks, commit and tag.")
@click.argument("version")
@click.option("--dry-run", is_flag=True, help="Do all of it in a clone and show the result.")
def main(version: str, *, dry_run: bool) -> None:
    try:
        click.echo(make_release(ROOT, version, dry_run=dry_run))
    except Refused as refused:
        raise click.ClickException(str(refused)) from None


if __name__ == "__main__":
    main()
