"""A session of the user, with the settings of a site, the user's other jobs, and a URI without a lock."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streams_assignor.spark_sim.sweep import sweep
from streams_assignor.spark_sim.sweep.spark.executor import SparkEngine, SparkSweep, on_session, sweep_on_spark
from streams_assignor.spark_sim.sweep.spark.java import find_java
from streams_assignor.spark_sim.sweep.spark.session import LOOPBACK
from streams_assignor.spark_sim.sweep.spark.tables import Driver, SparkTables
from streams_assignor.spark_sim.sweep.suites import ResultFolderError, broker_suite, read_sweep
from streams_assignor.spark_sim.sweep.sweep import run_sweep, sweep_with
from streams_assignor.spark_sim.sweep.tables.parquet import TablesError
from streams_assignor.spark_sim.sweep.work_units import unit_key
from tests.spark_sim.sweep.drivers import light_site

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
PAIR = broker_suite([("4.1", "4.2")], nodes=1, faults=0)
OTHER = broker_suite([("4.0", "4.1")], nodes=1, faults=0)


@contextmanager
def job_of(spark, uri):
    with on_session(spark) as engine, sweep_on_spark(engine, uri, "parquet") as job:
        yield job


def sweep_to(spark, uri, suite=PAIR, **how):
    """Run a sweep as into any URI, without the lock and the exports of a local folder."""
    with job_of(spark, uri) as job:
        return sweep_with(job, suite, None, uri, **how)


@pytest.fixture(scope="module")
def by_processes(tmp_path_factory):
    return run_sweep(PAIR, tmp_path_factory.mktemp("processes") / "out").results


# -- Ctrl-C ----------------------------------------------------------------------------------------------------------

# The session is that of a notebook: its UI is on, and PySpark's handler of SIGINT cancels all jobs.
NOTEBOOK = """
import os, signal, sys, threading, time
from pathlib import Path
from pyspark.sql import SparkSession
from streams_assignor import spark_sim
from streams_assignor.spark_sim.sweep import work_units
from streams_assignor.spark_sim.sweep.suites import upgrade_suite
from streams_assignor.upgrade.plans import kip_268_upgrades

if __name__ == "__main__":
    spark = SparkSession.builder.master("local[4]").config("spark.ui.port", "0").getOrCreate()
    assert spark.sparkContext.uiWebUrl
    handler, begun, counts, results = signal.getsignal(signal.SIGINT), threading.Event(), [], []

    def wait_for_the_end(_numbers):
        begun_file.touch()
        while not end_file.exists():
            time.sleep(0.05)
        yield len(list(_numbers))

    begun_file, end_file = Path(sys.argv[1], "begun"), Path(sys.argv[1], "end")
    mine = spark.sparkContext.parallelize(range(10), 1).mapPartitions(wait_for_the_end)
    job = threading.Thread(target=lambda: counts.extend(mine.collect()))
    job.start()
    while not begun_file.exists():
        time.sleep(0.05)
    work_units.COST_OF_A_TASK = 1

    def interrupt(progress):
        if progress.committed_units:
            os.kill(os.getpid(), signal.SIGINT)

    try:
        config = work_units.SweepConfig(wait_for_quiescence=True, runs=20)
        spark_sim.sweep(spark, upgrade_suite("x", kip_268_upgrades(), config), out=sys.argv[2], on_progress=interrupt)
    except KeyboardInterrupt:
        print("interrupted")
    running = spark.sparkContext.statusTracker().getActiveJobsIds()
    end_file.touch()
    job.join()
    print("mine", counts, "running", len(running), "handler", handler is signal.getsignal(signal.SIGINT))
    spark.stop()
"""


def test_ctrl_c_cancels_the_jobs_of_the_sweep_and_none_of_the_user(tmp_path):
    """With PySpark's handler of SIGINT it cancelled all jobs of the session."""
    script = tmp_path / "notebook.py"
    script.write_text(NOTEBOOK)
    variables = {"JAVA_HOME": str(find_java().home), "SPARK_LOCAL_IP": LOOPBACK, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, script, tmp_path, (tmp_path / "out").as_uri()],
        env=os.environ | variables | {"PYTHONPATH": str(ROOT)} | light_site(tmp_path),
        capture_output=True,
        text=True,
    )

    assert 0 == done.returncode, done.stderr[-3000:]
    assert ["interrupted", "mine [10] running 1 handler True"] == done.stdout.splitlines()


# -- URIs ------------------------------------------------------------------------------------------------------------


def test_fresh_empties_the_tables_of_another_sweep_and_nothing_is_left_of_it(spark, tmp_path, by_processes):
    uri = (tmp_path / "out").as_uri()
    sweep_to(spark, uri, OTHER)
    with pytest.raises(ResultFolderError, match="holds another sweep"):
        sweep_to(spark, uri)
    found = sweep_to(spark, uri, fresh=True)
    again = sweep_to(spark, uri)  # resumes: nothing is left to do

    assert by_processes == found.results == again.results
    assert by_processes == read_sweep(tmp_path / "out").results


def test_fresh_leaves_what_is_no_table_of_a_sweep(spark, tmp_path):
    uri = (tmp_path / "out").as_uri()
    sweep_to(spark, uri)
    spark.range(3).write.parquet(f"{uri}/kinds", mode="overwrite")
    with pytest.raises(ResultFolderError, match="kinds lacks the column kind_id: it is another table"):
        sweep_to(spark, uri, fresh=True)

    assert 3 == spark.read.parquet(f"{uri}/kinds").count()
    assert len(PAIR.units) == spark.read.parquet(f"{uri}/units").count()


@pytest.mark.parametrize("fresh", [False, True])
def test_files_that_no_sweep_wrote_are_left_and_named(spark, tmp_path, fresh):
    """Spark removed them with the table that it replaced."""
    uri = (tmp_path / "out").as_uri()
    sweep_to(spark, uri)
    (tmp_path / "out" / "runs" / "events.out.tfevents").write_text("mine")
    with pytest.raises(ResultFolderError, match=r"runs/events\.out\.tfevents is no part of a table in parquet"):
        sweep_to(spark, uri, fresh=fresh)

    assert len(PAIR.units) == spark.read.parquet(f"{uri}/units").count()
    assert "mine" == (tmp_path / "out" / "runs" / "events.out.tfevents").read_text()


def test_a_foreign_table_is_left_without_fresh_too(spark, tmp_path):
    uri = (tmp_path / "out").as_uri()
    spark.range(3).write.parquet(f"{uri}/runs")
    with pytest.raises(ResultFolderError, match="runs lacks the column kind_id: it is another table"):
        sweep_to(spark, uri)

    assert 3 == spark.read.parquet(f"{uri}/runs").count()


def test_a_damaged_page_is_an_error_of_spark_and_never_another_table(spark, tmp_path):
    uri = (tmp_path / "out").as_uri()
    sweep_to(spark, uri)
    file = next(each for each in (tmp_path / "out" / "kinds").glob("part-*.parquet") if pq.read_metadata(each).num_rows)
    kind_id = pq.read_table(file)["kind_id"][0].as_py().encode()
    changed = kind_id[:-1] + bytes([kind_id[-1] ^ 1])
    assert kind_id in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(kind_id, changed, 1))
    (file.parent / f".{file.name}.crc").unlink()  # Hadoop's own checksum, which object stores do not have

    assert changed.decode() in {row["kind_id"] for row in spark.read.parquet(f"{uri}/kinds").collect()}
    with pytest.raises(ResultFolderError, match="Spark cannot use"), job_of(spark, uri) as engine:
        engine.store.read("kinds")


def test_a_uri_that_spark_cannot_use_is_one_clear_error(spark):
    with pytest.raises(ResultFolderError, match=r"Spark cannot use nowhere://x/y: .*nowhere"):
        sweep_to(spark, "nowhere://x/y")


@pytest.fixture
def tasks(monkeypatch):
    """The work of a sweep, a unit in each task."""
    monkeypatch.setattr("streams_assignor.spark_sim.sweep.work_units.COST_OF_A_TASK", 1)
    work = sweep._Work(PAIR, {unit_key(unit): unit for unit in PAIR.units})
    return [task for _, task in work.tasks()]


def compute(job, task):
    return job.engine.pool.submit(job.compute, [task]).result()


def test_of_two_drivers_on_one_uri_the_one_that_began_later_stops(spark, tmp_path, by_processes, tasks):
    """Without a lock both would replace the tables at the same time, which can leave the rows of both."""
    uri = (tmp_path / "out").as_uri()
    with job_of(spark, uri) as first:
        compute(first, tasks[0])
        with job_of(spark, uri) as later:
            compute(later, tasks[1])
            compute(first, tasks[2])
            later._next_look = 0.0  # it looks now and then
            with pytest.raises(TablesError, match=r"another sweep, begun at \d{4}-.* UTC, is writing to file:"):
                compute(later, tasks[3])
        compute(first, tasks[4])  # goes on
        finished = sweep_with(first, PAIR, None, uri)

    assert by_processes == finished.results


def test_batches_of_a_killed_driver_that_still_run_are_no_reason_to_stop(spark, tmp_path, tasks):
    """A Spark Connect server goes on with them: they are committed while the next driver is at work."""
    uri = (tmp_path / "out").as_uri()
    killed = Driver(Driver.new().begun - 1, "killed")
    left_running = killed.batch(killed.begun)
    with job_of(spark, uri) as engine:
        compute(engine, tasks[0])
        units = spark.read.parquet(f"{uri}/units").drop("batch")
        SparkTables(spark, uri, "parquet").append(units, left_running)
        compute(engine, tasks[1])

    assert 2 == len({row["unit_key"] for row in spark.read.parquet(f"{uri}/units").collect()})


def test_batches_that_begin_in_the_same_millisecond_have_different_names(monkeypatch):
    """Two batches of one name were one folder, and units of one of them were lost."""
    monkeypatch.setattr("streams_assignor.spark_sim.sweep.spark.executor.now_ms", lambda: 1_795_409_944_416)
    engine = SparkSweep(SparkEngine(None, None), "out", "parquet")
    names = [engine._new_batch() for _ in range(3)]

    assert sorted(set(names)) == names
    assert {Driver.of_batch(name) for name in names} == {engine._driver}
