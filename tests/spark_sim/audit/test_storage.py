"""Segments and results at a URI: a file system of PyArrow, and a storage that speaks S3."""

import json
import os
import shutil
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.groups.history.log_segment import SegmentReader
from streams_assignor.groups.history.tables import AUDIT_TABLES
from streams_assignor.spark_sim.audit import storage as storage_module
from streams_assignor.spark_sim.audit.job import RESULTS
from streams_assignor.spark_sim.audit.records import read_records
from streams_assignor.spark_sim.audit.sources import SourceError, segments_source
from streams_assignor.spark_sim.audit.storage import StorageError, list_files, open_storage, upload
from tests.lab.integration.kafka_jars import Unavailable
from tests.spark_sim.sweep.stores import CREDENTIALS, FailingStore, s3_store

SEGMENTS = Path(__file__).parent / "segments"


def audit(*arguments):
    processes = () if "--master" in arguments else ("--processes", "1")
    return CliRunner().invoke(cli, ["audit", *map(str, arguments), *processes])


@pytest.fixture(scope="module")
def s3():
    """The URI of an empty bucket."""
    try:
        with s3_store("estate") as address, pytest.MonkeyPatch.context() as patch:
            settings = {"AWS_ENDPOINT_URL": address, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
            for name, value in {**CREDENTIALS, **settings}.items():
                patch.setenv(name, value)
            yield "s3a://estate"
    except Unavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture(params=["file", pytest.param("s3", marks=[pytest.mark.java, pytest.mark.slow])])
def storage(request, tmp_path):
    return request.getfixturevalue("s3") if request.param == "s3" else tmp_path.as_uri()


def content(folder):
    """Return the bytes of each file below a folder."""
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def copied(storage):
    from pyarrow.fs import LocalFileSystem, copy_files

    found, path = open_storage(f"{storage}/backup")
    found.create_dir(path)
    copy_files(str(SEGMENTS), path, LocalFileSystem(), found)
    return f"{storage}/backup"


def test_segments_and_results_may_be_at_uris(storage, tmp_path):
    segments, out = copied(storage), f"{storage}/results"
    first = audit("--segments", segments, "--out", out, "--conform")
    local = audit("--segments", SEGMENTS, "--out", tmp_path / "local")
    again = audit("--segments", segments, "--out", out, "--json")

    assert first.exit_code == local.exit_code == again.exit_code == 0, first.output + again.output
    assert f"are in {out}\n" in first.stdout
    assert json.loads(again.stdout)["source"] == segments
    found, path = open_storage(out)
    for name in AUDIT_TABLES:
        uploaded = pq.read_table(f"{path}/{name}", filesystem=found).to_pylist()
        assert sorted(map(repr, uploaded)) == sorted(map(repr, pq.read_table(tmp_path / "local" / name).to_pylist()))
    names = {each.path.removeprefix(f"{path}/").partition("/")[0] for each in list_files(out)}
    assert names == {*AUDIT_TABLES, "units", "audit.json", "report.html"}, "the conformance of the first audit is gone"


def test_records_of_a_uri_are_those_of_the_folder(tmp_path):
    remote = segments_source(copied(tmp_path.as_uri()))

    assert list(read_records(remote)) == list(read_records(segments_source(SEGMENTS)))
    assert [each.size for each in remote.partitions] == [each.size for each in segments_source(SEGMENTS).partitions]


def test_a_uri_without_segments_is_named(tmp_path):
    with pytest.raises(SourceError, match=r"expected __consumer_offsets-N folders .* found none in file:///"):
        segments_source(tmp_path.as_uri())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--segments", "nothing://b/p", "--out", "x"], "expected a path, or a URI of abfs, "),
        (["--segments", SEGMENTS, "--out", "hdfs://nowhere.invalid/p"], "hdfs://nowhere.invalid/p cannot be opened"),
        (
            ["--segments", SEGMENTS, "--out", SEGMENTS.as_uri()],
            "expected an empty folder or an earlier audit",
        ),
        (
            ["--bootstrap-servers", "b:1", "--follow", "--out", "s3://b/p"],
            "a folder of this machine, got --out s3://b/p",
        ),
        (
            ["--bootstrap-servers", "b:1", "--follow", "--out", "x", "--master", "sc://h:1"],
            "got --master sc://h:1: --follow does not run over Spark Connect",
        ),
    ],
)
def test_a_uri_that_does_not_fit_is_one_line(arguments, expected):
    result = audit(*arguments)

    assert result.exit_code == 2
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("out", ["mock://x", "mock:///x", "mock:/x", "fsspec+memory://x", "hf://x", "S3://b/p"])
def test_a_storage_that_keeps_nothing_is_refused(out, tmp_path, monkeypatch):
    """PyArrow's own for tests took the results, and the audit ended with status 0; others gave a traceback."""
    monkeypatch.chdir(tmp_path)
    result = audit("--segments", SEGMENTS, "--out", out)

    assert result.exit_code == 2
    storages = "abfs, abfss, file, gcs, gs, hdfs, s3, s3a, s3n, viewfs"
    assert result.stderr == f"Error: expected a path, or a URI of {storages}, got {out}\n"
    assert not list(tmp_path.iterdir())


def test_a_dump_is_a_path_of_this_machine():
    result = audit("--dump", "s3://b/p", "--out", "x")

    assert result.exit_code == 2
    assert "Invalid value for '--dump': expected a path of this machine, got s3://b/p" in result.stderr


def test_a_storage_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError, match="cannot be written"):
        upload(SEGMENTS, (tmp_path / "file" / "below").as_uri(), RESULTS)


@pytest.mark.parametrize(
    "error", [pa.ArrowInvalid("Empty path component"), pa.ArrowException("Unknown error: no token")]
)
def test_an_error_of_a_storage_that_is_none_of_the_system_is_one_line(tmp_path, monkeypatch, error):
    """Of S3 with an empty part in the path, and of Azure without credentials: a traceback."""

    class Storage:
        def get_file_info(self, _):
            raise error

    monkeypatch.setattr(storage_module, "open_storage", lambda _: (Storage(), "b//x"))
    for arguments in (["--segments", "s3://b//x", "--out", tmp_path], ["--segments", SEGMENTS, "--out", "s3://b//x"]):
        failed = audit(*arguments)

        assert failed.exit_code == 2
        assert failed.stderr == f"Error: s3://b//x cannot be read: {error}\n"


def test_an_upload_that_fails_leaves_the_earlier_audit_as_it_was(tmp_path, monkeypatch):
    """It left the tables of two audits beside each other, later no summary."""
    import pyarrow.fs

    command = ["--segments", SEGMENTS, "--out", (tmp_path / "results").as_uri()]
    copied_files, copy_files = [], pyarrow.fs.copy_files

    def fail_at_the_third(source, *rest):
        copied_files.append(source)
        if len(copied_files) == 3:
            raise OSError("no space left")
        copy_files(source, *rest)

    assert audit(*command).exit_code == 0
    before = content(tmp_path / "results")
    with monkeypatch.context() as patch:
        patch.setattr(pyarrow.fs, "copy_files", fail_at_the_third)
        failed = audit(*command, "--no-commits")

    assert failed.exit_code == 2
    assert "cannot be written: no space left" in failed.stderr
    found = content(tmp_path / "results")
    assert {path: found[path] for path in before} == before
    assert {path.partition("/")[0] for path in found.keys() - before.keys()} == {"units"}, "what is finished stays"
    assert audit(*command, "--no-commits").exit_code == 0
    names = {each.name for each in (tmp_path / "results").iterdir()}
    assert names == {*AUDIT_TABLES, "units", "audit.json", "report.html"}


def test_an_error_while_results_are_replaced_says_that_none_are_there(tmp_path, monkeypatch):
    """It said only that the storage cannot be written, and the earlier audit was gone."""
    command = ["--segments", SEGMENTS, "--out", (tmp_path / "results").as_uri()]
    assert audit(*command).exit_code == 0
    with monkeypatch.context() as patch:
        patch.setattr(storage_module, "_move", Mock(side_effect=OSError("no space")))
        failed = audit(*command, "--no-commits")

    assert failed.exit_code == 2
    assert failed.stderr.endswith("/results has no complete results now: repeat the command. Reason: no space\n")
    assert not (tmp_path / "results" / "audit.json").exists()
    assert audit(*command).exit_code == 0
    names = {each.name for each in (tmp_path / "results").iterdir()}
    assert names == {*AUDIT_TABLES, "units", "audit.json", "report.html"}


@pytest.fixture(scope="module")
def failing_store():
    try:
        store = FailingStore("results")
    except Unavailable as missing:
        pytest.skip(str(missing))
    with closing(store), pytest.MonkeyPatch.context() as patch:
        settings = {"AWS_ENDPOINT_URL": store.address, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
        for name, value in {**CREDENTIALS, **settings}.items():
            patch.setenv(name, value)
        yield store


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", ["500", "hangs up"])
@pytest.mark.parametrize("first", [3, 12, 70, 100])
def test_a_storage_that_fails_leaves_the_earlier_audit_or_says_that_none_is_there(failing_store, fault, first):
    """An audit into S3 makes some 120 changes: 60 for the draft, then it removes the earlier audit, then it moves."""
    out = "s3://results/audit"
    names = lambda: {each.path.split("/")[2] for each in list_files(out)}  # noqa: E731
    assert audit("--segments", SEGMENTS, "--out", out).exit_code == 0
    with failing_store.failing(fault, first):
        failed = audit("--segments", SEGMENTS, "--no-commits", "--out", out)
    found = names()
    again = audit("--segments", SEGMENTS, "--no-commits", "--out", out)

    whole = {*AUDIT_TABLES, "units", "audit.json", "report.html"}
    error = failed.stderr.splitlines()[-1]
    print(fault, first, "the earlier audit" if "audit.json" in found else "none", error)
    assert failed.exit_code == 2
    assert error.startswith("Error: s3://results/audit ")
    assert failed.stderr.count("Error: ") == 1
    assert ("audit.json" in found) == ("has no complete results now" not in error)
    assert found >= whole or "audit.json" not in found
    assert (again.exit_code, names()) == (0, whole)


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("audit.json", b'{"auditReportVersion": 2}'),
        ("tasks/todo.txt", b"mine"),
        ("report.html", b"<title>mine</title>"),
        ("notes.txt", b"mine"),
        (f".draft-{'0' * 32}/notes.txt", b"mine"),
    ],
)
def test_what_no_audit_wrote_is_refused_at_a_uri_and_named(tmp_path, path, given):
    """A file named audit.json made a location that of an audit, whose tables were removed."""
    command = ["--segments", SEGMENTS, "--out", (tmp_path / "results").as_uri()]
    assert audit(*command).exit_code == 0
    (tmp_path / "results" / path).parent.mkdir(exist_ok=True)
    (tmp_path / "results" / path).write_bytes(given)
    before = content(tmp_path / "results")
    refused = audit(*command)

    assert refused.exit_code == 2
    assert f"has other files, or damaged ones ({path})" in refused.stderr
    assert content(tmp_path / "results") == before


def test_of_two_uploads_the_later_one_goes_on_and_the_other_one_fails(tmp_path, monkeypatch):
    """Without a lock their files were mixed."""
    out, other = (tmp_path / "results").as_uri(), tmp_path / "other"
    assert audit("--segments", SEGMENTS, "--out", other, "--no-commits").exit_code == 0
    check = storage_module._require_whole

    def later_upload(*arguments):
        monkeypatch.setattr(storage_module, "_require_whole", check)
        upload(other, out, RESULTS)
        check(*arguments)

    monkeypatch.setattr(storage_module, "_require_whole", later_upload)
    first = audit("--segments", SEGMENTS, "--out", out)

    assert first.exit_code == 2
    assert "another run has removed" in first.stderr
    assert content(tmp_path / "results") == content(other)


def test_what_is_no_segment_beside_segments_does_not_count(tmp_path):
    shutil.copytree(SEGMENTS, tmp_path / "backup")
    partition = tmp_path / "backup" / "__consumer_offsets-0"
    (partition / "00000000000000000099.log").mkdir()
    (partition / "00000000000000000000.index").write_bytes(b"?")
    (tmp_path / "backup" / "orders-0").mkdir()
    (tmp_path / "backup" / "orders-0" / "00000000000000000000.log").write_bytes(b"?")

    found, expected = (segments_source(each) for each in (tmp_path / "backup", SEGMENTS))
    assert list(read_records(found)) == list(read_records(expected))


def test_a_segment_that_cannot_be_read_is_named(tmp_path):
    partition = tmp_path / "__consumer_offsets-0"
    partition.mkdir()
    (partition / "00000000000000000000.log").symlink_to("nowhere")
    result = audit("--segments", tmp_path, "--out", tmp_path / "out")

    assert result.exit_code == 2
    assert "00000000000000000000.log cannot be read: No such file or directory" in result.stderr


def replaced_by_a_folder(segment):
    segment.unlink()
    segment.mkdir()


def replaced_by_a_pipe(segment):
    segment.unlink()
    os.mkfifo(segment)


@pytest.mark.parametrize(
    ("is_uri", "change"),
    [
        (False, Path.unlink),
        (False, replaced_by_a_folder),
        (False, replaced_by_a_pipe),
        (True, Path.unlink),
        (True, replaced_by_a_folder),
        (True, lambda segment: os.truncate(segment, 5_000)),
    ],
)
def test_a_segment_that_changes_after_it_was_listed_is_named(tmp_path, is_uri, change):
    """Of one in a storage the name of the copy on this machine was told, which is gone then."""
    shutil.copytree(SEGMENTS, tmp_path / "s")
    source = segments_source((tmp_path / "s").as_uri() if is_uri else tmp_path / "s")
    segment = tmp_path / "s" / "__consumer_offsets-0" / "00000000000000000000.log"
    change(segment)
    reader = SegmentReader()

    try:
        list(source.partitions[0].records(reader))
        said = reader.problems
    except (SourceError, StorageError) as error:
        said = [str(error)]

    assert [] != [each for each in said if str(segment) in each]


@pytest.mark.parametrize("name", ["copy.log", "1.log"])
def test_a_segment_under_another_name_beside_segments_is_refused(tmp_path, name):
    """A copy counted each of its records twice, and without it a renamed segment was lost without a word."""
    shutil.copytree(SEGMENTS, tmp_path / "backup")
    partition = tmp_path / "backup" / "__consumer_offsets-0"
    shutil.copy(partition / "00000000000000000000.log", partition / name)

    with pytest.raises(SourceError, match=rf"named by their base offset, as 0{{20}}\.log, got .*{name} beside them"):
        segments_source(tmp_path / "backup")


def test_a_copy_of_a_segment_is_refused(tmp_path):
    """Under the name of another base offset it counted each of its records twice."""
    shutil.copytree(SEGMENTS, tmp_path / "backup")
    partition = tmp_path / "backup" / "__consumer_offsets-0"
    shutil.copy(partition / "00000000000000000000.log", partition / "00000000000000000001.log")

    with pytest.raises(SourceError, match=r"each segment once, but .*0{20}\.log and .*1\.log both begin at offset 0"):
        segments_source(tmp_path / "backup")


def test_the_working_directory_or_a_link_can_be_the_folder_of_a_partition(tmp_path, monkeypatch):
    """Neither has a name with the number of the partition."""
    partition = SEGMENTS.resolve() / "__consumer_offsets-0"
    (tmp_path / "alias").symlink_to(partition)
    expected = list(read_records(segments_source(partition)))
    assert list(read_records(segments_source(tmp_path / "alias"))) == expected
    monkeypatch.chdir(partition)
    assert list(read_records(segments_source("."))) == expected
