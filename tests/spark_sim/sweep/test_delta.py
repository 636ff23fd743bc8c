"""Tables in Delta Lake (``tox -e delta``)."""

import pytest
from click.testing import CliRunner

from streams_assignor.cli.report import report
from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES
from streams_assignor.spark_sim.sweep.spark.session import spark_session
from streams_assignor.spark_sim.sweep.suites import broker_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.tables.local import LocalTables
from streams_assignor.spark_sim.sweep.tables.schema import TABLES
from tests.lab.integration.kafka_jars import Unavailable, class_path
from tests.peers_required import not_applicable

pytestmark = [pytest.mark.java, pytest.mark.spark, pytest.mark.slow]

DELTA, PYSPARK = "4.2.0", "4.1"
"""Tried: PySpark 4.1.0 and 4.1.1. On 4.1.4 this Delta cannot read a log with a checkpoint, on 4.3.0 nothing."""
PAIR = broker_suite([("4.1", "4.2")], nodes=1, faults=0)
OTHER = broker_suite([("4.0", "4.1")], nodes=1, faults=0)


@pytest.fixture(scope="module")
def spark():
    import pyspark

    if not pyspark.__version__.startswith(f"{PYSPARK}."):
        not_applicable(f"Delta {DELTA} belongs to PySpark {PYSPARK}, and this is {pyspark.__version__}: tox -e delta")
    try:
        jars = class_path(f"io.delta:delta-spark_{PYSPARK}_2.13:{DELTA}").split(":")
    except Unavailable as missing:
        pytest.skip(str(missing))
    settings = {
        "spark.driver.extraClassPath": ":".join(each for each in jars if "/io/delta/" in each),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    with spark_session("local[2]", print, settings) as session:
        yield session


def test_a_sweep_appends_to_delta_is_resumed_and_read_back(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("streams_assignor.spark_sim.sweep.work_units.COST_OF_A_TASK", 1)
    how = {"master": "local[2]", "storage_format": "delta"}

    def stop(progress):
        if progress.committed_units:
            raise KeyboardInterrupt

    run_sweep(OTHER, tmp_path / "delta", **how)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(PAIR, tmp_path / "delta", on_progress=stop, fresh=True, **how)
    run_sweep(PAIR, tmp_path / "delta", **how)
    expected = run_sweep(PAIR, tmp_path / "parquet", master=PROCESSES).results
    done = CliRunner().invoke(report, [str(tmp_path / "delta"), "--format", "delta"])

    assert 0 == done.exit_code, done.output
    assert len(expected) == len(PAIR.cells)
    assert (tmp_path / "parquet" / "matrix.json").read_bytes() == (tmp_path / "delta" / "matrix.json").read_bytes()
    for name in TABLES:
        stored = spark.read.format("delta").load(str(tmp_path / "delta" / name)).toArrow().to_pylist()
        assert sorted(map(repr, LocalTables(tmp_path / "parquet").read(name))) == sorted(map(repr, stored))
