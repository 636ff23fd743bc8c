"""The nightly run and a command that ends in another way than its tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import asdict

from tests import nightly
from tests.nightly import Part, Result

REPORT = """<testsuite><testcase classname="a" name="one"/>
<testcase classname="a" name="two"><skipped message="no broker"/></testcase>{}</testsuite>"""
OF_GIT = nightly._commits_since
FAILED = '<testcase classname="a" name="three"><failure/></testcase>'


def result_of(monkeypatch, status, report, command=("python", "-m", "pytest")):
    def ends(given, _environment):
        if report:
            Path(given[-1].partition("=")[2]).write_text(report)
        return status

    monkeypatch.setattr(nightly, "PARTS", {"part": Part("", (command,))})
    monkeypatch.setattr(nightly, "_status", ends)
    found = nightly.run("part", {})
    return found.passed, found.failed, dict(found.skipped), found.failures


@pytest.mark.parametrize(
    ("status", "report", "expected"),
    [
        (0, REPORT.format(""), (1, 0, {"no broker": 1}, ())),
        (1, REPORT.format(FAILED), (1, 1, {"no broker": 1}, ("a::three",))),
        (2, REPORT.format(""), (1, 1, {"no broker": 1}, ("status 2: python -m pytest",))),
        (5, "", (0, 1, {}, ("status 5: python -m pytest",))),
    ],
)
def test_a_part_that_ends_without_a_failed_test_has_failed_unless_its_status_is_0(
    monkeypatch, status, report, expected
):
    """A run that is interrupted, or whose worker crashes, leaves a report without a failure."""
    assert expected == result_of(monkeypatch, status, report)


def test_a_command_that_failed_is_named_without_the_folder_of_its_python(monkeypatch):
    """The row is on the verification page: it named the folder of an environment."""
    command = (sys.executable, "-m", "coverage", "report")

    assert ("status 2: python -m coverage report",) == result_of(monkeypatch, 2, "", command)[3]


@pytest.mark.parametrize(("status", "counts"), [(0, (1, 0)), (3, (0, 1))])
def test_a_part_without_pytest_counts_its_commands(monkeypatch, status, counts):
    assert counts == result_of(monkeypatch, status, "", ("coverage", "report"))[:2]


@pytest.fixture(name="ledger")
def fixture_ledger(monkeypatch):
    """Two parts, one of them with shards, whose code has commits since they ran."""
    large = Part("", (("python", "-m", "pytest", "--cov"),), shards_with="^tests/(test|b)")
    parts = {"large": large, "small": Part("", (("program",),))}
    commits = {"assignor": 3, "upgrade/roll": 7}
    monkeypatch.setattr(nightly, "PARTS", parts)
    folders = {"a": ["test_nightly.py", "conftest.py"], "b": ["b/1", "b/2"], "c": ["matrix.py"]}
    paths = {f"tests/{folder}": [Path("tests", file) for file in files] for folder, files in folders.items()}
    monkeypatch.setattr(nightly, "shards", lambda: paths)
    monkeypatch.setattr(nightly, "depends_on", lambda name: ["upgrade/roll" if name == "large:tests/a" else "assignor"])
    monkeypatch.setattr(nightly, "_text", lambda _: "")
    monkeypatch.setattr(
        nightly, "_commits_since", lambda _: [{path} for path, number in commits.items() for _ in range(number)]
    )
    return commits


def row(part, commit="c0ffee", **facts):
    facts = {"passed": 1, "failed": 0, "skipped": {}, "seconds": 9, "load": 0.1, "failures": (), **facts}
    return Result(part, commit, "2026-11-30", **facts)


@pytest.mark.usefixtures("ledger")
def test_a_shard_is_the_part_with_the_files_of_a_folder_that_can_have_tests_of_it():
    """Half of the units had no test, and a unit of two tests took 20 s to report the coverage of all packages."""
    assert {
        "large:tests/a": (("python", "-m", "pytest", "-n0", "tests/test_nightly.py"),),
        "large:tests/b": (("python", "-m", "pytest", "tests/b/1", "tests/b/2"),),
        "small": (("program",),),
    } == {name: unit.commands for name, unit in nightly.units().items()}


def test_what_never_ran_is_due_first_and_then_what_has_changed_most(ledger):
    rows = [asdict(row("large:tests/a", seconds=40)), asdict(row("small"))]
    assert [("large:tests/b", 300), ("large:tests/a", 40), ("small", 9)] == nightly.due(rows)
    ledger["assignor"] = 0
    assert ["large:tests/b", "large:tests/a"] == [name for name, _ in nightly.due(rows)]
    assert ["large:tests/a"] == [name for name, _ in nightly.due([asdict(row("large")), asdict(row("small"))])]


@pytest.mark.parametrize(("commit", "first"), [("HEAD", "small"), ("0" * 40, "large:tests/a")])
@pytest.mark.usefixtures("ledger")
def test_a_row_of_a_commit_that_is_not_in_the_history_is_as_none(monkeypatch, commit, first):
    """It had no commits since, so that it was never due again."""
    monkeypatch.setattr(nightly, "_commits_since", OF_GIT)
    rows = [asdict(row(name, commit=commit)) for name in ("large:tests/a", "large:tests/b")]
    assert first == nightly.due(rows)[0][0]


@pytest.mark.usefixtures("ledger")
def test_what_is_due_runs_as_long_as_it_fits(monkeypatch, tmp_path):
    out = tmp_path / "rows.json"
    out.write_text(json.dumps([asdict(row("large:tests/a", seconds=4_000)), asdict(row("small"))]))
    monkeypatch.setattr(nightly, "run", lambda name, _: row(name, passed=7))

    assert 0 == nightly.main(["--due", "10", "--out", str(out)])
    assert {"large:tests/a": 1, "large:tests/b": 7, "small": 7} == {
        each["part"]: each["passed"] for each in json.loads(out.read_text())
    }


@pytest.mark.usefixtures("ledger")
def test_a_whole_part_takes_the_place_of_its_shards(tmp_path):
    out = tmp_path / "rows.json"
    out.write_text(json.dumps([asdict(row("large:tests/a")), asdict(row("small")), asdict(row("large:tests/gone"))]))

    assert ["large:tests/a", "large:tests/b", "small"] == parts_of(out, row("large:tests/b"))
    assert ["large", "small"] == parts_of(out, row("large"))


def parts_of(out, *results):
    return [each["part"] for each in nightly.merged(out, results)]


@pytest.mark.usefixtures("ledger")
def test_a_shard_without_a_test_of_the_part_has_not_failed(monkeypatch):
    monkeypatch.setattr(nightly, "_status", lambda *_: 5)
    found = nightly.run("large:tests/b", {})

    assert (0, 0) == (found.passed, found.failed)


@pytest.mark.parametrize(("changed", "expected"), [("tests/nightly.json", ""), ("README.md", ", changed")])
def test_a_row_that_was_written_before_does_not_change_the_commit(monkeypatch, tmp_path, changed, expected):
    """From the second row on each said "changed"."""
    monkeypatch.setattr(nightly, "ROOT", tmp_path)
    nightly._git("init")
    (tmp_path / changed).parent.mkdir(exist_ok=True)
    (tmp_path / changed).write_text("")
    monkeypatch.setattr(nightly, "PARTS", {"part": Part("", (("program",),))})
    monkeypatch.setattr(nightly, "_status", lambda *_: 0)

    assert expected == nightly.run("part", {}).commit


@pytest.mark.unmeasured
def test_a_unit_depends_on_its_tests_and_on_what_they_import():
    assert {"tests/upgrade/roll", "upgrade/roll"} <= set(nightly.depends_on("examples:tests/upgrade/roll"))
    assert "subscription_codec" in nightly.depends_on("examples:tests/subscription_codec"), "it had a stroke at the end"
    assert "assignor/protocol" in nightly.depends_on("by hand:tests/lab/bench/bench_leader.py"), "by leader_groups.py"
    assert "assignor" in nightly.depends_on("chaos")
    assert [] == [
        path
        for shard in nightly.shards()
        for path in nightly.depends_on(f"examples:{shard}")
        if not (nightly.ROOT / path).exists()
    ]


def test_every_file_of_tests_is_in_one_shard():
    files = [path for each in nightly.shards().values() for path in each]
    assert len(files) == len(set(files)) == len(list((nightly.ROOT / "tests").rglob("test_*.py")))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, part in nightly.PARTS.items() if part.shards_with])
def test_no_test_of_a_part_is_in_a_file_that_its_shards_leave_out(name):
    part = nightly.PARTS[name]
    files = [file for each in nightly.shards().values() for file in each if not nightly.may_have_tests(part, file)]
    command = nightly._of_files((*part.commands[0], "--collect-only", "-qq", "-n0"), files)
    found = subprocess.run(command, cwd=nightly.ROOT, capture_output=True, text=True, check=False)

    assert nightly._NO_TEST == found.returncode, found.stdout
