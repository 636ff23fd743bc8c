"""A sweep on Spark, in plain processes and in this one process: what distribution costs, how fast the simulation is.

    python tests/bench/bench_sweep.py [EVERY]

Sweeps every EVERYth upgrade of the KIP-268 matrix (default 4, so 21 of 84). ``share`` is the time that one process
needs, divided by the number of cores and by the time taken: 1.00 would be nothing wasted. Starting Spark is a line of
its own, as it is the same for a short sweep and a long one. The numbers are of one machine at one moment.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from spark_sim.java import find_java
from spark_sim.jobs import slices
from spark_sim.results import Sweep
from spark_sim.session import spark_session
from spark_sim.sweep import PROCESSES, compute, run_sweep
from upgrade.matrix import kip_268

CORES = len(os.sched_getaffinity(0))


def seconds(work):
    """Time and result of some work."""
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def swept(sweep, master):
    with tempfile.TemporaryDirectory() as folder:
        return seconds(lambda: run_sweep(sweep, Path(folder), master=master))[0]


def main(every=4):
    sweep = Sweep("bench", kip_268()[::every])
    alone, computed = seconds(lambda: [compute(work)[0] for work in slices(sweep.extent.jobs(sweep.upgrades))])
    runs = sum(map(len, computed))
    rebalances = sum(row.generations for rows in computed for row in rows)

    def line(name, took, cores):
        share = alone / cores / took
        print(f"{name:<18}{took:>9.1f}{runs / took:>9.0f}{rebalances / took / cores:>24.0f}{share:>8.2f}", flush=True)

    print(f"{len(sweep.upgrades)} upgrades, {runs:,} runs, {rebalances:,} rebalances, {CORES} cores")
    print(f"{'':<18}{'seconds':>9}{'runs/s':>9}{'rebalances/s and core':>24}{'share':>8}")
    line("one process", alone, 1)
    line("processes", swept(sweep, PROCESSES), CORES)
    session = spark_session("local[*]", find_java())
    start, _ = seconds(session.__enter__)
    line("Spark, started", swept(sweep, "local[*]"), CORES)
    session.__exit__(None, None, None)
    print(f"{'starting Spark':<18}{start:>9.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
