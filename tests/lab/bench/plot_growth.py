"""A picture of how the time to assign tasks grows, to 5000 clients with 100000 tasks, beside n log n.

    pip install 'matplotlib>=3.9,<4'
    python -m tests.lab.bench.plot_growth tests/lab/bench/assignors-growth.svg

n is the number of tasks and members together; there are ten members, in five clients, for each hundred tasks. Cold and
warm are those of `bench_assignors`, each the median of some runs (one for the largest). The dotted lines are n log n
through the point of 50 clients with 1000 tasks.
"""

import sys
from math import log2

from tests.lab.bench.bench_assignors import cold, measured, warm

SIZES = [(number, 20 * number) for number in (5, 15, 50, 150, 500, 1500, 5000)]
ANCHOR = 2
WHAT = [
    ("high-availability", "none", "high availability"),
    ("sticky", "none", "sticky"),
    ("fallback-prior", "none", "fallback-prior"),
    ("high-availability", "min_traffic", "high availability, three racks"),
]


def seconds(assignor, strategy, number, tasks):
    """Cold and warm."""
    clients, ids = cold(number, tasks)
    runs = max(1, 20_000 // tasks)
    first, group, _ = measured(assignor, clients, ids, runs, strategy)
    second, _, _ = measured(assignor, warm(group), ids, runs, strategy)
    return first, second


def main(path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    plots = figure.subplots(1, 2, sharey=True)
    ns = [2 * number + tasks for number, tasks in SIZES]
    for assignor, strategy, label in WHAT:
        times = [seconds(assignor, strategy, *size) for size in SIZES]
        for (number, tasks), (first, second) in zip(SIZES, times, strict=True):
            print(f"{label}: {number} clients, {tasks} tasks: {first:.4f} cold, {second:.4f} warm", flush=True)
        for plot, its in zip(plots, zip(*times, strict=True), strict=True):
            [line] = plot.plot(ns, its, marker="o", markersize=4, label=label)
            start = its[ANCHOR] / (ns[ANCHOR] * log2(ns[ANCHOR]))
            plot.plot(ns, [start * n * log2(n) for n in ns], linestyle=":", linewidth=1, color=line.get_color())
    for plot, title in zip(plots, ("cold: a new group", "warm: one client lost"), strict=True):
        plot.set(title=title, xlabel="tasks and members", xscale="log", yscale="log")
        plot.grid(alpha=0.3)
    plots[0].set_ylabel("seconds")
    plots[0].plot([], [], linestyle=":", color="gray", label="n log n")
    plots[0].legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1])
