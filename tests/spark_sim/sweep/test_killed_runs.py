"""Sweeps, audits and comparisons that are killed at many moments: the same command ends with the bytes of another run.


    pytest -m exhaustive tests/spark_sim/sweep/test_killed_runs.py -s

24 kills in the middle of the work; test_faults_of_writing.py has one at every system call that changes the results.
"""

import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from streams_assignor.spark_sim.audit.captures import RESULTS as COMPARISON
from streams_assignor.spark_sim.audit.job import RESULTS
from streams_assignor.spark_sim.sweep.tables.schema import TABLES
from tests.spark_sim.sweep import drivers

pytestmark = [pytest.mark.exhaustive, pytest.mark.slow, pytest.mark.timeout(7200)]

SWEEP = (*drivers.SMALL, "--master", "processes")
SWEEP_KILLS = range(1, 28, 2)
"""So many units are committed, at least, when a sweep is killed."""
AUDIT_KILLS = range(7)
"""So many partitions are finished when an audit is killed."""
COMPARISON_KILLS = (1, 5, 11)
"""So many captures are committed, at least, when a comparison is killed."""
SEGMENTS = sorted((Path(__file__).parents[1] / "audit").glob("*segments/__consumer_offsets-*"))
KILLED_AUDIT = """
import os, signal, sys
from pathlib import Path
from streams_assignor.spark_sim.audit import partition_audit
from streams_assignor.spark_sim.audit.job import run_audit
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter
from streams_assignor.spark_sim.audit.sources import segments_source
from streams_assignor.spark_sim.jobs.engine import open_processes

def on_progress(progress):
    if progress.committed_units >= int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    if sys.argv[3] == "0":
        partition_audit.TableWriter = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    kept = AuditFilter(finds_bounces=True)
    with open_processes(1 if sys.argv[3] == "0" else 2) as engine:
        run_audit(segments_source(sys.argv[1]), Path(sys.argv[2]), kept, engine=engine, on_progress=on_progress)
"""


def content(folder, names):
    """The bytes of each file of the results."""
    return {
        str(each.relative_to(folder)): each.read_bytes()
        for name in names
        for each in [folder / name, *(folder / name).rglob("*")]
        if each.is_file()
    }


def test_a_killed_sweep_resumes_to_identical_bytes(tmp_path):
    names = (*drivers.EXPORTS, "report.html")
    drivers.run("sweep", *SWEEP, "--out", tmp_path / "undisturbed")
    expected, rows = content(tmp_path / "undisturbed", names), tables(tmp_path / "undisturbed")
    for units in SWEEP_KILLS:
        out = tmp_path / str(units)
        drivers.run("sweep", *SWEEP, "--out", out, environment={drivers.KILL_AT: str(units)}, status=-signal.SIGKILL)
        printed = drivers.run("sweep", *SWEEP, "--out", out)

        assert f"of {drivers.UNITS} units are finished" in printed
        assert content(out, names) == expected, units
        assert tables(out) == rows, units
        shutil.rmtree(out)
    print(f"{len(SWEEP_KILLS)} killed sweeps resumed to identical bytes")


def tables(folder):
    """The rows of the tables of a sweep; which file has which row depends on where it was killed."""
    import pyarrow.parquet as pq

    return {name: sorted(map(repr, pq.read_table(folder / name).to_pylist())) for name in TABLES}


def test_a_killed_audit_resumes_to_identical_bytes(tmp_path):
    segments = tmp_path / "segments"
    for number in range(AUDIT_KILLS.stop):
        shutil.copytree(SEGMENTS[number % len(SEGMENTS)], segments / f"__consumer_offsets-{number}")
    command = ("audit", "--segments", segments, "--conform", "--processes", "2", "--out")
    drivers.run(*command, tmp_path / "undisturbed")
    drivers.run(*command, tmp_path / "earlier", "--no-commits")
    expected = content(tmp_path / "undisturbed", RESULTS.names)
    for partitions in AUDIT_KILLS:
        out = tmp_path / str(partitions)
        shutil.copytree(tmp_path / "earlier", out)
        arguments = [str(segments), str(out), str(partitions)]
        killed = subprocess.run([sys.executable, "-c", KILLED_AUDIT, *arguments], cwd=drivers.ROOT)
        assert killed.returncode == -signal.SIGKILL, partitions
        earlier = content(tmp_path / "earlier", RESULTS.names)
        assert earlier == {path: content(out, RESULTS.names).get(path) for path in earlier}, "it is as it was"
        if partitions % 2:
            (out / RESULTS.names[-1]).unlink()  # as a killed publication leaves it
        printed = drivers.run(*command, out)

        assert not partitions or f"of {AUDIT_KILLS.stop} units are finished" in printed, printed
        assert content(out, RESULTS.names) == expected, partitions
        assert not [each for each in out.iterdir() if each.name.startswith(".")], partitions
        assert "has these results already" in drivers.run(*command, out)
        shutil.rmtree(out)
    print(f"{len(AUDIT_KILLS)} killed audits resumed to identical bytes")


def test_a_killed_comparison_resumes_to_identical_bytes(tmp_path):
    command = ("conform", *sorted((drivers.ROOT / "tests/captures").glob("*.json")), "--processes", "2", "--out")
    drivers.run(*command, tmp_path / "undisturbed")
    expected = content(tmp_path / "undisturbed", COMPARISON.names)
    for captures in COMPARISON_KILLS:
        out = tmp_path / str(captures)
        with drivers.start(*command, out, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
            while driver.poll() is None and len([*out.glob("units/batch=*/part-0.parquet")]) < captures:
                time.sleep(0.01)
            driver.kill()
        assert driver.returncode == -signal.SIGKILL, captures
        printed = drivers.run(*command, out)

        assert re.search(r"resuming .*: \d+ of 16 units are finished", printed), printed
        assert content(out, COMPARISON.names) == expected, captures
        assert not [each for each in out.iterdir() if each.name.startswith(".")], captures
    print(f"{len(COMPARISON_KILLS)} killed comparisons resumed to identical bytes")
