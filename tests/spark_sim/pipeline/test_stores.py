"""Sweeps whose tables are in S3 and in HDFS: drivers are killed, resumed and read with ``report``."""

import pytest
from attrs import evolve
from click.testing import CliRunner

from spark_sim.cli._report import report
from spark_sim.pipeline.spark.session import spark_session
from spark_sim.pipeline.suites import ResultFolderError, broker_suite, upgrade_suite
from spark_sim.pipeline.sweep import PROCESSES, run_sweep
from spark_sim.pipeline.work_units import MATRIX_CONFIGS
from tests.integration.kafka_jars import Unavailable
from tests.spark_sim.pipeline import drivers
from tests.spark_sim.pipeline.stores import CREDENTIALS, hdfs_store, s3_settings, s3_store
from upgrade.plans import MATRICES

pytestmark = [pytest.mark.java, pytest.mark.spark, pytest.mark.slow]

CONFIG = evolve(MATRIX_CONFIGS["kip-268"], wait_for_quiescence=True, runs=2, deviations=False)
SUITE = upgrade_suite("kip-268", MATRICES["kip-268"](), CONFIG)
"""What ``drivers.SMALL`` says on the command line."""
PAIR = broker_suite([("4.1", "4.2")], nodes=1, faults=0)
OTHER = broker_suite([("4.0", "4.1")], nodes=1, faults=0)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """The URIs of both, and Spark's settings for them."""
    try:
        with (
            s3_store("bucket") as address,
            hdfs_store(tmp_path_factory.mktemp("hdfs")) as hdfs,
            pytest.MonkeyPatch.context() as patch,
        ):
            for name, value in CREDENTIALS.items():
                patch.setenv(name, value)
            yield {"s3": "s3a://bucket", "hdfs": hdfs}, s3_settings(address)
    except Unavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def spark(stores):
    with spark_session("local[2]", print, stores[1]) as session:
        yield session


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "out"
    run_sweep(SUITE, folder, master=PROCESSES)
    return {name: (folder / name).read_bytes() for name in drivers.EXPORTS}


@pytest.mark.parametrize("kind", ["s3", "hdfs"])
@pytest.mark.usefixtures("spark")
def test_a_killed_driver_is_resumed_and_report_reads_the_exports_of_a_local_sweep(stores, undisturbed, tmp_path, kind):
    out = f"{stores[0][kind]}/killed"
    how = ("--master", "local[2]", *drivers.settings(stores[1]))
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


@pytest.mark.parametrize("kind", ["s3", "hdfs"])
def test_fresh_replaces_another_sweep(spark, stores, kind):
    out = f"{stores[0][kind]}/fresh"
    expected = run_sweep(PAIR, out, master="local[2]").results
    run_sweep(OTHER, out, master="local[2]", fresh=True)
    with pytest.raises(ResultFolderError, match="holds another sweep"):
        run_sweep(PAIR, out, master="local[2]")

    assert expected == run_sweep(PAIR, out, master="local[2]", fresh=True).results
    assert len(PAIR.cells) == spark.read.parquet(f"{out}/upgrades").count()
