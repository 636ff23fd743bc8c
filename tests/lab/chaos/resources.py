"""Memory, threads and descriptors of the workers: sampled, written to a file, and judged."""

from __future__ import annotations

import csv
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from threading import Event, Thread
from typing import Final, Self

from attrs import asdict, fields, frozen

EVERY_SECONDS: Final = 5.0
WARM_UP_SECONDS: Final = 300.0
LEAST_SECONDS: Final = 600.0
"""A shorter life, after its warm-up, is not judged."""
MOST_MB: Final = 1.0
MOST_THREADS: Final = 1
MOST_DESCRIPTORS: Final = 2
"""What a life may gain: resident memory in ten minutes; threads and descriptors from its first third to its last."""

_PROC: Final = Path("/proc")


@frozen
class Sample:
    """What a worker used at a moment; ``seconds`` since the run began."""

    seconds: float
    member: str
    worker: str
    life: int
    memory_mb: float
    threads: int
    descriptors: int


COLUMNS: Final = tuple(field.name for field in fields(Sample))


@frozen
class Trend:
    """How one life of a worker went after its warm-up: ``growth_mb`` in ten minutes, medians of the first and last
    third of the other figures."""

    member: str
    worker: str
    life: int
    minutes: float
    memory_mb: float
    growth_mb: float
    threads: tuple[float, float]
    descriptors: tuple[float, float]

    @property
    def problems(self) -> list[str]:
        grown = {
            "MB in ten minutes": (self.growth_mb, MOST_MB),
            "threads": (self.threads[1] - self.threads[0], MOST_THREADS),
            "descriptors": (self.descriptors[1] - self.descriptors[0], MOST_DESCRIPTORS),
        }
        return [
            f"{self.member} ({self.worker}) gains {gain:.1f} {what}"
            for what, (gain, most) in grown.items()
            if gain > most
        ]


class ResourceSampler:
    """Samples processes until the end of the block, on a thread.

    Args:
        path: the file of the samples, which must not exist.
        processes: returns member, worker, life and process id of each.
    """

    def __init__(self, path: Path, processes: Callable[[], Iterable[tuple[str, str, int, int]]]) -> None:
        self._path, self._processes = path, processes
        self.begun = time.monotonic()
        self._stopping = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        with self._path.open("x", newline="") as file:
            rows = csv.DictWriter(file, COLUMNS)
            rows.writeheader()
            while not self._stopping.wait(EVERY_SECONDS):
                for member, worker, life, process in self._processes():
                    with suppress(OSError, KeyError):  # it has just ended
                        used = usage(process)
                        seconds = round(time.monotonic() - self.begun, 1)
                        rows.writerow(asdict(Sample(seconds, member, worker, life, *used)))
                file.flush()


def usage(process: int) -> tuple[float, int, int]:
    """Return resident memory in MB, threads and descriptors of a process; OSError or KeyError if it is gone."""
    lines = (_PROC / str(process) / "status").read_text().splitlines()
    status: Mapping[str, str] = dict(line.split(":", 1) for line in lines)
    memory = int(status["VmRSS"].split()[0]) * 1024 / 1e6
    return round(memory, 2), int(status["Threads"]), sum(1 for _ in (_PROC / str(process) / "fd").iterdir())


def read_samples(path: Path) -> list[Sample]:
    with path.open(newline="") as file:
        return [
            Sample(
                float(row["seconds"]),
                row["member"],
                row["worker"],
                int(row["life"]),
                float(row["memory_mb"]),
                int(row["threads"]),
                int(row["descriptors"]),
            )
            for row in csv.DictReader(file)
        ]


def trends(samples: Iterable[Sample], *, warm_up: float = WARM_UP_SECONDS, least: float = LEAST_SECONDS) -> list[Trend]:
    """Judge each life that is long enough."""
    found = []
    for (member, worker, life), several in groupby(sorted(samples, key=_life), key=_life):
        lived = list(several)
        steady = [sample for sample in lived if sample.seconds >= lived[0].seconds + warm_up]
        if steady and steady[-1].seconds - steady[0].seconds >= least:
            found.append(_trend(member, worker, life, steady))
    return found


def _life(sample: Sample) -> tuple[str, str, int]:
    return sample.member, sample.worker, sample.life


def _trend(member: str, worker: str, life: int, steady: Sequence[Sample]) -> Trend:
    seconds, memory = [sample.seconds for sample in steady], [sample.memory_mb for sample in steady]
    third = len(steady) // 3
    first, last = steady[:third], steady[-third:]
    return Trend(
        member,
        worker,
        life,
        minutes=round((seconds[-1] - seconds[0]) / 60, 1),
        memory_mb=statistics.median(memory),
        growth_mb=round(statistics.linear_regression(seconds, memory).slope * 600, 2),
        threads=_medians(first, last, lambda sample: sample.threads),
        descriptors=_medians(first, last, lambda sample: sample.descriptors),
    )


def _medians(first: Sequence[Sample], last: Sequence[Sample], figure: Callable[[Sample], int]) -> tuple[float, float]:
    return statistics.median(map(figure, first)), statistics.median(map(figure, last))
