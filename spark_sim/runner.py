"""Somewhere to compute slices, seen from the sweep: ``waves`` has it on Spark, ``workers`` in processes of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path

from attrs import frozen

from spark_sim.jobs import Slice
from spark_sim.results import SliceResult

Written = list[tuple[SliceResult, Path | None]]


@frozen
class Runner:
    """Somewhere to compute waves of slices: ``cores()`` says on how many cores, as those of a cluster turn up slowly.

    ``compute`` runs in ``pool`` and writes the rows of each slice into a file in the folder it is given; ``alone``: a
    wave is one slice; ``heard`` tells what is written of waves that are not done; ``cancel`` makes all waves fail soon.
    """

    pool: Executor
    compute: Callable[[Sequence[Slice], Path], Written]
    alone: bool
    cores: Callable[[], int]
    cancel: Callable[[], None]
    heard: Callable[[], Written] = list


Tell = Callable[[str], None]
"""Tells a person where it is done."""
