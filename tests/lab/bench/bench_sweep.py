"""A sweep on Spark, in plain processes and in this one process: what distribution costs, in time and in CPU.

    python tests/lab/bench/bench_sweep.py [EVERY]

Sweeps every EVERYth upgrade of all there are (default 20: 1,862 of 37,231), three members, every schedule with one
crash and one late member, a patient operator, four real runs each: as ``sweep --matrix all`` does. ``cpu`` are the CPU
seconds of all processes that took part, JVMs too, from the start of the sweep to its end; ``waste`` is what they are
more than those of the slices computed one after the other in this process, and ``share`` the time of that divided by
the number of cores and by the time taken: 1.00 would be nothing wasted. On a busy machine only ``cpu`` means something.
Starting Spark is a line of its own, as it is the same for a short sweep and a long one. Each way is measured after the
one before, ROUNDS times in turn; the least is reported, as other load can only add to it.
"""

import os
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES
from streams_assignor.spark_sim.sweep.spark.session import spark_session
from streams_assignor.spark_sim.sweep.suites import upgrade_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.work_units import SweepConfig, cut_into_tasks, unit_key
from streams_assignor.spark_sim.sweep.worker import compute_unit
from streams_assignor.upgrade.plans import all_upgrades

CORES = len(os.sched_getaffinity(0))
ROUNDS = 2
TICK = os.sysconf("SC_CLK_TCK")


def cpu():
    """CPU seconds so far of this process and of each below it, with those that it has waited for."""
    children, own = defaultdict(list), {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        children[int(fields[1])].append(int(stat.parent.name))
        own[int(stat.parent.name)] = sum(map(int, fields[11:15])) / TICK
    found, waiting = {}, [os.getpid()]
    while waiting:
        process = waiting.pop()
        found[process] = own.get(process, 0)
        waiting += children[process]
    return found


def measured(work):
    """Wall seconds, CPU seconds and result of some work."""
    before, begun = cpu(), time.perf_counter()
    result = work()
    seconds, after = time.perf_counter() - begun, cpu()
    # Spark's idle workers go when they like, and no process adds up what they had done.
    return seconds, sum(spent - before.get(process, 0) for process, spent in after.items()), result


def swept(sweep, master):
    with tempfile.TemporaryDirectory() as folder:
        return measured(lambda: run_sweep(sweep, Path(folder), master=master))[:2]


def alone(sweep):
    return measured(lambda: [compute_unit(unit_key(each), each) for each in sweep.units])[:2]


def main(every=20):
    sweep = upgrade_suite("bench", all_upgrades()[::every], SweepConfig(wait_for_quiescence=True, runs=4))
    tasks = cut_into_tasks(sweep.units, lambda each: each.cost)
    print(f"{len(sweep.cells)} upgrades, {len(sweep.units)} units, {len(tasks)} tasks, {CORES} cores")
    session = spark_session("local[*]", print)
    start = measured(session.__enter__)[:2]
    ways = {
        "one process": lambda: alone(sweep),
        "processes": lambda: swept(sweep, PROCESSES),
        "Spark, started": lambda: swept(sweep, "local[*]"),
    }
    found = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            found[name].append(way())
            print(f"  {name}: {found[name][-1][0]:.1f} s, {found[name][-1][1]:.1f} CPU s", flush=True)
    session.__exit__(None, None, None)
    least = {name: tuple(map(min, zip(*each, strict=True))) for name, each in found.items()}
    seconds, spent = least["one process"]
    print(f"{'':<18}{'seconds':>9}{'share':>8}{'cpu':>9}{'waste':>8}")
    for name, (took, used) in least.items():
        cores = 1 if name == "one process" else CORES
        print(f"{name:<18}{took:>9.1f}{seconds / cores / took:>8.2f}{used:>9.1f}{used / spent - 1:>8.1%}")
    print(f"{'starting Spark':<18}{start[0]:>9.1f}{'':>8}{start[1]:>9.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
