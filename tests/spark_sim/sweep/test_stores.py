"""Sweeps whose tables are in S3 and in HDFS: drivers are killed, resumed and read with ``report``."""

import pytest
from attrs import evolve
from click.testing import CliRunner

from streams_assignor.cli.report import report
from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES
from streams_assignor.spark_sim.sweep.spark.session import spark_session
from streams_assignor.spark_sim.sweep.suites import ResultFolderError, broker_suite, upgrade_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.work_units import MATRIX_CONFIGS
from streams_assignor.upgrade.plans import MATRICES
from tests.lab.integration.kafka_jars import Unavailable
from tests.matrix import with_matrix
from tests.spark_sim.sweep import drivers
from tests.spark_sim.sweep.stores import CREDENTIALS, hdfs_store, s3_settings, s3_store

pytestmark = [pytest.mark.java, pytest.mark.spark, pytest.mark.slow]

CONFIG = evolve(MATRIX_CONFIGS["kip-268"], wait_for_quiescence=True, runs=2, deviations=False)
SUITE = upgrade_suite("kip-268", MATRICES["kip-268"](), CONFIG)
"""What ``drivers.SMALL`` says on the command line."""
PAIR = broker_suite([("4.1", "4.2")], nodes=1, faults=0)
OTHER = broker_suite([("4.0", "4.1")], nodes=1, faults=0)


each_store = pytest.mark.parametrize("kind", with_matrix(["s3", "hdfs"], ["s3"], "another store"))


@pytest.fixture(scope="module")
def s3_and_its_settings():
    """The URI of a bucket, and Spark's settings for it."""
    try:
        with s3_store("bucket") as address, pytest.MonkeyPatch.context() as patch:
            for name, value in CREDENTIALS.items():
                patch.setenv(name, value)
            yield "s3a://bucket", s3_settings(address)
    except Unavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory):
    """The URI of a folder."""
    try:
        with hdfs_store(tmp_path_factory.mktemp("hdfs")) as uri:
            yield uri
    except Unavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture
def store(request, kind, s3_and_its_settings):
    return request.getfixturevalue("hdfs") if kind == "hdfs" else s3_and_its_settings[0]


@pytest.fixture(scope="module")
def spark(s3_and_its_settings):
    with spark_session("local[2]", print, s3_and_its_settings[1]) as session:
        yield session


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "out"
    run_sweep(SUITE, folder, master=PROCESSES)
    return {name: (folder / name).read_bytes() for name in drivers.EXPORTS}


@each_store
@pytest.mark.usefixtures("spark")
def test_a_killed_driver_is_resumed_and_report_reads_the_exports_of_a_local_sweep(
    store, s3_and_its_settings, undisturbed, tmp_path
):
    out = f"{store}/killed"
    how = ("--master", "local[2]", *drivers.settings(s3_and_its_settings[1]))
    drivers.kill_in_the_middle("sweep", *drivers.SMALL, "--out", out, *how)
    unfinished = CliRunner().invoke(report, [out])
    lines = []
    run_sweep(SUITE, out, master="local[2]", log=lines.append)
    done = CliRunner().invoke(report, [out, "--exports", str(tmp_path)])

    assert (2, True) == (unfinished.exit_code, "no sweep has finished there" in unfinished.output)
    assert any(f"of {drivers.UNITS} units are finished" in line for line in lines)
    assert 0 == done.exit_code, done.output
    assert undisturbed == {name: (tmp_path / name).read_bytes() for name in drivers.EXPORTS}
    assert (tmp_path / "report.html").exists()


@each_store
def test_fresh_replaces_another_sweep(spark, store):
    out = f"{store}/fresh"
    expected = run_sweep(PAIR, out, master="local[2]").results
    run_sweep(OTHER, out, master="local[2]", fresh=True)
    with pytest.raises(ResultFolderError, match="holds another sweep"):
        run_sweep(PAIR, out, master="local[2]")

    assert expected == run_sweep(PAIR, out, master="local[2]", fresh=True).results
    assert len(PAIR.cells) == spark.read.parquet(f"{out}/upgrades").count()
