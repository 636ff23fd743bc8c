"""The same tables wherever they are computed, and whatever stops a sweep on its way."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve, frozen
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.spark_sim.jobs import engine as engines
from streams_assignor.spark_sim.jobs.engine import EngineError, WorkEngine
from streams_assignor.spark_sim.model.scenario import Scenario, ScenarioError, make_step
from streams_assignor.spark_sim.packed import FaultBudget
from streams_assignor.spark_sim.search.cell_result import ERROR, SIMULATION_FAILS, UpgradeResult
from streams_assignor.spark_sim.search.sampling import SampleBatch, SampledSchedule, ScheduleClass
from streams_assignor.spark_sim.sweep import runs, sweep, worker
from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES
from streams_assignor.spark_sim.sweep.equivalence import merge_results, representatives
from streams_assignor.spark_sim.sweep.folder import is_page, open_folder
from streams_assignor.spark_sim.sweep.runs import run_scenarios
from streams_assignor.spark_sim.sweep.spark import executor
from streams_assignor.spark_sim.sweep.suites import ResultFolderError, read_sweep, upgrade_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.tables.local import LocalTables
from streams_assignor.spark_sim.sweep.tables.publishing import write_page
from streams_assignor.spark_sim.sweep.tables.schema import TABLES, UNITS
from streams_assignor.spark_sim.sweep.traces import group_event
from streams_assignor.spark_sim.sweep.work_units import SampleUnit, SweepConfig
from streams_assignor.spark_sim.sweep.worker import DETERMINISTIC, REPEAT_EVERY, compute_unit
from streams_assignor.upgrade import Plan, Upgrade, release_named
from streams_assignor.upgrade.plans import kip_268_upgrades

ROOT = Path(__file__).parents[3]
OFFLINE = upgrade_suite(
    "offline",
    tuple(upgrade for upgrade in kip_268_upgrades() if upgrade.plan is Plan.OFFLINE),
    SweepConfig(wait_for_quiescence=True, runs=7),
)
UNSAFE = Upgrade(release_named("1.1"), release_named("2.0"), Plan.ONE_BOUNCE)
(JOB,) = SweepConfig(members=2, wait_for_quiescence=True).units([UNSAFE])
FIRST = next(JOB.scenarios())
# A member that is not in the group: no scenario has this line, and no simulation can play it.
BROKEN = Scenario(FIRST.members, (*FIRST.steps, make_step("start", "Z")))


@frozen
class GivenBatch(SampleBatch):
    """A batch of these schedules instead of drawn ones."""

    given: tuple[Scenario, ...] = ()

    @property
    def schedules(self):
        kind = ScheduleClass((0, 0), False, "oldest", "", False)
        return tuple(SampledSchedule(kind, each) for each in self.given)


def playing(*scenarios):
    """A job that plays these."""
    return SampleUnit(GivenBatch(UNSAFE, 1, len(scenarios), given=scenarios))


@pytest.fixture(scope="module", autouse=True)
def _small_tasks():
    """Tasks of one unit, so that there are some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streams_assignor.spark_sim.sweep.work_units.COST_OF_A_TASK", 1)
        yield


# -- what a worker does ----------------------------------------------------------------------------------------------


def test_a_slice_becomes_its_runs_and_a_sum_for_each_job():
    rows, found = compute_unit("one", JOB)

    assert list(run_scenarios(JOB.scenarios(), UNSAFE, "one")) == rows
    assert (len(rows), sum(row.verdict == "unsafe" for row in rows)) == (found.runs, found.violations)
    assert min(found.states, found.transitions, found.schedules) > 0


def test_a_run_that_fails_is_a_row_and_the_others_are_as_ever():
    good, _ = compute_unit("one", playing(FIRST))
    rows, result = compute_unit("one", playing(FIRST, BROKEN))
    failed = [row for row in rows if row.verdict == ERROR]

    assert good == [row for row in rows if row in good]
    assert str(BROKEN) in [row.scenario for row in failed]
    assert {SIMULATION_FAILS} == {row.property for row in failed}
    assert all("'Z'" in row.message for row in failed)
    assert result.violations == len(failed) + sum(row.verdict == "unsafe" for row in good)


def test_an_exploration_that_fails_is_a_result_and_the_runs_are_as_ever(monkeypatch):
    def fail(*_arguments):
        raise ZeroDivisionError("too small")

    good, _ = compute_unit("one", JOB)
    monkeypatch.setattr("streams_assignor.spark_sim.sweep.work_units.explore_once", fail)
    rows, result = compute_unit("one", JOB)

    assert good == rows
    assert "unsafe" == result.verdict
    assert SIMULATION_FAILS in {result.property, worker._explore(JOB).property}


@pytest.mark.parametrize("place", ["work_units.explore_once", "worker.run_scenarios"])
def test_too_little_memory_is_no_result_of_a_unit(monkeypatch, place):
    """It was stored as a result, which more memory did not replace."""

    def exhaust(*_arguments, **_options):
        raise MemoryError

    monkeypatch.setattr(f"streams_assignor.spark_sim.sweep.{place}", exhaust)
    with pytest.raises(MemoryError, match="the unit one needs more memory than its worker has"):
        compute_unit("one", JOB)


def test_a_configuration_that_no_member_starts_with_has_no_rows():
    refused = Upgrade(release_named("2.3"), release_named("4.0"), Plan.TWO_BOUNCES, "2.3")
    (unit,) = SweepConfig(wait_for_quiescence=True).units([refused])
    rows, result = compute_unit("one", unit)

    assert ([], "unsafe", 0) == (rows, result.verdict, result.runs)


def test_a_run_that_differs_when_it_is_repeated_is_an_error(monkeypatch):
    digests = iter(range(10_000))
    monkeypatch.setattr(runs, "events_digest", lambda _events: str(next(digests)))
    rows, _ = compute_unit("one", JOB)

    assert len(range(0, len(rows), REPEAT_EVERY)) == len([row for row in rows if row.verdict == ERROR])
    assert DETERMINISTIC == rows[0].property


# -- the schema ------------------------------------------------------------------------------------------------------


def test_every_table_has_its_key_and_a_comment_for_each_column_that_sql_can_quote():
    for table in (UNITS, *TABLES.values()):
        assert set(table.key) <= {column.name for column in table.columns}
        assert table.ddl().count(" COMMENT '") >= len(table.columns)
        for column in table.columns:
            assert column.comment
            assert "'" not in column.comment
        assert table.arrow().names == [column.name for column in table.columns]


# -- plain processes -------------------------------------------------------------------------------------------------


def stored(folder, table):
    """All rows of a table, in an order of their own."""
    return sorted(map(repr, LocalTables(folder).read(table)))


def exports(folder):
    return {name: (folder / name).read_bytes() for name in ("matrix.json", "guide.json")}


def batches(folder):
    return sorted(folder.glob("units/*/part-*.parquet"))


@pytest.fixture(scope="module")
def by_processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes") / "out"
    run_sweep(OFFLINE, folder, master=PROCESSES)
    return folder


def test_tables_are_joined_by_their_keys_and_hold_every_upgrade_and_run(by_processes):
    found = {name: LocalTables(by_processes).read(name) for name in TABLES}
    kinds = {row["kind_id"]: row for row in found["kinds"]}
    classes = len(representatives(OFFLINE.cells))

    assert len(OFFLINE.cells) == len(found["upgrades"])
    assert {row["kind_id"] for row in found["upgrades"]} == kinds.keys()
    assert classes <= len(kinds) < len(OFFLINE.cells)
    for kind_id, kind in kinds.items():
        assert kind["runs"] == sum(row["kind_id"] == kind_id for row in found["runs"]) == 7
    for name, table in TABLES.items():
        keys = [tuple(row[column] for column in table.key) for row in found[name]]
        assert len(keys) == len(set(keys))


@pytest.mark.slow
def test_progress_counts_up_to_all_units_and_no_upgrade_stays_unfinished(tmp_path):
    seen = []
    found = run_sweep(OFFLINE, tmp_path, master=PROCESSES, on_progress=seen.append)
    units = len(OFFLINE.units)

    assert sorted(each.committed_units for each in seen) == [each.committed_units for each in seen]
    assert (units, units, frozenset()) == (seen[-1].committed_units, seen[-1].units, seen[-1].unfinished)
    assert found.results == seen[-1].results


def test_a_sweep_that_is_finished_computes_nothing_more(by_processes, monkeypatch):
    monkeypatch.setattr(sweep, "_run_tasks", None)
    before = exports(by_processes)
    run_sweep(OFFLINE, by_processes, master=PROCESSES)

    assert before == exports(by_processes)


@pytest.mark.slow
def test_a_sweep_that_was_stopped_computes_only_what_is_missing(by_processes, tmp_path):
    def stop(progress):
        if progress.committed_units:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(OFFLINE, tmp_path, master=PROCESSES, on_progress=stop)
    before = batches(tmp_path)
    seen = []
    run_sweep(OFFLINE, tmp_path, master=PROCESSES, on_progress=seen.append)

    assert set(before) < set(batches(tmp_path))
    assert seen[0].committed_units >= len(before)
    assert exports(by_processes) == exports(tmp_path)
    assert all(stored(by_processes, name) == stored(tmp_path, name) for name in TABLES)


@pytest.mark.slow
def test_a_unit_that_was_computed_twice_counts_once(by_processes, tmp_path):
    """Two kills of the driver can leave a batch whose commit it never heard of."""
    run_sweep(OFFLINE, tmp_path, master=PROCESSES)
    copy = tmp_path / "units" / "batch=again"
    copy.mkdir()
    (copy / "part-0.parquet").write_bytes(batches(tmp_path)[0].read_bytes())
    run_sweep(OFFLINE, tmp_path, master=PROCESSES)

    assert exports(by_processes) == exports(tmp_path)
    assert stored(by_processes, "runs") == stored(tmp_path, "runs")


@pytest.mark.slow
def test_results_of_other_code_are_never_taken_over(tmp_path, monkeypatch):
    monkeypatch.setattr("streams_assignor.spark_sim.sweep.work_units.code_digest", lambda: "old code")
    run_sweep(ONE, tmp_path)
    monkeypatch.setattr("streams_assignor.spark_sim.sweep.work_units.code_digest", lambda: "new code")
    seen = []
    run_sweep(ONE, tmp_path, on_progress=seen.append)

    assert 2 == len(batches(tmp_path))
    assert 1 == seen[-1].committed_units
    assert 3 == LocalTables(tmp_path).count("runs")


ONE_CONFIG = SweepConfig(members=1, runs=3)
ONE = upgrade_suite("one", (UNSAFE,), ONE_CONFIG)


@pytest.fixture
def one(tmp_path):
    run_sweep(ONE, tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("other", "named"),
    [
        (upgrade_suite("one", (UNSAFE,), evolve(ONE_CONFIG, seed=1)), "seed 0 and not 1"),
        (upgrade_suite("one", (UNSAFE,), evolve(ONE_CONFIG, faults=FaultBudget(2))), "faults .* and not"),
        (upgrade_suite("two", (UNSAFE,), ONE_CONFIG), "sweep one and not two"),
    ],
)
def test_another_sweep_is_refused_and_says_what_differs(one, other, named):
    with pytest.raises(ResultFolderError, match=named):
        run_sweep(other, one)
    run_sweep(other, one, fresh=True)
    assert 1 == len(batches(one))


def test_missing_rows_and_damaged_or_foreign_files_are_one_clear_error(one):
    runs_file = one / "runs" / "part-0.parquet"
    whole = runs_file.read_bytes()
    pq.write_table(pq.read_table(runs_file).slice(1), runs_file)
    with pytest.raises(ResultFolderError, match="the table runs has 2 rows, and the table kinds counts 3"):
        read_sweep(one)
    pq.write_table(pa.table({"x": [1]}), runs_file)
    with pytest.raises(ResultFolderError, match="lacks the column kind_id"):
        read_sweep(one)
    runs_file.write_bytes(whole[:100])
    with pytest.raises(ResultFolderError, match="cannot be read"):
        read_sweep(one)


@pytest.mark.slow
def test_tables_that_are_replaced_while_they_are_read_are_no_result(one, monkeypatch):
    """At a URI there is no lock: the old kinds and the new upgrades were one result."""
    read, seen = LocalTables.read, []

    def replaced(store, table):
        seen.append(table)
        rows = read(store, table)
        return [row | {"kind_id": "other"} for row in rows] if seen.count("upgrades") == 2 else rows

    monkeypatch.setattr(LocalTables, "read", replaced)
    with pytest.raises(ResultFolderError, match="another sweep has replaced the tables while they were read"):
        read_sweep(one)


@pytest.mark.slow
def test_control_characters_in_a_table_never_reach_the_terminal(one):
    kinds = one / "kinds" / "part-0.parquet"
    table = pq.read_table(kinds)
    place = table.schema.get_field_index("message")
    pq.write_table(table.set_column(place, table.schema.field(place), pa.array(["\x1b[2Jgone"])), kinds)

    assert ["\\x1b[2Jgone"] == [each.message for each in read_sweep(one).results]


@pytest.mark.parametrize("fresh", [False, True])
def test_a_folder_with_something_else_is_left_alone_even_if_fresh_is_asked_for(tmp_path, fresh):
    (tmp_path / "thesis.tex").write_text("years of work")

    with pytest.raises(ResultFolderError, match="thesis"), open_folder(tmp_path, fresh=fresh):
        pass
    assert ["thesis.tex"] == [path.name for path in tmp_path.iterdir()]


def test_exports_without_their_tables_are_left_alone(tmp_path):
    ours = '[\n{"from": "1.1", "to": "2.0", "plan": "offline", "verdict": "safe"}\n]\n'
    (tmp_path / "matrix.json").write_text(ours)

    with pytest.raises(ResultFolderError, match=r"matrix\.json without tables"), open_folder(tmp_path):
        pass
    assert ours == (tmp_path / "matrix.json").read_text()


def test_two_sweeps_cannot_write_to_one_folder_at_the_same_time(tmp_path):
    with (
        open_folder(tmp_path),
        pytest.raises(ResultFolderError, match="another sweep is writing"),
        open_folder(tmp_path),
    ):
        pass


def test_a_sweep_that_did_not_begin_leaves_no_folder(tmp_path):
    with pytest.raises(KeyboardInterrupt), open_folder(tmp_path / "new"):
        raise KeyboardInterrupt

    assert [] == list(tmp_path.iterdir())


def test_a_file_in_place_of_the_folder_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(ResultFolderError, match="got the file"), open_folder(tmp_path / "file"):
        pass
    with (
        pytest.raises(ResultFolderError, match=r"cannot write .*Not a directory"),
        open_folder(tmp_path / "file/below"),
    ):
        pass


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    page = "<title>Upgrade sweep · streams-assignor</title>"
    (tmp_path / "page").write_text(page)

    with pytest.raises(UnicodeEncodeError):
        write_page(tmp_path / "page", "new \udc80", is_page)

    assert [("page", page)] == [(path.name, path.read_text()) for path in tmp_path.iterdir()]


def test_a_uri_needs_spark():
    with pytest.raises(ResultFolderError, match="writes Parquet into a folder of this machine"):
        run_sweep(ONE, "s3a://bucket/sweep", master=PROCESSES)


def test_upgrades_that_behave_alike_share_a_result_under_their_own_names():
    twin = Upgrade(release_named("0.11.0.3"), release_named("2.0.0"), Plan.ONE_BOUNCE)
    offline = Upgrade(release_named("1.1"), release_named("2.0"), Plan.OFFLINE)
    example = "A@1.1.1 B@1.1.1 | bounce A>2.0.1"
    found = UpgradeResult(UNSAFE, runs=1, violations=1, example=example, property="x")

    (theirs, none) = merge_results([twin, offline], [found])

    assert "A@0.11.0.3 B@0.11.0.3 | bounce A>2.0.0" == theirs.example
    assert 0 == none.runs


# -- batches ---------------------------------------------------------------------------------------------------------


class CountingEngine(WorkEngine):
    """Commits nothing, and records the sizes of its batches."""

    one_task_per_batch = False
    caller = map_reduce = None

    def __init__(self, pool, counts):
        self.pool, self.counts, self.sizes = pool, iter(counts), []

    def cores(self):
        return next(self.counts, 12)

    def cancel(self):
        pass

    def compute(self, tasks):
        self.sizes.append(len(tasks))
        return [(key, unit.result_type(unit.cell).to_json()) for task in tasks for key, unit in task.units]


def test_batches_grow_with_the_cores_that_turn_up():
    units = {str(number): JOB for number in range(100)}
    work = sweep._Work(OFFLINE, units)
    with ThreadPoolExecutor(2) as pool:
        engine = CountingEngine(pool, [2, 2, 2])
        sweep._run_tasks(SimpleNamespace(engine=engine, compute=engine.compute), work, lambda _progress: None)

    assert [] == work.pending
    assert (2 * engines.TASKS_PER_CORE, 12 * engines.TASKS_PER_CORE) == (engine.sizes[0], max(engine.sizes))
    assert 100 == sum(engine.sizes)


def test_batches_grow_with_the_finished_tasks():
    work = sweep._Work(OFFLINE, {str(number): JOB for number in range(1_000)})
    with ThreadPoolExecutor(2) as pool:
        engine = CountingEngine(pool, [])
        engine.cores = lambda: 2
        sweep._run_tasks(SimpleNamespace(engine=engine, compute=engine.compute), work, lambda _progress: None)

    begun = [sum(engine.sizes[:place]) for place in range(len(engine.sizes))]
    assert 2 * engines.MOST_TASKS_PER_CORE == max(engine.sizes)
    assert all(size <= max(4, done * engines.MAX_BATCH_SHARE) for size, done in zip(engine.sizes, begun, strict=True))
    assert 1_000 == sum(engine.sizes)


# -- Spark -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def by_spark(spark, tmp_path_factory):
    assert 2 == spark.sparkContext.defaultParallelism  # it is used as it is, master or not
    folder = tmp_path_factory.mktemp("spark") / "out"
    run_sweep(OFFLINE, folder, master="local[2]")
    return folder


@pytest.mark.spark
@pytest.mark.slow
class TestOnSpark:
    def test_tables_and_exports_are_those_of_plain_processes(self, by_spark, by_processes):
        assert exports(by_processes) == exports(by_spark)
        assert all(stored(by_processes, name) == stored(by_spark, name) for name in TABLES)

    def test_the_columns_have_their_types_and_comments(self, spark, by_spark):
        for table in TABLES.values():
            schema = spark.read.parquet(str(by_spark / table.name)).schema
            expected = spark.createDataFrame([], table.ddl()).schema

            assert [(f.name, f.dataType.simpleString()) for f in expected] == [
                (f.name, f.dataType.simpleString()) for f in schema
            ]

    def test_a_session_of_the_user_stays_as_it_is(self, spark, tmp_path):
        spark.sparkContext.setJobDescription("mine")
        before = dict(spark.sparkContext.getConf().getAll())
        other = spark.range(3)
        run_sweep(ONE, tmp_path, master="local[2]")

        assert before == dict(spark.sparkContext.getConf().getAll())
        assert set() == spark.getTags()
        assert "mine" == spark.sparkContext.getLocalProperty("spark.job.description")
        assert 3 == other.count()

    @pytest.mark.usefixtures("spark")
    def test_a_sweep_of_processes_is_resumed_on_spark(self, by_processes, tmp_path):
        def stop(progress):
            if progress.committed_units:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_sweep(OFFLINE, tmp_path, master=PROCESSES, on_progress=stop)
        run_sweep(OFFLINE, tmp_path.as_uri(), master="local[2]")

        assert exports(by_processes) == exports(tmp_path)

    @pytest.mark.usefixtures("spark")
    def test_a_lost_worker_ends_the_sweep_with_one_error(self, tmp_path, monkeypatch):
        monkeypatch.setattr(executor, "row_chunks", lambda _task: os._exit(1))

        with pytest.raises(EngineError, match="worker"):
            run_sweep(OFFLINE, tmp_path, master="local[2]")
        assert [] == batches(tmp_path)


# A sweep in tasks of one unit, each of which takes a moment longer than it takes to see its batch.
KILL_ME = """
import sys
from streams_assignor.spark_sim.jobs import engine
from streams_assignor.spark_sim.sweep import sweep, work_units
from streams_assignor.spark_sim.sweep.suites import upgrade_suite
from streams_assignor.upgrade.plans import Plan, kip_268_upgrades

if __name__ == "__main__":
    work_units.COST_OF_A_TASK = engine.TASKS_PER_CORE = engine.MOST_TASKS_PER_CORE = 1
    upgrades = tuple(upgrade for upgrade in kip_268_upgrades() if upgrade.plan is Plan.OFFLINE)
    swept = upgrade_suite("offline", upgrades, work_units.SweepConfig(wait_for_quiescence=True, runs=7))
    sweep.run_sweep(swept, sys.argv[1], master=sys.argv[2])
"""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("master", [PROCESSES, "local[2]"])
def test_a_driver_that_is_killed_twice_is_resumed_with_identical_exports(by_processes, tmp_path, master):
    out, script = tmp_path / "out", tmp_path / "kill_me.py"
    script.write_text(KILL_ME)
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    for _ in range(2):
        before = len(batches(out))
        with subprocess.Popen([sys.executable, script, out, master], cwd=ROOT, env=environment) as driver:
            while driver.poll() is None and len(batches(out)) == before:
                time.sleep(0.02)
            driver.kill()
    assert not (out / "matrix.json").exists()

    run_sweep(OFFLINE, out, master=master)

    assert exports(by_processes) == exports(out)
    assert all(stored(by_processes, name) == stored(out, name) for name in TABLES)


def _damaged(value, text):
    """The value with another text in place of each, lists and structs included."""
    match value:
        case str():
            return text
        case list():
            return [_damaged(each, text) for each in value]
        case dict():
            return {key: _damaged(each, text) for key, each in value.items()}
    return value


@pytest.mark.parametrize("values", ["", "[", "[Infinity]", "1", f"[{'1' * 5000}]", "[" * 100_000])
def test_the_values_of_an_event_are_json_or_an_error(values):
    row = {"at": 0, "generation": 1, "kind": "leads", "subject": "A", "values": values}

    with pytest.raises(ScenarioError, match="expected a list of values of the event 'leads'"):
        group_event(row)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "[", "Infinity", "1" * 5000])
def test_a_report_on_damaged_texts_is_one_line_with_what_was_expected(one, text):
    """Values of events that are no JSON ended it with a traceback."""
    for file in sorted(one.glob("*/*.parquet")):
        whole, table = file.read_bytes(), pq.read_table(file)
        for place, name in enumerate(table.schema.names):
            column = table.column(name)
            given = [_damaged(each, text) for each in column.to_pylist()]
            if given != column.to_pylist():
                damaged = table.set_column(place, table.schema.field(place), pa.array(given, column.type))
                pq.write_table(damaged, file)
                result = CliRunner().invoke(cli, ["report", str(one)])
                assert result.exception is None or isinstance(result.exception, SystemExit), (file, name)
                assert result.exit_code in (0, 1, 2)
                file.write_bytes(whole)
