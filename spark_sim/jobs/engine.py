"""Where the work of a command runs: on Spark, or in processes of this machine.

A command cuts its work into units. An engine computes them in batches, the costliest first, and hands on the results as
they come. There are two engines: ``Processes``, and that of a Spark session (``spark_sim.sweep.spark.executor``). They
share the scheduler, ``WorkEngine.run``. The results of a unit are the same on both.
"""

from __future__ import annotations

import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final, Generic, TypeAlias, TypeVar

from attrs import define, field, frozen

from streams_assignor.codec import StreamsAssignorError
from streams_assignor.spark_sim.jobs.worker_pool import WorkerPool

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R")

Log = Callable[[str], None]
"""Prints a line for the user."""

NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})
TASKS_PER_CORE: Final = 2
"""Tasks of a batch for each core, at first: a commit costs Spark a third of a second, so batches grow."""
MOST_TASKS_PER_CORE: Final = 16
MAX_BATCH_SHARE: Final = 1 / 4
"""A batch that has grown has at most this share of the finished tasks: a killed driver loses two batches at most."""
BATCHES_IN_FLIGHT: Final = 2
"""Batches that are computed at the same time: the last tasks of one leave no core idle."""
TICK_SECONDS: Final = 0.2


class EngineError(StreamsAssignorError):
    """A worker failed: it was lost, or its disk is full. Finished work is not lost."""


def available_cores() -> int:
    """Return the cores of this machine that this process may use."""
    return len(os.sched_getaffinity(0))


@frozen
class WorkProgress:
    """How far a command is."""

    units: int
    committed_units: int
    """The number of finished units."""
    seconds_left: float | None
    """None until the first unit is finished."""

    @property
    def detail(self) -> str:
        """The rest of a line about it."""
        return ""


Mapper: TypeAlias = "Callable[[U], Mapping[int, bytes]]"
"""Returns bytes by key."""
Reducer: TypeAlias = "Callable[[int, Iterator[bytes]], R]"


@define
class Schedule(Generic[T, R]):
    """How far the tasks of a run are."""

    left: list[tuple[float, T]]
    """Tasks that have not begun, with their costs, the costliest last."""
    cores: Callable[[], int]
    begun: float = field(factory=time.monotonic)
    done_cost: float = 0.0
    finished: int = 0
    """Finished tasks."""
    in_flight: dict[Future[R], list[float]] = field(factory=dict)
    """The costs of the tasks of each batch that is computed."""

    @property
    def is_finished(self) -> bool:
        """Whether all tasks are finished."""
        return not (self.left or self.in_flight)

    @property
    def seconds_left(self) -> float | None:
        """The estimate of the remaining seconds; None if nothing is done."""
        costs = [cost for batch in self.in_flight.values() for cost in batch]
        costs += (cost for cost, _ in self.left)
        return seconds_left(self.done_cost, costs, self.cores(), time.monotonic() - self.begun)


class WorkEngine(ABC):
    """Computes batches of tasks."""

    pool: Executor
    """The executor in which batches are computed."""
    one_task_per_batch: bool
    shares_files: bool
    """Whether workers see the files of this process."""

    @abstractmethod
    def cores(self) -> int:
        """Return the cores that are available now: those of a cluster arrive one after the other."""

    @abstractmethod
    def cancel(self) -> None:
        """Make all running batches fail soon."""

    @abstractmethod
    def caller(self, function: Callable[[U], R]) -> Callable[[Sequence[tuple[int, U]]], list[tuple[int, R]]]:
        """Return what computes a batch: it calls a function with each unit, and returns the results by its number."""

    def map(
        self,
        function: Callable[[U], R],
        units: Sequence[U],
        cost: Callable[[U], float],
        on_progress: Callable[[WorkProgress], None] = lambda _progress: None,
    ) -> Iterator[tuple[int, R]]:
        """Yield the results of a function with the places of their units, as they come.

        Args:
            function: Can be pickled, as units and results can. A ``StreamsAssignorError`` of it is raised here.
            units: Its arguments.
            cost: Estimates the work of a unit.
            on_progress: Called several times a second.

        Raises:
            EngineError: A worker failed.
        """
        tasks = sorted(((cost(unit), (place, unit)) for place, unit in enumerate(units)), key=lambda task: task[0])
        with closing(self.run(self.caller(function), tasks)) as steps:
            for batches, schedule in steps:
                for results in batches:
                    yield from results
                on_progress(WorkProgress(len(units), schedule.finished, schedule.seconds_left))

    @abstractmethod
    def map_reduce(
        self,
        mapper: Mapper[U],
        reducer: Reducer[R],
        units: Sequence[U],
        keys: Sequence[int],
        on_progress: Callable[[WorkProgress], None] = lambda _progress: None,
    ) -> Iterator[tuple[int, R]]:
        """Yield the results of a reducer with their keys: it gets what a mapper makes of each unit for that key.

        Args:
            mapper: Returns bytes for each of the keys; it can be pickled, as units can.
            reducer: Called with a key, and its bytes in the order of the units.
            units: The arguments of the mapper.
            keys: The keys.
            on_progress: Called several times a second; each unit and each key counts as one.

        Raises:
            EngineError: A worker failed.
        """

    def run(
        self, compute: Callable[[Sequence[T]], R], tasks: Iterable[tuple[float, T]]
    ) -> Generator[tuple[list[R], Schedule[T, R]], None, None]:
        """Compute tasks in batches; yield the results of batches, several times a second those that are new.

        The work of each round does not grow with the number of tasks. The caller closes the iterator, which cancels
        what runs if it has not come to its end.

        Args:
            compute: Computes a batch; it runs in ``pool``.
            tasks: The tasks with their costs, the costliest last.

        Raises:
            EngineError: A worker failed.
        """
        schedule = Schedule[T, R]([*tasks], self.cores)
        left, in_flight = schedule.left, schedule.in_flight
        try:
            while not schedule.is_finished:
                batch_size = tasks_per_batch(self.cores(), schedule.finished)
                while left and sum(map(len, in_flight.values())) < BATCHES_IN_FLIGHT * batch_size:
                    count = min(len(left), 1 if self.one_task_per_batch else batch_size)
                    batch = [left.pop() for _ in range(count)]
                    future = self.pool.submit(compute, [task for _, task in batch])
                    in_flight[future] = [cost for cost, _ in batch]
                done, _ = wait(in_flight, TICK_SECONDS, FIRST_COMPLETED)
                in_order = [future for future in in_flight if future in done]
                results = [_result(future) for future in in_order]
                for future in in_order:
                    costs = in_flight.pop(future)
                    schedule.done_cost += sum(costs)
                    schedule.finished += len(costs)
                yield results, schedule
        except BaseException:  # an error or Ctrl-C, which may come between `submit` and the entry in `in_flight`
            self.cancel()
            while not all(batch.done() for batch in in_flight):  # a batch that was just submitted was no Spark job yet
                time.sleep(TICK_SECONDS)
                self.cancel()
            raise


def tasks_per_batch(cores: int, finished: int) -> int:
    """Return the tasks of the next batch, given the number of finished tasks.

    >>> [tasks_per_batch(2, finished) for finished in (0, 16, 40, 1_000)]
    [4, 4, 10, 32]
    """
    return max(TASKS_PER_CORE * cores, min(MOST_TASKS_PER_CORE * cores, int(finished * MAX_BATCH_SHARE)))


def seconds_left(done_cost: float, left_costs: Iterable[float], cores: int, seconds: float) -> float | None:
    """Estimate the remaining seconds; None if nothing is done.

    The costliest tasks are running, and are taken as half done.

    >>> seconds_left(3, [3, 3, 3, 3, 3], cores=2, seconds=10)  # one and two halves took ten seconds, and four are left
    20.0
    """
    if not done_cost:
        return None
    costliest = sorted(left_costs, reverse=True)
    begun = sum(costliest[:cores]) / 2
    return (sum(costliest) - begun) * seconds / (done_cost + begun)


def _result(future: Future[R]) -> R:
    """Return the result of a batch. An exception that is not ours means a lost worker or a full disk."""
    try:
        return future.result()
    except StreamsAssignorError:
        raise
    except Exception as error:
        raise EngineError(f"a worker failed: {failure_reason(error)}") from error


def error_line(text: str) -> str:
    r"""Return the last line of a text that names an error, without lines of stack traces.

    >>> error_line("An error occurred\n: java.io.IOException: no\n\tat org.example.NoError(x.java:1)\n\t... 3 more")
    'java.io.IOException: no'
    """
    lines = (line.strip().removeprefix(": ").removeprefix("Caused by: ") for line in text.splitlines())
    errors = [line for line in lines if re.search(r"Exception|Error|error:", line) and not line.startswith("at ")]
    return errors[-1] if errors else ""


def failure_reason(error: object) -> str:
    """Return the line of an error that says most: the one that names an error, or else the first one."""
    return error_line(str(error)) or next((line for line in str(error).splitlines() if line.strip()), repr(error))


# -- processes of this machine ---------------------------------------------------------------------------------------


class Processes(WorkEngine):
    """Processes of this machine; each computes a task at a time."""

    one_task_per_batch = True
    shares_files = True

    def __init__(self, pool: WorkerPool | InThisProcess, count: int) -> None:
        self.pool: WorkerPool | InThisProcess = pool
        self._count = count

    def cores(self) -> int:
        """Return the number of processes."""
        return self._count

    def cancel(self) -> None:
        """Terminate the processes of the pool, which then fails all its futures."""
        self.pool.terminate()

    def caller(self, function: Callable[[U], R]) -> Callable[[Sequence[tuple[int, U]]], list[tuple[int, R]]]:
        """Return what a process does with a batch."""
        return partial(_call_each, function)

    def map_reduce(
        self,
        mapper: Mapper[U],
        reducer: Reducer[R],
        units: Sequence[U],
        keys: Sequence[int],
        on_progress: Callable[[WorkProgress], None] = lambda _progress: None,
    ) -> Iterator[tuple[int, R]]:
        """Yield the results with their keys, as they come; the bytes are in files meanwhile."""

        def report(before: int, progress: WorkProgress) -> None:
            left = None if before < len(units) else progress.seconds_left
            on_progress(WorkProgress(len(units) + len(keys), before + progress.committed_units, left))

        with TemporaryDirectory(prefix="streams-assignor-") as name:
            write, read = _MapToFiles(mapper, Path(name)), _ReduceFiles(reducer, Path(name), len(units))
            for _ in self.map(write, [*enumerate(units)], lambda _unit: 1.0, partial(report, 0)):
                pass
            for place, result in self.map(read, keys, lambda _key: 1.0, partial(report, len(units))):
                yield keys[place], result


@frozen
class _MapToFiles(Generic[U]):
    """The work of a process on a unit: one file for each key."""

    mapper: Mapper[U]
    folder: Path

    def __call__(self, placed: tuple[int, U]) -> None:
        place, unit = placed
        for key, content in self.mapper(unit).items():
            (self.folder / f"{place}-{key}").write_bytes(content)


@frozen
class _ReduceFiles(Generic[R]):
    """The work of a process on a key."""

    reducer: Reducer[R]
    folder: Path
    units: int

    def __call__(self, key: int) -> R:
        return self.reducer(key, ((self.folder / f"{place}-{key}").read_bytes() for place in range(self.units)))


def _call_each(function: Callable[[U], R], batch: Sequence[tuple[int, U]]) -> list[tuple[int, R]]:
    return [(place, function(unit)) for place, unit in batch]


class InThisProcess(Executor):
    """Computes what is submitted at once, in the process of the caller."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function."""
        future = Future[Any]()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # it is raised where the result is asked for, as that of a process
            future.set_exception(error)
        return future

    def terminate(self) -> None:
        """Do nothing: nothing runs."""


IN_THIS_PROCESS: Final = Processes(InThisProcess(), 1)


@contextmanager
def open_processes(count: int | None = None) -> Iterator[Processes]:
    """Provide so many processes, or one for each core; they start with the first task. One is this process."""
    number = available_cores() if count is None else count
    with InThisProcess() if number == 1 else WorkerPool(number) as pool:
        yield Processes(pool, number)
