"""The same rows wherever they are computed, and whatever stops a sweep on its way."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from spark_sim.model.scenario import Scenario, make_step
from spark_sim.pipeline import runs, sweep, worker
from spark_sim.pipeline.equivalence import representatives
from spark_sim.pipeline.runs import RUNS_TABLE, run_scenarios
from spark_sim.pipeline.sink import open_sink
from spark_sim.pipeline.spark import executor as waves
from spark_sim.pipeline.spark.java import find_java
from spark_sim.pipeline.spark.session import spark_session
from spark_sim.pipeline.suites import ResultFolderError, upgrade_suite
from spark_sim.pipeline.sweep import PROCESSES, SweepError, run_sweep
from spark_sim.pipeline.work_units import Partition, PartitionResult, SampleUnit, SweepConfig
from spark_sim.pipeline.worker import DETERMINISTIC, REPEAT_EVERY, SweepExecutor, compute_partition
from spark_sim.search.cell_result import ERROR, SIMULATION_FAILS
from spark_sim.search.sampling import SampleBatch, SampledSchedule, ScheduleClass
from upgrade import Plan, Upgrade, release_named
from upgrade.plans import kip_268_upgrades

COLUMNS = RUNS_TABLE.columns
ROOT = Path(__file__).parents[3]
OFFLINE = upgrade_suite(
    "offline",
    tuple(upgrade for upgrade in kip_268_upgrades() if upgrade.plan is Plan.OFFLINE),
    SweepConfig(wait_for_quiescence=True, runs=7),
)
UNSAFE = Upgrade(release_named("1.1"), release_named("2.0"), Plan.ONE_BOUNCE)
(JOB,) = SweepConfig(members=2, wait_for_quiescence=True).units([UNSAFE])
SLICE = Partition("one", (JOB,))
FIRST = next(JOB.scenarios())
# A member that is not in the group: no scenario has this line, and no simulation can play it.
BROKEN = Scenario(FIRST.members, (*FIRST.steps, make_step("start", "Z")))


def playing(*scenarios):
    """A job that plays these."""
    kind = ScheduleClass((0, 0), False, "oldest", "", False)
    return SampleUnit(SampleBatch(UNSAFE, 1, tuple(SampledSchedule(kind, each) for each in scenarios)))


BROKEN_SLICE = Partition("broken", (playing(BROKEN),))


@pytest.fixture(scope="module", autouse=True)
def _small_slices():
    """Slices of one job, so that there are some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spark_sim.pipeline.work_units.COST_OF_A_PARTITION", 1)
        yield


# -- what a worker does ----------------------------------------------------------------------------------------------


def test_a_slice_becomes_its_runs_and_a_sum_for_each_job():
    rows, result = compute_partition(SLICE)
    (found,) = result.results

    assert list(run_scenarios(JOB.scenarios(), UNSAFE, "one")) == rows
    assert (len(rows), sum(row.verdict == "unsafe" for row in rows)) == (found.runs, found.violations)
    assert min(found.states, found.transitions, found.schedules) > 0
    assert "one" == result.key


def test_a_run_that_fails_is_a_row_and_the_others_are_as_ever():
    good, _ = compute_partition(Partition("one", (playing(FIRST),)))
    rows, result = compute_partition(Partition("one", (playing(FIRST, BROKEN),)))
    failed = [row for row in rows if row.verdict == ERROR]

    assert good == [row for row in rows if row in good]
    assert str(BROKEN) in [row.scenario for row in failed]
    assert {SIMULATION_FAILS} == {row.property for row in failed}
    assert all("'Z'" in row.message for row in failed)
    assert result.results[0].violations == len(failed) + sum(row.verdict == "unsafe" for row in good)


def test_an_exploration_that_fails_is_a_result_and_the_runs_are_as_ever(monkeypatch):
    def fail(*_arguments):
        raise ZeroDivisionError("too small")

    good, _ = compute_partition(SLICE)
    monkeypatch.setattr("spark_sim.pipeline.work_units.explore", fail)
    rows, result = compute_partition(SLICE)

    assert good == rows
    assert "unsafe" == result.results[0].verdict
    assert SIMULATION_FAILS in {result.results[0].violated, worker._explore(JOB).violated}


def test_a_configuration_that_no_member_starts_with_has_no_rows():
    refused = Upgrade(release_named("2.3"), release_named("4.0"), Plan.TWO_BOUNCES, "2.3")
    rows, result = compute_partition(Partition("one", tuple(SweepConfig(wait_for_quiescence=True).units([refused]))))

    assert ([], "unsafe", 0) == (rows, result.results[0].verdict, result.results[0].runs)


def test_a_run_that_differs_when_it_is_repeated_is_an_error(monkeypatch):
    digests = iter(range(10_000))
    monkeypatch.setattr(runs, "events_digest", lambda _events: str(next(digests)))
    rows, _ = compute_partition(SLICE)

    assert len(range(0, len(rows), REPEAT_EVERY)) == len([row for row in rows if row.verdict == ERROR])
    assert DETERMINISTIC == rows[0].property


# -- plain processes -------------------------------------------------------------------------------------------------


def rows_in(folder):
    return {file.name: file.read_bytes() for file in folder.glob("runs/*")}


def digest_in(folder):
    return json.loads((folder / "manifest.json").read_text())["digest"]


@pytest.fixture(scope="module")
def by_processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes") / "out"
    run_sweep(OFFLINE, folder, master=PROCESSES)
    return folder


def test_processes_store_json_lines_of_the_columns(by_processes):
    lines = [json.loads(line) for rows in rows_in(by_processes).values() for line in rows.splitlines()]
    jobs = len(representatives(OFFLINE.cells))

    assert {tuple(column.name for column in COLUMNS)} == {tuple(line) for line in lines}
    assert {7} == {each["runs"] for each in json.loads((by_processes / "matrix.json").read_text())}
    assert 7 * jobs == len(lines)
    assert jobs < len(OFFLINE.cells)


def test_progress_counts_up_to_all_blocks_and_no_upgrade_stays_unfinished(tmp_path):
    seen = []
    results = run_sweep(OFFLINE, tmp_path, master=PROCESSES, on_progress=seen.append)

    jobs = len(representatives(OFFLINE.cells))

    assert sorted(each.committed_partitions for each in seen) == [each.committed_partitions for each in seen]
    assert (jobs, jobs, frozenset(), results) == (
        seen[-1].committed_partitions,
        seen[-1].partitions,
        seen[-1].unfinished,
        seen[-1].results,
    )


def test_a_sweep_that_is_finished_computes_nothing_more(by_processes, monkeypatch):
    monkeypatch.setattr(sweep, "local_executor", None)
    before = (by_processes / "matrix.json").read_bytes()
    run_sweep(OFFLINE, by_processes, master=PROCESSES)

    assert before == (by_processes / "matrix.json").read_bytes()


def test_a_full_disk_ends_a_sweep_with_one_error_and_keeps_what_is_finished(tmp_path, monkeypatch):
    store = sweep.ResultSink.commit

    def store_two(results, written):
        if len(results.committed) == 2:
            raise OSError(28, "No space left on device")
        store(results, written)

    monkeypatch.setattr(sweep.ResultSink, "commit", store_two)
    with pytest.raises(ResultFolderError, match="No space left"):
        run_sweep(OFFLINE, tmp_path, master=PROCESSES)

    assert 2 == len(rows_in(tmp_path))


# -- waves -----------------------------------------------------------------------------------------------------------


def in_waves(folder, compute, cores, on_result=list):
    """Run slices of nothing in waves, on cores that this says; return the keys that are stored."""
    work = [Partition(f"{number:03}", ()) for number in range(100)]
    with open_sink(folder, OFFLINE, work, "none") as results, ThreadPoolExecutor(waves.MAX_CONCURRENT_JOBS) as pool:
        runner = SweepExecutor(
            pool, compute, one_partition_per_batch=False, cores=cores, cancel=lambda: None, completed=on_result
        )
        sweep._run_partitions(work, runner, results, lambda _progress: None)
        return sorted(results.committed)


def nothing_of(wave):
    return [(PartitionResult(each.key, (), ""), None) for each in wave]


def test_waves_grow_with_the_cores_that_turn_up(tmp_path):
    counts, sizes = iter([2, 2, 2]), []

    def compute(wave, _to):
        sizes.append(len(wave))
        return nothing_of(wave)

    stored = in_waves(tmp_path, compute, lambda: next(counts, 12))

    assert 100 == len(stored)
    assert (2 * sweep.BATCH_PER_CORE, 12 * sweep.BATCH_PER_CORE) == (sizes[0], max(sizes))
    assert 100 == sum(sizes)


def test_a_slice_that_is_reported_is_stored_while_its_wave_goes_on(tmp_path):
    reported = []

    def compute(wave, _to):
        reported.extend(nothing_of(wave[:1]))
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with suppress(FileNotFoundError):
                if f'"{wave[0].key}"' in (tmp_path / "manifest.json").read_text():
                    return nothing_of(wave)
            time.sleep(0.01)
        raise TimeoutError("it is not stored")

    assert 100 == len(in_waves(tmp_path, compute, lambda: 100, on_result=lambda: list(reported)))


# -- Spark -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spark():
    with spark_session("local[2]", find_java()) as session:
        yield session


def stored_in(spark, folder):
    """The rows as they read back. Not the bytes of the files: Parquet lists a column's encodings in any order."""
    return sorted(tuple(map(str, row)) for row in spark.read.parquet(str(folder / "runs")).collect())


@pytest.fixture(scope="module")
def by_spark(spark, tmp_path_factory):
    assert 2 == spark.sparkContext.defaultParallelism  # it is used as it is, master or not
    folder = tmp_path_factory.mktemp("spark") / "out"
    run_sweep(OFFLINE, folder, master="local[2]")
    return folder


@pytest.mark.spark
class TestOnSpark:
    def test_the_rows_are_those_of_plain_processes(self, by_spark, by_processes):
        assert digest_in(by_processes) == digest_in(by_spark)
        assert (by_processes / "matrix.json").read_bytes() == (by_spark / "matrix.json").read_bytes()

    def test_the_rows_and_their_files_are_the_same_whatever_the_waves(self, spark, by_spark, tmp_path, monkeypatch):
        monkeypatch.setattr(sweep, "BATCH_PER_CORE", 1)
        run_sweep(OFFLINE, tmp_path, master="local[2]")

        assert stored_in(spark, by_spark) == stored_in(spark, tmp_path)
        assert rows_in(by_spark).keys() == rows_in(tmp_path).keys()

    def test_the_parquet_has_the_columns_and_says_what_they_mean(self, spark, by_spark):
        schema = spark.read.parquet(str(by_spark / "runs")).schema
        columns = [(column.name, column.sql.lower(), column.comment) for column in COLUMNS]

        assert columns == [(f.name, f.dataType.simpleString(), f.metadata["comment"]) for f in schema.fields]

    def test_the_parquet_has_every_row(self, spark, by_spark, by_processes):
        expected = {line for rows in rows_in(by_processes).values() for line in rows.decode().splitlines()}
        stored = spark.read.parquet(str(by_spark / "runs")).collect()

        assert expected == {json.dumps(row.asDict(), ensure_ascii=False) for row in stored}
        assert len(expected) == len(stored)

    @pytest.mark.usefixtures("spark")
    def test_a_run_that_fails_is_a_row_and_not_a_failed_job(self, tmp_path, monkeypatch):
        monkeypatch.setattr(sweep, "partition_units", lambda *_args, **_kwargs: [SLICE, BROKEN_SLICE])
        (result,) = run_sweep(upgrade_suite("broken", (UNSAFE,)), tmp_path, master="local[2]")

        assert 2 == len(rows_in(tmp_path))
        assert compute_partition(SLICE)[1].results[0].merge(compute_partition(BROKEN_SLICE)[1].results[0]) == result

    @pytest.mark.usefixtures("spark")
    def test_a_slice_without_rows_is_done_all_the_same(self, tmp_path, monkeypatch):
        refused = Upgrade(release_named("2.3"), release_named("4.0"), Plan.TWO_BOUNCES, "2.3")
        nothing = Partition("nothing", tuple(SweepConfig(wait_for_quiescence=True).units([refused])))
        monkeypatch.setattr(sweep, "partition_units", lambda *_args, **_kwargs: [SLICE, nothing])
        results = run_sweep(upgrade_suite("one", (UNSAFE, refused)), tmp_path, master="local[2]")

        assert [(40, "unsafe"), (0, "unsafe")] == [(each.runs, each.verdict) for each in results]

    @pytest.mark.usefixtures("spark")
    def test_a_lost_worker_ends_the_sweep_with_one_error(self, tmp_path, monkeypatch):
        monkeypatch.setattr(waves, "compute_partition", lambda _block: os._exit(1))

        with pytest.raises(SweepError, match="worker"):
            run_sweep(OFFLINE, tmp_path, master="local[2]")
        assert {} == rows_in(tmp_path)

    @pytest.mark.slow
    def test_a_killed_sweep_resumes_and_computes_twice_only_what_was_running(
        self, spark, by_spark, tmp_path, tmp_path_factory, monkeypatch
    ):
        """The one wave has all slices: what is finished is stored although its wave is not."""
        temporary = tmp_path_factory.mktemp("temporary")  # what it cannot remove any more
        out, first, second = tmp_path / "out", tmp_path / "first", tmp_path / "second"
        command = [sys.executable, "-c", KILL_ME, str(out), str(first)]
        with subprocess.Popen(command, cwd=ROOT, env=os.environ | {"TMPDIR": str(temporary)}) as killed:
            while killed.poll() is None and not (out / "manifest.json").exists():
                time.sleep(0.02)
            killed.kill()
        before = rows_in(out)
        monkeypatch.setattr(waves, "compute_partition", noted(second))
        run_sweep(OFFLINE, out, master="local[2]")
        again = keys_in(first) & keys_in(second)

        assert -signal.SIGKILL == killed.returncode
        assert 0 < len(before) < len(representatives(OFFLINE.cells))
        assert {f"{key}.parquet" for key in again}.isdisjoint(before)
        assert len(again) <= 2 * CORES  # what was running, and what had ended and was not reported yet
        assert stored_in(spark, by_spark) == stored_in(spark, out)
        assert (by_spark / "manifest.json").read_bytes() == (out / "manifest.json").read_bytes()


CORES = 2


def noted(file):
    """``compute``, with a note of each slice that is begun."""

    def computed(work):
        with file.open("a") as notes:
            notes.write(f"{work.key}\n")
        return compute_partition(work)

    return computed


def keys_in(file):
    return set(file.read_text().split())


# Slices of one job, all in one wave; each takes a moment longer than its report.
KILL_ME = """
import sys
import time
from pathlib import Path
from spark_sim.pipeline import sweep, work_units
from spark_sim.pipeline.spark import executor
from spark_sim.pipeline.suites import upgrade_suite
from upgrade.plans import kip_268_upgrades
from upgrade.plans import Plan

out, notes = map(Path, sys.argv[1:])
compute = executor.compute_partition

def noted(work):
    with notes.open("a") as file:
        file.write(work.key + chr(10))
    time.sleep(2)
    return compute(work)

executor.compute_partition = noted
sweep.BATCH_PER_CORE = 100
work_units.COST_OF_A_PARTITION = 1
upgrades = tuple(upgrade for upgrade in kip_268_upgrades() if upgrade.plan is Plan.OFFLINE)
swept = upgrade_suite("offline", upgrades, work_units.SweepConfig(wait_for_quiescence=True, runs=7))
sweep.run_sweep(swept, out, master="local[2]")
"""
