"""Which engine a command uses, as its user or the work says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

from attrs import frozen

from streams_assignor.codec import StreamsAssignorError
from streams_assignor.spark_sim.jobs.engine import NO_SETTINGS, Log, WorkEngine, open_processes
from streams_assignor.spark_sim.jobs.engine_libraries import SPARK

PROCESSES: Final = "processes"
"""Instead of a Spark master: processes of this machine, without Spark and Java."""
EVERY_CORE: Final = "local[*]"
"""The Spark master that is the default."""
FEW_CORE_SECONDS: Final = 15.0
"""Less work is done in processes by default: to start Spark takes as long."""
HARDLY_ANY_CORE_SECONDS: Final = 3.0
"""Less work is done in this process by default: to start others takes as long."""

_MASTER: Final = re.compile(
    r"local|local\[([1-9]\d*|\*)(, *\d+)?\]|local-cluster\[ *\d+ *, *\d+ *, *\d+ *\]|yarn"
    r"|spark://[^\s:/]+:\d+(,[^\s:/]+:\d+)*|(?!spark:|local:)[a-z][\w+.-]*://\S+"
)


class UnknownMaster(StreamsAssignorError, ValueError):
    """A text that is no master."""


def require_master(master: str) -> None:
    """Refuse what neither is ``processes`` nor looks like a master of Spark.

    Raises:
        UnknownMaster: It names what is expected.
    """
    if master != PROCESSES and not _MASTER.fullmatch(master):
        expected = f"{PROCESSES}, or a Spark master such as {EVERY_CORE}, spark://HOST:7077 or yarn"
        raise UnknownMaster(f"expected --master to be {expected}, got {master}")


@frozen
class EngineOptions:
    """Which engine a command uses."""

    master: str | None = None
    """``PROCESSES``, any Spark master, or the ``sc://`` address of a Spark Connect server; None: not chosen."""
    settings: Mapping[str, str] = NO_SETTINGS
    """Settings of Spark."""
    processes: int | None = None
    """Processes of this machine; None: one for each core."""

    def chosen(self, core_seconds: float, *, needs_spark: bool = False) -> EngineOptions:
        """Return the options with the engine for so much work: Spark, unless there is little or PySpark is missing.

        Args:
            core_seconds: The estimate of the work.
            needs_spark: Whether only Spark can do it, as it can reach some storages and formats.
        """
        if self.master is not None:
            return self
        if self.processes is not None and not needs_spark:
            return EngineOptions(PROCESSES, self.settings, self.processes)
        if needs_spark or self.settings or (core_seconds >= FEW_CORE_SECONDS and all(map(find_spec, SPARK))):
            return EngineOptions(EVERY_CORE, self.settings)
        return EngineOptions(PROCESSES, self.settings, 1 if core_seconds < HARDLY_ANY_CORE_SECONDS else None)


@contextmanager
def open_engine(options: EngineOptions, log: Log, job: str) -> Iterator[WorkEngine]:
    """Provide the engine of chosen options; ``log`` gets a line that names it.

    Args:
        options: With a master.
        log: Prints a line.
        job: The description of the jobs in Spark, such as ``streams-assignor audit``.

    Raises:
        SparkNotStarted: Spark cannot be started, or there is no Java (``JavaNotFound``).
        ModuleNotFoundError: There is no PySpark.
    """
    master = options.master or PROCESSES
    if master == PROCESSES:
        with open_processes(options.processes) as engine:
            log(describe_processes(engine.cores()))
            yield engine
        return
    from streams_assignor.spark_sim.sweep.spark.executor import open_spark

    with open_spark(master, log, options.settings, job) as on_spark:
        yield on_spark


def describe_processes(count: int) -> str:
    """Return a line that names what computes.

    >>> describe_processes(1), describe_processes(2)
    ('in this process, without Spark', '2 processes of this machine, without Spark')
    """
    return "in this process, without Spark" if count == 1 else f"{count} processes of this machine, without Spark"
