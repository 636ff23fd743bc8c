"""Memory, threads and descriptors of the workers of a run: a figure, and the trend of each life.

    pip install 'matplotlib>=3.9,<4'
    python -m tests.lab.chaos.plot_resources FOLDER/resources.csv tests/lab/chaos/chaos-resources.svg

``python -m tests.lab.chaos --keep`` leaves the file. Exit status 1 if a life gains more than ``resources`` allows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from tests.lab.chaos.resources import Sample, Trend, read_samples, trends

_FIGURES = {"memory_mb": "resident memory, MB", "threads": "threads", "descriptors": "descriptors"}
_POINTS = 45
"""So many of each life, which makes a figure of a few kilobytes."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path)
    parser.add_argument("figure", type=Path, nargs="?")
    options = parser.parse_args()
    samples = read_samples(options.samples)
    found = trends(samples)
    print("\n".join(table(found)))
    if options.figure:
        plot(samples, options.figure)
    return int(any(trend.problems for trend in found))


def table(found: Sequence[Trend]) -> list[str]:
    """Return the rows of the table of chaos.md."""
    return [
        "| member | minutes | memory, MB | MB in ten minutes | threads | descriptors |",
        "|---|---:|---:|---:|---:|---:|",
        *(
            f"| {trend.member}: {trend.worker} | {trend.minutes} | {trend.memory_mb:.1f} | {trend.growth_mb:+.2f} | "
            f"{trend.threads[0]:g} to {trend.threads[1]:g} | {trend.descriptors[0]:g} to {trend.descriptors[1]:g} |"
            for trend in found
        ),
    ]


def plot(samples: Sequence[Sample], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 7), layout="constrained")
    panels = figure.subplots(3, sharex=True)
    colours: dict[str, Any] = {}
    by_life = attrgetter("member", "worker", "life")
    for (member, worker, _), lived in groupby(sorted(samples, key=by_life), key=by_life):
        lives = list(lived)
        several = lives[:: max(1, len(lives) // _POINTS)]
        minutes = [sample.seconds / 60 for sample in several]
        name = f"{member}: {worker}"
        colour = colours.get(name)
        for panel, (figures, label) in zip(panels, _FIGURES.items(), strict=True):
            (line,) = panel.plot(
                minutes,
                [getattr(sample, figures) for sample in several],
                color=colour,
                linewidth=1,
            )
            colour = line.get_color()
            panel.set_ylabel(label)
        colours[name] = colour
    for panel in panels:
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
    panels[-1].set_xlabel("minutes")
    for name, colour in colours.items():
        panels[0].plot([], [], color=colour, label=name)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize="small")
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    sys.exit(main())
