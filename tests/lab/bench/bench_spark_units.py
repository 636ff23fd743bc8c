"""What Spark adds to work units of one second, and to very many of one millisecond; and one core beside two.

    python -m tests.lab.bench.bench_spark_units [SECONDS_UNITS [LARGEST]]

1. SECONDS_UNITS units (default 100) that compute for about one second each, as plain processes and on Spark, on one
   core and on two. The start of Spark has a column of its own, because it does not grow with the units.
2. 10^4, 10^5, ... LARGEST (default 10^6) units whose estimated cost is one millisecond and that compute nothing: all
   that they take is scheduling. They are cut, sent, committed, read back and merged into tables like all others. The
   goal is that the cost per unit grows by 1.5 per decade at most.

Seconds depend on what else runs; ``cpu`` is the CPU seconds of all processes, JVMs too. It takes about nine minutes.
"""

import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES
from streams_assignor.spark_sim.sweep.spark.session import spark_session
from streams_assignor.spark_sim.sweep.suites import upgrade_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.work_units import SweepConfig
from streams_assignor.upgrade.plans import kip_268_upgrades
from tests.lab.bench.bench_sweep import measured
from tests.lab.bench.synthetic_units import SyntheticUnit, compute


def thousands_per_second():
    """How many thousand hashes a core computes in a second, now."""
    begun = time.process_time()
    compute(300)
    return round(300 / (time.process_time() - begun))


def synthetic(count, seconds, thousands):
    """A sweep of so many units over KIP-268's upgrades."""
    suite = upgrade_suite("synthetic", kip_268_upgrades(), SweepConfig(runs=0))
    cells = [unit.cell for unit in suite.units]
    units = (SyntheticUnit(cells[number % len(cells)], number, seconds, thousands) for number in range(count))
    return suite.with_units(units)


def swept(suite, master, cores):
    with (
        tempfile.TemporaryDirectory() as folder,
        patch("streams_assignor.spark_sim.jobs.engine.available_cores", lambda: cores),
    ):
        return measured(lambda: run_sweep(suite, Path(folder), master=master))[:2]


def one_second_units(count):
    suite, found = synthetic(count, 1, thousands_per_second()), {}
    print(f"{count} units of about one second\n{'':<12}{'cores':>6}{'seconds':>9}{'cpu':>9}{'start':>8}")

    def show(way, cores, start=""):
        seconds, cpu = found[way, cores]
        print(f"{way:<12}{cores:>6}{seconds:>9.1f}{cpu:>9.1f}{start:>8}", flush=True)

    for cores in (1, 2):
        found[PROCESSES, cores] = swept(suite, PROCESSES, cores)
        show(PROCESSES, cores)
        session = spark_session(f"local[{cores}]", lambda _line: None)
        start = measured(session.__enter__)[0]
        found["Spark", cores] = swept(suite, f"local[{cores}]", cores)
        session.__exit__(None, None, None)
        show("Spark", cores, f"{start:.1f}")
    for cores in (1, 2):
        both = zip(found["Spark", cores], found[PROCESSES, cores], strict=True)
        seconds, cpu = (spark / plain - 1 for spark, plain in both)
        print(f"Spark beside processes, {cores} cores: {seconds:+.1%} seconds, {cpu:+.1%} cpu (goal: below 5 %)")
    for way in (PROCESSES, "Spark"):
        print(f"from one core to two, {way}: {found[way, 1][0] / found[way, 2][0]:.2f} times as fast")


def many_units(largest):
    print("units that compute nothing, estimated at one millisecond each, Spark local[2]")
    print(f"{'units':>9}{'seconds':>9}{'cpu':>9}{'us/unit':>9}{'cpu us':>9}{'growth':>8}")
    with spark_session("local[2]", lambda _line: None):
        swept(synthetic(100, 0.001, 0), "local[2]", 2)
        before, count = None, 10_000
        while count <= largest:
            seconds, cpu = swept(synthetic(count, 0.001, 0), "local[2]", 2)
            each = [f"{1_000_000 * spent / count:>9.0f}" for spent in (seconds, cpu)]
            growth = f"{seconds / count / before:>8.2f}" if before else ""
            print(f"{count:>9}{seconds:>9.1f}{cpu:>9.1f}{''.join(each)}{growth}", flush=True)
            before, count = seconds / count, 10 * count


def main(units=100, largest=1_000_000):
    if units:
        one_second_units(units)
    many_units(largest)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
