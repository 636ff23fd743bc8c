"""Segments in storages that Spark reads: the bytes of an audit of the same folder on this machine."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.groups.history.tables import AUDIT_TABLES
from streams_assignor.spark_sim.audit import cut_partition, job
from streams_assignor.spark_sim.audit.job import is_read_by_spark, stored_segments
from streams_assignor.spark_sim.audit.sources import SourceError, spark_files
from streams_assignor.spark_sim.audit.sources.spark_files import SparkPartition, spark_segments
from streams_assignor.spark_sim.audit.storage import StorageError, open_storage
from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES, EngineOptions
from streams_assignor.spark_sim.sweep.spark.executor import SparkEngine
from streams_assignor.spark_sim.sweep.spark.files import NoFileSystem, SparkFile
from tests.lab.integration.kafka_jars import Unavailable
from tests.spark_sim.sweep.spark_cluster import cluster
from tests.spark_sim.sweep.stores import CREDENTIALS, hdfs_store, put_into_hdfs, s3_settings, s3_store

SEGMENTS = Path(__file__).parent / "segments"
ON_SPARK = EngineOptions("local[2]")


# -- which reads a storage ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("segments", "given", "expected"),
    [
        ("/backup", ON_SPARK, False),
        ("file:///backup", ON_SPARK, False),
        ("s3a://bucket/backup", ON_SPARK, True),
        ("s3://bucket/backup", EngineOptions(settings={"spark.hadoop.fs.s3a.endpoint": "http://h:1"}), True),
        ("s3a://bucket/backup", EngineOptions(), False),
        ("s3a://bucket/backup", EngineOptions(PROCESSES), False),
        ("hdfs://host:9000/backup", EngineOptions(), True),
        ("webhdfs://host:9870/backup", EngineOptions(), True),
        ("hdfs://host:9000/backup", EngineOptions("sc://host:15002"), True),
        ("hdfs://host:9000/backup", EngineOptions(PROCESSES), False),
        ("nothing://host/backup", EngineOptions(), False),
    ],
)
def test_spark_reads_storages_on_spark_and_those_of_hadoop(segments, given, expected):
    assert expected == is_read_by_spark(segments, given)


def test_without_pyspark_nothing_is_read_by_spark_unless_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(job, "find_spec", lambda _: None)

    assert not is_read_by_spark("hdfs://host:9000/backup", EngineOptions())
    assert is_read_by_spark("hdfs://host:9000/backup", ON_SPARK)


@pytest.mark.parametrize("uri", ["hdfs://127.0.0.1:1/backup", "webhdfs://127.0.0.1:1/backup"])
def test_what_processes_cannot_read_names_the_way_out(uri):
    with pytest.raises(
        StorageError, match=r'; Spark reads segments there \(--master "local\[\*\]"\), and --out may be '
    ):
        open_storage(uri)


def unknown_to_spark(_spark, uri):
    raise NoFileSystem(f"{uri} cannot be read by Spark: no such class")


def test_pyarrow_reads_what_the_hadoop_of_spark_does_not_know(monkeypatch):
    lines = []
    monkeypatch.setattr(spark_files, "spark_segments", unknown_to_spark)
    source = stored_segments(SEGMENTS.as_uri(), SparkEngine(None, None), lines.append)

    assert source.name == SEGMENTS.as_uri()
    assert lines == [f"PyArrow reads the segments: {SEGMENTS.as_uri()} cannot be read by Spark: no such class"]


def test_a_storage_that_neither_knows_is_an_error(monkeypatch):
    monkeypatch.setattr(spark_files, "spark_segments", unknown_to_spark)
    with pytest.raises(NoFileSystem, match=r"^nothing://b/p cannot be read by Spark"):
        stored_segments("nothing://b/p", SparkEngine(None, None), print)


# -- partitions --------------------------------------------------------------------------------------------------------


def test_segments_are_pieces_and_only_the_last_one_is_the_end():
    """An empty segment counts: what is before it does not end within a batch because a broker still writes."""
    files = tuple(SparkFile(f"hdfs://h/{number:020}.log", size) for number, size in ((0, 7), (7, 5), (9, 0)))
    partition = SparkPartition(3, files)

    assert [piece.is_last for piece in partition.pieces] == [False, False, True]
    assert [piece.size for piece in partition.pieces] == [7, 5, 0]
    assert (partition.size, partition.name) == (12, "partition-3")


@pytest.mark.parametrize(
    ("uri", "pattern"), [("hdfs://h/b/", "__consumer_offsets-*/*"), ("hdfs://h/b/__consumer_offsets-3", "*")]
)
def test_a_folder_or_that_of_one_partition_is_listed(monkeypatch, uri, pattern):
    listed = []

    def list_spark_files(_spark, folder, found):
        listed.append((folder, found))
        return [SparkFile("hdfs://h/b/__consumer_offsets-3/00000000000000000000.log", 9)]

    monkeypatch.setattr(spark_files, "list_spark_files", list_spark_files)
    source = spark_segments(None, uri)

    assert listed == [(uri.rstrip("/"), pattern)]
    assert [(part.partition, part.size) for part in source.partitions] == [(3, 9)]


def test_a_folder_without_segments_is_named(monkeypatch):
    monkeypatch.setattr(spark_files, "list_spark_files", lambda *_: [])
    with pytest.raises(SourceError, match=r"expected __consumer_offsets-N folders .* found none in hdfs://h/b$"):
        spark_segments(None, "hdfs://h/b")


# -- real storages -----------------------------------------------------------------------------------------------------


def audit(*arguments):
    return CliRunner().invoke(cli, ["audit", *map(str, arguments)])


def results(folder):
    """The bytes of the tables of results, and the summary without the name of its source."""
    files = [path for name in AUDIT_TABLES for path in (folder / name).rglob("*.parquet")]
    tables = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return tables | {"audit.json": json.loads((folder / "audit.json").read_text()) | {"source": ""}}


def cut_partitions(monkeypatch):
    """Make each partition a large one that has two segments."""
    monkeypatch.setattr(cut_partition, "_LARGE_SECONDS", 1e-3)
    monkeypatch.setattr(cut_partition, "_LARGE_SHARE", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Segments whose last one is empty, below a name with what globs and URIs take for something else."""
    copied = tmp_path_factory.mktemp("copied") / "a b[1]%20"
    shutil.copytree(SEGMENTS, copied)
    (copied / "__consumer_offsets-0" / "00000000000000999999.log").touch()
    return copied


@pytest.fixture(scope="module")
def expected(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("local") / "out"
    assert audit("--segments", folder, "--out", out, "--processes", 1).exit_code == 0
    return results(out)


@pytest.fixture(scope="module")
def hdfs(folder, tmp_path_factory):
    """The URI of the segments in HDFS, and no settings."""
    try:
        with hdfs_store(tmp_path_factory.mktemp("hdfs")) as uri:
            put_into_hdfs(folder, f"{uri}/backup 1", tmp_path_factory.mktemp("site"))
            yield f"{uri}/backup 1", {}
    except Unavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def s3a(folder):
    """The URI of the segments in S3, whose endpoint and credentials only Spark has, and its settings."""
    from pyarrow.fs import LocalFileSystem, S3FileSystem, copy_files

    try:
        with s3_store("bucket") as address:
            keys = dict(zip(("access_key", "secret_key"), CREDENTIALS.values(), strict=True))
            storage = S3FileSystem(**keys, endpoint_override=address, region="us-east-1")
            copy_files(str(folder), f"bucket/{folder.name}", LocalFileSystem(), storage)
            hadoop = {"access.key": keys["access_key"], "secret.key": keys["secret_key"]}
            named = {f"spark.hadoop.fs.s3a.{name}": value for name, value in hadoop.items()}
            yield f"s3a://bucket/{folder.name}", s3_settings(address) | named
    except Unavailable as missing:
        pytest.skip(str(missing))


@pytest.mark.java
@pytest.mark.spark
@pytest.mark.slow
class TestStorages:
    @pytest.fixture(params=["hdfs", "s3a"])
    def stored(self, request):
        return request.getfixturevalue(request.param)

    @pytest.mark.parametrize("cut", [False, True])
    def test_an_audit_has_the_bytes_of_that_of_the_folder(self, stored, folder, tmp_path, monkeypatch, cut):
        uri, settings = stored
        if cut:
            cut_partitions(monkeypatch)
        assert audit("--segments", folder, "--out", tmp_path / "local", "--processes", 1).exit_code == 0
        conf = [part for pair in settings.items() for part in ("--conf", "=".join(pair))]
        done = audit("--segments", uri, "--out", tmp_path / "out", "--master", "local[2]", *conf)

        assert done.exit_code == 0, done.output
        assert f"are in {tmp_path / 'out'}\n" in done.stdout
        assert "PyArrow" not in done.output
        assert results(tmp_path / "out") == results(tmp_path / "local")
        assert cut == any("/partition-0-" in name for name in results(tmp_path / "out"))

    def test_a_cluster_reads_it_too(self, hdfs, expected, tmp_path):
        with cluster(tmp_path / "cluster") as started:
            done = audit("--segments", hdfs[0], "--out", tmp_path / "out", "--master", started.url)

        assert done.exit_code == 0, done.output
        assert results(tmp_path / "out") == expected

    def test_what_is_wrong_is_one_line(self, hdfs, tmp_path):
        for uri, message in (
            (f"{hdfs[0]}/nothing", "found none in"),
            ("hdfs://127.0.0.1:1/backup", "cannot be read by Spark: "),
            ("nothing://b/p", 'No FileSystem for scheme "nothing"'),
            ("s3a://b/p", "PyArrow reads the segments: s3a://b/p cannot be read by Spark: "),
        ):
            failed = audit("--segments", uri, "--out", tmp_path / "out", "--master", "local[2]")

            assert failed.exit_code == 2
            assert message in failed.stderr
            assert failed.stderr.count("Error: ") == 1
            assert "Traceback" not in failed.output

    def test_a_file_of_which_spark_has_not_all_bytes_is_an_error(self, hdfs, monkeypatch, tmp_path):
        """Neither a whole partition nor one that is cut is read without it."""
        listed = spark_files.list_spark_files

        def longer(*arguments):
            return [SparkFile(file.uri, file.size and file.size + 9) for file in listed(*arguments)]

        monkeypatch.setattr(spark_files, "list_spark_files", longer)
        for prepare in (lambda _: None, cut_partitions):
            prepare(monkeypatch)
            failed = audit("--segments", hdfs[0], "--out", tmp_path / "out", "--master", "local[2]")

            assert failed.exit_code == 2
            assert "bytes in /backup 1/__consumer_offsets-" in failed.stderr
            assert "was it changed?" in failed.stderr
