"""Exploration against Stateright and SPIN: the same cells, the same properties, equal counts, one core each.

    python tests/lab/bench/bench_explore.py [ROUNDS]

The first cell fails (KAFKA-8649). The second one is safe: there ``any size`` is the search of views, which answers for
all numbers of members and any number of faults. The last column says how many times its seconds a search takes that
answers for one number. Stateright checks two of the six properties of ours.

The models are in ``peers/``; Stateright needs cargo, SPIN needs spin and gcc (what is not there is left out). A line is
the median of ROUNDS (default 5) alternating rounds. Seconds are those of the CPU, user and system, as the machine may
have others to serve; for the peers of their whole process. ``up to names``: members that are alike are one; Stateright
does it with a sorted state, breadth first or with its own symmetry reduction (depth first). ``names``: SPIN cannot.
How many states and transitions there are with names follows from ours: each state stands for all orders of its
members; no program is run above a million states. A model that counts anything else ends the bench.
"""

import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from math import factorial, prod
from pathlib import Path

from streams_assignor.spark_sim.packed import FaultBudget, UpgradeCell
from streams_assignor.spark_sim.packed.any_size import explore_any_size
from streams_assignor.spark_sim.packed.bfs import bfs
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.search.model import LABEL_UNIT
from streams_assignor.upgrade.plans import Plan, Upgrade
from streams_assignor.upgrade.releases import release_named

PEERS = Path(__file__).parent / "peers"
FAILS, SAFE = (Upgrade(release_named("2.0.1"), release_named(to), Plan.ONE_BOUNCE) for to in ("2.1.1", "2.3.1"))
SIZES = {
    FAILS: [(2, 1, 1), (3, 0, 0), (3, 1, 1), (4, 0, 0), (4, 1, 1), (5, 0, 0)],
    SAFE: [(3, 0, 0), (4, 0, 0), (5, 0, 0), (6, 0, 0), (3, 1, 1), (4, 1, 1)],
}
FEATURES = {FAILS: (), SAFE: ("--features", "fixed")}
MOST_NAMED = 1_000_000
CANONICAL, NAMED = "up to names", "names"


def cell_of(upgrade, size):
    """The cell of a number of members, crashes and late members."""
    members, crashes, rebalance_timeouts = size
    return UpgradeCell(upgrade, members, FaultBudget(crashes, rebalance_timeouts))


def named(graph):
    """The number of states and transitions with named members."""
    multiplicities = [
        factorial(len(parts)) // prod(map(factorial, Counter(parts).values())) for parts in graph.process_states[1:]
    ]
    moves = [sum(label % LABEL_UNIT for label in graph.labels[a:b]) for a, b in pairwise(graph.edge_offsets[1:])]
    return sum(multiplicities), sum(each * move for each, move in zip(multiplicities, moves, strict=True))


def of_any_size(upgrade):
    """Views, parts and CPU seconds of the search for groups of any size."""
    begun = time.process_time()
    found = explore_any_size(UpgradeCell(upgrade), 1)
    assert found.safe
    return found.views, found.parts, time.process_time() - begun


def explored(cell):
    """States, transitions and CPU seconds of our own search."""
    begun = time.process_time()
    graph = bfs(Encoding(cell))
    return graph.state_count, graph.transition_count, time.process_time() - begun


def timed(*command, cwd=None):
    """What a command prints, and the CPU seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = subprocess.run([*map(str, command)], check=True, cwd=cwd, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return printed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def built_stateright(upgrade):
    """Build the Cargo project for an upgrade; return its program, which another build replaces."""
    folder = PEERS / "stateright"
    command = ["cargo", "build", "--quiet", "--release", "--locked", *FEATURES[upgrade]]
    subprocess.run(command, check=True, cwd=folder)
    return Path(os.environ.get("CARGO_TARGET_DIR", folder / "target")) / "release" / "bounces"


def stateright(program, how, size):
    """States, transitions and CPU seconds of Stateright."""
    printed, took = timed(program, how, *size)
    found = json.loads(printed)
    assert found["well"], "what the others hold does not hold here"
    return found["states"], found["transitions"], took


def built_spin(folder, size):
    """Make and compile SPIN's verifier for a cell."""
    here = Path(folder, "-".join(map(str, size)))
    here.mkdir()
    defined = [f"-D{name}={value}" for name, value in zip(("N", "CRASHES", "LATES"), size, strict=True)]
    timed("spin", *defined, "-a", PEERS / "spin" / "bounces.pml", cwd=here)
    timed("gcc", "-O2", "-w", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DMEMLIM=8192", "-o", "pan", "pan.c", cwd=here)
    return here


def spin(here, size):
    """States, transitions and CPU seconds of SPIN, without what its model has more of (see there)."""
    printed, took = timed("./pan", "-c0", "-m1000000", "-w22", cwd=here)
    stored, transitions = (int(re.search(rf"(\d+) {what}", printed)[1]) for what in ("states, stored", "transitions"))
    return stored - 2, transitions - size[0] - 1, took


def contestants(upgrade, size, program, folder):
    """Yield the name, the kind of counts and the run of each."""
    yield "plain Python", CANONICAL, lambda: explored(cell_of(upgrade, size))
    if program:
        yield "Stateright, breadth first", CANONICAL, lambda: stateright(program, "canonical", size)
        yield "Stateright, symmetry", CANONICAL, lambda: stateright(program, "symmetry", size)
        yield "Stateright, breadth first", NAMED, lambda: stateright(program, "raw", size)
    if upgrade == FAILS and shutil.which("spin") and shutil.which("gcc"):
        here = built_spin(folder, size)
        yield "SPIN", NAMED, lambda: spin(here, size)


def print_line(what, name, kind, counts, seconds, reference):
    """Print a line; ``reference`` is the time of the search for any size, if there is one."""
    states, transitions = counts
    times = f"{seconds / reference:>9.2f}" if reference else ""
    counted = f"{states:>10,}{transitions:>13,}{seconds:>9.3f}{transitions / seconds / 1e6:>8.2f}"
    print(f"{what:<25}{name:<27}{kind:<13}{counted}{times}", flush=True)


def compare(upgrade, rounds):
    """Run all searches of a cell, and print their medians."""
    program = built_stateright(upgrade) if shutil.which("cargo") else None
    print(f"{upgrade.origin.name} to {upgrade.target.name}")
    reference = None
    if upgrade == SAFE:
        runs = [of_any_size(upgrade) for _ in range(rounds)]
        reference = statistics.median(seconds for *_, seconds in runs)
        print_line("any, any, any", "plain Python", "any size", runs[0][:2], reference, reference)
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES[upgrade]:
            graph = bfs(Encoding(cell_of(upgrade, size)))
            counts = {CANONICAL: (graph.state_count, graph.transition_count), NAMED: named(graph)}
            runs = [each for each in contestants(upgrade, size, program, folder) if counts[each[1]][0] <= MOST_NAMED]
            took = {each[:2]: [] for each in runs}
            for _ in range(rounds):
                for name, kind, run in runs:
                    states, transitions, seconds = run()
                    assert (states, transitions) == counts[kind], f"{name}: {states}, {transitions}, not {counts[kind]}"
                    took[name, kind].append(seconds)
            for (name, kind), all_seconds in took.items():
                seconds = statistics.median(all_seconds)
                print_line(", ".join(map(str, size)), name, kind, counts[kind], seconds, reference)


def main(rounds=5):
    print(f"{rounds} rounds; {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f} at the beginning")
    columns = f"{'states':>10}{'transitions':>13}{'CPU s':>9}{'M/s':>8}{'times':>9}"
    print(f"{'members, crashes, late':<25}{'':<27}{'':<13}{columns}")
    for upgrade in SIZES:
        compare(upgrade, rounds)
    print(f"load {os.getloadavg()[0]:.0f} at the end")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
