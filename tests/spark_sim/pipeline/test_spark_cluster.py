"""Sweeps on a Spark cluster of several processes: the same results, with bare workers, and if one is lost."""

import json
import sys

import pytest

from spark_sim.pipeline import sweep
from spark_sim.pipeline.spark.java import find_java
from spark_sim.pipeline.spark.session import spark_session
from spark_sim.pipeline.suites import upgrade_suite
from spark_sim.pipeline.sweep import PROCESSES, run_sweep
from spark_sim.pipeline.work_units import SweepConfig
from tests.spark_sim.pipeline.spark_cluster import cluster
from upgrade import Plan
from upgrade.plans import kip_268_upgrades

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

SMALL = upgrade_suite(
    "offline",
    tuple(upgrade for upgrade in kip_268_upgrades() if upgrade.plan is Plan.OFFLINE),
    SweepConfig(wait_for_quiescence=True, runs=7),
)


@pytest.fixture(scope="module", autouse=True)
def _small_slices():
    """Slices of one job and small waves, so that there are some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spark_sim.pipeline.work_units.COST_OF_A_PARTITION", 1)
        patch.setattr(sweep, "BATCH_PER_CORE", 1)
        yield


@pytest.fixture(scope="module")
def by_processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes") / "out"
    run_sweep(SMALL, folder, master=PROCESSES)
    return folder


@pytest.fixture
def bare_python(tmp_path, monkeypatch):
    """Workers' Python without site-packages: neither the project nor anything that is installed beside it."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(python))


def rows_by_processes(folder):
    files = folder.glob("runs/*.jsonl")
    return sorted(tuple(json.loads(line).values()) for file in files for line in file.read_text().splitlines())


@pytest.mark.usefixtures("bare_python")
def test_a_cluster_gives_the_same_and_a_worker_that_is_lost_changes_nothing(by_processes, tmp_path):
    """Both in one session, as a cluster takes its time to start."""
    whole, lossy = tmp_path / "whole", tmp_path / "lossy"
    with cluster(tmp_path / "cluster") as started:
        lost = []

        def lose_one(progress):
            if progress.committed_partitions and not lost:
                lost.append(progress.partitions - progress.committed_partitions)
                started.lose(1)

        with spark_session(started.url, find_java()) as session:
            run_sweep(SMALL, whole, master=started.url)
            run_sweep(SMALL, lossy, master=started.url, on_progress=lose_one)
            stored = [sorted(map(tuple, session.read.parquet(str(each / "runs")).collect())) for each in (whole, lossy)]

    assert lost[0] > 0  # in the middle, as there was something left to do
    assert [rows_by_processes(by_processes)] * 2 == stored
    for name in ("matrix.json", "guide.json"):
        expected = (by_processes / name).read_bytes()
        assert [expected] * 2 == [(each / name).read_bytes() for each in (whole, lossy)]
    done = [json.loads((each / "manifest.json").read_text())["done"] for each in (by_processes, whole, lossy)]
    assert done[0] == done[1] == done[2]
