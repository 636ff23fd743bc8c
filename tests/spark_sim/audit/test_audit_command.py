"""``streams-assignor audit``: sources, filters, results, messages and exit statuses."""

import gzip
import html
import io
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from streams_assignor.cli.audit import command as audit_command
from streams_assignor.cli.main import cli
from streams_assignor.groups.history.log_segment import SegmentReader
from streams_assignor.groups.history.tables import AUDIT_TABLES
from streams_assignor.spark_sim.audit import partition_audit
from streams_assignor.spark_sim.audit.group_summaries import GroupSummaries, group_table
from streams_assignor.spark_sim.audit.job import run_audit
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter
from streams_assignor.spark_sim.audit.sources import SourceError, _dump, dump_source, segments_source
from streams_assignor.spark_sim.audit.sources._dump import read_dump
from streams_assignor.spark_sim.jobs.engine import EngineError, open_processes
from tests.assignor.groups.history.histories import HOUR, NOW, alone, commit, generation, member
from tests.assignor.groups.history.segments import GZIP, Pair, batch, message_set
from tests.assignor.groups.history.test_history import hostile

REAL = Path(__file__).parent / "segments"
ROOT = Path(__file__).parents[3]


def run(*arguments):
    return CliRunner().invoke(cli, ["audit", "--processes", "1", *map(str, arguments)])


def rows(out, table):
    return pq.read_table(out / table).to_pylist()


def segment(folder, partition, *pairs, base=0, name=None):
    where = folder / f"__consumer_offsets-{partition}"
    where.mkdir(parents=True, exist_ok=True)
    (where / f"{name or base:020}.log").write_bytes(batch(pairs, base))
    return folder


@pytest.fixture
def made_up(tmp_path):
    """Two groups in two partitions; ``bad`` has a problem, and ``good`` one rebalance."""
    folder = tmp_path / "copied"
    segment(folder, 0, generation(1, alone(), group="good"), commit(0, group="good"))
    bad = [generation(1, alone(error=2), group="bad"), generation(2, alone(), at=2 * HOUR, group="bad")]
    return segment(folder, 3, *bad)


def test_the_results_are_tables_a_summary_and_a_page(made_up, tmp_path):
    out = tmp_path / "new" / "out"
    result = run("--segments", made_up, "--out", out)
    summary = json.loads((out / "audit.json").read_text())

    assert result.exit_code == 0, result.output
    assert [group["group"] for group in summary["groups"]] == ["bad", "good"]
    assert summary["groups"][0].keys() >= {"group", "type", "generations", "members", "last_state", "findings"}
    assert summary["records"] == {
        "GroupMetadata": 3,
        "OffsetCommit": 1,
        "batches": 2,
        "bytes": summary["records"]["bytes"],
    }
    assert {table: len(rows(out, table)) for table in AUDIT_TABLES} == summary["rows"]
    assert {path.name for path in out.iterdir()} == {*AUDIT_TABLES, "units", "audit.json", "report.html"}
    assert "2 groups, 3 rebalances, 2023-11-14 22:13:20 to 2023-11-15 00:13:20 UTC" in result.output


def test_the_columns_are_those_of_the_tables(made_up, tmp_path):
    run("--segments", made_up, "--out", tmp_path / "out")

    for name, table in AUDIT_TABLES.items():
        expected = [column.rstrip("?") for column, _, _ in table.columns]
        assert pq.read_table(tmp_path / "out" / name).column_names == expected


@pytest.mark.slow
def test_real_segments_are_read_in_several_processes(tmp_path):
    result = CliRunner().invoke(
        cli, ["audit", "--segments", str(REAL), "--out", str(tmp_path / "out"), "--processes", "2", "--json"]
    )
    found = json.loads(result.stdout)

    assert result.exit_code == 0, result.output
    assert (found["records"]["GroupMetadata"], found["records"]["OffsetCommit"]) == (32, 112)
    assert sum(group["generations"] for group in found["groups"]) == 32


def test_one_folder_of_a_partition_is_a_source_too(tmp_path):
    result = run("--segments", REAL / "__consumer_offsets-0", "--out", tmp_path / "out", "--json")

    assert [group["group"] for group in json.loads(result.stdout)["groups"]] == ["group-e068f028"]


def test_check_ends_with_status_one_if_a_group_has_a_problem(made_up, tmp_path):
    assert run("--segments", made_up, "--out", tmp_path / "a", "--check").exit_code == 1
    assert run("--segments", made_up, "--out", tmp_path / "b", "--check", "--group", "good").exit_code == 0


def test_groups_are_chosen_by_name_or_pattern(made_up, tmp_path):
    run("--segments", made_up, "--group", "g*", "--out", tmp_path / "out")

    assert {row["group"] for row in rows(tmp_path / "out", "generations")} == {"good"}


@pytest.mark.parametrize(
    ("flags", "output"),
    [
        (("goood",), "expected groups with the names that are asked for, got none for goood; did you mean good?"),
        (("g*", "ba[d]"), "got none for ba[d]; did you mean bad?"),
        (("x*",), "got none for x*; did you mean bad or good?"),
    ],
)
def test_a_name_that_no_group_has_is_an_error_with_the_nearest(made_up, tmp_path, flags, output):
    """It wrote empty tables, and ended with status 0. Earlier results stay."""
    assert run("--segments", made_up, "--out", tmp_path / "out").exit_code == 0
    before = (tmp_path / "out" / "audit.json").read_text()
    chosen = [each for name in flags for each in ("--group", name)]

    done = run("--segments", made_up, "--out", tmp_path / "out", *chosen)

    assert 2 == done.exit_code
    assert output in done.stderr
    assert before == (tmp_path / "out" / "audit.json").read_text()


def test_the_summary_and_the_check_count_the_rows_that_are_kept(made_up, tmp_path):
    """``bad`` has two rebalances and a problem that ends with the second one; it did not rebalance before noon."""
    result = run("--segments", made_up, "--until", "2023-11-14T12:00", "--out", tmp_path / "out", "--check")
    groups = json.loads((tmp_path / "out" / "audit.json").read_text())["groups"]

    assert result.exit_code == 0, result.output
    assert {each["group"]: each["generations"] for each in groups} == {"bad": 0, "good": 0}
    assert [each["findings"] for each in groups] == [[], []]


def test_rows_that_overlap_the_interval_are_kept(made_up, tmp_path):
    """The first generation of ``bad`` ends when the second one begins, and that of ``good`` does not end."""
    run("--segments", made_up, "--since", NOW + 2 * HOUR + 1, "--out", tmp_path / "late")
    run("--segments", made_up, "--until", "2023-11-14T23:00", "--out", tmp_path / "early")

    assert [(row["group"], row["generation"]) for row in rows(tmp_path / "late", "generations")] == [
        ("good", 1),
        ("bad", 2),
    ]
    assert {row["generation"] for row in rows(tmp_path / "early", "generations")} == {1}


def test_a_time_may_have_an_offset(made_up, tmp_path):
    run("--segments", made_up, "--until", "2023-11-15T01:00+02:00", "--out", tmp_path / "out")

    assert {row["generation"] for row in rows(tmp_path / "out", "generations")} == {1}


def test_without_commits_there_are_no_rows_of_commits(made_up, tmp_path):
    run("--segments", made_up, "--no-commits", "--out", tmp_path / "out")

    assert rows(tmp_path / "out", "commits") == []
    assert json.loads((tmp_path / "out" / "audit.json").read_text())["records"]["OffsetCommit"] == 1


def test_results_of_an_earlier_audit_are_replaced(made_up, tmp_path):
    run("--segments", made_up, "--out", tmp_path / "out")
    run("--segments", REAL, "--out", tmp_path / "out")

    assert all(row["group"].startswith("group-") for row in rows(tmp_path / "out", "generations"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give one source: --segments DIR, --dump FILE, --records DIR or --bootstrap-servers HOST:PORT,..."),
        (("--segments", REAL, "--bootstrap-servers", "a:1"), "give one source"),
        (("--segments", REAL, "--follow"), "--follow reads brokers"),
        (("--records", REAL), "expected Parquet files with records, as of audit --follow, found none in"),
        (("--segments", REAL, "--dump", "x"), "give one source"),
        (("--segments", "/nowhere"), "got /nowhere, which is no folder"),
        (("--segments", REAL.parent), "expected __consumer_offsets-N folders with .log files, found none in"),
        (("--dump", "/nowhere.gz"), "/nowhere.gz cannot be read: No such file or directory"),
        (("--segments", REAL, "--since", "2026-01-02", "--until", "2026-01-01"), "--since is later than --until"),
        (("--segments", REAL, "--since", "yesterday"), "expected a time such as 2026-11-22T14:30"),
    ],
)
def test_a_mistake_is_one_line_and_status_two(tmp_path, arguments, message):
    result = run(*arguments, "--out", tmp_path / "out")

    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    result = run("--segments", REAL, "--out", tmp_path)

    assert (result.exit_code, "has other files" in result.output) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_no_folder_for_results(tmp_path):
    (tmp_path / "out").write_text("x")

    assert (
        "expected a folder for the results, got the file" in run("--segments", REAL, "--out", tmp_path / "out").output
    )


def test_damage_is_a_warning(tmp_path):
    where = segment(tmp_path / "copied", 0, generation(1, alone()))
    for number in range(1, 9):
        (where / "__consumer_offsets-0" / f"{number:020}.log").write_bytes(batch([commit(0)], number)[:-3])
    result = run("--segments", where, "--out", tmp_path / "out")

    assert result.exit_code == 1
    assert result.stderr.count("are not a whole batch") == 5
    assert "warning: 3 more, see audit.json" in result.stderr
    assert "warning: the audit is not complete" in result.stderr
    assert not json.loads((tmp_path / "out" / "audit.json").read_text())["complete"]
    assert "A part of the source is damaged or missing" in (tmp_path / "out" / "report.html").read_text()


def test_a_copy_may_end_within_a_batch(tmp_path):
    """As one of a broker that writes; the audit is complete up to there."""
    where = segment(tmp_path / "copied", 0, generation(1, alone()), commit(0))
    segment(where, 0, commit(0), base=2)
    last = where / "__consumer_offsets-0" / f"{2:020}.log"
    last.write_bytes(last.read_bytes()[:-3])
    result = run("--segments", where, "--out", tmp_path / "out")

    assert result.exit_code == 0, result.output
    assert "are not a whole batch; the segment ends there" in result.stderr


@pytest.mark.parametrize(
    "pair", [Pair(b"\0\x63", b""), Pair(b"\0\1\0", b""), Pair(generation(1, alone()).key, b"\0\x09")]
)
def test_a_record_that_is_not_understood_makes_an_audit_incomplete(tmp_path, pair):
    """Of a type or a version that no known release writes, or damaged."""
    where = segment(tmp_path / "copied", 4, generation(1, alone()), pair)
    result = run("--segments", where, "--out", tmp_path / "out")

    assert result.exit_code == 1
    assert "warning: partition 4: " in result.stderr


def test_empty_segments_are_an_error(tmp_path):
    """No record is no proof that there is no group."""
    where = tmp_path / "copied" / "__consumer_offsets-0"
    where.mkdir(parents=True)
    (where / "0.log").write_bytes(bytes(5000))
    result = run("--segments", where.parent, "--out", tmp_path / "out")

    assert result.exit_code == 2
    assert f"expected records at {where.parent}, got none" in result.output
    assert not (tmp_path / "out").exists()


def test_a_source_without_a_record_says_what_is_damaged(tmp_path):
    where = tmp_path / "copied" / "__consumer_offsets-0"
    where.mkdir(parents=True)
    (where / "0.log").write_bytes(b"x" * 5000)

    assert "got none; " in run("--segments", where.parent, "--out", tmp_path / "out").output


def unpacked(where):
    (where / "__consumer_offsets-3" / f"{9:020}.log.gz").touch()


def swapped(where):
    (where / "__consumer_offsets-3" / f"{9:020}.log.swap").touch()


def emptied(where):
    (where / "__consumer_offsets-7").mkdir()


def without_segments(where):
    emptied(where)
    (where / "__consumer_offsets-7" / f"{0:020}.index").touch()


def dangling(where):
    (where / "__consumer_offsets-7").symlink_to("nowhere")


def piped(where):
    os.mkfifo(where / "__consumer_offsets-3" / f"{9:020}.log")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (unpacked, "expected segments with names *.log, got"),
        (swapped, "expected segments with names *.log, got"),
        (emptied, "expected .log files, found none in"),
        (without_segments, "expected .log files, found none in"),
        (dangling, "__consumer_offsets-7 cannot be read: No such file or directory"),
        (piped, "expected a regular file, got"),
    ],
)
def test_a_partition_that_cannot_be_read_is_not_left_out(made_up, tmp_path, change, message):
    change(made_up)
    result = run("--segments", made_up, "--out", tmp_path / "out")

    assert (result.exit_code, message in result.output.replace("\n", " ")) == (2, True), result.output


def test_without_numpy_the_results_are_the_same(tmp_path, monkeypatch):
    found = [run("--segments", REAL, "--out", tmp_path / "a", "--json").stdout]
    monkeypatch.setitem(sys.modules, "streams_assignor.spark_sim.audit.sources._scanner", None)
    found.append(run("--segments", REAL, "--out", tmp_path / "b", "--json").stdout)

    assert found[0] == found[1]
    assert all(rows(tmp_path / "a", table) == rows(tmp_path / "b", table) for table in AUDIT_TABLES)


def test_a_partition_without_read_permission_is_not_left_out(made_up, tmp_path, monkeypatch):
    """Glob left it out, and the status was 0. (A test that runs as root has every permission.)"""
    iterdir = Path.iterdir

    def denied(folder):
        if folder.name.endswith("-3"):
            raise PermissionError(13, "Permission denied", str(folder))
        return iterdir(folder)

    monkeypatch.setattr(Path, "iterdir", denied)
    result = run("--segments", made_up, "--out", tmp_path / "out")

    assert (result.exit_code, "__consumer_offsets-3 cannot be read: Permission denied" in result.output) == (2, True)


def test_segments_that_a_broker_is_about_to_delete_are_left_out(made_up, tmp_path):
    for suffix in ("deleted", "cleaned"):
        (made_up / "__consumer_offsets-3" / f"{0:020}.log.{suffix}").write_bytes(b"x")

    assert run("--segments", made_up, "--out", tmp_path / "out").exit_code == 0


def test_records_without_timestamps_have_no_interval(tmp_path):
    where = tmp_path / "copied" / "__consumer_offsets-0"
    where.mkdir(parents=True)
    (where / "0.log").write_bytes(message_set([generation(1, alone())], 0))

    assert "1 groups, 1 rebalances, ? to ? UTC" in run("--segments", where.parent, "--out", tmp_path / "out").output


def test_ten_groups_are_shown(tmp_path):
    pairs = [generation(1, alone(), group=f"g-{number}") for number in range(12)]
    result = run("--segments", segment(tmp_path / "copied", 0, *pairs), "--out", tmp_path / "out")

    assert result.output.count("g-") == 10
    assert "2 more groups are in" in result.output


def test_segments_are_read_in_the_order_of_their_offsets(tmp_path):
    segment(tmp_path, 0, generation(2, alone(), at=1000), base=10)
    segment(tmp_path, 0, generation(1, alone()), base=9)
    run("--segments", tmp_path, "--out", tmp_path / "out")

    assert [row["generation"] for row in rows(tmp_path / "out", "generations")] == [1, 2]


def test_those_that_need_attention_come_first():
    def group(name, *severities, generations=0):
        findings = [{"severity": each} for each in severities]
        return {"group": name, "generations": generations, "causes": {}, "findings": findings}

    groups = [group("c"), group("b"), group("many", generations=9), group("n", "notice"), group("p", "problem")]

    assert [each["group"] for each in GroupSummaries([group_table(groups)])] == ["p", "n", "many", "b", "c"]


def write_dump(file):
    """The real segments as a dump."""
    with gzip.open(file, "wt") if file.suffix == ".gz" else file.open("w") as out:
        for partition in segments_source(REAL).partitions:
            for segment in partition.files:
                for each in SegmentReader().records(io.BytesIO(segment.read_bytes())):
                    line = {"partition": partition.partition, "offset": each.offset, "timestamp": each.timestamp}
                    line |= {"key": each.key.hex(), "value": each.value and each.value.hex()}
                    out.write(json.dumps(line) + "\n")


@pytest.mark.parametrize("name", ["dump.jsonl", "dump.jsonl.gz"])
def test_a_dump_gives_the_same_rows_as_the_segments(tmp_path, name):
    write_dump(tmp_path / name)
    run("--segments", REAL, "--out", tmp_path / "a")
    result = run("--dump", tmp_path / name, "--out", tmp_path / "b")

    assert result.exit_code == 0, result.output
    for table in AUDIT_TABLES:
        one, other = (sorted(map(repr, rows(tmp_path / each, table))) for each in "ab")
        assert one == other


@pytest.mark.parametrize("name", ["dump.jsonl", "dump.jsonl.gz"])
def test_a_dump_may_be_a_pipe(tmp_path, name):
    """It was read twice: a pipe had no line the second time, no group was found, and the status was 0."""
    write_dump(tmp_path / name)
    os.mkfifo(tmp_path / "pipe")
    kept = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)  # so that the writer is there before the audit
    with (tmp_path / "pipe").open("wb") as pipe:
        writer = threading.Thread(target=lambda: [pipe.write((tmp_path / name).read_bytes()), pipe.close()])
        writer.start()
        result = run("--dump", tmp_path / "pipe", "--out", tmp_path / "out", "--json")
        writer.join()
    os.close(kept)
    found = json.loads(result.stdout)

    assert (result.exit_code, len(found["groups"])) == (0, 4)
    assert found["checksums"] == "not verified"


def test_a_pipe_without_a_writer_is_not_waited_for(tmp_path):
    """It was, for ever and without a word."""
    os.mkfifo(tmp_path / "pipe")
    result = run("--dump", tmp_path / "pipe", "--out", tmp_path / "out")

    assert 2 == result.exit_code
    assert "pipe cannot be read: it is a pipe without a writer: start the writer before" in result.stderr


def test_each_line_of_a_dump_is_decoded_once(tmp_path, monkeypatch):
    """It was decoded once for each partition, and once before."""
    lines = [json.dumps({**LINE, "partition": number % 50, "offset": number}) for number in range(200)]
    (tmp_path / "dump").write_text("\n".join(lines))
    decoded = []
    monkeypatch.setattr(_dump, "_dump_record", lambda line: decoded.append(line) or DUMP_RECORD(line))
    audit = run_audit(dump_source(tmp_path / "dump"), tmp_path / "out", AuditFilter())

    assert len(decoded) == audit.records["records"] == 200


def test_checksums_of_a_dump_are_not_verified(tmp_path):
    write_dump(tmp_path / "dump")
    result = run("--dump", tmp_path / "dump", "--out", tmp_path / "out")

    assert "checksums: not verified" in result.output
    assert "Checksums: not verified" in (tmp_path / "out" / "report.html").read_text()


def test_without_crc32c_checksums_are_not_verified_and_the_rows_are_the_same(tmp_path, monkeypatch):
    folder = Path(__file__).parent / "segments" / "__consumer_offsets-0"
    with_library = run("--segments", folder, "--out", tmp_path / "with", "--json")
    monkeypatch.setitem(sys.modules, "crc32c", None)
    result = run("--segments", folder, "--out", tmp_path / "out")
    why = "not verified, crc32c is not installed: pip install 'streams-assignor[tables]'"
    page = (tmp_path / "out" / "report.html").read_text()
    found, expected = json.loads((tmp_path / "out" / "audit.json").read_text()), json.loads(with_library.stdout)

    assert f"checksums: {why}" in result.output
    assert f"Checksums: {why.replace(',', ';')}" in html.unescape(page)
    assert found.pop("checksums") == "not verified"
    assert expected.pop("checksums") == "verified"
    assert (result.exit_code, found) == (0, expected)


def test_a_dump_without_a_record_is_an_error(tmp_path):
    (tmp_path / "dump").touch()
    result = run("--dump", tmp_path / "dump", "--out", tmp_path / "out")

    assert (result.exit_code, f"expected records at {tmp_path / 'dump'}, got none" in result.output) == (2, True)


DUMP_RECORD = _dump._dump_record
LINE = {"partition": 1, "offset": 5, "timestamp": NOW, "key": "00", "value": None}


def test_a_dump_may_have_empty_lines_and_tombstones(tmp_path):
    (tmp_path / "dump").write_text(
        json.dumps(LINE) + "\n\n" + json.dumps({**LINE, "offset": 6, "key": None, "timestamp": 1 << 70})
    )

    assert [(record.key, record.timestamp) for _, record in read_dump(tmp_path / "dump")] == [(b"\0", NOW), (None, -1)]


OTHER_LINES = [
    "[]",
    "{",
    '{"partition": 1}',
    "[" * 100_000,
    *(json.dumps({**LINE, "key": key}) for key in ("xx", 1, [])),
    *(json.dumps({**LINE, "offset": 7777}).replace("7777", each) for each in ("Infinity", "1e400", "9" * 5_000)),
    *(json.dumps({**LINE, "offset": each}) for each in (1 << 63, -1, 1.5, "1", True, None, [])),
    *(json.dumps({**LINE, "partition": each}) for each in (1 << 31, -1, 1.0, "0", None)),
    *(json.dumps({**LINE, "timestamp": each}) for each in (1.5, "0", None)),
]


@pytest.mark.parametrize("line", OTHER_LINES, ids=map(str, range(len(OTHER_LINES))))
def test_another_line_is_no_dump(tmp_path, line):
    (tmp_path / "dump").write_text(json.dumps(LINE) + "\n" + line)

    with pytest.raises(SourceError, match="line 2: expected partition, offset, timestamp, key and value"):
        list(read_dump(tmp_path / "dump"))


def test_a_line_without_an_end_is_not_read_to_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_dump, "_MAX_LINE", 100)
    (tmp_path / "dump").write_bytes(gzip.compress(bytes(1000)))

    with pytest.raises(SourceError, match=r"line 1: expected lines of at most 100 bytes, got a longer one"):
        list(read_dump(tmp_path / "dump"))


def test_lines_of_a_dump_that_are_not_in_order_are_an_error(tmp_path):
    (tmp_path / "dump").write_text((json.dumps(LINE) + "\n") * 2)

    with pytest.raises(SourceError, match=r"line 2: expected the records of partition 1 in .* got offset 5 behind 5"):
        list(read_dump(tmp_path / "dump"))


@pytest.mark.parametrize("content", [b"\xff\xfe\0", gzip.compress(b"{}" * 99, mtime=0)[:-9], b"no gzip"])
def test_a_file_that_is_no_text_is_no_dump(tmp_path, content):
    for name in ("dump", "dump.gz"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(SourceError):
            list(read_dump(tmp_path / name))


def test_what_a_history_makes_of_any_record_can_be_written(tmp_path, monkeypatch):
    """Random records, one in three damaged: Parquet takes every row, a few at a time."""
    monkeypatch.setattr(partition_audit, "ROWS_PER_WRITE", 7)
    random = Random(3)
    for number in range(4):
        pairs = [Pair(*hostile(random), random.choice((0, NOW, NOW + 5))) for _ in range(200)]
        segment(tmp_path / "copied", number, *pairs)
    audit = run_audit(segments_source(tmp_path / "copied"), tmp_path / "out", AuditFilter())

    assert audit.rows["generations"] == len(rows(tmp_path / "out", "generations"))
    assert audit.records["undecodable"] > 0


def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("streams_assignor.spark_sim.audit.partition_audit.audit_partition", lambda *_: 1 / 0)
    with pytest.raises(EngineError, match="a worker failed: division by zero"):
        run_audit(segments_source(REAL), tmp_path / "out", AuditFilter())

    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_failure_in_one_of_several_processes_ends_the_others(tmp_path):
    with pytest.raises(ZeroDivisionError), open_processes(2) as engine:
        run_audit(
            segments_source(REAL), tmp_path / "out", AuditFilter(), engine=engine, on_progress=lambda _progress: 1 / 0
        )

    assert list(tmp_path.iterdir()) == []


def test_idle_members_are_a_reason_for_attention(tmp_path):
    where = segment(tmp_path / "copied", 0, generation(1, alone(), member("B")), commit(0, at=2 * HOUR))

    assert "no task" in run("--segments", where, "--out", tmp_path / "out").output.replace("\n", " ")


def test_ctrl_c_of_follow_interrupts_no_call_of_spark():
    """KeyboardInterrupt while Spark was asked left the connection without an answer: a traceback (Py4JNetworkError)."""
    before = signal.getsignal(signal.SIGINT)
    with audit_command._set_by_interrupt() as stopped:
        signal.raise_signal(signal.SIGINT)

        assert stopped.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


KILLED = """
import os, signal, sys
from pathlib import Path
from streams_assignor.spark_sim.audit.job import run_audit
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter
from streams_assignor.spark_sim.audit.sources import segments_source
from streams_assignor.spark_sim.jobs.engine import open_processes

if __name__ == "__main__":
    source, out = segments_source(sys.argv[1]), Path(sys.argv[2])

    def kill(progress):
        if progress.committed_units:
            os.kill(os.getpid(), signal.SIGKILL)

    with open_processes(2) as engine:
        run_audit(source, out, AuditFilter(), engine=engine, on_progress=kill)
"""


@pytest.mark.slow
def test_its_workers_end_when_it_is_killed(made_up, tmp_path):
    """They waited for their next partition for ever. They hold its output open, so a reader of it notices."""
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, made_up, tmp_path / "out"], cwd=ROOT, stdout=subprocess.PIPE, timeout=120
    )

    assert -signal.SIGKILL == killed.returncode


def test_a_line_without_end_is_no_dump():
    """It filled the memory."""
    with pytest.raises(
        SourceError, match="/dev/zero, line 1: expected lines of at most 67,108,864 bytes, got a longer"
    ):
        list(read_dump(Path("/dev/zero")))


def test_a_segment_that_is_a_pipe_is_refused(made_up):
    """To read it waited for ever."""
    os.mkfifo(made_up / "__consumer_offsets-3" / f"{9:020}.log")

    with pytest.raises(SourceError, match=r"expected a regular file, got .*9\.log"):
        segments_source(made_up)


@pytest.mark.parametrize("time", ["\u00b2\u00b2\u00b2\u00b2\u00b2", "\u0663" * 13, "9" * 5_000, ""])
def test_a_time_in_other_digits_is_one_line(made_up, tmp_path, time):
    result = run("--segments", made_up, "--out", tmp_path / "out", "--since", time)

    assert 2 == result.exit_code
    assert "expected a time such as 2026-11-22T14:30, or milliseconds since 1970, got" in result.output


def test_a_batch_above_the_limit_is_skipped_and_the_option_is_named(made_up, tmp_path):
    file = next(made_up.rglob("*.log"))
    file.write_bytes(batch([commit(each) for each in range(50)], 0, GZIP))
    result = run("--segments", made_up, "--out", tmp_path / "out", "--max-batch-bytes", "1000", "--json")

    assert 1 == json.loads(result.stdout)["records"]["damaged_batches"]
    assert "more than 1000 bytes uncompressed; --max-batch-bytes raises the limit" in result.output
