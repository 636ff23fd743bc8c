"""Sweep and comparison on a Spark cluster of three workers: the same results, with bare workers, and if one is lost."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from streams_assignor.cli._capture_verdict import judge
from streams_assignor.groups.capture import Capture
from streams_assignor.spark_sim.audit.captures import GivenCapture, compare_captures
from streams_assignor.spark_sim.jobs import engine
from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES
from streams_assignor.spark_sim.sweep.spark.executor import on_session
from streams_assignor.spark_sim.sweep.spark.session import spark_session
from streams_assignor.spark_sim.sweep.suites import upgrade_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.tables.local import LocalTables
from streams_assignor.spark_sim.sweep.tables.schema import TABLES
from streams_assignor.spark_sim.sweep.work_units import SweepConfig
from streams_assignor.upgrade import Plan
from streams_assignor.upgrade.plans import kip_268_upgrades
from tests.spark_sim.sweep.spark_cluster import cluster

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.matrix(
        reason="a cluster of several processes; test_sweep.py and test_shared_session.py run on local[2]"
    ),
]

CAPTURES = Path(__file__).parents[2] / "captures"
SMALL = upgrade_suite(
    "offline",
    tuple(upgrade for upgrade in kip_268_upgrades() if upgrade.plan is Plan.OFFLINE),
    SweepConfig(wait_for_quiescence=True, runs=7),
)


@pytest.fixture(scope="module", autouse=True)
def _small_slices():
    """Slices of one job and small waves, so that there are some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streams_assignor.spark_sim.sweep.work_units.COST_OF_A_TASK", 1)
        patch.setattr(engine, "TASKS_PER_CORE", 1)
        patch.setattr(engine, "MOST_TASKS_PER_CORE", 1)
        yield


@pytest.fixture(scope="module")
def by_processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes") / "out"
    run_sweep(SMALL, folder, master=PROCESSES)
    return folder


@pytest.fixture
def bare_python(tmp_path, monkeypatch):
    """Workers' Python with what ``mapInArrow`` needs, and nothing of the project."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("pyarrow",):
        origin = Path(find_spec(name).origin).parent
        for found in origin.parent.glob(f"{name}*"):
            (packages / found.name).symlink_to(found)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(python))


def stored(folder, table):
    return sorted(map(repr, LocalTables(folder).read(table)))


@pytest.mark.usefixtures("bare_python")
def test_a_cluster_gives_the_same_and_a_worker_that_is_lost_changes_nothing(by_processes, tmp_path):
    """Both in one session, as a cluster takes its time to start."""
    whole, lossy = tmp_path / "whole", tmp_path / "lossy"
    given = [
        GivenCapture(path.stem, "", "", Capture.parse(path.read_text())) for path in sorted(CAPTURES.glob("*.json"))
    ]
    left = list[int]()
    with cluster(tmp_path / "cluster", workers=3) as started:

        def losing(worker):
            """Lose a worker once, in the middle, as there is something left to do."""

            def lose(progress):
                if progress.committed_units and len(left) < worker:
                    left.append(progress.units - progress.committed_units)
                    started.lose(worker)

            return lose

        with spark_session(started.url, print) as spark, on_session(spark) as on_cluster:
            run_sweep(SMALL, whole, master=started.url)
            run_sweep(SMALL, lossy, master=started.url, on_progress=losing(1))
            compared = compare_captures(given, judge, on_cluster, on_progress=losing(2))

    assert len(left) == 2
    assert all(left)
    for each in (whole, lossy):
        for name in ("matrix.json", "guide.json"):
            assert (by_processes / name).read_bytes() == (each / name).read_bytes()
        assert all(stored(by_processes, name) == stored(each, name) for name in TABLES)
    assert [judge(one.capture) for one in given] == compared
