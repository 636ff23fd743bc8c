"""Processes that compute for a command: what reaches them, and when they end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from streams_assignor.spark_sim.jobs.worker_pool import WorkerPool
from streams_assignor.spark_sim.sweep.tables.local import LocalTables
from streams_assignor.spark_sim.sweep.tables.parquet import TablesError

ROOT = Path(__file__).parents[2]
KILLED = """
import os, signal
from streams_assignor.spark_sim.jobs.worker_pool import WorkerPool

if __name__ == "__main__":
    print(WorkerPool(1).submit(abs, -7).result(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_ctrl_c_reaches_no_worker_and_still_reaches_the_sweep():
    """A worker that was just starting answered a Ctrl-C in the first second of a sweep with a traceback."""
    with WorkerPool(1) as pool:
        held_back = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, []).result()

    assert signal.SIGINT in held_back
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_workers_end_when_their_command_is_killed():
    """They waited for their next slice for ever. They hold its output open, so a reader of it notices."""
    killed = subprocess.run([sys.executable, "-c", KILLED], cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=120)

    assert (-signal.SIGKILL, "7\n") == (killed.returncode, killed.stdout)


@pytest.mark.timeout(120)
def test_ctrl_c_ends_a_worker_in_the_middle_of_its_task():
    """An audit waited for the end of its largest partition."""
    pool = WorkerPool(1)
    with pool:
        busy = pool.submit(signal.pause)
        pool.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)

        assert busy.exception() is not None


def test_a_folder_of_a_table_that_cannot_be_read_is_not_left_out(tmp_path, monkeypatch):
    """Glob left it out: the table had fewer rows without a word. (A test that runs as root has every permission.)"""
    scandir = os.scandir

    def denied(folder):
        if str(folder).endswith("part"):
            raise PermissionError(13, "Permission denied", str(folder))
        return scandir(folder)

    (tmp_path / "kinds" / "part").mkdir(parents=True)
    monkeypatch.setattr(os, "scandir", denied)

    with pytest.raises(TablesError, match="part cannot be read: Permission denied"):
        LocalTables(tmp_path).read("kinds")
    assert LocalTables(tmp_path).read("runs") == []
