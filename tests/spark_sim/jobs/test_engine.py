"""The engine: which one a command uses, and what both have in common."""

import importlib.util
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from attrs import frozen
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.codec import StreamsAssignorError
from streams_assignor.spark_sim.jobs.engine import IN_THIS_PROCESS, EngineError, open_processes
from streams_assignor.spark_sim.sweep import engine_choice
from streams_assignor.spark_sim.sweep.engine_choice import (
    EVERY_CORE,
    PROCESSES,
    EngineOptions,
    UnknownMaster,
    require_master,
)
from streams_assignor.spark_sim.sweep.spark.executor import on_session
from streams_assignor.spark_sim.sweep.spark.session import SparkNotStarted, require_own_spark_home
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS


@frozen
class Power:
    """A function that can be pickled."""

    exponent: int

    def __call__(self, number):
        if number < 0:
            raise StreamsAssignorError(f"expected a number from 0 on, got {number}")
        return number, bytes(number**self.exponent)


@frozen
class Endless:
    """A function that returns when a file is there."""

    folder: Path

    def __call__(self, number):
        Path(self.folder, "begun").touch()
        while not Path(self.folder, "end").exists():
            time.sleep(0.05)
        return number, b""


NUMBERS = [3, 1, 2, 5, 4]


def powers(on, numbers=NUMBERS):
    return sorted(on.map(Power(2), numbers, float))


def test_results_come_with_the_places_of_their_units():
    assert [(place, (number, bytes(number**2))) for place, number in enumerate(NUMBERS)] == powers(IN_THIS_PROCESS)


def test_the_costliest_unit_comes_first():
    assert [3, 4, 0, 2, 1] == [place for place, _ in IN_THIS_PROCESS.map(Power(2), NUMBERS, float)]


def test_progress_ends_with_all_units():
    seen = []
    list(IN_THIS_PROCESS.map(Power(2), NUMBERS, float, seen.append))

    assert (5, 5, 0.0) == (seen[-1].units, seen[-1].committed_units, seen[-1].seconds_left)


def test_no_units_need_no_batch():
    assert [] == powers(IN_THIS_PROCESS, [])


def test_a_failure_of_a_worker_is_one_error():
    with pytest.raises(EngineError, match=r"^a worker failed: .*'str' and 'int'"):
        list(IN_THIS_PROCESS.map(Power(2), ["x"], len))


@pytest.mark.slow
def test_processes_give_what_this_process_gives():
    with open_processes(2) as processes:
        assert powers(IN_THIS_PROCESS) == powers(processes)
        with pytest.raises(StreamsAssignorError, match="expected a number from 0 on, got -1"):
            powers(processes, [1, -1, 2])


@pytest.mark.spark
@pytest.mark.slow
def test_spark_gives_what_this_process_gives_also_in_pieces(spark, monkeypatch):
    monkeypatch.setattr("streams_assignor.spark_sim.sweep.spark.executor._PIECE_BYTES", 10)
    with on_session(spark) as on_spark:
        assert on_spark.shares_files
        assert powers(IN_THIS_PROCESS) == powers(on_spark)
        with pytest.raises(StreamsAssignorError, match=r"^expected a number from 0 on, got -1"):
            powers(on_spark, [1, -1, 2])
    assert set() == spark.getTags()


@pytest.mark.spark
@pytest.mark.slow
def test_ctrl_c_ends_what_workers_of_spark_compute(spark, tmp_path):
    """It waited for the end of their tasks, which can take minutes: a session cancels by the tags of one thread."""

    def interrupt(_progress):
        if Path(tmp_path, "begun").exists():
            raise KeyboardInterrupt

    def compute():
        with on_session(spark) as on_spark, suppress(KeyboardInterrupt):
            list(on_spark.map(Endless(tmp_path), [1], float, interrupt))

    computing = Thread(target=compute)
    computing.start()
    computing.join(TIMEOUT_SECONDS)
    is_cancelled = not computing.is_alive()
    Path(tmp_path, "end").touch()
    computing.join()
    assert is_cancelled


# -- which one -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "master",
    [
        *(PROCESSES, "local", "local[2]", "local[*]", "local[2,3]", "local[*,3]", "local-cluster[2,1,1024]", "yarn"),
        *("spark://h:7077", "spark://a:7077,b:7077", "k8s://https://h:6443", "sc://h:15002/;token=x", "armada://h:1"),
    ],
)
def test_a_master_of_spark_is_one(master):
    require_master(master)


@pytest.mark.parametrize("master", ["foo", "", "local[0]", "local[x]", "local[2", "spark://h", "process", "h:7077"])
def test_another_text_is_no_master(master):
    with pytest.raises(UnknownMaster, match=r"expected --master to be processes, or a Spark master such as local"):
        require_master(master)


@pytest.mark.parametrize(
    "command",
    [
        ("sweep", "--matrix", "kip-268"),
        ("sweep", "--brokers"),
        ("sweep", "--matrix", "history"),
        ("audit", "--segments", "/nowhere"),
        ("audit", "--follow", "--bootstrap-servers", "localhost:1"),
        ("conform", "capture.json"),
        ("report", "/nowhere"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--master", "foo"),
            "expected --master to be processes, or a Spark master such as local[*], spark://HOST:7077",
        ),
        (("--master", "local", "--remote", "sc://h"), "--remote is a Spark Connect server: leave out --master"),
        (("--master", "local", "--processes", "2"), "--processes belongs to --master processes"),
        (("--master", "processes", "--conf", "spark.x=y"), "--conf is a setting of Spark, and --master processes has"),
        (("--conf", "x"), "expected spark.NAME=VALUE, got x in another form"),
    ],
)
def test_every_command_refuses_the_same_options_in_one_line(tmp_path, command, options, message):
    """``--master foo`` was an error of Spark, with status 1, or of a folder."""
    out = () if command[0] in {"conform", "report"} else ("--out", tmp_path / "out")
    done = CliRunner().invoke(cli, [*map(str, (*command, *options, *out))])

    assert (2, True) == (done.exit_code, message in done.stderr), done.stderr
    assert not (tmp_path / "out").exists()


MUCH, LITTLE, HARDLY_ANY = 1_000.0, 10.0, 1.0


@pytest.mark.parametrize(
    ("given", "core_seconds", "needs_spark", "expected"),
    [
        (EngineOptions(), MUCH, False, EngineOptions(EVERY_CORE)),
        (EngineOptions(), LITTLE, False, EngineOptions(PROCESSES)),
        (EngineOptions(), HARDLY_ANY, False, EngineOptions(PROCESSES, processes=1)),
        (EngineOptions(), HARDLY_ANY, True, EngineOptions(EVERY_CORE)),
        (EngineOptions(settings={"spark.x": "y"}), LITTLE, False, EngineOptions(EVERY_CORE, {"spark.x": "y"})),
        (EngineOptions(processes=3), MUCH, False, EngineOptions(PROCESSES, processes=3)),
        (EngineOptions("spark://h:1"), HARDLY_ANY, False, EngineOptions("spark://h:1")),
        (EngineOptions(PROCESSES), MUCH, True, EngineOptions(PROCESSES)),
    ],
)
def test_spark_is_the_default_unless_there_is_little_to_do(given, core_seconds, needs_spark, expected):
    assert expected == given.chosen(core_seconds, needs_spark=needs_spark)


def test_without_pyspark_processes_are_the_default(monkeypatch):
    monkeypatch.setattr(
        engine_choice, "find_spec", lambda name: None if name == "pyspark" else importlib.util.find_spec(name)
    )

    assert EngineOptions(PROCESSES) == EngineOptions().chosen(MUCH)


# -- SPARK_HOME ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("jar", "message"),
    [
        (None, "which does not exist"),
        ("hadoop-client-3.5.0.jar", "which has no jars of Spark"),
        ("spark-core_2.13-3.5.1.jar", "which is Spark 3.5.1"),
    ],
)
def test_a_spark_home_of_another_installation_is_named(tmp_path, monkeypatch, jar, message):
    """It said "cannot write to DIR: No such file or directory"."""
    pytest.importorskip("pyspark")
    home = tmp_path / "spark"
    if jar:
        (home / "jars").mkdir(parents=True)
        (home / "jars" / jar).touch()
    monkeypatch.setenv("SPARK_HOME", str(home))
    one = ("--from", "1.1", "--to", "2.0", "--plan", "offline", "--members", "1", "--runs", "1", "--master", "local[1]")
    done = CliRunner().invoke(cli, ["sweep", *one, "--out", str(tmp_path / "out")])

    assert 1 == done.exit_code
    assert f"got {home}, {message}" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_spark_home_of_the_same_line_is_used(tmp_path, monkeypatch):
    pyspark = pytest.importorskip("pyspark")
    line = ".".join(pyspark.__version__.split(".")[:2])
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"spark-core_2.13-{line}.99.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    require_own_spark_home()
    monkeypatch.delenv("SPARK_HOME")
    require_own_spark_home()
    monkeypatch.setenv("SPARK_HOME", "/nowhere")
    with pytest.raises(SparkNotStarted, match="/nowhere"):
        require_own_spark_home()
