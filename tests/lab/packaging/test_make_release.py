"""The release command in small repositories of its own; the tools that need a registry are left out."""

import subprocess
from pathlib import Path

import pytest

from tests.lab.packaging import make_release as releasing
from tests.lab.packaging.make_release import Refused, current_version, make_release, require_releasable

FILES = ["streams-assignor-web-0.2.0.zip", "x-0.2.0-py3-none-any.whl", "x-0.2.0.tar.gz"]
FRAGMENT = "docs/changelog.d/topic.md"


def git(root, *arguments):
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture(name="root")
def fixture_root(tmp_path):
    root = tmp_path / "project"
    (root / "docs/changelog.d").mkdir(parents=True)
    (root / "setup.cfg").write_text("[metadata]\nname = x\nversion = 0.1.0\n\n[scriv]\nversion = literal\n")
    (root / "docs/changelog.md").write_text("# Changelog\n")
    (root / ".gitignore").write_text("dist/\n")
    (root / FRAGMENT).write_text("- A change.\n")
    git(root, "init", "--quiet")
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@example.org")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "First")
    return root


@pytest.fixture(name="tools", autouse=True)
def fixture_tools(monkeypatch):
    """Play scriv, build and the web command; skip twine and pip. Everything of git is real."""
    run = releasing._run

    def played(root, *command):
        if command[0] == "git":
            return run(root, *command)
        if "scriv" in command:
            (root / FRAGMENT).unlink()
            (root / "docs/changelog.md").write_text("# Changelog\n\n## 0.2.0\n\n- A change.\n")
        if "build" in command:
            (root / "dist").mkdir()
            for name in ("x-0.2.0.tar.gz", "x-0.2.0-py3-none-any.whl"):
                (root / "dist" / name).touch()
        if "web" in command:
            Path(command[-1]).touch()
        return ""

    monkeypatch.setattr(releasing, "_run", played)


def test_a_release_is_one_commit_with_a_tag(root):
    shown = make_release(root, "0.2.0", dry_run=False)

    assert "0.2.0" == current_version(root)
    assert "Release 0.2.0\nFirst\n" == git(root, "log", "--format=%s")
    assert git(root, "rev-parse", "HEAD") == git(root, "rev-parse", "v0.2.0^{commit}")
    assert "tag\n" == git(root, "cat-file", "-t", "v0.2.0")
    assert "" == git(root, "status", "--porcelain")
    assert not (root / FRAGMENT).exists()
    assert "version = literal" in (root / "setup.cfg").read_text()
    assert "- A change." in shown
    assert FILES == sorted(path.name for path in (root / "dist").iterdir())
    assert "\n".join(FILES) in shown


def test_a_dry_run_shows_the_same_and_changes_nothing(root):
    before = git(root, "rev-parse", "HEAD")

    shown = make_release(root, "0.2.0", dry_run=True)

    assert "Release 0.2.0" in shown
    assert "## 0.2.0" in shown
    assert "\n".join(FILES) in shown
    assert not (root / "dist").exists()
    assert (before, "", "") == (git(root, "rev-parse", "HEAD"), git(root, "tag"), git(root, "status", "--porcelain"))


def test_a_step_that_fails_changes_nothing(root, monkeypatch):
    def broken(_root, *command):
        raise Refused(f"{command[-1]} is broken")

    before = git(root, "rev-parse", "HEAD")
    monkeypatch.setattr(releasing, "set_version", broken)

    with pytest.raises(Refused, match="is broken"):
        make_release(root, "0.2.0", dry_run=False)

    assert (before, "") == (git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain"))


@pytest.mark.parametrize("version", ["next", "0.2", "v0.2.0", "0.0.9"])
def test_a_version_that_is_none_or_older_is_refused(root, version):
    with pytest.raises(Refused, match="expected a version"):
        require_releasable(root, version)


def test_a_version_that_is_tagged_is_refused(root):
    git(root, "tag", "v0.2.0")

    with pytest.raises(Refused, match=r"above the newest tag v0\.2\.0, got 0\.2\.0"):
        require_releasable(root, "0.2.0")


def test_a_tree_with_changes_is_refused(root):
    (root / "setup.cfg").write_text("[metadata]\nversion = 0.1.0\n")

    with pytest.raises(Refused, match=r"without changes, got:\n M setup.cfg"):
        require_releasable(root, "0.2.0")


def test_a_release_without_fragments_is_refused(root):
    git(root, "rm", "--quiet", FRAGMENT)
    git(root, "commit", "--quiet", "--message", "No fragments")
    (root / "docs/changelog.d").mkdir(exist_ok=True)

    with pytest.raises(Refused, match="nothing to release"):
        require_releasable(root, "0.2.0")


@pytest.fixture(name="written")
def fixture_written(root):
    """A project whose entry of 0.2.0 is written, with no fragment left."""
    git(root, "rm", "--quiet", FRAGMENT)
    (root / "docs/changelog.md").write_text("# Changelog\n\n## 0.2.0 — 2026-11-26\n\n- Edited.\n")
    (root / "docs/changelog.d").mkdir(exist_ok=True)
    (root / "docs/changelog.d/README.md").write_text("# One file per change\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "The entry")
    return root


def test_an_entry_that_was_written_before_is_released_as_it_is(written):
    make_release(written, "0.2.0", dry_run=False)

    assert "## 0.2.0 — 2026-11-26\n\n- Edited." in (written / "docs/changelog.md").read_text()
    assert "Release 0.2.0\nThe entry\nFirst\n" == git(written, "log", "--format=%s")


def test_a_version_that_has_its_entry_is_released_without_a_change(written):
    (written / "setup.cfg").write_text("[metadata]\nname = x\nversion = 0.2.0\n")
    git(written, "commit", "--quiet", "--all", "--message", "The version")

    make_release(written, "0.2.0", dry_run=False)

    assert git(written, "rev-parse", "HEAD") == git(written, "rev-parse", "v0.2.0^{commit}")


@pytest.mark.parametrize("older", ["", "\n<a id='changelog-0.1.0'></a>\n## 0.1.0\n\n- The first.\n"])
def test_a_fragment_that_came_after_the_entry_goes_to_its_end(written, older):
    changelog = written / "docs/changelog.md"
    changelog.write_text(changelog.read_text() + older)
    for name in ("late", "later"):
        (written / f"docs/changelog.d/{name}.md").write_text(f"- It came {name}.\n")
    git(written, "add", "--all")
    git(written, "commit", "--quiet", "--message", "Late")

    make_release(written, "0.2.0", dry_run=False)

    items = "\n### Since this entry was written\n\n- It came late.\n- It came later.\n"
    assert f"# Changelog\n\n## 0.2.0 — 2026-11-26\n\n- Edited.\n{items}{older}" == changelog.read_text()
    assert ["README.md"] == [path.name for path in (written / "docs/changelog.d").iterdir()]
