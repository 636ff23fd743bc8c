"""Audits and comparisons that end early: the same command goes on, and ends with the bytes of an undisturbed run."""

import json
import os
import shutil
from pathlib import Path
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest
from attrs import evolve
from click.testing import CliRunner

from streams_assignor.cli.conform import _document, _given, judge
from streams_assignor.cli.main import cli
from streams_assignor.spark_sim.audit import _work
from streams_assignor.spark_sim.audit.captures import RESULTS as COMPARISON
from streams_assignor.spark_sim.audit.captures import run_comparison
from streams_assignor.spark_sim.audit.destination import open_destination
from streams_assignor.spark_sim.audit.finished_units import KEPT, UNITS, FinishedUnits, InFolder
from streams_assignor.spark_sim.audit.job import RESULTS, run_audit
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter, AuditUnit
from streams_assignor.spark_sim.audit.schema import TABLES
from streams_assignor.spark_sim.audit.sources import SourceError, segments_source
from streams_assignor.spark_sim.jobs.engine import IN_THIS_PROCESS, EngineError
from streams_assignor.spark_sim.sweep.spark.executor import on_session
from streams_assignor.spark_sim.sweep.tables.parquet import TablesError, write_parquet
from streams_assignor.spark_sim.sweep.tables.publishing import ResultFolderError
from tests.assignor.groups.history.histories import HOUR, alone, commit, generation
from tests.assignor.groups.history.segments import batch
from tests.matrix import with_matrix
from tests.spark_sim.audit.captured_records import CAPTURES, capture_of, write_segment

PARTITIONS = 5
CUT = 4
"""The partition that is cut into buckets."""
BUCKETS = 3
EVERYTHING = AuditFilter(finds_bounces=True)
ROOT = Path(__file__).parents[2]


class Killed(Exception):
    """The early end of a command."""


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Partitions of which one is cut into buckets, and one has a rolling bounce."""
    folder = tmp_path / "segments"
    for number in range(PARTITIONS):
        for segment in range(3 if number == CUT else 2):
            write(folder, number, segment)
    write_segment(folder, PARTITIONS, bounced=capture_of(CAPTURES[0]))
    monkeypatch.setattr(_work, "buckets_of", lambda _seconds, _all, pieces: BUCKETS if pieces == 3 else 1)
    return folder


def write(folder, number, segment, groups=4):
    where = folder / f"__consumer_offsets-{number}"
    where.mkdir(parents=True, exist_ok=True)
    names = [f"g{number}-{each}" for each in range(groups)]
    pairs = [generation(segment + 1, alone(), at=segment * HOUR, group=name) for name in names]
    pairs += [commit(segment, at=segment * HOUR + 5, group=name) for name in names]
    (where / f"{segment * 8:020}.log").write_bytes(batch(pairs, segment * 8))


def content(out, results=RESULTS):
    """The bytes of all results."""
    files = (path.relative_to(out) for path in out.rglob("*") if path.is_file())
    return {str(path): (out / path).read_bytes() for path in files if path.parts[0] in results.names}


def audit(source, out, kept=EVERYTHING, *, fresh=False, **how):
    """The output of an audit."""
    printed = []
    with open_destination(out, RESULTS, fresh=fresh) as destination:
        run_audit(segments_source(source), destination, kept, log=printed.append, **how)
    return printed


@pytest.fixture
def commits(monkeypatch):
    """How often a unit was committed; ``ends`` is after how many the command ends."""
    commit, count = FinishedUnits.commit, Commits()

    def counted(units, made):
        commit(units, made)
        count.done += 1
        if count.done == count.ends:
            raise Killed

    monkeypatch.setattr(FinishedUnits, "commit", counted)
    return count


class Commits:
    done, ends = 0, None

    def end_after(self, number):
        self.done, self.ends = 0, number


UNITS_OF_AUDIT = PARTITIONS - 1 + BUCKETS + 1


@pytest.mark.parametrize(
    "ends", with_matrix([1, 4, UNITS_OF_AUDIT, UNITS_OF_AUDIT + 1], [4], "the first units, the last one, and after it")
)
def test_an_audit_that_ended_early_goes_on_with_what_was_finished(source, tmp_path, commits, ends):
    audit(source, tmp_path / "undisturbed")
    whole = commits.done
    commits.end_after(ends)
    with pytest.raises(Killed):
        audit(source, tmp_path / "out")
    finished = len(FinishedUnits(tmp_path / "out", InFolder(tmp_path / "out"))._units)
    commits.end_after(None)
    printed = audit(source, tmp_path / "out")

    assert content(tmp_path / "undisturbed") == content(tmp_path / "out")
    assert whole - finished == commits.done, "nothing is computed again"
    assert [
        f"resuming {tmp_path / 'out'}: {min(finished, UNITS_OF_AUDIT)} of {UNITS_OF_AUDIT} units are finished"
    ] == printed
    assert [] == [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


@pytest.mark.slow
def test_an_audit_whose_workers_do_not_see_its_folder_goes_on_too(source, tmp_path, commits, monkeypatch):
    """As on a cluster: the command commits what they return."""
    audit(source, tmp_path / "undisturbed")
    monkeypatch.setattr(type(IN_THIS_PROCESS), "shares_files", False)
    commits.end_after(5)
    with pytest.raises(Killed):
        audit(source, tmp_path / "out")
    commits.end_after(None)
    audit(source, tmp_path / "out")

    assert content(tmp_path / "undisturbed") == content(tmp_path / "out")


@pytest.mark.slow
def test_an_audit_into_a_uri_goes_on_with_what_was_finished(source, tmp_path, commits):
    out, uri = tmp_path / "out", (tmp_path / "out").as_uri()
    audit(source, tmp_path / "undisturbed")
    whole = commits.done
    commits.end_after(5)
    with pytest.raises(Killed):
        audit(source, uri)
    finished = len(FinishedUnits(out, InFolder(out))._units)
    commits.end_after(None)
    printed = audit(source, uri)

    assert 5 <= finished
    assert whole - finished == commits.done
    assert [f"resuming {uri}: {finished} of {UNITS_OF_AUDIT} units are finished"] == printed
    assert content(tmp_path / "undisturbed") == content(out)

    commits.end_after(None)
    touch(source)
    audit(source, uri)
    assert 1 == commits.done, "the other tables are taken from the URI"
    assert "has these results already" in audit(source, uri)[-1]


def test_a_finished_audit_is_not_computed_again_and_says_so(source, tmp_path, commits):
    audit(source, tmp_path / "out")
    before, done = content(tmp_path / "out"), commits.done
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    printed = audit(source, tmp_path / "out")

    assert done == commits.done
    assert "has these results already, of the same inputs and options: they stay; --fresh begins anew" in printed[-1]
    assert before == content(tmp_path / "out")
    assert times == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    assert [] == [path for path in (tmp_path / "out" / UNITS.name).iterdir() if path.name != Path(KEPT).name]

    audit(source, tmp_path / "out", fresh=True)
    assert 2 * done == commits.done
    assert before == content(tmp_path / "out")


def touch(source):
    file = next((source / "__consumer_offsets-1").iterdir())
    os.utime(file, ns=(1, file.stat().st_mtime_ns + 1))


def grow(source):
    write(source, 1, 1, groups=5)


@pytest.mark.parametrize("change", [touch, pytest.param(grow, marks=pytest.mark.slow)])
def test_a_partition_that_has_changed_is_computed_again_and_the_others_are_not(source, tmp_path, commits, change):
    """Also if the audit had ended: the tables of the other partitions are taken over."""
    audit(source, tmp_path / "out")
    change(source)
    commits.end_after(None)
    printed = audit(source, tmp_path / "out")

    assert 1 == commits.done
    assert f"{UNITS_OF_AUDIT - 1} of {UNITS_OF_AUDIT} units are finished" in printed[0]
    audit(source, tmp_path / "undisturbed")
    assert content(tmp_path / "undisturbed") == content(tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("kept", [evolve(EVERYTHING, reads_commits=False), evolve(EVERYTHING, groups=("g1-*",))])
def test_other_options_take_nothing_over(source, tmp_path, commits, kept):
    audit(source, tmp_path / "undisturbed", kept)
    commits.end_after(5)
    with pytest.raises(Killed):
        audit(source, tmp_path / "out")
    commits.end_after(None)

    assert [] == audit(source, tmp_path / "out", kept)
    assert content(tmp_path / "undisturbed") == content(tmp_path / "out")


@pytest.mark.slow
def test_a_table_that_is_gone_is_computed_again(source, tmp_path, commits):
    audit(source, tmp_path / "out")
    before = content(tmp_path / "out")
    (tmp_path / "out" / "commits" / "partition-2.parquet").unlink()
    commits.end_after(None)
    audit(source, tmp_path / "out")

    assert 1 == commits.done
    assert before == content(tmp_path / "out")


@pytest.mark.slow
def test_a_partition_that_had_to_be_read_as_a_whole_is_so_when_it_goes_on(source, tmp_path, commits, monkeypatch):
    monkeypatch.setattr(_work, "is_exact", lambda _summaries: False)
    audit(source, tmp_path / "undisturbed")
    for ends in (BUCKETS, BUCKETS + 2):
        commits.end_after(ends)
        with pytest.raises(Killed):
            audit(source, tmp_path / str(ends))
        commits.end_after(None)
        audit(source, tmp_path / str(ends))

        assert content(tmp_path / "undisturbed") == content(tmp_path / str(ends))


def test_a_worker_that_fails_loses_nothing_that_is_finished(source, tmp_path, monkeypatch):
    make = AuditUnit.__call__
    with monkeypatch.context() as patch:
        patch.setattr(
            AuditUnit, "__call__", lambda self, part, folder: 1 / 0 if part.partition == 0 else make(self, part, folder)
        )
        with pytest.raises(EngineError, match="division by zero"):
            audit(source, tmp_path / "out")

    assert f"of {UNITS_OF_AUDIT} units are finished" in audit(source, tmp_path / "out")[0]


@pytest.mark.slow
def test_a_group_that_is_not_there_leaves_nothing_behind(source, tmp_path):
    with pytest.raises(SourceError, match="got none for nobody"):
        audit(source, tmp_path / "out", AuditFilter(groups=("nobody",)))
    assert not (tmp_path / "out").exists()

    audit(source, tmp_path / "out")
    before = content(tmp_path / "out")
    with pytest.raises(SourceError):
        audit(source, tmp_path / "out", AuditFilter(groups=("nobody",)))
    assert before == content(tmp_path / "out")


def test_what_the_progress_counts_never_goes_back_and_ends_with_all(source, tmp_path):
    """A partition that is cut showed nothing until its end."""
    seen = []
    audit(
        source, tmp_path / "out", on_progress=lambda progress: seen.append((progress.committed_units, progress.units))
    )
    done = [done for done, _ in seen]

    assert sorted(done) == done
    assert seen[-1][0] == seen[-1][1]
    assert PARTITIONS + 3 + BUCKETS < seen[-1][1], "each segment and each bucket counts"
    assert 2 <= sum(number <= 3 + BUCKETS for number in done)


# -- what is in the folder -------------------------------------------------------------------------------------------


def row(**values):
    return {"unit_key": "a", "path": "generations/a.parquet", "size": 1, "piece": 0, "content": b"x"} | values


@pytest.mark.parametrize("path", ["../a", "/a", "generations/../../a"])
def test_a_path_outside_of_the_folder_is_damage(tmp_path, path):
    write_parquet(tmp_path / KEPT, UNITS, [[row(path=path)]])

    with pytest.raises(TablesError, match="is damaged: expected a path in the folder"):
        FinishedUnits(tmp_path, InFolder(tmp_path))


def test_a_result_that_is_no_json_is_damage_with_a_way_on(tmp_path):
    write_parquet(tmp_path / KEPT, UNITS, [[row(path="result.json", content=b"{")]])
    with (
        pytest.raises(ResultFolderError, match=r"is damaged at a: expected JSON .*; --fresh begins anew"),
        open_destination(tmp_path, RESULTS) as destination,
    ):
        destination.units.results(["a"])


def test_a_file_in_pieces_is_whole_again(tmp_path, monkeypatch):
    monkeypatch.setattr("streams_assignor.spark_sim.audit.finished_units.PIECE_BYTES", 3)
    units = FinishedUnits(tmp_path, InFolder(tmp_path))
    files = {"empty": b"", "two": b"123456", "three/x": b"1234567"}

    def make(given, folder):
        for path, text in given.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_bytes(text)

    units.finish(IN_THIS_PROCESS, make, {"a": files}, len, tmp_path)
    units.extract(["a"], tmp_path / "out", lambda _path: True)

    assert files == {path: (tmp_path / "out" / path).read_bytes() for path in files}


# -- conform ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def captures(tmp_path):
    """Two captures that agree, one that differs, and a file that is none."""
    folder = tmp_path / "captures"
    folder.mkdir()
    names = ("2.0.1-to-2.3.1.json", "1.1.1-to-2.0.1-two-bounces.json")
    for name in names:
        shutil.copy(ROOT / "captures" / name, folder)
    (folder / "wrong.json").write_text((folder / names[0]).read_text().replace('"2.3.1', '"2.3.0'))
    (folder / "none.json").write_text("{}")
    return sorted(folder.iterdir())


def conform(*arguments):
    return CliRunner().invoke(cli, ["conform", *map(str, arguments)])


def test_conform_writes_tables_and_json(captures, tmp_path):
    plain = conform("--json", *captures)
    done = conform("--json", *captures, "--out", tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "conform.json").read_text())
    rows = pq.read_table(tmp_path / "out" / "captures").to_pylist()
    differences = pq.read_table(tmp_path / "out" / "differences").to_pylist()

    assert (2, plain.stdout) == (done.exit_code, done.stdout)
    assert [*map(json.loads, plain.stdout.splitlines())] == summary["captures"]
    assert ("streams-assignor/conform", 1) == (summary["schema"], summary["version"])
    assert ["agrees", "agrees", "unreadable", "differs"] == [row["verdict"] for row in rows]
    assert "expected a list at generations, got nothing" in rows[2]["error"]
    assert {3} == {row["position"] for row in differences}
    found = summary["captures"][3]["step_by_step"]["differences"][0]
    assert (found["generation"], found["captured"], found["ours"], found["what"]) == (
        6,
        "3",
        "4",
        differences[0]["fact"],
    )


def test_conform_goes_on_with_what_was_finished(captures, tmp_path, commits):
    conform(*captures, "--out", tmp_path / "undisturbed")
    commits.end_after(1)
    ended = conform(*captures, "--out", tmp_path / "out")
    commits.end_after(None)
    done = conform(*captures, "--out", tmp_path / "out")

    assert isinstance(ended.exception, Killed)
    assert "resuming" in done.stderr
    assert content(tmp_path / "undisturbed", COMPARISON) == content(tmp_path / "out", COMPARISON)

    commits.end_after(None)
    again = conform(*captures, "--out", tmp_path / "out")
    assert 0 == commits.done
    assert "has these results already" in again.stderr
    assert done.stdout == again.stdout

    captures[0].write_text(captures[1].read_text())
    conform(*captures, "--out", tmp_path / "out")
    assert "1.1.1" not in str(pq.read_table(tmp_path / "out" / "captures").to_pylist()[0]["inferred_steps"])
    assert content(tmp_path / "undisturbed", COMPARISON) != content(tmp_path / "out", COMPARISON)


def test_ctrl_c_says_where_what_is_finished_is(captures, tmp_path, monkeypatch):
    monkeypatch.setattr(FinishedUnits, "commit", Mock(side_effect=KeyboardInterrupt))
    done = conform(*captures, "--out", tmp_path / "out")

    assert 130 == done.exit_code
    assert f"interrupted; what is finished is in {tmp_path / 'out'}; the same command resumes there" in done.stderr


@pytest.mark.slow
def test_a_comparison_refuses_a_folder_with_an_audit(captures, source, tmp_path):
    audit(source, tmp_path / "out")
    done = conform(*captures, "--out", tmp_path / "out")

    assert 2 == done.exit_code
    assert "expected an empty folder or an earlier comparison, but" in done.stderr


def test_fresh_of_conform_needs_a_folder(captures):
    done = conform(*captures, "--fresh")

    assert (2, True) == (done.exit_code, "--fresh belongs to --out" in done.stderr)


# -- formats ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("audit", "--segments", "SOURCE"), ("conform", "CAPTURE")])
def test_processes_refuse_another_format(captures, source, tmp_path, command):
    files = {"SOURCE": str(source), "CAPTURE": str(captures[0])}
    arguments = [files.get(part, part) for part in command]
    how = ["--master", "processes", "--format", "orc", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, [*arguments, *how])

    assert 2 == done.exit_code
    expected = "--master processes writes Parquet into a folder of this machine, got --format orc"
    assert expected in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_format_of_conform_needs_a_folder(captures):
    done = conform(captures[0], "--format", "orc")

    assert (2, True) == (done.exit_code, "--format belongs to --out" in done.stderr)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("storage_format", ["orc", "json"])
def test_spark_writes_another_format_with_the_same_rows(spark, captures, source, tmp_path, storage_format):
    """Also a second time, when nothing is computed, and after an audit that ended early."""
    audit(source, tmp_path / "parquet")
    with on_session(spark) as engine:
        for given in (captures[:2], captures, captures):
            with open_destination(tmp_path / "conform", COMPARISON, storage_format=storage_format) as destination:
                run_comparison([*map(_given_capture, given)], judge, _document, engine, destination)
        printed = []
        for kept in (evolve(EVERYTHING, reads_commits=False), EVERYTHING, EVERYTHING):
            with open_destination(tmp_path / "out", RESULTS, storage_format=storage_format) as destination:
                run_audit(segments_source(source), destination, kept, engine=engine, log=printed.append)
    compared = spark.read.format(storage_format).load(str(tmp_path / "conform" / "captures")).collect()

    assert 1 == len(printed), "only the third time"
    assert "has these results already" in printed[0]
    for name in TABLES:
        expected = pq.read_table(tmp_path / "parquet" / name).to_pylist()
        found = spark.read.schema(TABLES[name].ddl()).format(storage_format).load(str(tmp_path / "out" / name))
        assert sorted(map(repr, expected)) == sorted(repr(row.asDict(recursive=True)) for row in found.collect())
    assert ["agrees", "agrees", "differs", "unreadable"] == sorted(row["verdict"] for row in compared)
    for name in ("audit.json", "report.html"):
        assert (tmp_path / "parquet" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def _given_capture(path):
    return _given(path, None)


@pytest.mark.spark
@pytest.mark.slow
def test_a_format_that_spark_does_not_know_is_refused_before_anything_is_read(spark, source, tmp_path):
    with (
        on_session(spark) as engine,
        open_destination(tmp_path / "out", RESULTS, storage_format="nosuch") as destination,
        pytest.raises(ResultFolderError, match="nosuch"),
    ):
        run_audit(segments_source(source), destination, EVERYTHING, engine=engine)
    assert not (tmp_path / "out").exists()
