"""The Spark session of the gate: the main job and an audit give what plain processes give."""

from pathlib import Path

import pytest

from streams_assignor import spark_sim
from streams_assignor.spark_sim.audit.records import read_records
from streams_assignor.spark_sim.audit.sources import segments_source
from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES
from streams_assignor.spark_sim.sweep.suites import upgrade_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.tables.local import LocalTables
from streams_assignor.spark_sim.sweep.tables.schema import TABLES
from streams_assignor.spark_sim.sweep.work_units import SweepConfig
from streams_assignor.upgrade import Plan
from streams_assignor.upgrade.plans import kip_268_upgrades

pytestmark = [pytest.mark.gate, pytest.mark.spark, pytest.mark.slow]

MASTERS = {"plain": PROCESSES, "on spark [1] %20": "local[2]"}
SEGMENTS = Path(__file__).parent / "audit" / "segments"


@pytest.mark.usefixtures("spark")
def test_a_cell_of_kip_268_has_the_same_tables(tmp_path):
    """Also in a folder whose name Spark could take for a pattern or an escape; the tables were beside it."""
    cell = next(upgrade for upgrade in kip_268_upgrades() if upgrade.plan is Plan.OFFLINE)
    suite = upgrade_suite("offline", (cell,), SweepConfig(wait_for_quiescence=True, runs=7))
    for name, master in MASTERS.items():
        run_sweep(suite, tmp_path / name, master=master)

    for table in TABLES:
        plain, on_spark = (sorted(map(repr, LocalTables(tmp_path / each).read(table))) for each in MASTERS)
        assert plain == on_spark
    for export in ("matrix.json", "guide.json"):
        plain, on_spark = ((tmp_path / each / export).read_bytes() for each in MASTERS)
        assert plain == on_spark


def test_an_audit_reads_the_same_records(spark):
    spark_sim.register(spark)
    frame = spark.read.format("consumer_offsets").option("segments", str(SEGMENTS)).load()
    rows = [row for batch in frame.toArrow().to_batches() for row in batch.to_pylist()]

    assert sorted(map(repr, rows)) == sorted(map(repr, read_records(segments_source(SEGMENTS))))
